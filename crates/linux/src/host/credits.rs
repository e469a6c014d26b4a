//! The credits of all flows on their way out, limited to the share of the NIC that credits have.

use super::table::Slot;
use clearway_proto::port::{CreditLimiter, CreditRoom, CreditShaping};
use clearway_units::{Rate, Time};
use std::net::IpAddr;

/// A credit that waits for its turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Waiting {
    /// The flow.
    pub slot: Slot,
    /// The number of the flow, which no other flow ever has.
    pub serial: u64,
    /// The host that the credit goes to.
    pub peer: IpAddr,
    /// True if data of the flow has spent a credit before.
    pub is_proven: bool,
    /// The session of the credit.
    pub session: u32,
    /// The number of the credit.
    pub number: u64,
}

/// The queue of credits at the NIC, as at a port of a switch: a short queue behind a token bucket.
///
/// A credit that finds the queue full takes the place of the newest credit for the host that has most of them there. So
/// a host that asks for too many credits leaves those of others alone. Credits of flows that have sent no data yet keep
/// a quarter of a full queue at most, so that hosts that somebody invents leave the flows alone that exist.
#[derive(Debug)]
pub(super) struct CreditQueue {
    limiter: CreditLimiter,
    /// The size of a credit on the wire, in bytes, preamble and gap included.
    wire: u32,
    room: CreditRoom,
    /// The queue, which is so short that a ring would gain nothing.
    waiting: Vec<Waiting>,
    /// The number of credits that were dropped.
    pub dropped: u64,
}

impl CreditQueue {
    /// Makes the queue of a NIC of rate `rate`.
    pub fn new(rate: Rate, shaping: CreditShaping, capacity: u32) -> CreditQueue {
        let room = shaping.room(capacity);
        let (limiter, wire) = (CreditLimiter::new(rate, shaping), shaping.credit);
        CreditQueue { limiter, wire, room, waiting: Vec::new(), dropped: 0 }
    }

    /// Adds a credit. Drops one if the queue is full.
    pub fn push(&mut self, credit: Waiting) {
        let len = self.waiting.len() as u32;
        if !self.room.admits(len, u64::from(len) * u64::from(self.wire), self.wire) {
            self.dropped += 1;
            let unproven = self.waiting.iter().filter(|waiting| !waiting.is_proven).count();
            let is_full_of_unproven = unproven + usize::from(!credit.is_proven) > self.waiting.len() / 4;
            let may_go = |waiting: &&Waiting| !(is_full_of_unproven && waiting.is_proven);
            let share = |peer| self.waiting.iter().filter(may_go).filter(|other| other.peer == peer).count();
            let hosts = self.waiting.iter().filter(may_go).map(|waiting| waiting.peer);
            let Some(most) = hosts.max_by_key(|peer| share(*peer)) else { return };
            // A credit of a flow that has sent data need not give way to one of a flow that has not.
            let gives_way = may_go(&&credit) && share(credit.peer) >= share(most);
            let newest = self.waiting.iter().rposition(|waiting| may_go(&waiting) && waiting.peer == most);
            match newest {
                Some(at) if !gives_way => self.waiting.remove(at),
                _ => return,
            };
        }
        self.waiting.push(credit);
    }

    /// Returns the next credit that may leave now and that `is_wanted` by its flow. The others are gone.
    pub fn pop(&mut self, now: Time, is_wanted: impl Fn(&Waiting) -> bool) -> Option<Waiting> {
        while let Some(credit) = self.waiting.first().copied() {
            if !is_wanted(&credit) {
                self.waiting.remove(0);
                self.dropped += 1;
                continue;
            }
            if !self.limiter.take(self.wire, now) {
                return None;
            }
            self.waiting.remove(0);
            return Some(credit);
        }
        None
    }

    /// Returns the time at which the next credit may leave, or [`Time::MAX`] if none waits.
    pub fn next_time(&self, now: Time) -> Time {
        if self.waiting.is_empty() {
            Time::MAX
        } else {
            {
                let mut limiter = self.limiter;
                limiter.ready_at(self.wire, now)
            }
        }
    }

