//! Flows that are alive: their two ends, and how an end is driven.

use crate::engine::What;
use crate::net::{NONE, Network, Route};
use crate::timer::Timer;
use clearway_proto::{
    AnyReceiver, AnySender, AnyShim, Cx, Endpoint, Extra, Gauges, Kind, Packet, Receiver, ReceiverVisitor,
    Rng, Sender, SenderVisitor, Shim, Stats,
};
use clearway_units::{Rate, Time};
use std::collections::VecDeque;

/// What belongs to one end of a flow besides its protocol.
pub struct End {
    /// Its randomness.
    pub rng: Rng,
    /// What it did.
    pub stats: Stats,
    /// The wake-ups that its protocol asked for.
    pub timer: Timer,
    /// When its host handled, or will handle, its last packet: packets of one flow keep their order.
    pub handled_at: Time,
    /// Whether it needs nothing more.
    pub finished: bool,
    /// Its host.
    pub host: u32,
    /// The paths of its packets.
    pub route: Route,
}

/// Bytes of a flow that belong together: their delivery in full is what the application waits for.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    /// Offset after its last byte.
    pub end: u64,
    /// Its row in the results.
    pub record: u32,
}

/// Classes of a flow's packets at every port.
#[derive(Clone, Copy, Debug)]
pub struct Classes {
    /// Of data, and of all that has no class below.
    pub data: u8,
    /// Of acknowledgements.
    pub ack: u8,
    /// Of credits, among the classes of credits.
    pub credit: u8,
    /// Of notifications of congestion.
    pub notice: u8,
    /// Of its data that nothing allowed, another than `data` if it sends such data.
    pub low: u8,
}

/// A flow between its start and the moment when its last packet left the network.
pub struct Flow {
    /// Its sending end.
    pub sender: AnySender,
    /// Its receiving end.
    pub receiver: AnyReceiver,
    /// What the sending end has besides.
    pub sending: End,
    /// What the receiving end has besides.
    pub receiving: End,
    /// The part of the traffic that it belongs to.
    pub traffic: u32,
    /// Its number among the flows of that part.
    pub number: u64,
    /// Classes of its packets.
    pub classes: Classes,
    /// The way of its data backwards, where switches notify senders.
    pub way_back: Route,
    /// The shim between its receiving end and the network, or [`NONE`].
    pub shim: u32,
    /// Whether it waits in its port's round robin.
    pub in_turn: bool,
    /// The same for its data of low priority.
    pub low_in_turn: bool,
    /// Whether both ends are done.
    pub ended: bool,
    /// Bytes handed over by the application.
    pub written: u64,
    /// Messages not yet delivered in full.
    pub messages: VecDeque<Message>,
    /// Messages of which the sending end does not know that all has arrived.
    pub unacknowledged: VecDeque<Message>,
    /// Offset after the last byte of the first of these; [`u64::MAX`] if there are none.
    pub acknowledged_at: u64,
    /// What both ends did until the last message was complete.
    pub counted: Stats,
    /// The row of its current message, or its last one.
    pub record: u32,
}

/// All flows alive, in one array; the place of one that ended is used again.
#[derive(Default)]
pub struct Flows {
    places: Vec<Option<Flow>>,
    free: Vec<u32>,
    live: usize,
}

impl Flows {
    /// Adds a flow and returns its place.
    pub fn insert(&mut self, flow: Flow) -> u32 {
        self.live += 1;
        match self.free.pop() {
            Some(place) => {
                self.places[place as usize] = Some(flow);
                place
            }
            None => {
                self.places.push(Some(flow));
                self.places.len() as u32 - 1
            }
        }
    }

    /// Removes a flow.
    pub fn remove(&mut self, place: u32) -> Flow {
        self.live -= 1;
        self.free.push(place);
        self.places[place as usize].take().expect("a flow ends once")
    }

    /// A flow, if it is alive.
    #[inline]
    pub fn get_mut(&mut self, place: u32) -> Option<&mut Flow> {
        self.places[place as usize].as_mut()
    }

    /// Takes the first message of a flow if it is within the `delivered` bytes, and returns its row.
    #[inline]
    pub fn pop_delivered(&mut self, place: u32, delivered: u64) -> Option<u32> {
        let messages = &mut self.get_mut(place)?.messages;
        let record = messages.front().filter(|message| message.end <= delivered)?.record;
        messages.pop_front();
        Some(record)
    }

