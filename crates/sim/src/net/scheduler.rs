//! The order among the classes of a port: strict priority, and turns by weight among equals.

use crate::ids::{ClassId, Id, IdVec};
use crate::model::{Class, Model};
use clearway_topology::PortId;
use serde::{Deserialize, Serialize};

/// The bytes that a class of data with weight 1 may send in a turn.
const QUANTUM: i64 = 1538;

/// The order of classes, the same at every port of a kind.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Order {
    /// Groups of classes of equal priority, with their weights; the highest priority first.
    groups: Vec<Vec<(ClassId, i64)>>,
    /// The number of classes.
    classes: usize,
    /// The amount that a class with weight 1 may send in a turn.
    quantum: i64,
    /// The class that all packets are in, if there is but one.
    only: Option<ClassId>,
    /// The classes in the order of their priorities, where no two have the same and nothing that they send is counted.
    strict: Option<Vec<ClassId>>,
    /// The packets of the first of these that leave in a row while others wait, before one of these, if they have to wait for no more.
    run: Option<u32>,
}

/// The state of the turns at one port.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Turns {
    /// The amount that each class may still send in this turn.
    balance: IdVec<ClassId, i64>,
    /// Index, within a group of equal priority, of the class whose turn it is.
    next: usize,
    /// The packets of the class of the highest priority that left in a row while others waited.
    run: u32,
}

impl Order {
    /// Returns the order of classes of data, whose turns are counted in bytes.
    pub fn new(classes: &[Class]) -> Order {
        let members: Vec<(u8, u32)> = classes.iter().map(|class| (class.priority, class.weight)).collect();
        Order::of(&members, QUANTUM)
    }

    /// Returns the order of classes of data at switches, where packets of some classes join others.
    pub fn of_switches(classes: &[Class]) -> Order {
        let mut order = Order::new(classes);
        order
            .groups
            .iter_mut()
            .for_each(|group| group.retain(|&(class, _)| classes[class.index()].at_switches.is_none()));
        order.groups.retain(|group| !group.is_empty());
        order.settle()
    }

    /// Returns the order of classes that have a priority and a weight each, with turns of `quantum` for each unit of
    /// weight.
    pub fn of(classes: &[(u8, u32)], quantum: i64) -> Order {
        let mut by_priority: Vec<usize> = (0..classes.len()).collect();
        by_priority.sort_by_key(|&index| (classes[index].0, index));
        let mut groups: Vec<Vec<(ClassId, i64)>> = Vec::new();
        for index in by_priority {
            let member = (ClassId::from_index(index), classes[index].1 as i64);
            match groups.last_mut() {
                Some(group) if classes[group[0].0.index()].0 == classes[index].0 => group.push(member),
                _ => groups.push(vec![member]),
            }
        }
        Order { groups, classes: classes.len(), quantum, only: None, strict: None, run: None }.settle()
    }

    /// Returns the order in which the class of the highest priority sends at most so many packets in a row while others wait.
    pub fn with_run(self, run: Option<u32>) -> Order {
        Order { run, ..self }
    }

    /// Notes what follows from the groups.
    fn settle(mut self) -> Order {
        let alone =
            |group: &Vec<(ClassId, i64)>| if let [(class, _)] = group[..] { Some(class) } else { None };
        self.strict = self.groups.iter().map(alone).collect();
        self.only = match &self.groups[..] {
            [group] if group.len() == 1 => Some(group[0].0),
            _ => None,
        };
        self
    }

    /// Returns the class that all packets are in, if there is but one.
    #[inline]
    pub fn only(&self) -> Option<ClassId> {
        self.only
    }

    /// Returns the number of classes.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// Returns the state of a port's turns at the start.
    pub fn turns(&self) -> Turns {
        Turns { balance: vec![0; self.classes].into(), next: 0, run: 0 }
    }

    /// Returns the class that may send next, among those for which `has` says that a packet waits.
    pub fn pick(&self, turns: Option<&mut Turns>, has: impl Fn(ClassId) -> bool) -> Option<ClassId> {
        if !self.has_turns() {
            let first = self.first(&has)?;
            return self
                .run
                .zip(turns)
                .and_then(|(run, turns)| self.in_between(run, turns, first, has))
                .or(Some(first));
        }
        let group = self.groups.iter().find(|group| group.iter().any(|&(class, _)| has(class)))?;
        if let [(class, _)] = group[..] {
            return Some(class);
        }
        let turns = turns?;
        // A class sends while its balance is positive and may overdraw it by one packet, since the size of a packet
        // that a host has yet to make is not known beforehand (surplus round robin).
        loop {
            for step in 0..group.len() {
                let place = (turns.next + step) % group.len();
                let (class, _) = group[place];
                if !has(class) {
                    turns.balance[class] = turns.balance[class].min(0);
                } else if turns.balance[class] > 0 {
                    turns.next = place;
                    return Some(class);
                }
            }
            group.iter().filter(|&&(class, _)| has(class)).for_each(|&(class, weight)| {
                turns.balance[class] += weight * self.quantum;
            });
        }
    }

