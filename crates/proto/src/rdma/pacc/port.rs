//! PACC at one output port: Algorithm 1 of the paper and the schedule of notifications.

use super::{Entry, FlowTable, PaccConfig, Pending, PiController, Rounding};
use crate::mechanism::{PortMechanism, PortState, Sees, Verdict};
use crate::packet::{Kind, Packet};
use clearway_units::{Rate, Span, Time};
use serde::{Deserialize, Serialize};

/// The notifications to be sent to the sender of one pair of hosts.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Due {
    key: u64,
    left: u32,
}

/// The mechanism of PACC at one output port. It tells pairs of hosts apart by the names of their flows.
///
/// Periods end at multiples of `T`, at all ports together. A port without entries, without a queue and without a
/// memory of one has no timeout.
///
/// What each packet touches stands first.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[repr(C)]
pub struct PaccPort {
    /// The queue above which a packet meets congestion (`Q_th`), in bytes.
    threshold: u64,
    /// The end of the current period; [`Time::MAX`] at rest.
    period_end: Time,
    /// The time at which the next round of notifications leaves.
    cnp_at: Time,
    table: FlowTable,
    control: Box<Control>,
}

/// The part of the mechanism that works when a period ends or notifications leave.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Control {
    period: Span,
    cnp_gap: Span,
    burst: f64,
    bytes_min: u64,
    w: f64,
    cnps_max: u32,
    rounding: Rounding,
    pending: Pending,
    pi: PiController,
    /// The average queue `Q_avg`, in bytes.
    average: f64,
    /// The notifications to be sent, one to each pair every `cnp_gap`.
    due: Vec<Due>,
    /// The place of the next notification in the round that is leaving.
    leaving: usize,
}

/// An average below this many bytes is forgotten, since it would take hundreds of periods to vanish on its own.
const AVERAGE_NOTHING: f64 = 1.0;

impl PortMechanism for PaccPort {
    type Config = PaccConfig;
    const NAME: &'static str = "PACC controller";
    const SEES_ARRIVALS: Sees = Sees::Data;
    const SENDS_CNPS: bool = true;

    fn new(config: &PaccConfig, rate: Rate) -> PaccPort {
        let unit = config.queue_unit;
        let pi = PiController::new(config.beta1, config.beta2, config.threshold(rate), unit, config.form);
        PaccPort {
            threshold: pi.threshold(),
            period_end: Time::MAX,
            cnp_at: Time::MAX,
            table: FlowTable::new(config.table_entries, config.n_cong_max),
            control: Box::new(Control {
                period: config.period.max(Span::from_ps(1)),
                cnp_gap: config.cnp_gap.max(Span::from_ps(1)),
                burst: config.burst_bytes(rate) as f64,
                bytes_min: config.bytes_min(rate),
                w: config.w,
                cnps_max: config.cnps_max(),
                rounding: config.rounding,
                pending: config.pending,
                pi,
                average: 0.0,
                due: Vec::new(),
                leaving: usize::MAX,
            }),
        }
    }

    /// Counts a data packet of a pair that joins the queue (`RECEIVE_PACKET`). Data of flows that take no notifications
    /// counts by the queue that it builds, and has no entry.
    #[inline]
    fn on_arrival(&mut self, packet: &Packet, pair: Option<u64>, port: PortState) -> Verdict {
        if packet.kind() != Kind::Data {
            return Verdict::Keep;
        }
        if let Some(pair) = pair {
            self.table.count(pair, packet.wire.into(), port.queued > self.threshold);
        }
        if self.period_end == Time::MAX {
            self.period_end = self.control.next_multiple(port.now);
        }
        Verdict::Keep
    }

    #[inline]
    fn next_timeout(&self) -> Time {
        self.period_end.min(self.cnp_at)
    }

    fn on_timeout(&mut self, port: PortState) {
        let PortState { queued, now, .. } = port;
        if now >= self.period_end {
            self.end_period(queued, now);
        }
        if now >= self.cnp_at {
            self.control.leaving = 0;
            self.cnp_at = now + self.control.cnp_gap;
        }
    }

