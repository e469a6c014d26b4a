//! ExpressPass as of HotNets 2016, which has a simpler feedback control, and stops credits by a mark on the last data
//! packet.
//!
//! The source is Cho, Han, Jang, "ExpressPass: End-to-End Credit-Based Congestion Control for Datacenters", 2016 (E16).

use super::{CreditParams, CreditTransport, Feedback, Period, link_rate};
use crate::endpoint::Env;
use crate::transport::Checked;
use clearway_schema::declare;
use serde::{Deserialize, Serialize};

declare! {
    /// The parameters of `expresspass-hotnets16`.
    pub struct Hotnets16Params {
        /// The initial credit rate as a share of the link's.
        alpha: f64 = "0.5" in "0.0001" to "1" from "our choice: E16 states none; under it Fig. 7's 3 RTTs hold at 10 and 100 Gbps, and the authors' later code has it";
        ..credit: CreditParams [
            update_period, rtt_gain, jitter, jitter_around, randomize_size, retry, handshake, reorder_window, reorder_credits,
            credit_queue, credit_drop, bucket,
        ] {
            update_period from "E16 2.2",
            rtt_gain from "RFC 6298; E16 states none",
            jitter from "E16 4",
            jitter_around from "our choice: E16 states none; this keeps the rate exact",
            randomize_size = "false" from "E16 2.1: credits of 84 B",
            /// The time without an answer after which a request or a mark is repeated, doubled each time; auto: two
            /// base round-trip times, at least 200 us.
            retry from "E16 4: minimum RTO of 200 us",
            handshake from "E16 2.1",
            reorder_credits from "E16 2.2: no reordering",
            credit_queue = "16" from "E16 4",
            bucket from "E17 3.1; E16 states none",
        };
    }
}

/// The transport `expresspass-hotnets16` of the HotNets 2016 paper.
pub struct Hotnets16;

impl CreditTransport for Hotnets16 {
    type Params = Hotnets16Params;
    type Law = HotnetsFeedback;
    const NAME: &'static str = "expresspass-hotnets16";
    const SUMMARY: &'static str =
        "ExpressPass as first published: halfway to the link's rate, or down to what arrived";
    const SOURCE: &'static str =
        "Cho, Han, Jang: ExpressPass: End-to-End Credit-Based Congestion Control for Datacenters, 2016";
    const CHECKED: Checked =
        Checked::Paper("Held against the text of the HotNets'16 paper, whose code is not public.");
    const STOP_BY_MARK: bool = true;

    fn credit(params: &Hotnets16Params) -> &CreditParams {
        &params.credit
    }

    fn law(params: &Hotnets16Params, env: &Env) -> HotnetsFeedback {
        HotnetsFeedback::new(link_rate(env), params.alpha)
    }
}

/// The feedback control of E16 2.2: a loss sets the rate to the rate of arrivals in the last period; without loss the
/// rate moves halfway to the maximum.
#[derive(Clone, Debug, Serialize, Deserialize)]
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
    use clearway_units::Span;

    fn period(sent: u64, dropped: u64, received: u64) -> Period {
        Period { sent, dropped, received, marked: 0, span: Span::from_us(100), rtt: Span::from_us(100) }
    }

    #[test]
    fn a_period_without_an_echo_changes_no_rate_but_zero() {
        let mut control = HotnetsFeedback::new(770_000.0, 0.5);
        control.update(&period(0, 0, 0));
        assert_eq!(control.rate(), 385_000.0, "the first echo is still to come");
        let mut silent = HotnetsFeedback::new(770_000.0, 0.0);
        silent.update(&period(0, 0, 0));
        assert_eq!(silent.rate(), 385_000.0, "half way to the maximum, or nothing would ever be heard");
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
