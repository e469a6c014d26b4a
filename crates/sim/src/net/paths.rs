//! The ways that packets follow: a stored path, whose next hop is an array read, or the tables of switches.
//!
//! A flow that has one path in a direction keeps its ports here. A flow whose packets may take several keeps none: its
//! packets are forwarded hop by hop ([`Tables`]).

use super::tables::Tables;
use clearway_proto::{Packet, SmallRng, Tag};
use clearway_topology::PortId;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Where a packet is on its way: the place in the array of paths where the port of its next hop stands or, of a packet that
/// tables forward, the port over which it came.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct HopId(u32);

/// The bit that tells a port from a place in the array of paths, which has fewer entries.
const BY_TABLES: u32 = 1 << 31;

impl HopId {
    /// Returns the hop of a packet that tables forward and that came over `port`.
    #[inline]
    pub fn over(port: PortId) -> HopId {
        HopId(BY_TABLES | port.0)
    }

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

/// The way of the packets of a flow in one direction: a stored path of `hops` ports from `base` on or, if tables forward
/// them, the first port of a way of so many.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Route {
    base: u32,
    hops: u8,
}

impl Route {
    /// Returns the route of packets that tables forward, over `hops` ports of which this is the first.
    ///
    /// # Panics
    /// Panics if the way has more than 255 ports.
    pub fn by_tables(first: PortId, hops: usize) -> Route {
        Route { base: BY_TABLES | first.0, hops: count(hops) }
    }

    /// Returns whether tables forward the packets.
    #[inline]
    pub fn is_by_tables(&self) -> bool {
        self.base & BY_TABLES != 0
    }

    /// Returns the number of ports on the way.
    pub fn hops(&self) -> u8 {
        self.hops
    }

    fn range(&self) -> Range<usize> {
        self.base as usize..self.base as usize + self.hops as usize
    }
}

/// Returns the number of ports on a way, as a route keeps it.
fn count(ports: usize) -> u8 {
    u8::try_from(ports).expect("no path crosses 256 ports")
}

/// The way of one packet from some port on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Way {
    /// The first port.
    pub port: PortId,
    /// Where the packet is on its way when it is at that port.
    pub then: HopId,
    /// The number of ports to cross, the first included.
    pub hops: u8,
}

/// The ways of all flows.
#[derive(Default, Serialize, Deserialize)]
pub struct Paths {
    ports: Vec<PortId>,
    /// Stretches that no packet follows any more, by their length.
    free: Vec<Vec<u32>>,
    /// Stretches that were written since the copies of these paths last followed.
    written: Vec<Range<u32>>,
    /// The tables that forward the packets of the other flows.
    pub tables: Tables,
}

impl Paths {
    /// Adds a path.
    pub fn add(&mut self, ports: &[PortId]) -> Route {
        let base = self.take(ports.len());
        self.ports[base as usize..][..ports.len()].copy_from_slice(ports);
        Route { base, hops: count(ports.len()) }
    }

    /// Gives back the place of a route that no packet follows any more.
    pub fn remove(&mut self, route: Route) {
        if route.is_by_tables() {
            return;
        }
        let hops = route.hops as usize;
        if self.free.len() <= hops {
            self.free.resize(hops + 1, Vec::new());
        }
        self.free[hops].push(route.base);
    }

