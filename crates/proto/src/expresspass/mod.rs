//! ExpressPass, a credit-scheduled, delay-bounded congestion control.
//!
//! The source is Cho, Jang, Han, "Credit-Scheduled Delay-Bounded Congestion Control for Datacenters", SIGCOMM 2017
//! (E17). [`hotnets`] is its predecessor of HotNets 2016 (E16), and [`naive`] is the scheme without feedback. The pages
//! in `docs/protocols/` list our readings and the deviations.
//!
//! A receiver sends credits, every port limits their rate so that the data that they release fits, and a sender sends
//! one frame per credit. Each of the parts can be used without the others:
//!
//! | part | purpose |
//! |---|---|
//! | [`CreditPacer`] | sets the time, number and size of the next credit |
//! | [`LossMeter`] | measures credit loss by gaps in the numbers that data echoes |
//! | [`CreditBudget`] | limits the number of credits, if the sender tells how much is left |
//! | [`PassedFeedback`], [`FeedbackControl`], [`Ns2Feedback`], [`hotnets::HotnetsFeedback`] | set the credit rate by the credit loss |
//! | [`SenderGate`] | decides which credits release data; sends requests and stops, with retries |
//! | [`Outbox`], [`Inbox`] | keep track of lost data and retransmissions |
//! | [`CreditSender`], [`CreditReceiver`] | the two ends, made of these parts |
//! | [`CreditTransport`], [`CreditParams`] | a transport of this family: its parameters and its law |

mod budget;
mod family;
mod feedback;
mod gate;
pub mod hotnets;
mod inbox;
mod meter;
pub mod naive;
mod ns2;
mod outbox;
mod pacer;
mod passed;
mod queue;
mod receiver;
mod sender;
mod smoothed;

pub use budget::CreditBudget;
pub use family::{CreditParams, CreditTransport, Handshake, link_rate};
pub use feedback::{Algorithm1, AtMaxRate, Feedback, FeedbackControl, Period, Trigger, max_rate};
pub use gate::{GateConfig, SenderGate, Signal, State};
pub use inbox::Inbox;
pub use meter::{LossMeter, Reading};
pub use ns2::Ns2Feedback;
pub use outbox::{Chunk, Outbox};
pub use pacer::{CreditPacer, CreditSlot, JitterAround, PacerConfig};
pub use passed::PassedFeedback;
pub use receiver::{CreditReceiver, ReceiverConfig, Recovery};
pub use sender::{CreditSender, Release, SenderConfig};

use crate::endpoint::Env;
use crate::transport::Checked;
use clearway_schema::{Profile, choice, declare, told};
use serde::{Deserialize, Serialize};

choice! {
    /// The law by which credit loss sets the credit rate.
    pub enum Law {
        /// Algorithm 1 of the paper, where a decrease sets the rate to the rate that passed, as the prose of E17 3.2
        /// and the authors' code have it.
        Sigcomm17 = "sigcomm17",
        /// Algorithm 1 as it is printed, where a decrease applies to the present rate.
        Printed = "sigcomm17-printed",
        /// The authors' ns-2 code.
        Ns2 = "ns2",
        /// Algorithm 1, where a decrease applies to the rate at which the lost credits were sent (E17 sec. 4).
        Matched = "sigcomm17-matched",
    }
}

choice! {
    /// The link whose rate a lone flow's credits approach.
    pub enum Ceiling {
        /// The receiver's own link.
        OwnLink = "own-link",
        /// The slowest link of the path, such as the sender's.
        Path = "path",
    }
}

declare! {
    /// The parameters of `expresspass`.
    pub struct ExpressPassParams {
        /// The law by which credit loss sets the credit rate.
        feedback: Law = "sigcomm17" from "E17 3.2, Algorithm 1; its decrease by the prose, sec. 4 and ns2-xpass";
        /// The initial credit rate as a share of the link's (alpha).
        alpha: f64 = "0.5" in "0.0001" to "1" from "ns2-xpass; E17 6.3 compares 1/2 and 1/16";
        /// The first aggressiveness factor (w_init).
        w_init: f64 = "0.0625" in "0.0001" to "1" from "ns2-xpass, fat tree; E17 6.3";
        /// The least aggressiveness factor (w_min).
        w_min: f64 = "0.01" in "0.0001" to "1" from "E17 3.2";
        /// The largest aggressiveness factor (w_max).
        w_max: f64 = "0.5" in "0.0001" to "1" from "E17 Algorithm 1";
        /// The credit loss up to which there is no congestion (target_loss). With feedback "sigcomm17" and "ns2" it
        /// holds at rate zero and falls linearly to none at max_rate.
        target_loss: f64 = "0.1" in "0" to "0.9" from "E17 3.3";
        /// The link from whose rate max_rate follows, where hosts have different link rates.
        ceiling: Ceiling = "own-link" from "E17 3.2; 7: the feedback assumes that all hosts have the same link capacity";
        /// The divisor in the scaling of the initial rate by min(1, frames to send / ramp); 0 for no scaling.
        ramp: u32 = "0" in "0" to "1000000" from "our choice: the paper does not scale it (ns2-xpass: 40)";
        ..credit: CreditParams {
            /// If true, the size of each credit is drawn uniformly from size_min to 92 bytes.
            randomize_size,
            /// The time without an answer after which a request or a stop is repeated; auto: two base round-trip times,
            /// at least 200 us.
            retry,
        };
    }
}

