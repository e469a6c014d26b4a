//! The table of output ports.

use super::table::{Described, Table, Values};
use super::window::PortWindow;
use crate::model::Model;
use crate::net::{DropReason, Networks};
use crate::traffic::tier_name;
use clearway_topology::{NodeId, PortId};

/// Returns the table of output ports, in the order of their ids, with what was measured of each in the window.
pub fn port_table(model: &Model, nets: &Networks, measured: Vec<PortWindow>) -> Table {
    let observed = window_columns(&measured);
    drop(measured);
    let ports = Ports { model, nets };
    let columns = ports.places().into_iter().chain(ports.sent()).chain(ports.queues()).chain(ports.losses());
    let mut table = Table::new("ports", columns.chain(ports.trims()).chain(ports.pauses()));
    table.observe(observed);
    table.observe([ports.met()]);
    table
}

/// Returns the columns of the window of measurement.
fn window_columns(ports: &[PortWindow]) -> [Described; 9] {
    let ints = |of: fn(&PortWindow) -> u64| Values::sparse_ints(ports.iter().map(of));
    let reals = |of: fn(&PortWindow) -> f64| Values::sparse_reals(ports.iter().map(of));
    [
        (
            "window_utilisation",
            "1",
            "share of the window of measurement during which the link was busy; NaN if the run ended before the window",
            reals(|port| port.utilisation),
        ),
        (
            "window_data_bytes",
            "B",
            "bytes of flows in the packets sent in the window, retransmissions included",
            ints(|port| port.data_bytes),
        ),
        ("window_queue_max_bytes", "B", "queue_max_bytes in the window", ints(|port| port.queue_max_bytes)),
        (
            "window_queue_mean_bytes",
            "B",
            "queue_mean_bytes over the window",
            reals(|port| port.queue_mean_bytes),
        ),
        (
            "window_credit_queue_max",
            "credits",
            "credit_queue_max in the window",
            ints(|port| port.credit_queue_max),
        ),
        (
            "window_credit_queue_mean",
            "credits",
            "credit_queue_mean over the window",
            reals(|port| port.credit_queue_mean),
        ),
        (
            "window_marks",
            "packets",
            "packets that got an ECN mark here in the window",
            ints(|port| port.marks),
        ),
        (
            "window_drops",
            "packets",
            "packets dropped in the window for any reason but the credit limit",
            ints(|port| port.drops),
        ),
        (
            "window_drops_credit",
            "credits",
            "credits dropped in the window by the credit limit",
            ints(|port| port.drops_credit),
        ),
    ]
}

/// The ports of a network at the end of a run.
struct Ports<'a> {
    model: &'a Model,
    nets: &'a Networks,
}

