//! One end of a flow with the things that its driver keeps for it, and the checks that its interface asks for.

use super::stream::Operation;
use crate::{
    AnyTransport, Cx, Endpoint, Entity, Env, Extra, Flags, Framing, Gauges, Kind, Order, Packet, Receiver,
    Rng, Sender, Stats,
};
use clearway_units::Time;

/// Most control packets that an end may send after one input.
const CONTROL_MAX: u32 = 10_000;
/// Most calls of a timer at one time.
const TIMEOUTS_MAX: u32 = 1_000;

/// One end of a flow. Its driver calls it through this type alone, so that every rule is checked at every call.
///
/// # Panics
/// Every method panics if the end breaks a rule of its interface.
pub struct End<E: ?Sized> {
    end: Box<E>,
    framing: Framing,
    rng: Rng,
    stats: Stats,
    /// Time of the last input.
    now: Time,
    /// Calls of the timer at that time.
    timeouts: u32,
    /// Control packets sent since the last input.
    control: u32,
    /// Counters of the packets that the end sent, to hold its own against.
    seen: Stats,
    /// Bytes that the application wrote and did not take back: a sending end.
    written: u64,
    /// What came beside the last input, until it has been returned.
    came: Extra,
}

impl End<dyn Sender> {
    /// A sending end of a transport.
    pub fn sender(transport: &AnyTransport, env: &Env, seed: u64) -> End<dyn Sender> {
        End::of_sender(transport.sender(env), env, seed)
    }

    /// A sending end that was built by hand.
    pub fn of_sender(end: Box<dyn Sender>, env: &Env, seed: u64) -> End<dyn Sender> {
        End::new(end, env, Rng::stream(seed, Entity::Sender, 0))
    }

    /// The application, or the oracle, acts.
    pub fn operate(&mut self, operation: Operation, now: Time) {
        self.begin(now);
        let mut cx = Cx { now, rng: &mut self.rng, stats: &mut self.stats };
        match operation {
            Operation::Write(bytes) => {
                self.written = self.written.saturating_add(bytes);
                self.end.write(bytes, &mut cx);
            }
            Operation::Close => self.end.close(&mut cx),
            Operation::Truncate => {
                let total = self.end.truncate(&mut cx);
                assert!(total <= self.written, "a flow does not grow when it is truncated");
                self.written = total;
            }
            Operation::SetRate(rate) => self.end.set_rate(rate, &mut cx),
        }
    }

    /// True if the end has data to send now, unscheduled or not.
    pub(super) fn wants_data(&self) -> bool {
        self.end.wants_transmit(self.now) || self.end.wants_unscheduled()
    }

    /// The place of the flow in an order: the lowest goes first.
    pub(super) fn key(&self, order: Order) -> u64 {
        match order {
            Order::InTurn => 0,
            Order::FewestRemaining => self.end.remaining(),
            Order::ByPriority => self.end.priority(),
        }
    }

    /// The next data packet that the end sends now: unscheduled data only if there is no other.
    pub fn poll_data(&mut self, now: Time) -> Option<Packet> {
        assert_eq!(now, self.now, "data is pulled after an input at the same time");
        let (wants, unscheduled) = (self.end.wants_transmit(now), self.end.wants_unscheduled());
        let mut cx = Cx { now, rng: &mut self.rng, stats: &mut self.stats };
        let packet = if wants || !unscheduled {
            self.end.poll_transmit(&mut cx)
        } else {
            self.end.poll_unscheduled(&mut cx)
        };
        assert_eq!(
            packet.is_some(),
            wants || unscheduled,
            "a packet is sent if and only if the end wants to"
        );
        let packet = packet?;
        self.count(&packet);
        Some(packet)
    }

    /// The number of bytes that the application wrote and did not take back.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// As [`Sender::acknowledged`].
    pub fn acknowledged(&self) -> u64 {
        self.end.acknowledged()
    }
}

impl End<dyn Receiver> {
    /// A receiving end of a transport.
    pub fn receiver(transport: &AnyTransport, env: &Env, seed: u64) -> End<dyn Receiver> {
        End::of_receiver(transport.receiver(env), env, seed)
    }

    /// A receiving end that was built by hand.
    pub fn of_receiver(end: Box<dyn Receiver>, env: &Env, seed: u64) -> End<dyn Receiver> {
        End::new(end, env, Rng::stream(seed, Entity::Receiver, 0))
    }

    /// As [`Receiver::delivered`].
    pub fn delivered(&self) -> u64 {
        self.end.delivered()
    }
}

impl<E: Endpoint + ?Sized> End<E> {
    fn new(end: Box<E>, env: &Env, rng: Rng) -> End<E> {
        End {
            end,
            framing: env.framing,
            rng,
            stats: Stats::default(),
            now: Time::ZERO,
            timeouts: 0,
            control: 0,
            seen: Stats::default(),
            written: 0,
            came: Extra::None,
        }
    }

