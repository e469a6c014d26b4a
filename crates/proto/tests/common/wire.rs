//! Two ends of one flow on a virtual wire: delay, a line rate, loss, reordering, and the credit limiter of one
//! port. It drives the ends exactly as `endpoint.rs` says, checks them after every input against a model of the
//! byte stream, and runs until both are finished.

use super::stream::{Arrived, Do};
use clearway_proto::port::CreditLimiter;
use clearway_proto::{
    CreditNeeds, Cx, Endpoint, Entity, Env, Extra, Flags, Framing, Kind, Packet, Receiver, Rng, Sender,
    Stats, Transport,
};
use clearway_units::{Bytes, Rate, Span, Time};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

/// The wire and what happens on it.
#[derive(Clone, Debug)]
pub struct Wire {
    /// Rate of both network cards.
    pub rate: Rate,
    /// One-way delay.
    pub delay: Span,
    /// Probability that a packet of each kind is lost.
    pub loss: f64,
    /// Probability that a packet is delayed further, by up to `reorder_by`.
    pub reorder: f64,
    /// See `reorder`.
    pub reorder_by: Span,
    /// Whether the connection stands already.
    pub established: bool,
    /// All randomness derives from it.
    pub seed: u64,
    /// Packets to lose besides, by direction (to the receiver?) and position in it, counted from 0.
    pub lose: Vec<(bool, u64)>,
    /// What the application does, in order of time.
    pub script: Vec<(Time, Do)>,
    /// A run that lasts longer has failed.
    pub limit: Time,
}

impl Default for Wire {
    fn default() -> Wire {
        Wire {
            rate: Rate::gbps(10),
            delay: Span::from_us(5),
            loss: 0.0,
            reorder: 0.0,
            reorder_by: Span::from_us(20),
            established: false,
            seed: 1,
            lose: Vec::new(),
            script: vec![],
            limit: Time::ZERO + Span::from_secs(100),
        }
    }
}

/// What a run came to.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// When the last byte was delivered in order.
    pub delivered_at: Time,
    /// When both ends were finished.
    pub finished_at: Time,
    /// Bytes delivered.
    pub delivered: u64,
    /// Counters of the sender.
    pub sender: Stats,
    /// Counters of the receiver.
    pub receiver: Stats,
    /// Packets sent, by kind's name.
    pub kinds: BTreeMap<String, u64>,
    /// Credits that the limiter's queue dropped.
    pub credits_dropped: u64,
}

impl Wire {
    /// A wire on which the application writes `bytes` at once and closes.
    pub fn with_flow(bytes: u64) -> Wire {
        Wire { script: vec![(Time::ZERO, Do::Write(bytes)), (Time::ZERO, Do::Close)], ..Wire::default() }
    }

    /// What the ends know of this wire.
    pub fn env(&self) -> Env {
        let framing = Framing::ETHERNET;
        let once = |bytes: u32| self.rate.time_to_send(Bytes::new(bytes as u64));
        Env {
            line_rate: self.rate,
            path_rate: self.rate,
            base_rtt: self.delay * 2 + once(framing.wire_max()) + once(framing.wire_min),
            framing,
            established: self.established,
            host_flows: 0,
        }
    }

