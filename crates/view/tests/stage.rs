//! A stage as a page uses it: requests in JSON, answers in JSON, frames.

use clearway_sim::Simulation;
use clearway_sim::scenario::{Overrides, Scenario};
use clearway_units::Time;
use clearway_view::{Camera, Parts, Reply, Stage};
use serde_json::{Value, json};
use std::path::Path;

const INCAST: &str = r#"
    [topology]
    kind = "star"
    hosts = 5
    [[traffic]]
    transport = "dctcp"
    kind = "incast"
    receiver = "h0"
    senders = 4
    size = "200KB"
"#;

fn ask(stage: &mut Stage, request: Value) -> Value {
    match stage.handle(&request.to_string()) {
        Reply::Json(text) => serde_json::from_str(&text).unwrap(),
        Reply::Frame(_) => panic!("a frame where JSON was asked for"),
    }
}

fn refused(stage: &mut Stage, request: Value) -> String {
    let answer = ask(stage, request);
    answer["error"].as_str().unwrap_or_else(|| panic!("it was met: {answer}")).to_owned()
}

fn opened(text: &str, transport: Option<&str>) -> Stage {
    let mut stage = Stage::new(None);
    let request = json!({"op": "open", "run": 0, "name": "test", "text": text, "transport": transport});
    let layout = ask(&mut stage, request);
    assert_eq!(layout["error"], Value::Null);
    stage
}

/// A frame whose columns are found by their numbers, in the order of the protocol.
struct Frame(Vec<u8>);

impl Frame {
    fn of(stage: &mut Stage) -> Frame {
        match stage.handle(r#"{"op": "frame", "run": 0}"#) {
            Reply::Frame(bytes) => Frame(bytes),
            Reply::Json(text) => panic!("{text}"),
        }
    }

    fn word(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.0[at..at + 4].try_into().unwrap())
    }

    fn real(&self, at: usize) -> f64 {
        f64::from_le_bytes(self.0[at..at + 8].try_into().unwrap())
    }

    /// The places of all columns, with the size of a value and the number of rows, and the end.
    fn columns(&self) -> (Vec<(usize, usize, usize)>, usize) {
        let [ports, packets, queued, flows] = [16, 20, 24, 28].map(|at| self.word(at) as usize);
        let of = |sizes: &[usize], rows: usize| sizes.iter().map(|size| (*size, rows)).collect::<Vec<_>>();
        let all = [
            of(&[4, 4, 8, 8, 8, 4, 4, 4, 4, 4, 4, 1], ports),
            of(&[4, 4, 4, 4, 1, 1, 8, 8], packets),
            of(&[4, 4, 1, 1], queued),
            of(&[4, 8, 8, 8, 8, 8], flows),
        ];
        let mut at = 64;
        let place = |(size, rows): (usize, usize)| {
            let start = at;
            at = (at + size * rows).next_multiple_of(8);
            (start, size, rows)
        };
        let columns = all.into_iter().flatten().map(place).collect();
        (columns, at)
    }

    /// The values of a column as numbers.
    fn column(&self, number: usize) -> Vec<f64> {
        let (start, size, rows) = self.columns().0[number];
        let value = |row: usize| match size {
            1 => f64::from(self.0[start + row]),
            4 => f64::from(self.word(start + 4 * row)),
            _ => self.real(start + 8 * row),
        };
        (0..rows).map(value).collect()
    }
}

/// The hash of a run at which nobody looks.
fn hash_of(text: &str, transport: Option<&str>) -> String {
    let overrides = Overrides { transport: transport.map(str::to_owned), ..Overrides::default() };
    let scenario = Scenario::parse(text, "test", Path::new(""), &overrides).unwrap();
    let mut simulation = Simulation::new(&scenario.model).unwrap();
    simulation.run(&mut |_| true);
    simulation.finish().unwrap().hash()
}

/// Steps of many sizes, in time and in events, always the same ones.
fn steps() -> impl Iterator<Item = (u64, u64)> {
    let mut state = 1u64;
    let mut now = 0;
    std::iter::from_fn(move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        now += 1 + (state >> 33) % 20_000_000;
        Some((now, 1 + (state >> 50)))
    })
}

