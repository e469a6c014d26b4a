//! Trimming, limits and marks in units of the bandwidth-delay product, and routing by entropy.

use super::*;
use crate::model::{LastHop, Probe, Trim};
use clearway_proto::port::{MarkAt, TrimConfig, TrimVictim};
use clearway_topology::Policy;

/// An incast in a star under a transport that asks for trimming, with these lines in `[switch]`, from line 10 on.
fn with(keys: &str) -> String {
    let text = VALID.replace("buffer = \"100 KB\"", keys);
    let text = text.replace("name = \"expresspass\"\nalpha = 0.5", "name = \"ndp-trial\"\ncuts = \"queues\"");
    let (web, burst) = (text.find("[[traffic]]").unwrap(), text.rfind("[[traffic]]").unwrap());
    text[..web].to_owned() + &text[burst..]
}

/// The same under DCTCP, which knows no headers.
fn without(keys: &str) -> String {
    with(keys).replace("name = \"ndp-trial\"\ncuts = \"queues\"", "name = \"dctcp\"")
}

/// The bytes of full frames as a limit.
fn frames(count: u64) -> Amount {
    Amount { bytes: Bytes::new(count * 1538), ..Amount::UNLIMITED }
}

#[test]
fn a_transport_that_asks_for_trimming_gets_queues_of_one_bdp_and_twice_as_much_for_headers() {
    let scenario = parse(&with(""));
    check_reads_back(&scenario);
    let [data, acks] = &scenario.model.switch.classes[..] else { panic!("there are two classes") };
    // A round trip takes 4 times 4 us and twice 1.2304 and 0.0672 us: 15.1 frames at 10 Gbps.
    assert_eq!((data.limit, acks.limit), (frames(16), frames(32)));
    let config = TrimConfig { to: 84, victim: TrimVictim::Coin, returns: true, drops: false };
    assert_eq!((data.trim, acks.trim), (Some(Trim { config, headers: 1 }), None));
    assert_eq!((data.last_hop, data.priority, acks.priority), (None, 1, 0));
    assert!(scenario.model.host.port.classes.iter().all(|class| class.trim.is_none()));
    // Without trimming such a transport has five BDPs, and others have what they had.
    let dropping = parse(&with("trim = false"));
    check_reads_back(&dropping);
    assert_eq!(
        (dropping.model.switch.classes[0].trim, dropping.model.switch.classes[0].limit),
        (None, frames(80))
    );
    assert_eq!(parse(&without("")).model.switch.classes[0].limit.bytes, Bytes::new(384_500));
}

#[test]
fn a_network_whose_transport_asks_for_trimming_reads_back_where_queues_have_no_limit() {
    let scenario = parse(&with("buffer = \"unlimited\""));
    check_reads_back(&scenario);
    let class = &scenario.model.switch.classes[0];
    assert_eq!((class.trim.is_some(), class.limit), (true, Amount::UNLIMITED), "no packet is without room");
}

#[test]
fn the_keys_of_trimming_set_its_rule() {
    let keys = "trim = true\ntrim_to = \"128 B\"\ntrim_victim = \"arriving\"\ntrim_headers = 1\ntrim_last_hop = 1.5\n\
                trim_return = false\nbuffer = \"2 BDP\"";
    let scenario = parse(&with(keys));
    check_reads_back(&scenario);
    let [data, acks] = &scenario.model.switch.classes[..] else { panic!("there are two classes") };
    let config = TrimConfig { to: 128, victim: TrimVictim::Arriving, returns: false, drops: false };
    assert_eq!(
        (data.trim, data.limit, acks.limit),
        (Some(Trim { config, headers: 1 }), frames(32), frames(32))
    );
    assert_eq!(data.last_hop, Some(LastHop { limit: frames(48), marks: true }));
    assert_eq!((data.at_last_hop().limit, acks.last_hop), (frames(48), None));
    let limit = |buffer: &str| parse(&with(&format!("buffer = \"{buffer}\""))).model.switch.classes[1].limit;
    assert_eq!(
        [limit("9 packets"), limit("100 KB").times(0.5)],
        [frames(18), Amount { bytes: Bytes::new(100_000), ..Amount::UNLIMITED }]
    );
    assert_eq!(limit("9 slots").packets, 18);
}

