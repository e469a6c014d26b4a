//! Links that fail and recover, or change their rate.

use super::drop_reason::DropReason;
use super::drops::drop_packet;
use super::network::Network;
use super::networks::Networks;
use super::{pause, pipeline};
use clearway_topology::PortId;
use clearway_units::Rate;

/// A link's direction fails, and what waited for it is lost; or it recovers. The parts of both its ends are told.
pub fn set_up(nets: &mut Networks, port: PortId, up: bool) {
    let ends = [port, port.reverse()].map(|end| nets.part_of(nets.parts[0].ports[end].owner));
    set_up_in_part(&mut nets.parts[ends[0]], port, up);
    if ends[0] != ends[1] {
        pause::forget_pauses(&mut nets.parts[ends[1]], port);
    }
}

/// A link's direction has another rate from now on: the next frame leaves at it, while one that is leaving keeps its
/// speed. All parts are told, since all of them may show frames on the link.
pub fn set_rate(nets: &mut Networks, port: PortId, rate: Rate) {
    let left = nets.of(port).ports[port].busy_until;
    nets.parts.iter_mut().for_each(|net| net.ports[port].set_rate(rate, left));
}

/// As [`set_up`], in the part from which the direction leads away.
fn set_up_in_part(net: &mut Network, port: PortId, up: bool) {
    let now = net.now();
    let out = &mut net.ports[port];
    debug_assert!(out.plain.is_none(), "a port that faults concern is not plain");
    out.up = up;
    out.settle();
    pause::forget_pauses(net, port);
    if up {
        return pipeline::rearm(net, port);
    }
    let out = &mut net.ports[port];
    out.waiting = 0;
    let (first, credits, is_switch) = (out.queues, out.credits, out.nic.is_none());
    for class in 0..net.arbiter.classes() {
        let lost = net.queues.nth_mut(first, class).queue.drain(&net.slab, now);
        net.came_besides.cover(port, 0);
        net.came_besides[port] += lost.len() as i64;
        if is_switch {
            lost.iter().for_each(|&id| pipeline::leave_memory(net, port, id));
        }
        lost.into_iter().for_each(|id| drop_packet(net, port, id, DropReason::Down));
    }
    if let Some(credits) = credits {
        let lost = net.credits.drain(credits, now);
        lost.into_iter().for_each(|id| drop_packet(net, port, id, DropReason::Down));
    }
}

#[cfg(test)]
mod tests {
    use super::super::slab::RoutedPacket;
    use super::*;
    use crate::ids::{ClassId, Id};
    use crate::model::{Fault, Model, SharedBuffer};
    use clearway_topology::{NodeId, Star};
    use clearway_units::{Bytes, Time};

    /// A star with two classes at its ports, whose switches share 10,000 bytes, and a port of the switch that may fail.
    fn two_classes() -> (Model, PortId) {
        let mut model = crate::ports::network_for(Star::default().build().unwrap(), []).unwrap();
        for port in [&mut model.switch, &mut model.host.port] {
            port.classes.push(port.classes[0].clone());
        }
        model.switch.shared = Some(SharedBuffer { size: Bytes::new(10_000), alpha: 1.0 });
        let port = model.topology.ports_of(NodeId(0))[0].reverse();
        model.faults = vec![Fault::at_once(Time::ZERO, port, false)];
        (model, port)
    }

    /// Puts a packet of a class into its queue.
    fn wait(net: &mut Network, port: PortId, class: usize, wire: u32) {
        let class = ClassId::from_index(class);
        let id =
            net.slab.insert(RoutedPacket { class, class_at_host: class, ..RoutedPacket::for_test(wire) });
        pipeline::join(net, port, id);
    }

    #[test]
    fn a_mechanism_is_told_of_what_waits_in_all_classes_of_its_port() {
        let (model, port) = two_classes();
        let mut net = Network::new(&model);
        let queued = |net: &Network| pipeline::port_state(net, &net.ports[port]).queued;
        assert_eq!(queued(&net), 0);
        wait(&mut net, port, 1, 500);
        assert_eq!(queued(&net), 500);
        wait(&mut net, port, 0, 1_000);
        wait(&mut net, port, 1, 30);
        assert_eq!(queued(&net), 1_530);
    }

    #[test]
    fn a_port_whose_link_fails_drops_all_that_waits_in_every_class_and_gives_its_memory_back() {
        let (model, port) = two_classes();
        let mut net = Network::new(&model);
        let other = PortId(if port.0 == 1 { 3 } else { 1 });
        for (class, wire) in [(0, 4_000), (1, 2_000)] {
            wait(&mut net, port, class, wire);
        }
        wait(&mut net, other, 0, 1_000);
        wait(&mut net, other, 1, 2_000);
        assert_eq!(net.look(other).drops()[DropReason::Buffer], 0);
        wait(&mut net, other, 1, 1_000);
        assert_eq!(
            net.look(other).drops()[DropReason::Buffer],
            1,
            "its queue may hold what is free: 1,000 bytes"
        );
        let came = [port, other].map(|port| net.look(port).came());
        assert_eq!(came, [2, 3], "what is dropped came too");
        set_up_in_part(&mut net, port, false);
        assert_eq!((net.look(port).drops()[DropReason::Down], net.ports[port].waiting), (2, 0));
        assert_eq!(net.look(port).came(), 2, "what is lost with the link had come before");
        assert_eq!(pipeline::port_state(&net, &net.ports[port]).queued, 0);
        // Of 10,000 bytes the other port has 3,000, and a queue may hold as much as is free.
        wait(&mut net, other, 0, 2_500);
        assert_eq!(net.look(other).drops()[DropReason::Buffer], 1);
        wait(&mut net, other, 1, 2_000);
        assert_eq!(net.look(other).drops()[DropReason::Buffer], 1, "4,000 of 4,500 bytes");
        wait(&mut net, other, 1, 1);
        assert_eq!(net.look(other).drops()[DropReason::Buffer], 2, "4,001 of 2,500 bytes");
        set_up_in_part(&mut net, port, true);
        assert_eq!(net.ports[port].waiting, 0, "nothing leaves that was lost");
    }
}
