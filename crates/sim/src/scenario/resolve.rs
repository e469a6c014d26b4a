//! From a document to a model: every name looked up, every default filled in.

use super::document::{Document, Path};
use super::error::{ScenarioError, suggestion};
use super::field::{Direction, Field, Links, MarkingWord, Name, Pair, Ports, What, quoted};
use super::lossless::{red_config, resolve_marking, resolve_pfc};
use super::schema::*;
use super::shapes::{Shape, check_links, has, text_at};
use super::traffic::{Part, Surroundings};
use super::transport::{self, AllNeeds, CREDIT_KEYS, PHANTOM_KEYS, RCP_KEYS, mechanism_keys};
use crate::model::{
    Amount, Class, CreditClass, CreditTurn, Fault, HostModel, Marking, Model, PortModel, Probe, Sample,
    SharedBuffer, Threshold, Traffic,
};
use clearway_proto::port::{CreditShaping, PortMechanism};
use clearway_proto::{AnyTransport, Auto, CreditNeeds, Framing};
use clearway_topology::{PortId, Topology};
use clearway_units::{Bytes, Rate, Span};
use std::collections::BTreeMap;
use std::fmt::Write;

type Result<T> = std::result::Result<T, ScenarioError>;
/// What a list of tables comes to, and the tables as they are written again.
type Both<T, W> = (Vec<T>, Vec<W>);

/// The tables of a scenario, with what may stand there.
const TABLES: [&str; 10] =
    ["topology", "link", "network", "switch", "host", "transport", "traffic", "fault", "loss", "sample"];
/// The buffer of a port by default, for each 10 Gbps of the fastest link: 250 full frames.
const BUFFER_PER_10_GBPS: u64 = 384_500;
/// The class of data that nothing allowed.
const LOW_CLASS: &str = "low-priority";
/// Eight priorities, and no network card or switch has more queues than this at a port.
const CLASSES_MAX: usize = 64;
/// The priority of a class that goes last (`ClassTable`).
const PRIORITY_MAX: u8 = 7;
/// A token bucket is counted in 64 bits (`CreditLimiter::new`).
const BUCKET_FACTOR: u64 = u64::MAX / 8_000_000_000_000;

/// A resolved scenario.
pub(super) struct Resolved {
    /// Its name, if the file says.
    pub name: Option<String>,
    pub model: Model,
    /// The scenario with everything filled in, but for the name.
    pub toml: String,
}

