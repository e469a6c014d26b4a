//! What happens to the network itself: links fail, ports are watched, senders are told their fair shares.

use super::detours::Left;
use super::global_events::GlobalEvent;
use super::ideal::ideal_fct;
use super::notes::ENDLESS;
use super::router::Router;
use super::state::Simulation;
use crate::hosts::Input;
use crate::ids::{FaultId, FlowSlot, HostId, Id, RecordId, TrafficId};
use crate::metrics::{Ended, Record};
use crate::model::{Fault, LinkChange};
use crate::net::{Route, WATCH, controls, faults, spread};
use clearway_units::Time;

/// A link's direction fails, recovers, or changes its rate.
pub fn apply_fault(sim: &mut Simulation, fault: FaultId) {
    let Fault { at, port, change, noticed, .. } = sim.model.faults[fault.index()];
    match change {
        LinkChange::Down => faults::set_up(&mut sim.nets, port, false),
        LinkChange::Up => faults::set_up(&mut sim.nets, port, true),
        LinkChange::Rate(rate) => {
            faults::set_rate(&mut sim.nets, port, rate);
            if sim.shares.set_rate(port, rate) {
                sim.global_events.push(sim.now, GlobalEvent::Shares);
            }
        }
    }
    match noticed {
        Some(then) if then == at => notice_fault(sim, fault),
        Some(then) => sim.global_events.push(then, GlobalEvent::Noticed(fault)),
        None => {}
    }
}

/// Routing notices that a link's direction failed or recovered: every flow gets the paths that it has now. Packets
/// under way on a stored path keep it, so the place of an old route is not used again; those that tables forward go on
/// by the new tables from the next switch.
pub fn notice_fault(sim: &mut Simulation, fault: FaultId) {
    let fault = sim.model.faults[fault.index()];
    let Some(up) = fault.is_up() else { return };
    let mut before = sim.router.is_spread().then(|| sim.router.clone());
    sim.router.set_up(&sim.model.topology, fault.port, up);
    if before.is_some() {
        spread::notice(&mut sim.nets, &sim.model.topology, fault.port, up);
    }
    let slots: Vec<FlowSlot> = sim.live_flows.iter().map(|(slot, _)| slot).collect();
    for &slot in &slots {
        match &mut before {
            Some(before) => respread(sim, slot, before),
            None => reroute(sim, slot),
        }
    }
    // A flow may stop before any part goes on.
    sim.nets.share_paths();
    for slot in slots {
        let Some(live) = sim.live_flows.get_mut(slot).filter(|_| sim.shares.has(slot)) else {
            continue;
        };
        let (traffic, part) = (live.name().traffic, sim.nets.part_of(live.src.node()));
        if let Some(sending) = sim.regions[part].hosts.senders.get(slot) {
            let route = sending.end.route;
            share(sim, slot, traffic, route);
        }
    }
}

/// Tells the router of a run that goes on what routing has noticed so far, in that order.
pub fn restore_router(sim: &mut Simulation) {
    let faults = || (0..sim.model.faults.len()).map(FaultId::from_index);
    let is_over = |fault: &FaultId| {
        let [happens, is_noticed] = [GlobalEvent::Fault(*fault), GlobalEvent::Noticed(*fault)];
        !sim.global_events.has(happens) && !sim.global_events.has(is_noticed)
    };
    let noticed = |fault: FaultId| Some((sim.model.faults[fault.index()].noticed?, fault));
    let mut noticed: Vec<_> = faults().filter(is_over).filter_map(noticed).collect();
    noticed.sort();
    for (_, fault) in noticed {
        let fault = sim.model.faults[fault.index()];
        let Some(up) = fault.is_up() else { continue };
        sim.router.set_up(&sim.model.topology, fault.port, up);
        if sim.router.is_spread() {
            spread::notice(&mut sim.nets, &sim.model.topology, fault.port, up);
        }
    }
    if sim.router.is_spread() {
        for host in sim.live_flows.iter().flat_map(|(_, live)| [live.src, live.dst]) {
            spread::lead_to(&mut sim.nets, &sim.model.topology, host.node());
        }
    }
}

/// Gives a flow whose packets are spread the paths that it has now. `before` knows those that it had.
fn respread(sim: &mut Simulation, slot: FlowSlot, before: &mut Router) {
    let Some(live) = sim.live_flows.get(slot) else { return };
    let key = sim.router.key(live.name().traffic, live.name().number);
    let (topology, [src, dst]) = (&sim.model.topology, [live.src, live.dst].map(HostId::node));
    spread::lead_to(&mut sim.nets, topology, src);
    spread::lead_to(&mut sim.nets, topology, dst);
    let (old, set) = before.find(topology, src, dst, key);
    let left =
        (old != sim.router.find(topology, src, dst, key).0).then(|| Left::Paths(old.to_vec(), set.hops));
    let [forward, backward] = sim.router.both_ways(topology, src, dst, key);
    let [forward, backward] = [forward, backward].map(|path| spread::lay(&mut sim.nets, path, true));
    if let Some(sending) = sim.regions[sim.nets.part_of(src)].hosts.senders.get_mut(slot) {
        sending.end.route = forward;
    }
    if let Some(receiving) = sim.regions[sim.nets.part_of(dst)].hosts.receivers.get_mut(slot) {
        receiving.end.route = backward;
    }
    if sim.nets.part(0).notified.back(slot).is_some() {
        sim.nets.parts_mut().iter_mut().for_each(|net| net.notified.reroute(slot, backward));
    }
    if let Some(left) = left {
        sim.live_flows.detours.leave(slot, sim.now, left);
        reconsider(sim, slot, forward);
    }
}

