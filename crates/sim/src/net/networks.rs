//! The networks of all parts of a run: one, or several that run at the same time.
//!
//! A part owns the ports of its nodes and the packets that are there. A packet that leaves for another part waits in an
//! outbox until all parts have come to the same time; it then arrives there as it would have in one network, since no
//! link between parts is shorter than the time between two such moments.

use super::books::{Books, Lines};
use super::exchange::{Batch, Crossing, Exchange, Handover};
use super::flow_control::{FlowControl, FlowControlSummary, Frame, Wait, stuck};
use super::looks::Look;
use super::network::Network;
use super::paths::{Paths, Route};
use super::port::Port;
use super::slab::Addition;
use super::tables::Spread;
use super::{faults, looks, pause};
use crate::engine::EventKind;
use crate::ids::{ClassId, FlowSlot, PacketId, PartId};
use crate::model::Model;
use crate::trace::Recorder;
use clearway_proto::Flags;
use clearway_topology::routing::NextHops;
use clearway_topology::{NodeId, PortId, Topology};
use clearway_units::{Rate, Span, Time};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The networks of all parts, by the number of the part.
#[derive(Serialize, Deserialize)]
pub struct Networks {
    pub(super) parts: Vec<Network>,
    /// The part of each node; empty if there is one part.
    pub(super) part_of: Vec<u32>,
}

impl Networks {
    /// Returns the idle networks of a model, whose nodes are in `parts` parts.
    pub fn new(model: &Model, part_of: Vec<u32>, parts: usize) -> Networks {
        let part_of = if parts > 1 { part_of } else { Vec::new() };
        let part = |number| match parts {
            1 => Network::new(model),
            _ => Network::of_part(model, &part_of, number, parts),
        };
        Networks { parts: (0..parts as u32).map(part).collect(), part_of }
    }

    /// Returns the number of parts.
    pub fn len(&self) -> usize {
        self.parts.len()
    }

    /// Returns the part that a node is in.
    #[inline]
    pub fn part_of(&self, node: NodeId) -> usize {
        self.part_of.get(node.index()).map_or(0, |&part| part as usize)
    }

    /// Returns the network of a part.
    #[inline]
    pub fn part(&self, part: usize) -> &Network {
        &self.parts[part]
    }

    /// Returns the network of a part, to be changed.
    #[inline]
    pub fn part_mut(&mut self, part: usize) -> &mut Network {
        &mut self.parts[part]
    }

