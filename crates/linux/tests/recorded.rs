//! A flow that `clearwayd` received on the testbed, replayed in a new host and in the receiving end that the simulator
//! makes for a flow between two hosts at one switch (`scenarios/testbed-pair.toml`): it sends the same credits, with
//! the same numbers and in the same order, and takes the same decisions, all at the same times.
//!
//! The recording is of an exchange between two network namespaces at 100 Mbit/s (`recordings`). Its times are those of
//! the kernel's clock, and its timers came as late as they did on that machine.

use clearway_linux::record::{Entry, Header, Input, Recording, Start, replay};
use clearway_linux::wire::{Control, Ecn, Kind};
use clearway_proto::port::CreditLimiter;
use clearway_proto::{
    AnyTransport, CreditRequest, Cx, Entity, Env, Extra, Flags, Framing, Header as Fields, Packet, Receiver,
    Rng, Stats,
};
use clearway_topology::{NodeId, Policy, Routes, Star, base_rtt};
use clearway_units::{Bytes, Rate, Span, Time};
use std::collections::{HashMap, VecDeque};

const RECORDING: &[u8] = include_bytes!("recordings/receiver.rec");
/// A recording of another exchange, of 150 KB over IPv6.
const RECORDING6: &[u8] = include_bytes!("recordings/receiver6.rec");
/// The size of a control frame on the wire in bytes.
const CONTROL_WIRE: u32 = 84;

/// A frame that the receiver sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Sent {
    at: Time,
    kind: Kind,
    session: u32,
    number: u64,
}

/// The simulator's receiving end of a flow, with the limit of credits at its NIC.
struct Receiving {
    end: Box<dyn Receiver>,
    rng: Rng,
    stats: Stats,
    overhead: u32,
    limiter: CreditLimiter,
    waiting: VecDeque<(u32, u64)>,
    capacity: usize,
    /// The time for whose credits a late timer makes up; in the simulator none is late.
    catch_up: Span,
    session: u32,
    offset: u64,
    /// The departures of credits that were not spent, by the lower 16 bits of their numbers.
    left: HashMap<u16, (u64, Time)>,
    sent: Vec<Sent>,
}

/// The transport as the scenario has it.
fn transport() -> AnyTransport {
    let mut transport = AnyTransport::by_name("expresspass").expect("a transport");
    transport.set("randomize_size", "false").expect("a parameter");
    transport.set("bucket", "840 B").expect("a parameter");
    transport.set("signals", "own-class").expect("a parameter");
    transport
}

impl Receiving {
    /// Makes the receiving end of a flow of a run with this seed, as `crates/sim/src/simulation/life.rs` does.
    fn new(seed: u64, catch_up: Span) -> Receiving {
        let rate = Rate::mbps(100);
        let topology = Star { hosts: 2, rate, delay: Span::from_ns(37_500) }.build().expect("a topology");
        let mut routes = Routes::new(Policy::SymmetricEcmp);
        let mut path = |from: NodeId, to: NodeId| {
            let mut ports = Vec::new();
            routes.paths(&topology, from, to, 0, &mut ports).expect("a way");
            ports
        };
        let (forward, reverse) = (path(NodeId(1), NodeId(0)), path(NodeId(0), NodeId(1)));
        let framing = Framing::ETHERNET;
        let [full, smallest] = [framing.wire_max(), framing.wire_min].map(|wire| Bytes::new(wire.into()));
        let base_rtt = base_rtt(&topology, &forward, &reverse, full, smallest);
        let env = Env {
            line_rate: rate,
            path_rate: rate,
            base_rtt,
            network_rtt: base_rtt,
            framing,
            established: false,
            host_flows: 0,
        };
        let needs = transport().needs().credits.expect("a transport with credits");
        Receiving {
            end: transport().receiver(&env),
            // The first flow of the host is that of its own data, since it saw its SYN-ACK before the request.
            rng: Rng::stream(seed, Entity::Receiver, 1),
            stats: Stats::default(),
            overhead: framing.overhead,
            limiter: CreditLimiter::new(rate, needs.shaping),
            waiting: VecDeque::new(),
            capacity: needs.queue as usize,
            catch_up,
            session: 0,
            offset: 0,
            left: HashMap::new(),
            sent: Vec::new(),
        }
    }

