//! Views of ports.

use super::view::View;
use crate::ids::{ClassId, Id};
use crate::net::{ByReason, Waiting};
use clearway_topology::PortId;
use clearway_units::Span;

/// An output port at this instant. Its counters are totals since the start of the run.
#[derive(Clone, Copy, Debug)]
pub struct PortView {
    /// The port.
    pub port: PortId,
    /// The bytes on the wire that wait in the queues of data. A frame that is leaving does not wait.
    pub queue_bytes: u64,
    /// The packets that wait in the queues of data.
    pub queue_packets: u64,
    /// The bytes on the wire of credits that wait under the rate limit of credits.
    pub credit_queue_bytes: u64,
    /// The credits that wait there.
    pub credit_queue_packets: u64,
    /// The packets sent, data and control.
    pub sent_packets: u64,
    /// The bytes on the wire of the packets sent.
    pub sent_bytes: u64,
    /// The bytes of flows in the packets sent, retransmissions included.
    pub sent_data_bytes: u64,
    /// The credits sent.
    pub sent_credits: u64,
    /// The packets that got an ECN mark here.
    pub marks: u64,
    /// The packets that were cut to their headers here.
    pub trims: u64,
    /// The packets dropped here, by reason.
    pub drops: ByReason<u64>,
    /// The pause frames that this port sent over its link and that stop a class, to stop the port at the other end.
    pub pauses_sent: u64,
    /// The times that flow control stopped a class of this port.
    pub pauses: u64,
    /// The time for which flow control has had a class of this port stopped.
    pub paused_for: Span,
    /// The notifications (CNPs) that the mechanism of this port had sent to senders. Receivers that send CNPs count nowhere.
    pub cnps: u64,
    /// True while flow control has a class of this port stopped.
    pub is_paused: bool,
    /// True while the link works in this direction.
    pub is_up: bool,
    /// True while a frame is leaving.
    pub is_transmitting: bool,
}

/// What a viewer remembers of ports from look to look, so that it is shown only those that changed.
#[derive(Clone, Default, Debug)]
pub struct SeenPorts {
    /// For each port the number that it gave at rest, if it was at rest.
    rests: Vec<Option<u64>>,
}

/// What waits at a port in one class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClassView<'a> {
    /// The name of the class; "credits" for credits where they have no classes of their own.
    pub name: &'a str,
    /// True for a class of credits.
    pub is_credit: bool,
    /// The bytes on the wire that wait.
    pub bytes: u64,
    /// The packets that wait.
    pub packets: u64,
    /// True while flow control has the class stopped.
    pub is_paused: bool,
}

impl<'a> View<'a> {
    /// Returns the ports of the network, in the order of their ids.
    pub fn ports(self) -> impl ExactSizeIterator<Item = PortView> + use<'a> {
        self.sim.nets.ports().map(move |port| self.port(port))
    }

    /// Shows the ports, in the order of their ids, that may look otherwise than at the last look of a viewer: at its first
    /// look all of them. Something may wait only at ports that are shown.
    #[inline]
    pub fn changed_ports(self, seen: &mut SeenPorts, mut show: impl FnMut(PortView)) {
        seen.rests.resize(self.sim.nets.ports().len(), None);
        for (port, before) in self.sim.nets.ports().zip(&mut seen.rests) {
            let rest = self.sim.nets.look(port).rest();
            if rest.is_none() || rest != *before {
                show(self.port(port));
                *before = rest;
            }
        }
    }

    /// Returns a port.
    #[inline]
    pub fn port(self, port: PortId) -> PortView {
        let net = self.sim.nets.of(port);
        let out = &net.ports[port];
        let (sent, data) = net.look(port).sent_and_waiting();
        let credits = net.look(port).credits_waiting();
        let stopped = self.sim.nets.controls().stopped(port);
        // Where there is flow control, the port at the other end has counted the pauses that this one sent.
        let sent_to = stopped.and_then(|_| self.sim.nets.controls().stopped(port.reverse()));
        let (pauses, paused_for) = stopped.unwrap_or_default();
        PortView {
            port,
            queue_bytes: data.bytes,
            queue_packets: data.packets,
            credit_queue_bytes: credits.bytes,
            credit_queue_packets: credits.packets,
            sent_packets: sent.packets,
            sent_bytes: sent.bytes,
            sent_data_bytes: sent.payload,
            sent_credits: sent.credits,
            marks: net.look(port).marks(),
            trims: net.look(port).trims(),
            drops: net.look(port).drops(),
            pauses_sent: sent_to.unwrap_or_default().0,
            pauses,
            paused_for,
            cnps: net.look(port).cnps(),
            is_paused: !out.paused.is_empty(),
            is_up: out.up,
            is_transmitting: out.busy_until > net.now(),
        }
    }

    /// Returns what waits at a port, class by class: the classes of data, then those of credits if the port limits
    /// credits.
    pub fn classes(self, port: PortId) -> impl Iterator<Item = ClassView<'a>> {
        let net = self.sim.nets.of(port);
        let paused = net.ports[port].paused;
        let data = self.classes_of_data().map(move |class| {
            let Waiting { bytes, packets } = net.look(port).waiting_data(class);
            let name = self.sim.model.switch.classes[class.index()].name.as_str();
            ClassView { name, is_credit: false, bytes, packets, is_paused: paused.has(class) }
        });
        let credits = net.look(port).waiting_credits().enumerate().map(move |(class, waiting)| {
            let name =
                self.sim.model.switch.credit_classes.get(class).map_or("credits", |turn| turn.name.as_str());
            let Waiting { bytes, packets } = waiting;
            ClassView { name, is_credit: true, bytes, packets, is_paused: false }
        });
        data.chain(credits)
    }

    fn classes_of_data(self) -> impl Iterator<Item = ClassId> + use<> {
        (0..self.sim.model.switch.classes.len()).map(ClassId::from_index)
    }
}
