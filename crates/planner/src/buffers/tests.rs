use super::*;
use clearway_topology::{Clos3, FatTree, Star};

/// Builds the 32-ary fat tree of Table 1, which has 16 cores, so that each aggregation switch has one uplink.
fn table1(rate: Rate, core_rate: Rate) -> Topology {
    let (delay, core_delay) = (Span::from_us(1), Span::from_us(5));
    Clos3 {
        pods: 32,
        tors_per_pod: 16,
        aggs_per_pod: 16,
        hosts_per_tor: 16,
        cores: 16,
        uplinks_per_agg: 1,
        rate,
        delay,
        agg_rate: rate,
        agg_delay: delay,
        core_rate,
        core_delay,
    }
    .build()
    .unwrap()
}

/// Returns the largest bound, in KB, of the ports from one tier to another.
fn most(topology: &Topology, bounds: &[Option<Bound>], from: u8, to: u8) -> f64 {
    let tier = |node: clearway_topology::NodeId| topology.nodes()[node.index()].tier;
    let of = |(port, bound): (&clearway_topology::Port, &Option<Bound>)| {
        bound.filter(|_| tier(port.from) == from && tier(port.to) == to).map(|bound| bound.bytes() / 1e3)
    };
    topology.ports().iter().zip(bounds).filter_map(of).fold(0.0, f64::max)
}

#[test]
fn both_readings_give_the_values_that_e17_12_worked_out_for_table_1() {
    for (rate, core, least, greatest) in [
        (10, 40, [85.8, 19.4, 142.3], [505.7, 19.4, 426.4]),
        (40, 100, [199.4, 38.5, 141.6], [989.4, 38.5, 462.6]),
    ] {
        let network = table1(Rate::gbps(rate), Rate::gbps(core));
        let feeds = Feeds::new(&network).unwrap();
        for (reading, expected) in [(Reading::Least, least), (Reading::Greatest, greatest)] {
            let found = bounds_of(&network, &feeds, &Parameters::PAPER, reading);
            let ports = [(1, 0), (1, 2), (3, 2)].map(|(from, to)| most(&network, &found, from, to));
            for (is, should) in ports.iter().zip(expected) {
                assert!((is - should).abs() < 0.06, "{reading:?} {rate}/{core}: {ports:?} {expected:?}");
            }
        }
    }
}

#[test]
fn the_bound_of_a_star_is_one_credit_queue_and_the_spread_of_its_hosts() {
    let star = Star { hosts: 3, rate: Rate::gbps(10), delay: Span::from_us(2) }.build().unwrap();
    let parameters = Parameters { flows: 0, ..Parameters::PAPER };
    let bound = |reading| most(&star, &bounds(&star, &parameters, reading).unwrap(), 1, 0) * 1e3;
    // Eight pairs of credit and frame, and the data of 5.1 us.
    assert!((bound(Reading::Least) - (8.0 * 1622.0 + 6375.0)).abs() < 0.1);
    assert!((bound(Reading::Greatest) - bound(Reading::Least)).abs() < 1e-6, "hosts' queues don't count");
    // At a host's NIC 2 frames, 5.1 us and the credits that go first make 7 frames, which round robin stretches to 16.
    let share = 1538.0 / 1622.0;
    let waits = 16.0 * 1538.0 / share - 1538.0;
    let frames = 1538.0 + (1538.0 - 84.0);
    let expected = share * (8.0 * 1622.0 + 6375.0 + waits + frames) + 2.0 * 1538.0 + 168.0 + 84.0;
    assert!((bound(Reading::Safe) - expected).abs() < 0.1, "{} {expected}", bound(Reading::Safe));
}

#[test]
fn the_terms_of_a_breakdown_add_up_and_none_is_negative_in_a_fat_tree() {
    let tree = FatTree { k: 4, ..FatTree::default() }.build().unwrap();
    for reading in [Reading::Least, Reading::Greatest, Reading::Safe] {
        for bound in bounds(&tree, &Parameters::PAPER, reading).unwrap().into_iter().flatten() {
            let Terms { credit_queue, path, host, data_queue, frames } = bound.spread;
            for term in [credit_queue, path, host, data_queue, frames] {
                assert!(term > -1e-15, "{reading:?} {bound:?}");
            }
            assert!(bound.spread.total() >= host, "{bound:?}");
        }
    }
}

