//! Notifications of congestion that switches send: from the port that met it back to the sender, over the links that
//! the data took.

use super::{ENDED, NONE, Network, Route, Slot};
use crate::engine::{Event, What};
use clearway_proto::{Header, Packet};

impl Network {
    /// Names a flow so that the name is never used again, though its place is.
    fn name_of(&self, flow: u32) -> u64 {
        (self.flow_births[flow as usize] as u64) << 32 | flow as u64
    }

    /// Shows a packet that arrived at a port to what the port does besides queueing.
    pub(super) fn meet_mechanism(&mut self, port: u32, index: u32) {
        let state = self.port_state(port);
        let slot = self.slab.get(index);
        let flow = self.name_of(slot.flow);
        let number = self.ports[port as usize].at_arrival;
        self.mechanisms[number as usize].what.on_arrival(&slot.packet, flow, state);
        self.arm_mechanism(number);
    }

    /// Sees to it that a mechanism is woken when it wants to be.
    fn arm_mechanism(&mut self, number: u32) {
        let mechanism = &mut self.mechanisms[number as usize];
        if let Some(at) = mechanism.timer.arm(mechanism.what.next_timeout(), self.now) {
            self.wheel.push(Event::new(at, mechanism.port, What::PortTimer(number)));
        }
    }

    /// The timer of a mechanism came. Afterwards [`Network::poll_notice`] is called until it answers `None`.
    pub fn wake_mechanism(&mut self, number: u32) {
        let port = self.mechanisms[number as usize].port;
        let state = self.port_state(port);
        let mechanism = &mut self.mechanisms[number as usize];
        if mechanism.timer.fires(self.now) && mechanism.what.next_timeout() <= self.now {
            mechanism.what.on_timeout(state);
        }
    }

    /// The flow that a port notifies next, and the port; flows that ended are passed over.
    pub fn poll_notice(&mut self, number: u32) -> Option<(u32, u32)> {
        loop {
            let mechanism = &mut self.mechanisms[number as usize];
            let Some(name) = mechanism.what.poll_cnp(self.now) else {
                self.arm_mechanism(number);
                return None;
            };
            let (flow, port) = (name as u32, mechanism.port);
            if self.name_of(flow) == name && self.flow_packets[flow as usize] & ENDED == 0 {
                return Some((flow, port));
            }
        }
    }

    /// Sends a notification from a port of a switch to the sender of a flow, whose way back is `route`.
    pub fn send_notice(&mut self, port: u32, flow: u32, route: Route, class: u8) {
        let hops = route.hops as usize;
        let back = self.ports_of(route).chunks(hops.max(1)).enumerate();
        // On the way back the reverse of `port` leads to its switch; what follows leads on to the sender.
        let at = |path: &[clearway_topology::PortId]| path.iter().position(|hop| hop.reverse().0 == port);
        let Some((path, at)) = back.filter_map(|(number, path)| Some((number, at(path)?))).next() else {
            // The flow has been given another path since.
            return;
        };
        let packet = Packet::control(Header::Cnp, self.notice_wire, self.now);
        let first = route.base + (path * hops + at + 1) as u32;
        let left = (hops - at - 1) as u8;
        debug_assert!(left > 0, "a switch lies between the two hosts");
        self.books.sent.add(&packet);
        self.notices += 1;
        self.flow_packets[flow as usize] += 1;
        let slot =
            Slot { packet, flow, route: first + 1, next: NONE, hops: left - 1, class, class_at_host: class };
        let index = self.slab.insert(slot);
        let out = self.paths[first as usize].0;
        self.send(out, index);
    }
}
