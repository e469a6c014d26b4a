//! Max-min fair shares of all flows that have something to send: what the `ideal` transport's senders are told.
//!
//! Progressive filling (Bertsekas and Gallager, "Data Networks", sec. 6.5.2): all rates grow together until a port is
//! full; the flows through it keep the rate that they have; the others grow on. A flow over several paths, packet by
//! packet, weighs as much less at each port.

use crate::ids::{FlowSlot, IdVec};
use clearway_topology::PortId;
use clearway_units::Rate;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The active flows, the ports that they cross, and their shares.
#[derive(Serialize, Deserialize)]
pub struct Oracle {
    /// The rate of each port, in bit/s.
    capacity: IdVec<PortId, f64>,
    /// The active flows, in the order of their start.
    active: Vec<Active>,
    /// The index of each active flow in `active`.
    position: IdVec<FlowSlot, Option<usize>>,
    /// Set if something changed since the last computation.
    changed: bool,
    /// The state of each port during a computation; all at rest in between. This and what follows is kept from one
    /// computation to the next, so that none allocates.
    ports: IdVec<PortId, PortState>,
    touched: Vec<PortId>,
    heap: BinaryHeap<Reverse<(u64, PortId)>>,
    rates: Vec<f64>,
}

/// A flow that has something to send.
#[derive(Serialize, Deserialize)]
struct Active {
    flow: FlowSlot,
    /// The ports that the flow crosses, each with the flow's weight there.
    ports: Vec<(PortId, f64)>,
    /// The share that the flow was told last.
    rate: Rate,
}

#[derive(Clone, Default, Serialize, Deserialize)]
struct PortState {
    /// The rate that flows which are not settled may still have, in bit/s.
    left: f64,
    /// The weight of those flows.
    weight: f64,
    /// The flows that cross the port, as indices into `active`.
    flows: Vec<usize>,
}

impl Oracle {
    /// Returns an oracle without flows, over ports of these rates.
    pub fn new(rates: impl Iterator<Item = Rate>) -> Oracle {
        let capacity: IdVec<PortId, f64> = rates.map(Rate::as_bps_f64).collect();
        Oracle {
            ports: vec![PortState::default(); capacity.len()].into(),
            capacity,
            active: Vec::new(),
            position: IdVec::new(),
            changed: false,
            touched: Vec::new(),
            heap: BinaryHeap::new(),
            rates: Vec::new(),
        }
    }

    /// Returns whether shares may differ from those last told.
    pub fn has_changed(&self) -> bool {
        self.changed
    }

    /// Returns whether a flow is active.
    pub fn is_active(&self, flow: FlowSlot) -> bool {
        self.position.get(flow).is_some_and(Option::is_some)
    }

    /// A flow has something to send over the ports of `count` paths, or goes there from now on.
    pub fn start(&mut self, flow: FlowSlot, paths: impl Iterator<Item = PortId>, count: u32) {
        let weight = 1.0 / count as f64;
        let mut ports: Vec<(PortId, f64)> = paths.map(|port| (port, weight)).collect();
        if count > 1 {
            ports.sort_by_key(|(port, _)| *port);
            ports.dedup_by(|next, kept| {
                let same = next.0 == kept.0;
                kept.1 += if same { next.1 } else { 0.0 };
                same
            });
        }
        self.position.cover(flow, None);
        self.changed = true;
        match self.position[flow] {
            None => {
                self.position[flow] = Some(self.active.len());
                // The first word is always news: no rate is zero.
                self.active.push(Active { flow, ports, rate: Rate::ZERO });
            }
            Some(position) => self.active[position].ports = ports,
        }
    }

    /// A flow has nothing to send any more.
    pub fn stop(&mut self, flow: FlowSlot) {
        let Some(position) = self.position.get_mut(flow).and_then(Option::take) else { return };
        self.changed = true;
        self.active.swap_remove(position);
        if let Some(moved) = self.active.get(position) {
            self.position[moved.flow] = Some(position);
        }
    }

