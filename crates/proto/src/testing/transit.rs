//! Packets on their way between the two hosts of a pair: NICs, the queue for credits, ports and wires.

use super::events::{Event, Events};
use super::network::{Departure, Fate, Network, Way, Wire};
use super::port::{Credits, Port, QueueSeen, Travelling};
use crate::{AnyTransport, Entity, Extra, Header, Kind, Packet, Rng};
use clearway_units::{Bytes, Span, Time};
use std::collections::{BTreeMap, VecDeque};

/// A function that decides the fate of every packet that leaves its host.
type Script = Box<dyn FnMut(&Departure<'_>) -> Fate>;

/// One direction of the network at work.
struct Direction {
    /// The time at which the NIC of its first host is free.
    nic_free_at: Time,
    departed: u64,
    /// Fates of the packets that leave next.
    next: VecDeque<Fate>,
    port: Option<Port>,
}

impl Direction {
    fn new(wire: &Wire) -> Direction {
        Direction {
            nic_free_at: Time::ZERO,
            departed: 0,
            next: VecDeque::new(),
            port: wire.port.map(Port::new),
        }
    }
}

/// The network at work. It knows flows by their numbers alone; the hosts call it when a packet leaves, and when an
/// event is due.
pub struct Transit {
    /// The settings of the network.
    pub(super) network: Network,
    /// The number of packets of each kind that left their hosts.
    kinds: BTreeMap<Kind, u64>,
    /// The script that decides the fate of packets, if there is one.
    script: Option<Script>,
    /// The events to come.
    pub(super) events: Events,
    /// Packets that are on their way, of each flow.
    pub(super) in_flight: Vec<u64>,
    rng: Rng,
    ways: [Direction; 2],
    credits: Option<Credits>,
}

impl Transit {
    pub(super) fn new(network: Network) -> Transit {
        Transit {
            kinds: BTreeMap::new(),
            script: None,
            events: Events::default(),
            in_flight: Vec::new(),
            rng: Rng::stream(network.seed, Entity::Network, 0),
            ways: [Direction::new(&network.to_receiver), Direction::new(&network.to_sender)],
            credits: None,
            network,
        }
    }

    /// Provides the things that a transport needs of the network: a limit on credits, and a mechanism at the port on
    /// the way of data.
    pub(super) fn provide(&mut self, transport: &AnyTransport) {
        if let Some(needs) = transport.needs().credits {
            self.credits.get_or_insert_with(|| Credits::new(self.network.line_rate, needs));
        }
        if let Some(port) = &mut self.ways[Way::ToReceiver as usize].port
            && port.mechanism.is_none()
        {
            port.mechanism = transport.mechanism().map(|config| config.build(port.rate()));
        }
    }

    /// The number of packets of each kind that left their hosts.
    pub fn kinds(&self) -> &BTreeMap<Kind, u64> {
        &self.kinds
    }

    /// Asks a script for the fate of every packet that leaves its host. The wires draw losses and delays besides.
    pub fn decide(&mut self, script: impl FnMut(&Departure<'_>) -> Fate + 'static) {
        self.script = Some(Box::new(script));
    }

    /// Sets the fate of the next packet that leaves in a direction; several calls set those of several packets.
    pub fn decide_next(&mut self, way: Way, fate: Fate) {
        self.ways[way as usize].next.push_back(fate);
    }

    /// The queue that packets met at the port in a direction since the last call of [`Transit::watch_queue`].
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

    /// The time at which the NIC of the first host in a direction is free.
    pub(super) fn nic_free_at(&self, way: Way) -> Time {
        self.ways[way as usize].nic_free_at
    }

    /// The time at which the mechanism at the port in a direction wants to act.
    pub(super) fn mechanism_timeout(&self, way: Way) -> Time {
        let port = self.ways[way as usize].port.as_ref();
        port.and_then(|port| port.mechanism.as_ref()).map_or(Time::MAX, |mechanism| mechanism.next_timeout())
    }

    /// Calls the timer of the mechanism at the port in a direction.
    pub(super) fn fire_mechanism(&mut self, way: Way, now: Time) {
        let port = self.ways[way as usize].port.as_mut().expect("it has a mechanism");
        let state = port.state(now);
        port.mechanism.as_mut().expect("it has a timer").on_timeout(state);
        self.send_cnps(way, now);
    }

    /// A packet leaves its end: it passes the NIC, or the queue for credits in front of it.
    pub(super) fn leave(&mut self, way: Way, item: Travelling, now: Time) {
        *self.kinds.entry(item.packet.kind()).or_default() += 1;
        self.in_flight[item.flow] += 1;
        match &mut self.credits {
            Some(credits) if item.packet.is_credit() => {
                let before = credits.dropped;
                credits.arrive(item);
                self.in_flight[item.flow] -= credits.dropped - before;
                self.pass_credits(now);
            }
            _ => self.depart(way, item, now),
        }
    }

    /// Lets credits leave their queue until the next one has to wait.
    pub(super) fn pass_credits(&mut self, now: Time) {
        while let Some(credits) = &mut self.credits {
            match credits.depart(now) {
                Ok(credit) => self.depart(Way::ToSender, credit, now),
                Err(at) => {
                    if at < Time::MAX && at != credits.wakes_at {
                        credits.wakes_at = at;
                        self.events.push(at, 1, Event::CreditReady);
                    }
                    return;
                }
            }
        }
    }

    /// A packet leaves its host.
    fn depart(&mut self, way: Way, mut item: Travelling, now: Time) {
        let direction = &mut self.ways[way as usize];
        let departure =
            Departure { now, flow: item.flow, way, position: direction.departed, packet: &item.packet };
        let fate = match (direction.next.pop_front(), &mut self.script) {
            (Some(fate), _) => fate,
            (None, Some(script)) => script(&departure),
            (None, None) => Fate::Pass,
        };
        direction.departed += 1;
        let mut left = now;
        if !self.network.instant {
            let size = Bytes::new(item.packet.wire as u64);
            left = direction.nic_free_at.max(now) + self.network.line_rate.time_to_send(size);
            direction.nic_free_at = left;
        }
        let wire = if way == Way::ToReceiver { &self.network.to_receiver } else { &self.network.to_sender };
        let copies = wire.draw(fate, &mut item.packet, &mut self.rng);
        self.in_flight[item.flow] -= 1;
        for late in copies.into_iter().flatten() {
            self.in_flight[item.flow] += 1;
            let item = Travelling { late, ..item };
            if self.ways[way as usize].port.is_none() {
                self.fly(way, item, left);
            } else if left > now {
                let place = self.events.put(item);
                self.events.push(left, 0, Event::ReachPort(way, place));
            } else {
                self.reach_port(way, item, now);
            }
        }
    }

    /// A packet that left its NIC arrives at the port behind it.
    pub(super) fn reach_port(&mut self, way: Way, item: Travelling, now: Time) {
        let port = self.ways[way as usize].port.as_mut().expect("the packet was sent to it");
        let before = port.seen.dropped;
        port.arrive(item, now);
        self.in_flight[item.flow] -= port.seen.dropped - before;
        self.send_cnps(way, now);
        self.drain_port(way, now);
    }

    /// Lets the port in a direction send its next packet, if its link is free.
    pub(super) fn drain_port(&mut self, way: Way, now: Time) {
        let port = self.ways[way as usize].port.as_mut().expect("only ports are drained");
        if let Some((item, free_at)) = port.depart(now) {
            self.fly(way, item, free_at);
            self.events.push(free_at, 1, Event::PortFree(way));
        }
    }

    /// A packet whose last bit leaves at this time is on the wire.
    fn fly(&mut self, way: Way, item: Travelling, left: Time) {
        let wire = if way == Way::ToReceiver { &self.network.to_receiver } else { &self.network.to_sender };
        let at = left + wire.delay + item.late;
        let place = self.events.put(item);
        self.events.push(at, 0, Event::Arrive(way, place));
    }

    /// Sends the CNPs that a mechanism asks for to the senders of the flows.
    fn send_cnps(&mut self, way: Way, now: Time) {
        while let Some(flow) = self.ways[way as usize]
            .port
            .as_mut()
            .and_then(|port| port.mechanism.as_mut())
            .and_then(|mechanism| mechanism.poll_cnp(now))
        {
            let packet = Packet::control(Header::Cnp, self.network.framing.wire_min, now);
            *self.kinds.entry(Kind::Cnp).or_default() += 1;
            let item = Travelling { flow: flow as usize, packet, extra: Extra::default(), late: Span::ZERO };
            self.in_flight[item.flow] += 1;
            self.fly(Way::ToSender, item, now);
        }
    }
}
