//! The constants of DCQCN's reaction point, and the choices among its variants.

use crate::rdma::scale::{Step, Windowing};
use clearway_schema::choice;
use clearway_units::{Rate, Span};
use serde::{Deserialize, Serialize};

choice! {
    /// The moment at which a notification takes effect.
    #[derive(Serialize, Deserialize)]
    pub enum Reaction {
        /// A notification takes effect at once (the paper): a cut, then `alpha` rises. `alpha` falls after each
        /// `alpha_period` without a notification.
        OnCnp = "on-cnp",
        /// A notification takes effect at the next of ticks that began with the flow's first notification (HPCC's ns-3
        /// code): `alpha` moves every `alpha_period`, and every `decrease_interval` a cut follows if there was a
        /// notification since the last.
        Ticks = "ticks",
    }
}

choice! {
    /// The event that the law takes for a notification.
    #[derive(Serialize, Deserialize)]
    pub enum Notice {
        /// A packet of its own (CNP).
        Cnp = "cnp",
        /// An acknowledgement that says that its data was marked.
        MarkedAck = "marked-ack",
    }
}

choice! {
    /// The event from which on `alpha` moves.
    #[derive(Serialize, Deserialize)]
    pub enum AlphaFrom {
        /// The flow's first notification, which so meets `alpha` as it began (NICs, HPCC's ns-3 code).
        Notification = "notification",
        /// The flow's first packet, as eq. (2) reads by itself: a flow that was never notified has a small `alpha`.
        Start = "start",
    }
}

choice! {
    /// The growth of the target once both counts of increases are past fast recovery.
    #[derive(Serialize, Deserialize)]
    pub enum Hyper {
        /// The target grows as in QCN, to which the paper refers, and in its authors' code: from the increase on at
        /// which the lesser count has reached `F`, by `R_HAI` times `i`, where `i` is that count less `F` plus 1, and
        /// after half the time and half the bytes.
        Growing = "growing",
        /// The target grows by `R_HAI` each time once the lesser count is past `F` (HPCC's ns-3 code).
        Constant = "constant",
    }
}

/// The constants of the law, under the paper's names where it has one.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct DcqcnConfig {
    /// The moment at which a notification takes effect.
    pub reaction: Reaction,
    /// The event that counts as a notification.
    pub notice: Notice,
    /// The weight `g` of one notification, or of one period without, in `alpha`.
    pub g: f64,
    /// The `alpha` of a new flow: 1 halves the rate on the first notification.
    pub alpha_initial: f64,
    /// The event from which on `alpha` moves.
    pub alpha_from: AlphaFrom,
    /// The time without a notification after which `alpha` falls (`K`); with [`Reaction::Ticks`], the time between
    /// moves.
    pub alpha_period: Span,
    /// The least time between two cuts; [`Reaction::OnCnp`] ignores notifications that come sooner. It is zero in the
    /// paper, whose receivers space their notifications.
    pub decrease_interval: Span,
    /// True if each cut makes the old rate the target. Else a cut does so only if the timer has raised the rate since
    /// the cut before, and fast recovery goes back to the rate before the first of several cuts (ns-3:
    /// `CLAMP_TARGET_RATE 0`).
    pub clamp_target: bool,
    /// The time between two increases (`T`).
    pub increase_timer: Span,
    /// The bytes on the wire between two increases (`B`); `None` if time alone counts.
    pub byte_counter: Option<u64>,
    /// The number of increases of fast recovery, before the target rises (`F`).
    pub fast_recovery: u32,
    /// The additive increase of the target (`R_AI`).
    pub ai: Step,
    /// The hyper increase of the target (`R_HAI`).
    pub hai: Step,
    /// The growth of successive hyper increases.
    pub hyper: Hyper,
    /// The least rate of a flow.
    pub min_rate: Rate,
    /// The bytes that may be in flight at a rate.
    pub windowing: Windowing,
    /// The base round-trip time of windows; `None` for that of the path.
    pub base_rtt: Option<Span>,
}
