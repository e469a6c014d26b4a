//! What all transports with credits have in common: they choose settings and a law; ends and ports follow from these.

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

/// Least time before a request or a stop is repeated (minimum RTO, E16 sec. 4).
const RETRY_MIN: Span = Span::from_us(200);
/// Largest size of a credit on the wire, in bytes (E17 sec. 3.1).
const CREDIT_MAX: u32 = 92;
/// Least size of a credit of random size on the wire, in bytes (ns2-xpass, fat tree): with it their mean is 84.
pub(crate) const CREDIT_MIN: u32 = 76;

crate::choice! {
    /// How a new connection asks for its first credits.
    pub enum Handshake {
        /// The request rides on the SYN; the receiver answers with SYN+ACK and credits at once.
        Syn = "syn",
        /// None is simulated: every request is a packet of its own.
        None = "none",
    }
}

/// A transport whose receivers send credits. Implementing it makes a [`Transport`].
pub trait CreditTransport {
    /// Its parameters.
    type Params: ParamSet;
    /// The law by which credit loss, or what else, sets the credit rate.
    type Law: Feedback;
    /// As [`Transport::NAME`].
    const NAME: &'static str;
    /// As [`Transport::SUMMARY`].
    const SUMMARY: &'static str;
    /// As [`Transport::SOURCE`].
    const SOURCE: &'static str;
    /// As [`Transport::CHECKED`].
    const CHECKED: Checked;
    /// As [`Transport::PROFILES`].
    const PROFILES: &'static [Profile] = &[];
    /// How its ends and its ports behave.
    fn settings(params: &Self::Params) -> Settings;
    /// The law of a new flow.
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

/// What a transport with credits chooses; the parameters of `expresspass` of the same name say what each means.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "said at the parameters of `expresspass`")]
pub struct Settings {
    pub update_period: Auto<Span>,
    pub rtt_gain: f64,
    pub jitter: f64,
    pub jitter_around: JitterAround,
    pub randomize_size: bool,
    /// Without one, the smallest frame.
    pub size_min: Option<u32>,
    pub mean_size: bool,
    pub idle_timeout: Auto<Span>,
    pub retry: Auto<Span>,
    pub retry_backoff: bool,
    pub handshake: Handshake,
    pub early_stop: bool,
    /// `end_margin`, if `tell_end`.
    pub end_margin: Option<f64>,
    /// The mark on the last data packet stops the credits (E16).
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
    /// Data takes part in ECN.
    pub ecn: bool,
}

impl Settings {
    /// Those of the SIGCOMM 2017 paper with credits of one size; but for these, as the parameters of `expresspass` have them.
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

    /// Least and largest size of a credit, where the smallest frame has `fixed` bytes.
    fn sizes(&self, fixed: u32) -> (u32, u32) {
        let least = self.size_min.unwrap_or(fixed);
        if self.randomize_size { (least, CREDIT_MAX.max(least)) } else { (fixed, fixed) }
    }

    /// The size of a credit by which credits share a link with data, where the smallest frame has `fixed` bytes: that, or
    /// with `mean_size` the mean of the sizes, half a byte rounded up.
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

/// Credits per second whose data fills the receiver's own link.
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
