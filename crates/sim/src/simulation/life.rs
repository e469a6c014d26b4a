//! The life of a flow: it begins with its ends and paths, carries messages, and ends when both ends are done and its
//! last packet has left the network.

use super::global_events::GlobalEvent;
use super::ideal::ideal_fct;
use super::live_flows::LiveFlow;
use super::network::{share, unshare};
use super::notes::{ENDLESS, size_of_message};
use super::router::identity;
use super::state::Simulation;
use crate::classes::Classes;
use crate::hosts::{End, FlowName, Input, Receiving, Sending};
use crate::ids::{FlowSlot, HostId, Id, RecordId, TrafficId};
use crate::metrics::Record;
use crate::model;
use crate::net::{Networks, Spread, spread};
use crate::trace::Whose;
use clearway_proto::{AgentEnv, Entity, Env, Rng, Side, SmallRng, Stats};
use clearway_topology::{NodeId, PortId, base_rtt};
use clearway_units::{Bytes, Known, Rate, Time};

/// A flow about to begin.
pub struct Start {
    /// The name of the flow.
    pub name: FlowName,
    /// The host that sends.
    pub src: NodeId,
    /// The host that receives.
    pub dst: NodeId,
    /// Set if the flow's connection stands already.
    pub established: bool,
}

/// Begins a flow that carries one message.
pub fn start_single(sim: &mut Simulation, name: FlowName, flow: model::Flow) {
    let slot = open_flow(sim, Start { name, src: flow.src, dst: flow.dst, established: false });
    let record = write_message(sim, slot, flow, flow.size.is_some());
    if let Some(stop) = flow.stop {
        sim.global_events.push(stop, GlobalEvent::Stop(record));
    }
}

/// Opens a flow that will carry one message, which both of its ends expect.
pub fn open_single(sim: &mut Simulation, name: FlowName, flow: model::Flow) -> FlowSlot {
    let slot = open_flow(sim, Start { name, src: flow.src, dst: flow.dst, established: false });
    expect_message(sim, slot, flow);
    slot
}

/// Lets both ends of a flow that is alive expect its next message.
fn expect_message(sim: &mut Simulation, slot: FlowSlot, flow: model::Flow) {
    let (from, to) = (sim.nets.part_of(flow.src), sim.nets.part_of(flow.dst));
    let sending = sim.regions[from].hosts.senders.get_mut(slot).expect("the flow is alive");
    let end = sending.add_message(flow.size.map_or(ENDLESS, Bytes::get));
    sim.regions[to].hosts.receivers.get_mut(slot).expect("the flow is alive").messages.push(end);
}

/// Writes the next message to a flow that is alive, its last one if it closes. Returns the message's row.
pub fn write_message(sim: &mut Simulation, slot: FlowSlot, flow: model::Flow, close: bool) -> RecordId {
    expect_message(sim, slot, flow);
    sim.nets.share_paths();
    let from = sim.nets.part_of(flow.src);
    let bytes = flow.size.map_or(ENDLESS, Bytes::get);
    let now = sim.now;
    let record = add_row(sim, slot, bytes, now).expect("the flow is alive");
    sim.regions[from].drive_sender(slot, Input::Write { bytes, close }, sim.nets.part_mut(from));
    record
}