#[test]
fn a_run_that_is_looked_at_in_steps_of_any_size_has_the_hash_of_one_that_is_not() {
    for transport in ["dctcp", "expresspass", "hpcc", "pacc", "ndp", "uec"] {
        let mut stage = opened(INCAST, Some(transport));
        for (until, events) in steps() {
            let request = json!({"op": "advance", "run": 0, "until_ps": until, "events": events});
            let progress = ask(&mut stage, request);
            let frame = Frame::of(&mut stage);
            assert_eq!(frame.real(8), progress["now_ps"].as_f64().unwrap());
            assert_eq!(frame.0.len(), frame.columns().1, "the columns fill the frame");
            ask(&mut stage, json!({"op": "finished", "run": 0, "from": 0}));
            if progress["ended"] == "complete" {
                break;
            }
        }
        let result = ask(&mut stage, json!({"op": "result", "run": 0}));
        assert_eq!(result["hash"].as_str(), Some(&*hash_of(INCAST, Some(transport))), "{transport}");
        assert_eq!(result["summary"]["flows_completed"], 4);
    }
}

#[test]
fn queues_of_a_frame_are_those_of_its_ports_and_of_the_packets_in_them() {
    let mut stage = opened(INCAST, Some("dctcp"));
    let mut longest = 0.0f64;
    for step in 1..40 {
        ask(&mut stage, json!({"op": "advance", "run": 0, "until_ps": step * 5_000_000_u64}));
        let frame = Frame::of(&mut stage);
        let (queues, sent) = (frame.column(0), frame.column(2));
        let mut waiting = vec![0.0; queues.len()];
        // The columns of queued packets follow 12 of ports and 8 of packets on links.
        for (port, bytes) in frame.column(20).into_iter().zip(frame.column(21)) {
            waiting[port as usize] += bytes;
        }
        assert_eq!(waiting, queues);
        for port in 0..queues.len() {
            let view = ask(&mut stage, json!({"op": "port", "run": 0, "port": port}));
            assert_eq!(view["queue_bytes"].as_f64(), Some(queues[port]));
            assert_eq!(view["counters"]["sent_bytes"].as_f64(), Some(sent[port]));
        }
        let (start, arrive) = (frame.column(18), frame.column(19));
        let now = frame.real(8);
        assert!(start.iter().zip(&arrive).all(|(start, arrive)| *start <= now && now <= *arrive));
        longest = queues.into_iter().fold(longest, f64::max);
    }
    assert!(longest > 10_000.0, "the incast fills a queue, not {longest} bytes");
}

#[test]
fn frames_tell_what_was_cut_and_by_which_entropy_each_packet_takes_its_path() {
    let text = INCAST.replace("star\"\n    hosts = 5", "leaf-spine\"\n    leaves = 5\n    spines = 2");
    let mut stage = opened(&text, Some("uec-nscc"));
    let (mut headers, mut entropies, mut trims) = (0, std::collections::BTreeSet::new(), 0.0);
    for step in 1..200 {
        ask(&mut stage, json!({"op": "advance", "run": 0, "until_ps": step * 2_000_000_u64}));
        let frame = Frame::of(&mut stage);
        let [entropy, kind, flags] = [15, 16, 17].map(|column| frame.column(column));
        let cut = flags.iter().filter(|flags| **flags as u8 & 4 != 0).count();
        assert!(
            kind.iter().zip(&flags).all(|(kind, flags)| *flags as u8 & 4 == 0 || *kind == 0.0),
            "data is cut"
        );
        headers += cut;
        let data = entropy.iter().zip(&kind).filter(|(_, kind)| **kind == 0.0);
        entropies.extend(data.map(|(entropy, _)| *entropy as u32));
        trims = frame.column(10).iter().sum();
    }
    assert!(headers > 0 && trims > 10.0, "{headers} headers, {trims} trims");
    assert!(entropies.len() > 10 && !entropies.contains(&u32::MAX), "{entropies:?}");
    let mut of_ports = 0.0;
    for port in 0..Frame::of(&mut stage).column(0).len() {
        let view = ask(&mut stage, json!({"op": "port", "run": 0, "port": port}));
        of_ports += view["counters"]["trims"].as_f64().unwrap();
    }
    assert_eq!(of_ports, trims);
}

#[test]
fn a_frame_in_the_room_of_the_one_before_is_the_same_as_in_new_room() {
    for transport in ["dctcp", "expresspass", "dcqcn"] {
        let overrides = Overrides { transport: Some(transport.into()), ..Overrides::default() };
        let scenario = Scenario::parse(INCAST, "test", Path::new(""), &overrides).unwrap();
        let mut simulation = Simulation::new(&scenario.model).unwrap();
        let mut kept = Camera::default();
        let mut lengths = Vec::new();
        for (step, (until, events)) in steps().enumerate() {
            let goes_on = simulation.run_until(Time::from_ps(until), events);
            let parts = Parts { packets: step % 3 > 0, queued: step % 5 > 0 };
            let frame = kept.take(7, &mut simulation, parts);
            lengths.push(frame.len());
            assert!(frame == Camera::default().take(7, &mut simulation, parts), "{transport}, step {step}");
            if !goes_on {
                break;
            }
        }
        assert!(
            !lengths.is_sorted() && lengths.len() > 20,
            "{transport}: frames are longer and shorter in turns"
        );
    }
}

