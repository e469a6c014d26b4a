//! What touches the kernel: NFQUEUE, packet sockets, the clock; and the loop that drives a
//! [`Datapath`](crate::datapath::Datapath) with them.

mod netns;
mod supervisor;

pub use netns::netns_cookie;
pub use supervisor::{Next, Supervisor};