/// Begins a flow: finds its paths and makes both of its ends.
pub fn open_flow(sim: &mut Simulation, start: Start) -> FlowSlot {
    let Start { name, src, dst, established } = start;
    let model = &sim.model;
    let topology = &model.topology;
    let (key, is_spread) = (sim.router.key(name.traffic, name.number), sim.router.is_spread());
    let [path, reverse] = sim.router.both_ways(topology, src, dst, key);
    let [forward, backward] = [path, reverse].map(|path| spread::lay(&mut sim.nets, path, is_spread));
    let framing = model.framing;
    let entry = &model.traffic[name.traffic.index()];
    let transport = &entry.transport;
    let rate =
        |ports: &[PortId]| ports.iter().map(|port| topology.port(*port).rate).min().unwrap_or(Rate::ZERO);
    let (source, sink) = (HostId::of(src), HostId::of(dst));
    let [full, smallest] = [framing.wire_max(), framing.wire_min].map(|wire| Bytes::new(wire as u64));
    let (network_rtt, oversubscription) = (sim.network_rtt, sim.oversubscription);
    let env = Env {
        line_rate: topology.port(path[0]).rate,
        path_rate: rate(path),
        base_rtt: base_rtt(topology, path, reverse, full, smallest),
        network_rtt,
        framing,
        established,
        host_flows: if transport.needs().host_flows { sim.live_flows.load(source) } else { 0 },
    };
    let nic_rate = topology.port(reverse[0]).rate;
    let make = |line_rate| {
        move |number| {
            let rng = Rng::stream(model.seed, Entity::Agent, number);
            transport.agent(&AgentEnv { line_rate, framing, network_rtt, oversubscription, rng })
        }
    };
    let scope = transport.agent_scope();
    let receiver_hosts = &mut sim.regions[sim.nets.part_of(dst)].hosts;
    let streams = |protocol, path| {
        let identity = identity(name.traffic, name.number);
        (Rng::stream(model.seed, protocol, identity), SmallRng::stream(model.seed, path, identity))
    };
    let receiver = receiver_hosts
        .receivers
        .protocols
        .open(transport, &Env { line_rate: nic_rate, host_flows: 0, ..env });
    let classes = Classes::new(model, entry);
    let sending = End::new(streams(Entity::Sender, Entity::SenderPath), source, forward, classes);
    let receiving = End::new(streams(Entity::Receiver, Entity::ReceiverPath), sink, backward, classes);
    let slot = sim.live_flows.insert(LiveFlow::new(name, source, sink));
    let mut agent = None;
    if scope.receivers {
        agent = receiver_hosts.agents.of_host(name.traffic, sink, make(nic_rate));
        receiver_hosts.agents.begin(agent, slot, Side::Receiver, sim.now);
    }
    receiver_hosts.receivers.insert(slot, Receiving::new(receiver, receiving, name, agent));
    let sender_hosts = &mut sim.regions[sim.nets.part_of(src)].hosts;
    let sender = sender_hosts.senders.protocols.open(transport, &env);
    if scope.senders {
        let agent = sender_hosts.agents.of_host(name.traffic, source, make(env.line_rate));
        sender_hosts.agents.set_of_sender(slot, agent);
        sender_hosts.agents.begin(agent, slot, Side::Sender, sim.now);
    }
    sender_hosts.senders.insert(slot, Sending::new(sender, sending));
    if is_spread {
        spread::open(&mut sim.nets, topology, slot, Spread { key, src, dst });
    }
    if sim.switches_notify {
        let takes_cnps = transport.needs().cnps
            || transport.mechanism().is_some_and(|mechanism| mechanism.info().returns)
            || model.switch.classes[entry.class].returns();
        let back = |nets: &mut Networks| if is_spread { backward } else { nets.add_reverse(forward) };
        let back = takes_cnps.then(|| (back(&mut sim.nets), classes.cnp));
        sim.nets.parts_mut().iter_mut().for_each(|net| net.notified.open(slot, back));
    }
    if let Some(recorder) = sim.nets.tap() {
        let FlowName { traffic, number } = name;
        recorder.open_flow(slot, Whose { traffic: traffic.index() as u32, number, src, dst });
    }
    slot
}

