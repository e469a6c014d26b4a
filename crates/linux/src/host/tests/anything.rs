//! Properties: whatever the network and an attacker do, each held packet gets one verdict in bounded time.

use super::network::*;
use crate::wire::{Control, Kind};
use clearway_units::Span;
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Step {
    Run(u64),
    Open {
        from: usize,
        to: usize,
        packets: u64,
    },
    Close {
        node: usize,
        rst: bool,
    },
    Restart(usize),
    Die(usize),
    /// A frame that someone recorded, sent again with one field changed.
    Forge {
        from: usize,
        at: usize,
        field: u8,
        value: u64,
        to: usize,
    },
    Noise(Vec<u8>, usize),
    Way {
        loss: f64,
        repeat: f64,
        spread: u64,
    },
    Jump(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (1u64..30_000).prop_map(Step::Run),
        4 => (0usize..3, 0usize..3, 0u64..400).prop_map(|(from, to, packets)| Step::Open { from, to, packets }),
        2 => (0usize..3, any::<bool>()).prop_map(|(node, rst)| Step::Close { node, rst }),
        1 => (0usize..3).prop_map(Step::Restart),
        1 => (0usize..3).prop_map(Step::Die),
        4 => (0usize..3, any::<usize>(), 0u8..8, any::<u64>(), 0usize..3)
            .prop_map(|(from, at, field, value, to)| Step::Forge { from, at, field, value, to }),
        1 => (prop::collection::vec(any::<u8>(), 0..80), 0usize..3).prop_map(|(bytes, to)| Step::Noise(bytes, to)),
        2 => (0f64..0.5, 0f64..0.3, 0u64..2000)
            .prop_map(|(loss, repeat, spread)| Step::Way { loss, repeat, spread }),
        1 => (1u64..5_000).prop_map(Step::Jump),
    ]
}

fn forged(control: Control, field: u8, value: u64) -> Control {
    let kinds = [Kind::Request, Kind::Stop, Kind::Accept, Kind::Stopped, Kind::Credit, Kind::Cnp];
    let mut control = control;
    match field {
        0 => control.session = value as u32,
        1 => control.cookie = value,
        2 => control.number = value,
        3 => control.value = value,
        4 => control.mtu = value as u16,
        5 => control.kind = kinds[value as usize % kinds.len()],
        6 => control.flow.source_port = value as u16,
        _ => {}
    }
    control
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]
    #[test]
    fn every_held_packet_gets_one_verdict_in_bounded_time(
        transport in prop::sample::select(vec!["expresspass", "ec4", "naive-credit"]),
        steps in prop::collection::vec(step(), 1..25),
    ) {
        let mut net = Net::of(3, transport, Way::GOOD);
        let mut port = 1000;
        let mut jumped = Span::ZERO;
        for step in steps {
            match step {
                Step::Run(span) => net.run_for(us(span)),
                Step::Open { from, to, packets } if from != to => {
                    port += 1;
                    net.open(from, to, port, packets);
                }
                Step::Open { .. } => {}
                Step::Close { node, rst } => {
                    for at in 0..net.nodes[node].sources.len() {
                        net.nodes[node].sources[at].left = 0;
                        let flow = net.nodes[node].sources[at].flow;
                        let to = node_of(flow.destination);
                        if rst {
                            net.cross(node, to, segment(flow, RST, 0));
                        } else {
                            net.hold(node, at, FIN | ACK, 0);
                        }
                    }
                }
                Step::Restart(node) => net.restart(node, transport, port.into()),
                Step::Die(node) => {
                    net.nodes[node].host = None;
                    net.input(node, |_, _, _| {});
                }
                Step::Forge { from, at, field, value, to } => {
                    let count = net.nodes[from].left.len();
                    if count > 0 {
                        let control = forged(net.nodes[from].left[at % count].1, field, value);
                        net.inject(to, &control.to_frame(mac(from), mac(to)));
                    }
                }
                Step::Noise(bytes, to) => net.inject(to, &bytes),
                Step::Way { loss, repeat, spread } => {
                    net.way = Way { loss, repeat, spread: us(spread), ..Way::GOOD };
                }
                Step::Jump(span) => {
                    net.now += ms(span);
                    jumped += ms(span);
                }
            }
            for node in &net.nodes {
                let Some(host) = &node.host else { continue };
                // `Net` checks that each verdict is for a packet that is held.
                prop_assert_eq!(host.counters.held_now, node.held.len() as u64);
            }
        }
        net.run_for(Span::from_secs(3));
        for node in &mut net.nodes {
            for source in &mut node.sources {
                source.left = 0;
            }
        }
        net.run_for(Span::from_secs(12));
        for node in &net.nodes {
            prop_assert!(node.held.is_empty(), "{} packets are forgotten", node.held.len());
            // A host leaves out all the time since its last input, when it finds that the machine stood still.
            let left_out = node.host.as_ref().map_or(Span::ZERO, |host| host.skipped);
            let bound = ms(1000) + jumped.max(left_out);
            prop_assert!(node.longest_hold <= bound, "{} is beyond {}", node.longest_hold, bound);
        }
        net.run_for(Span::from_secs(100));
        for node in &net.nodes {
            let Some(host) = &node.host else { continue };
            prop_assert_eq!((host.senders.len(), host.receivers.len()), (0, 0), "flows are never forgotten");
            let counters = &host.counters;
            prop_assert_eq!(counters.credits_received, counters.credits_used + counters.credits_wasted);
        }
    }
}

/// A host that is asked nothing for a microsecond before the machine stands still can't tell the two times apart.
#[test]
fn a_host_leaves_out_the_time_since_its_last_input_when_the_machine_stood_still() {
    let mut net = Net::of(2, "expresspass", Way::GOOD);
    net.open(0, 1, 1000, 2);
    net.nodes[1].host = None;
    net.run_for(us(1));
    net.now += ms(1050);
    net.run_for(Span::from_secs(1));
    assert_eq!(net.metric(0, "clock_jumps_total", ""), 1.0);
    assert!(net.host(0).skipped > ms(1050) && net.host(0).skipped < ms(1051));
}
