//! A sentence, and what it is about.

use serde::Serialize;

/// A sentence, or two that belong together.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Finding {
    /// What it is about.
    pub kind: Kind,
    /// The text.
    pub text: String,
}

/// What a finding is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// How long flows took, or how much they carried.
    Flows,
    /// The transport that is ahead.
    Ahead,
    /// Traffic for which another one is ahead.
    Behind,
    /// The longest queue, and why it is there.
    Queue,
    /// The packets that were lost.
    Lost,
    /// What limits.
    Limit,
}

impl Kind {
    /// Returns the word for it, as in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Flows => "flows",
            Kind::Ahead => "ahead",
            Kind::Behind => "behind",
            Kind::Queue => "queue",
            Kind::Lost => "lost",
            Kind::Limit => "limit",
        }
    }
}

impl Finding {
    pub(crate) fn new(kind: Kind, text: impl Into<String>) -> Finding {
        Finding { kind, text: text.into() }
    }
}
