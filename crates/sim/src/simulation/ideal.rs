//! The time that a flow would take alone: what its slowdown is measured against.

use clearway_proto::Framing;
use clearway_topology::{PortId, SendingTime, Topology};
use clearway_units::{Bytes, Span};

/// The time from the application's call until the last of `bytes` arrives, sent back to back through the idle network:
/// the last frame follows the full ones before it through every port of `path`.
pub fn ideal_fct(topology: &Topology, path: &[PortId], framing: Framing, bytes: u64) -> Span {
    let full = framing.payload_max as u64;
    let before = bytes.div_ceil(full).saturating_sub(1);
    let last = Bytes::new(framing.wire((bytes - before * full) as u32) as u64);
    let frame = Bytes::new(framing.wire_max() as u64);
    // When the last full frame, and then the last frame, has left each port.
    let (mut full_time, mut last_time) = (SendingTime::of(frame), SendingTime::of(last));
    let (mut ahead, mut slowest, mut done) = (Span::ZERO, Span::ZERO, Span::ZERO);
    for port in path {
        let port = topology.port(*port);
        let time = full_time.at(port.rate);
        slowest = slowest.max(time);
        let train = slowest.saturating_mul(before.saturating_sub(1));
        let gone = if before > 0 { (ahead + time).saturating_add(train) } else { Span::ZERO };
        done = done.max(gone).saturating_add(last_time.at(port.rate) + port.delay);
        // Only the first full frame's way adds up; the others follow at the pace of the slowest port.
        ahead += time + port.delay;
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;
    use clearway_topology::routing::{Policy, Routes};
    use clearway_topology::{Dumbbell, NodeId};
    use clearway_units::Rate;

    /// The ideal time, computed frame by frame.
    fn step_by_step(topology: &Topology, path: &[PortId], framing: Framing, bytes: u64) -> Span {
        let full = framing.payload_max as u64;
        let mut free = vec![Span::ZERO; path.len()];
        let (mut left, mut arrived) = (bytes, Span::ZERO);
        while left > 0 {
            let payload = left.min(full);
            left -= payload;
            let wire = Bytes::new(framing.wire(payload as u32) as u64);
            arrived = Span::ZERO;
            for (port, free) in path.iter().zip(&mut free) {
                let port = topology.port(*port);
                *free = arrived.max(*free) + port.rate.time_to_send(wire);
                arrived = *free + port.delay;
            }
        }
        arrived
    }

    #[test]
    fn the_ideal_time_is_that_of_frames_followed_one_by_one() {
        for (edge, middle) in [(10, 10), (10, 40), (40, 10)] {
            let topology = Dumbbell {
                rate: Rate::gbps(edge),
                bottleneck_rate: Rate::gbps(middle),
                ..Dumbbell::default()
            };
            let topology = topology.build().unwrap();
            let mut routes = Routes::new(Policy::SymmetricEcmp);
            let mut ports = Vec::new();
            let last = NodeId(topology.hosts() as u32 - 1);
            routes.paths(&topology, NodeId(0), last, 1, &mut ports).unwrap();
            for bytes in [1, 1459, 1460, 1461, 2920, 3000, 14_600, 1_000_001] {
                let ideal = ideal_fct(&topology, &ports, Framing::ETHERNET, bytes);
                assert_eq!(
                    ideal,
                    step_by_step(&topology, &ports, Framing::ETHERNET, bytes),
                    "{edge} {middle} {bytes}"
                );
            }
        }
    }
}
