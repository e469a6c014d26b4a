//! Two hosts with flows from one to the other, in virtual time.

use super::end::End;
use super::network::{Departure, Fate, Network, Way};
use super::port::{Credits, Port, QueueSeen, Travelling};
use super::stream::{Operation, Stream};
use crate::{
    AnyShim, AnyTransport, Entity, Env, Extra, Header, Kind, Packet, Receiver, Rng, Sender, Shim, ShimEnv,
    ShimStats, Transport,
};
use clearway_units::{Bytes, Span, Time};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

/// Most steps of a run at one time: more mean that the ends keep each other busy without letting time pass.
const STEPS_AT_ONE_TIME_MAX: u32 = 1_000_000;

/// An end of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// The sending end.
    Sender,
    /// The receiving end.
    Receiver,
}

/// A packet as it left its end, or as it arrived.
#[derive(Clone, Copy, Debug)]
pub struct Logged {
    /// The time.
    pub at: Time,
    /// The direction of the packet.
    pub way: Way,
    /// True at its arrival, false at its departure.
    pub arrived: bool,
    /// The packet.
    pub packet: Packet,
    /// The data beside it, if it is flagged [`Flags::EXTRA`](crate::Flags::EXTRA).
    pub extra: Extra,
}

/// A flow with everything that a bystander saw of it.
pub struct Flow {
    /// The sending end.
    pub sender: End<dyn Sender>,
    /// The receiving end.
    pub receiver: End<dyn Receiver>,
    /// The times at which the sending and the receiving end were first finished.
    pub finished_at: [Option<Time>; 2],
    /// The time at which the newest byte was delivered.
    pub delivered_at: Time,
    /// Every packet at its departure and at its arrival, in order of time, if [`Pair::log`] is set.
    pub log: Vec<Logged>,
    /// Credits that arrived at the sending end.
    pub credits_arrived: u64,
    stream: Stream,
    operations: VecDeque<(Time, Operation)>,
    /// Packets of the flow that are on their way.
    in_flight: u64,
    /// A packet was forged, so that the ends need not agree any more.
    forged: bool,
    /// The shim was told that the flow is over.
    forgotten: bool,
}

impl Flow {
    /// The data packets of the log at their departure.
    pub fn data_sent(&self) -> impl Iterator<Item = &Logged> {
        self.left(Way::ToReceiver).filter(|logged| logged.packet.kind() == Kind::Data)
    }

    /// The packets of the log that left in a direction.
    pub fn left(&self, way: Way) -> impl Iterator<Item = &Logged> {
        self.log.iter().filter(move |logged| logged.way == way && !logged.arrived)
    }

    /// The packets of the log that arrived in a direction.
    pub fn arrived(&self, way: Way) -> impl Iterator<Item = &Logged> {
        self.log.iter().filter(move |logged| logged.way == way && logged.arrived)
    }
}

type Script = Box<dyn FnMut(&Departure<'_>) -> Fate>;

/// Two hosts with flows from one to the other. The [module](super) has an example.
pub struct Pair {
    /// The present time.
    pub now: Time,
    /// The flows, in the order in which they were added.
    pub flows: Vec<Flow>,
    /// True to log every packet of every flow; set it before the run.
    pub log: bool,
    /// True to check what TCP promises and not every transport does: receivers deliver every byte before which none is
    /// missing, and an end that is finished stays so.
    pub strict: bool,
    /// The number of packets of each kind that left their hosts.
    pub kinds: BTreeMap<Kind, u64>,
    network: Network,
    env: Env,
    rng: Rng,
    script: Option<Script>,
    ways: [Direction; 2],
    credits: Option<Credits>,
    shim: Option<AnyShim>,
    events: BinaryHeap<Reverse<(Time, u8, u64, Event)>>,
    pushed: u64,
    travelling: Vec<Travelling>,
    free: Vec<usize>,
    /// The flow whose turn it is at the sending host's network card.
    turn: usize,
    steps_now: u32,
}

/// One direction of the network at work.
struct Direction {
    /// The time at which the network card of its first host is free.
    card_free_at: Time,
    departed: u64,
    /// Fates of the packets that leave next.
    next: VecDeque<Fate>,
    port: Option<Port>,
}

/// Something that happens in the network, by the number of a flow or of a travelling packet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Event {
    Arrive(Way, usize),
    /// The packet has left its card for the port.
    ReachPort(Way, usize),
    /// The sending host's network card may be free.
    CardFree,
    /// The port may send.
    PortFree(Way),
    /// A credit may leave.
    CreditReady,
}

