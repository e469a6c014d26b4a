//! Sequences of inputs to a datapath, and the rules that hold whatever comes: each held packet gets one verdict, no
//! packet is held beyond its time, timers come to an end, state is bounded, nothing panics.

use arbitrary::Arbitrary;
use clearway_linux::datapath::{
    Actions, Datapath, Direction, Frame, HeldId, Link, Metric, Passed, Released, Small, Verdict,
};
use clearway_linux::wire::{
    Control, Dscp, Ecn, FlowKey, Kind, MacAddr, SCHEDULED, Segment, TcpFlags, Timestamps,
};
use clearway_units::{Span, Time};
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The Ethernet address of the NIC that the datapath stands in front of.
pub const OWN: MacAddr = MacAddr([2, 0, 0, 0, 0, 0]);
/// The addresses of the host.
const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 100);
const ADDRESS6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0, 0, 0, 1, 2, 3, 100);
/// The number of frames of the datapath that are remembered, to be answered or sent back.
const REMEMBERED: usize = 16;
/// The most calls of the timer at one time.
const TIMEOUTS_MAX: u32 = 10_000;

/// The least mean time between two calls of the timer.
const PER_TIMEOUT: Span = Span::from_us(5);

/// A flow among few, so that inputs meet.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub struct Flow {
    peer: u8,
    port: u8,
    /// True if the host receives the data of the flow.
    incoming: bool,
}

/// An input, or a step of the clock.
#[derive(Arbitrary, Debug)]
pub enum Step {
    /// Any bytes arrive as a frame.
    Bytes(Vec<u8>),
    /// A well-formed frame arrives.
    Frame {
        kind: u8,
        flow: Flow,
        session: u8,
        cookie: u8,
        number: u16,
        value: u64,
        mtu: u16,
        from: u8,
        to_us: bool,
    },
    /// A frame arrives that answers one of the datapath's own: a credit, an accept or a stopped with its cookie.
    Answer { which: u8, kind: u8, number: u8 },
    /// A frame of the datapath comes back.
    Echo { which: u8 },
    /// Data arrives that spends one of the datapath's own credits.
    Spend { which: u8, payload: u16, marked: bool },
    /// A segment is seen.
    Segment(Seen),
    /// The kernel holds a segment.
    Held(Seen),
    /// Time passes, and timers fire in between.
    Wait { us: u16 },
    /// Time passes, but the timers come too late.
    Stall { ms: u16 },
    /// The timer fires too early.
    Early,
    /// The NIC goes down.
    Release,
    /// Small packets to a host left in the kernel, with or without an allowance.
    Passed { flow: Flow, packets: u8, wire: u16, added: u16 },
    /// Small packets of a flow came and were counted.
    Small { flow: Flow, packets: u8, wire: u32 },
    /// Bulk data of a flow left in the kernel, whether it was asked to or not.
    Released { flow: Flow, credits: u8, packets: u8, kept: u8, early: u16, highest: u8 },
}

/// A segment.
#[derive(Arbitrary, Debug)]
pub struct Seen {
    flow: Flow,
    flags: u8,
    payload: u16,
    id: u8,
    scheduled: bool,
    marked: bool,
    seq: u8,
    ack: u8,
    timestamps: Option<(u8, u8)>,
}

/// A gauge with its largest value.
pub struct Bound {
    /// The name of the metric; values of one name are added up.
    pub name: &'static str,
    /// The largest value.
    pub most: f64,
}

/// The rules of one datapath.
pub struct Rules {
    /// The longest time for which a packet is held, if the timer fires in time.
    pub hold_max: Span,
    /// The most packets held at once.
    pub held_max: usize,
    /// The most bytes that the kernel may spend for one host.
    pub allowance_max: i64,
    /// The gauges that are bounded, and zero after a long idle time.
    pub bounds: Vec<Bound>,
    /// A time without input after which all state is gone.
    pub idle: Span,
}

/// A datapath with the kernel's side of what it holds.
pub struct Harness<D> {
    datapath: D,
    rules: Rules,
    now: Time,
    held: HashMap<HeldId, Time>,
    next_id: u32,
    actions: Actions,
    frames: Vec<Frame>,
    /// The flows of the datapath's own frames by their cookies, since its credits over IPv6 don't have whole addresses.
    flows: HashMap<u64, FlowKey>,
    /// The last time at which the timers came too late.
    stalled: Option<Time>,
    /// The most packets that were held at once, and the largest value of each gauge that is bounded.
    most: (usize, Vec<f64>),
}

