//! All shortest paths of a pair, or an even selection of them.

use super::distance::Distances;
use crate::graph::{NodeId, PortId, Topology};
use std::ops::Range;

/// The most paths that [`Policy::Spray`](super::Policy::Spray) hands out for one pair.
pub const SPRAY_PATHS_MAX: u32 = 1024;

/// No place yet.
const NONE: u32 = u32::MAX;

/// A node on a shortest path.
#[derive(Clone, Debug)]
struct Stop {
    node: NodeId,
    /// Hops to the destination.
    left: u16,
    /// Its entries in `Sprayer::ways`.
    ways: Range<u32>,
    /// Paths from here to the destination, or `u64::MAX` if there are more than fit.
    paths: u64,
}

/// The shortest paths as a graph: found once, its paths counted, then walked by rank. So a pair with a million
/// paths costs no more than one with a thousand, and those taken do not all start in the same corner.
#[derive(Clone, Debug, Default)]
pub(super) struct Sprayer {
    /// Nearer ones later.
    stops: Vec<Stop>,
    /// A port and the place in `stops` that it leads to.
    ways: Vec<(PortId, u32)>,
    /// By node: its place in `stops`.
    places: Vec<u32>,
}

impl Sprayer {
    /// Appends the paths to `out`; how many, or none if there is no way.
    pub(super) fn spray(
        &mut self,
        distances: &mut Distances,
        topology: &Topology,
        src: NodeId,
        dst: NodeId,
        out: &mut Vec<PortId>,
    ) -> Option<u32> {
        distances.prepare(topology, dst);
        let hops = distances.hops_from_host(topology, src, dst)?;
        self.explore(distances, topology, src, dst, hops);
        self.count();
        let total = self.stops[0].paths;
        let count = total.min(SPRAY_PATHS_MAX.into());
        for index in 0..count {
            self.take((u128::from(index) * u128::from(total) / u128::from(count)) as u64, out);
        }
        Some(count as u32)
    }

    /// Collects all nodes on shortest paths, the source first.
    fn explore(&mut self, distances: &Distances, topology: &Topology, src: NodeId, dst: NodeId, hops: u16) {
        self.stops.clear();
        self.ways.clear();
        self.places.resize(topology.nodes().len(), NONE);
        self.visit(src, hops);
        let mut head = 0;
        while head < self.stops.len() {
            let (node, left, start) = (self.stops[head].node, self.stops[head].left, self.ways.len() as u32);
            if left > 0 {
                for port in distances.next_hops(topology, node, dst, left) {
                    let place = self.visit(topology.port(port).to, left - 1);
                    self.ways.push((port, place));
                }
            }
            self.stops[head].ways = start..self.ways.len() as u32;
            head += 1;
        }
        for stop in &self.stops {
            self.places[stop.node.index()] = NONE;
        }
    }

    fn visit(&mut self, node: NodeId, left: u16) -> u32 {
        let place = &mut self.places[node.index()];
        if *place == NONE {
            *place = self.stops.len() as u32;
            self.stops.push(Stop { node, left, ways: 0..0, paths: 0 });
        }
        *place
    }

    fn count(&mut self) {
        for place in (0..self.stops.len()).rev() {
            let stop = &self.stops[place];
            let onward = self.ways[stop.ways.start as usize..stop.ways.end as usize]
                .iter()
                .fold(0u64, |sum, &(_, next)| sum.saturating_add(self.stops[next as usize].paths));
            self.stops[place].paths = if stop.left == 0 { 1 } else { onward };
        }
    }

    /// Appends the path of a rank below the source's count. Saturated counts are fine: what a node's ways can take
    /// together is never less than the node's own count.
    fn take(&self, mut rank: u64, out: &mut Vec<PortId>) {
        let mut stop = &self.stops[0];
        while stop.left > 0 {
            for &(port, next) in &self.ways[stop.ways.start as usize..stop.ways.end as usize] {
                let next = &self.stops[next as usize];
                if rank < next.paths {
                    out.push(port);
                    stop = next;
                    break;
                }
                rank -= next.paths;
            }
        }
    }
}
