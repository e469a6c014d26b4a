//! The family of credit-based transports: each chooses [`Settings`] and a law, from which its ends and ports follow.

use super::{
    CreditReceiver, CreditSender, Feedback, GateConfig, JitterAround, PacerConfig, ReceiverConfig, Recovery,
    Release, SenderConfig, max_rate,
};
use crate::endpoint::Env;
use crate::mechanism::NoMechanism;
use crate::needs::{CreditNeeds, MarkingNeeds, Needs};
use crate::params::{Auto, ParamSet, Profile};
use crate::port::CreditShaping;
use crate::shim::NoShim;
use crate::transport::{Checked, Transport};
use clearway_units::{Bytes, Span};

/// The least time before a request or a stop is repeated (minimum RTO, E16 sec. 4).
const RETRY_MIN: Span = Span::from_us(200);
/// The largest size of a credit on the wire, in bytes (E17 sec. 3.1).
const CREDIT_MAX: u32 = 92;
/// The least size of a credit of random size on the wire, in bytes (ns2-xpass, fat tree), with which the mean is 84.
pub(crate) const CREDIT_MIN: u32 = 76;

crate::choice! {
    /// The way in which a new connection asks for its first credits.
    pub enum Handshake {
        /// The SYN carries the request, and the receiver answers with a SYN+ACK and credits at once.
        Syn = "syn",
        /// No handshake is simulated, and every request is a packet of its own.
        None = "none",
    }
}

/// A transport whose receivers send credits. Every type that implements it is a [`Transport`].
pub trait CreditTransport {
    /// The transport's parameters.
    type Params: ParamSet;
    /// The law that sets the credit rate.
    type Law: Feedback;
    /// The transport's name, as [`Transport::NAME`].
    const NAME: &'static str;
    /// The transport's summary, as [`Transport::SUMMARY`].
    const SUMMARY: &'static str;
    /// The transport's source, as [`Transport::SOURCE`].
    const SOURCE: &'static str;
    /// The evidence for the transport, as [`Transport::CHECKED`].
    const CHECKED: Checked;
    /// The transport's profiles, as [`Transport::PROFILES`].
    const PROFILES: &'static [Profile] = &[];
    /// Returns the settings of the ends and ports.
    fn settings(params: &Self::Params) -> Settings;
    /// Makes the law of a new flow.
    fn law(params: &Self::Params, env: &Env) -> Self::Law;
}

impl<T: CreditTransport> Transport for T {
    type Params = T::Params;
    type Sender = CreditSender;
    type Receiver = CreditReceiver<T::Law>;
    type Shim = NoShim;
    type Mechanism = NoMechanism;
    const NAME: &'static str = T::NAME;
    const SUMMARY: &'static str = T::SUMMARY;
    const SOURCE: &'static str = T::SOURCE;
    const CHECKED: Checked = T::CHECKED;
    const PROFILES: &'static [Profile] = T::PROFILES;

    fn needs(params: &T::Params) -> Needs {
        T::settings(params).needs()
    }

    fn sender(params: &T::Params, env: &Env) -> CreditSender {
        CreditSender::new(T::settings(params).sender(env), env)
    }

    fn receiver(params: &T::Params, env: &Env) -> CreditReceiver<T::Law> {
        CreditReceiver::new(T::settings(params).receiver(env), T::law(params, env), env)
    }
}

/// The settings of a credit-based transport. The parameters of `expresspass` describe the fields of the same names.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "said at the parameters of `expresspass`")]
pub struct Settings {
    pub update_period: Auto<Span>,
    pub rtt_gain: f64,
    pub jitter: f64,
    pub jitter_around: JitterAround,
    pub randomize_size: bool,
    /// The least size of a credit; `None` for that of the smallest frame.
    pub size_min: Option<u32>,
    pub mean_size: bool,
    pub idle_timeout: Auto<Span>,
    pub retry: Auto<Span>,
    pub retry_backoff: bool,
    pub handshake: Handshake,
    pub early_stop: bool,
    /// The parameter `end_margin`, if `tell_end` is set.
    pub end_margin: Option<f64>,
    /// If true, a mark on the last data packet stops the credits (E16).
    pub stop_by_mark: bool,
    pub recovery: Recovery,
    pub reorder_window: Auto<Span>,
    pub reorder_credits: u32,
    pub release: Release,
    pub credit_queue: u32,
    pub credit_queue_bytes: bool,
    pub bucket: Bytes,
    pub bucket_starts_empty: bool,
    pub low_priority: f64,
    pub low_priority_queue: u32,
    /// If true, data takes part in ECN.
    pub ecn: bool,
}

