//! Why a value was refused.

use thiserror::Error;

/// Why a field was refused. The message names the field and says what would be right.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// No field has that name.
    #[error("has no parameter {name:?}; it has {known}")]
    Unknown {
        /// The name that was given.
        name: String,
        /// The names of all fields, separated by commas.
        known: String,
    },
    /// A field without a default was left out.
    #[error("{name}: is missing; write {kind}")]
    Missing {
        /// The name of the field.
        name: &'static str,
        /// The kind of value that it holds.
        kind: String,
    },
    /// The value can't be read, or is out of range.
    #[error("{name} = {value}: {problem}")]
    Value {
        /// The name of the field.
        name: &'static str,
        /// The value that was given, as it would be written.
        value: String,
        /// The fault of the value, and what would be right.
        problem: String,
    },
}

impl Error {
    /// Returns the fault and what would be right, for messages that name field and value themselves.
    pub fn problem(&self) -> String {
        match self {
            Error::Unknown { .. } => self.to_string(),
            Error::Missing { kind, .. } => format!("is missing; write {kind}"),
            Error::Value { problem, .. } => problem.clone(),
        }
    }
}
