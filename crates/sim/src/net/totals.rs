//! What all parts of a network have counted together.

use super::books::{Books, Lines};
use super::flow_control::FlowControl;
use super::looks;
use super::network::Network;
use super::networks::Networks;
use clearway_units::Time;

/// The counts of all parts, added up.
#[derive(Clone, Copy)]
pub struct Totals<'a> {
    parts: &'a [Box<Network>],
}

impl Networks {
    /// Returns what all parts have counted together.
    pub fn totals(&self) -> Totals<'_> {
        Totals { parts: &self.parts }
    }
}

impl Totals<'_> {
    /// Returns the number of packets put on links.
    pub fn link_transmissions(self) -> u64 {
        self.parts.iter().map(|net| looks::link_transmissions(net)).sum()
    }

    /// Returns the number of packets put on links, those included that wait at plain ports.
    pub fn launched(self) -> u64 {
        self.parts.iter().map(|net| net.launched).sum()
    }

    /// Returns the number of congestion notification packets that entered the network.
    pub fn cnps(self) -> u64 {
        self.parts.iter().map(|net| net.books.cnps).sum()
    }

    /// Returns the time at which a packet last left the network, or an end came to need nothing more.
    pub fn left_at(self) -> Time {
        self.parts.iter().map(|net| net.left_at).max().unwrap_or(Time::ZERO)
    }

    /// Returns the books of all parts together.
    pub fn books(self) -> Books {
        self.parts.iter().fold(Books::default(), |sum, net| sum.plus(&net.books))
    }

    /// Returns the books of all parts together, closed now.
    ///
    /// # Errors
    /// Says which of them do not balance.
    pub fn close_books(self) -> Result<(Books, [Lines; 3]), String> {
        let books = self.books();
        let slabs: Vec<_> = self.parts.iter().map(|net| &net.slab).collect();
        let controls = self.parts.iter().filter_map(|net| net.memory.control());
        let frames = controls.map(FlowControl::frames_in_flight).sum();
        Ok((books, books.close(&slabs, frames)?))
    }
}

/// Starts the greatest lengths of all queues anew, and returns those so far, port by port.
pub fn restart_maxima(nets: &mut Networks) -> Vec<u64> {
    let mut before = Vec::new();
    nets.ports().for_each(|port| looks::restart_maxima(nets.of_mut(port), port, &mut before));
    before
}

/// Raises the greatest lengths of all queues to those that [`restart_maxima`] returned.
pub fn raise_maxima(nets: &mut Networks, before: &[u64]) {
    let mut before = before.iter().copied();
    nets.ports().for_each(|port| looks::raise_maxima(nets.of_mut(port), port, &mut before));
}
