//! The sending end.

use super::params::NdpParams;
use super::parking::PARKED;
use crate::endpoint::{Cx, Endpoint, Env, Gauges, Sender};
use crate::entropy::Feedback;
use crate::numbered::{Outgoing, Segment};
use crate::packet::{Extra, Flags, Header, Packet};
use crate::tag::Tag;
use clearway_units::{Span, Time};
use serde::{Deserialize, Serialize};

/// The timeout doubles at most this many times.
const BACKOFF_MAX: u32 = 6;
/// The number of timeouts without any answer after which a sender that waits for a pull sends a packet unasked.
const PATIENCE: u32 = 3;
/// The number of answers from which a sender judges its paths.
const JUDGED: u32 = 12;

/// The sending end of a flow.
#[derive(Debug, Serialize, Deserialize)]
pub struct NdpSender {
    out: Outgoing,
    /// True if each packet has the size of a full one on the wire.
    full_frames: bool,
    /// The packets in the first window.
    window: u32,
    /// The packets of the first window that have not been sent. It is for new packets alone: one that is sent again takes a
    /// pull.
    unasked: u32,
    /// The packets that may be sent by pulls.
    budget: u32,
    /// The number of the last pull.
    pulled: u32,
    /// The number of answers that tell of a pull that has come or will, less the pulls that have come.
    expected: i32,
    /// The packets that came back and wait for a pull that others earn.
    withheld: u32,
    /// The last answers, the newest in the lowest bit: true for one that a packet arrived whole.
    answers: u16,
    /// The number of answers, up to twelve.
    answered: u32,
    rtt: Rtt,
    backoff: u32,
    /// The time of the last answer.
    heard: Time,
    timer: Time,
    /// True if the sender shall ask for the number of the last pull.
    asks: bool,
}

/// The estimate of the round-trip time.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Rtt {
    /// The mean and the deviation, once there was a measurement.
    srtt: Span,
    mdev: Span,
    /// The least timeout.
    floor: Span,
}

impl Rtt {
    fn sample(&mut self, rtt: Span) {
        if self.srtt.is_zero() {
            (self.srtt, self.mdev) = (rtt, rtt / 2);
            return;
        }
        let error = rtt.saturating_sub(self.srtt).max(self.srtt.saturating_sub(rtt));
        self.mdev = Span::from_ps(self.mdev.as_ps() - self.mdev.as_ps() / 4 + error.as_ps() / 4);
        self.srtt = Span::from_ps(self.srtt.as_ps() - self.srtt.as_ps() / 8 + rtt.as_ps() / 8);
    }

    fn timeout(&self) -> Span {
        (self.srtt + self.mdev * 4).max(self.floor)
    }
}

impl NdpSender {
    pub(super) fn new(params: &NdpParams, env: &Env) -> NdpSender {
        let window = params.window(env.path_rate, env.base_rtt, &env.framing);
        let floor = params.rto_min.or(env.base_rtt.saturating_mul(10)).max(Span::from_ns(1));
        NdpSender {
            out: Outgoing::new(env.framing, params.paths, params.path_values.get()),
            full_frames: params.full_frames,
            window,
            unasked: window,
            budget: 0,
            pulled: 0,
            expected: 0,
            withheld: 0,
            answers: 0,
            answered: 0,
            rtt: Rtt { srtt: Span::ZERO, mdev: Span::ZERO, floor },
            backoff: 0,
            heard: Time::ZERO,
            timer: Time::MAX,
            asks: false,
        }
    }

    /// Returns true if the sender has something to send, and may.
    fn may_send(&self) -> bool {
        self.budget > 0 && self.out.has_data() || self.unasked > 0 && self.out.has_new()
    }

    fn timeout(&self) -> Span {
        self.rtt.timeout().saturating_mul(1 << self.backoff)
    }

    /// Sees to it that the timer runs if the sender waits for anything. It may run for longer than needed.
    fn arm(&mut self, now: Time) {
        if self.is_finished() {
            (self.timer, self.asks) = (Time::MAX, false);
        } else if self.timer == Time::MAX && self.out.is_pending() {
            self.timer = now.saturating_add(self.timeout());
        }
    }

    /// Lets more packets leave, up to a window at once.
    fn grant(&mut self, packets: u32) {
        self.budget = self.budget.saturating_add(packets).min(self.window);
    }

    /// The number of the last pull is heard.
    fn pull(&mut self, number: u32) {
        // Pulls that were lost count with the next one; one that comes late counts for nothing.
        let more = number.wrapping_sub(self.pulled);
        if more <= u32::MAX / 2 {
            self.pulled = number;
            self.expected = self.expected.saturating_sub_unsigned(more);
            self.grant(more);
        }
    }

    /// An answer tells what became of a packet.
    fn answer(&mut self, entropy: Option<u16>, feedback: Feedback, now: Time) {
        self.out.feedback(entropy, feedback, now);
        let is_whole = matches!(feedback, Feedback::Good | Feedback::Ecn);
        self.answers = self.answers << 1 | u16::from(is_whole);
        self.answered = (self.answered + 1).min(JUDGED);
    }

