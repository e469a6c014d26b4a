//! Packets as a viewer sees them: those that wait at ports, and those on links. All of it only reads, and a run at which
//! nobody looks pays nothing for it.

use super::exchange::Crossing;
use super::network::Network;
use super::networks::Networks;
use super::slab::Parcel;
use crate::engine::EventKind;
use crate::ids::{ClassId, Id};
use clearway_proto::port::pfc::PAUSE_WIRE;
use clearway_topology::PortId;
use clearway_units::Time;

/// A frame that left a port, or whose turn there is known: it goes on the link at `start`, and its last bit reaches the
/// next node at `arrives`.
#[derive(Clone, Copy)]
pub struct Launched<'a> {
    /// The port.
    pub port: PortId,
    /// The packet; `None` for a pause frame.
    pub parcel: Option<&'a Parcel>,
    /// The size on the wire in bytes.
    pub wire: u32,
    /// The time at which the first bit leaves the port.
    pub start: Time,
    /// The time at which the last bit reaches the next node.
    pub arrives: Time,
}

/// The packets of one class that wait at a port.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Waiting {
    /// The bytes on the wire.
    pub bytes: u64,
    /// The number of packets.
    pub packets: u64,
}

impl Network {
    /// The packets that wait in the queue of a class of data at a port.
    pub fn waiting_data(&self, port: PortId, class: ClassId) -> Waiting {
        match self.plain(port) {
            Some(queue) if class == ClassId::FIRST => {
                let now = self.now();
                Waiting { bytes: queue.bytes(now), packets: queue.packets(now) }
            }
            Some(_) => Waiting::default(),
            None => {
                let queue = &self.queues.nth(self.ports[port].queues, class.index()).queue;
                Waiting { bytes: queue.bytes(), packets: u64::from(queue.packets()) }
            }
        }
    }

    /// The credits that wait at a port under a rate limit, by class of credits.
    pub fn waiting_credits(&self, port: PortId) -> impl Iterator<Item = Waiting> {
        let waiting = |queue: &super::queue::Queue| Waiting {
            bytes: queue.bytes(),
            packets: u64::from(queue.packets()),
        };
        self.credit_queues(port).map(waiting)
    }

    /// The packets in the queues of a port that is not plain: credits under a rate limit first, then data class by class,
    /// of each class the first one first. The packets that wait at a plain port are among [`Networks::launched_frames`].
    pub fn waiting_parcels(&self, port: PortId) -> impl Iterator<Item = &Parcel> {
        let is_plain = self.ports[port].plain.is_some();
        let data = if is_plain { &[] } else { self.data_queues(port) };
        let credits = self.credit_queues(port).flat_map(|queue| queue.iter(&self.slab));
        credits.chain(data.iter().flat_map(|class| class.queue.iter(&self.slab)))
    }

    /// The number of notifications that the mechanism of a port had sent to senders.
    pub fn cnps(&self, port: PortId) -> u64 {
        self.ports[port].special.mechanism.map_or(0, |mechanism| self.mechanisms[mechanism].cnps)
    }

    /// The number of packets that reached a host which has yet to look at them.
    pub fn handled_later(&self) -> u64 {
        let is_handled = |kind| matches!(kind, EventKind::Handle(_));
        self.agenda.iter().filter(|event| is_handled(event.kind())).count() as u64
    }

    /// The frames that a port gave to its link, or that wait there although their turn is known.
    fn launched_frames(&self) -> impl Iterator<Item = Launched<'_>> {
        self.agenda.iter().filter_map(|event| match event.kind() {
            EventKind::Arrive(id) => Some(self.launched_at(event.port(), event.at(), Some(&self.slab[id]))),
            EventKind::Pause(_) => Some(self.launched_at(event.port(), event.at(), None)),
            _ => None,
        })
    }

    /// The frames that other parts of the network sent here and that this one has yet to take in.
    fn handed_over(&self) -> impl Iterator<Item = Launched<'_>> {
        let boxes = self.exchange.iter().flat_map(|exchange| &exchange.inboxes);
        boxes.flat_map(move |batch| {
            let mut parcels = batch.parcels.iter();
            batch.items.iter().map(move |item| {
                let parcel = match item.what {
                    Crossing::Packet => parcels.next(),
                    Crossing::Frame(..) => None,
                };
                self.launched_at(item.port, item.at, parcel)
            })
        })
    }

    /// The frame of a port whose event comes at `at`: of a packet its arrival, of a pause frame the time at which the
    /// other end obeys it.
    fn launched_at<'a>(&self, port: PortId, at: Time, parcel: Option<&'a Parcel>) -> Launched<'a> {
        let out = &self.ports[port];
        let response = self.memory.control().filter(|_| parcel.is_none()).map(|control| control.response());
        let wire = parcel.map_or(PAUSE_WIRE, |parcel| parcel.packet.wire);
        let arrives = response.map_or(at, |response| at - response);
        let start = arrives - out.delay - out.time_to_send(wire);
        Launched { port, parcel, wire, start, arrives }
    }
}

impl Networks {
    /// The frames on all links, those included that wait at a plain port, whose start lies in the future. A pause frame
    /// stays until the other end has obeyed it. They come in no meaningful order.
    pub fn launched_frames(&self) -> impl Iterator<Item = Launched<'_>> {
        self.iter().flat_map(|net| net.launched_frames().chain(net.handed_over()))
    }
}