/// Resolves a document. `replaced`: a transport was given beside the file, so that `[transport]` may be unused.
pub(super) fn resolve(document: &Document, base: &std::path::Path, replaced: bool) -> Result<Resolved> {
    let top = Path::default();
    let known: Vec<&str> = Root::KEYS.iter().map(|key| key.name).chain(TABLES).collect();
    document.check_keys(&top, &known)?;
    for table in ["topology", "network", "switch", "host"] {
        document.check_table(&top.key(table))?;
    }
    let root = Root::read(document, &top)?;
    let at = top.key("topology");
    if document.get(&at).is_none() {
        return Err(document.error(&at, "is missing; write [topology] with a kind, such as kind = \"star\""));
    }
    let (shape, mut topology) = Shape::read(document, &at, base)?;
    let link_tables = change_links(document, &mut topology)?;
    check_links(document, &at, &topology)?;
    let network: Network = read_table(document, &top.key("network"))?;
    let framing = framing(document, &network)?;
    let switch_at = top.key("switch");
    let mut switch: Switch = read_table(document, &switch_at)?;
    let host: Host = read_table(document, &top.key("host"))?;
    let mut classes = read_classes(document, &switch_at)?;
    let credit_classes = read_credit_classes(document, &switch_at)?;

    let surroundings = Surroundings {
        document,
        base,
        shape: &shape,
        topology: &topology,
        framing,
        seed: root.seed,
        stop: root.stop,
    };
    let default = transport::read(document, &top.key("transport"), None)?;
    let mut parts = read_traffic(&surroundings, default.as_ref(), &classes, &credit_classes)?;
    let uses_default = parts.iter().any(|part| part.own.is_none());
    let is_used = parts.iter().any(|part| part.own.is_none() || part.inherits);
    if default.is_some() && !is_used && !replaced {
        let problem = "is used by no traffic, since every part names its own; remove it";
        return Err(document.error(&top.key("transport"), problem));
    }

    let transports = || parts.iter().map(|part| &part.traffic.transport);
    let needs = AllNeeds::of(transports());
    let credit = resolve_credit(document, &needs, &switch, framing)?;
    let host_credit =
        credit.map(|credit| CreditClass { queue: host.credit_queue.or(credit.queue), ..credit });
    let mechanism = resolve_mechanism(document, &needs, &switch)?;
    add_notice_class(document, &needs, &mut classes, &mut parts);
    add_low_class(document, &needs, &parts, &mut classes)?;
    resolve_marking(document, &needs, &mut switch, &mut classes)?;
    let pfc = resolve_pfc(document, &needs, &mut switch, &mut classes, &topology, framing)?;
    let shared = resolve_switch(document, &switch_at, &mut switch, &mut classes, &topology)?;
    let model_classes: Vec<Class> = classes.iter().map(|class| model_class(class, &switch)).collect();
    let host_classes =
        model_classes.iter().map(|class| Class { limit: host.buffer, marking: None, ..class.clone() });
    let credit_turns = |credit: Option<CreditClass>, own: Option<u32>| -> Vec<CreditTurn> {
        credit.map_or(Vec::new(), |credit| {
            credit_classes
                .iter()
                .map(|class| class.turn(own.or(class.queue).unwrap_or(credit.queue)))
                .collect()
        })
    };
    let host_queue = match host.credit_queue {
        Auto::Auto => None,
        Auto::Set(queue) => Some(queue),
    };
    let host_port = PortModel {
        credit: host_credit,
        credit_classes: credit_turns(host_credit, host_queue),
        classes: host_classes.collect(),
        shared: None,
        mechanism: None,
    };

    let (faults, fault_tables) = read_faults(document, &topology, root.stop)?;
    let (loss, loss_tables) = read_loss(document, &topology)?;
    let (samples, sample_tables) = read_samples(document, &topology, &parts, credit.is_some())?;

    let toml = write_toml(&Written {
        root: &root,
        shape: &shape,
        links: &link_tables,
        network: &network,
        switch: &switch,
        classes: &classes,
        credit_classes: &credit_classes,
        host: &host,
        has_credits: credit.is_some(),
        default: default.as_ref().filter(|_| uses_default),
        parts: &parts,
        faults: &fault_tables,
        loss: &loss_tables,
        samples: &sample_tables,
    });
    let model = Model {
        seed: root.seed,
        stop: root.stop,
        routing: network.routing.policy(),
        framing,
        switch: PortModel {
            credit,
            credit_classes: credit_turns(credit, None),
            classes: model_classes,
            shared,
            mechanism,
        },
        pfc,
        whole_ns: network.whole_ns,
        host: HostModel { port: host_port, processing_delay: host.processing_delay },
        traffic: parts.into_iter().map(|part| part.traffic).collect(),
        faults,
        loss,
        samples,
        topology,
    };
    Ok(Resolved { name: root.name, model, toml })
}

/// Reads a table after a check of its keys.
fn read_table<T: Table>(document: &Document, at: &Path) -> Result<T> {
    document.check_table(at)?;
    document.check_keys(at, &T::KEYS.iter().map(|key| key.name).collect::<Vec<_>>())?;
    T::read(document, at)
}

/// Reads a list of tables.
fn read_list<T: Table>(document: &Document, at: &Path) -> Result<Vec<(Path, T)>> {
    let count = document.list_len(at)?;
    (0..count).map(|index| at.index(index)).map(|at| Ok((at.clone(), read_table(document, &at)?))).collect()
}

fn framing(document: &Document, network: &Network) -> Result<Framing> {
    let at = Path::default().key("network");
    if network.wire_min < network.overhead {
        let problem = format!("must be at least the overhead of a packet, {}", network.overhead);
        return Err(document.error(&at.key("wire_min"), problem));
    }
    // The limits of the schema keep all three far below 2^32.
    let bytes = |size: Bytes| size.get() as u32;
    Ok(Framing {
        payload_max: bytes(network.payload),
        overhead: bytes(network.overhead),
        wire_min: bytes(network.wire_min),
    })
}

fn read_classes(document: &Document, switch_at: &Path) -> Result<Vec<ClassTable>> {
    let at = switch_at.key("class");
    let tables = read_list::<ClassTable>(document, &at)?;
    if tables.len() > CLASSES_MAX {
        return Err(document.error(&at, format!("has more than {CLASSES_MAX} classes; write fewer")));
    }
    if tables.is_empty() {
        if has(document, switch_at, "class") {
            return Err(document.error(&at, "is empty; write a class or remove the key"));
        }
        let name = Name("data".into());
        let (buffer, marking, marking_at, lossless) = (None, None, None, None);
        return Ok(vec![ClassTable { name, priority: 0, weight: 1, buffer, marking, marking_at, lossless }]);
    }
    for (index, (at, table)) in tables.iter().enumerate() {
        if tables[..index].iter().any(|(_, other)| other.name == table.name) {
            return Err(document.error(&at.key("name"), "is taken by an earlier class; write another name"));
        }
    }
    Ok(tables.into_iter().map(|(_, table)| table).collect())
}