#[test]
fn no_bound_shrinks_when_an_input_grows() {
    let tree = FatTree { k: 4, ..FatTree::default() }.build().unwrap();
    let feeds = Feeds::new(&tree).unwrap();
    let base = Parameters { flows: 1, busy: Span::from_ms(1), ..Parameters::PAPER };
    let grown = [
        Parameters { credit_queue: 9, ..base },
        Parameters { host_delay: (Span::ZERO, Span::from_us(6)), ..base },
        Parameters { flows: 2, ..base },
        Parameters { control_frame: 132, ..base },
        Parameters { leftover: 6152, pairs: 1, ..base },
        Parameters { credit_sizes: (76, 92), ..base },
    ];
    let small = bounds_of(&tree, &feeds, &base, Reading::Safe);
    for parameters in grown {
        for (small, large) in small.iter().zip(bounds_of(&tree, &feeds, &parameters, Reading::Safe)) {
            let bytes = |bound: &Option<Bound>| bound.map_or(0.0, |bound| bound.bytes());
            assert!(bytes(small) <= bytes(&large), "{parameters:?}");
        }
        let large = bounds_of(&tree, &feeds, &parameters, Reading::Safe);
        assert!(most(&tree, &small, 1, 2) < most(&tree, &large, 1, 2), "{parameters:?}");
        assert!(most(&tree, &small, 1, 0) < most(&tree, &large, 1, 0), "{parameters:?}");
    }
    // A switch's delay is equal on all ways through it, so it matters only where ways differ in their number of
    // switches.
    let slow = Parameters { switch_delay: Span::from_us(1), ..base };
    let found = bounds_of(&tree, &feeds, &slow, Reading::Least);
    assert_eq!(
        most(&tree, &found, 1, 2),
        most(&tree, &bounds_of(&tree, &feeds, &base, Reading::Least), 1, 2)
    );
    assert!(most(&tree, &found, 1, 0) > most(&tree, &bounds_of(&tree, &feeds, &base, Reading::Least), 1, 0));
}

#[test]
fn parameters_without_a_bound_are_refused_with_the_reason() {
    let refused = |parameters: Parameters| check(&parameters).unwrap_err();
    let base = Parameters::PAPER;
    assert!(refused(Parameters { credit_sizes: (60, 92), ..base }).contains("exceed the link"));
    assert!(refused(Parameters { credit_sizes: (92, 84), ..base }).contains("smaller one first"));
    assert!(refused(Parameters { credit_queue: 0, ..base }).contains("1 or more"));
    let shaping = CreditShaping { bucket: 80, ..CreditShaping::PAPER };
    assert!(refused(Parameters { shaping, ..base }).contains("84 B or more"));
    assert!(check(&base).is_ok());
}

#[test]
fn what_credits_leave_over_adds_its_bytes_at_each_port_and_the_wait_for_them_at_the_ports_before() {
    let star = Star { hosts: 8, rate: Rate::mbps(100), delay: Span::from_us(2) }.build().unwrap();
    let at = |leftover, pairs| {
        let parameters = Parameters { leftover, pairs, ..Parameters::PAPER };
        most(&star, &bounds(&star, &parameters, Reading::Safe).unwrap(), 1, 0) * 1e3
    };
    // The port of a host's NIC, which feeds the switch, waits for the small packets of as many pairs too.
    for (leftover, pairs) in [(1_538, 1), (6_152, 7)] {
        let bytes = f64::from(leftover * pairs);
        assert!((at(leftover, pairs) - at(0, 0) - 2.0 * bytes).abs() < 1e-6, "{leftover} {pairs}");
    }
    let parameters = Parameters { leftover: 6_152, pairs: 7, ..Parameters::PAPER };
    for reading in [Reading::Least, Reading::Greatest] {
        assert_eq!(
            bounds(&star, &parameters, reading),
            bounds(&star, &Parameters::PAPER, reading),
            "the paper has none"
        );
    }
}

#[test]
fn credits_in_datagrams_take_132_of_1670_bytes_and_a_bucket_of_as_many_credits() {
    let udp = Parameters::PAPER.in_datagrams();
    let CreditShaping { credit, data, bucket, .. } = udp.shaping;
    assert_eq!((credit, data, bucket), (132, 1538, 264));
    assert_eq!((udp.credit_sizes, udp.control_frame), ((132, 132), 132));
    // A bucket that is no whole number of credits keeps its share of one.
    let shaping = CreditShaping { bucket: 210, ..CreditShaping::PAPER };
    assert_eq!(Parameters { shaping, ..Parameters::PAPER }.in_datagrams().shaping.bucket, 330);
    assert!(check(&udp).is_ok());
}
