//! DCQCN's reaction point: cuts its rate on notifications, recovers it by time and by bytes sent.
//!
//! Source: Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015, sec. 3 and its eq. (1) to
//! (4); and `rdma-hw.cc` of the HPCC authors' ns-3 code ("Mellanox's version of DCQCN"), which asks only from time to
//! time whether there was a notification. PACC's hosts run the same law, and hear its switches.

use super::config::CommonParams;
use super::law::{AckEvent, BuildLaw, RateLaw};
use super::scale::{LawParams, Step, Window, Windowing, plus, times};
use super::{Cnp, Config, Rdma, RdmaParams};
use crate::endpoint::Env;
use crate::mechanism::NoMechanism;
use crate::needs::{MarkingNeeds, Needs};
use crate::port::RedConfig;
use crate::transport::Checked;
use clearway_schema::{Profile, choice, declare};
use clearway_units::{Bytes, Rate, Span, Time};

choice! {
    /// When a notification takes effect.
    pub enum Reaction {
        /// At once (the paper): a cut, then `alpha` rises; `alpha` falls after each `alpha_period` without one.
        OnCnp = "on-cnp",
        /// At the next of ticks that began with the flow's first notification (HPCC's ns-3 code): `alpha` moves every
        /// `alpha_period`, and every `decrease_interval` a cut follows if there was a notification since the last.
        Ticks = "ticks",
    }
}

choice! {
    /// What a law takes for a notification.
    pub enum Notice {
        /// A packet of its own (CNP).
        Cnp = "cnp",
        /// An acknowledgement that says that its data was marked.
        MarkedAck = "marked-ack",
    }
}

choice! {
    /// From when on `alpha` moves.
    pub enum AlphaFrom {
        /// From the flow's first notification, which so meets `alpha` as it began (network cards, HPCC's ns-3 code).
        Notification = "notification",
        /// From the flow's first packet, as eq. (2) reads by itself: a flow that was never notified has a small
        /// `alpha`.
        Start = "start",
    }
}

choice! {
    /// How the target grows once both counts of increases are past fast recovery.
    pub enum Hyper {
        /// As in QCN, to which the paper refers, and in its authors' code: from the step on at which the lesser count has
        /// reached `F`, by `R_HAI` times `i`, where `i` is that count less `F` plus 1, and after half the time and half
        /// the bytes.
        Growing = "growing",
        /// By `R_HAI` each time once the lesser count is past `F` (HPCC's ns-3 code).
        Constant = "constant",
    }
}

/// Constants of the law, by the paper's names where it has one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct DcqcnConfig {
    /// When a notification takes effect.
    pub reaction: Reaction,
    /// What counts as a notification.
    pub notice: Notice,
    /// Weight `g` of one notification, or of one period without, in `alpha`.
    pub g: f64,
    /// `alpha` of a new flow: 1 halves the rate on the first notification.
    pub alpha_initial: f64,
    /// From when on `alpha` moves.
    pub alpha_from: AlphaFrom,
    /// Time without a notification after which `alpha` falls (`K`); with [`Reaction::Ticks`], the time between moves.
    pub alpha_period: Span,
    /// Least time between two cuts. [`Reaction::OnCnp`] does not hear what comes sooner. In the paper the receiver
    /// sees to it, and this is zero.
    pub decrease_interval: Span,
    /// Whether each cut makes the old rate the target. Else one does only if the timer has raised the rate since the cut
    /// before, so that fast recovery goes back to the rate before the first of several (ns-3: `CLAMP_TARGET_RATE 0`).
    pub clamp_target: bool,
    /// Time between increases (`T`).
    pub increase_timer: Span,
    /// Bytes on the wire between increases (`B`); `None`: time alone counts.
    pub byte_counter: Option<u64>,
    /// Steps of fast recovery before the target rises (`F`).
    pub fast_recovery: u32,
    /// Additive increase of the target (`R_AI`).
    pub ai: Step,
    /// Its hyper increase (`R_HAI`).
    pub hai: Step,
    /// How the hyper increase goes on.
    pub hyper: Hyper,
    /// The rate falls no lower.
    pub min_rate: Rate,
    /// How much may be in flight.
    pub windowing: Windowing,
    /// Base round-trip time of windows; `None`: the path's.
    pub base_rtt: Option<Span>,
}

