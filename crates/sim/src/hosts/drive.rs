//! One end of a flow through one input, by the rules of [`Endpoint`].

use super::ends::{End, Receiving, Sending};
use crate::engine::EventKind;
use crate::ids::{FlowSlot, PacketId};
use crate::net::{Addition, Network, pipeline};
use clearway_proto::{
    Agent, AgentPacket, AnyAgent, Cx, Endpoint, Extra, Flags, Gauges, Kind, Order, Packet, Receiver,
    ReceiverVisitor, Receivers, Sender, SenderVisitor, Senders,
};
use clearway_units::{Rate, Time};

/// An input of an end.
pub enum Input<'a> {
    /// A packet arrived, and has just been taken out of the network. Its addition, if it has one, is still in its place.
    Packet(&'a Packet, PacketId),
    /// The end's timer may have expired.
    Timer,
    /// The application writes, and closes if these are its last bytes (a sender only).
    Write {
        /// The number of bytes.
        bytes: u64,
        /// Set if no more will follow.
        close: bool,
    },
    /// The application closes (a sender only).
    Close,
    /// The application takes back what was not sent, and closes (a sender only).
    Truncate,
    /// The oracle tells the flow's fair share (a sender only).
    Share(Rate),
}

impl Input<'_> {
    /// Returns whether the input is an event of a host. Those of applications of rounds and of the whole run come behind
    /// all such events at their instant.
    #[inline]
    pub fn is_of_host(&self) -> bool {
        matches!(self, Input::Packet(..) | Input::Timer)
    }
}

/// The state of an end after an input.
pub struct Standing {
    /// The end has data to send.
    pub wants_transmit: bool,
    /// The end has unscheduled data to send.
    pub wants_unscheduled: bool,
    /// The end needs nothing more since this input.
    pub has_finished: bool,
    /// Of a receiver, the bytes delivered; of a sender, the bytes that it knows to have arrived.
    pub bytes: u64,
    /// Of a sender that was truncated, the bytes of the flow in all.
    pub total: u64,
    /// The first message of the flow that the end waits for lies within `bytes`: a receiver has delivered it, or a
    /// sender knows that it has arrived.
    pub has_message: bool,
}

/// Drives one end through one input.
///
/// There is a copy of the visit for each protocol. They are all part of the one function that visits, but in WebAssembly each
/// stands apart: a browser compiles functions when they have run for a while, and runs slow code until it has, so it had
/// better not compile the copies of all protocols for the one that is simulated.
struct Drive<'a> {
    net: &'a mut Network,
    end: &'a mut End,
    flow: FlowSlot,
    input: Input<'a>,
    timer: EventKind,
    /// The end of the pace for which the end is parked at its port, if it is.
    parked: Option<Time>,
    /// The agent that the end's packets pass on their way to the NIC.
    agent: Option<&'a mut AnyAgent>,
}

impl Drive<'_> {
    /// Does what both kinds of ends have in common after (and, for packets and timers, during) an input. `next_turn`
    /// tells the times at which the end wants to be woken, as [`Sender::next_turn`].
    #[inline(always)]
    fn common<E: Endpoint>(self, endpoint: &mut E, next_turn: impl Fn(&E) -> (Time, Time)) -> Standing {
        let Drive { net, end, flow, input, timer, parked, mut agent } = self;
        let now = net.now();
        let mut came = None;
        match input {
            Input::Packet(packet, id) => {
                end.in_network -= 1;
                came = Some(id).filter(|_| packet.flags.has(Flags::EXTRA));
                // Of `map_or` a call remains.
                let extra = match came {
                    Some(id) => net.slab.extra(id),
                    None => &Extra::None,
                };
                endpoint.handle_packet(packet, extra, &mut end.context(now));
            }
            Input::Timer if endpoint.next_timeout() <= now => endpoint.handle_timeout(&mut end.context(now)),
            _ => {}
        }
        let mut made = Extra::None;
        loop {
            let extra = came.map_or(&mut made, |id| net.slab.extra_mut(id));
            let Some(mut packet) = endpoint.poll_control(extra, &mut end.context(now)) else { break };
            if let Some(agent) = &mut agent {
                match agent.handle_outgoing(flow.to_bits(), packet, extra, now) {
                    Some(passed) => packet = passed,
                    None => continue,
                }
            }
            let extra = came.map_or(Addition::New(&made), Addition::Of);
            if packet.flags.has(Flags::EXTRA) {
                came = None;
            }
            end.send(&mut packet, extra, flow, net);
        }
        let (turn, other) = next_turn(endpoint);
        match parked {
            Some(at) if at == turn && end.timer.serves_after(at, other, now) => {}
            Some(at) => {
                end.unpark(flow, at, net);
                arm_timer(net, end, turn.min(other), timer);
            }
            None => arm_timer(net, end, turn.min(other), timer),
        }
        let has_finished = note_finished(net, end, endpoint.is_finished());
        Standing {
            wants_transmit: false,
            wants_unscheduled: false,
            has_finished,
            bytes: 0,
            total: 0,
            has_message: false,
        }
    }
}

