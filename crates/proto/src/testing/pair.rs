//! Two hosts with flows from one to the other, in virtual time.

use super::events::Event;
use super::flow::{Flow, Logged, Side};
use super::network::{Network, Way};
use super::port::Travelling;
use super::stream::Operation;
use super::transit::Transit;
use crate::{
    AnyShim, AnyTransport, Env, Extra, Packet, Receiver, Sender, Shim, ShimEnv, ShimStats, Transport,
};
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
    shim: Option<AnyShim>,
    /// The flow whose turn it is at the sending host's NIC.
    turn: usize,
    steps_now: u32,
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
        Pair {
            now: Time::ZERO,
            flows: Vec::new(),
            log: false,
            strict: false,
            env: network.env(),
            transit: Transit::new(network),
            shim: None,
            turn: 0,
            steps_now: 0,
        }
    }

    /// Adds a flow of a transport, with the operations of its application in order of time, and returns its number. The
    /// network gets what the transport needs of it: a limit on credits, a mechanism at the port on the way of data, and
    /// a shim at the receiving host.
    pub fn add(
        &mut self,
        transport: &AnyTransport,
        operations: impl IntoIterator<Item = (Time, Operation)>,
    ) -> usize {
        self.transit.provide(transport);
        let network = &self.transit.network;
        if self.shim.is_none() {
            self.shim = transport.shim(&ShimEnv { line_rate: network.line_rate, framing: network.framing });
        }
        let oracle = transport.needs().oracle.then_some((Time::ZERO, Operation::SetRate(network.line_rate)));
        self.add_ends(
            transport.sender(&self.env),
            transport.receiver(&self.env),
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
        let seed = self.transit.network.seed.wrapping_add(self.flows.len() as u64);
        self.flows.push(Flow::new(sender, receiver, operations, &self.env, seed));
        self.transit.in_flight.push(0);
        self.flows.len() - 1
    }

    /// The knowledge that the ends have of the network.
    pub fn env(&self) -> &Env {
        &self.env
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
        if let Some(shim) = &self.shim {
            assert_eq!(shim.stats().held, 0, "the shim holds nothing of flows that have ended");
        }
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
        if let Some(shim) = &self.shim {
            consider(&mut first, shim.next_timeout(), Due::Shim);
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
                self.flows[number].operate_due(now);
                self.after_sender(number);
            }
            Due::Timer(flow, side) => self.fire_early(flow, side),
            Due::Shim => {
                self.shim.as_mut().expect("it has a timer").handle_timeout(now);
                self.release_held();
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
        match way {
            Way::ToReceiver => {
                assert!(packet.kind().is_for_receiver(), "{:?} went to the receiver", packet.header);
                if let Some(shim) = &mut self.shim {
                    shim.handle_incoming(number as u32, &packet, now);
                }
                flow.receive(&packet, &extra, now, self.strict);
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
            self.pull_when_free();
        }
        self.pull();
        self.flows[number].check_sender();
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
        let flow = &mut self.flows[number];
        let both = flow.note_finished(self.now, self.strict);
        if both && self.transit.in_flight[number] == 0 && !flow.forgotten {
            flow.forgotten = true;
            if let Some(shim) = &mut self.shim {
                shim.forget(number as u32);
            }
        }
    }

    /// Lets the sending host's NIC take data, flow by flow in turn, while it is free.
    fn pull(&mut self) {
        let mut idle = 0;
        while idle < self.flows.len() && self.transit.nic_free_at(Way::ToReceiver) <= self.now {
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
                    self.pull_when_free();
                }
                None => idle += 1,
            }
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
