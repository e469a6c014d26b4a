//! Transports of different kinds in one network: who gets what, and who pays.
//!
//! The dumbbell of EC4's Fig. 2 (a): 10 Gbps, 5 us a link, half of the flows with credits, half DCTCP, marks above 100
//! frames, room for 250. `cargo test -p clearway-sim --test mixed -- --nocapture` prints what is measured;
//! docs/protocols/ec4.md discusses it.

mod common;

use clearway_proto::AnyTransport;
use clearway_proto::port::MarkAt;
use clearway_sim::model::*;
use clearway_topology::Dumbbell;
use clearway_units::{Bytes, Rate, Span, Time};
use common::*;

const FRAME: u64 = 1538;
const COUNTS: [u32; 6] = [2, 4, 8, 16, 32, 64];

/// Data frames' share of a link under credits.
const DATA_SHARE: f64 = 1538.0 / 1622.0;

/// The paper's interval for averages: the first warms up, the second counts.
const INTERVAL: Span = Span::from_ms(100);

struct Mix {
    /// Goodput of both halves, in Gbps.
    first: f64,
    second: f64,
    /// Jain's index over all flows.
    jain: f64,
    queue_mean: f64,
    queue_max: u64,
    drops: u64,
}

impl Mix {
    fn ratio(&self) -> f64 {
        self.first / self.second
    }

    /// Share of the bottleneck that carried frames of data.
    fn utilisation(&self) -> f64 {
        (self.first + self.second) / 10.0 * 1538.0 / 1460.0
    }
}

fn with(name: &str, values: &[(&str, &str)]) -> AnyTransport {
    let mut made = transport(name);
    for (key, value) in values {
        made.set(key, value).unwrap();
    }
    made
}

fn ec4() -> AnyTransport {
    transport("ec4")
}

fn expresspass() -> AnyTransport {
    transport("expresspass")
}

/// Algorithm 1 as printed, which EC4's HIGH mode has.
fn printed() -> AnyTransport {
    with("expresspass", &[("feedback", "sigcomm17-printed")])
}

/// As its authors' code.
fn expresspass_ns2() -> AnyTransport {
    with("expresspass", &[("profile", "ns2")])
}

fn shape(pairs: u32) -> Dumbbell {
    let (rate, delay) = (Rate::gbps(10), Span::from_us(5));
    Dumbbell { pairs, rate, delay, bottleneck_rate: rate, bottleneck_delay: delay }
}

fn endless(pairs: std::ops::Range<u32>, of: u32, start: Span, stop: Option<Span>) -> Vec<Flow> {
    let dumbbell = shape(of);
    let first = pairs.start;
    pairs
        .map(|pair| Flow {
            start: Time::ZERO + start + Span::from_us(7) * (pair - first) as u64,
            src: dumbbell.sender(pair),
            dst: dumbbell.receiver(pair),
            size: None,
            stop: stop.map(|stop| Time::ZERO + stop),
        })
        .collect()
}

/// A dumbbell for credits and marks.
fn network(credits: &AnyTransport, pairs: u32) -> Model {
    let mut model = network_for(credits, shape(pairs).build().unwrap());
    let class = &mut model.switch.classes[0];
    let threshold = Threshold::Fixed(Amount { bytes: Bytes::MAX, packets: 100 });
    class.marking = Some(Marking { threshold, at: MarkAt::Enqueue });
    class.limit = Amount { bytes: Bytes::new(250 * FRAME), packets: u32::MAX };
    model
}

/// Runs for two intervals and measures in the second.
fn measure(about: &str, mut model: Model) -> Mix {
    model.stop = Some(Time::ZERO + INTERVAL * 2);
    for part in 0..2 {
        let what = Probe::Throughput(part);
        model.samples.push(Sample { name: format!("part{part}"), every: INTERVAL, what });
    }
    let results = run(&model);
    let values = results.samples.f64s("value");
    let (_, last) = values.split_at(values.len() / 2);
    let (first, second) = last.split_at(last.len() / 2);
    let sum = |values: &[f64]| values.iter().sum::<f64>() / 1e9;
    let squares: f64 = last.iter().map(|value| value * value / 1e18).sum();
    let mix = Mix {
        first: sum(first),
        second: sum(second),
        jain: sum(last) * sum(last) / (last.len() as f64 * squares),
        queue_mean: results.ports.f64s("queue_mean_bytes").iter().copied().fold(0.0, f64::max),
        queue_max: *results.ports.u64s("queue_max_bytes").iter().max().unwrap(),
        drops: results.ports.u64s("drops_buffer").iter().sum(),
    };
    println!(
        "{about}: {:.2} : {:.2} Gbps, ratio {:.2}, Jain {:.3}, utilisation {:.3}, queue {:.0} KB, at most {:.0} KB, {} lost",
        mix.first,
        mix.second,
        mix.ratio(),
        mix.jain,
        mix.utilisation(),
        mix.queue_mean / 1e3,
        mix.queue_max as f64 / 1e3,
        mix.drops
    );
    mix
}

