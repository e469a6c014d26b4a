//! What few ports do, and none often: links fail or lose, ports have a mechanism besides their queues.

use super::flow_control::FRAME_DUE;
use super::{Drop, NONE, Network};
use clearway_proto::PortState;

impl Network {
    /// Hands a packet to an output port whose link is down, that is stopped, or that does more than queueing.
    #[cold]
    #[inline(never)]
    pub(super) fn send_specially(&mut self, port: u32, index: u32) {
        let out = &self.ports[port as usize];
        if !out.up {
            return self.drop_packet(port, index, Drop::Down);
        }
        if out.control & FRAME_DUE != 0 && self.is_free(port) {
            // The port has just become free: a packet must not overtake the pause frame that waits for that.
            self.send_frame(port);
        }
        let out = &self.ports[port as usize];
        if out.at_arrival != NONE {
            self.meet_mechanism(port, index);
        }
        let (out, slot) = (&self.ports[port as usize], self.slab.get(index));
        if slot.packet.is_credit() && out.credits != NONE {
            self.send_credit(port, index);
        } else if out.busy_until <= self.now
            && out.waiting == 0
            && out.wake_at != self.now
            && out.paused >> slot.class_at(out.nic != NONE) & 1 == 0
        {
            self.transmit(port, index);
        } else {
            self.enqueue(port, index);
        }
    }

    /// A packet leaves a port that does more than queueing, or whose link loses: whether it is lost.
    #[cold]
    #[inline(never)]
    pub(super) fn depart_specially(&mut self, port: u32, index: u32) -> bool {
        let mechanism = self.ports[port as usize].at_departure;
        if mechanism != NONE {
            let state = self.port_state(port);
            let (slot, extra) = self.slab.get_both(index);
            self.mechanisms[mechanism as usize].what.on_departure(&mut slot.packet, extra, state);
        }
        let out = &self.ports[port as usize];
        if out.loss == NONE {
            return false;
        }
        let (probability, rng) = &mut self.losses[out.loss as usize];
        rng.unit() < *probability
    }

    /// What a port's mechanism sees of it.
    pub(super) fn port_state(&self, port: u32) -> PortState {
        let out = &self.ports[port as usize];
        let queues = &self.queues[out.first_queue as usize..][..self.classes()];
        let queued = queues.iter().map(|queue| queue.queue.bytes()).sum();
        PortState { now: self.now, queued, sent: out.tx_bytes }
    }

    /// A link's direction fails, and what waited for it is lost, or it recovers.
    pub fn set_up(&mut self, port: u32, up: bool) {
        let out = &mut self.ports[port as usize];
        out.up = up;
        out.settle_arrival();
        self.forget_pauses(port);
        let out = &mut self.ports[port as usize];
        if up {
            return self.rearm(port);
        }
        out.waiting = 0;
        let (first, credits) = (out.first_queue as usize, out.credits);
        let (owner, is_switch) = (out.owner as usize, out.nic == NONE);
        let classes = self.classes();
        for queue in first..first + classes {
            let lost = self.queues[queue].queue.drain(&self.slab, self.now);
            if self.shared.is_some() && is_switch {
                self.shared_used[owner] -=
                    lost.iter().map(|&index| self.slab.get(index).packet.wire as u64).sum::<u64>();
            }
            if self.control.is_some() && is_switch {
                lost.iter().for_each(|&index| self.leave_memory(owner as u32, index));
            }
            lost.into_iter().for_each(|index| self.drop_packet(port, index, Drop::Down));
        }
        if credits != NONE {
            let lost = self.credits[credits as usize].queue.drain(&self.slab, self.now);
            lost.into_iter().for_each(|index| self.drop_packet(port, index, Drop::Down));
            self.drop_classed_credits(port);
        }
    }
}
