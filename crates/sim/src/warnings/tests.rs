mod boundaries;
mod heirs;

use super::*;
use crate::Simulation;
use crate::scenario::{Overrides, Scenario};
use clearway_units::Bytes;
use std::path::Path;

/// An incast of 40 answers at 10 Gbps, with more keys of `[switch]`, another transport and more tables.
fn incast(switch: &str, transport: &str, more: &str) -> Model {
    let text = format!(
        "[topology]\nkind = \"star\"\nhosts = 41\nrate = \"10 Gbps\"\ndelay = \"4 us\"\n[switch]\n{switch}\n\
         [transport]\nname = \"{transport}\"\n[[traffic]]\nname = \"burst\"\nkind = \"incast\"\nsenders = 40\nsize = \"64 \
         KB\"\n{more}"
    );
    let parsed = Scenario::parse(&text, "x.toml", Path::new("."), &Overrides::default());
    parsed.unwrap_or_else(|error| panic!("{error}")).model
}

fn texts(model: &Model) -> Vec<String> {
    warnings(model).into_iter().map(|warning| format!("{}: {}", warning.transport, warning.text)).collect()
}

/// The only warning on a model.
fn only(model: &Model) -> String {
    let mut found = texts(model);
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

fn marks(model: &Model) -> u64 {
    let mut simulation = Simulation::new(model).unwrap();
    simulation.run(&mut |_| true);
    let results = simulation.finish().unwrap();
    let column = results.ports.columns.iter().find(|column| column.name == "marks").unwrap();
    let crate::Values::U64(counts) = &column.values else { panic!("marks are counts") };
    counts.iter().sum()
}

#[test]
fn a_threshold_that_a_full_queue_does_not_reach_is_warned_of_exactly_where_no_packet_is_marked() {
    // Of 100 KB, 65 full frames are 99,970 B. A frame is marked that meets more than K and has room itself.
    for (frames, is_marked) in [(65, false), (64, false), (63, true), (20, true), (1, true)] {
        let model = incast(&format!("buffer = \"100 KB\"\nmarking = \"{} B\"", frames * 1538), "dctcp", "");
        let warned = texts(&model).iter().any(|text| text.contains("none is ever given"));
        assert_eq!((marks(&model) > 0, warned), (is_marked, !is_marked), "{frames} frames");
    }
    let late = texts(&incast("buffer = \"100 KB\"\nmarking = \"99970 B\"", "dctcp", ""));
    let text = "dctcp: reacts to marks of congestion, and none is ever given: they begin at a queue of more than 99.97 KB, \
                and the buffer of 100 KB holds no frame beyond that; write a smaller switch.marking or a larger buffer";
    assert_eq!(late[0], text);
}

#[test]
fn the_largest_threshold_that_can_be_written_is_never_met() {
    let found = texts(&incast("buffer = \"100 KB\"\nmarking = \"4294967295 packets\"", "dctcp", ""));
    assert!(found[0].contains("none is ever given"), "{found:?}");
}

#[test]
fn the_automatic_threshold_leaves_room_for_marks_in_every_buffer() {
    for buffer in ["10 KB", "30 KB", "100 KB", "384.5 KB", "4 MB", "20 packets", "250 packets"] {
        let model = incast(&format!("buffer = \"{buffer}\""), "dctcp", "");
        assert!(texts(&model).iter().all(|text| !text.contains("none is ever given")), "{buffer}");
        assert!(marks(&model) > 0, "{buffer}");
    }
}

#[test]
fn a_transport_that_reacts_to_marks_is_warned_where_switches_give_none() {
    let found = texts(&incast("marking = \"off\"", "dctcp", ""));
    assert!(found[0].starts_with("dctcp: reacts to marks of congestion, and no switch marks"), "{found:?}");
    assert_eq!(texts(&incast("marking = \"off\"\nbuffer = \"4 MB\"", "newreno", "")), [""; 0]);
    let red = "marking = \"red\"\nred_kmin = \"500 KB\"\nred_kmax = \"600 KB\"\nred_rate = \"10 Gbps\"\nbuffer = \"400 KB\"";
    let found = texts(&incast(red, "dctcp", ""));
    assert!(
        found[0].contains("more than 500 KB") && found[0].contains("smaller switch.red_kmin"),
        "{found:?}"
    );
}

#[test]
fn marks_in_shared_memory_begin_below_what_one_queue_may_hold_of_it() {
    let shared =
        |k: &str| incast(&format!("shared_buffer = \"2 MB\"\nalpha = 1.0\nmarking = \"{k}\""), "dctcp", "");
    assert_eq!(texts(&shared("100 KB")), [""; 0]);
    assert!(
        only(&shared("1 MB")).contains("the buffer of 1 MB holds no frame"),
        "half of the memory at alpha 1"
    );
}

#[test]
fn a_threshold_below_a_seventh_of_the_bytes_in_flight_may_leave_links_idle() {
    let far = |k: &str| {
        let mut model = incast(&format!("buffer = \"4 MB\"\nmarking = \"{k}\""), "dctcp", "");
        model.topology = std::sync::Arc::new(
            clearway_topology::Star {
                hosts: 41,
                delay: clearway_units::Span::from_us(50),
                ..Default::default()
            }
            .build()
            .unwrap(),
        );
        texts(&model)
    };
    // 10 Gbps over four links of 50 us and two frames and two answers: a seventh of 253 KB.
    let found = far("30 KB");
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].contains("s0->h0 marks from a queue of 30 KB on") && found[0].contains("eq. (13)"),
        "{found:?}"
    );
    assert_eq!(far("40 KB"), [""; 0]);
}

