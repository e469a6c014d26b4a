//! Ports, links and classes.

use super::*;

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
fn a_buffer_in_packets_holds_the_bytes_of_full_frames_and_one_in_slots_counts_packets_of_any_size() {
    let limits = |buffer: &str, transport: &str| {
        let text = VALID.replace("buffer = \"100 KB\"", &format!("buffer = \"{buffer}\""))
            + &format!("[host]\nbuffer = \"{buffer}\"\n");
        let overrides = Overrides { transport: Some(transport.into()), ..Overrides::default() };
        let scenario = parse_with(&text, &overrides).unwrap();
        check_reads_back(&scenario);
        let (switch, host) =
            (scenario.model.switch.classes[0].limit, scenario.model.host.port.classes[0].limit);
        assert_eq!(switch, host);
        switch
    };
    let bytes = |bytes| Amount { bytes: Bytes::new(bytes), ..Amount::UNLIMITED };
    assert_eq!(limits("250 packets", "dctcp"), bytes(250 * 1538));
    assert_eq!(limits("1 packet", "dctcp"), bytes(1538));
    assert_eq!(limits("250 packets", "hpcc"), bytes(250 * (1538 + 42)), "telemetry is part of a full frame");
    assert_eq!(limits("250 slots", "dctcp"), Amount { packets: 250, ..Amount::UNLIMITED });
}

#[test]
fn the_framing_of_ns_2_has_packets_of_1500_bytes_and_acknowledgements_of_40() {
    let framing = |lines: &str| {
        let scenario = parse(&VALID.replace("[switch]", &format!("[network]\n{lines}\n[switch]")));
        check_reads_back(&scenario);
        let framing = scenario.model.framing;
        (framing.wire_max(), framing.wire(0))
    };
    assert_eq!(framing(""), (1538, 84));
    assert_eq!(framing("framing = \"ns-2\""), (1500, 40));
    assert_eq!(framing("framing = \"ns-2\"\noverhead = \"54 B\"\nwire_min = \"64 B\""), (1514, 64));
    assert_eq!(framing("overhead = \"0 B\"\nwire_min = \"64 B\""), (1460, 64), "the payload is the frame");
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
    assert_eq!(
        (classes.len(), asked.model.unscheduled_class(), classes[1].name.as_str()),
        (2, 1, "low-priority")
    );
    assert_eq!((classes[1].priority, classes[1].limit.packets), (1, 32));
    assert_eq!(asked.model.host.port.classes[1].priority, 1);
    assert!(asked.model.traffic.iter().all(|part| part.class == 0));
    check_reads_back(&asked);

    let with = |class: &str| {
        let class = format!("[[switch.class]]\nname = \"data\"\npriority = 3\n{class}\n[transport]");
        VALID.replace("alpha = 0.5", "low_priority = 1").replace("[transport]", &class)
    };
    let own = parse(&with("[[switch.class]]\nname = \"low-priority\"\npriority = 4\nbuffer = \"5 KB\""));
    assert_eq!(own.model.switch.classes[own.model.unscheduled_class()].limit.bytes, Bytes::new(5_000));
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
    let faults: Vec<_> =
        scenario.model.faults.iter().map(|fault| (fault.port, fault.is_up() == Some(true))).collect();
    let both = [port("h1->s0"), port("s0->h1")];
    assert_eq!(faults.len(), 5);
    assert!(both.iter().all(|port| faults.contains(&(*port, true)) && faults.contains(&(*port, false))));
    assert_eq!(faults[4], (port("h2->s0"), false));
    assert_eq!(scenario.model.loss.len(), 8, "all but both directions of one link");
    check_reads_back(&scenario);
}

