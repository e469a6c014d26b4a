//! Credits at ports: their queues, and the rate limit under which they leave (ExpressPass '17, sec. 3.1).

use super::credit_classes::CreditClasses;
use super::credit_queue::{CreditQueue, WaitingCredit};
use super::slab::Slab;
use crate::engine::prefetch_lines;
use crate::ids::{ClassId, CreditsId, IdVec, PacketId};
use crate::model::{CreditClass, Model, PortModel};
use clearway_proto::Rng;
use clearway_proto::port::{CreditDrop, CreditLimiter};
use clearway_units::{Rate, Time};
use serde::{Deserialize, Serialize};
use std::mem::swap;

/// The credits of all ports that have a limit for them.
#[derive(Serialize, Deserialize)]
pub struct Credits {
    ports: IdVec<CreditsId, PortCredits>,
    /// The classes of credits, where there are several: those then have the queues.
    classes: Option<Box<CreditClasses>>,
}

/// The cache lines of the credits of one port.
const LINES: usize = 3;

/// The credits of one port, in three cache lines.
#[repr(C)]
#[derive(Serialize, Deserialize)]
pub struct PortCredits {
    /// The credits that wait, where there is one class of them.
    queue: CreditQueue,
    /// The rate limit of all credits together.
    limiter: CreditLimiter,
    /// Draws the credit that is dropped where a queue is full, if that is not the one that arrives.
    lottery: Option<Box<Rng>>,
}

const _: () =
    assert!(size_of::<PortCredits>() == 64 * LINES, "the credits of a port shall be so many cache lines");

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
    /// It keeps the credit in place of this one, which it drops, and is asked when it may send one.
    InPlaceOf(PacketId),
}

impl Credits {
    /// No credits, yet without ports.
    pub fn new(model: &Model) -> Credits {
        Credits { ports: IdVec::new(), classes: CreditClasses::new(model) }
    }

    /// Adds the credits of a port of `rate`, which draws from `stream` if it drops at random.
    pub fn add_port(
        &mut self,
        limit: CreditClass,
        port: &PortModel,
        rate: Rate,
        stream: impl FnOnce() -> Rng,
    ) -> CreditsId {
        if let Some(classes) = &mut self.classes {
            classes.add_port(&port.credit_classes, limit.shaping, rate);
        }
        self.ports.push(PortCredits::new(limit, rate, stream))
    }

    /// Returns the memory that ports without classes of credits take, in bytes.
    pub fn size(&self) -> usize {
        self.ports.size()
    }

    /// Returns the number of ports that have a limit for credits.
    #[inline]
    pub fn len(&self) -> usize {
        self.ports.len()
    }

    /// Fetches the credits of a port ahead.
    #[inline]
    pub fn fetch(&self, at: CreditsId) {
        prefetch_lines(self.ports.address(at).cast(), LINES);
    }

    /// Takes the tokens of a credit of `wire` bytes that comes to a port whose link is free, if no other one waits there
    /// and the limit lets it pass. Where there are several classes of credits, it never does.
    #[inline]
    pub fn passes(&mut self, at: CreditsId, wire: u32, now: Time) -> bool {
        let port = &mut self.ports[at];
        self.classes.is_none() && port.queue.packets() == 0 && port.limiter.take(wire, now)
    }

    /// Keeps a credit of a class that did not pass at a port whose link is busy until `busy_until`, if there is room for it.
    #[inline]
    pub fn keep(
        &mut self,
        at: CreditsId,
        class: ClassId,
        credit: WaitingCredit,
        busy_until: Time,
        now: Time,
    ) -> Kept {
        if let Some(classes) = &mut self.classes {
            let kept = classes.push(at, class, credit, now);
            return if kept { Kept::Ask } else { self.keep_instead(at, class, credit) };
        }
        let port = &mut self.ports[at];
        if !port.queue.push(credit, now) {
            self.keep_instead(at, class, credit)
        } else if busy_until > now {
            Kept::WakeAt(busy_until)
        } else if port.queue.packets() == 1 {
            Kept::WakeAt(port.limiter.ready_at(credit.wire, now))
        } else {
            Kept::Sleep
        }
    }

    /// Keeps a credit that found its queue full in place of one drawn at random, or drops it.
    #[inline(never)]
    fn keep_instead(&mut self, at: CreditsId, class: ClassId, credit: WaitingCredit) -> Kept {
        let port = &mut self.ports[at];
        let Some(lottery) = &mut port.lottery else { return Kept::Full };
        let queue = match &mut self.classes {
            None => &mut port.queue,
            Some(classes) => classes.queue_mut(at, class),
        };
        // The last number is the credit's own.
        let drawn = lottery.below(u64::from(queue.packets()) + 1) as u32;
        queue.replace(drawn, credit).map_or(Kept::Full, Kept::InPlaceOf)
    }

