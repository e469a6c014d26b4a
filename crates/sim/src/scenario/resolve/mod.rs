//! From a document to a model: every name looked up, every default filled in.

mod classes;
mod links;
mod ports;
mod samples;
mod traffic;
mod write;

use super::document::{Document, Path};
use super::error::ScenarioError;
use super::lossless::{resolve_marking, resolve_pfc};
use super::mechanism::{self, resolve_mechanism};
use super::schema::*;
use super::shapes::{Shape, check_links};
use super::traffic::Surroundings;
use super::transport::{self, AllNeeds};
use crate::model::{Class, CreditClass, CreditTurn, HostModel, Model, PortModel};
use classes::{add_classes_ahead, add_low_class, model_class, read_classes, read_credit_classes};
use clearway_proto::Framing;
use clearway_schema::{Auto, Declared};
use clearway_units::Bytes;
use links::{change_links, read_faults, read_loss};
use ports::{resolve_credit, resolve_switch};
use samples::read_samples;
use traffic::read_traffic;
use write::{Written, write_toml};

type Result<T> = std::result::Result<T, ScenarioError>;
/// What a list of tables comes to, and the tables as they are written again.
type Both<T, W> = (Vec<T>, Vec<W>);

/// The tables of a scenario, with what may stand there.
const TABLES: [&str; 10] =
    ["topology", "link", "network", "switch", "host", "transport", "traffic", "fault", "loss", "sample"];

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
    let known: Vec<&str> = Root::SPECS.iter().map(|key| key.name).chain(TABLES).collect();
    document.check_keys(&top, &known)?;
    for table in ["topology", "network", "switch", "host"] {
        document.check_table(&top.key(table))?;
    }
    let root = document.read::<Root>(&top)?;
    let at = top.key("topology");
    if document.get(&at).is_none() {
        return Err(document.error(&at, "is missing; write [topology] with a kind, such as kind = \"star\""));
    }
    let (shape, mut topology) = Shape::read(document, &at, base)?;
    let link_tables = change_links(document, &mut topology)?;
    check_links(document, &at, &topology)?;
    let mut network: Network = document.read_table(&top.key("network"))?;
    let framing = framing(document, &mut network)?;
    let switch_at = top.key("switch");
    let own_keys = Switch::SPECS.iter().map(|key| key.name.to_owned());
    let keys: Vec<String> = own_keys.chain(mechanism::keys().into_iter().map(|key| key.name)).collect();
    document.check_keys(&switch_at, &keys.iter().map(String::as_str).collect::<Vec<_>>())?;
    let mut switch: Switch = document.read(&switch_at)?;
    let host: Host = document.read_table(&top.key("host"))?;
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
    let mechanism = resolve_mechanism(document, &needs.mechanisms)?;
    add_classes_ahead(document, &needs, &mut classes, &mut parts)?;
    add_low_class(document, &needs, &parts, &mut classes)?;
    resolve_marking(document, &needs, &mut switch, &mut classes)?;
    let pfc = resolve_pfc(document, &needs, &mut switch, &mut classes, &topology, framing)?;
    let shared = resolve_switch(document, &switch_at, &mut switch, &mut classes, &topology)?;
    let frame = framing.wire_max() + needs.stamp;
    let model_classes: Vec<Class> =
        classes.iter().map(|class| model_class(class, &classes, &switch, frame)).collect();
    let host_limit = host.buffer.limit(frame);
    let host_classes =
        model_classes.iter().map(|class| Class { limit: host_limit, marking: None, ..class.clone() });
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
        mechanism: &mechanism.written,
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
            mechanism: mechanism.config,
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

/// How payload becomes frames, with every key of it filled in.
fn framing(document: &Document, network: &mut Network) -> Result<Framing> {
    let at = Path::default().key("network");
    let of = network.framing.framing();
    let bytes = |size: u32| Bytes::new(u64::from(size));
    let overhead = network.overhead.or(bytes(of.overhead));
    let wire_min = network.wire_min.or(bytes(of.wire_min));
    if wire_min < overhead {
        let problem = format!("must be at least the overhead of a packet, {overhead}");
        return Err(document.error(&at.key("wire_min"), problem));
    }
    (network.overhead, network.wire_min) = (Auto::Set(overhead), Auto::Set(wire_min));
    // The limits of the schema keep all three far below 2^32.
    let bytes = |size: Bytes| size.get() as u32;
    Ok(Framing { payload_max: bytes(network.payload), overhead: bytes(overhead), wire_min: bytes(wire_min) })
}

/// `word`, or `word-2` and so on if it is taken.
fn free_name(word: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let numbered = (2u64..).map(|number| format!("{word}-{number}"));
    let mut names = [word.to_owned()].into_iter().chain(numbered);
    names.find(|name| !is_taken(name)).expect("some number is free")
}
