//! The trimming of ports of switches: the limits of the queues that cut packets, which count what the port sends just now.

use super::admission::Length;
use crate::ids::{ClassId, IdVec};
use crate::model::{Amount, Class};
use clearway_proto::port::Trimmer;
use clearway_topology::PortId;
use serde::{Deserialize, Serialize};

/// The trimming of all ports; none where nothing trims.
#[derive(Default, Serialize, Deserialize)]
pub struct AllTrims {
    ports: IdVec<PortId, Option<Box<Trims>>>,
}

impl AllTrims {
    /// Lets a port trim.
    pub fn set(&mut self, port: PortId, trims: Trims) {
        self.ports.cover(port, None);
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

    /// Returns the number of packets that a port cut.
    pub fn count(&self, port: PortId) -> u64 {
        self.ports.get(port).and_then(Option::as_ref).map_or(0, |trims| trims.trimmer.trims())
    }

    /// Takes over what happened at the same port of a network that is cut otherwise.
    pub fn take_over(&mut self, port: PortId, old: &mut AllTrims) {
        if let (Some(own), Some(was)) = (self.ports.get_mut(port), old.ports.get_mut(port)) {
            std::mem::swap(own, was);
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
    pub fn fits(&self, class: ClassId, waiting: Length, wire: u32, being_sent: Option<u16>) -> bool {
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
    use clearway_units::Bytes;

    fn trims(limit: Amount) -> Trims {
        let config = TrimConfig { to: 84, victim: TrimVictim::Coin, returns: false, drops: false };
        let trimmer = Trimmer::new(config, false, Rng::stream(1, Entity::Port, 0));
        let data = Class { limit, trim: Some(Trim { config, headers: 1 }), ..Class::new("data", 1) };
        Trims::new(trimmer, &[data, Class::new("acks", 0)], ClassId::from_index)
    }

    #[test]
    fn the_packet_that_is_being_sent_counts_against_the_limit_of_its_class() {
        let [data, acks] = [0, 1].map(ClassId::from_index);
        let [three, four] = [3, 4].map(|packets| Length { packets, bytes: u64::from(packets) * 1_000 });
        for limit in
            [Amount { bytes: Bytes::new(5_000), packets: u32::MAX }, Amount { bytes: Bytes::MAX, packets: 5 }]
        {
            let trims = trims(limit);
            assert!(trims.fits(data, four, 1_000, None), "nothing is being sent");
            assert!(!trims.fits(data, four, 1_000, Some(1_000)));
            assert!(trims.fits(data, three, 1_000, Some(1_000)));
            assert!(!trims.fits(acks, three, 84, None), "the class does not trim");
        }
    }

    #[test]
    fn headers_have_their_class_and_a_class_that_does_not_trim_has_none() {
        let trims = trims(Amount::UNLIMITED);
        let [data, acks] = [0, 1].map(ClassId::from_index);
        assert_eq!((trims.headers_of(data), trims.headers_of(acks)), (Some(acks), None));
    }
}