declare! {
    /// Parameters of `dcqcn`.
    pub struct Params {
        /// When a notification takes effect. `on-cnp`: at once; `ticks`: at the next tick of a clock that the flow's first
        /// notification starts.
        reaction: Reaction = "on-cnp" from "SIGCOMM'15 sec. 3.1";
        /// How the receiver tells of marks. `cnp`: by packets of their own, at most one each `cnp_interval`; `marked-ack`:
        /// by a flag on the acknowledgement of each marked packet.
        notice: Notice = "cnp" from "SIGCOMM'15 sec. 3.1";
        /// Least time between two CNPs of a receiver for the same flow (`N`).
        cnp_interval: Span = "50 us" in "0 s" to "1 s" from "SIGCOMM'15 sec. 3.1";
        /// Marking: never up to this much in the queue of a port of rate `k_at` (`Kmin`), in proportion at others.
        k_min: Bytes = "5 KB" in "0 B" to "1 TB" from "SIGCOMM'15";
        /// Marking: always above this much (`Kmax`), in proportion likewise.
        k_max: Bytes = "200 KB" in "0 B" to "1 TB" from "SIGCOMM'15";
        /// Marking: probability at `k_max`, in proportion between (`Pmax`).
        p_max: f64 = "0.01" in "0" to "1" from "SIGCOMM'15";
        /// Marking: rate of the port that `k_min` and `k_max` are given for.
        k_at: Rate = "40 Gbps" in "1 bps" to "1.6 Tbps" from "SIGCOMM'15: its testbed";
        /// Weight `g` of one notification, or of one period without, in `alpha`.
        g: f64 = "0.00390625" in "0.000001" to "1" from "SIGCOMM'15: 1/256";
        /// `alpha` of a new flow: 1 halves the rate on the first notification.
        alpha_initial: f64 = "1" in "0" to "1" from "SIGCOMM'15 sec. 3.1";
        /// From when on `alpha` moves. `notification`: from the flow's first notification; `start`: from its first packet,
        /// so that it is small in a flow that was never notified.
        alpha_from: AlphaFrom = "notification" from "HPCC's ns-3 code";
        /// Time without a notification after which `alpha` falls (`K`); with `ticks`, the time between moves of `alpha`.
        alpha_period: Span = "55 us" in "1 ns" to "1 s" from "SIGCOMM'15 sec. 3.1";
        /// Least time between two cuts. With `on-cnp`, notifications that come sooner are not heard; with `ticks` it must
        /// be more than zero. In the paper the receiver sees to it.
        decrease_interval: Span = "0 s" in "0 s" to "1 s" from "SIGCOMM'15 sec. 3.1";
        /// Whether each cut makes the old rate the target. Else one does only if `increase_timer` has raised the rate since
        /// the cut before, and leaves the target where it was if not.
        clamp_target: bool = "true" from "SIGCOMM'15 eq. (1)";
        /// Time between increases (`T`).
        increase_timer: Span = "55 us" in "1 ns" to "1 s" from "SIGCOMM'15 sec. 3.1";
        /// Bytes on the wire between increases (`B`); 0: time alone counts.
        byte_counter: Bytes = "10 MB" in "0 B" to "1 TB" from "SIGCOMM'15";
        /// Increases of fast recovery, before the target rises (`F`).
        fast_recovery: u32 = "5" in "0" to "1000" from "SIGCOMM'15 sec. 3.1";
        /// Additive increase of the target (`R_AI`).
        ai: Rate = "40 Mbps" in "1 bps" to "1.6 Tbps" from "SIGCOMM'15";
        /// Hyper increase of the target (`R_HAI`): ten times `ai`, as in network cards (5 and 50 Mbps).
        hai: Rate = "400 Mbps" in "1 bps" to "1.6 Tbps" from "our choice: the paper leaves it open";
        /// How the target grows once both counts of increases are past fast recovery. `growing`: by `hai` times `i`, the
        /// lesser count less `fast_recovery` plus 1, and after half the time and half the bytes; `constant`: by `hai`.
        hyper: Hyper = "growing" from "its authors' ns-3 code; IEEE 802.1Qau";
        /// Line rate for which `ai` and `hai` are given: at others they are scaled in proportion. 0: they hold at any.
        increments_at: Rate = "0 bps" in "" to "1.6 Tbps" from "our choice: the paper has one line rate";
        ..law: LawParams {
            windowing from "SIGCOMM'15: none",
        };
        ..rdma: CommonParams;
    }
}

