use super::super::reading::{Filter, Qdisc};
use super::*;
use clearway_units::Rate;

fn config(rate: Rate) -> Config {
    Config { ecn: Some(20), ..Config::new(vec![Port { device: "p1".into(), rate }]) }
}

fn class(id: u32, bps: u64, burst: u64, priority: u32) -> Class {
    let rate = bps / 8;
    // tc counts the bucket in whole microseconds of 15.625 ticks.
    let ticks = (burst * 1_000_000 / rate) * 15_625 / 1000;
    let bucket_ns = ticks * 64;
    Class { id, parent: LINK_CLASS, rate, ceil: rate, bucket_ns, priority, overhead: 24, mpu: 84 }
}

/// A port as tc sets it up.
fn reading(config: &Config) -> Reading {
    let htb = config.htb(&config.ports[0]);
    let qdisc = |handle, kind: &str, limit, default_class| Qdisc {
        handle,
        parent: 0,
        kind: kind.into(),
        limit,
        default_class,
        counters: Default::default(),
    };
    let rate = htb.rate.as_bps();
    Reading {
        qdiscs: vec![
            qdisc(0x0001_0000, "htb", None, Some(0x20)),
            qdisc(CREDIT_HANDLE, "pfifo", Some(8), None),
            qdisc(SIGNAL_HANDLE, "pfifo", Some(256), None),
            qdisc(DATA_HANDLE, "pfifo", Some(250), None),
        ],
        classes: vec![
            class(LINK_CLASS, rate, htb.burst, 0),
            class(CREDIT_CLASS, htb.credit_rate.as_bps(), htb.credit_burst, 0),
            Class { ceil: rate / 8, ..class(SIGNAL_CLASS, htb.signal_rate.as_bps(), htb.signal_burst, 0) },
            class(DATA_CLASS, rate, htb.burst, 1),
        ],
        filters: [(1, CREDIT_CLASS, (0x00ff_0000, 0x0009_0000, 0)), (2, SIGNAL_CLASS, (0, 0, 0))]
            .map(|(preference, class, key)| Filter {
                protocol: ETHERTYPE,
                preference,
                class,
                key: Some(key),
                program: None,
            })
            .into(),
        egress: vec![Filter {
            protocol: 3,
            preference: FILTER_PREFERENCE,
            class: 20,
            key: None,
            program: Some(7),
        }],
    }
}

fn deviations(rate: Rate) -> Vec<String> {
    let config = config(rate);
    compare(&config, &config.ports[0], &reading(&config)).iter().map(ToString::to_string).collect()
}

#[test]
fn at_100_mbps_the_kernel_only_rounds() {
    let config = config(Rate::mbps(100));
    let all = compare(&config, &config.ports[0], &reading(&config));
    assert!(all.iter().all(|deviation| deviation.is_rounding), "{all:?}");
    let (enforced, exact) = credit_rates(&config, &config.ports[0], &reading(&config)).unwrap();
    // A credit takes 129,760 ns, as it shall.
    assert!((enforced - exact).abs() < 1e-6 && (exact - 7706.535).abs() < 0.001, "{enforced} {exact}");
}

#[test]
fn at_100_gbps_whole_nanoseconds_make_the_credit_rate_half_a_percent_too_high() {
    // A credit takes 129.76 ns, counted as 129.
    let all = deviations(Rate::gbps(100));
    let said = all.iter().find(|line| line.contains("the rate of credits")).unwrap();
    assert_eq!(said, "p1: the rate of credits is 5209302326 bit/s instead of 5178791615 bit/s");
}

#[test]
fn whatever_somebody_changed_is_said() {
    let config = config(Rate::mbps(100));
    let changed = |change: &dyn Fn(&mut Reading)| -> Vec<&'static str> {
        let mut reading = reading(&config);
        change(&mut reading);
        let all = compare(&config, &config.ports[0], &reading);
        all.iter().filter(|deviation| !deviation.is_rounding).map(|deviation| deviation.what).collect()
    };
    assert_eq!(changed(&|_| {}), [""; 0]);
    assert_eq!(changed(&|reading| reading.qdiscs[1].limit = Some(9)), ["the limit of waiting credits"]);
    assert_eq!(changed(&|reading| reading.classes[1].ceil *= 2), ["the rate of credits"]);
    assert_eq!(changed(&|reading| reading.classes[1].overhead = 0), ["the overhead of a frame"]);
    assert_eq!(changed(&|reading| reading.classes[1].priority = 1), ["the class that goes first"]);
    assert_eq!(changed(&|reading| reading.qdiscs[2].limit = Some(9)), ["the limit of waiting signals"]);
    assert_eq!(changed(&|reading| reading.classes[2].ceil /= 2), ["the rate of signals"]);
    assert_eq!(changed(&|reading| reading.classes[2].priority = 1), ["the class that goes first"]);
    assert_eq!(
        changed(&|reading| reading.filters.clear()),
        ["the filter of credits", "the filter of signals"]
    );
    assert_eq!(changed(&|reading| reading.filters.truncate(1)), ["the filter of signals"]);
    assert_eq!(changed(&|reading| reading.egress[0].class = 21), ["the marking threshold"]);
    assert_eq!(changed(&|reading| reading.egress.clear()), ["the marking threshold"]);
    assert!(changed(&|reading| *reading = Reading::default()).contains(&"the qdisc at the root"));
}
