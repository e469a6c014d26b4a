//! The paths that packets follow, in one array: a hop is an array read.

use clearway_proto::Rng;
use clearway_topology::PortId;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// A place in the array of paths, where the port of a hop stands.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct HopId(u32);

impl HopId {
    /// Returns the place of the hop after this one.
    #[inline]
    pub fn next(self) -> HopId {
        HopId(self.0 + 1)
    }

    /// Returns the place of the hop `count` before this one.
    #[inline]
    pub fn back(self, count: u32) -> HopId {
        HopId(self.0 - count)
    }
}

/// The paths of the packets of a flow in one direction: `count` paths of `hops` ports each, from `base` on.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Route {
    base: u32,
    count: u16,
    hops: u8,
}

impl Route {
    /// Returns the number of paths among which each packet chooses.
    pub fn count(&self) -> u32 {
        self.count.into()
    }

    /// One of the paths, by its number.
    #[inline]
    pub fn way(&self, number: u32) -> Way {
        Way { first: HopId(self.base + number * self.hops as u32), hops: self.hops }
    }

    fn ports(&self) -> usize {
        self.hops as usize * self.count as usize
    }
}

/// The rest of a path: a first hop, and the number of ports from there on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Way {
    /// The place of the first hop.
    pub first: HopId,
    /// The number of ports to cross, the first included.
    pub hops: u8,
}

/// The paths of all flows.
#[derive(Default, Serialize, Deserialize)]
pub struct Paths {
    ports: Vec<PortId>,
    /// Stretches that no packet follows any more, by their length.
    free: Vec<Vec<u32>>,
    /// Stretches that were written since the copies of these paths last followed.
    written: Vec<Range<u32>>,
}

impl Paths {
    /// Adds `count` paths of `hops` ports each, which stand in `ports` one after the other.
    pub fn add(&mut self, ports: &[PortId], hops: u32, count: u32) -> Route {
        let base = self.take(ports.len());
        self.ports[base as usize..][..ports.len()].copy_from_slice(ports);
        let hops = u8::try_from(hops).expect("no path crosses 256 ports");
        let count = u16::try_from(count).expect("packets are sprayed over at most 1,024 paths");
        Route { base, count, hops }
    }

    /// Gives back the place of a route that no packet follows any more.
    pub fn remove(&mut self, route: Route) {
        if self.free.len() <= route.ports() {
            self.free.resize(route.ports() + 1, Vec::new());
        }
        self.free[route.ports()].push(route.base);
    }

    /// Adds the paths of a route backwards.
    pub fn add_reverse(&mut self, route: Route) -> Route {
        let base = self.take(route.ports());
        let hops = route.hops as usize;
        for path in (0..route.ports()).step_by(hops) {
            let (forth, back) = (route.base as usize + path, base as usize + path);
            for hop in 0..hops {
                self.ports[back + hop] = self.ports[forth + hops - 1 - hop].reverse();
            }
        }
        Route { base, ..route }
    }

    /// Takes a stretch for so many ports, which the caller writes, and returns where it begins.
    fn take(&mut self, ports: usize) -> u32 {
        let base = self.free.get_mut(ports).and_then(Vec::pop).unwrap_or_else(|| {
            let base = self.ports.len();
            self.ports.resize(base + ports, PortId(0));
            base as u32
        });
        let end = base + ports as u32;
        match self.written.last_mut() {
            Some(last) if last.end == base => last.end = end,
            _ => self.written.push(base..end),
        }
        base
    }

