//! A run that goes on in other parts than those in which its checkpoint was taken.
//!
//! What happens does not depend on the parts, only the place of what is kept does. So everything comes to the part in which
//! its host or its port now lies, and what is added up over parts anyway comes to the first one.

use super::region::{Region, Regions};
use super::rounds::rounds_of;
use super::state::Simulation;
use crate::hosts::Hosts;
use crate::ids::{FlowSlot, HostId, TrafficId};
use crate::net::Networks;
use crate::net::recut::{Elsewhere, take_over};

/// Takes over the networks and regions of a checkpoint whose parts are other ones. Nothing has happened in the networks
/// and regions that the run has.
pub fn recut(sim: &mut Simulation, old: Networks, regions: Regions) {
    let part_of = |host: HostId| sim.nets.part_of(host.node());
    let mut agents = Vec::new();
    for (number, region) in regions.into_iter().enumerate() {
        let Region {
            hosts,
            rounds,
            model: _,
            notes,
            rtts,
            watches_rtt: _,
            is_prompt: _,
            // Set before each window.
            until: _,
            last,
            events,
            // It counts the events of one part. The watch begins anew.
            standstill: _,
        } = *region;
        let mut to: Vec<&mut Hosts> = sim.regions.iter_mut().map(|region| &mut region.hosts).collect();
        let was_there = |host: HostId| old.part_of(host.node()) == number;
        agents.push(hosts.hand_over(&mut to, was_there, part_of));
        for (traffic, state) in rounds.ids().zip(rounds).filter(|(_, state)| state.is_some()) {
            let part = sim.nets.part_of(rounds_of(&sim.model, traffic).client);
            sim.regions[part].rounds[traffic] = state;
        }
        // The whole run reads the notes of all parts, and adds up over them.
        let first = &mut sim.regions[0];
        first.notes.extend(notes);
        first.rtts.extend(rtts);
        first.last = first.last.max(last);
        first.events += events;
    }
    let live_flows = &sim.live_flows;
    let sender_of =
        |flow: FlowSlot| live_flows.get(flow).expect("a flow that has yet to start is alive").src.node();
    let client_of = |traffic: TrafficId| rounds_of(&sim.model, traffic).client;
    let elsewhere = Elsewhere { agents: &agents, sender_of: &sender_of, client_of: &client_of };
    take_over(&mut sim.nets, old, &sim.model.topology, &elsewhere);
}
