//! Rules that the daemon sets in the kernel (iptables, tc, ethtool), as commands with their undoing.
//!
//! A [`Plan`] is a list of [`Step`]s. It can be printed (`--dry-run`), carried out as a whole or not at all, and undone:
//! at the end, or later from the journal that it leaves in `/run/clearwayd` (`clearwayd cleanup`).

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