impl End {
    /// Returns what the end's protocol is given with an input at `now`.
    #[inline(always)]
    pub(super) fn context(&mut self, now: Time) -> Cx<'_> {
        Cx { now, rng: &mut self.rng, stats: &mut self.stats }
    }

    /// Sends a packet that the agent of the end's host held back, or made.
    pub(super) fn send_of_agent(&mut self, slot: FlowSlot, sent: &AgentPacket, net: &mut Network) {
        self.stats.credits_sent +=
            u64::from(sent.is_made && matches!(sent.packet.kind(), Kind::Credit | Kind::Pull));
        let mut packet = sent.packet;
        self.send(&mut packet, Addition::New(&sent.extra), slot, net);
    }

    /// Sends a packet of the end that is not data.
    #[inline(never)]
    fn send(&mut self, packet: &mut Packet, extra: Addition<'_>, flow: FlowSlot, net: &mut Network) {
        let way = net.paths.enter(self.route, packet, &mut self.entropies);
        self.in_network += 1;
        pipeline::put_in(net, packet, extra, flow, self.classes.of_packet(packet), way);
    }
}

/// Sees to it that an end is woken at its `deadline` or earlier.
#[inline(always)]
pub(super) fn arm_timer(net: &mut Network, end: &mut End, deadline: Time, kind: EventKind) {
    if let Some(at) = end.timer.arm(deadline, net.now()) {
        wake_at(net, end, at, kind);
    }
}

/// Schedules a wake-up of an end.
#[inline(never)]
fn wake_at(net: &mut Network, end: &End, at: Time, kind: EventKind) {
    if at <= net.parked_until {
        return wake_in_order(net, end, at, kind);
    }
    net.agenda.at_host(end.host, at, kind);
}

/// As [`wake_at`], where another flow may be parked at the port of the end.
#[cold]
#[inline(never)]
fn wake_in_order(net: &mut Network, end: &End, at: Time, kind: EventKind) {
    end.keep_order(at, net);
    net.agenda.at_host(end.host, at, kind);
}

/// Notes whether an end needs nothing more. Returns whether that is new.
#[inline]
pub(super) fn note_finished(net: &mut Network, end: &mut End, finished: bool) -> bool {
    let has_finished = finished && !end.finished;
    end.finished = finished;
    if has_finished {
        net.left_at = net.now();
    }
    has_finished
}

impl SenderVisitor for Drive<'_> {
    type Output = Standing;
    #[cfg_attr(target_family = "wasm", inline(never))]
    #[cfg_attr(not(target_family = "wasm"), inline(always))]
    fn visit<S: Sender>(self, sender: &mut S) -> Standing {
        let mut total = 0;
        let mut cx = self.end.context(self.net.now());
        match self.input {
            Input::Write { bytes, close } => {
                sender.write(bytes, &mut cx);
                if close {
                    sender.close(&mut cx);
                }
            }
            Input::Close => sender.close(&mut cx),
            Input::Truncate => total = sender.truncate(&mut cx),
            Input::Share(rate) => sender.set_rate(rate, &mut cx),
            _ => {}
        }
        let now = self.net.now();
        let standing = self.common(sender, S::next_turn);
        Standing {
            wants_transmit: sender.wants_transmit(now),
            wants_unscheduled: sender.wants_unscheduled(),
            bytes: sender.acknowledged(),
            total,
            ..standing
        }
    }
}

