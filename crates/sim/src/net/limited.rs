//! Ports with a limit for credits, which wait for the link and for tokens, and go before data.

use super::credit_queue::WaitingCredit;
use super::credits::Kept;
use super::drop_reason::DropReason;
use super::memory::Memory;
use super::network::{Network, Next};
use super::slab::RoutedPacket;
use crate::engine::EventKind;
use crate::fast_paths::tests_forbid;
use crate::ids::{CreditsId, Id, PacketId};
use clearway_proto::Sees;
use clearway_topology::PortId;
use clearway_units::Time;

impl Network {
    /// Hands a credit to a port that has a limit for credits.
    #[inline(never)]
    pub(super) fn send_credit(&mut self, port: PortId, credits: CreditsId, id: PacketId) {
        let now = self.agenda.now;
        let wire = self.slab[id].packet.wire.into();
        if self.ports[port].busy_until <= now && self.credits.passes(credits, wire, now) {
            return self.transmit(port, id);
        }
        self.keep_credit(port, credits, id);
    }

    /// Hands a credit to a port that can't send it at once, as far as that is known without a look at several classes.
    #[inline(always)]
    fn keep_credit(&mut self, port: PortId, credits: CreditsId, id: PacketId) {
        let busy_until = self.ports[port].busy_until;
        let RoutedPacket { packet, class, .. } = &self.slab[id];
        let credit = WaitingCredit { id, wire: packet.wire.into() };
        match self.credits.keep(credits, *class, credit, busy_until, self.agenda.now) {
            Kept::WakeAt(at) => self.arm(port, at),
            Kept::Sleep => {}
            Kept::Ask => self.use_credits(port, credits),
            Kept::Full => self.drop_packet(port, id, DropReason::Credit),
            Kept::InPlaceOf(other) => {
                self.drop_packet(port, other, DropReason::Credit);
                // If it was the first, another one is now, whose turn may come sooner.
                self.rearm(port);
            }
        }
    }

    /// Sends the credit whose turn it is at a port with several classes of them, if the limits let it pass, or sees to it
    /// that the port wakes for it.
    #[cold]
    fn use_credits(&mut self, port: PortId, credits: CreditsId) {
        let now = self.now();
        if self.ports[port].busy_until <= now
            && let Some(credit) = self.credits.next(credits, now)
        {
            return self.transmit(port, credit);
        }
        self.rearm(port);
    }

    /// A wake-up of a port came. Returns whether it is the one that counts, and what the port can do has yet to be done.
    #[inline(always)]
    pub fn wake(&mut self, port: PortId) -> bool {
        let out = &mut self.ports[port];
        if out.wake_at != self.agenda.now {
            return false;
        }
        out.wake_at = Time::MAX;
        match out.credits {
            Some(credits) => !self.wake_limited(port, credits),
            None => true,
        }
    }

    /// A port with a limit for credits woke. If it has one class of them, it sends the first one, or a packet of the lone
    /// class of data if none may leave, and wakes for the rest: one fast path through what [`Network::next`],
    /// [`Network::transmit`] and [`Network::rearm`] do. Returns whether it went that way.
    #[inline(never)]
    fn wake_limited(&mut self, port: PortId, credits: CreditsId) -> bool {
        let now = self.agenda.now;
        let out = &mut self.ports[port];
        // A port that is down, or for which flow control has work, looks at all that arrives.
        let is_usual = out.busy_until <= now
            && out.special_arrivals == Sees::Nothing
            && out.special_departures == Sees::Nothing
            && !tests_forbid();
        if !is_usual {
            return false;
        }
        let Some(credits) = self.credits.of_one_class(credits) else { return false };
        let (id, arrival) = match credits.next(now) {
            Some(WaitingCredit { id, wire }) => {
                out.counted.add_credit(wire);
                (id, out.start_frame(wire, now))
            }
            None => {
                let lone = self.lone_class.filter(|_| out.waiting > 0 && out.nic.is_none());
                let Some(class) = lone else { return false };
                let queue = self.queues.nth_mut(out.queues, class.index());
                let id = queue.queue.head().expect("packets of the lone class wait");
                let routed = &mut self.slab[id];
                queue.queue.pop_head(routed, now);
                queue.mark_leaving(&mut routed.packet);
                out.waiting -= 1;
                out.counted.add(&routed.packet);
                (id, out.start_frame(routed.packet.wire.into(), now))
            }
        };
        self.launched += 1;
        self.agenda.at_port(port, arrival, EventKind::Arrive(id));
        let has_data = out.waiting > 0 || out.nic.is_some_and(|nic| self.nics[nic].has_any());
        let ready = if has_data { Some(now) } else { credits.ready_since() };
        if let Some(ready) = ready {
            out.wake_at = ready.max(out.busy_until);
            self.agenda.at_port(port, out.wake_at, EventKind::Wake(port));
        }
        true
    }

    /// Lets a switch's port send what it can at once, and sees to it that it wakes for the rest.
    #[inline(never)]
    pub fn use_switch_port(&mut self, port: PortId) {
        if matches!(self.memory, Memory::Guarded(_)) && self.use_under_control(port) {
            return;
        }
        if self.ports[port].is_free(self.now())
            && let Next::Send(id) = self.next(port)
        {
            self.transmit(port, id);
        }
        self.rearm(port);
    }
}
