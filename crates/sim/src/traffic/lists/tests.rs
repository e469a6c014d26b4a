//! Tests of the readers of lists.

use super::*;
use crate::traffic::triggers::Done;
use clearway_units::{Bytes, Span, Time};
use proptest::prelude::*;

const RULES: ListRules = ListRules { most: 1_000, start_unit: None, hosts: 16 };

fn read(format: ListFormat, text: &str) -> Vec<ListedFlow> {
    parse_list(format, text, RULES).unwrap_or_else(|error| panic!("{}: {error}", error.line)).flows
}

fn refused(format: ListFormat, text: &str) -> String {
    let error = parse_list(format, text, RULES).unwrap_err();
    format!("{}: {}", error.line, error.problem)
}

fn h0_to_h3(line: usize) -> ListedFlow {
    ListedFlow::plain(line, Time::from_ps(10_000_000), ["h0", "h3"], Some(Bytes::new(1_000_000)))
}

#[test]
fn a_csv_file_may_order_its_columns_and_name_units_in_them() {
    for text in [
        "start,src,dst,size\n10 us,h0,h3,1 MB\n",
        "size_bytes, dst, src, start_us\n1000000, h3, h0, 10",
        "start_s,src,dst,size_bytes\r\n1e-05,h0,h3,1000000.0\r\n",
        "start_ms;src;dst;size\n0,01;h0;h3;0,001 GB\n",
        "start\tsrc\tdst\tsize\n10 us\th0\th3\t1 MB\n",
        "\"start\",\"src\",\"dst\",\"size\"\n\"10 us\",\"h0\", \"h3\",\"1 MB\"\n",
    ] {
        assert_eq!(read(ListFormat::Csv, text), [h0_to_h3(2)], "{text}");
    }
    assert_eq!(read(ListFormat::Csv, "sep=;\nstart;src;dst;size\n10 us;h0;h3;1 MB\n"), [h0_to_h3(3)]);
    let odd = read(ListFormat::Csv, "start,src,dst,size\n1 us,\"a,\"\"b\"\"\",h1,1 KB\n");
    assert_eq!(odd[0].src, "a,\"b\"");
}

#[test]
fn a_csv_file_of_another_form_is_refused_with_its_line() {
    let refused = |text: &str| refused(ListFormat::Csv, text);
    assert!(refused("").starts_with("1: the file is empty; write a first line such as start,src,dst,size"));
    assert!(refused("start,src,dst\n").starts_with("1: a column is missing, size; write"));
    assert!(refused("start,src,dst,size,colour\n").starts_with("1: \"colour\" is no column"));
    assert!(refused("start,src,src,size\n").contains("twice"));
    assert_eq!(refused("start,src,dst,size\n\n1 us,h0,h1"), "3: has 3 values; the first line names 4");
    assert!(refused("start,src,dst,size\n1,h0,h1,3 KB").starts_with("2: start: \"1\" has no unit"));
    assert!(
        refused("start_us,src,dst,size\nnow,h0,h1,3 KB").starts_with("2: start_us: \"now\" is no number")
    );
    assert!(refused("start,src,dst,size\n1 us,,h1,3 KB").starts_with("2: src is empty; name a host"));
    assert!(refused("start,src,dst,size\n\"1 us,h0,h1,3 KB").contains("value 1 has no closing quote"));
    assert!(refused("start,src,dst,size\n\"1\" us,h0,h1,3 KB").contains("goes on after its closing quote"));
}

#[test]
fn the_flow_format_of_hpcc_is_read_to_the_picosecond() {
    let flows = read(ListFormat::Hpcc, "2\n0 1 3 100 1000 2.000000001\n\n5 4 3 100 200000 2\n");
    assert_eq!(flows[0].start, Time::from_ps(2_000_000_001_000));
    assert_eq!((flows[1].line, flows[1].src.as_str(), flows[1].size), (4, "5", Some(Bytes::new(200_000))));
}

#[test]
fn text_after_the_last_counted_flow_is_ignored() {
    let text = "2\n2 1 3 100 200000000 2\n3 1 3 100 5000000 2\n4 1 3 100 150000000 2\n...\n\n\
                Please order the flows in ascending start_time!\n";
    let flows = read(ListFormat::Hpcc, text);
    let sources: Vec<&str> = flows.iter().map(|flow| flow.src.as_str()).collect();
    assert_eq!(sources, ["2", "3"]);
}

