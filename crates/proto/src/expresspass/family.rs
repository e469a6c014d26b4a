//! The family of credit-based transports. They share parameters, from which their ends and the needs of ports follow,
//! and each has a law of its own.

use super::{
    CreditReceiver, CreditSender, Feedback, GateConfig, JitterAround, PacerConfig, ReceiverConfig, Recovery,
    Release, SenderConfig, max_rate,
};
use crate::agent::NoAgent;
use crate::endpoint::Env;
use crate::mechanism::NoMechanism;
use crate::needs::{Acks, CreditNeeds, MarkingNeeds, Needs};
use crate::port::{CreditDrop, CreditShaping};
use crate::transport::{Checked, Family, Transport};
use clearway_schema::{Auto, Declared, Profile, choice, declare};
use clearway_units::{Bytes, Span};

/// The least time before a request or a stop is repeated (minimum RTO, E16 sec. 4).
const RETRY_MIN: Span = Span::from_us(200);
/// The largest size of a credit on the wire, in bytes (E17 sec. 3.1).
const CREDIT_MAX: u32 = 92;

choice! {
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
    type Params: Declared + Default;
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
    /// True if data takes part in ECN.
    const ECN: bool = false;
    /// True if a mark on the last data packet stops the credits (E16).
    const STOP_BY_MARK: bool = false;
    /// Returns the parameters that all credit-based transports share.
    fn credit(params: &Self::Params) -> &CreditParams;
    /// Makes the law of a new flow.
    fn law(params: &Self::Params, env: &Env) -> Self::Law;
}

impl<T: CreditTransport> Transport for T {
    type Params = T::Params;
    type Sender = CreditSender;
    type Receiver = CreditReceiver<T::Law>;
    type Agent = NoAgent;
    type Mechanism = NoMechanism;
    const NAME: &'static str = T::NAME;
    const SUMMARY: &'static str = T::SUMMARY;
    const SOURCE: &'static str = T::SOURCE;
    const CHECKED: Checked = T::CHECKED;
    const PROFILES: &'static [Profile] = T::PROFILES;
    const FAMILY: Family = Family::Credit;

    fn needs(params: &T::Params) -> Needs {
        T::credit(params).needs(T::ECN)
    }

    fn sender(params: &T::Params, env: &Env) -> CreditSender {
        CreditSender::new(T::credit(params).sender(T::ECN, T::STOP_BY_MARK, env), env)
    }

    fn receiver(params: &T::Params, env: &Env) -> CreditReceiver<T::Law> {
        CreditReceiver::new(T::credit(params).receiver(T::STOP_BY_MARK, env), T::law(params, env), env)
    }
}

