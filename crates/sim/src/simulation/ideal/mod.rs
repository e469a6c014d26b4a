//! The time that a flow would take alone: what its slowdown is measured against.
//!
//! It is the shortest time in which its frames, full ones and a last one that leave the source in this order, can cross
//! the idle network on the paths that they may take. A flow on one path has exactly this time ([`Train::on_path`]); of a
//! flow whose packets are spread over several paths, or whose paths a fault changed, it is a bound
//! ([`Train::on_paths`]).

mod cut;

use super::detours::Left;
use super::state::Simulation;
use crate::ids::{FlowSlot, HostId};
use crate::model::Model;
use crate::net::Route;
use clearway_topology::routing::Stages;
use clearway_topology::{PortId, SendingTime, Topology};
use clearway_units::{Bytes, Span, Time};
use cut::Cut;

/// The frames of a flow: so many full ones, and a last one.
#[derive(Clone, Copy)]
struct Train<'a> {
    topology: &'a Topology,
    before: u64,
    /// The times that frames of both sizes take at a port.
    full: SendingTime,
    last: SendingTime,
}

/// The ports that all paths of a flow have in common at their ends.
struct Ends {
    first: Option<PortId>,
    last: Option<PortId>,
}

/// The ports at one distance from the source of a flow where all of them are alike.
struct Hop {
    /// The number of the ports.
    ports: u64,
    /// The times that a full frame and the last one take at each.
    full: Span,
    last: Span,
    delay: Span,
}

/// Returns the time that a message of a flow would take alone, which the application wrote at `since`.
pub fn ideal_fct(sim: &mut Simulation, slot: FlowSlot, route: Route, since: Time, bytes: u64) -> Span {
    if bytes == 0 {
        return Span::ZERO;
    }
    let (paths, train) = (sim.nets.paths(), Train::new(&sim.model, bytes));
    let detours = sim.live_flows.detours.since(slot, since);
    if detours.is_empty() && !route.is_by_tables() {
        return train.on_path(paths.path(route));
    }
    let live = sim.live_flows.get(slot);
    let hosts = live.map(|live| [live.src, live.dst].map(HostId::node));
    if let (true, Some([src, dst])) = (detours.is_empty(), hosts)
        && let Some(time) = train.on_stages(sim.router.stages(&paths.tables, &sim.model.topology, src, dst))
    {
        return time;
    }
    let mut several: Vec<&[PortId]> = Vec::new();
    for (_, left) in detours {
        match left {
            Left::Path(route) => several.push(paths.path(*route)),
            Left::Paths(ports, hops) => several.extend(ports.chunks(*hops as usize)),
        }
    }
    if !route.is_by_tables() {
        several.push(paths.path(route));
    } else if let (Some(live), Some([src, dst])) = (live, hosts) {
        let key = sim.router.key(live.name().traffic, live.name().number);
        let (ports, set) = sim.router.find(&sim.model.topology, src, dst, key);
        several.extend(ports.chunks(set.hops as usize));
    }
    match several[..] {
        [only] => train.on_path(only),
        _ => train.on_paths(&several),
    }
}

