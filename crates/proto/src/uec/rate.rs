//! The controller of a receiving host in a network whose core is oversubscribed: it slows pulls down by what the host sees of
//! marks and of packets that were cut on the way. Source: uet-htsim 40ccb05.

use super::params::CreditParams;
use crate::agent::AgentEnv;
use crate::packet::{Flags, Packet};
use crate::rng::Rng;
use clearway_units::{Span, Time};
use serde::{Deserialize, Serialize};

/// The controller of a host's rate.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RateControl {
    min_rate: f64,
    ai: f64,
    md: f64,
    alpha: f64,
    target: f64,
    /// The mean time between two decisions.
    interval: Span,
    /// The time of the next one.
    next: Time,
    rng: Rng,
    rate: f64,
    /// The average share of marked packets.
    marked_share: f64,
    /// The number of increases in a row.
    rises: u32,
    seen: Seen,
}

/// What arrived since the last decision.
#[derive(Clone, Copy, Default, Debug, Serialize, Deserialize)]
struct Seen {
    packets: u32,
    marked: u32,
    cut_in_core: u32,
    cut_at_last_hop: u32,
}

impl RateControl {
    /// Returns the controller of a host, which draws the times of its decisions.
    pub fn new(params: &CreditParams, env: &AgentEnv) -> RateControl {
        RateControl {
            min_rate: params.least_rate(env.oversubscription),
            ai: params.rate_ai,
            md: params.rate_md,
            alpha: params.rate_alpha,
            target: params.target_congestion,
            interval: env.network_rtt.mul_f64(1.5).max(Span::from_ns(1)),
            next: Time::MAX,
            rng: env.rng.clone(),
            rate: 1.0,
            marked_share: 0.0,
            rises: 0,
            seen: Seen::default(),
        }
    }

    /// Returns the factor by which pulls slow down.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// Returns the least factor by which pulls slow down.
    #[cfg(test)]
    pub fn least(&self) -> f64 {
        self.min_rate
    }

    /// Returns the time of the next decision.
    pub fn next_timeout(&self) -> Time {
        self.next
    }

    /// Counts a packet of data that arrived, whole or cut.
    pub fn count(&mut self, packet: &Packet) {
        self.seen.packets += 1;
        match (packet.flags.has(Flags::TRIMMED), packet.flags.has(Flags::LAST_HOP)) {
            (true, true) => self.seen.cut_at_last_hop += 1,
            (true, false) => self.seen.cut_in_core += 1,
            (false, _) => self.seen.marked += u32::from(packet.flags.has(Flags::ECN_CE)),
        }
    }

    /// Lets decisions begin, or end.
    pub fn run(&mut self, runs: bool, now: Time) {
        match runs {
            true if self.next == Time::MAX => self.schedule(now),
            true => {}
            false => self.next = Time::MAX,
        }
    }

    /// Decides, if it is time.
    pub fn decide(&mut self, now: Time) {
        if now < self.next {
            return;
        }
        self.schedule(now);
        let Seen { packets, marked, cut_in_core, cut_at_last_hop } = std::mem::take(&mut self.seen);
        let whole = packets - cut_in_core - cut_at_last_hop;
        let share = if whole > 0 { f64::from(marked) / f64::from(whole) } else { 0.0 };
        self.marked_share = (1.0 - self.alpha) * self.marked_share + self.alpha * share;
        let mut falls = false;
        if cut_in_core > 0 {
            self.rate -= f64::from(cut_in_core) / f64::from(packets);
            falls = true;
        }
        if self.marked_share > self.target {
            self.rate *= 1.0 - self.md * (self.marked_share - self.target);
            falls = true;
        }
        if falls {
            self.rises = 0;
        } else {
            let factor = if marked == 0 { f64::from(1u32 << self.rises.min(31)) } else { 1.0 };
            self.rate += self.ai * factor;
            self.rises += 1;
        }
        self.rate = self.rate.clamp(self.min_rate, 1.0);
    }

    /// Draws the time of the next decision.
    fn schedule(&mut self, now: Time) {
        self.next = now.saturating_add(self.interval.mul_f64(0.75 + 0.5 * self.rng.unit()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Header;
    use clearway_units::Rate;

    fn control() -> RateControl {
        RateControl::new(&CreditParams::default(), &AgentEnv::for_test(Rate::gbps(100)))
    }

    fn packets(flags: Flags, count: usize) -> impl Iterator<Item = Packet> {
        let header = Header::PulledData { offset: 0, psn: 0, pull: 0, target: 0 };
        (0..count).map(move |_| Packet::data(header, 0, 64, Time::ZERO).with_flags(flags))
    }

    /// Lets packets arrive and decides at the next time.
    fn decide(control: &mut RateControl, arrivals: impl Iterator<Item = Packet>) -> f64 {
        arrivals.for_each(|packet| control.count(&packet));
        let now = control.next_timeout();
        control.decide(now);
        let gap = control.next_timeout() - now;
        assert!((Span::from_ps(11_250_000)..=Span::from_ps(18_750_000)).contains(&gap), "{gap}");
        control.rate()
    }

    #[test]
    fn the_rate_falls_by_cuts_in_the_core_and_by_marks_and_rises_ever_faster() {
        let mut control = control();
        control.run(true, Time::ZERO);
        let cut = packets(Flags::TRIMMED, 20).chain(packets(Flags::NONE, 80));
        let near = |ours: f64, theirs: f64| assert!((ours - theirs).abs() < 1e-12, "{ours}, not {theirs}");
        near(decide(&mut control, cut), 0.8);
        let at_last_hop = packets(Flags::TRIMMED.with(Flags::LAST_HOP), 50);
        // The pacer itself sees to the last hop.
        near(decide(&mut control, at_last_hop), 0.81);
        near(decide(&mut control, packets(Flags::NONE, 10)), 0.83);
        let rate = decide(&mut control, packets(Flags::ECN_CE, 10));
        near(rate, 0.83 * (1.0 - 0.5 * 0.2));
        assert_eq!(decide(&mut control, packets(Flags::TRIMMED, 10)), 0.01, "it has a floor");
    }

    #[test]
    fn marks_below_the_target_let_the_rate_rise_by_single_steps() {
        let mut control = control();
        control.run(true, Time::ZERO);
        decide(&mut control, packets(Flags::TRIMMED, 50).chain(packets(Flags::NONE, 50)));
        let some = || packets(Flags::ECN_CE, 1).chain(packets(Flags::NONE, 9));
        for expected in [0.51, 0.52, 0.53] {
            assert!((decide(&mut control, some()) - expected).abs() < 1e-12);
        }
        control.run(false, Time::ZERO);
        assert_eq!(control.next_timeout(), Time::MAX);
    }
}
