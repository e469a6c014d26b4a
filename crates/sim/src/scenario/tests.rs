//! Scenario files as users write them, and as they should not.

use super::document::Document;
use super::shapes::Shape;
use super::*;
use crate::model::{Amount, Flow, Pattern, Poisson, Rounds, Threshold};
use clearway_proto::{Auto, port::PortMechanism};
use clearway_topology::{NodeId, PortId};
use clearway_units::{Bytes, Rate, Span, Time};
use proptest::prelude::*;
use std::path::PathBuf;

const VALID: &str = r#"
stop = "10 ms"

[topology]
kind = "star"
hosts = 5
rate = "10 Gbps"

[switch]
buffer = "100 KB"

[transport]
name = "expresspass"
alpha = 0.5

[[traffic]]
name = "web"
kind = "poisson"
workload = "web-search"
load = 0.4
flows = 10

[[traffic]]
name = "burst"
kind = "incast"
senders = 4
"#;

fn parse_with(text: &str, overrides: &Overrides) -> Result<Scenario, ScenarioError> {
    Scenario::parse(text, "x.toml", Path::new("."), overrides)
}

fn parse(text: &str) -> Scenario {
    parse_with(text, &Overrides::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn set(pairs: &[(&str, &str)]) -> Overrides {
    let set = pairs.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
    Overrides { set, ..Overrides::default() }
}

fn refused(text: &str) -> String {
    parse_with(text, &Overrides::default()).expect_err("this is to be refused").to_string()
}

/// What VALID is refused with after one line of it became another.
fn refused_with(old: &str, new: &str) -> String {
    assert!(VALID.contains(old), "{old}");
    refused(&VALID.replacen(old, new, 1))
}

fn refused_set(key: &str, value: &str) -> String {
    parse_with(VALID, &set(&[(key, value)])).expect_err("this is to be refused").to_string()
}

fn flows(scenario: &Scenario, part: usize) -> &[Flow] {
    match &scenario.model.traffic[part].pattern {
        Pattern::Flows(flows) => flows,
        other => panic!("{other:?}"),
    }
}

fn poisson(scenario: &Scenario) -> &Poisson {
    match &scenario.model.traffic[0].pattern {
        Pattern::Poisson(poisson) => poisson,
        other => panic!("{other:?}"),
    }
}

fn rounds(scenario: &Scenario, part: usize) -> &Rounds {
    match &scenario.model.traffic[part].pattern {
        Pattern::Rounds(rounds) => rounds,
        other => panic!("{other:?}"),
    }
}

fn check_reads_back(scenario: &Scenario) {
    let written = scenario.to_toml();
    let again =
        parse_with(&written, &Overrides::default()).unwrap_or_else(|error| panic!("{error}\n{written}"));
    assert_eq!(written, again.to_toml());
    assert_eq!(format!("{:?}", scenario.model), format!("{:?}", again.model), "{written}");
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn shipped() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(repository().join("scenarios")).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    paths
}

#[test]
fn every_shipped_scenario_reads_under_every_transport_and_reads_back() {
    assert!(shipped().len() >= 10);
    for path in shipped() {
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("# "), "{} opens with what it shows", path.display());
        check_reads_back(
            &Scenario::load(&path, &Overrides::default()).unwrap_or_else(|error| panic!("{error}")),
        );
        for info in clearway_proto::TRANSPORTS {
            let overrides = Overrides { transport: Some(info.name.into()), ..Overrides::default() };
            let scenario =
                Scenario::load(&path, &overrides).unwrap_or_else(|error| panic!("{}: {error}", info.name));
            assert!(scenario.model.traffic.iter().all(|part| part.transport.info().name == info.name));
        }
    }
}

#[test]
fn a_scenario_is_named_after_its_file_unless_it_says() {
    let path = repository().join("scenarios/incast.toml");
    assert_eq!(Scenario::load(&path, &Overrides::default()).unwrap().name, "incast");
    assert_eq!(parse(&format!("name = \"mine\"{VALID}")).name, "mine");
    let folder = Folder::new("names");
    let odd = Scenario::load(&folder.write("7.v1 \n.toml", VALID), &Overrides::default()).unwrap();
    assert_eq!(odd.name, "7.v1 ?");
    check_reads_back(&odd);
}

#[test]
fn defaults_are_those_of_the_topology_crate() {
    Shape::defaults_agree(&Document::parse("", "x.toml").unwrap());
}

#[test]
fn the_reference_of_the_documentation_is_current() {
    let path = repository().join("docs/scenario.md");
    if std::env::var_os("CLEARWAY_WRITE_DOCS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, reference()).unwrap();
    }
    let current = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        current == reference(),
        "write docs/scenario.md anew: CLEARWAY_WRITE_DOCS=1 cargo test -p clearway-sim"
    );
}

#[test]
fn the_reference_names_every_transport_topology_and_workload() {
    let page = reference();
    let names = clearway_proto::TRANSPORTS.iter().map(|info| info.name);
    let names = names.chain(topologies().into_iter().map(|info| info.name));
    for name in names.chain(workloads().iter().map(|info| info.name)) {
        assert!(page.contains(name), "{name}");
    }
}

#[test]
fn the_arrival_rate_is_that_of_the_authors_on_their_tree() {
    let scenario = parse(
        "[topology]\nkind = \"oversubscribed-fat-tree\"\n[transport]\nname = \"dctcp\"\n\
         [[traffic]]\nkind = \"poisson\"\nworkload = \"web-search\"\nload = 0.6\n",
    );
    // hosts x link rate x load / (mean size on the wire) / oversubscription
    let rate = 192.0 * 10e9 / 8.0 * 0.6 / (1_654_275.0 * 1538.0 / 1460.0) / 3.0;
    assert!((poisson(&scenario).mean_gap_s * rate - 1.0).abs() < 1e-12);
    assert_eq!(poisson(&scenario).hosts.len(), 192);
}

#[test]
fn a_mean_of_ones_own_replaces_the_published_one() {
    let gap = |pairs: &[(&str, &str)]| poisson(&parse_with(VALID, &set(pairs)).unwrap()).mean_gap_s;
    let ratio = gap(&[("traffic.web.mean", "3308550 B")]) / gap(&[]);
    assert!((ratio - 2.0).abs() < 1e-12);
}

