//! The two views of a run, which borrow it: one of all that a look leaves as it is, and one of its flows.

use super::super::state::Simulation;

/// A run between two steps as a viewer sees it: its ports, its packets, the flows that finished, and its books.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// The run.
    pub(super) sim: &'a Simulation,
}

/// The flows of a run between two steps. They need the run to themselves, since the ends of flows are read through the
/// same door by which they are driven, but change nothing in it.
pub struct Flows<'a> {
    /// The run.
    pub(super) sim: &'a mut Simulation,
}

impl Simulation {
    /// Returns a view of the ports, the packets, the flows that finished, and the books of the run at this instant.
    #[inline]
    pub fn view(&self) -> View<'_> {
        View { sim: self }
    }

    /// Returns a view of the flows of the run at this instant.
    #[inline]
    pub fn flows(&mut self) -> Flows<'_> {
        Flows { sim: self }
    }
}
