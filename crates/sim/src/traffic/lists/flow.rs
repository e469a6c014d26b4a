//! What the readers of lists share: a flow, the reason why a list is refused, and the rules of reading.

use crate::traffic::triggers::{Done, Triggers};
use clearway_schema::{choice, one_line};
use clearway_units::{Bytes, Span, Time};
use thiserror::Error;

choice! {
    /// The format of a list of flows.
    pub enum ListFormat {
        /// A table with a header.
        Csv = "csv",
        /// The flow file of HPCC's ns-3 code.
        Hpcc = "hpcc",
        /// The flow list of the ExpressPass authors' ns-2 script.
        Ns2 = "ns-2",
        /// The connection matrix of htsim.
        Htsim = "htsim",
        /// A table in the Parquet format with the columns of CSV.
        Parquet = "parquet",
    }
}

impl ListFormat {
    /// Returns true if the format names hosts by number, counted from 0 or as a topology file numbers them.
    pub fn is_numbered(self) -> bool {
        !matches!(self, ListFormat::Csv | ListFormat::Parquet)
    }
}

choice! {
    /// The unit of start times in a connection matrix of htsim, on which its programs differ.
    pub enum HtsimUnit {
        /// Picoseconds, as NDP, EQDS, RoCE and HPCC read them in csg-htsim.
        Picoseconds = "ps",
        /// Microseconds, as Swift reads them, and as UEC and EQDS do in uet-htsim.
        Microseconds = "us",
    }
}

/// The rules by which a list is read, besides its format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ListRules {
    /// The largest number of flows; a longer list is refused before it fills the memory.
    pub most: usize,
    /// The unit of start times in a connection matrix, if it was given.
    pub start_unit: Option<HtsimUnit>,
    /// The number of hosts of the network, which a connection matrix states as its nodes.
    pub hosts: usize,
}

/// The flows of a file.
#[derive(Clone, Debug)]
pub struct List {
    /// The flows, in the order of their lines.
    pub flows: Vec<ListedFlow>,
    /// The triggers of a connection matrix, by which flows wait for others that have no names there.
    pub triggers: Triggers,
}

/// What a flow waits for that begins once others are done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Waits {
    /// The names of the others.
    pub after: Vec<String>,
    /// The time between the end of the last of them and the begin of the flow.
    pub pause: Span,
    /// The moment at which they are done.
    pub done: Done,
}

/// A flow of a file, whose hosts are not yet looked up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ListedFlow {
    /// The line of the file, counted from 1.
    pub line: usize,
    /// The time at which the flow starts, if it waits for no other.
    pub start: Time,
    /// The host that sends.
    pub src: String,
    /// The host that receives.
    pub dst: String,
    /// The size of the flow; `None` if it sends until it is stopped.
    pub size: Option<Bytes>,
    /// The connection of which the flow is a message, if the list names one.
    pub connection: Option<String>,
    /// The name of the flow, by which others wait for it.
    pub name: Option<String>,
    /// What the flow waits for, if it names others.
    pub waits: Option<Waits>,
}

impl ListedFlow {
    /// Returns a flow that has its line, its ends and its size, and starts at a time.
    pub fn plain(line: usize, start: Time, [src, dst]: [&str; 2], size: Option<Bytes>) -> ListedFlow {
        let (src, dst) = (src.into(), dst.into());
        ListedFlow { line, start, src, dst, size, connection: None, name: None, waits: None }
    }
}

/// The reason why a file is no list of flows.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{problem}")]
pub struct ListError {
    /// The line of the file, counted from 1.
    pub line: usize,
    /// The fault with its column and value, and what would be right.
    pub problem: String,
}

/// Refuses a line.
pub(super) fn fail<T>(line: usize, problem: impl Into<String>) -> Result<T, ListError> {
    Err(ListError { line, problem: one_line(&problem.into()) })
}

/// The flows of a list that were read so far.
pub(super) struct Flows {
    pub flows: Vec<ListedFlow>,
    most: usize,
}

impl Flows {
    pub fn new(rules: ListRules) -> Flows {
        Flows { flows: Vec::new(), most: rules.most }
    }

    pub fn push(&mut self, flow: ListedFlow) -> Result<(), ListError> {
        if self.flows.len() == self.most {
            return fail(flow.line, format!("is more than {} flows; list fewer", self.most));
        }
        self.flows.push(flow);
        Ok(())
    }
}
