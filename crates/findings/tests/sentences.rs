//! Each kind of sentence, in facts in which it is true and in facts in which it would be false.

use clearway_findings::{
    Busiest, Drops, Endless, Facts, Finding, Flows, Group, Kind, Part, Point, Queue, runs, sweep,
};
use std::slice;

/// A run all of whose flows took so long, a hundred of them in ten parts that differ a little.
fn run(name: &str, mean_s: f64) -> Facts {
    let part = |at: usize| Part { flows: 10, sum_s: 10.0 * mean_s * (1.0 + 0.01 * (at % 3) as f64 - 0.009) };
    Facts {
        name: name.into(),
        seed: 1,
        ended: "complete".into(),
        flows: Flows {
            completed: 100,
            unfinished: 0,
            mean_s: Some(mean_s),
            p99_s: Some(3.0 * mean_s),
            slowest_s: Some(4.0 * mean_s),
            slowdown: Some(5.0),
            parts: (0..10).map(part).collect(),
        },
        queue: Some(Queue { port: "s0->h0".into(), bytes: 5290.0, dropped: 0, flows_at_once: Some(64) }),
        busiest: Some(Busiest { port: "s0->h0".into(), busy: 0.86 }),
        drops: Drops { sent: 30_000, ..Drops::default() },
        ..Facts::default()
    }
}

fn text(found: &[Finding], kind: Kind) -> &str {
    found.iter().find(|one| one.kind == kind).map_or("", |one| one.text.as_str())
}

fn of(facts: &[Facts], kind: Kind) -> String {
    text(&runs(facts), kind).to_owned()
}

#[test]
fn one_run_says_how_long_flows_took_and_gives_a_percentile_of_enough_flows_only() {
    let few = run("dctcp", 1e-3);
    assert_eq!(
        of(slice::from_ref(&few), Kind::Flows),
        "All 100 flows completed: they took 1.00 ms on average, 5.00 times that of an idle network; the slowest took \
         4.00 ms (too few flows for a 99th percentile)."
    );
    let many = Facts { flows: Flows { completed: 1000, ..few.flows }, ..few };
    assert!(of(&[many], Kind::Flows).ends_with("; 99 % took at most 3.00 ms."));
}

#[test]
fn a_run_that_left_flows_says_so_and_why() {
    let whole = run("dctcp", 1e-3);
    let short =
        Facts { ended: "stopped".into(), flows: Flows { unfinished: 20, ..whole.flows.clone() }, ..whole };
    let said = of(&[short], Kind::Flows);
    assert!(said.starts_with("100 of 120 flows completed by the stop time: these took 1.00 ms"), "{said}");
    assert!(said.ends_with("and the times leave out those that did not."), "{said}");
}

#[test]
fn flows_without_an_end_are_told_by_their_rate_and_shares() {
    let endless = |flows| Facts {
        flows: Flows::default(),
        endless: Some(Endless { flows, rate_bps: 9.48e9, jain: (flows > 1).then_some(0.9981) }),
        ..run("dctcp", 1e-3)
    };
    assert_eq!(
        of(&[endless(4)], Kind::Flows),
        "4 flows without an end go on and carry 9.48 Gbps; Jain's index of what each carried is 0.998, where 1 is equal shares."
    );
    assert_eq!(of(&[endless(1)], Kind::Flows), "1 flow without an end goes on and carries 9.48 Gbps.");
}

#[test]
fn the_longest_queue_has_a_place_and_the_flows_that_met_there() {
    let at_host = run("dctcp", 1e-3);
    assert_eq!(
        of(slice::from_ref(&at_host), Kind::Queue),
        "The longest queue was 5.29 KB, at s0->h0, where up to 64 flows at once were under way to h0."
    );
    let alone = Queue { flows_at_once: Some(1), ..at_host.queue.clone().unwrap() };
    let uplink = Queue { port: "s0->c1".into(), flows_at_once: None, ..alone.clone() };
    for (queue, said) in [(alone, "s0->h0."), (uplink, "s0->c1.")] {
        let told = of(&[Facts { queue: Some(queue), ..at_host.clone() }], Kind::Queue);
        assert!(told.ends_with(&format!("at {said}")), "{told}");
    }
    assert_eq!(of(&[Facts { queue: None, ..at_host }], Kind::Queue), "No data waited at a switch.");
}

