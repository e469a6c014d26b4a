//! Series sampled at intervals. Looking changes nothing: a sampler only reads.

use super::rows::{Rows, Spool};
use super::table::{Table, Values};
use crate::hosts::{FlowName, FlowSnapshot};
use crate::ids::{Id, SeriesId, TrafficId};
use crate::model::{Model, Probe};
use crate::net::{DropReason, Networks};
use clearway_topology::PortId;
use clearway_units::{Span, Time};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::mem::take;

/// An entity that a sample is about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
enum Entity {
    /// A flow, by its traffic entry and its number there.
    Flow(TrafficId, u64),
    /// A port.
    Port(PortId),
}

/// Counters by entity and quantity.
type Counters = BTreeMap<(Entity, Quantity), u64>;

/// The values sampled so far, row by row; where rows have a spool, the last part of them.
#[derive(Default, Serialize, Deserialize)]
pub struct Sampler {
    series: Vec<u32>,
    times: Vec<f64>,
    entities: Vec<u32>,
    quantities: Vec<u32>,
    values: Vec<f64>,
    /// The names of entities, in the order in which they were first seen.
    entity_names: Vec<String>,
    /// The index of each entity's name.
    known: BTreeMap<Entity, u32>,
    /// The counters of the entities of each series at its last sample.
    last: BTreeMap<SeriesId, Counters>,
    /// The counters at the last sample of the series that is sampled now.
    before: Counters,
    /// The counters of this sample. Flows that have ended are in it no more.
    now: Counters,
    /// The parts that are full.
    rows: Rows,
}

/// The place of a sample: a series and an entity of it.
#[derive(Clone, Copy)]
struct At<'a> {
    series: SeriesId,
    entity: Entity,
    /// The index of the entity's name.
    name: u32,
    model: &'a Model,
    now: Time,
}

impl<'a> At<'a> {
    fn probe(&self) -> &'a Probe {
        &self.model.samples[self.series.index()].what
    }

    /// Returns the time between two samples, in seconds.
    fn seconds(&self) -> f64 {
        self.model.samples[self.series.index()].every.as_secs_f64()
    }
}

/// Declares the quantities that samples show, each with its name in the table.
macro_rules! quantities {
    ($($Quantity:ident = $name:literal;)+) => {
        /// A quantity that a sample shows.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        enum Quantity {
            $($Quantity,)+
        }

        /// The names of the quantities, in their order.
        const QUANTITIES: &[&str] = &[$($name,)+];
    };
}
quantities! {
    Throughput = "throughput_bps";
    Cwnd = "cwnd_bytes";
    Rate = "rate_bps";
    Srtt = "srtt_s";
    QueueBytes = "queue_bytes";
    QueueCredits = "queue_credits";
    PortRate = "port_rate_bps";
    Rtt = "rtt_s";
    CreditRate = "credits_per_s";
    FeedbackRate = "feedback_rate_bps";
    Retransmits = "retransmitted_packets";
    Timeouts = "timeouts";
    Notices = "notices";
    DropsBuffer = "drops_buffer_packets";
    DropsLoss = "drops_loss_packets";
    DropsDown = "drops_down_packets";
    DropsCredit = "dropped_credits";
    DropsVote = "drops_vote_packets";
    Marks = "marked_packets";
    Pauses = "pauses";
    Paused = "paused_s";
    Trims = "trimmed_packets";
}

impl Quantity {
    /// Returns the packets dropped for a reason.
    fn dropped(why: DropReason) -> Quantity {
        match why {
            DropReason::Buffer => Quantity::DropsBuffer,
            DropReason::Credit => Quantity::DropsCredit,
            DropReason::Loss => Quantity::DropsLoss,
            DropReason::Down => Quantity::DropsDown,
            DropReason::Vote => Quantity::DropsVote,
        }
    }
}

impl Sampler {
    /// Returns a sampler whose rows leave memory if there is a spool.
    pub fn new(spool: Option<Box<dyn Spool>>) -> Sampler {
        Sampler { rows: spool.map(Rows::spooled).unwrap_or_default(), ..Sampler::default() }
    }

    /// Returns whether rows were lost, since the file failed.
    pub fn has_failed(&self) -> bool {
        self.rows.has_failed()
    }

    /// Waits until the disk has the rows that left memory.
    ///
    /// # Errors
    /// If the disk fails.
    pub fn sync(&mut self) -> io::Result<()> {
        self.rows.sync()
    }

    /// Takes the spool out, for the sampler of a checkpoint that takes the place of this one.
    pub fn take_spool(&mut self) -> Option<Box<dyn Spool>> {
        self.rows.take_spool()
    }

