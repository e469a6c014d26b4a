//! The ports of switches and hosts, from the needs of transports and the keys of the scenario.

use super::classes::{
    check_orders, model_class, placed, read_classes, read_credit_classes, with_classes_ahead,
    with_unscheduled_class,
};
use super::headers::with_headers_class;
use super::lossless::{with_buffers, with_pfc};
use super::marking::with_marking;
use super::needs::{AllNeeds, agreed};
use super::traffic::ReadPart;
use super::trimming::{Users, with_trimming};
use crate::model::{Class, CreditClass, CreditTurn, Pfc, PortModel};
use crate::scenario::document::{Document, Path};
use crate::scenario::error::Result;
use crate::scenario::field::BufferWord;
use crate::scenario::mechanism::{self, resolve_mechanism};
use crate::scenario::schema::*;
use crate::scenario::shapes::has;
use crate::scenario::sizes::Sizes;
use crate::scenario::transport::CREDIT_KEYS;
use clearway_proto::port::CreditShaping;
use clearway_proto::{AnyTransport, CreditNeeds, Framing};
use clearway_schema::{Auto, Declared};
use clearway_topology::Topology;
use clearway_topology::routing::Policy;
use std::fmt::Debug;

/// The limit on a bucket times the bytes of a credit and its frame, since a token bucket is counted in 64 bits
/// (`CreditLimiter::new`).
const BUCKET_FACTOR: u64 = u64::MAX / 8_000_000_000_000;

/// Returns the class of credits, if a transport uses credits.
pub(super) fn resolve_credit(
    document: &Document,
    needs: &AllNeeds,
    switch: &Switch,
    framing: Framing,
) -> Result<Option<CreditClass>> {
    let top = Path::default();
    if needs.credits.is_empty() {
        let mut given = CREDIT_KEYS.into_iter().filter(|(table, key)| has(document, &top.key(table), key));
        let Some((table, key)) = given.next() else { return Ok(None) };
        let problem = "means nothing, since no transport of the scenario uses credits; remove it";
        return Err(document.error(&top.key(table).key(key), problem));
    }
    let asked = Asked { document, needs };
    let queue = asked.value("credit_queue", switch.credit_queue, |needs| needs.queue)?;
    let bucket = switch.credit_bucket.set().map_or(Auto::Auto, |bucket| Auto::Set(bucket.get() as u32));
    let shaping = CreditShaping {
        credit: asked.value("credit_queue", Auto::Auto, |needs| needs.shaping.credit)?,
        // A credit releases one full frame of this scenario.
        data: framing.wire_max(),
        bucket: asked.value("credit_bucket", bucket, |needs| needs.shaping.bucket)?,
        starts_empty: asked
            .value("credit_bucket_empty", switch.credit_bucket_empty, |needs| needs.shaping.starts_empty)?,
        queue_in_bytes: asked
            .value("credit_queue_bytes", switch.credit_queue_bytes, |needs| needs.shaping.queue_in_bytes)?,
        drop: asked.value("credit_drop", switch.credit_drop, |needs| needs.shaping.drop)?,
    };
    check_bucket(document, &shaping, framing)?;
    Ok(Some(CreditClass { queue, shaping, share: switch.credit_share }))
}

/// The wishes of transports for their credits.
struct Asked<'a> {
    document: &'a Document,
    needs: &'a AllNeeds,
}

impl Asked<'_> {
    /// Returns the value of a key: the scenario's own, else the one that all transports ask for.
    fn value<T: Copy + PartialEq + Debug>(
        &self,
        key: &str,
        own: Auto<T>,
        of: impl Fn(&CreditNeeds) -> T,
    ) -> Result<T> {
        if let Auto::Set(own) = own {
            return Ok(own);
        }
        let wanted = agreed(&self.needs.credits, of).map_err(|conflict| {
            let at = Path::default().key("switch").key(key);
            self.document.error(&at, format!("{conflict}; write a value for both"))
        })?;
        Ok(wanted.expect("some transport uses credits"))
    }
}