#[test]
fn ports_do_what_the_transport_asks_for_and_the_scenario_may_change_it() {
    let text = VALID.replace("name = \"expresspass\"\nalpha = 0.5", "name = \"hull\"\ndrain = 0.9");
    let phantom = |scenario: &Scenario| match &scenario.model.switch.mechanism {
        Some(AnyMechanismConfig::Hull(config)) => *config,
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
    let Some(AnyMechanismConfig::Rcp(rcp)) = parse(&text).model.switch.mechanism else { panic!("a rate") };
    assert_eq!((rcp.alpha, rcp.beta, rcp.gamma), (0.4, 0.4, 1.0));
    // Another transport for everything drops the keys that only the old one understands.
    let replaced = Overrides { transport: Some("hull".into()), ..Overrides::default() };
    assert_eq!(phantom(&parse_with(&text, &replaced).unwrap()).drain, 0.95);
}

#[test]
fn acknowledgements_get_a_class_ahead_of_data_where_their_transport_asks_for_one() {
    let text = |settings: &str| {
        format!(
            "[topology]\nkind = \"star\"\n[transport]\nname = \"dcqcn\"\n{settings}\n[[traffic]]\nkind = \"incast\"\n"
        )
    };
    let classes = |scenario: &Scenario| -> Vec<(String, u8, Option<usize>)> {
        let classes = scenario.model.switch.classes.iter();
        classes.map(|class| (class.name.clone(), class.priority, class.at_switches)).collect()
    };
    let parsed = |settings: &str| {
        let scenario = parse(&text(settings));
        check_reads_back(&scenario);
        scenario
    };
    let named = |name: &str, priority, joins| (name.to_owned(), priority, joins);
    let with_data = parsed("");
    assert_eq!(classes(&with_data), [named("data", 1, None), named("notices", 0, None)]);
    assert_eq!(with_data.model.traffic[0].ack_class, 0);
    // Protected by flow control as data is, so with a headroom and a reserve of its own.
    let own = parsed("acks = \"own-class\"");
    let expected = [named("data", 2, None), named("notices", 0, None), named("acks", 1, None)];
    assert_eq!(classes(&own), expected);
    assert_eq!(own.model.pfc.as_ref().unwrap().lossless, [true, false, true]);
    assert_eq!((own.model.traffic[0].ack_class, own.model.traffic[0].notice_class), (2, 1));
    // At switches it does not exist, and takes no memory there.
    let at_hosts = parsed("profile = \"hpcc-ns3\"");
    assert_eq!(classes(&at_hosts), [named("data", 1, None), named("acks-of-hosts", 0, Some(0))]);
    assert_eq!(at_hosts.model.pfc.as_ref().unwrap().lossless, [true, false]);
    assert_eq!(at_hosts.model.traffic[0].ack_class, 1);
}

#[test]
fn a_scenario_with_classes_of_its_own_says_which_one_holds_acknowledgements() {
    let text = "[topology]\nkind = \"star\"\n[transport]\nname = \"rocev2\"\nacks = \"own-class\"\n\
                [[switch.class]]\nname = \"bulk\"\npriority = 1\n[[switch.class]]\nname = \"fast\"\n\
                [[traffic]]\nkind = \"incast\"\nclass = \"bulk\"\n";
    assert_eq!(
        refused(text),
        "x.toml:11: traffic.0.ack_class: is missing, since rocev2 has acks = \"own-class\" and the scenario has classes of \
         its own; name the class of [[switch.class]] that holds its acknowledgements"
    );
    let told = parse(&format!("{text}ack_class = \"fast\"\n"));
    assert_eq!((told.model.traffic[0].class, told.model.traffic[0].ack_class), (0, 1));
    check_reads_back(&told);
    let same = parse(&format!("{text}ack_class = \"bulk\"\n"));
    check_reads_back(&same);
    let joins = |name: &str| {
        let class = format!("name = \"fast\"\nat_switches = \"{name}\"");
        refused(
            &format!("{text}ack_class = \"fast\"\n")
                .replace("name = \"fast\"\n[[t", &format!("{class}\n[[t")),
        )
    };
    let error = joins("slow");
    assert!(error.contains("is no class of [[switch.class]] (known: bulk, fast)"), "{error}");
    let error = joins("fast");
    assert!(error.contains("is itself a class of hosts alone; name one that switches have"), "{error}");
}

#[test]
fn the_reference_names_the_defaults_of_flow_control_and_of_random_marking() {
    use crate::scenario::resolve::STORM;
    use crate::scenario::schema::Switch;
    use clearway_proto::port::RedConfig;
    use clearway_proto::port::pfc::PfcConfig;
    use clearway_schema::Declared;
    let (pfc, red) = (PfcConfig::DEFAULT, RedConfig::DEFAULT);
    let said = [
        ("pfc_alpha", format!("Without it, {}.", pfc.alpha)),
        ("pfc_reserve", format!("Without it, {} B.", pfc.reserve.get())),
        ("pfc_resume_offset", format!("Without it, {} B.", pfc.resume_offset.get())),
        ("pfc_response", format!("Without it, {} s.", pfc.response.as_secs_f64())),
        ("pfc_storm", format!("Without it, {} ms.", STORM.as_secs_f64() * 1e3)),
        ("red_kmin", format!("else {} KB.", red.k_min.get() / 1000)),
        ("red_kmax", format!("else {} KB.", red.k_max.get() / 1000)),
        ("red_pmax", format!("else {}.", red.p_max)),
        ("red_rate", format!("else {} Gbps.", red.at_rate.as_bps() / 1_000_000_000)),
    ];
    for (key, default) in said {
        let spec = Switch::SPECS.iter().find(|spec| spec.name == key).expect("a key of [switch]");
        assert!(spec.doc.contains(&default), "{key} should say {default:?}: {}", spec.doc);
    }
}

#[test]
fn whatever_parameters_at_the_ends_of_their_ranges_ask_of_ports_reads_back() {
    let mut read = 0;
    for info in clearway_proto::TRANSPORTS {
        for (spec, end) in info.params.iter().flat_map(|spec| [(spec, spec.min), (spec, spec.max)]) {
            let text = format!(
                "stop = \"1 ms\"\n[topology]\nkind = \"star\"\n[transport]\nname = \"{}\"\n{} = \"{end}\"\n\
                 [[traffic]]\nkind = \"permutation\"\n",
                info.name, spec.name
            );
            // Some ends contradict other defaults, such as a bucket below the largest credit.
            if let Ok(scenario) = parse_with(&text, &Overrides::default()) {
                check_reads_back(&scenario);
                read += 1;
            }
        }
    }
    assert!(read > 300, "{read} scenarios were read");
}

#[test]
fn the_memory_that_flow_control_takes_on_long_fast_links_reads_back() {
    let links = "rate = \"1.6 Tbps\"\ndelay = \"1 s\"\n";
    let traffic = "[[traffic]]\nkind = \"permutation\"\nsize = \"1 KB\"\n";
    let topology = format!("[topology]\nkind = \"star\"\nhosts = 40\n{links}");
    let scenario = parse(&format!("{topology}[transport]\nname = \"rocev2\"\n{traffic}"));
    let shared = scenario.model.switch.shared.expect("flow control shares memory").size;
    assert!(shared > Bytes::new(30_000_000_000_000), "headrooms of 40 links of 400 GB each: {shared}");
    check_reads_back(&scenario);
}
