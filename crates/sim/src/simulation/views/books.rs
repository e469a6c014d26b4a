//! The books of a run at this instant: the packets sent, and what became of them.

use super::packets::{FrameKind, Packets};
use super::view::View;
use crate::net::{ByReason, handled_later};

/// The packets that were sent and what became of them, in all or of one kind. `sent` is the sum of all others, but for
/// pause frames, which stand apart.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct BooksView {
    /// The packets that hosts, and switches for flows, put into the network.
    pub sent: u64,
    /// The packets delivered to ends of flows.
    pub delivered: u64,
    /// The packets dropped, by reason.
    pub dropped: ByReason<u64>,
    /// The packets that wait at ports.
    pub queued: u64,
    /// The packets on links.
    pub in_flight: u64,
    /// The packets that reached a host whose processing delay is not over.
    pub at_hosts: u64,
    /// The pause frames sent.
    pub pauses_sent: u64,
    /// The pause frames obeyed.
    pub pauses_obeyed: u64,
    /// The pause frames on links, or not yet obeyed.
    pub pauses_in_flight: u64,
}

impl View<'_> {
    /// Returns the books of the run so far. The packets in the network are counted one by one.
    pub fn books(self) -> BooksView {
        let mut packets = Packets::default();
        self.look_at_packets(&mut packets);
        let books = self.sim.nets.totals().books();
        let pauses = packets.in_flight.iter().filter(|frame| frame.packet.kind == FrameKind::Pause).count();
        BooksView {
            sent: books.sent.packets,
            delivered: books.delivered.packets,
            dropped: ByReason::of(|why| books.dropped[why].packets),
            queued: packets.queued.len() as u64,
            in_flight: (packets.in_flight.len() - pauses) as u64,
            at_hosts: self.sim.nets.iter().map(handled_later).sum(),
            pauses_sent: books.frames.0,
            pauses_obeyed: books.frames.1,
            pauses_in_flight: pauses as u64,
        }
    }
}

impl BooksView {
    /// Returns true if nothing appeared or vanished.
    pub fn balance(&self) -> bool {
        let dropped: u64 = self.dropped.iter().map(|(_, count)| count).sum();
        let there = self.queued + self.in_flight + self.at_hosts;
        self.sent == self.delivered + dropped + there
            && self.pauses_sent == self.pauses_obeyed + self.pauses_in_flight
    }
}