    fn poll_cnp(&mut self, _: Time) -> Option<u64> {
        let Control { due, leaving, .. } = &mut *self.control;
        if let Some(due) = due.get_mut(*leaving) {
            *leaving += 1;
            due.left -= 1;
            return Some(due.key);
        }
        if *leaving != usize::MAX {
            *leaving = usize::MAX;
            due.retain(|due| due.left > 0);
            if due.is_empty() {
                self.cnp_at = Time::MAX;
            }
        }
        None
    }
}

impl PaccPort {
    /// Returns the number of packets of pairs for which the table had no room.
    pub fn missed(&self) -> u64 {
        self.table.missed()
    }

    fn end_period(&mut self, queued: u64, now: Time) {
        let control = &mut *self.control;
        // eq. (3), then eq. (2) (PACC-9).
        control.average = control.w * queued as f64 + (1.0 - control.w) * control.average;
        if control.average < AVERAGE_NOTHING {
            control.average = 0.0;
        }
        let n_all = control.pi.step(queued);
        if n_all > 0.0
            && control.average > control.burst
            && let Some(at) = control.allot(n_all, &self.table.entries(), now)
        {
            self.cnp_at = at;
        }
        self.table.end_period(control.bytes_min);
        let is_at_rest = self.table.is_empty() && control.pi.is_at_rest() && control.average == 0.0;
        self.period_end = if is_at_rest { Time::MAX } else { control.next_multiple(now) };
    }
}

impl Control {
    fn next_multiple(&self, now: Time) -> Time {
        let period = self.period.as_ps();
        Time::from_ps((now.as_ps() / period + 1).saturating_mul(period))
    }