#[test]
fn losses_have_their_number_share_and_place() {
    let none = run("dctcp", 1e-3);
    assert_eq!(of(slice::from_ref(&none), Kind::Lost), "No packet was lost.");
    let waited = Facts { timeouts: 1, pauses: Some(3), ..none.clone() };
    assert_eq!(
        of(&[waited], Kind::Lost),
        "No packet was lost, but retransmission timers expired once. Flow control paused links 3 times."
    );
    let full = Drops { all: 150, full: 150, sent: 30_000, ..Drops::default() };
    let lost = Facts { drops: full, timeouts: 12, ..none.clone() };
    assert_eq!(
        of(&[lost], Kind::Lost),
        "150 packets (0.50 % of those sent) were lost at full queues, and retransmission timers expired 12 times."
    );
    let mixed = Drops { all: 3, full: 2, random: 1, sent: 0, ..Drops::default() };
    assert_eq!(
        of(&[Facts { drops: mixed, ..none }], Kind::Lost),
        "3 packets were lost, 2 at full queues and 1 on links that lose packets at random."
    );
}

#[test]
fn a_link_limits_from_95_percent_on_and_none_does_below_half() {
    let busy = |busy, waste| Facts {
        busiest: Some(Busiest { port: "s0->h0".into(), busy }),
        credit_waste: waste,
        ..run("expresspass", 1e-3)
    };
    assert_eq!(
        of(&[busy(0.95, None)], Kind::Limit),
        "The link s0->h0 limits: it was busy for 95 % of the time."
    );
    assert_eq!(
        of(&[busy(0.949, Some(0.054))], Kind::Limit),
        "The busiest link, s0->h0, was busy for 95 % of the time, and 5.4 % of the credits found nothing to send."
    );
    assert_eq!(
        of(&[busy(0.49, Some(0.0))], Kind::Limit),
        "No link limits: the busiest, s0->h0, was busy for 49 % of the time."
    );
}

#[test]
fn one_is_ahead_where_the_interval_leaves_out_one() {
    let said = of(&[run("dctcp", 1.2e-3), run("expresspass", 1e-3)], Kind::Ahead);
    assert_eq!(
        said,
        "expresspass is ahead: flows took 1.00 ms on average under it and 1.20 ms under dctcp, 20 % longer (95 % interval \
         20 %). The interval is from 10 parts of this one run; other seeds may differ by more."
    );
    assert_eq!(
        of(&[run("expresspass", 1e-3), run("dctcp", 1.2e-3)], Kind::Ahead),
        said,
        "the order does not matter"
    );
}

#[test]
fn none_is_ahead_where_the_difference_may_be_chance_or_is_below_one_percent() {
    let mut noisy = run("expresspass", 1e-3);
    for (at, part) in noisy.flows.parts.iter_mut().enumerate() {
        part.sum_s *= if at == 4 { 4.0 } else { 0.9 };
    }
    noisy.flows.mean_s = Part::total(&noisy.flows.parts).mean();
    let facts = [run("dctcp", 1e-3), noisy];
    assert_eq!(of(&facts, Kind::Ahead), "");
    assert!(
        of(&facts, Kind::Flows)
            .starts_with("Neither is ahead: flows took 1.00 ms under dctcp and 1.21 ms under")
    );
    assert!(of(&facts, Kind::Flows).contains("which may be chance"));
    let close = [run("dctcp", 1e-3), run("expresspass", 1.009e-3)];
    assert_eq!(of(&close, Kind::Ahead), "");
    assert!(
        of(&close, Kind::Flows).ends_with("on average, less than 1 % apart."),
        "{}",
        of(&close, Kind::Flows)
    );
}

#[test]
fn none_is_ahead_where_flows_are_missing_from_the_times() {
    let mut short = run("dctcp", 1e-4);
    short.flows.unfinished = 25;
    let facts = [short, run("expresspass", 1e-3)];
    assert_eq!(of(&facts, Kind::Ahead), "");
    assert_eq!(
        of(&facts, Kind::Flows),
        "Flows completed: 100 of 125 (80 %) under dctcp and 100 of 100 (100 %) under expresspass. None is called ahead, \
         since the times leave out the flows that did not complete."
    );
}

#[test]
fn none_is_ahead_without_an_interval() {
    let burst = |name, mean| {
        let mut run = run(name, mean);
        run.flows.parts = vec![Part { flows: 100, sum_s: 100.0 * mean }];
        run
    };
    let facts = [burst("dctcp", 1e-3), burst("expresspass", 2e-3)];
    assert_eq!(of(&facts, Kind::Ahead), "");
    assert!(
        of(&facts, Kind::Flows)
            .starts_with("On average flows took 1.00 ms under dctcp and 2.00 ms under expresspass;")
    );
}

#[test]
fn seeds_of_a_transport_count_together_and_give_the_interval() {
    let seeds = |name, mean: f64, scatter: f64| {
        (1..=5).map(move |seed| Facts { seed, ..run(name, mean * (1.0 + scatter * seed as f64)) })
    };
    let sure: Vec<Facts> = seeds("dctcp", 3e-3, 0.01).chain(seeds("expresspass", 1e-3, 0.0)).collect();
    let said = of(&sure, Kind::Ahead);
    assert!(said.contains("3.1 times as long (95 % interval 3.0 to 3.1)"), "{said}");
    assert!(said.ends_with("The interval is from 5 seeds."), "{said}");
    let mut unpaired = sure;
    unpaired.pop();
    assert_eq!(of(&unpaired, Kind::Ahead), "");
}

