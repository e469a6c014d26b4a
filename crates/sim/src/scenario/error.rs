//! The error that refuses a scenario, in one line.

use clearway_schema::one_line;
use std::fmt;
use thiserror::Error;

/// The result of reading a part of a scenario.
pub(super) type Result<T> = std::result::Result<T, ScenarioError>;

/// The reason why a scenario was refused. The text is one line with file, line, key, value, and what would be right.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub struct ScenarioError {
    /// The file, or `--set` for a value that an override gave.
    pub origin: String,
    /// The line, counted from 1, if the fault has one.
    pub line: Option<usize>,
    /// The key, as in `traffic.web.load`; empty if the file as a whole is refused.
    pub key: String,
    /// The value, as written, if there is one.
    pub value: Option<String>,
    /// The fault, and what would be right.
    pub problem: String,
}

impl ScenarioError {
    /// Makes the error that refuses a file as a whole.
    pub(super) fn file(origin: &str, problem: impl Into<String>) -> ScenarioError {
        ScenarioError {
            origin: one_line(origin),
            line: None,
            key: String::new(),
            value: None,
            problem: one_line(&problem.into()),
        }
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.origin)?;
        match self.line {
            Some(line) => write!(f, ":{line}: ")?,
            // `--set switch.buffer = ...` is how the user wrote it.
            None if self.origin.starts_with("--") && !self.key.is_empty() => f.write_str(" ")?,
            None => f.write_str(": ")?,
        }
        match (&self.value, self.key.is_empty()) {
            (_, true) => {}
            (Some(value), false) => write!(f, "{} = {value}: ", self.key)?,
            (None, false) => write!(f, "{}: ", self.key)?,
        }
        f.write_str(&self.problem)
    }
}
