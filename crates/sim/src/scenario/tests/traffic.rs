//! Traffic of all kinds.

use super::*;
use crate::Partition;
use crate::traffic::Done;

#[test]
fn the_arrival_rate_is_that_of_the_authors_on_their_tree() {
    let scenario = parse(
        "[topology]\nkind = \"oversubscribed-fat-tree\"\n[transport]\nname = \"dctcp\"\n\
         [[traffic]]\nkind = \"poisson\"\nworkload = \"web-search\"\nload = 0.6\nload_of = \"ns2\"\n",
    );
    // hosts x link rate x load / (mean size on the wire) / oversubscription
    let rate = 192.0 * 10e9 / 8.0 * 0.6 / (1_654_275.0 * 1538.0 / 1460.0) / 3.0;
    assert!((poisson(&scenario).mean_gap_s * rate - 1.0).abs() < 1e-12);
    assert_eq!(poisson(&scenario).hosts.len(), 192);
}

#[test]
fn a_mean_of_ones_own_replaces_the_published_one_and_that_of_the_distribution() {
    let gap = |pairs: &[(&str, &str)]| poisson(&parse_with(VALID, &set(pairs)).unwrap()).mean_gap_s;
    let (ns2, own) = (("traffic.web.load_of", "ns2"), ("traffic.web.mean", "3308550 B"));
    assert!((gap(&[ns2, own]) / gap(&[ns2]) - 2.0).abs() < 1e-12);
    let sizes = poisson(&parse(VALID)).sizes.mean();
    assert!((gap(&[own]) / gap(&[]) - 3_308_550.0 / sizes).abs() < 1e-12, "links carry what is drawn");
}

/// Returns the share of each tier that flows of 1 MB at this load ask for on a network, as `name share` each.
fn asked(topology: &str, load: &str) -> Vec<String> {
    let text = format!(
        "[topology]\n{topology}\n[transport]\nname = \"dctcp\"\n\
         [[traffic]]\nkind = \"poisson\"\nsize = \"1 MB\"\nload = 0.6\n{load}\n"
    );
    let scenario = parse(&text);
    check_reads_back(&scenario);
    let shares = scenario.estimate().tiers;
    shares.iter().map(|share| format!("{} {:.4}", share.tier, share.asked)).collect()
}

#[test]
fn a_load_is_the_share_of_payload_that_the_named_links_carry_on_average() {
    // Three hosts to an uplink at each ToR. A flow leaves its rack with 36/47.
    let racks = "kind = \"leaf-spine\"\nleaves = 4\nspines = 4\nhosts_per_leaf = 12\nrate = \"10 Gbps\"\n\
                 uplink_rate = \"10 Gbps\"";
    let at = |load: &str| asked(racks, load);
    let of_uplinks = format!("host->tor {:.4}", 0.6 / 3.0 * 47.0 / 36.0);
    assert_eq!(at("load_of = \"uplinks\"")[0], of_uplinks);
    assert_eq!(at("load_of = \"uplinks\"")[2..], ["tor->agg 0.6000", "agg->tor 0.6000"]);
    assert_eq!(at(""), at("load_of = \"uplinks\""), "the busiest tier");
    let of_hosts = format!("tor->agg {:.4}", 0.6 * 3.0 * 36.0 / 47.0);
    assert_eq!(at("load_of = \"hosts\"")[1..3], ["tor->host 0.6000".to_string(), of_hosts]);
    // The rule of the script asks for less: headers count there, and flows that stay in a rack.
    let of_script = format!("tor->agg {:.4}", 0.6 * 1460.0 / 1538.0 * 36.0 / 47.0);
    assert_eq!(at("load_of = \"ns2\"")[2], of_script);
    // Hosts of two racks load the uplinks of these alone, which are half of all.
    let hosts: Vec<u32> = (0..24).collect();
    assert_eq!(at(&format!("hosts = {hosts:?}\nload_of = \"uplinks\""))[2], "tor->agg 0.3000");
}

