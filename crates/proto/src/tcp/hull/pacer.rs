//! The pacer (HULL, NSDI'12): a token bucket whose rate follows what goes through it.

use clearway_units::{Bytes, Span, Time};
use serde::{Deserialize, Serialize};

/// The constants by which a pacer finds its rate.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct PacerConfig {
    /// The weight of a new measurement of the rate.
    pub eta: f64,
    /// The amount that a waiting bit adds to the rate at each update, in bit/s.
    pub beta: f64,
    /// The time between two updates (`T_r`).
    pub interval: Span,
    /// The depth of the bucket.
    pub bucket: Bytes,
}

/// A token bucket that estimates its own rate: at each update
///
/// ```text
/// R_tb <- (1 - eta) R_tb + eta M / T_r + beta Q_tb
/// ```
///
/// where `M` is the traffic that came since the last update and `Q_tb` the traffic that waits for tokens. The pacer
/// holds no packets: its owner does.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Pacer {
    config: PacerConfig,
    /// The rate `R_tb`, in bit/s.
    rate: f64,
    /// The tokens in the bucket as of `updated`, in bits.
    tokens: f64,
    /// The time of the last refill.
    updated: Time,
    /// The time of the next update of the rate.
    tick: Time,
    /// The bytes that came since the last update.
    came: u64,
    /// The bytes that wait for tokens.
    waiting: u64,
}

impl Pacer {
    /// Returns an idle pacer with a full bucket.
    pub fn new(config: PacerConfig) -> Pacer {
        let tokens = config.bucket.get() as f64 * 8.0;
        Pacer { config, rate: 0.0, tokens, updated: Time::ZERO, tick: Time::MAX, came: 0, waiting: 0 }
    }

    /// Returns the rate `R_tb`, in bit/s.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// Makes the updates of the rate that are due. Called before every other method.
    pub fn advance(&mut self, now: Time) {
        while self.tick <= now {
            self.refill(self.tick);
            let PacerConfig { eta, beta, interval, .. } = self.config;
            let measured = self.came as f64 * 8.0 / interval.as_secs_f64();
            self.rate = (1.0 - eta) * self.rate + eta * measured + beta * self.waiting as f64 * 8.0;
            self.came = 0;
            if self.rate < 1.0 && self.waiting == 0 {
                // Idle: what comes next starts the clock again, and finds a full bucket.
                self.rate = 0.0;
                self.tokens = self.config.bucket.get() as f64 * 8.0;
                self.tick = Time::MAX;
            } else {
                self.tick = self.tick.saturating_add(interval);
            }
        }
        self.refill(now);
    }

    /// Notes that `bytes` came and wait for tokens.
    pub fn hold(&mut self, bytes: u32, now: Time) {
        self.waiting += bytes as u64;
        self.count(bytes, now);
    }

    /// Notes that `bytes` went past without waiting: they are measured, and take tokens as far as there are any.
    pub fn pass(&mut self, bytes: u32, now: Time) {
        self.tokens = (self.tokens - bytes as f64 * 8.0).max(0.0);
        self.count(bytes, now);
    }

    /// Notes that `bytes` that waited leave.
    pub fn release(&mut self, bytes: u32) {
        self.waiting -= bytes as u64;
        self.tokens = (self.tokens - bytes as f64 * 8.0).max(0.0);
    }

    /// Returns the time to look again for tokens for `bytes`: when there are enough, or when the rate changes before.
    pub fn look_again_at(&self, bytes: u32) -> Time {
        self.ready_at(bytes).min(self.tick)
    }

    /// Returns the time at which there are tokens for `bytes` at the present rate. A packet larger than the bucket
    /// needs a full one.
    pub fn ready_at(&self, bytes: u32) -> Time {
        let need = (bytes as f64 * 8.0).min(self.config.bucket.get() as f64 * 8.0) - self.tokens;
        if need <= 0.0 {
            return self.updated;
        }
        if self.rate <= 0.0 {
            return Time::MAX;
        }
        // A picosecond more, so that rounding leaves no token short.
        let wait = Span::from_secs_f64((need / self.rate).min(1e6)) + Span::from_ps(1);
        self.updated.saturating_add(wait)
    }

    fn count(&mut self, bytes: u32, now: Time) {
        self.came += bytes as u64;
        if self.tick == Time::MAX {
            self.tick = now.saturating_add(self.config.interval);
        }
    }

    fn refill(&mut self, now: Time) {
        let gained = now.saturating_since(self.updated).as_secs_f64() * self.rate;
        self.tokens = (self.tokens + gained).min(self.config.bucket.get() as f64 * 8.0);
        self.updated = self.updated.max(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: PacerConfig =
        PacerConfig { eta: 0.125, beta: 2000.0, interval: Span::from_us(64), bucket: Bytes::new(24_000) };

    fn us(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    #[test]
    fn the_rate_follows_what_comes_with_weight_eta_hull() {
        let mut pacer = Pacer::new(CONFIG);
        pacer.pass(1538, us(0));
        pacer.advance(us(64));
        let measured = 1538.0 * 8.0 / 64e-6;
        assert!((pacer.rate() - 0.125 * measured).abs() < 1e-3);
        for tick in 1..200 {
            pacer.pass(1538, us(tick * 64));
            pacer.advance(us((tick + 1) * 64));
        }
        assert!((pacer.rate() / measured - 1.0).abs() < 1e-6, "{}", pacer.rate());
    }

    #[test]
    fn what_waits_raises_the_rate_by_beta_hull() {
        let mut pacer = Pacer::new(CONFIG);
        pacer.hold(1000, us(0));
        pacer.came = 0;
        pacer.advance(us(64));
        // beta = 16 Mbps a KB.
        assert_eq!(pacer.rate(), 16e6);
    }

    #[test]
    fn with_the_papers_beta_a_standing_kilobyte_is_worth_its_drain_within_an_update() {
        // Our reading of beta's unit: in balance, (beta / eta) Q is the rate that drains Q in T_r.
        let in_balance = CONFIG.beta / CONFIG.eta * 8000.0;
        let drain = 8000.0 / CONFIG.interval.as_secs_f64();
        assert!((in_balance / drain - 1.0).abs() < 0.03, "{in_balance} {drain}");
    }

    #[test]
    fn beyond_a_bucketful_packets_leave_at_the_rate() {
        let mut pacer = Pacer::new(CONFIG);
        pacer.rate = 1e9;
        pacer.tick = Time::MAX;
        let mut sent = 0;
        while pacer.ready_at(1500) <= us(0) {
            pacer.waiting += 1500;
            pacer.release(1500);
            sent += 1;
        }
        assert_eq!(sent, 16, "24 KB at once");
        let next = pacer.ready_at(1500);
        assert!((next.as_secs_f64() - 12e-6).abs() < 1e-11, "1500 bytes at 1 Gbps");
    }

    #[test]
    fn an_idle_pacer_stops_its_clock() {
        let mut pacer = Pacer::new(CONFIG);
        pacer.pass(1538, us(0));
        pacer.advance(us(1_000_000));
        assert_eq!((pacer.rate(), pacer.tick), (0.0, Time::MAX));
        assert_eq!(pacer.tokens, 24_000.0 * 8.0);
    }
}