    /// A port has another rate from now on.
    pub fn set_rate(&mut self, port: PortId, rate: Rate) {
        self.capacity[port] = rate.as_bps_f64();
        self.changed |= !self.active.is_empty();
    }

    /// Computes all shares and tells those that changed.
    pub fn shares(&mut self, mut tell: impl FnMut(FlowSlot, Rate)) {
        self.changed = false;
        self.fill();
        for (active, rate) in self.active.iter_mut().zip(&self.rates) {
            let rate = Rate::from_bps_f64(rate.max(1.0));
            if rate != active.rate {
                active.rate = rate;
                tell(active.flow, rate);
            }
        }
    }

    fn fill(&mut self) {
        let Oracle { capacity, active, ports, touched, heap, rates, .. } = self;
        for (index, flow) in active.iter().enumerate() {
            for &(port, weight) in &flow.ports {
                let state = &mut ports[port];
                if state.flows.is_empty() {
                    touched.push(port);
                    state.left = capacity[port];
                }
                state.weight += weight;
                state.flows.push(index);
            }
        }
        rates.clear();
        rates.resize(active.len(), f64::INFINITY);
        // Shares are not negative, so their bits are in the order of their values.
        let share = |state: &PortState| (state.left / state.weight).max(0.0);
        heap.extend(touched.iter().map(|&port| Reverse((share(&ports[port]).to_bits(), port))));
        while let Some(Reverse((key, port))) = heap.pop() {
            if ports[port].weight <= 1e-9 {
                continue;
            }
            // While others settle, a port's share only rises: an old entry is at most too low.
            let now = share(&ports[port]);
            if now.to_bits() > key {
                heap.push(Reverse((now.to_bits(), port)));
                continue;
            }
            let flows = std::mem::take(&mut ports[port].flows);
            for &flow in &flows {
                if rates[flow].is_finite() {
                    continue;
                }
                rates[flow] = now;
                for &(crossed, weight) in &active[flow].ports {
                    let state = &mut ports[crossed];
                    state.left -= weight * now;
                    state.weight -= weight;
                }
            }
            ports[port].flows = flows;
        }
        for port in touched.drain(..) {
            let state = &mut ports[port];
            state.weight = 0.0;
            state.flows.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Id;
    use proptest::prelude::*;

    /// Shares in Gbps of flows over these ports, each of a rate in Gbps.
    fn shares(ports: &[f64], flows: &[&[u32]]) -> Vec<f64> {
        let mut oracle = Oracle::new(ports.iter().map(|gbps| Rate::from_bps_f64(gbps * 1e9)));
        for (flow, path) in flows.iter().enumerate() {
            oracle.start(FlowSlot::from_index(flow), path.iter().copied().map(PortId), 1);
        }
        let mut shares = vec![0.0; flows.len()];
        oracle.shares(|flow, rate| shares[flow.index()] = rate.as_bps_f64() / 1e9);
        shares
    }

    #[test]
    fn on_the_parking_lot_every_link_is_halved() {
        assert_eq!(shares(&[10.0, 10.0, 10.0], &[&[0, 1, 2], &[0], &[1], &[2]]), [5.0, 5.0, 5.0, 5.0]);
    }

    #[test]
    fn what_a_flow_cannot_use_at_its_bottleneck_goes_to_others_elsewhere() {
        // The long flow is held to 2 at the first link; the cross flow of the second has 8.
        assert_eq!(shares(&[4.0, 10.0], &[&[0, 1], &[0], &[1]]), [2.0, 2.0, 8.0]);
        // Three levels: 1 at the first, (10 - 1) / 2 at the second, 20 - 4.5 at the third.
        assert_eq!(
            shares(&[2.0, 10.0, 20.0], &[&[0, 1], &[0], &[1], &[1, 2], &[2]]),
            [1.0, 1.0, 4.5, 4.5, 15.5]
        );
    }

    #[test]
    fn in_the_multi_bottleneck_of_expresspass_17_figure_11_flow_0_has_one_of_n_plus_one() {
        for n in [1usize, 2, 7] {
            let mut flows: Vec<&[u32]> = vec![&[1]];
            flows.extend(std::iter::repeat_n(&[0u32, 1][..], n));
            for share in shares(&[10.0, 10.0], &flows) {
                assert!((share - 10.0 / (n + 1) as f64).abs() < 1e-8);
            }
        }
    }

    #[test]
    fn a_flow_over_two_paths_loads_each_by_half() {
        let mut oracle = Oracle::new([10.0, 4.0, 10.0].iter().map(|gbps| Rate::from_bps_f64(gbps * 1e9)));
        // Ports 0 and 1 are the ways of flow 0; flow 1 shares port 1 with it.
        oracle.start(FlowSlot::from_index(0), [0, 1].into_iter().map(PortId), 2);
        oracle.start(FlowSlot::from_index(1), [1].into_iter().map(PortId), 1);
        let mut shares = [0; 2];
        oracle.shares(|flow, rate| shares[flow.index()] = rate.as_bps());
        // r + r / 2 = 4 Gbps.
        assert_eq!(shares, [2_666_666_666; 2].map(|share| share + (shares[0] - share)));
        assert!((shares[0] as f64 - 8e9 / 3.0).abs() < 2.0);
    }

    #[test]
    fn only_changes_are_told_and_a_flow_that_ends_leaves_its_share_to_the_others() {
        let mut oracle = Oracle::new([Rate::gbps(10), Rate::gbps(10)].into_iter());
        oracle.start(FlowSlot::from_index(7), [0].into_iter().map(PortId), 1);
        oracle.start(FlowSlot::from_index(3), [0].into_iter().map(PortId), 1);
        oracle.start(FlowSlot::from_index(5), [1].into_iter().map(PortId), 1);
        let told = |oracle: &mut Oracle| {
            let mut told = Vec::new();
            oracle.shares(|flow, rate| told.push((flow.index(), rate.as_bps() / 1_000_000_000)));
            told
        };
        assert_eq!(told(&mut oracle), [(7, 5), (3, 5), (5, 10)]);
        oracle.stop(FlowSlot::from_index(7));
        assert!(oracle.has_changed() && !oracle.is_active(FlowSlot::from_index(7)));
        assert_eq!(told(&mut oracle), [(3, 10)]);
        assert!(!oracle.has_changed());
        oracle.set_rate(PortId(1), Rate::gbps(4));
        assert!(oracle.has_changed());
        assert_eq!(told(&mut oracle), [(5, 4)], "a link that became slower");
    }

    proptest! {
        #[test]
        fn no_port_is_overbooked_and_every_flow_has_a_full_port_where_none_has_more(
            ports in prop::collection::vec(1u64..100, 1..12),
            paths in prop::collection::vec(prop::collection::btree_set(0u32..12, 1..6), 1..30),
        ) {
            let rates: Vec<f64> = ports.iter().map(|&gbps| gbps as f64).collect();
            let paths: Vec<Vec<u32>> = paths.into_iter()
                .map(|path| path.into_iter().map(|port| port % ports.len() as u32)
                    .collect::<std::collections::BTreeSet<_>>().into_iter().collect())
                .collect();
            let shares = shares(&rates, &paths.iter().map(Vec::as_slice).collect::<Vec<_>>());
            let load = |port: u32| -> f64 {
                paths.iter().zip(&shares).filter(|(path, _)| path.contains(&port)).map(|(_, share)| share).sum()
            };
            for (port, rate) in rates.iter().enumerate() {
                prop_assert!(load(port as u32) <= rate + 1e-6);
            }
            for (path, share) in paths.iter().zip(&shares) {
                let has_bottleneck = path.iter().any(|&port| {
                    let most = paths.iter().zip(&shares).filter(|(other, _)| other.contains(&port))
                        .map(|(_, share)| *share).fold(0.0, f64::max);
                    load(port) >= rates[port as usize] - 1e-6 && most <= share + 1e-6
                });
                prop_assert!(has_bottleneck, "{:?} {}", path, share);
            }
        }
    }
}