    /// Returns the number of credits for a host that wait.
    pub fn len_for(&self, peer: IpAddr) -> u32 {
        self.waiting.iter().filter(|waiting| waiting.peer == peer).count() as u32
    }

    /// Returns the number of credits that wait.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clearway_units::Span;
    use std::net::Ipv4Addr;

    fn queue() -> CreditQueue {
        CreditQueue::new(Rate::mbps(100), CreditShaping::PAPER, 8)
    }

    fn credit(peer: u8, number: u64) -> Waiting {
        let peer = Ipv4Addr::new(10, 0, 0, peer).into();
        Waiting { slot: 0, serial: 1, peer, is_proven: true, session: 1, number }
    }

    #[test]
    fn flows_without_data_of_many_hosts_leave_three_quarters_of_the_nic_to_others() {
        let (mut queue, mut left) = (queue(), [0, 0]);
        let mut now = Time::ZERO;
        for number in 0..50_000 {
            // Twenty invented hosts ask for as much as the one flow that exists, each.
            let peer = (number % 21) as u8;
            queue.push(Waiting { is_proven: peer == 0, ..credit(peer, number) });
            now += Span::from_us(6);
            while let Some(credit) = queue.pop(now, |_| true) {
                left[usize::from(credit.is_proven)] += 1;
            }
        }
        let share = f64::from(left[1]) / f64::from(left[0] + left[1]);
        assert!((0.7..0.9).contains(&share), "{share}: {left:?}");
    }

    #[test]
    fn flows_without_data_share_the_whole_nic_if_nobody_else_wants_it() {
        let mut queue = queue();
        for number in 0..20 {
            queue.push(Waiting { is_proven: false, ..credit(1 + number as u8 % 2, number) });
        }
        assert_eq!(queue.len(), 8);
        assert_eq!(
            queue.waiting.iter().filter(|waiting| waiting.peer == Ipv4Addr::new(10, 0, 0, 1)).count(),
            4
        );
    }

    #[test]
    fn credits_leave_at_the_rate_that_the_data_they_release_fills_the_nic() {
        let (mut queue, mut now, mut left) = (queue(), Time::ZERO, Vec::new());
        for number in 0..8 {
            queue.push(credit(1, number));
        }
        while queue.len() > 0 {
            while let Some(credit) = queue.pop(now, |_| true) {
                left.push((credit.number, now));
            }
            now = queue.next_time(now);
        }
        // Two fill the bucket, and each of the others comes 1622 bytes after the last.
        let times: Vec<u64> = left.iter().map(|(_, at)| at.as_ps() / 1000).collect();
        assert_eq!(times, [0, 0, 129_760, 259_520, 389_280, 519_040, 648_800, 778_560]);
        assert_eq!(now, Time::MAX);
    }

    #[test]
    fn a_host_that_asks_for_too_many_credits_loses_its_own() {
        let mut queue = queue();
        for number in 0..20 {
            queue.push(credit(1, number));
        }
        queue.push(credit(2, 100));
        assert_eq!((queue.len(), queue.dropped), (8, 13));
        let mut left = Vec::new();
        for us in (0..2000).map(Span::from_us) {
            left.extend(queue.pop(Time::ZERO + us, |_| true).map(|credit| credit.number));
        }
        assert_eq!(left, [0, 1, 2, 3, 4, 5, 6, 100]);
    }

    #[test]
    fn credits_of_flows_that_want_none_take_no_share_of_the_nic() {
        let mut queue = queue();
        for number in 0..8 {
            queue.push(credit(1, number));
        }
        let only = |wanted: u64| move |credit: &Waiting| credit.number == wanted;
        assert_eq!(queue.pop(Time::ZERO, only(5)).map(|credit| credit.number), Some(5));
        assert_eq!((queue.len(), queue.dropped), (2, 5));
    }
}
