//! The latency of an idle path, in closed form.

use crate::graph::{NodeId, PortId, Topology};
use clearway_units::{Bytes, Rate, Span};

/// Returns the time from the first bit leaving the source to the last bit arriving at the destination of an idle
/// path: propagation plus serialisation at every hop, since switches store and forward.
///
/// # Panics
/// Panics if a port is not one of the topology, or if the sum is past the range of [`Span`].
pub fn one_way(topology: &Topology, path: &[PortId], size: Bytes) -> Span {
    let mut sending = SendingTime::of(size);
    path.iter()
        .map(|&port| {
            let port = topology.port(port);
            port.delay + sending.at(port.rate)
        })
        .sum()
}

/// The time that a size takes at one rate after another. Most links of a path have one rate, so that one division serves
/// them all.
#[derive(Clone, Copy, Debug)]
pub struct SendingTime {
    size: Bytes,
    /// What times are truncated to, if they are.
    grain: Option<Span>,
    last: (Rate, Span),
}

impl SendingTime {
    /// Makes the times of a size.
    pub fn of(size: Bytes) -> SendingTime {
        SendingTime { size, grain: None, last: (Rate::ZERO, Span::ZERO) }
    }

    /// Makes the times of a size as [`Rate::time_to_send_below`] truncates them.
    pub fn below(size: Bytes, grain: Span) -> SendingTime {
        SendingTime { grain: Some(grain), ..SendingTime::of(size) }
    }

    /// Returns the size.
    pub fn size(&self) -> Bytes {
        self.size
    }

    /// Returns the time at a rate.
    ///
    /// # Panics
    /// Panics as [`Rate::time_to_send`] does, but at rate zero.
    #[inline]
    pub fn at(&mut self, rate: Rate) -> Span {
        if self.last.0 != rate {
            let time = match self.grain {
                None => rate.time_to_send(self.size),
                Some(grain) => rate.time_to_send_below(self.size, grain),
            };
            self.last = (rate, time);
        }
        self.last.1
    }
}

/// Returns the base RTT: the time of a data frame along `path` and a control frame (an ACK, or the credit that the
/// data answers) along `reverse`, in an idle network whose hosts answer at once.
///
/// # Panics
/// Panics as [`one_way`] does.
pub fn base_rtt(
    topology: &Topology,
    path: &[PortId],
    reverse: &[PortId],
    data: Bytes,
    control: Bytes,
) -> Span {
    one_way(topology, path, data) + one_way(topology, reverse, control)
}

/// Returns the round trip between the two hosts that are farthest from each other in an idle network: a full frame of
/// `full` bytes on the wire there and an answer of `answer` bytes back, each over every link of the longest of the
/// shortest paths. Where all links have one rate `C` and the path has `d` of them and the propagation `L`, it is
/// `2 L + d (full + answer) / C`. Two searches find the pair, which is the farthest in trees and in all built-in shapes.
///
/// # Panics
/// Panics if the sum is past the range of [`Span`].
pub fn farthest_round_trip(topology: &Topology, full: Bytes, answer: Bytes) -> Span {
    let farthest = |from: NodeId| {
        let trips = round_trips(topology, from, full, answer);
        let far = (0..topology.hosts()).max_by_key(|&host| (trips[host], std::cmp::Reverse(host)));
        far.map_or((from, Span::ZERO), |far| (NodeId::from_index(far), trips[far]))
    };
    let (far, _) = farthest(NodeId(0));
    farthest(far).1
}

/// Returns the round trip from a host to every node over the longest of the shortest paths between the two, where a
/// shortest path is one of the fewest links. Hosts don't forward.
fn round_trips(topology: &Topology, from: NodeId, full: Bytes, answer: Bytes) -> Vec<Span> {
    let (mut there, mut back) = (SendingTime::of(full), SendingTime::of(answer));
    let mut trips = vec![Span::ZERO; topology.nodes().len()];
    let mut hops = vec![None; topology.nodes().len()];
    hops[from.index()] = Some(0);
    let (mut reached, mut next) = (vec![from], 0);
    while let Some(&node) = reached.get(next) {
        next += 1;
        if topology.is_host(node) && node != from {
            continue;
        }
        let here = (hops[node.index()].unwrap_or(0), trips[node.index()]);
        for &id in topology.ports_of(node) {
            let (port, reverse) = (topology.port(id), topology.port(id.reverse()));
            let to = port.to.index();
            if hops[to].is_none() {
                hops[to] = Some(here.0 + 1);
                reached.push(port.to);
            }
            if hops[to] == Some(here.0 + 1) {
                let link = port.delay + there.at(port.rate) + reverse.delay + back.at(reverse.rate);
                trips[to] = trips[to].max(here.1 + link);
            }
        }
    }
    trips
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dumbbell, FatTree, Policy, Routes};
    use clearway_units::Rate;

    #[test]
    fn latency_sums_each_hops_own_serialisation_and_delay() {
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
    fn the_320_host_tree_has_the_base_rtt_from_which_hpcc_computes_its_window() {
        // HPCC's code counts a 1000 B packet on the way there and propagation alone on the way back: 12 us and 240 ns.
        let network = crate::Pacc320::default().build().unwrap();
        let mut routes = Routes::new(Policy::SymmetricEcmp);
        let (mut there, mut back) = (Vec::new(), Vec::new());
        routes.paths(&network, NodeId(0), NodeId(319), 1, &mut there).unwrap();
        routes.paths(&network, NodeId(319), NodeId(0), 1, &mut back).unwrap();
        let rtt = base_rtt(&network, &there, &back, Bytes::new(1000), Bytes::ZERO);
        assert_eq!(rtt, Span::from_ns(12_240));
        assert_eq!(Rate::gbps(100).bytes_in(rtt), Bytes::new(153_000));
    }

    #[test]
    fn the_farthest_round_trip_of_a_tree_is_that_of_the_closed_form() {
        // Six links of 1 us each way at 100 Gbps: 12 us, 6 x 4150 B x 8 / C and 6 x 64 B x 8 / C.
        let (rate, delay) = (Rate::gbps(100), Span::from_us(1));
        let shape = FatTree { k: 8, rate, delay, ..FatTree::default() };
        let tree = shape.build().unwrap();
        let trip = farthest_round_trip(&tree, Bytes::new(4150), Bytes::new(64));
        assert_eq!(trip, Span::from_ps(14_022_720));
    }

    #[test]
    fn no_pair_of_hosts_has_a_round_trip_that_is_longer_than_the_farthest() {
        let mut dumbbell = Dumbbell { pairs: 3, ..Dumbbell::default() }.build().unwrap();
        let (host, switch) = (NodeId(2), dumbbell.port(dumbbell.ports_of(NodeId(2))[0]).to);
        let slow = dumbbell.port_between(host, switch).unwrap();
        dumbbell.set_link(slow, Rate::gbps(1), Span::from_us(50));
        let (full, answer) = (Bytes::new(1538), Bytes::new(84));
        let mut routes = Routes::new(Policy::SymmetricEcmp);
        let (mut there, mut back) = (Vec::new(), Vec::new());
        let mut longest = Span::ZERO;
        for (src, dst) in (0..6).flat_map(|src| (0..6).map(move |dst| (NodeId(src), NodeId(dst)))) {
            if src != dst {
                routes.paths(&dumbbell, src, dst, 0, &mut there).unwrap();
                routes.paths(&dumbbell, dst, src, 0, &mut back).unwrap();
                longest = longest.max(base_rtt(&dumbbell, &there, &back, full, answer));
            }
        }
        assert_eq!(farthest_round_trip(&dumbbell, full, answer), longest);
    }
}