#[test]
fn a_run_can_be_looked_at_after_its_result_was_asked_for() {
    let mut stage = opened(INCAST, None);
    assert!(refused(&mut stage, json!({"op": "result", "run": 0})).starts_with("the run goes on"));
    ask(&mut stage, json!({"op": "advance", "run": 0, "events": 1e9}));
    let before = Frame::of(&mut stage).0;
    let flows: Vec<Value> =
        (0..4).map(|flow| ask(&mut stage, json!({"op": "flow", "run": 0, "flow": flow}))).collect();
    assert_eq!(flows[0]["state"], "ended");
    let result = ask(&mut stage, json!({"op": "result", "run": 0}));
    assert_eq!(result["hash"].as_str(), Some(&*hash_of(INCAST, None)));
    assert_eq!(ask(&mut stage, json!({"op": "result", "run": 0})), result);
    assert_eq!(Frame::of(&mut stage).0, before);
    for (flow, view) in flows.iter().enumerate() {
        assert_eq!(ask(&mut stage, json!({"op": "flow", "run": 0, "flow": flow})), *view);
    }
}

#[test]
fn flows_that_finish_are_told_once_and_in_full() {
    let mut stage = opened(INCAST, None);
    let (mut rows, mut next) = (Vec::new(), 0);
    for step in 1..2000 {
        let progress = ask(&mut stage, json!({"op": "advance", "run": 0, "until_ps": step * 10_000_000_u64}));
        let answer = ask(&mut stage, json!({"op": "finished", "run": 0, "from": next}));
        rows.extend(answer["rows"].as_array().unwrap().clone());
        assert_eq!(progress["flows_completed"].as_u64(), Some(rows.len() as u64));
        next = answer["next"].as_u64().unwrap();
        if !progress["ended"].is_null() {
            break;
        }
    }
    assert_eq!(rows.len(), 4);
    for row in rows {
        assert_eq!((&row["size_bytes"], &row["destination"]), (&json!(200_000), &json!(0)));
        let ratio = row["fct_ps"].as_f64().unwrap() / row["ideal_ps"].as_f64().unwrap();
        assert!((row["slowdown"].as_f64().unwrap() / ratio - 1.0).abs() < 1e-9 && ratio >= 1.0, "{row}");
    }
}

#[test]
fn congestion_notifications_are_counted_while_the_run_goes_on() {
    let mut stage = opened(INCAST, Some("dcqcn"));
    let half = ask(&mut stage, json!({"op": "advance", "run": 0, "until_ps": 300_000_000}))["cnps"]
        .as_u64()
        .unwrap();
    let end =
        ask(&mut stage, json!({"op": "advance", "run": 0, "events": u64::MAX}))["cnps"].as_u64().unwrap();
    let result = ask(&mut stage, json!({"op": "result", "run": 0}));
    assert!(0 < half && half <= end, "{half} and {end}");
    assert_eq!(result["summary"]["cnps"].as_u64(), Some(end));
}

#[test]
fn the_result_has_the_window_of_measurement_where_the_scenario_sets_it() {
    let measure = |text: &str| {
        let mut stage = opened(text, None);
        ask(&mut stage, json!({"op": "advance", "run": 0, "events": u64::MAX}));
        ask(&mut stage, json!({"op": "result", "run": 0}))["summary"]["measure"].clone()
    };
    assert_eq!(measure(INCAST), Value::Null);
    let window = format!("{INCAST}\n[measure]\nfrom = \"100 us\"\nuntil = \"200 us\"\n");
    assert_eq!(measure(&window), json!({"from_ps": 100_000_000, "until_ps": 200_000_000}));
}

#[test]
fn the_layout_names_the_network_and_its_limits() {
    let mut stage = Stage::new(None);
    let request =
        json!({"op": "open", "run": 3, "name": "incast", "text": INCAST, "transport": "expresspass"});
    let layout = ask(&mut stage, request);
    assert_eq!(layout["name"], "incast");
    assert_eq!(layout["transports"], json!(["expresspass"]));
    let (nodes, ports) = (layout["nodes"].as_array().unwrap(), layout["ports"].as_array().unwrap());
    assert_eq!((nodes.len(), ports.len()), (6, 10));
    let switch = &nodes[5];
    assert_eq!((&switch["kind"], &switch["alias"]), (&json!("switch"), &json!("switch")));
    let port = ports.iter().find(|port| port["name"] == "s0->h0").unwrap();
    let rate = port["rate_bps"].as_f64().unwrap();
    let share = port["credit_bps"].as_f64().unwrap() / rate;
    assert!((share - 84.0 / 1622.0).abs() < 1e-6, "credits get {share} of the link");
    assert!(port["buffer_bytes"].as_u64().unwrap() > 1538);
    let flow = layout["flows_expected"].as_u64().unwrap();
    assert_eq!(flow, 4);
}

