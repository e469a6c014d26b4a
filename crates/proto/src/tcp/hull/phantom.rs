//! The phantom queue of HULL (NSDI'12): a counter beside a link that drains more slowly than the link, and so marks
//! packets before a real queue forms.

use crate::mechanism::{PortMechanism, PortState, Sees};
use crate::packet::{Extra, Flags, Packet};
use clearway_schema::{Auto, declare};
use clearway_units::{Bytes, Rate, Time};
use serde::{Deserialize, Serialize};

declare! {
    /// The constants of a phantom queue.
    #[derive(Copy, PartialEq)]
    pub struct PhantomConfig {
        /// The drain rate of a phantom queue, as a share of the link's rate (`gamma`).
        drain: f64 = "0.95" in "0.01" to "1" from "NSDI'12; E16 sec. 5";
        /// The marking threshold of a phantom queue. `auto`: 1 KB up to 1 Gbps, 15 KB at 10 Gbps, and on the straight
        /// line through both.
        threshold: Auto<Bytes> = "auto" in "1 B" to "1 GB" from "NSDI'12, unchecked: see the page; the line is our choice";
    }
}

/// The phantom queue of one port. Each packet that leaves adds its size, and the counter drains at `gamma` times the
/// link's rate. A packet that finds the counter above the threshold is marked.
///
/// The counter is in units of one bit per second times one picosecond, so that nothing is rounded: a byte is `8e12`
/// units, and a picosecond drains as many units as the drain rate has bits per second.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct PhantomQueue {
    /// The counter at `updated`.
    level: u128,
    /// The marking threshold, in units of the counter.
    threshold: u128,
    /// The drain rate, in bits per second.
    drain: u64,
    /// The time of the last packet.
    updated: Time,
    /// The number of packets marked.
    pub marks: u64,
}

/// A byte in units of the counter.
const BYTE: u128 = 8_000_000_000_000;

impl PortMechanism for PhantomQueue {
    type Config = PhantomConfig;
    const NAME: &'static str = "phantom queue";
    const PREFIX: &'static str = "phantom";
    const KEYS: &'static [&'static str] = &["drain", "threshold"];
    const SEES_DEPARTURES: Sees = Sees::All;

    fn new(config: &PhantomConfig, rate: Rate) -> PhantomQueue {
        PhantomQueue {
            level: 0,
            threshold: config.threshold.or(threshold_by_rate(rate)).get() as u128 * BYTE,
            drain: rate.mul_f64(config.drain).as_bps(),
            updated: Time::ZERO,
            marks: 0,
        }
    }

    /// Counts the packet, and marks it if the counter before it is above the threshold.
    #[inline]
    fn on_departure(&mut self, packet: &mut Packet, _: Option<&mut Extra>, port: PortState) {
        self.level = self.level.saturating_sub(self.drained(port.now));
        self.updated = port.now;
        if self.level > self.threshold && packet.flags.has(Flags::ECN_CAPABLE) {
            packet.flags.set(Flags::ECN_CE);
            self.marks += 1;
        }
        self.level += packet.wire as u128 * BYTE;
    }
}

impl PhantomQueue {
    /// Returns the bytes in the counter at `now`.
    pub fn bytes(&self, now: Time) -> f64 {
        self.level.saturating_sub(self.drained(now)) as f64 / BYTE as f64
    }

    /// Returns the units that have drained since the last packet.
    #[inline]
    fn drained(&self, now: Time) -> u128 {
        (now - self.updated).as_ps() as u128 * self.drain as u128
    }
}

/// Returns the default threshold: 1 KB up to 1 Gbps, 15 KB at 10 Gbps and linear in the rate above 1 Gbps.
fn threshold_by_rate(rate: Rate) -> Bytes {
    let above = rate.as_bps().saturating_sub(1_000_000_000);
    Bytes::new(1000 + (above as u128 * 14_000 / 9_000_000_000) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Header;
    use clearway_units::Span;

    fn at(now: Time) -> PortState {
        PortState { now, queued: 0, sent: 0 }
    }

    fn data(wire: u32) -> Packet {
        Packet::data(Header::data(0), wire - 78, wire, Time::ZERO)
    }

    fn config(drain: f64) -> PhantomConfig {
        PhantomConfig { drain, threshold: Auto::Auto }
    }

    /// Returns the share of packets that are marked in the long run when full frames leave evenly at `load` of 10 Gbps.
    fn marked(load: f64) -> f64 {
        let rate = Rate::gbps(10);
        let mut queue = PhantomQueue::new(&config(0.95), rate);
        let gap = rate.mul_f64(load).time_to_send(Bytes::new(1538));
        let (mut now, mut marks) = (Time::ZERO, 0);
        for packet in 0..20_000 {
            let mut frame = data(1538).with_flags(Flags::ECN_CAPABLE);
            queue.on_departure(&mut frame, None, at(now));
            marks += (packet >= 10_000 && frame.flags.has(Flags::ECN_CE)) as u32;
            now += gap;
        }
        marks as f64 / 10_000.0
    }

    #[test]
    fn packets_are_marked_at_a_load_above_gamma_although_none_waits() {
        assert_eq!(marked(0.94), 0.0, "below the drain rate nothing builds up");
        assert_eq!(marked(0.96), 1.0, "above it the counter grows without bound");
        assert_eq!(marked(1.0), 1.0);
    }

    #[test]
    fn a_packet_that_finds_exactly_the_threshold_is_not_marked() {
        let threshold = Auto::Set(Bytes::new(3000));
        let mut queue = PhantomQueue::new(&PhantomConfig { drain: 0.95, threshold }, Rate::gbps(10));
        let marks: Vec<bool> = (0..5)
            .map(|_| {
                let mut frame = data(1000).with_flags(Flags::ECN_CAPABLE);
                queue.on_departure(&mut frame, None, at(Time::ZERO));
                frame.flags.has(Flags::ECN_CE)
            })
            .collect();
        assert_eq!(marks, [false, false, false, false, true], "they find 0, 1000, 2000, 3000 and 4000 bytes");
        assert_eq!(queue.marks, 1);
    }

    #[test]
    fn the_counter_is_exact_and_never_below_zero() {
        let mut queue = PhantomQueue::new(&config(0.5), Rate::gbps(8));
        queue.on_departure(&mut data(1000), None, at(Time::ZERO));
        // At 4 Gbps a byte drains in 2 ns.
        assert_eq!(queue.bytes(Time::ZERO + Span::from_ns(500)), 750.0);
        assert_eq!(queue.bytes(Time::ZERO + Span::from_secs(86_400)), 0.0);
    }

    #[test]
    fn only_ecn_capable_packets_are_marked_and_all_are_counted() {
        let mut queue = PhantomQueue::new(&config(0.95), Rate::gbps(10));
        for _ in 0..20 {
            let mut frame = data(1538);
            queue.on_departure(&mut frame, None, at(Time::ZERO));
            assert_eq!(frame.flags, Flags::NONE);
        }
        assert_eq!(queue.bytes(Time::ZERO), 20.0 * 1538.0, "but it is counted");
    }

    #[test]
    fn the_threshold_is_1_kb_at_1_gbps_and_15_kb_at_10_gbps() {
        let at = |mbps| threshold_by_rate(Rate::mbps(mbps)).get();
        assert_eq!((at(100), at(1000), at(10_000), at(100_000)), (1000, 1000, 15_000, 155_000));
    }
}