/// The next step of a pair: the part that is due.
#[derive(Clone, Copy, Debug)]
enum Due {
    Network,
    Application(usize),
    Timer(usize, Side),
    Shim,
    Mechanism(Way),
}

impl Pair {
    /// Makes two hosts without flows.
    pub fn new(network: Network) -> Pair {
        let direction = |wire: &super::Wire| Direction {
            card_free_at: Time::ZERO,
            departed: 0,
            next: VecDeque::new(),
            port: wire.port.map(Port::new),
        };
        Pair {
            now: Time::ZERO,
            flows: Vec::new(),
            log: false,
            strict: false,
            kinds: BTreeMap::new(),
            env: network.env(),
            rng: Rng::stream(network.seed, Entity::Network, 0),
            script: None,
            ways: [direction(&network.to_receiver), direction(&network.to_sender)],
            credits: None,
            shim: None,
            events: BinaryHeap::new(),
            pushed: 0,
            travelling: Vec::new(),
            free: Vec::new(),
            turn: 0,
            steps_now: 0,
            network,
        }
    }

    /// Adds a flow of a transport, with the operations of its application in order of time, and answers its number. The
    /// network gets what the transport needs of it: a limit on credits, a mechanism at the port on the way of data, and
    /// a shim at the receiving host.
    pub fn add(
        &mut self,
        transport: &AnyTransport,
        operations: impl IntoIterator<Item = (Time, Operation)>,
    ) -> usize {
        let needs = transport.needs();
        if let Some(needs) = needs.credits {
            self.credits.get_or_insert_with(|| Credits::new(self.network.line_rate, needs));
        }
        if self.shim.is_none() {
            let env = ShimEnv { line_rate: self.network.line_rate, framing: self.network.framing };
            self.shim = transport.shim(&env);
        }
        if let Some(port) = &mut self.ways[Way::ToReceiver as usize].port
            && port.mechanism.is_none()
        {
            port.mechanism = transport.mechanism().map(|config| config.build(port.rate()));
        }
        let oracle = needs.oracle.then_some((Time::ZERO, Operation::SetRate(self.network.line_rate)));
        self.add_ends(
            transport.sender(&self.env).into_dyn(),
            transport.receiver(&self.env).into_dyn(),
            oracle.into_iter().chain(operations),
        )
    }

    /// Adds a flow of a transport with these parameters, as [`Pair::add`] does for one that is chosen by name, but
    /// without asking the network for anything.
    pub fn add_typed<T: Transport>(
        &mut self,
        params: &T::Params,
        operations: impl IntoIterator<Item = (Time, Operation)>,
    ) -> usize
    where
        T::Sender: 'static,
        T::Receiver: 'static,
    {
        let (sender, receiver) = (T::sender(params, &self.env), T::receiver(params, &self.env));
        self.add_ends(Box::new(sender), Box::new(receiver), operations)
    }

    /// Adds a flow whose ends were built by hand, with the knowledge of [`Network::env`].
    pub fn add_ends(
        &mut self,
        sender: Box<dyn Sender>,
        receiver: Box<dyn Receiver>,
        operations: impl IntoIterator<Item = (Time, Operation)>,
    ) -> usize {
        let operations: VecDeque<_> = operations.into_iter().collect();
        assert!(operations.iter().is_sorted_by_key(|(at, _)| *at), "operations stand in order of time");
        let seed = self.network.seed.wrapping_add(self.flows.len() as u64);
        self.flows.push(Flow {
            sender: End::of_sender(sender, &self.env, seed),
            receiver: End::of_receiver(receiver, &self.env, seed),
            finished_at: [None; 2],
            delivered_at: Time::ZERO,
            log: Vec::new(),
            credits_arrived: 0,
            stream: Stream::default(),
            operations,
            in_flight: 0,
            forged: false,
            forgotten: false,
        });
        self.flows.len() - 1
    }

    /// The knowledge that the ends have of the network.
    pub fn env(&self) -> &Env {
        &self.env
    }

