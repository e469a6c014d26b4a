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
    pub(super) fn came(self) -> u64 {
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

#[cfg(test)]
mod tests {
    use super::super::credit_queue::WaitingCredit;
    use super::super::pipeline;
    use super::super::slab::RoutedPacket;
    use super::*;
    use crate::ids::{ClassId, Id};
    use crate::model::Model;
    use clearway_proto::AnyTransport;
    use clearway_topology::{NodeId, Star};
    use clearway_units::Time;

    /// The network of a star, and a port of its switch.
    fn network(transports: &[&AnyTransport], change: impl FnOnce(&mut Model)) -> (Network, PortId) {
        let topology = Star::default().build().unwrap();
        let mut model = crate::ports::network_for(topology, transports.iter().copied()).unwrap();
        change(&mut model);
        let port = model.topology.ports_of(NodeId(0))[0].reverse();
        (Network::new(&model), port)
    }

    /// A network whose ports have two classes, and a port where 500 bytes wait in the first and 1,030 in the second one.
    fn two_classes() -> (Network, PortId) {
        let (mut net, port) = network(&[], |model| {
            for port in [&mut model.switch, &mut model.host.port] {
                port.classes.push(port.classes[0].clone());
            }
        });
        for (class, wire) in [(0, 500), (1, 1_000), (1, 30)] {
            let class = ClassId::from_index(class);
            let routed = RoutedPacket { class, class_at_host: class, ..RoutedPacket::for_test(wire) };
            let id = net.slab.insert(routed);
            pipeline::join(&mut net, port, id);
        }
        (net, port)
    }

    #[test]
    fn what_waits_in_several_classes_is_added_up_and_the_maximum_is_that_of_the_longest() {
        let (mut net, port) = two_classes();
        net.agenda.now = Time::from_ps(10);
        let look = net.look(port);
        assert!(look.plain().is_none());
        assert_eq!((look.queued_bytes(), look.queue_max_bytes()), (1_530, 1_030));
        assert_eq!((look.queue_bytes_area(), look.queue_mean_bytes()), (15_300, 1_530.0));
        // The third packet found 1,000 bytes in its class, and the others none.
        assert_eq!((look.came(), look.queue_mean_arrivals_bytes()), (3, 1_000.0 / 3.0));
        assert_eq!(
            (look.sent().packets, look.used().since(Used::default()).share(look.out.rate, 1.0)),
            (0, 0.0)
        );
    }

    #[test]
    fn a_port_to_which_nothing_came_has_a_mean_of_zero() {
        for classes in [1, 2] {
            let (net, port) = network(&[], |model| {
                (1..classes).for_each(|_| model.switch.classes.push(model.switch.classes[0].clone()));
                (1..classes).for_each(|_| model.host.port.classes.push(model.host.port.classes[0].clone()));
            });
            assert_eq!((net.look(port).came(), net.look(port).queue_mean_arrivals_bytes()), (0, 0.0));
        }
    }

    #[test]
    fn what_waits_at_a_plain_port_is_neither_sent_nor_put_on_its_link_before_its_turn() {
        let (mut net, port) = network(&[], |_| ());
        for wire in [1_000, 500, 200] {
            let id = net.slab.insert(RoutedPacket::for_test(wire));
            pipeline::hand_aside(&mut net, port, id);
        }
        let time = |net: &Network, wire| net.ports[port].time_to_send(wire);
        let seen = |net: &Network| {
            let look = net.look(port);
            assert!(look.plain().is_some());
            (look.sent().packets, look.sent().bytes, look.queued_bytes(), link_transmissions(net))
        };
        assert_eq!(seen(&net), (1, 1_000, 700, 1));
        net.agenda.now = Time::ZERO + time(&net, 1_000);
        assert_eq!(seen(&net), (2, 1_500, 200, 2));
        let look = net.look(port);
        assert_eq!((look.came(), look.queue_max_bytes()), (3, 700));
        assert_eq!(look.queue_mean_arrivals_bytes(), 500.0 / 3.0, "the third packet found the second one");
        assert_eq!(look.queue_mean_bytes(), 700.0, "both waited all of the time");
        net.agenda.now = net.ports[port].busy_until;
        assert_eq!(seen(&net), (3, 1_700, 0, 3));
    }

    #[test]
    fn the_maxima_of_all_classes_start_anew_and_rise_again_class_by_class() {
        let (mut net, port) = two_classes();
        let first = net.ports[port].queues;
        for class in [0, 1] {
            let queue = net.queues.nth_mut(first, class);
            queue.queue.pop(&net.slab, Time::ZERO);
        }
        let mut before = Vec::new();
        restart_maxima(&mut net, port, &mut before);
        assert_eq!((&before[..], net.look(port).queue_max_bytes()), (&[500, 1_030][..], 30));
        raise_maxima(&mut net, port, &mut before.into_iter());
        let maxima = |net: &Network| [0, 1].map(|class| net.queues.nth(first, class).queue.bytes_max());
        assert_eq!(maxima(&net), [500, 1_030]);
    }

    #[test]
    fn the_maxima_of_a_plain_port_and_of_credits_start_anew_and_rise_again() {
        let (mut net, port) = network(&[], |_| ());
        for wire in [1_000, 500] {
            let id = net.slab.insert(RoutedPacket::for_test(wire));
            pipeline::hand_aside(&mut net, port, id);
        }
        net.agenda.now = net.ports[port].busy_until;
        let mut before = Vec::new();
        restart_maxima(&mut net, port, &mut before);
        assert_eq!((&before[..], net.look(port).queue_max_bytes()), (&[500][..], 0));
        raise_maxima(&mut net, port, &mut before.into_iter());
        assert_eq!(net.look(port).queue_max_bytes(), 500);

        let (mut net, port) = network(&[&AnyTransport::by_name("expresspass").unwrap()], |_| ());
        let credits = net.ports[port].credits.expect("credits have a limit");
        for number in 0..3 {
            let credit = WaitingCredit { id: Id::from_index(number), wire: 84 };
            assert!(net.credits.queues_mut(credits).next().unwrap().push(credit, Time::ZERO));
        }
        let look = net.look(port);
        assert_eq!((look.credits_waiting().packets, look.credits_waiting().bytes), (3, 252));
        net.credits.queues_mut(credits).for_each(|queue| assert!(queue.pop(Time::ZERO).is_some()));
        let mut before = Vec::new();
        restart_maxima(&mut net, port, &mut before);
        let maxima =
            |net: &Network| net.look(port).credit_queues().map(CreditQueue::packets_max).collect::<Vec<_>>();
        assert_eq!((before.last(), maxima(&net)), (Some(&3), vec![2]));
        raise_maxima(&mut net, port, &mut before.into_iter());
        assert_eq!(maxima(&net), [3]);
    }

    #[test]
    fn marks_and_trims_are_those_of_the_queues_and_of_the_mechanism_together() {
        let pacc = AnyTransport::by_name("pacc").unwrap();
        let (mut net, port) = network(&[&pacc], |model| {
            model.add_traffic("a", &pacc, crate::model::Pattern::Flows(Vec::new().into()));
        });
        let port =
            [port, port.reverse()].into_iter().find(|port| net.ports[*port].special.mechanism.is_some());
        let port = port.expect("the mechanism of PACC sits at the port of the switch");
        assert_eq!((net.look(port).marks(), net.look(port).trims(), net.look(port).cnps()), (0, 0, 0));
        let mechanism = net.ports[port].special.mechanism.unwrap();
        let at_work = &mut net.mechanisms[mechanism];
        (at_work.marks, at_work.trims, at_work.cnps) = (5, 7, 2);
        assert_eq!((net.look(port).marks(), net.look(port).trims(), net.look(port).cnps()), (5, 7, 2));
    }
}
