//! Warnings on transports that count on trimming and on paths by entropy.

use super::*;

/// A permutation in a fat tree under a transport, with more lines of `[network]`, `[switch]` and `[transport]`.
fn tree(name: &str, [network, switch, transport]: [&str; 3]) -> Vec<String> {
    let text = format!(
        "[topology]\nkind = \"fat-tree\"\nk = 4\nrate = \"100 Gbps\"\n[network]\n{network}\n[switch]\n{switch}\n\
         [transport]\nname = \"{name}\"\n{transport}\n[[traffic]]\nkind = \"permutation\"\nsize = \"64 KB\"\n"
    );
    let parsed = Scenario::parse(&text, "x.toml", Path::new("."), &Overrides::default());
    texts(&parsed.unwrap_or_else(|error| panic!("{error}")).model)
}

const HEIRS: [&str; 5] = ["ndp", "eqds", "uec-nscc", "uec-rccc", "uec"];

#[test]
fn transports_that_trim_and_choose_paths_are_not_warned_of_as_they_are() {
    for name in HEIRS {
        assert_eq!(tree(name, [""; 3]), [""; 0], "{name}");
        assert_eq!(tree(name, ["routing = \"spray\"", "", ""]), [""; 0], "{name}");
        assert_eq!(tree(name, ["", "pfc = true", ""]), [""; 0], "flow control loses nothing under {name}");
    }
    let dropping = "trimming = false\nsleek = true";
    assert_eq!(tree("uec-nscc", ["", "", dropping]), [""; 0]);
}

#[test]
fn switches_that_drop_are_warned_of_where_the_transport_hears_of_losses_from_trimming() {
    for name in HEIRS {
        let found = tree(name, ["", "trim = false\nbuffer = \"100 KB\"\nmarking = \"off\"", ""]);
        let text = format!(
            "{name}: hears of packets without room from switches that cut them to their headers, and here a switch drops what \
             exceeds a queue of 100 KB (trim = false), which a timeout has to find; leave trim out"
        );
        assert!(found.contains(&text), "{found:?}");
        assert_eq!(found.iter().filter(|found| found.contains("trim")).count(), 1, "{found:?}");
    }
    assert_eq!(tree("ndp", ["", "trim = false\nbuffer = \"unlimited\"", ""]), [""; 0], "nothing is lost");
}

#[test]
fn parameters_made_for_the_other_kind_of_switch_are_warned_of() {
    assert_eq!(
        tree("uec", ["", "", "sleek = true"]),
        [
            "uec: takes packets for lost because later ones have arrived (sleek = true), which is made for switches that drop, \
             and here they trim and the receiver asks for what was cut; leave sleek = true out, or write trimming = false beside \
             it"
        ]
    );
    let found = tree("uec-nscc", ["", "", "trimming = false\nentropy = \"reps\""]);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with(
        "uec-nscc: takes each timeout for a path that failed (entropy = \"reps\"), which is made for switches that trim"
    ));
    assert_eq!(tree("eqds", ["", "", "paths = \"reps\""]), [""; 0]);
}

#[test]
fn entropies_that_choose_no_path_are_warned_of_where_there_are_several_paths() {
    for routing in ["symmetric-ecmp", "ecmp"] {
        let text = format!(
            "uec-nscc: gives each packet an entropy value that chooses its path, and with network.routing = \"{routing}\" all \
             packets of a flow take one path whatever their values are; write \"entropy\", or leave the key out"
        );
        assert_eq!(tree("uec-nscc", [&format!("routing = \"{routing}\""), "", ""]), [text]);
    }
    let star = incast("", "ndp", "").routing;
    assert!(star.is_spread());
    let one_path = incast("[network]\nrouting = \"ecmp\"", "ndp", "");
    assert_eq!(texts(&one_path), [""; 0], "a star has one path");
    assert_eq!(tree("dctcp", ["routing = \"ecmp\"", "", ""]), [""; 0], "it has no entropies");
}