    /// Takes the first message of a flow that its sender has yet to know delivered, if it is within the `acknowledged`
    /// bytes, and returns its row.
    pub fn pop_acknowledged(&mut self, place: u32, acknowledged: u64) -> Option<u32> {
        let flow = self.get_mut(place)?;
        if acknowledged < flow.acknowledged_at {
            return None;
        }
        let record = flow.unacknowledged.pop_front()?.record;
        flow.await_acknowledgement();
        Some(record)
    }

    /// How many are alive.
    pub fn live(&self) -> usize {
        self.live
    }

    /// All that are alive, with their places.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (u32, &mut Flow)> {
        self.places.iter_mut().enumerate().filter_map(|(place, flow)| Some((place as u32, flow.as_mut()?)))
    }
}

/// What happens to an end.
pub enum Input<'a> {
    /// A packet came.
    Packet(&'a Packet, &'a Extra),
    /// Its timer may have expired.
    Timer,
    /// The application writes, and closes if these are its last bytes (a sender only).
    Write {
        /// How much.
        bytes: u64,
        /// Whether that is all.
        close: bool,
    },
    /// The application closes (a sender only).
    Close,
    /// The application takes back what was not sent, and closes (a sender only).
    Truncate,
    /// The oracle tells the flow's fair share (a sender only).
    Share(Rate),
}

/// How an end stands after an input.
pub struct Standing {
    /// Whether it has data to send.
    pub wants_transmit: bool,
    /// Whether it has unscheduled data to send.
    pub wants_unscheduled: bool,
    /// Whether it needs nothing more.
    pub finished: bool,
    /// A receiver: bytes delivered. A sender: bytes that it knows to have arrived.
    pub bytes: u64,
    /// A sender that was truncated: bytes in all.
    pub total: u64,
}

/// Drives one end through one input.
struct Drive<'a> {
    net: &'a mut Network,
    end: &'a mut End,
    flow: u32,
    classes: Classes,
    input: Input<'a>,
    timer: What,
    /// What its packets pass on their way to the network card.
    shim: Option<&'a mut AnyShim>,
}

impl Drive<'_> {
    /// Everything that both kinds of ends have in common after (and, for packets and timers, during) an input.
    #[inline]
    fn common<E: Endpoint>(self, endpoint: &mut E) -> Standing {
        let Drive { net, end, flow, classes, input, timer, mut shim } = self;
        let now = net.now;
        let mut cx = Cx { now, rng: &mut end.rng, stats: &mut end.stats };
        match input {
            Input::Packet(packet, extra) => endpoint.handle_packet(packet, extra, &mut cx),
            Input::Timer if endpoint.next_timeout() <= now => endpoint.handle_timeout(&mut cx),
            _ => {}
        }
        let mut extra = Extra::default();
        while let Some(mut packet) = endpoint.poll_control(&mut extra, &mut cx) {
            if let Some(shim) = &mut shim {
                match shim.handle_outgoing(flow, packet, &extra, now) {
                    Some(passed) => packet = passed,
                    None => continue,
                }
            }
            let class = match packet.kind() {
                Kind::Ack | Kind::Nack => classes.ack,
                Kind::Credit => classes.credit,
                Kind::Cnp => {
                    net.notices += 1;
                    classes.notice
                }
                _ => classes.data,
            };
            let (index, port) = net.inject(packet, &extra, flow, class, end.route, cx.rng);
            net.send(port, index);
        }
        arm_timer(net, end, endpoint.next_timeout(), timer);
        end.finished = endpoint.is_finished();
        Standing {
            wants_transmit: false,
            wants_unscheduled: false,
            finished: end.finished,
            bytes: 0,
            total: 0,
        }
    }
}

/// Sees to it that an end is woken at its `deadline` or earlier.
#[inline]
fn arm_timer(net: &mut Network, end: &mut End, deadline: Time, what: What) {
    if let Some(at) = end.timer.arm(deadline, net.now) {
        net.schedule_at_host(end.host, at, what);
    }
}