/// Refuses a token bucket that can't be counted exactly, or that never holds a credit.
fn check_bucket(document: &Document, shaping: &CreditShaping, framing: Framing) -> Result<()> {
    let CreditShaping { credit, data, bucket, .. } = *shaping;
    let deepest = BUCKET_FACTOR / u64::from(credit + data);
    let least = framing.wire_min.max(credit);
    let problem = if u64::from(bucket) > deepest {
        format!(
            "the bucket of {bucket} B is too deep for frames of {data} B; at most {deepest} B can be counted exactly"
        )
    } else if bucket < least {
        format!("the bucket of {bucket} B never holds a credit of {least} B")
    } else {
        return Ok(());
    };
    Err(document.error(&Path::default().key("switch").key("credit_bucket"), problem))
}

/// The tables of a scenario that describe ports.
#[derive(Clone, Debug)]
pub(super) struct PortTables {
    pub switch: Switch,
    pub classes: Vec<ClassTable>,
    pub credit_classes: Vec<CreditClassTable>,
    pub host: Host,
}

impl PortTables {
    pub fn read(document: &Document) -> Result<PortTables> {
        let at = Path::default().key("switch");
        let own = Switch::SPECS.iter().map(|key| key.name.to_owned());
        let keys: Vec<String> = own.chain(mechanism::keys().into_iter().map(|key| key.name)).collect();
        document.check_keys(&at, &keys.iter().map(String::as_str).collect::<Vec<_>>())?;
        Ok(PortTables {
            switch: document.read(&at)?,
            host: document.read_table(&Path::default().key("host"))?,
            classes: read_classes(document, &at)?,
            credit_classes: read_credit_classes(document, &at)?,
        })
    }
}

/// The ports of switches and hosts.
pub(super) struct Ports {
    /// The tables with every key filled in.
    pub tables: PortTables,
    /// The keys of the port mechanism that the scenario sets, with their values in TOML.
    pub mechanism: Vec<(String, String)>,
    pub model: PortModels,
    /// The traffic entries, in the classes that were made for them.
    pub parts: Vec<ReadPart>,
}

/// The ports of switches and hosts, as a model has them.
pub(crate) struct PortModels {
    /// The output ports of switches.
    pub switch: PortModel,
    /// The output ports of hosts.
    pub host: PortModel,
    /// The flow control of links into switches, if there is any.
    pub pfc: Option<Pfc>,
    /// The policy by which paths are chosen where the scenario names none.
    pub routing: Policy,
}

/// Returns the ports that transports get without any key of a scenario, but that the queues of switches have no limit:
/// those of a network without a scenario file.
///
/// # Errors
/// Two transports need different things of the same ports. The message names both.
pub(crate) fn ports_for<'a>(
    transports: impl IntoIterator<Item = &'a AnyTransport>,
    topology: &Topology,
    framing: Framing,
) -> Result<PortModels> {
    let needs = AllNeeds::of(transports);
    // Under flow control no queue has a limit, and a limit that is given would mean that there is none.
    let text = if needs.lossless { "" } else { "switch.buffer = \"unlimited\"" };
    let document = Document::parse(text, "a network without a scenario file")?;
    let tables = PortTables::read(&document)?;
    Ok(resolve_ports(&document, &needs, tables, Vec::new(), topology, framing)?.model)
}

/// Returns the table of hosts with the keys of their queue of data filled in. Refuses a queue that flows of a transport
/// would fill without end, and keys that mean nothing.
fn with_queue(document: &Document, parts: &[ReadPart], host: Host) -> Result<Host> {
    let at = Path::default().key("host");
    let refuse = |key: &str, problem: String| Err(document.error(&at.key(key), problem));
    if host.queue.is_none() {
        return match host.queue_marking {
            Some(_) => refuse(
                "queue_marking",
                "means nothing without host.queue; write a queue, or remove it".into(),
            ),
            None => Ok(host),
        };
    }
    if host.buffer != BufferWord::Unlimited {
        return refuse(
            "buffer",
            "means nothing beside host.queue, which limits the same queue; remove it".into(),
        );
    }
    let blind = parts.iter().map(|part| &part.traffic).find(|entry| !entry.transport.info().recovers);
    if let Some(entry) = blind {
        let problem = format!(
            "is no place for {}, which has neither window nor pace and would put whole flows there at once; remove it",
            entry.told()
        );
        return refuse("queue", problem);
    }
    Ok(Host { queue_marking: host.queue_marking.or(Some(true)), ..host })
}

