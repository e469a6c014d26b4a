//! Naive credits: the ports and the sender of ExpressPass, with a receiver that sends credits at the link's rate and
//! ignores their loss.
//!
//! The source is E17 sec. 2 and Figs. 2, 4 and 10, where the scheme shows why feedback is needed.

use super::{AtMaxRate, CreditParams, CreditTransport, link_rate};
use crate::endpoint::Env;
use crate::transport::Checked;
use clearway_schema::declare;

declare! {
    /// The parameters of `naive-credit`.
    pub struct NaiveCreditParams {
        ..credit: CreditParams [
            jitter, jitter_around, randomize_size, idle_timeout, retry, handshake, reorder_window, credit_queue,
            credit_drop, bucket,
        ];
    }
}

/// The transport `naive-credit`.
pub struct NaiveCredit;

impl CreditTransport for NaiveCredit {
    type Params = NaiveCreditParams;
    type Law = AtMaxRate;
    const NAME: &'static str = "naive-credit";
    const SUMMARY: &'static str = "Credits at the link's rate without feedback";
    const SOURCE: &'static str = "Cho, Jang, Han: Credit-Scheduled Delay-Bounded Congestion Control for Datacenters, SIGCOMM 2017, section 2";
    const CHECKED: Checked = Checked::Paper("Held against section 2 of the SIGCOMM'17 text.");

    fn credit(params: &NaiveCreditParams) -> &CreditParams {
        &params.credit
    }

    fn law(_: &NaiveCreditParams, env: &Env) -> AtMaxRate {
        AtMaxRate(link_rate(env))
    }
}
