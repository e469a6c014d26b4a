//! Flows that can never end, found before a run: their only way leads over a link that loses all for good.

use super::rounds::has_requests;
use super::router::Router;
use super::source::Source;
use crate::ids::{Id, TrafficId};
use crate::model::{Fault, Flow, LinkChange, Model, Pattern};
use clearway_topology::routing::Routes;
use clearway_topology::{NodeId, PortId, Topology};
use clearway_units::{Bytes, Time};
use std::collections::{BTreeMap, BTreeSet};

/// Most flows of an entry that are looked at.
const LOOKS: usize = 1 << 17;

/// A flow that can never end, so that a run without a stop never does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Endless {
    /// The traffic entry of the flow.
    pub traffic: TrafficId,
    /// The number of the flow there.
    pub number: u64,
    /// The host that sends.
    pub src: NodeId,
    /// The host that receives.
    pub dst: NodeId,
    /// The direction of a link over which all of its data or all of its answers would have to go.
    pub port: PortId,
    /// True if that link fails for good, false if it loses every packet.
    pub fails: bool,
}

/// The links of a model that lose all for good.
struct Dead<'a> {
    model: &'a Model,
    /// The ports that lose every packet. They stay on the paths of flows.
    lost: BTreeSet<PortId>,
    /// The ports that fail for good, each with the time, in a run in which routing notices no failure. They stay on the
    /// paths of flows.
    unnoticed: BTreeMap<PortId, Time>,
    /// The ports that fail and never come up again. Paths lead around them where they can.
    failed: BTreeSet<PortId>,
    /// The last of these to fail, with its time.
    last: Option<(Time, PortId)>,
    /// The paths while all links are up.
    router: Router,
    /// The paths when all links that fail for good have failed, and all others are up.
    routes: Routes,
}

impl Endless {
    /// Finds a flow that can never end, in a run that has no stop. Only flows are found that certainly never end: not
    /// those that might have ended before a link fails, nor those of a transport that sends nothing again.
    pub fn find(model: &Model) -> Option<Endless> {
        if model.stop.is_some() {
            return None;
        }
        let mut dead = Dead::of(model)?;
        let recovering =
            model.traffic.iter().enumerate().filter(|(_, entry)| entry.transport.info().recovers);
        recovering.map(|(index, _)| TrafficId::from_index(index)).find_map(|traffic| {
            let mut flows = flows_of(model, traffic).take(LOOKS).filter(|(_, flow)| flow.stop.is_none());
            flows.find_map(|(number, flow)| {
                let (port, fails) = dead.cut(traffic, number, &flow)?;
                Some(Endless { traffic, number, src: flow.src, dst: flow.dst, port, fails })
            })
        })
    }
}

impl Dead<'_> {
    /// Returns the links that lose all for good; `None` if there are none.
    fn of(model: &Model) -> Option<Dead<'_>> {
        let mut down = BTreeMap::new();
        // A link that only becomes slower goes on to deliver, and moves no path.
        let failures: Vec<&Fault> = model.faults.iter().filter(|fault| fault.is_up().is_some()).collect();
        for &fault in &failures {
            match fault.change {
                LinkChange::Down => down.insert(fault.port, *fault),
                _ => down.remove(&fault.port),
            };
        }
        let is_noticed = |fault: &Fault| fault.noticed.is_some();
        let stays = !failures.iter().any(|fault| is_noticed(fault));
        let unnoticed: BTreeMap<PortId, Time> =
            down.values().filter(|_| stays).map(|fault| (fault.port, fault.at)).collect();
        // Where routing notices some failures and others not, paths may lead anywhere, and a flow may find a whole one.
        down.retain(|_, fault| is_noticed(fault));
        // While links fail and recover, paths come and go, and a flow may find one that is whole.
        let loses_all = model.loss.iter().filter(|(_, share)| *share >= 1.0 && failures.is_empty());
        let lost: BTreeSet<PortId> = loses_all.map(|(port, _)| *port).collect();
        if lost.is_empty() && down.is_empty() && unnoticed.is_empty() {
            return None;
        }
        let mut routes = Routes::new(model.routing);
        down.keys().for_each(|&port| routes.set_up(&model.topology, port, false));
        let last = down.iter().map(|(&port, fault)| (fault.at, port)).max();
        Some(Dead {
            model,
            lost,
            unnoticed,
            failed: down.into_keys().collect(),
            last,
            router: Router::new(model),
            routes,
        })
    }

    /// Returns the direction of a link that keeps a flow from ever ending, and whether it fails.
    fn cut(&mut self, traffic: TrafficId, number: u64, flow: &Flow) -> Option<(PortId, bool)> {
        let key = self.router.key(traffic, number);
        let earliest = self.earliest_end(flow, key);
        let Dead { model, router, lost, unnoticed, .. } = self;
        if let Some(port) = lost_both_ways(router, &model.topology, flow, key, |port| lost.contains(&port)) {
            return Some((port, false));
        }
        let is_down = |port| unnoticed.get(&port).is_some_and(|at| *at <= earliest);
        let fails = lost_both_ways(router, &model.topology, flow, key, is_down);
        fails.or_else(|| self.fails(flow, key, earliest)).map(|port| (port, true))
    }

    /// Returns a time before which a flow can't have sent all of its data.
    fn earliest_end(&mut self, flow: &Flow, key: u64) -> Time {
        let topology = &self.model.topology;
        let (path, _) = self.router.find(topology, flow.src, flow.dst, key);
        let time = topology.port(path[0]).rate.time_to_send(flow.size.unwrap_or(Bytes::ZERO));
        flow.start.saturating_add(time)
    }

    /// Returns the last port to fail, if that leaves a flow without a path that has not ended by then.
    fn fails(&mut self, flow: &Flow, key: u64, earliest: Time) -> Option<PortId> {
        let (at, _) = self.last?;
        let topology = &self.model.topology;
        let mut ports = Vec::new();
        let mut is_cut = |from, to| self.routes.paths(topology, from, to, key, &mut ports).is_err();
        if !is_cut(flow.src, flow.dst) && !is_cut(flow.dst, flow.src) {
            return None;
        }
        let (path, _) = self.router.find(topology, flow.src, flow.dst, key);
        let on_path = path.iter().flat_map(|&port| [port, port.reverse()]);
        let failed =
            on_path.into_iter().find(|port| self.failed.contains(port)).or(self.last.map(|last| last.1));
        failed.filter(|_| earliest >= at)
    }
}

