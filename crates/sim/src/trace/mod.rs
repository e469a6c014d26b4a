//! Traces: what happened to packets at ports, entry by entry.
//!
//! | file | what it holds |
//! |---|---|
//! | `entry.rs` | an entry: a packet, or a pause frame, at a port at an instant |
//! | `recorder.rs` | the recorder, which chooses and keeps entries while the run goes on |
//! | `taken.rs` | a trace after the run, and its table |
//! | `capture.rs`, `timeline.rs` | a trace as a pcapng file, and as a Perfetto trace |

mod capture;
mod entry;
mod recorder;
mod taken;
mod timeline;

/// False in the browser, whose page hands out no traces: there none are recorded, and the code that keeps them is left out.
pub const TRACES_ARE_TAKEN: bool = !cfg!(target_family = "wasm");

pub use entry::{Entry, FlowSpan, Step, Traced, What, Whose};
pub use recorder::{Held, Place, Recorder, Taken};
pub use taken::Trace;
