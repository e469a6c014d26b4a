//! Two hosts with flows from one to the other, in virtual time.

use super::agents::Agents;
use super::events::Event;
use super::flow::{Flow, Logged};
use super::network::{Network, Way};
use super::port::Travelling;
use super::stream::Operation;
use super::transit::Transit;
use super::turns::Turns;
use crate::{AgentPacket, AgentStats, AnyTransport, Env, Extra, Packet, Receiver, Sender, Side, Transport};
use clearway_units::{Span, Time};
use std::collections::VecDeque;

/// Most steps of a run at one time: more mean that the ends keep each other busy without letting time pass.
const STEPS_AT_ONE_TIME_MAX: u32 = 1_000_000;

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
    /// The network between the hosts: scripts for the fate of packets, and what it counts.
    pub transit: Transit,
    env: Env,
    agents: Agents,
    /// Whose turn it is at the sending host's NIC.
    turns: Turns,
    steps_now: u32,
}

/// The next step of a pair: the part that is due.
#[derive(Clone, Copy, Debug)]
enum Due {
    Network,
    Application(usize),
    Timer(usize, Side),
    Agent(Side),
    Mechanism(Way),
}

impl Pair {
    /// Makes two hosts without flows.
    pub fn new(network: Network) -> Pair {
        Pair {
            now: Time::ZERO,
            flows: Vec::new(),
            log: false,
            strict: false,
            env: network.env(),
            transit: Transit::new(network),
            agents: Agents::default(),
            turns: Turns::new(),
            steps_now: 0,
        }
    }

    /// Adds a flow of a transport, with the operations of its application in order of time, and returns its number. The
    /// network gets what the transport needs of it: a limit on credits, and a mechanism at the port on the way of data.
    /// The hosts get its agents, and the sending host its order of flows.
    pub fn add(
        &mut self,
        transport: &AnyTransport,
        operations: impl IntoIterator<Item = (Time, Operation)>,
    ) -> usize {
        self.transit.provide(transport);
        self.turns.order = transport.order();
        let (scope, seed) = (transport.agent_scope(), self.transit.network.seed);
        self.agents.provide(scope, &self.env, seed, |env| Some(Box::new(transport.agent(env)?)));
        let oracle = transport.needs().oracle.then_some((Time::ZERO, Operation::SetRate(self.env.line_rate)));
        self.add_ends(
            transport.sender(&self.env),
            transport.receiver(&self.env),
            oracle.into_iter().chain(operations),
        )
    }

    /// Adds a flow of a transport with these parameters, as [`Pair::add`] does for one that is chosen by name, but
    /// without asking the network for anything. The hosts get its agents and its order.
    pub fn add_typed<T: Transport>(
        &mut self,
        params: &T::Params,
        operations: impl IntoIterator<Item = (Time, Operation)>,
    ) -> usize
    where
        T::Sender: 'static,
        T::Receiver: 'static,
        T::Agent: 'static,
    {
        self.turns.order = T::order(params);
        let seed = self.transit.network.seed;
        self.agents.provide(T::AGENT, &self.env, seed, |env| Some(Box::new(T::agent(params, env)?)));
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
        let seed = self.transit.network.seed.wrapping_add(self.flows.len() as u64);
        self.flows.push(Flow::new(sender, receiver, operations, &self.env, seed));
        self.transit.in_flight.push(0);
        let number = self.flows.len() - 1;
        self.agents.begin(number, self.now);
        number
    }

    /// The knowledge that the ends have of the network.
    pub fn env(&self) -> &Env {
        &self.env
    }

    /// The counters of the agent of the sending or the receiving host, if the transport of the flows has one there.
    pub fn agent_stats(&self, side: Side) -> Option<AgentStats> {
        self.agents.stats(side)
    }

    /// The application of a flow, or the oracle, acts now.
    pub fn operate(&mut self, flow: usize, operation: Operation) {
        self.hand(flow, operation);
        self.after_sender(flow);
    }

