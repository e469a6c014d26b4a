//! Events of the network itself: links fail, neighbours stop each other, mechanisms notify senders.

use super::run::Simulation;
use crate::engine::EventKind;
use crate::hosts::Input;
use crate::ids::{FaultId, Id, MechanismId};
use crate::metrics::Ended;
use clearway_topology::PortId;

impl Simulation {
    /// A link's direction fails or recovers: every flow gets the paths that it has now. Packets under way keep theirs,
    /// so the place of an old route is not used again.
    pub(super) fn fault(&mut self, fault: FaultId) {
        let fault = self.model.faults[fault.index()];
        let topology = &self.model.topology;
        self.router.set_up(topology, fault.port, fault.up);
        self.net.set_up(fault.port, fault.up);
        let mut ports = Vec::new();
        for flow in self.hosts.flows.iter_mut() {
            let key = self.router.key(flow.traffic, flow.number);
            let (src, dst) = (flow.sending.host.node(), flow.receiving.host.node());
            for (end, from, to) in [(&mut flow.sending, src, dst), (&mut flow.receiving, dst, src)] {
                let set = self.router.find(topology, from, to, key, &mut ports);
                if *self.net.paths.all(end.route) != ports[..] {
                    end.route = self.net.paths.add(&ports, set.hops, set.count);
                }
            }
            if flow.way_back.is_some() {
                flow.way_back = Some(self.net.paths.add_reverse(flow.sending.route));
            }
        }
        for slot in self.hosts.flows.slots() {
            if let Some(flow) = self.hosts.flows.get_mut(slot).filter(|_| self.shares.has(slot)) {
                self.shares.start(slot, flow, &self.net.paths, &mut self.net.agenda);
            }
        }
    }

    /// A port obeys a pause frame.
    pub(super) fn obey_frame(&mut self, port: PortId) {
        let (goes_on, starts_watch) = self.net.obey_frame(port);
        if starts_watch {
            self.watch();
        }
        if goes_on {
            self.hosts.use_port(port, &mut self.net);
        }
    }

    /// Looks for ports that are stopped for too long; ends the run if they are for ever.
    pub(super) fn watch(&mut self) {
        let Some(again) = self.net.watch() else { return };
        if self.net.is_deadlocked() {
            self.ended = Some(Ended::Deadlocked);
            return;
        }
        let at = self.net.now() + again;
        self.net.agenda.outside(at, EventKind::Watch);
    }

    /// A timer event of a mechanism came: it may notify senders.
    pub(super) fn wake_mechanism(&mut self, mechanism: MechanismId) {
        self.net.wake_mechanism(mechanism);
        while let Some((slot, port)) = self.net.poll_cnp(mechanism) {
            let Some(flow) = self.hosts.flows.get_mut(slot) else { continue };
            if let Some(back) = flow.way_back {
                self.net.send_cnp(port, slot, back, flow.classes.cnp);
            }
        }
    }

    /// Tells all senders whose share changed.
    pub(super) fn tell_shares(&mut self) {
        for (slot, rate) in self.shares.changed() {
            self.drive_sender(slot, Input::Share(rate));
        }
    }
}
