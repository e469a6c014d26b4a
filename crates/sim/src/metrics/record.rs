//! The row of a flow or message, and the tables of flows and ports.

use super::table::{Described, Table, Values};
use crate::ids::{FlowSlot, Id, TrafficId};
use crate::model::Model;
use clearway_proto::Stats;
use clearway_topology::NodeId;
use clearway_units::{Known, Span, Time};
use serde::{Deserialize, Serialize};

/// A flow or, on connections that stay open, a message.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    /// The traffic entry to which the flow belongs.
    pub traffic: TrafficId,
    /// The number of the flow in its traffic entry.
    pub number: u64,
    /// The host that sends.
    pub src: NodeId,
    /// The host that receives.
    pub dst: NodeId,
    /// The number of bytes to send; `None` while that is open.
    pub size: Known<u64>,
    /// The time at which the application handed the bytes over.
    pub start: Time,
    /// The time at which the last byte was delivered.
    pub end: Known<Time>,
    /// The time at which the sender first knew that all bytes had arrived.
    pub acknowledged: Known<Time>,
    /// The shortest time that the bytes would take alone; zero if there are none.
    pub ideal: Span,
    /// The number of bytes delivered.
    pub delivered: u64,
    /// The counts of what both ends did for these bytes, once they are known: when the flow ends, as a rule.
    pub stats: Option<Box<Stats>>,
    /// The flow's place in the table of flows, while the row may still change.
    pub flow: Option<FlowSlot>,
}

impl Record {
    /// Returns the key by which rows are in order.
    pub fn order(&self) -> (Time, TrafficId, u64) {
        (self.start, self.traffic, self.number)
    }

    /// Returns the counts of what both ends did for these bytes, as far as they are known.
    pub fn stats(&self) -> &Stats {
        self.stats.as_deref().unwrap_or(&Stats::ZERO)
    }

    /// Returns the number of bytes to send; zero while that is open.
    pub fn bytes(&self) -> u64 {
        self.size.get().unwrap_or(0)
    }

    /// Adds to the counts of what both ends did for these bytes.
    pub fn add(&mut self, stats: &Stats) {
        self.stats = Some(Box::new(self.stats().plus(stats)));
    }
}

/// Returns the slowdown of a flow that took `fct` and would take `ideal` alone. A flow that was stopped before its
/// first byte had nothing to be slow with: its slowdown is 1.
pub fn slowdown(fct: Span, ideal: Span) -> f64 {
    if ideal.is_zero() { 1.0 } else { fct.ratio(ideal) }
}

/// Returns the table of flows, in the order of their starts and then of their numbers.
pub fn flow_table(model: &Model, mut records: Vec<Record>) -> Table {
    records.sort_by_key(Record::order);
    let flows = Flows { model, records: &records };
    let columns =
        flows.places().into_iter().chain(flows.times()).chain(flows.packets()).chain(flows.credits());
    Table::new("flows", columns.chain(flows.cnps()).chain(flows.repeated_signals()))
}

/// The flows of a run, in the order of the table.
struct Flows<'a> {
    model: &'a Model,
    records: &'a [Record],
}