#[test]
fn a_class_of_its_own_trims_where_its_traffic_asks_for_it_and_others_do_not() {
    let classes = "[[switch.class]]\nname = \"short\"\npriority = 1\n[[switch.class]]\nname = \"first\"\n\
                   [[switch.class]]\nname = \"web\"\npriority = 1\n[transport]";
    let other = "senders = 4\nclass = \"short\"\nack_class = \"first\"\n[[traffic]]\nkind = \"permutation\"\nsize = \"1 MB\"\n\
                 transport = \"dctcp\"\nclass = \"web\"";
    let text = with("").replace("[transport]", classes).replace("senders = 4", other);
    let scenario = parse(&text);
    check_reads_back(&scenario);
    let classes = &scenario.model.switch.classes;
    let trims: Vec<_> = classes.iter().map(|class| class.trim.map(|trim| trim.headers)).collect();
    assert_eq!(trims, [Some(1), None, None]);
    assert_eq!([0, 1].map(|class| classes[class].limit), [frames(16), frames(32)]);
    assert_eq!(classes[2].limit.bytes, Bytes::new(384_500));
    let changed = |old: &str, new: &str| {
        assert!(text.contains(old), "{old}");
        refused(&text.replacen(old, new, 1))
    };
    assert_eq!(
        changed("ack_class = \"first\"", "ack_class = \"short\""),
        "x.toml:9: switch.trim: needs another class for headers than \"short\"; name one as the ack_class of traffic \
         burst under ndp-trial, of a lower priority number, or as the class's trim_class"
    );
    assert_eq!(
        changed("class = \"web\"", "class = \"short\""),
        "x.toml:9: switch.trim: can't be in the class \"short\" beside traffic burst under ndp-trial: traffic permutation under \
         dctcp knows no packets that were cut to their headers; give it a class of [[switch.class]] of its own, or write \
         trim = false"
    );
    assert!(changed("name = \"first\"", "name = \"first\"\ntrim = true").ends_with(
        "trim = true: can't be in the class \"first\", which holds the headers of others; remove it"
    ));
    assert!(
        changed("name = \"web\"", "name = \"web\"\ntrim = true")
            .contains("traffic permutation under dctcp knows no packets")
    );
    // A limit of its own stands in the place of the multiple.
    let own = text.replacen("name = \"first\"", "name = \"first\"\nbuffer = \"50 packets\"", 1);
    let scenario = parse(&own);
    check_reads_back(&scenario);
    assert_eq!(scenario.model.switch.classes[1].limit, frames(50));
    assert_eq!(
        refused(&own.replacen("[switch]", "[switch]\ntrim_headers = 3", 1)),
        "x.toml:10: switch.trim_headers = 3: contradicts the buffer of the class of headers, \"first\"; remove one of the two"
    );
}

