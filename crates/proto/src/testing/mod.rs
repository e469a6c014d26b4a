//! Tools for tests: the two ends of a flow, driven over wires in virtual time or by a recorded exchange.
//!
//! The module exists with the cargo feature `testing`. It is for tests of transports, of what embeds them (a datapath
//! that replays recorded packets), and of new transports before they meet a simulator.
//!
//! - [`Pair`] drives two hosts, one that sends and one that receives, with any number of flows between them. A
//!   [`Network`] says what happens to packets on the way: rates, delays, losses, reordering, duplicates, marks, a limit on
//!   credits, a port with a mechanism, agents at both hosts. A script may decide the fate of single packets
//!   ([`Transit::decide`]).
//! - [`Replay`] drives one end alone: packets and operations with times go in, packets with times come out.
//! - [`End`] is what both are made of. It calls one end exactly as the rules of [`Endpoint`](crate::Endpoint) ask, and
//!   checks after every call that the end keeps its side of them.
//!
//! Every broken rule is a panic that says which. [`Pair`] checks besides, after each packet, that the receiver delivers
//! the bytes that arrived, each once and in order, and at the end that all were delivered, that both ends are finished
//! and that no timer is left.
//!
//! # Example
//!
//! A flow of a megabyte through 2 % loss, whose first data packet is lost as well:
//!
//! ```
//! use clearway_proto::testing::{Fate, Network, Operation, Pair, Wire};
//! use clearway_proto::{AnyTransport, Kind};
//! use clearway_units::Time;
//!
//! let wire = Wire { loss: 0.02, ..Wire::default() };
//! let mut pair = Pair::new(Network { to_receiver: wire, ..Network::default() });
//! let dctcp = AnyTransport::by_name("dctcp").expect("a transport");
//! let flow = pair.add(&dctcp, [(Time::ZERO, Operation::Write(1_000_000)), (Time::ZERO, Operation::Close)]);
//! let mut data = 0;
//! pair.transit.decide(move |departure| {
//!     data += (departure.packet.kind() == Kind::Data) as u32;
//!     if data == 1 { Fate::Lose } else { Fate::Pass }
//! });
//! pair.finish();
//! assert_eq!(pair.flows[flow].receiver.delivered(), 1_000_000);
//! assert!(pair.flows[flow].sender.stats().rare().retransmits > 0);
//! ```

mod agents;
mod end;
mod events;
mod flow;
mod forge;
mod network;
mod pair;
mod port;
mod replay;
mod stream;
#[cfg(test)]
mod tests;
mod transit;
mod turns;

pub use crate::Side;
pub use end::End;
pub use flow::{Flow, Logged};
pub use forge::forge;
pub use network::{Departure, Fate, Network, PortConfig, Way, Wire};
pub use pair::Pair;
pub use port::QueueSeen;
pub use replay::{Replay, Replayed};
pub use stream::{Operation, Stream};
pub use transit::Transit;