#[test]
fn a_count_of_more_flows_than_there_are_is_refused() {
    let refused = |text: &str| refused(ListFormat::Hpcc, text);
    let count = refused("3\n0 1 3 100 1000 2.0\n");
    assert_eq!(count, "1: says 3 flows but 1 lines follow; correct the count");
    assert!(refused("1\n0 1 3 100 1000\n").starts_with("2: has 5 values for 6"));
}

#[test]
fn a_list_of_the_ns2_script_is_read_as_tcl_writes_it() {
    let flows = read(ListFormat::Ns2, "0.1 3 187 18582.0\n1e-05 0 1 1\n");
    assert_eq!((flows[0].start, flows[0].size), (Time::from_ps(100_000_000_000), Some(Bytes::new(18_582))));
    assert_eq!((flows[1].line, flows[1].start), (2, Time::from_ps(10_000_000)));
    assert_eq!(
        refused(ListFormat::Ns2, "0.1 3 187\n"),
        "1: has 3 values for 4; write start-in-seconds src dst bytes"
    );
    assert!(refused(ListFormat::Ns2, "0.1 3 187 1.5\n").starts_with("1: bytes: \"1.5\" is no whole number"));
}

#[test]
fn a_connection_matrix_is_read_with_its_header() {
    let text = "Nodes 16\nConnections 2\n# a comment\n0->13 start 0 size 2000000\n13->0 id 7 start 0.000000 size 0\n\n";
    let flows = read(ListFormat::Htsim, text);
    assert_eq!((flows[0].src.as_str(), flows[0].dst.as_str()), ("0", "13"));
    assert_eq!(flows[0].size, Some(Bytes::new(2_000_000)));
    assert_eq!((flows[1].line, flows[1].size), (5, None), "size 0 sends until it is stopped");
}

#[test]
fn start_times_of_a_connection_matrix_need_their_unit() {
    let text = "Nodes 16\nConnections 1\n0->1 start 5 size 1000\n";
    assert!(
        refused(ListFormat::Htsim, text)
            .starts_with("3: start: \"5\" has no unit, and htsim's programs differ")
    );
    let start = |unit| {
        let rules = ListRules { start_unit: Some(unit), ..RULES };
        parse_list(ListFormat::Htsim, text, rules).unwrap().flows[0].start
    };
    assert_eq!(start(HtsimUnit::Microseconds), Time::from_ps(5_000_000));
    assert_eq!(start(HtsimUnit::Picoseconds), Time::from_ps(5));
}

#[test]
fn what_a_connection_matrix_asks_beyond_flows_is_refused_with_the_reason() {
    let refused = |lines: &str| refused(ListFormat::Htsim, &format!("Nodes 16\n{lines}"));
    assert!(refused("failure switch_type AGG").contains("write it as [[fault]]"));
    assert!(refused("0->1 start 0 size 5 prio 3").starts_with("2: prio: "));
    assert!(refused("0->16 start 0 size 5").starts_with("2: dst: 16 is beyond the 16 nodes of the file"));
    assert!(refused("a->1 start 0 size 5").starts_with("2: src: \"a\" is no number of a host"));
    assert!(refused("0->1 size 5").starts_with("2: has no start"));
    assert!(refused("0->1 start 0").starts_with("2: has no size"));
    assert!(refused("0->1 start 0 size").starts_with("2: size has no value"));
    let twice = "0->1 id 1 start 0 size 5 size 6";
    assert!(
        refused(twice).starts_with("2: size 6: size stands there twice; remove one"),
        "{}",
        refused(twice)
    );
    assert!(
        refused("0->1 id 1 id 1 start 0 size 5").starts_with("2: id 1: id stands there twice; remove one")
    );
    assert!(refused("0->1 start 0 colour 5").starts_with("2: \"colour\" is no attribute"));
    assert!(
        refused("Connections 2\n0->1 start 0 size 5").starts_with("2: Connections: 2, but 1 lines follow")
    );
    assert!(refused("hello").starts_with("2: \"hello\" is no connection"));
    assert!(refused("Nodes x").starts_with("2: Nodes: \"x\" is no number"));
    assert_eq!(
        refused("Nodes 15"),
        "2: Nodes: 15, but the network has 16 hosts; correct the number or the network"
    );
}

