//! Rules that the daemon sets in the kernel (iptables, tc, ethtool), as commands with their undoing.
//!
//! A [`Plan`] is a list of [`Step`]s. It can be printed (`--dry-run`), carried out as a whole or not at all
//! ([`Plan::apply`]), and undone: at the end ([`Applied`]), or later from the [`Journal`] that the daemon leaves in
//! `/run/clearwayd` ([`cleanup()`], the command `clearwayd cleanup`).

mod cleanup;
mod command;
mod journal;
mod namespace;
mod plan;
mod step;
mod undo;

pub use cleanup::{Leftover, Outcome, cleanup};
pub(crate) use command::FOLDERS;
pub use journal::{Journal, RulesError};
pub use namespace::Namespace;
pub use plan::{Applied, Plan};
pub use step::Step;