    /// Hands an operation to the sending end of a flow, and the length that the flow then has to the agent of its host.
    fn hand(&mut self, number: usize, operation: Operation) {
        let (now, flow) = (self.now, &mut self.flows[number]);
        if let Operation::Write(bytes) = operation {
            self.agents.handle_length(number, (flow.sender.written().saturating_add(bytes), false), now);
        }
        flow.sender.operate(operation, now);
        if let Operation::Close | Operation::Truncate = operation {
            self.agents.handle_length(number, (flow.sender.written(), true), now);
        }
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
        self.transit.in_flight[flow] += 1;
        let Logged { way, packet, extra, .. } = *logged;
        self.arrive(way, Travelling { flow, packet, extra, late: Span::ZERO });
    }

    /// Lets a packet arrive now that nobody sent. From then on the ends need not agree on the stream, and only the
    /// rules of each end by itself are checked.
    pub fn inject(&mut self, flow: usize, packet: Packet, extra: Extra) {
        self.flows[flow].forged = true;
        self.transit.in_flight[flow] += 1;
        let way = if packet.kind().is_for_receiver() { Way::ToReceiver } else { Way::ToSender };
        self.arrive(way, Travelling { flow, packet, extra, late: Span::ZERO });
    }

    /// Runs until nothing is left to happen, and checks that every flow came to its end.
    ///
    /// # Panics
    /// If a byte is missing, an end is not finished, a timer is left, or counters do not add up.
    pub fn finish(&mut self) {
        let left = self.run_until(self.transit.network.limit);
        assert!(!left, "not finished at {}", self.now);
        for (number, flow) in self.flows.iter().enumerate() {
            flow.check_finished(number);
        }
        self.agents.check_finished();
    }

