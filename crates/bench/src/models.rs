//! The models of the benchmark's cases.

use crate::cases::{Load, Permutation};
use clearway_proto::{AnyTransport, Entity, Rng};
use clearway_sim::model::*;
use clearway_sim::ports;
use clearway_sim::scenario::{Overrides, Scenario};
use clearway_sim::traffic::Cdf;
use clearway_topology::{FatTree, NodeId, OversubscribedFatTree, Topology};
use clearway_units::{Bytes, Rate, Span, Time};
use std::path::Path;
use std::sync::Arc;

/// The lossless tree with HPCC's ns-3 framing, up to rates, number of flows and the transport's settings.
const LOSSLESS: &str = r#"
    [network]
    payload = "1000 B"
    overhead = "48 B"
    wire_min = "60 B"
    [switch]
    shared_buffer = "32 MB"
    [topology]
    kind = "pacc-320"
    delay = "1 us"
"#;

/// A fat tree with the frames of uet-htsim, up to its size and rate, the time of the run and the transport.
const SPRAYED: &str = r#"
    stop = "1 s"
    [network]
    payload = "4086 B"
    overhead = "64 B"
    wire_min = "64 B"
    [[traffic]]
    name = "permutation"
    kind = "permutation"
    spread = "1 us"
"#;

/// Makes the model of a load. At a scale other than 1 it is longer or shorter.
pub fn model(load: &Load, scale: f64) -> Model {
    match *load {
        Load::Bare(tree) => permutation(&tree, &transport("blast"), scale),
        Load::Permutation(tree, name) => permutation(&tree, &transport(name), scale),
        Load::Sprayed(tree, name) => sprayed(&tree, name, scale),
        Load::Idle(k) => {
            let mut model =
                network(&transport("dctcp"), fat_tree(k, 100, Span::from_us(1)), Bytes::new(3_845_000));
            model.stop = Some(Time::ZERO + Span::from_us(1));
            model
        }
        Load::WebSearch(name, flows) => web_search(&transport(name), scaled(flows, scale)),
        Load::WebSearchFor(name, time) => {
            let mut model = web_search(&transport(name), u64::MAX);
            model.stop = Some(Time::ZERO + time.mul_f64(scale));
            model
        }
        Load::Lossless(name, gbps, flows) => lossless(name, gbps, scaled(flows, scale)),
        Load::Short(name, flows) => short(&transport(name), scaled(flows, scale)),
        Load::Active(name, flows) => active(&transport(name), scaled(flows, scale)),
    }
}