#[test]
fn a_transport_for_lossless_networks_is_warned_of_buffers_of_ports_and_of_random_loss() {
    let found = only(&incast("buffer = \"100 KB\"", "hpcc", ""));
    assert!(
        found.contains("made for a network that loses nothing") && found.contains("queue of 100 KB"),
        "{found}"
    );
    assert_eq!(texts(&incast("", "hpcc", "")), [""; 0], "flow control is on by itself");
    let lossy = only(&incast("", "hpcc", "[[loss]]\nprobability = 0.001\n"));
    assert!(lossy.contains("links lose packets at random"), "{lossy}");
}

#[test]
fn a_headroom_that_holds_less_than_what_arrives_after_a_pause_is_warned_of() {
    // 8 us at 10 Gbps are 10,000 B; HPCC's frames carry telemetry of 42 B.
    let found = only(&incast("pfc_headroom = \"5 KB\"", "hpcc", ""));
    assert!(
        found.contains("arrive at s0 after it pauses") && found.contains("switch.pfc_headroom = \"5 KB\""),
        "{found}"
    );
    assert_eq!(texts(&incast("pfc_headroom = \"20 KB\"", "hpcc", "")), [""; 0]);
}

#[test]
fn first_windows_that_alone_exceed_the_buffer_are_warned_of() {
    let found = only(&incast("buffer = \"384.5 KB\"", "dctcp", ""));
    let text = "40 flows start at once, and their first windows of 10 segments are 615 KB together, more than the buffer \
                of 384.5 KB";
    assert!(found.contains(text), "{found}");
    assert_eq!(
        texts(&incast("buffer = \"600 KB\"", "dctcp", "")),
        [""; 0],
        "39 windows of 15,380 B wait at most"
    );
    assert_eq!(
        texts(&incast("buffer = \"384.5 KB\"", "dctcp", "spread = \"1 ms\"")),
        [""; 0],
        "they come one by one"
    );
    let found = only(&incast("buffer = \"384.5 KB\"", "dctcp", "spread = \"2 us\""));
    assert!(found.contains("40 flows start"), "2.5 KB leave meanwhile: {found}");
    assert_eq!(texts(&incast("buffer = \"384.5 KB\"", "expresspass", "")), [""; 0], "credits admit them");
    let few = incast("buffer = \"384.5 KB\"", "dctcp", "").traffic.remove(0);
    let mut small = incast("buffer = \"384.5 KB\"", "dctcp", "");
    let crate::model::Pattern::Rounds(mut rounds) = few.pattern else { panic!("an incast is in rounds") };
    rounds.response = Bytes::new(1460);
    small.traffic[0].pattern = crate::model::Pattern::Rounds(rounds);
    assert_eq!(texts(&small), [""; 0], "answers of one segment fit");
}

#[test]
fn flows_of_a_list_that_start_at_one_instant_towards_one_host_count_together() {
    let list = "[[traffic]]\nname = \"list\"\nkind = \"permutation\"\nsize = \"64 KB\"\n";
    let permutation = incast("buffer = \"100 KB\"", "newreno", list);
    assert!(texts(&permutation).iter().all(|text| text.contains("40 flows")), "each host receives one flow");
}

#[test]
fn pac_is_warned_where_connections_stand_from_the_beginning() {
    let switch = "buffer = \"150 KB\"\nmarking = \"10 packets\"";
    let found = texts(&incast(switch, "pac", ""));
    let gated = |text: &String| text.contains("does not control the first windows of traffic \"burst\"");
    assert!(found.iter().any(gated), "{found:?}");
    assert_eq!(texts(&incast(switch, "pac", "connections = \"per-round\"")), [""; 0]);
}

#[test]
fn credits_whose_data_takes_other_links_are_warned_of_where_there_are_several_paths() {
    let tree = |routing: &str| {
        let text = format!(
            "[topology]\nkind = \"fat-tree\"\n[network]\nrouting = \"{routing}\"\n[transport]\nname = \"expresspass\"\n\
             [[traffic]]\nkind = \"permutation\"\nsize = \"64 KB\"\n"
        );
        texts(&Scenario::parse(&text, "x.toml", Path::new("."), &Overrides::default()).unwrap().model)
    };
    assert!(tree("ecmp")[0].contains("ExpressPass '17, sec. 3.1"), "{:?}", tree("ecmp"));
    assert_eq!([tree("symmetric-ecmp"), tree("spray")].concat(), [""; 0]);
}

#[test]
fn a_warning_that_two_entries_share_is_given_once() {
    let more = "[[traffic]]\nname = \"other\"\nkind = \"permutation\"\nsize = \"64 KB\"\n";
    let found = texts(&incast("marking = \"off\"\nbuffer = \"4 MB\"", "dctcp", more));
    assert_eq!(found.len(), 1, "{found:?}");
}
