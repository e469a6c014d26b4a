//! The Linux datapath: Clearway's protocols under unmodified TCP applications.
//!
//! The protocols are state machines of `clearway-proto`, which know no clock and no socket. This crate has three
//! layers, and only the last one touches the kernel:
//!
//! | module | what it does | knows the kernel |
//! |---|---|---|
//! | [`wire`] | reads and writes headers: TCP segments, and control frames of our own | no |
//! | [`datapath`] | the interface between a protocol's side of a host and its driver | no |
//! | [`host`] | ExpressPass and EC4: holds data, releases one packet per credit, sends credits | no |
//! | [`pac`] | PAC: holds pure acknowledgements and releases them | no |
//! | [`record`] | recordings of a host's inputs and actions, and their replay | no |
//! | [`switch`] | switches made of Linux: traffic control, and a switch in user space | yes |
//! | [`io`] | NFQUEUE, packet sockets, rules, timers: drives a datapath | yes |
//! | [`rules`] | what the daemon sets with iptables, tc and ethtool, with its undoing | yes |
//! | [`service`] | the daemon: command line, configuration, logs, statistics, privileges | yes |

pub mod datapath;
pub mod host;
pub mod io;
pub mod pac;
pub mod record;
pub mod rules;
pub mod service;
pub mod signals;
pub mod switch;
pub mod wire;
