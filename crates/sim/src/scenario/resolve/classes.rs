//! Classes of data and of credits.

use super::Result;
use super::traffic::ReadPart;
use crate::model::{Amount, Class, CreditTurn, Marking, Threshold};
use crate::scenario::document::{Document, Path};
use crate::scenario::field::{BufferWord, MarkingWord, Name};
use crate::scenario::lossless::red_config;
use crate::scenario::schema::*;
use crate::scenario::shapes::has;
use crate::scenario::transport::AllNeeds;
use clearway_proto::Acks;
use clearway_schema::{Declared, quoted};

/// The name of the class that is made for unscheduled data (sent without a credit).
const LOW_CLASS: &str = "low-priority";
/// Eight priorities, and no network card or switch has more queues than this at a port.
const CLASSES_MAX: usize = 64;
/// The priority of a class that goes last (`ClassTable`).
const PRIORITY_MAX: u8 = 7;

pub(super) fn read_classes(document: &Document, switch_at: &Path) -> Result<Vec<ClassTable>> {
    let tables = read_named(document, switch_at, "class", |table: &ClassTable| &table.name)?;
    if tables.is_empty() {
        let name = Name("data".into());
        return Ok(vec![ClassTable {
            name,
            priority: 0,
            weight: 1,
            buffer: None,
            marking: None,
            marking_at: None,
            lossless: None,
            at_switches: None,
        }]);
    }
    check_joins(document, switch_at, &tables)?;
    Ok(tables)
}

pub(super) fn read_credit_classes(document: &Document, switch_at: &Path) -> Result<Vec<CreditClassTable>> {
    read_named(document, switch_at, "credit_class", |table: &CreditClassTable| &table.name)
}

/// Reads a list of classes, each of another name.
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

/// Makes classes ahead of data, where a transport asks for them and the scenario has no classes of its own: one for
/// notifications of congestion, and one for acknowledgements, at all ports or at hosts alone.
pub(super) fn add_classes_ahead(
    document: &Document,
    needs: &AllNeeds,
    classes: &mut Vec<ClassTable>,
    parts: &mut [ReadPart],
) -> Result<()> {
    if has(document, &Path::default().key("switch"), "class") {
        return check_acks(document, parts);
    }
    let ahead = |name: &str, priority| ClassTable {
        name: Name(name.into()),
        priority,
        marking: Some(MarkingWord::Off),
        ..classes[0].clone()
    };
    let wanted = |acks| needs.acks.iter().any(|(_, wanted)| *wanted == acks);
    let of_acks = u8::from(needs.cnps);
    let mut made = Vec::new();
    if needs.cnps {
        made.push((None, ClassTable { lossless: Some(false), ..ahead("notices", 0) }));
    }
    if wanted(Acks::OwnClass) {
        made.push((Some(Acks::OwnClass), ahead("acks", of_acks)));
    }
    if wanted(Acks::FirstAtHosts) {
        let at_switches = Some(classes[0].name.clone());
        let class = ClassTable { lossless: Some(false), at_switches, ..ahead("acks-of-hosts", of_acks) };
        made.push((Some(Acks::FirstAtHosts), class));
    }
    classes[0].priority = of_acks + u8::from(!needs.acks.is_empty());
    for (acks, class) in made {
        let index = classes.len();
        classes.push(class);
        for part in &mut *parts {
            let needs = part.traffic.transport.needs();
            match acks {
                None if needs.cnps => part.traffic.notice_class = index,
                Some(acks) if acks == needs.acks => part.traffic.ack_class = index,
                _ => {}
            }
        }
    }
    Ok(())
}

/// Where the scenario has classes of its own, it must say which one holds the acknowledgements of a transport that asks
/// for another than its data's.
fn check_acks(document: &Document, parts: &[ReadPart]) -> Result<()> {
    let open = |part: &&ReadPart| part.traffic.transport.needs().acks != Acks::WithData && !part.names_acks;
    let Some((index, part)) = parts.iter().enumerate().find(|(_, part)| open(part)) else { return Ok(()) };
    let problem = format!(
        "is missing, since {} has acks = {} and the scenario has classes of its own; name the class of \
         [[switch.class]] that holds its acknowledgements",
        part.traffic.transport.info().name,
        quoted(&part.traffic.transport.needs().acks.to_string()),
    );
    Err(document.error(&Path::default().key("traffic").index(index).key("ack_class"), problem))
}

/// Adds the class that yields to all others, if a transport sends unscheduled data and the scenario has no
/// such class yet.
pub(super) fn add_low_class(
    document: &Document,
    needs: &AllNeeds,
    parts: &[ReadPart],
    classes: &mut Vec<ClassTable>,
) -> Result<()> {
    let Some(&(name, queue)) = needs.unscheduled_queues.first() else { return Ok(()) };
    let at = Path::default().key("switch").key("class");
    let wanted = format!("the class {LOW_CLASS:?} of {name}, for unscheduled data");
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
    if let Some((other, theirs)) = needs.unscheduled_queues.iter().find(|(_, theirs)| *theirs != queue) {
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
        buffer: Some(BufferWord::Slots(queue)),
        marking: Some(MarkingWord::Off),
        marking_at: None,
        lossless: Some(false),
        at_switches: None,
    });
    Ok(())
}

/// For each class the one that its packets join at switches, if another.
fn check_joins(document: &Document, switch_at: &Path, tables: &[ClassTable]) -> Result<()> {
    for (index, table) in tables.iter().enumerate() {
        let Some(name) = &table.at_switches else { continue };
        let other = tables.iter().find(|other| other.name == *name);
        let problem = match other {
            Some(other) if other.at_switches.is_none() => continue,
            Some(_) => "is itself a class of hosts alone; name one that switches have".to_owned(),
            None => {
                let names: Vec<&str> = tables.iter().map(|class| class.name.0.as_str()).collect();
                format!("is no class of [[switch.class]] (known: {})", names.join(", "))
            }
        };
        return Err(document.error(&switch_at.key("class").index(index).key("at_switches"), problem));
    }
    Ok(())
}

/// A class of `all` whose every key is filled in; a full data frame has `frame` bytes on the wire.
pub(super) fn model_class(class: &ClassTable, all: &[ClassTable], switch: &Switch, frame: u32) -> Class {
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
        limit: class.buffer.map_or(Amount::UNLIMITED, |buffer| buffer.limit(frame)),
        marking: threshold.map(|threshold| Marking { threshold, at }),
        at_switches: class
            .at_switches
            .as_ref()
            .and_then(|name| all.iter().position(|other| other.name == *name)),
    }
}