impl Settings {
    /// The settings of the SIGCOMM 2017 paper: the default parameters of `expresspass`, but with credits of one size.
    pub const PAPER: Settings = Settings {
        update_period: Auto::Auto,
        rtt_gain: 0.125,
        jitter: 0.01,
        jitter_around: JitterAround::Schedule,
        randomize_size: false,
        size_min: None,
        mean_size: false,
        idle_timeout: Auto::Auto,
        retry: Auto::Auto,
        retry_backoff: true,
        handshake: Handshake::Syn,
        early_stop: false,
        end_margin: None,
        stop_by_mark: false,
        recovery: Recovery::Selective,
        reorder_window: Auto::Auto,
        reorder_credits: 0,
        release: Release::Turn,
        credit_queue: 8,
        credit_queue_bytes: false,
        bucket: Bytes::new(168),
        bucket_starts_empty: false,
        low_priority: 0.0,
        low_priority_queue: 32,
        ecn: false,
    };

    /// Returns the least and largest size of a credit, where the smallest frame has `fixed` bytes.
    fn sizes(&self, fixed: u32) -> (u32, u32) {
        let least = self.size_min.unwrap_or(fixed);
        if self.randomize_size { (least, CREDIT_MAX.max(least)) } else { (fixed, fixed) }
    }

    /// Returns the size of a credit from which the share of credits in a link follows, where the smallest frame has `fixed`
    /// bytes. It is `fixed`, or with `mean_size` the mean of the sizes, rounded up.
    pub fn counted_size(&self, fixed: u32) -> u32 {
        let (least, largest) = self.sizes(fixed);
        if self.mean_size { (least + largest).div_ceil(2) } else { fixed }
    }

    fn needs(&self) -> Needs {
        let shaping = CreditShaping {
            credit: self.counted_size(CreditShaping::PAPER.credit),
            bucket: self.bucket.get() as u32,
            starts_empty: self.bucket_starts_empty,
            queue_in_bytes: self.credit_queue_bytes,
            ..CreditShaping::PAPER
        };
        let credits = Some(CreditNeeds { queue: self.credit_queue, shaping });
        let unscheduled_queue = (self.low_priority > 0.0).then_some(self.low_priority_queue);
        let marking = self.ecn.then_some(MarkingNeeds::Step);
        Needs { credits, marking, unscheduled_queue, ..Needs::NOTHING }
    }

    fn sender(&self, env: &Env) -> SenderConfig {
        SenderConfig {
            gate: GateConfig {
                idle: self.idle_timeout.or(env.base_rtt),
                retry: self.retry.or((env.base_rtt * 2).max(RETRY_MIN)),
                backs_off: self.retry_backoff,
                stop_by_mark: self.stop_by_mark,
                early_stop: self.early_stop,
                tell_end: self.end_margin.is_some(),
            },
            request_on_syn: self.handshake == Handshake::Syn,
            reorder: self.reorder_window.or(env.base_rtt / 4),
            ecn: self.ecn,
            release: self.release,
            low_priority: (env.path_rate.bytes_in(env.base_rtt).get() as f64 * self.low_priority) as u64,
        }
    }

    fn receiver(&self, env: &Env) -> ReceiverConfig {
        let (size_min, size_max) = self.sizes(env.framing.wire_min);
        ReceiverConfig {
            pacer: PacerConfig { jitter: self.jitter, around: self.jitter_around, size_min, size_max },
            period: match self.update_period {
                Auto::Auto => None,
                Auto::Set(period) => Some(period),
            },
            rtt_gain: self.rtt_gain,
            reorder: self.reorder_credits,
            recovery: self.recovery,
            stop_by_mark: self.stop_by_mark,
            end_margin: self.end_margin,
        }
    }
}

/// Returns the rate, in credits per second, whose data fills the receiver's own link.
pub fn link_rate(env: &Env) -> f64 {
    max_rate(env.line_rate, env.framing.wire_min, env.framing.wire_max())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_of_credits_follows_from_84_bytes_or_from_the_mean_of_their_sizes() {
        let sizes = |randomize_size, least, mean_size| {
            let settings = Settings { randomize_size, size_min: Some(least), mean_size, ..Settings::PAPER };
            settings.needs().credits.unwrap().shaping.credit
        };
        assert_eq!(sizes(true, 84, false), 84);
        assert_eq!(sizes(true, 84, true), 88);
        assert_eq!(sizes(true, 76, true), 84);
        assert_eq!(sizes(true, 83, true), 88, "87.5, rounded up");
        assert_eq!(sizes(false, 76, true), 84, "without random sizes all have 84 B");
    }
}