/// Returns a sequence in which 32 flows with four hosts begin at once in each direction, and the kernel holds packets of
/// all of them: acknowledgements, each of many packets, and data.
pub fn crowd() -> Vec<Step> {
    let flows = |incoming| (0..32).map(move |at| Flow { peer: at % 4, port: at / 4, incoming });
    let seen = |flow, flags, payload, ack| {
        let (id, scheduled, marked, seq, timestamps) = (0, false, false, 0, None);
        Seen { flow, flags, payload, id, scheduled, marked, seq, ack, timestamps }
    };
    let mut steps: Vec<Step> = flows(false).map(|flow| Step::Segment(seen(flow, 2, 0, 0))).collect();
    steps.extend(flows(true).map(|flow| Step::Frame {
        kind: 0,
        flow,
        session: 1,
        cookie: 5,
        number: 1,
        value: 100_000_000,
        mtu: 1500,
        from: flow.peer,
        to_us: true,
    }));
    steps.push(Step::Wait { us: 2000 });
    steps.extend(flows(true).map(|flow| Step::Segment(seen(flow, 16, 1460, 0))));
    for ack in [60; 4] {
        steps.extend(flows(false).map(|flow| Step::Held(seen(flow, 16, 0, ack))));
    }
    for _ in 0..4 {
        steps.extend(flows(false).map(|flow| Step::Held(seen(flow, 16, 1000, 0))));
    }
    steps
}

/// Returns a sequence in which credits of a flow are spent in the instant in which they leave.
pub fn credits_spent_at_once() -> Vec<Step> {
    let flow = Flow { peer: 1, port: 1, incoming: false };
    let syn = Seen {
        flow,
        flags: 2,
        payload: 0,
        id: 0,
        scheduled: false,
        marked: false,
        seq: 0,
        ack: 0,
        timestamps: None,
    };
    // The request beside the SYN comes back, so the host sends credits for its own flow. Those of a stall leave at once.
    let mut steps = vec![Step::Segment(syn), Step::Echo { which: 0 }, Step::Stall { ms: 16 }];
    steps.extend((2..12).map(|which| Step::Spend { which, payload: 100, marked: false }));
    steps
}

impl Flow {
    fn key(self) -> FlowKey {
        // Each host has an address of either version of IP.
        let [source, destination]: [IpAddr; 2] = match self.peer & 4 {
            0 => [Ipv4Addr::new(10, 0, 0, self.peer % 4).into(), ADDRESS.into()],
            _ => [Ipv6Addr::new(0xfd00, 0, 0, 0, 1, 2, 3, u16::from(self.peer % 4)).into(), ADDRESS6.into()],
        };
        let peer = FlowKey {
            source,
            destination,
            source_port: 1000 + u16::from(self.port % 8),
            destination_port: 80,
        };
        if self.incoming { peer } else { peer.reversed() }
    }

    fn mac(self) -> MacAddr {
        peer_mac(self.peer)
    }
}

fn peer_mac(peer: u8) -> MacAddr {
    MacAddr([2, 0, 0, 0, 1, peer % 4])
}

impl Seen {
    fn segment(&self) -> Segment {
        let payload = self.payload % 1461;
        Segment {
            flow: self.flow.key(),
            payload,
            ip_len: payload + 40,
            id: u16::from(self.id),
            has_place: true,
            dscp: if self.scheduled { SCHEDULED } else { Dscp(0) },
            ecn: if self.marked { Ecn::Marked } else { Ecn::Capable0 },
            flags: TcpFlags(self.flags),
            ecn_echo: self.flags & 64 != 0,
            // Numbers near the end of the range wrap around.
            seq: u32::from(self.seq).wrapping_mul(1460).wrapping_sub(3000),
            ack: u32::from(self.ack).wrapping_mul(1460).wrapping_sub(3000),
            window: 1000,
            timestamps: self
                .timestamps
                .map(|(value, echo)| Timestamps { value: value.into(), echo: echo.into() }),
        }
    }
}

impl<D: Datapath> Harness<D> {
    /// Makes a harness around a datapath without state.
    pub fn new(datapath: D, rules: Rules) -> Harness<D> {
        let bounds = rules.bounds.len();
        Harness {
            datapath,
            rules,
            now: Time::ZERO,
            held: HashMap::new(),
            next_id: 0,
            actions: Actions::default(),
            frames: Vec::new(),
            flows: HashMap::new(),
            stalled: None,
            most: (0, vec![0.0; bounds]),
        }
    }