impl Train<'_> {
    /// Returns the frames that carry so many bytes.
    fn new(model: &Model, bytes: u64) -> Train<'_> {
        let framing = model.framing;
        let full = framing.payload_max as u64;
        let before = bytes.div_ceil(full).saturating_sub(1);
        let [full, last] = [full, bytes - before * full].map(|payload| {
            let wire = Bytes::new(framing.wire(payload as u32) as u64);
            if model.whole_ns { SendingTime::below(wire, Span::from_ns(1)) } else { SendingTime::of(wire) }
        });
        Train { topology: &model.topology, before, full, last }
    }

    /// Returns the time until the last frame arrives over one path: it follows the full ones before it through every
    /// port.
    fn on_path(mut self, path: &[PortId]) -> Span {
        // When the last full frame, and then the last frame, has left each port.
        let (mut ahead, mut slowest, mut done) = (Span::ZERO, Span::ZERO, Span::ZERO);
        for port in path {
            let port = self.topology.port(*port);
            let time = self.full.at(port.rate);
            slowest = slowest.max(time);
            let train = slowest.saturating_mul(self.before.saturating_sub(1));
            let gone = if self.before > 0 { (ahead + time).saturating_add(train) } else { Span::ZERO };
            done = done.max(gone).saturating_add(self.last.at(port.rate) + port.delay);
            // Only the first full frame's way adds up; the others follow at the pace of the slowest port.
            ahead += time + port.delay;
        }
        done
    }

    /// Returns a time before which the frames can't all have arrived over several paths among which each frame may
    /// choose. It is the latest of what a single frame needs, what the ports need that all paths have in common, and
    /// what the ports need together that all paths cross at the same distance from the source.
    fn on_paths(self, paths: &[&[PortId]]) -> Span {
        let ends = Ends {
            first: common(paths.iter().map(|path| path[0])),
            last: common(paths.iter().map(|path| path[path.len() - 1])),
        };
        let [full, last] = [self.full, self.last].map(|frame| self.fastest(frame, paths));
        self.after(ends, full, last, Cut::between(self.topology, self.full, paths))
    }

    /// As [`Train::on_paths`], of all paths over these ports, if all ports at one distance from the source are alike, so that
    /// no path differs from another: far quicker than to go over all paths. Else returns `None`.
    fn on_stages(mut self, stages: &Stages) -> Option<Span> {
        let mut hops: Vec<Hop> = Vec::new();
        for ports in stages.iter() {
            let one = self.topology.port(ports[0]);
            let is_like = |port: &PortId| {
                let port = self.topology.port(*port);
                (port.rate, port.delay) == (one.rate, one.delay)
            };
            if !ports.iter().all(is_like) {
                return None;
            }
            let [full, last] = [&mut self.full, &mut self.last].map(|frame| frame.at(one.rate));
            hops.push(Hop { ports: ports.len() as u64, full, last, delay: one.delay });
        }
        if stages.iter().all(|ports| ports.len() == 1) {
            let path: Vec<PortId> = stages.iter().flatten().copied().collect();
            return Some(self.on_path(&path));
        }
        let ends = [stages.iter().next(), stages.iter().last()];
        let [first, last] = ends.map(|ports| common(ports.into_iter().flatten().copied()));
        let alone = |frame: fn(&Hop) -> Span| hops.iter().map(|hop| frame(hop) + hop.delay).sum::<Span>();
        let [full, last_alone] = [alone(|hop| hop.full), alone(|hop| hop.last)];
        // A full frame is around the ports of a hop while it is not at one of them.
        let between = hops.iter().skip(1).take(hops.len().saturating_sub(2));
        let cuts = between.map(|hop| Cut::of_alike(hop.ports, hop.full, full - hop.full));
        Some(self.after(Ends { first, last }, full, last_alone, cuts))
    }

    /// Returns the time of [`Train::on_paths`]. `full` and `last` are the times that a full frame and the last one take alone.
    fn after(mut self, ends: Ends, full: Span, last: Span, cuts: impl Iterator<Item = Cut>) -> Span {
        let Some(behind_first) = self.before.checked_sub(1) else { return last };
        let mut done = full.max(last);
        // When the last frame arrives, since it left the source behind all others.
        let mut last_arrives = last;
        if let Some(first) = ends.first {
            let time = self.full.at(self.topology.port(first).rate);
            last_arrives = time.saturating_mul(self.before).saturating_add(last);
            done = done.max(last_arrives).max(time.saturating_mul(behind_first).saturating_add(full));
        }
        if let Some(port) = ends.last {
            let rate = self.topology.port(port).rate;
            let (time, last_time) = (self.full.at(rate), self.last.at(rate));
            // The last frame is behind a full one on the last link, or it overtook all of them, which then follow it.
            let in_order = full.saturating_add(last_time);
            let overtaken = full.max(last_arrives.saturating_add(time));
            let others = time.saturating_mul(behind_first);
            done = done.max(in_order.min(overtaken).saturating_add(others));
        }
        let frames = self.before + u64::from(self.last.size() == self.full.size());
        cuts.fold(done, |done, cut| cut.done(frames, done))
    }

    /// Returns the time that a frame takes alone on the fastest of several paths for it.
    fn fastest(&self, mut frame: SendingTime, paths: &[&[PortId]]) -> Span {
        let alone = paths.iter().map(|path| {
            path.iter().fold(Span::ZERO, |time, &port| {
                let port = self.topology.port(port);
                time + frame.at(port.rate) + port.delay
            })
        });
        alone.min().expect("a flow has a path")
    }
}

