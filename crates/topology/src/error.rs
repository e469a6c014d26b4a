//! Why a network was refused.

use clearway_units::{Rate, Span};
use thiserror::Error;

/// Why a network was refused. Every message names what is wrong and says what would be right.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum TopologyError {
    /// Nobody to send.
    #[error("the network has no hosts; add at least one")]
    NoHosts,
    /// Past a limit that keeps ids and distances within their integers.
    #[error("{count} {what} are too many; the limit is {limit}")]
    TooMany {
        /// Hosts, switches or links.
        what: &'static str,
        /// How many were asked for.
        count: u64,
        /// How many are possible.
        limit: u64,
    },
    /// Hosts are numbered before switches, so a host that comes later would shift the ids already given out.
    #[error("host {0:?} was added after a switch; add all hosts first")]
    HostAfterSwitch(String),
    /// A name is a node's only identity in files and results.
    #[error("two nodes are named {0:?}; give every node a name of its own")]
    DuplicateName(String),
    /// A name that a file or a report could not carry.
    #[error("{0:?} cannot name a node; use one or more characters without spaces")]
    BadName(String),
    /// A link's end is not a node.
    #[error("a link ends at node {0}, which does not exist; add the node before the link")]
    UnknownNode(u32),
    /// A link from a node to itself.
    #[error("{0:?} is linked to itself; a link joins two nodes")]
    SelfLink(String),
    /// A link on which nothing moves.
    #[error("the link {a} - {b} has a rate of {rate}; write one of at least 1 bps, such as \"10 Gbps\"")]
    ZeroRate {
        /// One end.
        a: String,
        /// The other end.
        b: String,
        /// The rate given.
        rate: Rate,
    },
    /// A delay with which the sum over a path could overflow.
    #[error("the link {a} - {b} has a delay of {delay}; write one of at most 100 s, such as \"4 us\"")]
    LongDelay {
        /// One end.
        a: String,
        /// The other end.
        b: String,
        /// The delay given.
        delay: Span,
    },
    /// A share of lost packets that is no share.
    #[error("the link {a} - {b} has an error rate of {loss}; write a share of packets from 0 to 1")]
    BadLoss {
        /// One end.
        a: String,
        /// The other end.
        b: String,
        /// The error rate given.
        loss: f64,
    },
    /// Two hosts between which nothing can pass.
    #[error("no path joins hosts {a:?} and {b:?}; link their switches (hosts do not forward)")]
    Disconnected {
        /// One host.
        a: String,
        /// A host that it cannot reach.
        b: String,
    },
    /// A parameter of a shape out of its range.
    #[error("{shape}: {field} = {value} is out of range; give {right}")]
    Parameter {
        /// The shape, such as `FatTree`.
        shape: &'static str,
        /// Its field.
        field: &'static str,
        /// The value given.
        value: u64,
        /// What would be right.
        right: String,
    },
    /// A line of a file that cannot be read, or describes what is refused.
    #[error("line {line}: {problem}")]
    Line {
        /// Counted from 1.
        line: usize,
        /// What is wrong, and what would be right.
        problem: String,
    },
}

impl TopologyError {
    /// The same problem, found on a line of a file.
    pub(crate) fn at(self, line: usize) -> TopologyError {
        match self {
            TopologyError::Line { .. } => self,
            other => TopologyError::Line { line, problem: other.to_string() },
        }
    }
}
