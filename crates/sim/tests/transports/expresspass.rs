//! Tests of the properties that ExpressPass promises: exact shares, bounded queues and no loss of data.

use crate::common::*;
use clearway_sim::model::*;
use clearway_sim::scenario::{Overrides, Scenario};
use clearway_sim::{Results, Simulation};
use clearway_topology::{Dumbbell, FatTree, NodeId, ParkingLot, PortId, Star};
use clearway_units::{Bytes, Rate, Span, Time};
use std::path::Path;

/// The share of data frames in a link under credits: 1538 of every 1622 bytes.
const DATA_SHARE: f64 = 1538.0 / 1622.0;

fn endless(src: u32, dst: u32, start: Span) -> Flow {
    Flow { start: Time::ZERO + start, src: NodeId(src), dst: NodeId(dst), size: None, stop: None }
}

/// Adds a sample of the rate at which bytes leave a port.
fn watch(model: &mut Model, port: PortId, every: Span) {
    model.samples.push(Sample { name: "rate".into(), every, what: Probe::PortRate(vec![port]) });
}

/// Returns the sampled rates without the first `skip`.
fn settled(results: &Results, skip: usize) -> Vec<f64> {
    results.samples.f64s("value")[skip..].to_vec()
}

#[test]
fn a_lone_long_flow_carries_94_82_percent_of_its_link() {
    for gbps in [1, 10, 100, 400, 800] {
        let rate = Rate::gbps(gbps);
        let topology =
            Dumbbell { pairs: 1, rate, bottleneck_rate: rate, ..Dumbbell::default() }.build().unwrap();
        let expresspass = even_credits("expresspass");
        let mut model = network_for(&expresspass, topology);
        let to_receiver = model.topology.ports_of(NodeId(1))[0].reverse();
        // The interval is long enough for a thousand frames per sample.
        let sample = rate.time_to_send(Bytes::new(1_622_000));
        watch(&mut model, to_receiver, sample);
        model.stop = Some(Time::ZERO + Span::from_ms(4) + sample * 12);
        add(&mut model, &expresspass, vec![endless(0, 1, Span::ZERO)]);
        let results = run(&model);
        let rates = settled(&results, results.samples.rows() - 10);
        let mean = rates.iter().sum::<f64>() / rates.len() as f64 / rate.as_bps_f64();
        assert!((mean - DATA_SHARE).abs() < 2e-4, "{rate}: {mean}");
    }
}

#[test]
fn a_credit_limiter_in_the_network_passes_84_of_1622_bytes_at_every_rate() {
    for mbps in [100, 1_000, 25_000, 100_000, 800_000] {
        let rate = Rate::mbps(mbps);
        let topology = Star { hosts: 3, rate, delay: Span::from_ns(500) }.build().unwrap();
        let naive = even_credits("naive-credit");
        let mut model = network_for(&naive, topology);
        // Two receivers send credits to one sender at the full rate; the port to it passes half of them.
        let to_sender = model.topology.ports_of(NodeId(0))[0].reverse();
        let interval = rate.time_to_send(Bytes::new(1_622_000));
        model.stop = Some(Time::ZERO + interval * 20);
        add(&mut model, &naive, vec![endless(0, 1, Span::ZERO), endless(0, 2, Span::ZERO)]);
        let results = run(&model);
        let credits = results.ports.u64s("tx_credits")[to_sender.index()];
        // The number is that of 20,000 frame times, less those before the first credit, plus the bucket's two.
        let start = rate.bytes_in(Span::from_us(3)).get() / 1622 + 6;
        assert!(credits <= 20_002 && credits + start >= 20_000, "{rate}: {credits}");
        assert!(results.ports.u64s("drops_credit")[to_sender.index()] > 10_000);
    }
}

