//! Views of flows.

use super::super::ideal::ideal_fct;
use super::super::live_flows::LiveFlow;
use super::super::notes::size_of_message;
use super::super::snapshots::flow_snapshot;
use super::pending_notes::PendingNotes;
use super::view::Flows;
use crate::ids::{FlowSlot, HostId, Id, RecordId};
use crate::metrics::{Record, slowdown};
use crate::model::Pattern;
use clearway_proto::{Gauges, Rare};
use clearway_topology::{NodeId, PortId};
use clearway_units::{Known, Span, Time};

/// The states of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FlowState {
    /// Its connection is open and carries no message.
    Idle,
    /// It carries bytes that are not all delivered.
    Sending,
    /// All bytes are delivered, and an end of the flow still waits for something, such as an acknowledgement.
    Delivered,
    /// It is over.
    Ended,
}

impl FlowState {
    /// Returns the name of the state.
    pub fn name(self) -> &'static str {
        match self {
            FlowState::Idle => "idle",
            FlowState::Sending => "sending",
            FlowState::Delivered => "delivered",
            FlowState::Ended => "ended",
        }
    }
}

/// A flow or, on a connection that carries several messages, the message that it carries now or carried last.
#[derive(Clone, Copy, Debug)]
pub struct FlowView {
    /// The number of the row: rows are counted in the order in which flows and messages start. `None` for a connection
    /// before its first message.
    pub row: Option<u32>,
    /// The index of the traffic entry.
    pub traffic: usize,
    /// The number of the flow in its traffic entry.
    pub number: u64,
    /// The host that sends.
    pub source: NodeId,
    /// The host that receives.
    pub destination: NodeId,
    /// The bytes to send; `None` while that is open.
    pub size: Option<u64>,
    /// The bytes of them that were delivered in order.
    pub delivered: u64,
    /// The time at which the application handed the bytes over.
    pub start: Time,
    /// The time at which the last byte was delivered.
    pub end: Option<Time>,
    /// The shortest time that the bytes would take alone; zero if there are none.
    pub ideal: Span,
    /// The congestion window in bytes; NaN if the transport has none, or the flow is over.
    pub window: f64,
    /// The sending rate or, for a sender of credits, the rate of the data that its credits release, in bit/s; NaN as above.
    pub rate: f64,
    /// The smoothed round-trip time in seconds; NaN as above.
    pub srtt: f64,
    /// The data packets that the flow sent again so far; of a flow that is over, those of this message.
    pub retransmits: u64,
    /// The expiries of its retransmission timer, likewise.
    pub timeouts: u64,
    /// The notifications of congestion that its sender heard of, likewise.
    pub notifications: u64,
    /// The state.
    pub state: FlowState,
}

