//! Trimming at a port: a full queue of data cuts a packet to its header in place of dropping it, as NDP's switches do (Handley
//! et al., SIGCOMM'17) and Ultra Ethernet's may.
//!
//! What is left goes ahead of data and tells the receiver at once which packet was cut. It keeps its flow, its offset, its tag
//! and its marks, and says whether it was cut at the last hop, the port of a switch that leads to the receiver.

use crate::packet::{Flags, Kind, Packet};
use crate::rng::Rng;
use clearway_schema::choice;
use serde::{Deserialize, Serialize};

choice! {
    /// The packet that a full queue cuts.
    #[derive(Serialize, Deserialize)]
    pub enum TrimVictim {
        /// A fair coin chooses between the packet that arrives and the newest one that waits.
        Coin = "coin",
        /// The packet that arrives.
        Arriving = "arriving",
    }
}

/// The rule by which a port trims.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TrimConfig {
    /// The size on the wire of what is left, in bytes.
    pub to: u32,
    /// The packet that is cut.
    pub victim: TrimVictim,
    /// True if a header for which there is no room goes back to its sender, once; else it is dropped.
    pub returns: bool,
    /// True if nothing is left: the packet that would be cut is dropped.
    pub drops: bool,
}

/// The trimmer of one port.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Trimmer {
    config: TrimConfig,
    /// True if the port leads to a host.
    is_last_hop: bool,
    /// The coin.
    rng: Rng,
    /// The number of packets that were cut.
    trims: u64,
}

impl Trimmer {
    /// Makes the trimmer of a port of a switch, with a stream of random numbers of its own.
    pub fn new(config: TrimConfig, is_last_hop: bool, rng: Rng) -> Trimmer {
        Trimmer { config, is_last_hop, rng, trims: 0 }
    }

    /// Returns the number of packets that were cut.
    pub fn trims(&self) -> u64 {
        self.trims
    }

    /// Returns whether a packet may be cut: one of data, that has not been cut yet.
    pub fn cuts(packet: &Packet) -> bool {
        packet.kind() == Kind::Data && !packet.flags.has(Flags::TRIMMED)
    }

    /// A packet of data finds no room. Returns true if the newest one that waits shall make room for it, false if it shall be cut
    /// itself.
    pub fn newest_makes_room(&mut self) -> bool {
        match self.config.victim {
            TrimVictim::Coin => self.rng.unit() < 0.5,
            TrimVictim::Arriving => false,
        }
    }

    /// Returns whether nothing is left of a packet that is cut.
    pub fn drops(&self) -> bool {
        self.config.drops
    }

    /// Cuts a packet to its header.
    pub fn cut(&mut self, packet: &mut Packet) {
        packet.trim(self.config.to);
        packet.flags = packet.flags.with_if(self.is_last_hop, Flags::LAST_HOP);
        self.trims += 1;
    }

    /// Returns whether a packet for which there is no room goes back to its sender: a header that has not been sent back yet.
    pub fn sends_back(&self, packet: &Packet) -> bool {
        self.config.returns && packet.flags.has(Flags::TRIMMED) && !packet.flags.has(Flags::RETURNED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Header;
    use crate::{Entity, Tag};
    use clearway_units::Time;

    fn trimmer(victim: TrimVictim, returns: bool, is_last_hop: bool) -> Trimmer {
        let config = TrimConfig { to: 64, victim, returns, drops: false };
        Trimmer::new(config, is_last_hop, Rng::stream(1, Entity::Port, 0))
    }

    fn data() -> Packet {
        Packet::data(Header::data(4086), 4086, 4150, Time::ZERO)
    }

    #[test]
    fn a_fair_coin_chooses_the_packet_that_is_cut_or_it_is_always_the_one_that_arrives() {
        let mut coin = trimmer(TrimVictim::Coin, false, false);
        let newest = (0..10_000).filter(|_| coin.newest_makes_room()).count();
        // The standard deviation of 10,000 throws is 50.
        assert!((4_800..5_200).contains(&newest), "{newest}");
        let mut arriving = trimmer(TrimVictim::Arriving, false, false);
        assert!((0..100).all(|_| !arriving.newest_makes_room()));
    }

    #[test]
    fn a_header_keeps_its_offset_its_tag_and_its_mark_and_says_if_it_was_cut_at_the_last_hop() {
        for is_last_hop in [false, true] {
            let mut trimmer = trimmer(TrimVictim::Coin, false, is_last_hop);
            let tag = Tag { lane: 2, entropy: Some(7) };
            let flags = Flags::ECN_CAPABLE.with(Flags::ECN_CE).with(Flags::LAST);
            let mut packet = data().with_tag(tag).with_flags(flags);
            trimmer.cut(&mut packet);
            assert_eq!((packet.header.offset(), packet.tag(), packet.payload()), (Some(4086), tag, 0));
            assert_eq!((packet.wire, trimmer.trims()), (64, 1));
            assert_eq!(
                packet.flags.bits(),
                flags.with(Flags::TRIMMED).with_if(is_last_hop, Flags::LAST_HOP).bits()
            );
        }
    }

    #[test]
    fn data_is_cut_once_and_other_packets_never() {
        let mut packet = data();
        assert!(Trimmer::cuts(&packet));
        trimmer(TrimVictim::Coin, false, false).cut(&mut packet);
        assert!(!Trimmer::cuts(&packet));
        assert!(!Trimmer::cuts(&Packet::control(Header::Syn, 84, Time::ZERO)));
    }

    #[test]
    fn a_header_goes_back_once_where_headers_go_back() {
        let mut packet = data();
        let mut returning = trimmer(TrimVictim::Coin, true, false);
        assert!(!returning.sends_back(&packet), "it is no header");
        returning.cut(&mut packet);
        assert!(
            returning.sends_back(&packet) && !trimmer(TrimVictim::Coin, false, false).sends_back(&packet)
        );
        packet.flags.set(Flags::RETURNED);
        assert!(!returning.sends_back(&packet));
    }
}
