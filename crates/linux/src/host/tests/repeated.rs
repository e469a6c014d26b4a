//! Frames that come twice or late, and what waits for a flow that is gone.

use super::network::*;
use crate::wire::{Control, Kind};
use clearway_units::Span;

/// Returns the first frame of this kind that a node sent.
fn first(net: &Net, node: usize, kind: Kind) -> Control {
    net.nodes[node].left.iter().find(|(_, control)| control.kind == kind).expect("it left").1
}

/// Returns the time for which data waits for a receiver that died before its sender takes that for silence.
fn silence(net: &mut Net) -> Span {
    net.nodes[1].host = None;
    // Credits are under way for the delay of the network.
    net.run_for(net.way.delay);
    let since = net.now;
    while net.metric(0, "silences_total", "") == 0.0 {
        net.run_for(ms(1));
        assert!(net.now.saturating_since(since) < ms(900), "the sender never notices");
    }
    net.now.saturating_since(since)
}

#[test]
fn an_accept_that_comes_again_does_not_count_as_the_round_trip_of_its_request() {
    // A round trip of 100 ms would make the least silence 400 ms.
    for again in [false, true] {
        let mut net = Net::of(2, "expresspass", Way::GOOD);
        net.open(0, 1, 1000, u64::MAX);
        net.run_for(ms(100));
        if again {
            let accept = first(&net, 1, Kind::Accept);
            net.inject(0, &accept.to_frame(mac(1), mac(0)));
            net.run_for(ms(1));
        }
        let silence = silence(&mut net);
        assert!(silence >= ms(49) && silence <= ms(51), "{silence}");
    }
}

#[test]
fn the_accept_of_a_request_that_was_repeated_tells_no_round_trip() {
    let mut net = Net::of(2, "expresspass", Way::GOOD);
    net.open(0, 1, 1000, 10);
    net.run_for(ms(10));
    let before = net.frames(0, Kind::Request);
    // The first requests of another flow are lost, and the one that is answered leaves 31 ms after the first one.
    net.way = Way { loss: 1.0, ..Way::GOOD };
    net.open(0, 1, 1001, u64::MAX);
    net.run_for(ms(20));
    assert_eq!(net.frames(0, Kind::Request) - before, 5);
    net.way = Way::GOOD;
    net.run_for(ms(100));
    let silence = silence(&mut net);
    assert!(silence >= ms(49) && silence <= ms(51), "{silence}");
}

#[test]
fn credits_that_wait_for_a_flow_that_is_removed_do_not_go_to_the_one_that_takes_its_place() {
    let ports = [1, 2, 3, 4];
    // Some of the four have credits in the queue of the NIC, which is full, and any of them may be removed.
    for gone in ports {
        let mut net = Net::of(3, "naive-credit", Way::GOOD);
        for port in ports {
            net.inject(1, &request(0, 1, port, 5).to_frame(mac(0), mac(1)));
        }
        net.run_for(ms(2));
        assert_eq!(net.metric(1, "credits_queued", ""), 8.0);
        let slot = net.host(1).receivers.find(&key(0, 1, gone)).unwrap();
        net.host(1).remove_receiver(&key(0, 1, gone));
        net.inject(1, &request(2, 1, 9, 6).to_frame(mac(2), mac(1)));
        assert_eq!(net.host(1).receivers.find(&key(2, 1, 9)), Some(slot), "it takes the place");
        net.run_for(ms(5));
        let of_new =
            |control: &&(_, Control)| control.1.kind == Kind::Credit && control.1.flow.source_port == 9;
        let numbers: Vec<u64> =
            net.nodes[1].left.iter().filter(of_new).map(|(_, control)| control.number).collect();
        assert!(numbers[0] == 0 && numbers.is_sorted_by(|a, b| a < b), "after {gone}: {numbers:?}");
    }
}
