//! Undoing steps that a journal lists.

use super::command::{run, show};
use super::journal::{Journal, Recorded, RulesError};

/// Words of tools by which they say that what they shall remove is not there, or the NIC is not.
const GONE: [&str; 6] = [
    "Cannot find device",
    "No such device",
    "does a matching rule exist",
    "No chain/target/match by that name",
    "Cannot delete qdisc with handle of zero",
    "Invalid handle",
];

/// Undoes steps, the last one first, and writes that into the journal. A step that was begun and perhaps not carried
/// out is undone too; an error is expected then.
pub(super) fn undo_recorded(journal: &mut Journal, steps: &[Recorded]) -> Vec<RulesError> {
    let mut errors = Vec::new();
    for Recorded { number, done, step } in steps.iter().rev() {
        if let Some(undo) = &step.undo {
            match run(undo) {
                Err(problem) if *done && !GONE.iter().any(|words| problem.contains(words)) => {
                    errors.push(RulesError::Command { command: show(undo), problem });
                    continue;
                }
                _ => {}
            }
        }
        errors.extend(journal.undone(*number).err());
    }
    errors
}