fn read_credit_classes(document: &Document, switch_at: &Path) -> Result<Vec<CreditClassTable>> {
    let at = switch_at.key("credit_class");
    let tables = read_list::<CreditClassTable>(document, &at)?;
    if tables.len() > 64 {
        return Err(document.error(&at, "has more than 64 classes; write fewer"));
    }
    if tables.is_empty() && has(document, switch_at, "credit_class") {
        return Err(document.error(&at, "is empty; write a class or remove the key"));
    }
    for (index, (at, table)) in tables.iter().enumerate() {
        if tables[..index].iter().any(|(_, other)| other.name == table.name) {
            return Err(document.error(&at.key("name"), "is taken by an earlier class; write another name"));
        }
    }
    Ok(tables.into_iter().map(|(_, table)| table).collect())
}

impl CreditClassTable {
    fn turn(&self, queue: u32) -> CreditTurn {
        let CreditClassTable { name, priority, weight, share, .. } = self;
        CreditTurn { name: name.0.clone(), priority: *priority, weight: *weight, queue, share: *share }
    }
}

/// Makes the links that differ from the shape's what they are to be.
fn change_links(document: &Document, topology: &mut Topology) -> Result<Vec<LinkTable>> {
    let mut tables = Vec::new();
    for (at, table) in read_list::<LinkTable>(document, &Path::default().key("link"))? {
        let port =
            link(topology, &table.link.0).map_err(|problem| document.error(&at.key("link"), problem))?;
        if table.rate.is_none() && table.delay.is_none() {
            return Err(document.error(&at, "changes nothing; write a rate or a delay"));
        }
        let is = *topology.port(port);
        topology.set_link(port, table.rate.unwrap_or(is.rate), table.delay.unwrap_or(is.delay));
        tables.push(table);
    }
    Ok(tables)
}

