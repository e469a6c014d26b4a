//! A run: events are taken in their order and handed to ports, ends of flows, and applications.

mod control;
mod finish;
mod prepare;
mod rounds;
mod shares;
mod shims;
mod start;

use crate::engine::{Event, What};
use crate::flows::{Flows, Input, Standing};
use crate::metrics::{Ended, Record, Sampler};
use crate::model::{Delay, Model};
use crate::net::{NONE, Network, Next};
use crate::oracle::Oracle;
use clearway_proto::{Extra, Flags, Header, Packet, Rng};
use clearway_topology::NodeId;
use clearway_topology::routing::Routes;
use clearway_units::{Span, Time};
use rounds::RoundsState;
use shims::Shims;
use start::Source;
use thiserror::Error;

/// Events between two looks at whether the caller wants to stop.
const SLICE: u64 = 1 << 16;

/// Events between the steps in which what an event needs is fetched: about the time of a miss.
const AHEAD: usize = 3;

/// Why a run has no result.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SimError {
    /// Something was lost or made up: a mistake in the simulator or in a protocol, never in the scenario.
    #[error("the books of the run do not balance, so it has no result: {0}")]
    Books(String),
    /// The model contradicts itself.
    #[error("{0}")]
    Model(String),
}

/// How far a run has come.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Simulated time.
    pub now: Time,
    /// When the scenario stops, if it says so.
    pub stop: Option<Time>,
    /// Events handled.
    pub events: u64,
    /// Packets put on links.
    pub link_transmissions: u64,
    /// Flows or messages started.
    pub flows_started: u64,
    /// Flows or messages delivered in full.
    pub flows_completed: u64,
    /// Flows or messages that there will be, if that is known.
    pub flows_expected: Option<u64>,
}

/// A run of a model. One owned value: a process may have many.
pub struct Simulation {
    model: Model,
    net: Network,
    /// Whether it pays to fetch ahead what events will need.
    fetches_ahead: bool,
    flows: Flows,
    shims: Shims,
    routes: Routes,
    /// Routes as if no link ever failed: where a flow's packets go (and are lost) while its hosts are cut off.
    intact: Routes,
    sources: Vec<Source>,
    /// Parts of the traffic that have yet to start something.
    sources_left: usize,
    rounds: Vec<Option<RoundsState>>,
    records: Vec<Record>,
    completed: u64,
    host_rngs: Vec<Rng>,
    /// Flows that each host is sending: the application wrote, and not all is delivered.
    host_flows: Vec<u32>,
    sampler: Sampler,
    /// Series that are sampled at intervals: so many events are always pending.
    periodic: usize,
    /// Whether round-trip times are looked at.
    watches_rtt: bool,
    /// Who computes fair shares, if a transport wants to know them.
    oracle: Option<Oracle>,
    /// Whether switches send notifications to senders.
    switches_notify: bool,
    /// Parts of the traffic whose senders are told.
    told: Vec<bool>,
    events: u64,
    ended: Option<Ended>,
    credits_used: u64,
    credits_wasted: u64,
}

impl Simulation {
    /// Runs until the traffic is done or the scenario's stop time comes. `report` is called every 65,536 events; if
    /// it answers false the run ends there, and what was simulated so far is the result.
    pub fn run(&mut self, report: &mut dyn FnMut(&Progress) -> bool) {
        while self.ended.is_none() {
            self.slice();
            if self.ended.is_none() && !report(&self.progress()) {
                self.ended = Some(Ended::Interrupted);
            }
        }
        report(&self.progress());
    }

    /// Handles a slice of events.
    fn slice(&mut self) {
        let stop = self.model.stop.unwrap_or(Time::MAX);
        for _ in 0..SLICE {
            let Some(event) = self.net.wheel.pop() else {
                self.ended = Some(if self.is_complete() { Ended::Complete } else { Ended::Stalled });
                return;
            };
            if event.at() > stop {
                self.net.now = stop;
                self.ended = Some(Ended::Stopped);
                return;
            }
            debug_assert!(event.at() >= self.net.now, "time runs backwards");
            self.net.now = event.at();
            self.events += 1;
            if self.fetches_ahead {
                self.look_ahead();
            }
            if !self.handle(event) {
                return;
            }
            if !self.net.drained.is_empty() {
                self.retire();
                if self.is_complete() {
                    self.ended = Some(Ended::Complete);
                    return;
                }
            }
        }
    }