#[test]
fn ports_get_what_the_transports_need() {
    let expresspass = parse(VALID).model;
    let credit = expresspass.switch.credit.unwrap();
    assert_eq!(
        (credit.queue, credit.shaping.credit, credit.shaping.data, credit.shaping.bucket),
        (8, 84, 1538, 168)
    );
    assert!(expresspass.switch.classes[0].marking.is_none());
    let overrides = Overrides { transport: Some("dctcp".into()), ..Overrides::default() };
    let dctcp = parse_with(VALID, &overrides).unwrap().model;
    assert!(dctcp.switch.credit.is_none() && dctcp.host.port.credit.is_none());
    let marking = dctcp.switch.classes[0].marking.unwrap();
    assert!(matches!(marking.threshold, Threshold::ByRate));
    assert!(dctcp.host.port.classes[0].marking.is_none());
}

#[test]
fn a_credit_releases_a_full_frame_of_the_scenario() {
    let model =
        parse(&VALID.replace("[switch]", "[network]\npayload = \"1000 B\"\noverhead = \"48 B\"\n[switch]"))
            .model;
    assert_eq!(model.switch.credit.unwrap().shaping.data, 1048);
}

#[test]
fn the_default_buffer_is_250_frames_for_each_10_gbps() {
    let limit = |rate: &str| {
        let text = VALID.replace("10 Gbps", rate).replace("[switch]\nbuffer = \"100 KB\"", "");
        parse(&text).model.switch.classes[0].limit
    };
    let bytes = |bytes| Amount { bytes: Bytes::new(bytes), ..Amount::UNLIMITED };
    assert_eq!(limit("10 Gbps"), bytes(384_500));
    assert_eq!(limit("40 Gbps"), bytes(1_538_000));
    assert_eq!(limit("1 Gbps"), bytes(384_500));
}

#[test]
fn a_replaced_transport_takes_its_own_parameters_and_credit_keys_along() {
    let text = VALID.replace("[switch]", "[switch]\ncredit_queue = 4");
    let with =
        |name: &str| parse_with(&text, &Overrides { transport: Some(name.into()), ..Overrides::default() });
    let dctcp = with("dctcp").unwrap();
    assert!(dctcp.model.switch.credit.is_none());
    check_reads_back(&dctcp);
    // The same transport keeps what the file sets for it; another with credits keeps the credit keys.
    let same = with("expresspass").unwrap();
    assert_eq!(same.to_toml(), parse(&text).to_toml());
    assert_eq!(with("naive-credit").unwrap().model.switch.credit.unwrap().queue, 4);
    let values = same.model.traffic[0].transport.values();
    assert!(values.contains(&("alpha", "0.5".into())), "{values:?}");
}

#[test]
fn set_after_transport_means_the_new_transport() {
    let overrides = Overrides { transport: Some("dctcp".into()), ..set(&[("transport.g", "0.25")]) };
    let scenario = parse_with(VALID, &overrides).unwrap();
    assert!(scenario.model.traffic[0].transport.values().contains(&("g", "0.25".into())));
    let overrides = Overrides { transport: Some("dctcp".into()), ..set(&[("transport.w_init", "0.25")]) };
    let error = parse_with(VALID, &overrides).unwrap_err().to_string();
    assert!(error.starts_with("--set transport.w_init = 0.25: is no parameter of dctcp"), "{error}");
}

#[test]
fn later_profiles_and_then_parameters_win() {
    let text = VALID.replace("alpha = 0.5", "w_init = 0.125\nprofile = [\"ns2\", \"ns2-fat-tree\"]");
    let values = parse(&text).model.traffic[0].transport.values();
    assert!(values.contains(&("feedback", "ns2".into())) && values.contains(&("w_init", "0.125".into())));
    assert!(
        refused(&text.replace("fat-tree", "thin-tree"))
            .contains("transport.profile.1 = \"ns2-thin-tree\": write one of")
    );
}

#[test]
fn a_part_of_the_traffic_may_change_parameters_or_name_another_transport() {
    let text = VALID
        .replace("senders = 4", "senders = 4\ntransport = { w_init = 0.25 }")
        .replace("load = 0.4", "load = 0.4\ntransport = \"dctcp\"");
    let scenario = parse(&text);
    assert_eq!(scenario.model.traffic[0].transport.info().name, "dctcp");
    let values = scenario.model.traffic[1].transport.values();
    assert!(
        values.contains(&("alpha", "0.5".into())) && values.contains(&("w_init", "0.25".into())),
        "{values:?}"
    );
    check_reads_back(&scenario);
}

#[test]
fn traffic_chooses_its_class_of_credits() {
    let classes = "[[switch.credit_class]]\nname = \"gold\"\npriority = 0\nqueue = 4\n\
                   [[switch.credit_class]]\nname = \"lead\"\npriority = 1\nweight = 3\nshare = 0.5\n[transport]";
    let text = VALID
        .replace("[switch]", "[switch]\ncredit_share = 0.9")
        .replace("[transport]", classes)
        .replace("senders = 4", "senders = 4\ncredit_class = \"lead\"");
    let scenario = parse(&text);
    let model = &scenario.model;
    assert_eq!((model.traffic[0].credit_class, model.traffic[1].credit_class), (0, 1));
    let turns: Vec<_> =
        model.switch.credit_classes.iter().map(|c| (c.priority, c.weight, c.queue, c.share)).collect();
    assert_eq!(turns, [(0, 1, 4, None), (1, 3, 8, Some(0.5))]);
    assert_eq!((model.switch.credit.unwrap().share, model.host.port.credit.unwrap().share), (0.9, 0.9));
    check_reads_back(&scenario);
    // Another transport with credits keeps the classes; one without drops them.
    let with =
        |name: &str| parse_with(&text, &Overrides { transport: Some(name.into()), ..Overrides::default() });
    assert_eq!(with("naive-credit").unwrap().model.switch.credit_classes.len(), 2);
    let dctcp = with("dctcp").unwrap();
    assert!(dctcp.model.switch.credit_classes.is_empty());
    check_reads_back(&dctcp);
}

