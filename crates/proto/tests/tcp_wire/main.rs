//! Both ends of TCP flows over a virtual wire that delays, drops, reorders, queues and marks.

mod anything;
mod loss_free;
mod marks;
mod recovery;
#[path = "../common/stream.rs"]
mod stream;

use clearway_proto::port::{MarkAt, StepMarker};
use clearway_proto::tcp::{cubic::Cubic, dctcp::Dctcp, newreno::NewReno};
use clearway_proto::{
    Cx, Endpoint, Entity, Env, Extra, Flags, Framing, Header, Kind, Packet, Receiver, Rng, Sender, Stats,
    Transport,
};
use clearway_schema::Declared;
use clearway_units::{Bytes, Rate, Span, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use stream::{Arrived, Do};

/// What happens to packets on their way. Data passes one queue; acknowledgements only take time.
#[derive(Clone, Copy, Debug)]
struct Wire {
    /// One way.
    delay: Span,
    /// Up to this much is added at random: packets overtake each other.
    jitter: Span,
    /// Share of packets lost, in each direction.
    loss: f64,
    /// Rate of the queue; none: no queue.
    rate: Option<Rate>,
    /// Room in the queue, in bytes.
    buffer: u64,
    /// Marking threshold, in bytes.
    k: u64,
}

impl Wire {
    const IDEAL: Wire = Wire {
        delay: Span::from_us(50),
        jitter: Span::ZERO,
        loss: 0.0,
        rate: None,
        buffer: u64::MAX,
        k: u64::MAX,
    };
}

/// A flow with what a bystander sees of it.
struct Flow<S, R> {
    sender: S,
    receiver: R,
    stats: [Stats; 2],
    actions: Vec<(Time, Do)>,
    written: u64,
    /// What the receiver must deliver.
    arrived: Arrived,
    finished_at: [Option<Time>; 2],
    /// Every data packet that was sent: when, first byte, payload, flags.
    sent: Vec<(Time, u64, u32, Flags)>,
    acks: Vec<Packet>,
}

#[derive(Clone, Copy)]
struct Arrival {
    flow: usize,
    packet: Packet,
    extra: Extra,
}

/// Decides the fate of a data packet by its flow, its first byte, and how often that was sent before.
type Fate = Box<dyn FnMut(usize, &Packet) -> bool>;

struct World<S, R> {
    now: Time,
    wire: Wire,
    rng: Rng,
    flows: Vec<Flow<S, R>>,
    arrivals: Vec<Arrival>,
    pending: BinaryHeap<Reverse<(Time, usize)>>,
    queue_free: Time,
    /// Longest queue met by a packet since `measure_from`, and the sum and count of what was met.
    queue_max: u64,
    queue_sum: u64,
    queue_met: u64,
    measure_from: Time,
    drop_if: Fate,
}

impl<S: Sender, R: Receiver> World<S, R> {
    fn new(wire: Wire, seed: u64) -> World<S, R> {
        World {
            now: Time::ZERO,
            wire,
            rng: Rng::stream(seed, Entity::Network, 0),
            flows: Vec::new(),
            arrivals: Vec::new(),
            pending: BinaryHeap::new(),
            queue_free: Time::ZERO,
            queue_max: 0,
            queue_sum: 0,
            queue_met: 0,
            measure_from: Time::ZERO,
            drop_if: Box::new(|_, _| false),
        }
    }

    fn add(&mut self, sender: S, receiver: R, mut actions: Vec<(Time, Do)>) {
        actions.reverse();
        self.flows.push(Flow {
            sender,
            receiver,
            stats: [Stats::default(); 2],
            actions,
            written: 0,
            arrived: Arrived::default(),
            finished_at: [None; 2],
            sent: Vec::new(),
            acks: Vec::new(),
        });
    }

    fn carry(&mut self, flow: usize, mut packet: Packet, extra: Extra) {
        let to_receiver = packet.kind().is_for_receiver();
        if self.rng.unit() < self.wire.loss || (to_receiver && (self.drop_if)(flow, &packet)) {
            return;
        }
        let mut leaves = self.now;
        if let (Some(rate), true) = (self.wire.rate, to_receiver) {
            let queued = rate.bytes_in(self.queue_free.saturating_since(self.now)).get();
            if queued + packet.wire as u64 > self.wire.buffer {
                return;
            }
            let marker = StepMarker { threshold: self.wire.k, at: MarkAt::Enqueue };
            if marker.marks(queued) && packet.flags.has(Flags::ECN_CAPABLE) {
                packet.flags.set(Flags::ECN_CE);
            }
            if self.now >= self.measure_from {
                self.queue_max = self.queue_max.max(queued);
                self.queue_sum += queued;
                self.queue_met += 1;
            }
            self.queue_free =
                self.queue_free.max(self.now) + rate.time_to_send(Bytes::new(packet.wire as u64));
            leaves = self.queue_free;
        }
        let at = leaves + self.wire.delay + self.rng.span_up_to(self.wire.jitter);
        self.pending.push(Reverse((at, self.arrivals.len())));
        self.arrivals.push(Arrival { flow, packet, extra });
    }

    /// What the driver owes both ends of a flow after each input.
    fn drive(&mut self, flow: usize) {
        let now = self.now;
        let mut rng = Rng::stream(0, Entity::Sender, 0);
        loop {
            let mut out = Vec::new();
            let f = &mut self.flows[flow];
            let mut extra = Extra::default();
            let mut cx = Cx { now, rng: &mut rng, stats: &mut f.stats[1] };
            while let Some(packet) = f.receiver.poll_control(&mut extra, &mut cx) {
                assert!(!packet.kind().is_for_receiver());
                f.acks.push(packet);
                out.push((packet, extra));
            }
            let mut cx = Cx { now, rng: &mut rng, stats: &mut f.stats[0] };
            while let Some(packet) = f.sender.poll_control(&mut extra, &mut cx) {
                out.push((packet, extra));
            }
            while f.sender.wants_transmit(now) {
                let packet = f.sender.poll_transmit(&mut cx).expect("wants_transmit promised it");
                assert!(packet.range().end <= f.written, "sent what was not written");
                f.sent.push((now, packet.range().start, packet.payload(), packet.flags));
                out.push((packet, extra));
            }
            assert!(f.sender.poll_transmit(&mut cx).is_none(), "wants_transmit denied it");
            if out.is_empty() {
                break;
            }
            out.into_iter().for_each(|(packet, extra)| self.carry(flow, packet, extra));
        }
        let f = &mut self.flows[flow];
        for (end, finished) in [f.sender.is_finished(), f.receiver.is_finished()].into_iter().enumerate() {
            assert!(finished || f.finished_at[end].is_none(), "an end can't be unfinished again");
            if finished && f.finished_at[end].is_none() {
                f.finished_at[end] = Some(now);
            }
        }
    }

    /// Runs until nothing is left to happen or `until`; returns whether something is left.
    fn run(&mut self, until: Time) -> bool {
        let mut rng = Rng::stream(0, Entity::Receiver, 0);
        for steps in 0u64.. {
            assert!(steps < 20_000_000, "the flow does not come to an end");
            let mut at = self.pending.peek().map_or(Time::MAX, |Reverse((at, _))| *at);
            let mut who = None;
            for (index, flow) in self.flows.iter().enumerate() {
                let action = flow.actions.last().map_or(Time::MAX, |(at, _)| *at);
                for (what, time) in
                    [(0, action), (1, flow.sender.next_timeout()), (2, flow.receiver.next_timeout())]
                {
                    if time < at {
                        (at, who) = (time, Some((index, what)));
                    }
                }
            }
            if at == Time::MAX {
                return false;
            }
            if at > until {
                self.now = until;
                return true;
            }
            assert!(at >= self.now, "a timer in the past: {at} at {}", self.now);
            self.now = at;
            let now = at;
            let flow = match who {
                None => {
                    let Reverse((_, index)) = self.pending.pop().expect("peeked");
                    let Arrival { flow, packet, extra } = self.arrivals[index];
                    let f = &mut self.flows[flow];
                    if packet.kind().is_for_receiver() {
                        let mut cx = Cx { now, rng: &mut rng, stats: &mut f.stats[1] };
                        f.receiver.handle_packet(&packet, &extra, &mut cx);
                        if packet.payload() > 0 {
                            let range = packet.range();
                            f.arrived.add(range.start, range.end);
                        }
                        let prefix = f.arrived.prefix();
                        assert_eq!(f.receiver.delivered(), prefix, "delivered is not what arrived in order");
                    } else {
                        let mut cx = Cx { now, rng: &mut rng, stats: &mut f.stats[0] };
                        f.sender.handle_packet(&packet, &extra, &mut cx);
                    }
                    flow
                }
                Some((flow, what)) => {
                    let f = &mut self.flows[flow];
                    let mut cx = Cx { now, rng: &mut rng, stats: &mut f.stats[(what == 2) as usize] };
                    match what {
                        // All that the application does at one time is one input.
                        0 => {
                            while f.actions.last().is_some_and(|(at, _)| *at == now) {
                                let (_, action) = f.actions.pop().expect("seen");
                                match action {
                                    Do::Write(bytes) => {
                                        f.written += bytes;
                                        f.sender.write(bytes, &mut cx);
                                    }
                                    Do::Close => f.sender.close(&mut cx),
                                    Do::Truncate => f.written = f.sender.truncate(&mut cx),
                                }
                            }
                        }
                        1 => f.sender.handle_timeout(&mut cx),
                        _ => f.receiver.handle_timeout(&mut cx),
                    }
                    flow
                }
            };
            self.drive(flow);
        }
        unreachable!()
    }

    /// Runs to the end, and checks that all arrived and that both ends know.
    fn finish(&mut self) {
        let left = self.run(Time::ZERO + Span::from_secs(24 * 3600));
        assert!(!left, "not finished after a day");
        for flow in &self.flows {
            assert_eq!(flow.receiver.delivered(), flow.written);
            assert!(flow.sender.is_finished(), "the sender");
            assert!(flow.receiver.is_finished(), "the receiver");
            assert_eq!(flow.sender.next_timeout(), Time::MAX);
            assert_eq!(flow.receiver.next_timeout(), Time::MAX);
        }
    }
}

const MSS: u64 = 1460;

fn env() -> Env {
    Env {
        line_rate: Rate::gbps(10),
        path_rate: Rate::gbps(10),
        base_rtt: Span::from_us(100),
        framing: Framing::ETHERNET,
        established: false,
        host_flows: 0,
    }
}

fn params<T: Transport>(values: &[(&str, &str)]) -> T::Params {
    let mut params = T::Params::default();
    values.iter().for_each(|(name, value)| params.set(name, value).unwrap_or_else(|e| panic!("{e}")));
    params
}

fn at_us(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

type WorldOf<T> = World<<T as Transport>::Sender, <T as Transport>::Receiver>;

fn world<T: Transport>(
    values: &[(&str, &str)],
    wire: Wire,
    seed: u64,
    flows: &[Vec<(Time, Do)>],
) -> WorldOf<T> {
    let params = params::<T>(values);
    let mut world = World::new(wire, seed);
    for actions in flows {
        world.add(T::sender(&params, &env()), T::receiver(&params, &env()), actions.clone());
    }
    world
}

fn one_write(bytes: u64) -> Vec<(Time, Do)> {
    vec![(Time::ZERO, Do::Write(bytes)), (Time::ZERO, Do::Close)]
}

/// A world with one flow of `bytes`, whose data packets number `drops` (from 0, in order of sending) are lost.
fn with_drops<T: Transport>(values: &[(&str, &str)], bytes: u64, drops: &'static [usize]) -> WorldOf<T> {
    let mut world = world::<T>(values, Wire::IDEAL, 1, &[one_write(bytes)]);
    let mut count = 0;
    world.drop_if = Box::new(move |_, packet| {
        count += (packet.kind() == Kind::Data) as usize;
        packet.kind() == Kind::Data && drops.contains(&(count - 1))
    });
    world
}
