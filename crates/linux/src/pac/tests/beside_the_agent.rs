//! The same packets through [`Pac`] and through the simulator's agent give the same releases at the same times.

use super::*;
use clearway_proto::pac::PacAgent;
use clearway_proto::{Agent, Extra, Flags, Header, Packet};
use proptest::prelude::*;
use std::collections::{BTreeMap, VecDeque};

/// What happens to a flow.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// A segment arrives, by its distance from the highest one so far; it answers one of the latest releases.
    Data { behind: u32, marked: bool, answers: usize },
    /// The receiver acknowledges everything but a number of the last segments.
    Ack { short: u32, echo: bool },
    /// A SYN-ACK leaves.
    SynAck,
    /// The FIN arrives, and is acknowledged.
    Last,
}

fn any_event() -> impl Strategy<Value = Event> {
    prop_oneof![
        6 => (prop_oneof![6 => Just(0u32), 1 => 1u32..5], prop::bool::weighted(0.2), 0usize..4)
            .prop_map(|(behind, marked, answers)| Event::Data { behind, marked, answers }),
        6 => (prop_oneof![6 => Just(0u32), 1 => 1u32..4], any::<bool>())
            .prop_map(|(short, echo)| Event::Ack { short, echo }),
        1 => Just(Event::SynAck),
        1 => Just(Event::Last),
    ]
}

/// A flow of the test: the next segment, and the times of the latest releases with their timestamps.
#[derive(Default)]
struct Model {
    next: u32,
    releases: VecDeque<(u32, Time)>,
}