/// Makes the ports that transports need, as the keys of the scenario change them. `parts` are the traffic entries.
///
/// # Errors
/// A key that contradicts the needs or another key, or that means nothing beside them.
pub(super) fn resolve_ports(
    document: &Document,
    needs: &AllNeeds,
    tables: PortTables,
    parts: Vec<ReadPart>,
    topology: &Topology,
    framing: Framing,
) -> Result<Ports> {
    let PortTables { switch, classes, credit_classes, host } = tables;
    check_orders(document, &parts, host.queue.is_some())?;
    let credit = resolve_credit(document, needs, &switch, framing)?;
    let mechanism = resolve_mechanism(document, &needs.mechanisms)?;
    let (ahead, classes) = with_classes_ahead(document, needs, &parts, classes)?;
    let parts: Vec<ReadPart> = parts.into_iter().map(|part| placed(part, &ahead)).collect();
    let (parts, classes) = with_headers_class(document, parts, classes)?;
    let classes = with_unscheduled_class(document, needs, &parts, classes)?;
    let (switch, classes) = with_marking(document, needs, switch, classes)?;
    let (switch, classes, pfc) = with_pfc(document, needs, switch, classes, topology, framing)?;
    let users = Users::of(needs, &parts, &ahead);
    let (switch, classes, trimming) = with_trimming(document, needs, &users, switch, classes, framing)?;
    let (switch, classes, shared) = with_buffers(document, switch, classes, topology, (&users, &trimming))?;

    let sizes = Sizes::new(topology, framing, framing.wire_max() + needs.stamp);
    let coins = users.coins(&classes, &trimming, framing);
    let of_switch: Vec<Class> = (0..classes.len())
        .map(|index| Class {
            trim: trimming.of[index].or(coins[index]),
            ..model_class(index, &classes, &switch, &trimming, &sizes)
        })
        .collect();
    let host = with_queue(document, &parts, host)?;
    let limit = host.queue.unwrap_or(host.buffer).limit(&sizes);
    let marks = host.queue_marking == Some(true);
    let of_host = |class: &Class| Class {
        limit,
        marking: class.marking.filter(|_| marks),
        trim: None,
        last_hop: None,
        ..class.clone()
    };
    let of_host = of_switch.iter().map(of_host).collect();
    let host_credit =
        credit.map(|credit| CreditClass { queue: host.credit_queue.or(credit.queue), ..credit });
    let turns = |credit: Option<CreditClass>, own: Option<u32>| -> Vec<CreditTurn> {
        let turn = |class: &CreditClassTable, credit: &CreditClass| {
            class.turn(own.or(class.queue).unwrap_or(credit.queue))
        };
        credit.map_or(Vec::new(), |credit| credit_classes.iter().map(|class| turn(class, &credit)).collect())
    };
    let switch_port = PortModel {
        credit,
        credit_classes: turns(credit, None),
        classes: of_switch,
        shared,
        mechanism: mechanism.config,
    };
    let host_port = PortModel {
        credit: host_credit,
        credit_classes: turns(host_credit, host.credit_queue.set()),
        classes: of_host,
        shared: None,
        mechanism: None,
    };
    let tables = PortTables { switch, classes, credit_classes, host };
    let routing = needs.routing().policy();
    let model = PortModels { switch: switch_port, host: host_port, pfc, routing };
    Ok(Ports { tables, mechanism: mechanism.written, model, parts })
}