impl ReceiverVisitor for Drive<'_> {
    type Output = Standing;
    #[cfg_attr(target_family = "wasm", inline(never))]
    #[cfg_attr(not(target_family = "wasm"), inline(always))]
    fn visit<R: Receiver>(self, receiver: &mut R) -> Standing {
        let standing = self.common(receiver, |receiver| (Time::MAX, receiver.next_timeout()));
        Standing { bytes: receiver.delivered(), ..standing }
    }
}

impl Sending {
    /// Drives the end. The packets that it sends pass the agent, if there is one.
    #[inline]
    pub fn drive(
        &mut self,
        protocols: &mut Senders,
        slot: FlowSlot,
        input: Input<'_>,
        net: &mut Network,
        agent: Option<&mut AnyAgent>,
    ) -> Standing {
        let parked = self.end.parked(slot, net);
        let drive = Drive {
            net,
            end: &mut self.end,
            flow: slot,
            input,
            timer: EventKind::SenderTimer(slot),
            parked,
            agent,
        };
        let standing = protocols.visit(self.sender, drive);
        Standing { has_message: self.messages.has_done(standing.bytes), ..standing }
    }

    /// Returns the values that a sampled series shows of the end.
    pub fn gauges(&self, protocols: &mut Senders) -> Gauges {
        protocols.visit(self.sender, ReadGauges)
    }

    /// Returns the key of the flow in the order of its host's NIC: the lowest goes first.
    pub fn key(&self, protocols: &mut Senders, order: Order) -> u64 {
        struct Read(Order);
        impl SenderVisitor for Read {
            type Output = u64;
            fn visit<S: Sender>(self, sender: &mut S) -> u64 {
                match self.0 {
                    Order::InTurn => 0,
                    Order::FewestRemaining => sender.remaining(),
                    Order::ByPriority => sender.priority(),
                }
            }
        }
        protocols.visit(self.sender, Read(order))
    }

    /// Returns the number of bytes that the end knows to have arrived.
    pub fn acknowledged(&self, protocols: &mut Senders) -> u64 {
        struct Read;
        impl SenderVisitor for Read {
            type Output = u64;
            fn visit<S: Sender>(self, sender: &mut S) -> u64 {
                sender.acknowledged()
            }
        }
        protocols.visit(self.sender, Read)
    }
}

impl Receiving {
    /// Drives the end. The packets that it sends pass the agent, if there is one.
    #[inline]
    pub fn drive(
        &mut self,
        protocols: &mut Receivers,
        slot: FlowSlot,
        input: Input<'_>,
        net: &mut Network,
        agent: Option<&mut AnyAgent>,
    ) -> Standing {
        let drive = Drive {
            net,
            end: &mut self.end,
            flow: slot,
            input,
            timer: EventKind::ReceiverTimer(slot),
            parked: None,
            agent,
        };
        let standing = protocols.visit(self.receiver, drive);
        Standing { has_message: self.messages.has_done(standing.bytes), ..standing }
    }

    /// Returns the values that a sampled series shows of the end.
    pub fn gauges(&self, protocols: &mut Receivers) -> Gauges {
        protocols.visit(self.receiver, ReadGauges)
    }

    /// Returns the number of bytes that the end handed to its application.
    pub fn delivered(&self, protocols: &mut Receivers) -> u64 {
        struct Read;
        impl ReceiverVisitor for Read {
            type Output = u64;
            fn visit<R: Receiver>(self, receiver: &mut R) -> u64 {
                receiver.delivered()
            }
        }
        protocols.visit(self.receiver, Read)
    }
}

/// Reads the gauges of an end.
struct ReadGauges;

impl SenderVisitor for ReadGauges {
    type Output = Gauges;
    fn visit<S: Sender>(self, sender: &mut S) -> Gauges {
        sender.gauges()
    }
}