/// The transport `expresspass` of the SIGCOMM 2017 paper.
pub struct ExpressPass;

impl CreditTransport for ExpressPass {
    type Params = ExpressPassParams;
    type Law = Control;
    const NAME: &'static str = "expresspass";
    const SUMMARY: &'static str = "Credits scheduled hop by hop, with a feedback loop on their loss";
    const SOURCE: &'static str =
        "Cho, Jang, Han: Credit-Scheduled Delay-Bounded Congestion Control for Datacenters, SIGCOMM 2017";
    const CHECKED: Checked = Checked::PaperAndCode(
        "The law and the ports follow the SIGCOMM'17 text; the profiles of the authors' simulator were compared with \
         their ns-2 code.",
    );
    const PROFILES: &'static [Profile] = &[
        Profile {
            name: "ns2",
            doc: told(
                "The authors' ns-2 code (ns2-xpass) with its library defaults, which later papers compare with",
            ),
            values: &[
                ("feedback", "ns2"),
                ("alpha", "0.5"),
                ("w_init", "0.5"),
                ("w_min", "0.01"),
                ("w_max", "0.5"),
                ("target_loss", "0.125"),
                ("ramp", "40"),
                ("rtt_gain", "0.2"),
                ("jitter", "0.1"),
                ("jitter_around", "gap"),
                ("randomize_size", "false"),
                ("size_min", "84"),
                ("mean_size", "true"),
                ("idle_timeout", "0 s"),
                ("retry", "100 us"),
                ("retry_backoff", "false"),
                ("handshake", "none"),
                ("early_stop", "true"),
                ("release", "queue"),
                ("recovery", "go-back-n"),
                ("credit_queue", "10"),
                ("credit_queue_bytes", "true"),
                ("bucket", "840 B"),
                ("bucket_starts_empty", "true"),
            ],
        },
        Profile {
            name: "ns2-fat-tree",
            doc: told("What the fat-tree script of ns2-xpass changes, to be set after profile ns2"),
            values: &[
                ("alpha", "0.5"),
                ("w_init", "0.0625"),
                ("randomize_size", "true"),
                ("size_min", "76"),
                ("credit_queue", "8"),
                ("bucket", "168 B"),
            ],
        },
    ];

    fn credit(params: &ExpressPassParams) -> &CreditParams {
        &params.credit
    }

    fn law(params: &ExpressPassParams, env: &Env) -> Control {
        let credit = params.credit.counted_size(env.framing.wire_min);
        let line_rate = match params.ceiling {
            Ceiling::OwnLink => env.line_rate,
            Ceiling::Path => env.path_rate.min(env.line_rate),
        };
        let constants = Algorithm1 {
            max_rate: max_rate(line_rate, credit, env.framing.wire_max()),
            alpha: params.alpha,
            w_init: params.w_init,
            w_min: params.w_min,
            w_max: params.w_max,
            target_loss: params.target_loss,
            ramp: params.ramp,
        };
        match params.feedback {
            Law::Sigcomm17 => Control::Sigcomm17(PassedFeedback::new(constants)),
            Law::Printed => Control::Printed(FeedbackControl::new(constants)),
            Law::Matched => Control::Printed(FeedbackControl::matched(constants)),
            Law::Ns2 => Control::Ns2(Ns2Feedback::new(constants)),
        }
    }
}

/// The feedback control that the parameter `feedback` selects.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Control {
    /// Algorithm 1 by the prose of the paper.
    Sigcomm17(PassedFeedback),
    /// Algorithm 1 as printed, or with a decrease applied to the rate at which the lost credits were sent.
    Printed(FeedbackControl),
    /// The authors' ns-2 code.
    Ns2(Ns2Feedback),
}

impl Feedback for Control {
    fn start(&mut self, wanted: u64) {
        match self {
            Control::Sigcomm17(law) => law.start(wanted),
            Control::Printed(law) => law.start(wanted),
            Control::Ns2(law) => law.start(wanted),
        }
    }

    fn rate(&self) -> f64 {
        match self {
            Control::Sigcomm17(law) => law.rate(),
            Control::Printed(law) => law.rate(),
            Control::Ns2(law) => law.rate(),
        }
    }

    fn update(&mut self, period: &Period) {
        match self {
            Control::Sigcomm17(law) => law.update(period),
            Control::Printed(law) => law.update(period),
            Control::Ns2(law) => law.update(period),
        }
    }

    fn trigger(&self) -> Trigger {
        match self {
            Control::Sigcomm17(law) => law.trigger(),
            Control::Printed(law) => law.trigger(),
            Control::Ns2(law) => law.trigger(),
        }
    }
}