fn scaled(flows: u64, scale: f64) -> u64 {
    (flows as f64 * scale).ceil() as u64
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

/// Makes a fat tree.
fn fat_tree(k: u32, gbps: u32, delay: Span) -> Topology {
    let tree = FatTree { k, rate: Rate::gbps(gbps.into()), delay, ..FatTree::default() };
    tree.build().expect("a valid tree")
}

/// Makes a permutation: every host sends one flow and receives one, until the run ends.
fn permutation(tree: &Permutation, transport: &AnyTransport, scale: f64) -> Model {
    let buffer = Bytes::new(3_845_000 * u64::from(tree.gbps) / 100);
    let mut model = network(transport, fat_tree(tree.k, tree.gbps, tree.delay), buffer);
    model.stop = Some(Time::ZERO + tree.time.mul_f64(scale));
    let mut order: Vec<u32> = (0..tree.hosts()).collect();
    let mut rng = Rng::stream(1, Entity::Traffic, 99);
    // Sattolo's shuffle gives one cycle through all hosts, so that no host sends to itself.
    for last in (1..order.len()).rev() {
        order.swap(last, rng.below(last as u64) as usize);
    }
    let flows = (0..order.len()).map(|at| Flow {
        start: Time::ZERO + rng.span_up_to(Span::from_us(1)),
        src: NodeId(order[at]),
        dst: NodeId(order[(at + 1) % order.len()]),
        size: None,
        stop: None,
    });
    let mut flows: Vec<Flow> = flows.collect();
    flows.sort_by_key(|flow| flow.start);
    model.add_traffic("permutation", transport, Pattern::Flows(Arc::new(flows)));
    model
}

/// Makes a permutation whose packets take a path each, under a transport with the settings of uet-htsim.
fn sprayed(tree: &Permutation, name: &str, scale: f64) -> Model {
    let Permutation { k, gbps, time, delay } = *tree;
    let text = format!(
        "{SPRAYED} [topology]\n kind = \"fat-tree\"\n k = {k}\n rate = \"{gbps} Gbps\"\n delay = \"{delay}\"\n
         [transport]\n name = \"{name}\"\n profile = \"htsim\"\n"
    );
    let scenario = Scenario::parse(&text, name, Path::new("."), &Overrides::default());
    let mut model = scenario.unwrap_or_else(|error| panic!("{error}")).model;
    model.stop = Some(Time::ZERO + time.mul_f64(scale));
    model
}

/// Makes the ExpressPass authors' load: flows of the web-search sizes at 0.6 of the uplinks of their 192-host tree.
fn web_search(transport: &AnyTransport, flows: u64) -> Model {
    let topology = OversubscribedFatTree::default().build().expect("a valid tree");
    let mut model = network(transport, topology, Bytes::new(384_500));
    let cdf =
        Cdf::parse(include_str!("../../../workloads/web_search_xpass.csv")).expect("a valid distribution");
    // In their script, too, the arrival rate is load x capacity / (mean size on the wire) / oversubscription.
    let wire_mean = 1_654_275.0 * 1538.0 / 1460.0;
    let per_second = 192.0 * 10e9 / 8.0 * 0.6 / wire_mean / model.topology.oversubscription();
    let pattern = poisson(cdf, 1.0 / per_second, flows, 192);
    model.add_traffic("web-search", transport, pattern);
    model
}

/// Makes the load on the lossless tree: Poisson arrivals under a transport with the settings of HPCC's authors.
fn lossless(name: &str, [host, fabric]: [u32; 2], flows: u64) -> Model {
    let text = format!(
        "{LOSSLESS} rate = \"{host} Gbps\"\n fabric_rate = \"{fabric} Gbps\"\n
         [[traffic]]\n name = \"web-search\"\n kind = \"poisson\"\n workload = \"web-search-hpcc\"\n load = 0.5\n load_of = \"ns2\"\n
         flows = {flows}\n [transport]\n name = \"{name}\"\n profile = \"hpcc-ns3\"\n"
    );
    let scenario = Scenario::parse(&text, name, Path::new("."), &Overrides::default());
    scenario.unwrap_or_else(|error| panic!("{error}")).model
}

/// Makes flows of 1 KB between random hosts of the 128-host tree, at a tenth of what its hosts can send.
fn short(transport: &AnyTransport, flows: u64) -> Model {
    let mut model = network(transport, fat_tree(8, 100, Span::from_us(1)), Bytes::new(3_845_000));
    let per_second = 128.0 * 100e9 / 8.0 * 0.1 / 1000.0;
    let pattern = poisson(Cdf::fixed(Bytes::new(1000)), 1.0 / per_second, flows, 128);
    model.add_traffic("short", transport, pattern);
    model
}

/// Makes flows that all start within a microsecond and have far more to send than the run's 20 us allow. Queues are
/// short, so that the memory that grows with the flows is that of the flows and not of their packets.
fn active(transport: &AnyTransport, flows: u64) -> Model {
    let mut model = network(transport, fat_tree(8, 100, Span::from_us(1)), Bytes::new(30_000));
    model.stop = Some(Time::ZERO + Span::from_us(20));
    let mut rng = Rng::stream(1, Entity::Traffic, 99);
    let flows = (0..flows).map(|number| {
        let src = (number % 128) as u32;
        Flow {
            start: Time::ZERO + Span::from_ps(number * 1_000_000 / flows),
            src: NodeId(src),
            dst: NodeId((src + 1 + rng.below(127) as u32) % 128),
            size: Some(Bytes::new(10_000_000)),
            stop: None,
        }
    });
    let pattern = Pattern::Flows(Arc::new(flows.collect()));
    model.add_traffic("active", transport, pattern);
    model
}

fn poisson(sizes: Cdf, mean_gap_s: f64, flows: u64, hosts: u32) -> Pattern {
    let hosts = (0..hosts).map(NodeId).collect();
    Pattern::Poisson(Poisson {
        sizes: Arc::new(sizes),
        mean_gap_s,
        flows,
        start: Time::ZERO,
        stop: None,
        hosts,
    })
}