proptest! {
    #[test]
    fn pac_on_linux_releases_what_the_simulators_agent_releases(
        buffer in prop::sample::select(&["3 KB", "20 KB", "80 KB"][..]),
        correction in prop::sample::select(&["answers", "throughput", "line-rate"][..]),
        steps in prop::collection::vec((0u64..2000, 0u16..6, any_event()), 1..200),
    ) {
        let settings = [("buffer", buffer), ("correction", correction), ("hold_limit", "30 ms")];
        let mut bench = Bench::new(&settings);
        let mut params = PacParams::default();
        settings.iter().for_each(|(name, value)| params.set(name, *value).unwrap());
        let env = PacEnv { line_rate: Rate::mbps(100), mtu: 1500 };
        let mut agent = PacAgent::new(&params.bounded(), &env.agent());
        let mut models: BTreeMap<u16, Model> = BTreeMap::new();
        // Each packet that was handed over, by its number: its flow and its timestamp.
        let mut stamps: BTreeMap<u32, (u16, u32)> = BTreeMap::new();
        let mut now = us(1000);
        for (wait, flow, event) in steps {
            let until = now + Span::from_us(wait);
            loop {
                let due = agent.next_timeout();
                prop_assert!(due == bench.pac.next_timeout() || bench.pac.next_timeout() == bench.pac.aging);
                if due > until {
                    break;
                }
                now = due.max(now);
                agent.handle_timeout(now);
                let released = drain(&mut agent, now);
                let verdicts = bench.timeout(now);
                compare(&released, &verdicts, &stamps, &mut models, now)?;
            }
            now = until;
            let model = models.entry(flow).or_default();
            let id = bench.next;
            // Timestamps say which packet is answered, so that both know the same.
            let stamp = id + 1;
            let (passed, verdicts) = match event {
                Event::Data { behind, marked, answers } => {
                    let number = model.next.saturating_sub(behind);
                    model.next = model.next.max(number + 1);
                    let (echo, at) = model.releases.get(answers).copied().unwrap_or((0, Time::ZERO));
                    if echo > 0 {
                        // No later data echoes an older timestamp.
                        model.releases.drain(..answers);
                    }
                    let header = Header::Data { offset: u64::from(number * MSS), echo: at };
                    let packet = Packet::data(header, MSS, MSS + 90, now)
                        .with_flags(Flags::NONE.with_if(marked, Flags::ECN_CE));
                    let passed = agent.handle_incoming(u32::from(flow), packet, &Extra::None, now);
                    prop_assert!(passed.is_some());
                    let ecn = if marked { Ecn::Marked } else { Ecn::Capable0 };
                    (None, bench.incoming(with_echo(Segment { ecn, ..data(flow, number) }, 0, echo), now))
                }
                Event::Ack { .. } | Event::Last if model.next == 0 => continue,
                Event::Ack { short, echo } => {
                    let number = model.next.saturating_sub(short);
                    stamps.insert(id, (flow, stamp));
                    let flags = Flags::NONE.with_if(echo, Flags::ECN_ECHO);
                    let segment = Segment { ecn_echo: echo, ..with_echo(ack(flow, number), stamp, 0) };
                    let packet = acknowledgement(number, id).with_flags(flags);
                    let passed = agent.handle_outgoing(u32::from(flow), packet, &Extra::None, now);
                    (passed, bench.held(segment, now))
                }
                Event::SynAck if model.next > 0 => continue,
                Event::SynAck => {
                    stamps.insert(id, (flow, stamp));
                    let header = Header::SynAck { window: id, rate: Rate::ZERO, echo: Time::ZERO };
                    let packet = Packet::control(header, 84, now);
                    let passed = agent.handle_outgoing(u32::from(flow), packet, &Extra::None, now);
                    (passed, bench.held(with_echo(syn_ack(flow), stamp, 0), now))
                }
                Event::Last => {
                    let number = model.next;
                    stamps.insert(id, (flow, stamp));
                    let packet = acknowledgement(number, id).with_flags(Flags::LAST);
                    let passed = agent.handle_outgoing(u32::from(flow), packet, &Extra::None, now);
                    let mut verdicts = bench.incoming(from_peer(flow, ACK | FIN, number * MSS, 0), now);
                    verdicts.extend(bench.held(to_peer(flow, ACK, number * MSS + 1), now));
                    models.remove(&flow);
                    (passed, verdicts)
                }
            };
            let mut released: Vec<u32> = passed.iter().map(number_of).collect();
            released.extend(drain(&mut agent, now));
            compare(&released, &verdicts, &stamps, &mut models, now)?;
            prop_assert_eq!(agent.controller().in_flight(), bench.pac.in_flight());
            prop_assert_eq!(agent.stats().held, bench.pac.held() as u64);
            prop_assert_eq!(agent.controller().threshold(), bench.pac.controller.threshold());
        }
    }
}

/// Returns an acknowledgement that carries the number of its packet in its window.
fn acknowledgement(segments: u32, id: u32) -> Packet {
    let header =
        Header::Ack { ack: u64::from(segments * MSS), window: id, rate: Rate::ZERO, echo: Time::ZERO };
    Packet::control(header, 84, Time::ZERO)
}

fn number_of(packet: &Packet) -> u32 {
    match packet.header {
        Header::Ack { window, .. } | Header::SynAck { window, .. } => window,
        _ => panic!("an agent releases only acknowledgements"),
    }
}

fn drain(agent: &mut PacAgent, now: Time) -> Vec<u32> {
    std::iter::from_fn(|| agent.poll_transmit(now)).map(|sent| number_of(&sent.packet)).collect()
}

/// Compares the releases of the agent with the verdicts, and records their times.
fn compare(
    released: &[u32],
    verdicts: &[(u32, Verdict)],
    stamps: &BTreeMap<u32, (u16, u32)>,
    models: &mut BTreeMap<u16, Model>,
    now: Time,
) -> Result<(), TestCaseError> {
    let accepted: Vec<u32> =
        verdicts.iter().filter(|(_, verdict)| *verdict == Verdict::Accept).map(|(id, _)| *id).collect();
    prop_assert_eq!(released, &accepted);
    for id in released {
        let (flow, stamp) = stamps[id];
        if let Some(model) = models.get_mut(&flow) {
            model.releases.push_back((stamp, now));
        }
    }
    Ok(())
}
