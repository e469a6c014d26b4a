//! Tests of messages over one connection.

use crate::common::*;
use clearway_proto::{AnyTransport, TRANSPORTS};
use clearway_sim::model::*;
use clearway_sim::traffic::Triggers;
use clearway_sim::{Ended, Results};
use clearway_topology::NodeId;
use clearway_units::{Bytes, Span, Time};
use std::sync::Arc;

/// A message from host 0 to host 1 that starts after so many microseconds, on a connection.
fn message(us: u64, bytes: u64, connection: u32) -> (Flow, Option<u32>) {
    (Flow { start: Time::ZERO + Span::from_us(us), ..flow(0, 1, bytes) }, Some(connection))
}

/// Makes a star of 100 Gbps whose hosts send messages under a transport.
fn model_of(transport: &AnyTransport, messages: Vec<(Flow, Option<u32>)>) -> Model {
    let mut model = network_for(transport, star(4));
    model.add_traffic(
        "messages",
        transport,
        Pattern::Messages(Arc::new(Messages::new(messages, Triggers::default()))),
    );
    model
}

fn ends(results: &Results) -> Vec<f64> {
    let (starts, fcts) = (results.flows.f64s("start_s"), results.flows.f64s("fct_s"));
    starts.iter().zip(fcts).map(|(start, fct)| start + fct).collect()
}

#[test]
fn every_transport_carries_the_messages_of_a_connection_one_after_another() {
    for info in TRANSPORTS {
        // The first is two frames, the second follows at once, the third waits for neither, and the last comes into an idle network.
        let messages =
            vec![message(0, 2_000, 7), message(0, 50_000, 7), message(3, 1, 7), message(900, 30_000, 7)];
        let model = model_of(&transport(info.name), messages);
        let results = run_within(&model, 10_000_000);
        check(&results, &model);
        assert_eq!(results.flows.rows(), 4, "{}", info.name);
        assert_eq!(
            results.flows.u64s("flow"),
            [0; 4],
            "{}: messages share the number of their connection",
            info.name
        );
        let ends = ends(&results);
        // Sums of times in seconds are exact to less than a femtosecond.
        assert!(ends.is_sorted_by(|a, b| *a < b + 1e-15), "{}: {ends:?}", info.name);
        assert!(ends[3] > 900e-6 && ends[2] < 800e-6, "{}: {ends:?}", info.name);
    }
}

#[test]
fn a_connection_opens_with_its_first_message_alone() {
    // Two messages far apart: over one connection the second needs no handshake, over two it does.
    let fcts = |connections: [u32; 2]| {
        let messages = vec![message(0, 1_000, connections[0]), message(500, 1_000, connections[1])];
        let mut dctcp = transport("dctcp");
        dctcp.set("handshake", "true").expect("DCTCP opens connections");
        run(&model_of(&dctcp, messages)).flows.f64s("fct_s").to_vec()
    };
    let [one, two] = [fcts([1, 1]), fcts([1, 2])];
    assert_eq!((one[0], two[0]), (two[0], two[1]), "an idle network treats equal connections alike");
    // The handshake is two small frames, each of which crosses two links.
    let handshake = 2.0 * 2.0 * (1e-6 + 84.0 * 8.0 / 100e9);
    assert!((two[1] - one[1] - handshake).abs() < 1e-12, "{one:?} {two:?}");
}

#[test]
fn packets_of_ultra_ethernet_end_with_their_message_and_those_of_tcp_need_not() {
    // A hundred messages of a byte, written at once.
    let packets = |name: &str| {
        let results = run(&model_of(&transport(name), (0..100).map(|_| message(0, 1, 1)).collect()));
        let sent = results.flows.u64s("data_packets");
        sent.iter().sum::<u64>()
    };
    for name in ["uec-nscc", "uec-rccc", "uec"] {
        assert_eq!(packets(name), 100, "{name}");
    }
    assert!(packets("dctcp") < 100, "a stream of bytes fills its segments");
}

#[test]
fn messages_without_a_connection_are_flows_of_their_own() {
    let flows: Vec<Flow> = [(0, 2_000), (1, 70_000), (2, 1)].map(|(src, bytes)| flow(src, 3, bytes)).into();
    for name in ["dctcp", "expresspass", "uec", "homa"] {
        let Some(info) = TRANSPORTS.iter().find(|info| info.name == name) else { continue };
        let listed = |pattern| {
            let transport = transport(info.name);
            let mut model = network_for(&transport, star(4));
            model.add_traffic("listed", &transport, pattern);
            run(&model)
        };
        let named: Vec<(Flow, Option<u32>)> = flows.iter().map(|&flow| (flow, None)).collect();
        let own = listed(Pattern::Messages(Arc::new(Messages::new(named, Triggers::default()))));
        let plain = listed(Pattern::Flows(flows.clone().into()));
        assert_eq!(own.hash(), plain.hash(), "{}", info.name);
    }
}

#[test]
fn a_run_that_stops_between_two_messages_leaves_the_second_out() {
    let mut model = model_of(&transport("dctcp"), vec![message(0, 1_000, 1), message(400, 1_000, 1)]);
    model.stop = Some(Time::ZERO + Span::from_us(300));
    let results = run(&model);
    assert_eq!((results.summary.ended, results.summary.flows_completed), (Ended::Stopped, 1));
    assert_eq!(results.flows.rows(), 1);
    // A second host's connection is none of theirs.
    let other = (Flow { src: NodeId(2), size: Some(Bytes::new(9)), ..flow(0, 1, 1) }, None);
    let results =
        run(&model_of(&transport("dctcp"), vec![message(0, 1_000, 1), other, message(400, 1_000, 1)]));
    assert_eq!(results.flows.u64s("flow"), [0, 1, 0]);
}