impl Ports<'_> {
    fn texts(&self, of: impl Fn(PortId) -> u32, names: Vec<String>) -> Values {
        Values::Text(self.nets.ports().map(of).collect(), names)
    }

    fn ints(&self, of: impl Fn(PortId) -> u64) -> Values {
        Values::sparse_ints(self.nets.ports().map(of))
    }

    fn reals(&self, of: impl Fn(PortId) -> f64) -> Values {
        Values::sparse_reals(self.nets.ports().map(of))
    }

    /// Returns the columns that tell ports apart.
    fn places(&self) -> [Described; 3] {
        let topology = &self.model.topology;
        let names = self.nets.ports().map(|port| topology.port_name(port)).collect();
        let tiers = self.tiers();
        let tier_names = tiers.iter().map(|tier| tier_name(*tier)).collect();
        let tier = |port| tiers.binary_search(&self.tier(port)).expect("listed above") as u32;
        [
            ("port", "", "the port, as node->next node", self.texts(|port| port.0, names)),
            ("tier", "", "tiers that it joins", self.texts(tier, tier_names)),
            ("rate_bps", "bit/s", "rate of its link", self.ints(|p| self.nets.of(p).ports[p].rate.as_bps())),
        ]
    }

    /// Returns the tiers that a port joins, the sending one first.
    fn tier(&self, port: PortId) -> (u8, u8) {
        let topology = &self.model.topology;
        let level = |node: NodeId| topology.nodes()[node.index()].tier;
        (level(topology.port(port).from), level(topology.port(port).to))
    }

    /// Returns all pairs of tiers that ports join, in order.
    fn tiers(&self) -> Vec<(u8, u8)> {
        let mut tiers: Vec<(u8, u8)> = self.nets.ports().map(|port| self.tier(port)).collect();
        tiers.sort();
        tiers.dedup();
        tiers
    }

    /// Returns the columns of packets sent.
    fn sent(&self) -> [Described; 5] {
        let sent = |port: PortId| self.nets.look(port).sent();
        let seconds = self.nets.now().as_secs_f64();
        let utilisation = |port: PortId| {
            let net = self.nets.of(port);
            if seconds > 0.0 { net.look(port).used().share(net.ports[port].rate, seconds) } else { 0.0 }
        };
        [
            ("tx_packets", "packets", "packets sent, data and control", self.ints(|p| sent(p).packets)),
            ("tx_bytes", "B", "bytes sent, as on the wire", self.ints(|p| sent(p).bytes)),
            (
                "tx_data_bytes",
                "B",
                "bytes of flows in the packets sent, retransmissions included",
                self.ints(|p| sent(p).payload),
            ),
            ("tx_credits", "credits", "credits sent", self.ints(|p| sent(p).credits)),
            ("utilisation", "1", "share of the run during which the link was busy", self.reals(utilisation)),
        ]
    }

    /// Returns the columns of packets and credits that waited.
    fn queues(&self) -> [Described; 4] {
        let (nets, now) = (self.nets, self.nets.now());
        [
            (
                "queue_max_bytes",
                "B",
                "most bytes that waited in any one class but the credits'; the frame being sent is not counted",
                self.ints(|p| nets.look(p).queue_max_bytes()),
            ),
            (
                "queue_mean_bytes",
                "B",
                "bytes that waited, all classes but the credits', averaged over the run",
                self.reals(|p| nets.look(p).queue_mean_bytes()),
            ),
            (
                "credit_queue_max",
                "credits",
                "most credits that waited in any one class of them",
                self.ints(|p| {
                    nets.look(p).credit_queues().map(|queue| queue.packets_max() as u64).max().unwrap_or(0)
                }),
            ),
            (
                "credit_queue_mean",
                "credits",
                "credits that waited, averaged over the run",
                self.reals(|p| {
                    nets.look(p).credit_queues().fold(0.0, |sum, queue| sum + queue.packets_mean(now))
                }),
            ),
        ]
    }

    /// Returns the column of what packets that came found waiting. Most runs were recorded without it, so the hash
    /// leaves it out.
    fn met(&self) -> Described {
        let mean = |port| self.nets.look(port).queue_mean_arrivals_bytes();
        (
            "queue_mean_arrivals_bytes",
            "B",
            "bytes that a packet found waiting in its class when it came to the port, averaged over all that came but \
             credits, dropped ones included; the frame being sent is not counted",
            self.reals(mean),
        )
    }

    /// Returns the columns of marks and of dropped packets.
    fn losses(&self) -> impl Iterator<Item = Described> {
        let marks = (
            "marks",
            "packets",
            "packets that got an ECN mark here",
            self.ints(|p| self.nets.look(p).marks()),
        );
        let dropped = |why: DropReason| {
            (why.column(), why.unit(), why.meaning(), self.ints(|p| self.nets.look(p).drops()[why]))
        };
        std::iter::once(marks).chain(DropReason::ALL.map(dropped))
    }

    /// Returns the column of packets that were cut, where ports may cut any.
    fn trims(&self) -> Option<Described> {
        let may_trim = self.model.switch.classes.iter().any(|class| class.leaves_headers().is_some());
        let trims = |port| self.nets.look(port).trims();
        (may_trim || self.nets.ports().any(|port| trims(port) > 0))
            .then(|| ("trims", "packets", "packets that were cut to their headers here", self.ints(trims)))
    }

    /// Returns the columns of flow control, where there is any.
    fn pauses(&self) -> Vec<Described> {
        if self.nets.controls().stopped(PortId(0)).is_none() {
            return Vec::new();
        }
        let stopped = |port: PortId| self.nets.controls().stopped(port).unwrap_or_default();
        vec![
            (
                "pauses",
                "",
                "times that flow control stopped a class of this port",
                self.ints(|port| stopped(port).0),
            ),
            (
                "paused_s",
                "s",
                "time for which flow control had a class of this port stopped",
                self.reals(|port| stopped(port).1.as_secs_f64()),
            ),
        ]
    }
}