    /// A packet came back. It is sent again at once if no pull is to be expected, or if its path was worse than others; else it
    /// takes a pull that others earn.
    fn bounce(&mut self, psn: u32, entropy: Option<u16>, now: Time) {
        if !self.out.flight.lose(psn) {
            return;
        }
        self.answer(entropy, Feedback::Bounce, now);
        let whole = (self.answers & ((1 << JUDGED) - 1)).count_ones();
        let is_path = whole * 3 >= self.answered;
        let is_alone = self.out.flight.waiting() == 0 && self.expected <= 0;
        if is_path || is_alone {
            self.grant(1);
        } else {
            self.withheld += 1;
        }
    }

    /// Nothing was heard for a timeout, while the sender waits for a pull.
    fn break_silence(&mut self) {
        if self.withheld > 0 || self.backoff >= PATIENCE {
            self.withheld = self.withheld.saturating_sub(1);
            self.grant(1);
        } else {
            self.asks = true;
        }
    }

    fn size(&self, len: u32) -> u32 {
        let framing = self.out.framing();
        if self.full_frames { framing.wire_max() } else { framing.wire(len) }
    }
}

impl Endpoint for NdpSender {
    fn handle_packet(&mut self, packet: &Packet, _: &Extra, cx: &mut Cx<'_>) {
        let (now, entropy) = (cx.now, packet.tag().entropy);
        match packet.header {
            Header::PulledAck { next, psn, pull, .. } => {
                let rtt = self.out.flight.round_trip(psn, now);
                if self.out.flight.arrived(psn) {
                    rtt.into_iter().for_each(|rtt| self.rtt.sample(rtt));
                    let marked = packet.flags.has(Flags::ECN_ECHO);
                    self.answer(entropy, if marked { Feedback::Ecn } else { Feedback::Good }, now);
                    self.expected += i32::from(!packet.flags.has(PARKED));
                    self.backoff = 0;
                }
                self.out.flight.arrived_below(next);
                self.pull(pull);
            }
            Header::PulledNack { psn, pull, .. } => {
                if self.out.flight.lose(psn) {
                    self.answer(entropy, Feedback::Nack, now);
                    self.expected += i32::from(!packet.flags.has(PARKED));
                    self.backoff = 0;
                }
                self.pull(pull);
            }
            Header::Pull { pull, .. } => self.pull(pull),
            Header::PulledData { psn, .. } if packet.flags.has(Flags::RETURNED) => {
                self.bounce(psn, entropy, now)
            }
            _ => return,
        }
        self.heard = now;
        self.arm(now);
    }

    fn handle_timeout(&mut self, cx: &mut Cx<'_>) {
        let now = cx.now;
        if now < self.timer {
            return;
        }
        self.timer = Time::MAX;
        let after = self.timeout();
        let lost = self.out.expire(after, now);
        let waits = self.out.flight.waiting() == 0 && !self.may_send() && self.out.has_data();
        if lost > 0 {
            cx.stats.rare_mut().timeouts += 1;
            self.backoff = (self.backoff + 1).min(BACKOFF_MAX);
            // No receiver has heard of the packets, so none pulls for them.
            self.grant(lost);
        } else if waits && self.heard.saturating_add(after) <= now {
            self.break_silence();
            self.backoff = (self.backoff + 1).min(BACKOFF_MAX);
        }
        self.timer = self.out.expires_at(self.timeout(), now);
    }

    fn poll_control(&mut self, _: &mut Extra, cx: &mut Cx<'_>) -> Option<Packet> {
        if !std::mem::take(&mut self.asks) {
            return None;
        }
        Some(self.out.request(self.pulled, self.pulled, cx))
    }

    fn next_timeout(&self) -> Time {
        self.timer
    }

    fn is_finished(&self) -> bool {
        self.out.is_finished()
    }

    fn gauges(&self) -> Gauges {
        let srtt = if self.rtt.srtt.is_zero() { f64::NAN } else { self.rtt.srtt.as_secs_f64() };
        Gauges { srtt, ..Gauges::NONE }
    }
}

impl Sender for NdpSender {
    fn wants_transmit(&self, _: Time) -> bool {
        self.may_send()
    }

    fn poll_transmit(&mut self, cx: &mut Cx<'_>) -> Option<Packet> {
        if !self.wants_transmit(cx.now) {
            return None;
        }
        let window = self.window.into();
        let (segment, entropy) = self.out.send(self.budget > 0, |paths| paths.with_first_window(window), cx);
        if segment.again || self.unasked == 0 {
            self.budget -= 1;
        } else {
            self.unasked -= 1;
        }
        self.arm(cx.now);
        let Segment { psn, offset, len, .. } = segment;
        let header = Header::PulledData { offset, psn, pull: self.pulled, target: self.pulled };
        let packet = Packet::data(header, len, self.size(len), cx.now).with_flags(self.out.flags(&segment));
        Some(packet.with_tag(Tag { lane: 0, entropy: Some(entropy) }))
    }

    fn remaining(&self) -> u64 {
        self.out.remaining()
    }

    fn write(&mut self, bytes: u64, cx: &mut Cx<'_>) {
        self.out.write(bytes);
        self.arm(cx.now);
    }

    fn close(&mut self, cx: &mut Cx<'_>) {
        self.out.close();
        self.arm(cx.now);
    }

    fn truncate(&mut self, cx: &mut Cx<'_>) -> u64 {
        let bytes = self.out.truncate();
        self.close(cx);
        bytes
    }

    fn acknowledged(&self) -> u64 {
        self.out.flight.acknowledged()
    }
}