declare! {
    /// The parameters that credit-based transports share. The defaults are those of the SIGCOMM 2017 paper.
    #[derive(Copy)]
    pub struct CreditParams {
        /// The time between two updates of the rate; auto: the smoothed round-trip time.
        update_period: Auto<Span> = "auto" in "100 ns" to "60 s" from "E17 Algorithm 1";
        /// The weight of a new sample in the receiver's smoothed round-trip time.
        rtt_gain: f64 = "0.125" in "0.001" to "1" from "RFC 6298; E17 states none";
        /// The jitter of a credit as a share of the gap between credits (j).
        jitter: f64 = "0.01" in "0" to "0.9" from "E16 4; E17 3.1 studies 0.01 to 0.08 and states no value";
        /// The reference of the jitter: a schedule of even gaps, or each gap.
        jitter_around: JitterAround = "schedule" from "our choice: E17 states none; this keeps the rate exact";
        /// If true, the size of each credit is drawn uniformly from 76 to 92 bytes; else all have 84.
        randomize_size: bool = "true" from "E17 3.1";
        /// The least size of a credit on the wire, in bytes, with randomize_size.
        size_min: u32 = "76" in "64" to "92" from "ns2-xpass, fat tree: the mean is 84 B, so data keeps its 94.82 % (E17 3.1: 84)";
        /// If true, the share of links that credits take, and max_rate, follow from the mean of the sizes with
        /// randomize_size, rounded up to whole bytes, and not from 84 B.
        mean_size: bool = "false" from "E17 3.1: 84 of 1622 B (ns2-xpass: the mean)";
        /// The time without data after which the sender stops its credits; auto: the base round-trip time.
        idle_timeout: Auto<Span> = "auto" in "0 s" to "60 s" from "our choice: E17 3.1 says a small timeout period";
        /// The time without an answer after which a request or a stop is repeated, doubled each time; auto: two base
        /// round-trip times, at least 200 us.
        retry: Auto<Span> = "auto" in "1 us" to "60 s" from "our choice: E17 states none; 200 us is the minimum RTO of E16 4";
        /// If true, the time of retry doubles with each repetition of a request or a stop.
        retry_backoff: bool = "true" from "our choice: E17 states none (ns2-xpass: false)";
        /// The way in which a new connection asks for its first credits: on its SYN, or with a packet of its own.
        handshake: Handshake = "syn" from "E17 3.1";
        /// If true, the sender stops the credits as soon as those of one round trip (the time that the first credit
        /// took) cover the data left, and asks again two such round trips later if too few arrived.
        early_stop: bool = "false" from "our choice: the paper does not (ns2-xpass does)";
        /// If true, requests tell the receiver how much there is to send, and it sends no more credits than that takes,
        /// plus the margin.
        tell_end: bool = "false" from "E17 7 proposes it; the paper's evaluation is without";
        /// The number of credits beyond the frames left, as a share of these, rounded up, with tell_end.
        end_margin: f64 = "0.1" in "0" to "100" from "our choice: target_loss, the loss of credits that is normal";
        /// The largest amount of unscheduled data in flight (sent without credits, at the lowest priority), in
        /// bandwidth-delay products of the path; 0 for none.
        low_priority: f64 = "0" in "0" to "1000" from "E17 7 proposes it (RC3); the paper's evaluation is without";
        /// The capacity of a port's queue of unscheduled data, in frames, with low_priority.
        low_priority_queue: u32 = "32" in "1" to "100000" from "our choice: a small buffer; what waits longer is sooner sent with a credit";
        /// The treatment of data that arrives beyond a gap: it is kept, or discarded and sent again.
        recovery: Recovery = "selective" from "our choice: E17 states none (ns2-xpass: go-back-n)";
        /// The time by which a frame may arrive later than newer data before it counts as lost; auto: a quarter of the
        /// base round-trip time.
        reorder_window: Auto<Span> = "auto" in "0 s" to "60 s" from "RFC 8985";
        /// The number of credits by which an echo may be late before its credit counts as lost; more than 0 for packet
        /// spraying.
        reorder_credits: u32 = "0" in "0" to "62" from "E17 3.2: a gap is a loss";
        /// The place in which data that a credit released waits for the link: in its flow, for the flow's turn at the
        /// NIC, or in the NIC's queue, in the order in which credits arrived.
        release: Release = "turn" from "our choice: E17 states none (ns2-xpass: queue)";
        /// The class of requests for credits that are no SYN, of stops, and of the answers to stops.
        signals: Acks = "with-data" from "our choice: E17 states none (ns2-xpass: with data; clearwayd: a class of their own)";
        /// The capacity of a port's credit queue, in credits.
        credit_queue: u32 = "8" in "1" to "100000" from "E17 3.3";
        /// If true, the credit queue holds the bytes of credit_queue credits of 84 B, whatever the number of credits.
        credit_queue_bytes: bool = "false" from "E17 3.3: eight credits (ns2-xpass: bytes)";
        /// The credit that a port drops when its credit queue is full: the one that arrives, or one at random of all.
        credit_drop: CreditDrop = "tail" from "E17 3.1: drop-tail queues; Figs. 4 and 10 count on drops in proportion to arrivals";
        /// The size of a port's token bucket.
        bucket: Bytes = "168 B" in "92 B" to "1400 B" from "E17 3.1";
        /// If true, the token bucket is empty at the start.
        bucket_starts_empty: bool = "false" from "our choice: E17 states none (ns2-xpass: true)";
    }
}

