//! What is noted of each flow or message, and the tables made of it.

use super::table::{Column, Table, Values};
use crate::ids::{FlowSlot, Id, TrafficId};
use crate::model::Model;
use crate::net::{DropReason, Network};
use clearway_proto::Stats;
use clearway_topology::{NodeId, PortId};
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
    let mut table = table("flows", columns);
    if model.traffic.iter().any(|traffic| traffic.transport.info().counts_notifications) {
        table.columns.push(Column {
            name: "notices",
            unit: "",
            doc: "notifications of congestion that the sender heard of: CNPs, or acknowledgements of marked data",
            values: ints(&|r| r.stats.notifications),
        });
    }
    table
}

/// The table of output ports, in the order of their ids.
pub fn port_table(model: &Model, net: &Network) -> Table {
    let (topology, now) = (&model.topology, net.now());
    let names = net.ports.ids().map(|port| topology.port_name(port)).collect();
    let tier = |port: PortId| {
        let port = topology.port(port);
        let level = |node: NodeId| topology.nodes()[node.index()].tier as u32;
        level(port.from) * 256 + level(port.to)
    };
    let mut tiers: Vec<u32> = net.ports.ids().map(tier).collect();
    tiers.sort_unstable();
    tiers.dedup();
    let tier_names =
        tiers.iter().map(|tier| format!("{}->{}", level_name(tier / 256), level_name(tier % 256))).collect();
    let tier_of = |port| tiers.binary_search(&tier(port)).expect("listed above") as u32;
    let texts = |of: &dyn Fn(PortId) -> u32, names| Values::Text(net.ports.ids().map(of).collect(), names);
    let ints = |of: &dyn Fn(PortId) -> u64| Values::U64(net.ports.ids().map(of).collect());
    let reals = |of: &dyn Fn(PortId) -> f64| Values::F64(net.ports.ids().map(of).collect());
    let sent = |port: PortId| &net.ports[port].sent;
    let utilisation = |port: PortId| {
        let capacity = net.ports[port].link.rate.as_bps_f64() / 8.0 * now.as_secs_f64();
        if capacity > 0.0 { sent(port).bytes as f64 / capacity } else { 0.0 }
    };
    let columns = [
        ("port", "", "the port, as node->next node", texts(&|p| p.0, names)),
        ("tier", "", "tiers that it joins", texts(&tier_of, tier_names)),
        ("rate_bps", "bit/s", "rate of its link", ints(&|p| net.ports[p].link.rate.as_bps())),
        ("tx_packets", "packets", "packets sent, data and control", ints(&|p| sent(p).packets)),
        ("tx_bytes", "B", "bytes sent, as on the wire", ints(&|p| sent(p).bytes)),
        (
            "tx_data_bytes",
            "B",
            "bytes of flows in the packets sent, retransmissions included",
            ints(&|p| sent(p).payload),
        ),
        ("tx_credits", "credits", "credits sent", ints(&|p| sent(p).credits)),
        ("utilisation", "1", "share of the run during which the link was busy", reals(&utilisation)),
        (
            "queue_max_bytes",
            "B",
            "most bytes that waited in any one class but the credits'; the frame being sent is not counted",
            ints(&|p| net.data_queues(p).iter().map(|c| c.queue.bytes_max()).max().unwrap_or(0)),
        ),
        (
            "queue_mean_bytes",
            "B",
            "bytes that waited, all classes but the credits', averaged over the run",
            reals(&|p| net.data_queues(p).iter().map(|c| c.queue.bytes_mean(now)).sum()),
        ),
        (
            "credit_queue_max",
            "credits",
            "most credits that waited in any one class of them",
            ints(&|p| net.credit_queues(p).map(|queue| queue.packets_max() as u64).max().unwrap_or(0)),
        ),
        (
            "credit_queue_mean",
            "credits",
            "credits that waited, averaged over the run",
            reals(&|p| net.credit_queues(p).fold(0.0, |sum, queue| sum + queue.packets_mean(now))),
        ),
        (
            "marks",
            "packets",
            "packets that got an ECN mark here",
            ints(&|p| net.data_queues(p).iter().map(|c| c.marks).sum()),
        ),
        (
            "drops_buffer",
            "packets",
            "packets dropped because the queue was full",
            ints(&|p| net.ports[p].drops[DropReason::Buffer]),
        ),
        (
            "drops_credit",
            "credits",
            "credits dropped by the credit limit: the normal fate of excess credits",
            ints(&|p| net.ports[p].drops[DropReason::Credit]),
        ),
        (
            "drops_loss",
            "packets",
            "packets lost on the link at random",
            ints(&|p| net.ports[p].drops[DropReason::Loss]),
        ),
        (
            "drops_down",
            "packets",
            "packets dropped because the link was down",
            ints(&|p| net.ports[p].drops[DropReason::Down]),
        ),
    ];
    let mut table = table("ports", columns);
    if net.stopped(PortId(0)).is_some() {
        let stopped = |port: PortId| net.stopped(port).unwrap_or_default();
        table.columns.extend([
            Column {
                name: "pauses",
                unit: "",
                doc: "times that flow control stopped a class of this port",
                values: ints(&|p| stopped(p).0),
            },
            Column {
                name: "paused_s",
                unit: "s",
                doc: "time for which flow control had a class of this port stopped",
                values: reals(&|p| stopped(p).1.as_secs_f64()),
            },
        ]);
    }
    table
}

/// The name of a tier in the table of ports.
fn level_name(tier: u32) -> String {
    match tier {
        0 => "host".into(),
        1 => "tor".into(),
        2 => "agg".into(),
        3 => "core".into(),
        other => format!("tier{other}"),
    }
}

/// A table whose columns are given as (name, unit, meaning, values).
pub fn table<const N: usize>(
    name: &'static str,
    columns: [(&'static str, &'static str, &'static str, Values); N],
) -> Table {
    let columns =
        columns.into_iter().map(|(name, unit, doc, values)| Column { name, unit, doc, values }).collect();
    Table { name, columns }
}