    /// Shares out `n_all` notifications in proportion to the packets that met congestion (Algorithm 1, lines 1 to 9).
    /// Returns the time at which a round of them leaves; `None` if those still to be sent keep their pace.
    fn allot(&mut self, n_all: f64, entries: &[Entry], now: Time) -> Option<Time> {
        let packets: u64 = entries.iter().map(|entry| entry.congested as u64).sum();
        if packets == 0 {
            return None; // PACC-13: the queue was never above the threshold when a packet came.
        }
        let before = match self.pending {
            Pending::Replace => {
                self.due.clear();
                0
            }
            Pending::Add => self.due.len(),
        };
        for entry in entries {
            let share = n_all * entry.congested as f64 / packets as f64;
            let count = match self.rounding {
                Rounding::Down => share.floor(),
                Rounding::Nearest => share.round(),
            };
            let count = count.min(self.cnps_max as f64) as u32;
            if count == 0 {
                continue;
            }
            match self.due[..before].iter_mut().find(|due| due.key == entry.key) {
                Some(due) => due.left = (due.left + count).min(self.cnps_max),
                None => self.due.push(Due { key: entry.key, left: count }),
            }
        }
        // One at once, and one every gap.
        (before == 0).then_some(if self.due.is_empty() { Time::MAX } else { now })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Header;
    use proptest::prelude::*;

    const RATE: Rate = Rate::gbps(25);

    fn port() -> PaccPort {
        PaccPort::new(&PaccConfig::default(), RATE)
    }

    fn state(queued: u64, now: Time) -> PortState {
        PortState { now, queued, sent: 0 }
    }

    fn at(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    /// Runs the port's timeouts up to `until` with a queue that stands; the notifications with their times.
    fn run(port: &mut PaccPort, queued: u64, until: Time) -> Vec<(u64, u64)> {
        let mut sent = Vec::new();
        while port.next_timeout() <= until {
            let now = port.next_timeout();
            port.on_timeout(state(queued, now));
            while let Some(key) = port.poll_cnp(now) {
                sent.push((now.as_ps() / 1_000_000, key));
            }
            assert!(port.next_timeout() > now, "time must go on");
        }
        sent
    }

    /// `packets` packets of a pair that find `queued` bytes.
    fn forward(port: &mut PaccPort, key: u64, packets: u32, queued: u64, now: Time) {
        let packet = Packet::data(Header::data(0), 1000, 1048, Time::ZERO);
        for _ in 0..packets {
            assert_eq!(port.on_arrival(&packet, Some(key), state(queued, now)), Verdict::Keep);
        }
    }

    #[test]
    fn what_a_packet_touches_lies_in_one_cache_line_behind_the_kind_of_mechanism() {
        assert_eq!(std::mem::offset_of!(PaccPort, table), 24);
        assert_eq!(std::mem::offset_of!(PaccPort, control), 24 + size_of::<FlowTable>());
        assert!(24 + size_of::<FlowTable>() <= 64 - 8, "a name of the kind of mechanism stands before");
    }

    #[test]
    fn notifications_are_shared_by_congested_packets_rounded_down_and_paced_algorithm_1() {
        let mut port = port();
        assert_eq!(port.next_timeout(), Time::MAX, "an idle port costs nothing");
        forward(&mut port, 1, 50, 200_000, at(10));
        forward(&mut port, 2, 30, 200_000, at(20));
        forward(&mut port, 3, 20, 100_000, at(30));
        assert_eq!(port.next_timeout(), at(80));
        // The queue ends at 150 KB: N_all = 0.05 x 25 + 0.1 x 150 = 16.25. Pair 3 met no congestion.
        // 16.25 x 5/8 = 10.2 and 16.25 x 3/8 = 6.1.
        let sent = run(&mut port, 150_000, at(159));
        let times = |key| sent.iter().filter(|sent| sent.1 == key).map(|sent| sent.0).collect::<Vec<_>>();
        assert_eq!(times(1), (0..10).map(|n| 80 + 4 * n).collect::<Vec<_>>());
        assert_eq!(times(2), (0..6).map(|n| 80 + 4 * n).collect::<Vec<_>>());
        assert!(times(3).is_empty());
    }

    #[test]
    fn packets_of_pairs_for_which_the_flow_table_has_no_room_are_counted() {
        let mut port = PaccPort::new(&PaccConfig { table_entries: 2, ..PaccConfig::default() }, RATE);
        (1..=2).for_each(|pair| forward(&mut port, pair, 5, 0, at(10)));
        assert_eq!(port.missed(), 0);
        (2..=4).for_each(|pair| forward(&mut port, pair, 3, 0, at(20)));
        assert_eq!(port.missed(), 6, "three each of the third pair and of the fourth");
    }

    #[test]
    fn traffic_that_takes_no_notifications_gets_none_and_leaves_all_to_the_others() {
        let mut port = port();
        let packet = Packet::data(Header::data(0), 1000, 1048, Time::ZERO);
        port.on_arrival(&packet, None, state(200_000, at(5)));
        assert_eq!(port.next_timeout(), at(80), "the controller follows the queue, whoever builds it");
        forward(&mut port, 1, 50, 200_000, at(10));
        for _ in 0..50 {
            assert_eq!(port.on_arrival(&packet, None, state(200_000, at(10))), Verdict::Keep);
        }
        // N_all = 0.05 x 25 + 0.1 x 150 = 16.25, as in the test above.
        let sent = run(&mut port, 150_000, at(159));
        assert_eq!(sent.len(), 16, "{sent:?}");
        assert!(sent.iter().all(|(_, pair)| *pair == 1));
    }

    #[test]
    fn a_pair_gets_no_more_than_fit_into_a_period() {
        let mut port = port();
        forward(&mut port, 1, 50, 2_000_000, at(10));
        let sent = run(&mut port, 2_000_000, at(159));
        assert_eq!(sent.len(), 20, "N_all = 293.75");
        assert_eq!(sent.last(), Some(&(80 + 4 * 19, 1)));
    }

    #[test]
    fn a_queue_that_is_short_on_average_is_taken_for_microbursts_sec_iii_b() {
        // The queue met 200 KB in between and ends at 4,444 bytes: Q_avg = 3,999.6 against Q_burst = 4,000. With this
        // beta_2, N_all = 0.05 x -120.556 + 5 x 4.444 = 16.2 would be due.
        let config = PaccConfig { beta2: 5.0, ..PaccConfig::default() };
        let mut port = PaccPort::new(&config, RATE);
        forward(&mut port, 1, 50, 200_000, at(10));
        assert!(run(&mut port, 4_444, at(159)).is_empty());
        // One byte more: Q_avg = 4,000.5.
        let mut port = PaccPort::new(&config, RATE);
        forward(&mut port, 1, 50, 200_000, at(10));
        assert_eq!(run(&mut port, 4_445, at(159)).len(), 16);
    }

    #[test]
    fn a_rise_without_a_congested_packet_sends_nothing_pacc_13() {
        let mut port = port();
        forward(&mut port, 1, 50, 125_000, at(10));
        assert!(run(&mut port, 200_000, at(159)).is_empty(), "125 KB is not above Q_th");
    }

    #[test]
    fn the_next_period_starts_from_zero_and_silent_pairs_go() {
        let mut port = port();
        forward(&mut port, 1, 50, 200_000, at(10));
        assert!(!run(&mut port, 150_000, at(159)).is_empty());
        assert!(run(&mut port, 150_000, at(239)).is_empty(), "no packet met congestion from 80 to 160 us");
        // The queue is gone: Q_avg is 14.9 KB at 240 us and a tenth of that in each period that follows.
        run(&mut port, 0, at(600));
        assert_eq!((port.control.average.round(), port.next_timeout()), (1.0, at(640)));
        run(&mut port, 0, at(640));
        assert_eq!(port.next_timeout(), Time::MAX);
        assert!(port.table.is_empty());
        forward(&mut port, 1, 1, 0, at(10_010));
        assert_eq!(port.next_timeout(), at(10_080), "periods end at multiples of T");
    }

    #[test]
    fn what_is_pending_is_replaced_or_added_to_pacc_11() {
        // A gap that leaves notifications over: 80 us / 30 us = 2 fit, at 0 and 30, and a third would come at 60.
        for (pending, expected) in [(Pending::Replace, 2), (Pending::Add, 2)] {
            let config = PaccConfig { cnp_gap: Span::from_us(30), pending, ..PaccConfig::default() };
            let mut port = PaccPort::new(&config, RATE);
            forward(&mut port, 1, 50, 2_000_000, at(10));
            assert_eq!(run(&mut port, 2_000_000, at(159)).len(), expected);
        }
        // Beyond what fits, by hand: one left over from before.
        for (pending, expected) in [(Pending::Replace, vec![1, 1]), (Pending::Add, vec![9, 1, 1])] {
            let config = PaccConfig { cnp_gap: Span::from_us(30), pending, ..PaccConfig::default() };
            let mut port = PaccPort::new(&config, RATE);
            port.control.due.push(Due { key: 9, left: 1 });
            port.cnp_at = at(81);
            forward(&mut port, 1, 50, 2_000_000, at(10));
            let keys: Vec<_> = run(&mut port, 2_000_000, at(159)).iter().map(|sent| sent.1).collect();
            assert_eq!(keys, expected);
        }
    }

    proptest! {
        #[test]
        fn whatever_passes_no_pair_is_notified_faster_than_the_gap_and_the_port_comes_to_rest(
            packets in prop::collection::vec((0..5u64, 0..3_000u64, 0..400_000u64), 1..600),
        ) {
            let mut port = port();
            let mut now = Time::ZERO;
            let mut last = [None::<Time>; 5];
            for (key, ns, queued) in packets {
                let next = now + Span::from_ns(ns);
                while port.next_timeout() <= next {
                    let now = port.next_timeout();
                    port.on_timeout(state(queued, now));
                    while let Some(key) = port.poll_cnp(now) {
                        let before = last[key as usize].replace(now);
                        prop_assert!(before.is_none_or(|before| now - before >= Span::from_us(4)));
                    }
                }
                now = next;
                forward(&mut port, key, 1, queued, now);
            }
            run(&mut port, 0, now + Span::from_ms(2));
            prop_assert_eq!(port.next_timeout(), Time::MAX);
        }
    }
}