    /// Events of one bucket are sorted already, so what the next ones need is known and can be fetched beforehand.
    #[inline]
    fn look_ahead(&self) {
        if let Some(event) = self.net.wheel.peek(AHEAD * 3) {
            self.net.fetch_first(event);
        }
        if let Some(event) = self.net.wheel.peek(AHEAD * 2) {
            self.net.fetch_second(event);
        }
        if let Some(event) = self.net.wheel.peek(AHEAD) {
            self.net.fetch_third(event);
        }
    }

    /// Handles an event. Answers whether the run goes on.
    #[inline(always)]
    fn handle(&mut self, event: Event) -> bool {
        match event.what() {
            What::Arrive(index) => {
                if self.net.arrive(index) {
                    self.reach_host(index);
                }
            }
            What::Wake(port) => {
                if self.net.wakes(port) {
                    self.use_port(port);
                }
            }
            What::Handle(index) => self.hand_over(index),
            What::SenderTimer(flow) => self.sender_timer(flow),
            What::ReceiverTimer(flow) => self.receiver_timer(flow),
            other => {
                self.handle_other(other);
                return self.ended.is_none();
            }
        }
        true
    }

    /// Events that are rarer than packets.
    #[inline(never)]
    fn handle_other(&mut self, what: What) {
        match what {
            What::ShimTimer(shim) => self.shim_timer(shim),
            What::Traffic(index) => self.run_source(index),
            What::Stop(record) => self.stop_flow(record),
            What::Fault(index) => self.fault(index),
            What::Sample(index) => self.sample(index),
            What::Pause(index) => self.pause(index),
            What::PortTimer(number) => self.port_timer(number),
            What::Watch(_) => self.watch(),
            What::Shares(_) => self.tell_shares(),
            _ => unreachable!("handled where packets are"),
        }
    }

    /// Schedules an event of nobody in the network.
    fn schedule_outside(&mut self, at: Time, what: What) {
        // Samples come after all else that happens at the same time, so that what they show is the state left behind.
        let origin =
            self.net.ports.len() + self.model.topology.hosts() + matches!(what, What::Sample(_)) as usize;
        self.net.wheel.push(Event::new(at, origin as u32, what));
    }

    /// Lets a port send what it can at once, and sees to it that it wakes for the rest.
    fn use_port(&mut self, port: u32) {
        if self.net.is_free(port) {
            match self.net.next(port) {
                Next::Send(index) => self.net.transmit(port, index),
                Next::Pull(class) => self.pull(port, class),
                Next::Rest => {}
            }
        }
        self.net.rearm(port);
    }

    /// Asks the flows of a class in turn for a packet, until one has it.
    #[inline(always)]
    fn pull(&mut self, port: u32, class: usize) {
        while let Some(place) = self.net.pop_ready(port, class) {
            let flow = self.flows.get_mut(place).expect("a flow leaves the round robin before it ends");
            debug_assert_eq!(
                flow.sending.host, self.net.ports[port as usize].owner,
                "a flow in another host's turn"
            );
            let pulled = flow.pull(place, class as u8, &mut self.net);
            if pulled.more {
                self.net.push_ready(port, class as u8, place);
            }
            if pulled.packet == NONE {
                continue;
            }
            self.note_finished(place);
            if pulled.port == port {
                self.net.charge_pull(port, class, self.net.slab.get(pulled.packet).packet.wire);
                self.net.transmit(port, pulled.packet);
                return;
            }
            // The path starts at another port of a host that has several.
            self.net.send(pulled.port, pulled.packet);
        }
    }