    /// Returns whether the credits of every port have one class.
    pub fn have_one_class(&self) -> bool {
        self.classes.is_none()
    }

    /// Returns the credits of a port, which have one class.
    #[inline(always)]
    pub fn alone(&mut self, at: CreditsId) -> &mut PortCredits {
        debug_assert!(self.classes.is_none(), "asked for where credits have one class");
        &mut self.ports[at]
    }

    /// Returns whether no credit waits at a port, as far as that is known without a look at several classes.
    #[inline]
    pub fn has_none(&self, at: CreditsId) -> bool {
        self.classes.is_none() && self.ports[at].queue.packets() == 0
    }

    /// Takes the credit whose turn it is, if one waits and the limits let it pass.
    #[inline]
    pub fn next(&mut self, at: CreditsId, now: Time) -> Option<WaitingCredit> {
        let port = &mut self.ports[at];
        match &mut self.classes {
            None => port.next(now),
            Some(classes) => classes.next(at, &mut port.limiter, now),
        }
    }

    /// Returns the time at which the limits let the next credit pass; `None` if none waits. With several classes the
    /// limits may turn out to forbid it even then, if another class has come first whose credit is larger.
    #[inline]
    pub fn ready_at(&mut self, at: CreditsId, now: Time) -> Option<Time> {
        let port = &mut self.ports[at];
        match &mut self.classes {
            None => port.ready_at(now),
            Some(classes) => classes.ready_at(at, &mut port.limiter, now),
        }
    }

    /// Takes all credits that wait at a port.
    pub fn drain(&mut self, at: CreditsId, now: Time) -> Vec<PacketId> {
        let single = self.ports[at].queue.drain(now);
        single.chain(self.classes.iter_mut().flat_map(|classes| classes.drain(at, now))).collect()
    }

    /// Takes over the credits of a port that is the port `there` among other credits, whose packets are in the slab
    /// `from` and come to the slab `to`.
    pub fn take_over(
        &mut self,
        at: CreditsId,
        (others, there): (&mut Credits, CreditsId),
        from: &Slab,
        to: &mut Slab,
    ) {
        swap(&mut self.ports[at], &mut others.ports[there]);
        if let (Some(classes), Some(others)) = (&mut self.classes, &mut others.classes) {
            classes.take_over(at, others, there);
        }
        self.queues_mut(at).for_each(|queue| queue.bring(from, to));
    }

    /// Returns the queues of credits at a port.
    pub fn queues(&self, at: CreditsId) -> impl Iterator<Item = &CreditQueue> {
        let single = self.classes.is_none().then(|| &self.ports[at].queue);
        single.into_iter().chain(self.classes.iter().flat_map(move |classes| classes.queues(at)))
    }

    /// Returns the queues of credits at a port, to be changed.
    pub fn queues_mut(&mut self, at: CreditsId) -> impl Iterator<Item = &mut CreditQueue> {
        let single = self.classes.is_none().then(|| &mut self.ports[at].queue);
        single.into_iter().chain(self.classes.iter_mut().flat_map(move |classes| classes.queues_mut(at)))
    }
}

impl PortCredits {
    fn new(limit: CreditClass, rate: Rate, stream: impl FnOnce() -> Rng) -> PortCredits {
        let limiter = CreditLimiter::new(rate.mul_f64(limit.share), limit.shaping);
        let lottery = (limit.shaping.drop == CreditDrop::Random).then(|| Box::new(stream()));
        PortCredits { queue: CreditQueue::new(limit.shaping.room(limit.queue)), limiter, lottery }
    }

    /// Takes the first credit, where there is one class of them, if the limit lets it pass.
    #[inline(always)]
    pub fn next(&mut self, now: Time) -> Option<WaitingCredit> {
        let head = self.queue.head()?;
        if self.limiter.take(head.wire, now) { self.queue.pop(now) } else { None }
    }

    /// As [`PortCredits::ready_at`], if [`PortCredits::next`] was called just before.
    #[inline(always)]
    pub fn ready_since(&self) -> Option<Time> {
        self.queue.head().map(|head| self.limiter.ready_since(head.wire))
    }

    /// Returns the time at which the limit lets the first credit pass, where there is one class of them; `None` if none
    /// waits.
    #[inline]
    pub fn ready_at(&mut self, now: Time) -> Option<Time> {
        let head = self.queue.head()?;
        Some(self.limiter.ready_at(head.wire, now))
    }
}
