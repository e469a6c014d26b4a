//! The class of headers of packets that are cut, in a scenario with classes of its own.

use super::classes::{CLASSES_MAX, PRIORITY_MAX};
use super::traffic::ReadPart;
use crate::model::Traffic;
use crate::scenario::document::{Document, Path};
use crate::scenario::error::Result;
use crate::scenario::field::{MarkingWord, Name};
use crate::scenario::schema::ClassTable;
use crate::scenario::shapes::has;

/// The name of the class.
const HEADERS: &str = "headers";

/// Adds a class ahead of all others, where the scenario has classes of its own and an entry whose packets may be cut does
/// not name the class of its acknowledgements: for these, and for the headers of packets that are cut. The priorities of the
/// other classes move by one if the first of them has priority 0.
///
/// # Errors
/// There is no room for a class, or one has its name.
pub(super) fn with_headers_class(
    document: &Document,
    parts: Vec<ReadPart>,
    classes: Vec<ClassTable>,
) -> Result<(Vec<ReadPart>, Vec<ClassTable>)> {
    let Some(open) = parts.iter().find(|part| part.leaves_acks_open()) else { return Ok((parts, classes)) };
    if !has(document, &Path::default().key("switch"), "class") {
        return Ok((parts, classes));
    }
    let priorities = || classes.iter().map(|class| class.priority);
    let (first, last) = (priorities().min().unwrap_or(0), priorities().max().unwrap_or(0));
    let step = u8::from(first == 0);
    check_room(document, open.traffic.transport.info().name, &classes, last + step)?;
    let index = classes.len();
    let mut all: Vec<ClassTable> =
        classes.into_iter().map(|class| ClassTable { priority: class.priority + step, ..class }).collect();
    all.push(ClassTable {
        name: Name(HEADERS.into()),
        priority: first + step - 1,
        weight: 1,
        buffer: None,
        marking: Some(MarkingWord::Off),
        marking_at: None,
        lossless: Some(false),
        at_switches: None,
        trim: None,
        trim_class: None,
    });
    let place = |part: ReadPart| match part.leaves_acks_open() {
        true => ReadPart { traffic: Traffic { ack_class: index, ..part.traffic }, ..part },
        false => part,
    };
    Ok((parts.into_iter().map(place).collect(), all))
}

/// Refuses classes that leave no room, or no name, for the one that a transport needs, with priorities up to `last` then.
fn check_room(document: &Document, transport: &str, classes: &[ClassTable], last: u8) -> Result<()> {
    let at = Path::default().key("switch").key("class");
    let way_out = "or name an ack_class for its traffic";
    if let Some(index) = classes.iter().position(|class| class.name.0 == HEADERS) {
        let problem = format!(
            "is that of the class that {transport} needs ahead of others, for acknowledgements and cut packets; write another \
             name, {way_out}"
        );
        return Err(document.error(&at.index(index).key("name"), problem));
    }
    if classes.len() == CLASSES_MAX || last > PRIORITY_MAX {
        let problem = format!(
            "leaves no room for a class ahead of all others, which {transport} needs for acknowledgements and cut packets; write \
             priorities below {PRIORITY_MAX} and fewer than {CLASSES_MAX} classes, {way_out}"
        );
        return Err(document.error(&at, problem));
    }
    Ok(())
}