    /// A packet reached its host, which takes some time to look at it.
    #[inline]
    fn reach_host(&mut self, index: u32) {
        let delay = &self.model.host.processing_delay;
        if matches!(delay, Delay::Fixed(Span::ZERO)) {
            return self.hand_over(index);
        }
        let slot = self.net.slab.get(index);
        let for_receiver = slot.packet.kind().is_for_receiver();
        let Some(flow) = self.flows.get_mut(slot.flow) else { return self.hand_over(index) };
        let end = if for_receiver { &mut flow.receiving } else { &mut flow.sending };
        let done = self.net.now + delay.draw(&mut self.host_rngs[end.host as usize]);
        end.handled_at = end.handled_at.max(done);
        let (host, at) = (end.host, end.handled_at);
        self.net.schedule_at_host(host, at, What::Handle(index));
    }

    /// Hands a packet to the end of the flow that it is for.
    #[inline]
    fn hand_over(&mut self, index: u32) {
        let slot = self.net.slab.get(index);
        let (packet, place) = (slot.packet, slot.flow);
        // Most packets have nothing beside them, and what few have is large.
        let held;
        let extra = if packet.flags.has(Flags::EXTRA) {
            held = self.net.slab.extra(index);
            &held
        } else {
            &Extra::None
        };
        self.net.deliver(index);
        if packet.kind().is_for_receiver() {
            self.drive_receiver(place, Input::Packet(&packet, extra));
        } else {
            if self.watches_rtt {
                self.watch_rtt(place, &packet);
            }
            self.drive_sender(place, Input::Packet(&packet, extra));
        }
    }

    /// An acknowledgement returns the time at which the data left that it answers.
    #[inline(never)]
    fn watch_rtt(&mut self, place: u32, packet: &Packet) {
        let echo = match packet.header {
            Header::Ack { echo, .. } | Header::RdmaAck { echo, .. } => echo,
            Header::CreditAck(answer) => answer.echo,
            _ => return,
        };
        if let Some(flow) = self.flows.get_mut(place) {
            let rtt = self.net.now.saturating_since(echo);
            self.sampler.watch(&self.model, &self.net, flow.traffic, flow.number, rtt);
        }
    }

    fn sender_timer(&mut self, place: u32) {
        let now = self.net.now;
        if self.flows.get_mut(place).is_some_and(|flow| flow.sending.timer.fires(now)) {
            self.drive_sender(place, Input::Timer);
        }
    }

    fn receiver_timer(&mut self, place: u32) {
        let now = self.net.now;
        if self.flows.get_mut(place).is_some_and(|flow| flow.receiving.timer.fires(now)) {
            self.drive_receiver(place, Input::Timer);
        }
    }

    /// Drives a sending end. Returns how many bytes it has in all, if it was truncated.
    #[inline]
    fn drive_sender(&mut self, place: u32, input: Input<'_>) -> u64 {
        let Some(flow) = self.flows.get_mut(place) else { return 0 };
        let standing = flow.drive_sender(place, input, &mut self.net);
        let acknowledged_at = flow.acknowledged_at;
        if standing.wants_transmit && !flow.in_turn {
            flow.in_turn = true;
            let (port, class) = (self.net.first_port(flow.sending.route), flow.classes.data);
            self.net.push_ready(port, class, place);
            self.use_port(port);
        }
        if standing.wants_unscheduled {
            self.want_unscheduled(place);
        }
        if standing.bytes >= acknowledged_at {
            self.note_acknowledged(place, standing.bytes);
        }
        if standing.finished {
            self.note_finished(place);
        }
        standing.total
    }

    /// A sender knows that messages have arrived in full.
    #[inline(never)]
    fn note_acknowledged(&mut self, place: u32, acknowledged: u64) {
        while let Some(record) = self.flows.pop_acknowledged(place, acknowledged) {
            self.records[record as usize].acknowledged = Some(self.net.now);
        }
    }

    /// A flow has unscheduled data, which waits for its turn in the class that yields to all others.
    fn want_unscheduled(&mut self, place: u32) {
        let Some(flow) = self.flows.get_mut(place).filter(|flow| !flow.low_in_turn) else { return };
        flow.low_in_turn = true;
        let (port, class) = (self.net.first_port(flow.sending.route), flow.classes.low);
        self.net.push_ready(port, class, place);
        self.use_port(port);
    }

