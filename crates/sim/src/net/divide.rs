//! A network that is divided into blocks (`blocks.rs`), and how they take turns.

use super::blocks::{Blocks, Own};
use super::build::{deferred_exits, horizon};
use super::network::Network;
use super::networks::Networks;
use super::pipeline;
use super::port::Away;
use crate::engine::{Agenda, Event};
use crate::model::Model;
use clearway_topology::{NodeId, PortId};
use clearway_units::{Span, Time};
use std::mem::{swap, take};

/// Buckets of events are as many times as wide as those of an undivided part as there are blocks for each so many.
const SPARSER: u64 = 4;

/// The block of nodes that lie in other parts.
const ELSEWHERE: u16 = u16::MAX;

/// Divides the parts of idle networks into so many blocks each, unless that is one. `block_of` has the block of each node within its
/// part.
pub fn divide(nets: &mut Networks, model: &Model, block_of: &[u32], blocks: &[usize]) {
    for (part, &count) in blocks.iter().enumerate().filter(|(_, count)| **count > 1) {
        let block = |(node, &block): (usize, &u32)| {
            if nets.part_of(NodeId::from_index(node)) == part { block as u16 } else { ELSEWHERE }
        };
        let of_node = block_of.iter().enumerate().map(block).collect();
        divide_part(&mut nets.parts[part], model, of_node, count);
    }
}

/// Lets networks take over the blocks of others that are cut alike.
pub fn take_blocks(nets: &mut Networks, other: &mut Networks) {
    nets.parts.iter_mut().zip(&mut other.parts).for_each(|(net, other)| take_blocks_of(net, other));
}

/// Ends that blocks take turns, for somebody who knows no blocks.
pub fn gather(nets: &mut Networks) {
    nets.parts.iter_mut().for_each(|net| gather_part(net));
}

/// Lets blocks take turns in any case but in two of so many stretches of time, for tests.
pub fn take_turns_but(nets: &mut Networks, every: u64) {
    nets.parts.iter_mut().filter_map(|net| net.blocks.as_mut()).for_each(|blocks| blocks.open_but(every));
}

/// Divides an idle network, or part of one, into so many blocks: `of_node` has that of each node.
fn divide_part(net: &mut Network, model: &Model, of_node: Vec<u16>, blocks: usize) {
    let mut window = Span::MAX;
    for (port, out) in model.topology.ports().iter().zip(net.ports.iter_mut()) {
        let [from, to] = [port.from, port.to].map(|node| of_node[node.index()]);
        if from != to && from != ELSEWHERE && to != ELSEWHERE {
            out.special.leads_to = Some(Away::Block(to));
            out.settle();
            window = window.min(port.delay);
        }
    }
    let (ports, hosts) = (model.topology.ports().len(), model.topology.hosts());
    let exits = deferred_exits(net);
    let own = (0..blocks).map(|block| {
        let is_here = |node: NodeId| usize::from(of_node[node.index()]) == block;
        let exits = exits.iter().copied().filter(|&port| is_here(net.ports[port].owner));
        // A block has few of the events, and each bucket that holds any takes two cache lines at least.
        let agenda = Agenda::new(ports, hosts, horizon(model, is_here) * (blocks as u64 / SPARSER).max(1));
        Own { agenda, exits: exits.collect(), next_exit: None }
    });
    let own = own.collect();
    // Where blocks rest, a port that leads to another one leads nowhere else.
    let leaves = |port: &PortId| matches!(net.ports[*port].special.leads_to, Some(Away::Part(_)));
    net.deferred_exits = exits.iter().copied().filter(leaves).collect();
    net.blocks = Some(Box::new(Blocks::new(of_node, own, window)));
}

/// Takes over the blocks of a network of the same model that is cut alike. The events of this one lie in the agenda of
/// the part.
fn take_blocks_of(net: &mut Network, other: &mut Network) {
    net.blocks = other.blocks.take();
    for (own, other) in net.ports.iter_mut().zip(other.ports.iter()) {
        own.special.leads_to = other.special.leads_to;
        own.settle();
    }
    net.deferred_exits = take(&mut other.deferred_exits);
    look_at_exits(net);
}

/// Notes when the first port that leads elsewhere, and is served late, sends what waits there: the first of the part where blocks
/// rest, or else of each block.
pub fn look_at_exits(net: &mut Network) {
    let Some(blocks) = net.blocks.as_mut().filter(|blocks| blocks.are_open()) else {
        return pipeline::settle_exits(net, Time::ZERO);
    };
    let numbers = blocks.numbers();
    net.next_exit = None;
    for block in numbers {
        turn(net, block);
        pipeline::settle_exits(net, Time::ZERO);
        turn(net, block);
    }
}