/// The constants of HPCC's ns-3 code.
const HPCC_NS3: Profile = Profile {
    name: "hpcc-ns3",
    doc: "HPCC's ns-3 code, as its authors ran it: what the network cards of its time did. Increments are given at \
          100 Gbps and scaled. For its window variant set `windowing = \"rate\"` and `acks = \"with-data\"` besides",
    values: &[
        ("pacing_grain", "1 ns"),
        ("acks", "first-at-hosts"),
        ("reaction", "ticks"),
        ("notice", "marked-ack"),
        ("k_min", "400 KB"),
        ("k_max", "1600 KB"),
        ("p_max", "0.2"),
        ("k_at", "100 Gbps"),
        ("alpha_period", "1 us"),
        ("decrease_interval", "4 us"),
        ("clamp_target", "false"),
        ("increase_timer", "300 us"),
        ("byte_counter", "0 B"),
        ("fast_recovery", "1"),
        ("ai", "20 Mbps"),
        ("hai", "200 Mbps"),
        ("hyper", "constant"),
        ("increments_at", "100 Gbps"),
        ("min_rate", "1 Gbps"),
    ],
};

/// The defaults of network cards.
const MELLANOX: Profile = Profile {
    name: "mellanox",
    doc: "Network cards as shipped, by what their firmware reports: CNPs at most every 4 us, `alpha` each microsecond, a \
          cut at most every 4 us, increases each 300 us and each 32,767 B, of 5 and 50 Mbps at any line rate. Marking is \
          the switches' matter, and stays as it is",
    values: &[
        ("reaction", "ticks"),
        ("cnp_interval", "4 us"),
        ("g", "0.0048828125"),
        ("alpha_initial", "0.9990234375"),
        ("alpha_period", "1 us"),
        ("decrease_interval", "4 us"),
        ("clamp_target", "false"),
        ("increase_timer", "300 us"),
        ("byte_counter", "32767 B"),
        ("fast_recovery", "1"),
        ("ai", "5 Mbps"),
        ("hai", "50 Mbps"),
        ("hyper", "constant"),
        ("min_rate", "1 Mbps"),
    ],
};

/// The constants of others than the paper.
pub const PROFILES: &[Profile] = &[HPCC_NS3, MELLANOX];

/// The transport.
pub type Dcqcn = Rdma<Params>;

impl RdmaParams for Params {
    type Law = DcqcnConfig;
    type Mechanism = NoMechanism;
    const NAME: &'static str = "dcqcn";
    const SUMMARY: &'static str =
        "DCQCN: receivers of marks notify the sender, which cuts its rate and recovers it";
    const SOURCE: &'static str = "SIGCOMM'15";
    const CHECKED: Checked = Checked::Code(
        "The constants were held against CoNEXT'16, by some of its authors, and the law against HPCC's ns-3 code; the \
         SIGCOMM'15 text was not at hand.",
    );
    const PROFILES: &'static [Profile] = PROFILES;
    const COUNTS_NOTICES: bool = true;

    fn needs(&self) -> Needs {
        Needs {
            marking: Some(MarkingNeeds::Red(self.red())),
            lossless: self.rdma.lossless,
            acks: self.rdma.acks,
            cnps: self.notice == Notice::Cnp,
            ..Needs::NOTHING
        }
    }

    fn settings(&self, env: &Env) -> Config {
        let cnp = match self.notice {
            Notice::Cnp => Cnp::Packets(self.cnp_interval),
            Notice::MarkedAck => Cnp::Flag,
        };
        Config { cnp, ..self.rdma.config(env) }
    }

    fn law(&self) -> DcqcnConfig {
        DcqcnConfig {
            reaction: self.reaction,
            notice: self.notice,
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
            min_rate: self.law.min_rate,
            windowing: self.law.windowing,
            base_rtt: self.law.base_rtt.set(),
        }
    }
}

impl Params {
    /// How ports mark.
    pub fn red(&self) -> RedConfig {
        RedConfig {
            k_min: self.k_min,
            k_max: self.k_max.max(self.k_min),
            p_max: self.p_max,
            at_rate: self.k_at,
        }
    }
}

/// `alpha` below this leaves no trace in any sum or product with the other numbers here.
const ALPHA_NOTHING: f64 = 1e-20;

/// Added to the first interval between cuts, so that `alpha` moves before the cut where both are due (ns-3).
const AFTER_ALPHA: Span = Span::from_ns(1);

