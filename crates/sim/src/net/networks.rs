//! The networks of all parts of a run: one, or several that run at the same time.
//!
//! A part owns the ports of its nodes and the packets that are there. A packet that leaves for another part waits in an
//! outbox until all parts have come to the same time; it then arrives there as it would have in one network, since no
//! link between parts is shorter than the time between two such moments.

use super::looks::Look;
use super::network::Network;
use super::paths::{Paths, Route};
use super::pipeline;
use crate::engine::TICK;
use crate::model::Model;
use crate::trace::Recorder;
use clearway_topology::{NodeId, PortId};
use clearway_units::Time;
use serde::{Deserialize, Serialize};
use std::num::NonZero;
use std::thread::{available_parallelism, scope};

/// The networks of all parts, by the number of the part.
#[derive(Serialize, Deserialize)]
pub struct Networks {
    #[allow(
        clippy::vec_box,
        reason = "parts move to threads and back, and with them a pointer instead of their fields"
    )]
    pub(super) parts: Vec<Box<Network>>,
    /// The part of each node; empty if there is one part.
    pub(super) part_of: Vec<u32>,
}

impl Networks {
    /// Returns the idle networks of a model, whose nodes are in `parts` parts.
    pub fn new(model: &Model, part_of: Vec<u32>, parts: usize) -> Networks {
        let part_of = if parts > 1 { part_of } else { Vec::new() };
        let parts = match parts {
            1 => vec![Box::new(Network::new(model))],
            _ => beside_each_other(parts, &|part| {
                Box::new(Network::of_part(model, &part_of, part as u32, parts))
            }),
        };
        Networks { parts, part_of }
    }

    /// Returns the number of parts.
    pub fn len(&self) -> usize {
        self.parts.len()
    }

    /// Returns the part that a node is in.
    #[inline]
    pub fn part_of(&self, node: NodeId) -> usize {
        self.part_of.get(node.index()).map_or(0, |&part| part as usize)
    }

    /// Returns the network of a part.
    #[inline]
    pub fn part(&self, part: usize) -> &Network {
        &self.parts[part]
    }

    /// Returns the network of a part, to be changed.
    #[inline]
    pub fn part_mut(&mut self, part: usize) -> &mut Network {
        &mut self.parts[part]
    }

    /// Returns the networks of all parts.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Network> {
        self.parts.iter().map(Box::as_ref)
    }

    /// Returns the networks of all parts, to be changed.
    pub fn parts_mut(&mut self) -> &mut [Box<Network>] {
        &mut self.parts
    }

    /// Takes out the networks of all parts, which come back by [`Networks::take_back`].
    pub fn lend(&mut self) -> std::vec::Drain<'_, Box<Network>> {
        self.parts.drain(..)
    }

    /// Takes back the network of a part: they come in the order in which they were lent.
    pub fn take_back(&mut self, part: Box<Network>) {
        self.parts.push(part);
    }

    /// Returns the network to which a port belongs.
    #[inline]
    pub fn of(&self, port: PortId) -> &Network {
        match &self.parts[..] {
            [only] => only,
            // All parts know which node has a port.
            parts => &parts[self.part_of(parts[0].ports[port].owner)],
        }
    }

    pub(super) fn of_mut(&mut self, port: PortId) -> &mut Network {
        let part = self.part_of(self.parts[0].ports[port].owner);
        &mut self.parts[part]
    }

    /// Returns all ports in order.
    pub fn ports(&self) -> impl ExactSizeIterator<Item = PortId> + use<> {
        self.parts[0].ports.ids()
    }

    /// Returns the present, which is the same in all parts whenever somebody looks.
    pub fn now(&self) -> Time {
        self.parts[0].now()
    }

    /// Sets the present of all parts.
    pub fn set_now(&mut self, now: Time) {
        self.parts.iter_mut().for_each(|net| net.agenda.now = now);
    }

    /// Lets ports that are served late send what they send before the present or, if `through` is set, at it: before somebody
    /// looks at the network. All events of the time until then have been handled.
    pub fn settle(&mut self, through: bool) {
        for net in &mut self.parts {
            let until = if through { net.now() + TICK } else { net.now() };
            pipeline::settle_all(net, until);
        }
    }

    /// Returns the paths of all flows, of which each part has a copy once they are shared.
    pub fn paths(&self) -> &Paths {
        &self.parts[0].paths
    }

    /// Adds a path.
    pub fn add_path(&mut self, ports: &[PortId]) -> Route {
        self.parts[0].paths.add(ports)
    }

    /// Adds the path of a route backwards.
    pub fn add_reverse(&mut self, route: Route) -> Route {
        self.parts[0].paths.add_reverse(route)
    }

    /// Gives back the place of a route that no packet follows any more.
    pub fn remove_path(&mut self, route: Route) {
        self.parts[0].paths.remove(route);
    }

    /// Tells all parts of the paths that were added, before any end or packet may follow them.
    pub fn share_paths(&mut self) {
        if let [first, others @ ..] = &mut self.parts[..] {
            first.paths.share(others.iter_mut().map(|net| &mut net.paths));
        }
    }

    /// Looks at a port.
    #[inline]
    pub fn look(&self, port: PortId) -> Look<'_> {
        self.of(port).look(port)
    }

    /// Returns the recorder of traces, if there are any. A run with traces has one part.
    pub fn tap(&mut self) -> Option<&mut Recorder> {
        self.parts[0].tap.as_deref_mut()
    }

    /// Returns the time of the first event, of the first arrival that a part has yet to hear of, or at which a port that is served
    /// late sends something to another part.
    pub fn next_at(&self) -> Option<Time> {
        self.iter().filter_map(Network::next_at).min()
    }
}

/// Makes so many things, each by its number, on as many threads as there are processors.
fn beside_each_other<T: Send>(count: usize, make: &(impl Fn(usize) -> T + Sync)) -> Vec<T> {
    if cfg!(target_family = "wasm") {
        return (0..count).map(make).collect();
    }
    let threads = available_parallelism().map_or(1, NonZero::get).min(count);
    let mut made: Vec<Option<T>> = (0..count).map(|_| None).collect();
    scope(|scope| {
        let each = count.div_ceil(threads);
        let mut shares = made.chunks_mut(each).enumerate();
        // The calling thread takes the first share.
        let own = shares.next();
        let work = move |(share, places): (usize, &mut [Option<T>])| {
            let numbers = share * each..;
            places.iter_mut().zip(numbers).for_each(|(place, number)| *place = Some(make(number)));
        };
        for share in shares {
            scope.spawn(move || work(share));
        }
        own.into_iter().for_each(work);
    });
    made.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_on_several_threads_comes_in_the_order_of_its_numbers() {
        for count in [1, 2, 3, 7, 100] {
            let made = beside_each_other(count, &|number| number * number);
            assert_eq!(made, (0..count).map(|number| number * number).collect::<Vec<_>>());
        }
    }
}