#[test]
fn shares_of_hosts_and_pairs_meet_without_overlap() {
    let hosts = |share: &str, seed| {
        let text =
            VALID.replace("hosts = 5", "hosts = 101").replace("flows = 10", &format!("hosts = {share}"));
        let scenario = parse_with(&text, &Overrides { seed: Some(seed), ..Overrides::default() }).unwrap();
        check_reads_back(&scenario);
        poisson(&scenario).hosts.clone()
    };
    let halves = [hosts("{ share = 0.25 }", 3), hosts("{ share = 0.75, from = 0.25 }", 3)];
    assert_eq!((halves[0].len(), halves[1].len()), (25, 76));
    let mut all = halves.concat();
    all.sort_unstable();
    assert_eq!(all, (0..101).map(NodeId).collect::<Vec<_>>());
    assert_ne!(hosts("{ share = 0.25 }", 3), hosts("{ share = 0.25 }", 4), "the seed draws them");

    let text = "stop = \"1 ms\"\n[topology]\nkind = \"dumbbell\"\npairs = 4\n[transport]\nname = \"cubic\"\n\
                [[traffic]]\nkind = \"long\"\npairs = { share = 0.5 }\n\
                [[traffic]]\nkind = \"long\"\npairs = { share = 0.5, from = 0.5 }\n";
    let scenario = parse(text);
    let senders = |part| flows(&scenario, part).iter().map(|flow| flow.src.0).collect::<Vec<_>>();
    assert_eq!((senders(0), senders(1)), (vec![0, 1], vec![2, 3]));
    check_reads_back(&scenario);
}

#[test]
fn the_seed_moves_random_pairs_and_nothing_else() {
    let text = "[topology]\nkind = \"star\"\n[transport]\nname = \"cubic\"\n\
                [[traffic]]\nkind = \"permutation\"\nsize = \"1 MB\"\nspread = \"10 us\"\n";
    let with = |seed| parse_with(text, &Overrides { seed: Some(seed), ..Overrides::default() }).unwrap();
    let starts = |scenario: &Scenario| {
        flows(scenario, 0).iter().map(|flow| (flow.start, flow.dst)).collect::<Vec<_>>()
    };
    assert_eq!(starts(&with(7)), starts(&with(7)));
    assert_ne!(starts(&with(7)), starts(&with(8)));
    assert_eq!(with(u64::MAX).model.seed, u64::MAX);
    check_reads_back(&with(u64::MAX));
}

#[test]
fn long_flows_follow_the_pairs_of_their_shape() {
    let text = "stop = \"1 ms\"\n[topology]\nkind = \"dumbbell\"\npairs = 2\n[transport]\nname = \"cubic\"\n\
                [[traffic]]\nkind = \"long\"\ncount = 3\nstagger = \"100 us\"\n";
    let scenario = parse(text);
    let expected = [(0, 2, 0), (1, 3, 100), (0, 2, 200)];
    for (flow, (src, dst, start)) in flows(&scenario, 0).iter().zip(expected) {
        assert_eq!(
            (flow.src, flow.dst, flow.start),
            (NodeId(src), NodeId(dst), Time::ZERO + Span::from_us(start))
        );
    }
    let lot =
        parse(&text.replace("dumbbell", "parking-lot").replace("pairs = 2", "").replace("count = 3", ""));
    assert_eq!(flows(&lot, 0).len(), 3);
}

#[test]
fn workers_go_around_all_hosts_but_the_receiver() {
    let text = VALID.replace("senders = 4", "senders = 6\nreceiver = 2");
    let scenario = parse(&text);
    let workers: Vec<u32> = rounds(&scenario, 1).workers.iter().map(|worker| worker.0).collect();
    assert_eq!(workers, [0, 1, 3, 4, 0, 1]);
}

#[test]
fn a_shuffle_has_a_flow_from_every_task_to_every_task_of_another_host() {
    let text = "[topology]\nkind = \"star\"\nhosts = 40\n[transport]\nname = \"cubic\"\n[[traffic]]\nkind = \"shuffle\"\n";
    let scenario = parse(text);
    assert_eq!(flows(&scenario, 0).len(), 40 * 2496);
    // With shares of the senders two parts divide the same flows.
    let half = |from: &str| format!("{text}tasks = 1\nsenders = {{ share = 0.5, from = {from} }}\n");
    let [one, other] = ["0", "0.5"].map(|from| parse(&half(from)));
    check_reads_back(&one);
    let pairs = |scenario: &Scenario| {
        flows(scenario, 0).iter().map(|flow| (flow.src, flow.dst)).collect::<std::collections::BTreeSet<_>>()
    };
    assert_eq!((pairs(&one).len(), pairs(&other).len()), (20 * 39, 20 * 39));
    assert!(pairs(&one).is_disjoint(&pairs(&other)));
    let problem = refused(&format!("{text}hosts = [\"h0\", \"h1\"]\nsenders = [\"h2\"]\n"));
    assert_eq!(problem, "x.toml:9: traffic.0.senders = [\"h2\"]: h2 is none of the hosts; name some of them");
}

#[test]
fn faults_take_one_direction_or_both() {
    let text = format!(
        "{VALID}\n[[fault]]\nlink = [\"h1\", \"s0\"]\ndown = \"1 ms\"\nup = \"2 ms\"\n\
         [[fault]]\nlink = [\"s0\", \"h2\"]\ndown = \"3 ms\"\ndirection = \"backward\"\n\
         [[loss]]\nprobability = 0.01\n[[loss]]\nlink = [\"h3\", \"s0\"]\nprobability = 0\n"
    );
    let scenario = parse(&text);
    let port = |name: &str| {
        let topology = &scenario.model.topology;
        (0..topology.ports().len() as u32).map(PortId).find(|&port| topology.port_name(port) == name).unwrap()
    };
    let faults: Vec<_> = scenario.model.faults.iter().map(|fault| (fault.port, fault.up)).collect();
    let both = [port("h1->s0"), port("s0->h1")];
    assert_eq!(faults.len(), 5);
    assert!(both.iter().all(|port| faults.contains(&(*port, true)) && faults.contains(&(*port, false))));
    assert_eq!(faults[4], (port("h2->s0"), false));
    assert_eq!(scenario.model.loss.len(), 8, "all but both directions of one link");
    check_reads_back(&scenario);
}

