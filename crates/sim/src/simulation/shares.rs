//! Fair shares for senders that are told them: computed once for all that starts and ends at one instant.

use crate::ids::{FlowSlot, IdVec, TrafficId};
use crate::model::Model;
use crate::net::{Paths, Route};
use crate::oracle::Oracle;
use clearway_topology::PortId;
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
    /// Returns the shares of a model, yet without flows.
    pub fn new(model: &Model) -> Shares {
        let told: Vec<bool> = model.traffic.iter().map(|traffic| traffic.transport.needs().oracle).collect();
        let rates = model.topology.ports().iter().map(|port| port.rate);
        Shares { oracle: told.contains(&true).then(|| Oracle::new(rates)), told: told.into() }
    }

    /// Returns whether senders are told their shares at all.
    pub fn any(&self) -> bool {
        self.oracle.is_some()
    }

    /// Notes that a flow has something to send from now on, or that its paths changed. Returns whether the shares must be
    /// computed anew, which nobody has asked for yet.
    pub fn start(&mut self, slot: FlowSlot, traffic: TrafficId, route: Route, paths: &Paths) -> bool {
        let Some(oracle) = self.oracle.as_mut().filter(|_| self.told[traffic]) else { return false };
        let had_changed = oracle.has_changed();
        oracle.start(slot, paths.all(route).iter().copied(), route.count());
        !had_changed
    }

    /// Notes that all that a flow had to send is delivered. Returns the same as [`Shares::start`].
    pub fn stop(&mut self, slot: FlowSlot) -> bool {
        let Some(oracle) = &mut self.oracle else { return false };
        let had_changed = oracle.has_changed();
        oracle.stop(slot);
        !had_changed && oracle.has_changed()
    }

    /// Notes that a port has another rate from now on. Returns the same as [`Shares::start`].
    pub fn set_rate(&mut self, port: PortId, rate: Rate) -> bool {
        let Some(oracle) = &mut self.oracle else { return false };
        let had_changed = oracle.has_changed();
        oracle.set_rate(port, rate);
        !had_changed && oracle.has_changed()
    }

    /// Returns whether a flow has a share.
    pub fn has(&self, slot: FlowSlot) -> bool {
        self.oracle.as_ref().is_some_and(|oracle| oracle.is_active(slot))
    }

    /// Computes the shares. Returns the flows whose share changed, in the order of their start.
    pub fn changed(&mut self) -> Vec<(FlowSlot, Rate)> {
        let mut changed = Vec::new();
        if let Some(oracle) = &mut self.oracle {
            oracle.shares(|slot, rate| changed.push((slot, rate)));
        }
        changed
    }
}
