//! Looks at ports: what metrics read of them. All counts are as they are after everything that happened so far, so a
//! plain port's are corrected here by the frames whose turn is known but has yet to come.

use super::credit_queue::CreditQueue;
use super::data_queue::DataQueue;
use super::drop_reason::{ByReason, DropReason};
use super::network::Network;
use super::plain::PlainQueue;
use super::port::{Sent, Used};
use super::queue::mean;
use clearway_topology::PortId;

impl Network {
    #[inline]
    pub(super) fn plain(&self, port: PortId) -> Option<&PlainQueue> {
        self.ports[port].plain.map(|plain| &self.plain[plain])
    }

    /// Returns the number of packets put on links so far.
    pub fn link_transmissions(&self) -> u64 {
        let now = self.now();
        // Nothing waits at a port that is free.
        let busy = self.ports.iter().filter(|out| out.busy_until > now);
        self.launched
            - busy.filter_map(|out| out.plain).map(|plain| self.plain[plain].packets(now)).sum::<u64>()
    }

    /// Returns the packets that a port sent so far.
    pub fn sent(&self, port: PortId) -> Sent {
        self.sent_and_waiting(port).0
    }

    /// Returns what a port sent over its link so far.
    pub fn used(&self, port: PortId) -> Used {
        Used::new(self.sent(port).bytes, self.ports[port].busy(self.now()))
    }

    /// Returns the bytes on the wire that wait in a port's queues of data.
    pub fn queued_bytes(&self, port: PortId) -> u64 {
        match self.plain(port) {
            Some(queue) => queue.bytes(self.now()),
            None => self.data_queues(port).iter().map(|class| class.queue.bytes()).sum(),
        }
    }

    /// Returns the most bytes that ever waited in any one of a port's queues of data.
    pub fn queue_max_bytes(&self, port: PortId) -> u64 {
        match self.plain(port) {
            Some(queue) => queue.bytes_max(),
            None => self.data_queues(port).iter().map(|class| class.queue.bytes_max()).max().unwrap_or(0),
        }
    }

    /// Returns the integral of the bytes that waited in a port's queues of data, in byte picoseconds.
    pub fn queue_bytes_area(&self, port: PortId) -> u128 {
        let now = self.now();
        match self.plain(port) {
            Some(queue) => queue.bytes_area(now),
            None => self.data_queues(port).iter().map(|class| class.queue.bytes_area(now)).sum(),
        }
    }

    /// Returns the bytes that waited in a port's queues of data, averaged over the time from the start.
    pub fn queue_mean_bytes(&self, port: PortId) -> f64 {
        let now = self.now();
        match self.plain(port) {
            Some(queue) => mean(queue.bytes_area(now), now),
            None => self.data_queues(port).iter().map(|class| class.queue.bytes_mean(now)).sum(),
        }
    }

    /// Returns the bytes that a packet other than a credit found waiting in the queue of its class, averaged over those
    /// that came to a port.
    pub fn queue_mean_arrivals_bytes(&self, port: PortId) -> f64 {
        let met = match self.plain(port) {
            Some(queue) => queue.bytes_met(),
            None => self.data_queues(port).iter().map(|class| class.queue.bytes_met()).sum(),
        };
        if met == 0 { 0.0 } else { met as f64 / self.came(port) as f64 }
    }

    /// Returns the number of packets, credits apart, that came to a port and found its link working.
    fn came(&self, port: PortId) -> u64 {
        let (sent, waiting) = self.sent_and_waiting(port);
        let besides = self.came_besides.get(port).copied().unwrap_or_default();
        let came = sent.packets - sent.credits + waiting.packets + self.drops(port)[DropReason::Buffer];
        (came as i64 + besides) as u64
    }

    /// Returns the number of packets that a port dropped.
    #[inline]
    pub fn drops(&self, port: PortId) -> ByReason<u64> {
        self.drops.get(port).copied().unwrap_or_default()
    }

    /// Returns the number of packets that got a mark at a port.
    #[inline]
    pub fn marks(&self, port: PortId) -> u64 {
        match self.plain(port) {
            Some(queue) => queue.marks(),
            None => self.data_queues(port).iter().map(|class| class.admission.marks()).sum(),
        }
    }

    /// Returns the queues of credits at a port, by class; none where credits have no limit.
    pub fn credit_queues(&self, port: PortId) -> impl Iterator<Item = &CreditQueue> {
        self.ports[port].credits.into_iter().flat_map(|credits| self.credits.queues(credits))
    }

    /// Starts the greatest lengths of a port's queues anew from what waits now. Adds those so far to `before`: of data in
    /// bytes, of credits in packets.
    pub fn restart_maxima(&mut self, port: PortId, before: &mut Vec<u64>) {
        let now = self.now();
        let (plain, credits) = (self.ports[port].plain, self.ports[port].credits);
        if let Some(plain) = plain {
            return before.push(self.plain[plain].restart_maximum(now));
        }
        before.extend(self.data_queues_mut(port).iter_mut().map(|class| class.queue.restart_maximum()));
        if let Some(credits) = credits {
            let queues = self.credits.queues_mut(credits);
            before.extend(queues.map(|queue| u64::from(queue.restart_maximum())));
        }
    }

    /// Raises the greatest lengths of a port's queues to those that [`Network::restart_maxima`] added.
    pub fn raise_maxima(&mut self, port: PortId, before: &mut impl Iterator<Item = u64>) {
        let (plain, credits) = (self.ports[port].plain, self.ports[port].credits);
        if let Some(plain) = plain {
            return before.take(1).for_each(|before| self.plain[plain].raise_maximum(before));
        }
        let data = self.data_queues_mut(port).iter_mut().zip(before.by_ref());
        data.for_each(|(class, before)| class.queue.raise_maximum(before));
        if let Some(credits) = credits {
            let queues = self.credits.queues_mut(credits).zip(before);
            queues.for_each(|(queue, before)| queue.raise_maximum(before as u32));
        }
    }

    fn data_queues_mut(&mut self, port: PortId) -> &mut [DataQueue] {
        self.queues.range_mut(self.ports[port].queues, self.arbiter.classes())
    }
}
