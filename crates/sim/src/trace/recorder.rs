//! The recorder of traces: it is told what happens at the ports that traces choose, and keeps what they ask for.

use super::TRACES_ARE_TAKEN;
use super::entry::{Entry, FlowSpan, Step, Traced, What, Whose};
use crate::ids::{ClassId, FlowSlot, IdVec, PacketId, RecordId};
use crate::model::{FlowRange, Model, Trace};
use clearway_proto::{Extra, Flags, Packet};
use clearway_topology::{NodeId, PortId};
use clearway_units::Time;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The recorder of all traces of a run.
#[derive(Serialize, Deserialize)]
pub struct Recorder {
    lenses: Vec<Lens>,
    /// The flow that has each place now.
    flows: IdVec<FlowSlot, Whose>,
    /// The packet that was last seen under each handle.
    seen: IdVec<PacketId, Seen>,
    /// The number of packets seen so far.
    packets: u64,
    /// The packet that a port was handed and of which nothing has been noted since.
    handed: Option<PacketId>,
    /// The times of the messages that some trace may show.
    messages: BTreeMap<RecordId, FlowSpan>,
}

/// A trace while the run goes on: what it takes, and what it has taken.
#[derive(Serialize, Deserialize)]
struct Lens {
    /// True for each port that the trace covers.
    ports: IdVec<PortId, bool>,
    /// The flows; `None` for all.
    flows: Option<Vec<FlowRange>>,
    from: Time,
    until: Time,
    limit: u64,
    taken: Taken,
}

/// The entries that a trace has taken.
#[derive(Default, Serialize, Deserialize)]
pub struct Taken {
    /// The entries, in the order of their times.
    pub entries: Vec<Entry>,
    /// The number of entries beyond the limit of the trace, which were not kept.
    pub left_out: u64,
    /// The messages of flows in the order of their starts, also of some that the trace does not take.
    pub flows: Vec<FlowSpan>,
}

/// A packet that was seen, so that it is known again at its next port.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Seen {
    number: u64,
    flow: Whose,
    sent: Time,
    hops_left: u8,
    flags: Flags,
}

/// The flow of a place that no flow has had yet.
const NOBODY: Whose = Whose { traffic: 0, number: 0, src: NodeId(0), dst: NodeId(0) };
/// The entry of a handle under which no packet was seen yet; no packet has the number 0.
const NOTHING: Seen = Seen { number: 0, flow: NOBODY, sent: Time::ZERO, hops_left: 0, flags: Flags::NONE };

/// A packet as a port holds it.
pub struct Held<'a> {
    /// The handle of the packet.
    pub id: PacketId,
    /// The place of the packet's flow.
    pub flow: FlowSlot,
    /// The packet.
    pub packet: &'a Packet,
    /// The additions that few packets carry.
    pub extra: Option<Extra>,
    /// The number of ports that the packet has yet to cross.
    pub hops_left: u8,
    /// The packet's class at the port.
    pub class: ClassId,
}

/// A port at an instant.
#[derive(Clone, Copy)]
pub struct Place {
    /// The time.
    pub at: Time,
    /// The port.
    pub port: PortId,
    /// The bytes of data that wait there.
    pub queued: u64,
    /// The number of credits that wait there.
    pub credits: u32,
}

impl Place {
    fn entry(self, step: Step, what: What) -> Entry {
        let Place { at, port, queued, credits } = self;
        Entry { at, port, step, queued, credits, what }
    }
}

impl Recorder {
    /// Returns the recorder of a model's traces; `None` if there are none.
    pub fn new(model: &Model) -> Option<Box<Recorder>> {
        let lens = |trace: &Trace| {
            let mut ports: IdVec<PortId, bool> = vec![false; model.topology.ports().len()].into();
            trace.ports.iter().for_each(|port| ports[*port] = true);
            let (from, until) = (trace.from, trace.until.unwrap_or(Time::MAX));
            Lens {
                ports,
                flows: trace.flows.clone(),
                from,
                until,
                limit: trace.limit,
                taken: Taken::default(),
            }
        };
        let lenses: Vec<Lens> = model.traces.iter().map(lens).collect();
        let recorder = || Recorder {
            lenses,
            flows: IdVec::new(),
            seen: IdVec::new(),
            packets: 0,
            handed: None,
            messages: BTreeMap::new(),
        };
        (TRACES_ARE_TAKEN && !model.traces.is_empty()).then(|| Box::new(recorder()))
    }

    /// Returns whether some trace covers a port.
    pub fn covers(&self, port: PortId) -> bool {
        self.lenses.iter().any(|lens| lens.ports[port])
    }

    /// A flow begins in this place.
    pub fn open_flow(&mut self, slot: FlowSlot, flow: Whose) {
        self.flows.cover(slot, NOBODY);
        self.flows[slot] = flow;
    }

