//! Tests of wrong scenarios, which are refused in one line that says what would be right.

use super::*;

#[test]
fn truncation_that_leaves_no_time_for_a_frame_is_refused_with_the_fastest_rate_that_would_do() {
    let scenario = |rate: &str, network: &str, transport: &str| {
        let keys = format!("[network]\nwhole_ns = true\n{network}\n[switch]");
        let text = VALID
            .replace("10 Gbps", rate)
            .replace("[switch]", &keys)
            .replace("alpha = 0.5\n", "")
            .replace("buffer = \"100 KB\"\n", "");
        let read = parse_with(&text.replace("expresspass", transport), &Overrides::default());
        read.map(|_| ()).map_err(|error| error.to_string())
    };
    // Random credits have 76 B or more, so 608 bits; 1 ns at 608 Gbps is truncated to 0 as in HPCC's code.
    assert_eq!(
        scenario("608 Gbps", "", "expresspass").unwrap_err(),
        "x.toml:10: network.whole_ns = true: leaves no time for the smallest frame, 76 B (data, credits, ACKs, CNPs and \
         pause frames count), which takes 1 ns at the 608 Gbps of h0->s0; write links below 608 Gbps, or leave the key out"
    );
    assert_eq!(scenario("607 Gbps", "", "expresspass"), Ok(()));
    // All frames of TCP have 84 B or more, and with ns-2's framing 40 B.
    assert_eq!(scenario("671 Gbps", "", "dctcp"), Ok(()));
    assert!(scenario("672 Gbps", "", "dctcp").unwrap_err().contains("84 B"));
    assert_eq!(scenario("319 Gbps", "framing = \"ns-2\"", "dctcp"), Ok(()));
    assert!(scenario("320 Gbps", "framing = \"ns-2\"", "dctcp").unwrap_err().contains("40 B"));
    // A pause frame has 84 B, however large other frames are.
    let large = "wire_min = \"100 B\"";
    assert_eq!(scenario("700 Gbps", large, "dctcp"), Ok(()));
    let paused = scenario("700 Gbps", large, "rocev2").unwrap_err();
    assert!(paused.contains("84 B"), "{paused}");
}

