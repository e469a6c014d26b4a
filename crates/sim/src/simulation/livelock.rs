//! Livelock: the end of a run in which events follow each other at one instant without end, and what they are, in words.

use super::state::Simulation;
use crate::engine::EventKind;
use crate::ids::{FlowSlot, Id};
use crate::metrics::{Ended, Livelock};
use crate::net::divide::agendas;

/// Ends the run if time stands still in a region, or among the global events. Returns whether it does.
pub fn ends_livelocked(sim: &mut Simulation) -> bool {
    let (at, what) = if let Some(part) = sim.regions.iter().position(|region| region.stands_still()) {
        let at = sim.regions[part].last;
        let mut pending = agendas(sim.nets.part(part)).filter_map(|agenda| agenda.peek(0));
        let next = pending.find(|event| event.at() == at);
        (at, next.map_or_else(|| "events of several kinds".into(), |event| told(sim, part, event.kind())))
    } else if sim.standstill.is_reached() {
        let next = sim.global_events.first();
        (sim.last, next.map_or_else(String::new, |(_, next)| next.told(&sim.model)))
    } else {
        return false;
    };
    sim.livelock = Some(Livelock { at, what });
    sim.ended = Some(Ended::Livelocked);
    true
}

/// Returns an event of a part in words.
fn told(sim: &Simulation, part: usize, kind: EventKind) -> String {
    let net = sim.nets.part(part);
    let of_packet = |id| format!("of packets of {}", told_flow(sim, net.slab[id].flow));
    match kind {
        EventKind::Arrive(id) => format!("arrivals {}", of_packet(id)),
        EventKind::Handle(id) => format!("the processing {}", of_packet(id)),
        EventKind::Wake(port) => format!("wake-ups of port {}", sim.model.topology.port_name(port)),
        EventKind::Pause(port) => {
            format!("pause frames for port {}", sim.model.topology.port_name(port))
        }
        EventKind::SenderTimer(slot) => format!("the timer of the sender of {}", told_flow(sim, slot)),
        EventKind::ReceiverTimer(slot) => {
            format!("the timer of the receiver of {}", told_flow(sim, slot))
        }
        EventKind::Start(slot) => format!("the start of {}", told_flow(sim, slot)),
        EventKind::Traffic(traffic) => {
            format!("rounds of {}", sim.model.traffic[traffic.index()].told())
        }
        EventKind::AgentTimer(_) => "the timer of an agent of a host".into(),
        EventKind::MechanismTimer(_) => "the timer of a port's mechanism".into(),
    }
}

/// Returns a flow in words.
fn told_flow(sim: &Simulation, slot: FlowSlot) -> String {
    let Some(live) = sim.live_flows.get(slot) else { return "a flow that has ended".into() };
    let [src, dst] = [live.src, live.dst].map(|host| sim.model.topology.name(host.node()));
    let name = live.name();
    let traffic = sim.model.traffic[name.traffic.index()].told();
    format!("flow {} ({src} to {dst}) of {traffic}", name.number)
}