    /// A message of the flow in this place begins, whose row this is.
    pub fn start_message(&mut self, row: RecordId, slot: FlowSlot, start: Time) {
        let flow = self.flows[slot];
        let may_show = |lens: &Lens| {
            lens.takes_flow(flow) && start <= lens.until && (lens.taken.entries.len() as u64) < lens.limit
        };
        if self.lenses.iter().any(may_show) {
            self.messages.insert(row, FlowSpan { flow, start, end: None, size: None });
        }
    }

    /// A message of so many bytes was delivered in full.
    pub fn end_message(&mut self, row: RecordId, end: Time, bytes: u64) {
        if let Some(message) = self.messages.get_mut(&row) {
            (message.end, message.size) = (Some(end), Some(bytes));
        }
    }

    /// A port is handed a packet, and has yet to decide what becomes of it.
    pub fn hand(&mut self, held: &Held<'_>) {
        self.know(held);
        self.seen[held.id].flags = held.packet.flags;
        self.handed = Some(held.id);
    }

    /// A port has decided what becomes of the packet that it was handed. Returns whether it keeps it in a queue.
    pub fn keeps_handed(&mut self) -> bool {
        self.handed.take().is_some()
    }

    /// Notes an event of a packet, and before it that the port marked the packet if it did.
    pub fn note(&mut self, place: Place, held: &Held<'_>, step: Step) {
        let number = self.know(held);
        self.handed = self.handed.filter(|handed| *handed != held.id);
        let seen = &mut self.seen[held.id];
        let is_marked = held.packet.flags.has(Flags::ECN_CE) && !seen.flags.has(Flags::ECN_CE);
        seen.flags = held.packet.flags;
        let flow = seen.flow;
        if matches!(step, Step::Dropped(_)) {
            *seen = NOTHING;
        }
        let traced = || {
            What::Packet(Traced {
                number,
                flow,
                packet: *held.packet,
                extra: held.extra.map(Box::new),
                hops_left: held.hops_left,
                class: held.class,
            })
        };
        for lens in self.lenses.iter_mut().filter(|lens| lens.takes(place) && lens.takes_flow(flow)) {
            if is_marked {
                lens.taken.add(lens.limit, || place.entry(Step::Marked, traced()));
            }
            lens.taken.add(lens.limit, || place.entry(step, traced()));
        }
    }

    /// Notes that the port cut a packet to its header. One that it was just handed may wait, or be dropped, after that.
    pub fn note_trimmed(&mut self, place: Place, held: &Held<'_>) {
        let handed = self.handed;
        self.note(place, held, Step::Trimmed);
        self.handed = handed;
    }

    /// Notes an event of a pause frame. It belongs to no flow and is in all traces that cover its port.
    pub fn note_frame(&mut self, place: Place, step: Step, frame: What) {
        for lens in self.lenses.iter_mut().filter(|lens| lens.takes(place)) {
            lens.taken.add(lens.limit, || place.entry(step, frame.clone()));
        }
    }

    /// Returns what each trace has taken, in the order of the model.
    pub fn finish(self) -> Vec<Taken> {
        let messages: Vec<FlowSpan> = self.messages.into_values().collect();
        let taken = self.lenses.into_iter().map(|lens| Taken { flows: messages.clone(), ..lens.taken });
        taken.collect()
    }

    /// Returns the number of a packet. A handle is used again for other packets: this one is known by its flow and the
    /// time at which it was sent, and never has more ports ahead than it had before.
    fn know(&mut self, held: &Held<'_>) -> u64 {
        self.seen.cover(held.id, NOTHING);
        let flow = self.flows[held.flow];
        let seen = &mut self.seen[held.id];
        let is_known = seen.number > 0
            && (seen.sent, seen.flow) == (held.packet.sent, flow)
            && held.hops_left <= seen.hops_left;
        if is_known {
            seen.hops_left = held.hops_left;
        } else {
            self.packets += 1;
            let (sent, flags) = (held.packet.sent, held.packet.flags);
            *seen = Seen { number: self.packets, flow, sent, hops_left: held.hops_left, flags };
        }
        seen.number
    }
}

impl Lens {
    fn takes(&self, place: Place) -> bool {
        self.ports[place.port] && (self.from..=self.until).contains(&place.at)
    }

    fn takes_flow(&self, flow: Whose) -> bool {
        let holds = |range: &FlowRange| {
            range.traffic == flow.traffic as usize && range.numbers.contains(&flow.number)
        };
        self.flows.as_ref().is_none_or(|flows| flows.iter().any(holds))
    }
}

impl Taken {
    fn add(&mut self, limit: u64, entry: impl FnOnce() -> Entry) {
        if (self.entries.len() as u64) < limit {
            self.entries.push(entry());
        } else {
            self.left_out += 1;
        }
    }
}
