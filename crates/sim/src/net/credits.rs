//! Credits at ports: their queues, and the rate limit under which they leave (ExpressPass '17, sec. 3.1).

use super::credit_classes::CreditClasses;
use super::queue::Queue;
use super::slab::{Parcel, Slab};
use crate::ids::{CreditsId, IdVec, PacketId};
use crate::model::{CreditClass, Model, PortModel};
use clearway_proto::port::{CreditLimiter, CreditRoom};
use clearway_units::{Rate, Time};
use serde::{Deserialize, Serialize};

/// The credits of all ports that have a limit for them.
#[derive(Serialize, Deserialize)]
pub struct Credits {
    ports: IdVec<CreditsId, PortCredits>,
    /// The classes of credits, where there are several: those then have the queues.
    classes: Option<Box<CreditClasses>>,
}

/// The credits of one port.
#[derive(Serialize, Deserialize)]
pub struct PortCredits {
    /// The credits that wait, where there is one class of them.
    queue: Queue,
    /// The rate limit of all credits together.
    limiter: CreditLimiter,
    /// The room for credits that wait.
    room: CreditRoom,
}

/// What a port does about a credit that was handed to it and that it did not send at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kept {
    /// It keeps the credit, and wakes at this time at the latest.
    WakeAt(Time),
    /// It keeps the credit, and wakes already.
    Sleep,
    /// It keeps the credit, and is asked which one it may send.
    Ask,
    /// It has no room for the credit.
    Full,
}

impl Credits {
    /// No credits, yet without ports.
    pub fn new(model: &Model) -> Credits {
        Credits { ports: IdVec::new(), classes: CreditClasses::new(model) }
    }

    /// Adds the credits of a port of `rate`.
    pub fn add_port(&mut self, limit: CreditClass, port: &PortModel, rate: Rate) -> CreditsId {
        if let Some(classes) = &mut self.classes {
            classes.add_port(&port.credit_classes, limit.shaping, rate);
        }
        self.ports.push(PortCredits::new(limit, rate))
    }

    /// The memory that ports without classes of credits take, in bytes.
    pub fn size(&self) -> usize {
        self.ports.size()
    }

    /// The place of a port's credits in memory, to be fetched.
    #[inline]
    pub fn place(&self, at: CreditsId) -> &impl Sized {
        &self.ports[at]
    }

    /// Takes the tokens of a credit of `wire` bytes that comes to a port whose link is free, if no other one waits there
    /// and the limit lets it pass. Where there are several classes of credits, it never does.
    #[inline]
    pub fn passes(&mut self, at: CreditsId, wire: u32, now: Time) -> bool {
        let port = &mut self.ports[at];
        self.classes.is_none() && port.queue.packets() == 0 && port.limiter.take(wire, now)
    }

    /// Keeps a credit that did not pass at a port whose link is busy until `busy_until`, if there is room for it.
    #[inline]
    pub fn keep(
        &mut self,
        at: CreditsId,
        credit: PacketId,
        busy_until: Time,
        slab: &mut Slab,
        now: Time,
    ) -> Kept {
        if let Some(classes) = &mut self.classes {
            return if classes.push(at, credit, slab, now) { Kept::Ask } else { Kept::Full };
        }
        let port = &mut self.ports[at];
        let wire = slab[credit].packet.wire;
        if !port.has_room(wire) {
            return Kept::Full;
        }
        port.queue.push(slab, credit, now);
        if busy_until > now {
            Kept::WakeAt(busy_until)
        } else if port.queue.packets() == 1 {
            Kept::WakeAt(port.limiter.ready_at(wire, now))
        } else {
            Kept::Sleep
        }
    }

    /// The credits of a port, if they have one class.
    #[inline]
    pub fn of_one_class(&mut self, at: CreditsId) -> Option<&mut PortCredits> {
        if self.classes.is_none() { Some(&mut self.ports[at]) } else { None }
    }

    /// Answers whether no credit waits at a port, as far as that is known without a look at several classes.
    #[inline]
    pub fn has_none(&self, at: CreditsId) -> bool {
        self.classes.is_none() && self.ports[at].queue.packets() == 0
    }

