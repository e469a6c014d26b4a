//! Rules that the daemon sets in the kernel (iptables, tc, ethtool), as commands with their undoing.
//!
//! A [`Plan`] is a list of [`Step`]s. It can be printed (`--dry-run`), carried out as a whole or not at all
//! ([`Plan::apply`]), and undone: at the end ([`Applied`]), or later from the [`Journal`] that the daemon leaves in
//! `/run/clearwayd` ([`cleanup`], the command `clearwayd cleanup`).

mod apply;
mod cleanup;
mod command;
mod journal;
mod namespace;

pub use apply::Applied;
pub use cleanup::{Leftover, Outcome, cleanup};
pub use command::show;
pub use journal::{Journal, RulesError};
pub use namespace::Namespace;

use std::fmt;

/// One command that changes the machine, and the command that takes the change back.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    /// One sentence that says what the step is for.
    pub purpose: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The program and its arguments that undo the step; `None` if the undoing of an earlier step undoes this one too.
    pub undo: Option<Vec<String>>,
}

/// Steps to be carried out in order, and undone in the opposite order.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Plan {
    /// The steps.
    pub steps: Vec<Step>,
}

/// The plan as `--dry-run` prints it: of each step the purpose as a comment, the command, and the undoing as a comment.
impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for step in &self.steps {
            writeln!(f, "# {}", step.purpose.replace('\n', " "))?;
            writeln!(f, "{}", show(&step.command))?;
            match &step.undo {
                Some(undo) => writeln!(f, "#   undone by: {}", show(undo))?,
                None => writeln!(f, "#   undone with an earlier step")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_printed_plan_can_be_pasted_into_a_shell() {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let steps = vec![
            Step {
                purpose: "The queue holds data.".into(),
                command: words(&["iptables", "-m", "comment", "--comment", "clearwayd: it's ours", ""]),
                undo: Some(words(&["iptables", "-D", "$OUTPUT"])),
            },
            Step { purpose: "Two\nlines.".into(), command: words(&["tc", "class"]), undo: None },
        ];
        assert_eq!(
            Plan { steps }.to_string(),
            "# The queue holds data.\n\
             iptables -m comment --comment 'clearwayd: it'\\''s ours' ''\n\
             #   undone by: iptables -D '$OUTPUT'\n\
             # Two lines.\n\
             tc class\n\
             #   undone with an earlier step\n"
        );
    }
}
