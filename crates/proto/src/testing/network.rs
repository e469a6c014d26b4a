//! The network between the two hosts of a pair: its settings, and the fate of single packets.

use crate::{Env, Flags, Framing, Packet, Rng};
use clearway_units::{Bytes, Rate, Span, Time};

/// The network between the sending and the receiving host.
#[derive(Clone, Debug)]
pub struct Network {
    /// The rate of both NICs, and the rate that the ends know of.
    pub line_rate: Rate,
    /// True for NICs that send in no time, so that only delays and ports take time; the ends still know the rate.
    pub instant: bool,
    /// The framing of all packets.
    pub framing: Framing,
    /// True if connections stand already when flows start.
    pub established: bool,
    /// The way of data.
    pub to_receiver: Wire,
    /// The way of acknowledgements and credits.
    pub to_sender: Wire,
    /// The seed of all randomness, of the network and of the ends.
    pub seed: u64,
    /// A flow that is not finished at this time is taken to hang.
    pub limit: Time,
}

impl Default for Network {
    fn default() -> Network {
        Network {
            line_rate: Rate::gbps(10),
            instant: false,
            framing: Framing::ETHERNET,
            established: false,
            to_receiver: Wire::default(),
            to_sender: Wire::default(),
            seed: 1,
            limit: Time::ZERO + Span::from_secs(100),
        }
    }
}

impl Network {
    /// A network with the same wire in both directions.
    pub fn of(wire: Wire) -> Network {
        Network { to_receiver: wire.clone(), to_sender: wire, ..Network::default() }
    }

    /// The knowledge that the ends have of this network.
    pub fn env(&self) -> Env {
        let once = |bytes: u32| {
            if self.instant { Span::ZERO } else { self.line_rate.time_to_send(Bytes::new(bytes.into())) }
        };
        let there = self.to_receiver.delay + once(self.framing.wire_max());
        let back = self.to_sender.delay + once(self.framing.wire_min);
        let port_rate = self.to_receiver.port.map_or(self.line_rate, |port| port.rate);
        Env {
            line_rate: self.line_rate,
            path_rate: self.line_rate.min(port_rate),
            base_rtt: there + back,
            network_rtt: there + back,
            framing: self.framing,
            established: self.established,
            host_flows: 0,
        }
    }
}

/// One direction of the network. The shares are probabilities, drawn for each packet.
#[derive(Clone, Debug)]
pub struct Wire {
    /// The time that a packet takes at least.
    pub delay: Span,
    /// The most that is added to each packet's time, so that packets overtake each other.
    pub jitter: Span,
    /// The share of packets that are late by up to [`Wire::late_by`].
    pub late: f64,
    /// The most that a late packet is late by.
    pub late_by: Span,
    /// The share of packets that are lost.
    pub loss: f64,
    /// The share of packets that arrive twice.
    pub duplicate: f64,
    /// The share of packets that are marked, of those that understand marks.
    pub mark: f64,
    /// The output port of a switch in front of the wire, if there is one.
    pub port: Option<PortConfig>,
}

impl Default for Wire {
    fn default() -> Wire {
        Wire {
            delay: Span::from_us(5),
            jitter: Span::ZERO,
            late: 0.0,
            late_by: Span::from_us(20),
            loss: 0.0,
            duplicate: 0.0,
            mark: 0.0,
            port: None,
        }
    }
}

/// The output port of a switch. A mechanism that a transport brings is built into the one on the way of its data.
#[derive(Clone, Copy, Debug)]
pub struct PortConfig {
    /// The rate of the link.
    pub rate: Rate,
    /// The room for frames that wait, in bytes.
    pub buffer: u64,
    /// The length of the queue, in bytes, above which packets are marked on arrival.
    pub mark_above: u64,
}

/// The direction of a packet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Way {
    /// From the sending to the receiving host.
    ToReceiver,
    /// From the receiving to the sending host.
    ToSender,
}

/// A packet that leaves its host, as a script sees it.
#[derive(Clone, Copy, Debug)]
pub struct Departure<'a> {
    /// The time.
    pub now: Time,
    /// The number of its flow.
    pub flow: usize,
    /// The direction of the packet.
    pub way: Way,
    /// The number of packets that left in this direction before it.
    pub position: u64,
    /// The packet.
    pub packet: &'a Packet,
}

/// The fate of one packet, chosen by a script or drawn by a wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// The packet travels as others do.
    Pass,
    /// The packet is lost.
    Lose,
    /// The packet arrives twice; the second one is late by this much.
    Duplicate(Span),
    /// The packet is late by this much.
    Delay(Span),
    /// The packet is marked if it understands marks.
    Mark,
}

/// Times by which the copies of a packet are late: none, one or two copies.
pub(super) type Copies = [Option<Span>; 2];

impl Wire {
    /// Draws the rest of a packet's fate, and marks it.
    pub(super) fn draw(&self, fate: Fate, packet: &mut Packet, rng: &mut Rng) -> Copies {
        let lost = rng.unit() < self.loss;
        let mut late = rng.span_up_to(self.jitter);
        let by = rng.span_up_to(self.late_by);
        if rng.unit() < self.late {
            late += by;
        }
        let mut twice = (rng.unit() < self.duplicate).then_some(late + by);
        let mut marked = rng.unit() < self.mark;
        match fate {
            Fate::Pass => {}
            Fate::Lose => return [None; 2],
            Fate::Duplicate(by) => twice = Some(late + by),
            Fate::Delay(by) => late += by,
            Fate::Mark => marked = true,
        }
        if marked && packet.flags.has(Flags::ECN_CAPABLE) {
            packet.flags.set(Flags::ECN_CE);
        }
        if lost { [None; 2] } else { [Some(late), twice] }
    }
}