#[test]
fn the_lines_of_bad_input_name_file_line_key_value_and_what_would_be_right() {
    let cases = [
        (
            refused_with("rate = \"10 Gbps\"", "rat = \"10 Gbps\""),
            "x.toml:7: topology.rat: unknown key; did you mean \"rate\"? (known: kind, hosts, rate, delay)",
        ),
        (
            refused_with("[switch]", "[swich]"),
            "x.toml:9: swich: unknown key; did you mean \"switch\"? (known: name, seed, stop, topology, link, network, \
             switch, host, transport, traffic, fault, loss, sample)",
        ),
        (
            refused_with("100 KB", "10 Gbps"),
            "x.toml:10: switch.buffer = \"10 Gbps\": has an unknown unit; write a size such as \"384.5 KB\", \
             \"250 packets\" or \"unlimited\", or \"auto\"",
        ),
        (
            refused_with("rate = \"10 Gbps\"", "rate = \"10 KB\""),
            "x.toml:7: topology.rate = \"10 KB\": has an unknown unit; write a rate as a number and one of Tbps, Gbps, \
             Mbps, Kbps, bps, such as \"10 Gbps\"",
        ),
        (
            refused_with("rate = \"10 Gbps\"", "rate = 10"),
            "x.toml:7: topology.rate = 10: has no unit; write a rate as a number and one of Tbps, Gbps, Mbps, Kbps, bps, \
             such as \"10 Gbps\"",
        ),
        (
            refused_with("rate = \"10 Gbps\"", "rate = \"2 Tbps\""),
            "x.toml:7: topology.rate = \"2 Tbps\": must be from 1 Mbps to 1.6 Tbps",
        ),
        (
            refused_with("senders = 4", "senders = 4\nsize = \"-3 KB\""),
            "x.toml:27: traffic.burst.size = \"-3 KB\": is negative; write a size as a number and one of TB, GB, MB, KB, \
             GiB, MiB, KiB, B, such as \"384.5 KB\"",
        ),
        (
            refused_with("load = 0.4", "load = 1.4"),
            "x.toml:20: traffic.web.load = 1.4: must be above 0 and at most 1",
        ),
        (
            refused_with("load = 0.4", "load = -0.4"),
            "x.toml:20: traffic.web.load = -0.4: must be above 0 and at most 1",
        ),
        (
            refused_with("load = 0.4", "load = nan"),
            "x.toml:20: traffic.web.load = NaN: write a number, such as 0.5",
        ),
        (refused_with("load = 0.4", ""), "x.toml:16: traffic.web.load: is missing; write number"),
        (
            refused_with("web-search", "web-surch"),
            "x.toml:19: traffic.web.workload = \"web-surch\": is no workload; did you mean \"web-search\"? (known: \
             web-search, data-mining, cache-follower, web-server, web-search-dctcp, web-search-hpcc, web-search-opera, \
             data-mining-vl2, data-mining-opera, cache-follower-homa, web-server-homa, hadoop-hpcc, hadoop-homa, \
             hadoop-opera, key-value, key-value-homa, google-rpc-homa, google-rpc-hpcc, google-search-homa, storage-hpcc)",
        ),
        (
            refused_with("kind = \"incast\"", "kind = \"incest\""),
            "x.toml:25: traffic.burst.kind = \"incest\": is no kind; did you mean \"incast\"? (known: long, poisson, \
             permutation, incast, partition-aggregate, shuffle, flows, file)",
        ),
        (
            refused_with("senders = 4", "receiver = \"h9\""),
            "x.toml:26: traffic.burst.receiver = \"h9\": there is no host \"h9\" (the network has 5, \
             h0 to h4)",
        ),
        (
            refused_with("senders = 4", "receiver = 5"),
            "x.toml:26: traffic.burst.receiver = 5: there is no host 5; the network has 5, counted from 0",
        ),
        (
            refused_with("senders = 4", "receiver = \"s0\""),
            "x.toml:26: traffic.burst.receiver = \"s0\": \"s0\" is a switch; name a host",
        ),
        (
            refused_with("senders = 4", "senders = [\"h1\", \"h0\"]"),
            "x.toml:26: traffic.burst.senders.1 = \"h0\": the host h0 sends to itself; name two hosts",
        ),
        (
            refused_with("senders = 4", "senders = 10_000_000_000"),
            "x.toml:26: traffic.burst.senders = 10000000000: must be from 1 to 1000000",
        ),
        (
            refused_with("senders = 4", "transport = { name = \"dctcp\", alpha = 0.5 }"),
            "x.toml:26: traffic.burst.transport.alpha = 0.5: is no parameter of dctcp",
        ),
        (
            refused_with("alpha = 0.5", "alpha = 1.5"),
            "x.toml:14: transport.alpha = 1.5: must be from 0.0001 to 1",
        ),
        (
            refused_with("name = \"expresspass\"", "name = \"expresspas\""),
            "x.toml:13: transport.name = \"expresspas\": is no transport; did you mean \"expresspass\"? (known: ",
        ),
        (
            refused_with("hosts = 5", "hosts = 1_000_000_000"),
            "x.toml:6: topology.hosts = 1000000000: must be from 1 to 60000",
        ),
        (
            refused_with("hosts = 5", "hosts = 99999999999999999999999999999999999999999999"),
            "x.toml:6: topology.hosts = 99999999999999999999999999999999999999999999: write a whole number from 0 to \
             4294967295",
        ),
        (
            refused_with("flows = 10", "flows = 1_000_000_000_000_000_000"),
            "x.toml:21: traffic.web.flows = 1000000000000000000: must be from 1 to 100000000",
        ),
        (
            refused_with("name = \"burst\"", "name = \"web\""),
            "x.toml:24: traffic.web.name = \"web\": is taken by an earlier part of the traffic; write another name",
        ),
        (
            refused_with("name = \"expresspass\"\nalpha = 0.5", "name = \"dctcp\"\n[host]\ncredit_queue = 4"),
            "x.toml:15: host.credit_queue = 4: means nothing, since no transport of the scenario uses credits; remove it",
        ),
        (
            refused_with(
                "name = \"expresspass\"\nalpha = 0.5",
                "name = \"dctcp\"\n[[switch.credit_class]]\nname = \"a\"",
            ),
            "x.toml:14: switch.credit_class = [{...}]: means nothing, since no transport of the scenario uses credits; \
             remove it",
        ),
        (
            refused_with("senders = 4", "credit_class = \"gold\""),
            "x.toml:26: traffic.burst.credit_class = \"gold\": is no class of [[switch.credit_class]] (there are none)",
        ),
        (
            refused_with("[transport]", "[[switch.credit_class]]\nname = \"a\"\nweight = 0\n[transport]"),
            "x.toml:14: switch.credit_class.a.weight = 0: must be from 1 to 1000",
        ),
        (
            refused_with(
                "[transport]",
                "[[switch.credit_class]]\nname = \"a\"\n[[switch.credit_class]]\nname = \"a\"\n[transport]",
            ),
            "x.toml:15: switch.credit_class.a.name = \"a\": is taken by an earlier class; write another name",
        ),
        (
            refused_with("senders = 4", "transport = \"dctcp\"\ncredit_class = \"a\""),
            "x.toml:27: traffic.burst.credit_class = \"a\": means nothing, since dctcp uses no credits; remove it",
        ),
        (
            refused_with("buffer = \"100 KB\"", "credit_share = 1.5"),
            "x.toml:10: switch.credit_share = 1.5: must be from 0.001 to 1",
        ),
        (
            refused_with("flows = 10", "hosts = { share = 0.7, from = 0.5 }"),
            "x.toml:21: traffic.web.hosts: share must be above 0, from at least 0, and both together at most 1",
        ),
        (
            refused_with("flows = 10", "hosts = { part = 0.5 }"),
            "x.toml:21: traffic.web.hosts: has no \"part\"; write { share = 0.5, from = 0 }",
        ),
        (
            refused_with("flows = 10", "hosts = { share = 0.2 }"),
            "x.toml:21: traffic.web.hosts: comes to 1 of 5 hosts, and a flow needs two; name, build or share at least 2",
        ),
        (
            refused_with("buffer = \"100 KB\"", "alpha = 2"),
            "x.toml:10: switch.alpha = 2: means nothing without shared_buffer; set both or none",
        ),
        (
            refused_with("stop = \"10 ms\"", "[[sample]]\nwhat = \"queue\"\ntraffic = \"web\""),
            "x.toml:4: sample.0.traffic = \"web\": means nothing with what = \"queue\"; remove it",
        ),
        (
            refused_with(
                "stop = \"10 ms\"",
                "[[sample]]\nwhat = \"rtt\"\ntraffic = \"web\"\nevery = \"1 us\"",
            ),
            "x.toml:5: sample.0.every = \"1 us\": means nothing with what = \"rtt\"; remove it",
        ),
        (
            refused_with("stop = \"10 ms\"", "[[sample]]\nwhat = \"queue\"\nports = [\"h0->h1\"]"),
            "x.toml:4: sample.0.ports.0 = \"h0->h1\": no link joins h0 and h1; h0 is linked to s0",
        ),
        (
            refused_with("stop = \"10 ms\"", "[[fault]]\nlink = [\"h0\", \"s1\"]\ndown = \"1 ms\""),
            "x.toml:3: fault.0.link = [\"h0\", \"s1\"]: there is no node \"s1\"",
        ),
        (
            refused_with(
                "stop = \"10 ms\"",
                "stop = \"10 ms\"\n[[fault]]\nlink = [\"h0\", \"s0\"]\ndown = \"4 ms\"\nup = \"3 ms\"",
            ),
            "x.toml:6: fault.0.up = \"3 ms\": must be after down, 4 ms",
        ),
        (
            refused_with("kind = \"star\"\nhosts = 5", "kind = \"fat-tree\"\nk = 7"),
            "x.toml:6: topology.k = 7: is out of range; give an even number from 2 to 128",
        ),
        (
            refused_with("senders = 4", "class = \"urgent\""),
            "x.toml:26: traffic.burst.class = \"urgent\": is no class of [[switch.class]] (known: data)",
        ),
        (refused_with("[switch]", "switch = 4\n[host]"), "x.toml:9: topology.switch: unknown key"),
        (refused("switch = 4"), "x.toml:1: switch = 4: write a table, under [switch]"),
        (
            refused("[traffic]\n[topology]\nkind = \"star\""),
            "x.toml:1: traffic: write a list of tables, each under [[traffic]]",
        ),
        (
            refused("[topology]\nkind = \"star\""),
            "x.toml:1: traffic: is missing; write at least one [[traffic]] with a kind",
        ),
        (
            refused("seed = 1"),
            "x.toml:1: topology: is missing; write [topology] with a kind, such as kind = \"star\"",
        ),
        (refused("  \n"), "x.toml: is empty; start from one of scenarios/"),
        (refused("\n[topology\nkind = 4"), "x.toml:2: is not TOML: "),
        (refused("seed = 1\nseed = 2"), "x.toml:2: is not TOML: duplicate key"),
        (
            refused_set("switch.buffer", "10 Gbps"),
            "--set switch.buffer = \"10 Gbps\": has an unknown unit; write a size",
        ),
        (refused_set("switch.bufer", "1 MB"), "--set switch.bufer: unknown key; did you mean \"buffer\"?"),
        (refused_set("traffic.web.load", "2"), "--set traffic.web.load = 2: must be above 0 and at most 1"),
        (
            refused_set("traffic.5.load", "2"),
            "--set traffic.5.load = \"2\": there is no traffic \"5\"; it has 2 parts, \
             counted from 0 (web, burst)",
        ),
        (refused_set("stop.x", "2"), "--set stop.x = \"2\": \"stop\" is a value and has no keys"),
        (refused_set("", "2"), "--set: is no key; write one such as switch.buffer"),
        (
            refused_set("switch.buffer", "[1,"),
            "--set switch.buffer = \"[1,\": is not TOML; close its brackets and quotes",
        ),
    ];
    let is_right = |line: &str, expected: &str| line.starts_with(expected) && !line.contains('\n');
    let wrong = cases.iter().filter(|(line, expected)| !is_right(line, expected));
    let wrong: Vec<String> =
        wrong.map(|(line, expected)| format!("\n  {line}\nis not\n  {expected}\n")).collect();
    assert!(wrong.is_empty(), "{}", wrong.concat());
}