    /// Drives a receiving end, and tells the application what is complete.
    #[inline]
    fn drive_receiver(&mut self, place: u32, input: Input<'_>) {
        let Some(flow) = self.flows.get_mut(place) else { return };
        if flow.shim != NONE {
            return self.drive_behind_shim(place, input);
        }
        let standing = flow.drive_receiver(place, input, &mut self.net, None);
        self.after_receiver(place, &standing);
    }

    #[inline]
    fn after_receiver(&mut self, place: u32, standing: &Standing) {
        while let Some(record) = self.flows.pop_delivered(place, standing.bytes) {
            self.complete(place, record);
        }
        if standing.finished {
            self.note_finished(place);
        }
    }

    /// Both ends done: the flow ends once its last packet has left the network.
    fn note_finished(&mut self, place: u32) {
        let Some(flow) = self.flows.get_mut(place) else { return };
        if flow.sending.finished && flow.receiving.finished && !flow.ended {
            flow.ended = true;
            self.net.end_flow(place);
        }
    }

    /// Forgets flows that ended.
    fn retire(&mut self) {
        while let Some(place) = self.net.drained.pop() {
            // The last packet may have made an end send another; then the flow shows up again.
            if !self.net.is_drained(place) || self.flows.get_mut(place).is_none() {
                continue;
            }
            self.stop_share(place);
            self.leave_shim(place);
            let flow = self.flows.remove(place);
            if flow.in_turn {
                // Its last wish was to send something that has arrived in the meantime.
                let host = NodeId(flow.sending.host);
                self.net.leave_turn(self.model.topology.ports_of(host), flow.classes.data, place);
            }
            if flow.low_in_turn {
                let host = NodeId(flow.sending.host);
                self.net.leave_turn(self.model.topology.ports_of(host), flow.classes.low, place);
            }
            let stats = flow.sending.stats.plus(&flow.receiving.stats);
            if let Some(record) = self.records.get_mut(flow.record as usize) {
                record.stats = record.stats.plus(&stats.minus(&flow.counted));
                record.place = NONE;
            }
            self.credits_used += stats.credits_used;
            self.credits_wasted += stats.credits_wasted;
            self.net.remove_route(flow.sending.route);
            self.net.remove_route(flow.receiving.route);
            if self.switches_notify {
                self.net.remove_route(flow.way_back);
            }
        }
    }

    /// Whether nothing will happen any more that a result could show.
    fn is_complete(&self) -> bool {
        self.flows.live() == 0 && self.sources_left == 0
    }

    fn fault(&mut self, index: u32) {
        let fault = self.model.faults[index as usize];
        self.routes.set_up(&self.model.topology, fault.port, fault.up);
        self.net.set_up(fault.port.0, fault.up);
        self.reroute();
    }

    fn sample(&mut self, index: u32) {
        self.sampler.sample(index, &self.model, &self.net, &mut self.flows);
        // Where nothing but samples is left, the run is over.
        if self.net.wheel.len() >= self.periodic {
            let at = self.net.now + self.model.samples[index as usize].every;
            self.schedule_outside(at, What::Sample(index));
        }
    }
}

impl Delay {
    /// A delay from the distribution.
    fn draw(&self, rng: &mut Rng) -> Span {
        match self {
            Delay::Fixed(span) => *span,
            Delay::Uniform(low, high) => *low + rng.span_up_to(*high - *low),
            Delay::Quantiles(points) => {
                let at = rng.unit();
                let above =
                    points.partition_point(|(probability, _)| *probability <= at).clamp(1, points.len() - 1);
                let ((p0, low), (p1, high)) = (points[above - 1], points[above]);
                let share = if p1 > p0 { (at - p0) / (p1 - p0) } else { 0.0 };
                low + (high - low).mul_f64(share.clamp(0.0, 1.0))
            }
        }
    }
}
