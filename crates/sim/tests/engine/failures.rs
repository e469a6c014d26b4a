//! Links that fail some time before routing notices it: what is sent there until then is lost, and no more than that.

use crate::common::*;
use clearway_sim::Results;
use clearway_sim::model::*;
use clearway_sim::scenario::{Overrides, Scenario};
use clearway_topology::{LeafSpine, NodeId, PortId};
use clearway_units::{Bytes, Rate, Span, Time};
use std::path::Path;

const DELAY: Span = Span::from_us(1);

fn at(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

/// A host that sends for ever to one behind another leaf, over one of two spines.
fn one_flow() -> Model {
    let rate = Rate::gbps(10);
    let shape = LeafSpine {
        leaves: 2,
        spines: 2,
        hosts_per_leaf: 1,
        rate,
        uplink_rate: rate,
        delay: DELAY,
        uplink_delay: DELAY,
    };
    let mut model = quiet(shape.build().unwrap());
    add(&mut model, &transport("blast"), vec![Flow { size: None, ..flow(0, 1, 1) }]);
    model.stop = Some(at(1_000));
    model
}

fn sent(results: &Results, port: PortId) -> u64 {
    results.ports.u64s("tx_packets")[port.index()]
}

fn lost(results: &Results, port: PortId) -> u64 {
    results.ports.u64s("drops_down")[port.index()]
}

/// The ports of the first leaf to the spine that the flow crosses, and to the other one.
fn uplinks(model: &Model) -> [PortId; 2] {
    let leaf = model.topology.port(model.topology.ports_of(NodeId(0))[0]).to;
    let ports = model.topology.ports_of(leaf).iter().copied();
    let ups: Vec<PortId> =
        ports.filter(|&port| !model.topology.is_host(model.topology.port(port).to)).collect();
    let results = run(model);
    let [one, other] = [ups[0], ups[1]];
    if sent(&results, one) > 0 { [one, other] } else { [other, one] }
}

/// The time that a frame takes on each link.
fn frame() -> Span {
    Rate::gbps(10).time_to_send(Bytes::new(1538))
}

/// The frames that reach the leaf until a time.
fn reached(until: Time) -> u64 {
    (until - Time::ZERO - DELAY).as_ps() / frame().as_ps()
}

/// The frames that leave their host, on the path that routing knows then, until a time.
fn left(until: Time) -> u64 {
    (until - Time::ZERO).as_ps() / frame().as_ps() + 1
}

#[test]
fn until_routing_notices_a_failure_what_is_sent_there_is_lost_and_then_nothing_more() {
    let mut model = one_flow();
    let [used, other] = uplinks(&model);
    for us in [0, 1, 50, 300] {
        model.faults = vec![Fault { noticed: Some(at(100 + us)), ..Fault::at_once(at(100), used, false) }];
        let results = run(&model);
        assert_eq!(lost(&results, used), left(at(100 + us)) - reached(at(100)), "{us}");
        assert_eq!(sent(&results, other), reached(at(1_000)) - left(at(100 + us)), "{us}");
    }
    model.faults = vec![Fault { noticed: None, ..Fault::at_once(at(100), used, false) }];
    let results = run(&model);
    assert_eq!((lost(&results, used), sent(&results, other)), (reached(at(1_000)) - reached(at(100)), 0));
}

#[test]
fn routing_notices_a_recovery_as_late_as_a_failure() {
    let mut model = one_flow();
    let [used, other] = uplinks(&model);
    let fault = |us, up| Fault { noticed: Some(at(us + 50)), ..Fault::at_once(at(us), used, up) };
    model.faults = vec![fault(100, false), fault(300, true)];
    let results = run(&model);
    assert_eq!(lost(&results, used), left(at(150)) - reached(at(100)));
    assert_eq!(sent(&results, other), left(at(350)) - left(at(150)));
}

/// A scenario in which a link or a switch fails at 100 us.
fn text(fault: &str) -> String {
    format!(
        "stop = \"1 ms\"\n[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 2\n[transport]\nname = \
         \"dctcp\"\n[[traffic]]\nname = \"web\"\nkind = \"permutation\"\nsize = \"1 MB\"\n[[fault]]\ndown = \"100 us\"\n{fault}"
    )
}

fn read(fault: &str) -> Model {
    let read = Scenario::parse(&text(fault), "failures", Path::new("."), &Overrides::default());
    read.unwrap_or_else(|e| panic!("{e}")).model
}

#[test]
fn a_failure_that_is_over_before_routing_would_notice_it_is_never_noticed() {
    let noticed = |keys: &str| -> Vec<_> {
        let model = read(&format!("link = [\"leaf0\", \"spine0\"]\ndirection = \"forward\"\n{keys}"));
        model
            .faults
            .iter()
            .map(|fault| fault.noticed.map(|time| (time - Time::ZERO).as_ps() / 1_000_000))
            .collect()
    };
    assert_eq!(noticed(""), [Some(100)]);
    assert_eq!(noticed("noticed = \"30 us\""), [Some(130)]);
    assert_eq!(noticed("noticed = \"never\""), [None]);
    assert_eq!(noticed("noticed = \"30 us\"\nup = \"131 us\""), [Some(130), Some(161)]);
    assert_eq!(noticed("noticed = \"30 us\"\nup = \"130 us\""), [None, None]);
    assert_eq!(noticed("up = \"130 us\""), [Some(100), Some(130)]);
}

#[test]
fn a_link_may_fail_again_once_routing_has_noticed_that_it_is_up() {
    let again = |down: &str| {
        let one = "link = [\"leaf0\", \"spine0\"]\nup = \"200 us\"\nnoticed = \"30 us\"\n";
        let text = text(&format!("{one}[[fault]]\nswitch = \"spine0\"\ndown = \"{down}\"\n"));
        let read = Scenario::parse(&text, "failures", Path::new("."), &Overrides::default());
        read.map(|scenario| scenario.model.faults.len()).map_err(|error| error.to_string())
    };
    let refused = again("230 us").unwrap_err();
    assert!(
        refused.contains("fault.1.down = \"230 us\": the link is down at that time already"),
        "{refused}"
    );
    assert_eq!(
        again("231 us"),
        Ok(8),
        "two changes of each direction, and four ports of the switch that fail"
    );
}

#[test]
fn a_switch_fails_with_all_its_links_in_both_directions() {
    let model = read("switch = \"spine1\"\n");
    let spine = model.topology.node("spine1").unwrap();
    let mut expected: Vec<PortId> =
        model.topology.ports_of(spine).iter().flat_map(|&port| [port, port.reverse()]).collect();
    expected.sort_unstable();
    assert_eq!(model.faults.iter().map(|fault| fault.port).collect::<Vec<_>>(), expected);
    assert_eq!(expected.len(), 4);
    let results = run(&model);
    let crossed = |ports: &[PortId]| ports.iter().map(|&port| sent(&results, port)).sum::<u64>();
    let other = model.topology.node("spine0").unwrap();
    assert!(crossed(model.topology.ports_of(other)) > crossed(model.topology.ports_of(spine)));
}