#[test]
fn an_unknown_transport_beside_the_file_is_refused() {
    let overrides = Overrides { transport: Some("dctpc".into()), ..Overrides::default() };
    let error = parse_with(VALID, &overrides).unwrap_err().to_string();
    assert!(
        error.starts_with("--transport dctpc: is no transport; did you mean \"dctcp\"? (known: "),
        "{error}"
    );
    // What is wrong with the file's own transport is still refused.
    let overrides = Overrides { transport: Some("dctcp".into()), ..Overrides::default() };
    let error = parse_with(&VALID.replace("alpha", "alhpa"), &overrides).unwrap_err().to_string();
    assert!(
        error.contains("transport.alhpa = 0.5: is no parameter of expresspass; did you mean \"alpha\"?"),
        "{error}"
    );
}

#[test]
fn traffic_that_never_ends_needs_a_stop() {
    let text =
        "[topology]\nkind = \"star\"\n[transport]\nname = \"cubic\"\n[[traffic]]\nkind = \"permutation\"\n";
    let problem = "its flows never end; give them a size or a stop, or the scenario a stop";
    assert_eq!(refused(text), format!("x.toml:5: traffic.0: {problem}"));
    for end in ["size = \"1 MB\"", "stop = \"1 ms\""] {
        parse(&format!("{text}{end}\n"));
    }
    parse_with(text, &set(&[("stop", "1 ms")])).unwrap();
}