    /// Gives the sampler of a checkpoint its spool.
    ///
    /// # Errors
    /// If rows left memory, and their file is not there.
    pub fn attach(&mut self, model: &Model, spool: Option<Box<dyn Spool>>) -> io::Result<()> {
        self.rows.attach(spool, || Sampler::default().take(model))
    }

    /// Takes one sample of a series.
    pub fn sample(&mut self, series: SeriesId, model: &Model, nets: &Networks, flows: &[FlowSnapshot]) {
        let probe = &model.samples[series.index()].what;
        // Round-trip times are not sampled at intervals: `Sampler::watch` is called for each.
        if matches!(probe, Probe::Rtt(_)) {
            return;
        }
        let now = nets.now();
        self.before = self.last.remove(&series).unwrap_or_default();
        if let Some(traffic) = probe.traffic() {
            for flow in flows.iter().filter(|flow| flow.name.traffic.index() == traffic) {
                let (entity, name) = self.flow_entity(model, flow.name);
                self.sample_flow(At { series, entity, name, model, now }, flow);
            }
        }
        for &port in probe.ports().unwrap_or_default() {
            let (entity, name) = self.port_entity(model, port);
            self.sample_port(At { series, entity, name, model, now }, nets, port);
        }
        self.last.insert(series, take(&mut self.now));
        self.hand_out(model);
    }

    /// Takes one sample of a flow.
    fn sample_flow(&mut self, at: At<'_>, flow: &FlowSnapshot) {
        match at.probe() {
            Probe::Throughput(_) => {
                let delivered = self.since(at, Quantity::Throughput, flow.delivered);
                self.push(at, Quantity::Throughput, delivered * 8.0 / at.seconds());
            }
            Probe::Sender(_) => {
                let gauges = flow.ends.gauges;
                self.push(at, Quantity::Cwnd, gauges.cwnd);
                self.push(at, Quantity::Rate, gauges.rate);
                self.push(at, Quantity::Srtt, gauges.srtt);
            }
            Probe::Window(_) => self.push(at, Quantity::Cwnd, flow.ends.gauges.cwnd),
            Probe::SendingRate(_) => self.push(at, Quantity::Rate, flow.ends.gauges.rate),
            Probe::CreditRate(_) => {
                let sent = self.since(at, Quantity::CreditRate, flow.ends.credits_sent);
                self.push(at, Quantity::CreditRate, sent / at.seconds());
                self.push(at, Quantity::FeedbackRate, flow.ends.gauges.rate);
            }
            Probe::Losses(_) => {
                let stats = flow.ends.rare;
                self.count(at, Quantity::Retransmits, stats.retransmits);
                self.count(at, Quantity::Timeouts, stats.timeouts);
            }
            Probe::Notices(_) => self.count(at, Quantity::Notices, flow.ends.rare.notifications),
            other => unreachable!("{other:?} looks at ports"),
        }
    }

    /// Takes one sample of a port.
    fn sample_port(&mut self, at: At<'_>, nets: &Networks, port: PortId) {
        let net = nets.of(port);
        match at.probe() {
            Probe::Queue(_) => {
                self.push(at, Quantity::QueueBytes, net.look(port).queued_bytes() as f64);
            }
            Probe::CreditQueue(_) => {
                let waiting: u32 = net.look(port).credit_queues().map(|queue| queue.packets()).sum();
                self.push(at, Quantity::QueueCredits, f64::from(waiting));
            }
            Probe::PortRate(_) => {
                let sent = self.since(at, Quantity::PortRate, net.look(port).sent().bytes);
                self.push(at, Quantity::PortRate, sent * 8.0 / at.seconds());
            }
            Probe::Drops(_) => {
                // Links that never lose or fail have no rows that say so again and again.
                let is_possible = |why: DropReason| match why {
                    DropReason::Buffer | DropReason::Credit => true,
                    DropReason::Loss => !at.model.loss.is_empty(),
                    DropReason::Down => at.model.faults.iter().any(|fault| fault.is_up().is_some()),
                    DropReason::Vote => {
                        at.model.switch.mechanism.as_ref().is_some_and(|mechanism| mechanism.info().drops)
                    }
                };
                for (why, count) in
                    net.look(port).drops().iter().filter(|(why, _)| why.is_loss() && is_possible(*why))
                {
                    self.count(at, Quantity::dropped(why), count);
                }
            }
            Probe::Marks(_) => {
                self.count(at, Quantity::Marks, net.look(port).marks());
            }
            Probe::Trims(_) => {
                self.count(at, Quantity::Trims, net.look(port).trims());
            }
            Probe::CreditDrops(_) => {
                self.count(at, Quantity::DropsCredit, net.look(port).drops()[DropReason::Credit]);
            }
            Probe::Pauses(_) => {
                let (pauses, paused) = nets.controls().stopped(port).unwrap_or_default();
                self.count(at, Quantity::Pauses, pauses);
                let since = self.since(at, Quantity::Paused, paused.as_ps());
                self.push(at, Quantity::Paused, since * 1e-12);
            }
            other => unreachable!("{other:?} looks at flows"),
        }
    }

