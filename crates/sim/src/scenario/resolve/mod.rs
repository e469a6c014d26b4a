//! The way from a document to a model, on which every name is looked up and every default is filled in.

mod classes;
mod endless;
mod headers;
mod links;
mod lossless;
mod marking;
mod needs;
mod ports;
mod samples;
mod traces;
mod traffic;
mod trimming;
mod write;

#[cfg(test)]
pub(super) use lossless::STORM;
pub(crate) use needs::{AllNeeds, classes_of};
pub(crate) use ports::ports_for;

use super::document::{Document, Path};
use super::error::Result;
use super::field::Routing;
use super::files::Files;
use super::memory::Limit;
use super::schema::*;
use super::shapes::{Shape, check_links};
use super::traffic::Surroundings;
use super::transport;
use crate::model::{HostModel, Measure, Model};
use clearway_proto::Framing;
use clearway_schema::{Auto, Declared};
use clearway_topology::Topology;
use clearway_units::{Bytes, Rate, Time};
use endless::check_end;
use links::{read_faults, read_loss, with_links};
use ports::{PortModels, PortTables, Ports, resolve_ports};
use samples::{Has, read_samples};
use std::cell::Cell;
use std::sync::Arc;
use traces::read_traces;
use traffic::{ReadPart, read_traffic};
use write::{Written, write_toml};

/// The tables that a scenario file may have.
pub(super) const TABLES: [&str; 12] = [
    "topology",
    "link",
    "network",
    "switch",
    "host",
    "transport",
    "traffic",
    "fault",
    "loss",
    "measure",
    "sample",
    "trace",
];

/// A resolved scenario.
pub(super) struct Resolved {
    /// The name, if the file gives one.
    pub name: Option<String>,
    pub model: Model,
    /// The scenario in TOML with every key filled in, without the name and the seed.
    pub toml: String,
    /// Set if something in the model was drawn by the seed.
    pub has_drawn: bool,
}

/// What was asked for beside the document.
#[derive(Clone, Copy)]
pub(super) struct Asked {
    /// True if a transport was given, so that `[transport]` may be unused.
    pub replaced: bool,
    /// The memory in bytes that the run may take.
    pub memory: Option<u64>,
    /// The most links that the network may have.
    pub links: Option<u64>,
    /// The room in bytes on the disk to which rows go during the run, if they do.
    pub disk: Option<u64>,
}

/// Resolves a document.
pub(super) fn resolve(document: &Document, files: &dyn Files, asked: Asked) -> Result<Resolved> {
    let limit = Limit { document, memory: asked.memory, links: asked.links, disk: asked.disk };
    let grounds = Grounds::read(document, files, &limit)?;
    let Grounds { root, shape, topology, links, network, framing } = &grounds;
    let tables = PortTables::read(document)?;
    let surroundings = Surroundings {
        document,
        files,
        shape,
        topology,
        framing: *framing,
        seed: root.seed,
        has_drawn: Cell::new(false),
        stop: root.stop,
        limit,
    };
    let default = transport::read(document, &Path::default().key("transport"), None)?;
    let parts = read_traffic(&surroundings, default.as_ref(), &tables.classes, &tables.credit_classes)?;
    let uses_default = parts.iter().any(|part| part.own.is_none());
    check_use(document, default.is_some() && !asked.replaced, &parts)?;
    let needs = AllNeeds::of(parts.iter().map(|part| &part.traffic.transport));
    let ports = resolve_ports(document, &needs, tables, parts, topology, *framing)?;
    let network = Network { routing: Auto::Set(network.routing.or(needs.routing())), ..*network };
    let has_credits = ports.model.switch.credit.is_some();
    let trimming = ports.model.switch.classes.iter().any(|class| class.leaves_headers().is_some());
    let has = Has { credits: has_credits, flow_control: ports.model.pfc.is_some(), trimming };
    let (faults, fault_tables) = read_faults(document, topology, root.stop)?;
    let (loss, loss_tables) = read_loss(document, topology)?;
    let measure = read_measure(document, root.stop)?;
    let (samples, sample_tables) = read_samples(document, topology, &ports.parts, has)?;
    let (traces, trace_tables) = read_traces(&surroundings, &ports.parts)?;

    let has_drawn = surroundings.has_drawn.get();
    let toml = write_toml(&Written {
        root,
        shape,
        links,
        network: &network,
        ports: &ports.tables,
        mechanism: &ports.mechanism,
        has_credits,
        default: default.as_ref().filter(|_| uses_default),
        parts: &ports.parts,
        faults: &fault_tables,
        loss: &loss_tables,
        measure: &measure,
        samples: &sample_tables,
        traces: &trace_tables,
    });
    let Ports { tables, model: PortModels { switch, host, pfc, .. }, parts, .. } = ports;
    let control_run = parts.iter().filter_map(|part| part.traffic.transport.needs().control_run).min();
    let model = Model {
        seed: root.seed,
        stop: root.stop,
        routing: network.routing.or(Routing::SymmetricEcmp).policy(),
        framing: *framing,
        switch,
        pfc,
        whole_ns: network.whole_ns,
        host: HostModel {
            port: host,
            queues_data: tables.host.queue.is_some(),
            control_run,
            processing_delay: tables.host.processing_delay,
        },
        traffic: parts.into_iter().map(|part| part.traffic).collect(),
        faults,
        loss,
        measure: Measure { from: measure.from, until: measure.until },
        samples,
        traces,
        topology: Arc::new(grounds.topology),
    };
    check_times(document, &model)?;
    check_end(document, &model, &fault_tables, &loss_tables)?;
    limit.check_run(&model)?;
    Ok(Resolved { name: grounds.root.name, model, toml, has_drawn })
}