#[test]
fn the_queue_of_an_incast_is_bounded_at_any_fan_in_and_no_data_is_lost() {
    let mut queues = Vec::new();
    for fan_out in [16u32, 64, 256] {
        let topology = FatTree { k: 8, rate: Rate::gbps(10), delay: Span::from_us(5), ..FatTree::default() }
            .build()
            .unwrap();
        let expresspass = transport("expresspass");
        let mut model = network_for(&expresspass, topology);
        let pattern = Pattern::Rounds(Rounds {
            client: NodeId(0),
            workers: (0..fan_out).map(|worker| NodeId(1 + worker % 127)).collect(),
            request: Bytes::new(200),
            response: Bytes::new(1000),
            longer: 0,
            reconnect: false,
            rounds: 5,
            barrier: true,
            start: Time::ZERO,
            pause: Span::ZERO,
            spread: Span::ZERO,
        });
        model.traffic.push(Traffic {
            name: "incast".into(),
            transport: expresspass,
            class: 0,
            credit_class: 0,
            notice_class: 0,
            ack_class: 0,
            pattern,
        });
        let results = run(&model);
        assert_eq!(results.summary.flows_completed, 10 * fan_out as u64);
        let last_hop = model.topology.ports_of(NodeId(0))[0].reverse();
        queues.push(results.ports.u64s("queue_max_bytes")[last_hop.index()]);
    }
    // The round-trip times of the tree differ by 40 us, which are 50 KB at 10 Gbps.
    assert!(queues.iter().all(|&bytes| bytes < 60_000), "{queues:?}");
}

#[test]
fn naive_credits_leave_much_of_a_two_link_parking_lot_unused_and_feedback_does_not() {
    let utilisation = |name: &str| {
        let lot = ParkingLot { bottlenecks: 2, rate: Rate::gbps(10), delay: Span::from_us(5) };
        let credit = transport(name);
        let mut model = network_for(&credit, lot.build().unwrap());
        let mut flows = vec![endless(lot.long_sender().0, lot.long_receiver().0, Span::ZERO)];
        flows.extend(
            (0..2)
                .map(|link| endless(lot.cross_sender(link).0, lot.cross_receiver(link).0, Span::from_us(3))),
        );
        add(&mut model, &credit, flows);
        model.stop = Some(Time::ZERO + Span::from_ms(60));
        for link in 0..2 {
            watch(&mut model, lot.bottleneck(link), Span::from_ms(20));
        }
        let results = run(&model);
        let rates = settled(&results, 2);
        rates.into_iter().fold(f64::INFINITY, f64::min) / 10e9 / DATA_SHARE
    };
    let (naive, feedback) = (utilisation("naive-credit"), utilisation("expresspass"));
    // In a fluid model 1/6 is unused. With evenly spaced credits at a full queue up to 1/4 is unused, since the flow
    // that arrives through another switch at half the rate gets a place in the queue less often than a third of the
    // time.
    assert!((0.72..0.86).contains(&naive), "{naive}");
    assert!(feedback > 0.9, "{feedback}");
}

#[test]
fn an_interrupted_run_balances_its_books_and_is_reported_as_interrupted() {
    let topology = Star { hosts: 3, rate: Rate::gbps(10), delay: Span::from_us(1) }.build().unwrap();
    let expresspass = transport("expresspass");
    let mut model = network_for(&expresspass, topology);
    add(&mut model, &expresspass, vec![endless(0, 2, Span::ZERO), endless(1, 2, Span::ZERO)]);
    let mut simulation = Simulation::new(&model).unwrap();
    simulation.run(&mut |progress| progress.events < 200_000);
    let results = simulation.finish().unwrap();
    assert_eq!(results.summary.ended, clearway_sim::Ended::Interrupted);
    assert!(results.flows.u64s("delivered_bytes").iter().all(|&bytes| bytes > 1_000_000));
}

/// Requests of short flows meet a queue that TCP fills, unless they have a class of their own.
#[test]
fn requests_and_stops_in_a_class_of_their_own_pass_a_queue_of_data() {
    let longest = |signals: &str| {
        let text = format!(
            r#"
            seed = 1
            stop = "20 ms"
            topology = {{ kind = "star", hosts = 3, rate = "10 Gbps", delay = "1 us" }}
            switch.buffer = "300 KB"
            traffic = [
              {{ name = "bulk", kind = "long", transport = "cubic", pairs = [["h0", "h2"], ["h1", "h2"]] }},
              {{ name = "short", kind = "flows", list = [{{ src = "h1", dst = "h2", size = "1 KB", start = "10 ms" }}],
                transport = {{ name = "expresspass", handshake = "none", signals = "{signals}" }} }},
            ]
            "#
        );
        let scenario = Scenario::parse(&text, "signals", Path::new("."), &Overrides::default()).unwrap();
        let results = run(&scenario.model);
        let times = results.flows.f64s("fct_s");
        let short = times.last().copied().unwrap();
        assert!(short.is_finite(), "{signals}: the short flow ends");
        short
    };
    let (with_data, ahead) = (longest("with-data"), longest("own-class"));
    // A full queue of 300 KB takes 240 us. The data behind the credit waits there in both cases.
    assert!(with_data - ahead > 150e-6, "{with_data} and {ahead}");
}
