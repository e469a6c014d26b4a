//! Recordings of what happened to a host's datapath, and of what it did.
//!
//! A [`Recorder`] wraps a [`Host`](crate::host::Host) or a [`Pac`](crate::pac::Pac) and writes every input with its time, and every action. Since
//! these have no clock and no randomness of their own, [`replay`] gives a new one the same inputs and must get the same
//! actions, to the last byte. So what went wrong on a testbed can be repeated at a desk, and a test repeats a recorded
//! exchange in the simulator's instance of the same state machine.
//!
//! A recording begins with the line `clearwayd recording 1`, the length of the header (32 bits, big-endian), and the
//! header: the settings of the datapath, and the seed of a host, in TOML. Entries follow, each a kind, the time since the last entry
//! and the fields of the kind, then the actions. Numbers that are mostly small are LEB128; all others are big-endian.
//!
//! The seed stands in the header, and with it the cookies of all flows can be computed, so a recording of a host that
//! runs must not be given to those who could forge its frames.

mod bytes;
mod entry;
mod header;
mod recorder;
mod replay;
mod start;
#[cfg(test)]
mod tests;
mod text;

pub use bytes::RecordError;
pub use entry::{Entry, Input};
pub use header::Header;
pub use recorder::Recorder;
pub use replay::{Difference, Recording, Summary, replay};
pub use start::Start;