/// A message was written to a flow that is alive. Returns the message's row.
pub fn add_row(sim: &mut Simulation, slot: FlowSlot, bytes: u64, at: Time) -> Option<RecordId> {
    let live = sim.live_flows.get(slot)?;
    let sending = sim.regions[sim.nets.part_of(live.src.node())].hosts.senders.get(slot)?;
    let route = sending.end.route;
    let ideal = ideal_fct(sim, slot, route, at, bytes);
    let live = sim.live_flows.get_mut(slot)?;
    let row = Record {
        traffic: live.name().traffic,
        number: live.name().number,
        src: live.src.node(),
        dst: live.dst.node(),
        size: size_of_message(bytes).into(),
        start: at,
        end: Known::NONE,
        acknowledged: Known::NONE,
        ideal,
        delivered: 0,
        stats: None,
        flow: Some(slot),
    };
    let record = sim.journal.push(&sim.model, row);
    if live.push(record) {
        if let Some(last) = live.record.replace(record) {
            sim.journal.release(last);
        }
        let host = live.src;
        sim.live_flows.add_load(host);
    }
    if let Some(recorder) = sim.nets.tap() {
        recorder.start_message(record, slot, at);
    }
    let traffic = sim.journal.open(record).traffic;
    share(sim, slot, traffic, route);
    Some(record)
}

/// The first open message of a flow was delivered in full. `stats` are the counts of both ends then, of flows with
/// several messages. Returns the message's traffic entry and row.
pub fn complete(
    sim: &mut Simulation,
    slot: FlowSlot,
    at: Time,
    stats: Option<Box<Stats>>,
) -> (TrafficId, RecordId) {
    let live = sim.live_flows.get_mut(slot).expect("a flow with an open message is alive");
    let row = live.deliver().expect("a message was written before it is delivered");
    let traffic = live.name().traffic;
    let record = sim.journal.open(row);
    record.end = Some(at).into();
    record.delivered = record.size.get().expect("a message that is complete has a size");
    if let Some(stats) = stats {
        record.add(&live.count(*stats));
    }
    if let Some(recorder) = sim.nets.tap() {
        recorder.end_message(row, at, record.delivered);
    }
    if let Some(next) = live.first_open() {
        live.record = Some(next);
        sim.journal.release(row);
    } else {
        let host = live.src;
        sim.live_flows.drop_load(host);
        unshare(sim, slot);
    }
    sim.journal.completed += 1;
    (traffic, row)
}

/// The sender of a flow knows that a message has arrived. Returns the message's traffic entry and row.
pub fn acknowledge(sim: &mut Simulation, slot: FlowSlot, at: Time) -> Option<(TrafficId, RecordId)> {
    let live = sim.live_flows.get_mut(slot)?;
    let row = live.acknowledge()?;
    let traffic = live.name().traffic;
    sim.journal.open(row).acknowledged = Some(at).into();
    if live.record != Some(row) {
        sim.journal.release(row);
    }
    Some((traffic, row))
}

/// A flow's time to stop came: its application takes back what was not sent.
pub fn stop_flow(sim: &mut Simulation, row: RecordId) {
    let live = sim.journal.get_mut(row).filter(|record| record.end.get().is_none());
    let Some(slot) = live.and_then(|record| record.flow) else { return };
    let Some(live) = sim.live_flows.get_mut(slot) else { return };
    let (from, to) = (sim.nets.part_of(live.src.node()), sim.nets.part_of(live.dst.node()));
    let total = sim.regions[from].drive_sender(slot, Input::Truncate, sim.nets.part_mut(from));
    let Some((sending, protocols)) = sim.regions[from].hosts.senders.with_protocols(slot) else {
        return;
    };
    sending.written = total;
    sending.messages.cut_to(total);
    let (acknowledged, route) = (sending.acknowledged(protocols), sending.end.route);
    let since = sim.journal.open(row).start;
    let ideal = ideal_fct(sim, slot, route, since, total);
    let record = sim.journal.open(row);
    record.size = Some(total).into();
    record.ideal = ideal;
    sim.regions[from].note_acknowledged(slot, acknowledged, sim.nets.part(from));
    let Some((receiving, protocols)) = sim.regions[to].hosts.receivers.with_protocols(slot) else {
        return;
    };
    receiving.messages.cut_to(total);
    let delivered = receiving.delivered(protocols);
    sim.regions[to].note_delivered(slot, delivered, sim.nets.part_mut(to));
}

