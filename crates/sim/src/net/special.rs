//! The slow path of a port: failed links, random loss, mechanisms, traces. Kept apart so that the fast path is one branch.

use super::drop_reason::DropReason;
use super::memory::Memory;
use super::network::Network;
use super::port::{ControlWork, Port, Special};
use crate::ids::{MechanismId, PacketId};
use clearway_proto::{PortState, Sees};
use clearway_topology::PortId;
use clearway_units::Time;

impl Network {
    /// Hands a packet to an output port whose link is down, that flow control wants something of, or that a trace covers.
    #[inline(never)]
    pub(super) fn send_specially(&mut self, port: PortId, id: PacketId) {
        if self.ports[port].special.is_traced {
            self.tap_hand(port, id);
            self.hand_specially(port, id);
            self.tap_settle(port, id);
        } else {
            self.hand_specially(port, id);
        }
    }

    fn hand_specially(&mut self, port: PortId, id: PacketId) {
        let now = self.now();
        let out = &self.ports[port];
        if !out.up {
            return self.drop_packet(port, id, DropReason::Down);
        }
        if out.control.has(ControlWork::FRAME_DUE) && out.is_free(now) {
            // The port has just become free: a packet must not overtake the pause frame that waits for that.
            self.send_frame(port);
        }
        let special = &self.ports[port].special;
        if let Some(mechanism) = special.mechanism
            && special.sees_arrivals.has(&self.slab[id].packet)
        {
            self.meet_mechanism(port, mechanism, id);
        }
        let (out, routed) = (&self.ports[port], &self.slab[id]);
        if let Some(credits) = out.credits.filter(|_| routed.packet.is_credit()) {
            self.send_credit(port, credits, id);
        } else if out.sends_at_once(now) && !out.paused.has(routed.class_at(out.nic.is_some())) {
            self.transmit(port, id);
        } else {
            self.enqueue(port, id);
        }
    }

    /// Sends a packet over the link of a port that has a mechanism, whose link loses packets or leads to another part of
    /// the network, or that a trace covers.
    #[inline(never)]
    pub(super) fn launch_specially(&mut self, port: PortId, arrival: Time, id: PacketId) {
        let out = &self.ports[port];
        match out.special.mechanism {
            // Where not all packets come here, those come that the mechanism sees.
            Some(mechanism) if out.special_departures != Sees::All => {
                self.show_departure(port, mechanism, id);
                self.launch(port, arrival, id);
            }
            _ => self.launch_rarely(port, arrival, id),
        }
    }

    /// As [`Network::launch_specially`], where all packets come here.
    #[inline(never)]
    fn launch_rarely(&mut self, port: PortId, arrival: Time, id: PacketId) {
        let Special { mechanism, sees_departures, loss, is_traced, leads_to, .. } = self.ports[port].special;
        if let Some(mechanism) = mechanism
            && sees_departures.has(&self.slab[id].packet)
        {
            self.show_departure(port, mechanism, id);
        }
        if (is_traced || loss.is_some()) && self.is_lost(port, id) {
            self.drop_packet(port, id, DropReason::Loss);
        } else if let Some(part) = leads_to {
            self.hand_over(part, port, arrival, id);
        } else {
            self.launch(port, arrival, id);
        }
    }

    /// Shows a packet that leaves a port to the port's mechanism.
    #[inline(always)]
    fn show_departure(&mut self, port: PortId, mechanism: MechanismId, id: PacketId) {
        let state = self.port_state(&self.ports[port]);
        let (routed, extra) = self.slab.get_both(id);
        self.mechanisms[mechanism].protocol.on_departure(&mut routed.packet, extra, state);
    }

    /// A packet leaves a port whose link loses, or that a trace covers. Returns whether it is lost.
    #[cold]
    #[inline(never)]
    fn is_lost(&mut self, port: PortId, id: PacketId) -> bool {
        let special = self.ports[port].special;
        if special.is_traced {
            self.tap_departure(port, id);
        }
        special.loss.is_some_and(|loss| self.losses[loss].strikes())
    }

    /// Returns a port, as its mechanism sees it. A port with a mechanism is not plain.
    #[inline]
    pub(super) fn port_state(&self, out: &Port) -> PortState {
        let queued = if out.waiting == 0 { 0 } else { self.bytes_waiting(out) };
        PortState { now: self.now(), queued, sent: out.counted.bytes }
    }

    /// Returns the bytes that wait in all classes of data of a port. Kept apart, since most packets find nothing that
    /// waits.
    #[inline(never)]
    fn bytes_waiting(&self, out: &Port) -> u64 {
        self.queues.range(out.queues, self.arbiter.classes()).iter().map(|queue| queue.queue.bytes()).sum()
    }

    /// A link's direction fails, and what waited for it is lost; or it recovers.
    pub fn set_up(&mut self, port: PortId, up: bool) {
        let now = self.now();
        let out = &mut self.ports[port];
        debug_assert!(out.plain.is_none(), "a port that faults concern is not plain");
        out.up = up;
        out.settle();
        self.forget_pauses(port);
        if up {
            return self.rearm(port);
        }
        let out = &mut self.ports[port];
        out.waiting = 0;
        let (first, credits, is_switch, owner) = (out.queues, out.credits, out.nic.is_none(), out.owner);
        for class in 0..self.arbiter.classes() {
            let lost = self.queues.nth_mut(first, class).queue.drain(&self.slab, now);
            self.came_besides.cover(port, 0);
            self.came_besides[port] += lost.len() as i64;
            if is_switch {
                match &mut self.memory {
                    Memory::Apart => {}
                    Memory::Shared(memory) => {
                        let wire = lost.iter().map(|&id| self.slab[id].packet.wire as u64).sum();
                        memory.release(owner, wire);
                    }
                    Memory::Guarded(_) => lost.iter().for_each(|&id| self.leave_memory(port, id)),
                }
            }
            lost.into_iter().for_each(|id| self.drop_packet(port, id, DropReason::Down));
        }
        if let Some(credits) = credits {
            let lost = self.credits.drain(credits, now);
            lost.into_iter().for_each(|id| self.drop_packet(port, id, DropReason::Down));
        }
    }
}
