//! Views of packets: those that wait at ports, and those on links.

use super::pending_notes::PendingNotes;
use super::view::View;
use crate::ids::{Id, IdVec};
use crate::net::{Launched, Marks, QueuedPacket, RoutedPacket, each_launched, each_on_links};
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
    pub const NAMES: [&'static str; 12] = [
        "data",
        "syn",
        "credit-request",
        "credit-stop",
        "syn-ack",
        "ack",
        "credit",
        "nack",
        "cnp",
        "pause",
        "pull",
        "pull-request",
    ];

    /// Returns the number of the kind.
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
            FrameKind::Packet(Kind::Pull) => 10,
            FrameKind::Packet(Kind::PullRequest | Kind::Probe) => 11,
        }
    }

    /// Returns the name of the kind.
    pub fn name(self) -> &'static str {
        FrameKind::NAMES[usize::from(self.index())]
    }
}

/// A packet or, on a link, a pause frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PacketView {
    /// The port at which it waits, or that sent it.
    pub port: PortId,
    /// The number of its flow's row; `None` for a pause frame, and for a packet of a connection before its first message.
    pub flow: Option<u32>,
    /// Its kind.
    pub kind: FrameKind,
    /// Its size on the wire in bytes.
    pub wire: u32,
    /// Its marks.
    pub marks: Marks,
    /// The entropy that its end gave it, by which switches may choose its path; `None` if its end gave it none.
    pub entropy: Option<u16>,
}

/// A frame on a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InFlight {
    /// The packet or pause frame.
    pub packet: PacketView,
    /// The time at which its first bit left the port.
    pub start: Time,
    /// The time at which its last bit reaches the next node. A pause frame is shown until the port there has obeyed it.
    pub arrives: Time,
}

/// The packets on all links and in all queues at one instant. A viewer keeps the object and fills it again and again, so
/// that a look allocates nothing.
#[derive(Clone, Default, Debug)]
pub struct Packets {
    /// The frames on links, in no meaningful order.
    pub in_flight: Vec<InFlight>,
    /// The packets that wait, port by port, of each class the first one first.
    pub queued: Vec<PacketView>,
    /// The packets that wait at each plain port, with the times at which they start.
    waiting: IdVec<PortId, Vec<(Time, PacketView)>>,
    /// The rows of the messages that flows carry, by the place of the flow.
    rows: Vec<Option<u32>>,
    /// For each port, the time at which the last frame that it has begun to send will have arrived.
    last: Vec<Time>,
}

impl Packets {
    /// Takes all packets out.
    pub fn clear(&mut self) {
        self.in_flight.clear();
        self.queued.clear();
    }
}

impl View<'_> {
    /// Fills `packets` with the frames on all links. No packets that wait are among them.
    pub fn look_at_links(self, packets: &mut Packets) {
        packets.clear();
        let Packets { in_flight, rows, last, .. } = packets;
        self.fill_rows(rows);
        let now = self.sim.nets.now();
        each_on_links(&self.sim.nets, last, |launched| {
            if launched.start <= now {
                in_flight.push(on_link(rows, &launched));
            }
        });
    }

    /// Shows the packets that wait at a port, at most so many: credits under a rate limit first, then data class by class,
    /// of each class the first one first. [`View::queued`] lists them with their flows, which takes much longer.
    #[inline]
    pub fn each_queued(self, port: PortId, most: usize, show: impl FnMut(QueuedPacket)) {
        self.sim.nets.look(port).each_queued(most, show);
    }

    /// Fills `packets` with the frames on all links and the packets in all queues.
    pub fn look_at_packets(self, packets: &mut Packets) {
        packets.clear();
        let Packets { in_flight, queued, waiting, rows, .. } = packets;
        self.fill_rows(rows);
        if let Some(last) = self.sim.nets.ports().last() {
            waiting.cover(last, Vec::new());
        }
        let now = self.sim.nets.now();
        each_launched(&self.sim.nets, |launched| {
            let Launched { port, packet, wire, start, .. } = launched;
            if start > now {
                waiting[port].push((start, seen(rows, port, packet, wire)));
            } else {
                in_flight.push(on_link(rows, &launched));
            }
        });
        for port in self.sim.nets.ports() {
            let (net, plain) = (self.sim.nets.of(port), &mut waiting[port]);
            if !plain.is_empty() {
                plain.sort_by_key(|&(start, _)| start);
                queued.extend(plain.drain(..).map(|(_, packet)| packet));
            } else if net.look(port).has_packets() {
                let packets = net.look(port).waiting_packets();
                queued
                    .extend(packets.map(|routed| seen(rows, port, Some(routed), routed.packet.wire.into())));
            }
        }
    }

    /// Returns the frames on all links, in no meaningful order.
    pub fn in_flight(self) -> Vec<InFlight> {
        let mut packets = Packets::default();
        self.look_at_links(&mut packets);
        packets.in_flight
    }

    /// Returns the packets that wait at a port: credits under a rate limit first, then data class by class, of each
    /// class the first one first.
    pub fn queued(self, port: PortId) -> Vec<PacketView> {
        let mut packets = Packets::default();
        self.look_at_packets(&mut packets);
        packets.queued.retain(|packet| packet.port == port);
        packets.queued
    }

    /// Lists the rows of the messages that flows carry now or carried last.
    fn fill_rows(self, rows: &mut Vec<Option<u32>>) {
        let pending = PendingNotes::new(self.sim);
        rows.clear();
        rows.extend(self.sim.live_flows.slots().map(|slot| {
            let live = self.sim.live_flows.get(slot)?;
            pending.current(slot, live).map(|message| message.row)
        }));
    }
}

/// Returns a frame on a link as a viewer sees it.
#[inline]
fn on_link(rows: &[Option<u32>], launched: &Launched<'_>) -> InFlight {
    let &Launched { port, packet, wire, start, arrives } = launched;
    InFlight { packet: seen(rows, port, packet, wire), start, arrives }
}

/// Returns a packet as a viewer sees it; a pause frame, if there is no packet.
#[inline]
fn seen(rows: &[Option<u32>], port: PortId, routed: Option<&RoutedPacket>, wire: u32) -> PacketView {
    let marks = Marks::of_any(routed.map_or(Flags::NONE, |routed| routed.packet.flags));
    PacketView {
        port,
        flow: routed.and_then(|routed| rows.get(routed.flow.index()).copied().flatten()),
        kind: routed.map_or(FrameKind::Pause, |routed| FrameKind::Packet(routed.packet.kind())),
        wire,
        marks,
        entropy: routed.and_then(|routed| routed.packet.tag().entropy),
    }
}