    /// Runs until nothing is left to happen or the time comes. Returns true if something is left.
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
        if let Some(at) = self.transit.events.next_time() {
            consider(&mut first, at, Due::Network);
        }
        for (number, flow) in self.flows.iter().enumerate() {
            if let Some((at, _)) = flow.operations.front() {
                consider(&mut first, *at, Due::Application(number));
            }
            consider(&mut first, flow.sender.next_timeout(), Due::Timer(number, Side::Sender));
            consider(&mut first, flow.receiver.next_timeout(), Due::Timer(number, Side::Receiver));
        }
        for side in [Side::Sender, Side::Receiver] {
            consider(&mut first, self.agents.next_timeout(side), Due::Agent(side));
        }
        // A mechanism acts on packets that pass. Its timer may run for ever, and does not keep a run alive.
        if first.0 < Time::MAX {
            for way in [Way::ToReceiver, Way::ToSender] {
                consider(&mut first, self.transit.mechanism_timeout(way), Due::Mechanism(way));
            }
        }
        (first.0 < Time::MAX).then_some(first)
    }

    fn act(&mut self, due: Due) {
        let now = self.now;
        match due {
            Due::Network => {
                let event = self.transit.events.pop().expect("it was seen");
                self.happen(event);
            }
            Due::Application(number) => {
                // Those of one time are one input of the sending end.
                while let Some(operation) = self.flows[number].take_due(now) {
                    self.hand(number, operation);
                }
                self.after_sender(number);
            }
            Due::Timer(flow, side) => self.fire_early(flow, side),
            Due::Agent(side) => {
                self.agents.handle_timeout(side, now);
                self.ask_agent(side);
            }
            Due::Mechanism(way) => self.transit.fire_mechanism(way, now),
        }
    }

    fn happen(&mut self, event: Event) {
        let now = self.now;
        match event {
            Event::Arrive(way, place) => {
                let item = self.transit.events.take(place);
                self.arrive(way, item);
            }
            Event::ReachPort(way, place) => {
                let item = self.transit.events.take(place);
                self.transit.reach_port(way, item, now);
            }
            Event::NicFree => self.pull(),
            Event::PortFree(way) => self.transit.drain_port(way, now),
            Event::CreditReady => self.transit.pass_credits(now),
        }
    }

    /// A packet arrives at its host.
    fn arrive(&mut self, way: Way, Travelling { flow: number, packet, extra, .. }: Travelling) {
        let now = self.now;
        self.transit.in_flight[number] -= 1;
        let flow = &mut self.flows[number];
        if self.log {
            flow.log.push(Logged { at: now, way, arrived: true, packet, extra });
        }
        let is_for_receiver = packet.kind().is_for_receiver();
        assert_eq!(is_for_receiver, way == Way::ToReceiver, "{:?} went {way:?}", packet.header);
        let side = if is_for_receiver { Side::Receiver } else { Side::Sender };
        let passed = self.agents.handle_incoming(side, number, packet, &extra, now);
        let Some(packet) = passed else {
            self.ask_agent(side);
            return self.note_end(number);
        };
        let flow = &mut self.flows[number];
        match side {
            Side::Receiver => {
                flow.receive(&packet, &extra, now, self.strict);
                self.after_receiver(number);
            }
            Side::Sender => {
                flow.credits_arrived += packet.is_credit() as u64;
                flow.sender.handle_packet(&packet, &extra, now);
                self.after_sender(number);
            }
        }
    }

    /// The duties of a driver after an input of a sending end.
    fn after_sender(&mut self, number: usize) {
        let now = self.now;
        while let Some((packet, extra)) = self.flows[number].sender.poll_control(now) {
            let passed = self.agents.handle_outgoing(Side::Sender, number, packet, &extra, now);
            if let Some(packet) = passed {
                self.leave(Way::ToReceiver, number, packet, extra);
                self.pull_when_free();
            }
        }
        self.pull();
        self.ask_agent(Side::Sender);
        self.flows[number].check_sender();
        self.note_end(number);
    }

    /// The duties of a driver after an input of a receiving end: all that it sends passes its host's agent.
    fn after_receiver(&mut self, number: usize) {
        let now = self.now;
        while let Some((packet, extra)) = self.flows[number].receiver.poll_control(now) {
            let passed = self.agents.handle_outgoing(Side::Receiver, number, packet, &extra, now);
            if let Some(packet) = passed {
                self.leave(Way::ToSender, number, packet, extra);
            }
        }
        self.ask_agent(Side::Receiver);
        self.flows[number].receiver.check();
        self.note_end(number);
    }

    /// Sends what the agent of a host sends now.
    fn ask_agent(&mut self, side: Side) {
        while let Some(AgentPacket { flow, packet, extra, is_made }) =
            self.agents.poll_transmit(side, self.now)
        {
            let number = flow as usize;
            match side {
                Side::Sender => {
                    if is_made {
                        self.flows[number].sender.count_made(&packet);
                    }
                    self.leave(Way::ToReceiver, number, packet, extra);
                    self.pull_when_free();
                }
                Side::Receiver => {
                    if is_made {
                        self.flows[number].receiver.count_made(&packet);
                    }
                    self.leave(Way::ToSender, number, packet, extra);
                }
            }
        }
    }

    /// Notes which ends are finished; an agent forgets a flow that is over.
    fn note_end(&mut self, number: usize) {
        let flow = &mut self.flows[number];
        let both = flow.note_finished(self.now, self.strict);
        if both && self.transit.in_flight[number] == 0 && !flow.forgotten {
            flow.forgotten = true;
            self.agents.forget(number);
        }
    }

    /// Lets the sending host's NIC take data, flow by flow in its order, while it is free.
    fn pull(&mut self) {
        while self.transit.nic_free_at(Way::ToReceiver) <= self.now {
            let Some(number) = self.turns.next(&mut self.flows, self.now) else { return };
            let mut packet = self.flows[number].sender.poll_data(self.now).expect("it wants to send");
            self.agents.handle_data(number, &mut packet, self.now);
            self.leave(Way::ToReceiver, number, packet, Extra::default());
            self.flows[number].sender.check();
            self.note_end(number);
            self.pull_when_free();
            self.ask_agent(Side::Sender);
        }
    }

    /// Lets the NIC take data again once the packet that it now sends, of data or not, has left.
    fn pull_when_free(&mut self) {
        if !self.transit.network.instant {
            let free_at = self.transit.nic_free_at(Way::ToReceiver);
            self.transit.events.push(free_at, 1, Event::NicFree);
        }
    }

    /// A packet leaves its end.
    fn leave(&mut self, way: Way, number: usize, packet: Packet, extra: Extra) {
        if self.log {
            self.flows[number].log.push(Logged { at: self.now, way, arrived: false, packet, extra });
        }
        self.transit.leave(way, Travelling { flow: number, packet, extra, late: Span::ZERO }, self.now);
    }
}