#[test]
fn of_several_the_best_is_told_with_the_next_and_the_last() {
    let said = of(&[run("hpcc", 2e-3), run("dctcp", 1.2e-3), run("expresspass", 1e-3)], Kind::Ahead);
    assert!(said.starts_with(
        "expresspass is ahead of 3: flows took 1.00 ms on average under it and 1.20 ms under dctcp"
    ));
    assert!(said.contains("; the last is hpcc with 2.00 ms."), "{said}");
    let tied = of(&[run("hpcc", 2e-3), run("dctcp", 1.001e-3), run("expresspass", 1e-3)], Kind::Ahead);
    assert!(
        tied.starts_with("expresspass and dctcp are ahead of 3 and too close to tell apart: flows"),
        "{tied}"
    );
}

#[test]
fn traffic_for_which_it_is_the_other_way_is_named() {
    let group =
        |name: &str, mean_s| Group { name: name.into(), unfinished: 0, parts: run("", mean_s).flows.parts };
    let with = |name, mean, small, large| Facts {
        groups: vec![group("flows below 10 KB", small), group("flows above 1 MB", large)],
        ..run(name, mean)
    };
    let facts = [with("dctcp", 2e-3, 1e-5, 4e-3), with("expresspass", 1e-3, 3e-5, 2e-3)];
    assert_eq!(
        of(&facts, Kind::Behind),
        "It is the other way round in part: flows below 10 KB took 3.0 times as long under expresspass as under dctcp (95 \
         % interval 3.0)."
    );
    let agreeing = [with("dctcp", 2e-3, 4e-5, 4e-3), with("expresspass", 1e-3, 3e-5, 2e-3)];
    assert_eq!(of(&agreeing, Kind::Behind), "");
}

#[test]
fn a_tail_in_the_other_order_is_told_of_enough_flows() {
    let tailed = |name, mean, p99, completed| {
        let run = run(name, mean);
        Facts { flows: Flows { p99_s: Some(p99), completed, ..run.flows.clone() }, ..run }
    };
    let facts = |flows| [tailed("dctcp", 2e-3, 5e-3, flows), tailed("expresspass", 1e-3, 8e-3, flows)];
    assert_eq!(
        of(&facts(1000), Kind::Behind),
        "In the tail it is the other way round: the 99th percentile is 8.00 ms under expresspass and 5.00 ms under dctcp."
    );
    assert_eq!(of(&facts(999), Kind::Behind), "", "the slowest flows have the order of the means");
    let mut few = facts(999);
    few[1].flows.slowest_s = Some(9e-3);
    assert_eq!(
        of(&few, Kind::Behind),
        "In the tail it is the other way round: the slowest flow took 9.00 ms under expresspass and 8.00 ms under dctcp."
    );
}

#[test]
fn a_higher_goodput_of_one_that_is_behind_is_told() {
    let with = |name, mean, goodput| Facts { goodput_bps: Some(goodput), ..run(name, mean) };
    let facts = |goodput| [with("dctcp", 2e-3, goodput), with("expresspass", 1e-3, 8.17e9)];
    assert_eq!(
        of(&facts(9.22e9), Kind::Behind),
        "dctcp has the higher goodput, 9.22 Gbps, where expresspass has 8.17 Gbps."
    );
    assert_eq!(of(&facts(8.2e9), Kind::Behind), "");
}

#[test]
fn a_sweep_tells_where_goodput_has_another_order() {
    let point = |at: &str, name, goodput: f64, seed| Point {
        at: vec![("buffer".into(), at.into())],
        facts: Facts {
            seed,
            goodput_bps: Some(goodput),
            ..run(name, if name == "dctcp" { 2e-3 } else { 1e-3 })
        },
    };
    let points: Vec<Point> = (1..=3)
        .flat_map(|seed| {
            [
                point("50 KB", "dctcp", 2e9, seed),
                point("50 KB", "expresspass", 8e9, seed),
                point("1 MB", "dctcp", 9e9, seed),
                point("1 MB", "expresspass", 8e9, seed),
            ]
        })
        .collect();
    let found = sweep(&points);
    let ahead = "By the mean completion time expresspass is ahead at all 2 points: ";
    assert!(text(&found, Kind::Ahead).starts_with(ahead));
    assert_eq!(text(&found, Kind::Behind), "By goodput it differs: dctcp is ahead at buffer 1 MB.");
}

