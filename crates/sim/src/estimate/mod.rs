//! Estimates of what a run will take, made by arithmetic from its model, before anything is simulated.
//!
//! | module | purpose |
//! |---|---|
//! | `traffic` | flows, bytes, packets and time of each traffic entry |
//! | `sizes` | bytes of memory and seconds of processor time for each thing |
//!
//! The counts of hosts, links and listed flows are exact. Bytes and packets follow from the sizes of flows. Times assume
//! that a flow gets an equal share of the busiest link of its path, once its handshake or its request for credits is
//! answered, and that its last packet is then acknowledged, both after the delays of links and hosts: windows that grow
//! slowly, losses and timeouts can make a run much longer, and with it sampled series. Memory and processor time are counts
//! times what one of each was measured to take.

mod sizes;
mod traffic;

use crate::model::{Model, Probe, Sample, Traffic};
use crate::traffic::{TierShare, asked};
use sizes::Cost;
pub use sizes::{RowBytes, network_bytes};
use traffic::Load;

/// What a run of a model will take.
#[derive(Clone, PartialEq, Debug)]
pub struct Estimate {
    /// The number of hosts: exact.
    pub hosts: u64,
    /// The number of switches: exact.
    pub switches: u64,
    /// The number of links, each with two output ports: exact.
    pub links: u64,
    /// The mean number of links on the paths of the flows, from some of them.
    pub path_links: f64,
    /// The simulated time in seconds until the last flow has ended or the run stops. Losses and timeouts may make it
    /// longer, never beyond the scenario's stop.
    pub simulated_s: f64,
    /// The number of rows in the table of flows.
    pub flows: f64,
    /// The number of flows among them that have no size and send until they, or the run, are stopped. Their bytes
    /// depend on the transport; an equal share of the busiest link of the path is assumed.
    pub open_flows: u64,
    /// The number of flows that are alive at once.
    pub live_flows: f64,
    /// The bytes that applications hand over and that the run has time to send.
    pub payload_bytes: f64,
    /// The number of data packets, without retransmissions.
    pub packets: f64,
    /// The number of packets, data and control, put on links: packets and their answers times the links of the path.
    pub link_transmissions: f64,
    /// The traffic entries, in the order of the scenario.
    pub traffic: Vec<EntryEstimate>,
    /// The share of each tier's links that the Poisson traffic asks for; empty without such traffic.
    pub tiers: Vec<TierShare>,
    /// The share of a link that payload in full frames can have.
    pub payload_share_max: f64,
    /// The sampled series, in the order of the scenario.
    pub samples: Vec<SeriesEstimate>,
    /// The memory in bytes of hosts, switches, ports and routes.
    pub network_bytes: f64,
    /// The processor time of the run in seconds, on a machine like that of `docs/results/speed.md`.
    pub cpu_s: f64,
}

/// What a traffic entry will take.
#[derive(Clone, PartialEq, Debug)]
pub struct EntryEstimate {
    /// The name of the entry.
    pub name: String,
    /// The number of rows in the table of flows.
    pub flows: f64,
    /// The number of flows that are alive at once.
    pub live_flows: f64,
    /// The memory in bytes of the flows themselves: as a list, and alive.
    pub flow_bytes: f64,
    /// The bytes of their rows in the table of flows.
    pub row_bytes: RowBytes,
}

/// What a sampled series will take.
#[derive(Clone, PartialEq, Debug)]
pub struct SeriesEstimate {
    /// The name of the series.
    pub name: String,
    /// The number of rows in the table of samples.
    pub rows: f64,
    /// The bytes of the rows.
    pub row_bytes: RowBytes,
}

impl Estimate {
    /// How each number was got and what it can't know, by the name of its field.
    pub const HOW: [(&str, &str); 19] = [
        ("hosts", "counted"),
        ("switches", "counted"),
        ("links", "counted; each has two output ports"),
        ("path_links", "mean over the paths of some of the flows"),
        (
            "simulated_s",
            "flows get an equal share of the busiest link of their path; besides, there are the longest round trip, the \
             processing at hosts, and the round trip of a handshake or a request for credits. The growth of windows, \
             losses and timeouts can make it many times longer, though never beyond `stop`",
        ),
        (
            "flows",
            "counted, or arrivals until the stop at the mean rate; an upper bound for rounds that may be slow",
        ),
        ("open_flows", "counted; flows without a size, whose bytes depend on the transport"),
        (
            "live_flows",
            "arrivals times twice the time that a flow takes alone; more in an overloaded network",
        ),
        ("payload_bytes", "flows times their mean size; open flows get an equal share of their busiest link"),
        ("packets", "payload in full packets; retransmissions are not known"),
        (
            "link_transmissions",
            "data packets and as many acknowledgements or credits, times the links of a path",
        ),
        (
            "tiers",
            "the mean over all random pairs and equal-cost paths, of the bytes that Poisson traffic hands over while it \
             arrives; headers, control packets and retransmissions do not count",
        ),
        ("payload_share_max", "the payload of a full frame by its bytes on the wire"),
        ("samples", "ports or live flows times simulated time over `every`; a row a packet for `rtt`"),
        ("network_bytes", "hosts, links and classes times measured bytes"),
        ("memory_bytes", "the network, live flows, rows of flows and of samples, times measured bytes"),
        (
            "streamed_memory_bytes",
            "the same for a run that writes a result folder, where rows leave memory, but for the frame of flows that \
             summaries read",
        ),
        (
            "disk_bytes",
            "rows of flows and of samples times measured bytes; half of it is free again after the run",
        ),
        (
            "cpu_s",
            "transmissions, dropped credits, flows and samples times measured times of one core, which grow with the flows \
             alive at once; within a factor of about five",
        ),
    ];

