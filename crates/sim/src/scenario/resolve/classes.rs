//! The classes of data and of credits.

use super::marking::marking;
use super::needs::{Ahead, AllNeeds, DATA, UNSCHEDULED, agreed, classes_of, lane_class};
use super::traffic::ReadPart;
use super::trimming::Trimming;
use crate::model::{Amount, Class, CreditTurn, LastHop, Model, Traffic};
use crate::scenario::document::{Document, Path};
use crate::scenario::error::Result;
use crate::scenario::field::{BufferWord, MarkingWord, Name};
use crate::scenario::schema::*;
use crate::scenario::shapes::has;
use crate::scenario::sizes::Sizes;
use clearway_proto::{Acks, Order};
use clearway_schema::{Declared, quoted, suggestion};

/// The largest number of classes at a port: no NIC or switch has more queues.
pub(super) const CLASSES_MAX: usize = 64;
/// The priority of a class that goes last (`ClassTable`).
pub(super) const PRIORITY_MAX: u8 = 7;

pub(super) fn read_classes(document: &Document, switch_at: &Path) -> Result<Vec<ClassTable>> {
    let tables = read_named(document, switch_at, "class", |table: &ClassTable| &table.name)?;
    if tables.is_empty() {
        let name = Name(DATA.into());
        return Ok(vec![ClassTable {
            name,
            priority: 0,
            weight: 1,
            buffer: None,
            marking: None,
            marking_at: None,
            lossless: None,
            at_switches: None,
            trim: None,
            trim_class: None,
        }]);
    }
    check_joins(document, switch_at, &tables)?;
    Ok(tables)
}

pub(super) fn read_credit_classes(document: &Document, switch_at: &Path) -> Result<Vec<CreditClassTable>> {
    read_named(document, switch_at, "credit_class", |table: &CreditClassTable| &table.name)
}

/// Reads a list of classes, and refuses two of one name.
fn read_named<T: Declared>(
    document: &Document,
    switch_at: &Path,
    key: &str,
    name: impl Fn(&T) -> &Name,
) -> Result<Vec<T>> {
    let at = switch_at.key(key);
    let tables = document.read_list::<T>(&at)?;
    if tables.len() > CLASSES_MAX {
        return Err(document.error(&at, format!("has more than {CLASSES_MAX} classes; write fewer")));
    }
    if tables.is_empty() && has(document, switch_at, key) {
        return Err(document.error(&at, "is empty; write a class or remove the key"));
    }
    for (index, (at, table)) in tables.iter().enumerate() {
        if tables[..index].iter().any(|(_, other)| name(other) == name(table)) {
            return Err(document.error(&at.key("name"), "is taken by an earlier class; write another name"));
        }
    }
    Ok(tables.into_iter().map(|(_, table)| table).collect())
}

impl CreditClassTable {
    pub(super) fn turn(&self, queue: u32) -> CreditTurn {
        let CreditClassTable { name, priority, weight, share, .. } = self;
        CreditTurn { name: name.0.clone(), priority: *priority, weight: *weight, queue, share: *share }
    }
}

/// Adds classes ahead of data, where a transport asks for them and the scenario has no classes of its own: one for
/// CNPs, and one for acknowledgements, at all ports or at hosts alone. Behind data it adds one for each lane but the first.
/// Returns the classes ahead of data, and the tables of all.
pub(super) fn with_classes_ahead(
    document: &Document,
    needs: &AllNeeds,
    parts: &[ReadPart],
    classes: Vec<ClassTable>,
) -> Result<(Vec<Ahead>, Vec<ClassTable>)> {
    if has(document, &Path::default().key("switch"), "class") {
        check_acks(document, parts)?;
        return Ok((Vec::new(), classes));
    }
    let ahead = needs.ahead();
    let data = &classes[0];
    let made = ahead.iter().map(|ahead| ClassTable {
        name: Name(ahead.name.into()),
        priority: ahead.priority,
        marking: Some(MarkingWord::Off),
        lossless: if ahead.is_lossless() { data.lossless } else { Some(false) },
        at_switches: ahead.joins_data().then(|| data.name.clone()),
        ..data.clone()
    });
    let data = ClassTable { priority: needs.data_priority(), ..data.clone() };
    let lane = |lane: u8| ClassTable {
        name: Name(lane_class(lane)),
        priority: data.priority + lane,
        ..data.clone()
    };
    let lanes: Vec<ClassTable> = (1..needs.lanes).map(lane).collect();
    if let Some(last) = lanes.last().filter(|last| last.priority > PRIORITY_MAX) {
        let problem = format!(
            "is missing: the lanes of data would have priorities up to {}, behind those of classes ahead of data; write \
             classes with priorities up to {PRIORITY_MAX}",
            last.priority
        );
        return Err(document.error(&Path::default().key("switch").key("class"), problem));
    }
    let all = std::iter::once(data).chain(made).chain(lanes).collect();
    Ok((ahead, all))
}