    /// Asks a script for the fate of every packet that leaves its host. The wires draw losses and delays besides.
    pub fn decide(&mut self, script: impl FnMut(&Departure<'_>) -> Fate + 'static) {
        self.script = Some(Box::new(script));
    }

    /// Sets the fate of the next packet that leaves in a direction; several calls set those of several packets.
    pub fn decide_next(&mut self, way: Way, fate: Fate) {
        self.ways[way as usize].next.push_back(fate);
    }

    /// The queue that packets met at the port in a direction since the last call of [`Pair::watch_queue`].
    pub fn queue_seen(&self, way: Way) -> QueueSeen {
        self.ways[way as usize].port.as_ref().map_or(QueueSeen::default(), |port| port.seen)
    }

    /// Forgets the queue that packets have met so far.
    pub fn watch_queue(&mut self) {
        self.ways
            .iter_mut()
            .filter_map(|way| way.port.as_mut())
            .for_each(|port| port.seen = QueueSeen::default());
    }

    /// The number of credits that found no room in the queue for credits.
    pub fn credits_dropped(&self) -> u64 {
        self.credits.as_ref().map_or(0, |credits| credits.dropped)
    }

    /// The counters of the shim at the receiving host, if the transport of the flows has one.
    pub fn shim_stats(&self) -> Option<ShimStats> {
        self.shim.as_ref().map(Shim::stats)
    }

    /// The application of a flow, or the oracle, acts now.
    pub fn operate(&mut self, flow: usize, operation: Operation) {
        self.flows[flow].sender.operate(operation, self.now);
        self.after_sender(flow);
    }

    /// Calls the timer of an end now, though its time has not come.
    pub fn fire_early(&mut self, flow: usize, side: Side) {
        match side {
            Side::Sender => {
                self.flows[flow].sender.handle_timeout(self.now);
                self.after_sender(flow);
            }
            Side::Receiver => {
                self.flows[flow].receiver.handle_timeout(self.now);
                self.after_receiver(flow);
            }
        }
    }

    /// Lets a packet of the log arrive now, once more: the network may duplicate and delay a packet as it likes.
    pub fn repeat(&mut self, flow: usize, logged: &Logged) {
        self.flows[flow].in_flight += 1;
        let Logged { way, packet, extra, .. } = *logged;
        self.arrive(way, Travelling { flow, packet, extra, late: Span::ZERO });
    }

    /// Lets a packet arrive now that nobody sent. From then on the ends need not agree on the stream, and only the
    /// rules of each end by itself are checked.
    pub fn inject(&mut self, flow: usize, packet: Packet, extra: Extra) {
        self.flows[flow].forged = true;
        self.flows[flow].in_flight += 1;
        let way = if packet.kind().is_for_receiver() { Way::ToReceiver } else { Way::ToSender };
        self.arrive(way, Travelling { flow, packet, extra, late: Span::ZERO });
    }

    /// Runs until nothing is left to happen, and checks that every flow came to its end.
    ///
    /// # Panics
    /// If a byte is missing, an end is not finished, a timer is left, or counters do not add up.
    pub fn finish(&mut self) {
        let left = self.run_until(self.network.limit);
        assert!(!left, "not finished at {}", self.now);
        for (number, flow) in self.flows.iter().enumerate() {
            if flow.forged {
                continue;
            }
            assert_eq!(
                flow.receiver.delivered(),
                flow.sender.written(),
                "flow {number}: all bytes are delivered"
            );
            flow.sender.check_finished();
            flow.receiver.check_finished();
            let sender = flow.sender.stats();
            assert_eq!(
                sender.credits_used + sender.credits_wasted,
                flow.credits_arrived,
                "flow {number}: each credit that arrived is used or wasted"
            );
        }
        if let Some(shim) = &self.shim {
            assert_eq!(shim.stats().held, 0, "the shim holds nothing of flows that have ended");
        }
    }

    /// Runs until nothing is left to happen or the time comes; answers true if something is left.
    pub fn run_until(&mut self, until: Time) -> bool {
        while let Some((at, due)) = self.next_due() {
            if at > until {
                self.now = until;
                return true;
            }
            self.steps_now = if at > self.now { 0 } else { self.steps_now + 1 };
            assert!(self.steps_now <= STEPS_AT_ONE_TIME_MAX, "the clock does not move on from {at}");
            self.now = at;
            self.act(due);
        }
        false
    }

    /// Lets this much time pass, whether something happens or not.
    pub fn advance(&mut self, span: Span) {
        let until = self.now + span;
        self.run_until(until);
        self.now = until;
    }

    /// The next thing to do. Of things of one time, packets that arrive come first, as in the simulator; a deadline
    /// that has passed means now.
    fn next_due(&self) -> Option<(Time, Due)> {
        let mut first = (Time::MAX, Due::Network);
        let consider = |first: &mut (Time, Due), at: Time, due: Due| {
            if at.max(self.now) < first.0 {
                *first = (at.max(self.now), due);
            }
        };
        if let Some(Reverse((at, ..))) = self.events.peek() {
            consider(&mut first, *at, Due::Network);
        }
        for (number, flow) in self.flows.iter().enumerate() {
            if let Some((at, _)) = flow.operations.front() {
                consider(&mut first, *at, Due::Application(number));
            }
            consider(&mut first, flow.sender.next_timeout(), Due::Timer(number, Side::Sender));
            consider(&mut first, flow.receiver.next_timeout(), Due::Timer(number, Side::Receiver));
        }
        if let Some(shim) = &self.shim {
            consider(&mut first, shim.next_timeout(), Due::Shim);
        }
        // A mechanism acts on packets that pass. Its timer may run for ever, and does not keep a run alive.
        if first.0 < Time::MAX {
            for way in [Way::ToReceiver, Way::ToSender] {
                let port = self.ways[way as usize].port.as_ref();
                if let Some(mechanism) = port.and_then(|port| port.mechanism.as_ref()) {
                    consider(&mut first, mechanism.next_timeout(), Due::Mechanism(way));
                }
            }
        }
        (first.0 < Time::MAX).then_some(first)
    }

    fn act(&mut self, due: Due) {
        let now = self.now;
        match due {
            Due::Network => {
                let Reverse((.., event)) = self.events.pop().expect("it was seen");
                self.happen(event);
            }
            // All operations of one time are one input.
            Due::Application(number) => {
                let flow = &mut self.flows[number];
                while let Some(&(_, operation)) = flow.operations.front().filter(|(at, _)| *at <= now) {
                    flow.operations.pop_front();
                    flow.sender.operate(operation, now);
                }
                self.after_sender(number);
            }
            Due::Timer(flow, side) => self.fire_early(flow, side),
            Due::Shim => {
                self.shim.as_mut().expect("it has a timer").handle_timeout(now);
                self.release_held();
            }
            Due::Mechanism(way) => {
                let port = self.ways[way as usize].port.as_mut().expect("it has a mechanism");
                let state = port.state(now);
                port.mechanism.as_mut().expect("it has a timer").on_timeout(state);
                self.send_cnps(way);
            }
        }
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Arrive(way, place) => {
                let item = self.take(place);
                self.arrive(way, item);
            }
            Event::ReachPort(way, place) => {
                let item = self.take(place);
                self.reach_port(way, item);
            }
            Event::CardFree => self.pull(),
            Event::PortFree(way) => self.drain_port(way),
            Event::CreditReady => self.pass_credits(),
        }
    }

