//! The paths of flows, now and while links are down.

use crate::ids::{Id, TrafficId};
use crate::model::Model;
use clearway_proto::mix;
use clearway_topology::routing::{PathSet, Policy, Routes};
use clearway_topology::{NodeId, PortId, Topology};

/// Finds the paths of flows.
#[derive(Clone)]
pub struct Router {
    routes: Routes,
    /// The routes as if no link ever failed: there a flow's packets go (and are lost) while its hosts are cut off.
    intact: Routes,
    seed: u64,
    policy: Policy,
    /// The ports that were found last, and those of the way back.
    found: Vec<PortId>,
    back: Vec<PortId>,
}

impl Router {
    /// Returns a router of a model, all of whose links work.
    pub fn new(model: &Model) -> Router {
        Router {
            routes: Routes::new(model.routing),
            intact: Routes::new(match model.routing {
                policy if policy.is_spread() => policy,
                _ => Policy::SymmetricEcmp,
            }),
            seed: model.seed,
            policy: model.routing,
            found: Vec::new(),
            back: Vec::new(),
        }
    }

    /// A link's direction fails or recovers.
    pub fn set_up(&mut self, topology: &Topology, port: PortId, up: bool) {
        self.routes.set_up(topology, port, up);
    }

    /// Returns the key by which a flow's paths are chosen: a mix of the seed, the traffic entry and the flow's number
    /// there; or the number alone, where the paths shall be those that the ExpressPass authors' ns-2 code hashes.
    pub fn key(&self, traffic: TrafficId, number: u64) -> u64 {
        match self.policy {
            Policy::Ns2Xpass => number + ((traffic.index() as u64) << 24),
            _ => mix(self.seed ^ identity(traffic, number)),
        }
    }

    /// Returns whether the paths back are those forth, backwards.
    pub fn is_symmetric(&self) -> bool {
        matches!(self.policy, Policy::SymmetricEcmp | Policy::Ns2Xpass)
    }

    /// Returns whether the packets of a flow may take any of the shortest paths, so that tables forward them.
    pub fn is_spread(&self) -> bool {
        self.policy.is_spread()
    }

    /// Returns the path from one host to another and the path back: those that the packets of a flow take or, where they may
    /// take several, the first of these. Paths are those of [`Router::find`].
    pub fn both_ways(&mut self, topology: &Topology, from: NodeId, to: NodeId, key: u64) -> [&[PortId]; 2] {
        let is_symmetric = self.is_symmetric();
        let Router { routes, intact, found, back, .. } = self;
        let mut first = |from, to, out: &mut Vec<PortId>| {
            routes
                .first_path(topology, from, to, key, out)
                .or_else(|_| intact.first_path(topology, from, to, key, out))
                .expect("a topology is connected");
        };
        first(from, to, found);
        if is_symmetric {
            back.clear();
            back.extend(found.iter().rev().map(|port| port.reverse()));
        } else {
            first(to, from, back);
        }
        [found, back]
    }

    /// Returns the ports that packets from one host to another may take if they are spread, each with the share of them that
    /// crosses it. Paths are those of [`Router::find`].
    pub fn shares(&mut self, topology: &Topology, from: NodeId, to: NodeId) -> Vec<(PortId, f64)> {
        let mut shares = Vec::new();
        self.routes
            .shares(topology, from, to, &mut shares)
            .or_else(|_| self.intact.shares(topology, from, to, &mut shares))
            .expect("a topology is connected");
        shares
    }

    /// Returns the paths from one host to another as they are now; or, while there are none, as they would be with all
    /// links up. Their ports stand one path after the other.
    pub fn find(&mut self, topology: &Topology, from: NodeId, to: NodeId, key: u64) -> (&[PortId], PathSet) {
        let Router { routes, intact, found, .. } = self;
        let set = routes
            .paths(topology, from, to, key, found)
            .or_else(|_| intact.paths(topology, from, to, key, found))
            .expect("a topology is connected");
        (found, set)
    }
}

/// Returns the identity of a flow, by its traffic entry and its number there; its place in memory has no part in it.
pub fn identity(traffic: TrafficId, number: u64) -> u64 {
    mix(mix(traffic.index() as u64) ^ number)
}
