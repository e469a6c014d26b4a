//! Adaptive routing: each switch sends a packet to the next hop whose queue is short, by four levels of its length.
//!
//! A switch looks at its own ports alone, so that the choice is the same in all parts of a network. Ties are broken by a hash
//! that differs from packet to packet and from switch to switch, and needs no state.

use crate::ids::{ClassId, IdVec};
use crate::model::{Amount, Class, Model};
use clearway_topology::routing::Policy;
use clearway_topology::{Topology, farthest_round_trip};
use clearway_units::Bytes;
use serde::{Deserialize, Serialize};

/// The levels of a queue, in percent of its limit: below the first, below the second, below the third, or above all.
const LEVELS: [u64; 3] = [5, 10, 20];
/// The level of a port whose link is down.
pub const DOWN: usize = LEVELS.len() + 1;
/// Packets that are smaller, in bytes on the wire, go by their hash, since acknowledgements and headers fill no queue.
pub const HASHED_BELOW: u16 = 100;

/// What switches know to route adaptively.
#[derive(Serialize, Deserialize)]
pub struct Adaptive {
    /// The bytes from which on a queue of each class is at the second, third and fourth level.
    levels: IdVec<ClassId, [u64; LEVELS.len()]>,
}

impl Adaptive {
    /// Returns what switches of a model know, if they route adaptively.
    pub fn new(model: &Model) -> Option<Box<Adaptive>> {
        let levels = |class: &Class| LEVELS.map(|percent| full(model, class.limit) / 100 * percent);
        let adaptive = || Adaptive { levels: model.switch.classes.iter().map(levels).collect() };
        (model.routing == Policy::Adaptive).then(|| Box::new(adaptive()))
    }

    /// Returns the level of a queue of a class that holds so many bytes.
    pub fn level(&self, class: ClassId, bytes: u64) -> usize {
        self.levels[class].iter().filter(|&&from| bytes >= from).count()
    }
}

/// Returns the bytes to which the levels of a queue refer: its limit or, where it has none, the bandwidth-delay product of
/// the network.
fn full(model: &Model, limit: Amount) -> u64 {
    let Amount { bytes, packets } = limit;
    if bytes != Bytes::MAX {
        return bytes.get();
    }
    let frame = u64::from(model.largest_frame());
    if packets != u32::MAX { u64::from(packets) * frame } else { bdp(&model.topology, model).max(frame) }
}

/// Returns the bytes that the fastest link of a host carries in the longest round trip of the network.
fn bdp(topology: &Topology, model: &Model) -> u64 {
    let bytes = |size: u32| Bytes::new(size.into());
    let trip = farthest_round_trip(topology, bytes(model.largest_frame()), bytes(model.framing.wire_min));
    let hosts = topology.ports().iter().filter(|port| topology.is_host(port.from));
    hosts.map(|port| port.rate.bytes_in(trip).get()).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Id;
    use clearway_topology::Star;

    #[test]
    fn a_queue_has_one_of_four_levels_by_its_share_of_the_limit_or_of_the_bdp() {
        let mut model = crate::ports::network_for(Star::default().build().unwrap(), []).unwrap();
        assert!(Adaptive::new(&model).is_none(), "nobody asks for it");
        model.routing = Policy::Adaptive;
        let class = ClassId::from_index(0);
        let levels = |model: &Model, bytes: [u64; 4]| {
            let adaptive = Adaptive::new(model).unwrap();
            bytes.map(|bytes| adaptive.level(class, bytes))
        };
        // 18.5952 us at 10 Gbps are 23,244 bytes; 5, 10 and 20 % are 1,160, 2,320 and 4,640.
        assert_eq!(levels(&model, [1_159, 1_160, 2_320, 4_640]), [0, 1, 2, 3]);
        model.switch.classes[0].limit.bytes = Bytes::new(100_000);
        assert_eq!(levels(&model, [4_999, 5_000, 19_999, 20_000]), [0, 1, 2, 3]);
        model.switch.classes[0].limit = Amount { bytes: Bytes::MAX, packets: 100 };
        assert_eq!(levels(&model, [7_689, 7_690, 15_380, 30_760]), [0, 1, 2, 3]);
    }
}