    /// Makes `copies` equal to these paths, of which they were copies when this was last called.
    pub fn share<'a>(&mut self, copies: impl Iterator<Item = &'a mut Paths>) {
        if self.written.is_empty() {
            return;
        }
        for copy in copies {
            copy.ports.resize(self.ports.len(), PortId(0));
            for stretch in &self.written {
                let stretch = stretch.start as usize..stretch.end as usize;
                copy.ports[stretch.clone()].copy_from_slice(&self.ports[stretch]);
            }
        }
        self.written.clear();
    }

    /// Notes that there are no copies of these paths yet.
    pub fn forget_copies(&mut self) {
        self.written.clear();
        self.written.push(0..self.ports.len() as u32);
    }

    /// Returns the first path of a route.
    pub fn first(&self, route: Route) -> &[PortId] {
        &self.ports[route.base as usize..][..route.hops as usize]
    }

    /// Returns the ports of all paths of a route, one path after the other.
    pub fn all(&self, route: Route) -> &[PortId] {
        &self.ports[route.base as usize..][..route.ports()]
    }

    /// Returns the paths of a route.
    pub fn each(&self, route: Route) -> impl Iterator<Item = &[PortId]> {
        self.all(route).chunks(route.hops.into())
    }

    /// Returns the first port of a route: the sending host's own.
    #[inline]
    pub fn first_port(&self, route: Route) -> PortId {
        self.ports[route.base as usize]
    }

    /// Returns the port of a hop.
    #[inline]
    pub fn port(&self, hop: HopId) -> PortId {
        self.ports[hop.0 as usize]
    }

    /// Chooses a path of a route for a packet, at random among several.
    #[inline]
    pub fn choose(route: Route, rng: &mut Rng) -> Way {
        route.way(if route.count > 1 { rng.below(route.count as u64) as u32 } else { 0 })
    }

    /// Returns the way that is left of a route behind `port`, of the first path that crosses it; `None` if none does.
    pub fn behind(&self, route: Route, port: PortId) -> Option<Way> {
        let hops = route.hops as usize;
        let at = self.all(route).iter().position(|hop| *hop == port)?;
        let left = hops - at % hops - 1;
        Some(Way { first: HopId(route.base + at as u32 + 1), hops: left as u8 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_behind_a_port_is_the_rest_of_the_first_path_that_crosses_it() {
        let mut paths = Paths::default();
        let ports = [0, 2, 4, 0, 6, 8].map(PortId);
        paths.add(&ports[..1], 1, 1);
        let route = paths.add(&ports, 3, 2);
        let way = paths.behind(route, PortId(6)).unwrap();
        assert_eq!((paths.port(way.first), way.hops), (PortId(8), 1));
        let way = paths.behind(route, PortId(0)).unwrap();
        assert_eq!((paths.port(way.first), way.hops), (PortId(2), 2));
        assert_eq!(paths.behind(route, PortId(10)), None);
    }

    #[test]
    fn the_place_of_a_route_that_was_removed_is_used_again() {
        let mut paths = Paths::default();
        let old = paths.add(&[PortId(0), PortId(2)], 2, 1);
        paths.remove(old);
        let new = paths.add(&[PortId(4), PortId(6)], 2, 1);
        assert_eq!(paths.all(new), [PortId(4), PortId(6)]);
        assert_eq!(paths.first_port(new), PortId(4));
    }

    #[test]
    fn copies_follow_what_was_added_and_what_took_the_place_of_a_route() {
        let (mut paths, mut copies) = (Paths::default(), [Paths::default(), Paths::default()]);
        let [one, other] = [[0, 2], [4, 6]].map(|ports| paths.add(&ports.map(PortId), 2, 1));
        let last = paths.add_reverse(one);
        paths.share(copies.iter_mut());
        paths.remove(one);
        let new = paths.add(&[PortId(8), PortId(10)], 2, 1);
        assert_eq!(copies[1].all(new), [PortId(0), PortId(2)], "they were not told yet");
        paths.share(copies.iter_mut());
        for route in [new, other, last] {
            assert_eq!([copies[0].all(route), copies[1].all(route)], [paths.all(route); 2]);
        }
        assert_eq!(paths.all(new), [PortId(8), PortId(10)]);
        assert!(paths.written.is_empty());
        let mut late = Paths::default();
        paths.forget_copies();
        paths.share([&mut late].into_iter());
        assert_eq!(
            [new, other, last].map(|route| late.all(route)),
            [new, other, last].map(|route| paths.all(route))
        );
    }

    #[test]
    fn the_reverse_of_a_route_leads_back_over_the_same_links() {
        let mut paths = Paths::default();
        let route = paths.add(&[PortId(0), PortId(2), PortId(4), PortId(6)], 2, 2);
        let back = paths.add_reverse(route);
        assert_eq!(paths.all(back), [PortId(3), PortId(1), PortId(7), PortId(5)]);
    }
}
