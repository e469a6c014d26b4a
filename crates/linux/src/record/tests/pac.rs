//! Recordings of PAC.

use super::*;
use crate::pac::{Pac, PacEnv, PacParams};
use crate::wire::Timestamps;

const MSS: u16 = 1448;
const SYN_ACK: u8 = 18;
const ACK: u8 = 16;
const FIN_ACK: u8 = 17;

fn start(settings: &[(&str, &str)]) -> Start {
    let mut params = Box::<PacParams>::default();
    settings.iter().for_each(|(name, value)| params.set(name, *value).unwrap());
    Start::Pac { params, env: PacEnv { line_rate: Rate::mbps(100), mtu: 1500 } }
}

/// Records connections that open, bring data, are answered and end, in front of a small port.
fn recorded(start: &Start, connections: u16) -> Vec<u8> {
    let Start::Pac { params, env } = start else { panic!("this is PAC") };
    let mut pac = Recorder::new(Pac::new(params, *env), start, Vec::new());
    let (mut actions, mut ids) = (Actions::default(), 0..);
    let link = Link { local: MACS[0], peer: MACS[1] };
    let at = |step: u32| Time::ZERO + Span::from_us(200 * u64::from(step));
    let times = |value: u32, echo: u32| Some(Timestamps { value, echo });
    for (step, connection) in (0..40u32).flat_map(|round| (0..connections).map(move |c| (round, c))) {
        let flow = FlowKey { source_port: 2000 + connection, ..FLOW };
        let now = at(step);
        let data = Segment { seq: 1 + step * u32::from(MSS), ..segment(flow, ACK, MSS) };
        let ack = Segment { ack: data.seq + u32::from(MSS), seq: 1, ..segment(flow.reversed(), ACK, 0) };
        let mut hold = |pac: &mut Recorder<Pac, Vec<u8>>, segment: Segment, actions: &mut Actions| {
            let id = HeldId(ids.next().expect("numbers never end"));
            pac.handle_held(id, &segment, now, actions);
        };
        match step {
            0 => hold(&mut pac, Segment { flags: TcpFlags(SYN_ACK), ack: 1, seq: 0, ..ack }, &mut actions),
            39 => {
                let end = Segment { flags: TcpFlags(FIN_ACK), ..data };
                pac.handle_segment(Direction::Incoming, &end, link, now, &mut actions);
                hold(&mut pac, Segment { ack: ack.ack + 1, ..ack }, &mut actions);
            }
            step => {
                let data = Segment { timestamps: times(step, step / 2), ..data };
                pac.handle_segment(Direction::Incoming, &data, link, now, &mut actions);
                hold(&mut pac, Segment { timestamps: times(step / 2, step), ..ack }, &mut actions);
            }
        }
        if pac.next_timeout() <= now {
            pac.handle_timeout(now, &mut actions);
        }
    }
    pac.release_all(at(50), &mut actions);
    pac.file().expect("memory takes everything").clone()
}

#[test]
fn recorded_acknowledgements_replayed_in_a_new_pac_leave_at_the_same_inputs() {
    let bytes = recorded(&start(&[("buffer", "20 KB")]), 4);
    let summary = replay(Recording::open(bytes.as_slice()).unwrap()).unwrap().unwrap();
    assert!(!summary.is_cut_off);
    assert_eq!(summary.verdicts, 4 * 40, "each packet has one verdict");
    assert!(summary.inputs > 2 * 4 * 38);
    assert_eq!(Recording::open(bytes.as_slice()).unwrap().start().to_string(), "pac, 100 Mbps");
}

#[test]
fn a_pac_with_another_threshold_does_something_else_than_the_recording() {
    let bytes = recorded(&start(&[("buffer", "20 KB")]), 4);
    let (small, large) = (&b"buffer = \"20 KB\""[..], &b"buffer = \"90 KB\""[..]);
    let at = bytes.windows(small.len()).position(|window| window == small).expect("the parameter is there");
    let mut other = bytes;
    other[at..at + large.len()].copy_from_slice(large);
    let difference = replay(Recording::open(other.as_slice()).unwrap()).unwrap().unwrap_err();
    assert_eq!(difference.entry, 2, "the second first window fits too: {difference}");
}

#[test]
fn the_beginning_of_a_recording_of_pac_keeps_every_parameter_and_says_what_is_wrong_with_one() {
    let start = start(&[("max_held", "77"), ("hold_limit", "123 ms"), ("floor", "0.5 KB")]);
    let bytes = start.to_bytes();
    let Start::Pac { params, env } = Recording::open(bytes.as_slice()).unwrap().start().clone() else {
        panic!("PAC was recorded");
    };
    let Start::Pac { params: before, env: at } = start else { panic!("this is PAC") };
    assert_eq!((params.write(), env), (before.write(), at));
    let mut wrong = bytes;
    let name = b"max_held = 77";
    let at = wrong.windows(name.len()).position(|window| window == name).expect("the parameter is there");
    wrong[at..at + 8].copy_from_slice(b"max_hold");
    let message = Recording::open(wrong.as_slice()).map(|_| ()).unwrap_err().to_string();
    assert!(message.contains("max_hold"), "{message}");
}
