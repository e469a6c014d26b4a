//! Series sampled at intervals. Looking changes nothing: a sampler only reads.

use super::record::table;
use super::table::{Table, Values};
use crate::flows::Flows;
use crate::model::{Model, Probe, Sample};
use crate::net::{NONE, Network};
use clearway_proto::{Receiver, Sender};
use clearway_topology::PortId;
use clearway_units::Span;
use std::collections::BTreeMap;

/// Values sampled so far, row by row.
#[derive(Default)]
pub struct Sampler {
    series: Vec<u32>,
    times: Vec<f64>,
    entities: Vec<u32>,
    quantities: Vec<u32>,
    values: Vec<f64>,
    entity_names: Vec<String>,
    /// Index of an entity's name: flows by (traffic, number), ports by (`PORTS`, id).
    known: BTreeMap<(u32, u64), u32>,
    /// Counters at the last sample: by (series, entity).
    last: BTreeMap<(u32, u32), u64>,
}

const PORTS: u32 = u32::MAX;
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

impl Sampler {
    /// Takes one sample of series number `index`.
    pub fn sample(&mut self, index: u32, model: &Model, net: &Network, flows: &mut Flows) {
        let Sample { every, what, .. } = &model.samples[index as usize];
        let per_second = 8.0 / every.as_secs_f64();
        match what {
            Probe::Throughput(traffic) => {
                for (_, flow) in flows.iter_mut().filter(|(_, flow)| flow.traffic as usize == *traffic) {
                    let entity = self.flow_entity(model, flow.traffic, flow.number);
                    let delivered = flow.delivered();
                    let since = delivered - self.last.insert((index, entity), delivered).unwrap_or(0);
                    self.push(index, net, entity, 0, since as f64 * per_second);
                }
            }
            Probe::Sender(traffic) => {
                for (_, flow) in flows.iter_mut().filter(|(_, flow)| flow.traffic as usize == *traffic) {
                    let entity = self.flow_entity(model, flow.traffic, flow.number);
                    let gauges = flow.gauges();
                    for (quantity, value) in [(1, gauges.cwnd), (2, gauges.rate), (3, gauges.srtt)] {
                        if !value.is_nan() {
                            self.push(index, net, entity, quantity, value);
                        }
                    }
                }
            }
            // Not at intervals: `Sampler::watch` is told of each.
            Probe::Rtt(_) => {}
            Probe::Queue(ports) => {
                for &port in ports {
                    let out = &net.ports[port.index()];
                    let classes =
                        if out.nic == NONE { &model.switch.classes } else { &model.host.port.classes };
                    let first = out.first_queue as usize;
                    let bytes: u64 =
                        net.queues[first..first + classes.len()].iter().map(|c| c.queue.bytes()).sum();
                    self.push_port(index, model, net, port, 4, bytes as f64);
                }
            }
            Probe::CreditQueue(ports) => {
                for &port in ports {
                    let waiting: u32 = net.credit_queues(port.index()).map(|queue| queue.packets()).sum();
                    self.push_port(index, model, net, port, 5, waiting as f64);
                }
            }
            Probe::PortRate(ports) => {
                for &port in ports {
                    let entity = self.port_entity(model, port);
                    let sent = net.ports[port.index()].tx_bytes;
                    let since = sent - self.last.insert((index, entity), sent).unwrap_or(0);
                    self.push(index, net, entity, 6, since as f64 * per_second);
                }
            }
        }
    }

    /// An acknowledgement told the sender of a flow this round-trip time.
    pub fn watch(&mut self, model: &Model, net: &Network, traffic: u32, number: u64, rtt: Span) {
        for (index, sample) in model.samples.iter().enumerate() {
            if matches!(sample.what, Probe::Rtt(watched) if watched == traffic as usize) {
                let entity = self.flow_entity(model, traffic, number);
                self.push(index as u32, net, entity, 7, rtt.as_secs_f64());
            }
        }
    }

    /// All samples as a table.
    pub fn table(self, model: &Model) -> Table {
        let names = model.samples.iter().map(|sample| sample.name.clone()).collect();
        let quantities = QUANTITIES.map(String::from).to_vec();
        table(
            "samples",
            [
                ("series", "", "name of the sample in the scenario", Values::Text(self.series, names)),
                ("time_s", "s", "when the sample was taken", Values::F64(self.times)),
                (
                    "entity",
                    "",
                    "the flow (as traffic/number) or the port",
                    Values::Text(self.entities, self.entity_names),
                ),
                (
                    "quantity",
                    "",
                    "what the value is, with its unit",
                    Values::Text(self.quantities, quantities),
                ),
                ("value", "", "the value, in the unit that the quantity names", Values::F64(self.values)),
            ],
        )
    }

    fn push_port(
        &mut self,
        series: u32,
        model: &Model,
        net: &Network,
        port: PortId,
        quantity: u32,
        value: f64,
    ) {
        let entity = self.port_entity(model, port);
        self.push(series, net, entity, quantity, value);
    }

    fn push(&mut self, series: u32, net: &Network, entity: u32, quantity: u32, value: f64) {
        self.series.push(series);
        self.times.push(net.now.as_secs_f64());
        self.entities.push(entity);
        self.quantities.push(quantity);
        self.values.push(value);
    }

    fn flow_entity(&mut self, model: &Model, traffic: u32, number: u64) -> u32 {
        self.entity((traffic, number), || format!("{}/{number}", model.traffic[traffic as usize].name))
    }

    fn port_entity(&mut self, model: &Model, port: PortId) -> u32 {
        self.entity((PORTS, port.0 as u64), || model.topology.port_name(port))
    }

    fn entity(&mut self, key: (u32, u64), name: impl FnOnce() -> String) -> u32 {
        let names = &mut self.entity_names;
        *self.known.entry(key).or_insert_with(|| {
            names.push(name());
            names.len() as u32 - 1
        })
    }
}

impl crate::flows::Flow {
    /// Bytes handed to the application at the other end.
    pub fn delivered(&mut self) -> u64 {
        struct Read;
        impl clearway_proto::ReceiverVisitor for Read {
            type Output = u64;
            fn visit<R: Receiver>(self, receiver: &mut R) -> u64 {
                receiver.delivered()
            }
        }
        self.receiver.visit(Read)
    }

    /// Bytes that the sending end knows to have arrived.
    pub fn acknowledged(&mut self) -> u64 {
        struct Read;
        impl clearway_proto::SenderVisitor for Read {
            type Output = u64;
            fn visit<S: Sender>(self, sender: &mut S) -> u64 {
                sender.acknowledged()
            }
        }
        self.sender.visit(Read)
    }
}
