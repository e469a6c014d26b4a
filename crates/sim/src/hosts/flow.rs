//! Flows that are alive, with their two ends.

use crate::ids::{ClassId, FlowSlot, HostId, IdVec, RecordId, ShimId, TrafficId};
use crate::net::Route;
use crate::timer::Timer;
use clearway_proto::{AnyReceiver, AnySender, Kind, Rng, Stats};
use clearway_units::Time;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// One end of a flow, its protocol left out.
#[derive(Serialize, Deserialize)]
pub struct End {
    /// The randomness of the end.
    pub rng: Rng,
    /// The counts of what the end did.
    pub stats: Stats,
    /// The wake-ups that the protocol asked for.
    pub timer: Timer,
    /// The time at which the host handled, or will handle, the last packet for this end: packets of one flow keep their
    /// order.
    pub handled_at: Time,
    /// Set once the end needs nothing more.
    pub finished: bool,
    /// The host of the end.
    pub host: HostId,
    /// The paths of the packets that the end sends.
    pub route: Route,
}

impl End {
    /// An end before its first input.
    pub fn new(rng: Rng, host: HostId, route: Route) -> End {
        let (stats, timer, handled_at) = (Stats::default(), Timer::IDLE, Time::ZERO);
        End { rng, stats, timer, handled_at, finished: false, host, route }
    }
}

/// Bytes of a flow that belong together: the application waits until all of them are delivered.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Message {
    /// The offset after the last byte.
    pub end: u64,
    /// The row of the message in the results.
    pub record: RecordId,
}

/// The classes of a flow's packets at every port.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Classes {
    /// The class of data, and of all kinds of packets that have none below.
    pub data: ClassId,
    /// The class of acknowledgements.
    pub ack: ClassId,
    /// The class of credits, among the classes of credits.
    pub credit: ClassId,
    /// The class of congestion notification packets.
    pub cnp: ClassId,
    /// The class of unscheduled data, which is sent without a credit. Another one than `data` if the flow sends any.
    pub unscheduled: ClassId,
}

impl Classes {
    /// The class of a packet of a kind, unless it is unscheduled data.
    #[inline]
    pub fn of(&self, kind: Kind) -> ClassId {
        match kind {
            Kind::Ack | Kind::Nack => self.ack,
            Kind::Credit => self.credit,
            Kind::Cnp => self.cnp,
            _ => self.data,
        }
    }
}

/// A flow between its start and the moment at which its last packet has left the network.
#[derive(Serialize, Deserialize)]
pub struct Flow {
    /// The protocol of the sending end.
    pub sender: AnySender,
    /// The protocol of the receiving end.
    pub receiver: AnyReceiver,
    /// The rest of the sending end.
    pub sending: End,
    /// The rest of the receiving end.
    pub receiving: End,
    /// The traffic entry to which the flow belongs.
    pub traffic: TrafficId,
    /// The number of the flow among those of its traffic entry.
    pub number: u64,
    /// The classes of the flow's packets.
    pub classes: Classes,
    /// The reverse of the sending end's route, if switches notify the sender.
    pub way_back: Option<Route>,
    /// The shim between the receiving end and the network, if there is one.
    pub shim: Option<ShimId>,
    /// Set while the flow waits in its port's round robin for data.
    pub in_turn: bool,
    /// Set while the flow waits in its port's round robin for unscheduled data.
    pub unscheduled_in_turn: bool,
    /// Set once both ends are done.
    pub ended: bool,
    /// The number of bytes that the application handed over.
    pub written: u64,
    /// Messages that are not yet delivered in full.
    pub messages: VecDeque<Message>,
    /// Messages of which the sending end does not know yet that all has arrived.
    pub unacknowledged: VecDeque<Message>,
    /// The offset after the last byte of the first of these; [`u64::MAX`] if there are none.
    pub acknowledged_at: u64,
    /// The counts of both ends up to the end of the last message that is complete.
    pub counted: Stats,
    /// The row of the current message or, while there is none, of the last one; `None` before the first.
    pub record: Option<RecordId>,
}

impl Flow {
    /// A flow between two ends to which nothing has been written yet, without a shim and without a way for CNPs.
    pub fn new(
        (sender, sending): (AnySender, End),
        (receiver, receiving): (AnyReceiver, End),
        (traffic, number): (TrafficId, u64),
        classes: Classes,
    ) -> Flow {
        Flow {
            sender,
            receiver,
            sending,
            receiving,
            traffic,
            number,
            classes,
            way_back: None,
            shim: None,
            in_turn: false,
            unscheduled_in_turn: false,
            ended: false,
            written: 0,
            messages: VecDeque::new(),
            unacknowledged: VecDeque::new(),
            acknowledged_at: u64::MAX,
            counted: Stats::default(),
            record: None,
        }
    }

    /// Adds a message of `bytes` to what the flow must deliver.
    pub fn add_message(&mut self, bytes: u64, record: RecordId) {
        self.written += bytes;
        let message = Message { end: self.written, record };
        self.messages.push_back(message);
        self.unacknowledged.push_back(message);
        self.await_acknowledgement();
    }

    /// Notes that the flow ends at `total` bytes, where its last message then ends as well.
    pub fn cut_to(&mut self, total: u64) {
        self.written = total;
        self.messages.iter_mut().for_each(|message| message.end = total);
        self.unacknowledged.iter_mut().for_each(|message| message.end = total);
        self.await_acknowledgement();
    }

    fn await_acknowledgement(&mut self) {
        self.acknowledged_at = self.unacknowledged.front().map_or(u64::MAX, |message| message.end);
    }

    /// The counts of both ends together.
    pub fn stats(&self) -> Stats {
        self.sending.stats.plus(&self.receiving.stats)
    }
}

