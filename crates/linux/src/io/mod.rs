//! What touches the kernel: NFQUEUE, packet sockets, the clock; and the loop that drives a
//! [`Datapath`](crate::datapath::Datapath) with them.
//!
//! [`Driver::open`] opens all sockets, [`rules`] makes the rules by which packets get there, and [`Driver::drive`] runs
//! until its [`Supervisor`] stops it.

mod acks;
mod bpf;
mod check;
mod clock;
mod diag;
mod driver;
mod error;
mod filter;
mod load;
mod netlink;
mod netns;
mod nic;
mod offload;
mod packet;
mod pass;
mod port;
mod priority;
mod queue;
mod ring;
mod rules;
#[cfg(test)]
mod samples;
mod shared;
mod supervisor;
mod sys;
mod watched;

pub use acks::{Acks, AcksDriver, AcksSetup, Takes};
pub use bpf::PerCpuArray;
pub use check::{NicReport, check};
pub use driver::{Driver, Setup};
pub use error::IoError;
pub use filter::Holds;
pub use netns::netns_cookie;
pub use nic::{LinkState, Nic};
pub use offload::Offload;
pub use pass::{Leaves, Pass};
pub use port::PortSocket;
pub use priority::needs_nice;
pub use rules::{ip6tables, rules};
pub use supervisor::{Next, Supervisor};
pub use sys::Priority;
