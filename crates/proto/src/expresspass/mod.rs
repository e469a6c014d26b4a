//! ExpressPass, a credit-scheduled, delay-bounded congestion control.
//!
//! The source is Cho, Jang, Han, "Credit-Scheduled Delay-Bounded Congestion Control for Datacenters", SIGCOMM 2017
//! (E17). [`hotnets`] is its predecessor of HotNets 2016 (E16), and [`naive`] is the scheme without feedback. The pages
//! in `docs/protocols/` list our readings and the deviations.
//!
//! A receiver sends credits, every port limits their rate so that the data that they release fits, and a sender sends one
//! frame per credit. Each of the parts can be used without the others:
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
//! | [`CreditTransport`], [`Settings`] | a transport of this family: its settings and its law |

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
mod receiver;
mod sender;

pub use budget::CreditBudget;
pub(crate) use family::CREDIT_MIN;
pub use family::{CreditTransport, Handshake, Settings, link_rate};
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
use crate::params::{Auto, Profile};
use crate::transport::Checked;
use clearway_units::{Bytes, Span};

crate::choice! {
    /// The law by which credit loss sets the credit rate.
    pub enum Law {
        /// Algorithm 1 of the paper, where a decrease sets the rate to the rate that passed, as the prose of E17 3.2 and the
        /// authors' code have it.
        Sigcomm17 = "sigcomm17",
        /// Algorithm 1 as it is printed, where a decrease applies to the present rate.
        Printed = "sigcomm17-printed",
        /// The authors' ns-2 code.
        Ns2 = "ns2",
        /// Algorithm 1, where a decrease applies to the rate at which the lost credits were sent (E17 sec. 4).
        Matched = "sigcomm17-matched",
    }
}

crate::choice! {
    /// The link whose rate a lone flow's credits approach.
    pub enum Ceiling {
        /// The receiver's own link.
        OwnLink = "own-link",
        /// The slowest link of the path, such as the sender's.
        Path = "path",
    }
}