impl Flows<'_> {
    /// Shows every flow that is alive, in no meaningful order.
    pub fn each(&mut self, mut show: impl FnMut(FlowView)) {
        let pending = PendingNotes::new(self.sim);
        for slot in self.sim.live_flows.slots() {
            if let Some(view) = self.live_flow(&pending, slot) {
                show(view);
            }
        }
    }

    /// Shows the flow of a row, alive or over; `None` if there is none, or if the row left memory.
    pub fn get(&mut self, row: u32) -> Option<FlowView> {
        let pending = PendingNotes::new(self.sim);
        if let Some(slot) = self.slot_of(&pending, row) {
            return self.live_flow(&pending, slot);
        }
        let record = self.sim.journal.get(RecordId::from_index(row as usize))?;
        let end = record.end.get().or_else(|| {
            let slot = record.flow?;
            pending.end_of(slot, self.sim.live_flows.get(slot)?, row)
        });
        let delivered = if end.is_some() { record.bytes() } else { record.delivered };
        let state = if end.is_some() { FlowState::Ended } else { FlowState::Sending };
        let told = Told {
            row: Some(row),
            end,
            delivered,
            state,
            gauges: Gauges::NONE,
            stats: record.stats().rare(),
        };
        Some(FlowView::new(record, told))
    }

    /// Returns the ports that the data of the flow of a row crosses, from its source on; where packets are spread over
    /// several paths, the ports of all of them. Empty if there is no such row.
    pub fn path(&mut self, row: u32) -> Vec<PortId> {
        let pending = PendingNotes::new(self.sim);
        if let Some(slot) = self.slot_of(&pending, row)
            && let Some(live) = self.sim.live_flows.get(slot)
            && let Some(sending) =
                self.sim.regions[self.sim.nets.part_of(live.src.node())].hosts.senders.get(slot)
        {
            if !sending.end.route.is_by_tables() {
                return self.sim.nets.paths().path(sending.end.route).to_vec();
            }
            let key = self.sim.router.key(live.name().traffic, live.name().number);
            let [src, dst] = [live.src, live.dst].map(HostId::node);
            return once_each(self.sim.router.find(&self.sim.model.topology, src, dst, key).0);
        }
        let Some(record) = self.sim.journal.get(RecordId::from_index(row as usize)) else {
            return Vec::new();
        };
        let key = self.sim.router.key(record.traffic, record.number);
        once_each(self.sim.router.find(&self.sim.model.topology, record.src, record.dst, key).0)
    }

    /// Returns the flow that carries, or carried last, the message of a row.
    fn slot_of(&self, pending: &PendingNotes, row: u32) -> Option<FlowSlot> {
        let carries = |(slot, live): &(FlowSlot, &LiveFlow)| {
            pending.current(*slot, live).is_some_and(|message| message.row == row)
        };
        self.sim.live_flows.iter().find(carries).map(|(slot, _)| slot)
    }

    fn live_flow(&mut self, pending: &PendingNotes, slot: FlowSlot) -> Option<FlowView> {
        let snapshot = flow_snapshot(self.sim, slot)?;
        let unread = self.unread_record(pending, slot);
        let live = self.sim.live_flows.get(slot)?;
        let message = pending.current(slot, live);
        let has_rounds =
            matches!(self.sim.model.traffic[live.name().traffic.index()].pattern, Pattern::Rounds(_));
        if message.is_none() && !has_rounds {
            // It was prepared and has yet to start.
            return None;
        }
        let is_open = pending.is_open(slot, live);
        let row = message.map(|message| message.row);
        let recorded = row.and_then(|row| self.sim.journal.get(RecordId::from_index(row as usize)));
        let record = recorded.or(unread.as_ref())?;
        // Offsets count from the first byte of the flow; those of the message begin where the one before it ended.
        let begin =
            record.size.get().map_or(0, |size| snapshot.message_end.unwrap_or(0).saturating_sub(size));
        let delivered = if is_open { snapshot.delivered.saturating_sub(begin) } else { record.bytes() };
        let end = record.end.get().or_else(|| pending.end_of(slot, live, row?));
        let state = match (is_open, message) {
            (true, _) => FlowState::Sending,
            (false, None) => FlowState::Idle,
            (false, Some(_)) if has_rounds => FlowState::Idle,
            (false, Some(_)) => FlowState::Delivered,
        };
        let told =
            Told { row, end, delivered, state, gauges: snapshot.ends.gauges, stats: snapshot.ends.rare };
        Some(FlowView::new(record, told))
    }

    /// Returns the row of a flow's message whose note the run has yet to read or, before the first message, of one without
    /// bytes; `None` if the message has a row.
    fn unread_record(&mut self, pending: &PendingNotes, slot: FlowSlot) -> Option<Record> {
        let live = self.sim.live_flows.get(slot)?;
        let message = pending.current(slot, live);
        let row = |row: u32| self.sim.journal.get(RecordId::from_index(row as usize));
        if message.is_some_and(|message| row(message.row).is_some()) {
            return None;
        }
        let (name, src, dst) = (live.name(), live.src.node(), live.dst.node());
        let (bytes, start) = message.and_then(|message| message.pending).unwrap_or((0, self.sim.nets.now()));
        let from = self.sim.nets.part_of(src);
        let route = self.sim.regions[from].hosts.senders.get(slot)?.end.route;
        Some(Record {
            traffic: name.traffic,
            number: name.number,
            src,
            dst,
            size: size_of_message(bytes).into(),
            start,
            end: Known::NONE,
            acknowledged: Known::NONE,
            ideal: ideal_fct(self.sim, slot, route, start, bytes),
            delivered: 0,
            stats: None,
            flow: Some(slot),
        })
    }
}

/// What a view shows beside the row.
struct Told {
    row: Option<u32>,
    end: Option<Time>,
    delivered: u64,
    state: FlowState,
    gauges: Gauges,
    stats: Rare,
}

impl FlowView {
    /// Returns the flow completion time over the ideal one; NaN while bytes are not delivered.
    pub fn slowdown(&self) -> f64 {
        self.end.map_or(f64::NAN, |end| slowdown(end - self.start, self.ideal))
    }

    fn new(record: &Record, told: Told) -> FlowView {
        let Told { row, end, delivered, state, gauges, stats } = told;
        FlowView {
            row,
            traffic: record.traffic.index(),
            number: record.number,
            source: record.src,
            destination: record.dst,
            size: record.size.get(),
            delivered,
            start: record.start,
            end,
            ideal: record.ideal,
            window: gauges.cwnd,
            rate: gauges.rate,
            srtt: gauges.srtt,
            retransmits: stats.retransmits,
            timeouts: stats.timeouts,
            notifications: stats.notifications,
            state,
        }
    }
}

/// Returns the ports of paths, each at the place where it first appears.
fn once_each(ports: &[PortId]) -> Vec<PortId> {
    let mut seen = Vec::new();
    for &port in ports {
        if !seen.contains(&port) {
            seen.push(port);
        }
    }
    seen
}
