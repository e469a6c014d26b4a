//! What a transport needs from the ports on the way of its packets.

use crate::port::{CreditShaping, RedConfig};
use clearway_schema::choice;

/// What a transport needs from ports, unless the scenario says otherwise.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Needs {
    /// A rate-limited class for credits.
    pub credits: Option<CreditNeeds>,
    /// ECN marks on the data queue.
    pub marking: Option<MarkingNeeds>,
    /// A network that loses nothing for want of buffer: priority flow control.
    pub lossless: bool,
    /// A class for CNPs ([`Kind::Cnp`](crate::Kind::Cnp)), in which they overtake data.
    pub cnps: bool,
    /// The way of acknowledgements: with data or ahead of it.
    pub acks: Acks,
    /// The size in frames of the queue of *unscheduled* data (sent without a credit), a class that yields to all
    /// others. `None`: the transport sends no such data.
    pub unscheduled_queue: Option<u32>,
    /// Bytes that data packets carry besides payload and the network's headers.
    pub stamp: u32,
    /// An oracle that tells senders their max-min fair share ([`Sender::set_rate`]), which no real network has.
    ///
    /// [`Sender::set_rate`]: crate::Sender::set_rate
    pub oracle: bool,
}

impl Needs {
    /// Plain drop-tail queues.
    pub const NOTHING: Needs = Needs {
        credits: None,
        marking: None,
        lossless: false,
        cnps: false,
        acks: Acks::WithData,
        stamp: 0,
        unscheduled_queue: None,
        oracle: false,
    };
    /// Marks by a step at `K`.
    pub const ECN: Needs = Needs { marking: Some(MarkingNeeds::Step), ..Needs::NOTHING };
}

/// How a port marks.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum MarkingNeeds {
    /// By a step at `K`, which the scenario knows.
    Step,
    /// At random between two thresholds.
    Red(RedConfig),
}

/// The credit class of a port.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CreditNeeds {
    /// Most credits that wait.
    pub queue: u32,
    /// The token bucket in front of the link.
    pub shaping: CreditShaping,
}

choice! {
    /// How acknowledgements travel.
    pub enum Acks {
        /// In the class of their data.
        WithData = "with-data",
        /// Hosts send them ahead of data and while flow control has data stopped; in switches they are in the class of
        /// their data. `ACK_HIGH_PRIO 1` of HPCC's ns-3 code: its script sets it at hosts alone.
        FirstAtHosts = "first-at-hosts",
        /// In a class of their own ahead of data, at every port.
        OwnClass = "own-class",
    }
}