#[test]
fn the_bottleneck_is_the_tier_that_the_traffic_loads_most() {
    let tree = "kind = \"clos3\"\npods = 4\ntors_per_pod = 2\naggs_per_pod = 2\nhosts_per_tor = 4\nrate = \"10 Gbps\"";
    for (topology, tier) in [
        ("kind = \"star\"\nhosts = 5", "host->tor"),
        ("kind = \"dumbbell\"\npairs = 4", "tor->tor"),
        ("kind = \"fat-tree\"\nk = 4", "host->tor"),
        ("kind = \"oversubscribed-fat-tree\"", "tor->agg"),
        (
            &format!(
                "{tree}\ncores = 2\nuplinks_per_agg = 1\nagg_rate = \"20 Gbps\"\ncore_rate = \"10 Gbps\""
            ),
            "agg->core",
        ),
    ] {
        let shares = asked(topology, "");
        assert!(shares.contains(&format!("{tier} 0.6000")), "{topology}: {shares:?}");
    }
}

#[test]
fn hosts_in_other_racks_change_the_arrivals_that_load_the_uplinks_alike() {
    let gap = |hosts: u32| {
        let text = format!(
            "[topology]\nkind = \"leaf-spine\"\nleaves = 4\nspines = 4\nhosts_per_leaf = {hosts}\n\
             uplink_rate = \"10 Gbps\"\n[transport]\nname = \"dctcp\"\n\
             [[traffic]]\nkind = \"poisson\"\nsize = \"1 MB\"\nload = 0.6\n"
        );
        poisson(&parse(&text)).mean_gap_s
    };
    // The same uplinks, and 36 of 47 or 51 of 67 flows that cross two of them.
    assert!((gap(17) / gap(12) - (51.0 / 67.0) / (36.0 / 47.0)).abs() < 1e-12);
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
fn a_scenario_with_another_seed_is_the_one_that_is_read_with_it_unless_the_seed_draws_something() {
    let read =
        |text: &str, seed| parse_with(text, &Overrides { seed: Some(seed), ..Overrides::default() }).unwrap();
    let same = |scenario: &Scenario| (scenario.to_toml(), format!("{:?}", scenario.model));
    for seed in [0, 12, u64::MAX] {
        let other = read(VALID, 7).with_seed(seed).expect("the run draws pairs and sizes, not the reader");
        assert_eq!(same(&other), same(&read(VALID, seed)));
        check_reads_back(&other);
    }
    let drawn = [
        "kind = \"permutation\"",
        "kind = \"shuffle\"\nspread = \"10 us\"",
        "kind = \"long\"\npairs = \"random\"\ncount = 4",
        "kind = \"poisson\"\nload = 0.5\nflows = 4\nhosts = { share = 0.5 }",
    ];
    for entry in drawn {
        let text = format!("{VALID}\n[[traffic]]\nsize = \"8 KB\"\n{entry}\n");
        assert!(read(&text, 7).with_seed(8).is_none(), "{entry}");
    }
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

#[test]
fn equal_stacks_open_every_connection_by_a_handshake_with_a_first_window_of_two() {
    let text = |transport: &str| {
        format!(
            "stacks = \"equal\"\n[topology]\nkind = \"star\"\nhosts = 3\n{transport}\n[[traffic]]\nkind = \"incast\"\n"
        )
    };
    let written = |transport: &str| parse(&text(transport)).to_toml();
    let has = |transport: &str, lines: &[&str]| {
        let found = written(transport);
        for line in lines {
            assert!(found.contains(line), "{transport}: no {line:?} in\n{found}");
        }
    };
    has("[transport]\nname = \"dctcp\"", &["stacks = \"equal\"", "handshake = true", "initial_window = 2"]);
    has("[transport]\nname = \"expresspass\"", &["handshake = \"syn\""]);
    // What the file sets stays, and so does a profile; a transport without these parameters has none to set.
    has("[transport]\nname = \"dctcp\"\ninitial_window = 7", &["handshake = true", "initial_window = 7"]);
    has("[transport]\nname = \"rocev2\"", &["name = \"rocev2\""]);
    let own = parse(
        "[topology]\nkind = \"star\"\nhosts = 3\n[transport]\nname = \"dctcp\"\n[[traffic]]\nkind = \"incast\"\n",
    );
    assert!(own.to_toml().contains("initial_window = 10"));
    // The resolved scenario says both, and reads back to itself.
    let once = written("[transport]\nname = \"dctcp\"");
    assert_eq!(parse(&once).to_toml(), once);
    let overridden = parse_with(
        "[topology]\nkind = \"star\"\nhosts = 3\n[transport]\nname = \"expresspass\"\n[[traffic]]\nkind = \"incast\"\n",
        &Overrides { transport: Some("newreno".into()), ..set(&[("stacks", "equal")]) },
    );
    assert!(overridden.unwrap().to_toml().contains("initial_window = 2"));
    assert!(
        refused("stacks = \"same\"\n[topology]\nkind = \"star\"\nhosts = 3").contains("\"own\" or \"equal\"")
    );
}

#[test]
fn flows_of_a_list_are_messages_of_the_connection_that_they_name() {
    let text = |list: &str| {
        format!(
            "[topology]\nkind = \"star\"\nhosts = 4\n[transport]\nname = \"dctcp\"\n\
             [[traffic]]\nkind = \"flows\"\nlist = [\n{list}\n]\n"
        )
    };
    let message = |rest: &str| format!("{{ src = 0, dst = 1, {rest} }},\n");
    let two = message("size = \"1 KB\", start = \"5 us\", connection = \"a\"");
    let scenario = parse(&text(
        &(two.clone() + &message("size = \"2 KB\"") + &message("size = \"3 KB\", connection = \"a\"")),
    ));
    let Pattern::Messages(messages) = &scenario.model.traffic[0].pattern else {
        panic!("a connection is named")
    };
    let sizes: Vec<u64> = messages.list().iter().map(|flow| flow.size.unwrap().get()).collect();
    assert_eq!((sizes, messages.connections()), (vec![2_000, 3_000, 1_000], &[1, 2][..]));
    check_reads_back(&scenario);
    let refused = |second: &str| refused(&text(&(two.clone() + second)));
    let back = "{ src = 1, dst = 0, size = \"1 KB\", connection = \"a\" }";
    assert_eq!(
        refused(back),
        "x.toml:10: traffic.0.list.1.connection = \"a\": a flow from h1 to h0 can't be a message of \"a\", which goes from h0 to \
         h1; name another connection"
    );
    assert!(
        refused(&message("connection = \"b\""))
            .contains("list.1.size: is missing; in a list with connections")
    );
    let stopped = refused(&message("size = \"1 KB\", stop = \"1 ms\""));
    assert!(
        stopped.contains("list.1.stop = \"1 ms\": means nothing in a list with connections"),
        "{stopped}"
    );
}

#[test]
fn flows_of_a_list_wait_for_others_that_they_name() {
    let text = |list: &str| {
        format!(
            "[topology]\nkind = \"star\"\nhosts = 4\n[transport]\nname = \"dctcp\"\n\
             [[traffic]]\nkind = \"flows\"\nlist = [\n{list}\n]\n"
        )
    };
    let flow = |rest: &str| format!("{{ src = 0, dst = 1, size = \"1 KB\", {rest} }},\n");
    let scenario = parse(&text(
        &(flow("after = [\"b\", \"c\"], pause = \"3 us\"")
            + &flow("name = \"b\", start = \"5 us\"")
            + &flow("name = \"c\", after = [\"b\"], done = \"acknowledged\"")),
    ));
    let Pattern::Messages(messages) = &scenario.model.traffic[0].pattern else {
        panic!("one waits for others")
    };
    let triggers = messages.triggers();
    let waits: Vec<(u32, u64)> =
        triggers.waits().iter().map(|wait| (wait.message, wait.pause.as_ps() / 1_000_000)).collect();
    // The flow that has a start stands first.
    assert_eq!((messages.timed().len(), waits), (1, vec![(1, 3), (2, 0)]));
    assert_eq!(triggers.pulled_by(0, Done::Delivered).collect::<Vec<_>>(), [0]);
    assert_eq!(triggers.pulled_by(0, Done::Acknowledged).collect::<Vec<_>>(), [1]);
    assert_eq!(triggers.pulled_by(2, Done::Delivered).collect::<Vec<_>>(), [0]);
    check_reads_back(&scenario);
    let refused = |list: &str| refused(&text(list));
    let circle = flow("name = \"a\", after = [\"b\"]")
        + &flow("name = \"b\", after = [\"c\"]")
        + &flow("name = \"c\", after = [\"b\"]");
    assert_eq!(
        refused(&circle),
        "x.toml:9: traffic.0.list.a.after = [\"b\"]: the flow would never begin, since flows wait for each other in a circle (b \
         waits for c waits for b); let one of them start by itself"
    );
    let named = flow("name = \"first\"");
    for (second, problem) in [
        (
            flow("after = [\"frist\"]"),
            "\"frist\" is no name of a flow of the list; did you mean \"first\"? (known: first)",
        ),
        (flow("after = [\"first\", \"first\"]"), "\"first\" stands there twice; remove one"),
        (flow("after = []"), "list.1.after = []: is empty; name a flow, or remove the key"),
        (flow("name = \"first\""), "name = \"first\": is the name of flow 0 of the list too"),
        (flow("pause = \"1 us\""), "list.1.pause = \"1 us\": means nothing without after"),
        (flow("done = \"delivered\""), "list.1.done = \"delivered\": means nothing without after"),
        (
            flow("after = [\"first\"], start = \"1 us\""),
            "list.1.start = \"1 us\": means nothing beside after",
        ),
        (flow("after = [\"first\"], done = \"later\""), "write \"delivered\" or \"acknowledged\""),
        (
            flow("after = [\"first\"], stop = \"1 ms\""),
            "list.1.stop = \"1 ms\": means nothing in a list in which flows wait",
        ),
        (
            "{ src = 0, dst = 1, after = [\"first\"] },".to_owned(),
            "list.1.size: is missing; in a list in which flows wait for others every flow is a message",
        ),
    ] {
        let refusal = refused(&(named.clone() + &second));
        assert!(refusal.contains(problem), "{refusal}");
    }
}

#[test]
fn flows_wait_for_no_acknowledgement_under_a_transport_that_has_none() {
    let text = |done: &str| {
        format!(
            "[topology]\nkind = \"star\"\nhosts = 4\n[transport]\nname = \"blast\"\n[[traffic]]\nkind = \"flows\"\nlist = [\n\
             {{ name = \"a\", src = 0, dst = 1, size = \"1 KB\" }},\n\
             {{ after = [\"a\"], done = \"{done}\", src = 1, dst = 2, size = \"1 KB\" }},\n]\n"
        )
    };
    parse(&text("delivered"));
    let refused = refused(&text("acknowledged"));
    assert!(refused.contains("traffic.0.transport: blast acknowledges nothing"), "{refused}");
}

#[test]
fn a_list_in_which_flows_wait_runs_on_one_thread_and_says_why() {
    let scenario = parse(
        "[topology]\nkind = \"star\"\nhosts = 4\n[transport]\nname = \"dctcp\"\n[[traffic]]\nkind = \"flows\"\nlist = [\n\
         { name = \"a\", src = 0, dst = 1, size = \"1 KB\" },\n{ after = [\"a\"], src = 1, dst = 2, size = \"1 KB\" },\n]\n",
    );
    let reason = Partition::refusal(&scenario.model);
    assert_eq!(reason, Some("flows begin in the instant in which those end for which they wait"));
}

#[test]
fn pauses_that_lead_beyond_the_latest_start_are_refused_without_a_stop() {
    let text = |stop: &str, traffic: &str| {
        format!(
            "{stop}[topology]\nkind = \"star\"\nhosts = 4\n[transport]\nname = \"dctcp\"\n[[traffic]]\n{traffic}"
        )
    };
    let rounds = |rounds: u32| {
        format!("kind = \"incast\"\nsenders = 2\nstart = \"1 s\"\npause = \"1000 s\"\nrounds = {rounds}\n")
    };
    parse(&text("", &rounds(100)));
    assert!(
        refused(&text("", &rounds(101))).contains("pause = \"1000 s\": the last round starts after 100000 s")
    );
    parse(&text("stop = \"5 s\"\n", &rounds(101)));
    let chain = |flows: u32| {
        let flow = |number: u32| {
            let after = match number {
                0 => String::new(),
                _ => format!(", after = [\"f{}\"], pause = \"1000 s\"", number - 1),
            };
            format!("{{ name = \"f{number}\", src = 0, dst = 1, size = \"1 KB\"{after} }}")
        };
        let list: Vec<String> = (0..flows).map(flow).collect();
        format!("kind = \"flows\"\nlist = [{}]\n", list.join(", "))
    };
    parse(&text("", &chain(101)));
    let long = refused(&text("", &chain(102)));
    assert!(long.contains("pauses of flows that wait for each other add up to more than 100000 s"), "{long}");
    parse(&text("stop = \"5 s\"\n", &chain(102)));
}
