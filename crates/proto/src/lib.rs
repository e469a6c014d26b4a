//! Congestion control protocols as state machines that know no clock, socket, thread or randomness of their own.
//!
//! A protocol's parts live in six places, and each is an interface here:
//!
//! | place | decides | interface |
//! |---|---|---|
//! | sender | which data may leave now | [`Sender`] |
//! | receiver | what to send back, and when | [`Receiver`] |
//! | agent of a host | what many flows of the host share: paces, budgets, what to hold back or rewrite | [`Agent`] |
//! | NIC of a host | which flow sends next | [`Order`] |
//! | output port, any transport | what to mark, limit or drop | the structs of [`port`] |
//! | output port, one transport | what to write into packets, whose sender to notify | [`PortMechanism`] |
//!
//! A [`Transport`] is a sender and a receiver that belong together, with documented
//! [parameters](clearway_schema::declare!). [`TRANSPORTS, TRIALS`] lists them all. What they are made of (limiters, pacers,
//! feedback control, gates) are structs of their own, so that a real host can use them without a simulator in sight.
#![forbid(unsafe_code)]

pub mod ack_shaper;
mod agent;
pub mod blast;
pub mod ec4;
mod endpoint;
pub mod entropy;
pub mod eqds;
pub mod expresspass;
pub mod ictcp;
mod mechanism;
pub mod ndp;
mod needs;
pub mod numbered;
mod order;
pub mod pac;
mod packet;
pub mod port;
mod ranges;
pub mod rdma;
mod registry;
mod rng;
mod shared;
mod shelf;
mod tag;
pub mod tcp;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod transport;
#[cfg(feature = "trials")]
pub mod trials;
pub mod uec;

pub use agent::{Agent, AgentEnv, AgentPacket, AgentScope, AgentStats, NoAgent, Side};
pub use endpoint::{
    Cx, Endpoint, Env, Framing, Gauges, Rare, Receiver, ReceiverVisitor, Sender, SenderVisitor, Stats,
};
pub use mechanism::{
    Change, MechanismInfo, NoConstants, NoMechanism, PortMechanism, PortState, Reason, Sees, Verdict,
};
pub use needs::{Acks, BdpMarking, BufferNeeds, CreditNeeds, MarkingNeeds, Needs, TrimmingNeeds};
pub use order::Order;
pub use packet::{
    CreditAnswer, CreditRequest, Extra, Flags, HOPS_MAX, Header, Hop, Hops, Kind, Packet, SackBlock,
};
pub use registry::{
    AnyAgent, AnyMechanism, AnyMechanismConfig, AnyTransport, Place, Receivers, Senders, TRANSPORTS, TRIALS,
};
pub use rng::{Entity, Rng, SmallRng, mix};
pub use tag::Tag;
pub use transport::{Checked, Conflict, Family, Transport, TransportInfo};