/// Returns the traffic entry with its CNPs and acknowledgements in the classes `ahead`, whose indices follow that of
/// data.
pub(super) fn placed(part: ReadPart, ahead: &[Ahead]) -> ReadPart {
    let index = |class: &Ahead| ahead.iter().position(|other| other == class).map(|index| 1 + index);
    let (cnps, acks) = classes_of(&part.traffic.transport.needs(), ahead, index);
    let notice_class = cnps.unwrap_or(part.traffic.notice_class);
    let ack_class = acks.unwrap_or(part.traffic.ack_class);
    ReadPart { traffic: Traffic { notice_class, ack_class, ..part.traffic }, ..part }
}

/// Refuses a scenario with classes of its own that does not name the class of acknowledgements for a transport whose
/// acknowledgements do not travel with its data.
fn check_acks(document: &Document, parts: &[ReadPart]) -> Result<()> {
    let open = |part: &&ReadPart| {
        part.traffic.transport.needs().acks != Acks::WithData && !part.names_acks && !part.leaves_acks_open()
    };
    let Some((index, part)) = parts.iter().enumerate().find(|(_, part)| open(part)) else { return Ok(()) };
    let problem = format!(
        "is missing, since {} has acks = {} and the scenario has classes of its own; name the class of \
         [[switch.class]] that holds its acknowledgements",
        part.traffic.transport.info().name,
        quoted(&part.traffic.transport.needs().acks.to_string()),
    );
    Err(document.error(&Path::default().key("traffic").index(index).key("ack_class"), problem))
}

/// Refuses a scenario in which transports ask a host's NIC for different orders of the flows of one class, or for one
/// where the NIC does not ask flows at all.
pub(super) fn check_orders(document: &Document, parts: &[ReadPart], has_host_queue: bool) -> Result<()> {
    let traffic: Vec<&Traffic> = parts.iter().map(|part| &part.traffic).collect();
    let words = |index: usize| {
        let transport = &traffic[index].transport;
        format!("{} serves a host's flows {}", transport.info().name, transport.order().words())
    };
    let at = |index: usize| Path::default().key("traffic").index(index);
    if let Some((first, other)) = Model::at_odds(&traffic) {
        let problem = format!(
            "has data in the class of traffic {}, but {} and {}; give each a class of [[switch.class]] of its own",
            quoted(&traffic[first].name),
            words(first),
            words(other),
        );
        return Err(document.error(&at(other), problem));
    }
    let ordered = traffic.iter().position(|entry| entry.transport.order() != Order::InTurn);
    match ordered.filter(|_| has_host_queue) {
        None => Ok(()),
        Some(index) => {
            let problem = format!(
                "can't go with traffic {}: {}, and a host with a queue sends data in the order in which it was made; \
                 remove the key",
                quoted(&traffic[index].name),
                words(index),
            );
            Err(document.error(&Path::default().key("host").key("queue"), problem))
        }
    }
}