impl CreditParams {
    /// Returns the least and largest size of a credit, where the smallest frame has `fixed` bytes.
    fn sizes(&self, fixed: u32) -> (u32, u32) {
        if self.randomize_size { (self.size_min, CREDIT_MAX.max(self.size_min)) } else { (fixed, fixed) }
    }

    /// Returns the size of a credit from which the share of credits in a link follows, where the smallest frame has
    /// `fixed` bytes. It is `fixed`, or with `mean_size` the mean of the sizes, rounded up.
    pub fn counted_size(&self, fixed: u32) -> u32 {
        let (least, largest) = self.sizes(fixed);
        if self.mean_size { (least + largest).div_ceil(2) } else { fixed }
    }

    fn needs(&self, ecn: bool) -> Needs {
        let shaping = CreditShaping {
            credit: self.counted_size(CreditShaping::PAPER.credit),
            bucket: self.bucket.get() as u32,
            starts_empty: self.bucket_starts_empty,
            queue_in_bytes: self.credit_queue_bytes,
            drop: self.credit_drop,
            ..CreditShaping::PAPER
        };
        let credits = Some(CreditNeeds { queue: self.credit_queue, shaping });
        let unscheduled_queue = (self.low_priority > 0.0).then_some(self.low_priority_queue);
        let marking = ecn.then_some(MarkingNeeds::Step);
        let smallest_packet = self.randomize_size.then_some(self.size_min);
        Needs { credits, marking, unscheduled_queue, smallest_packet, acks: self.signals, ..Needs::NOTHING }
    }

    fn sender(&self, ecn: bool, stop_by_mark: bool, env: &Env) -> SenderConfig {
        SenderConfig {
            gate: GateConfig {
                idle: self.idle_timeout.or(env.base_rtt),
                retry: self.retry.or((env.base_rtt * 2).max(RETRY_MIN)),
                backs_off: self.retry_backoff,
                stop_by_mark,
                early_stop: self.early_stop,
                tell_end: self.tell_end,
            },
            request_on_syn: self.handshake == Handshake::Syn,
            reorder: self.reorder_window.or(env.base_rtt / 4),
            ecn,
            release: self.release,
            low_priority: (env.path_rate.bytes_in(env.base_rtt).get() as f64 * self.low_priority) as u64,
        }
    }

    fn receiver(&self, stop_by_mark: bool, env: &Env) -> ReceiverConfig {
        let (size_min, size_max) = self.sizes(env.framing.wire_min);
        ReceiverConfig {
            pacer: PacerConfig { jitter: self.jitter, around: self.jitter_around, size_min, size_max },
            period: self.update_period.set(),
            rtt_gain: self.rtt_gain,
            reorder: self.reorder_credits,
            recovery: self.recovery,
            stop_by_mark,
            end_margin: self.tell_end.then_some(self.end_margin),
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
    fn the_default_bucket_and_size_of_credits_are_the_papers() {
        let shaping = CreditParams { randomize_size: false, ..CreditParams::default() }
            .needs(false)
            .credits
            .unwrap()
            .shaping;
        assert_eq!(shaping, CreditShaping::PAPER);
    }

    #[test]
    fn the_share_of_credits_follows_from_84_bytes_or_from_the_mean_of_their_sizes() {
        let sizes = |randomize_size, size_min, mean_size| {
            let params = CreditParams { randomize_size, size_min, mean_size, ..CreditParams::default() };
            params.needs(false).credits.unwrap().shaping.credit
        };
        assert_eq!(sizes(true, 84, false), 84);
        assert_eq!(sizes(true, 84, true), 88);
        assert_eq!(sizes(true, 76, true), 84);
        assert_eq!(sizes(true, 83, true), 88, "87.5, rounded up");
        assert_eq!(sizes(false, 76, true), 84, "without random sizes all have 84 B");
    }
}
