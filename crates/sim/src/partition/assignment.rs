//! The part of each node, and the reasons for which a model runs on one thread.

use super::blocks;
use super::cut::{Cut, Graph};
use super::groups::Groups;
use super::load::Load;
use super::order::Order;
use super::refine::refine;
use crate::model::{Model, Traffic};
use clearway_topology::{NodeId, Port};
use clearway_units::Span;

/// The smallest delay with which a link may be cut.
const SHORTEST: Span = Span::from_ps(1);
/// The most shortest delays of links between parts that are tried.
const FLOORS: usize = 6;
/// The load of the heaviest part that wider windows may cost, as a multiple of what it would be without them.
const UNEVEN: f64 = 1.02;

/// An assignment of every host and switch to one of several parts, which threads can simulate beside each other.
///
/// Results don't depend on it. A packet that leaves for another part is handed over between two *windows* of simulated
/// time, which are as wide as the shortest delay of a link between parts ([`Partition::lookahead`]).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Partition {
    part_of: Vec<u32>,
    parts: usize,
    /// The block of each node.
    block_of: Vec<u32>,
    blocks: usize,
}

impl Partition {
    /// Returns the partition into a single part, in as many blocks as one thread is expected to be fastest with.
    pub fn one(model: &Model) -> Partition {
        let blocks = blocks::wanted(model, Partition::width(model));
        if blocks > 1 { Partition::cut(model, blocks).in_blocks() } else { Partition::whole(model) }
    }

    /// Returns the partition into a single part that is a single block.
    pub fn whole(model: &Model) -> Partition {
        Partition::apart(vec![0; model.topology.nodes().len()], 1)
    }

    /// A partition into parts each of which is one block.
    fn apart(part_of: Vec<u32>, parts: usize) -> Partition {
        let block_of = vec![0; part_of.len()];
        Partition { part_of, parts, block_of, blocks: 1 }
    }

    /// Makes a single part of which the present parts are the blocks.
    pub fn in_blocks(self) -> Partition {
        let Partition { part_of: block_of, parts: blocks, .. } = self;
        Partition { part_of: vec![0; block_of.len()], parts: 1, block_of, blocks }
    }

    /// Cuts the network of a model into so many parts with even shares of the expected load, few packets between them,
    /// and wide windows. There are fewer parts where more would not make the heaviest lighter, and one where
    /// [`Partition::refusal`] has a reason. The same model gives the same partition.
    pub fn new(model: &Model, parts: usize) -> Partition {
        let cut = (parts > 1).then(|| Partition::cut(model, parts)).filter(|cut| cut.parts > 1);
        cut.unwrap_or_else(|| Partition::one(model))
    }

    /// As [`Partition::new`], with parts that are one block each.
    fn cut(model: &Model, parts: usize) -> Partition {
        let delays = delays(model);
        let Some(shortest) = delays.first().filter(|_| Partition::refusal(model).is_none()) else {
            return Partition::whole(model);
        };
        let (load, order) = (Load::new(model), Order::new(&model.topology));
        let (mut best, heaviest) = cut(model, &load, &order, *shortest, parts);
        // Cuts through long links alone make windows wider. They are taken if that leaves loads as even.
        let step = delays.len().div_ceil(FLOORS);
        for &floor in delays[1..].iter().step_by(step) {
            let (wider, its_heaviest) = cut(model, &load, &order, floor, parts);
            if its_heaviest > heaviest * UNEVEN {
                break;
            }
            best = wider;
        }
        best
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
        let groups = Groups::new(model, SHORTEST);
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
        Partition::apart(part_of, numbers.len().max(1))
    }

    /// Returns the number of parts; none of them is empty.
    pub fn parts(&self) -> usize {
        self.parts
    }

    /// Returns the number of blocks through which the thread of the only part goes in turn; 1 if there are several parts.
    pub fn blocks(&self) -> usize {
        self.blocks
    }

    /// Returns the block of each node.
    pub fn block_of(&self) -> &[u32] {
        &self.block_of
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
        } else if model.traffic.iter().any(Traffic::opens_anew) {
            Some("rounds open new connections in the instant in which the last ones end")
        } else if Partition::width(model).is_none() {
            Some("no link has a propagation delay")
        } else {
            None
        }
    }

    /// Returns the shortest delay of a link between two parts, which is the width of the windows of simulated time in which
    /// parts need not hear of each other. `None` if there is a single part.
    pub fn lookahead(&self, model: &Model) -> Option<Span> {
        let cut = |port: &&Port| self.part_of(port.from) != self.part_of(port.to);
        model.topology.ports().iter().filter(cut).map(|port| port.delay).min()
    }

    /// Returns the shortest delay of any link, or `None` if no link has any. It bounds the lookahead of every partition
    /// of a model.
    pub fn width(model: &Model) -> Option<Span> {
        model.topology.ports().iter().map(|port| port.delay).filter(|delay| !delay.is_zero()).min()
    }
}

/// Cuts a network without cutting links whose delay is below `floor`. Returns the load of the heaviest part too.
fn cut(model: &Model, load: &Load, order: &Order, floor: Span, parts: usize) -> (Partition, f64) {
    let topology = &model.topology;
    let groups = Groups::new(model, floor);
    let graph = Graph::new(topology, &groups, load);
    // A part can't have less to do than the heaviest group, such as the switch of a star.
    let useful = (graph.total / graph.heaviest).ceil() as usize;
    let parts = parts.min(useful).min(groups.len()).max(1);
    let mut cut = Cut::new(order, &groups, &graph, parts);
    refine(&mut cut, &graph);
    let part_of = (0..topology.nodes().len()).map(|node| cut.part_of[groups.of(node)]).collect();
    (Partition::without_gaps(part_of), cut.loads.iter().copied().fold(0.0, f64::max))
}

/// Returns the delays of a model's links without zero, each once, from the shortest on.
fn delays(model: &Model) -> Vec<Span> {
    let mut delays: Vec<Span> = model.topology.ports().iter().map(|port| port.delay).collect();
    delays.sort_unstable();
    delays.dedup();
    delays.retain(|delay| !delay.is_zero());
    delays
}