/// Adds the class of unscheduled data, which yields to all others, if a transport sends such data and the scenario has
/// no such class yet.
pub(super) fn with_unscheduled_class(
    document: &Document,
    needs: &AllNeeds,
    parts: &[ReadPart],
    classes: Vec<ClassTable>,
) -> Result<Vec<ClassTable>> {
    let Some(&(name, _)) = needs.unscheduled_queues.first() else { return Ok(classes) };
    let at = Path::default().key("switch").key("class");
    let wanted = format!("the class {UNSCHEDULED:?} of {name}, for unscheduled data,");
    if let Some(index) = classes.iter().position(|class| class.name.0 == UNSCHEDULED) {
        let mut others = classes.iter().enumerate().filter(|(other, _)| *other != index);
        if others.any(|(_, other)| other.priority >= classes[index].priority) {
            let problem = format!("{wanted} must yield to all others; write a priority above theirs");
            return Err(document.error(&at.index(index).key("priority"), problem));
        }
        if parts.iter().any(|part| part.traffic.class == index) {
            let problem = format!("{wanted} can hold no other traffic; write another class for it");
            return Err(document.error(&at.index(index).key("name"), problem));
        }
        return Ok(classes);
    }
    let queue = agreed(&needs.unscheduled_queues, |queue| *queue).map_err(|conflict| {
        let problem =
            format!("{conflict} frames in the class {UNSCHEDULED:?}; write it with a buffer for both");
        document.error(&at, problem)
    })?;
    let lowest = classes.iter().map(|class| class.priority).max().unwrap_or(0);
    if classes.len() == CLASSES_MAX || lowest == PRIORITY_MAX {
        let problem = format!(
            "leaves no room for {wanted} write priorities below {PRIORITY_MAX} and fewer than {CLASSES_MAX} classes"
        );
        return Err(document.error(&at, problem));
    }
    let made = queue.map(|queue| ClassTable {
        name: Name(UNSCHEDULED.into()),
        priority: lowest + 1,
        weight: 1,
        buffer: Some(BufferWord::Slots(queue)),
        marking: Some(MarkingWord::Off),
        marking_at: None,
        lossless: Some(false),
        at_switches: None,
        trim: None,
        trim_class: None,
    });
    Ok(classes.into_iter().chain(made).collect())
}

/// Refuses a class whose packets join, at switches, a class that switches do not have.
fn check_joins(document: &Document, switch_at: &Path, tables: &[ClassTable]) -> Result<()> {
    for (index, table) in tables.iter().enumerate() {
        let Some(name) = &table.at_switches else { continue };
        let other = tables.iter().find(|other| other.name == *name);
        let problem = match other {
            Some(other) if other.at_switches.is_none() => continue,
            Some(_) => "is itself a class of hosts alone; name one that switches have".to_owned(),
            None => {
                let names: Vec<&str> = tables.iter().map(|class| class.name.0.as_str()).collect();
                let hint = suggestion(&name.0, names.iter().copied());
                format!("is no class of [[switch.class]]{hint} (known: {})", names.join(", "))
            }
        };
        return Err(document.error(&switch_at.key("class").index(index).key("at_switches"), problem));
    }
    Ok(())
}

/// Returns class number `index` of these tables, whose every key is filled in, with this trimming.
pub(super) fn model_class(
    index: usize,
    all: &[ClassTable],
    switch: &Switch,
    trimming: &Trimming,
    sizes: &Sizes<'_>,
) -> Class {
    let (class, trim) = (&all[index], trimming.of[index]);
    let position = |name: &Name| all.iter().position(|other| other.name == *name);
    let limit = class.buffer.map_or(Amount::UNLIMITED, |buffer| buffer.limit(sizes));
    let marks = switch.marking_last_hop != Some(false);
    let last_hop =
        LastHop { limit: if trim.is_some() { limit.times(trimming.last_hop) } else { limit }, marks };
    Class {
        name: class.name.0.clone(),
        priority: class.priority,
        weight: class.weight,
        limit,
        marking: marking(class, switch, sizes),
        at_switches: class.at_switches.as_ref().and_then(position),
        trim,
        last_hop: Some(last_hop).filter(|last_hop| !marks || last_hop.limit != limit),
    }
}
