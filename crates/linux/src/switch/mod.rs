//! Switches made of Linux: the kernel's traffic control, and a switch in user space for what that cannot do.
//!
//! | part | what it does |
//! |---|---|
//! | [`Config`] | the ports, the rates and the sizes of queues |
//! | [`Present`] | the state of the network cards before |
//! | [`plan`] | the commands that make ports of a bridge, or of a router, ports of an ExpressPass switch |

mod config;
mod layout;
mod netlink;
pub mod objects;
mod plan;
mod present;

pub use config::{Bridge, CREDIT_QUEUE, Config, DATA_QUEUE, ECN_MAX, Port, SwitchError};
pub use netlink::Netlink;
pub use plan::plan;
pub use present::{Present, PresentPort};