    /// Returns the networks of all parts.
    pub fn iter(&self) -> std::slice::Iter<'_, Network> {
        self.parts.iter()
    }

    /// Returns the networks of all parts, to be changed.
    pub fn parts_mut(&mut self) -> &mut [Network] {
        &mut self.parts
    }

    /// Takes out the networks of all parts but the first, which come back by [`Networks::take_back`].
    pub fn lend(&mut self) -> std::vec::Drain<'_, Network> {
        self.parts.drain(1..)
    }

    /// Takes back the network of a part: they come in the order in which they were lent.
    pub fn take_back(&mut self, part: Network) {
        self.parts.push(part);
    }

    /// Returns the network to which a port belongs.
    #[inline]
    pub fn of(&self, port: PortId) -> &Network {
        match &self.parts[..] {
            [only] => only,
            // All parts know which node has a port.
            parts => &parts[self.part_of(parts[0].ports[port].owner)],
        }
    }

    pub(super) fn of_mut(&mut self, port: PortId) -> &mut Network {
        let part = self.part_of(self.parts[0].ports[port].owner);
        &mut self.parts[part]
    }

    /// Returns a port.
    pub fn port(&self, port: PortId) -> &Port {
        &self.of(port).ports[port]
    }

    /// Returns all ports in order.
    pub fn ports(&self) -> impl ExactSizeIterator<Item = PortId> + use<> {
        self.parts[0].ports.ids()
    }

    /// Returns the present, which is the same in all parts whenever somebody looks.
    pub fn now(&self) -> Time {
        self.parts[0].now()
    }

    /// Sets the present of all parts.
    pub fn set_now(&mut self, now: Time) {
        self.parts.iter_mut().for_each(|net| net.agenda.now = now);
    }

    /// Returns the paths of all flows, of which each part has a copy once they are shared.
    pub fn paths(&self) -> &Paths {
        &self.parts[0].paths
    }

    /// Adds a path.
    pub fn add_path(&mut self, ports: &[PortId]) -> Route {
        self.parts[0].paths.add(ports)
    }

    /// Adds the path of a route backwards.
    pub fn add_reverse(&mut self, route: Route) -> Route {
        self.parts[0].paths.add_reverse(route)
    }

    /// Gives back the place of a route that no packet follows any more.
    pub fn remove_path(&mut self, route: Route) {
        self.parts[0].paths.remove(route);
    }

    /// Tells all parts of the paths that were added, before any end or packet may follow them.
    pub fn share_paths(&mut self) {
        if let [first, others @ ..] = &mut self.parts[..] {
            first.paths.share(others.iter_mut().map(|net| &mut net.paths));
        }
    }

    /// A flow begins whose packets are forwarded by tables, to which those to its hosts are added where they are missing.
    pub fn open_spread(&mut self, topology: &Topology, flow: FlowSlot, spread: Spread) {
        self.lead_to(topology, spread.src);
        self.lead_to(topology, spread.dst);
        self.parts.iter_mut().for_each(|net| net.paths.tables.open(flow, spread));
    }

    /// Sees to it that the tables lead to a host.
    pub fn lead_to(&mut self, topology: &Topology, host: NodeId) {
        if !self.parts[0].paths.tables.leads_to(host) {
            self.change_tables(|tables| tables.lead_to(topology, host));
        }
    }

    /// Routing notices that a link's direction failed or recovered. The tables lead nowhere until they are told of hosts
    /// anew.
    pub fn notice(&mut self, topology: &Topology, port: PortId, up: bool) {
        self.change_tables(|tables| tables.set_up(topology, port, up));
    }

    /// Changes the tables, which all parts share.
    fn change_tables(&mut self, change: impl FnOnce(&mut NextHops)) {
        let mut tables = self.parts[0].paths.tables.take();
        for other in &mut self.parts[1..] {
            other.paths.tables.take();
        }
        change(Arc::get_mut(&mut tables).expect("no part holds the tables now"));
        self.parts.iter_mut().for_each(|net| net.paths.tables.put(Arc::clone(&tables)));
    }

    /// A link's direction fails, and what waited for it is lost; or it recovers.
    pub fn set_up(&mut self, port: PortId, up: bool) {
        let ends = [port, port.reverse()].map(|end| self.part_of(self.parts[0].ports[end].owner));
        faults::set_up(&mut self.parts[ends[0]], port, up);
        if ends[0] != ends[1] {
            pause::forget_pauses(&mut self.parts[ends[1]], port);
        }
    }

    /// A link's direction has another rate from now on: the next frame leaves at it, while one that is leaving keeps its
    /// speed. All parts are told, since all of them may show frames on the link.
    pub fn set_rate(&mut self, port: PortId, rate: Rate) {
        let left = self.port(port).busy_until;
        self.parts.iter_mut().for_each(|net| net.ports[port].set_rate(rate, left));
    }

    /// A flow starts, whose CNPs go `back`, if its sender reacts to any.
    pub fn open_notified(&mut self, flow: FlowSlot, back: Option<(Route, ClassId)>) {
        self.parts.iter_mut().for_each(|net| net.notified.open(flow, back));
    }

    /// Looks at a port.
    #[inline]
    pub fn look(&self, port: PortId) -> Look<'_> {
        self.of(port).look(port)
    }

    /// The data of a flow takes another route from now on.
    pub fn reroute_notified(&mut self, flow: FlowSlot, back: Route) {
        self.parts.iter_mut().for_each(|net| net.notified.reroute(flow, back));
    }

    /// Both ends of a flow are done: it is notified no more.
    pub fn end_notified(&mut self, flow: FlowSlot) {
        self.parts.iter_mut().for_each(|net| net.notified.end(flow));
    }

    /// Returns the recorder of traces, if there are any. A run with traces has one part.
    pub fn tap(&mut self) -> Option<&mut Recorder> {
        self.parts[0].tap.as_deref_mut()
    }

    /// Takes the recorder of traces out, if there are any.
    pub fn take_tap(&mut self) -> Option<Box<Recorder>> {
        self.parts[0].tap.take()
    }

    /// Returns the shortest delay of a link between parts, if there is one.
    pub fn lookahead(&self) -> Option<Span> {
        let crossing = |net: &Network| {
            let ports = net.ports.iter().filter(|out| out.special.leads_to.is_some());
            ports.map(|out| out.delay).min()
        };
        self.parts.iter().filter_map(crossing).min()
    }

    /// Hands over what parts have sent each other. The boxes only change places; each part opens its own.
    pub fn exchange(&mut self) {
        for from in 0..self.parts.len() {
            let has_sent = |exchange: &mut Exchange| std::mem::take(&mut exchange.has_sent);
            if !self.parts[from].exchange.as_mut().is_some_and(has_sent) {
                continue;
            }
            for to in (0..self.parts.len()).filter(|&to| to != from) {
                let Ok([from_part, to_part]) = self.parts.get_disjoint_mut([from, to]) else { continue };
                if let (Some(sender), Some(receiver)) = (&mut from_part.exchange, &mut to_part.exchange) {
                    receiver.receive(to, from, sender);
                }
            }
        }
    }

    /// Takes in what parts have handed over and not yet taken in, after the last event of a run.
    pub fn settle(&mut self) {
        self.parts.iter_mut().for_each(Network::open_inboxes);
    }

    /// Returns the time of the first event, or of the first arrival that a part has yet to hear of.
    pub fn next_at(&self) -> Option<Time> {
        let waiting = |net: &Network| net.exchange.as_ref().and_then(|exchange| exchange.first);
        self.parts.iter().flat_map(|net| [net.agenda.next_at(), waiting(net)]).flatten().min()
    }

    /// Returns the number of packets put on links.
    pub fn link_transmissions(&self) -> u64 {
        self.parts.iter().map(looks::link_transmissions).sum()
    }

    /// Returns the number of packets put on links, those included that wait at plain ports.
    pub fn launched(&self) -> u64 {
        self.parts.iter().map(|net| net.launched).sum()
    }

    /// Returns the number of congestion notification packets that entered the network.
    pub fn cnps(&self) -> u64 {
        self.parts.iter().map(|net| net.books.cnps).sum()
    }

    /// Returns the time at which a packet last left the network, or an end came to need nothing more.
    pub fn left_at(&self) -> Time {
        self.parts.iter().map(|net| net.left_at).max().unwrap_or(Time::ZERO)
    }

    /// Returns the books of all parts together.
    pub fn books(&self) -> Books {
        self.parts.iter().fold(Books::default(), |sum, net| sum.plus(&net.books))
    }

    /// Returns the books of all parts together, closed now.
    ///
    /// # Errors
    /// Says which of them do not balance.
    pub fn close_books(&self) -> Result<(Books, [Lines; 3]), String> {
        let books = self.books();
        let slabs: Vec<_> = self.parts.iter().map(|net| &net.slab).collect();
        let frames = self.controls().map(FlowControl::frames_in_flight).sum();
        Ok((books, books.close(&slabs, frames)?))
    }

    /// Starts the greatest lengths of all queues anew, and returns those so far, port by port.
    pub fn restart_maxima(&mut self) -> Vec<u64> {
        let mut before = Vec::new();
        self.ports().for_each(|port| looks::restart_maxima(self.of_mut(port), port, &mut before));
        before
    }

    /// Raises the greatest lengths of all queues to those that [`Networks::restart_maxima`] returned.
    pub fn raise_maxima(&mut self, before: &[u64]) {
        let mut before = before.iter().copied();
        self.ports().for_each(|port| looks::raise_maxima(self.of_mut(port), port, &mut before));
    }

    fn controls(&self) -> impl Iterator<Item = &FlowControl> {
        self.parts.iter().filter_map(|net| net.memory.control())
    }

    /// Returns the flow control of all parts as one, where there is any.
    fn control(&self) -> Option<FlowControl> {
        let first = self.controls().next()?.clone();
        Some(self.controls().skip(1).fold(first, |sum, part| sum.joined(part)))
    }

    /// Returns the number of times that flow control stopped a class of a port, and the time for which any was stopped;
    /// `None` where there is no flow control.
    #[inline]
    pub fn stopped(&self, port: PortId) -> Option<(u64, Span)> {
        // All parts have flow control, or none has.
        self.parts[0].memory.control()?;
        let of_part = |control: &FlowControl| control.stopped(port, self.now());
        self.controls().map(of_part).reduce(|a, b| (a.0 + b.0, a.1 + b.1))
    }

    /// Returns the work of flow control so far, where there is any.
    pub fn flow_control(&self, topology: &Topology) -> Option<FlowControlSummary> {
        let control = self.control()?;
        Some(control.summary(&self.deadlocked(&control), topology, self.now()))
    }

    /// Looks for ports that are stopped for too long. Returns whether any port is stopped.
    pub fn watch(&mut self) -> bool {
        let now = self.now();
        let controls = self.parts.iter_mut().filter_map(|net| net.memory.control_mut());
        controls.map(|control| control.watch(now)).fold(false, |any, stopped| any | stopped)
    }

    /// Returns whether ports wait for each other in a circle. That is a look at all of them, so it is taken only where
    /// one has waited for long.
    pub fn is_deadlocked(&self) -> bool {
        self.controls().any(|control| control.has_waited_long(self.now()))
            && self.control().is_some_and(|control| !self.deadlocked(&control).is_empty())
    }

    /// Returns the classes of ports that are stopped for ever, in order of ports.
    fn deadlocked(&self, control: &FlowControl) -> Vec<Wait> {
        let mut waits = Vec::new();
        for port in self.ports().filter(|&port| !self.port(port).paused.is_empty()) {
            let switch = self.port(port.reverse()).owner;
            // Where nothing is asked any more, the frame that lets the port go on is under way.
            let stopped = self.port(port).paused.and(control.wanted(port));
            for class in stopped.iter() {
                let holds = |other: &PortId| {
                    self.port(*other).owner == switch
                        && pause::holds_from(self.of(*other), *other, class, port)
                };
                waits.push(Wait { port, class, at: self.ports().filter(holds).collect() });
            }
        }
        stuck(waits)
    }
}

