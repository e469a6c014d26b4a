//! The TCP family: one sender, one receiver, and controllers that plug into the sender.
//!
//! | transport | controller | source |
//! |---|---|---|
//! | [`NewReno`](newreno::NewReno) | [`NewRenoController`](newreno::NewRenoController) | RFC 5681, RFC 6582, RFC 6675 |
//! | [`Cubic`](cubic::Cubic) | [`CubicController`](cubic::CubicController) | RFC 9438 |
//! | [`Dctcp`](dctcp::Dctcp) | [`DctcpController`](dctcp::DctcpController) | RFC 8257, SIGCOMM'10 |
//! | [`Hull`](hull::Hull) | the same, behind a [`Pacer`](hull::Pacer) | NSDI'12 |
//! | [`Dx`](dx::Dx) | [`DxController`](dx::DxController) | ATC'15 |
//! | [`Rcp`](rcp::Rcp) | [`RcpController`](rcp::RcpController) | Dukkipati 2008 |
//! | [`Ideal`](ideal::Ideal) | [`IdealController`](ideal::IdealController) | ExpressPass, SIGCOMM'17, Fig. 1 (a) |
//! | [`FixedWindow`](fixed::FixedWindow) | [`FixedWindowController`](fixed::FixedWindowController) | PAC Fig. 2 |
//!
//! A new controller is a file like `newreno.rs`: a [`Controller`](controller::Controller), its parameters, and a
//! [`Transport`](crate::Transport) that puts it into a [`Sender`]. What works at the receiving host and changes no TCP
//! is an [`Agent`](crate::Agent) between its receivers and its NIC: [PAC](crate::pac) and an
//! [acknowledgement shaper](crate::ack_shaper) hold acknowledgements, [ICTCP](crate::ictcp) rewrites their windows.
//! The TCP under an agent is one of [`under`].
//!
//! # Deviations from the RFCs
//! - Offsets have 64 bits and start at zero: nothing wraps.
//! - Every packet has an exact timestamp, and every acknowledgement returns one: each gives a measurement of the
//!   round-trip time, and Karn's rule holds by itself. Clock granularity is nothing.
//! - The end of the stream is [`Flags::LAST`](crate::Flags::LAST) on its last bytes, or on an empty packet if the
//!   application closed later. The acknowledgement that covers it has the flag too. There is no `FIN` of the
//!   receiver's own.
//! - A packet carries up to three selective acknowledgements, as TCP does beside timestamps.
//! - No tail loss probe, F-RTO, D-SACK or proportional rate reduction: what the RFCs above leave to the timer is
//!   left to the timer.

pub(crate) mod config;
pub mod controller;
pub mod cubic;
pub mod dctcp;
pub mod dx;
pub mod fixed;
pub mod hull;
pub mod ideal;
pub mod newreno;
pub mod rcp;
mod receiver;
mod rtt;
mod sender;
pub mod under;

pub use config::{Config, Ecn, TcpParams};
pub use receiver::Receiver;
pub use sender::Sender;