    /// Estimates the run of a model.
    pub fn of(model: &Model) -> Estimate {
        let loads = traffic::loads(model);
        let sum = |of: fn(&Load) -> f64| loads.iter().map(of).sum::<f64>();
        let end = loads.iter().map(|load| load.end_s).fold(0.0, f64::max);
        let simulated_s = model.stop.map_or(end, |stop| end.min(stop.as_secs_f64()));
        let (flows, packets) = (sum(|load| load.flows), sum(|load| load.packets));
        let link_transmissions = sum(|load| load.transmissions);
        let entry = |(entry, load): (&Traffic, &Load)| EntryEstimate {
            name: entry.name.clone(),
            flows: load.flows,
            live_flows: load.live,
            flow_bytes: sizes::flow_bytes(model, entry, load.live),
            row_bytes: sizes::flow_rows(load.flows),
        };
        let series = |sample: &Sample| {
            let rows = rows(sample, &loads, simulated_s);
            SeriesEstimate { name: sample.name.clone(), rows, row_bytes: sizes::sample_rows(rows) }
        };
        let samples: Vec<SeriesEstimate> = model.samples.iter().map(series).collect();
        let topology = &model.topology;
        let cost = Cost {
            packets: link_transmissions + sum(|load| load.dropped_credits),
            live: sum(|load| load.live),
            flows,
            samples: samples.iter().map(|series| series.rows).sum(),
            ports: topology.ports().len() as f64,
        };
        Estimate {
            hosts: topology.hosts() as u64,
            switches: topology.switches() as u64,
            links: topology.links() as u64,
            path_links: if packets > 0.0 { sum(|load| load.packets * load.hops) / packets } else { 0.0 },
            simulated_s,
            flows,
            open_flows: loads.iter().map(|load| load.open).sum(),
            live_flows: sum(|load| load.live),
            payload_bytes: sum(|load| load.payload),
            packets,
            link_transmissions,
            traffic: model.traffic.iter().zip(&loads).map(entry).collect(),
            tiers: asked(model),
            payload_share_max: model.framing.payload_share(),
            samples,
            network_bytes: sizes::model_bytes(model, flows),
            cpu_s: cost.seconds(),
        }
    }

    /// Returns the memory in bytes of a run whose results stay in memory. The interpreter and its libraries come on top.
    pub fn memory_bytes(&self) -> f64 {
        self.flow_bytes() + self.row_bytes(|rows| rows.kept)
    }

    /// Returns the memory in bytes of a run whose flows and samples leave memory while it goes on.
    pub fn streamed_memory_bytes(&self) -> f64 {
        self.flow_bytes() + self.row_bytes(|rows| rows.streamed)
    }

    /// Returns the bytes on the disk that such a run takes.
    pub fn disk_bytes(&self) -> f64 {
        self.row_bytes(|rows| rows.disk)
    }

    fn flow_bytes(&self) -> f64 {
        self.network_bytes + self.traffic.iter().map(|entry| entry.flow_bytes).sum::<f64>()
    }

    fn row_bytes(&self, of: fn(&RowBytes) -> f64) -> f64 {
        let flows: f64 = self.traffic.iter().map(|entry| of(&entry.row_bytes)).sum();
        flows + self.samples.iter().map(|series| of(&series.row_bytes)).sum::<f64>()
    }
}

/// Returns the number of rows of a sampled series.
fn rows(sample: &Sample, loads: &[Load], simulated_s: f64) -> f64 {
    let times = (simulated_s / sample.every.as_secs_f64()).floor();
    let probe = &sample.what;
    match (probe, probe.traffic()) {
        (Probe::Rtt(_), Some(entry)) => loads[entry].packets,
        (_, Some(entry)) => probe.rows() as f64 * loads[entry].lived_s / sample.every.as_secs_f64(),
        (_, None) => probe.rows() as f64 * probe.ports().unwrap_or_default().len() as f64 * times,
    }
}

#[cfg(test)]
mod tests;