    /// Returns the class that sends in between, though `first` comes before it, if that has sent as many packets as it may.
    fn in_between(
        &self,
        run: u32,
        turns: &mut Turns,
        first: ClassId,
        has: impl Fn(ClassId) -> bool,
    ) -> Option<ClassId> {
        let (top, others) = self.strict.as_ref()?.split_first()?;
        let other = others.iter().copied().find(|&class| has(class)).filter(|_| first == *top)?;
        turns.run += 1;
        (turns.run > run).then(|| {
            turns.run = 0;
            other
        })
    }

    /// Returns the class of the highest priority for which `has` says that a packet waits, where no two have the same.
    #[inline(always)]
    #[allow(clippy::manual_find, reason = "of `find` a call remains at every wake-up of a port")]
    fn first(&self, has: impl Fn(ClassId) -> bool) -> Option<ClassId> {
        for &class in self.strict.as_ref()? {
            if has(class) {
                return Some(class);
            }
        }
        None
    }

    /// Charges a packet of `wire` bytes to its class.
    #[inline]
    pub fn charge(&self, turns: Option<&mut Turns>, class: ClassId, wire: u32) {
        if let Some(turns) = turns.filter(|_| self.has_turns()) {
            turns.balance[class] -= wire as i64;
        }
    }

    /// Returns whether classes share turns, so that each port needs the state of its own.
    #[inline]
    fn has_turns(&self) -> bool {
        self.strict.is_none()
    }
}

/// The turns of the classes of data at all ports.
#[derive(Serialize, Deserialize)]
pub struct Arbiter {
    at_switches: Order,
    at_hosts: Order,
    /// The turns at each port; none where classes never share them.
    turns: IdVec<PortId, Turns>,
}

impl Arbiter {
    /// Returns the arbiter of a model's ports.
    pub fn new(model: &Model) -> Arbiter {
        let at_switches = Order::of_switches(&model.switch.classes);
        let at_hosts = Order::new(&model.host.port.classes).with_run(model.host.control_run);
        let order = |port: &clearway_topology::Port| {
            if model.topology.is_host(port.from) { &at_hosts } else { &at_switches }
        };
        let is_counted = at_switches.has_turns() || at_hosts.has_turns() || at_hosts.run.is_some();
        let ports = if is_counted { model.topology.ports() } else { &[] };
        let turns = ports.iter().map(|port| order(port).turns()).collect();
        Arbiter { at_switches, at_hosts, turns }
    }

    /// Returns the number of classes of data that a port has: as many at switches as at hosts.
    pub fn classes(&self) -> usize {
        self.at_switches.classes()
    }

    #[inline]
    fn order(&self, is_host: bool) -> &Order {
        if is_host { &self.at_hosts } else { &self.at_switches }
    }

    /// Returns the class that all packets are in at a port, if there is but one.
    #[inline]
    pub fn only(&self, is_host: bool) -> Option<ClassId> {
        self.order(is_host).only()
    }

    /// Returns whether classes share turns at ports.
    #[inline]
    pub fn has_turns(&self, is_host: bool) -> bool {
        self.order(is_host).has_turns()
    }

    /// As [`Arbiter::pick`], where classes share no turns.
    #[inline(always)]
    pub fn first(&self, is_host: bool, has: impl Fn(ClassId) -> bool) -> Option<ClassId> {
        self.order(is_host).first(has)
    }

    /// Returns the class that may send next at a port, among those for which `has` says that a packet waits.
    pub fn pick(&mut self, port: PortId, is_host: bool, has: impl Fn(ClassId) -> bool) -> Option<ClassId> {
        let order = if is_host { &self.at_hosts } else { &self.at_switches };
        order.pick(self.turns.get_mut(port), has)
    }

    /// Takes over the turns at a port from another arbiter of the same model.
    pub fn take_over(&mut self, port: PortId, other: &mut Arbiter) {
        if let (Some(own), Some(turns)) = (self.turns.get_mut(port), other.turns.get_mut(port)) {
            std::mem::swap(own, turns);
        }
    }

