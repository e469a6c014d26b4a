//! Whatever comes, each held packet gets one verdict, acknowledgements of a flow keep their order, and no packet is held
//! for longer than the limit.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// One step: the time since the step before, and what happens then.
#[derive(Clone, Copy, Debug)]
struct Step {
    wait: u64,
    flow: u16,
    what: u8,
    number: u32,
    flags: u8,
    timestamps: (u32, u32),
}

fn any_step() -> impl Strategy<Value = Step> {
    let what = prop_oneof![4 => Just(0u8), 4 => Just(1), 1 => 2u8..8];
    let flags = prop_oneof![8 => Just(ACK), 1 => any::<u8>()];
    let number = prop_oneof![8 => 0u32..40, 1 => any::<u32>()];
    (0u64..3000, 0u16..9, what, number, flags, (0u32..8, 0u32..8)).prop_map(
        |(wait, flow, what, number, flags, timestamps)| Step { wait, flow, what, number, flags, timestamps },
    )
}

fn any_settings() -> impl Strategy<Value = Vec<(&'static str, &'static str)>> {
    let choice = |name: &'static str, values: &'static [&'static str]| {
        prop::sample::select(values).prop_map(move |value| (name, value))
    };
    let settings = [
        choice("buffer", &["1 KB", "6 KB", "80 KB"]),
        choice("correction", &["answers", "throughput", "line-rate"]),
        choice("discipline", &["fifo", "round-robin"]),
        choice("blocking", &["true", "false"]),
        choice("units", &["payload", "wire"]),
        choice("hold_requests", &["false", "true"]),
        choice("hold_limit", &["1 ms", "20 ms"]),
        choice("max_held", &["1", "5", "100"]),
        choice("max_flows", &["3", "100"]),
        choice("max_unanswered", &["1", "100"]),
        choice("idle_timeout", &["10 ms", "300 s"]),
    ];
    settings.to_vec()
}

proptest! {
    #[test]
    fn each_packet_gets_one_verdict_in_the_order_of_its_flow_and_in_time(
        settings in any_settings(),
        steps in prop::collection::vec(any_step(), 1..300),
    ) {
        let mut bench = Bench::new(&settings);
        let limit = Span::from_ms(if settings.contains(&("hold_limit", "1 ms")) { 1 } else { 20 });
        let max_held = bench.pac.max_held;
        // The packets without a verdict, with their flows and times, and if they only acknowledge.
        let mut waiting: BTreeMap<u32, (u16, Time, bool)> = BTreeMap::new();
        let mut now = Time::ZERO;
        for step in &steps {
            let until = now + Span::from_us(step.wait);
            while bench.pac.next_timeout() <= until {
                now = bench.pac.next_timeout().max(now);
                let verdicts = bench.timeout(now);
                check(&mut waiting, &verdicts, now, limit)?;
                prop_assert!(bench.pac.next_timeout() > now, "the timer does not spin");
            }
            now = until;
            let payload = if step.what % 2 == 0 { MSS as u16 } else { 0 };
            let (value, echo) = step.timestamps;
            let stamp = |segment| with_echo(segment, value, echo);
            let offset = step.number.wrapping_mul(MSS / 2);
            let verdicts = match step.what {
                0 | 2 => bench.incoming(stamp(from_peer(step.flow, step.flags, offset, payload)), now),
                3 => bench.outgoing(stamp(to_peer(step.flow, step.flags, offset)), now),
                4 => bench.timeout(now),
                _ => {
                    let payload = if step.what == 5 { 100 } else { 0 };
                    let segment = stamp(Segment { payload, ..to_peer(step.flow, step.flags, offset) });
                    waiting.insert(bench.next, (step.flow, now, segment.is_pure_ack()));
                    bench.held(segment, now)
                }
            };
            check(&mut waiting, &verdicts, now, limit)?;
            prop_assert_eq!(bench.pac.held(), waiting.len());
            prop_assert!(bench.pac.held() <= max_held);
            let held: u32 = (0..bench.pac.flows.slots())
                .filter_map(|number| bench.pac.flows.get_mut(number).map(|flow| flow.held))
                .sum();
            prop_assert_eq!(held as usize, waiting.len());
        }
        let verdicts = bench.with(|pac, actions| pac.release_all(now, actions));
        prop_assert!(verdicts.iter().all(|(_, verdict)| *verdict == Verdict::Accept));
        check(&mut waiting, &verdicts, now, limit)?;
        prop_assert!(waiting.is_empty(), "packets without a verdict: {:?}", waiting);
        prop_assert_eq!((bench.pac.flows(), bench.pac.opening, bench.pac.unanswered), (0, 0, 0));
        if settings.contains(&("correction", "answers")) {
            prop_assert_eq!(bench.pac.in_flight(), 0, "flows that ended have nothing in flight");
        }
    }
}

/// Takes the packets with a verdict out of those that wait.
fn check(
    waiting: &mut BTreeMap<u32, (u16, Time, bool)>,
    verdicts: &[(u32, Verdict)],
    now: Time,
    limit: Span,
) -> Result<(), TestCaseError> {
    for (id, verdict) in verdicts {
        let Some((flow, since, acks)) = waiting.remove(id) else {
            return Err(TestCaseError::fail(format!("a second verdict on packet {id}, or one on none")));
        };
        prop_assert!(now.saturating_since(since) <= limit, "packet {} was held for too long", id);
        if acks && *verdict == Verdict::Accept {
            let first = waiting.iter().find(|(_, (other, _, acks))| *other == flow && *acks);
            prop_assert!(first.is_none_or(|(first, _)| first > id), "{} overtook {:?}", id, first);
        }
    }
    Ok(())
}
