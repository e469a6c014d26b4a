//! What is inferred of a single flow: its phase and its round-trip time (sec. III-C, IV-A).

/// Where a sender's window stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// Its window grows by a segment with each acknowledgement.
    SlowStart,
    /// Its window grows by a segment a round trip.
    CongestionAvoidance,
}

use clearway_schema::choice;
use clearway_units::{Span, Time};

choice! {
    /// What ends slow start, in the eyes of a receiver.
    pub enum PhaseTest {
        /// A mark.
        Marks = "marks",
        /// A mark, or a throughput that falls in some round trips in a row.
        Falls = "falls",
    }
}

/// What ends slow start, with its numbers.
#[derive(Clone, Copy, Debug)]
pub struct SlowStartEnd {
    /// Whether falls count.
    pub test: PhaseTest,
    /// How many in a row.
    pub falls: u32,
    /// Share of the throughput before at or below which it fell.
    pub lambda: f64,
    /// More bytes than this end it too.
    pub bytes: u64,
}

/// Infers a flow's phase from what arrives of it.
#[derive(Clone, Copy, Debug)]
pub struct PhaseMeter {
    phase: Phase,
    /// Bytes in this interval.
    bytes: u64,
    since: Time,
    /// `BW` of the interval before, in bytes per second.
    before: f64,
    /// Intervals in a row in which the throughput fell.
    falls: u32,
    /// Bytes of the flow so far.
    total: u64,
}

impl PhaseMeter {
    /// A flow in slow start.
    pub fn new(now: Time) -> PhaseMeter {
        PhaseMeter { phase: Phase::SlowStart, bytes: 0, since: now, before: 0.0, falls: 0, total: 0 }
    }

    /// The phase.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Back to slow start: the sender timed out.
    pub fn restart(&mut self, now: Time) {
        *self = PhaseMeter::new(now);
    }

    /// A packet of the flow, whose round-trip time is `rtt`, arrived. Slow start is over with the first mark, when the
    /// flow has received `end.bytes`, or when in `end.falls` consecutive round trips the throughput was at most
    /// `lambda` times that of the one before.
    pub fn arrive(&mut self, payload: u64, marked: bool, end: &SlowStartEnd, rtt: Span, now: Time) {
        self.total += payload;
        if marked || self.total > end.bytes {
            self.phase = Phase::CongestionAvoidance;
        }
        if self.phase == Phase::CongestionAvoidance || end.test == PhaseTest::Marks {
            return;
        }
        let elapsed = now.saturating_since(self.since);
        if elapsed >= rtt && !elapsed.is_zero() {
            let bandwidth = self.bytes as f64 / elapsed.as_secs_f64();
            self.falls = if bandwidth <= end.lambda * self.before { self.falls + 1 } else { 0 };
            if self.falls >= end.falls {
                self.phase = Phase::CongestionAvoidance;
            }
            (self.before, self.bytes, self.since) = (bandwidth, 0, now);
        }
        self.bytes += payload;
    }
}

choice! {
    /// How traffic is found out that was expected and will not come.
    pub enum Correction {
        /// A fall of the throughput says that there is some (eq. (6)): below what exponential filters remember.
        Throughput = "throughput",
        /// The same with constants: the line's rate for the usual throughput, the threshold for the usual traffic.
        LineRate = "line-rate",
        /// Data that answers a later acknowledgement says it of earlier ones, and the end of a flow of all.
        Answers = "answers",
    }
}

choice! {
    /// How the round-trip time of a flow is obtained at its receiver.
    pub enum RttMethod {
        /// That of the flow's first round trip plus the delay that PAC itself adds.
        Handshake = "handshake",
        /// Timestamps that PAC writes into acknowledgements as it releases them, and that data returns: what the
        /// network takes, without PAC's own delay.
        Timestamps = "timestamps",
    }
}

choice! {
    /// What the traffic in flight counts.
    pub enum Units {
        /// Payload, of triggers and of arrivals.
        Payload = "payload",
        /// Frames without preamble for triggers, IP packets for arrivals.
        Wire = "wire",
    }
}

/// A flow's round-trip time.
#[derive(Clone, Copy, Debug)]
pub struct FlowRtt {
    method: RttMethod,
    /// Before the first measurement, and after it the first or the smoothed one.
    base: Span,
    measured: bool,
    /// Delay that PAC adds, smoothed.
    added: Span,
}

impl FlowRtt {
    /// Not measured yet.
    pub fn new(method: RttMethod, initial: Span) -> FlowRtt {
        FlowRtt { method, base: initial, measured: false, added: Span::ZERO }
    }