#[test]
fn transports_that_disagree_on_credits_need_a_word_from_the_scenario() {
    let text = VALID.replace("senders = 4", "transport = { credit_queue = 4 }");
    let expected = "x.toml:9: switch.credit_queue: the transports expresspass and expresspass ask for 8 and 4; write a \
                    value for both";
    assert_eq!(refused(&text), expected);
    let settled = parse(&text.replace("[switch]", "[switch]\ncredit_queue = 6"));
    assert_eq!(settled.model.switch.credit.unwrap().queue, 6);
    check_reads_back(&settled);
}

#[test]
fn a_class_for_data_that_nothing_allowed_comes_by_itself_or_is_the_scenarios() {
    let asked = parse(&VALID.replace("alpha = 0.5", "low_priority = 1"));
    let classes = &asked.model.switch.classes;
    assert_eq!((classes.len(), asked.model.low_class(), classes[1].name.as_str()), (2, 1, "low-priority"));
    assert_eq!((classes[1].priority, classes[1].limit.packets), (1, 32));
    assert_eq!(asked.model.host.port.classes[1].priority, 1);
    assert!(asked.model.traffic.iter().all(|part| part.class == 0));
    check_reads_back(&asked);

    let with = |class: &str| {
        let class = format!("[[switch.class]]\nname = \"data\"\npriority = 3\n{class}\n[transport]");
        VALID.replace("alpha = 0.5", "low_priority = 1").replace("[transport]", &class)
    };
    let own = parse(&with("[[switch.class]]\nname = \"low-priority\"\npriority = 4\nbuffer = \"5 KB\""));
    assert_eq!(own.model.switch.classes[own.model.low_class()].limit.bytes, Bytes::new(5_000));
    check_reads_back(&own);
    assert_eq!(parse(&with("")).model.switch.classes[1].priority, 4);
    let error = refused(&with("[[switch.class]]\nname = \"low-priority\"\npriority = 3"));
    assert!(
        error.contains("priority = 3: the class \"low-priority\" of expresspass") && error.contains("yield"),
        "{error}"
    );
    let error = refused(&with("[[switch.class]]\nname = \"last\"\npriority = 7"));
    assert!(error.contains("write priorities below 7"), "{error}");
    let error = refused(
        &VALID
            .replace("alpha = 0.5", "low_priority = 1")
            .replace("senders = 4", "transport = { low_priority_queue = 9 }"),
    );
    assert!(error.contains("ask for 32 and 9 frames"), "{error}");
}

#[test]
fn links_may_differ_from_those_of_the_shape() {
    let link = |keys: &str| VALID.replace("[switch]", &format!("[[link]]\n{keys}\n\n[switch]"));
    let faster = parse(&link("link = [\"h2\", \"s0\"]\nrate = \"40 Gbps\""));
    let topology = &faster.model.topology;
    let port = topology.ports_of(topology.node("h2").unwrap())[0];
    for port in [port, port.reverse()] {
        let is = topology.port(port);
        assert_eq!((is.rate, is.delay), (Rate::gbps(40), Span::from_us(4)));
    }
    assert_eq!(topology.ports().iter().filter(|port| port.rate == Rate::gbps(40)).count(), 2);
    // What is by default a matter of the fastest link, and the load of the hosts' links, follow.
    assert!(poisson(&faster).mean_gap_s < poisson(&parse(VALID)).mean_gap_s);
    check_reads_back(&faster);
    let longer = parse(&link("link = [\"s0\", \"h2\"]\ndelay = \"9 us\""));
    assert_eq!(longer.model.topology.port(port).delay, Span::from_us(9));
    assert!(refused(&link("link = [\"h2\", \"s0\"]")).contains("write a rate or a delay"));
    assert!(refused(&link("link = [\"h2\", \"h1\"]\nrate = \"1 Gbps\"")).contains("no link joins h2 and h1"));
}

