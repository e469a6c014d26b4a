//! The programs of `bpf/acks.bpf.c`, run by the kernel on packets that these tests make (`BPF_PROG_TEST_RUN`).
//!
//! They share their table and ring with the daemon's own side, as in service. Where nobody may load a program, the tests pass without
//! a run and say so.

mod anything;
mod egress;
mod ingress;
mod ring;

use super::*;
use crate::io::pass::hash::of_flow;
use crate::io::samples::{ETHERNET, Packet, fault, key};
use crate::wire::FlowKey;
use aya::programs::{TestRun, TestRunOptions};

/// The results of the programs: the packet goes on, or the kernel redirects it to no NIC.
const NEXT: i32 = -1;
const TAKEN_AWAY: i32 = 7;
/// The place of `mark` in `struct __sk_buff`, and the bytes of that which the kernel reads.
const MARK_AT: usize = 8;
const CONTEXT: usize = 168;

/// The programs, loaded, with the daemon's side of their table and ring.
struct Programs {
    loaded: Ebpf,
    acks: Acks,
    frames: Frames,
}

/// Runs a test on loaded programs with a connection over IPv4, and once more with one over IPv6.
fn on_both(test: impl Fn(&mut Programs, FlowKey)) {
    for flow in [key(false), key(true)] {
        let Some(mut programs) = Programs::load() else { return };
        test(&mut programs, flow);
    }
}

/// A pure acknowledgement that this host sends to the source of a flow.
fn ack(flow: FlowKey, number: u32) -> Packet {
    Packet::answer(flow, number, 500)
}

/// The place of a connection that brings data, which others may share.
fn place(flow: FlowKey) -> u32 {
    of_flow(&flow) >> 16
}

impl Programs {
    /// Loads the programs for a daemon that lives, and takes answers to a SYN. `None` if this process may not.
    fn load() -> Option<Programs> {
        let mut loaded = match Ebpf::load(OBJECT) {
            Ok(loaded) => loaded,
            // Root of a container may not load a program either, as a rule.
            Err(error) if format!("{error:?}").contains("PermissionDenied") => {
                eprintln!("the programs are not run, since this process may not load them: {error}");
                return None;
            }
            Err(error) => panic!("the kernel does not take the programs: {error:?}"),
        };
        for (name, _) in PROGRAMS {
            program(&mut loaded, name).expect("the kernel takes the program");
        }
        let takes = Takes { syn_acks: true, idle: Span::from_secs(60) };
        let acks = Acks::over(&mut loaded, takes, Vec::new()).expect("the maps are there");
        acks.live(u64::MAX);
        Some(Programs { loaded, acks, frames: Frames::default() })
    }

    fn table(&self) -> &Table {
        self.acks.shared.table()
    }

    /// Lets a frame come in, which goes on whatever it is.
    fn comes_in(&mut self, frame: &[u8]) -> Vec<Event> {
        let (result, after) = self.run("cw_acks_in", frame, 0).expect("the kernel runs the program");
        assert_eq!((result, &after[..]), (NEXT, frame), "what comes is not touched");
        self.events()
    }

    /// Lets data of a flow come, so that acknowledgements of that are taken.
    fn begin(&mut self, flow: FlowKey) {
        assert_eq!(self.comes_in(&Packet::data(flow, 0, 100).frame()).len(), 1);
    }

    /// Lets a frame go out. Returns true if it was taken, and what was told.
    fn goes_out(&mut self, frame: &[u8]) -> (bool, Vec<Event>) {
        let (result, after) = self.run("cw_acks_out", frame, 0).expect("the kernel runs the program");
        assert!(result == NEXT || result == TAKEN_AWAY, "{result}");
        assert_eq!(after, frame, "the program changes nothing");
        (result == TAKEN_AWAY, self.events())
    }

    fn events(&mut self) -> Vec<Event> {
        let mut events = Vec::new();
        self.acks.read(usize::MAX, &mut self.frames, |event| events.push(event));
        events
    }

    /// Runs a program on a frame with a mark, and returns its result and the frame behind it. `None` if the kernel takes no such frame.
    fn run(&self, name: &str, frame: &[u8], mark: u32) -> Option<(i32, Vec<u8>)> {
        let mut context = [0; CONTEXT];
        context[MARK_AT..MARK_AT + 4].copy_from_slice(&mark.to_ne_bytes());
        let mut out = vec![0; frame.len() + 64];
        let (data_in, ctx_in) = (Some(frame), Some(&context[..]));
        let options = TestRunOptions { data_in, data_out: Some(&mut out), ctx_in, ..TestRunOptions::new() };
        let Some(Program::SchedClassifier(program)) = self.loaded.program(name) else {
            panic!("the object has no program {name}");
        };
        let result = match program.test_run(options) {
            Ok(result) => result,
            // The kernel takes no frame that ends before the IP header that its type tells of.
            Err(error) if frame.len() < ETHERNET + 40 => {
                drop(error);
                return None;
            }
            Err(error) => panic!("the kernel does not run {name} on {} bytes: {error}", frame.len()),
        };
        out.truncate(result.data_size_out as usize);
        Some((result.return_value as i32, out))
    }
}

/// Returns the direction and the segment of the only event, which tells of a segment.
fn seen(events: &[Event]) -> (Direction, Segment) {
    match events {
        [Event::Seen(direction, segment, _)] => (*direction, *segment),
        events => panic!("one segment is told: {events:?}"),
    }
}

/// Returns the number and the segment of the only event, which tells of a packet that is held.
fn held(events: &[Event]) -> (HeldId, Segment) {
    match events {
        [Event::Held(id, segment)] => (*id, *segment),
        events => panic!("one packet is held: {events:?}"),
    }
}

/// Returns what the daemon reads in a frame.
fn parsed(frame: &[u8]) -> Segment {
    Segment::parse(&frame[ETHERNET..]).expect("a segment")
}
