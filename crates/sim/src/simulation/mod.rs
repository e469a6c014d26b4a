//! A run: events are taken in their order and handed to ports, ends of flows, and applications.
//!
//! | file | what it holds |
//! |---|---|
//! | `state.rs` | [`Simulation`]: the state of a run |
//! | `run.rs` | regions go on from barrier to barrier, with events of the whole network in between |
//! | `region.rs`, `events.rs` | a region, and its event loop |
//! | `threads.rs`, `times.rs` | the threads that drive regions, and the time that each takes |
//! | `crew.rs`, `seat.rs`, `company.rs` | how threads share the parts, each of which goes on as far as it may, and when one does better alone |
//! | `notes.rs` | what regions tell the whole run |
//! | `global_events.rs` | the events of the whole network, in their order |
//! | `live_flows.rs`, `snapshots.rs` | the flows that are alive, and what their ends have come to |
//! | `prepare.rs`, `finish.rs` | a run before its first event and after its last one |
//! | `life.rs` | how flows begin and end |
//! | `traffic.rs`, `source.rs` | starts of flows, and the state of each traffic entry |
//! | `messages.rs` | the progress of listed messages, some of which wait for others |
//! | `apps.rs`, `rounds.rs` | applications: rounds of requests and responses, and their state |
//! | `network.rs` | events of the network itself: faults, pause frames, mechanisms |
//! | `router.rs`, `ideal/` | the paths of a flow, and the time that it would take alone |
//! | `detours.rs` | the paths that faults took from flows |
//! | `endless.rs` | flows that can never end, found before a run |
//! | `standstill.rs`, `livelock.rs` | the watch over the clock, and the end of a run in which time stands still |
//! | `shares.rs` | fair shares for senders that are told them |
//! | `views/` | ports, packets, flows and books between two steps |
//! | `checkpoint.rs`, `recut.rs` | all of it in a file, from which another process goes on, with any number of threads |
//! | `journal.rs` | the rows of flows while the run goes on |

mod apps;
mod blocks;
mod checkpoint;
mod company;
mod crew;
mod detours;
mod endless;
mod events;
mod finish;
mod global_events;
mod ideal;
mod journal;
mod life;
mod live_flows;
mod livelock;
mod messages;
mod network;
mod notes;
mod prepare;
mod recut;
mod region;
mod rounds;
mod router;
mod run;
mod seat;
mod shares;
mod snapshots;
mod source;
mod standstill;
mod state;
mod threads;
mod times;
mod traffic;
mod views;

pub use checkpoint::CheckpointError;
pub use endless::Endless;
pub use state::{Progress, SimError, Simulation};
pub use times::{Clock, PartTimes};
pub use views::{
    BooksView, ClassView, Finished, FinishedFlow, FlowState, FlowView, Flows, FrameKind, InFlight, Marks,
    PacketView, Packets, PortView, QueuedPacket, SeenPorts, View,
};
