//! Livelock: the end of a run in which events follow each other at one instant without end, and what they are, in words.

use super::run::Simulation;
use crate::engine::EventKind;
use crate::ids::{FlowSlot, Id};
use crate::metrics::{Ended, Livelock};

impl Simulation {
    /// Ends the run if time stands still in a region, or among the global events. Returns whether it does.
    pub(super) fn ends_livelocked(&mut self) -> bool {
        let (at, what) = if let Some(part) = self.regions.iter().position(|region| region.stands_still()) {
            let next = self.nets.part(part).agenda.peek(0);
            let at = self.regions[part].last;
            let next = next.filter(|event| event.at() == at);
            (at, next.map_or_else(|| "events of several kinds".into(), |event| self.told(part, event.kind())))
        } else if self.standstill.is_reached() {
            let next = self.global_events.first();
            (self.last, next.map_or_else(String::new, |(_, next)| next.told(&self.model)))
        } else {
            return false;
        };
        self.livelock = Some(Livelock { at, what });
        self.ended = Some(Ended::Livelocked);
        true
    }

    /// Returns an event of a part in words.
    fn told(&self, part: usize, kind: EventKind) -> String {
        let net = self.nets.part(part);
        let of_packet = |id| format!("of packets of {}", self.told_flow(net.slab[id].flow));
        match kind {
            EventKind::Arrive(id) => format!("arrivals {}", of_packet(id)),
            EventKind::Handle(id) => format!("the processing {}", of_packet(id)),
            EventKind::Wake(port) => format!("wake-ups of port {}", self.model.topology.port_name(port)),
            EventKind::Pause(port) => {
                format!("pause frames for port {}", self.model.topology.port_name(port))
            }
            EventKind::SenderTimer(slot) => format!("the timer of the sender of {}", self.told_flow(slot)),
            EventKind::ReceiverTimer(slot) => {
                format!("the timer of the receiver of {}", self.told_flow(slot))
            }
            EventKind::Start(slot) => format!("the start of {}", self.told_flow(slot)),
            EventKind::Traffic(traffic) => {
                format!("rounds of {}", self.model.traffic[traffic.index()].told())
            }
            EventKind::AgentTimer(_) => "the timer of an agent of a host".into(),
            EventKind::MechanismTimer(_) => "the timer of a port's mechanism".into(),
        }
    }

    /// Returns a flow in words.
    fn told_flow(&self, slot: FlowSlot) -> String {
        let Some(live) = self.live_flows.get(slot) else { return "a flow that has ended".into() };
        let [src, dst] = [live.src, live.dst].map(|host| self.model.topology.name(host.node()));
        let name = live.name();
        let traffic = self.model.traffic[name.traffic.index()].told();
        format!("flow {} ({src} to {dst}) of {traffic}", name.number)
    }
}
