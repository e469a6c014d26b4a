//! The network: packets enter it, move from port to port, and leave it when they reach their host or are dropped. What a port
//! does with a packet is its pipeline (`pipeline/`).

use super::adaptive::Adaptive;
use super::blocks::Blocks;
use super::books::Books;
use super::credits::Credits;
use super::data_queue::DataQueue;
use super::drop_reason::ByReason;
use super::exchange::Exchange;
use super::link::Loss;
use super::mechanisms::Mechanisms;
use super::memory::Memory;
use super::nics::{Nic, Nics};
use super::notified::Notified;
use super::paths::{Paths, Way};
use super::plain::PlainQueue;
use super::port::Port;
use super::scheduler::Arbiter;
use super::slab::{Addition, RoutedPacket, Slab};
use super::trims::AllTrims;
use super::unseen::Unseen;
use crate::classes::ClassRules;
use crate::engine::{Agenda, EventKind};
use crate::ids::{ClassId, FlowSlot, IdVec, LossId, PacketId, PlainId, QueueId};
use crate::trace::Recorder;
use clearway_proto::{Flags, Packet};
use clearway_topology::PortId;
use clearway_units::Time;
use serde::{Deserialize, Serialize};

/// The network, or a part of one: its ports and the packets that are there. Parts share no cache line, nor one that is
/// fetched along with it.
#[repr(align(128))]
#[derive(Serialize, Deserialize)]
pub struct Network {
    /// The present and the pending events.
    pub agenda: Agenda,
    /// The packets in the network.
    pub slab: Slab,
    /// The counts of what went in and what became of it.
    pub books: Books,
    /// The number of packets put on links, those included whose turn at a plain port has yet to come.
    pub launched: u64,
    /// The output ports.
    pub ports: IdVec<PortId, Port>,
    /// The number of packets dropped at each port, up to the last port that dropped any.
    pub(super) drops: IdVec<PortId, ByReason<u64>>,
    /// The packets that came to the queues of data of each port, less those that it sent, holds, or had no room for: those
    /// that waited when its link failed, less its pause frames. Up to the last port where that is not zero.
    pub(super) came_besides: IdVec<PortId, i64>,
    /// The queues of data of ports that are not plain: those of a port stand together, by class.
    pub(super) queues: IdVec<QueueId, DataQueue>,
    /// The queues of plain ports.
    pub(super) plain: IdVec<PlainId, PlainQueue>,
    /// The credits of ports.
    pub(super) credits: Credits,
    /// The NICs of hosts.
    pub nics: Nics,
    /// The rules by which classes differ.
    pub classes: ClassRules,
    /// The latest end of a pace for which a flow was ever parked at its NIC.
    pub parked_until: Time,
    /// The turns of classes of data that share a port.
    pub(super) arbiter: Arbiter,
    /// The class of data at switches, if there is but one there, and queues share no memory.
    pub(super) lone_class: Option<ClassId>,
    /// The memory of switches.
    pub(super) memory: Memory,
    /// The random loss of links.
    pub(super) losses: IdVec<LossId, Loss>,
    /// The mechanisms at ports.
    pub(super) mechanisms: Mechanisms,
    /// The trimming of ports; none where nothing trims.
    pub(super) trims: AllTrims,
    /// Set if any port may be served late.
    pub(super) defers: bool,
    /// The ports that lead to other parts of the network and may be served late.
    pub(super) deferred_exits: Vec<PortId>,
    /// The time at which the first of these sends what waits there, as of the end of the last window.
    pub(super) next_exit: Option<Time>,
    /// The size on the wire of a notification that a switch sends.
    pub(super) cnp_wire: u32,
    /// What switches know to route adaptively, if they do.
    pub(super) adaptive: Option<Box<Adaptive>>,
    /// The paths of all flows.
    pub paths: Paths,
    /// The flows that mechanisms may notify.
    pub notified: Notified,
    /// The flows of packets that were dropped, and of notifications that switches sent, since the last look.
    pub unseen: Unseen,
    /// The time at which a packet last left the network.
    pub left_at: Time,
    /// The recorder of traces, if there are any.
    pub tap: Option<Box<Recorder>>,
    /// What goes to other parts of the network and comes from there, if this is a part.
    pub exchange: Option<Exchange>,
    /// The blocks, if there are several. A checkpoint knows none.
    #[serde(skip)]
    pub blocks: Option<Box<Blocks>>,
}

impl Network {
    /// Returns the present.
    #[inline]
    pub fn now(&self) -> Time {
        self.agenda.now
    }

    /// Returns the time of the first event, of the first arrival of which this part has yet to hear, or at which a port
    /// that is served late sends something to another part.
    pub fn next_at(&self) -> Option<Time> {
        let waiting = self.exchange.as_ref().and_then(|exchange| exchange.first);
        let of_part = [self.agenda.next_at(), waiting, self.next_exit].into_iter().flatten();
        let of_blocks = self
            .blocks
            .iter()
            .flat_map(|blocks| blocks.numbers().filter_map(|number| blocks.next_at(number)));
        of_part.chain(of_blocks).min()
    }

    /// Puts a packet of a flow into the network: the one way in, for all that hosts and switches send. Returns the
    /// packet, and the port to which the caller hands it.
    #[inline(always)]
    pub fn enter(
        &mut self,
        packet: &Packet,
        extra: Addition<'_>,
        flow: FlowSlot,
        class: ClassId,
        way: Way,
    ) -> (PacketId, PortId) {
        self.books.enter(packet);
        let has_extra = packet.flags.has(Flags::EXTRA);
        let is_credit = packet.is_credit();
        let id = self.slab.insert(RoutedPacket {
            packet: *packet,
            flow,
            hop: way.then,
            next: None,
            hops_left: way.hops - 1,
            class: if is_credit { class } else { self.classes.at_switches(class) },
            class_at_host: class,
        });
        if has_extra {
            self.slab.set_extra(id, extra);
        }
        (id, way.port)
    }

    /// Takes a packet out that reached its host.
    #[inline]
    pub fn deliver(&mut self, id: PacketId) {
        self.books.delivered.add(&self.slab[id].packet);
        self.forget(id);
    }

    /// Takes a packet out of the network.
    #[inline]
    pub(super) fn forget(&mut self, id: PacketId) {
        self.slab.remove(id);
        self.left_at = self.agenda.now;
    }

    /// Wakes a port at `at`, unless it wakes earlier anyway.
    #[inline(always)]
    pub(super) fn arm(&mut self, port: PortId, at: Time) {
        let out = &mut self.ports[port];
        if at < out.wake_at {
            out.wake_at = at;
            self.agenda.at_port(port, at, EventKind::Wake(port));
        }
    }

    /// Returns the NIC behind a host's port.
    #[inline(always)]
    pub fn nic(&mut self, port: PortId) -> &mut Nic {
        &mut self.nics[self.ports[port].nic.expect("a host's port has a NIC")]
    }
}
