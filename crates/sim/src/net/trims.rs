//! The trimming of ports of switches: the limits of the queues that cut packets, which count what the port sends just now.

use super::admission::Length;
use crate::ids::{ClassId, IdVec};
use crate::model::{Amount, Class};
use clearway_proto::port::Trimmer;
use clearway_topology::PortId;
use clearway_units::Time;
use serde::{Deserialize, Serialize};

/// The trimming of all ports; none where nothing trims.
pub type AllTrims = IdVec<PortId, Option<Box<Trims>>>;

/// The trimming of one port.
#[derive(Clone, Serialize, Deserialize)]
pub struct Trims {
    /// The rule of the port.
    pub trimmer: Trimmer,
    /// The queues that trim, by their classes.
    queues: IdVec<ClassId, Option<Trimming>>,
    /// The packet of data that left last.
    sends: Option<Sends>,
}

/// The trimming of a queue.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Trimming {
    /// The most bytes on the wire that the queue holds, with those of the packet of its class that is being sent.
    bytes: u64,
    /// The most packets, counted likewise.
    packets: u32,
    /// The class of headers.
    headers: ClassId,
}

/// A packet of data that is being sent.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Sends {
    class: ClassId,
    wire: u32,
    until: Time,
}

impl Trims {
    /// Returns the trimming of a port with these classes. `headers` tells the class in which headers of a class wait.
    pub fn new(trimmer: Trimmer, classes: &[Class], headers: impl Fn(usize) -> ClassId) -> Trims {
        let trimming = |class: &Class| {
            let Amount { bytes, packets } = class.limit;
            class.trim.map(|trim| Trimming { bytes: bytes.get(), packets, headers: headers(trim.headers) })
        };
        Trims { trimmer, queues: classes.iter().map(trimming).collect(), sends: None }
    }

    /// A packet of data of a class leaves, whose last bit is gone at `until`.
    #[inline]
    pub fn send(&mut self, class: ClassId, wire: u32, until: Time) {
        self.sends = Some(Sends { class, wire, until });
    }

    /// Returns the class of the headers of a class, if its queue trims.
    pub fn headers_of(&self, class: ClassId) -> Option<ClassId> {
        self.queues[class].map(|trimming| trimming.headers)
    }

    /// Returns whether a packet of `wire` bytes fits into the queue of its class, which trims, beside what waits there and, until
    /// its last bit has left, the packet of the class that is being sent. The queues of NDP's simulator hold that packet too.
    pub fn fits(&self, class: ClassId, waiting: Length, wire: u32, now: Time) -> bool {
        let Some(Trimming { bytes, packets, .. }) = self.queues[class] else { return false };
        let is_sent = |sends: &&Sends| sends.class == class && sends.until > now;
        let (being_sent, count) = self.sends.as_ref().filter(is_sent).map_or((0, 0), |sends| (sends.wire, 1));
        let held = waiting.bytes.saturating_add(u64::from(being_sent) + u64::from(wire));
        held <= bytes && waiting.packets.saturating_add(count) < packets
    }
}

/// Returns the number of packets that a port cut.
pub fn trims(all: &AllTrims, port: PortId) -> u64 {
    all.get(port).and_then(Option::as_ref).map_or(0, |trims| trims.trimmer.trims())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Id;
    use crate::model::Trim;
    use clearway_proto::port::{TrimConfig, TrimVictim};
    use clearway_proto::{Entity, Rng};
    use clearway_units::{Bytes, Span};

    fn trims(limit: Amount) -> Trims {
        let config = TrimConfig { to: 84, victim: TrimVictim::Coin, returns: false };
        let trimmer = Trimmer::new(config, false, Rng::stream(1, Entity::Port, 0));
        let data = Class { limit, trim: Some(Trim { config, headers: 1 }), ..Class::new("data", 1) };
        Trims::new(trimmer, &[data, Class::new("acks", 0)], ClassId::from_index)
    }

    #[test]
    fn the_packet_that_is_being_sent_counts_against_the_limit_of_its_class_until_its_last_bit_has_left() {
        let [data, acks] = [0, 1].map(ClassId::from_index);
        let now = Time::ZERO;
        let until = now + Span::from_ns(100);
        let four = Length { packets: 4, bytes: 4_000 };
        for limit in
            [Amount { bytes: Bytes::new(5_000), packets: u32::MAX }, Amount { bytes: Bytes::MAX, packets: 5 }]
        {
            let mut trims = trims(limit);
            assert!(trims.fits(data, four, 1_000, now), "nothing is being sent");
            trims.send(data, 1_000, until);
            assert!(!trims.fits(data, four, 1_000, now));
            assert!(trims.fits(data, Length { packets: 3, bytes: 3_000 }, 1_000, now));
            assert!(trims.fits(data, four, 1_000, until), "it has left");
            trims.send(acks, 84, until);
            assert!(trims.fits(data, four, 1_000, now), "a header is no data");
        }
    }

    #[test]
    fn headers_have_their_class_and_a_class_that_does_not_trim_has_none() {
        let trims = trims(Amount::UNLIMITED);
        let [data, acks] = [0, 1].map(ClassId::from_index);
        assert_eq!((trims.headers_of(data), trims.headers_of(acks)), (Some(acks), None));
    }
}