/// Half of the flows with credits, half `other`, in one queue.
fn one_queue(about: &str, credits: &AnyTransport, other: &AnyTransport, flows: u32) -> Mix {
    let mut model = network(credits, flows);
    add(&mut model, credits, endless(0..flows / 2, flows, Span::ZERO, None));
    add(&mut model, other, endless(flows / 2..flows, flows, Span::ZERO, None));
    measure(&format!("{about}, {flows} flows"), model)
}

#[test]
fn expresspass_as_its_authors_wrote_it_starves_dctcp_whatever_the_number_of_flows() {
    // EC4 Fig. 3, Fig. 4.
    for flows in COUNTS {
        let mix = one_queue("expresspass ns2 : dctcp", &expresspass_ns2(), &transport("dctcp"), flows);
        // What is left are DCTCP's least windows of two frames a flow.
        let bound = if flows <= 32 { 0.1 } else { 0.2 };
        assert!(mix.second / (mix.first + mix.second) < bound, "{flows}: {}", mix.second);
        assert!(mix.jain < 0.7, "{flows}: {}", mix.jain);
    }
}

#[test]
fn two_flows_of_the_papers_expresspass_and_dctcp_share_no_better() {
    // With more flows Algorithm 1 leaves so much of the credit rate unused that DCTCP gets on: see docs/protocols/ec4.md.
    let mix = one_queue("expresspass : dctcp", &expresspass(), &transport("dctcp"), 2);
    assert!(mix.ratio() > 8.0 && mix.jain < 0.65, "{} {}", mix.ratio(), mix.jain);
}

#[test]
fn ec4_leaves_dctcp_more_than_a_quarter_and_is_fairer_than_expresspass_at_every_number_of_flows() {
    // EC4 Fig. 4: the order holds. "Near 1" does not: the ratio is 1.3 to 3.0 with the paper's parameters.
    for flows in COUNTS {
        let dctcp = transport("dctcp");
        let mix = one_queue("ec4 : dctcp", &ec4(), &dctcp, flows);
        assert!((1.0..3.1).contains(&mix.ratio()), "{flows}: {}", mix.ratio());
        assert!(mix.jain > 0.79, "{flows}: {}", mix.jain);
        assert!(mix.utilisation() > 0.99, "{flows}: {}", mix.utilisation());
        // Around K up to eight flows (EC4-9); DCTCP's least windows then hold it above.
        let queue = 100.0 * FRAME as f64;
        assert!(
            flows > 8 || (0.6 * queue..1.4 * queue).contains(&mix.queue_mean),
            "{flows}: {}",
            mix.queue_mean
        );
        let paper = one_queue("expresspass : dctcp", &printed(), &dctcp, flows);
        let authors = one_queue("expresspass ns2 : dctcp", &expresspass_ns2(), &dctcp, flows);
        assert!(mix.jain > paper.jain - 0.02 && mix.jain > authors.jain + 0.15, "{flows}");
    }
}

#[test]
fn other_readings_make_few_flows_fair_but_none_makes_many() {
    // An update each base round-trip time, and no increase by the average of marks.
    let other = with("ec4", &[("update_period", "30 us"), ("ecn_increase", "target")]);
    let mix = |flows| one_queue("ec4, other readings : dctcp", &other, &transport("dctcp"), flows);
    let (two, four) = (mix(2), mix(4));
    assert!((0.9..1.15).contains(&two.ratio()) && two.jain > 0.99, "{}", two.ratio());
    assert!((0.9..1.3).contains(&four.ratio()) && four.jain > 0.98, "{}", four.ratio());
    assert!(mix(32).ratio() > 4.0);
}

#[test]
fn ec4_alone_loses_nothing_queues_nothing_and_uses_what_expresspass_uses() {
    for flows in COUNTS {
        let alone = one_queue("ec4 : ec4", &ec4(), &ec4(), flows);
        assert_eq!(alone.drops, 0);
        assert!(alone.queue_max < 3 * FRAME, "{flows}: {}", alone.queue_max);
        assert!(alone.jain > 0.98, "{flows}: {}", alone.jain);
        let expresspass = one_queue("expresspass : expresspass", &printed(), &printed(), flows);
        let difference = alone.utilisation() / expresspass.utilisation() - 1.0;
        assert!(difference.abs() < 0.03, "{flows}: HIGH mode is ExpressPass: {difference}");
    }
}

#[test]
fn the_shares_do_not_depend_on_who_came_first() {
    // EC4 Fig. 3 (a) and (b), with EC4 in place of ExpressPass.
    let shares = [(0, 50), (50, 0)].map(|(ec4_at, dctcp_at)| {
        let mut model = network(&ec4(), 8);
        add(&mut model, &ec4(), endless(0..4, 8, Span::from_ms(ec4_at), None));
        add(&mut model, &transport("dctcp"), endless(4..8, 8, Span::from_ms(dctcp_at), None));
        measure(&format!("ec4 at {ec4_at} ms, dctcp at {dctcp_at} ms"), model).first
    });
    assert!((shares[0] / shares[1] - 1.0).abs() < 0.1, "{shares:?}");
}

