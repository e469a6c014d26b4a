//! Views of packets: those that wait at ports, and those on links.

use super::super::run::Simulation;
use super::unheard::Unheard;
use crate::ids::{FlowSlot, Id};
use crate::net::{Launched, Parcel};
use clearway_proto::{Flags, Kind};
use clearway_topology::PortId;
use clearway_units::Time;

/// The kinds of frames on links: those of packets, and pause frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FrameKind {
    /// A packet of a flow.
    Packet(Kind),
    /// A pause frame, which belongs to no flow.
    Pause,
}

impl FrameKind {
    /// The names of all kinds, in the order of [`FrameKind::index`].
    pub const NAMES: [&'static str; 10] =
        ["data", "syn", "credit-request", "credit-stop", "syn-ack", "ack", "credit", "nack", "cnp", "pause"];

    /// The number of the kind.
    pub fn index(self) -> u8 {
        match self {
            FrameKind::Packet(Kind::Data) => 0,
            FrameKind::Packet(Kind::Syn) => 1,
            FrameKind::Packet(Kind::CreditRequest) => 2,
            FrameKind::Packet(Kind::CreditStop) => 3,
            FrameKind::Packet(Kind::SynAck) => 4,
            FrameKind::Packet(Kind::Ack) => 5,
            FrameKind::Packet(Kind::Credit) => 6,
            FrameKind::Packet(Kind::Nack) => 7,
            FrameKind::Packet(Kind::Cnp) => 8,
            FrameKind::Pause => 9,
        }
    }

    /// The name of the kind.
    pub fn name(self) -> &'static str {
        FrameKind::NAMES[usize::from(self.index())]
    }
}

/// A frame on a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InFlight {
    /// The port that sent it.
    pub port: PortId,
    /// The number of its flow's row; `None` for a pause frame, and for a packet of a connection before its first message.
    pub flow: Option<u32>,
    /// Its kind.
    pub kind: FrameKind,
    /// Its size on the wire in bytes.
    pub wire: u32,
    /// True if it carries an ECN mark.
    pub is_marked: bool,
    /// True if it is data that was sent before.
    pub is_retransmission: bool,
    /// The time at which its first bit left the port.
    pub start: Time,
    /// The time at which its last bit reaches the next node. A pause frame is shown until the port there has obeyed it.
    pub arrives: Time,
}

/// A packet that waits at a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Queued {
    /// The port.
    pub port: PortId,
    /// The number of its flow's row; `None` for a packet of a connection before its first message.
    pub flow: Option<u32>,
    /// Its kind.
    pub kind: FrameKind,
    /// Its size on the wire in bytes.
    pub wire: u32,
    /// True if it carries an ECN mark.
    pub is_marked: bool,
    /// True if it is data that was sent before.
    pub is_retransmission: bool,
}

/// The packets on all links and in all queues at one instant. A viewer keeps the object and fills it again and again, so
/// that a look allocates nothing.
#[derive(Clone, Default, Debug)]
pub struct Packets {
    /// The frames on links, in no meaningful order.
    pub in_flight: Vec<InFlight>,
    /// The packets that wait, port by port, of each class the first one first.
    pub queued: Vec<Queued>,
    /// The packets that wait at plain ports, with the times at which they start.
    waiting: Vec<(PortId, Time, Queued)>,
    /// The rows of the messages that flows carry, by the place of the flow.
    rows: Vec<Option<u32>>,
}

impl Simulation {
    /// Fills `packets` with the frames on all links and the packets in all queues, at most so many of each port.
    pub fn look_at_packets(&self, packets: &mut Packets, most_of_a_port: usize) {
        let Packets { in_flight, queued, waiting, rows } = packets;
        in_flight.clear();
        queued.clear();
        waiting.clear();
        self.fill_rows(rows);
        for launched in self.nets.launched_frames() {
            if launched.start > self.nets.now() {
                waiting.extend(self.waits(rows, &launched));
            } else {
                in_flight.push(self.flies(rows, &launched));
            }
        }
        waiting.sort_unstable_by_key(|&(port, start, _)| (port, start));
        let mut plain = waiting.iter().peekable();
        for port in self.nets.ports() {
            let mut left = most_of_a_port;
            while let Some((_, _, packet)) = plain.next_if(|(of, _, _)| *of == port) {
                if left > 0 {
                    left -= 1;
                    queued.push(*packet);
                }
            }
            let parcels = self.nets.of(port).waiting_parcels(port).take(left);
            queued.extend(parcels.map(|parcel| self.waits_in(rows, port, parcel)));
        }
    }

    /// The frames on all links, in no meaningful order.
    pub fn in_flight(&self) -> Vec<InFlight> {
        let mut packets = Packets::default();
        self.look_at_packets(&mut packets, 0);
        packets.in_flight
    }

    /// The packets that wait at a port: credits under a rate limit first, then data class by class, of each class the
    /// first one first.
    pub fn queued(&self, port: PortId) -> Vec<Queued> {
        let mut rows = Vec::new();
        self.fill_rows(&mut rows);
        let now = self.nets.now();
        let frames = self.nets.launched_frames();
        let here = frames.filter(|launched| launched.port == port && launched.start > now);
        let mut plain: Vec<_> = here.filter_map(|launched| self.waits(&rows, &launched)).collect();
        plain.sort_unstable_by_key(|&(_, start, _)| start);
        let parcels = self.nets.of(port).waiting_parcels(port);
        let others = parcels.map(|parcel| self.waits_in(&rows, port, parcel));
        plain.into_iter().map(|(_, _, packet)| packet).chain(others).collect()
    }

    fn flies(&self, rows: &[Option<u32>], launched: &Launched<'_>) -> InFlight {
        let Launched { port, parcel, wire, start, arrives } = *launched;
        let has = |flag| parcel.is_some_and(|parcel| parcel.packet.flags.has(flag));
        InFlight {
            port,
            flow: parcel.and_then(|parcel| row(rows, parcel.flow)),
            kind: parcel.map_or(FrameKind::Pause, |parcel| FrameKind::Packet(parcel.packet.kind())),
            wire,
            is_marked: has(Flags::ECN_CE),
            is_retransmission: has(Flags::RETRANSMIT),
            start,
            arrives,
        }
    }

    fn waits(&self, rows: &[Option<u32>], launched: &Launched<'_>) -> Option<(PortId, Time, Queued)> {
        let Launched { port, parcel, start, .. } = *launched;
        Some((port, start, self.waits_in(rows, port, parcel?)))
    }

    fn waits_in(&self, rows: &[Option<u32>], port: PortId, parcel: &Parcel) -> Queued {
        let packet = &parcel.packet;
        Queued {
            port,
            flow: row(rows, parcel.flow),
            kind: FrameKind::Packet(packet.kind()),
            wire: packet.wire,
            is_marked: packet.flags.has(Flags::ECN_CE),
            is_retransmission: packet.flags.has(Flags::RETRANSMIT),
        }
    }

    /// Lists the rows of the messages that flows carry now or carried last.
    fn fill_rows(&self, rows: &mut Vec<Option<u32>>) {
        let unheard = Unheard::new(self);
        rows.clear();
        rows.extend(self.lives.slots().map(|slot| {
            let live = self.lives.get(slot)?;
            unheard.current(slot, live).map(|message| message.row)
        }));
    }
}

/// The row of a flow; `None` if it carries no message.
fn row(rows: &[Option<u32>], flow: FlowSlot) -> Option<u32> {
    rows.get(flow.index()).copied().flatten()
}
