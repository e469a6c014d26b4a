//! Triggers of htsim's connection matrices, by which connections begin once others are done.

use super::flow::{ListError, fail};
use crate::traffic::triggers::{Done, Fires, Pull, Triggers, Wait};
use clearway_units::Span;
use std::collections::BTreeMap;

const FORM: &str = "write trigger id N oneshot, trigger id N multishot, or trigger id N barrier count M";

/// The triggers of a connection that a line names.
#[derive(Default)]
pub(super) struct Named {
    /// The one for which the connection waits.
    pub waits: Option<u32>,
    /// The one that it pulls once its sender knows that all has arrived.
    pub sent: Option<u32>,
    /// The one that it pulls once all has arrived.
    pub received: Option<u32>,
}

impl Named {
    /// Returns the place for the trigger that an attribute names, if it names one.
    pub fn of(&mut self, word: &str) -> Option<&mut Option<u32>> {
        match word {
            "trigger" => Some(&mut self.waits),
            "send_done_trigger" => Some(&mut self.sent),
            "recv_done_trigger" => Some(&mut self.received),
            _ => None,
        }
    }
}

/// Reads the number of a trigger.
pub(super) fn id(line: usize, word: &str, value: &str) -> Result<u32, ListError> {
    match value.parse() {
        Ok(number) if number > 0 => Ok(number),
        _ => fail(line, format!("{word}: {value:?} is no number of a trigger; write one from 1")),
    }
}

/// How a trigger fires, as its line says.
enum Kind {
    Oneshot,
    Multishot,
    Barrier(u32),
}

/// A trigger that has a line.
struct Known {
    line: usize,
    kind: Kind,
    /// The lines of the connections that wait for it.
    waits: Vec<usize>,
    /// The number of connections that pull it.
    pulls: usize,
}

/// The triggers of a file, as far as they were read.
#[derive(Default)]
pub(super) struct Lines {
    known: BTreeMap<u32, Known>,
    /// What each connection names, with its line and its place.
    named: Vec<(usize, u32, Named)>,
}

impl Lines {
    /// Returns the number of triggers that have a line.
    pub fn count(&self) -> usize {
        self.known.len()
    }

    /// Notes what a connection names.
    pub fn name(&mut self, line: usize, place: usize, named: Named) {
        self.named.push((line, place as u32, named));
    }

    /// Reads the line of a trigger, whose words follow the first one.
    pub fn define(&mut self, line: usize, words: &[&str]) -> Result<(), ListError> {
        let (mut number, mut count, mut kind) = (None, None, None);
        let mut words = words.iter();
        while let Some(&word) = words.next() {
            let is_first = match word {
                "oneshot" | "multishot" | "barrier" => kind.replace(word).is_none(),
                "id" | "count" => {
                    let Some(&value) = words.next() else {
                        return fail(line, format!("{word} has no value; {FORM}"));
                    };
                    let place = if word == "id" { &mut number } else { &mut count };
                    place.replace(id(line, word, value)?).is_none()
                }
                _ => return fail(line, format!("{word:?} is no attribute of a trigger; {FORM}")),
            };
            if !is_first {
                return fail(
                    line,
                    format!("{word}: a trigger has one number, one kind and one count; {FORM}"),
                );
            }
        }
        let kind = match (kind, count) {
            (Some("oneshot"), None) => Kind::Oneshot,
            (Some("multishot"), None) => Kind::Multishot,
            (Some("barrier"), Some(count)) => Kind::Barrier(count),
            (Some(_), None) => return fail(line, format!("barrier has no count; {FORM}")),
            (Some(_), Some(_)) => return fail(line, format!("count: only a barrier counts; {FORM}")),
            (None, _) => return fail(line, format!("the trigger has no kind; {FORM}")),
        };
        let Some(number) = number else { return fail(line, format!("the trigger has no id; {FORM}")) };
        let known = Known { line, kind, waits: Vec::new(), pulls: 0 };
        match self.known.insert(number, known) {
            Some(before) => {
                let problem = format!(
                    "id: {number} is the trigger of line {} already; write another number",
                    before.line
                );
                fail(line, problem)
            }
            None => Ok(()),
        }
    }

    /// Returns the triggers, once all lines were read.
    pub fn finish(self) -> Result<Triggers, ListError> {
        let Lines { mut known, named } = self;
        let number: BTreeMap<u32, u32> = known.keys().copied().zip(0..).collect();
        let (mut waits, mut pulls) = (Vec::new(), Vec::new());
        for (line, message, named) in named {
            if let Some(id) = named.waits {
                find(&mut known, line, "trigger", id)?.waits.push(line);
                waits.push(Wait { trigger: number[&id], message, pause: Span::ZERO });
            }
            let ends = [
                ("send_done_trigger", named.sent, Done::Acknowledged),
                ("recv_done_trigger", named.received, Done::Delivered),
            ];
            for (word, id, done) in ends {
                let Some(id) = id else { continue };
                find(&mut known, line, word, id)?.pulls += 1;
                pulls.push(Pull { message, done, trigger: number[&id] });
            }
        }
        let fires = known.iter().map(|(id, known)| known.fires(*id)).collect::<Result<_, _>>()?;
        Ok(Triggers::new(fires, waits, pulls))
    }
}

/// Returns the trigger that an attribute names, which must have a line.
fn find<'a>(
    known: &'a mut BTreeMap<u32, Known>,
    line: usize,
    word: &str,
    id: u32,
) -> Result<&'a mut Known, ListError> {
    let problem = || format!("{word}: {id} has no line of its own; add trigger id {id} with its kind");
    known.get_mut(&id).ok_or_else(|| ListError { line, problem: problem() })
}

impl Known {
    /// Returns how the trigger fires. It is refused where the program would stop at it, or would never fire it.
    fn fires(&self, id: u32) -> Result<Fires, ListError> {
        let (pulls, waits) = (self.pulls, self.waits.len());
        let refuse = |line, problem: String| fail(line, format!("trigger {id}: {problem}"));
        let Some(&first) = self.waits.first() else {
            return refuse(self.line, "no connection waits for it; remove it".into());
        };
        match self.kind {
            _ if pulls == 0 => {
                let problem = "no connection pulls it, so that this one would never begin; add send_done_trigger to another";
                refuse(first, problem.into())
            }
            Kind::Oneshot if pulls > 1 => {
                let problem = format!(
                    "{pulls} connections pull it, and it fires once, for the first alone; write barrier count {pulls}, or multishot"
                );
                refuse(self.line, problem)
            }
            Kind::Barrier(count) if count as usize != pulls => {
                let problem =
                    format!("its count is {count}, but {pulls} connections pull it; correct the count");
                refuse(self.line, problem)
            }
            Kind::Multishot if pulls < waits => {
                let problem = format!(
                    "it is pulled {pulls} times, and {waits} connections wait for it, each for a time of its own; pull it more often"
                );
                refuse(self.waits[pulls], problem)
            }
            Kind::Oneshot => Ok(Fires::All(1)),
            Kind::Barrier(count) => Ok(Fires::All(count)),
            Kind::Multishot => Ok(Fires::Next),
        }
    }
}