impl SenderVisitor for Drive<'_> {
    type Output = Standing;
    #[inline]
    fn visit<S: Sender>(self, sender: &mut S) -> Standing {
        let mut total = 0;
        let mut cx = Cx { now: self.net.now, rng: &mut self.end.rng, stats: &mut self.end.stats };
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
        let now = self.net.now;
        let standing = self.common(sender);
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
    #[inline]
    fn visit<R: Receiver>(self, receiver: &mut R) -> Standing {
        let standing = self.common(receiver);
        Standing { bytes: receiver.delivered(), ..standing }
    }
}

impl Flow {
    /// Notes which bytes the sender must know to have arrived for its next message to be acknowledged.
    pub fn await_acknowledgement(&mut self) {
        self.acknowledged_at = self.unacknowledged.front().map_or(u64::MAX, |message| message.end);
    }

    /// Drives the sending end.
    #[inline]
    pub fn drive_sender(&mut self, place: u32, input: Input<'_>, net: &mut Network) -> Standing {
        self.sender.visit(Drive {
            net,
            end: &mut self.sending,
            flow: place,
            classes: self.classes,
            input,
            timer: What::SenderTimer(place),
            shim: None,
        })
    }

    /// Drives the receiving end; what it sends passes its shim, if it has one.
    #[inline]
    pub fn drive_receiver(
        &mut self,
        place: u32,
        input: Input<'_>,
        net: &mut Network,
        shim: Option<&mut AnyShim>,
    ) -> Standing {
        self.receiver.visit(Drive {
            net,
            end: &mut self.receiving,
            flow: place,
            classes: self.classes,
            input,
            timer: What::ReceiverTimer(place),
            shim,
        })
    }

    /// Asks the sending end for a data packet of a class, and keeps its place in that class's turns.
    #[inline]
    pub fn pull(&mut self, place: u32, class: u8, net: &mut Network) -> Pulled {
        let is_low = class != self.classes.data;
        let pull = Pull { net, end: &mut self.sending, flow: place, class, is_low };
        let pulled = self.sender.visit(pull);
        *(if is_low { &mut self.low_in_turn } else { &mut self.in_turn }) = pulled.more;
        pulled
    }

    /// What a sampled series shows of the sending end, or of the receiving end where that is in control.
    pub fn gauges(&mut self) -> Gauges {
        struct Read;
        impl SenderVisitor for Read {
            type Output = Gauges;
            fn visit<S: Sender>(self, sender: &mut S) -> Gauges {
                sender.gauges()
            }
        }
        impl ReceiverVisitor for Read {
            type Output = Gauges;
            fn visit<R: Receiver>(self, receiver: &mut R) -> Gauges {
                receiver.gauges()
            }
        }
        let (sender, receiver) = (self.sender.visit(Read), self.receiver.visit(Read));
        let either = |a: f64, b: f64| if a.is_nan() { b } else { a };
        Gauges {
            cwnd: either(sender.cwnd, receiver.cwnd),
            rate: either(sender.rate, receiver.rate),
            srtt: either(sender.srtt, receiver.srtt),
        }
    }
}

/// What a sending end gave when it was its turn.
pub struct Pulled {
    /// The packet, or [`NONE`].
    pub packet: u32,
    /// The port that its path starts with.
    pub port: u32,
    /// Whether it has more.
    pub more: bool,
}

struct Pull<'a> {
    net: &'a mut Network,
    end: &'a mut End,
    flow: u32,
    class: u8,
    is_low: bool,
}

impl SenderVisitor for Pull<'_> {
    type Output = Pulled;
    #[inline]
    fn visit<S: Sender>(self, sender: &mut S) -> Pulled {
        let Pull { net, end, flow, class, is_low } = self;
        let mut cx = Cx { now: net.now, rng: &mut end.rng, stats: &mut end.stats };
        let packet = if is_low { sender.poll_unscheduled(&mut cx) } else { sender.poll_transmit(&mut cx) };
        let Some(packet) = packet else {
            return Pulled { packet: NONE, port: NONE, more: false };
        };
        let (packet, port) = net.inject(packet, &Extra::default(), flow, class, end.route, cx.rng);
        arm_timer(net, end, sender.next_timeout(), What::SenderTimer(flow));
        end.finished = sender.is_finished();
        let more = if is_low { sender.wants_unscheduled() } else { sender.wants_transmit(net.now) };
        Pulled { packet, port, more }
    }
}
