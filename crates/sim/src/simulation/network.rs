//! What happens to the network itself: links fail, ports are watched, senders are told their fair shares.

use super::global_events::GlobalEvent;
use super::notes::ENDLESS;
use super::run::Simulation;
use crate::hosts::Input;
use crate::ids::{FaultId, FlowSlot, Id, TrafficId};
use crate::metrics::{Ended, Record};
use crate::model::Fault;
use crate::net::{Route, WATCH, controls, faults};
use clearway_units::{Time, sort_by_key};

impl Simulation {
    /// A link's direction fails or recovers.
    pub(super) fn fault(&mut self, fault: FaultId) {
        let Fault { at, port, up, noticed } = self.model.faults[fault.index()];
        faults::set_up(&mut self.nets, port, up);
        match noticed {
            Some(then) if then == at => self.notice_fault(fault),
            Some(then) => self.global_events.push(then, GlobalEvent::Noticed(fault)),
            None => {}
        }
    }

    /// Routing notices that a link's direction failed or recovered: every flow gets the paths that it has now. Packets
    /// under way keep theirs, so the place of an old route is not used again.
    pub(super) fn notice_fault(&mut self, fault: FaultId) {
        let fault = self.model.faults[fault.index()];
        self.router.set_up(&self.model.topology, fault.port, fault.up);
        let slots: Vec<FlowSlot> = self.live_flows.iter().map(|(slot, _)| slot).collect();
        for &slot in &slots {
            self.reroute(slot);
        }
        // A flow may stop before any part goes on.
        self.nets.share_paths();
        for slot in slots {
            let Some(live) = self.live_flows.get_mut(slot).filter(|_| self.shares.has(slot)) else {
                continue;
            };
            let (traffic, part) = (live.name().traffic, self.nets.part_of(live.src.node()));
            if let Some(sending) = self.regions[part].hosts.senders.get(slot) {
                let route = sending.end.route;
                self.share(slot, traffic, route);
            }
        }
    }

    /// Tells the router of a run that goes on what routing has noticed so far, in that order.
    pub(super) fn restore_router(&mut self) {
        let faults = || (0..self.model.faults.len()).map(FaultId::from_index);
        let is_over = |fault: &FaultId| {
            let [happens, is_noticed] = [GlobalEvent::Fault(*fault), GlobalEvent::Noticed(*fault)];
            !self.global_events.has(happens) && !self.global_events.has(is_noticed)
        };
        let noticed = |fault: FaultId| Some((self.model.faults[fault.index()].noticed?, fault));
        let mut noticed: Vec<_> = faults().filter(is_over).filter_map(noticed).collect();
        sort_by_key(&mut noticed, |known| *known);
        for (_, fault) in noticed {
            let Fault { port, up, .. } = self.model.faults[fault.index()];
            self.router.set_up(&self.model.topology, port, up);
        }
    }

    /// Gives a flow the paths that it has now.
    fn reroute(&mut self, slot: FlowSlot) {
        let Some(live) = self.live_flows.get_mut(slot) else { return };
        let key = self.router.key(live.name().traffic, live.name().number);
        let (src, dst) = (live.src.node(), live.dst.node());
        let hosts = [src, dst].map(|host| self.nets.part_of(host));
        let mut route = |old: Route, from, to| {
            let (ports, set) = self.router.find(&self.model.topology, from, to, key);
            let is_new = self.nets.paths().all(old) != ports;
            if is_new { self.nets.add_path(ports, set.hops, set.count) } else { old }
        };
        let mut left = None;
        if let Some(sending) = self.regions[hosts[0]].hosts.senders.get_mut(slot) {
            let old = sending.end.route;
            sending.end.route = route(old, src, dst);
            left = Some((old, sending.end.route)).filter(|(old, new)| old != new);
        }
        if let Some(receiving) = self.regions[hosts[1]].hosts.receivers.get_mut(slot) {
            receiving.end.route = route(receiving.end.route, dst, src);
        }
        let notified = self.nets.part(0).notified.back(slot).is_some();
        if let Some(sending) = self.regions[hosts[0]].hosts.senders.get(slot).filter(|_| notified) {
            let back = self.nets.add_reverse(sending.end.route);
            self.nets.parts_mut().iter_mut().for_each(|net| net.notified.reroute(slot, back));
        }
        if let Some((old, new)) = left {
            self.live_flows.detours.leave(slot, self.now, old);
            self.reconsider(slot, new);
        }
    }

    /// The paths of a flow changed: what it has yet to deliver would take another time alone.
    fn reconsider(&mut self, slot: FlowSlot, route: Route) {
        let Some(live) = self.live_flows.get(slot) else { return };
        for row in live.open() {
            let Some(&Record { start, size, .. }) = self.journal.get(row) else { continue };
            let ideal = self.ideal_fct(slot, route, start, size.get().unwrap_or(ENDLESS));
            self.journal.open(row).ideal = ideal;
        }
    }

    /// Flow control stopped a port while nobody watched: a watch is set up.
    pub(super) fn start_watch(&mut self, at: Time) {
        if !self.is_watched {
            self.is_watched = true;
            self.watch_at(at);
        }
    }

    fn watch_at(&mut self, from: Time) {
        self.global_events.push((from + WATCH).max(self.now), GlobalEvent::Watch);
    }

    /// Looks for ports that are stopped for too long; ends the run if they are for ever.
    pub(super) fn watch(&mut self) {
        self.is_watched = controls::watch(&mut self.nets);
        if !self.is_watched {
            return;
        }
        if self.nets.controls().is_deadlocked() {
            self.ended = Some(Ended::Deadlocked);
            return;
        }
        self.watch_at(self.now);
    }

    /// A flow has something to send over a route from now on.
    pub(super) fn share(&mut self, slot: FlowSlot, traffic: TrafficId, route: Route) {
        if self.shares.start(slot, traffic, route, self.nets.paths()) {
            self.global_events.push(self.now, GlobalEvent::Shares);
        }
    }

    /// A flow has nothing to send any more.
    pub(super) fn unshare(&mut self, slot: FlowSlot) {
        if self.shares.stop(slot) {
            self.global_events.push(self.now, GlobalEvent::Shares);
        }
    }

    /// Tells all senders whose share changed.
    pub(super) fn tell_shares(&mut self) {
        for (slot, rate) in self.shares.changed() {
            let Some(live) = self.live_flows.get_mut(slot) else { continue };
            let part = self.nets.part_of(live.src.node());
            self.regions[part].drive_sender(slot, Input::Share(rate), self.nets.part_mut(part));
        }
    }
}