/// A part of the traffic, for the model and for the file.
struct ReadPart {
    traffic: Traffic,
    own: Option<AnyTransport>,
    /// Whether its own transport starts from `[transport]`.
    inherits: bool,
    kind: &'static str,
    class: Option<Name>,
    written: Vec<(&'static str, String)>,
}

fn read_traffic(
    surroundings: &Surroundings<'_>,
    default: Option<&AnyTransport>,
    classes: &[ClassTable],
    credit_classes: &[CreditClassTable],
) -> Result<Vec<ReadPart>> {
    let document = surroundings.document;
    let at = Path::default().key("traffic");
    let count = document.list_len(&at)?;
    if count == 0 {
        return Err(document.error(&at, "is missing; write at least one [[traffic]] with a kind"));
    }
    let given: Vec<Option<&str>> =
        (0..count).map(|index| text_at(document, &at.index(index), "name")).collect();
    let mut parts: Vec<ReadPart> = Vec::new();
    for index in 0..count {
        let at = at.index(index);
        let Part { common, kind, pattern, written } = surroundings.read(&at, index)?;
        let name = match common.name {
            Some(name) if given[..index].contains(&Some(&name.0)) => {
                let problem = "is taken by an earlier part of the traffic; write another name";
                return Err(document.error(&at.key("name"), problem));
            }
            Some(name) => name.0,
            None => free_name(kind, |name| {
                given.contains(&Some(name)) || parts.iter().any(|part| part.traffic.name == name)
            }),
        };
        let own = transport::read(document, &at.key("transport"), default)?;
        let inherits = own.is_some() && transport::inherits(document, &at.key("transport"));
        let Some(transport) = own.as_ref().or(default).cloned() else {
            let known = transport::known();
            let problem = format!("is missing; name a transport here or under [transport] (known: {known})");
            return Err(document.error(&at.key("transport"), problem));
        };
        let find = |key: &str, class: &Name| {
            classes.iter().position(|other| other.name == *class).ok_or_else(|| {
                let names: Vec<&str> = classes.iter().map(|class| class.name.0.as_str()).collect();
                let problem = format!("is no class of [[switch.class]] (known: {})", names.join(", "));
                document.error(&at.key(key), problem)
            })
        };
        let credit_class = match &common.credit_class {
            None => 0,
            Some(_) if transport.needs().credits.is_none() => {
                let problem =
                    format!("means nothing, since {} uses no credits; remove it", transport.info().name);
                return Err(document.error(&at.key("credit_class"), problem));
            }
            Some(class) => credit_classes.iter().position(|other| other.name == *class).ok_or_else(|| {
                let names: Vec<&str> = credit_classes.iter().map(|class| class.name.0.as_str()).collect();
                let known = if names.is_empty() {
                    "there are none".into()
                } else {
                    format!("known: {}", names.join(", "))
                };
                document.error(
                    &at.key("credit_class"),
                    format!("is no class of [[switch.credit_class]] ({known})"),
                )
            })?,
        };
        let class = common.class.as_ref().map_or(Ok(0), |class| find("class", class))?;
        let notice_class = common.notice_class.as_ref();
        let notice_class = notice_class.map_or(Ok(class), |class| find("notice_class", class))?;
        let traffic = Traffic { name, transport, class, credit_class, notice_class, pattern };
        parts.push(ReadPart { traffic, own, inherits, kind, class: common.class, written });
    }
    Ok(parts)
}

/// Makes a class of the highest priority for notifications of congestion, where a transport asks for one and the
/// scenario has no classes of its own.
fn add_notice_class(
    document: &Document,
    needs: &AllNeeds,
    classes: &mut Vec<ClassTable>,
    parts: &mut [ReadPart],
) {
    if !needs.notices || has(document, &Path::default().key("switch"), "class") {
        return;
    }
    let data = &mut classes[0];
    let notices = ClassTable {
        name: Name("notices".into()),
        marking: Some(MarkingWord::Off),
        lossless: Some(false),
        ..data.clone()
    };
    data.priority = 1;
    classes.push(notices);
    for part in parts.iter_mut().filter(|part| part.traffic.transport.needs().notices) {
        part.traffic.notice_class = 1;
    }
}

/// `word`, or `word-2` and so on if it is taken.
fn free_name(word: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let numbered = (2u64..).map(|number| format!("{word}-{number}"));
    let mut names = [word.to_owned()].into_iter().chain(numbered);
    names.find(|name| !is_taken(name)).expect("some number is free")
}

/// The class of credits, from what the transports ask for and what the scenario says.
fn resolve_credit(
    document: &Document,
    needs: &AllNeeds,
    switch: &Switch,
    framing: Framing,
) -> Result<Option<CreditClass>> {
    let top = Path::default();
    let Some(&(name, first)) = needs.credits.first() else {
        for (table, key) in CREDIT_KEYS {
            if has(document, &top.key(table), key) {
                let problem = "means nothing, since no transport of the scenario uses credits; remove it";
                return Err(document.error(&top.key(table).key(key), problem));
            }
        }
        return Ok(None);
    };
    let at = top.key("switch");
    let agree = |key: &str, is_set: bool, value: &dyn Fn(&CreditNeeds) -> u32| {
        let other = needs.credits.iter().find(|(_, other)| value(other) != value(&first));
        match other.filter(|_| !is_set) {
            None => Ok(value(&first)),
            Some((other_name, other)) => {
                let problem = format!(
                    "the transports {name} and {other_name} ask for {} and {}; write a value for both",
                    value(&first),
                    value(other)
                );
                Err(document.error(&at.key(key), problem))
            }
        }
    };
    let is_set = |key: &str| has(document, &at, key);
    let queue = agree("credit_queue", !matches!(switch.credit_queue, Auto::Auto), &|needs| needs.queue)?;
    let bucket =
        agree("credit_bucket", !matches!(switch.credit_bucket, Auto::Auto), &|needs| needs.shaping.bucket)?;
    let empty = agree("credit_bucket_empty", is_set("credit_bucket_empty"), &|needs| {
        u32::from(needs.shaping.starts_empty)
    })?;
    let credit = agree("credit_queue", false, &|needs| needs.shaping.credit)?;
    let bucket = match switch.credit_bucket {
        Auto::Set(bucket) => bucket.get() as u32,
        Auto::Auto => bucket,
    };
    let queue = switch.credit_queue.or(queue);
    let starts_empty = switch.credit_bucket_empty.or(empty == 1);
    // A credit releases one full frame of this scenario.
    let shaping = CreditShaping { credit, data: framing.wire_max(), bucket, starts_empty };
    let deepest = BUCKET_FACTOR / u64::from(credit + shaping.data);
    if u64::from(bucket) > deepest {
        let problem = format!(
            "the bucket of {bucket} B is too deep for frames of {} B; at most {deepest} B can \
             be counted exactly",
            shaping.data
        );
        return Err(document.error(&at.key("credit_bucket"), problem));
    }
    if bucket < framing.wire_min.max(credit) {
        let problem =
            format!("the bucket of {bucket} B never holds a credit of {} B", framing.wire_min.max(credit));
        return Err(document.error(&at.key("credit_bucket"), problem));
    }
    Ok(Some(CreditClass { queue, shaping, share: switch.credit_share }))
}

/// Adds the class that yields to all others, if a transport sends data that nothing allowed and the scenario has no
/// such class yet.
fn add_low_class(
    document: &Document,
    needs: &AllNeeds,
    parts: &[ReadPart],
    classes: &mut Vec<ClassTable>,
) -> Result<()> {
    let Some(&(name, queue)) = needs.low_priority.first() else { return Ok(()) };
    let at = Path::default().key("switch").key("class");
    let wanted = format!("the class {LOW_CLASS:?} of {name}, for data that nothing allowed");
    let lowest = |classes: &[ClassTable]| classes.iter().map(|class| class.priority).max().unwrap_or(0);
    if let Some(index) = classes.iter().position(|class| class.name.0 == LOW_CLASS) {
        let others = classes.iter().enumerate().filter(|(other, _)| *other != index);
        if others.into_iter().any(|(_, other)| other.priority >= classes[index].priority) {
            let problem = format!("{wanted}, must yield to all others; write a priority above theirs");
            return Err(document.error(&at.index(index).key("priority"), problem));
        }
        if parts.iter().any(|part| part.traffic.class == index) {
            let problem = format!("{wanted}, can hold no other traffic; write another class for it");
            return Err(document.error(&at.index(index).key("name"), problem));
        }
        return Ok(());
    }
    if let Some((other, theirs)) = needs.low_priority.iter().find(|(_, theirs)| *theirs != queue) {
        let problem = format!(
            "the transports {name} and {other} ask for {queue} and {theirs} frames in the class {LOW_CLASS:?}; write \
             it with a buffer for both"
        );
        return Err(document.error(&at, problem));
    }
    if classes.len() == CLASSES_MAX || lowest(classes) == PRIORITY_MAX {
        let problem = format!(
            "leaves no room for {wanted}; write priorities below {PRIORITY_MAX} and fewer than {CLASSES_MAX} classes"
        );
        return Err(document.error(&at, problem));
    }
    classes.push(ClassTable {
        name: Name(LOW_CLASS.into()),
        priority: lowest(classes) + 1,
        weight: 1,
        buffer: Some(Amount { packets: queue, ..Amount::UNLIMITED }),
        marking: Some(MarkingWord::Off),
        marking_at: None,
        lossless: Some(false),
    });
    Ok(())
}

/// What ports of switches do besides queueing, from what the transports ask for and what the scenario says.
fn resolve_mechanism(
    document: &Document,
    needs: &AllNeeds,
    switch: &Switch,
) -> Result<Option<PortMechanism>> {
    let at = Path::default().key("switch");
    let own = needs.mechanisms.first().map_or(&[][..], |(_, mechanism)| mechanism_keys(mechanism));
    for key in PHANTOM_KEYS.iter().chain(&RCP_KEYS) {
        if has(document, &at, key) && !own.contains(key) {
            let problem =
                "means nothing, since no transport of the scenario asks its ports for this; remove it";
            return Err(document.error(&at.key(key), problem));
        }
    }
    let told = |mut mechanism| {
        match &mut mechanism {
            PortMechanism::Phantom(phantom) => {
                phantom.drain = switch.phantom_drain.unwrap_or(phantom.drain);
                phantom.threshold = switch.phantom_threshold.map_or(phantom.threshold, Auto::Set);
            }
            PortMechanism::Rcp(rcp) => {
                rcp.alpha = switch.rcp_alpha.unwrap_or(rcp.alpha);
                rcp.beta = switch.rcp_beta.unwrap_or(rcp.beta);
                rcp.gamma = switch.rcp_gamma.unwrap_or(rcp.gamma);
            }
            PortMechanism::Telemetry | PortMechanism::Pacc(_) => {}
        }
        mechanism
    };
    let Some(&(name, first)) = needs.mechanisms.first() else { return Ok(None) };
    let first = told(first);
    match needs.mechanisms.iter().find(|(_, other)| told(*other) != first) {
        None => Ok(Some(first)),
        Some((other, mechanism)) => Err(document.error(
            &Path::default().key("traffic"),
            format!(
                "the transports {name} and {other} ask the same ports for a {} and a {} that differ; ports do one \
                 thing, so write traffic of one of them only, or give both the same parameters",
                first.name(),
                mechanism.name()
            ),
        )),
    }
}

/// Fills in what the switches' keys leave open.
fn resolve_switch(
    document: &Document,
    at: &Path,
    switch: &mut Switch,
    classes: &mut [ClassTable],
    topology: &Topology,
) -> Result<Option<SharedBuffer>> {
    let shared = match (switch.shared_buffer, switch.alpha) {
        (None, Some(_)) => {
            return Err(
                document.error(&at.key("alpha"), "means nothing without shared_buffer; set both or none")
            );
        }
        (None, None) => None,
        (Some(size), alpha) => {
            let alpha = alpha.unwrap_or(1.0);
            switch.alpha = Some(alpha);
            Some(SharedBuffer { size, alpha })
        }
    };
    let buffer = match switch.buffer {
        Auto::Set(buffer) => buffer,
        Auto::Auto if shared.is_some() => Amount::UNLIMITED,
        Auto::Auto => {
            let fastest = topology.ports().iter().map(|port| port.rate).max().unwrap_or(Rate::ZERO);
            let scaled = u128::from(BUFFER_PER_10_GBPS) * u128::from(fastest.as_bps())
                / u128::from(Rate::gbps(10).as_bps());
            Amount { bytes: Bytes::new((scaled as u64).max(BUFFER_PER_10_GBPS)), ..Amount::UNLIMITED }
        }
    };
    // Under flow control a class of a port has no limit, and saying so would contradict it.
    let protects = matches!(switch.pfc, Auto::Set(true));
    if !protects {
        switch.buffer = Auto::Set(buffer);
    }
    for class in classes.iter_mut().filter(|_| !protects) {
        class.buffer.get_or_insert(buffer);
    }
    Ok(shared)
}

/// A class whose every key is filled in.
fn model_class(class: &ClassTable, switch: &Switch) -> Class {
    let at = class.marking_at.expect("filled in");
    let threshold = match class.marking.expect("filled in") {
        MarkingWord::Off | MarkingWord::Auto => None,
        MarkingWord::ByRate => Some(Threshold::ByRate),
        MarkingWord::Red => Some(Threshold::Red(red_config(switch))),
        MarkingWord::Above(amount) => Some(Threshold::Fixed(amount)),
    };
    Class {
        name: class.name.0.clone(),
        priority: class.priority,
        weight: class.weight,
        limit: class.buffer.unwrap_or(Amount::UNLIMITED),
        marking: threshold.map(|threshold| Marking { threshold, at }),
    }
}

/// The port of the first end of a link towards the second.
fn link(topology: &Topology, Pair(a, b): &Pair<String>) -> std::result::Result<PortId, String> {
    let node = |name: &String| {
        topology.node(name).ok_or_else(|| {
            let names = topology.nodes().iter().take(10_000).map(|node| node.name.as_str());
            format!("there is no node {name:?}{}", suggestion(name, names))
        })
    };
    let (from, to) = (node(a)?, node(b)?);
    topology.port_between(from, to).ok_or_else(|| {
        let neighbours = topology.ports_of(from).iter().map(|&port| topology.name(topology.port(port).to));
        let neighbours: Vec<&str> = neighbours.take(10).collect();
        format!("no link joins {a} and {b}; {a} is linked to {}", neighbours.join(", "))
    })
}

fn directions(port: PortId, direction: Direction) -> Vec<PortId> {
    match direction {
        Direction::Both => vec![port, port.reverse()],
        Direction::Forward => vec![port],
        Direction::Backward => vec![port.reverse()],
    }
}

fn read_faults(
    document: &Document,
    topology: &Topology,
    stop: Option<clearway_units::Time>,
) -> Result<Both<Fault, FaultTable>> {
    let tables = read_list::<FaultTable>(document, &Path::default().key("fault"))?;
    let mut faults = Vec::new();
    // The times at which each port is down already.
    let mut downs: BTreeMap<PortId, Vec<_>> = BTreeMap::new();
    for (at, table) in &tables {
        let port =
            link(topology, &table.link.0).map_err(|problem| document.error(&at.key("link"), problem))?;
        if table.up.is_some_and(|up| up <= table.down) {
            return Err(document.error(&at.key("up"), format!("must be after down, {}", table.down)));
        }
        if let Some(stop) = stop.filter(|stop| *stop <= table.down) {
            return Err(document.error(&at.key("down"), format!("is not before the scenario's stop, {stop}")));
        }
        for port in directions(port, table.direction) {
            let until = table.up.unwrap_or(clearway_units::Time::MAX);
            let known = downs.entry(port).or_default();
            if known.iter().any(|&(from, to)| table.down <= to && from <= until) {
                let problem = "the link is down at that time already; let the two faults not overlap";
                return Err(document.error(&at.key("down"), problem));
            }
            known.push((table.down, until));
            faults.push(Fault { at: table.down, port, up: false });
            faults.extend(table.up.map(|at| Fault { at, port, up: true }));
        }
    }
    faults.sort_by_key(|fault| (fault.at, fault.port));
    Ok((faults, tables.into_iter().map(|(_, table)| table).collect()))
}

fn read_loss(document: &Document, topology: &Topology) -> Result<Both<(PortId, f64), LossTable>> {
    let tables = read_list::<LossTable>(document, &Path::default().key("loss"))?;
    let ports = || (0..topology.ports().len() as u32).map(PortId);
    let mut loss: BTreeMap<PortId, f64> = ports().map(|port| (port, topology.loss(port))).collect();
    for (at, table) in &tables {
        let on: Vec<PortId> = match &table.link {
            Links::All if table.direction != Direction::Both => {
                let problem = "all links have no common direction; name a link, or leave this key out";
                return Err(document.error(&at.key("direction"), problem));
            }
            Links::All => ports().collect(),
            Links::Between(ends) => {
                let port =
                    link(topology, ends).map_err(|problem| document.error(&at.key("link"), problem))?;
                directions(port, table.direction)
            }
        };
        loss.extend(on.into_iter().map(|port| (port, table.probability)));
    }
    let loss = loss.into_iter().filter(|(_, probability)| *probability > 0.0).collect();
    Ok((loss, tables.into_iter().map(|(_, table)| table).collect()))
}

/// Time between samples where a scenario does not say.
const SAMPLE_EVERY: Span = Span::from_us(100);

fn read_samples(
    document: &Document,
    topology: &Topology,
    parts: &[ReadPart],
    has_credits: bool,
) -> Result<Both<Sample, SampleTable>> {
    let mut tables = read_list::<SampleTable>(document, &Path::default().key("sample"))?;
    let given: Vec<Option<Name>> = tables.iter().map(|(_, table)| table.name.clone()).collect();
    let mut samples: Vec<Sample> = Vec::new();
    for (index, (at, table)) in tables.iter_mut().enumerate() {
        let word = table.what.write().unwrap_or_default();
        let of_traffic = matches!(table.what, What::Throughput | What::Sender | What::Rtt);
        let misplaced = [
            (if of_traffic { "ports" } else { "traffic" }, true),
            // It is the acknowledgements that say when.
            ("every", table.what == What::Rtt),
        ];
        if let Some((key, _)) = misplaced.into_iter().find(|(key, is)| *is && has(document, at, key)) {
            return Err(document.error(&at.key(key), format!("means nothing with what = {word}; remove it")));
        }
        let name = match &table.name {
            Some(name) if given[..index].contains(&Some(name.clone())) => {
                return Err(
                    document.error(&at.key("name"), "is taken by an earlier sample; write another name")
                );
            }
            Some(name) => name.0.clone(),
            None => free_name(word.trim_matches('"'), |name| {
                given.contains(&Some(Name(name.into()))) || samples.iter().any(|sample| sample.name == name)
            }),
        };
        let what = match table.what {
            What::Throughput => Probe::Throughput(sampled_traffic(document, at, table, parts)?),
            What::Sender => Probe::Sender(sampled_traffic(document, at, table, parts)?),
            What::Rtt => Probe::Rtt(sampled_traffic(document, at, table, parts)?),
            What::Queue => Probe::Queue(sampled_ports(document, at, table, topology)?),
            What::CreditQueue if !has_credits => {
                let problem = "there are no credits, since no transport of the scenario uses them";
                return Err(document.error(&at.key("what"), problem));
            }
            What::CreditQueue => Probe::CreditQueue(sampled_ports(document, at, table, topology)?),
            What::Rate => Probe::PortRate(sampled_ports(document, at, table, topology)?),
        };
        table.name = Some(Name(name.clone()));
        let every = match what {
            Probe::Rtt(_) => Span::MAX,
            _ => *table.every.get_or_insert(SAMPLE_EVERY),
        };
        samples.push(Sample { name, every, what });
    }
    Ok((samples, tables.into_iter().map(|(_, table)| table).collect()))
}

fn sampled_traffic(
    document: &Document,
    at: &Path,
    table: &mut SampleTable,
    parts: &[ReadPart],
) -> Result<usize> {
    let names = || parts.iter().map(|part| part.traffic.name.as_str());
    let path = at.key("traffic");
    let known = || names().take(20).collect::<Vec<_>>().join(", ");
    let index = match &table.traffic {
        None if parts.len() == 1 => 0,
        None => return Err(document.error(&path, format!("is missing; write one of {}", known()))),
        Some(name) => names().position(|other| other == name.0).ok_or_else(|| {
            let hint = suggestion(&name.0, names());
            document.error(&path, format!("is no part of the traffic{hint} (known: {})", known()))
        })?,
    };
    table.traffic = Some(Name(parts[index].traffic.name.clone()));
    Ok(index)
}

fn sampled_ports(
    document: &Document,
    at: &Path,
    table: &mut SampleTable,
    topology: &Topology,
) -> Result<Vec<PortId>> {
    let all = || (0..topology.ports().len() as u32).map(PortId);
    let of_host = |port: &PortId| topology.is_host(topology.port(*port).from);
    let ports = table.ports.get_or_insert(Ports::Switches);
    Ok(match ports {
        Ports::All => all().collect(),
        Ports::Hosts => all().filter(of_host).collect(),
        Ports::Switches => all().filter(|port| !of_host(port)).collect(),
        Ports::List(list) => {
            let path = at.key("ports");
            if list.is_empty() {
                return Err(document.error(&path, "is empty; write a list such as [\"tor0->h3\"]"));
            }
            let find = |(index, name): (usize, &String)| {
                let ends = name.split_once("->").map(|(a, b)| Pair(a.trim().into(), b.trim().into()));
                let port = ends.map_or_else(
                    || Err("is no port; write both ends of its link, such as \"tor0->h3\"".into()),
                    |ends| link(topology, &ends),
                );
                port.map_err(|problem| document.error(&path.index(index), problem))
            };
            list.iter().enumerate().map(find).collect::<Result<_>>()?
        }
    })
}

/// What the resolved file is written from.
struct Written<'a> {
    root: &'a Root,
    shape: &'a Shape,
    links: &'a [LinkTable],
    network: &'a Network,
    switch: &'a Switch,
    classes: &'a [ClassTable],
    credit_classes: &'a [CreditClassTable],
    host: &'a Host,
    has_credits: bool,
    default: Option<&'a AnyTransport>,
    parts: &'a [ReadPart],
    faults: &'a [FaultTable],
    loss: &'a [LossTable],
    samples: &'a [SampleTable],
}

