//! The shortest paths of a pair of hosts: all of them, or an even selection if there are too many.

use super::distance::Distances;
use crate::graph::{NodeId, PortId, Topology};
use std::ops::Range;

/// The largest number of paths that [`Policy::Spray`](super::Policy::Spray) returns for one pair.
pub const SPRAY_PATHS_MAX: u32 = 1024;

/// The mark of a node that has no place in `Sprayer::stops`.
const NONE: usize = usize::MAX;

/// The ports that all shortest paths of a pair cross, each of them once, by their distance from the source.
#[derive(Clone, Debug, Default)]
pub struct Stages {
    /// The ports, the nearest to the source first.
    pub(super) ports: Vec<PortId>,
    /// For each distance, where its ports end.
    pub(super) ends: Vec<usize>,
    /// For each node, the last search that came to it, and the number of searches: kept for the next one.
    seen: Vec<u32>,
    searches: u32,
}

impl Stages {
    /// Returns the ports of each distance, of which every path crosses one.
    pub fn iter(&self) -> impl Iterator<Item = &[PortId]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.ports[start..end])
    }

    /// Takes all ports out, and begins a search among so many nodes.
    pub(super) fn begin(&mut self, nodes: usize) {
        self.ports.clear();
        self.ends.clear();
        if self.seen.len() != nodes || self.searches == u32::MAX {
            self.seen = vec![0; nodes];
            self.searches = 0;
        }
        self.searches += 1;
    }

    /// Returns whether the search comes to a node for the first time.
    pub(super) fn is_new(&mut self, node: NodeId) -> bool {
        std::mem::replace(&mut self.seen[node.index()], self.searches) != self.searches
    }
}

/// A node on one of the shortest paths.
#[derive(Clone, Debug)]
struct Stop {
    node: NodeId,
    /// The number of hops from here to the destination.
    left: u16,
    /// The range of `Sprayer::ways` that lists the ports that lead one hop closer.
    ways: Range<usize>,
    /// The number of shortest paths from here to the destination, or `u64::MAX` if there are more.
    paths: u64,
}

/// The graph of the shortest paths of one pair. The paths through each node are counted, so that the path of any
/// rank can be found without listing those before it: a pair with a million paths costs no more than one with a
/// thousand, and a selection at even steps covers all parts of the network.
#[derive(Clone, Debug, Default)]
pub(super) struct Sprayer {
    /// The nodes on shortest paths in the order of their distance from the source, the source first.
    stops: Vec<Stop>,
    /// The ports that lead one hop closer, each with the place in `stops` of the node that it leads to.
    ways: Vec<(PortId, usize)>,
    /// The place of each node in `stops`, or [`NONE`]. All are `NONE` between calls.
    places: Vec<usize>,
}

impl Sprayer {
    /// Appends the paths to `out` and returns their number, or `None` if there is no path.
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
        let count = u32::try_from(total).map_or(SPRAY_PATHS_MAX, |total| total.min(SPRAY_PATHS_MAX));
        // The rank of path `index` is `index * total / count`, without its overflow.
        let (step, rest) = (total / u64::from(count), total % u64::from(count));
        for index in (0..count).map(u64::from) {
            self.take(index * step + index * rest / u64::from(count), out);
        }
        Some(count)
    }

    /// Appends the ports of the paths, each with its share of the packets if every node divides them evenly among its next
    /// hops. Returns `None` if there is no path.
    pub(super) fn shares(
        &mut self,
        distances: &mut Distances,
        topology: &Topology,
        src: NodeId,
        dst: NodeId,
        out: &mut Vec<(PortId, f64)>,
    ) -> Option<()> {
        distances.prepare(topology, dst);
        let hops = distances.hops_from_host(topology, src, dst)?;
        self.explore(distances, topology, src, dst, hops);
        let mut shares = vec![0.0; self.stops.len()];
        shares[0] = 1.0;
        // The stops stand in the order of their distance from the source, so that all that comes to one is known before it.
        for (place, stop) in self.stops.iter().enumerate() {
            let each = shares[place] / stop.ways.len() as f64;
            for &(port, next) in &self.ways[stop.ways.clone()] {
                out.push((port, each));
                shares[next] += each;
            }
        }
        Some(())
    }

    /// Fills `stages`, which is empty. Returns `None` if there is no path.
    pub(super) fn stages(
        &mut self,
        distances: &mut Distances,
        topology: &Topology,
        src: NodeId,
        dst: NodeId,
        stages: &mut Stages,
    ) -> Option<()> {
        distances.prepare(topology, dst);
        let hops = distances.hops_from_host(topology, src, dst)?;
        self.explore(distances, topology, src, dst, hops);
        stages.ports.extend(self.ways.iter().map(|&(port, _)| port));
        // The ways of a stop stand behind those of all stops that are nearer to the source.
        let farthest = self.stops.windows(2).filter(|stops| stops[0].left != stops[1].left);
        stages.ends.extend(farthest.map(|stops| stops[0].ways.end));
        Some(())
    }

    /// Fills `stops` and `ways` with the graph of the shortest paths.
    fn explore(&mut self, distances: &Distances, topology: &Topology, src: NodeId, dst: NodeId, hops: u16) {
        self.stops.clear();
        self.ways.clear();
        self.places.resize(topology.nodes().len(), NONE);
        self.visit(src, hops);
        let mut head = 0;
        while head < self.stops.len() {
            let (node, left, start) = (self.stops[head].node, self.stops[head].left, self.ways.len());
            if left > 0 {
                for port in distances.next_hops(topology, node, dst, left) {
                    let place = self.visit(topology.port(port).to, left - 1);
                    self.ways.push((port, place));
                }
            }
            self.stops[head].ways = start..self.ways.len();
            head += 1;
        }
        for stop in &self.stops {
            self.places[stop.node.index()] = NONE;
        }
    }

    fn visit(&mut self, node: NodeId, left: u16) -> usize {
        let place = &mut self.places[node.index()];
        if *place == NONE {
            *place = self.stops.len();
            self.stops.push(Stop { node, left, ways: 0..0, paths: 0 });
        }
        *place
    }

    fn count(&mut self) {
        for place in (0..self.stops.len()).rev() {
            let stop = &self.stops[place];
            let onward = self.ways[stop.ways.clone()]
                .iter()
                .fold(0u64, |sum, &(_, next)| sum.saturating_add(self.stops[next].paths));
            self.stops[place].paths = if stop.left == 0 { 1 } else { onward };
        }
    }

    /// Appends the path of rank `rank`, which must be below the source's count. Counts that saturated do no harm: those
    /// of a node's next hops together are never less than the node's own.
    fn take(&self, mut rank: u64, out: &mut Vec<PortId>) {
        let mut stop = &self.stops[0];
        while stop.left > 0 {
            for &(port, next) in &self.ways[stop.ways.clone()] {
                let next = &self.stops[next];
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
