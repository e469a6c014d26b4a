//! The priority of the thread that drives: real-time while something may wait for it, and else an ordinary one.
//!
//! A thread of real-time priority takes the processor on which it ran last from whatever runs there, even while another one is idle.
//! Applications that send many small requests lose more by that than packets that leave in the kernel can gain. So while the
//! datapath is patient, the thread has the highest ordinary priority, with which the kernel looks for an idle processor.

use super::sys::{self, Priority};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use rustix::thread::{CapabilitySet, capabilities};

/// Returns true if the calling thread has real-time priority, and may come back to it only with CAP_SYS_NICE.
pub fn needs_nice() -> bool {
    sys::is_realtime() && !may_be_realtime()
}

/// Returns true if this process may have real-time priority by its limit, without a capability.
fn may_be_realtime() -> bool {
    getrlimit(Resource::RLIMIT_RTPRIO).is_ok_and(|(most, _)| most > 0)
}

/// Returns true if the calling thread has CAP_SYS_NICE.
fn has_nice() -> bool {
    capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::SYS_NICE))
}

/// The priority of the calling thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Following {
    /// It stays as it is, since nothing else was asked, or since the thread could not come back to it.
    Fixed,
    /// It is real-time.
    Realtime,
    /// It is ordinary, until something may wait.
    Ordinary,
}

impl Following {
    /// Gives the calling thread a priority, or the highest ordinary one if it may not have that.
    pub fn raise(wanted: Priority) -> Following {
        // What may come back to real-time priority without privileges is limited by this.
        let _ = setrlimit(Resource::RLIMIT_RTPRIO, 1, 1);
        match (sys::raise_priority(wanted), wanted) {
            (Ok(()), Priority::Realtime) => Following::Realtime,
            (Ok(()), Priority::High) => Following::Fixed,
            (Err(errno), _) => {
                let is_high = wanted != Priority::High && sys::raise_priority(Priority::High).is_ok();
                let has = if is_high { "high" } else { "usual" };
                tracing::warn!(?wanted, has, %errno, "the daemon may not have its priority, and is late where other programs are busy");
                Following::Fixed
            }
        }
    }

    /// Lets the priority follow what the datapath waits for.
    pub fn follow(&mut self, is_patient: bool) {
        *self = match (*self, is_patient) {
            (Following::Realtime, true) => {
                // A sandbox may forbid the way back, and then it forbids this call too, which changes nothing.
                let may_return =
                    (may_be_realtime() || has_nice()) && sys::change_priority(Priority::Realtime).is_ok();
                match may_return && sys::change_priority(Priority::High).is_ok() {
                    true => Following::Ordinary,
                    false => Following::Fixed,
                }
            }
            (Following::Ordinary, false) => match sys::change_priority(Priority::Realtime) {
                Ok(()) => Following::Realtime,
                Err(errno) => {
                    tracing::warn!(%errno, "the daemon lost its real-time priority, and is late where other programs are busy");
                    Following::Fixed
                }
            },
            (same, _) => same,
        }
    }
}
