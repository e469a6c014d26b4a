//! What an empty path costs, in closed form.

use crate::graph::{PortId, Topology};
use clearway_units::{Bytes, Span};

/// From the first bit leaving the source to the last bit arriving at the destination of an idle path:
/// propagation plus serialisation at every hop, since switches store and forward.
///
/// # Panics
/// If a port is not one of the topology, or the size is so large that the sum is past the range of [`Span`].
pub fn one_way(topology: &Topology, path: &[PortId], size: Bytes) -> Span {
    path.iter()
        .map(|&port| {
            let port = topology.port(port);
            port.delay + port.rate.time_to_send(size)
        })
        .sum()
}

/// The base RTT: a data frame along `path` and a control frame (an ACK, or the credit that called for it) along
/// `reverse`, with nothing else in the network and hosts that answer at once.
///
/// # Panics
/// As [`one_way`].
pub fn base_rtt(
    topology: &Topology,
    path: &[PortId],
    reverse: &[PortId],
    data: Bytes,
    control: Bytes,
) -> Span {
    one_way(topology, path, data) + one_way(topology, reverse, control)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dumbbell, NodeId, Policy, Routes};
    use clearway_units::Rate;

    #[test]
    fn every_hop_pays_its_own_rate_and_delay() {
        let network = Dumbbell {
            pairs: 1,
            rate: Rate::gbps(40),
            delay: Span::from_us(1),
            bottleneck_rate: Rate::gbps(10),
            bottleneck_delay: Span::from_us(5),
        }
        .build()
        .unwrap();
        let mut routes = Routes::new(Policy::SymmetricEcmp);
        let (mut there, mut back) = (Vec::new(), Vec::new());
        routes.paths(&network, NodeId(0), NodeId(1), 0, &mut there).unwrap();
        routes.paths(&network, NodeId(1), NodeId(0), 0, &mut back).unwrap();
        let data = Span::from_us(7) + Span::from_ps(2 * 307_600 + 1_230_400);
        let credit = Span::from_us(7) + Span::from_ps(2 * 16_800 + 67_200);
        assert_eq!(one_way(&network, &there, Bytes::new(1538)), data);
        assert_eq!(base_rtt(&network, &there, &back, Bytes::new(1538), Bytes::new(84)), data + credit);
    }

    #[test]
    fn the_320_host_tree_has_the_base_rtt_that_hpcc_sets_its_window_by() {
        // HPCC counts a 1000 B packet there and bare propagation back: 12 us and 240 ns of serialisation.
        let network = crate::Pacc320::default().build().unwrap();
        let mut routes = Routes::new(Policy::SymmetricEcmp);
        let (mut there, mut back) = (Vec::new(), Vec::new());
        routes.paths(&network, NodeId(0), NodeId(319), 1, &mut there).unwrap();
        routes.paths(&network, NodeId(319), NodeId(0), 1, &mut back).unwrap();
        let rtt = base_rtt(&network, &there, &back, Bytes::new(1000), Bytes::ZERO);
        assert_eq!(rtt, Span::from_ns(12_240));
        assert_eq!(Rate::gbps(100).bytes_in(rtt), Bytes::new(153_000));
    }
}