/// Gives a flow the path that it has now in each direction.
fn reroute(sim: &mut Simulation, slot: FlowSlot) {
    let Some(live) = sim.live_flows.get_mut(slot) else { return };
    let key = sim.router.key(live.name().traffic, live.name().number);
    let (src, dst) = (live.src.node(), live.dst.node());
    let hosts = [src, dst].map(|host| sim.nets.part_of(host));
    let mut route = |old: Route, from, to| {
        let (ports, _) = sim.router.find(&sim.model.topology, from, to, key);
        let is_new = sim.nets.paths().path(old) != ports;
        if is_new { sim.nets.add_path(ports) } else { old }
    };
    let mut left = None;
    if let Some(sending) = sim.regions[hosts[0]].hosts.senders.get_mut(slot) {
        let old = sending.end.route;
        sending.end.route = route(old, src, dst);
        left = Some((old, sending.end.route)).filter(|(old, new)| old != new);
    }
    if let Some(receiving) = sim.regions[hosts[1]].hosts.receivers.get_mut(slot) {
        receiving.end.route = route(receiving.end.route, dst, src);
    }
    let notified = sim.nets.part(0).notified.back(slot).is_some();
    if let Some(sending) = sim.regions[hosts[0]].hosts.senders.get(slot).filter(|_| notified) {
        let back = sim.nets.add_reverse(sending.end.route);
        sim.nets.parts_mut().iter_mut().for_each(|net| net.notified.reroute(slot, back));
    }
    if let Some((old, new)) = left {
        sim.live_flows.detours.leave(slot, sim.now, Left::Path(old));
        reconsider(sim, slot, new);
    }
}

/// The paths of a flow changed: what it has yet to deliver would take another time alone.
fn reconsider(sim: &mut Simulation, slot: FlowSlot, route: Route) {
    let Some(live) = sim.live_flows.get(slot) else { return };
    let rows: Vec<RecordId> = live.open().collect();
    for row in rows {
        let Some(&Record { start, size, .. }) = sim.journal.get(row) else { continue };
        let ideal = ideal_fct(sim, slot, route, start, size.get().unwrap_or(ENDLESS));
        sim.journal.open(row).ideal = ideal;
    }
}

/// Flow control stopped a port while nobody watched: a watch is set up.
pub fn start_watch(sim: &mut Simulation, at: Time) {
    if !sim.is_watched {
        sim.is_watched = true;
        watch_at(sim, at);
    }
}

fn watch_at(sim: &mut Simulation, from: Time) {
    sim.global_events.push((from + WATCH).max(sim.now), GlobalEvent::Watch);
}

/// Looks for ports that are stopped for too long; ends the run if they are for ever.
pub fn watch(sim: &mut Simulation) {
    sim.is_watched = controls::watch(&mut sim.nets);
    if !sim.is_watched {
        return;
    }
    if sim.nets.controls().is_deadlocked() {
        sim.ended = Some(Ended::Deadlocked);
        return;
    }
    let now = sim.now;
    watch_at(sim, now);
}

/// A flow has something to send over a route from now on.
pub fn share(sim: &mut Simulation, slot: FlowSlot, traffic: TrafficId, route: Route) {
    if !sim.shares.tells(traffic) {
        return;
    }
    let Some(live) = sim.live_flows.get(slot) else { return };
    let (topology, [src, dst]) = (&sim.model.topology, [live.src, live.dst].map(HostId::node));
    let ports = if route.is_by_tables() {
        sim.router.shares(topology, src, dst)
    } else {
        sim.nets.paths().path(route).iter().map(|&port| (port, 1.0)).collect()
    };
    if sim.shares.start(slot, ports) {
        sim.global_events.push(sim.now, GlobalEvent::Shares);
    }
}

/// A flow has nothing to send any more.
pub fn unshare(sim: &mut Simulation, slot: FlowSlot) {
    if sim.shares.stop(slot) {
        sim.global_events.push(sim.now, GlobalEvent::Shares);
    }
}

/// Tells all senders whose share changed.
pub fn tell_shares(sim: &mut Simulation) {
    for (slot, rate) in sim.shares.changed() {
        let Some(live) = sim.live_flows.get_mut(slot) else { continue };
        let part = sim.nets.part_of(live.src.node());
        sim.regions[part].drive_sender(slot, Input::Share(rate), sim.nets.part_mut(part));
    }
}
