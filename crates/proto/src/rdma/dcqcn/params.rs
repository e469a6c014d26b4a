//! The parameters of DCQCN's reaction point, which `dcqcn` and `pacc` share.

use super::constants::{AlphaFrom, DcqcnConfig, Hyper, Notice, Reaction};
use crate::rdma::scale::{LawParams, Step};
use clearway_schema::declare;
use clearway_units::{Bytes, Rate, Span};

declare! {
    /// The parameters of DCQCN's reaction point, the law by which hosts set the rate of a flow.
    pub struct ReactionPointParams {
        /// The weight of one notification, or of one period without, in `alpha` (`g`).
        g: f64 = "0.00390625" in "0.000001" to "1" from "SIGCOMM'15: 1/256";
        /// The `alpha` of a new flow; 1 halves the rate on the first notification.
        alpha_initial: f64 = "1" in "0" to "1" from "SIGCOMM'15 sec. 3.1";
        /// The event from which on `alpha` moves. `notification`: the flow's first notification; `start`: its first
        /// packet, so that `alpha` is small in a flow that was never notified.
        alpha_from: AlphaFrom = "notification" from "HPCC's ns-3 code";
        /// The time without a notification after which `alpha` falls (`K`); with `ticks`, the time between moves of
        /// `alpha`.
        alpha_period: Span = "55 us" in "100 ns" to "1 s" from "SIGCOMM'15 sec. 3.1";
        /// The least time between two cuts. With `on-cnp`, notifications that come sooner are ignored; with `ticks` it
        /// is at least 100 ns. In the paper the receiver sees to it.
        decrease_interval: Span = "0 s" in "0 s" to "1 s" from "SIGCOMM'15 sec. 3.1";
        /// If true, each cut makes the old rate the target. Else it does so only if `increase_timer` has raised the
        /// rate since the cut before, and otherwise leaves the target.
        clamp_target: bool = "true" from "SIGCOMM'15 eq. (1)";
        /// The time between two increases (`T`).
        increase_timer: Span = "55 us" in "100 ns" to "1 s" from "SIGCOMM'15 sec. 3.1";
        /// The bytes on the wire between two increases (`B`); 0: time alone counts.
        byte_counter: Bytes = "10 MB" in "0 B" to "1 TB" from "SIGCOMM'15";
        /// The number of increases of fast recovery, before the target rises (`F`).
        fast_recovery: u32 = "5" in "0" to "1000" from "SIGCOMM'15 sec. 3.1";
        /// The additive increase of the target (`R_AI`).
        ai: Rate = "40 Mbps" in "1 bps" to "1.6 Tbps" from "SIGCOMM'15";
        /// The hyper increase of the target (`R_HAI`): ten times `ai`, as in NICs (5 and 50 Mbps).
        hai: Rate = "400 Mbps" in "1 bps" to "1.6 Tbps" from "our choice: the paper leaves it open";
        /// The growth of the target once both counts of increases are past fast recovery. `growing`: by `hai` times
        /// `i`, the lesser count less `fast_recovery` plus 1, and after half the time and half the bytes; `constant`:
        /// by `hai`.
        hyper: Hyper = "growing" from "its authors' ns-3 code; IEEE 802.1Qau";
        /// The line rate for which `ai` and `hai` are given, which at others are scaled in proportion; 0 for no
        /// scaling.
        increments_at: Rate = "0 bps" in "0 bps" to "1.6 Tbps" from "our choice: the paper has one line rate";
    }
}

impl ReactionPointParams {
    /// Returns the constants of the law.
    pub fn config(&self, reaction: Reaction, notice: Notice, law: &LawParams) -> DcqcnConfig {
        DcqcnConfig {
            reaction,
            notice,
            g: self.g,
            alpha_initial: self.alpha_initial,
            alpha_from: self.alpha_from,
            alpha_period: self.alpha_period,
            decrease_interval: self.decrease_interval,
            clamp_target: self.clamp_target,
            increase_timer: self.increase_timer,
            byte_counter: Some(self.byte_counter.get()).filter(|bytes| *bytes > 0),
            fast_recovery: self.fast_recovery,
            ai: Step::given(self.ai, self.increments_at),
            hai: Step::given(self.hai, self.increments_at),
            hyper: self.hyper,
            min_rate: law.min_rate,
            windowing: law.windowing,
            base_rtt: law.base_rtt.set(),
        }
    }
}