#[test]
fn connections_of_a_matrix_that_share_an_id_are_refused_and_those_without_one_are_not() {
    let matrix = |ids: [u64; 2]| {
        let lines = ids.map(|id| format!("0->{} id {id} start 0 size 5\n", id + 1));
        format!("Nodes 16\nConnections 2\n{}", lines.concat())
    };
    assert_eq!(read(ListFormat::Htsim, &matrix([1, 2])).len(), 2);
    assert_eq!(read(ListFormat::Htsim, &matrix([0, 0])).len(), 2);
    let problem = refused(ListFormat::Htsim, &matrix([3, 3]));
    assert!(problem.starts_with("4: id: 3 is that of line 3 too: "), "{problem}");
}

#[test]
fn lines_of_a_matrix_that_say_msg_are_messages_of_the_connection_with_their_id() {
    let connections = |lines: &str| -> Vec<Option<String>> {
        let flows = read(ListFormat::Htsim, &format!("Nodes 16\n{lines}"));
        flows.into_iter().map(|flow| flow.connection).collect()
    };
    let named = |name: &str| Some(name.to_owned());
    // The first message of a connection may be silent about it, the number of a message too, and other lines are flows.
    let lines = "0->1 id 4 start 0 size 5\n0->1 id 4 msg start 0 size 5\n2->3 id 5 start 0 size 5\n\
                 0->1 id 4 start 0 size 5 msg 9\n2->3 start 0 size 5";
    assert_eq!(connections(lines), [named("4"), named("4"), None, named("4"), None]);
    assert_eq!(connections("0->1 msg 1 id 2 start 0 size 5"), [named("2")]);
    let refused = |line: &str| refused(ListFormat::Htsim, &format!("Nodes 16\n{line}"));
    assert!(
        refused("0->1 msg 1 start 0 size 5").starts_with("2: msg: a message needs the id of its connection")
    );
    assert!(refused("0->1 msg 1 id 0 start 0 size 5").starts_with("2: msg: a message needs the id"));
    assert!(refused("0->1 id 1 msg 0 start 0 size 5").starts_with("2: msg: 0 is no number of a message"));
    assert!(refused("0->1 id 1 msg msg 1 start 0 size 5").starts_with("2: msg stands there twice"));
    let silent = "0->1 id 1 msg 1 start 0 size 5\n0->1 id 1 start 0 size 5";
    assert!(refused(silent).contains("or write msg on this line"), "{}", refused(silent));
}

/// A message that pulls a trigger, and when.
type Pulled = (u32, Done, usize);

/// Returns the triggers of a matrix, as who waits for which and who pulls which.
fn triggers(lines: &str) -> (Vec<(u32, u32)>, Vec<Pulled>) {
    let list = parse_list(ListFormat::Htsim, &format!("Nodes 16\n{lines}"), RULES);
    let List { flows, triggers } = list.unwrap_or_else(|error| panic!("{}: {error}", error.line));
    let waits = triggers.waits().iter().map(|wait| (wait.trigger, wait.message)).collect();
    let pulls = (0..flows.len() as u32).flat_map(|message| {
        let pulled = |done| triggers.pulled_by(message, done).map(move |trigger| (message, done, trigger));
        Done::BOTH.into_iter().flat_map(pulled).collect::<Vec<_>>()
    });
    (waits, pulls.collect())
}

#[test]
fn a_connection_of_a_matrix_may_wait_for_a_trigger_that_others_pull() {
    let chain = "Triggers 1\n0->1 id 1 start 0 size 5 send_done_trigger 4\n1->2 trigger 4 size 5\ntrigger id 4 oneshot";
    assert_eq!(triggers(chain), (vec![(0, 1)], vec![(0, Done::Acknowledged, 0)]));
    // A trigger may stand before those that name it, and a connection may pull one for each of its ends.
    let both = "trigger id 9 multishot\ntrigger id 7 barrier count 2\n\
                0->1 start 0 size 5 send_done_trigger 9 recv_done_trigger 7\n2->3 start 0 size 5 recv_done_trigger 7\n\
                1->2 trigger 9 size 5\n3->2 trigger 7 size 5\n3->1 trigger 7 size 5";
    let pulls = vec![(0, Done::Delivered, 0), (0, Done::Acknowledged, 1), (1, Done::Delivered, 0)];
    assert_eq!(triggers(both), (vec![(0, 3), (0, 4), (1, 2)], pulls));
}