/// What repeats does so no faster than this.
const TICK_MIN: Span = Span::from_ns(1);

/// The law of one flow.
#[derive(Clone, Debug)]
pub struct DcqcnLaw {
    config: DcqcnConfig,
    line: Rate,
    min: Rate,
    ai: Rate,
    hai: Rate,
    window: Window,
    /// `R_C`.
    rate: Rate,
    /// `R_T`.
    target: Rate,
    /// As of the last move before `alpha_at`.
    alpha: f64,
    /// When `alpha` moves next. Moves are made up for when somebody asks: they need no event.
    alpha_at: Time,
    /// Ticks: whether there was a notification since `alpha` moved, and since the last look for a cut.
    alpha_noticed: bool,
    cut_noticed: bool,
    /// Ticks: next look for a cut. On a notification: no cut before this.
    cut_at: Time,
    /// Next increase by time.
    increase_at: Time,
    /// Bytes to send until the next increase by bytes.
    bytes_left: u64,
    /// Increases since the last cut, by time and by bytes.
    by_time: u32,
    by_bytes: u32,
    /// Whether there ever was a notification.
    noticed: bool,
}

impl BuildLaw for DcqcnConfig {
    type Law = DcqcnLaw;

    fn build(&self, env: &Env) -> DcqcnLaw {
        let line = env.line_rate;
        let config = DcqcnConfig {
            alpha_period: self.alpha_period.max(TICK_MIN),
            increase_timer: self.increase_timer.max(TICK_MIN),
            decrease_interval: match self.reaction {
                Reaction::OnCnp => self.decrease_interval,
                Reaction::Ticks => self.decrease_interval.max(TICK_MIN),
            },
            ..*self
        };
        DcqcnLaw {
            config,
            line,
            min: self.min_rate.min(line),
            ai: self.ai.at(line),
            hai: self.hai.at(line),
            window: Window::new(self.windowing, line, self.base_rtt.unwrap_or(env.base_rtt)),
            rate: line,
            target: line,
            alpha: self.alpha_initial,
            alpha_at: Time::MAX,
            alpha_noticed: false,
            cut_noticed: false,
            cut_at: Time::ZERO,
            increase_at: Time::MAX,
            bytes_left: self.byte_counter.unwrap_or(0),
            by_time: 0,
            by_bytes: 0,
            noticed: false,
        }
    }
}

impl DcqcnLaw {
    /// `R_T`.
    pub fn target(&self) -> Rate {
        self.target
    }