/// The parts of a scenario that all others build on.
struct Grounds {
    root: Root,
    shape: Shape,
    topology: Topology,
    links: Vec<LinkTable>,
    /// The table of the network with every key filled in.
    network: Network,
    framing: Framing,
}

impl Grounds {
    fn read(document: &Document, files: &dyn Files, limit: &Limit<'_>) -> Result<Grounds> {
        let top = Path::default();
        let known: Vec<&str> = Root::SPECS.iter().map(|key| key.name).chain(TABLES).collect();
        document.check_keys(&top, &known)?;
        for table in ["topology", "network", "switch", "host", "measure"] {
            document.check_table(&top.key(table))?;
        }
        let root = document.read::<Root>(&top)?;
        let at = top.key("topology");
        if document.get(&at).is_none() {
            let problem = "is missing; write [topology] with a kind, such as kind = \"star\"";
            return Err(document.error(&at, problem));
        }
        let (shape, described) = Shape::read(document, &at, files, &|size| limit.check_network(&at, size))?;
        let (topology, links) = with_links(document, described)?;
        check_links(document, &at, &topology)?;
        let (network, framing) = with_framing(document, document.read_table(&top.key("network"))?)?;
        Ok(Grounds { root, shape, topology, links, network, framing })
    }
}

/// Refuses truncation to whole nanoseconds where it leaves no time for a frame: a link would then send any number of
/// frames at once.
fn check_times(document: &Document, model: &Model) -> Result<()> {
    let Some(port) = model.timeless_port() else { return Ok(()) };
    let (name, rate) = (model.topology.port_name(port), model.topology.port(port).rate);
    let frame = model.smallest_frame();
    let at = Path::default().key("network").key("whole_ns");
    // Below as many Gbps as it has bits, the frame takes more than a nanosecond.
    let (ps, below) =
        (rate.time_to_send(Bytes::new(u64::from(frame))).as_ps(), Rate::gbps(u64::from(frame) * 8));
    let problem = format!(
        "leaves no time for the smallest frame, {frame} B (data, credits, ACKs, CNPs and pause frames count), which takes \
         {} ns at the {rate} of {name}; write links below {below}, or leave the key out",
        ps as f64 / 1e3
    );
    Err(document.error(&at, problem))
}

/// Reads the window of measurement, and refuses one that has no length or lies outside the run.
fn read_measure(document: &Document, stop: Option<Time>) -> Result<MeasureTable> {
    let at = Path::default().key("measure");
    let table = document.read_table::<MeasureTable>(&at)?;
    let MeasureTable { from, until } = table;
    let (key, problem) = if let (Some(from), Some(until)) = (from, until)
        && from >= until
    {
        ("until", format!("must be after the start of the window, {from}"))
    } else if let (Some(from), Some(stop)) = (from, stop)
        && from >= stop
    {
        ("from", format!("must be before the end of the run, stop = \"{stop}\""))
    } else if let (Some(until), Some(stop)) = (until, stop)
        && until > stop
    {
        ("until", format!("must not be after the end of the run, stop = \"{stop}\""))
    } else {
        return Ok(table);
    };
    Err(document.error(&at.key(key), problem))
}

/// Refuses `[transport]` if it is there and no traffic entry uses it.
fn check_use(document: &Document, is_there: bool, parts: &[ReadPart]) -> Result<()> {
    if is_there && !parts.iter().any(|part| part.own.is_none() || part.inherits) {
        let problem = "is used by no traffic, since every part names its own; remove it";
        return Err(document.error(&Path::default().key("transport"), problem));
    }
    Ok(())
}

/// Returns the table of the network with every key of framing filled in, and the framing.
fn with_framing(document: &Document, network: Network) -> Result<(Network, Framing)> {
    let at = Path::default().key("network");
    let of = network.framing.framing();
    let bytes = |size: u32| Bytes::new(u64::from(size));
    let overhead = network.overhead.or(bytes(of.overhead));
    let wire_min = network.wire_min.or(bytes(of.wire_min));
    if wire_min < overhead {
        let problem = format!("must be at least the overhead of a packet, {overhead}");
        return Err(document.error(&at.key("wire_min"), problem));
    }
    // The limits of the schema keep all three far below 2^32.
    let bytes = |size: Bytes| size.get() as u32;
    let framing =
        Framing { payload_max: bytes(network.payload), overhead: bytes(overhead), wire_min: bytes(wire_min) };
    Ok((Network { overhead: Auto::Set(overhead), wire_min: Auto::Set(wire_min), ..network }, framing))
}
