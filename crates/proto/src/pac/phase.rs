//! The phase and the round-trip time of a flow, as inferred at its receiver (sec. III-C, IV-A).

/// The phase of a sender's congestion control.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Phase {
    /// Slow start: the window grows by a segment with each acknowledgement.
    SlowStart,
    /// Congestion avoidance: the window grows by a segment per round trip.
    CongestionAvoidance,
}

use clearway_schema::choice;
use clearway_units::{Span, Time};
use serde::{Deserialize, Serialize};

choice! {
    /// The test by which a receiver infers the end of slow start.
    #[derive(Serialize, Deserialize)]
    pub enum PhaseTest {
        /// Slow start ends with a mark.
        Marks = "marks",
        /// Slow start ends with a mark, or when the throughput falls in several round trips in a row.
        Falls = "falls",
    }
}

/// The test for the end of slow start, with its parameters.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct SlowStartEnd {
    /// The kind of the test.
    pub test: PhaseTest,
    /// The number of falls in a row that end slow start.
    pub falls: u32,
    /// `lambda`: a throughput of at most this share of the one before is a fall.
    pub lambda: f64,
    /// The size, in bytes, above which a flow is not in slow start.
    pub bytes: u64,
}

/// The inference of a flow's phase from its arrivals.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct PhaseMeter {
    phase: Phase,
    /// The bytes that arrived in this interval.
    bytes: u64,
    /// The start of this interval.
    since: Time,
    /// The throughput `BW` of the interval before, in bytes per second.
    before: f64,
    /// The number of intervals in a row in which the throughput fell.
    falls: u32,
    /// The bytes of the flow that have arrived so far.
    total: u64,
}

impl PhaseMeter {
    /// Makes the state of a new flow, in slow start.
    pub fn new(now: Time) -> PhaseMeter {
        PhaseMeter { phase: Phase::SlowStart, bytes: 0, since: now, before: 0.0, falls: 0, total: 0 }
    }

    /// Returns the flow's phase.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Returns to slow start after the sender has timed out.
    pub fn restart(&mut self, now: Time) {
        *self = PhaseMeter::new(now);
    }

    /// Records the arrival of a packet of the flow, whose round-trip time is `rtt`. Slow start ends with the first
    /// mark, when more than `end.bytes` have arrived, or when in `end.falls` round trips in a row the throughput was at
    /// most `lambda` times that of the round trip before.
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
    /// The method of finding traffic that is in the estimate and will not arrive.
    #[derive(Serialize, Deserialize)]
    pub enum Correction {
        /// Eq. (6) as printed: a throughput below its exponential average shows that there is such traffic.
        Throughput = "throughput",
        /// Eq. (6) with constants: the line's rate as the usual throughput, the threshold as the usual traffic.
        LineRate = "line-rate",
        /// Data that answers an acknowledgement shows it for all earlier ones, and the end of a flow for all its
        /// traffic.
        Answers = "answers",
    }
}

choice! {
    /// The method of measuring a flow's round-trip time at its receiver.
    #[derive(Serialize, Deserialize)]
    pub enum RttMethod {
        /// The time of the flow's first round trip plus the delay that PAC adds.
        Handshake = "handshake",
        /// The time from the release of an acknowledgement, which PAC stamps, to the data that returns the stamp. It
        /// does not include the delay that PAC adds.
        Timestamps = "timestamps",
    }
}

choice! {
    /// The bytes that count as traffic in flight.
    #[derive(Serialize, Deserialize)]
    pub enum Units {
        /// Bytes of payload, in triggers and in arrivals.
        Payload = "payload",
        /// Bytes of frames without preamble in triggers, bytes of IP packets in arrivals.
        Wire = "wire",
    }
}

/// The estimate of a flow's round-trip time.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct FlowRtt {
    method: RttMethod,
    /// The first measurement or the smoothed one, by the method; before the first, the initial value.
    base: Span,
    /// True after the first measurement.
    measured: bool,
    /// The least measurement.
    least: Option<Span>,
    /// The delay that PAC adds, smoothed.
    added: Span,
}

impl FlowRtt {
    /// Makes an estimate of `initial`, which holds until the first measurement.
    pub fn new(method: RttMethod, initial: Span) -> FlowRtt {
        FlowRtt { method, base: initial, measured: false, least: None, added: Span::ZERO }
    }

    /// Returns the present estimate.
    #[inline]
    pub fn rtt(&self) -> Span {
        match self.method {
            RttMethod::Handshake => self.base + self.added,
            RttMethod::Timestamps => self.base,
        }
    }

    /// Returns the least measurement, which is the nearest to the round-trip time of an idle network.
    #[inline]
    pub fn least(&self) -> Option<Span> {
        self.least
    }

    /// Records a measurement: the time from the release of an acknowledgement to the packet that answers it.
    pub fn sample(&mut self, sample: Span) {
        self.least = Some(self.least.map_or(sample, |least| least.min(sample)));
        if !self.measured {
            self.base = sample;
            self.measured = true;
        } else if self.method == RttMethod::Timestamps {
            self.base = ewma(self.base, sample);
        }
    }

    /// Records the time for which an acknowledgement was held.
    pub fn held(&mut self, delay: Span) {
        self.added = ewma(self.added, delay);
    }
}

/// Returns the exponential average with the weight 1/8 for a new measurement, as in RFC 6298.
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

    /// Delivers the bytes of each list entry in one interval of 100 us.
    fn feed(meter: &mut PhaseMeter, end: &SlowStartEnd, bytes: &[u64]) {
        for (interval, bytes) in bytes.iter().enumerate() {
            meter.arrive(*bytes, false, end, Span::from_us(100), us(100 * interval as u64));
        }
    }

    #[test]
    fn two_falls_in_a_row_end_slow_start_section_iii_c() {
        let mut meter = PhaseMeter::new(us(0));
        // The last entry of each list only ends the interval before it.
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
    fn the_least_measurement_remains_whatever_comes_later() {
        for method in [RttMethod::Handshake, RttMethod::Timestamps] {
            let mut rtt = FlowRtt::new(method, Span::from_us(100));
            assert_eq!(rtt.least(), None, "the initial value is no measurement");
            let mut least = |us| {
                rtt.sample(Span::from_us(us));
                rtt.least()
            };
            assert_eq!([300, 120, 900].map(&mut least), [300, 120, 120].map(|us| Some(Span::from_us(us))));
        }
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