impl Flows<'_> {
    fn texts(&self, of: impl Fn(&Record) -> u32, names: Vec<String>) -> Values {
        Values::Text(self.records.iter().map(of).collect(), names)
    }

    fn ints(&self, of: impl Fn(&Record) -> u64) -> Values {
        Values::U64(self.records.iter().map(of).collect())
    }

    fn reals(&self, of: impl Fn(&Record) -> f64) -> Values {
        Values::F64(self.records.iter().map(of).collect())
    }

    /// Returns the columns that tell flows apart.
    fn places(&self) -> [Described; 6] {
        let traffic = &self.model.traffic;
        let names = traffic.iter().map(|entry| entry.name.clone()).collect();
        let transports = traffic.iter().map(|entry| entry.transport.info().name.to_string()).collect();
        let topology = &self.model.topology;
        let hosts =
            || (0..topology.hosts() as u32).map(|host| topology.name(NodeId(host)).to_string()).collect();
        [
            (
                "flow",
                "",
                "number of the flow among those of its traffic entry; messages on one connection share it",
                self.ints(|r| r.number),
            ),
            (
                "traffic",
                "",
                "the traffic entry that it belongs to",
                self.texts(|r| r.traffic.index() as u32, names),
            ),
            ("transport", "", "its transport", self.texts(|r| r.traffic.index() as u32, transports)),
            ("src", "", "host that sends", self.texts(|r| r.src.0, hosts())),
            ("dst", "", "host that receives", self.texts(|r| r.dst.0, hosts())),
            (
                "size_bytes",
                "B",
                "bytes that the application sends; 0 while a flow without a fixed size still runs",
                self.ints(Record::bytes),
            ),
        ]
    }

    /// Returns the columns of times.
    fn times(&self) -> [Described; 5] {
        let fct = |record: &Record| record.end.get().map(|end| end - record.start);
        let acked = |record: &Record| record.acknowledged.get().map(|known| known - record.start);
        [
            ("start_s", "s", "when the application hands it over", self.reals(|r| r.start.as_secs_f64())),
            (
                "fct_s",
                "s",
                "flow completion time: from start_s until the last byte is delivered in order; NaN if it is not",
                self.reals(|r| fct(r).map_or(f64::NAN, Span::as_secs_f64)),
            ),
            (
                "acked_s",
                "s",
                "from start_s until the sender knows that the last byte has arrived, by an acknowledgement or a credit; \
                 NaN if it never does",
                self.reals(|r| acked(r).map_or(f64::NAN, Span::as_secs_f64)),
            ),
            (
                "ideal_fct_s",
                "s",
                "the shortest fct_s with which its frames can cross the idle network on the paths that it may take, \
                 without any handshake; 0 for a flow without bytes",
                self.reals(|r| if r.size.get().is_some() { r.ideal.as_secs_f64() } else { f64::NAN }),
            ),
            (
                "slowdown",
                "1",
                "fct_s / ideal_fct_s; 1 for a flow without bytes",
                self.reals(|r| fct(r).map_or(f64::NAN, |fct| slowdown(fct, r.ideal))),
            ),
        ]
    }

    /// Returns the columns of bytes and data packets.
    fn packets(&self) -> [Described; 4] {
        [
            (
                "delivered_bytes",
                "B",
                "bytes delivered in order by the end of the run",
                self.ints(|r| r.delivered),
            ),
            (
                "data_packets",
                "packets",
                "data packets sent, retransmissions included",
                self.ints(|r| r.stats().data_packets),
            ),
            (
                "retransmits",
                "packets",
                "data packets that carried bytes sent before",
                self.ints(|r| r.stats().rare().retransmits),
            ),
            (
                "timeouts",
                "1",
                "expiries of the retransmission timer",
                self.ints(|r| r.stats().rare().timeouts),
            ),
        ]
    }

    /// Returns the columns of credits.
    fn credits(&self) -> [Described; 3] {
        [
            (
                "credits_sent",
                "credits",
                "credits that the receiver sent",
                self.ints(|r| r.stats().credits_sent),
            ),
            (
                "credits_used",
                "credits",
                "credits that released a data packet",
                self.ints(|r| r.stats().credits_used),
            ),
            (
                "credits_wasted",
                "credits",
                "credits that reached the sender when it had nothing to send",
                self.ints(|r| r.stats().rare().credits_wasted),
            ),
        ]
    }

    /// Returns the column of CNPs, if a transport of the scenario counts them.
    fn cnps(&self) -> Option<Described> {
        let counted = self.model.traffic.iter().any(|entry| entry.transport.info().counts_cnps);
        let doc =
            "notifications of congestion that the sender heard of: CNPs, or acknowledgements of marked data";
        counted.then(|| ("notices", "", doc, self.ints(|r| r.stats().rare().notifications)))
    }

    /// Returns the column of repeated requests and stops, if a transport of the scenario uses credits.
    fn repeated_signals(&self) -> Option<Described> {
        let has_credits = self.model.traffic.iter().any(|entry| entry.transport.needs().credits.is_some());
        let doc = "requests for credits and stops that were sent again, since no answer came in time; no data was lost";
        has_credits.then(|| ("repeated_signals", "1", doc, self.ints(|r| r.stats().rare().repeated_signals)))
    }
}