#[test]
fn beside_credits_paths_are_one_for_a_flow_unless_the_scenario_says_so_and_either_is_warned_of() {
    let text = |routing: &str| {
        format!(
            "[topology]\nkind = \"fat-tree\"\n[network]\n{routing}\n[[switch.class]]\nname = \"a\"\n[[switch.class]]\nname = \"b\"\n\
             [[traffic]]\nkind = \"permutation\"\nsize = \"64 KB\"\ntransport = \"ndp\"\nclass = \"a\"\n\
             [[traffic]]\nname = \"other\"\nkind = \"permutation\"\nsize = \"64 KB\"\ntransport = \"expresspass\"\nclass = \"b\"\n"
        )
    };
    let found = |routing: &str| {
        let parsed = Scenario::parse(&text(routing), "x.toml", Path::new("."), &Overrides::default());
        texts(&parsed.unwrap_or_else(|error| panic!("{error}")).model)
    };
    let auto = found("");
    assert_eq!(auto.len(), 1, "{auto:?}");
    assert!(auto[0].contains("= \"symmetric-ecmp\" all packets of a flow"), "{auto:?}");
    assert!(auto[0].ends_with("; credits of expresspass need that, so run the two apart"), "{auto:?}");
    let entropy = found("routing = \"entropy\"");
    assert_eq!(entropy.len(), 1, "{entropy:?}");
    assert!(
        entropy[0].starts_with("expresspass: bounds queues")
            && entropy[0].contains("\"entropy\" it takes others")
    );
}

#[test]
fn a_core_that_headers_and_answers_can_fill_is_warned_of_unless_receivers_ask_for_less() {
    let dumbbell = |name: &str, rate: u32, [classes, of_traffic]: [&str; 2]| {
        let text = format!(
            "[topology]\nkind = \"dumbbell\"\npairs = 1\nrate = \"100 Gbps\"\nbottleneck_rate = \"{rate} Gbps\"\n{classes}\
             [[traffic]]\n{of_traffic}kind = \"long\"\nsize = \"64 KB\"\npairs = [[\"h0\", \"h1\"]]\n[transport]\nname = \"{name}\"\n"
        );
        let parsed = Scenario::parse(&text, "x.toml", Path::new("."), &Overrides::default());
        texts(&parsed.unwrap_or_else(|error| panic!("{error}")).model)
    };
    let off = "uec-rccc\"\noversubscribed_cc = false #\"";
    for (name, transport) in [("ndp", "ndp"), ("eqds", "eqds"), ("uec-rccc", off)] {
        let text = format!(
            "{name}: asks for packets at the rate of a host's link however many are cut to their headers, and here hosts can send 10 \
             times what the links from s0 to other switches take, so that headers and answers, which go ahead of data, may leave no \
             room for data for ever; write oversubscribed_cc = true"
        );
        assert_eq!(dumbbell(transport, 10, [""; 2]), [text]);
    }
    // A window becomes smaller by packets without room, and RCCC alone asks for less by itself.
    for name in ["uec", "uec-nscc", "dctcp", "uec-rccc"] {
        assert_eq!(dumbbell(name, 10, [""; 2]), [""; 0], "{name}");
    }
    // Three control packets of 84 B for each packet of 1538 B fill a link of a 6.1st of the rate.
    assert_eq!(dumbbell("eqds", 17, [""; 2]), [""; 0]);
    assert_eq!(dumbbell("eqds", 16, [""; 2]).len(), 1);
    // Where headers share the link with data by weight, NACKs and pulls alone fill a 9.2nd.
    let by_weight = [
        "[[switch.class]]\nname = \"d\"\npriority = 1\ntrim_class = \"h\"\n[[switch.class]]\nname = \"h\"\npriority = 1\n\
         [[switch.class]]\nname = \"c\"\npriority = 0\n",
        "class = \"d\"\nack_class = \"c\"\n",
    ];
    assert_eq!(dumbbell("eqds", 11, by_weight), [""; 0]);
    assert_eq!(dumbbell("eqds", 10, by_weight).len(), 1);
    let all_by_weight = by_weight.map(|text| text.replace("priority = 0", "priority = 1"));
    assert_eq!(dumbbell("eqds", 1, all_by_weight.each_ref().map(String::as_str)), [""; 0]);
}
