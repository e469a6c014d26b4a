//! Switches made of Linux: the kernel's traffic control, and a switch in user space for what that cannot do.
//!
//! | part | what it does |
//! |---|---|
//! | [`Config`] | the ports, the rates and the sizes of queues |
//! | [`Present`] | the state of the NICs before |
//! | [`plan`] | the commands that make ports of a bridge, or of a router, ports of an ExpressPass switch |
//! | [`verify()`] | the differences between what was asked and what the kernel enforces |
//! | [`soft`] | the switch in user space, without sockets |
//! | [`Shell`] | its sockets, clock and loop |
//! | [`Statistics`] | the counters of all ports |
//! | [`Reading`] | the settings and counters of a port, as the kernel tells them |

mod config;
mod layout;
mod netlink;
pub mod objects;
mod plan;
mod present;
mod reading;
mod shell;
pub mod soft;
mod statistics;
mod verify;

pub use config::{Bridge, CREDIT_QUEUE, Config, DATA_QUEUE, ECN_MAX, Port, SwitchError};
pub use netlink::Netlink;
pub use plan::{plan, plan_user_space};
pub use present::{Present, PresentPort};
pub use reading::{Class, Counters, Filter, Qdisc, Reading};
pub use shell::Shell;
pub use statistics::Statistics;
pub use verify::{Deviation, compare, credit_rates, verify};
