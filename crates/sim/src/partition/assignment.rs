//! The part of each node, and the reasons for which a model runs on one thread.

use super::cut::{Cut, Graph};
use super::groups::Groups;
use super::load::Load;
use super::order::Order;
use super::refine::refine;
use crate::model::Model;
use clearway_topology::NodeId;
use clearway_units::Span;

/// An assignment of every host and switch to one of several parts, which threads can simulate beside each other.
///
/// Results don't depend on it. A packet that leaves for another part is handed over between two *windows*, the cells of a
/// grid of simulated time that are as wide as the shortest delay of a link ([`Partition::width`]).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Partition {
    part_of: Vec<u32>,
    parts: usize,
}

impl Partition {
    /// The partition into a single part.
    pub fn one(model: &Model) -> Partition {
        Partition { part_of: vec![0; model.topology.nodes().len()], parts: 1 }
    }

    /// Cuts the network of a model into so many parts with even shares of the expected load, and few packets between
    /// them. There are fewer where more would not make the heaviest lighter, and one where [`Partition::refusal`] has a
    /// reason. The same model gives the same partition.
    pub fn new(model: &Model, parts: usize) -> Partition {
        if parts <= 1 || Partition::refusal(model).is_some() {
            return Partition::one(model);
        }
        let topology = &model.topology;
        let groups = Groups::new(model);
        let graph = Graph::new(topology, &groups, &Load::new(model));
        // A part can't have less to do than the heaviest group, such as the switch of a star.
        let useful = (graph.total / graph.heaviest).ceil() as usize;
        let parts = parts.min(useful).min(groups.len()).max(1);
        let mut cut = Cut::new(&Order::new(topology), &groups, &graph, parts);
        refine(&mut cut, &graph);
        let part_of = (0..topology.nodes().len()).map(|node| cut.part_of[groups.of(node)]).collect();
        Partition::without_gaps(part_of)
    }

    /// Makes the partition in which the node of index `n` lies in the part `part_of[n]`.
    ///
    /// # Errors
    /// There is not a part for every node, a link without delay is cut, hosts that rounds couple lie in several parts, or
    /// the model runs on one thread only.
    pub fn of_parts(model: &Model, part_of: Vec<u32>) -> Result<Partition, String> {
        let nodes = model.topology.nodes().len();
        if part_of.len() != nodes {
            return Err(format!("{} parts are named for {nodes} nodes; name one for each", part_of.len()));
        }
        let partition = Partition::without_gaps(part_of);
        if partition.parts > 1
            && let Some(reason) = Partition::refusal(model)
        {
            return Err(reason.into());
        }
        let groups = Groups::new(model);
        for group in 0..groups.len() {
            let members = groups.members(group);
            let first = NodeId(members[0]);
            let is_apart = |node: &&u32| partition.part_of(NodeId(**node)) != partition.part_of(first);
            if let Some(&node) = members.iter().find(is_apart) {
                let name = |node| model.topology.name(node);
                return Err(format!(
                    "{} and {} must lie in one part: links without delay or rounds join them",
                    name(first),
                    name(NodeId(node))
                ));
            }
        }
        Ok(partition)
    }

    /// Numbers parts from 0 in the order of their first nodes, so that no part is empty.
    fn without_gaps(mut part_of: Vec<u32>) -> Partition {
        let mut numbers = std::collections::BTreeMap::new();
        for part in &mut part_of {
            let next = numbers.len() as u32;
            *part = *numbers.entry(*part).or_insert(next);
        }
        Partition { part_of, parts: numbers.len().max(1) }
    }

    /// Returns the number of parts; none of them is empty.
    pub fn parts(&self) -> usize {
        self.parts
    }

    /// Returns the part of a node.
    #[inline]
    pub fn part_of(&self, node: NodeId) -> u32 {
        self.part_of[node.index()]
    }

    /// Returns the reason for which a model runs on one thread, if there is one.
    pub fn refusal(model: &Model) -> Option<&'static str> {
        if model.traffic.iter().any(|entry| entry.transport.needs().oracle) {
            Some("the transport `ideal` is told the fair shares of all flows at once")
        } else if !model.traces.is_empty() {
            Some("a trace notes the packets of all its ports in one order")
        } else if Partition::width(model).is_none() {
            Some("no link has a propagation delay")
        } else {
            None
        }
    }

    /// Returns the width of the windows of simulated time between which parts hand packets over: the shortest delay of a
    /// link, or `None` if no link has any. It is the same for every partition of a model.
    pub fn width(model: &Model) -> Option<Span> {
        model.topology.ports().iter().map(|port| port.delay).filter(|delay| !delay.is_zero()).min()
    }
}
