//! Deferred service: a port of a switch sends several waiting packets in one wake-up, instead of one.
//!
//! What a port sends at a time reaches the far end of its link no sooner than the link's delay later, and nobody sees it before.
//! So a port that nothing else watches picks the packets late: before the next packet joins its queues, before anybody looks at
//! the network ([`settle_all`]), or else when it wakes, a delay of the link after the first of them was due. Each packet leaves
//! at the time, and after the choice among classes, that it would have had: all that came before that time waits by then, and
//! nothing that came later does.
//!
//! A port is served so ([`Instance::Deferred`](crate::net::port::Instance::Deferred)) if it trims, and if neither shared memory, flow
//! control, a mechanism, a trace, random loss, a fault nor adaptive routing has to know when a packet leaves. Another part of the
//! network has to know it before a packet can arrive there ([`settle_exits`]). When ports wake depends on none of these looks, so
//! that the number of events doesn't either.

use crate::engine::{EventKind, TICK, prefetch_lines};
use crate::fast_paths::tests_forbid;
use crate::ids::{Id, PacketId};
use crate::net::network::Network;
use crate::net::port::{Away, Port};
use clearway_topology::PortId;
use clearway_units::Time;

/// Returns whether a port is served late.
#[inline(always)]
pub fn is_deferred(out: &Port) -> bool {
    out.special.defers() && !tests_forbid()
}

/// Wakes a port for what waits there, which is due at `due`.
#[inline(always)]
pub fn wake_for_queues(net: &mut Network, port: PortId, due: Time) {
    let out = &net.ports[port];
    let at = if is_deferred(out) { due + out.delay } else { due };
    net.arm(port, at);
}

/// A port that is served late wakes.
#[inline(never)]
pub fn serve_deferred(net: &mut Network, port: PortId) {
    settle_if_due(net, port, net.agenda.now + TICK);
    let out = &net.ports[port];
    if out.waiting > 0 {
        wake_for_queues(net, port, out.busy_until);
    }
}

/// Sends a packet that came to a port that is served late, whose link is free and where nothing waits.
#[inline(never)]
pub fn send_at_once(net: &mut Network, port: PortId, id: PacketId) {
    let (out, routed) = (&net.ports[port], &net.slab[id]);
    let queue = net.queues.nth_mut(out.queues, routed.class.index());
    queue.admission.send(&routed.packet, out.counted.packets + 1);
    put_on_link_late(net, port, id, net.agenda.now);
}

/// Lets a port that is served late send what it sends before `until`, where that is at least one packet.
#[inline(never)]
fn settle(net: &mut Network, port: PortId, until: Time) {
    loop {
        send_first(net, port);
        if !is_due(&net.ports[port], until) {
            return;
        }
    }
}

/// Returns whether a port that is served late has sent something before `until` that still stands in its queues.
#[inline(always)]
fn is_due(out: &Port, until: Time) -> bool {
    // One branch instead of two, each of which a processor would often guess wrong.
    (out.waiting > 0) & (out.busy_until < until)
}

/// Sends the packet whose turn it was when the link of a port that is served late became free. A packet joins a queue of a link
/// that is busy until that time or later, so that all that waits had come by then.
#[inline(always)]
fn send_first(net: &mut Network, port: PortId) {
    let out = &mut net.ports[port];
    let start = out.busy_until;
    let waits = |class| net.queues.nth(out.queues, Id::index(class)).queue.packets() > 0;
    let class = net.arbiter.first(false, waits).expect("some class of data waits");
    let queue = net.queues.nth_mut(out.queues, class.index());
    let id = queue.queue.head().expect("a packet of the class waits");
    let routed = &mut net.slab[id];
    queue.queue.pop_head(routed, start);
    queue.mark_leaving(&mut routed.packet);
    queue.admission.send(&routed.packet, out.counted.packets + 1);
    out.waiting -= 1;
    // The next one came long ago. It is fetched while this one leaves; where there is none, this one is asked for again, which
    // costs less than a branch that is often guessed wrong.
    prefetch_lines(net.slab.address(queue.queue.head().unwrap_or(id)), 1);
    put_on_link_late(net, port, id, start);
}

