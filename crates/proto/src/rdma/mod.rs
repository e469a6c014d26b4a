//! RDMA over converged Ethernet, version 2 (RoCEv2): one sender, one receiver, and laws of the rate that plug into
//! the sender.
//!
//! | transport | law | source |
//! |---|---|---|
//! | [`Rocev2`](rocev2::Rocev2) | [`Rocev2Law`](rocev2::Rocev2Law): a constant rate | InfiniBand Architecture, annex A17 |
//! | [`Dcqcn`](dcqcn::Dcqcn) | [`DcqcnLaw`](dcqcn::DcqcnLaw) | SIGCOMM'15; HPCC's ns-3 code |
//! | [`Timely`](timely::Timely) | [`TimelyLaw`](timely::TimelyLaw) | SIGCOMM'15; HPCC's ns-3 code |
//! | [`Hpcc`](hpcc::Hpcc) | [`HpccLaw`](hpcc::HpccLaw) | SIGCOMM'19; its ns-3 code |
//! | [`RdmaDctcp`](dctcp::RdmaDctcp) | [`RdmaDctcpLaw`](dctcp::RdmaDctcpLaw) | HPCC's ns-3 code |
//! | [`Pacc`](pacc::Pacc) | [`DcqcnLaw`](dcqcn::DcqcnLaw), and [`PaccPort`](pacc::PaccPort) in switches | INFOCOM'22 |
//!
//! A new law is a file like `rocev2.rs`: a [`RateLaw`](law::RateLaw), and parameters that choose it ([`RdmaParams`]),
//! of which [`Rdma`] makes a [`Transport`](crate::Transport). The network is meant to be lossless by priority flow
//! control ([`Needs::lossless`](crate::Needs)), but need not be: lost data is sent again.
//!
//! # Deviations
//! - Frames have the sizes of the network's framing, as those of all transports; RoCEv2's own headers would add four
//!   bytes to those of TCP. Telemetry and timestamps add theirs.
//! - Offsets count bytes of the flow, not packets, have 64 bits and start at zero. A queue pair stands already.
//! - Each data packet is acknowledged by a packet of its own.
//! - The end of the flow is [`Flags::LAST`](crate::Flags::LAST) on its last bytes, or on an empty packet if the
//!   application closed later.

pub(crate) mod config;
pub mod dcqcn;
pub mod dctcp;
mod family;
pub mod hpcc;
pub mod law;
pub mod pacc;
mod receiver;
pub mod rocev2;
pub mod scale;
mod sender;
pub mod timely;

pub use config::{Cnp, Config, Recovery};
pub use family::{Rdma, RdmaParams};
pub use receiver::Receiver;
pub use sender::Sender;
