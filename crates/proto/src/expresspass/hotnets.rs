//! ExpressPass as of HotNets 2016, which has a simpler feedback control, and stops credits by a mark on the last data
//! packet.
//!
//! The source is Cho, Han, Jang, "ExpressPass: End-to-End Credit-Based Congestion Control for Datacenters", 2016 (E16).

use super::{CreditTransport, Feedback, Handshake, JitterAround, Period, Settings, link_rate};
use crate::endpoint::Env;
use crate::params::Auto;
use crate::transport::Checked;
use clearway_units::{Bytes, Span};

crate::params! {
    /// Parameters of `expresspass-hotnets16`.
    pub struct Params {
        /// Initial credit rate as a share of the link's.
        alpha: f64 = "0.5", "0.0001" to "1", "our choice: E16 states none; under it Fig. 7's 3 RTTs hold at 10 and 100 Gbps, and the authors' later code has it";
        /// Time between two updates of the rate; auto: the smoothed round-trip time.
        update_period: Auto<Span> = "auto", "" to "", "E16 2.2";
        /// Weight of a new sample in the receiver's smoothed round-trip time.
        rtt_gain: f64 = "0.125", "0.001" to "1", "RFC 6298; E16 states none";
        /// Jitter of a credit as a share of the gap between credits.
        jitter: f64 = "0.01", "0" to "0.9", "E16 4";
        /// What the jitter is measured from.
        jitter_around: JitterAround = "schedule", "" to "", "our choice: E16 states none; this keeps the rate exact";
        /// How long a request or a mark may go unanswered, doubled each time; auto: two base round-trip times, at least 200 us.
        retry: Auto<Span> = "auto", "" to "", "E16 4: minimum RTO of 200 us";
        /// How a new connection asks for its first credits.
        handshake: Handshake = "syn", "" to "", "E16 2.1";
        /// How much later than newer data a frame may arrive before it is taken for lost; auto: a quarter of the base round-trip time.
        reorder_window: Auto<Span> = "auto", "" to "", "RFC 8985";
        /// By how many numbers an echo may be late before its credit counts as lost; more than 0 for packet spraying.
        reorder_credits: u32 = "0", "" to "62", "E16 2.2: no reordering";
        /// Most credits that wait at a port.
        credit_queue: u32 = "16", "1" to "100000", "E16 4";
        /// Depth of the token bucket at a port.
        bucket: Bytes = "168 B", "92 B" to "1400 B", "E17 3.1; E16 states none";
    }
}

/// The transport `expresspass-hotnets16` of the HotNets 2016 paper.
pub struct Hotnets16;

impl CreditTransport for Hotnets16 {
    type Params = Params;
    type Law = HotnetsFeedback;
    const NAME: &'static str = "expresspass-hotnets16";
    const SUMMARY: &'static str =
        "ExpressPass as first published: halfway to the link's rate, or down to what arrived";
    const SOURCE: &'static str =
        "Cho, Han, Jang: ExpressPass: End-to-End Credit-Based Congestion Control for Datacenters, 2016";
    const CHECKED: Checked =
        Checked::Paper("Held against the text of the HotNets'16 paper, whose code is not public.");

    fn settings(params: &Params) -> Settings {
        Settings {
            update_period: params.update_period,
            rtt_gain: params.rtt_gain,
            jitter: params.jitter,
            jitter_around: params.jitter_around,
            retry: params.retry,
            handshake: params.handshake,
            stop_by_mark: true,
            reorder_window: params.reorder_window,
            reorder_credits: params.reorder_credits,
            credit_queue: params.credit_queue,
            bucket: params.bucket,
            ..Settings::PAPER
        }
    }

    fn law(params: &Params, env: &Env) -> HotnetsFeedback {
        HotnetsFeedback::new(link_rate(env), params.alpha)
    }
}

/// The feedback control of E16 2.2: a loss sets the rate to the rate of arrivals in the last period; without loss the rate
/// moves halfway to the maximum.
#[derive(Clone, Debug)]
pub struct HotnetsFeedback {
    max_rate: f64,
    alpha: f64,
    cur_rate: f64,
}

impl HotnetsFeedback {
    /// Makes the law of a new flow, at the initial rate `alpha x max_rate`, in credits per second.
    pub fn new(max_rate: f64, alpha: f64) -> HotnetsFeedback {
        HotnetsFeedback { max_rate, alpha, cur_rate: alpha * max_rate }
    }
}

impl Feedback for HotnetsFeedback {
    fn start(&mut self, _: u64) {
        self.cur_rate = self.alpha * self.max_rate;
    }

    fn rate(&self) -> f64 {
        self.cur_rate
    }

    fn update(&mut self, period: &Period) {
        if period.dropped > 0 {
            self.cur_rate = period.receive_rate();
        } else if period.sent > 0 || self.cur_rate == 0.0 {
            self.cur_rate = (self.cur_rate + self.max_rate) / 2.0;
        }
        // Otherwise the period had no echo, since the first one is still to come.
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn period(sent: u64, dropped: u64, received: u64) -> Period {
        Period { sent, dropped, received, marked: 0, span: Span::from_us(100), rtt: Span::from_us(100) }
    }

    #[test]
    fn one_lost_credit_sets_the_rate_to_the_rate_of_arrivals() {
        let mut control = HotnetsFeedback::new(770_000.0, 1.0);
        control.update(&period(77, 1, 76));
        assert_eq!(control.rate(), 760_000.0, "E16-1, E16-2");
    }

    #[test]
    fn without_loss_the_rate_goes_halfway_to_the_maximum() {
        let mut control = HotnetsFeedback::new(770_000.0, 0.0625);
        control.update(&period(4, 0, 4));
        assert_eq!(control.rate(), (0.0625 * 770_000.0 + 770_000.0) / 2.0);
    }

    #[test]
    fn after_total_loss_the_next_period_starts_from_half_the_maximum() {
        let mut control = HotnetsFeedback::new(770_000.0, 1.0);
        control.update(&period(7, 7, 0));
        assert_eq!(control.rate(), 0.0, "E16-7: no floor");
        control.update(&period(0, 0, 0));
        assert_eq!(control.rate(), 385_000.0);
    }
}