/// Returns a port that is lost, if each path of a flow's data has one, or each path of its answers.
fn lost_both_ways(
    router: &mut Router,
    topology: &Topology,
    flow: &Flow,
    key: u64,
    is_lost: impl Fn(PortId) -> bool,
) -> Option<PortId> {
    let is_symmetric = router.is_symmetric();
    let (ports, set) = router.find(topology, flow.src, flow.dst, key);
    let paths = ports.chunks(set.hops as usize);
    if let Some(port) = lost_on_all(paths.clone(), &is_lost) {
        return Some(port);
    }
    if is_symmetric {
        return lost_on_all(paths, |port| is_lost(port.reverse())).map(PortId::reverse);
    }
    let (ports, set) = router.find(topology, flow.dst, flow.src, key);
    lost_on_all(ports.chunks(set.hops as usize), &is_lost)
}

/// Returns a port of the first path that is lost, if each path has one.
fn lost_on_all<'a>(
    mut paths: impl Iterator<Item = &'a [PortId]> + Clone,
    is_lost: impl Fn(PortId) -> bool,
) -> Option<PortId> {
    let lost = |path: &[PortId]| path.iter().copied().find(|&port| is_lost(port));
    let first = lost(paths.clone().next()?);
    first.filter(|_| paths.all(|path| lost(path).is_some()))
}

/// Returns the flows of a traffic entry as far as they are known before the run, with their numbers.
fn flows_of(model: &Model, traffic: TrafficId) -> Box<dyn Iterator<Item = (u64, Flow)> + '_> {
    let pattern = &model.traffic[traffic.index()].pattern;
    if let Pattern::Messages(messages) = pattern {
        // One that waits for others begins at zero at the earliest.
        let number = |(message, flow): (usize, &Flow)| (messages.connection(message) as u64, *flow);
        return Box::new(messages.list().iter().enumerate().map(number));
    }
    let Pattern::Rounds(rounds) = pattern else {
        let mut source = Source::of(model, traffic);
        return Box::new(std::iter::from_fn(move || {
            source.next_at(pattern)?;
            source.next_flow(pattern)
        }));
    };
    // A connection is numbered by its worker: an even number for requests, an odd one for responses.
    let all = if rounds.reconnect { 1 } else { u64::from(rounds.rounds) };
    let flow = move |src, dst, size: Bytes| {
        let size = Some(Bytes::new(size.get().saturating_mul(all)));
        Flow { start: rounds.start, src, dst, size, stop: None }
    };
    Box::new(rounds.workers.iter().zip(0..).flat_map(move |(&worker, number)| {
        let request = has_requests(rounds).then(|| (2 * number, flow(rounds.client, worker, rounds.request)));
        request.into_iter().chain([(2 * number + 1, flow(worker, rounds.client, rounds.response))])
    }))
}