    /// A packet arrives at its host.
    fn arrive(&mut self, way: Way, Travelling { flow: number, packet, extra, .. }: Travelling) {
        let now = self.now;
        let flow = &mut self.flows[number];
        flow.in_flight -= 1;
        if self.log {
            flow.log.push(Logged { at: now, way, arrived: true, packet, extra });
        }
        match way {
            Way::ToReceiver => {
                assert!(packet.kind().is_for_receiver(), "{:?} went to the receiver", packet.header);
                if let Some(shim) = &mut self.shim {
                    shim.handle_incoming(number as u32, &packet, now);
                }
                if packet.payload() > 0 {
                    flow.stream.add(packet.range());
                }
                let before = flow.receiver.delivered();
                flow.receiver.handle_packet(&packet, &extra, now);
                let (delivered, prefix) = (flow.receiver.delivered(), flow.stream.prefix());
                assert!(before <= delivered, "what is delivered can't be taken back");
                assert!(
                    delivered <= prefix,
                    "{delivered} bytes are delivered, but {prefix} arrived in order"
                );
                assert!(!self.strict || delivered == prefix, "{delivered} of {prefix} bytes are delivered");
                if delivered > before {
                    flow.delivered_at = now;
                }
                self.after_receiver(number);
            }
            Way::ToSender => {
                assert!(!packet.kind().is_for_receiver(), "{:?} went to the sender", packet.header);
                flow.credits_arrived += packet.is_credit() as u64;
                flow.sender.handle_packet(&packet, &extra, now);
                self.after_sender(number);
            }
        }
    }

