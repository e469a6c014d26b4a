//! Tests of classes of credits, credits for a share of a link, and traffic without credits (ExpressPass '17, sec. 7).

use crate::common::*;
use clearway_proto::AnyTransport;
use clearway_sim::Results;
use clearway_sim::model::*;
use clearway_topology::Dumbbell;
use clearway_units::{Rate, Span, Time};

const FRAME: f64 = 1538.0;
const CREDIT: f64 = 84.0;
const RATE: f64 = 10e9;

/// The number of data frames per second on a link whose credits are for the whole of it.
const FRAMES_PER_S: f64 = RATE / 8.0 / (FRAME + CREDIT);

fn shape(pairs: u32) -> Dumbbell {
    let (rate, delay) = (Rate::gbps(10), Span::from_us(5));
    Dumbbell { pairs, rate, delay, bottleneck_rate: rate, bottleneck_delay: delay }
}

fn turn(priority: u8, weight: u32, share: Option<f64>) -> CreditTurn {
    CreditTurn { name: format!("p{priority} w{weight}"), priority, weight, queue: 8, share }
}

/// Makes a dumbbell with classes of credits and two flows in each, which never end, except that `stops` names a class
/// and the time at which its flows stop.
fn classes(
    transport: &AnyTransport,
    turns: &[CreditTurn],
    run_for: Span,
    stops: Option<(usize, Span)>,
) -> Model {
    let pairs = 2 * turns.len() as u32;
    let dumbbell = shape(pairs);
    let mut model = network_for(transport, dumbbell.build().unwrap());
    model.switch.credit_classes = turns.to_vec();
    model.host.port.credit_classes = turns.to_vec();
    for class in 0..turns.len() {
        let stop = stops.filter(|(which, _)| *which == class).map(|(_, stop)| Time::ZERO + stop);
        let flow = |pair: u32| Flow {
            start: Time::ZERO,
            src: dumbbell.sender(pair),
            dst: dumbbell.receiver(pair),
            size: None,
            stop,
        };
        let first = 2 * class as u32;
        add(&mut model, transport, vec![flow(first), flow(first + 1)]);
        model.traffic[class].credit_class = class;
    }
    model.stop = Some(Time::ZERO + run_for);
    model
}

/// Returns the number of frames delivered to each class.
fn frames(results: &Results, classes: usize) -> Vec<f64> {
    let bytes = results.flows.u64s("delivered_bytes");
    (0..classes).map(|class| (bytes[2 * class] + bytes[2 * class + 1]) as f64 / 1460.0).collect()
}

#[test]
fn classes_share_data_exactly_by_the_weights_of_their_credits() {
    // Naive credits arrive at the link's rate without feedback, so that credits of every class always wait.
    let weights = [1, 3, 4];
    let turns: Vec<CreditTurn> = weights.iter().map(|&weight| turn(0, weight, None)).collect();
    let naive = even_credits("naive-credit");
    let [early, late] = [10, 30].map(|ms| frames(&run(&classes(&naive, &turns, Span::from_ms(ms), None)), 3));
    let total = FRAMES_PER_S * 0.020;
    for (class, weight) in weights.iter().enumerate() {
        let (got, expected) = (late[class] - early[class], total * f64::from(*weight) / 8.0);
        // The start and the end of the measurement may each lie inside a round of eight credits.
        assert!((got - expected).abs() <= 4.0, "weight {weight}: {got} frames for {expected}");
    }
}

#[test]
fn a_class_of_higher_priority_takes_the_link_until_it_ends() {
    let turns = [turn(1, 1, None), turn(0, 1, None)];
    let naive = transport("naive-credit");
    let alone = run(&classes(&naive, &turns, Span::from_ms(10), None));
    let got = frames(&alone, 2);
    // The lower class gets only the frames before the first credit of the higher class.
    assert!(got[0] < 10.0 && got[1] > 0.99 * FRAMES_PER_S * 0.01, "{got:?}");
    let until = Span::from_ms(5);
    let got = frames(&run(&classes(&naive, &turns, Span::from_ms(10), Some((1, until)))), 2);
    // Until the stop has reached the receivers, credits of the higher class pass and release no data.
    let (half, idle) = (FRAMES_PER_S * 0.005, FRAMES_PER_S * 200e-6);
    assert!(got.iter().all(|&got| (half - idle..half + 2.0).contains(&got)), "{got:?} for {half}");
}

#[test]
fn a_class_with_a_limit_gets_that_share_at_most_even_at_the_highest_priority() {
    let turns = [turn(0, 1, Some(0.25)), turn(1, 1, None)];
    let got = frames(&run(&classes(&transport("naive-credit"), &turns, Span::from_ms(20), None)), 2);
    let total = FRAMES_PER_S * 0.02;
    assert!((got[0] / (0.25 * total) - 1.0).abs() < 0.006, "{got:?} of {total}");
    assert!((got[1] / (0.75 * total) - 1.0).abs() < 0.006, "{got:?} of {total}");
    // The class gets no more if it is alone.
    let got = frames(&run(&classes(&transport("naive-credit"), &turns[..1], Span::from_ms(20), None)), 1);
    assert!((got[0] / (0.25 * total) - 1.0).abs() < 0.006, "{got:?} of {total}");
}