    /// Shows the growth of a counter since the last sample.
    fn count(&mut self, at: At<'_>, quantity: Quantity, counter: u64) {
        let since = self.since(at, quantity, counter);
        self.push(at, quantity, since);
    }

    /// Returns the growth of a counter since the last sample.
    fn since(&mut self, at: At<'_>, quantity: Quantity, counter: u64) -> f64 {
        self.now.insert((at.entity, quantity), counter);
        let before = self.before.get(&(at.entity, quantity)).copied();
        (counter - before.unwrap_or(0)) as f64
    }

    /// An acknowledgement told the sender of a flow this round-trip time.
    pub fn watch(&mut self, model: &Model, now: Time, flow: FlowName, rtt: Span) {
        for (index, sample) in model.samples.iter().enumerate() {
            if matches!(sample.what, Probe::Rtt(watched) if watched == flow.traffic.index()) {
                let (entity, name) = self.flow_entity(model, flow);
                let series = SeriesId::from_index(index);
                self.push(At { series, entity, name, model, now }, Quantity::Rtt, rtt.as_secs_f64());
            }
        }
        self.hand_out(model);
    }

    /// Moves the samples that are in memory to `rows` once there are enough for a part, so that memory holds no more.
    fn hand_out(&mut self, model: &Model) {
        if self.series.len() >= self.rows.part_rows() {
            let part = self.take(model);
            self.rows.push(part);
        }
    }

    /// Hands over all samples.
    pub fn finish(&mut self, model: &Model) -> Rows {
        if !self.series.is_empty() || self.rows.parts() == 0 {
            let last = self.take(model);
            self.rows.finish(last);
        }
        take(&mut self.rows)
    }

    /// Takes the rows in memory as a table, which has the names of its own entities alone.
    fn take(&mut self, model: &Model) -> Table {
        self.known.clear();
        let names = model.samples.iter().map(|sample| sample.name.clone()).collect();
        let quantities = QUANTITIES.iter().map(|name| (*name).to_string()).collect();
        Table::new(
            "samples",
            [
                (
                    "series",
                    "",
                    "name of the sample in the scenario",
                    Values::Text(take(&mut self.series), names),
                ),
                ("time_s", "s", "when the sample was taken", Values::F64(take(&mut self.times))),
                (
                    "entity",
                    "",
                    "the flow (as traffic/number) or the port",
                    Values::Text(take(&mut self.entities), take(&mut self.entity_names)),
                ),
                (
                    "quantity",
                    "",
                    "what the value is, with its unit",
                    Values::Text(take(&mut self.quantities), quantities),
                ),
                (
                    "value",
                    "",
                    "the value, in the unit that the quantity names",
                    Values::F64(take(&mut self.values)),
                ),
            ],
        )
    }

    /// Adds a row, unless the transport does not have the quantity.
    fn push(&mut self, at: At<'_>, quantity: Quantity, value: f64) {
        if value.is_nan() {
            return;
        }
        self.series.push(at.series.index() as u32);
        self.times.push(at.now.as_secs_f64());
        self.entities.push(at.name);
        self.quantities.push(quantity as u32);
        self.values.push(value);
    }

    /// A flow, and the index of its name.
    fn flow_entity(&mut self, model: &Model, FlowName { traffic, number }: FlowName) -> (Entity, u32) {
        let name = || format!("{}/{number}", model.traffic[traffic.index()].name);
        self.named(Entity::Flow(traffic, number), name)
    }

    /// Returns a port, and the index of its name.
    fn port_entity(&mut self, model: &Model, port: PortId) -> (Entity, u32) {
        self.named(Entity::Port(port), || model.topology.port_name(port))
    }

    fn named(&mut self, entity: Entity, name: impl FnOnce() -> String) -> (Entity, u32) {
        let names = &mut self.entity_names;
        let index = *self.known.entry(entity).or_insert_with(|| {
            names.push(name());
            names.len() as u32 - 1
        });
        (entity, index)
    }
}
