//! The trait [`Supervisor`]: whoever watches over a loop that drives a datapath.

use crate::datapath::Datapath;
use clearway_units::Time;

/// What a loop does after its supervisor has looked at it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// The loop goes on.
    Continue,
    /// The loop releases what is held, and returns.
    Stop,
}

/// The daemon around a loop. The loop calls it between two inputs, at least ten times a second.
pub trait Supervisor {
    /// Looks at the datapath, for statistics and the watchdog, and says whether the loop goes on.
    fn look(&mut self, datapath: &dyn Datapath, now: Time) -> Next;
}