    fn input(&mut self, Entry { at, input, .. }: &Entry) {
        let now = *at;
        match input {
            Input::Frame(frame) => {
                let (_, _, control) = Control::parse(frame).expect("the testbed sends frames of the format");
                let fields = match control.kind {
                    Kind::Request => {
                        self.session = control.session;
                        let (session, wanted) = (control.session, control.number);
                        Fields::CreditSyn(CreditRequest { session, wanted, written: 0 })
                    }
                    Kind::Stop => Fields::CreditStop { session: control.session, end: self.offset },
                    _ => return,
                };
                self.feed(Packet::control(fields, CONTROL_WIRE, now), now);
            }
            Input::Segment(_, segment, _) if segment.is_scheduled() => {
                // The comparison of what was sent finds the credit that is missing.
                let Some((credit, echo)) = self.left.remove(&segment.id) else { return };
                let (offset, payload) = (self.offset, u32::from(segment.payload));
                self.offset += u64::from(payload);
                let fields = Fields::CreditData { offset, session: self.session, credit, echo };
                let flags = Flags::NONE.with_if(segment.ecn == Ecn::Marked, Flags::ECN_CE);
                self.feed(Packet::data(fields, payload, payload + self.overhead, now).with_flags(flags), now);
            }
            Input::Timeout => {
                while self.end.next_timeout() <= now {
                    let (rng, stats) = (&mut self.rng, &mut self.stats);
                    self.end.handle_timeout(&mut Cx { now, rng, stats });
                    self.collect(now);
                    self.pass(now);
                }
                self.pass(now);
            }
            _ => {}
        }
    }

    fn feed(&mut self, packet: Packet, now: Time) {
        let (rng, stats) = (&mut self.rng, &mut self.stats);
        self.end.handle_packet(&packet, &Extra::None, &mut Cx { now, rng, stats });
        self.collect(now);
        self.pass(now);
    }

    /// Takes what the end sends, asked at the times at which it would have been asked by a timer that is never late.
    fn collect(&mut self, now: Time) {
        let due = self.end.next_timeout();
        let earliest = Time::from_ps(now.as_ps().saturating_sub(self.catch_up.as_ps()));
        let mut at = if due < now { due.max(earliest) } else { now };
        let rate = self.end.gauges().rate / (1538.0 * 8.0);
        let gap = Span::from_secs_f64(1.0 / rate.max(1.0)).max(Span::from_ns(1));
        loop {
            self.poll(at, now);
            if at >= now {
                return;
            }
            at = at.saturating_add(gap).min(now);
        }
    }

    /// Takes what the end sends at one time. Credits wait for their turn at the NIC.
    fn poll(&mut self, at: Time, now: Time) {
        loop {
            let (rng, stats) = (&mut self.rng, &mut self.stats);
            let mut cx = Cx { now: at, rng, stats };
            let Some(packet) = self.end.poll_control(&mut Extra::None, &mut cx) else { return };
            let (kind, session) = match packet.header {
                Fields::CreditSynAck(answer) => (Kind::Accept, answer.session),
                Fields::CreditAck(answer) => (Kind::Stopped, answer.session),
                Fields::Credit { number, session, .. } => {
                    if self.waiting.len() < self.capacity {
                        self.waiting.push_back((session, number));
                    }
                    continue;
                }
                other => panic!("{other:?}"),
            };
            self.sent.push(Sent { at: now, kind, session, number: 0 });
        }
    }

    /// Lets credits leave the NIC. Those of a session that ended are dropped.
    fn pass(&mut self, now: Time) {
        while let Some((session, number)) = self.waiting.front().copied() {
            let is_wanted = session == self.session && self.end.next_timeout() < Time::MAX;
            if is_wanted && !self.limiter.take(CONTROL_WIRE, now) {
                return;
            }
            self.waiting.pop_front();
            if is_wanted {
                self.left.insert(number as u16, (number, now));
                self.sent.push(Sent { at: now, kind: Kind::Credit, session, number });
            }
        }
    }
}

