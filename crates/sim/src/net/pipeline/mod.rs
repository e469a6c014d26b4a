//! The way of a packet through an output port, written once.
//!
//! | stage | what happens there | file |
//! |---|---|---|
//! | arrive | a packet comes from its host or from a link, and its next port is handed it; a free port without a queue sends it at once | `entry.rs`, `arrival.rs` |
//! | vote | the port's mechanism, if it has one, returns its verdict: keep, change, drop or return the packet | `vote.rs` |
//! | classify, admit, mark, queue | the packet joins the queue of its class, if the queue and the memory have room | `arrival.rs`, `admit.rs` |
//! | trim | a queue that trims and has no room cuts a packet to its header, which joins another class | `trim.rs` |
//! | pick | a port whose link is free decides what leaves next: a credit if the limit allows, else data by class | `service.rs`, `pick.rs` |
//! | depart | the packet leaves its queue and its memory, and goes on the link | `departure.rs` |
//!
//! What differs among ports are the memory that packets wait in, the limit of credits, and the turns of classes. The stages
//! are generic over these [`Rules`](rules::Rules). The general rules ask the network for each of them; the others are the
//! instances for ports that are known to need less, chosen when the network is built
//! ([`Instance`](super::port::Instance)). Tests forbid these others, to see that they change nothing (`fast_paths.rs`). At a
//! *plain* port all stages but the first are one addition (`plain.rs`), a port with a limit for credits has pick and depart in
//! one function (`limited.rs`), and ports that trim mostly pick late (`deferred.rs`).

mod admit;
mod arrival;
mod deferred;
mod departure;
mod entry;
mod limited;
mod notices;
mod pick;
mod rules;
mod service;
mod trim;
mod vote;

pub use arrival::hand_aside;
pub use deferred::{settle_all, settle_exits};
pub use departure::transmit_pulled;
pub use entry::{arrive, put_in};
pub use notices::wake_mechanism;
pub use rules::leave_memory;
pub use service::{nic_alone, rearm, rearm_for_flows, send_next, turn_alone, use_switch_port, wake};

#[cfg(test)]
pub(super) use {arrival::join, vote::port_state};
