//! Tests of a trial in the manner of NDP in the simulator, which show what votes of ports and agents of hosts are for.

mod common;

use clearway_proto::AnyTransport;
use clearway_sim::model::*;
use clearway_sim::{Partition, Results, Simulation};
use clearway_topology::LeafSpine;
use clearway_units::Bytes;
use common::{add, any_cut, check, flow, network_for, run, star, transport};

/// The time of a megabyte of payload on a line of 100 Gbps, in frames of 1538 bytes.
const MEGABYTE: f64 = 1e6 / 1460.0 * 1538.0 * 8.0 / 100e9;

/// Lets queues of data hold eight packets, and those of headers so many.
fn short_queues(model: &mut Model, transport: &AnyTransport, headers: u32) {
    add(model, transport, Vec::new());
    let entry = model.traffic.pop().unwrap();
    assert_ne!(entry.class, entry.ack_class, "headers have a class of their own");
    for (class, packets) in [(entry.class, 8), (entry.ack_class, headers)] {
        model.switch.classes[class].limit = Amount { bytes: Bytes::MAX, packets };
    }
}

/// The payload that was cut off, in bytes.
fn trimmed(results: &Results) -> u64 {
    results.summary.bytes.iter().find(|(line, _)| *line == "trimmed").map_or(0, |line| line.1)
}

fn sum(results: &Results, column: &str) -> u64 {
    results.ports.u64s(column).iter().sum()
}

/// Flows of 500 kB from so many hosts to one, in entries of so many flows, where queues hold eight packets.
fn incast(senders: u32, per_entry: usize, headers: u32) -> Model {
    let ndp = transport("ndp-trial");
    let mut model = network_for(&ndp, star(senders + 1));
    short_queues(&mut model, &ndp, headers);
    let flows: Vec<Flow> = (0..senders).map(|src| flow(src, senders, 500_000)).collect();
    flows.chunks(per_entry).for_each(|part| add(&mut model, &ndp, part.to_vec()));
    model
}

#[test]
fn packets_without_room_are_cut_and_pulled_again_so_that_an_incast_loses_nothing_and_keeps_its_link_busy() {
    let model = incast(16, 16, 10_000);
    let results = run(&model);
    check(&results, &model);
    assert!(trimmed(&results) > 16 * 1460, "first windows collide: {} bytes", trimmed(&results));
    assert_eq!((sum(&results, "drops_buffer"), sum(&results, "drops_vote")), (0, 0));
    assert_eq!(results.flows.u64s("timeouts").iter().sum::<u64>(), 0);
    let last = results.flows.f64s("fct_s").iter().copied().fold(0.0, f64::max);
    let ideal = 16.0 * 0.5 * MEGABYTE;
    assert!((ideal..ideal * 1.03).contains(&last), "{last} s for {ideal} s");
    // Eight packets of data, and headers beside them.
    assert!(results.ports.u64s("queue_max_bytes").iter().all(|&bytes| bytes <= 16 * 1538));
}

#[test]
fn one_agent_a_host_pulls_whatever_entries_its_flows_are_in() {
    let [whole, cut] = [16, 4].map(|per_entry| run(&incast(16, per_entry, 10_000)));
    assert_eq!(whole.flows.f64s("fct_s"), cut.flows.f64s("fct_s"));
    assert_eq!(trimmed(&whole), trimmed(&cut));
    assert_eq!((whole.summary.agents.len(), cut.summary.agents.len()), (1, 1));
}

#[test]
fn headers_without_room_return_to_their_senders_which_send_again() {
    let model = incast(16, 16, 12);
    let results = run(&model);
    check(&results, &model);
    let packets = &results.summary.packets;
    assert_eq!(packets.iter().find(|(line, _)| *line == "in flight").unwrap().1, 0);
    assert_eq!(results.summary.flows_completed, 16);
    // With room for all headers nobody else sends again what he was not asked for.
    let roomy = run(&incast(16, 16, 10_000));
    let again = |results: &Results| results.flows.u64s("retransmits").iter().sum::<u64>();
    assert_ne!(again(&results), again(&roomy));
}

#[test]
fn trimming_is_the_same_on_any_number_of_threads_and_under_shared_memory() {
    let ndp = transport("ndp-trial");
    let tree = LeafSpine { leaves: 2, hosts_per_leaf: 4, ..LeafSpine::default() };
    for memory in [None, Some(60_000)] {
        let mut model = network_for(&ndp, tree.build().unwrap());
        short_queues(&mut model, &ndp, 10_000);
        model.switch.shared = memory.map(|size| SharedBuffer { size: Bytes::new(size), alpha: 0.2 });
        let flows = (0..7)
            .flat_map(|src| [(7, 150_000u64), ((src + 3) % 7, 9_000)].map(|(dst, bytes)| (src, dst, bytes)));
        add(
            &mut model,
            &ndp,
            flows.map(|(src, dst, bytes)| flow(src, dst, bytes + u64::from(src))).collect(),
        );
        let one = run(&model);
        check(&one, &model);
        assert!(trimmed(&one) > 0 && one.summary.flows_completed == 14);
        for (parts, seed) in [(2, 1), (4, 2)] {
            let partition =
                if seed == 1 { Partition::new(&model, parts) } else { any_cut(&model, parts as u64, seed) };
            let mut cut = Simulation::spooled(&model, &partition, [None, None]).unwrap();
            cut.run(&mut |_| true);
            let cut = cut.finish().unwrap();
            assert_eq!(cut.hash(), one.hash(), "{parts} parts, {memory:?}");
            assert_eq!(format!("{:?}", cut.summary), format!("{:?}", one.summary));
        }
    }
}
