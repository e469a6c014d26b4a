//! The paths that packets follow, in one array.

use super::Network;
use clearway_topology::PortId;

/// The paths of a flow's packets in one direction: `count` paths of `hops` ports each, from `base` on.
#[derive(Clone, Copy, Default, Debug)]
pub struct Route {
    /// Where the first path starts in the array of paths.
    pub base: u32,
    /// Ports on a path.
    pub hops: u8,
    /// How many paths to choose from, packet by packet.
    pub count: u32,
}

impl Network {
    /// Adds paths and returns where they stand.
    pub fn add_route(&mut self, ports: &[PortId], hops: u32, count: u32) -> Route {
        let free = self.free_paths.get_mut(ports.len()).and_then(Vec::pop);
        let base = free.unwrap_or_else(|| {
            self.paths.extend_from_slice(ports);
            (self.paths.len() - ports.len()) as u32
        });
        self.paths[base as usize..base as usize + ports.len()].copy_from_slice(ports);
        Route { base, hops: u8::try_from(hops).expect("no path crosses 256 ports"), count }
    }

    /// Gives back the place of a route that no packet follows any more.
    pub fn remove_route(&mut self, route: Route) {
        let length = route.hops as usize * route.count as usize;
        if self.free_paths.len() <= length {
            self.free_paths.resize(length + 1, Vec::new());
        }
        self.free_paths[length].push(route.base);
    }

    /// The first path of a route.
    pub fn path(&self, route: Route) -> &[PortId] {
        &self.paths[route.base as usize..][..route.hops as usize]
    }

    /// The ports of all paths of a route, one path after the other.
    pub fn ports_of(&self, route: Route) -> &[PortId] {
        &self.paths[route.base as usize..][..route.hops as usize * route.count as usize]
    }

    /// Whether a route consists of just these ports.
    pub fn follows(&self, route: Route, ports: &[PortId]) -> bool {
        self.paths[route.base as usize..][..route.hops as usize * route.count as usize] == *ports
    }

    /// The first port of a route: the sending host's own.
    #[inline]
    pub fn first_port(&self, route: Route) -> u32 {
        self.paths[route.base as usize].0
    }
}
