//! Several classes of credits at a port (ExpressPass '17, sec. 7).
//!
//! Credits of all classes together keep within the port's one limit, and classes take turns by priority and, among
//! equals, by weight. A credit that passes has data sent, so the order among credits becomes the order among data,
//! without a queue of data for each class. Weights count credits, since each releases one frame. A class may have a
//! limit of its own besides, for data that goes to a class of its own at the ports.

use super::credit_queue::{CreditQueue, WaitingCredit};
use super::scheduler::{Order, Turns};
use crate::ids::{ClassId, CreditsId, Id, IdVec, PacketId};
use crate::model::{CreditTurn, Model};
use clearway_proto::port::{CreditLimiter, CreditShaping};
use clearway_units::{Rate, Time};
use serde::{Deserialize, Serialize};

/// The classes of credits of all ports.
#[derive(Serialize, Deserialize)]
pub struct CreditClasses {
    order: Order,
    ports: IdVec<CreditsId, PortClasses>,
}

/// The classes of credits of one port.
#[derive(Serialize, Deserialize)]
struct PortClasses {
    classes: IdVec<ClassId, ClassQueue>,
    turns: Turns,
}

#[derive(Serialize, Deserialize)]
struct ClassQueue {
    queue: CreditQueue,
    /// The limit of this class alone.
    own: Option<CreditLimiter>,
}

impl CreditClasses {
    /// Returns the classes of a model, yet without ports; `None` if it has one class.
    pub fn new(model: &Model) -> Option<Box<CreditClasses>> {
        let classes = &model.switch.credit_classes;
        let members: Vec<(u8, u32)> = classes.iter().map(|class| (class.priority, class.weight)).collect();
        let order = Order::of(&members, 1);
        (!classes.is_empty()).then(|| Box::new(CreditClasses { order, ports: IdVec::new() }))
    }

    /// Adds the classes of the next port.
    pub fn add_port(&mut self, classes: &[CreditTurn], shaping: CreditShaping, rate: Rate) {
        let queue = |class: &CreditTurn| {
            let own = class.share.map(|share| CreditLimiter::new(rate.mul_f64(share), shaping));
            ClassQueue { queue: CreditQueue::new(shaping.room(class.queue)), own }
        };
        let classes = classes.iter().map(queue).collect();
        self.ports.push(PortClasses { classes, turns: self.order.turns() });
    }

    /// Puts a credit into the queue of its class. Returns false if that has no room for it.
    #[cold]
    pub fn push(&mut self, at: CreditsId, class: ClassId, credit: WaitingCredit, now: Time) -> bool {
        self.ports[at].classes[class].queue.push(credit, now)
    }

    /// Returns the queue of a class at a port, to be changed.
    pub fn queue_mut(&mut self, at: CreditsId, class: ClassId) -> &mut CreditQueue {
        &mut self.ports[at].classes[class].queue
    }

    /// Takes the credit whose turn it is, if its own limit and the `common` one let it pass.
    #[cold]
    pub fn next(&mut self, at: CreditsId, common: &mut CreditLimiter, now: Time) -> Option<WaitingCredit> {
        let (class, wire) = self.pick(at, now)?;
        if !common.take(wire, now) {
            return None;
        }
        let port = &mut self.ports[at];
        let queue = &mut port.classes[class];
        if let Some(own) = &mut queue.own {
            own.take(wire, now);
        }
        self.order.charge(Some(&mut port.turns), class, 1);
        queue.queue.pop(now)
    }

    /// Returns the time at which the limits may let a credit pass; `None` if none waits.
    #[cold]
    pub fn ready_at(&mut self, at: CreditsId, common: &mut CreditLimiter, now: Time) -> Option<Time> {
        match self.pick(at, now) {
            Some((_, wire)) => Some(common.ready_at(wire, now)),
            None => {
                let classes = self.ports[at].classes.iter_mut();
                classes.filter_map(|class| class.ready_at(now)).min()
            }
        }
    }

    /// Returns the class that goes next at a port, among those whose own limits allow it, and the size of its first
    /// credit.
    fn pick(&mut self, at: CreditsId, now: Time) -> Option<(ClassId, u32)> {
        let port = &mut self.ports[at];
        // Scenarios have at most 64 classes.
        let mut may = 0u64;
        for (class, queue) in port.classes.enumerate_mut() {
            may |= u64::from(queue.ready_at(now) == Some(now)) << class.index();
        }
        let class = self.order.pick(Some(&mut port.turns), |class| may >> class.index() & 1 == 1)?;
        let head = port.classes[class].queue.head()?;
        Some((class, head.wire))
    }

    /// Takes all credits that wait at a port.
    pub fn drain(&mut self, at: CreditsId, now: Time) -> impl Iterator<Item = PacketId> {
        self.ports[at].classes.iter_mut().flat_map(move |class| class.queue.drain(now))
    }

    /// Takes over the classes of a port that is the port `there` among others.
    pub fn take_over(&mut self, at: CreditsId, others: &mut CreditClasses, there: CreditsId) {
        std::mem::swap(&mut self.ports[at], &mut others.ports[there]);
    }

    /// Returns the queues of a port, by class.
    pub fn queues(&self, at: CreditsId) -> impl Iterator<Item = &CreditQueue> {
        self.ports[at].classes.iter().map(|class| &class.queue)
    }

    /// Returns the queues of a port, by class, to be changed.
    pub fn queues_mut(&mut self, at: CreditsId) -> impl Iterator<Item = &mut CreditQueue> {
        self.ports[at].classes.iter_mut().map(|class| &mut class.queue)
    }
}

impl ClassQueue {
    /// Returns the time at which the class' own limit lets its first credit pass: `now` or later; `None` if none waits.
    fn ready_at(&mut self, now: Time) -> Option<Time> {
        let head = self.queue.head()?;
        let ready = |own: &mut CreditLimiter| own.ready_at(head.wire, now);
        Some(self.own.as_mut().map_or(now, ready))
    }
}