#[test]
fn triggers_that_the_program_would_stop_at_or_never_fire_are_refused() {
    let refused = |lines: &str| refused(ListFormat::Htsim, &format!("Nodes 16\n{lines}"));
    let pull = "0->1 start 0 size 5 send_done_trigger 1\n";
    let wait = "1->2 trigger 1 size 5\n";
    assert_eq!(
        refused(&format!("{pull}{wait}")),
        "2: send_done_trigger: 1 has no line of its own; add trigger id 1 with its kind"
    );
    assert!(
        refused(&format!("{pull}trigger id 1 oneshot"))
            .starts_with("3: trigger 1: no connection waits for it")
    );
    assert!(
        refused(&format!("{wait}trigger id 1 oneshot")).starts_with("2: trigger 1: no connection pulls it")
    );
    let twice = refused(&format!("{pull}{pull}{wait}trigger id 1 oneshot"));
    assert!(twice.starts_with("5: trigger 1: 2 connections pull it, and it fires once"), "{twice}");
    assert_eq!(
        refused(&format!("{pull}{wait}trigger id 1 barrier count 2")),
        "4: trigger 1: its count is 2, but 1 connections pull it; correct the count"
    );
    let few = refused(&format!("{pull}{wait}{wait}trigger id 1 multishot"));
    assert!(few.starts_with("4: trigger 1: it is pulled 1 times, and 2 connections wait for it"), "{few}");
    assert!(refused("Triggers 1").starts_with("2: Triggers: 1, but 0 lines follow"));
    let known = refused("trigger id 1 oneshot\ntrigger id 1 barrier count 2");
    assert!(known.starts_with("3: id: 1 is the trigger of line 2 already"), "{known}");
    for (line, problem) in [
        ("trigger oneshot", "2: the trigger has no id"),
        ("trigger id 1", "2: the trigger has no kind"),
        ("trigger id 0 oneshot", "2: id: \"0\" is no number of a trigger"),
        ("trigger id 1 barrier", "2: barrier has no count"),
        ("trigger id 1 oneshot count 2", "2: count: only a barrier counts"),
        ("trigger id 1 oneshot barrier", "2: barrier: a trigger has one number, one kind"),
        ("trigger id 1 twice", "2: \"twice\" is no attribute of a trigger"),
        ("trigger id", "2: id has no value"),
        ("0->1 trigger x size 5", "2: trigger: \"x\" is no number of a trigger"),
        ("0->1 trigger 1 trigger 2 size 5", "2: trigger 2: trigger stands there twice"),
        ("0->1 start 0 trigger 1 size 5", "2: trigger: 1 stands beside a start"),
        (
            "0->1 id 1 msg 1 start 0 size 5 send_done_trigger 1",
            "2: send_done_trigger: of a message htsim fires it",
        ),
    ] {
        assert!(refused(line).starts_with(problem), "{line}: {}", refused(line));
    }
}

#[test]
fn a_flow_of_a_csv_file_may_wait_for_others_that_it_names() {
    let text = "name,after,start_us,pause,done,src,dst,size_bytes\na,,3,,,0,1,5\nb,,0,,,0,1,5\n,a b,,7 us,acknowledged,1,0,5\n,b,,,,1,0,5\n";
    let flows = read(ListFormat::Csv, text);
    let names: Vec<Option<&str>> = flows.iter().map(|flow| flow.name.as_deref()).collect();
    assert_eq!(names, [Some("a"), Some("b"), None, None]);
    let waits = |after: &[&str], us, done| {
        let after = after.iter().map(|name| (*name).to_owned()).collect();
        Some(Waits { after, pause: Span::from_us(us), done })
    };
    assert_eq!(flows[2].waits, waits(&["a", "b"], 7, Done::Acknowledged));
    assert_eq!(flows[3].waits, waits(&["b"], 0, Done::Delivered));
    assert_eq!((flows[0].waits.as_ref(), flows[0].start), (None, Time::from_ps(3_000_000)));
    let refused = |line: &str| {
        refused(ListFormat::Csv, &format!("name,after,start,pause,done,src,dst,size_bytes\n{line}\n"))
    };
    for (line, problem) in [
        (",a,1 us,,,0,1,5", "2: start: \"1 us\": a flow that waits for others has no start"),
        (",,0 s,1 us,,0,1,5", "2: pause: means nothing where the flow waits for no other"),
        (",,0 s,,delivered,0,1,5", "2: done: means nothing where the flow waits for no other"),
        (",a,,soon,,0,1,5", "2: pause: "),
        (",a,,,later,0,1,5", "2: done: \"later\": write \"delivered\" or \"acknowledged\""),
        ("a b,,0 s,,,0,1,5", "2: name: \"a b\" has a space"),
        (",,,,,0,1,5", "2: start: "),
    ] {
        assert!(refused(line).starts_with(problem), "{line}: {}", refused(line));
    }
}

