//! A run: events are taken in their order and handed to ports, ends of flows, and applications.
//!
//! | file | what it holds |
//! |---|---|
//! | `run.rs` | [`Simulation`] and the event loop |
//! | `prepare.rs`, `finish.rs` | a run before its first event and after its last one |
//! | `life.rs` | how flows begin and end |
//! | `traffic.rs` | applications: starts of flows, rounds of requests and responses |
//! | `source.rs`, `rounds.rs` | the state of a traffic entry |
//! | `network.rs` | events of the network itself: faults, pause frames, mechanisms |
//! | `router.rs`, `ideal.rs` | the paths of a flow, and the time that it would take alone |
//! | `shares.rs` | fair shares for senders that are told them |
//! | `checkpoint.rs` | all of it in a file, from which another process goes on |
//! | `journal.rs` | the rows of flows while the run goes on |

mod checkpoint;
mod finish;
mod ideal;
mod journal;
mod life;
mod network;
mod prepare;
mod rounds;
mod router;
mod run;
mod shares;
mod source;
mod traffic;

pub use checkpoint::CheckpointError;
pub use run::{Progress, SimError, Simulation};