impl ReceiverVisitor for ReadGauges {
    type Output = Gauges;
    fn visit<R: Receiver>(self, receiver: &mut R) -> Gauges {
        receiver.gauges()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classes::Classes;
    use crate::ids::{ClassId, HostId, Id};
    use crate::net::Route;
    use crate::ports::network_for;
    use clearway_proto::{AnyTransport, Entity, Rng, SmallRng};
    use clearway_topology::Star;
    use clearway_units::Span;

    /// An end that sends nothing: a test sets its deadline, and each wake-up replaces the deadline by the next of a list.
    struct Sleeper {
        deadline: Time,
        next: Vec<Time>,
        woken: Vec<Time>,
    }

    impl Endpoint for Sleeper {
        fn handle_packet(&mut self, _: &Packet, _: &Extra, _: &mut Cx<'_>) {}

        fn handle_timeout(&mut self, cx: &mut Cx<'_>) {
            self.woken.push(cx.now);
            self.deadline = self.next.pop().unwrap_or(Time::MAX);
        }

        fn poll_control(&mut self, _: &mut Extra, _: &mut Cx<'_>) -> Option<Packet> {
            None
        }

        fn next_timeout(&self) -> Time {
            self.deadline
        }

        fn is_finished(&self) -> bool {
            false
        }
    }

    /// A sleeper at a host of an idle network, whose events are its wake-ups.
    struct Bed {
        net: Network,
        end: End,
        sleeper: Sleeper,
    }

    impl Bed {
        fn new() -> Bed {
            let transport = AnyTransport::by_name("blast").unwrap();
            let model = network_for(Star::default().build().unwrap(), [&transport]).unwrap();
            let streams = (Rng::stream(1, Entity::Sender, 0), SmallRng::stream(1, Entity::SenderPath, 0));
            let [data, ack, credit, cnp, unscheduled] = [ClassId::FIRST; 5];
            let classes = Classes { data, ack, credit, cnp, unscheduled };
            Bed {
                net: Network::new(&model),
                end: End::new(streams, HostId::from_index(0), Route::default(), classes),
                sleeper: Sleeper { deadline: Time::MAX, next: Vec::new(), woken: Vec::new() },
            }
        }

        fn drive(&mut self, input: Input<'_>) {
            let flow = FlowSlot::from_index(0);
            let drive = Drive {
                net: &mut self.net,
                end: &mut self.end,
                flow,
                input,
                timer: EventKind::SenderTimer(flow),
                parked: None,
                agent: None,
            };
            drive.common(&mut self.sleeper, |sleeper| (Time::MAX, sleeper.next_timeout()));
        }

        /// Gives an input after which the end wants to be woken at `deadline`.
        fn ask(&mut self, deadline: Time) {
            self.sleeper.deadline = deadline;
            self.drive(Input::Close);
        }

        /// Lets the next event come, and wakes the end if the event is the one that counts.
        fn step(&mut self) {
            self.net.agenda.now = self.net.agenda.pop_before(Time::MAX).expect("a wake-up is pending").at();
            if self.end.timer.fires(self.net.now()) {
                self.drive(Input::Timer);
            }
        }
    }

    fn at(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    #[test]
    fn an_end_that_asks_twice_in_one_instant_to_be_woken_at_once_is_woken_twice() {
        let mut bed = Bed::new();
        bed.ask(at(10));
        bed.ask(at(5));
        bed.step();
        assert_eq!(bed.sleeper.woken, [at(5)]);
        // The wake-up at 10 us was overtaken and does not count. After it, in the same instant, an input makes the end ask
        // for a wake-up at once, and that wake-up makes it ask again.
        bed.step();
        assert_eq!(bed.sleeper.woken, [at(5)]);
        bed.sleeper.next.push(at(10));
        bed.ask(at(10));
        bed.step();
        bed.step();
        assert_eq!(bed.sleeper.woken, [at(5), at(10), at(10)]);
        assert_eq!(bed.net.agenda.next_at(), None);
    }

    #[test]
    fn an_end_that_is_woken_early_is_left_alone_until_its_deadline() {
        let mut bed = Bed::new();
        bed.ask(at(5));
        bed.ask(at(20));
        bed.step();
        assert!(bed.sleeper.woken.is_empty());
        bed.step();
        assert_eq!(bed.sleeper.woken, [at(20)]);
    }
}
