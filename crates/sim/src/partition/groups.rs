//! Groups of nodes that lie in one part: the ends of links that are too short to be cut, and hosts that rounds couple.

use crate::model::{Model, Pattern};
use clearway_units::Span;

/// The group of each node. Groups are numbered by their first node.
#[derive(Debug)]
pub struct Groups {
    of: Vec<u32>,
    members: Vec<Vec<u32>>,
}

impl Groups {
    /// Returns the groups of a model where the ends of each link with a delay below `floor` are one group. So are the
    /// client and the workers of rounds, whose application acts on all of them at once.
    pub fn new(model: &Model, floor: Span) -> Groups {
        let mut sets = Sets::new(model.topology.nodes().len());
        for port in model.topology.ports().iter().step_by(2).filter(|port| port.delay < floor) {
            sets.join(port.from.index(), port.to.index());
        }
        for entry in &model.traffic {
            if let Pattern::Rounds(rounds) = &entry.pattern {
                rounds.workers.iter().for_each(|worker| sets.join(rounds.client.index(), worker.index()));
            }
        }
        let mut number = vec![u32::MAX; sets.parent.len()];
        let (mut of, mut members) = (Vec::with_capacity(number.len()), Vec::<Vec<u32>>::new());
        for node in 0..number.len() {
            let root = sets.root(node);
            if number[root] == u32::MAX {
                number[root] = members.len() as u32;
                members.push(Vec::new());
            }
            of.push(number[root]);
            members[number[root] as usize].push(node as u32);
        }
        Groups { of, members }
    }

    /// Returns the number of groups.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Returns the group of a node.
    pub fn of(&self, node: usize) -> usize {
        self.of[node] as usize
    }

    /// Returns the nodes of a group, in order.
    pub fn members(&self, group: usize) -> &[u32] {
        &self.members[group]
    }
}

/// Disjoint sets of nodes, which can be joined.
#[derive(Debug)]
pub struct Sets {
    parent: Vec<u32>,
}

impl Sets {
    /// Makes a set of each node.
    pub fn new(nodes: usize) -> Sets {
        Sets { parent: (0..nodes as u32).collect() }
    }

    /// Joins the sets of two nodes.
    pub fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        // The lower root stays, so that a set is known by its first node.
        self.parent[a.max(b)] = a.min(b) as u32;
    }

    /// Returns the first node of a node's set.
    pub fn root(&mut self, node: usize) -> usize {
        let mut at = node;
        while self.parent[at] as usize != at {
            let above = self.parent[self.parent[at] as usize];
            self.parent[at] = above;
            at = above as usize;
        }
        at
    }
}