    /// Takes the credit whose turn it is, if one waits and the limits let it pass.
    #[inline]
    pub fn next(&mut self, at: CreditsId, slab: &Slab, now: Time) -> Option<PacketId> {
        let port = &mut self.ports[at];
        match &mut self.classes {
            None => port.next(slab, now).map(|(credit, _)| credit),
            Some(classes) => classes.next(at, &mut port.limiter, slab, now),
        }
    }

    /// The time at which the limits let the next credit pass; `None` if none waits. With several classes the limits may
    /// turn out to forbid it even then, if another class has come first whose credit is larger.
    #[inline]
    pub fn ready_at(&mut self, at: CreditsId, slab: &Slab, now: Time) -> Option<Time> {
        let port = &mut self.ports[at];
        match &mut self.classes {
            None => port.ready_at(slab, now),
            Some(classes) => classes.ready_at(at, &mut port.limiter, slab, now),
        }
    }

    /// Takes all credits that wait at a port.
    pub fn drain(&mut self, at: CreditsId, slab: &Slab, now: Time) -> Vec<PacketId> {
        let mut all = self.ports[at].queue.drain(slab, now);
        all.extend(self.classes.iter_mut().flat_map(|classes| classes.drain(at, slab, now)));
        all
    }

    /// The queues of credits at a port.
    pub fn queues(&self, at: CreditsId) -> impl Iterator<Item = &Queue> {
        let single = self.classes.is_none().then(|| &self.ports[at].queue);
        single.into_iter().chain(self.classes.iter().flat_map(move |classes| classes.queues(at)))
    }

    /// The queues of credits at all ports.
    pub fn each_queue(&mut self) -> impl Iterator<Item = &mut Queue> {
        let single = self.ports.iter_mut().map(|port| &mut port.queue);
        single.chain(self.classes.iter_mut().flat_map(|classes| classes.each_queue()))
    }
}

impl PortCredits {
    fn new(limit: CreditClass, rate: Rate) -> PortCredits {
        let limiter = CreditLimiter::new(rate.mul_f64(limit.share), limit.shaping);
        PortCredits { queue: Queue::default(), limiter, room: limit.shaping.room(limit.queue) }
    }

    /// Takes the first credit, where there is one class of them, if the limit lets it pass.
    #[inline]
    pub fn next<'a>(&mut self, slab: &'a Slab, now: Time) -> Option<(PacketId, &'a Parcel)> {
        let head = self.queue.head()?;
        let parcel = &slab[head];
        if !self.limiter.take(parcel.packet.wire, now) {
            return None;
        }
        self.queue.pop_head(parcel, now);
        Some((head, parcel))
    }

    /// As [`PortCredits::ready_at`], if [`PortCredits::next`] was called just before.
    #[inline(always)]
    pub fn ready_since(&self, slab: &Slab) -> Option<Time> {
        let head = self.queue.head()?;
        Some(self.limiter.ready_since(slab[head].packet.wire))
    }

    /// The time at which the limit lets the first credit pass, where there is one class of them; `None` if none waits.
    #[inline]
    pub fn ready_at(&mut self, slab: &Slab, now: Time) -> Option<Time> {
        let head = self.queue.head()?;
        Some(self.limiter.ready_at(slab[head].packet.wire, now))
    }

    /// Answers whether a credit of `wire` bytes may wait as well.
    #[inline]
    fn has_room(&self, wire: u32) -> bool {
        self.room.admits(self.queue.packets(), self.queue.bytes(), wire)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clearway_proto::port::CreditShaping;

    #[test]
    fn a_queue_of_credits_in_bytes_asks_for_their_size() {
        let has_room = |queue_in_bytes, wire| {
            let shaping = CreditShaping { queue_in_bytes, ..CreditShaping::PAPER };
            PortCredits::new(CreditClass::new(1, shaping), Rate::gbps(10)).has_room(wire)
        };
        assert!(has_room(true, 84) && !has_room(true, 85), "room for one credit of 84 B");
        assert!(has_room(false, 92));
    }
}