crate::params! {
    /// Parameters of `expresspass`.
    pub struct Params {
        /// Law by which credit loss sets the credit rate.
        feedback: Law = "sigcomm17", "" to "", "E17 3.2, Algorithm 1; its decrease by the prose, sec. 4 and ns2-xpass";
        /// Initial credit rate as a share of the link's (alpha).
        alpha: f64 = "0.5", "0.0001" to "1", "ns2-xpass; E17 6.3 compares 1/2 and 1/16";
        /// First aggressiveness factor (w_init).
        w_init: f64 = "0.0625", "0.0001" to "1", "ns2-xpass, fat tree; E17 6.3";
        /// Least aggressiveness factor (w_min).
        w_min: f64 = "0.01", "0.0001" to "1", "E17 3.2";
        /// Largest aggressiveness factor (w_max).
        w_max: f64 = "0.5", "0.0001" to "1", "E17 Algorithm 1";
        /// Credit loss that is not taken for congestion (target_loss); with feedback "sigcomm17" and "ns2" that of a flow at rate zero, from which it falls to none at max_rate.
        target_loss: f64 = "0.1", "0" to "0.9", "E17 3.3";
        /// What max_rate is taken from, where hosts have different link rates.
        ceiling: Ceiling = "own-link", "" to "", "E17 3.2; 7: the feedback assumes that all hosts have the same link capacity";
        /// The initial rate is scaled by min(1, frames to send / this); 0 to leave it as it is.
        ramp: u32 = "0", "" to "1000000", "our choice: the paper does not scale it (ns2-xpass: 40)";
        /// Time between two updates of the rate; auto: the smoothed round-trip time.
        update_period: Auto<Span> = "auto", "" to "", "E17 Algorithm 1";
        /// Weight of a new sample in the receiver's smoothed round-trip time.
        rtt_gain: f64 = "0.125", "0.001" to "1", "RFC 6298; E17 states none";
        /// Jitter of a credit as a share of the gap between credits (j).
        jitter: f64 = "0.01", "0" to "0.9", "E16 4; E17 3.1 studies 0.01 to 0.08 and states no value";
        /// What the jitter is measured from.
        jitter_around: JitterAround = "schedule", "" to "", "our choice: E17 states none; this keeps the rate exact";
        /// Draw the size of each credit uniformly from size_min to 92 bytes.
        randomize_size: bool = "true", "" to "", "E17 3.1";
        /// Least size of a credit on the wire, in bytes, with randomize_size.
        size_min: u32 = "76", "64" to "92", "ns2-xpass, fat tree: the mean is 84 B, so data keeps its 94.82 % (E17 3.1: 84)";
        /// With randomize_size: the share of links that credits take, and max_rate, follow from the mean of the sizes, rounded up to whole bytes, and not from 84 B.
        mean_size: bool = "false", "" to "", "E17 3.1: 84 of 1622 B (ns2-xpass: the mean)";
        /// How long the sender must have no data before it stops its credits; auto: the base round-trip time.
        idle_timeout: Auto<Span> = "auto", "" to "", "our choice: E17 3.1 says a small timeout period";
        /// How long a request or a stop may go unanswered; auto: two base round-trip times, at least 200 us.
        retry: Auto<Span> = "auto", "" to "", "our choice: E17 states none; 200 us is the minimum RTO of E16 4";
        /// Whether the time without an answer doubles with each repetition of a request or a stop.
        retry_backoff: bool = "true", "" to "", "our choice: E17 states none (ns2-xpass: false)";
        /// How a new connection asks for its first credits.
        handshake: Handshake = "syn", "" to "", "E17 3.1";
        /// Stop the credits as soon as those of one round trip, as long as the first credit took to come, cover what is left to send; ask again two such round trips later if too few came after all.
        early_stop: bool = "false", "" to "", "our choice: the paper does not (ns2-xpass does)";
        /// Tell the receiver with each request how much there is to send; it then sends no more credits than that takes, and the margin.
        tell_end: bool = "false", "" to "", "E17 7 proposes it; the paper's evaluation is without";
        /// With tell_end: credits beyond what is left, as a share of it, rounded up.
        end_margin: f64 = "0.1", "0" to "100", "our choice: target_loss, the loss of credits that is normal";
        /// Data that goes without credits, at low priority and dropped first: the most that may be under way, in bandwidth-delay products of the path; 0 for none.
        low_priority: f64 = "0", "0" to "1000", "E17 7 proposes it (RC3); the paper's evaluation is without";
        /// With low_priority: most frames that wait at a port in the class of such data.
        low_priority_queue: u32 = "32", "1" to "100000", "our choice: a small buffer; what waits longer is sooner sent with a credit";
        /// What happens to data that arrives beyond a gap.
        recovery: Recovery = "selective", "" to "", "our choice: E17 states none (ns2-xpass: go-back-n)";
        /// How much later than newer data a frame may arrive before it is taken for lost; auto: a quarter of the base round-trip time.
        reorder_window: Auto<Span> = "auto", "" to "", "RFC 8985";
        /// By how many numbers an echo may be late before its credit counts as lost; more than 0 for packet spraying.
        reorder_credits: u32 = "0", "" to "62", "E17 3.2: a gap is a loss";
        /// Where data that a credit released waits for the link: with its flow, for the flow's turn at the network card, or in the card's queue, in the order in which credits came.
        release: Release = "turn", "" to "", "our choice: E17 states none (ns2-xpass: queue)";
        /// Most credits that wait at a port.
        credit_queue: u32 = "8", "1" to "100000", "E17 3.3";
        /// Whether that queue is as long as so many credits of 84 B are in bytes, whatever the number of those that wait.
        credit_queue_bytes: bool = "false", "" to "", "E17 3.3: eight credits (ns2-xpass: bytes)";
        /// Depth of the token bucket at a port.
        bucket: Bytes = "168 B", "92 B" to "1400 B", "E17 3.1";
        /// Whether the bucket starts empty.
        bucket_starts_empty: bool = "false", "" to "", "our choice: E17 states none (ns2-xpass: true)";
    }
}

/// The transport `expresspass` of the SIGCOMM 2017 paper.
pub struct ExpressPass;

impl CreditTransport for ExpressPass {
    type Params = Params;
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
            doc: "The authors' ns-2 code (ns2-xpass) with its library defaults, which later papers compare with",
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
            doc: "What the fat-tree script of ns2-xpass changes, to be set after profile ns2",
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

    fn settings(params: &Params) -> Settings {
        Settings {
            update_period: params.update_period,
            rtt_gain: params.rtt_gain,
            jitter: params.jitter,
            jitter_around: params.jitter_around,
            randomize_size: params.randomize_size,
            size_min: Some(params.size_min),
            mean_size: params.mean_size,
            idle_timeout: params.idle_timeout,
            retry: params.retry,
            retry_backoff: params.retry_backoff,
            handshake: params.handshake,
            early_stop: params.early_stop,
            end_margin: params.tell_end.then_some(params.end_margin),
            recovery: params.recovery,
            reorder_window: params.reorder_window,
            reorder_credits: params.reorder_credits,
            release: params.release,
            credit_queue: params.credit_queue,
            credit_queue_bytes: params.credit_queue_bytes,
            bucket: params.bucket,
            bucket_starts_empty: params.bucket_starts_empty,
            low_priority: params.low_priority,
            low_priority_queue: params.low_priority_queue,
            ..Settings::PAPER
        }
    }

    fn law(params: &Params, env: &Env) -> Control {
        let credit = ExpressPass::settings(params).counted_size(env.framing.wire_min);
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
#[derive(Clone, Debug)]
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