#[test]
fn bad_requests_are_refused_in_one_line() {
    let mut stage = opened(INCAST, None);
    for (request, begins) in [
        (json!([]), "the request is not an object"),
        (json!({"run": 0}), "the request names no operation"),
        (json!({"op": "fly"}), "there is no operation \"fly\"; write one of catalog,"),
        (json!({"op": "advance", "run": 9}), "run 9 is not open"),
        (json!({"op": "port", "run": 0, "port": 10}), "there is no port 10; the last one is 9"),
        (json!({"op": "flow", "run": 0, "flow": 4}), "no flow 4 has started"),
        (json!({"op": "open", "run": 0, "name": "x", "text": "a = "}), "x:1: is not TOML"),
    ] {
        let error = refused(&mut stage, request.clone());
        assert!(error.starts_with(begins) && !error.contains('\n'), "{request}: {error}");
    }
    let Reply::Json(text) = stage.handle("{") else { panic!("a frame") };
    assert!(text.contains("the request is not JSON"), "{text}");
}

#[test]
fn an_estimate_says_what_a_run_will_take_and_opens_none() {
    let mut stage = Stage::new(None);
    let needs = ask(&mut stage, json!({"op": "estimate", "run": 0, "name": "x", "text": INCAST}));
    assert_eq!([&needs["hosts"], &needs["switches"], &needs["links"], &needs["entries"]], [5, 1, 5, 1]);
    assert_eq!([&needs["flows"], &needs["live_flows"], &needs["samples"]], [4, 4, 0]);
    assert!(needs["bytes"].as_u64().unwrap() > 5_000 && needs["cpu_s"].as_f64().unwrap() > 0.0, "{needs}");
    // 800 KB take 640 us at 10 Gbps.
    assert!((6e-4..1e-3).contains(&needs["simulated_s"].as_f64().unwrap()), "{needs}");
    assert_eq!(needs["warnings"], json!([]));
    assert!(refused(&mut stage, json!({"op": "advance", "run": 0})).starts_with("run 0 is not open"));
}

#[test]
fn a_network_of_more_links_than_a_page_can_draw_is_refused_before_it_is_built() {
    let mut stage = Stage::new(None);
    let tree = INCAST.replace("\"star\"", "\"fat-tree\"").replace("hosts = 5", "k = 64");
    for op in ["estimate", "open"] {
        let error =
            refused(&mut stage, json!({"op": op, "run": 0, "name": "tree", "text": tree, "links": 30000}));
        assert!(
            error.starts_with("tree:4: topology.k = 64: these are 65536 hosts and 196608 links"),
            "{error}"
        );
    }
    let layout = ask(&mut stage, json!({"op": "open", "run": 0, "name": "x", "text": INCAST, "links": 5}));
    assert_eq!((&layout["name"], &layout["warnings"]), (&json!("x"), &json!([])));
}

#[test]
fn scenarios_that_would_not_fit_into_memory_are_refused_and_leave_room_for_others() {
    let mut stage = Stage::new(Some(1_000_000_000));
    let huge = INCAST.replace("hosts = 5", "hosts = 60000").replace("senders = 4", "senders = 59999");
    let huge = huge.replace("200KB\"", "200KB\"\n rounds = 15000");
    let error = refused(&mut stage, json!({"op": "open", "run": 0, "name": "huge", "text": huge}));
    assert!(error.starts_with("huge") && error.contains("GB"), "{error}");
    for run in 0..8 {
        let layout = ask(&mut stage, json!({"op": "open", "run": run, "name": "x", "text": INCAST}));
        assert_eq!(layout["error"], Value::Null);
    }
    let error = refused(&mut stage, json!({"op": "open", "run": 8, "name": "x", "text": INCAST}));
    assert!(error.starts_with("8 runs are open already"), "{error}");
    ask(&mut stage, json!({"op": "close", "run": 7}));
    assert_eq!(ask(&mut stage, json!({"op": "open", "run": 8, "name": "x", "text": INCAST}))["name"], "x");
}
