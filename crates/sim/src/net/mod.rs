//! The network: output ports, links, and the packets on them.
//!
//! A packet costs one event a hop, its arrival at the next node, if the port is *plain* (`plain.rs`) or its link is free.
//! Else it costs two: the port wakes when the link becomes free. A port has at most one wake-up pending that counts;
//! earlier ones that were overtaken are recognised by their time.
//!
//! | file | what it holds |
//! |---|---|
//! | `networks.rs` | [`Networks`]: the networks of all parts of a run that is divided among threads |
//! | `totals.rs`, `controls.rs` | what all parts have counted together; flow control in all of them |
//! | `boundaries.rs`, `exchange.rs`, `mailboxes.rs` | what parts hand over to each other |
//! | `place.rs` | the nodes at which events are handled |
//! | `delays.rs` | how far parts may go on without hearing of each other |
//! | `blocks.rs`, `divide.rs` | the blocks of a part, through which one thread goes in turn |
//! | `network.rs` | [`Network`]: packets enter, move from port to port, and leave |
//! | `pipeline/` | the way of a packet through a port: arrive, vote, admit, mark, queue, pick, depart |
//! | `pause.rs`, `faults.rs` | pause frames; links that fail and recover |
//! | `port.rs`, `link.rs` | a port and its link |
//! | `plain.rs` | the queue of a plain port |
//! | `data_queue.rs`, `admission.rs`, `credits.rs`, `credit_queue.rs`, `credit_classes.rs`, `nics.rs`, `scheduler.rs` | the queues of other ports, and the turns among them |
//! | `looks.rs`, `shown.rs` | what metrics read of ports; packets as a viewer sees them |
//! | `memory.rs`, `flow_control/` | the memory of switches |
//! | `mechanisms.rs`, `notified.rs` | mechanisms of ports and their timers; the flows that they may notify |
//! | `slab.rs`, `queue.rs`, `paths.rs`, `books.rs`, `drops.rs`, `drop_reason.rs` | packets, their paths, the count of them, and why they are dropped |
//! | `tables.rs`, `forward.rs`, `adaptive.rs` | the tables by which switches forward packets that may take several paths; the choice by the lengths of queues |
//! | `unseen.rs` | the packets that enter or leave without any of their ends |
//! | `trims.rs` | the trimming of ports: limits of queues that cut packets |
//! | `tap.rs` | what ports tell the recorder of a trace |
//! | `recut.rs` | a run that goes on in other parts than those in which it was |
//! | `build.rs`, `fetch.rs` | making a network from a model; fetching ahead into the cache |

mod adaptive;
mod admission;
mod blocks;
mod books;
pub mod boundaries;
mod build;
pub mod controls;
mod credit_classes;
mod credit_queue;
mod credits;
mod data_queue;
mod delays;
pub mod divide;
mod drop_reason;
mod drops;
mod exchange;
pub mod faults;
pub mod fetch;
mod flow_control;
mod forward;
mod link;
mod looks;
mod mailboxes;
mod mechanisms;
mod memory;
mod network;
mod networks;
mod nics;
mod notified;
mod paths;
pub mod pause;
pub mod pipeline;
pub mod place;
mod plain;
mod port;
mod queue;
mod queued;
pub mod recut;
mod scheduler;
mod shown;
mod slab;
pub mod spread;
mod tables;
mod tap;
pub mod totals;
mod trims;
mod unseen;

pub use build::horizon;
pub use delays::Delays;
pub use drop_reason::{ByReason, DropReason};
pub use flow_control::{FlowControlSummary, WATCH};
pub use mailboxes::Mailboxes;
pub use network::Network;
pub use networks::Networks;
pub use paths::{Paths, Route, Way};
pub use port::{ControlWork, Used};
pub use queued::{Marks, QueuedPacket};
pub use shown::{Launched, Waiting, each_launched, each_on_links, handled_later};
pub use slab::{Addition, RoutedPacket, Slab};
pub use tables::{Spread, Tables};
