//! The engine: pending events in their total order.

mod agenda;
mod event;
mod lanes;
mod prefetch;
mod ring;
mod sort;
mod wheel;

pub use agenda::Agenda;
pub use event::{ENTITIES_MAX, Event, EventKind};
pub use prefetch::{AHEAD, CAN_FETCH, exceeds_cache, prefetch, prefetch_lines};

use clearway_units::Span;

/// The smallest step of time.
pub const TICK: Span = Span::from_ps(1);