impl Network {
    fn outbox(&mut self, part: PartId) -> &mut Batch {
        let exchange = self.exchange.as_mut().expect("a link that leads away has boxes");
        exchange.outbox(part)
    }

    /// Puts a packet into the outbox of the part to which the link of a port leads.
    #[inline(never)]
    pub(super) fn hand_over(&mut self, part: PartId, port: PortId, at: Time, id: PacketId) {
        let routed = self.slab[id];
        let extra = routed.packet.flags.has(Flags::EXTRA).then(|| *self.slab.extra(id));
        self.slab.vacate(id);
        let outbox = self.outbox(part);
        outbox.push(Handover { port, at, what: Crossing::Packet });
        outbox.packets.push(routed);
        outbox.extras.extend(extra);
    }

    /// Puts a pause frame for a port into the outbox of the part where the port is.
    #[inline(never)]
    pub(super) fn hand_over_frame(
        &mut self,
        part: PartId,
        back: PortId,
        at: Time,
        link: PortId,
        frame: Frame,
    ) {
        let item = Handover { port: back, at, what: Crossing::Frame(link, frame) };
        self.outbox(part).push(item);
    }

    /// Takes in what came from other parts.
    pub fn open_inboxes(&mut self) {
        if self.exchange.as_ref().is_none_or(|exchange| exchange.first.is_none()) {
            return self.slab.release_vacated();
        }
        let Some(mut exchange) = self.exchange.take() else { return };
        exchange.first = None;
        for batch in &mut exchange.inboxes {
            let (mut packets, mut extras) = (batch.packets.drain(..), batch.extras.drain(..));
            for Handover { port, at, what } in batch.items.drain(..) {
                match what {
                    Crossing::Packet => {
                        let routed = packets.next().expect("kept beside the item");
                        let has_extra = routed.packet.flags.has(Flags::EXTRA);
                        let id = self.slab.take_in(routed);
                        if has_extra {
                            let extra = extras.next().expect("kept beside the packet");
                            self.slab.set_extra(id, Addition::New(&extra));
                        }
                        self.agenda.at_port(port, at, EventKind::Arrive(id));
                    }
                    Crossing::Frame(link, frame) => {
                        pause::accept_frame(self, link, frame);
                        self.agenda.at_port(port, at, EventKind::Pause(link));
                    }
                }
            }
        }
        self.exchange = Some(exchange);
        self.slab.release_vacated();
    }
}
