//! Which class of a port goes next: strict priority, and by weight among equals.

use crate::model::Class;

/// What a class of data with weight 1 may send in a turn, in bytes.
const QUANTUM: i64 = 1538;

/// The order of classes, the same at every port of a kind.
#[derive(Clone, Debug)]
pub struct Order {
    /// Classes by priority, the highest first; within a group (index, weight).
    groups: Vec<Vec<(usize, i64)>>,
    classes: usize,
    /// What a class with weight 1 may send in a turn.
    quantum: i64,
    /// The class, if there is but one that packets can be in.
    only: Option<usize>,
    /// Whether classes of equal priority share bytes, so that these are counted.
    shares: bool,
}

/// A port's own state for classes of equal priority: what each may still send in this turn, in bytes.
#[derive(Clone, Debug, Default)]
pub struct Turns {
    balance: Vec<i64>,
    next: usize,
}

impl Order {
    /// The order of `classes`, which share bytes.
    pub fn new(classes: &[Class]) -> Order {
        let members: Vec<(u8, u32)> = classes.iter().map(|class| (class.priority, class.weight)).collect();
        Order::of(&members, QUANTUM)
    }

    /// The same at switches, where packets of some classes join others.
    pub fn of_switches(classes: &[Class]) -> Order {
        let mut order = Order::new(classes);
        order
            .groups
            .iter_mut()
            .for_each(|group| group.retain(|&(class, _)| classes[class].at_switches.is_none()));
        order.groups.retain(|group| !group.is_empty());
        order.settle()
    }

    /// The order of classes of a priority and a weight each, by turns of `quantum` for each unit of weight.
    pub fn of(classes: &[(u8, u32)], quantum: i64) -> Order {
        let mut by_priority: Vec<usize> = (0..classes.len()).collect();
        by_priority.sort_by_key(|&index| (classes[index].0, index));
        let mut groups: Vec<Vec<(usize, i64)>> = Vec::new();
        for index in by_priority {
            let member = (index, classes[index].1 as i64);
            match groups.last_mut() {
                Some(group) if classes[group[0].0].0 == classes[index].0 => group.push(member),
                _ => groups.push(vec![member]),
            }
        }
        Order { groups, classes: classes.len(), quantum, only: None, shares: false }.settle()
    }

    /// Finds what is known beforehand.
    fn settle(mut self) -> Order {
        self.shares = self.groups.iter().any(|group| group.len() > 1);
        self.only = match &self.groups[..] {
            [group] if group.len() == 1 => Some(group[0].0),
            _ => None,
        };
        self
    }

    /// The class, if there is but one that packets can be in.
    #[inline]
    pub fn only(&self) -> Option<usize> {
        self.only
    }

    /// How many classes there are.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// A port's state at the start.
    pub fn turns(&self) -> Turns {
        Turns { balance: vec![0; self.classes], next: 0 }
    }

    /// The class that may send next, among those that `has` something.
    pub fn pick(&self, turns: &mut Turns, has: impl Fn(usize) -> bool) -> Option<usize> {
        let group = self.groups.iter().find(|group| group.iter().any(|&(class, _)| has(class)))?;
        if let [(class, _)] = group[..] {
            return Some(class);
        }
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

    /// Charges a packet of `wire` bytes to its class.
    #[inline]
    pub fn charge(&self, turns: &mut Turns, class: usize, wire: u32) {
        if self.shares {
            turns.balance[class] -= wire as i64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Amount;

    fn class(priority: u8, weight: u32) -> Class {
        Class {
            name: String::new(),
            priority,
            weight,
            limit: Amount::UNLIMITED,
            marking: None,
            at_switches: None,
        }
    }

    #[test]
    fn a_lower_number_goes_first() {
        let order = Order::new(&[class(1, 1), class(0, 1)]);
        let mut turns = order.turns();
        assert_eq!(order.pick(&mut turns, |_| true), Some(1));
        assert_eq!(order.pick(&mut turns, |class| class == 0), Some(0));
        assert_eq!(order.pick(&mut turns, |_| false), None);
    }

    #[test]
    fn a_class_that_joins_another_at_switches_does_not_stand_in_their_order() {
        let joining = Class { at_switches: Some(0), ..class(0, 1) };
        let classes = [class(1, 1), joining];
        assert_eq!((Order::of_switches(&classes).only(), Order::new(&classes).only()), (Some(0), None));
        assert_eq!(Order::of_switches(&classes).classes(), 2, "it has a queue all the same");
    }

    #[test]
    fn equal_priorities_share_bytes_by_weight_whatever_the_packet_sizes() {
        let order = Order::new(&[class(0, 1), class(0, 3), class(0, 1)]);
        let mut turns = order.turns();
        let mut sent = [0u64; 3];
        for _ in 0..10_000 {
            let class = order.pick(&mut turns, |class| class != 2).unwrap();
            let wire = if class == 0 { 1538 } else { 84 };
            order.charge(&mut turns, class, wire);
            sent[class] += wire as u64;
        }
        let ratio = sent[1] as f64 / sent[0] as f64;
        assert!((ratio - 3.0).abs() < 0.05, "{sent:?}");
        assert_eq!(sent[2], 0);
    }
}
