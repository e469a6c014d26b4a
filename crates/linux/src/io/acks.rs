//! Acknowledgements that are held without NFQUEUE: what `bpf/acks.bpf.c` and the daemon share, and the driver for it.
//!
//! Two programs at the NIC take acknowledgements off their way and tell of segments that cross, by a ring in shared memory. [`Acks`]
//! reads that ring, [`frames::Frames`] keeps what is held and sends it, and [`AcksDriver`] drives a datapath with both. What the daemon
//! has not sent when it is killed is lost, as with NFQUEUE; the programs go with it, and later acknowledgements pass.

mod driver;
mod frames;
mod kernel;

pub use driver::{AcksDriver, AcksSetup};
pub use kernel::{Acks, Takes};
