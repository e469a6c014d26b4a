//! Fair shares for senders that are told them: computed once for all that starts and ends at one instant.

use crate::engine::{Agenda, EventKind};
use crate::hosts::Flow;
use crate::ids::{FlowSlot, IdVec, TrafficId};
use crate::model::Model;
use crate::net::Paths;
use crate::oracle::Oracle;
use clearway_units::Rate;
use serde::{Deserialize, Serialize};

/// The oracle of a run, and the traffic entries whose senders it tells their shares.
#[derive(Serialize, Deserialize)]
pub struct Shares {
    /// The oracle; `None` if no transport wants to know fair shares.
    oracle: Option<Oracle>,
    /// Set for traffic entries whose senders are told.
    told: IdVec<TrafficId, bool>,
}

impl Shares {
    /// The shares of a model, yet without flows.
    pub fn new(model: &Model) -> Shares {
        let told: Vec<bool> = model.traffic.iter().map(|traffic| traffic.transport.needs().oracle).collect();
        let rates = model.topology.ports().iter().map(|port| port.rate);
        Shares { oracle: told.contains(&true).then(|| Oracle::new(rates)), told: told.into() }
    }

    /// Notes that a flow has something to send from now on, or that its paths changed.
    pub fn start(&mut self, slot: FlowSlot, flow: &Flow, paths: &Paths, agenda: &mut Agenda) {
        let Some(oracle) = self.oracle.as_mut().filter(|_| self.told[flow.traffic]) else { return };
        let had_changed = oracle.has_changed();
        let route = flow.sending.route;
        oracle.start(slot, paths.all(route).iter().copied(), route.count());
        if !had_changed {
            agenda.outside(agenda.now, EventKind::Shares);
        }
    }

    /// Notes that all that a flow had to send is delivered.
    pub fn stop(&mut self, slot: FlowSlot, agenda: &mut Agenda) {
        let Some(oracle) = &mut self.oracle else { return };
        let had_changed = oracle.has_changed();
        oracle.stop(slot);
        if !had_changed && oracle.has_changed() {
            agenda.outside(agenda.now, EventKind::Shares);
        }
    }

    /// Answers whether a flow has a share.
    pub fn has(&self, slot: FlowSlot) -> bool {
        self.oracle.as_ref().is_some_and(|oracle| oracle.is_active(slot))
    }

    /// Computes the shares. Answers the flows whose share changed, in the order of their start.
    pub fn changed(&mut self) -> Vec<(FlowSlot, Rate)> {
        let mut changed = Vec::new();
        if let Some(oracle) = &mut self.oracle {
            oracle.shares(|slot, rate| changed.push((slot, rate)));
        }
        changed
    }
}
