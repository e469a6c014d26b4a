//! The order in which the NIC of a host serves flows that have data to send.

use serde::{Deserialize, Serialize};

/// The order in which a host's NIC asks the flows of a transport for data, among those of one class of packets. It is
/// the choice of the transport ([`Transport::order`](crate::Transport::order)).
///
/// The classes decide first, by priority and weight. Within a class, control packets that wait leave before any data,
/// whatever the order of the data: since a NIC takes data from a flow only when its link is free, a control packet
/// waits for one frame at most. Flows that are equal in the order take turns.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub enum Order {
    /// Flows take turns, packet by packet.
    #[default]
    InTurn,
    /// The flow with the fewest bytes left to send goes first ([`Sender::remaining`](crate::Sender::remaining)):
    /// shortest remaining processing time, SRPT.
    FewestRemaining,
    /// The flow with the lowest number goes first ([`Sender::priority`](crate::Sender::priority)).
    ByPriority,
}

impl Order {
    /// Returns the order in words, for messages: "in turn", "fewest remaining bytes first" or "by priority".
    pub const fn words(self) -> &'static str {
        match self {
            Order::InTurn => "in turn",
            Order::FewestRemaining => "fewest remaining bytes first",
            Order::ByPriority => "by priority",
        }
    }
}
