//! Looks at ports: what metrics read of them. All counts are as they are after everything that happened so far, so a
//! plain port's are corrected here by the frames whose turn is known but has yet to come.

use super::credit_queue::CreditQueue;
use super::data_queue::DataQueue;
use super::drop_reason::{ByReason, DropReason};
use super::network::Network;
use super::plain::PlainQueue;
use super::port::{Port, Sent, Used};
use super::queue::mean;
use clearway_topology::PortId;

/// A look at a port.
#[derive(Clone, Copy)]
pub struct Look<'a> {
    /// The network that the port is in.
    pub(super) net: &'a Network,
    /// The port.
    pub(super) port: PortId,
    /// The port itself.
    pub(super) out: &'a Port,
}

impl Network {
    /// Looks at a port.
    #[inline(always)]
    pub fn look(&self, port: PortId) -> Look<'_> {
        Look { net: self, port, out: &self.ports[port] }
    }
}

impl<'a> Look<'a> {
    #[inline]
    pub(super) fn plain(self) -> Option<&'a PlainQueue> {
        self.out.plain.map(|plain| &self.net.plain[plain])
    }

    /// Returns the packets that a port sent so far.
    pub fn sent(self) -> Sent {
        self.sent_and_waiting().0
    }

    /// Returns what a port sent over its link so far.
    pub fn used(self) -> Used {
        Used::new(self.sent().bytes, self.out.busy(self.net.now()))
    }

    /// Returns the bytes on the wire that wait in a port's queues of data.
    pub fn queued_bytes(self) -> u64 {
        match self.plain() {
            Some(queue) => queue.bytes(self.net.now()),
            None => self.data_queues().iter().map(|class| class.queue.bytes()).sum(),
        }
    }

    /// Returns the most bytes that ever waited in any one of a port's queues of data.
    pub fn queue_max_bytes(self) -> u64 {
        match self.plain() {
            Some(queue) => queue.bytes_max(),
            None => self.data_queues().iter().map(|class| class.queue.bytes_max()).max().unwrap_or(0),
        }
    }

    /// Returns the integral of the bytes that waited in a port's queues of data, in byte picoseconds.
    pub fn queue_bytes_area(self) -> u128 {
        let now = self.net.now();
        match self.plain() {
            Some(queue) => queue.bytes_area(now),
            None => self.data_queues().iter().map(|class| class.queue.bytes_area(now)).sum(),
        }
    }

    /// Returns the bytes that waited in a port's queues of data, averaged over the time from the start.
    pub fn queue_mean_bytes(self) -> f64 {
        let now = self.net.now();
        match self.plain() {
            Some(queue) => mean(queue.bytes_area(now), now),
            None => self.data_queues().iter().map(|class| class.queue.bytes_mean(now)).sum(),
        }
    }

    /// Returns the bytes that a packet other than a credit found waiting in the queue of its class, averaged over those
    /// that came to a port.
    pub fn queue_mean_arrivals_bytes(self) -> f64 {
        let met = match self.plain() {
            Some(queue) => queue.bytes_met(),
            None => self.data_queues().iter().map(|class| class.queue.bytes_met()).sum(),
        };
        if met == 0 { 0.0 } else { met as f64 / self.came() as f64 }
    }

    /// Returns the number of packets, credits apart, that came to a port and found its link working.
    fn came(self) -> u64 {
        let (sent, waiting) = self.sent_and_waiting();
        let besides = self.net.came_besides.get(self.port).copied().unwrap_or_default();
        let came = sent.packets - sent.credits + waiting.packets + self.drops()[DropReason::Buffer];
        (came as i64 + besides) as u64
    }

    /// Returns the number of packets that a port dropped.
    #[inline]
    pub fn drops(self) -> ByReason<u64> {
        self.net.drops.get(self.port).copied().unwrap_or_default()
    }

    /// Returns the number of packets that got a mark at a port.
    #[inline]
    pub fn marks(self) -> u64 {
        if let Some(queue) = self.plain() {
            return queue.marks();
        }
        let by_votes = self.out.special.mechanism.map_or(0, |mechanism| self.net.mechanisms[mechanism].marks);
        by_votes + self.data_queues().iter().map(|class| class.admission.marks()).sum::<u64>()
    }

    /// Returns the number of packets that were cut to their headers at a port, by its queues or by votes of its mechanism.
    pub fn trims(self) -> u64 {
        let by_votes = self.out.special.mechanism.map_or(0, |mechanism| self.net.mechanisms[mechanism].trims);
        by_votes + self.net.trims.count(self.port)
    }

    /// Returns the queues of credits at a port, by class; none where credits have no limit.
    pub fn credit_queues(self) -> impl Iterator<Item = &'a CreditQueue> {
        self.out.credits.into_iter().flat_map(|credits| self.net.credits.queues(credits))
    }

    /// Returns the queues of data by class, at a port that is not plain.
    pub(super) fn data_queues(self) -> &'a [DataQueue] {
        self.net.queues.range(self.out.queues, self.net.arbiter.classes())
    }
}

/// Returns the number of packets put on links so far.
pub fn link_transmissions(net: &Network) -> u64 {
    let now = net.now();
    // Nothing waits at a port that is free.
    let busy = net.ports.iter().filter(|out| out.busy_until > now);
    net.launched - busy.filter_map(|out| out.plain).map(|plain| net.plain[plain].packets(now)).sum::<u64>()
}

/// Starts the greatest lengths of a port's queues anew from what waits now. Adds those so far to `before`: of data in
/// bytes, of credits in packets.
pub fn restart_maxima(net: &mut Network, port: PortId, before: &mut Vec<u64>) {
    let now = net.now();
    let (plain, credits) = (net.ports[port].plain, net.ports[port].credits);
    if let Some(plain) = plain {
        return before.push(net.plain[plain].restart_maximum(now));
    }
    before.extend(data_queues_mut(net, port).iter_mut().map(|class| class.queue.restart_maximum()));
    if let Some(credits) = credits {
        let queues = net.credits.queues_mut(credits);
        before.extend(queues.map(|queue| u64::from(queue.restart_maximum())));
    }
}

/// Raises the greatest lengths of a port's queues to those that [`restart_maxima`] added.
pub fn raise_maxima(net: &mut Network, port: PortId, before: &mut impl Iterator<Item = u64>) {
    let (plain, credits) = (net.ports[port].plain, net.ports[port].credits);
    if let Some(plain) = plain {
        return before.take(1).for_each(|before| net.plain[plain].raise_maximum(before));
    }
    let data = data_queues_mut(net, port).iter_mut().zip(before.by_ref());
    data.for_each(|(class, before)| class.queue.raise_maximum(before));
    if let Some(credits) = credits {
        let queues = net.credits.queues_mut(credits).zip(before);
        queues.for_each(|(queue, before)| queue.raise_maximum(before as u32));
    }
}

fn data_queues_mut(net: &mut Network, port: PortId) -> &mut [DataQueue] {
    net.queues.range_mut(net.ports[port].queues, net.arbiter.classes())
}