#[test]
fn bad_keys_of_trimming_are_refused_in_a_line_that_says_what_would_be_right() {
    let cases = [
        (
            with("trim_to = \"60 B\""),
            "x.toml:10: switch.trim_to = \"60 B\": is no size of a header: it must be at least the smallest frame, \
             network.wire_min = 84 B, and at most a full frame, 1.538 KB",
        ),
        (
            without("trim = true"),
            "x.toml:10: switch.trim = true: can't be in the class \"data\": traffic burst under dctcp knows no packets that were \
             cut to their headers; give it a class of [[switch.class]] of its own, or write trim = false",
        ),
        (
            without("trim_victim = \"coin\""),
            "x.toml:10: switch.trim_victim = \"coin\": means nothing, since no class trims; set trim = true, or remove it",
        ),
        (
            with("trim_victim = \"newest\""),
            "x.toml:10: switch.trim_victim = \"newest\": write \"coin\" or \"arriving\"",
        ),
        (
            with("trim = true\nbuffer = \"unlimited\""),
            "x.toml:10: switch.trim = true: never trims in the class \"data\", whose queue has no limit; write a buffer for it",
        ),
        (
            with("trim = true\npfc = true"),
            "x.toml:10: switch.trim = true: can't be in the class \"data\", which flow control keeps from being full; write \
             lossless = false for the class",
        ),
        (
            with("marking = \"bdp\"\nbdp_min = 0.9"),
            "x.toml:11: switch.bdp_min = 0.9: is above bdp_max, 0.8; marks begin at bdp_min, so write less here or more there",
        ),
        (
            with("marking = \"bdp\"\nbdp_max = 0.1"),
            "x.toml:11: switch.bdp_max = 0.1: is below bdp_min, which is 0.2 unless set; write more, or set bdp_min too",
        ),
        (
            with("bdp_min = 0.1"),
            "x.toml:10: switch.bdp_min = 0.1: means nothing, since no class marks by \"bdp\"; remove it, or set marking = \"bdp\"",
        ),
        (
            with("marking_last_hop = false"),
            "x.toml:10: switch.marking_last_hop = false: means nothing, since no class marks; remove it, or set marking",
        ),
        (
            with("buffer = \"-1 BDP\""),
            "x.toml:10: switch.buffer = \"-1 BDP\": is no number of BDP; write a size such as \"384.5 KB\", \"250 packets\", \
             \"250 slots\", \"1.5 BDP\" or \"unlimited\", or \"auto\"",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(refused(&text), expected);
    }
}

#[test]
fn marks_between_shares_of_the_bdp_are_made_as_packets_leave_and_may_spare_the_last_hop() {
    for (last_hop, expected) in
        [("", None), ("marking_last_hop = false", Some(LastHop { limit: frames(16), marks: false }))]
    {
        let scenario = parse(&with(&format!("marking = \"bdp\"\n{last_hop}")));
        check_reads_back(&scenario);
        let data = &scenario.model.switch.classes[0];
        let marking = data.marking.unwrap();
        let Threshold::Between(min, max) = marking.threshold else { panic!("{marking:?}") };
        // 3.2 and 12.8 frames, rounded up.
        assert_eq!((min.get(), max.get(), marking.at), (4 * 1538, 13 * 1538, MarkAt::Dequeue));
        assert_eq!((data.last_hop, data.at_last_hop().marking.is_some()), (expected, expected.is_none()));
    }
}

#[test]
fn under_flow_control_nothing_trims_and_a_sample_of_trims_needs_trimming() {
    let scenario = parse(&with("pfc = true"));
    check_reads_back(&scenario);
    assert!(scenario.model.switch.classes.iter().all(|class| class.trim.is_none()));
    let error = refused(&(without("") + "\n[[sample]]\nwhat = \"trims\"\n"));
    assert!(error.ends_with("nothing is trimmed, since no transport of the scenario asks for it"), "{error}");
    let sampled = parse(&(with("") + "\n[[sample]]\nwhat = \"trims\"\n"));
    check_reads_back(&sampled);
    assert!(matches!(sampled.model.samples[0].what, Probe::Trims(_)));
}

#[test]
fn routing_goes_by_a_word_and_without_one_by_the_transports() {
    let routing = |line: &str| {
        let scenario = parse(&with("").replace("[switch]", &format!("[network]\n{line}\n[switch]")));
        check_reads_back(&scenario);
        scenario.model.routing
    };
    assert_eq!(routing(""), Policy::SymmetricEcmp);
    assert_eq!(routing("routing = \"entropy\""), Policy::Entropy);
    assert_eq!(routing("routing = \"adaptive\""), Policy::Adaptive);
    assert_eq!(routing("routing = \"auto\""), Policy::SymmetricEcmp);
}

#[test]
fn classes_of_a_scenario_get_one_ahead_of_them_for_what_is_cut_unless_it_is_named() {
    let text = "transport = \"ndp-trial\"\n[topology]\nkind = \"star\"\nhosts = 5\n[[switch.class]]\nname = \"short\"\n\
                [[switch.class]]\nname = \"long\"\npriority = 1\n[[traffic]]\nkind = \"incast\"\nsize = \"1 MB\"\nsenders = 4\n\
                class = \"long\"\n[transport]\nname = \"ndp-trial\"\ncuts = \"queues\"\n"
        .replace("transport = \"ndp-trial\"\n", "");
    let scenario = parse(&text);
    let classes = &scenario.model.switch.classes;
    let found: Vec<_> = classes.iter().map(|class| (class.name.as_str(), class.priority)).collect();
    assert_eq!(found, [("short", 1), ("long", 2), ("headers", 0)]);
    assert_eq!((scenario.model.traffic[0].class, scenario.model.traffic[0].ack_class), (1, 2));
    assert!(classes[1].trim.is_some_and(|trim| trim.headers == 2));
    check_reads_back(&scenario);
    let full = text.replace("priority = 1", "priority = 7");
    assert_eq!(
        refused(&full),
        "x.toml:4: switch.class = [{...}, {...}]: leaves no room for a class ahead of all others, which ndp-trial needs for acknowledgements and \
         cut packets; write priorities below 7 and fewer than 64 classes, or name an ack_class for its traffic"
    );
    let taken = text.replace("name = \"short\"", "name = \"headers\"");
    assert_eq!(
        refused(&taken),
        "x.toml:5: switch.class.headers.name = \"headers\": is that of the class that ndp-trial needs ahead of others, for acknowledgements and cut \
         packets; write another name, or name an ack_class for its traffic"
    );
}

#[test]
fn bad_parameters_of_transports_that_trim_are_refused_before_anything_runs() {
    let under = |name: &str, lines: &str| {
        with("").replace("name = \"ndp-trial\"\ncuts = \"queues\"", &format!("name = \"{name}\"\n{lines}"))
    };
    let values = |name: &str, key: &str, value: &str| {
        let expected =
            format!("x.toml:14: transport.{key} = {value}: write a number from 1 to 32768, such as 64");
        assert_eq!(refused(&under(name, &format!("{key} = {value}"))), expected, "{name}");
    };
    assert_eq!(
        refused(&under("eqds", "path_values = 48")),
        "x.toml:14: transport.path_values = 48: paths = \"bitmap\" needs a power of two; write one such as 64"
    );
    assert_eq!(
        refused(&under("uec", "paths = 48\nentropy = \"reps\"")),
        "x.toml:14: transport.paths = 48: entropy = \"reps\" needs a power of two; write one such as 64"
    );
    for value in ["0", "65536"] {
        values("ndp", "path_values", value);
        values("eqds", "path_values", value);
        for name in ["uec-nscc", "uec-rccc", "uec"] {
            values(name, "paths", value);
        }
    }
    let cases = [
        (
            "ecn_min = 0.9",
            "ecn_min = 0.9: is above ecn_max, 0.8; marks begin at ecn_min, so write less here or more there",
        ),
        (
            "ecn_max = 0.1",
            "ecn_max = 0.1: is below ecn_min, 0.2; marks begin there, so write more here or less there",
        ),
        (
            "ecn_min = 0.5\necn_max = 0.4",
            "ecn_min = 0.5: is above ecn_max, 0.4; marks begin at ecn_min, so write less here or more there",
        ),
    ];
    for (lines, expected) in cases {
        for name in ["uec-nscc", "uec-rccc", "uec"] {
            assert_eq!(refused(&under(name, lines)), format!("x.toml:14: transport.{expected}"), "{name}");
        }
    }
    assert_eq!(
        refused(&under("uec", "entropy = \"mixd\"")),
        "x.toml:14: transport.entropy = \"mixd\": write \"oblivious\" or \"bitmap\" or \"reps\" or \"reps-legacy\" or \"mixed\" \
         or \"perm\" or \"rand\" or \"scored\"; did you mean \"mixed\"?"
    );
    assert_eq!(
        refused(&with("trim_to = \"2 KB\"")),
        "x.toml:10: switch.trim_to = \"2 KB\": is no size of a header: it must be at least the smallest frame, network.wire_min = \
         84 B, and at most a full frame, 1.538 KB"
    );
    let of_entry =
        with("").replace("senders = 4", "senders = 4\ntransport = { name = \"uec\", ecn_max = 0.1 }");
    assert!(refused(&of_entry).contains("transport.ecn_max = 0.1: is below ecn_min, 0.2"));
}

#[test]
fn in_htsim_hosts_send_ten_control_packets_for_one_of_data_and_queues_that_do_not_trim_drop_by_a_coin() {
    let text = |lines: &str| {
        format!(
            "[topology]\nkind = \"star\"\nhosts = 5\n[transport]\nname = \"uec-nscc\"\n{lines}\n[[traffic]]\n\
             kind = \"incast\"\nsize = \"1 MB\"\nsenders = 4\n"
        )
    };
    for (lines, run, drops) in [
        ("", None, None),
        ("profile = \"htsim\"", Some(10), Some(false)),
        ("trimming = false", None, None),
        ("profile = \"htsim\"\ntrimming = false", Some(10), Some(true)),
    ] {
        let scenario = parse(&text(lines));
        check_reads_back(&scenario);
        let rules = scenario.model.switch.classes[0].trim.map(|trim| trim.config);
        assert_eq!(scenario.model.host.control_run, run, "{lines}");
        let coin = rules.filter(|rule| rule.victim == TrimVictim::Coin).map(|rule| rule.drops);
        assert_eq!(coin, drops, "{lines}");
        let leaves = scenario.model.switch.classes[0].leaves_headers().is_some();
        assert_eq!(leaves, !lines.contains("trimming = false"), "{lines}");
    }
}

#[test]
fn headers_may_have_a_class_of_their_own_beside_data_by_weight_and_behind_control() {
    let text = "[topology]\nkind = \"star\"\nhosts = 5\n[[switch.class]]\nname = \"data\"\npriority = 1\nweight = 3\n\
                trim_class = \"headers\"\n[[switch.class]]\nname = \"headers\"\npriority = 1\n[[switch.class]]\n\
                name = \"control\"\n[transport]\nname = \"uec\"\n[[traffic]]\nkind = \"incast\"\nsize = \"1 MB\"\n\
                senders = 4\nclass = \"data\"\nack_class = \"control\"\n";
    let scenario = parse(text);
    check_reads_back(&scenario);
    let classes = &scenario.model.switch.classes;
    let turns: Vec<_> = classes.iter().map(|class| (class.priority, class.weight)).collect();
    assert_eq!(turns, [(1, 3), (1, 1), (0, 1)]);
    let trims: Vec<_> = classes.iter().map(|class| class.trim.map(|trim| trim.headers)).collect();
    assert_eq!((trims, scenario.model.traffic[0].ack_class), (vec![Some(1), None, None], 2));
    // Under Ultra Ethernet headers have as much room as data, and control has what any class has.
    assert_eq!(classes[0].limit, classes[1].limit);
    assert_ne!(classes[2].limit, classes[1].limit);
    let changed = |old: &str, new: &str| refused(&text.replacen(old, new, 1));
    let named = "trim_class = \"headers\"";
    assert_eq!(
        changed(named, "trim_class = \"header\""),
        "x.toml:8: switch.class.data.trim_class = \"header\": is no class of [[switch.class]]; did you mean \"headers\"? \
         (known: data, headers, control)"
    );
    assert!(
        changed(named, "trim_class = \"data\"").ends_with("is the class itself; headers need another one")
    );
    assert!(
        changed(named, "trim_class = \"headers\"\ntrim = false")
            .ends_with("means nothing, since the class does not trim; set trim = true, or remove it")
    );
    assert!(
        changed("priority = 1\n[[switch.class]]", "priority = 1\ntrim = true\n[[switch.class]]")
            .contains("can't be in the class \"headers\", which holds the headers of others")
    );
    assert!(
        changed("name = \"headers\"\n", "name = \"headers\"\nat_switches = \"data\"\n")
            .ends_with("is a class of hosts alone; name one that switches have")
    );
}
