//! The benchmark's cases: permutations of long flows on fat trees at 100 Gbps, a web-search load on the 192-host tree,
//! and one on the 320-host tree under RDMA transports.

use crate::usage::{cpu_seconds, peak_bytes};
use clearway_proto::{AnyTransport, Entity, Rng};
use clearway_sim::bare::Bare;
use clearway_sim::model::*;
use clearway_sim::scenario::{Overrides, Scenario};
use clearway_sim::traffic::Cdf;
use clearway_sim::{Simulation, Summary, ports};
use clearway_topology::{FatTree, NodeId, OversubscribedFatTree, Topology};
use clearway_units::{Bytes, Rate, Span, Time};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

/// A case of the benchmark: a network with its traffic and transport.
#[derive(Clone, Copy)]
pub enum Case {
    /// Packets circulate on the paths of a permutation without any protocol, on the fat tree of this `k`.
    Bare(u32),
    /// Long flows of a permutation, on the fat tree of this `k` and under this transport.
    Permutation(u32, &'static str),
    /// Flows of the web-search sizes at load 0.6 on the 192-host tree, under this transport.
    WebSearch(&'static str),
    /// Flows of the web-search sizes at load 0.5 on the lossless 320-host tree, under this transport.
    Rdma(&'static str),
}

/// The measurements of a case. The numbers are floats because only ratios of them are printed.
pub struct Outcome {
    /// The number of packets put on a link, summed over all links.
    pub link_transmissions: f64,
    /// The number of events handled.
    pub events: f64,
    /// The CPU time in seconds, at least 0.01.
    pub cpu_s: f64,
    /// The most memory that was resident, in bytes.
    pub peak_bytes: f64,
    /// The hash of the results, or `-` for a case without any.
    pub hash: String,
}

/// The fat trees as (`k`, number of hosts, simulated time that takes a few seconds of CPU).
const TREES: [(u32, u32, Span); 3] =
    [(8, 128, Span::from_us(4000)), (16, 1024, Span::from_us(500)), (32, 8192, Span::from_us(100))];
/// The transports of the permutations and of the 192-host tree.
const TRANSPORTS: [&str; 2] = ["dctcp", "expresspass"];
/// The transports of the lossless 320-host tree.
const RDMA: [&str; 4] = ["dcqcn", "timely", "hpcc", "pacc"];

/// The scenario of HPCC's and PACC's large runs at 25 Gbps with HPCC's ns-3 framing, up to the transport's settings.
const LOSSLESS: &str = r#"
    [topology]
    kind = "pacc-320"
    rate = "25 Gbps"
    fabric_rate = "100 Gbps"
    delay = "1 us"
    [network]
    payload = "1000 B"
    overhead = "48 B"
    wire_min = "60 B"
    [switch]
    shared_buffer = "32 MB"
    [[traffic]]
    name = "web-search"
    kind = "poisson"
    workload = "web-search-hpcc"
    load = 0.5
    flows = 1000
    [transport]
"#;

impl Case {
    /// Returns all cases, each bare loop before the cases that it bounds.
    pub fn all() -> impl Iterator<Item = Case> {
        let trees = TREES.iter().flat_map(|&(k, ..)| {
            let permutations = TRANSPORTS.map(|transport| Case::Permutation(k, transport));
            std::iter::once(Case::Bare(k)).chain(permutations)
        });
        trees.chain(TRANSPORTS.map(Case::WebSearch)).chain(RDMA.map(Case::Rdma))
    }

    /// Returns the case of a name.
    pub fn by_name(name: &str) -> Option<Case> {
        Case::all().find(|case| case.name() == name)
    }

    /// Returns the case's name.
    pub fn name(&self) -> String {
        let hosts = |k: &u32| TREES.iter().find(|tree| tree.0 == *k).expect("listed").1;
        match self {
            Case::Bare(k) => format!("bare-{}", hosts(k)),
            Case::Permutation(k, transport) => format!("permutation-{}-{transport}", hosts(k)),
            Case::WebSearch(transport) => format!("websearch-192-{transport}"),
            Case::Rdma(transport) => format!("websearch-320-{transport}"),
        }
    }

    /// Returns true for a bare loop, whose speed bounds that of the cases after it.
    pub fn is_bare(&self) -> bool {
        matches!(self, Case::Bare(_))
    }

    /// Returns true if the last bare loop before this case ran on the same network, and so bounds its speed.
    pub fn is_bounded(&self) -> bool {
        matches!(self, Case::Bare(_) | Case::Permutation(..))
    }

    /// Runs the case in this process.
    pub fn run(&self, scale: f64) -> Outcome {
        let before = cpu_seconds();
        match self {
            Case::Bare(k) => {
                let model = permutation(*k, &transport("blast"), scale);
                let start = cpu_seconds();
                let (link_transmissions, events) = Bare::new(&model).run();
                outcome(link_transmissions, events, cpu_seconds() - start, "-".into())
            }
            Case::Permutation(k, name) => measure(&permutation(*k, &transport(name), scale), before),
            Case::WebSearch(name) => measure(&web_search(&transport(name), scale), before),
            Case::Rdma(name) => measure(&lossless(name, scale), before),
        }
    }
}

/// Makes the outcome of a case that has just ended in this process.
fn outcome(link_transmissions: u64, events: u64, cpu_s: f64, hash: String) -> Outcome {
    Outcome {
        link_transmissions: link_transmissions as f64,
        events: events as f64,
        cpu_s: cpu_s.max(0.01),
        peak_bytes: peak_bytes(),
        hash,
    }
}

/// Simulates a model. The CPU time counts from `before`, so that it includes building the model.
fn measure(model: &Model, before: f64) -> Outcome {
    let mut simulation = Simulation::new(model).expect("the model is sound");
    simulation.run(&mut |_| true);
    let results = simulation.finish().expect("the books balance");
    let Summary { link_transmissions, events, .. } = results.summary;
    outcome(link_transmissions, events, cpu_seconds() - before, results.hash())
}

impl Outcome {
    /// Returns the outcome as one line, its fields separated by spaces, for the parent process.
    pub fn to_line(&self) -> String {
        let Outcome { link_transmissions, events, cpu_s, peak_bytes, hash } = self;
        format!("{link_transmissions} {events} {cpu_s} {peak_bytes} {hash}")
    }

    /// Runs a case in a child process and reads the outcome from the line that it prints.
    pub fn of_child(name: &str, scale: f64) -> Outcome {
        let program = std::env::current_exe().expect("a program knows where it is");
        let output = Command::new(program).args(["--case", name, "--scale", &scale.to_string()]).output();
        let output = output.expect("a program can start itself");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let fields: Vec<&str> = text.split_whitespace().collect();
        let number = |index: usize| -> f64 {
            let field = fields.get(index).and_then(|field| field.parse().ok());
            field.unwrap_or_else(|| panic!("case {name} failed: {}", String::from_utf8_lossy(&output.stderr)))
        };
        Outcome {
            link_transmissions: number(0),
            events: number(1),
            cpu_s: number(2),
            peak_bytes: number(3),
            hash: fields[4].into(),
        }
    }
}

/// Returns the transport of a name with its default parameters.
fn transport(name: &str) -> AnyTransport {
    AnyTransport::by_name(name).unwrap_or_else(|| panic!("no transport {name}"))
}

/// Makes a model without traffic whose ports have what a transport needs. `buffer` is the size of a switch's data
/// queues.
fn network(transport: &AnyTransport, topology: Topology, buffer: Bytes) -> Model {
    let mut model = ports::network_for(topology, [transport]).expect("one transport agrees with itself");
    model.switch.classes[0].limit.bytes = buffer;
    model
}

/// Makes the permutation on the fat tree of `k`: every host sends one flow and receives one, until the run ends.
fn permutation(k: u32, transport: &AnyTransport, scale: f64) -> Model {
    let (_, hosts, time) = *TREES.iter().find(|tree| tree.0 == k).expect("listed");
    let topology = FatTree { k, rate: Rate::gbps(100), delay: Span::from_us(1), ..FatTree::default() };
    let mut model = network(transport, topology.build().expect("a valid tree"), Bytes::new(3_845_000));
    model.stop = Some(Time::ZERO + time.mul_f64(scale));
    let mut order: Vec<u32> = (0..hosts).collect();
    let mut rng = Rng::stream(1, Entity::Traffic, 99);
    // Sattolo's shuffle gives one cycle through all hosts, so that no host sends to itself.
    for last in (1..order.len()).rev() {
        order.swap(last, rng.below(last as u64) as usize);
    }
    let flows = (0..hosts as usize).map(|at| Flow {
        start: Time::ZERO + rng.span_up_to(Span::from_us(1)),
        src: NodeId(order[at]),
        dst: NodeId(order[(at + 1) % order.len()]),
        size: None,
        stop: None,
    });
    let mut flows: Vec<Flow> = flows.collect();
    flows.sort_by_key(|flow| flow.start);
    let pattern = Pattern::Flows(flows);
    model.add_traffic("permutation", transport, pattern);
    model
}

/// Makes the ExpressPass authors' load: flows of the web-search sizes at 0.6 of the uplinks of their 192-host tree.
fn web_search(transport: &AnyTransport, scale: f64) -> Model {
    let topology = OversubscribedFatTree::default().build().expect("a valid tree");
    let mut model = network(transport, topology, Bytes::new(384_500));
    let cdf =
        Cdf::parse(include_str!("../../../workloads/web_search_xpass.csv")).expect("a valid distribution");
    // In their script, too, the arrival rate is load x capacity / (mean size on the wire) / oversubscription.
    let wire_mean = 1_654_275.0 * 1538.0 / 1460.0;
    let per_second = 192.0 * 10e9 / 8.0 * 0.6 / wire_mean / model.topology.oversubscription();
    let pattern = Pattern::Poisson(Poisson {
        sizes: Arc::new(cdf),
        mean_gap_s: 1.0 / per_second,
        flows: (2000.0 * scale).ceil() as u64,
        start: Time::ZERO,
        stop: None,
        hosts: (0..192).map(NodeId).collect(),
    });
    model.add_traffic("web-search", transport, pattern);
    model
}

/// Makes the load on the lossless tree: Poisson arrivals under a transport with the settings of HPCC's authors.
fn lossless(name: &str, scale: f64) -> Model {
    let text = format!("{LOSSLESS} name = \"{name}\"\n profile = \"hpcc-ns3\"\n");
    let flows = (1000.0 * scale).ceil();
    let set = vec![("traffic.web-search.flows".to_string(), flows.to_string())];
    let overrides = Overrides { set, ..Overrides::default() };
    let scenario = Scenario::parse(&text, name, Path::new("."), &overrides);
    scenario.unwrap_or_else(|error| panic!("{error}")).model
}
