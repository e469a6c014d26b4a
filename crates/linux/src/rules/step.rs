//! One step of a plan.

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
