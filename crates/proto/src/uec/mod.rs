//! The congestion control of Ultra Ethernet: NSCC, a window that a sender steers by marks and delays; RCCC, credit that a
//! receiver grants by pulls; and both at once. Senders choose a path for each packet, and switches cut packets to their headers
//! where queues are full.
//!
//! | transport | sender's window | receiver's credit |
//! |---|---|---|
//! | [`UecNscc`] | yes | no |
//! | [`UecRccc`] | no | yes |
//! | [`Uec`] | yes | yes: a packet needs both |
//!
//! | part | purpose |
//! |---|---|
//! | [`Sender`] | numbers packets, sends what window and credit permit, repeats what is lost |
//! | [`Nscc`](window::Nscc) | the window |
//! | [`Receiver`] | keeps account of packets in any order, acknowledges some at a time, and reports cut ones at once |
//! | [`Pacer`] | the agent of a host: paces the pulls of all flows that arrive, and divides the demand of those that leave |
//!
//! Sources: Ultra Ethernet Specification 1.0.3, sec. 3.6.12 to 3.6.14, as far as it could be read, and the consortium's simulator
//! (uet-htsim 40ccb05). The parameters follow the specification where both are known and differ; the profile `htsim` is the
//! simulator alone.
//!
//! # Deviations
//! - A message counts as arrived once all of its connection before it has: those of the simulator count each by itself.
//! - A probe of SLEEK that finds no room never takes the place of another packet.
//! - A receiver answers in the instant in which a packet arrives, so that no `Service_Time` is taken off samples (UE-2), and all
//!   negative acknowledgements are of packets that were cut (UE-11).
//! - Round-trip times are kept to the picosecond, not to 128 ns.
//! - A packet that was sent again gives no sample of the round-trip time when it is reported cut, for the report may be of the
//!   first one.
//! - A sender has one pull request on its way at most. One to which nobody answers is sent again; so is one when a sender has
//!   data, may send none, and has nothing on its way, since a pull may have been lost. The simulator loses none.
//! - Bounds of windows, credit and the timeout follow from the rate of the host's link, but gains and the timeout's queues from
//!   that of the slowest link on the path.

mod arrived;
mod backlog;
pub mod config;
pub mod credit;
mod family;
pub mod marks;
mod pacer;
pub mod params;
mod rate;
mod receiver;
mod records;
mod sender;
mod sleek;
pub mod window;

pub use family::{Mode, Uec as OfMode};
pub use pacer::Pacer;
pub use params::{BothParams, NsccParams, RcccParams};
pub use receiver::Receiver;
pub use sender::Sender;

/// The transport `uec-nscc`.
pub type UecNscc = OfMode<NsccParams>;
/// The transport `uec-rccc`.
pub type UecRccc = OfMode<RcccParams>;
/// The transport `uec`.
pub type Uec = OfMode<BothParams>;

#[cfg(test)]
mod tests;
