//! Congestion control protocols as state machines that know no clock, socket, thread or randomness of their own.
//!
//! A mechanism lives in one of four places, and each is an interface here:
//!
//! | place | decides | interface |
//! |---|---|---|
//! | sender | which data may leave now | [`Sender`] |
//! | receiver | what to send back, and when | [`Receiver`] |
//! | shim at a receiving host | what to hold back or rewrite of what its receivers answer | [`Shim`] |
//! | output port | what to mark, limit or drop | the structs of [`port`] |
//!
//! A [`Transport`] is a sender and a receiver that belong together, with documented [parameters](clearway_schema::declare!).
//! [`TRANSPORTS`] lists them all. What they are made of (limiters, pacers, feedback control, gates) are structs of
//! their own, so that a real host can use them without a simulator in sight.
#![forbid(unsafe_code)]

pub mod ack_shaper;
pub mod blast;
pub mod ec4;
mod endpoint;
pub mod expresspass;
pub mod ictcp;
pub mod pac;
mod packet;
pub mod port;
mod ranges;
pub mod rdma;
mod registry;
mod rng;
mod shim;
pub mod tcp;

pub use endpoint::{Cx, Endpoint, Env, Framing, Gauges, Receiver, Sender, Stats};
pub use packet::{
    CreditAnswer, CreditRequest, Extra, Flags, HOPS_MAX, Header, Hop, Hops, Kind, Packet, SackBlock,
};
pub use registry::{
    AnyReceiver, AnySender, AnyTransport, Checked, CreditNeeds, MarkingNeeds, Needs, ReceiverVisitor,
    SenderVisitor, TRANSPORTS, Transport, TransportInfo,
};
pub use rng::{Entity, Rng, mix};
pub use shim::{AnyShim, Shim, ShimEnv, ShimStats};