    /// Returns the most packets that were held at once, and the largest value of each gauge that is bounded.
    pub fn most(&self) -> (usize, &[f64]) {
        (self.most.0, &self.most.1)
    }

    /// Takes a step and checks all rules.
    pub fn step(&mut self, step: &Step) {
        match step {
            Step::Bytes(bytes) => self.frame(bytes),
            Step::Frame { kind, flow, session, cookie, number, value, mtu, from, to_us } => {
                let control = Control {
                    kind: KINDS[usize::from(*kind) % KINDS.len()],
                    flow: flow.key(),
                    session: (*session).into(),
                    cookie: (*cookie).into(),
                    number: (*number).into(),
                    value: *value,
                    mtu: *mtu,
                    wants_ecn: value % 2 == 0,
                };
                let to = if *to_us { OWN } else { peer_mac(*from) };
                self.frame(&control.to_frame(peer_mac(*from), to));
            }
            Step::Answer { which, kind, number } => {
                let Some((from, to, control)) = self.recall(*which) else { return };
                let kind = KINDS[usize::from(*kind) % KINDS.len()];
                let answer = Control { kind, number: (*number).into(), ..control };
                self.frame(&answer.to_frame(to, from));
            }
            Step::Echo { which } => {
                if let Some((from, to, control)) = self.recall(*which) {
                    self.frame(&control.to_frame(to, from));
                }
            }
            Step::Spend { which, payload, marked } => {
                let Some((_, to, control)) = self.recall(*which) else { return };
                let flow = Flow { peer: 0, port: 0, incoming: true };
                let seen = Seen {
                    flow,
                    flags: 16,
                    payload: *payload,
                    id: 0,
                    scheduled: true,
                    marked: *marked,
                    seq: 0,
                    ack: 0,
                    timestamps: None,
                };
                let flow = self.flows.get(&control.cookie).copied().unwrap_or(control.flow);
                let segment = Segment { flow, id: control.number as u16, ..seen.segment() };
                self.segment(Direction::Incoming, &segment, to);
            }
            Step::Segment(seen) => {
                let direction = if seen.flow.incoming { Direction::Incoming } else { Direction::Outgoing };
                self.segment(direction, &seen.segment(), seen.flow.mac());
            }
            Step::Held(seen) => {
                let flow = Flow { incoming: false, ..seen.flow };
                let segment = Segment { flow: flow.key(), ..seen.segment() };
                let id = HeldId(self.next_id);
                self.next_id += 1;
                self.held.insert(id, self.now);
                self.datapath.handle_held(id, &segment, self.now, &mut self.actions);
                self.check();
            }
            Step::Wait { us } => self.wait(Span::from_us((*us).into())),
            Step::Stall { ms } => {
                self.now += Span::from_ms((*ms).into());
                self.stalled = Some(self.now);
                self.wait(Span::ZERO);
            }
            Step::Early => {
                self.datapath.handle_timeout(self.now, &mut self.actions);
                self.check();
            }
            Step::Small { flow, packets, wire } => {
                let small = Small {
                    flow: Flow { incoming: true, ..*flow }.key(),
                    packets: (*packets).into(),
                    payload: u64::from(*wire) / 2,
                    wire: (*wire).into(),
                };
                self.datapath.handle_small(&small, self.now, &mut self.actions);
                self.check();
            }
            Step::Passed { flow, packets, wire, added } => {
                let to = Flow { incoming: false, ..*flow }.key().destination;
                let passed = Passed {
                    to,
                    packets: (*packets).into(),
                    payload: u64::from(*wire) / 2,
                    wire: (*wire).into(),
                    added: (*added).into(),
                };
                self.datapath.handle_passed(&passed, self.now, &mut self.actions);
                self.check();
            }
            Step::Released { flow, credits, packets, kept, early, highest } => {
                let early = Span::from_us((*early).into()).as_ps();
                let released = Released {
                    flow: Flow { incoming: false, ..*flow }.key(),
                    credits: (*credits).into(),
                    packets: (*packets).into(),
                    payload: u64::from(*packets) * 1448,
                    wire: u64::from(*packets) * 1538,
                    replayed: 0,
                    kept: (*kept).into(),
                    last: Time::from_ps(self.now.as_ps().saturating_sub(early)),
                    highest: (*highest).into(),
                    used: (*credits).into(),
                    // TCP answers now and then, whether it was asked or not.
                    unsent: u32::from(*highest % 3).checked_sub(1),
                };
                self.datapath.handle_released(&released, self.now, &mut self.actions);
                self.check();
            }
            Step::Release => {
                self.datapath.release_all(self.now, &mut self.actions);
                self.check();
                assert!(self.held.is_empty(), "packets stay held: {:?}", self.held);
            }
        }
    }