    /// `alpha`, as it last counted.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    fn notify(&mut self, now: Time) {
        self.advance(now);
        self.skip_looks(now);
        match self.config.reaction {
            Reaction::OnCnp => {
                if self.noticed && now < self.cut_at {
                    return;
                }
                self.noticed = true;
                self.move_alpha_until(now);
                self.cut(now);
                self.alpha = (1.0 - self.config.g) * self.alpha + self.config.g;
                self.alpha_at = now + self.config.alpha_period;
                self.cut_at = now + self.config.decrease_interval;
            }
            Reaction::Ticks => {
                self.cut_noticed = true;
                if self.noticed {
                    self.move_alpha_until(now);
                    self.alpha_noticed = true;
                } else {
                    self.move_alpha_until(now);
                    self.noticed = true;
                    self.alpha_at = now + self.config.alpha_period;
                    self.cut_at = now + self.config.decrease_interval + AFTER_ALPHA;
                }
            }
        }
    }

    /// The moves of `alpha` that were due by `now`.
    fn move_alpha_until(&mut self, now: Time) {
        while self.alpha_at <= now {
            let feedback = if std::mem::take(&mut self.alpha_noticed) { self.config.g } else { 0.0 };
            self.alpha = (1.0 - self.config.g) * self.alpha + feedback;
            self.alpha_at += self.config.alpha_period;
            if self.alpha < ALPHA_NOTHING {
                // Only zeros follow: go to the first move after now.
                self.alpha = 0.0;
                let period = self.config.alpha_period.as_ps();
                let behind = now.saturating_since(self.alpha_at).as_ps();
                if self.alpha_at <= now {
                    self.alpha_at += Span::from_ps((behind / period + 1) * period);
                }
            }
        }
    }

    /// Multiplicative decrease, eq. (1).
    fn cut(&mut self, now: Time) {
        if self.config.clamp_target || self.by_time > 0 {
            self.target = self.rate;
        }
        self.rate = times(self.rate, 1.0 - self.alpha / 2.0).max(self.min);
        (self.by_time, self.by_bytes) = (0, 0);
        self.increase_at = now + self.config.increase_timer;
        self.bytes_left = self.config.byte_counter.unwrap_or(0);
    }

    /// One increase, eq. (2) to (4). `by_time` and `by_bytes` count those before it. Answers whether the next one comes
    /// after half the time and half the bytes.
    fn increase(&mut self) -> bool {
        let threshold = self.config.fast_recovery;
        let (most, least) = match self.config.byte_counter {
            Some(_) => (self.by_time.max(self.by_bytes), self.by_time.min(self.by_bytes)),
            None => (self.by_time, self.by_time),
        };
        let grows = self.config.hyper == Hyper::Growing && least >= threshold;
        if most >= threshold {
            let step = if grows {
                Rate::bps(self.hai.as_bps().saturating_mul(u64::from(least - threshold) + 1))
            } else if least > threshold {
                self.hai
            } else {
                self.ai
            };
            self.target = plus(self.target, step).min(self.line);
        }
        self.rate = Rate::bps(self.rate.as_bps() / 2 + self.target.as_bps() / 2);
        grows
    }

    /// Whether increases change nothing any more, so that their timer may rest: the halves are rounded down, so the
    /// rate ends up to two bits per second short of its target.
    fn is_recovered(&self) -> bool {
        self.target == self.line && self.rate.as_bps() / 2 + self.target.as_bps() / 2 <= self.rate.as_bps()
    }

    /// What was due by `now`.
    fn advance(&mut self, now: Time) {
        loop {
            let cut_at = self.next_cut();
            if self.increase_at.min(cut_at) > now {
                return;
            }
            if self.increase_at <= cut_at {
                let grows = self.increase();
                self.by_time += 1;
                let timer = self.config.increase_timer;
                let wait = if grows { (timer / 2).max(TICK_MIN) } else { timer };
                self.increase_at = if self.is_recovered() { Time::MAX } else { self.increase_at + wait };
            } else {
                self.move_alpha_until(cut_at);
                self.cut(cut_at);
                self.cut_noticed = false;
                self.cut_at = cut_at + self.config.decrease_interval;
            }
        }
    }

    /// Ticks: the next look for a cut that will find something. Looks that find nothing are no events.
    fn next_cut(&self) -> Time {
        if self.cut_noticed { self.cut_at } else { Time::MAX }
    }

    /// Ticks: past looks found nothing; the next one comes after `now`.
    fn skip_looks(&mut self, now: Time) {
        if self.config.reaction == Reaction::Ticks && self.noticed && !self.cut_noticed && self.cut_at <= now
        {
            let interval = self.config.decrease_interval.as_ps();
            let behind = (now - self.cut_at).as_ps();
            self.cut_at += Span::from_ps((behind / interval + 1) * interval);
        }
    }
}

impl RateLaw for DcqcnLaw {
    fn rate(&self) -> Rate {
        self.rate
    }

    fn window(&self) -> u64 {
        self.window.at(self.rate)
    }

    fn on_ack(&mut self, ack: &AckEvent<'_>, now: Time) {
        if ack.ecn_echo && self.config.notice == Notice::MarkedAck {
            self.notify(now);
        }
    }

    fn on_cnp(&mut self, now: Time) {
        if self.config.notice == Notice::Cnp {
            self.notify(now);
        }
    }

    fn on_sent(&mut self, wire: u32, now: Time) {
        if self.config.alpha_from == AlphaFrom::Start && self.alpha_at == Time::MAX {
            self.alpha_at = now + self.config.alpha_period;
        }
        let Some(counter) = self.config.byte_counter else { return };
        if !self.noticed {
            return;
        }
        self.advance(now);
        if wire as u64 >= self.bytes_left {
            let grows = self.increase();
            self.by_bytes += 1;
            self.bytes_left = if grows { (counter / 2).max(1) } else { counter };
            if self.is_recovered() {
                self.increase_at = Time::MAX;
            }
        } else {
            self.bytes_left -= wire as u64;
        }
    }

    fn next_timeout(&self) -> Time {
        self.increase_at.min(self.next_cut())
    }

    fn on_timeout(&mut self, now: Time) {
        self.advance(now);
    }
}

#[cfg(test)]
mod tests;
