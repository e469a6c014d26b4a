//! Carrying a plan out, and undoing it.

use super::command::{run, show};
use super::journal::{Journal, Recorded, RulesError};
use super::{Plan, Step};

/// Words of tools by which they say that what they shall remove is not there, or the network card is not.
const GONE: [&str; 6] = [
    "Cannot find device",
    "No such device",
    "does a matching rule exist",
    "No chain/target/match by that name",
    "Cannot delete qdisc with handle of zero",
    "Invalid handle",
];

impl Plan {
    /// Carries out all steps, or none: if one fails, those before it are undone, and the error shows its command and
    /// what it said.
    pub fn apply(self, journal: Journal) -> Result<Applied, RulesError> {
        let mut applied = Applied { journal: Some(journal), steps: Vec::new() };
        for step in self.steps {
            let Some(journal) = &mut applied.journal else { break };
            let number = journal.begin(&step)?;
            // A value that is dropped on the way undoes what it holds: a step that failed is held as not done.
            applied.steps.push(Recorded { number, done: false, step });
            let Some(Recorded { done, step, .. }) = applied.steps.last_mut() else { break };
            run(&step.command)
                .map_err(|problem| RulesError::Command { command: show(&step.command), problem })?;
            *done = true;
            journal.done(number)?;
        }
        Ok(applied)
    }
}

/// Rules that are set. They are undone when this value is dropped: at the end, on an error, and on a panic.
#[derive(Debug)]
pub struct Applied {
    journal: Option<Journal>,
    steps: Vec<Recorded>,
}

impl Applied {
    /// Undoes all steps, the last one first. Steps whose undoing fails stay in the journal, and their errors are
    /// returned.
    pub fn undo(mut self) -> Vec<RulesError> {
        self.undo_all()
    }

    /// Returns the steps that are set.
    pub fn steps(&self) -> impl Iterator<Item = &Step> {
        self.steps.iter().map(|recorded| &recorded.step)
    }

    fn undo_all(&mut self) -> Vec<RulesError> {
        let Some(mut journal) = self.journal.take() else { return Vec::new() };
        let mut errors = undo_recorded(&mut journal, &self.steps);
        self.steps.clear();
        if errors.is_empty() {
            errors.extend(journal.remove().err());
        }
        errors
    }
}

impl Drop for Applied {
    fn drop(&mut self) {
        for error in self.undo_all() {
            tracing::error!(%error, "a rule could not be undone; see `clearwayd cleanup`");
        }
    }
}

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