    /// The round-trip time as it is now.
    #[inline]
    pub fn rtt(&self) -> Span {
        match self.method {
            RttMethod::Handshake => self.base + self.added,
            RttMethod::Timestamps => self.base,
        }
    }

    /// A packet arrived this long after the acknowledgement was released that it answers.
    pub fn sample(&mut self, sample: Span) {
        if !self.measured {
            self.base = sample;
            self.measured = true;
        } else if self.method == RttMethod::Timestamps {
            self.base = ewma(self.base, sample);
        }
    }

    /// An acknowledgement was held for this long.
    pub fn held(&mut self, delay: Span) {
        self.added = ewma(self.added, delay);
    }
}

/// RFC 6298's weight of a new measurement.
fn ewma(old: Span, new: Span) -> Span {
    Span::from_ps(old.as_ps() - old.as_ps() / 8 + new.as_ps() / 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    const PRINTED: SlowStartEnd =
        SlowStartEnd { test: PhaseTest::Falls, falls: 2, lambda: 0.8, bytes: u64::MAX };

    /// Feeds so many bytes in each interval of 100 us.
    fn feed(meter: &mut PhaseMeter, end: &SlowStartEnd, bytes: &[u64]) {
        for (interval, bytes) in bytes.iter().enumerate() {
            meter.arrive(*bytes, false, end, Span::from_us(100), us(100 * interval as u64));
        }
    }

    #[test]
    fn two_falls_in_a_row_end_slow_start_section_iii_c() {
        let mut meter = PhaseMeter::new(us(0));
        // The last of each list only closes the interval before it.
        feed(&mut meter, &PRINTED, &[1000, 2000, 4000, 3000, 2000, 0]);
        assert_eq!(meter.phase(), Phase::CongestionAvoidance);
    }

    #[test]
    fn a_single_fall_does_not_end_slow_start_section_iii_c() {
        let mut meter = PhaseMeter::new(us(0));
        feed(&mut meter, &PRINTED, &[1000, 4000, 3000, 4000, 3000, 3000, 0]);
        assert_eq!(meter.phase(), Phase::SlowStart);
    }

    #[test]
    fn in_the_authors_code_three_falls_or_a_mebibyte_end_slow_start() {
        let end = SlowStartEnd { falls: 3, bytes: 1 << 20, ..PRINTED };
        let mut meter = PhaseMeter::new(us(0));
        feed(&mut meter, &end, &[1000, 2000, 4000, 3000, 2000, 2000, 0]);
        assert_eq!(meter.phase(), Phase::SlowStart, "two falls");
        let mut meter = PhaseMeter::new(us(0));
        feed(&mut meter, &end, &[1000, 2000, 4000, 3000, 2000, 1000, 0]);
        assert_eq!(meter.phase(), Phase::CongestionAvoidance);
        let mut meter = PhaseMeter::new(us(0));
        feed(&mut meter, &end, &[1 << 19, 1 << 19]);
        assert_eq!(meter.phase(), Phase::SlowStart, "as much as a mebibyte");
        feed(&mut meter, &end, &[1]);
        assert_eq!(meter.phase(), Phase::CongestionAvoidance);
    }

    #[test]
    fn a_mark_ends_slow_start_and_a_timeout_begins_it_again_section_iii_c_and_d() {
        let mut meter = PhaseMeter::new(us(0));
        let marks = SlowStartEnd { test: PhaseTest::Marks, ..PRINTED };
        meter.arrive(1000, true, &marks, Span::from_us(100), us(1));
        assert_eq!(meter.phase(), Phase::CongestionAvoidance);
        meter.restart(us(2));
        assert_eq!(meter.phase(), Phase::SlowStart);
    }

    #[test]
    fn the_handshakes_time_plus_the_delay_added_is_the_default_section_iv_a() {
        let mut rtt = FlowRtt::new(RttMethod::Handshake, Span::from_us(100));
        assert_eq!(rtt.rtt(), Span::from_us(100));
        rtt.sample(Span::from_us(120));
        rtt.sample(Span::from_us(900));
        assert_eq!(rtt.rtt(), Span::from_us(120));
        rtt.held(Span::from_us(80));
        assert_eq!(rtt.rtt(), Span::from_us(130));
    }

    #[test]
    fn timestamps_measure_every_round_trip_section_iv_a() {
        let mut rtt = FlowRtt::new(RttMethod::Timestamps, Span::from_us(100));
        rtt.sample(Span::from_us(120));
        rtt.sample(Span::from_us(200));
        assert_eq!(rtt.rtt(), Span::from_us(130));
        rtt.held(Span::from_us(80));
        assert_eq!(rtt.rtt(), Span::from_us(130), "the delay that PAC adds passes before it stamps");
    }
}