    /// A packet arrives.
    pub fn handle_packet(&mut self, packet: &Packet, extra: &Extra, now: Time) {
        self.begin(now);
        if packet.flags.has(Flags::EXTRA) {
            self.came = *extra;
        }
        self.end.handle_packet(packet, extra, &mut Cx { now, rng: &mut self.rng, stats: &mut self.stats });
    }

    /// The timer fires, at its time or too early.
    pub fn handle_timeout(&mut self, now: Time) {
        let is_early = self.end.next_timeout() > now;
        let before = self.stats.clone();
        self.begin(now);
        self.timeouts += 1;
        assert!(self.timeouts <= TIMEOUTS_MAX, "the timer does not move on from {now}");
        self.end.handle_timeout(&mut Cx { now, rng: &mut self.rng, stats: &mut self.stats });
        assert!(!is_early || self.stats == before, "a timer that fires too early does no harm");
    }

    /// The next control packet that the end sends now.
    pub fn poll_control(&mut self, now: Time) -> Option<(Packet, Extra)> {
        assert_eq!(now, self.now, "control packets are polled after an input at the same time");
        let mut cx = Cx { now, rng: &mut self.rng, stats: &mut self.stats };
        let packet = self.end.poll_control(&mut self.came, &mut cx)?;
        self.control += 1;
        assert!(self.control <= CONTROL_MAX, "the end does not stop sending {:?}", packet.header);
        self.count(&packet);
        // Without the flag it is not carried, and no transport may rely on it.
        let is_flagged = packet.flags.has(Flags::EXTRA);
        let extra = if is_flagged { std::mem::take(&mut self.came) } else { Extra::None };
        Some((packet, extra))
    }

    /// Checks the rules that hold whenever the end has been polled for all that it sends.
    pub fn check(&mut self) {
        let (stats, seen) = (&self.stats, &self.seen);
        let all =
            stats.data_packets >= seen.data_packets && stats.rare().retransmits >= seen.rare().retransmits;
        assert!(all, "each packet sent is counted: {stats:?}, but {seen:?}");
        let Gauges { cwnd, rate, srtt } = self.end.gauges();
        assert!(
            [cwnd, rate, srtt].iter().all(|gauge| gauge.is_nan() || *gauge >= 0.0),
            "{:?}",
            self.end.gauges()
        );
    }

    /// Checks the rules that hold when the end has sent all that it will send.
    pub fn check_finished(&self) {
        assert!(self.end.is_finished(), "the end is not finished, and nothing will happen any more");
        assert_eq!(self.end.next_timeout(), Time::MAX, "a timer of the end is left");
        // Until now a pacer may have held packets that were counted.
        let counts = |stats: &Stats| (stats.data_packets, stats.rare().retransmits, stats.credits_sent);
        assert_eq!(
            counts(&self.stats),
            counts(&self.seen),
            "the counters are those of the packets that were sent"
        );
    }

    /// As [`Endpoint::next_timeout`].
    pub fn next_timeout(&self) -> Time {
        self.end.next_timeout()
    }

    /// As [`Endpoint::is_finished`].
    pub fn is_finished(&self) -> bool {
        self.end.is_finished()
    }

    /// As [`Endpoint::gauges`].
    pub fn gauges(&self) -> Gauges {
        self.end.gauges()
    }

    /// The time of the last input.
    pub fn now(&self) -> Time {
        self.now
    }

    /// The counters of the end.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Opens the turn of data at a time at which there was no input: the NIC became free.
    pub(super) fn begin(&mut self, now: Time) {
        assert!(now >= self.now, "time does not run backwards");
        if now > self.now {
            self.timeouts = 0;
        }
        self.now = now;
        self.control = 0;
        self.came = Extra::None;
    }

    /// Counts a packet that the agent of the end's host made for it.
    pub(super) fn count_made(&mut self, packet: &Packet) {
        for stats in [&mut self.stats, &mut self.seen] {
            stats.credits_sent += packet.is_credit() as u64;
        }
    }

    fn count(&mut self, packet: &Packet) {
        // Data may leave as a control packet does: ExpressPass can release it into the NIC's queue at once.
        if packet.kind() == Kind::Data {
            assert!(packet.range().end <= self.written, "no byte is sent that was not written");
            assert!(
                packet.payload() <= self.framing.payload_max,
                "no packet is larger than the framing allows"
            );
            assert!(packet.wire >= self.framing.wire(packet.payload()), "a packet has its headers");
        }
        assert!(packet.wire > 0, "a packet has a size");
        // A pacer holds packets that carry the time at which it got them.
        assert!(packet.sent <= self.now, "a packet says when it was sent");
        self.seen.data_packets += (packet.kind() == Kind::Data) as u64;
        if packet.flags.has(Flags::RETRANSMIT) {
            self.seen.rare_mut().retransmits += 1;
        }
        self.seen.credits_sent += packet.is_credit() as u64;
    }
}
