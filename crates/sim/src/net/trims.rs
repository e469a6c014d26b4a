//! The trimming of ports of switches: the limits of the queues that cut packets, which count what the port sends just now.

use super::admission::Length;
use crate::ids::{ClassId, IdVec};
use crate::model::{Amount, Class};
use clearway_proto::port::Trimmer;
use clearway_topology::PortId;
use clearway_units::Time;
use serde::{Deserialize, Serialize};

/// The trimming of all ports; none where nothing trims.
#[derive(Default, Serialize, Deserialize)]
pub struct AllTrims {
    ports: IdVec<PortId, Option<Box<Trims>>>,
    /// The packet of data that left each port last. Each packet that leaves writes it and few read it, so those of all ports
    /// stand together, apart from the rules.
    sends: IdVec<PortId, Sends>,
}

impl AllTrims {
    /// Lets a port trim.
    pub fn set(&mut self, port: PortId, trims: Trims) {
        self.ports.cover(port, None);
        self.sends.cover(port, Sends::NOTHING);
        self.ports[port] = Some(Box::new(trims));
    }

    /// Returns true if any port trims.
    pub fn has_any(&self) -> bool {
        self.ports.len() > 0
    }

    /// Returns the trimming of a port that trims.
    pub fn at(&mut self, port: PortId) -> &mut Trims {
        self.ports[port].as_deref_mut().expect("asked for where a port trims")
    }

    /// A packet of data of a class leaves a port that trims, and its last bit is gone at `until`.
    #[inline(always)]
    pub fn send(&mut self, port: PortId, class: ClassId, wire: u16, until: Time) {
        self.sends[port] = Sends { until, wire, class };
    }

    /// Returns whether a packet of `wire` bytes fits into the queue of its class at a port, beside what waits there and, until its
    /// last bit has left, the packet of the class that is being sent. The queues of NDP's simulator hold that packet too.
    pub fn fits(&self, port: PortId, class: ClassId, waiting: Length, wire: u32, now: Time) -> bool {
        let Some(trims) = self.ports.get(port).and_then(Option::as_ref) else { return false };
        let sends = self.sends[port];
        let being_sent = (sends.class == class && sends.until > now).then_some(sends.wire);
        trims.fits(class, waiting, wire, being_sent)
    }

    /// Returns the number of packets that a port cut.
    pub fn count(&self, port: PortId) -> u64 {
        self.ports.get(port).and_then(Option::as_ref).map_or(0, |trims| trims.trimmer.trims())
    }

    /// Takes over what happened at the same port of a network that is cut otherwise.
    pub fn take_over(&mut self, port: PortId, old: &mut AllTrims) {
        if let (Some(own), Some(was)) = (self.ports.get_mut(port), old.ports.get_mut(port)) {
            std::mem::swap(own, was);
            self.sends[port] = old.sends[port];
        }
    }
}

/// The trimming of one port.
#[derive(Clone, Serialize, Deserialize)]
pub struct Trims {
    /// The rule of the port.
    pub trimmer: Trimmer,
    /// The queues that trim, by their classes.
    queues: IdVec<ClassId, Option<Trimming>>,
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
    until: Time,
    wire: u16,
    class: ClassId,
}

impl Sends {
    /// Nothing has been sent.
    const NOTHING: Sends = Sends { until: Time::ZERO, wire: 0, class: ClassId::FIRST };
}

impl Trims {
    /// Returns the trimming of a port with these classes. `headers` tells the class in which headers of a class wait.
    pub fn new(trimmer: Trimmer, classes: &[Class], headers: impl Fn(usize) -> ClassId) -> Trims {
        let trimming = |class: &Class| {
            let Amount { bytes, packets } = class.limit;
            class.trim.map(|trim| Trimming { bytes: bytes.get(), packets, headers: headers(trim.headers) })
        };
        Trims { trimmer, queues: classes.iter().map(trimming).collect() }
    }

    /// Returns the class of the headers of a class, if its queue trims.
    pub fn headers_of(&self, class: ClassId) -> Option<ClassId> {
        self.queues[class].map(|trimming| trimming.headers)
    }

    /// Returns whether a packet of `wire` bytes fits into the queue of its class beside what waits there, and beside the packet of
    /// the class with this size that is being sent, if one is.
    fn fits(&self, class: ClassId, waiting: Length, wire: u32, being_sent: Option<u16>) -> bool {
        let Some(Trimming { bytes, packets, .. }) = self.queues[class] else { return false };
        let (being_sent, count) = being_sent.map_or((0, 0), |wire| (wire, 1));
        let held = waiting.bytes.saturating_add(u64::from(being_sent) + u64::from(wire));
        held <= bytes && waiting.packets.saturating_add(count) < packets
    }
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
        let config = TrimConfig { to: 84, victim: TrimVictim::Coin, returns: false, drops: false };
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
            let (mut all, port) = (AllTrims::default(), PortId(3));
            all.set(port, trims(limit));
            assert!(all.fits(port, data, four, 1_000, now), "nothing is being sent");
            all.send(port, data, 1_000, until);
            assert!(!all.fits(port, data, four, 1_000, now));
            assert!(all.fits(port, data, Length { packets: 3, bytes: 3_000 }, 1_000, now));
            assert!(all.fits(port, data, four, 1_000, until), "it has left");
            all.send(port, acks, 84, until);
            assert!(all.fits(port, data, four, 1_000, now), "a header is no data");
            assert!(!all.fits(PortId(2), data, four, 1_000, now), "another port does not trim");
        }
    }

    #[test]
    fn headers_have_their_class_and_a_class_that_does_not_trim_has_none() {
        let trims = trims(Amount::UNLIMITED);
        let [data, acks] = [0, 1].map(ClassId::from_index);
        assert_eq!((trims.headers_of(data), trims.headers_of(acks)), (Some(acks), None));
    }
}