fn recording() -> (Header, Vec<Entry>) {
    let recording = Recording::open(RECORDING).expect("a recording");
    let Start::Host(header) = recording.start().clone() else { panic!("a host was recorded") };
    (*header, recording.map(|entry| entry.expect("a whole entry")).collect())
}

/// The frames that the recorded host sent as a receiver. As a sender of an answer, it sent requests and stops too.
fn recorded(entries: &[Entry]) -> Vec<Sent> {
    let frames = entries.iter().flat_map(|entry| entry.actions.frames.iter().map(|frame| (entry.at, frame)));
    frames
        .map(|(at, frame)| {
            let (_, _, Control { kind, session, number, .. }) = Control::parse(frame).expect("a frame");
            Sent { at, kind, session, number }
        })
        .filter(|sent| !sent.kind.is_for_receiver())
        .collect()
}

#[test]
fn the_simulators_receiver_sends_the_credits_of_the_testbed_at_the_same_times() {
    let (header, entries) = recording();
    assert_eq!(header.config.transport.write(), transport().write(), "one transport");
    assert_eq!(header.config.base_rtt(), Span::from_ns(409_520), "the round-trip time of the scenario");
    let mut receiving = Receiving::new(header.seed, header.config.params.catch_up);
    entries.iter().for_each(|entry| receiving.input(entry));
    let recorded = recorded(&entries);
    let credits = recorded.iter().filter(|sent| sent.kind == Kind::Credit).count();
    assert!(credits > 100, "{credits} credits");
    for (number, (ours, theirs)) in receiving.sent.iter().zip(&recorded).enumerate() {
        assert_eq!(ours, theirs, "frame {number} of {}", recorded.len());
    }
    assert_eq!(receiving.sent.len(), recorded.len());
}

#[test]
fn the_credits_of_the_recording_are_those_of_the_list_beside_it() {
    let (_, entries) = recording();
    let list = include_str!("recordings/receiver.csv");
    let rows = recorded(&entries).into_iter().map(|sent| {
        let Sent { at, kind, session, number } = sent;
        format!("{},{kind:?},{session},{number}", at.as_ps())
    });
    let lines: Vec<String> = std::iter::once("time_ps,kind,session,number".to_owned()).chain(rows).collect();
    assert_eq!(list.lines().collect::<Vec<_>>(), lines);
}

#[test]
fn a_host_does_again_what_it_did_on_the_testbed() {
    let summary = replay(Recording::open(RECORDING).unwrap()).unwrap();
    let summary = summary.unwrap_or_else(|other| panic!("{other}"));
    assert!(summary.frames > 170, "a credit for each packet of 250 KB: {summary:?}");
    assert!(!summary.is_cut_off);
}

#[test]
fn a_host_does_again_what_it_did_on_the_testbed_over_ipv6() {
    let summary = replay(Recording::open(RECORDING6).unwrap()).unwrap();
    let summary = summary.unwrap_or_else(|other| panic!("{other}"));
    assert!(summary.frames > 105 && !summary.is_cut_off, "a credit for each packet of 150 KB: {summary:?}");
    let entries: Vec<Entry> = Recording::open(RECORDING6).unwrap().map(Result::unwrap).collect();
    let sent: Vec<&[u8]> =
        entries.iter().flat_map(|entry| entry.actions.frames.iter().map(|frame| &**frame)).collect();
    let kinds: Vec<(usize, Kind)> =
        sent.iter().map(|frame| (frame.len(), Control::parse(frame).unwrap().2.kind)).collect();
    assert!(kinds.iter().all(|(len, kind)| *len == if *kind == Kind::Credit { 60 } else { 84 }), "{kinds:?}");
    assert!(sent.iter().all(|frame| frame[14] == 3));
}