    /// Ends the sequence: no packet stays held, and after a long time no state is left.
    pub fn finish(mut self) {
        self.wait(self.rules.hold_max);
        assert!(self.held.is_empty(), "packets stay held: {:?}", self.held);
        // In steps, since one long step looks like a machine that slept.
        for _ in 0..10 {
            self.wait(self.rules.idle / 10);
        }
        self.wait(self.rules.idle / 10);
        for bound in &self.rules.bounds {
            assert_eq!(self.gauge(bound.name), 0.0, "{} after a long idle time", bound.name);
        }
    }

    fn frame(&mut self, bytes: &[u8]) {
        self.datapath.handle_frame(bytes, self.now, &mut self.actions);
        self.check();
    }

    fn segment(&mut self, direction: Direction, segment: &Segment, peer: MacAddr) {
        let link = Link { local: OWN, peer };
        self.datapath.handle_segment(direction, segment, link, self.now, &mut self.actions);
        self.check();
    }

    fn recall(&self, which: u8) -> Option<(MacAddr, MacAddr, Control)> {
        let frame = self.frames.get(usize::from(which) % self.frames.len().max(1))?;
        Some(Control::parse(frame).expect("the datapath sends frames of the format"))
    }

    /// Lets time pass, and fires all timers on the way at their times.
    fn wait(&mut self, span: Span) {
        let until = self.now + span;
        let (mut at, mut count) = (self.now, 0);
        let mut left = u64::from(TIMEOUTS_MAX) + span.as_ps() / PER_TIMEOUT.as_ps();
        while self.datapath.next_timeout() <= until {
            let due = self.datapath.next_timeout().max(self.now);
            count = if due > at { 0 } else { count + 1 };
            assert!(count < TIMEOUTS_MAX, "the timer does not move on from {due}");
            left -= 1;
            assert!(left > 0, "the timer fires more often than once per {PER_TIMEOUT} until {due}");
            (at, self.now) = (due, due);
            self.datapath.handle_timeout(due, &mut self.actions);
            self.check();
        }
        self.now = until;
    }

    fn gauge(&self, name: &str) -> f64 {
        let mut sum = 0.0;
        self.datapath.metrics(&mut |metric: Metric| {
            sum += if metric.name == name { metric.value } else { 0.0 };
        });
        sum
    }

    /// Carries out all actions, and checks the rules.
    fn check(&mut self) {
        for (id, verdict) in self.actions.verdicts.drain(..) {
            let since = self.held.remove(&id).unwrap_or_else(|| panic!("{id:?} is not held: {verdict:?}"));
            let limit = self.rules.hold_max;
            let is_late = self.now > since + limit;
            assert!(
                !is_late || self.stalled.is_some_and(|at| at >= since),
                "held from {since} to {}",
                self.now
            );
            let _: Verdict = verdict;
        }
        for frame in self.actions.frames.drain(..) {
            let (from, to, control) =
                Control::parse(&frame).expect("the datapath sends frames of the format");
            if control.kind != Kind::Credit {
                self.flows.insert(control.cookie, control.flow);
            }
            assert!(from == OWN && to != OWN, "a frame from {from} to {to}");
            if self.frames.len() == REMEMBERED {
                self.frames.remove(0);
            }
            self.frames.push(frame);
        }
        for (to, bytes) in self.actions.allowances.drain(..) {
            assert!(bytes <= self.rules.allowance_max, "{bytes} bytes to {to}");
        }
        assert!(self.held.len() <= self.rules.held_max, "{} packets are held", self.held.len());
        self.most.0 = self.most.0.max(self.held.len());
        for at in 0..self.rules.bounds.len() {
            let Bound { name, most } = self.rules.bounds[at];
            let value = self.gauge(name);
            assert!(value <= most, "{name} = {value}, above {most}");
            self.most.1[at] = self.most.1[at].max(value);
        }
    }
}

/// Plays a sequence to its end.
pub fn play<D: Datapath>(mut harness: Harness<D>, steps: &[Step]) {
    steps.iter().for_each(|step| harness.step(step));
    harness.finish();
}

const KINDS: [Kind; 6] = [Kind::Request, Kind::Stop, Kind::Accept, Kind::Stopped, Kind::Credit, Kind::Cnp];