    /// The duties of a driver after an input of a sending end.
    fn after_sender(&mut self, number: usize) {
        while let Some((packet, extra)) = self.flows[number].sender.poll_control(self.now) {
            self.leave(Way::ToReceiver, number, packet, extra);
        }
        self.pull();
        let flow = &mut self.flows[number];
        flow.sender.check();
        assert!(
            flow.forged || flow.sender.acknowledged() <= flow.receiver.delivered(),
            "the sender knows of no byte that was not delivered"
        );
        self.note_end(number);
    }

    /// The duties of a driver after an input of a receiving end: all that it sends passes its host's shim.
    fn after_receiver(&mut self, number: usize) {
        let now = self.now;
        while let Some((packet, extra)) = self.flows[number].receiver.poll_control(now) {
            let passed = match &mut self.shim {
                Some(shim) => shim.handle_outgoing(number as u32, packet, &extra, now),
                None => Some(packet),
            };
            if let Some(packet) = passed {
                self.leave(Way::ToSender, number, packet, extra);
            }
        }
        self.release_held();
        self.flows[number].receiver.check();
        self.note_end(number);
    }

    fn release_held(&mut self) {
        while let Some((flow, packet, extra)) =
            self.shim.as_mut().and_then(|shim| shim.poll_release(self.now))
        {
            self.leave(Way::ToSender, flow as usize, packet, extra);
        }
    }

    /// Notes which ends are finished; a shim forgets a flow that is over.
    fn note_end(&mut self, number: usize) {
        let now = self.now;
        let flow = &mut self.flows[number];
        let finished = [flow.sender.is_finished(), flow.receiver.is_finished()];
        for (at, finished) in flow.finished_at.iter_mut().zip(finished) {
            assert!(finished || at.is_none() || !self.strict, "an end that is finished stays so");
            if finished {
                at.get_or_insert(now);
            }
        }
        if finished == [true; 2] && flow.in_flight == 0 && !flow.forgotten {
            flow.forgotten = true;
            if let Some(shim) = &mut self.shim {
                shim.forget(number as u32);
            }
        }
    }

    /// Lets the sending host's network card take data, flow by flow in turn, while it is free.
    fn pull(&mut self) {
        let mut idle = 0;
        while idle < self.flows.len() && self.ways[Way::ToReceiver as usize].card_free_at <= self.now {
            let number = self.turn % self.flows.len();
            self.turn += 1;
            let flow = &mut self.flows[number];
            flow.sender.begin(self.now);
            match flow.sender.poll_data(self.now) {
                Some(packet) => {
                    idle = 0;
                    self.leave(Way::ToReceiver, number, packet, Extra::default());
                    self.flows[number].sender.check();
                    self.note_end(number);
                    if !self.network.instant {
                        let free_at = self.ways[Way::ToReceiver as usize].card_free_at;
                        self.push(free_at, 1, Event::CardFree);
                    }
                }
                None => idle += 1,
            }
        }
    }

    /// A packet leaves its end: it passes the network card, or the queue for credits in front of it.
    fn leave(&mut self, way: Way, number: usize, packet: Packet, extra: Extra) {
        *self.kinds.entry(packet.kind()).or_default() += 1;
        let flow = &mut self.flows[number];
        if self.log {
            flow.log.push(Logged { at: self.now, way, arrived: false, packet, extra });
        }
        flow.in_flight += 1;
        let item = Travelling { flow: number, packet, extra, late: Span::ZERO };
        match &mut self.credits {
            Some(credits) if packet.is_credit() => {
                let before = credits.dropped;
                credits.arrive(item);
                self.flows[number].in_flight -= credits.dropped - before;
                self.pass_credits();
            }
            _ => self.depart(way, item),
        }
    }

