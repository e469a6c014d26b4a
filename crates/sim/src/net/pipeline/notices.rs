//! Congestion notification packets (CNPs) that mechanisms ask for: from the port that met congestion back to the sender, over the
//! links that the data took or, where packets are spread over paths, over any of them.

use super::entry::put_in;
use super::vote::{arm_mechanism, port_state};
use crate::ids::{ClassId, FlowSlot, MechanismId};
use crate::net::forward;
use crate::net::network::Network;
use crate::net::paths::Route;
use crate::net::slab::Addition;
use clearway_proto::{Extra, Header, Packet};
use clearway_topology::PortId;

/// The timer of a mechanism came: it may notify senders. Flows that ended are passed over.
pub fn wake_mechanism(net: &mut Network, mechanism: MechanismId) {
    let now = net.agenda.now;
    let port = net.mechanisms[mechanism].port;
    let state = port_state(net, &net.ports[port]);
    let at_work = &mut net.mechanisms[mechanism];
    if at_work.is_due(now) {
        at_work.protocol.on_timeout(state);
    }
    while let Some(name) = net.mechanisms[mechanism].protocol.poll_cnp(now) {
        if let Some((flow, back, class)) = net.notified.by_name(name) {
            let number = net.mechanisms[mechanism].cnps;
            let is_sent = send_cnp(net, port, number, flow, back, class);
            net.mechanisms[mechanism].cnps += u64::from(is_sent);
        }
    }
    arm_mechanism(net, mechanism);
}

/// Sends notification number `number` of a port of a switch to the sender of a flow; `back` is the reverse of the route of the
/// flow's data. Returns false, and sends nothing, if the flow has been given another path since.
fn send_cnp(
    net: &mut Network,
    port: PortId,
    number: u64,
    flow: FlowSlot,
    back: Route,
    class: ClassId,
) -> bool {
    let mut packet = Packet::control(Header::Cnp, net.cnp_wire, net.agenda.now);
    let Some(way) = forward::way_back(net, &mut packet, port, flow, back, number) else { return false };
    net.unseen.count(flow, 1);
    put_in(net, &packet, Addition::New(&Extra::None), flow, class, way);
    true
}