/// Puts a packet, which its class has noted, on the link of a port that is served late, at `start`. Of what is looked at elsewhere
/// when packets depart, such a port has nothing else but another block or part of the network to which its link may lead.
#[inline(always)]
fn put_on_link_late(net: &mut Network, port: PortId, id: PacketId, start: Time) {
    let (out, routed) = (&mut net.ports[port], &net.slab[id]);
    let arrival = out.start_frame(routed.packet.wire.into(), start);
    out.counted.add(&routed.packet);
    net.launched += 1;
    let Some(away) = out.special.leads_to else {
        return net.agenda.at_port(port, arrival, EventKind::Arrive(id));
    };
    match away {
        Away::Block(block) => net.schedule_at(block, port, arrival, EventKind::Arrive(id)),
        Away::Part(_) => net.hand_over(away, port, arrival, id),
    }
}

/// Lets all ports that are served late send what they send before `until`, before somebody looks at them.
pub fn settle_all(net: &mut Network, until: Time) {
    if !net.defers {
        return;
    }
    for port in (0..net.ports.len() as u32).map(PortId) {
        settle_if_deferred(net, port, until);
    }
}

/// As [`settle_all`], for the ports that lead to other parts of the network, at the end of a window: what leaves before then may arrive
/// there in the next window. Notes when the first of them sends what still waits.
pub fn settle_exits(net: &mut Network, until: Time) {
    let mut next: Option<Time> = None;
    for place in 0..net.deferred_exits.len() {
        let port = net.deferred_exits[place];
        settle_if_deferred(net, port, until);
        let out = &net.ports[port];
        if out.waiting > 0 && is_deferred(out) {
            next = Some(next.map_or(out.busy_until, |at| at.min(out.busy_until)));
        }
    }
    net.next_exit = next;
}

#[inline(always)]
fn settle_if_deferred(net: &mut Network, port: PortId, until: Time) {
    if is_deferred(&net.ports[port]) {
        settle_if_due(net, port, until);
    }
}

