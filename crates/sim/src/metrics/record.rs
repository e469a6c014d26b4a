//! The row of a flow or message, and the tables of flows and ports.

use super::table::{Column, Table, Values};
use crate::ids::{FlowSlot, Id, TrafficId};
use crate::model::Model;
use clearway_proto::Stats;
use clearway_topology::NodeId;
use clearway_units::{Span, Time};

/// A flow or, on connections that stay open, a message.
#[derive(Clone, Debug)]
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
    pub size: Option<u64>,
    /// The time at which the application handed the bytes over.
    pub start: Time,
    /// The time at which the last byte was delivered.
    pub end: Option<Time>,
    /// The time at which the sender first knew that all bytes had arrived.
    pub acknowledged: Option<Time>,
    /// The time that the bytes would take alone, sent at line rate at once.
    pub ideal: Span,
    /// The number of bytes delivered.
    pub delivered: u64,
    /// The counts of what both ends did for these bytes.
    pub stats: Stats,
    /// The flow's place in the table of flows, while the flow lives.
    pub flow: Option<FlowSlot>,
}

/// The table of flows, in the order of their starts and then of their numbers.
pub fn flow_table(model: &Model, mut records: Vec<Record>) -> Table {
    records.sort_by_key(|record| (record.start, record.traffic, record.number));
    let text = |of: &dyn Fn(&Record) -> u32, names: Vec<String>| {
        Values::Text(records.iter().map(of).collect(), names)
    };
    let ints = |of: &dyn Fn(&Record) -> u64| Values::U64(records.iter().map(of).collect());
    let reals = |of: &dyn Fn(&Record) -> f64| Values::F64(records.iter().map(of).collect());
    let hosts = || {
        (0..model.topology.hosts() as u32).map(|host| model.topology.name(NodeId(host)).to_string()).collect()
    };
    let fct = |record: &Record| record.end.map(|end| end - record.start);
    let fct_s = |record: &Record| fct(record).map_or(f64::NAN, Span::as_secs_f64);
    let acked = |record: &Record| record.acknowledged.map(|known| known - record.start);
    let acked_s = |record: &Record| acked(record).map_or(f64::NAN, Span::as_secs_f64);
    let slowdown = |record: &Record| fct(record).map_or(f64::NAN, |fct| fct.ratio(record.ideal));
    let traffic_names = model.traffic.iter().map(|traffic| traffic.name.clone()).collect();
    let transport_names =
        model.traffic.iter().map(|traffic| traffic.transport.info().name.to_string()).collect();
    let columns = [
        (
            "flow",
            "",
            "number of the flow among those of its traffic; messages on one connection share it",
            ints(&|r| r.number),
        ),
        (
            "traffic",
            "",
            "the part of the traffic that it belongs to",
            text(&|r| r.traffic.index() as u32, traffic_names),
        ),
        ("transport", "", "its transport", text(&|r| r.traffic.index() as u32, transport_names)),
        ("src", "", "host that sends", text(&|r| r.src.0, hosts())),
        ("dst", "", "host that receives", text(&|r| r.dst.0, hosts())),
        (
            "size_bytes",
            "B",
            "bytes that the application sends; 0 while a flow without a fixed size still runs",
            ints(&|r| r.size.unwrap_or(0)),
        ),
        ("start_s", "s", "when the application hands it over", reals(&|r| r.start.as_secs_f64())),
        (
            "fct_s",
            "s",
            "flow completion time: from start_s until the last byte is delivered in order; NaN if it is not",
            reals(&fct_s),
        ),
        (
            "acked_s",
            "s",
            "from start_s until the sender knows that the last byte has arrived, by an acknowledgement or a credit; \
             NaN if it never does",
            reals(&acked_s),
        ),
        (
            "ideal_fct_s",
            "s",
            "fct_s for its frames sent back to back at line rate through the idle network, without any handshake",
            reals(&|r| if r.size.is_some() { r.ideal.as_secs_f64() } else { f64::NAN }),
        ),
        ("slowdown", "1", "fct_s / ideal_fct_s", reals(&slowdown)),
        ("delivered_bytes", "B", "bytes delivered in order by the end of the run", ints(&|r| r.delivered)),
        (
            "data_packets",
            "packets",
            "data packets sent, retransmissions included",
            ints(&|r| r.stats.data_packets),
        ),
        (
            "retransmits",
            "packets",
            "data packets that carried bytes sent before",
            ints(&|r| r.stats.retransmits),
        ),
        ("timeouts", "1", "expiries of the retransmission timer", ints(&|r| r.stats.timeouts)),
        ("credits_sent", "credits", "credits that the receiver sent", ints(&|r| r.stats.credits_sent)),
        ("credits_used", "credits", "credits that released a data packet", ints(&|r| r.stats.credits_used)),
        (
            "credits_wasted",
            "credits",
            "credits that reached the sender when it had nothing to send",
            ints(&|r| r.stats.credits_wasted),
        ),
    ];
    let mut table = Table::new("flows", columns);
    if model.traffic.iter().any(|traffic| traffic.transport.info().counts_cnps) {
        table.columns.push(Column {
            name: "notices",
            unit: "",
            doc: "notifications of congestion that the sender heard of: CNPs, or acknowledgements of marked data",
            values: ints(&|r| r.stats.notifications),
        });
    }
    table
}