/// Ends flows whose ends are done and whose last packet has left the network.
pub fn retire(sim: &mut Simulation) {
    let mut ending = std::mem::take(&mut sim.ending);
    ending.retain(|&slot| {
        let Some(live) = sim.live_flows.get_mut(slot) else { return false };
        let parts = [live.src, live.dst].map(|host| sim.nets.part_of(host.node()));
        let sending = sim.regions[parts[0]].hosts.senders.get(slot).map(|sending| &sending.end);
        let receiving = sim.regions[parts[1]].hosts.receivers.get(slot).map(|receiving| &receiving.end);
        let (Some(sending), Some(receiving)) = (sending, receiving) else { return false };
        if !(sending.finished && receiving.finished) {
            live.is_ending = false;
            return false;
        }
        let in_network = sending.in_network + receiving.in_network + live.unseen;
        if sim.switches_notify {
            sim.nets.parts_mut().iter_mut().for_each(|net| net.notified.end(slot));
        }
        if in_network == 0 {
            remove(sim, slot, parts);
        }
        in_network != 0
    });
    sim.ending = ending;
}

/// Removes a flow that is over.
fn remove(sim: &mut Simulation, slot: FlowSlot, [from, to]: [usize; 2]) {
    unshare(sim, slot);
    let topology = &sim.model.topology;
    let delivered = sim.regions[to].hosts.receivers.with_protocols(slot);
    let delivered = delivered.map_or(0, |(receiving, protocols)| receiving.delivered(protocols));
    let sending = sim.regions[from].hosts.remove_sender(slot, sim.nets.part_mut(from), topology);
    let receiving = sim.regions[to].hosts.remove_receiver(slot, sim.nets.part_mut(to));
    let (Some(sending), Some(receiving)) = (sending, receiving) else { return };
    let Some(live) = sim.live_flows.remove(slot) else { return };
    sim.nets.remove_path(sending.end.route);
    sim.nets.remove_path(receiving.end.route);
    if let Some((back, _)) = sim.nets.part(0).notified.back(slot) {
        sim.nets.remove_path(back);
    }
    let stats = sending.end.stats.plus(&receiving.end.stats);
    if let Some(record) = sim.journal.settle(&live, delivered, &stats) {
        record.flow = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::EndId;
    use clearway_proto::{AnyTransport, TRANSPORTS};

    /// The memory of a flow of one message in a tree, where a path has six ports, in bytes: its ends, what the run knows
    /// of it, its row, and its place in the list of flows. Packets, the array of pending events and what the allocator
    /// adds are left out.
    fn bytes(transport: &str) -> usize {
        let protocols = AnyTransport::by_name(transport).expect(transport).end_bytes();
        let ends =
            size_of::<Option<Sending>>() + size_of::<Option<Receiving>>() + 2 * size_of::<Option<EndId>>();
        let paths = 2 * 6 * size_of::<PortId>();
        let run = size_of::<Option<LiveFlow>>() + size_of::<Record>() + size_of::<model::Flow>();
        protocols.iter().sum::<usize>() + ends + paths + run
    }

    #[test]
    fn the_memory_of_an_active_flow_does_not_grow_unseen() {
        let largest = |transport: &str| match transport {
            "dctcp" => 944,
            "expresspass" => 864,
            "hull" => 1096,
            _ => 1088,
        };
        let grown: Vec<_> = TRANSPORTS
            .iter()
            .map(|info| (info.name, bytes(info.name)))
            .filter(|&(name, bytes)| bytes > largest(name))
            .collect();
        assert!(grown.is_empty(), "more bytes a flow than before: {grown:?}");
    }
}
