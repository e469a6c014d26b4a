//! The nodes at which events are handled.

use crate::engine::{Agenda, Event, EventKind};
use crate::ids::{FlowSlot, TrafficId};
use clearway_topology::{NodeId, Topology};

/// Returns the node at which an event of an agenda is handled. Of flows that have yet to start and of rounds only the run knows it:
/// `sender_of` tells the host that sends a flow, `client_of` the client of the rounds of a traffic entry.
pub fn node_of(
    event: &Event,
    agenda: &Agenda,
    topology: &Topology,
    sender_of: impl Fn(FlowSlot) -> NodeId,
    client_of: impl Fn(TrafficId) -> NodeId,
) -> NodeId {
    match event.kind() {
        EventKind::Arrive(_) => topology.port(event.port()).to,
        EventKind::Wake(port) | EventKind::Pause(port) => topology.port(port).from,
        EventKind::MechanismTimer(_) => topology.port(event.port()).from,
        EventKind::Handle(_)
        | EventKind::SenderTimer(_)
        | EventKind::ReceiverTimer(_)
        | EventKind::AgentTimer(_) => agenda.host_of(event).node(),
        EventKind::Traffic(traffic) => client_of(traffic),
        EventKind::Start(flow) => sender_of(flow),
    }
}
