//! Cuts of a network, or of a part of it, into pieces of even load.

use super::cut::{Cut, Graph};
use super::groups::Groups;
use super::load::Load;
use super::order::Order;
use super::refine::refine;
use crate::model::Model;
use clearway_units::Span;
use std::collections::BTreeMap;

/// The most shortest delays of links between pieces that are tried.
const FLOORS: usize = 6;
/// The load of the heaviest piece that wider windows may cost, as a multiple of what it would be without them.
const UNEVEN: f64 = 1.02;
/// The number of the piece of a node that was not to be cut.
pub const ELSEWHERE: u32 = u32::MAX;

/// What cuts of one model have in common.
pub struct Cutter<'a> {
    model: &'a Model,
    load: Load,
    order: Order,
    /// The delays of the model's links without zero, each once, from the shortest on.
    delays: Vec<Span>,
}

/// A cut: the piece of each node, and the number of pieces, of which none is empty.
pub struct Pieces {
    /// The piece of each node; [`ELSEWHERE`] for those that were not to be cut.
    pub of: Vec<u32>,
    /// The number of pieces.
    pub count: usize,
}

impl Cutter<'_> {
    /// Prepares cuts of a model.
    pub fn new(model: &Model) -> Cutter<'_> {
        let mut delays: Vec<Span> = model.topology.ports().iter().map(|port| port.delay).collect();
        delays.sort_unstable();
        delays.dedup();
        delays.retain(|delay| !delay.is_zero());
        Cutter { model, load: Load::new(model), order: Order::new(&model.topology), delays }
    }

    /// Cuts the nodes `is_here` into so many pieces with even shares of the expected load, few packets between them, and wide
    /// windows. There are fewer where more would not make the heaviest lighter, and one where no link has a delay.
    pub fn cut(&self, is_here: impl Fn(usize) -> bool, pieces: usize) -> Pieces {
        let Some((shortest, longer)) = self.delays.split_first() else {
            let of =
                (0..self.model.topology.nodes().len()).map(|node| if is_here(node) { 0 } else { ELSEWHERE });
            return Pieces::without_gaps(of.collect());
        };
        let order = self.order.of(&is_here);
        let (mut best, heaviest) = self.cut_above(*shortest, &order, &is_here, pieces);
        // Cuts through long links alone make windows wider. They are taken if that leaves loads as even.
        let step = self.delays.len().div_ceil(FLOORS);
        for &floor in longer.iter().step_by(step) {
            let (wider, its_heaviest) = self.cut_above(floor, &order, &is_here, pieces);
            if its_heaviest > heaviest * UNEVEN {
                break;
            }
            best = wider;
        }
        best
    }

    /// As [`Cutter::cut`], without cutting links whose delay is below `floor`. Returns the load of the heaviest piece too.
    fn cut_above(
        &self,
        floor: Span,
        order: &Order,
        is_here: &impl Fn(usize) -> bool,
        pieces: usize,
    ) -> (Pieces, f64) {
        let topology = &self.model.topology;
        let groups = Groups::new(self.model, floor);
        let graph = Graph::new(topology, &groups, &self.load, is_here);
        // A piece can't have less to do than the heaviest group, such as the switch of a star.
        let useful = (graph.total / graph.heaviest).ceil() as usize;
        let pieces = pieces.min(useful).min(graph.members.len()).max(1);
        let mut cut = Cut::new(order, &groups, &graph, pieces);
        refine(&mut cut, &graph);
        let piece = |node| if is_here(node) { cut.part_of[groups.of(node)] } else { ELSEWHERE };
        let of = (0..topology.nodes().len()).map(piece).collect();
        (Pieces::without_gaps(of), cut.loads.iter().copied().fold(0.0, f64::max))
    }
}

impl Pieces {
    /// Numbers pieces without gaps, those of nodes apart that were not to be cut.
    pub fn without_gaps(mut of: Vec<u32>) -> Pieces {
        let count = number(of.iter_mut().filter(|piece| **piece != ELSEWHERE)).max(1);
        Pieces { of, count }
    }
}

/// Numbers pieces from 0 in the order of their first nodes, so that none is empty. Returns how many there are.
pub fn number<'a>(pieces: impl Iterator<Item = &'a mut u32>) -> usize {
    let mut numbers = BTreeMap::new();
    for piece in pieces {
        let next = numbers.len() as u32;
        *piece = *numbers.entry(*piece).or_insert(next);
    }
    numbers.len()
}
