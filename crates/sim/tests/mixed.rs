mod common;

use clearway_proto::AnyTransport;
use clearway_proto::port::MarkAt;
use clearway_sim::Results;
use clearway_sim::model::*;
use clearway_topology::{Dumbbell, NodeId};
use clearway_units::{Bytes, Rate, Span, Time};
use common::*;

const FRAME: u64 = 1538;

struct Share {
    one: f64,
    two: f64,
    jain: f64,
    jain1: f64,
    jain2: f64,
    qmean: f64,
    qmax: u64,
    drops: u64,
    util: f64,
}

fn jain(x: &[f64]) -> f64 {
    let (s, q) = x.iter().fold((0.0, 0.0), |(s, q), x| (s + x, q + x * x));
    s * s / (x.len() as f64 * q)
}

fn mix(
    first: &AnyTransport,
    second: &AnyTransport,
    n: u32,
    buffer: u64,
    ms: u64,
    same_end: bool,
) -> (Share, Results) {
    let rate = Rate::gbps(10);
    let delay = Span::from_us(5);
    let topology =
        Dumbbell { pairs: n, rate, delay, bottleneck_rate: rate, bottleneck_delay: delay }.build().unwrap();
    let mut model = network_for(first, topology);
    model.seed = std::env::var("SEED").map_or(1, |s| s.parse().unwrap());
    model.switch.classes[0].marking = Some(Marking {
        threshold: Threshold::Fixed(Amount { bytes: Bytes::MAX, packets: 100 }),
        at: MarkAt::Enqueue,
    });
    model.switch.classes[0].limit = Amount { bytes: Bytes::new(buffer), packets: u32::MAX };
    let list = |from: u32, to: u32| {
        (from..to)
            .map(|i| Flow {
                start: Time::ZERO + Span::from_us(7 * (i - from) as u64),
                src: NodeId(i),
                dst: NodeId(n + i),
                size: None,
                stop: None,
            })
            .collect::<Vec<_>>()
    };
    add(&mut model, first, list(0, n / 2));
    add(&mut model, second, list(n / 2, n));
    let _ = same_end;
    model.stop = Some(Time::ZERO + Span::from_ms(2 * ms));
    for part in [0, 1] {
        model.samples.push(Sample {
            name: format!("t{part}"),
            every: Span::from_ms(ms),
            what: Probe::Throughput(part),
        });
    }
    let r = run(&model);
    let v = r.samples.f64s("value");
    let names = r.samples.column("series");
    let _ = names;
    let half = v.len() / 2;
    let last = &v[half..];
    let (a, b) = last.split_at((n / 2) as usize);
    let (sa, sb) = (a.iter().sum::<f64>() / 1e9, b.iter().sum::<f64>() / 1e9);
    let qmax = *r.ports.u64s("queue_max_bytes").iter().max().unwrap();
    let qmean = r.ports.f64s("queue_mean_bytes").iter().copied().fold(0.0, f64::max);
    let drops = r.ports.u64s("drops_buffer").iter().sum::<u64>();
    (
        Share {
            one: sa,
            two: sb,
            jain: jain(last),
            jain1: jain(a),
            jain2: jain(b),
            qmean,
            qmax,
            drops,
            util: (sa + sb) / 10.0 * 1538.0 / 1460.0,
        },
        r,
    )
}

#[test]
fn explore() {
    let names = std::env::var("FIRST").unwrap_or("expresspass,ec4".into());
    let ms = std::env::var("MS").map_or(100, |s| s.parse().unwrap());
    let ns = std::env::var("NS").unwrap_or("2,4,8,16,32,64".into());
    let second = transport(&std::env::var("SECOND").unwrap_or("dctcp".into()));
    for name in names.split(',') {
        for n in ns.split(',') {
            let n: u32 = n.parse().unwrap();
            let mut t = transport(name);
            for set in std::env::var("SET").unwrap_or_default().split(',').filter(|s| !s.is_empty()) {
                let (k, v) = set.split_once('=').unwrap();
                t.set(k, v).unwrap();
            }
            let buffer = std::env::var("BUF").map_or(250 * FRAME, |s| s.parse().unwrap());
            let (s, _) = mix(&t, &second, n, buffer, ms, false);
            println!(
                "{name:12} n={n:3} {:.2}/{:.2} ratio {:.2} jain {:.3} ({:.3} {:.3}) util {:.3} q mean {:.0} max {} drops {}",
                s.one,
                s.two,
                s.one / s.two,
                s.jain,
                s.jain1,
                s.jain2,
                s.util,
                s.qmean,
                s.qmax,
                s.drops
            );
        }
    }
}