#[test]
fn a_window_without_length_or_outside_the_run_is_refused() {
    let window = |keys: &str| {
        let read = parse_with(&format!("{VALID}\n[measure]\n{keys}"), &Overrides::default());
        read.map(|scenario| scenario.model.measure).map_err(|error| error.to_string())
    };
    let refused = |keys: &str| window(keys).unwrap_err();
    assert_eq!(
        refused("from = \"2 ms\"\nuntil = \"2 ms\""),
        "x.toml:30: measure.until = \"2 ms\": must be after the start of the window, 2 ms"
    );
    assert_eq!(
        refused("from = \"10 ms\""),
        "x.toml:29: measure.from = \"10 ms\": must be before the end of the run, stop = \"10 ms\""
    );
    assert_eq!(
        refused("until = \"11 ms\""),
        "x.toml:29: measure.until = \"11 ms\": must not be after the end of the run, stop = \"10 ms\""
    );
    assert!(refused("form = \"1 ms\"").contains("did you mean \"from\""));
    let ms = |ms| Some(Time::ZERO + Span::from_ms(ms));
    let read = window("from = \"1 ms\"\nuntil = \"9 ms\"").unwrap();
    assert_eq!((read.from, read.until), (ms(1), ms(9)));
    let written = parse(&format!("{VALID}\n[measure]\nfrom = \"1 ms\"")).to_toml();
    assert!(written.contains("[measure]\nfrom = \"1 ms\"\n"), "{written}");
    assert_eq!(parse(&written).model.measure.from, ms(1));
    assert_eq!(window("").unwrap(), crate::model::Measure::default());
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
            "x.toml:9: swich: unknown key; did you mean \"switch\"? (known: name, seed, stop, stacks, topology, link, \
             network, switch, host, transport, traffic, fault, loss, measure, sample, trace)",
        ),
        (
            refused_with("100 KB", "10 Gbps"),
            "x.toml:10: switch.buffer = \"10 Gbps\": has an unknown unit; write a size such as \"384.5 KB\", \
             \"250 packets\", \"250 slots\", \"1.5 BDP\" or \"unlimited\", or \"auto\"",
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
        (
            refused_with("load = 0.4", "load = 0.4\nload_of = \"uplinks\""),
            "x.toml:21: traffic.web.load_of = \"uplinks\": is about links between ToR switches and other switches, and \
             this traffic crosses none; write \"hosts\" or \"bottleneck\"",
        ),
        (
            refused_with("load = 0.4", "load = 0.4\nload_of = \"tor\""),
            "x.toml:21: traffic.web.load_of = \"tor\": write \"bottleneck\" or \"uplinks\" or \"hosts\" or \"ns2\"",
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
            "x.toml:26: traffic.burst.receiver = \"h9\": there is no host \"h9\" (hosts: h0..h4)",
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
            "x.toml:6: topology.hosts = 99999999999999999999999999999999999999999999: write a whole number from 1 to \
             60000",
        ),
        (
            refused_with("flows = 10", "flows = 1_000_000_000_000_000_000"),
            "x.toml:21: traffic.web.flows = 1000000000000000000: must be from 1 to 100000000",
        ),
        (
            refused_with("name = \"burst\"", "name = \"web\""),
            "x.toml:24: traffic.web.name = \"web\": is taken by an earlier traffic entry; write another name",
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
            refused_with("stop = \"10 ms\"", "[[fault]]\ndown = \"1 ms\""),
            "x.toml:2: fault.0.link: is missing; write the two ends of a link, or a switch",
        ),
        (
            refused_with("stop = \"10 ms\"", "[[fault]]\nswitch = \"h0\"\ndown = \"1 ms\""),
            "x.toml:3: fault.0.switch = \"h0\": h0 is a host; write link = [\"h0\", its switch]",
        ),
        (
            refused_with(
                "stop = \"10 ms\"",
                "[[fault]]\nlink = [\"h0\", \"s0\"]\nswitch = \"s0\"\ndown = \"1 ms\"",
            ),
            "x.toml:4: fault.0.switch = \"s0\": stands beside link; write either a link or a switch that fails",
        ),
        (
            refused_with(
                "stop = \"10 ms\"",
                "[[fault]]\nswitch = \"s0\"\ndown = \"1 ms\"\nnoticed = \"61 s\"",
            ),
            "x.toml:5: fault.0.noticed = \"61 s\": must be from 0 s to 60 s",
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
        (
            refused_set("traffic.brust.size", "1 MB"),
            "--set traffic.brust.size = \"1 MB\": there is no traffic \"brust\"; did you mean \"burst\"?; it has 2 parts",
        ),
        (
            refused_set("transport", "DCTCP"),
            "--set transport = \"DCTCP\": is no transport; did you mean \"dctcp\"?",
        ),
        (
            refused_set("traffic.web.workload", "WebSearch"),
            "--set traffic.web.workload = \"WebSearch\": is no workload",
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
        problem.contains(
            "hull and rcp need different things of the ports of switches, phantom queue and RCP rate"
        ),
        "{problem}"
    );
}

#[test]
fn traffic_without_a_name_is_set_by_the_name_that_the_results_give_it() {
    let part = |name: &str| format!("[[traffic]]\n{name}kind = \"incast\"\nsenders = 2\n");
    let parts = [part(""), part(""), part("name = \"incast-2\"\n")].concat();
    let text = format!("transport = \"dctcp\"\n[topology]\nkind = \"star\"\nhosts = 4\n{parts}");
    let names = ["incast", "incast-3", "incast-2"];
    for (index, name) in names.into_iter().enumerate() {
        for step in [name.to_owned(), index.to_string()] {
            let key = format!("traffic.{step}.size");
            let scenario = parse_with(&text, &set(&[(&key, "7 KB")])).unwrap();
            let given: Vec<&str> = scenario.model.traffic.iter().map(|part| part.name.as_str()).collect();
            assert_eq!(given, names);
            let sizes: Vec<bool> = scenario
                .to_toml()
                .lines()
                .filter(|line| line.starts_with("size ="))
                .map(|line| line.contains('7'))
                .collect();
            let expected: Vec<bool> = (0..3).map(|other| other == index).collect();
            assert_eq!(sizes, expected, "{key}");
        }
    }
    let sample = format!("{text}[[sample]]\nwhat = \"queue\"\n");
    assert!(parse_with(&sample, &set(&[("sample.queue.every", "3 us")])).unwrap().to_toml().contains("3 us"));
    let error = parse_with(&text, &set(&[("traffic.incasts.size", "7 KB")])).unwrap_err().to_string();
    assert!(error.contains("did you mean \"incast\"?"), "{error}");
}

#[test]
fn a_series_that_nothing_in_the_scenario_has_is_refused() {
    let sample = |transport: &str, sample: &str| {
        let text = format!("{VALID}\n[[sample]]\n{sample}").replace("expresspass", transport);
        let read = parse_with(&text.replace("alpha = 0.5\n", ""), &Overrides::default());
        read.map(|_| ()).map_err(|error| error.to_string())
    };
    let credit_rate = "what = \"credit-rate\"\ntraffic = \"web\"";
    assert_eq!(sample("expresspass", credit_rate), Ok(()));
    assert_eq!(
        sample("dctcp", credit_rate).unwrap_err(),
        "x.toml:28: sample.0.what = \"credit-rate\": there are no credits, since dctcp uses none"
    );
    assert!(sample("dctcp", "what = \"credit-drops\"").unwrap_err().contains("there are no credits"));
    assert_eq!(
        sample("dctcp", "what = \"pauses\"").unwrap_err(),
        "x.toml:28: sample.0.what = \"pauses\": there are no pauses, since the scenario has no flow control; set \
         switch.pfc = true"
    );
    let notices = "what = \"notices\"\ntraffic = \"web\"";
    assert!(sample("cubic", notices).unwrap_err().ends_with("of congestion, since cubic counts none"));
    assert!(sample("dctcp", "what = \"drops\"\ntraffic = \"web\"").unwrap_err().contains("means nothing"));
    assert!(sample("dctcp", "what = \"losses\"\nports = \"all\"").unwrap_err().contains("means nothing"));
    assert_eq!(sample("dctcp", "what = \"marks\"\nports = \"all\""), Ok(()));
}