#[test]
fn ports_do_what_the_transport_asks_for_and_the_scenario_may_change_it() {
    let text = VALID.replace("name = \"expresspass\"\nalpha = 0.5", "name = \"hull\"\ndrain = 0.9");
    let phantom = |scenario: &Scenario| match scenario.model.switch.mechanism {
        Some(PortMechanism::Phantom(config)) => config,
        other => panic!("{other:?}"),
    };
    let asked = parse(&text);
    assert_eq!((phantom(&asked).drain, phantom(&asked).threshold), (0.9, Auto::Auto));
    assert!(asked.model.host.port.mechanism.is_none());
    check_reads_back(&asked);
    let keys = "[switch]\nphantom_drain = 0.8\nphantom_threshold = \"3 KB\"";
    let changed = parse(&text.replace("[switch]", keys));
    assert_eq!((phantom(&changed).drain, phantom(&changed).threshold), (0.8, Auto::Set(Bytes::new(3000))));
    check_reads_back(&changed);

    let text = text
        .replace("drain = 0.9", "")
        .replace("hull", "rcp")
        .replace("[switch]", "[switch]\nrcp_beta = 0.4");
    let Some(PortMechanism::Rcp(rcp)) = parse(&text).model.switch.mechanism else { panic!("a rate") };
    assert_eq!((rcp.alpha, rcp.beta, rcp.gamma), (0.4, 0.4, 1.0));
    // Another transport for everything drops the keys that only the old one understands.
    let replaced = Overrides { transport: Some("hull".into()), ..Overrides::default() };
    assert_eq!(phantom(&parse_with(&text, &replaced).unwrap()).drain, 0.95);
}

#[test]
fn keys_of_ports_that_no_transport_asks_for_are_refused_and_so_are_transports_that_disagree() {
    assert_eq!(
        refused_with("buffer = \"100 KB\"", "rcp_gamma = 0.9"),
        "x.toml:10: switch.rcp_gamma = 0.9: means nothing, since no transport of the scenario asks its ports for this; \
         remove it"
    );
    let mixed = VALID
        .replace("name = \"expresspass\"\nalpha = 0.5", "name = \"hull\"")
        .replace("senders = 4", "senders = 4\ntransport = \"rcp\"");
    let problem = refused(&mixed);
    assert!(
        problem.contains("hull and rcp ask the same ports for a phantom queue and a RCP rate"),
        "{problem}"
    );
}

/// A folder of its own for a test, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("clearway-scenario-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, content).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn files_that_are_no_text_are_refused() {
    let folder = Folder::new("unreadable");
    let load = |path: &Path| Scenario::load(path, &Overrides::default()).unwrap_err().to_string();
    let latin = folder.write("latin.toml", b"seed = 1\nname = \"caf\xe9\"\n");
    assert_eq!(load(&latin), format!("{}:2: is not UTF-8; save it as UTF-8 text", latin.display()));
    assert!(load(&folder.0).ends_with(": is a directory; name a text file"));
    assert!(load(&folder.0.join("none.toml")).contains("none.toml: can't be read: "));
    assert!(load(&folder.write("empty.toml", "")).contains("empty.toml: is empty"));
    let large = folder.write("large.toml", vec![b' '; 16_000_001]);
    assert!(load(&large).ends_with("is too large, 16000001 bytes; the limit is 16000000"));
}

#[test]
fn traffic_and_networks_come_from_files_and_are_held_against_their_hash() {
    let folder = Folder::new("files");
    folder.write("flows.csv", "start,src,dst,size\n1 us,h0,h1,1 KB\n0 us,h1,h2,2 KB\n");
    folder.write("sizes.csv", "1000,0.5\n3000,1\n");
    folder.write(
        "net.toml",
        "hosts = 3\nswitches = 1\nrate = \"10 Gbps\"\ndelay = \"1 us\"\n\
         [[link]]\na = [\"h0\", \"h1\", \"h2\"]\nb = \"s0\"\n",
    );
    folder.write("hpcc.txt", "1\n2 0 3 100 1000 0.5\n");
    let path = folder.write(
        "scenario.toml",
        "[topology]\nkind = \"file\"\npath = \"net.toml\"\n[transport]\nname = \"cubic\"\n\
         [[traffic]]\nkind = \"file\"\npath = \"flows.csv\"\n\
         [[traffic]]\nkind = \"file\"\npath = \"hpcc.txt\"\nformat = \"hpcc\"\n\
         [[traffic]]\nkind = \"poisson\"\ncdf = \"sizes.csv\"\nload = 0.1\nflows = 5\n",
    );
    let load = || Scenario::load(&path, &Overrides::default());
    let scenario = load().unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(flows(&scenario, 0)[0].src, NodeId(1), "flows are in order of their start");
    assert_eq!(flows(&scenario, 1)[0].src, NodeId(2));
    assert_eq!(scenario.model.traffic[1].name, "file-2");
    check_reads_back(&scenario);

    let refused = |file: &str, content: &str| {
        let before = std::fs::read_to_string(folder.0.join(file)).unwrap();
        let written = folder.write(file, content);
        let line = load().unwrap_err().to_string();
        folder.write(file, before);
        line.replace(&written.display().to_string(), file)
    };
    assert_eq!(
        refused("sizes.csv", "1,0.5\n2,0.4\n3,1"),
        "sizes.csv:2: the CDF falls from 0.5 to 0.4; probabilities must \
         rise to 1"
    );
    assert_eq!(
        refused("flows.csv", "start,src,dst,size\n1 us,h0,h0,1 KB"),
        "flows.csv:2: the host h0 sends to itself"
    );
    assert!(
        refused("flows.csv", "start,src,dst,size\n1 us,h0,h7,1 KB")
            .starts_with("flows.csv:2: there is no host \"h7\"")
    );
    assert_eq!(refused("flows.csv", "start,src,dst,size\n"), "flows.csv:1: lists no flows; add at least one");
    let disconnected = "hosts = 2\nswitches = 2\nrate = \"10 Gbps\"\ndelay = \"1 us\"\n\
         [[link]]\na = \"h0\"\nb = \"s0\"\n[[link]]\na = \"h1\"\nb = \"s1\"\n";
    assert!(refused("net.toml", disconnected).contains("no path joins hosts \"h0\" and \"h1\""));
    assert!(refused("net.toml", "hosts = 2\ncolour = 3\n").starts_with("net.toml:2: unknown field"));

    let resolved = scenario.to_toml();
    folder.write("sizes.csv", "1000,0.25\n3000,1\n");
    let error = parse_with(&resolved, &Overrides::default()).unwrap_err().to_string();
    assert!(error.contains(".cdf_hash = ") && error.contains("the file has changed"), "{error}");
}

