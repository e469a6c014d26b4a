//! The part of each node, and the reasons for which a model runs on one thread.

use super::blocks;
use super::cutter::{Cutter, ELSEWHERE, Pieces, number};
use super::groups::Groups;
use crate::model::{Model, Traffic};
use clearway_topology::{NodeId, Port};
use clearway_units::Span;

/// The smallest delay with which a link may be cut.
const SHORTEST: Span = Span::from_ps(1);

/// An assignment of every host and switch to one of several parts, which threads can simulate beside each other.
///
/// Results don't depend on it. A packet that leaves for another part is handed over between two *windows* of simulated
/// time, which are as wide as the shortest delay of a link between parts ([`Partition::lookahead`]).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Partition {
    part_of: Vec<u32>,
    parts: usize,
    /// The block of each node, within its part.
    block_of: Vec<u32>,
    /// The number of blocks of each part.
    blocks: Vec<usize>,
}

impl Partition {
    /// Returns the partition into a single part, in as many blocks as one thread is expected to be fastest with.
    pub fn one(model: &Model) -> Partition {
        Partition::new(model, 1)
    }

    /// Returns the partition into a single part that is a single block.
    pub fn whole(model: &Model) -> Partition {
        Partition::apart(Pieces { of: vec![0; model.topology.nodes().len()], count: 1 })
    }

    /// A partition into parts each of which is one block.
    fn apart(Pieces { of, count }: Pieces) -> Partition {
        Partition { block_of: vec![0; of.len()], blocks: vec![1; count], part_of: of, parts: count }
    }

    /// Makes a single part of which the present parts are the blocks.
    pub fn in_blocks(self) -> Partition {
        let Partition { part_of: block_of, parts: blocks, .. } = self;
        Partition { part_of: vec![0; block_of.len()], parts: 1, block_of, blocks: vec![blocks] }
    }

    /// Divides each part into blocks, which lie each in one part of another partition of the same model.
    pub fn divided_by(self, other: &Partition) -> Partition {
        self.divided(|part, part_of| {
            let block = |(node, &its)| if its == part { other.part_of[node] } else { ELSEWHERE };
            Pieces::without_gaps(part_of.iter().enumerate().map(block).collect())
        })
    }

    /// Divides each part into the blocks that `cut` makes of it, by its number and the parts of all nodes.
    fn divided(mut self, cut: impl Fn(u32, &[u32]) -> Pieces) -> Partition {
        for part in 0..self.parts as u32 {
            let made = cut(part, &self.part_of);
            self.blocks[part as usize] = made.count;
            let here = self.block_of.iter_mut().zip(&made.of).filter(|(_, block)| **block != ELSEWHERE);
            here.for_each(|(own, &block)| *own = block);
        }
        self
    }

    /// Cuts the network of a model into so many parts with even shares of the expected load, few packets between them,
    /// and wide windows, and each of them into as many blocks as its thread is expected to be fastest with. There are fewer
    /// parts where more would not make the heaviest lighter, and one where [`Partition::refusal`] has a reason. The same
    /// model gives the same partition.
    pub fn new(model: &Model, parts: usize) -> Partition {
        let (whole, width) = (Partition::whole(model), Partition::width(model));
        if Partition::refusal(model).is_some() || parts <= 1 && blocks::wanted(model, width, |_| true) == 1 {
            return whole;
        }
        let cutter = Cutter::new(model);
        let cut = if parts > 1 { Partition::apart(cutter.cut(|_| true, parts)) } else { whole };
        cut.divided(|part, part_of| {
            let is_here = |node: usize| part_of[node] == part;
            cutter.cut(is_here, blocks::wanted(model, width, is_here))
        })
    }

    /// Makes the partition in which the node of index `n` lies in the part `part_of[n]`.
    ///
    /// # Errors
    /// There is not a part for every node, a link without delay is cut, hosts that rounds couple lie in several parts, or
    /// the model runs on one thread only.
    pub fn of_parts(model: &Model, mut part_of: Vec<u32>) -> Result<Partition, String> {
        let nodes = model.topology.nodes().len();
        if part_of.len() != nodes {
            return Err(format!("{} parts are named for {nodes} nodes; name one for each", part_of.len()));
        }
        let count = number(part_of.iter_mut()).max(1);
        let partition = Partition::apart(Pieces { of: part_of, count });
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

    /// Returns the number of parts; none of them is empty.
    pub fn parts(&self) -> usize {
        self.parts
    }

    /// Returns the number of blocks of each part, through which its thread goes in turn.
    pub fn blocks(&self) -> &[usize] {
        &self.blocks
    }

    /// Returns the block of each node, within its part.
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
        } else if let Some(reason) = model.traffic.iter().find_map(Traffic::opens_at_ends) {
            Some(reason)
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
