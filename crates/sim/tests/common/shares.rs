//! The measurement of how long flows use and share one link.

use super::{jain, network_for, run};
use clearway_proto::AnyTransport;
use clearway_sim::Values;
use clearway_sim::model::*;
use clearway_topology::{Builder, NodeId, Topology};
use clearway_units::{Rate, Span, Time};

/// The time from the start of the last flow to the start of the measurement, in milliseconds.
const CALM: usize = 20;
/// The length of the measurement, in milliseconds.
const MEASURED: usize = 20;

/// The delays of a dumbbell's hosts and flows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Net {
    /// All flows have one round-trip time, and hosts answer at once.
    Plain,
    /// Hosts take 0.9 to 6.2 us to answer each credit (E17 sec. 2).
    HostDelay,
    /// The round-trip times of the flows rise evenly from one percentage of the cell's to another.
    UnequalRtts(u64, u64),
}

impl std::fmt::Display for Net {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Net::Plain => f.write_str("plain"),
            Net::HostDelay => f.write_str("host delay"),
            Net::UnequalRtts(from, to) => write!(f, "RTT x {from} to {to} %"),
        }
    }
}

/// A measurement of long flows over one bottleneck, each between hosts of its own, with all links of one rate.
#[derive(Clone, Copy, Debug)]
pub struct Cell {
    pub gbps: u64,
    pub flows: u32,
    /// The propagation delay of a round trip, in microseconds.
    pub rtt: u64,
    pub net: Net,
}

/// The results of a cell, measured for 20 ms from 20 ms after the start of the last flow. Flows start 1 ms apart.
#[derive(Clone, Copy, Debug)]
pub struct Shares {
    /// The payload delivered as a share of the capacity for data beside credits of 84 bytes.
    pub used: f64,
    /// The mean of Jain's fairness index over windows of 1 ms.
    pub jain_1ms: f64,
    /// The mean of Jain's fairness index over windows of 10 ms.
    pub jain_10ms: f64,
}

impl Cell {
    fn topology(&self) -> Topology {
        let rate = Rate::gbps(self.gbps);
        let mut builder = Builder::new();
        (0..2 * self.flows).for_each(|host| {
            builder.add_host(format!("h{host}"));
        });
        let (left, right) = (builder.add_switch("s0", 1), builder.add_switch("s1", 1));
        for flow in 0..self.flows {
            // Each of the path's other two links has a twentieth of the round trip, and this link the rest of one way.
            let percent = match self.net {
                Net::UnequalRtts(from, to) => {
                    from + (to - from) * u64::from(flow) / u64::from(self.flows - 1)
                }
                Net::Plain | Net::HostDelay => 100,
            };
            builder.link(NodeId(flow), left, rate, Span::from_ns(self.rtt * (5 * percent - 100)));
            builder.link(NodeId(self.flows + flow), right, rate, Span::from_ns(self.rtt * 50));
        }
        builder.link(left, right, rate, Span::from_ns(self.rtt * 50));
        builder.build().unwrap()
    }

    /// Runs the cell with a seed.
    pub fn measure(&self, transport: &AnyTransport, seed: u64) -> Shares {
        let mut model = network_for(transport, self.topology());
        model.seed = seed;
        if self.net == Net::HostDelay {
            model.host.processing_delay = Delay::Uniform(Span::from_ns(900), Span::from_ns(6_200));
        }
        let joined = self.flows as usize - 1;
        model.stop = Some(Time::ZERO + Span::from_ms(1) * (joined + CALM + MEASURED) as u64);
        let flows = (0..self.flows).map(|flow| Flow {
            start: Time::ZERO + Span::from_ms(1) * u64::from(flow),
            src: NodeId(flow),
            dst: NodeId(self.flows + flow),
            size: None,
            stop: None,
        });
        super::add(&mut model, transport, flows.collect());
        model.samples =
            vec![Sample { name: "rate".into(), every: Span::from_ms(1), what: Probe::Throughput(0) }];
        let results = run(&model);
        let (times, values) = (results.samples.f64s("time_s"), results.samples.f64s("value"));
        let Values::Text(ids, names) = &results.samples.column("entity").unwrap().values else {
            panic!("entities have names")
        };
        let mut windows = vec![vec![0.0; self.flows as usize]; MEASURED];
        for ((time, value), id) in times.iter().zip(values).zip(ids) {
            let flow: usize = names[*id as usize].rsplit('/').next().unwrap().parse().unwrap();
            let window = (time * 1e3).round() as usize;
            if window > joined + CALM {
                windows[window - joined - CALM - 1][flow] = *value;
            }
        }
        let most = self.gbps as f64 * 1e9 * 1460.0 / 1622.0;
        let tens: Vec<Vec<f64>> = windows
            .chunks(10)
            .map(|ten| (0..ten[0].len()).map(|flow| ten.iter().map(|window| window[flow]).sum()).collect())
            .collect();
        Shares {
            used: mean(windows.iter().map(|window| window.iter().sum::<f64>() / most)),
            jain_1ms: mean(windows.iter().map(|window| jain(window))),
            jain_10ms: mean(tens.iter().map(|window| jain(window))),
        }
    }

    /// Returns the mean over runs with the seeds 1 to `seeds`.
    pub fn mean(&self, transport: &AnyTransport, seeds: u64) -> Shares {
        let runs: Vec<Shares> = (1..=seeds).map(|seed| self.measure(transport, seed)).collect();
        Shares {
            used: mean(runs.iter().map(|run| run.used)),
            jain_1ms: mean(runs.iter().map(|run| run.jain_1ms)),
            jain_10ms: mean(runs.iter().map(|run| run.jain_10ms)),
        }
    }
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len() as f64;
    values.sum::<f64>() / count
}