    /// Adds the path of a route backwards.
    pub fn add_reverse(&mut self, route: Route) -> Route {
        let base = self.take(route.hops as usize);
        for (place, hop) in (base as usize..).zip(route.range().rev()) {
            self.ports[place] = self.ports[hop].reverse();
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
        assert!(end < BY_TABLES, "the paths of all flows have fewer than 2^31 ports");
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

    /// Returns the ports of a stored path.
    pub fn path(&self, route: Route) -> &[PortId] {
        &self.ports[route.range()]
    }

    /// Returns the first port of a route: the sending host's own.
    #[inline]
    pub fn first_port(&self, route: Route) -> PortId {
        self.ahead(HopId(route.base)).unwrap_or(PortId(route.base & !BY_TABLES))
    }

    /// Returns the port of a hop of a stored path.
    #[inline]
    pub fn port(&self, hop: HopId) -> PortId {
        self.ports[hop.0 as usize]
    }

    /// Returns the next port of a packet; `None` if tables tell it.
    #[inline(always)]
    pub fn ahead(&self, hop: HopId) -> Option<PortId> {
        self.ports.get(hop.0 as usize).copied()
    }

    /// Returns the port over which a packet came that waits at a switch. The hop of one on a stored path is that after the
    /// present port.
    #[inline]
    pub fn came_from(&self, hop: HopId) -> PortId {
        if hop.0 & BY_TABLES != 0 { PortId(hop.0 & !BY_TABLES) } else { self.port(hop.back(2)) }
    }

    /// Returns the way of a packet from its host on. One that tables will forward gets an entropy from `entropies`, unless
    /// its end has set one or such packets keep to one path.
    #[inline(always)]
    pub fn enter(&self, route: Route, packet: &mut Packet, entropies: &mut SmallRng) -> Way {
        let base = HopId(route.base);
        match self.ahead(base) {
            Some(port) => Way { port, then: base.next(), hops: route.hops },
            None => {
                give_entropy(packet, entropies, self.tables.keeps_paths);
                Way { port: PortId(route.base & !BY_TABLES), then: base, hops: route.hops }
            }
        }
    }

    /// Returns the way from the start of a stored path.
    pub fn way(&self, route: Route) -> Way {
        let first = HopId(route.base);
        Way { port: self.port(first), then: first.next(), hops: route.hops }
    }

    /// Returns the way that is left of a stored path behind `port`; `None` if it does not cross that.
    pub fn behind(&self, route: Route, port: PortId) -> Option<Way> {
        let at = self.path(route).iter().position(|hop| *hop == port)?;
        let next = HopId(route.base + at as u32 + 1);
        let hops = route.hops - at as u8 - 1;
        (hops > 0).then(|| Way { port: self.port(next), then: next.next(), hops })
    }
}

/// Gives a packet that tables will forward an entropy, unless it has one or, with `keeps_path`, needs none.
#[inline(never)]
fn give_entropy(packet: &mut Packet, entropies: &mut SmallRng, keeps_path: bool) {
    let tag = packet.tag();
    if !keeps_path {
        let entropy = tag.entropy.unwrap_or_else(|| entropies.entropy());
        *packet = packet.with_tag(Tag { entropy: Some(entropy), ..tag });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clearway_proto::{Entity, Header};
    use clearway_units::Time;

    #[test]
    fn the_way_behind_a_port_is_the_rest_of_the_path() {
        let mut paths = Paths::default();
        paths.add(&[PortId(0)]);
        let route = paths.add(&[2, 4, 6].map(PortId));
        let way = paths.behind(route, PortId(2)).unwrap();
        assert_eq!((way.port, paths.port(way.then), way.hops), (PortId(4), PortId(6), 2));
        assert_eq!(paths.behind(route, PortId(4)).map(|way| (way.port, way.hops)), Some((PortId(6), 1)));
        assert_eq!(paths.behind(route, PortId(6)), None, "nothing is left");
        assert_eq!(paths.behind(route, PortId(10)), None);
    }

    #[test]
    fn the_place_of_a_route_that_was_removed_is_used_again() {
        let mut paths = Paths::default();
        let old = paths.add(&[PortId(0), PortId(2)]);
        paths.remove(old);
        let new = paths.add(&[PortId(4), PortId(6)]);
        assert_eq!(paths.path(new), [PortId(4), PortId(6)]);
        assert_eq!((paths.first_port(new), paths.ports.len()), (PortId(4), 2));
    }

    #[test]
    fn copies_follow_what_was_added_and_what_took_the_place_of_a_route() {
        let (mut paths, mut copies) = (Paths::default(), [Paths::default(), Paths::default()]);
        let [one, other] = [[0, 2], [4, 6]].map(|ports| paths.add(&ports.map(PortId)));
        let last = paths.add_reverse(one);
        paths.share(copies.iter_mut());
        paths.remove(one);
        let new = paths.add(&[PortId(8), PortId(10)]);
        assert_eq!(copies[1].path(new), [PortId(0), PortId(2)], "they were not told yet");
        paths.share(copies.iter_mut());
        for route in [new, other, last] {
            assert_eq!([copies[0].path(route), copies[1].path(route)], [paths.path(route); 2]);
        }
        assert_eq!(paths.path(new), [PortId(8), PortId(10)]);
        assert!(paths.written.is_empty());
        let mut late = Paths::default();
        paths.forget_copies();
        paths.share([&mut late].into_iter());
        assert_eq!(
            [new, other, last].map(|route| late.path(route)),
            [new, other, last].map(|route| paths.path(route))
        );
    }

    #[test]
    fn the_reverse_of_a_route_leads_back_over_the_same_links() {
        let mut paths = Paths::default();
        let route = paths.add(&[PortId(0), PortId(2), PortId(4)]);
        let back = paths.add_reverse(route);
        assert_eq!(paths.path(back), [PortId(5), PortId(3), PortId(1)]);
    }

    #[test]
    fn a_packet_on_a_stored_path_came_over_the_port_before_the_present_one() {
        let mut paths = Paths::default();
        let route = paths.add(&[0, 2, 4, 6].map(PortId));
        let way = paths.behind(route, PortId(0)).unwrap();
        assert_eq!((way.port, paths.came_from(way.then)), (PortId(2), PortId(0)));
        assert_eq!(paths.ahead(way.then), Some(PortId(4)));
        let over = HopId::over(PortId(9));
        assert_eq!((paths.came_from(over), paths.ahead(over)), (PortId(9), None));
    }

    #[test]
    fn a_route_by_tables_stores_no_path_and_gives_each_packet_an_entropy_that_its_end_did_not_set() {
        let mut paths = Paths::default();
        let route = Route::by_tables(PortId(8), 6);
        let mut entropies = SmallRng::stream(1, Entity::SenderPath, 0);
        let packet = Packet::control(Header::Syn, 84, Time::ZERO);
        let mut draw = |tag| {
            let mut packet = packet.with_tag(tag);
            let way = paths.enter(route, &mut packet, &mut entropies);
            assert_eq!((way.port, way.hops, paths.first_port(route)), (PortId(8), 6, PortId(8)));
            packet.tag()
        };
        let drawn = [(); 4].map(|()| draw(Tag { lane: 3, entropy: None }));
        assert!(drawn.iter().all(|tag| tag.lane == 3));
        assert!(drawn.windows(2).all(|pair| pair[0].entropy != pair[1].entropy), "{drawn:?}");
        let own = Tag { lane: 0, entropy: Some(7) };
        assert_eq!(draw(own), own);
        paths.tables.keeps_paths = true;
        let mut plain = packet;
        paths.enter(route, &mut plain, &mut entropies);
        assert_eq!(plain.tag(), Tag::default(), "it keeps to one path");
        paths.remove(route);
        assert!(paths.ports.is_empty() && paths.free.is_empty());
        // One with a stored path stays as it is.
        let stored = paths.add(&[PortId(2)]);
        let mut plain = packet;
        assert_eq!(paths.enter(stored, &mut plain, &mut entropies), paths.way(stored));
        assert_eq!(plain.tag(), Tag::default());
    }
}