    fn pass_credits(&mut self) {
        while let Some(credits) = &mut self.credits {
            match credits.depart(self.now) {
                Ok(credit) => self.depart(Way::ToSender, credit),
                Err(at) => {
                    if at < Time::MAX && at != credits.wakes_at {
                        credits.wakes_at = at;
                        self.push(at, 1, Event::CreditReady);
                    }
                    return;
                }
            }
        }
    }

    /// A packet leaves its host.
    fn depart(&mut self, way: Way, mut item: Travelling) {
        let direction = &mut self.ways[way as usize];
        let departure = Departure {
            now: self.now,
            flow: item.flow,
            way,
            position: direction.departed,
            packet: &item.packet,
        };
        let fate = match (direction.next.pop_front(), &mut self.script) {
            (Some(fate), _) => fate,
            (None, Some(script)) => script(&departure),
            (None, None) => Fate::Pass,
        };
        direction.departed += 1;
        let mut left = self.now;
        if !self.network.instant {
            let size = Bytes::new(item.packet.wire as u64);
            left = direction.card_free_at.max(self.now) + self.network.line_rate.time_to_send(size);
            direction.card_free_at = left;
        }
        let wire = if way == Way::ToReceiver { &self.network.to_receiver } else { &self.network.to_sender };
        let copies = wire.draw(fate, &mut item.packet, &mut self.rng);
        self.flows[item.flow].in_flight -= 1;
        for late in copies.into_iter().flatten() {
            self.flows[item.flow].in_flight += 1;
            let item = Travelling { late, ..item };
            if self.ways[way as usize].port.is_none() {
                self.fly(way, item, left);
            } else if left > self.now {
                let place = self.put(item);
                self.push(left, 0, Event::ReachPort(way, place));
            } else {
                self.reach_port(way, item);
            }
        }
    }

    /// A packet that left its card arrives at the port behind it.
    fn reach_port(&mut self, way: Way, item: Travelling) {
        let port = self.ways[way as usize].port.as_mut().expect("the packet was sent to it");
        let before = port.seen.dropped;
        port.arrive(item, self.now);
        self.flows[item.flow].in_flight -= port.seen.dropped - before;
        self.send_cnps(way);
        self.drain_port(way);
    }

    fn drain_port(&mut self, way: Way) {
        let port = self.ways[way as usize].port.as_mut().expect("only ports are drained");
        if let Some((item, free_at)) = port.depart(self.now) {
            self.fly(way, item, free_at);
            self.push(free_at, 1, Event::PortFree(way));
        }
    }

    /// A packet whose last bit leaves at this time is on the wire.
    fn fly(&mut self, way: Way, item: Travelling, left: Time) {
        let wire = if way == Way::ToReceiver { &self.network.to_receiver } else { &self.network.to_sender };
        let at = left + wire.delay + item.late;
        let place = self.put(item);
        self.push(at, 0, Event::Arrive(way, place));
    }

    fn put(&mut self, item: Travelling) -> usize {
        let place = self.free.pop().unwrap_or(self.travelling.len());
        if place == self.travelling.len() {
            self.travelling.push(item);
        } else {
            self.travelling[place] = item;
        }
        place
    }

    fn take(&mut self, place: usize) -> Travelling {
        self.free.push(place);
        self.travelling[place]
    }

    /// Sends the notifications that a mechanism asks for to the senders of the flows.
    fn send_cnps(&mut self, way: Way) {
        let now = self.now;
        while let Some(flow) = self.ways[way as usize]
            .port
            .as_mut()
            .and_then(|port| port.mechanism.as_mut())
            .and_then(|mechanism| mechanism.poll_cnp(now))
        {
            let cnp = Packet::control(Header::Cnp, self.network.framing.wire_min, now);
            *self.kinds.entry(Kind::Cnp).or_default() += 1;
            let item =
                Travelling { flow: flow as usize, packet: cnp, extra: Extra::default(), late: Span::ZERO };
            self.flows[item.flow].in_flight += 1;
            self.fly(Way::ToSender, item, now);
        }
    }

    fn push(&mut self, at: Time, rank: u8, event: Event) {
        self.pushed += 1;
        self.events.push(Reverse((at, rank, self.pushed, event)));
    }
}
