//! A value that may be left to whoever uses it.

use serde::{Deserialize, Serialize};

/// A value that a user sets, or leaves to the transport by writing `"auto"`.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub enum Auto<T> {
    /// The transport chooses; the documentation of the field says how.
    Auto,
    /// The user chose this value.
    Set(T),
}

impl<T: Copy> Auto<T> {
    /// Returns the value, or `default` where the transport chooses.
    pub fn or(self, default: T) -> T {
        self.set().unwrap_or(default)
    }

    /// Returns the value, if one was set.
    pub fn set(self) -> Option<T> {
        match self {
            Auto::Auto => None,
            Auto::Set(value) => Some(value),
        }
    }
}