#[test]
fn weights_and_priorities_hold_with_feedback_too_and_no_data_is_lost() {
    let expresspass = transport("expresspass");
    let weighted =
        run(&classes(&expresspass, &[turn(0, 3, None), turn(0, 1, None)], Span::from_ms(40), None));
    let got = frames(&weighted, 2);
    // Feedback leaves a part of a class's share unused, and the other class takes that.
    let share = got[0] / (got[0] + got[1]);
    assert!((0.65..0.80).contains(&share), "{got:?}");
    let strict = run(&classes(&expresspass, &[turn(0, 1, None), turn(1, 1, None)], Span::from_ms(40), None));
    let got = frames(&strict, 2);
    assert!(got[0] > 4.0 * got[1], "{got:?}");
    for results in [weighted, strict] {
        assert_eq!(results.ports.u64s("drops_buffer").iter().sum::<u64>(), 0);
        assert!(*results.ports.u64s("queue_max_bytes").iter().max().unwrap() < 20_000);
    }
}

#[test]
fn flows_of_all_classes_continue_after_a_link_failed() {
    let mut model =
        classes(&transport("expresspass"), &[turn(0, 3, None), turn(1, 1, None)], Span::from_ms(5), None);
    let port =
        model.topology.port_between(model.topology.node("s1").unwrap(), model.topology.node("s0").unwrap());
    for (at, up) in [(1, false), (2, true)] {
        let fault = |port| Fault::at_once(Time::ZERO + Span::from_ms(at), port, up);
        model.faults.extend([fault(port.unwrap()), fault(port.unwrap().reverse())]);
    }
    let results = run(&model);
    assert!(results.ports.u64s("drops_down").iter().sum::<u64>() > 0);
    assert!(frames(&results, 2)[0] > 1000.0);
}

#[test]
fn credits_for_a_share_of_the_link_release_data_for_exactly_that_share() {
    for share in [0.1, 0.5, 0.75] {
        let naive = transport("naive-credit");
        let mut model = classes(&naive, &[turn(0, 1, None)], Span::from_ms(20), None);
        model.switch.credit_classes.clear();
        model.host.port.credit_classes.clear();
        model.switch.credit.as_mut().unwrap().share = share;
        let got = frames(&run(&model), 1)[0];
        let expected = share * FRAMES_PER_S * 0.02;
        assert!((got / expected - 1.0).abs() < 0.01, "{share}: {got} frames for {expected}");
    }
}

/// Sends a burst of 300 frames without credits into the path of a flow with credits. Returns the longest queue, in
/// bytes, and the time for which more than 20 KB waited after the burst began.
fn burst(accounting: bool) -> (f64, Span) {
    let mut blast = transport("blast");
    blast.set("accounting", if accounting { "true" } else { "false" }).unwrap();
    let dumbbell = shape(5);
    let mut expresspass = even_credits("expresspass");
    // The default law mistakes data that a queue delays for credits that did not pass, once one of them is lost.
    expresspass.set("feedback", "sigcomm17-printed").unwrap();
    let mut model = network_for(&expresspass, dumbbell.build().unwrap());
    let pair = |pair: u32, size| Flow {
        start: Time::ZERO,
        src: dumbbell.sender(pair),
        dst: dumbbell.receiver(pair),
        size,
        stop: None,
    };
    // A single flow keeps the link full; with several, feedback leaves some of it unused.
    add(&mut model, &expresspass, vec![pair(0, None)]);
    let at = Span::from_ms(10);
    let size = Some(clearway_units::Bytes::new(300 * 1460));
    add(&mut model, &blast, vec![Flow { start: Time::ZERO + at, ..pair(4, size) }]);
    let port =
        model.topology.port_between(model.topology.node("s0").unwrap(), model.topology.node("s1").unwrap());
    let every = Span::from_us(10);
    model.samples.push(Sample { name: "queue".into(), every, what: Probe::Queue(vec![port.unwrap()]) });
    model.stop = Some(Time::ZERO + Span::from_ms(30));
    let results = run(&model);
    assert_eq!(results.ports.u64s("drops_buffer").iter().sum::<u64>(), 0, "it is absorbed");
    let queue = results.samples.f64s("value");
    let from = (at.as_ps() / every.as_ps()) as usize;
    assert!(queue[..from].iter().all(|&bytes| bytes < 3.0 * FRAME), "credits alone queue nothing");
    let over = queue[from..].iter().filter(|&&bytes| bytes > 20_000.0).count();
    let most = queue.iter().copied().fold(0.0, f64::max);
    (most, every * over as u64)
}

#[test]
fn a_burst_without_credits_is_absorbed_and_accounting_drains_it_faster() {
    // The burst arrives at the link's rate for the time of 300 frames, beside data for 94.8 % of the link.
    let data = FRAME / (FRAME + CREDIT);
    let expected = 300.0 * FRAME * data;
    let (most, slow) = burst(false);
    assert!((0.95 * expected..1.01 * expected).contains(&most), "{most} B for {expected}");
    // Without accounting, only the part of the link that credits take drains the queue.
    let slowest = (most - 20_000.0) / (RATE / 8.0 * (1.0 - data));
    assert!((0.9 * slowest..1.1 * slowest).contains(&slow.as_secs_f64()), "{slow} for {slowest} s");
    // With accounting, the burst displaces data while it still arrives, and the queue is empty soon after its end.
    let (less, fast) = burst(true);
    let length = 300.0 * FRAME * 8.0 / RATE;
    assert!(less > 50.0 * FRAME && less < 0.6 * most, "{less} B for {most}");
    assert!(fast.as_secs_f64() < 2.0 * length && fast.as_secs_f64() < 0.1 * slow.as_secs_f64(), "{fast}");
}
