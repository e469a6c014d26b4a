//! The rate that a port offers in RCP (Dukkipati, "Rate Control Protocol", Stanford 2008): one rate for all its flows.
//!
//! ```text
//! R <- R (1 + (T / d0) (alpha (gamma C - y) - beta q / d0) / (gamma C))
//! ```
//!
//! `C` is the link's rate, `y` the rate of arrivals in the last control interval `T`, `q` the queue, and `d0` the mean
//! round-trip time of the flows as their packets state it. The reference is the authors' ns-2 router (`rcp.cc`,
//! `rate_fact_mode_` 0), from which we took the averaging of `d0`, `T = min(d0, 10 ms)` and the limits of `R`.
//!
//! # Deviations
//! - There is no timer. The next packet after the end of an interval ends it, and sees the same rate as with a timer.
//!   The queue `q` is the one that this packet meets, not the one at the end of the interval; intervals without any
//!   packet have an empty queue.
//! - A packet whose arrival spans the end of an interval counts in the interval in which its arrival began.

use crate::mechanism::{PortMechanism, PortState, Sees, Verdict};
use crate::packet::{Extra, Header, Packet};
use clearway_schema::declare;
use clearway_units::{Rate, Span, Time};
use serde::{Deserialize, Serialize};

declare! {
    /// Gains and limits of a port's rate.
    #[derive(Copy, PartialEq, Serialize, Deserialize)]
    pub struct RcpConfig {
        /// The gain of a port's rate on spare capacity (`alpha`).
        alpha: f64 = "0.4" in "0.0001" to "10" from "defaults of the authors' ns-2 code";
        /// The gain of a port's rate on the queue (`beta`).
        beta: f64 = "0.4" in "0" to "10" from "defaults of the authors' ns-2 code (RCP-1)";
        /// The share of the link that a port aims to use (`gamma`).
        gamma: f64 = "1" in "0.01" to "1" from "defaults of the authors' ns-2 code";
        /// The rate of a port at the start, as a share of the link's. An idle port soon offers the whole link.
        initial_rate: f64 = "0.05" in "0.000001" to "1" from "the authors' ns-2 router";
        /// The mean round-trip time of flows that a port assumes before any packet brought one (`d0`). The authors' 200
        /// ms are for the Internet.
        initial_rtt: Span = "100 us" in "1 us" to "10 s" from "our choice: E17 sec. 6.1";
        /// The longest control interval of a port; the mean round-trip time if that is shorter.
        interval_max: Span = "10 ms" in "1 us" to "10 s" from "the authors' ns-2 router";
        /// The least rate of a port, in packets of 1000 bytes per mean round-trip time.
        packets_min: f64 = "0.01" in "0.000001" to "1" from "the authors' ns-2 router";
    }
}

/// The rate of one port.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct RcpRate {
    config: RcpConfig,
    /// `gamma C`, in bit/s.
    capacity: f64,
    /// `R`, in bit/s.
    rate: f64,
    /// `d0`, in seconds.
    d0: f64,
    /// The length `T` of the control interval.
    interval: Span,
    /// The end of the control interval.
    until: Time,
    /// The bytes that arrived in the interval.
    arrived: u64,
    /// The bytes among them of packets that state a round-trip time.
    timed: u64,
    /// The sum of those bytes times their round-trip time, in byte seconds.
    rtt_sum: f64,
    /// The mean round-trip time of the last interval that had one, in seconds.
    rtt_last: f64,
}

