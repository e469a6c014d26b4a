//! Mechanisms at work, and the congestion notification packets (CNPs) that they send: from the port that met congestion
//! back to the sender: over the links that the data took or, where packets are spread over paths, over any of them.

use super::network::Network;
use super::paths::Route;
use super::slab::Addition;
use crate::engine::EventKind;
use crate::ids::{ClassId, FlowSlot, MechanismId, PacketId};
use clearway_proto::{Extra, Header, Packet};
use clearway_topology::PortId;

impl Network {
    /// Shows a packet that arrived at a port to the port's mechanism.
    #[inline(always)]
    pub(super) fn meet_mechanism(&mut self, port: PortId, mechanism: MechanismId, id: PacketId) {
        let state = self.port_state(&self.ports[port]);
        let routed = &self.slab[id];
        let flow = self.notified.name(routed.flow);
        if self.mechanisms[mechanism].protocol.on_arrival(&routed.packet, flow, state) {
            self.arm_mechanism(mechanism);
        }
    }

    #[inline(never)]
    fn arm_mechanism(&mut self, mechanism: MechanismId) {
        let now = self.now();
        let at_work = &mut self.mechanisms[mechanism];
        if let Some(at) = at_work.arm(now) {
            self.agenda.at_port(at_work.port, at, EventKind::MechanismTimer(mechanism));
        }
    }

    /// The timer of a mechanism came: it may notify senders. Flows that ended are passed over.
    pub fn wake_mechanism(&mut self, mechanism: MechanismId) {
        let now = self.now();
        let port = self.mechanisms[mechanism].port;
        let state = self.port_state(&self.ports[port]);
        let at_work = &mut self.mechanisms[mechanism];
        if at_work.is_due(now) {
            at_work.protocol.on_timeout(state);
        }
        while let Some(name) = self.mechanisms[mechanism].protocol.poll_cnp(now) {
            if let Some((flow, back, class)) = self.notified.by_name(name) {
                let number = self.mechanisms[mechanism].cnps;
                let is_sent = self.send_cnp(port, number, flow, back, class);
                self.mechanisms[mechanism].cnps += u64::from(is_sent);
            }
        }
        self.arm_mechanism(mechanism);
    }

    /// Sends notification number `number` of a port of a switch, to the sender of a flow; `back` is the reverse of the route
    /// of the flow's data. Returns false, and sends nothing, if the flow has been given another path since.
    fn send_cnp(&mut self, port: PortId, number: u64, flow: FlowSlot, back: Route, class: ClassId) -> bool {
        let mut packet = Packet::control(Header::Cnp, self.cnp_wire, self.now());
        let Some(way) = self.way_of_cnp(&mut packet, port, flow, back, number) else { return false };
        self.unseen.count(flow, 1);
        self.put_in(&packet, Addition::New(&Extra::None), flow, class, way);
        true
    }
}
