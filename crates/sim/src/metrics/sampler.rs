//! Series sampled at intervals. Looking changes nothing: a sampler only reads.

use super::rows::{Rows, Spool};
use super::table::{Table, Values};
use crate::hosts::Flows;
use crate::ids::{Id, SeriesId, TrafficId};
use crate::model::{Model, Probe, Sample};
use crate::net::Network;
use clearway_topology::PortId;
use clearway_units::Span;
use std::collections::BTreeMap;
use std::mem::take;

/// An entity that a sample is about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Entity {
    /// A flow, by its traffic entry and its number there.
    Flow(TrafficId, u64),
    /// A port.
    Port(PortId),
}

/// The values sampled so far, row by row; where rows have a spool, the last part of them.
#[derive(Default)]
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
    /// The counters of the entities of each series at the last sample.
    last: BTreeMap<SeriesId, BTreeMap<Entity, u64>>,
    /// The parts that are full.
    rows: Rows,
}

/// The quantities that samples show, by [`Quantity`].
const QUANTITIES: [&str; 8] = [
    "throughput_bps",
    "cwnd_bytes",
    "rate_bps",
    "srtt_s",
    "queue_bytes",
    "queue_credits",
    "port_rate_bps",
    "rtt_s",
];

/// A quantity that a sample shows.
#[derive(Clone, Copy)]
enum Quantity {
    Throughput,
    Cwnd,
    Rate,
    Srtt,
    QueueBytes,
    QueueCredits,
    PortRate,
    Rtt,
}

impl Sampler {
    /// A sampler whose rows leave memory if there is a spool.
    pub fn new(spool: Option<Box<dyn Spool>>) -> Sampler {
        Sampler { rows: spool.map(Rows::spooled).unwrap_or_default(), ..Sampler::default() }
    }

    /// Answers whether rows were lost, since the file failed.
    pub fn has_failed(&self) -> bool {
        self.rows.has_failed()
    }

    /// Takes one sample of a series.
    pub fn sample(&mut self, series: SeriesId, model: &Model, net: &Network, flows: &mut Flows) {
        let Sample { every, what, .. } = &model.samples[series.index()];
        let per_second = 8.0 / every.as_secs_f64();
        match what {
            Probe::Throughput(traffic) => {
                let before = self.last.remove(&series).unwrap_or_default();
                let mut now = BTreeMap::new();
                for flow in flows.iter_mut().filter(|flow| flow.traffic.index() == *traffic) {
                    let entity = self.flow_entity(model, flow.traffic, flow.number);
                    let (delivered, known) = (flow.delivered(), Entity::Flow(flow.traffic, flow.number));
                    now.insert(known, delivered);
                    let since = delivered - before.get(&known).copied().unwrap_or(0);
                    self.push(series, net, entity, Quantity::Throughput, since as f64 * per_second);
                }
                self.last.insert(series, now);
            }
            Probe::Sender(traffic) => {
                for flow in flows.iter_mut().filter(|flow| flow.traffic.index() == *traffic) {
                    let entity = self.flow_entity(model, flow.traffic, flow.number);
                    let gauges = flow.gauges();
                    let values = [
                        (Quantity::Cwnd, gauges.cwnd),
                        (Quantity::Rate, gauges.rate),
                        (Quantity::Srtt, gauges.srtt),
                    ];
                    for (quantity, value) in values {
                        if !value.is_nan() {
                            self.push(series, net, entity, quantity, value);
                        }
                    }
                }
            }
            // Round-trip times are not sampled at intervals: `Sampler::watch` is called for each.
            Probe::Rtt(_) => {}
            Probe::Queue(ports) => {
                for &port in ports {
                    let bytes: u64 = net.data_queues(port).iter().map(|class| class.queue.bytes()).sum();
                    let entity = self.port_entity(model, port);
                    self.push(series, net, entity, Quantity::QueueBytes, bytes as f64);
                }
            }
            Probe::CreditQueue(ports) => {
                for &port in ports {
                    let waiting: u32 = net.credit_queues(port).map(|queue| queue.packets()).sum();
                    let entity = self.port_entity(model, port);
                    self.push(series, net, entity, Quantity::QueueCredits, waiting as f64);
                }
            }
            Probe::PortRate(ports) => {
                for &port in ports {
                    let entity = self.port_entity(model, port);
                    let sent = net.ports[port].sent.bytes;
                    let last = self.last.entry(series).or_default();
                    let since = sent - last.insert(Entity::Port(port), sent).unwrap_or(0);
                    self.push(series, net, entity, Quantity::PortRate, since as f64 * per_second);
                }
            }
        }
        self.hand_out(model);
    }

    /// An acknowledgement told the sender of a flow this round-trip time.
    pub fn watch(&mut self, model: &Model, net: &Network, traffic: TrafficId, number: u64, rtt: Span) {
        for (index, sample) in model.samples.iter().enumerate() {
            if matches!(sample.what, Probe::Rtt(watched) if watched == traffic.index()) {
                let entity = self.flow_entity(model, traffic, number);
                self.push(SeriesId::from_index(index), net, entity, Quantity::Rtt, rtt.as_secs_f64());
            }
        }
        self.hand_out(model);
    }

    /// Hands the rows out of memory if they are a part.
    fn hand_out(&mut self, model: &Model) {
        if self.series.len() >= self.rows.part_rows() {
            let part = self.take(model);
            self.rows.push(part);
        }
    }

    /// Returns all samples.
    pub fn finish(mut self, model: &Model) -> Rows {
        if !self.series.is_empty() || self.rows.parts() == 0 {
            let last = self.take(model);
            self.rows.finish(last);
        }
        self.rows
    }

    /// Takes the rows in memory as a table, which has the names of its own entities alone.
    fn take(&mut self, model: &Model) -> Table {
        self.known.clear();
        let names = model.samples.iter().map(|sample| sample.name.clone()).collect();
        let quantities = QUANTITIES.map(String::from).to_vec();
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

    fn push(&mut self, series: SeriesId, net: &Network, entity: u32, quantity: Quantity, value: f64) {
        self.series.push(series.index() as u32);
        self.times.push(net.now().as_secs_f64());
        self.entities.push(entity);
        self.quantities.push(quantity as u32);
        self.values.push(value);
    }

    fn flow_entity(&mut self, model: &Model, traffic: TrafficId, number: u64) -> u32 {
        let name = || format!("{}/{number}", model.traffic[traffic.index()].name);
        self.entity(Entity::Flow(traffic, number), name)
    }

    fn port_entity(&mut self, model: &Model, port: PortId) -> u32 {
        self.entity(Entity::Port(port), || model.topology.port_name(port))
    }

    fn entity(&mut self, entity: Entity, name: impl FnOnce() -> String) -> u32 {
        let names = &mut self.entity_names;
        *self.known.entry(entity).or_insert_with(|| {
            names.push(name());
            names.len() as u32 - 1
        })
    }
}
