//! The keys of a scenario file, declared once: these lines are the reader, the limits, the defaults, the list that an
//! unknown key is held against, and `docs/reference/scenario.md`. Shapes of networks and parameters of transports are
//! declared in their crates, in the same way.

mod network;
mod shapes;
mod traffic;

pub(super) use network::*;
pub(super) use shapes::*;
pub(super) use traffic::*;