#[test]
fn a_csv_file_may_name_the_connection_of_a_message() {
    let flows =
        read(ListFormat::Csv, "start_us,connection,src,dst,size_bytes\n0,a,0,1,5\n0,,0,1,5\n7,a,0,1,5\n");
    let connections: Vec<Option<&str>> = flows.iter().map(|flow| flow.connection.as_deref()).collect();
    assert_eq!(connections, [Some("a"), None, Some("a")]);
}

#[test]
fn a_format_is_known_by_the_content_of_the_file() {
    for (text, format) in [
        ("start,src,dst,size\n", ListFormat::Csv),
        ("start_s;src;dst;size\n", ListFormat::Csv),
        ("\n2\n0 1 3 100 1000 2\n", ListFormat::Hpcc),
        ("# drawn by us\n0.1 3 187 18582\n", ListFormat::Ns2),
        ("Nodes 16\nConnections 1\n", ListFormat::Htsim),
        ("0->1 start 0 size 5", ListFormat::Htsim),
        ("", ListFormat::Csv),
    ] {
        assert_eq!(detect_format("flows.txt", text), format, "{text}");
    }
    assert_eq!(detect_format("matrix.CM.gz", "hello"), ListFormat::Htsim);
}

#[test]
fn a_list_of_too_many_flows_is_refused_at_the_first_that_is_too_many() {
    let rules = ListRules { most: 2, ..RULES };
    let error = parse_list(ListFormat::Ns2, &"0 1 2 3\n".repeat(9), rules).unwrap_err();
    assert_eq!((error.line, error.problem.as_str()), (3, "is more than 2 flows; list fewer"));
}

/// A file of each format.
const FILES: [&str; 7] = [
    "start,src,dst,size\n10 us,h0,h3,1 MB\n1.5 ms,\"h1\",h2,3 KB\n",
    "sep=;\nstart_ms;src;dst;size_bytes\n0,5;h0;h1;100\n",
    "2\n0 1 3 100 1000 2.000000001\n5 4 3 100 200000 2\n",
    "0.1 3 187 18582.0\n1e-05 0 1 1\n",
    "Nodes 16\nConnections 2\nTriggers 0\n0->13 id 1 start 0 size 2000000\n13->0 start 0 size 0\n",
    "Nodes 16\nTriggers 1\n0->1 id 1 start 0 size 2 recv_done_trigger 3\n1->0 trigger 3 size 1\ntrigger id 3 barrier count 1\n",
    "name,after,start,pause,done,src,dst,size\na,,0 s,,,h0,h1,1 KB\nb,a,,1 us,acknowledged,h1,h0,1 KB\n",
];

proptest! {
    #[test]
    fn a_mutated_list_is_read_or_refused_and_never_panics(
        file in prop::sample::select(&FILES[..]),
        edits in prop::collection::vec((any::<prop::sample::Index>(), "[-0-9a-z>,;.\"\n #]{0,4}", 0usize..6), 0..5),
        unit in prop::sample::select(vec![None, Some(HtsimUnit::Microseconds)]),
    ) {
        let mut text = file.to_owned();
        for (place, insert, remove) in edits {
            let start = place.index(text.len() + 1);
            let end = (start + remove).min(text.len());
            text.replace_range(start..end, &insert);
        }
        for format in [detect_format("x", &text), ListFormat::Csv, ListFormat::Hpcc, ListFormat::Ns2, ListFormat::Htsim] {
            let lines = text.lines().count();
            match parse_list(format, &text, ListRules { start_unit: unit, ..RULES }) {
                Ok(list) => prop_assert!(list.flows.iter().all(|flow| (1..=lines).contains(&flow.line))),
                Err(error) => prop_assert!((1..=lines.max(1)).contains(&error.line) && !error.problem.contains('\n')),
            }
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,80}(\n\\PC{0,40}){0,3}") {
        for format in [detect_format("x.csv", &text), ListFormat::Csv, ListFormat::Hpcc, ListFormat::Ns2, ListFormat::Htsim] {
            let _ = parse_list(format, &text, RULES);
        }
    }
}
