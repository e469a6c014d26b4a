//! The feedback by which a sender learns of the paths of its packets, and the penalties that follow.

use serde::{Deserialize, Serialize};

/// The fate of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Feedback {
    /// It arrived.
    Good,
    /// It arrived with a mark of congestion.
    Ecn,
    /// It arrived cut to its header.
    Nack,
    /// It came back to its sender.
    Bounce,
    /// Nothing was heard of it.
    Timeout,
}

/// The penalties by which [`Bitmap`](super::EntropyPolicy::Bitmap) and [`Mixed`](super::EntropyPolicy::Mixed) skip values, in numbers of turns.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Penalties {
    /// The penalty for a mark.
    pub ecn: u8,
    /// The penalty for a NACK.
    pub nack: u8,
    /// The penalty for a timeout.
    pub timeout: u8,
    /// The most that a value can have.
    pub most: u8,
}

impl Penalties {
    /// The penalties of Ultra Ethernet's simulator.
    pub const UEC: Penalties = Penalties { ecn: 1, nack: 4, timeout: 15, most: 15 };
    /// The penalties of EQDS.
    pub const EQDS: Penalties = Penalties { ecn: 1, nack: 1, timeout: 1, most: 1 };
}