#[test]
fn deep_and_wide_files_are_refused_and_do_not_hang() {
    refused(&format!("x = {}", "[".repeat(100_000)));
    refused(&"[a.".repeat(50_000));
    refused(&format!("a{} = 1", ".a".repeat(50_000)));
    refused(&format!("topology = {{ kind = \"star\", {} = 1 }}", "x".repeat(100_000)));
    let many = "[[traffic]]\nkind = \"incast\"\nrounds = 1000000\nsenders = 1000000\n".repeat(3);
    let line = refused(&format!("[topology]\nkind = \"star\"\n[transport]\nname = \"cubic\"\n{many}"));
    assert!(line.contains("at most 1000000000 are possible"), "{line}");
}

/// A line of VALID or another file, with something done to it.
fn mutated() -> impl Strategy<Value = String> {
    let texts: Vec<String> = shipped().iter().map(|path| std::fs::read_to_string(path).unwrap()).collect();
    let texts: Vec<String> = texts.into_iter().chain([VALID.to_owned()]).collect();
    let value = prop_oneof![
        Just("0".to_owned()),
        Just("-1".into()),
        Just("1e400".into()),
        Just("nan".into()),
        Just("9223372036854775807".into()),
        Just("true".into()),
        Just("\"\"".into()),
        Just("\"all\"".into()),
        Just("\"auto\"".into()),
        Just("\"random\"".into()),
        Just("\"h0\"".into()),
        Just("\"0 s\"".into()),
        Just("\"99999 s\"".into()),
        Just("\"18446744073709551615 B\"".into()),
        Just("\"1 packets\"".into()),
        Just("[]".into()),
        Just("[[1, 2], [\"h0\", \"h0\"]]".into()),
        Just("{}".into()),
        Just("{ name = \"expresspass\", credit_queue = 3 }".into()),
        Just("1979-05-27T07:32:00Z".into()),
        (0u64..100).prop_map(|number| number.to_string()),
        (0u64..100).prop_map(|number| format!("\"{number} us\"")),
        (0u64..100).prop_map(|number| format!("\"{number} KB\"")),
        "\"[a-z0-9 ]{0,8}\"",
    ];
    let keys: Vec<String> = {
        let page = reference();
        let cells =
            page.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next().map(str::to_owned));
        cells.collect()
    };
    let change = (any::<prop::sample::Index>(), 0..5, value, prop::sample::select(keys));
    (prop::sample::select(texts), prop::collection::vec(change, 1..5)).prop_map(|(text, changes)| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        for (index, how, value, key) in changes {
            if lines.is_empty() {
                break;
            }
            let at = index.index(lines.len());
            match how {
                0 => drop(lines.remove(at)),
                1 => lines.insert(at, lines[at].clone()),
                2 => lines.insert(at, format!("{key} = {value}")),
                _ => {
                    if let Some((key, _)) = lines[at].clone().split_once('=') {
                        lines[at] = format!("{key}= {value}");
                    }
                }
            }
        }
        lines.join("\n")
    })
}

fn check_any(text: &str, overrides: &Overrides) {
    match parse_with(text, overrides) {
        Ok(scenario) => check_reads_back(&scenario),
        Err(error) => assert!(!error.to_string().contains('\n'), "{error}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read_or_refused_in_one_line(text in "\\PC{0,80}") {
        check_any(&text, &Overrides::default());
    }

    #[test]
    fn any_toml_is_read_or_refused_in_one_line(
        lines in prop::collection::vec("(\\[\\[?(topology|switch|traffic|host|loss)\\]\\]?)|((kind|name|rate|k|load) = (\"[a-z0-9 ]{0,9}\"|-?[0-9]{1,20}|\\[[0-9, \"]{0,9}\\]|\\{\\}))", 0..12),
    ) {
        check_any(&lines.join("\n"), &Overrides::default());
    }

    #[test]
    fn a_mutated_scenario_is_read_or_refused_in_one_line_and_reads_back(text in mutated()) {
        check_any(&text, &Overrides::default());
    }

    #[test]
    fn any_override_is_read_or_refused_in_one_line(
        key in "(traffic|switch|transport|topology|stop|host)?(\\.(web|0|1|load|buffer|name|kind|alpha|[a-z]{1,4})){0,3}",
        value in "\\PC{0,12}|[0-9]{1,6}( us| KB)?|\\[[0-9,]{0,6}\\]|\\{ ?\\}",
        transport in prop::option::of(prop::sample::select(vec!["dctcp", "expresspass", "blast", "x"])),
    ) {
        let transport = transport.map(str::to_owned);
        check_any(VALID, &Overrides { transport, ..set(&[(&key, &value)]) });
    }
}

#[test]
fn an_incast_divides_its_total_and_says_how_long_connections_last() {
    let with = |more: &str| VALID.replace("senders = 4\n", &format!("senders = 4\n{more}\n"));
    let read = |more: &str| {
        let scenario = parse(&with(more));
        check_reads_back(&scenario);
        let rounds = rounds(&scenario, 1);
        (rounds.response.get(), rounds.longer, rounds.reconnect, rounds.spread)
    };
    assert_eq!(read(""), (64_000, 0, false, Span::ZERO));
    assert_eq!(read("size = \"1 KB\"\nconnections = \"per-round\""), (1000, 0, true, Span::ZERO));
    assert_eq!(read("total = \"1003 B\"\nspread = \"1 ms\""), (250, 3, false, Span::from_ms(1)));
    assert!(refused(&with("total = \"1 MB\"\nsize = \"1 MB\"")).contains("total = "));
    assert!(refused(&with("total = \"3 B\"")).contains("less than a byte for each of 4 senders"));
}