/// Gives a block its turn or, called once more, ends it: the agenda of the network is that of the block meanwhile.
pub fn turn(net: &mut Network, block: u16) {
    let Some(blocks) = &mut net.blocks else { return };
    let Own { agenda, exits, next_exit } = blocks.own(block);
    swap(&mut net.agenda, agenda);
    swap(&mut net.deferred_exits, exits);
    swap(&mut net.next_exit, next_exit);
}

/// Sets whether a block that has its turn shall know that a watch of flow control runs. Returns what was known before.
pub fn set_watching(net: &mut Network, is_watching: bool) -> bool {
    net.memory.control_mut().is_some_and(|control| control.set_watching(is_watching))
}

/// Ends that blocks take turns: brings all their events back to the agenda of the part.
pub fn gather_part(net: &mut Network) {
    let Some(blocks) = &mut net.blocks else { return };
    if !blocks.set_open(false) {
        return;
    }
    for block in blocks.numbers() {
        let own = blocks.own(block);
        while let Some(event) = own.agenda.pop_before(Time::MAX) {
            net.agenda.take_over(event);
        }
        own.agenda.rewind(net.agenda.now);
        own.next_exit = None;
    }
    look_at_exits(net);
}

/// Lets blocks take turns, and spreads what is scheduled over them. `place` tells the node at which an event is handled.
pub fn spread(net: &mut Network, place: impl Fn(&Agenda, &Event) -> NodeId) {
    let Network { agenda, blocks: Some(blocks), .. } = net else { return };
    let was_open = blocks.set_open(true);
    if agenda.next_at().is_some() {
        let now = agenda.now;
        while let Some(event) = agenda.pop_before(Time::MAX) {
            let block = blocks.of(place(agenda, &event));
            blocks.schedule(block, event);
        }
        agenda.rewind(now);
    }
    if !was_open {
        look_at_exits(net);
    }
}

/// Returns the agendas in which events of this part are pending.
pub fn agendas(net: &Network) -> impl Iterator<Item = &Agenda> {
    let of_blocks = net.blocks.iter().flat_map(|blocks| blocks.agendas());
    std::iter::once(&net.agenda).chain(of_blocks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::slab::RoutedPacket;
    use clearway_proto::AnyTransport;
    use clearway_topology::LeafSpine;

    #[test]
    fn what_waits_at_a_port_to_another_part_is_due_at_the_same_time_whether_blocks_take_turns_or_rest() {
        let tree = LeafSpine { leaves: 2, spines: 2, hosts_per_leaf: 4, ..LeafSpine::default() };
        let topology = tree.build().unwrap();
        let [leaf, spine, other] = ["leaf0", "spine0", "leaf1"].map(|name| topology.node(name).unwrap());
        let exit = topology.port_between(spine, other).unwrap();
        let model = crate::ports::network_for(topology, [&AnyTransport::by_name("ndp").unwrap()]).unwrap();
        // One part has a leaf with its hosts as one block, and a spine as the other; all else is the other part.
        let nodes = (0..model.topology.nodes().len()).map(NodeId::from_index);
        let is_here = |node: NodeId| node.index() < 4 || node == leaf || node == spine;
        let part_of = nodes.clone().map(|node| u32::from(!is_here(node))).collect();
        let block_of: Vec<u32> = nodes.map(|node| u32::from(node == spine)).collect();
        let mut nets = Networks::new(&model, part_of, 2);
        divide(&mut nets, &model, &block_of, &[2, 1]);
        let net = nets.part_mut(0);
        for _ in 0..3 {
            let id = net.slab.insert(RoutedPacket::for_test(1_000));
            pipeline::hand_aside(net, exit, id);
        }
        let (due, wakes) = (net.ports[exit].busy_until, net.agenda.next_at());
        assert!(net.ports[exit].waiting == 2 && wakes > Some(due), "the port is served late");
        look_at_exits(net);
        assert_eq!(net.next_at(), Some(due));
        spread(net, |_, _| spine);
        let blocks = net.blocks.as_ref().unwrap();
        assert_eq!([0, 1].map(|block| blocks.next_at(block)), [None, Some(due)]);
        assert_eq!(net.next_at(), Some(due));
        gather_part(net);
        assert_eq!((net.next_at(), net.agenda.next_at()), (Some(due), wakes));
    }
}
