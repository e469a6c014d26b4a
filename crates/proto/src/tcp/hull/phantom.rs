//! The phantom queue (HULL, NSDI'12): a counter that drains slower than the link and marks before a real
//! queue forms.

use crate::mechanism::{PortMechanism, PortState};
use crate::packet::{Extra, Flags, Packet};
use clearway_schema::{Auto, declare};
use clearway_units::{Bytes, Rate, Time};

declare! {
    /// The constants of a phantom queue.
    #[derive(Copy, PartialEq)]
    pub struct PhantomConfig {
        /// Phantom queue: drain rate as a share of the link's (`gamma`).
        drain: f64 = "0.95" in "0.01" to "1" from "NSDI'12; E16 sec. 5";
        /// Phantom queue: marking threshold. `auto`: 1 KB up to 1 Gbps, 15 KB at 10 Gbps, and on the straight line
        /// through both.
        threshold: Auto<Bytes> = "auto" in "1 B" to "1 GB" from "NSDI'12, unchecked: see the page; the line is our choice";
    }
}

/// A counter of bytes beside a port's link: each packet that leaves adds its size, time takes off `gamma` times the
/// link's rate. A packet that finds more than the threshold is marked.
///
/// The level is in units of a bit-picosecond-per-second, so that nothing is rounded: a byte is `8e12` of them, and a
/// picosecond drains as many as the drain rate has bits per second.
#[derive(Clone, Copy, Debug)]
pub struct PhantomQueue {
    level: u128,
    threshold: u128,
    drain: u64,
    updated: Time,
    /// Packets marked.
    pub marks: u64,
}

const BYTE: u128 = 8_000_000_000_000;

impl PortMechanism for PhantomQueue {
    type Config = PhantomConfig;
    const NAME: &'static str = "phantom queue";
    const PREFIX: &'static str = "phantom";
    const KEYS: &'static [&'static str] = &["drain", "threshold"];
    const SEES_DEPARTURES: bool = true;

    fn new(config: &PhantomConfig, rate: Rate) -> PhantomQueue {
        PhantomQueue {
            level: 0,
            threshold: config.threshold.or(threshold_by_rate(rate)).get() as u128 * BYTE,
            drain: rate.mul_f64(config.drain).as_bps(),
            updated: Time::ZERO,
            marks: 0,
        }
    }

    /// Counts the packet, and marks it if it finds more than the threshold.
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
    /// Bytes in the counter at `now`.
    pub fn bytes(&self, now: Time) -> f64 {
        self.level.saturating_sub(self.drained(now)) as f64 / BYTE as f64
    }

    #[inline]
    fn drained(&self, now: Time) -> u128 {
        (now - self.updated).as_ps() as u128 * self.drain as u128
    }
}

/// 1 KB up to 1 Gbps, 15 KB at 10 Gbps, straight on beyond.
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

    /// Share of packets marked when full frames leave at `load` of 10 Gbps, evenly, after a while.
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
    fn a_load_above_gamma_marks_although_no_packet_ever_waits_hull() {
        assert_eq!(marked(0.94), 0.0, "below the drain rate nothing builds up");
        assert_eq!(marked(0.96), 1.0, "above it the counter grows without bound");
        assert_eq!(marked(1.0), 1.0);
    }

    #[test]
    fn the_counter_is_exact_and_never_below_zero() {
        let mut queue = PhantomQueue::new(&config(0.5), Rate::gbps(8));
        queue.on_departure(&mut data(1000), None, at(Time::ZERO));
        // 4 Gbps drain a byte in 2 ns.
        assert_eq!(queue.bytes(Time::ZERO + Span::from_ns(500)), 750.0);
        assert_eq!(queue.bytes(Time::ZERO + Span::from_secs(86_400)), 0.0);
    }

    #[test]
    fn only_what_understands_marks_is_marked() {
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