#[test]
fn when_dctcp_has_left_ec4_takes_the_whole_link_again() {
    let mut model = network(&ec4(), 2);
    add(&mut model, &ec4(), endless(0..1, 2, Span::ZERO, None));
    add(&mut model, &transport("dctcp"), endless(1..2, 2, Span::ZERO, Some(Span::from_ms(40))));
    model.stop = Some(Time::ZERO + Span::from_ms(60));
    let every = Span::from_ms(5);
    model.samples.push(Sample { name: "ec4".into(), every, what: Probe::Throughput(0) });
    let results = run(&model);
    let rates = results.samples.f64s("value");
    // Credits of 88 bytes on average: 90.5 % of the link for frames, 85.9 % for payload.
    assert!(rates[7] < 8.0e9 && rates[9] > 8.5e9, "{rates:?}");
}

/// ExpressPass in a class of its own beside another's, `weight` to 1; credits for a share of the links.
fn two_classes(other: &str, weight: u32, share: f64) -> Mix {
    let mut model = network(&expresspass_ns2(), 8);
    let mut own = model.switch.classes[0].clone();
    (own.name, own.weight, own.marking) = ("scheduled".into(), weight, None);
    model.host.port.classes.push(Class { limit: Amount::UNLIMITED, ..own.clone() });
    model.switch.classes.push(own);
    let credit = model.switch.credit.as_mut().unwrap();
    (credit.shaping.bucket, credit.share) = (168, share);
    add(&mut model, &expresspass_ns2(), endless(0..4, 8, Span::ZERO, None));
    add(&mut model, &transport(other), endless(4..8, 8, Span::ZERO, None));
    model.traffic[0].class = 1;
    measure(
        &format!("expresspass ns2 : {other}, weights {weight} : 1, credits for {share:.2} of the link"),
        model,
    )
}

#[test]
fn in_classes_of_their_own_expresspass_and_windows_get_what_their_weights_say_if_credits_know_the_share() {
    for weight in [1, 3] {
        let share = weight as f64 / (weight + 1) as f64;
        for other in ["dctcp", "cubic"] {
            let mix = two_classes(other, weight, share);
            // Credits pass for 94.8 % of the share; the other gets the rest too.
            let got = mix.first / 10.0 * 1538.0 / 1460.0 / DATA_SHARE;
            assert!((0.85 * share..1.01 * share).contains(&got), "{other}, {weight}: {got}");
            assert!(mix.utilisation() > 0.99);
        }
    }
    // Credits for the whole link release more data than the class may send.
    let blind = two_classes("dctcp", 1, 1.0);
    assert!(blind.drops > 1000 && blind.first < 4.0, "{} {}", blind.drops, blind.first);
}

#[test]
fn beside_expresspass_cubic_fills_the_buffer_and_frames_are_lost() {
    // EC4 sec. I: ExpressPass is unfriendly to CUBIC as well. No mark tells CUBIC to make room.
    let with = |about: &str, credits: &AnyTransport| {
        let mix = one_queue(&format!("expresspass {about} : cubic"), credits, &transport("cubic"), 8);
        assert!(mix.drops > 1000, "{about}: {} lost", mix.drops);
        assert!(mix.queue_max > 249 * FRAME, "{about}: at most {}", mix.queue_max);
        mix
    };
    let authors = with("ns2", &expresspass_ns2());
    assert!(authors.ratio() > 8.0 && authors.queue_mean > 0.9 * 250.0 * FRAME as f64, "{}", authors.ratio());
    // Algorithm 1 leaves some of the link to CUBIC, as to DCTCP (docs/protocols/ec4.md).
    let paper = with("Algorithm 1 as printed", &printed());
    assert!((1.2..2.5).contains(&paper.ratio()), "{}", paper.ratio());
    let default = with("default", &expresspass());
    assert!(default.ratio() > 8.0, "{}", default.ratio());
}

#[test]
fn beside_expresspass_timely_gets_little_of_one_queue_and_its_share_in_a_class_of_its_own() {
    // EC4 sec. I names TIMELY too. Its round-trip times grow with the queue that credits do not see.
    let mut timely = transport("timely");
    timely.set("lossless", "false").unwrap();
    let one = one_queue("expresspass ns2 : timely", &expresspass_ns2(), &timely, 8);
    assert!(one.ratio() > 8.0 && one.utilisation() > 0.99, "{}", one.ratio());
    for weight in [1, 3] {
        let share = weight as f64 / (weight + 1) as f64;
        let mix = two_classes("timely", weight, share);
        let got = mix.first / 10.0 * 1538.0 / 1460.0 / DATA_SHARE;
        assert!((0.85 * share..1.01 * share).contains(&got), "{weight}: {got}");
    }
}