impl PortMechanism for RcpRate {
    type Config = RcpConfig;
    const NAME: &'static str = "RCP rate";
    const PREFIX: &'static str = "rcp";
    const KEYS: &'static [&'static str] = &["alpha", "beta", "gamma"];
    const SEES_ARRIVALS: Sees = Sees::All;
    const SEES_DEPARTURES: Sees = Sees::All;

    fn new(config: &RcpConfig, rate: Rate) -> RcpRate {
        let interval = config.initial_rtt.min(config.interval_max);
        RcpRate {
            config: *config,
            capacity: rate.as_bps_f64() * config.gamma,
            rate: rate.as_bps_f64() * config.initial_rate,
            d0: config.initial_rtt.as_secs_f64(),
            interval,
            until: Time::ZERO + interval,
            arrived: 0,
            timed: 0,
            rtt_sum: 0.0,
            rtt_last: 0.0,
        }
    }

    #[inline]
    fn on_arrival(&mut self, packet: &Packet, _: Option<u64>, port: PortState) -> Verdict {
        if port.now >= self.until {
            self.catch_up(port.queued, port.now);
        }
        self.arrived += packet.wire as u64;
        if let Header::RcpData { srtt, .. } = packet.header
            && srtt > Span::ZERO
        {
            self.timed += packet.wire as u64;
            self.rtt_sum += srtt.as_secs_f64() * packet.wire as f64;
        }
        Verdict::Keep
    }

    /// Writes the rate into a packet that leaves, if it asks for a rate and does not carry a lower one.
    #[inline]
    fn on_departure(&mut self, packet: &mut Packet, _: Option<&mut Extra>, _: PortState) {
        if let Header::RcpData { rate, .. } | Header::RcpSyn { rate } = &mut packet.header {
            *rate = (*rate).min(Rate::bps(self.rate as u64));
        }
    }
}

impl RcpRate {
    /// Returns the rate `R`.
    pub fn rate(&self) -> Rate {
        Rate::from_bps_f64(self.rate)
    }

    /// Returns `d0`, the mean round-trip time of the flows.
    pub fn mean_rtt(&self) -> Span {
        Span::from_secs_f64(self.d0)
    }

    /// Ends the control intervals that are over at `now`.
    #[cold]
    fn catch_up(&mut self, queued: u64, now: Time) {
        self.end_interval(queued);
        while now >= self.until {
            if self.rate >= self.capacity {
                // The rate is at its limit and stays there until a packet arrives.
                let behind = (now - self.until).as_ps() / self.interval.as_ps() + 1;
                self.until += self.interval * behind;
                return;
            }
            self.end_interval(0);
        }
    }