#[test]
fn a_comparison_tells_queues_losses_and_links_of_each() {
    let mut dctcp = run("dctcp", 1.2e-3);
    dctcp.queue.as_mut().unwrap().bytes = 275e3;
    dctcp.drops = Drops { all: 18, full: 18, sent: 36_000, ..Drops::default() };
    dctcp.timeouts = 1;
    let expresspass = Facts { credit_waste: Some(0.05), ..run("expresspass", 1e-3) };
    let found = runs(&[dctcp, expresspass]);
    assert_eq!(
        text(&found, Kind::Queue),
        "The longest queue was 5.29 KB under expresspass and 275 KB under dctcp, at s0->h0, where up to 64 flows at once \
         were under way to h0."
    );
    assert_eq!(
        text(&found, Kind::Lost),
        "dctcp lost 18 packets (0.05 % of those sent) and saw 1 retransmission timer expire; expresspass lost none."
    );
    assert_eq!(
        text(&found, Kind::Limit),
        "The link s0->h0 was busy for 86 % of the time under dctcp and 86 % under expresspass; 5.0 % of the credits of \
         expresspass found nothing to send."
    );
    assert!((2..=5).contains(&found.len()));
}

#[test]
fn a_sweep_tells_where_who_is_ahead_and_where_packets_are_lost() {
    let points = |values: &[&str], lossy: usize| -> Vec<Point> {
        let seeds = |at: &str, name: &'static str, mean: f64, lost| -> Vec<Point> {
            let drops = Drops { all: lost, full: lost, sent: 1000, ..Drops::default() };
            (1..=3)
                .map(|seed| Point {
                    at: vec![("buffer".into(), at.into())],
                    facts: Facts { seed, drops, ..run(name, mean) },
                })
                .collect()
        };
        values
            .iter()
            .enumerate()
            .flat_map(|(at, value)| {
                let slow = if at < lossy { 3e-3 } else { 1e-3 };
                let lost = if at < lossy { 10 } else { 0 };
                [seeds(value, "dctcp", slow, lost), seeds(value, "expresspass", 2e-3, 0)].concat()
            })
            .collect()
    };
    let found = sweep(&points(&["50 KB", "100 KB", "200 KB", "500 KB", "1 MB"], 2));
    assert_eq!(
        text(&found, Kind::Ahead),
        "By the mean completion time expresspass is ahead at buffer 50 KB and 100 KB: flows take 50 % longer (95 % interval \
         50 %) under the next; dctcp is ahead at buffer 200 KB to 1 MB: flows take 2.0 times as long (95 % interval 2.0) \
         under the next."
    );
    assert_eq!(
        text(&found, Kind::Lost),
        "dctcp lost packets (up to 1.0 % of those sent) at buffer 50 KB and 100 KB; expresspass lost none."
    );
    let mut unshared = points(&["50 KB", "100 KB"], 1);
    unshared.iter_mut().for_each(|point| point.facts.drops.sent = 0);
    assert_eq!(
        text(&sweep(&unshared), Kind::Lost),
        "dctcp lost packets (up to 10 in a run) at buffer 50 KB; expresspass lost none."
    );
    let lossless = sweep(&points(&["50 KB", "100 KB"], 0));
    assert_eq!(
        text(&lossless, Kind::Ahead),
        "By the mean completion time dctcp is ahead at all 2 points: flows take 2.0 times as long (95 % interval 2.0) under the next."
    );
    assert_eq!(text(&lossless, Kind::Lost), "No packet was lost in any run.");
    assert_eq!(
        text(&lossless, Kind::Queue),
        "The longest queue of a run was 5.29 KB under dctcp and 5.29 KB under expresspass."
    );
}

#[test]
fn facts_go_to_and_fro_as_json_and_a_wrong_key_is_named() {
    let facts = vec![run("dctcp", 1e-3), run("expresspass", 2e-3)];
    let text = clearway_findings::json(&facts).unwrap();
    assert_eq!(
        clearway_findings::runs_json(&clearway_findings::value(&text).unwrap()).unwrap(),
        runs(&facts)
    );
    let wrong = |from: &str, to: &str| {
        assert!(text.contains(from));
        let changed = clearway_findings::value(&text.replacen(from, to, 1)).unwrap();
        clearway_findings::runs_json(&changed).unwrap_err()
    };
    assert_eq!(wrong(r#""name":"#, r#""nmae":"#), "name: must be a text");
    assert_eq!(
        wrong(r#""completed":100"#, r#""completed":-1"#),
        "completed: must be a whole number of 0 or more"
    );
    assert_eq!(wrong(r#""busy":0.86"#, r#""busy":"all""#), "busy: must be a number");
    assert_eq!(wrong(r#""groups":[]"#, r#""groups":{}"#), "groups: must be a list");
}
