//! Several classes of credits at a port (ExpressPass '17, sec. 7): credits of all classes together keep within the
//! port's one limit, and classes take turns by priority and, among equals, by weight. Whoever's credits pass has its
//! data sent, so the order among credits becomes the order among data, without a queue of data for each class.
//!
//! Weights count credits, since each releases one frame. A class may have a limit of its own besides, for data that
//! goes to a class of its own at the ports.

use super::port::Credits;
use super::queue::Queue;
use super::scheduler::{Order, Turns};
use super::slab::{NONE, Slab};
use super::{Drop, Network};
use crate::model::{CreditTurn, Model};
use clearway_proto::port::{CreditLimiter, CreditRoom, CreditShaping};
use clearway_units::{Rate, Time};

/// The classes of credits of all ports.
pub struct CreditClasses {
    order: Order,
    /// Those of a port stand together, in the order of [`Network::credits`].
    queues: Vec<ClassQueue>,
    turns: Vec<Turns>,
}

struct ClassQueue {
    queue: Queue,
    room: CreditRoom,
    own: Option<CreditLimiter>,
}

impl CreditClasses {
    /// The classes of a model, yet without ports; `None` if it has one class.
    pub fn new(model: &Model) -> Option<Box<CreditClasses>> {
        let classes = &model.switch.credit_classes;
        let members: Vec<(u8, u32)> = classes.iter().map(|class| (class.priority, class.weight)).collect();
        let order = Order::of(&members, 1);
        (!classes.is_empty())
            .then(|| Box::new(CreditClasses { order, queues: Vec::new(), turns: Vec::new() }))
    }

    /// Adds the classes of the next port.
    pub fn add_port(&mut self, classes: &[CreditTurn], shaping: CreditShaping, rate: Rate) {
        self.queues.extend(classes.iter().map(|class| {
            let own = class.share.map(|share| CreditLimiter::new(rate.mul_f64(share), shaping));
            ClassQueue { queue: Queue::new(), room: shaping.room(class.queue), own }
        }));
        self.turns.push(self.order.turns());
    }

    fn of(&mut self, credits: u32) -> &mut [ClassQueue] {
        let count = self.order.classes();
        &mut self.queues[credits as usize * count..][..count]
    }

    /// The class that goes next at a port, among those whose own limits allow it.
    fn pick(&mut self, credits: u32, slab: &Slab, now: Time) -> Option<usize> {
        // Scenarios have at most 64 classes.
        let mut may = 0u64;
        for (class, queue) in self.of(credits).iter_mut().enumerate() {
            may |= u64::from(queue.ready_at(slab, now) == Some(now)) << class;
        }
        self.order.pick(&mut self.turns[credits as usize], |class| may >> class & 1 == 1)
    }

    /// When a class' own limits let a credit pass: `now` or later; `None` if none waits.
    fn ready_at(&mut self, credits: u32, slab: &Slab, now: Time) -> Option<Time> {
        self.of(credits).iter_mut().filter_map(|queue| queue.ready_at(slab, now)).min()
    }
}

impl ClassQueue {
    /// Whether a credit of `wire` bytes more may wait.
    fn has_room(&self, wire: u32) -> bool {
        self.room.admits(self.queue.packets(), self.queue.bytes(), wire)
    }

    /// When its own limit lets its first credit pass.
    fn ready_at(&mut self, slab: &Slab, now: Time) -> Option<Time> {
        let head = self.queue.head();
        let ready = |own: &mut CreditLimiter| own.ready_at(slab.get(head).packet.wire, now);
        (head != NONE).then(|| self.own.as_mut().map_or(now, ready))
    }
}

impl Network {
    /// The queues of credits at a port.
    pub fn credit_queues(&self, port: usize) -> impl Iterator<Item = &Queue> {
        let credits = self.ports[port].credits as usize;
        let single = self.credits.get(credits).filter(|_| self.credit_classes.is_none());
        let several = self.credit_classes.iter().flat_map(move |classes| {
            let count = if credits == NONE as usize { 0 } else { classes.order.classes() };
            classes.queues.iter().skip(credits * count).take(count)
        });
        single.map(|credits: &Credits| &credits.queue).into_iter().chain(several.map(|class| &class.queue))
    }

    /// Hands a credit to an output port where credits have classes.
    #[cold]
    pub(super) fn send_classed_credit(&mut self, port: u32, index: u32) {
        let out = &self.ports[port as usize];
        let (credits, idle) = (out.credits, out.busy_until <= self.now);
        let Some(classes) = &mut self.credit_classes else { return };
        let class = &mut classes.of(credits)[self.slab.get(index).class as usize];
        if !class.has_room(self.slab.get(index).packet.wire) {
            return self.drop_packet(port, index, Drop::Credit);
        }
        class.queue.push(&mut self.slab, index, self.now);
        if idle && let Some(next) = self.next_classed_credit(port) {
            return self.transmit(port, next);
        }
        self.rearm(port);
    }

    /// Takes the credit whose turn it is, if the limits allow it.
    #[cold]
    pub(super) fn next_classed_credit(&mut self, port: u32) -> Option<u32> {
        let classes = self.credit_classes.as_mut()?;
        let credits = self.ports[port as usize].credits;
        let class = classes.pick(credits, &self.slab, self.now)?;
        let queue = &mut classes.of(credits)[class];
        let wire = self.slab.get(queue.queue.head()).packet.wire;
        if !self.credits[credits as usize].limiter.take(wire, self.now) {
            return None;
        }
        if let Some(own) = &mut queue.own {
            own.take(wire, self.now);
        }
        let index = queue.queue.pop(&self.slab, self.now);
        classes.order.charge(&mut classes.turns[credits as usize], class, 1);
        Some(index)
    }

    /// When the next credit may leave a port, as far as the limits are concerned; `None` if none waits.
    ///
    /// The limits may turn out to forbid it even then, if another class has come first whose credit is larger.
    #[cold]
    pub(super) fn classed_credit_ready(&mut self, port: u32) -> Option<Time> {
        let classes = self.credit_classes.as_mut()?;
        let credits = self.ports[port as usize].credits;
        match classes.pick(credits, &self.slab, self.now) {
            Some(class) => {
                let wire = self.slab.get(classes.of(credits)[class].queue.head()).packet.wire;
                Some(self.credits[credits as usize].limiter.ready_at(wire, self.now))
            }
            None => classes.ready_at(credits, &self.slab, self.now),
        }
    }

    /// Loses the credits that wait at a port whose link failed.
    pub(super) fn drop_classed_credits(&mut self, port: u32) {
        let Some(classes) = &mut self.credit_classes else { return };
        let credits = self.ports[port as usize].credits;
        let (slab, now) = (&self.slab, self.now);
        let lost: Vec<u32> =
            classes.of(credits).iter_mut().flat_map(|class| class.queue.drain(slab, now)).collect();
        lost.into_iter().for_each(|index| self.drop_packet(port, index, Drop::Down));
    }
}