    /// Runs a flow of transport `T` over it.
    ///
    /// # Panics
    /// If a byte is delivered that did not arrive or not delivered though it did, an end breaks a rule of its
    /// interface, timers are left, or the run lasts too long.
    pub fn run<T: Transport>(&self, params: &T::Params) -> Outcome {
        let env = self.env();
        let mut run = Run {
            wire: self,
            now: Time::ZERO,
            queue: BinaryHeap::new(),
            packets: Vec::new(),
            free: Vec::new(),
            count: 0,
            sender: End::new(T::sender(params, &env), self.seed, Entity::Sender),
            receiver: End::new(T::receiver(params, &env), self.seed, Entity::Receiver),
            forward: Direction::default(),
            backward: Direction::default(),
            credits: T::needs(params).credits.map(|needs| CreditClass::new(self.rate, needs)),
            rng: Rng::stream(self.seed, Entity::Network, 0),
            arrived: Arrived::default(),
            written: 0,
            outcome: Outcome::default(),
        };
        run.go();
        run.outcome
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Event {
    Script(usize),
    ToReceiver(usize),
    ToSender(usize),
    SenderTimer,
    ReceiverTimer,
    SenderFree,
    CreditTokens,
}

struct End<E> {
    end: E,
    rng: Rng,
    stats: Stats,
    timer: Time,
}

impl<E: Endpoint> End<E> {
    fn new(end: E, seed: u64, entity: Entity) -> End<E> {
        End { end, rng: Rng::stream(seed, entity, 0), stats: Stats::default(), timer: Time::MAX }
    }

    fn with<R>(&mut self, now: Time, act: impl FnOnce(&mut E, &mut Cx<'_>) -> R) -> R {
        act(&mut self.end, &mut Cx { now, rng: &mut self.rng, stats: &mut self.stats })
    }
}

#[derive(Default)]
struct Direction {
    free_at: Time,
    count: u64,
}

/// The credit class of the one port.
struct CreditClass {
    limiter: CreditLimiter,
    queue: VecDeque<(Packet, Extra)>,
    cap: usize,
}

impl CreditClass {
    fn new(rate: Rate, needs: CreditNeeds) -> CreditClass {
        CreditClass {
            limiter: CreditLimiter::new(rate, needs.shaping),
            queue: VecDeque::new(),
            cap: needs.queue as usize,
        }
    }
}

struct Run<'a, S, R> {
    wire: &'a Wire,
    now: Time,
    queue: BinaryHeap<Reverse<(Time, u64, Event)>>,
    packets: Vec<(Packet, Extra)>,
    free: Vec<usize>,
    count: u64,
    sender: End<S>,
    receiver: End<R>,
    forward: Direction,
    backward: Direction,
    credits: Option<CreditClass>,
    rng: Rng,
    arrived: Arrived,
    written: u64,
    outcome: Outcome,
}

impl<S: Sender, R: Receiver> Run<'_, S, R> {
    fn go(&mut self) {
        for (index, (at, _)) in self.wire.script.iter().enumerate() {
            self.push(*at, Event::Script(index));
        }
        while let Some(Reverse((at, _, event))) = self.queue.pop() {
            assert!(at >= self.now && at <= self.wire.limit, "not finished at {at}: {:?}", self.outcome);
            self.now = at;
            self.handle(event);
            let finished = self.sender.end.is_finished() && self.receiver.end.is_finished();
            if finished && self.outcome.finished_at == Time::ZERO {
                self.outcome.finished_at = at;
            }
        }
        assert!(self.sender.end.is_finished(), "the sender is not finished but nothing will happen any more");
        assert!(
            self.receiver.end.is_finished(),
            "the receiver is not finished but nothing will happen any more"
        );
        assert_eq!(self.sender.end.next_timeout(), Time::MAX);
        assert_eq!(self.receiver.end.next_timeout(), Time::MAX);
        self.outcome.delivered = self.receiver.end.delivered();
        assert_eq!(self.outcome.delivered, self.written, "all bytes are delivered");
        (self.outcome.sender, self.outcome.receiver) = (self.sender.stats, self.receiver.stats);
    }

    fn push(&mut self, at: Time, event: Event) {
        self.count += 1;
        self.queue.push(Reverse((at, self.count, event)));
    }

    fn handle(&mut self, event: Event) {
        let now = self.now;
        match event {
            Event::Script(index) => {
                match self.wire.script[index].1 {
                    Do::Write(bytes) => {
                        self.written = self.written.saturating_add(bytes);
                        self.sender.with(now, |end, cx| end.write(bytes, cx));
                    }
                    Do::Close => self.sender.with(now, |end, cx| end.close(cx)),
                    Do::Truncate => self.written = self.sender.with(now, |end, cx| end.truncate(cx)),
                }
                self.after_sender();
            }
            Event::ToReceiver(handle) => {
                let (packet, extra) = self.packets[handle];
                self.free.push(handle);
                assert!(packet.kind().is_for_receiver());
                if packet.kind() == Kind::Data {
                    let range = packet.range();
                    self.arrived.add(range.start, range.end);
                }
                let before = self.receiver.end.delivered();
                self.receiver.with(now, |end, cx| end.handle_packet(&packet, &extra, cx));
                let after = self.receiver.end.delivered();
                assert!(
                    before <= after && after <= self.arrived.prefix(),
                    "bytes are delivered once, in order"
                );
                if after > before {
                    self.outcome.delivered_at = now;
                }
                self.after_receiver();
            }
            Event::ToSender(handle) => {
                let (packet, extra) = self.packets[handle];
                self.free.push(handle);
                assert!(!packet.kind().is_for_receiver());
                self.sender.with(now, |end, cx| end.handle_packet(&packet, &extra, cx));
                self.after_sender();
            }
            Event::SenderTimer => {
                if self.sender.timer <= now {
                    self.sender.timer = Time::MAX;
                    self.sender.with(now, |end, cx| end.handle_timeout(cx));
                    self.after_sender();
                    assert!(self.sender.end.next_timeout() > now, "a timer that fired is over");
                }
            }
            Event::ReceiverTimer => {
                if self.receiver.timer <= now {
                    self.receiver.timer = Time::MAX;
                    self.receiver.with(now, |end, cx| end.handle_timeout(cx));
                    self.after_receiver();
                    assert!(self.receiver.end.next_timeout() > now, "a timer that fired is over");
                }
            }
            Event::SenderFree => {
                self.transmit();
                self.after_sender();
            }
            Event::CreditTokens => self.pass_credits(),
        }
    }

    fn after_sender(&mut self) {
        let mut extra = Extra::default();
        while let Some(packet) = self.sender.with(self.now, |end, cx| end.poll_control(&mut extra, cx)) {
            self.send_forward(packet, extra, self.now);
        }
        self.transmit();
        let timer = self.sender.end.next_timeout();
        if timer != self.sender.timer {
            self.sender.timer = timer;
            if timer != Time::MAX {
                self.push(timer.max(self.now), Event::SenderTimer);
            }
        }
    }

    fn after_receiver(&mut self) {
        let mut extra = Extra::default();
        while let Some(packet) = self.receiver.with(self.now, |end, cx| end.poll_control(&mut extra, cx)) {
            self.send_backward(packet, extra);
        }
        let timer = self.receiver.end.next_timeout();
        if timer != self.receiver.timer {
            self.receiver.timer = timer;
            if timer != Time::MAX {
                self.push(timer.max(self.now), Event::ReceiverTimer);
            }
        }
    }

    /// Lets the sender's network card take a packet if it is free.
    fn transmit(&mut self) {
        if self.now < self.forward.free_at {
            return;
        }
        let packet = if self.sender.end.wants_transmit(self.now) {
            self.sender.with(self.now, |end, cx| end.poll_transmit(cx))
        } else if self.sender.end.wants_unscheduled() {
            self.sender.with(self.now, |end, cx| end.poll_unscheduled(cx))
        } else {
            return;
        };
        let packet = packet.expect("a packet was promised");
        assert_eq!(packet.wire, Framing::ETHERNET.wire(packet.payload()));
        assert!(packet.payload() > 0 && packet.range().end <= self.written);
        self.send_forward(packet, Extra::default(), self.now);
        self.push(self.forward.free_at, Event::SenderFree);
    }

    fn send_forward(&mut self, packet: Packet, extra: Extra, now: Time) {
        let done =
            self.forward.free_at.max(now) + self.wire.rate.time_to_send(Bytes::new(packet.wire as u64));
        if packet.kind() == Kind::Data {
            self.forward.free_at = done;
        }
        let position = self.forward.count;
        self.forward.count += 1;
        if let Some(at) = self.travel(&packet, (true, position), done) {
            let handle = self.store(packet, extra);
            self.push(at, Event::ToReceiver(handle));
        }
    }

    fn send_backward(&mut self, packet: Packet, extra: Extra) {
        match &mut self.credits {
            Some(class) if packet.is_credit() => {
                if class.queue.len() == class.cap {
                    self.outcome.credits_dropped += 1;
                    *self.outcome.kinds.entry("Credit".into()).or_default() += 1;
                } else {
                    class.queue.push_back((packet, extra));
                    self.pass_credits();
                }
            }
            _ => self.launch_backward(packet, extra),
        }
    }

    fn pass_credits(&mut self) {
        while let Some(class) = &mut self.credits {
            let Some(&(packet, extra)) = class.queue.front() else { return };
            if !class.limiter.take(packet.wire, self.now) {
                let at = class.limiter.ready_at(packet.wire, self.now);
                self.push(at, Event::CreditTokens);
                return;
            }
            class.queue.pop_front();
            self.launch_backward(packet, extra);
        }
    }

    fn launch_backward(&mut self, packet: Packet, extra: Extra) {
        let done =
            self.backward.free_at.max(self.now) + self.wire.rate.time_to_send(Bytes::new(packet.wire as u64));
        self.backward.free_at = done;
        let position = self.backward.count;
        self.backward.count += 1;
        if let Some(at) = self.travel(&packet, (false, position), done) {
            let handle = self.store(packet, extra);
            self.push(at, Event::ToSender(handle));
        }
    }

    /// When a packet arrives, or `None` if it is lost.
    fn travel(&mut self, packet: &Packet, place: (bool, u64), done: Time) -> Option<Time> {
        *self.outcome.kinds.entry(format!("{:?}", packet.kind())).or_default() += 1;
        let lost = self.rng.unit() < self.wire.loss || self.wire.lose.contains(&place);
        let late = self.rng.unit() < self.wire.reorder;
        let by = self.rng.span_up_to(self.wire.reorder_by);
        let extra = if late { by } else { Span::ZERO };
        (!lost).then_some(done + self.wire.delay + extra)
    }

    fn store(&mut self, packet: Packet, extra: Extra) -> usize {
        // What is not flagged is not carried: a transport must not rely on it.
        let extra = if packet.flags.has(Flags::EXTRA) { extra } else { Extra::default() };
        match self.free.pop() {
            Some(handle) => {
                self.packets[handle] = (packet, extra);
                handle
            }
            None => {
                self.packets.push((packet, extra));
                self.packets.len() - 1
            }
        }
    }
}