/// As [`settle`], with a look at whether anything is due before that costs a call.
#[inline(always)]
pub fn settle_if_due(net: &mut Network, port: PortId, until: Time) {
    if is_due(&net.ports[port], until) {
        settle(net, port, until);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{hand_aside, wake};
    use super::*;
    use crate::Simulation;
    use crate::engine::{Event, EventKind};
    use crate::fast_paths::tests::{FORBIDDEN, FRAMING, ns};
    use crate::ids::{ClassId, Id};
    use crate::model::{Fault, Flow, Model, Pattern, Probe, Sample, SharedBuffer, Trace};
    use crate::net::network::Network;
    use crate::net::slab::RoutedPacket;
    use crate::ports::network_for;
    use clearway_proto::AnyTransport;
    use clearway_topology::routing::Policy;
    use clearway_topology::{LeafSpine, NodeId};
    use clearway_units::{Bytes, Span};
    use proptest::prelude::*;

    /// A model of flows of one transport over two leaves and two spines: each from a host, to another one, at a time in
    /// nanoseconds, of so many bytes.
    fn model(transport: &str, flows: &[(u32, u32, u64, u64)]) -> Model {
        let transport = AnyTransport::by_name(transport).unwrap();
        let topology = LeafSpine { leaves: 2, spines: 2, hosts_per_leaf: 4, ..LeafSpine::default() };
        let mut model = network_for(topology.build().unwrap(), std::slice::from_ref(&transport)).unwrap();
        let mut list: Vec<Flow> = flows
            .iter()
            .map(|&(src, ahead, start, bytes)| Flow {
                start: ns(start),
                src: NodeId(src),
                dst: NodeId((src + ahead) % 8),
                size: Some(Bytes::new(bytes)),
                stop: None,
            })
            .collect();
        list.sort_by_key(|flow| flow.start);
        model.add_traffic("flows", &transport, Pattern::Flows(list.into()));
        model.stop = Some(ns(2_000_000));
        model
    }

    /// Flows of seven hosts to one.
    fn incast(transport: &str) -> Model {
        let flows: Vec<_> = (1..8).map(|host| (host, 8 - host, 0, 100_000)).collect();
        model(transport, &flows)
    }

    fn deferring(model: &Model) -> usize {
        Network::new(model).ports.iter().filter(|out| out.special.defers()).count()
    }

    #[test]
    fn ports_that_trim_are_served_late_unless_something_must_know_when_packets_leave() {
        let plain = incast("ndp");
        // Eight ports lead to hosts and eight to other switches. Those of hosts are always served in time.
        assert_eq!(deferring(&plain), 8 + 8);
        let with = |change: &dyn Fn(&mut Model)| {
            let mut model = plain.clone();
            change(&mut model);
            deferring(&model)
        };
        let port = plain.topology.ports_of(plain.topology.node("leaf0").unwrap())[0];
        assert_eq!(with(&|model| model.faults = vec![Fault::at_once(ns(5), port, false)]), 15);
        assert_eq!(with(&|model| model.loss = vec![(port, 0.1)]), 15);
        assert_eq!(with(&|model| model.routing = Policy::Adaptive), 0);
        let shared = Some(SharedBuffer { size: Bytes::new(100_000), alpha: 1.0 });
        assert_eq!(with(&|model| model.switch.shared = shared), 0);
        let trace = |model: &mut Model| {
            let (name, ports, from) = ("trace".into(), vec![port], Time::ZERO);
            model.traces =
                vec![Trace { name, ports, flows: None, from, until: None, limit: 9, formats: vec![] }];
        };
        assert_eq!(with(&trace), 15);
        let mechanism = incast("rcp").switch.mechanism;
        assert!(mechanism.is_some());
        assert_eq!(with(&|model| model.switch.mechanism = mechanism.clone()), 0);
        let in_turn =
            |model: &mut Model| model.switch.classes.iter_mut().for_each(|class| class.priority = 0);
        assert_eq!(with(&in_turn), 0, "classes share turns");
        assert_eq!(deferring(&incast("dctcp")), 0, "nothing trims");
    }

    #[test]
    fn one_wake_up_sends_all_that_was_due_at_the_times_at_which_it_was_due() {
        let model = incast("ndp");
        let port = model.topology.ports_of(model.topology.node("leaf0").unwrap())[0];
        let mut net = Network::new(&model);
        let (delay, frame) = (net.ports[port].delay, net.ports[port].time_to_send(1_000));
        for _ in 0..4 {
            let id = net.slab.insert(RoutedPacket::for_test(1_000));
            hand_aside(&mut net, port, id);
        }
        let at = |net: &Network, wanted: &dyn Fn(EventKind) -> bool| {
            let mut times: Vec<Time> =
                net.agenda.iter().filter(|event| wanted(event.kind())).map(Event::at).collect();
            times.sort();
            times
        };
        let wakes = |kind| matches!(kind, EventKind::Wake(_));
        // The first one leaves at once, so that the next is due when its frame has left.
        let due = Time::ZERO + frame;
        assert_eq!((net.ports[port].waiting, at(&net, &wakes)), (3, vec![due + delay]));
        assert!(delay > frame * 2, "so that the others are due by then");
        net.agenda.now = due + delay;
        assert!(!wake(&mut net, port), "nothing is left to do");
        assert_eq!(net.ports[port].waiting, 0);
        let arrivals = at(&net, &|kind| matches!(kind, EventKind::Arrive(_)));
        let expected: Vec<Time> = (1..5).map(|n| Time::ZERO + frame * n + delay).collect();
        assert_eq!(arrivals, expected);
        assert_eq!(net.ports[port].busy_until, Time::ZERO + frame * 4);
    }

    #[test]
    fn a_packet_that_comes_at_the_instant_in_which_others_are_due_may_go_before_them() {
        let model = incast("ndp");
        let port = model.topology.ports_of(model.topology.node("leaf0").unwrap())[0];
        for (ns_late, first) in [(0, 100), (1, 1_000)] {
            let mut net = Network::new(&model);
            for _ in 0..2 {
                let id = net.slab.insert(RoutedPacket::for_test(1_000));
                hand_aside(&mut net, port, id);
            }
            net.agenda.now = net.ports[port].busy_until + Span::from_ns(ns_late);
            let mut header = RoutedPacket::for_test(100);
            // The class of headers goes first.
            header.class = ClassId::from_index(1);
            let id = net.slab.insert(header);
            hand_aside(&mut net, port, id);
            settle_all(&mut net, Time::MAX);
            let mut order: Vec<(Time, u16)> = net
                .agenda
                .iter()
                .filter_map(|event| event.arriving().map(|id| (event.at(), net.slab[id].packet.wire)))
                .collect();
            order.sort();
            assert_eq!(order[1].1, first, "{ns_late} ns late");
        }
    }

    /// What a sampler saw, and the number of events.
    fn watched(model: &Model, forbidden: bool) -> (Vec<f64>, u64) {
        FORBIDDEN.set(forbidden);
        let mut simulation = Simulation::new(model).unwrap();
        simulation.run(&mut |_| true);
        let results = simulation.finish().unwrap();
        FORBIDDEN.set(false);
        (results.samples.f64s("value").to_vec(), results.summary.events)
    }

    #[test]
    fn an_incast_takes_fewer_events_and_looks_as_if_every_packet_had_left_in_time() {
        for transport in ["ndp", "eqds", "uec-nscc"] {
            let mut model = incast(transport);
            let ports: Vec<PortId> = (0..model.topology.ports().len() as u32).map(PortId).collect();
            let probes = [Probe::Queue(ports.clone()), Probe::PortRate(ports)];
            let sample = |what| Sample { name: "p".into(), every: Span::from_ns(700), what };
            model.samples = probes.map(sample).into();
            let ((late, fewer), (timely, more)) = (watched(&model, false), watched(&model, true));
            assert!(late.iter().any(|value| *value > 10_000.0), "{transport}: no queue");
            assert_eq!(late, timely, "{transport}");
            assert!(fewer < more, "{transport}: {fewer} events instead of {more}");
        }
    }

    /// What waits at each port and what it has sent, each 400 ns, and the hash of the results; `events` are those of a step.
    fn looks(model: &Model, forbidden: bool, events: u64) -> (Vec<(u64, u64, u64)>, String) {
        FORBIDDEN.set(forbidden);
        let mut simulation = Simulation::new(model).unwrap();
        let mut seen = Vec::new();
        for at in (1..100).map(|look| ns(look * 400)) {
            let mut handled = u64::MAX;
            while handled != simulation.progress().events {
                handled = simulation.progress().events;
                simulation.run_until(at, events);
            }
            let ports = simulation.view().ports();
            seen.extend(ports.map(|port| (port.queue_bytes, port.queue_packets, port.sent_bytes)));
        }
        while simulation.step(events) {}
        let hash = simulation.finish().unwrap().hash();
        FORBIDDEN.set(false);
        (seen, hash)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn whoever_stops_a_run_anywhere_sees_what_waits_then(
            // Frames take 800 ns, so that many things happen in one instant.
            flows in prop::collection::vec((0u32..8, 1u32..8, (0u64..20).prop_map(|at| at * 800), 1u64..60_000), 1..12),
            events in 1u64..50,
        ) {
            let mut model = model("uec-nscc", &flows);
            model.framing = FRAMING;
            let ((late, late_hash), (timely, hash)) = (looks(&model, false, events), looks(&model, true, u64::MAX));
            prop_assert_eq!(late_hash, hash);
            prop_assert!(late == timely, "what waits and has been sent differs");
        }
    }
}