/// Returns the port that all of these are, if it is one.
fn common(mut ports: impl Iterator<Item = PortId>) -> Option<PortId> {
    let first = ports.next()?;
    ports.all(|port| port == first).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::truncated_time;
    use crate::ports;
    use clearway_topology::routing::{Policy, Routes};
    use clearway_topology::{Builder, Dumbbell, FatTree, LeafSpine, NodeId, Star};
    use clearway_units::Rate;

    /// The ideal time on one path, computed frame by frame.
    fn step_by_step(model: &Model, path: &[PortId], bytes: u64) -> Span {
        let full = model.framing.payload_max as u64;
        let mut free = vec![Span::ZERO; path.len()];
        let (mut left, mut arrived) = (bytes, Span::ZERO);
        while left > 0 {
            let payload = left.min(full);
            left -= payload;
            let wire = Bytes::new(model.framing.wire(payload as u32) as u64);
            arrived = Span::ZERO;
            for (port, free) in path.iter().zip(&mut free) {
                let port = model.topology.port(*port);
                let exact = port.rate.time_to_send(wire);
                *free =
                    arrived.max(*free) + if model.whole_ns { truncated_time(port.rate, wire) } else { exact };
                arrived = *free + port.delay;
            }
        }
        arrived
    }

    /// The model of a network and the paths from its first host to its last, as a flow of a policy has them.
    fn model_and_paths(topology: Topology, policy: Policy, whole_ns: bool) -> (Model, Vec<Vec<PortId>>) {
        let mut model = ports::network_for(topology, []).unwrap();
        model.whole_ns = whole_ns;
        let last = NodeId(model.topology.hosts() as u32 - 1);
        let mut ports = Vec::new();
        let set = Routes::new(policy).paths(&model.topology, NodeId(0), last, 1, &mut ports).unwrap();
        let paths = (0..set.count).map(|index| set.path(&ports, index).to_vec()).collect();
        (model, paths)
    }

    const SIZES: [u64; 8] = [1, 1459, 1460, 1461, 2920, 3000, 14_600, 1_000_001];

    #[test]
    fn the_ideal_time_is_that_of_frames_followed_one_by_one() {
        for (edge, middle) in [(10, 10), (10, 40), (40, 10)] {
            for whole_ns in [false, true] {
                let topology = Dumbbell {
                    rate: Rate::gbps(edge),
                    bottleneck_rate: Rate::gbps(middle),
                    ..Dumbbell::default()
                };
                let (model, paths) =
                    model_and_paths(topology.build().unwrap(), Policy::SymmetricEcmp, whole_ns);
                for bytes in SIZES {
                    let ideal = Train::new(&model, bytes).on_path(&paths[0]);
                    assert_eq!(
                        ideal,
                        step_by_step(&model, &paths[0], bytes),
                        "{edge} {middle} {bytes} {whole_ns}"
                    );
                }
            }
        }
    }

    /// Two hosts whose switches are joined over one switch for each of these rates in Gbps, with 1 us a link.
    fn spread(edge: u64, middle: &[u64]) -> (Model, Vec<Vec<PortId>>) {
        spread_with(edge, &middle.iter().map(|&gbps| (gbps, 1)).collect::<Vec<_>>())
    }

    /// As [`spread`], with links of so many microseconds for each rate.
    fn spread_with(edge: u64, middle: &[(u64, u64)]) -> (Model, Vec<Vec<PortId>>) {
        let mut builder = Builder::new();
        let (a, b) = (builder.add_host("a"), builder.add_host("b"));
        let (left, right) = (builder.add_switch("left", 1), builder.add_switch("right", 1));
        let delay = Span::from_us(1);
        builder.link(a, left, Rate::gbps(edge), delay);
        builder.link(right, b, Rate::gbps(edge), delay);
        for (index, &(gbps, us)) in middle.iter().enumerate() {
            let (spine, delay) = (builder.add_switch(format!("spine{index}"), 2), Span::from_us(us));
            builder.link(left, spine, Rate::gbps(gbps), delay);
            builder.link(spine, right, Rate::gbps(gbps), delay);
        }
        model_and_paths(builder.build().unwrap(), Policy::Spray, false)
    }

    fn on_paths(model: &Model, paths: &[Vec<PortId>], bytes: u64) -> Span {
        let paths: Vec<&[PortId]> = paths.iter().map(Vec::as_slice).collect();
        Train::new(model, bytes).on_paths(&paths)
    }

    #[test]
    fn where_the_hosts_have_the_slowest_links_several_paths_are_no_faster_than_one_for_flows_of_many_frames()
    {
        for middle in [&[10, 10][..], &[10, 10, 10, 10]] {
            let (model, paths) = spread(10, middle);
            for bytes in [5 * 1460, 14_600, 14_601, 1_000_001] {
                assert_eq!(
                    on_paths(&model, &paths, bytes),
                    step_by_step(&model, &paths[0], bytes),
                    "{bytes}"
                );
            }
        }
    }

    /// The ideal time by the ports of all paths from the first host to the last, and by the paths one after the other.
    fn both(model: &Model, paths: &[Vec<PortId>], bytes: u64) -> (Option<Span>, Span) {
        let mut stages = Stages::default();
        let last = NodeId(model.topology.hosts() as u32 - 1);
        Routes::new(Policy::Spray).stages(&model.topology, NodeId(0), last, &mut stages).unwrap();
        let one_by_one = match paths {
            [only] => Train::new(model, bytes).on_path(only),
            _ => on_paths(model, paths, bytes),
        };
        (Train::new(model, bytes).on_stages(&stages), one_by_one)
    }

    #[test]
    fn where_no_path_differs_from_another_the_ideal_time_needs_no_path_but_the_ports_of_all() {
        let gbps = Rate::gbps;
        let uplinks = [(1, 10), (4, 10), (4, 3), (4, 40)].map(|(leaves, rate)| {
            LeafSpine { leaves, spines: 3, uplink_rate: gbps(rate), ..LeafSpine::default() }.build()
        });
        let trees = [2, 4, 8].map(|k| FatTree { k, ..FatTree::default() }.build());
        let hosts = [Dumbbell::default().build(), Star::default().build()];
        for topology in uplinks.into_iter().chain(trees).chain(hosts) {
            let topology = topology.unwrap();
            for whole_ns in [false, true] {
                let (model, paths) = model_and_paths(topology.clone(), Policy::Spray, whole_ns);
                for bytes in SIZES.into_iter().chain([50_000_000, u64::MAX / 4]) {
                    let (at_once, one_by_one) = both(&model, &paths, bytes);
                    assert_eq!(at_once, Some(one_by_one), "{bytes} B over {} paths", paths.len());
                }
            }
        }
        for middle in [&[10, 10, 10][..], &[1, 1], &[3]] {
            let (model, paths) = spread(10, middle);
            let (at_once, one_by_one) = both(&model, &paths, 1_000_001);
            assert_eq!(at_once, Some(one_by_one), "{middle:?}");
        }
        let (model, paths) = spread(10, &[10, 40]);
        assert_eq!(both(&model, &paths, 1_000_001).0, None, "one path is faster than the other");
        let (model, paths) = spread_with(10, &[(10, 1), (10, 2)]);
        assert_eq!(both(&model, &paths, 1_000_001).0, None, "one path is longer than the other");
    }

    #[test]
    fn a_flow_without_an_end_takes_the_longest_time_there_is_on_any_paths() {
        for edge in [10, 100] {
            let (model, paths) = spread(edge, &[10, 10]);
            assert_eq!(on_paths(&model, &paths, u64::MAX / 4), Span::MAX);
        }
    }

    #[test]
    fn slow_links_side_by_side_carry_the_frames_together() {
        // 1,538 B take 1,230,400 ps at 10 Gbps and 123,040 ps at 100 Gbps; four links are 4 us long.
        let (model, paths) = spread(100, &[10, 10, 10, 10]);
        let (slow, fast, links) = (1_230_400, 123_040, 4_000_000);
        let alone = 2 * fast + 2 * slow + links;
        // The first frames follow each other at the pace of the host; of more, each waits for its turn on a slow link.
        for (frames, waits) in
            [(1, 0), (2, fast), (4, 3 * fast), (5, slow), (400, 99 * slow), (401, 100 * slow)]
        {
            assert_eq!(on_paths(&model, &paths, frames * 1460).as_ps(), alone + waits, "{frames} frames");
        }
        let one_path = step_by_step(&model, &paths[0], 400 * 1460);
        assert_eq!(
            one_path.as_ps(),
            alone + 399 * slow,
            "the pace of one path, which spraying beats four times"
        );
    }
}
