//! Max-min fair shares of all flows that have something to send: what the `ideal` transport's senders are told.
//!
//! Progressive filling (Bertsekas and Gallager, "Data Networks", sec. 6.5.2): all rates grow together until a port is
//! full; the flows through it keep the rate that they have; the others grow on. A flow over several paths, packet by
//! packet, weighs as much less at each port.

use clearway_units::Rate;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Which flows are active, over which ports, and at what rate.
pub struct Oracle {
    /// Rate of each port, in bit/s.
    capacity: Vec<f64>,
    /// Active flows, in the order of their start, with what each had last.
    active: Vec<Active>,
    /// Where each flow stands in `active`, by its place, or [`ABSENT`].
    position: Vec<u32>,
    /// Whether something changed since the last computation.
    changed: bool,
    /// Reused from one computation to the next: state by port, all at rest in between.
    ports: Vec<PortState>,
    touched: Vec<u32>,
    heap: BinaryHeap<Reverse<(u64, u32)>>,
    rates: Vec<f64>,
}

struct Active {
    flow: u32,
    /// (port, weight).
    ports: Vec<(u32, f64)>,
    rate: Rate,
}

#[derive(Clone, Default)]
struct PortState {
    /// What flows that are not settled may still have, in bit/s.
    left: f64,
    /// Weight of those flows.
    weight: f64,
    /// Flows that cross it: indices into `active`.
    flows: Vec<u32>,
}

const ABSENT: u32 = u32::MAX;

impl Oracle {
    /// Without flows, over ports of these rates.
    pub fn new(rates: impl Iterator<Item = Rate>) -> Oracle {
        let capacity: Vec<f64> = rates.map(Rate::as_bps_f64).collect();
        Oracle {
            ports: vec![PortState::default(); capacity.len()],
            capacity,
            active: Vec::new(),
            position: Vec::new(),
            changed: false,
            touched: Vec::new(),
            heap: BinaryHeap::new(),
            rates: Vec::new(),
        }
    }

    /// Whether shares may differ from those last told.
    pub fn has_changed(&self) -> bool {
        self.changed
    }

    /// Whether a flow is active.
    pub fn is_active(&self, flow: u32) -> bool {
        self.position.get(flow as usize).is_some_and(|&position| position != ABSENT)
    }

    /// A flow has something to send over `paths` (one after the other, of `hops` ports each), or now goes there.
    pub fn start(&mut self, flow: u32, paths: impl Iterator<Item = u32>, count: u32) {
        let weight = 1.0 / count as f64;
        let mut ports: Vec<(u32, f64)> = paths.map(|port| (port, weight)).collect();
        if count > 1 {
            ports.sort_by_key(|(port, _)| *port);
            ports.dedup_by(|next, kept| {
                let same = next.0 == kept.0;
                kept.1 += if same { next.1 } else { 0.0 };
                same
            });
        }
        if self.position.len() <= flow as usize {
            self.position.resize(flow as usize + 1, ABSENT);
        }
        self.changed = true;
        match self.position[flow as usize] {
            ABSENT => {
                self.position[flow as usize] = self.active.len() as u32;
                // The first word is always news: no rate is zero.
                self.active.push(Active { flow, ports, rate: Rate::ZERO });
            }
            position => self.active[position as usize].ports = ports,
        }
    }

    /// A flow has nothing to send any more.
    pub fn stop(&mut self, flow: u32) {
        if !self.is_active(flow) {
            return;
        }
        self.changed = true;
        let position = std::mem::replace(&mut self.position[flow as usize], ABSENT);
        self.active.swap_remove(position as usize);
        if let Some(moved) = self.active.get(position as usize) {
            self.position[moved.flow as usize] = position;
        }
    }

    /// Computes all shares and says whose changed.
    pub fn shares(&mut self, mut tell: impl FnMut(u32, Rate)) {
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
                let state = &mut ports[port as usize];
                if state.flows.is_empty() {
                    touched.push(port);
                    state.left = capacity[port as usize];
                }
                state.weight += weight;
                state.flows.push(index as u32);
            }
        }
        rates.clear();
        rates.resize(active.len(), f64::INFINITY);
        // Shares are not negative, so their bits are in the order of their values.
        let share = |state: &PortState| (state.left / state.weight).max(0.0);
        heap.extend(touched.iter().map(|&port| Reverse((share(&ports[port as usize]).to_bits(), port))));
        while let Some(Reverse((key, port))) = heap.pop() {
            if ports[port as usize].weight <= 1e-9 {
                continue;
            }
            // While others settle, a port's share only rises: an old entry is at most too low.
            let now = share(&ports[port as usize]);
            if now.to_bits() > key {
                heap.push(Reverse((now.to_bits(), port)));
                continue;
            }
            let flows = std::mem::take(&mut ports[port as usize].flows);
            for &flow in &flows {
                if rates[flow as usize].is_finite() {
                    continue;
                }
                rates[flow as usize] = now;
                for &(crossed, weight) in &active[flow as usize].ports {
                    let state = &mut ports[crossed as usize];
                    state.left -= weight * now;
                    state.weight -= weight;
                }
            }
            ports[port as usize].flows = flows;
        }
        for port in touched.drain(..) {
            let state = &mut ports[port as usize];
            state.weight = 0.0;
            state.flows.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Shares in Gbps of flows over these ports, each of a rate in Gbps.
    fn shares(ports: &[f64], flows: &[&[u32]]) -> Vec<f64> {
        let mut oracle = Oracle::new(ports.iter().map(|gbps| Rate::from_bps_f64(gbps * 1e9)));
        for (flow, path) in flows.iter().enumerate() {
            oracle.start(flow as u32, path.iter().copied(), 1);
        }
        let mut shares = vec![0.0; flows.len()];
        oracle.shares(|flow, rate| shares[flow as usize] = rate.as_bps_f64() / 1e9);
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
        oracle.start(0, [0, 1].into_iter(), 2);
        oracle.start(1, [1].into_iter(), 1);
        let mut shares = [0; 2];
        oracle.shares(|flow, rate| shares[flow as usize] = rate.as_bps());
        // r + r / 2 = 4 Gbps.
        assert_eq!(shares, [2_666_666_666; 2].map(|share| share + (shares[0] - share)));
        assert!((shares[0] as f64 - 8e9 / 3.0).abs() < 2.0);
    }

    #[test]
    fn only_changes_are_told_and_a_flow_that_ends_leaves_its_share_to_the_others() {
        let mut oracle = Oracle::new([Rate::gbps(10), Rate::gbps(10)].into_iter());
        oracle.start(7, [0].into_iter(), 1);
        oracle.start(3, [0].into_iter(), 1);
        oracle.start(5, [1].into_iter(), 1);
        let told = |oracle: &mut Oracle| {
            let mut told = Vec::new();
            oracle.shares(|flow, rate| told.push((flow, rate.as_bps() / 1_000_000_000)));
            told
        };
        assert_eq!(told(&mut oracle), [(7, 5), (3, 5), (5, 10)]);
        oracle.stop(7);
        assert!(oracle.has_changed() && !oracle.is_active(7));
        assert_eq!(told(&mut oracle), [(3, 10)]);
        assert!(!oracle.has_changed());
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