    /// Ends one control interval, at whose end `queued` bytes wait.
    fn end_interval(&mut self, queued: u64) {
        let t = self.interval.as_secs_f64();
        let y = self.arrived as f64 * 8.0 / t;
        if self.timed > 0 {
            self.rtt_last = self.rtt_sum / self.timed as f64;
        }
        if self.rtt_last > 0.0 {
            // The average follows longer round trips at once and shorter ones slowly, since flows that send more are
            // seen more often.
            let gain = if self.rtt_last >= self.d0 {
                t / self.d0
            } else {
                self.rate / self.capacity * (self.rtt_last / self.d0) * (t / self.d0)
            };
            self.d0 += gain * (self.rtt_last - self.d0);
        }
        let RcpConfig { alpha, beta, packets_min, interval_max, .. } = self.config;
        let q = queued as f64 * 8.0;
        let spare = alpha * (self.capacity - y) - beta * q / self.d0;
        let rate = self.rate * (1.0 + t / self.d0 * spare / self.capacity);
        let least = (packets_min * 8000.0 / self.d0).min(self.capacity);
        self.rate = rate.clamp(least, self.capacity);
        self.interval = Span::from_secs_f64(self.d0).min(interval_max).max(Span::from_ns(1));
        self.until += self.interval;
        self.arrived = 0;
        self.timed = 0;
        self.rtt_sum = 0.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(queued: u64, now: Time) -> PortState {
        PortState { now, queued, sent: 0 }
    }

    fn packet(srtt: Span) -> Packet {
        let header = Header::RcpData { offset: 0, rate: Rate::bps(u64::MAX), srtt };
        Packet::data(header, 1460, 1538, Time::ZERO)
    }

    fn rate_of(packet: &Packet) -> Rate {
        let Header::RcpData { rate, .. } = packet.header else { panic!("data of RCP") };
        rate
    }

    /// Simulates a fluid of `flows` flows through the port's queue, each at the rate that it was told a round trip
    /// before. Returns the rates over time and the queue at the end.
    fn fluid(flows: f64, rounds: usize) -> (Vec<f64>, f64) {
        let link = Rate::gbps(10);
        let rtt = Span::from_us(100);
        let mut port = RcpRate::new(&RcpConfig::default(), link);
        let step = Span::from_us(1);
        let mut told = std::collections::VecDeque::from(vec![0.0; 100]);
        let (mut queue, mut now, mut rates) = (0.0, Time::ZERO, Vec::new());
        for _ in 0..rounds * 100 {
            let rate = told.pop_front().unwrap();
            let bytes = flows * rate / 8.0 * 1e-6;
            let mut fluid = packet(rtt);
            // At first it is more than one packet may have.
            let mut left = bytes as u32;
            loop {
                fluid.wire = left.min(Packet::WIRE_MAX) as u16;
                left -= u32::from(fluid.wire);
                port.on_arrival(&fluid, None, state(queue as u64, now));
                if left == 0 {
                    break;
                }
            }
            port.on_departure(&mut fluid, None, state(0, Time::ZERO));
            queue = (queue + bytes - link.bytes_in(step).get() as f64).max(0.0);
            let rate = rate_of(&fluid).as_bps_f64();
            told.push_back(rate);
            rates.push(rate);
            now += step;
        }
        (rates, queue)
    }

    #[test]
    fn the_rate_settles_at_an_equal_share_with_an_empty_queue_as_rcp_promises() {
        for flows in [1.0, 4.0, 32.0] {
            let (rates, queue) = fluid(flows, 400);
            let share = 1e10 / flows;
            let end = rates.last().unwrap();
            assert!((end / share - 1.0).abs() < 0.02, "{flows} flows: {end}");
            assert!(queue < 20_000.0, "{flows} flows: {queue} bytes wait");
        }
    }

    #[test]
    fn an_idle_port_offers_the_whole_link_after_a_while_and_no_more() {
        let mut port = RcpRate::new(&RcpConfig::default(), Rate::gbps(10));
        assert_eq!(port.rate(), Rate::mbps(500));
        port.on_arrival(&packet(Span::ZERO), None, state(0, Time::ZERO + Span::from_us(100)));
        assert_eq!(port.rate(), Rate::mbps(700), "one interval: 1 + alpha");
        port.on_arrival(&packet(Span::ZERO), None, state(0, Time::ZERO + Span::from_secs(86_400)));
        assert_eq!(port.rate(), Rate::gbps(10));
    }

    #[test]
    fn a_queue_lowers_the_rate_by_the_law_of_the_authors_router() {
        let mut port = RcpRate::new(&RcpConfig::default(), Rate::gbps(10));
        port.rate = 1e9;
        // As much arrives in the interval as the link carries, and 12,500 bytes wait, a tenth of what it carries in d0.
        port.arrived = 125_000;
        port.on_arrival(&packet(Span::ZERO), None, state(12_500, Time::ZERO + Span::from_us(100)));
        let expected = 1e9 * (1.0 - 0.4 * 0.1);
        assert!((port.rate().as_bps_f64() - expected).abs() < 10.0, "{}", port.rate());
    }

    #[test]
    fn a_packet_carries_the_least_rate_of_its_path() {
        let mut port = RcpRate::new(&RcpConfig::default(), Rate::gbps(10));
        let mut asked = packet(Span::ZERO);
        port.on_departure(&mut asked, None, state(0, Time::ZERO));
        assert_eq!(rate_of(&asked), Rate::mbps(500));
        asked.header = Header::RcpData { offset: 0, rate: Rate::bps(7), srtt: Span::ZERO };
        port.on_departure(&mut asked, None, state(0, Time::ZERO));
        assert_eq!(rate_of(&asked), Rate::bps(7));
        let mut syn = Packet::control(Header::RcpSyn { rate: Rate::gbps(10) }, 84, Time::ZERO);
        port.on_departure(&mut syn, None, state(0, Time::ZERO));
        assert_eq!(syn.header, Header::RcpSyn { rate: Rate::mbps(500) });
        let header = Header::data(9);
        let mut other = Packet::data(header, 1460, 1538, Time::ZERO);
        port.on_departure(&mut other, None, state(0, Time::ZERO));
        assert_eq!(other.header, header, "a packet that asks for no rate is not touched");
    }

    #[test]
    fn the_mean_round_trip_weighs_bytes_and_follows_longer_ones_at_once() {
        let mut port = RcpRate::new(&RcpConfig::default(), Rate::gbps(10));
        port.on_arrival(&packet(Span::from_us(200)), None, state(0, Time::ZERO));
        port.on_arrival(&packet(Span::from_us(400)), None, state(0, Time::ZERO));
        port.on_arrival(&packet(Span::ZERO), None, state(0, Time::ZERO + Span::from_us(100)));
        assert_eq!(port.mean_rtt(), Span::from_us(300));
    }
}