    /// Charges a packet of `wire` bytes to its class.
    #[inline]
    pub fn charge(&mut self, port: PortId, is_host: bool, class: ClassId, wire: u32) {
        let order = if is_host { &self.at_hosts } else { &self.at_switches };
        if order.has_turns() {
            order.charge(self.turns.get_mut(port), class, wire);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(class: usize) -> ClassId {
        ClassId::from_index(class)
    }

    fn class(priority: u8, weight: u32) -> Class {
        Class { weight, ..Class::new("", priority) }
    }

    #[test]
    fn a_lower_number_goes_first() {
        let order = Order::new(&[class(1, 1), class(0, 1)]);
        let mut turns = order.turns();
        assert_eq!(order.pick(Some(&mut turns), |_| true), Some(id(1)));
        assert_eq!(order.pick(Some(&mut turns), |class| class == id(0)), Some(id(0)));
        assert_eq!(order.pick(Some(&mut turns), |_| false), None);
    }

    #[test]
    fn of_the_class_that_goes_first_so_many_packets_leave_in_a_row_while_others_wait_and_then_one_of_these() {
        let order = Order::new(&[class(1, 1), class(0, 1)]).with_run(Some(10));
        let mut turns = order.turns();
        for round in 0..3 {
            assert_eq!(
                in_a_row(&order, &mut turns, id(1), |_| true),
                10,
                "{round}: and one of the other class"
            );
        }
        // Those that leave while nothing else waits do not count.
        assert_eq!(in_a_row(&order, &mut turns, id(1), |_| true), 10);
        (0..30).for_each(|_| assert_eq!(send(&order, &mut turns, 100, |class| class == id(1)), id(1)));
        assert_eq!(in_a_row(&order, &mut turns, id(1), |_| true), 10);
        let strict = Order::new(&[class(1, 1), class(0, 1)]);
        let mut turns = strict.turns();
        (0..30).for_each(|_| assert_eq!(send(&strict, &mut turns, 100, |_| true), id(1)));
    }

    #[test]
    fn a_class_that_joins_another_at_switches_does_not_stand_in_their_order() {
        let joining = Class { at_switches: Some(0), ..class(0, 1) };
        let classes = [class(1, 1), joining];
        assert_eq!((Order::of_switches(&classes).only(), Order::new(&classes).only()), (Some(id(0)), None));
        assert_eq!(Order::of_switches(&classes).classes(), 2, "it has a queue all the same");
    }

    #[test]
    fn equal_priorities_share_bytes_by_weight_whatever_the_packet_sizes() {
        let order = Order::new(&[class(0, 1), class(0, 3), class(0, 1)]);
        let mut turns = order.turns();
        let mut sent = [0u64; 3];
        for _ in 0..10_000 {
            let class = order.pick(Some(&mut turns), |class| class != id(2)).unwrap();
            let wire = if class == id(0) { 1538 } else { 84 };
            order.charge(Some(&mut turns), class, wire);
            sent[class.index()] += wire as u64;
        }
        let ratio = sent[1] as f64 / sent[0] as f64;
        assert!((ratio - 3.0).abs() < 0.05, "{sent:?}");
        assert_eq!(sent[2], 0);
    }

    /// Sends packets of 100 bytes, of the classes that `has` names, until another class than this one has its turn.
    /// Answers how many of this class left.
    fn in_a_row(order: &Order, turns: &mut Turns, of: ClassId, has: impl Fn(ClassId) -> bool) -> u64 {
        (0..).take_while(|_| send(order, turns, 100, &has) == of).count() as u64
    }

    fn send(order: &Order, turns: &mut Turns, wire: u32, has: impl Fn(ClassId) -> bool) -> ClassId {
        let class = order.pick(Some(turns), has).unwrap();
        order.charge(Some(turns), class, wire);
        class
    }

    #[test]
    fn a_class_that_becomes_empty_loses_what_is_left_of_its_turn() {
        let order = Order::new(&[class(0, 10), class(0, 1)]);
        let mut turns = order.turns();
        // Class 0 may send 15,380 bytes, sends 100, and is empty while class 1 sends for two turns.
        assert_eq!(send(&order, &mut turns, 100, |class| class == id(0)), id(0));
        for _ in 0..31 {
            assert_eq!(send(&order, &mut turns, 100, |class| class == id(1)), id(1));
        }
        assert_eq!(turns.balance[id(0)], 0);
        // It comes back, and its next turn begins when that of class 1 does, which goes first.
        assert_eq!(in_a_row(&order, &mut turns, id(1), |_| true), 16, "1,538 bytes less 24 of overdraft");
    }

    #[test]
    fn a_class_that_becomes_empty_keeps_what_it_owes() {
        let order = Order::new(&[class(0, 1), class(0, 1)]);
        let mut turns = order.turns();
        // Class 0 overdraws its turn of 1,538 bytes by 7,000, and class 1 sends for one turn while it is empty.
        assert_eq!(send(&order, &mut turns, 8538, |class| class == id(0)), id(0));
        assert_eq!(send(&order, &mut turns, 1538, |class| class == id(1)), id(1));
        // Four turns pay less than 7,000 bytes, and the fifth more.
        let row = in_a_row(&order, &mut turns, id(1), |_| true);
        assert!((4 * 1538 / 100..=5 * 1538 / 100 + 5).contains(&row), "{row}");
    }

    #[test]
    fn a_turn_ends_where_its_balance_is_used_up_to_the_byte() {
        let order = Order::new(&[class(0, 2), class(0, 1)]);
        let mut turns = order.turns();
        let sent: Vec<usize> = (0..3).map(|_| send(&order, &mut turns, 1538, |_| true).index()).collect();
        assert_eq!(sent, [0, 0, 1], "a balance of zero is no turn");
    }
}
