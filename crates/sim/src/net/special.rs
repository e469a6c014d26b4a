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

#[cfg(test)]
mod tests {
    use super::super::slab::RoutedPacket;
    use super::*;
    use crate::ids::{ClassId, Id};
    use crate::model::{Fault, Model, SharedBuffer};
    use clearway_topology::{NodeId, Star};
    use clearway_units::Bytes;

    /// A star with two classes at its ports, whose switches share 10,000 bytes, and a port of the switch that may fail.
    fn two_classes() -> (Model, PortId) {
        let mut model = crate::ports::network_for(Star::default().build().unwrap(), []).unwrap();
        for port in [&mut model.switch, &mut model.host.port] {
            port.classes.push(port.classes[0].clone());
        }
        model.switch.shared = Some(SharedBuffer { size: Bytes::new(10_000), alpha: 1.0 });
        let port = model.topology.ports_of(NodeId(0))[0].reverse();
        model.faults = vec![Fault::at_once(Time::ZERO, port, false)];
        (model, port)
    }

    /// Puts a packet of a class into its queue.
    fn wait(net: &mut Network, port: PortId, class: usize, wire: u32) {
        let class = ClassId::from_index(class);
        let id =
            net.slab.insert(RoutedPacket { class, class_at_host: class, ..RoutedPacket::for_test(wire) });
        net.enqueue(port, id);
    }

    #[test]
    fn a_mechanism_is_told_of_what_waits_in_all_classes_of_its_port() {
        let (model, port) = two_classes();
        let mut net = Network::new(&model);
        let queued = |net: &Network| net.port_state(&net.ports[port]).queued;
        assert_eq!(queued(&net), 0);
        wait(&mut net, port, 1, 500);
        assert_eq!(queued(&net), 500);
        wait(&mut net, port, 0, 1_000);
        wait(&mut net, port, 1, 30);
        assert_eq!(queued(&net), 1_530);
    }

    #[test]
    fn a_port_whose_link_fails_drops_all_that_waits_in_every_class_and_gives_its_memory_back() {
        let (model, port) = two_classes();
        let mut net = Network::new(&model);
        let other = PortId(if port.0 == 1 { 3 } else { 1 });
        for (class, wire) in [(0, 4_000), (1, 2_000)] {
            wait(&mut net, port, class, wire);
        }
        wait(&mut net, other, 0, 1_000);
        wait(&mut net, other, 1, 2_000);
        assert_eq!(net.drops(other)[DropReason::Buffer], 0);
        wait(&mut net, other, 1, 1_000);
        assert_eq!(net.drops(other)[DropReason::Buffer], 1, "its queue may hold what is free: 1,000 bytes");
        net.set_up(port, false);
        assert_eq!((net.drops(port)[DropReason::Down], net.ports[port].waiting), (2, 0));
        assert_eq!(net.port_state(&net.ports[port]).queued, 0);
        // Of 10,000 bytes the other port has 3,000, and a queue may hold as much as is free.
        wait(&mut net, other, 0, 2_500);
        assert_eq!(net.drops(other)[DropReason::Buffer], 1);
        wait(&mut net, other, 1, 2_000);
        assert_eq!(net.drops(other)[DropReason::Buffer], 1, "4,000 of 4,500 bytes");
        wait(&mut net, other, 1, 1);
        assert_eq!(net.drops(other)[DropReason::Buffer], 2, "4,001 of 2,500 bytes");
        net.set_up(port, true);
        assert_eq!(net.ports[port].waiting, 0, "nothing leaves that was lost");
    }
}