/// All flows that are alive, in one array; the place of one that ended is used again.
#[derive(Default, Serialize, Deserialize)]
pub struct Flows {
    places: IdVec<FlowSlot, Option<Flow>>,
    free: Vec<FlowSlot>,
    live: usize,
}

impl Flows {
    /// Adds a flow and returns its place.
    pub fn insert(&mut self, flow: Flow) -> FlowSlot {
        self.live += 1;
        match self.free.pop() {
            Some(slot) => {
                self.places[slot] = Some(flow);
                slot
            }
            None => self.places.push(Some(flow)),
        }
    }

    /// Removes a flow.
    pub fn remove(&mut self, slot: FlowSlot) -> Flow {
        self.live -= 1;
        self.free.push(slot);
        self.places[slot].take().expect("a flow ends once")
    }

    /// A flow, if it is alive.
    #[inline]
    pub fn get_mut(&mut self, slot: FlowSlot) -> Option<&mut Flow> {
        self.places[slot].as_mut()
    }

    /// Takes the first message of a flow if it lies within the `delivered` bytes, and returns its row.
    #[inline]
    pub fn pop_delivered(&mut self, slot: FlowSlot, delivered: u64) -> Option<RecordId> {
        let messages = &mut self.get_mut(slot)?.messages;
        let record = messages.front().filter(|message| message.end <= delivered)?.record;
        messages.pop_front();
        Some(record)
    }

    /// Takes the first message of a flow that its sender has yet to know delivered, if it lies within the
    /// `acknowledged` bytes, and returns its row.
    pub fn pop_acknowledged(&mut self, slot: FlowSlot, acknowledged: u64) -> Option<RecordId> {
        let flow = self.get_mut(slot)?;
        if acknowledged < flow.acknowledged_at {
            return None;
        }
        let record = flow.unacknowledged.pop_front()?.record;
        flow.await_acknowledgement();
        Some(record)
    }

    /// The number of flows that are alive.
    pub fn live(&self) -> usize {
        self.live
    }

    /// The places of all flows that are alive.
    pub fn slots(&self) -> Vec<FlowSlot> {
        self.places.enumerate().filter(|(_, flow)| flow.is_some()).map(|(slot, _)| slot).collect()
    }

    /// All flows that are alive.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Flow> {
        self.places.iter_mut().filter_map(Option::as_mut)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Id;
    use clearway_proto::{AnyTransport, Entity, Env, Framing};
    use clearway_units::{Rate, Span};

    fn flow() -> Flow {
        let transport = AnyTransport::by_name("blast").unwrap();
        let env = Env {
            line_rate: Rate::gbps(10),
            path_rate: Rate::gbps(10),
            base_rtt: Span::from_us(10),
            framing: Framing::ETHERNET,
            established: false,
            host_flows: 0,
        };
        let end =
            |host| End::new(Rng::stream(1, Entity::Sender, 0), HostId::from_index(host), Route::default());
        let [data, ack, credit, cnp, unscheduled] = [0, 1, 2, 3, 4].map(ClassId::from_index);
        let (sender, receiver) = (transport.sender(&env), transport.receiver(&env));
        let name = (TrafficId::from_index(0), 0);
        Flow::new((sender, end(0)), (receiver, end(1)), name, Classes { data, ack, credit, cnp, unscheduled })
    }

    #[test]
    fn messages_are_delivered_and_acknowledged_in_order_once_their_last_byte_is() {
        let mut flows = Flows::default();
        let slot = flows.insert(flow());
        let [first, second] = [0, 1].map(RecordId::from_index);
        let flow = flows.get_mut(slot).unwrap();
        flow.add_message(100, first);
        flow.add_message(50, second);
        assert_eq!((flow.written, flow.acknowledged_at), (150, 100));
        assert_eq!(flows.pop_delivered(slot, 99), None);
        assert_eq!(flows.pop_delivered(slot, 150), Some(first));
        assert_eq!(flows.pop_delivered(slot, 149), None);
        assert_eq!(flows.pop_delivered(slot, 150), Some(second));
        assert_eq!(flows.pop_delivered(slot, 150), None);
        assert_eq!(flows.pop_acknowledged(slot, 149), Some(first));
        assert_eq!(flows.pop_acknowledged(slot, 149), None);
        assert_eq!(flows.pop_acknowledged(slot, 150), Some(second));
        assert_eq!(flows.get_mut(slot).unwrap().acknowledged_at, u64::MAX);
    }

    #[test]
    fn a_flow_that_is_cut_ends_its_messages_there() {
        let mut flow = flow();
        flow.add_message(1000, RecordId::from_index(0));
        flow.cut_to(300);
        assert_eq!((flow.written, flow.acknowledged_at, flow.messages[0].end), (300, 300, 300));
    }

    #[test]
    fn the_place_of_a_flow_that_ended_is_used_again() {
        let mut flows = Flows::default();
        let (first, second) = (flows.insert(flow()), flows.insert(flow()));
        flows.remove(first);
        assert!(flows.get_mut(first).is_none());
        assert_eq!((flows.live(), flows.slots()), (1, vec![second]));
        assert_eq!(flows.insert(flow()), first);
        assert_eq!(flows.slots(), [first, second]);
    }

    #[test]
    fn each_kind_of_packet_has_its_class() {
        let classes = flow().classes;
        assert_eq!([Kind::Ack, Kind::Nack].map(|kind| classes.of(kind)), [classes.ack; 2]);
        assert_eq!([Kind::Credit, Kind::Cnp].map(|kind| classes.of(kind)), [classes.credit, classes.cnp]);
        assert_eq!([Kind::Data, Kind::SynAck].map(|kind| classes.of(kind)), [classes.data; 2]);
    }
}
