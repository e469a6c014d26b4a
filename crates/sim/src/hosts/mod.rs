//! Hosts: the ends of flows, what sits between them and the NIC, and how both are driven.
//!
//! | file | what it holds |
//! |---|---|
//! | `ends.rs`, `messages.rs` | the two ends of flows, and the messages that each waits for |
//! | `flow_snapshot.rs` | snapshots of flows for samples and viewers |
//! | `drive.rs` | one end through one input: what it sends enters the network, its timer is set |
//! | `pull.rs` | the turn of a sending end: it is asked for a packet of data |
//! | `turns.rs` | the places of flows among those that wait at a NIC, by the order of their class |
//! | `parking.rs` | flows that their port's wake-up serves, instead of one of their own |
//! | `agents.rs`, `agent_driver.rs` | agents between the ends of a host and its NIC, and how they are driven |
//! | `delay.rs` | the time that a host takes to look at a packet |
//! | `recut.rs` | the hosts of a run that goes on in other parts |
//! | `driver.rs` | [`Hosts`], which owns all of these: packets that arrive, turns to send, timers |

mod agent_driver;
mod agents;
mod delay;
mod drive;
mod driver;
mod ends;
mod flow_snapshot;
mod messages;
mod parking;
mod pull;
mod recut;
mod turns;

pub use drive::Input;
pub use driver::Hosts;
pub use ends::{End, FlowName, Receiving, Sending};
pub use flow_snapshot::{FlowSnapshot, Shown};
