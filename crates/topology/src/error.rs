//! The error type of this crate.

use clearway_units::{Rate, Span};
use thiserror::Error;

/// The reason for which a network was refused. Every message says what is wrong and what would be right.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum TopologyError {
    /// The network has no hosts.
    #[error("the network has no hosts; add at least one")]
    NoHosts,
    /// There are more nodes or links than their ids and distances can count.
    #[error("{count} {what} are too many; the limit is {limit}")]
    TooMany {
        /// The things counted: hosts, switches or links.
        what: &'static str,
        /// The number given.
        count: u64,
        /// The largest number allowed.
        limit: u64,
    },
    /// A host was added after a switch. Hosts are numbered first, so it would shift ids already handed out.
    #[error("host {0:?} was added after a switch; add all hosts first")]
    HostAfterSwitch(String),
    /// Two nodes have the same name, by which files and results tell nodes apart.
    #[error("two nodes are named {0:?}; give every node a name of its own")]
    DuplicateName(String),
    /// A name is empty, or holds white space or control characters, which files and reports cannot carry.
    #[error("{0:?} cannot name a node; use one or more characters without spaces")]
    BadName(String),
    /// A link ends at an id that no node has.
    #[error("a link ends at node {0}, which does not exist; add the node before the link")]
    UnknownNode(u32),
    /// A link joins a node with itself.
    #[error("{0:?} is linked to itself; a link joins two nodes")]
    SelfLink(String),
    /// A host has a second link. A host is modelled with one NIC, whose port serves all its flows in turn.
    #[error(
        "host {host:?} has a second link, to {second:?} besides the one to {first:?}; a host has one link, so leave one \
         of them out"
    )]
    SecondLink {
        /// The name of the host.
        host: String,
        /// The name of the node at the other end of its first link.
        first: String,
        /// The name of the node at the other end of its second link.
        second: String,
    },
    /// A link has a rate of zero.
    #[error("the link {a} - {b} has a rate of {rate}; write one of at least 1 bps, such as \"10 Gbps\"")]
    ZeroRate {
        /// The name of the node at one end.
        a: String,
        /// The name of the node at the other end.
        b: String,
        /// The rate given.
        rate: Rate,
    },
    /// A link's delay is so long that the sum over a path could overflow.
    #[error("the link {a} - {b} has a delay of {delay}; write one of at most 100 s, such as \"4 us\"")]
    LongDelay {
        /// The name of the node at one end.
        a: String,
        /// The name of the node at the other end.
        b: String,
        /// The delay given.
        delay: Span,
    },
    /// A link's error rate is not between 0 and 1.
    #[error("the link {a} - {b} has an error rate of {loss}; write a share of packets from 0 to 1")]
    BadLoss {
        /// The name of the node at one end.
        a: String,
        /// The name of the node at the other end.
        b: String,
        /// The error rate given.
        loss: f64,
    },
    /// No path joins two of the hosts.
    #[error("no path joins hosts {a:?} and {b:?}; link their switches (hosts do not forward)")]
    Disconnected {
        /// The name of one host.
        a: String,
        /// The name of a host that it cannot reach.
        b: String,
    },
    /// A shape's parameter is out of its range.
    #[error("{shape}: {field} = {value} is out of range; give {right}")]
    Parameter {
        /// The name of the shape, such as `FatTree`.
        shape: &'static str,
        /// The name of the parameter.
        field: &'static str,
        /// The value given.
        value: u64,
        /// The values that would be right.
        right: String,
    },
    /// A line of a file cannot be read, or describes something that is refused.
    #[error("line {line}: {problem}")]
    Line {
        /// The number of the line, from 1.
        line: usize,
        /// A message that says what is wrong and what would be right.
        problem: String,
    },
}

impl TopologyError {
    /// Adds the number of the line on which the mistake was found, unless it has one.
    pub(crate) fn at(self, line: usize) -> TopologyError {
        match self {
            TopologyError::Line { .. } => self,
            other => TopologyError::Line { line, problem: other.to_string() },
        }
    }
}
