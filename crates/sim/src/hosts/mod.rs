//! Hosts: the ends of flows, what sits between them and the network card, and how both are driven.
//!
//! | file | what it holds |
//! |---|---|
//! | `flow.rs` | a flow with its two ends, and the table of flows |
//! | `drive.rs` | one end through one input: what it sends enters the network, its timer is set |
//! | `shims.rs` | shims between receivers and network cards |
//! | `driver.rs` | [`Hosts`], which owns all of these: packets that arrive, turns to send, timers |

mod drive;
mod driver;
mod flow;
mod shims;

pub use drive::Input;
pub use driver::Hosts;
pub use flow::{Classes, End, Flow, Flows};
