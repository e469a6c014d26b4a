//! The paths of flows, now and while links are down.

use crate::ids::{Id, TrafficId};
use crate::model::Model;
use crate::net::Tables;
use clearway_proto::mix;
use clearway_topology::routing::{PathSet, Policy, Routes, Stages};
use clearway_topology::{NodeId, PortId, Topology};

/// Finds the paths of flows.
#[derive(Clone)]
pub struct Router {
    routes: Routes,
    /// The routes as if no link ever failed: there a flow's packets go (and are lost) while its hosts are cut off.
    intact: Routes,
    /// Set once routing has noticed that a link failed.
    has_changed: bool,
    seed: u64,
    policy: Policy,
    /// The ports that were found last, and those of the way back.
    found: Vec<PortId>,
    back: Vec<PortId>,
    /// The ports of all paths that were found last.
    stages: Stages,
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
            has_changed: false,
            seed: model.seed,
            policy: model.routing,
            found: Vec::new(),
            back: Vec::new(),
            stages: Stages::default(),
        }
    }

    /// A link's direction fails or recovers.
    pub fn set_up(&mut self, topology: &Topology, port: PortId, up: bool) {
        self.routes.set_up(topology, port, up);
        self.has_changed = true;
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

    /// Returns the ports of all paths from one host to another on which packets are spread, by their distance from it. Paths are
    /// those of [`Router::find`], or more where these are a selection. `tables` forward the packets.
    pub fn stages(&mut self, tables: &Tables, topology: &Topology, from: NodeId, to: NodeId) -> &Stages {
        let Router { routes, intact, stages, has_changed, .. } = self;
        // Where a host is cut off, tables lead as far as they can.
        if !*has_changed && tables.stages(topology, from, to, stages) {
            return stages;
        }
        routes
            .stages(topology, from, to, stages)
            .or_else(|_| intact.stages(topology, from, to, stages))
            .expect("a topology is connected");
        stages
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

#[cfg(test)]
mod tests {
    use super::*;
    use clearway_topology::LeafSpine;

    const POLICIES: [Policy; 7] = [
        Policy::SymmetricEcmp,
        Policy::Ecmp,
        Policy::Ns2Xpass,
        Policy::Spray,
        Policy::Entropy,
        Policy::Source,
        Policy::Adaptive,
    ];

    /// Two leaves of two hosts each below two spines, and the router of a policy.
    fn leaves(policy: Policy) -> (Model, Router) {
        let tree = LeafSpine { leaves: 2, spines: 2, hosts_per_leaf: 2, ..LeafSpine::default() };
        let mut model = crate::ports::network_for(tree.build().unwrap(), []).unwrap();
        model.routing = policy;
        let router = Router::new(&model);
        (model, router)
    }

    #[test]
    fn packets_are_spread_and_paths_are_symmetric_by_the_policies_that_say_so() {
        let all = POLICIES.map(|policy| leaves(policy).1);
        assert_eq!(all.each_ref().map(Router::is_spread), [false, false, false, true, true, true, true]);
        assert_eq!(all.each_ref().map(Router::is_symmetric), [true, false, true, false, false, false, false]);
    }

    #[test]
    fn a_key_depends_on_seed_entry_and_number_or_is_the_number_that_ns_2_hashes() {
        let entry = TrafficId::from_index;
        let (mut model, router) = leaves(Policy::Ecmp);
        let key = router.key(entry(0), 5);
        assert!(key != router.key(entry(1), 5) && key != router.key(entry(0), 6));
        assert_eq!(key, mix(model.seed ^ identity(entry(0), 5)));
        model.seed += 1;
        assert_ne!(key, Router::new(&model).key(entry(0), 5));
        let ns2 = leaves(Policy::Ns2Xpass).1;
        assert_eq!([ns2.key(entry(0), 5), ns2.key(entry(2), 5)], [5, (2 << 24) + 5]);
    }

    #[test]
    fn the_way_back_is_the_way_forth_backwards_where_paths_are_symmetric_and_else_has_a_choice_of_its_own() {
        for policy in [Policy::SymmetricEcmp, Policy::Ecmp] {
            let (model, mut router) = leaves(policy);
            let is_backwards = |key| {
                let [forth, back] = router.both_ways(&model.topology, NodeId(0), NodeId(3), key);
                assert_eq!((forth.len(), back.len()), (4, 4));
                let owners = |ports: &[PortId]| [ports[0], ports[3]].map(|port| model.topology.port(port));
                assert_eq!([owners(forth)[0].from, owners(forth)[1].to], [NodeId(0), NodeId(3)]);
                assert_eq!([owners(back)[0].from, owners(back)[1].to], [NodeId(3), NodeId(0)]);
                back.iter().rev().map(|port| port.reverse()).eq(forth.iter().copied())
            };
            let count = (0..64).map(mix).map(is_backwards).filter(|is| *is).count();
            // Of two spines, a way back that is chosen by itself takes the same in about half of the cases.
            let expected = if policy == Policy::Ecmp { 16..49 } else { 64..65 };
            assert!(expected.contains(&count), "{policy:?}: {count} of 64");
        }
    }

    #[test]
    fn a_flow_whose_host_is_cut_off_keeps_the_paths_of_the_whole_network_and_others_avoid_what_is_down() {
        for policy in [Policy::SymmetricEcmp, Policy::Spray] {
            let (model, mut router) = leaves(policy);
            let topology = &model.topology;
            let count =
                |router: &mut Router, from, to| router.find(topology, NodeId(from), NodeId(to), 0).1.count;
            let ports = |router: &mut Router, to| {
                let shares = router.shares(topology, NodeId(0), NodeId(to));
                shares.iter().map(|(port, _)| *port).collect::<Vec<_>>()
            };
            let all = ports(&mut router, 3);
            let up = topology.port_between(topology.node("leaf0").unwrap(), topology.node("spine0").unwrap());
            router.set_up(topology, up.unwrap(), false);
            assert!(!ports(&mut router, 3).contains(&up.unwrap()) && all.contains(&up.unwrap()));
            assert!(!router.both_ways(topology, NodeId(0), NodeId(3), 7)[0].contains(&up.unwrap()));
            router.set_up(topology, up.unwrap(), true);
            let before = count(&mut router, 0, 3);
            router.set_up(topology, topology.ports_of(NodeId(0))[0], false);
            assert_eq!(ports(&mut router, 3), all);
            assert_eq!(count(&mut router, 0, 3), before);
            assert_eq!(router.both_ways(topology, NodeId(0), NodeId(3), 7)[0].len(), 4);
        }
    }
}
