//! The programs of `bpf/pass.bpf.c`, run by the kernel on packets that these tests make (`BPF_PROG_TEST_RUN`).
//!
//! They share their tables with the daemon's own side, as in service. Where nobody may load a program, the tests pass without a run
//! and say so.

mod anything;
mod credits;
mod gate;
mod seen;
mod segments;
mod small;
mod stamps;

use super::*;
use crate::datapath::{Order, Passed};
use crate::io::pass::memory::{BulkPlace, FlowPlace, Table};
use crate::io::pass::{OBJECT, Pass, flow_place};
use crate::io::samples::{self, ETHERNET, Packet, US, fault, key};
use crate::wire::Segment;
use aya::Ebpf;
use aya::maps::Map;
use aya::programs::{Program, TestRun, TestRunOptions};
use std::os::fd::AsFd;
use std::sync::atomic::AtomicU32;

/// The results of the programs at the NIC: the packet goes on, is dropped, or comes in by the same NIC.
const NEXT: i32 = -1;
const DROP: i32 = 2;
const REDIRECT: i32 = 7;
/// The bytes of a full frame on the wire, and the most of a small packet.
const FRAME: u32 = 1538;
const SMALL: u32 = FRAME / 2;
/// The scale of the other host's windows, and the payload of a full segment.
const SCALE: u8 = 7;
const PAYLOAD: u32 = 1448;
/// The place of `gso_segs` in `struct __sk_buff`.
const SEGMENTS_AT: usize = 164;
/// The first number of a credit that is new to a flow of [`Programs::begin`].
const FIRST: u64 = 101;

/// The programs, loaded, with the daemon's side of their tables.
struct Programs {
    loaded: Ebpf,
    pass: Pass,
    bulks: Bulks,
}

/// What a flow is handed over with.
fn bulk(flow: FlowKey) -> Bulk {
    Bulk {
        flow,
        is_small: false,
        session: 3,
        cookie: 77,
        peer: samples::PEER,
        ecn: false,
        keep: 5,
        highest: FIRST - 1,
        seen: 1,
    }
}

/// A credit for a flow.
fn credit(flow: FlowKey, number: u64) -> Control {
    let kind = Kind::Credit;
    Control {
        kind,
        flow: flow.in_credits(),
        session: 3,
        cookie: 77,
        number,
        value: 0,
        mtu: 0,
        wants_ecn: false,
    }
}

/// Runs a test on loaded programs with a flow over IPv4, and once more with one over IPv6.
fn on_both(test: impl Fn(&mut Programs, FlowKey)) {
    for flow in [key(false), key(true)] {
        let Some(mut programs) = Programs::load() else { return };
        test(&mut programs, flow);
    }
}

impl Programs {
    /// Loads the programs. `None` if this process may not.
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
        for (_, program) in loaded.programs_mut() {
            match program {
                Program::SocketFilter(program) => program.load(),
                Program::SchedClassifier(program) => program.load(),
                _ => unreachable!("the object has no other programs"),
            }
            .expect("the kernel takes the program");
        }
        let memory = |name: &str| match loaded.map(name) {
            Some(Map::Array(map)) => map.fd().as_fd(),
            _ => panic!("the object has no map {name}"),
        };
        let table: Shared<Table> = Shared::map(memory("cw_pass")).expect("the table is mapped");
        let flows = Shared::map(memory("cw_bulk")).expect("the flows are mapped");
        table.table().small.store(SMALL, Relaxed);
        table.table().frame.store(FRAME, Relaxed);
        table.table().alive.store(u64::MAX, Relaxed);
        let knows: fn(&FlowKey) -> Option<Connection> =
            |_| Some(Connection { scale: SCALE, payload: PAYLOAD, unsent: 0, window: 0 });
        let kernel = Kernel::Played(knows, |_| {});
        Some(Programs { loaded, pass: Pass::over(table, None), bulks: Bulks::over(flows, kernel) })
    }

    fn table(&self) -> &Table {
        self.pass.shared.table()
    }

    /// Returns the place of a flow, which must have been handed over.
    fn place(&self, flow: FlowKey) -> &BulkPlace {
        &self.bulks.shared.table()[self.bulks.flows[&flow].at]
    }

    /// Returns the place of a flow in the table of packets that are held.
    fn held(&self, flow: FlowKey) -> &FlowPlace {
        let packet = Packet::data(flow, 0, 1);
        let segment = Segment::parse(&packet.frame()[ETHERNET..]).expect("a segment");
        &self.table().flows[usize::from(flow_place(&segment))]
    }

    /// Says that what is held has left.
    fn release(&self, flow: FlowKey) {
        let place = self.held(flow);
        place.left.store(place.held.load(Relaxed), Relaxed);
    }

    /// Hands a flow over that has sent data up to the byte 1,000, all of which the other host has acknowledged, with a window of
    /// 64,000 bytes.
    fn begin(&mut self, flow: FlowKey) {
        self.begin_with(&bulk(flow));
    }

    fn begin_with(&mut self, bulk: &Bulk) {
        self.bulks.begin(bulk);
        assert!(!self.leaves(&Packet::data(bulk.flow, 900, 100)), "no credit has come");
        self.release(bulk.flow);
        let (verdict, _) = self.comes_in(&Packet::answer(bulk.flow, 1_000, 500).frame());
        assert_eq!((verdict, self.place(bulk.flow).heard.load(Relaxed)), (NEXT, 1));
    }

    /// Returns true if the match lets a packet leave without the queue.
    fn leaves(&self, packet: &Packet) -> bool {
        self.leaves_joined(&packet.frame(), 1).expect("the kernel runs the match") == 1
    }

    /// Runs the match on a frame of so many segments. `None` if the kernel takes no such frame.
    fn leaves_joined(&self, frame: &[u8], segments: u32) -> Option<i32> {
        Some(self.run("cw_pass_small", frame, segments)?.0)
    }

    /// Runs the program at the ingress, and returns the frame that TCP gets.
    fn comes_in(&self, frame: &[u8]) -> (i32, Vec<u8>) {
        self.run("cw_bulk_in", frame, 1).expect("the kernel runs the program")
    }

    /// Runs the program at the egress, and returns the frame that leaves.
    fn goes_out(&self, frame: &[u8]) -> (i32, Vec<u8>) {
        self.run("cw_bulk_out", frame, 1).expect("the kernel runs the program")
    }

    /// Lets a credit with this number come.
    fn credited(&self, flow: FlowKey, number: u64) -> (i32, Vec<u8>) {
        self.comes_in(&samples::control(&credit(flow, number)))
    }

    /// Runs a program on a frame, and returns its result and the frame behind it. `None` if the kernel takes no such frame.
    fn run(&self, name: &str, frame: &[u8], segments: u32) -> Option<(i32, Vec<u8>)> {
        let mut context = [0; SEGMENTS_AT + 4];
        context[SEGMENTS_AT..].copy_from_slice(&segments.to_ne_bytes());
        let mut out = vec![0; frame.len() + 128];
        let (data_in, ctx_in) = (Some(frame), Some(&context[..]));
        let options = TestRunOptions { data_in, data_out: Some(&mut out), ctx_in, ..TestRunOptions::new() };
        let result = match self.loaded.program(name) {
            Some(Program::SocketFilter(program)) => program.test_run(options),
            Some(Program::SchedClassifier(program)) => program.test_run(options),
            _ => panic!("the object has no program {name}"),
        };
        let result = match result {
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

/// Returns a counter of a table.
fn seen(counter: &AtomicU32) -> u32 {
    counter.load(Relaxed)
}
