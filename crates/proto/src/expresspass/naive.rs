//! Naive credits: the ports and the sender of ExpressPass, with a receiver that sends credits at the link's rate and
//! ignores their loss.
//!
//! The source is E17 sec. 2 and Figs. 2, 4 and 10, where the scheme shows why feedback is needed.

use super::{AtMaxRate, CREDIT_MIN, CreditTransport, Handshake, JitterAround, Settings, link_rate};
use crate::endpoint::Env;
use crate::params::Auto;
use crate::transport::Checked;
use clearway_units::{Bytes, Span};

crate::params! {
    /// Parameters of `naive-credit`.
    pub struct Params {
        /// Jitter of a credit as a share of the gap between credits.
        jitter: f64 = "0.01", "0" to "0.9", "as expresspass";
        /// What the jitter is measured from.
        jitter_around: JitterAround = "schedule", "" to "", "as expresspass";
        /// Draw the size of each credit uniformly from 76 to 92 bytes; else all have 84.
        randomize_size: bool = "true", "" to "", "as expresspass";
        /// How long the sender must have no data before it stops its credits; auto: the base round-trip time.
        idle_timeout: Auto<Span> = "auto", "" to "", "as expresspass";
        /// How long a request or a stop may go unanswered, doubled each time; auto: two base round-trip times, at least 200 us.
        retry: Auto<Span> = "auto", "" to "", "as expresspass";
        /// How a new connection asks for its first credits.
        handshake: Handshake = "syn", "" to "", "as expresspass";
        /// How much later than newer data a frame may arrive before it is taken for lost; auto: a quarter of the base round-trip time.
        reorder_window: Auto<Span> = "auto", "" to "", "RFC 8985";
        /// Most credits that wait at a port.
        credit_queue: u32 = "8", "1" to "100000", "E17 3.3";
        /// Depth of the token bucket at a port.
        bucket: Bytes = "168 B", "92 B" to "1400 B", "E17 3.1";
    }
}

/// The transport `naive-credit`.
pub struct NaiveCredit;

impl CreditTransport for NaiveCredit {
    type Params = Params;
    type Law = AtMaxRate;
    const NAME: &'static str = "naive-credit";
    const SUMMARY: &'static str = "Credits at the link's rate without feedback";
    const SOURCE: &'static str = "Cho, Jang, Han: Credit-Scheduled Delay-Bounded Congestion Control for Datacenters, SIGCOMM 2017, section 2";
    const CHECKED: Checked = Checked::Paper("Held against section 2 of the SIGCOMM'17 text.");

    fn settings(params: &Params) -> Settings {
        Settings {
            jitter: params.jitter,
            jitter_around: params.jitter_around,
            randomize_size: params.randomize_size,
            size_min: Some(CREDIT_MIN),
            idle_timeout: params.idle_timeout,
            retry: params.retry,
            handshake: params.handshake,
            reorder_window: params.reorder_window,
            credit_queue: params.credit_queue,
            bucket: params.bucket,
            ..Settings::PAPER
        }
    }

    fn law(_: &Params, env: &Env) -> AtMaxRate {
        AtMaxRate(link_rate(env))
    }
}