fn write_toml(written: &Written<'_>) -> String {
    let mut out = String::new();
    let keys = |out: &mut String, keys: Vec<(&'static str, String)>| {
        for (key, value) in keys {
            let _ = writeln!(out, "{key} = {value}");
        }
    };
    let credits = |table: &str, keys: Vec<(&'static str, String)>| -> Vec<_> {
        let is_idle = |key: &str| !written.has_credits && CREDIT_KEYS.contains(&(table, key));
        keys.into_iter().filter(|(key, _)| !is_idle(key)).collect()
    };
    keys(&mut out, written.root.write().into_iter().filter(|(key, _)| *key != "name").collect());
    let _ = writeln!(out, "\n[topology]\nkind = {}", quoted(written.shape.kind()));
    keys(&mut out, written.shape.write());
    for link in written.links {
        out.push_str("\n[[link]]\n");
        keys(&mut out, link.write());
    }
    out.push_str("\n[network]\n");
    keys(&mut out, written.network.write());
    out.push_str("\n[switch]\n");
    keys(&mut out, credits("switch", written.switch.write()));
    for class in written.classes {
        out.push_str("\n[[switch.class]]\n");
        keys(&mut out, class.write());
    }
    for class in written.credit_classes {
        out.push_str("\n[[switch.credit_class]]\n");
        keys(&mut out, class.write());
    }
    out.push_str("\n[host]\n");
    keys(&mut out, credits("host", written.host.write()));
    if let Some(default) = written.default {
        out.push_str("\n[transport]\n");
        keys(&mut out, transport::write(default));
    }
    for part in written.parts {
        let _ = writeln!(
            out,
            "\n[[traffic]]\nname = {}\nkind = {}",
            quoted(&part.traffic.name),
            quoted(part.kind)
        );
        if let Some(own) = &part.own {
            let _ = writeln!(out, "transport = {}", transport::write_inline(own));
        }
        let class = part.class.as_ref().unwrap_or(&written.classes[part.traffic.class].name);
        let _ = writeln!(out, "class = {}", quoted(&class.0));
        let uses_credits = part.traffic.transport.needs().credits.is_some();
        if let Some(class) = written.credit_classes.get(part.traffic.credit_class).filter(|_| uses_credits) {
            let _ = writeln!(out, "credit_class = {}", quoted(&class.name.0));
        }
        if part.traffic.notice_class != part.traffic.class {
            let notices = &written.classes[part.traffic.notice_class].name;
            let _ = writeln!(out, "notice_class = {}", quoted(&notices.0));
        }
        keys(&mut out, part.written.clone());
    }
    for fault in written.faults {
        out.push_str("\n[[fault]]\n");
        keys(&mut out, fault.write());
    }
    for loss in written.loss {
        out.push_str("\n[[loss]]\n");
        keys(&mut out, loss.write());
    }
    for sample in written.samples {
        out.push_str("\n[[sample]]\n");
        keys(&mut out, sample.write());
    }
    out
}
