//! The sending end that is driven: its inputs and outputs.

use crate::case::{Recording, Subject, json};
use crate::nscc::{Window, WindowFacts};
use crate::reps::{PathFacts, Paths};
use crate::setting::env;
use clearway_proto::entropy::Entropies;
use clearway_proto::uec::config::{Groups, SenderConfig};
use clearway_proto::uec::marks::{ASKS, OF_PROBE, OF_REPEAT};
use clearway_proto::uec::params::BaseRtt;
use clearway_proto::uec::{Mode, NsccParams, OfMode, Sender};
use clearway_proto::{
    Cx, Endpoint, Entity, Extra, Flags, Header, Packet, Rng, Sender as _, Stats, Tag, Transport,
};
use clearway_units::Time;
use serde::Serialize;

/// The random numbers that an input offers, more than any takes.
const OFFERED: usize = 4;

/// Random numbers of 16 bits, to be taken in turn where one is drawn.
pub type Random = [u16; OFFERED];

/// What an end is told and asked.
#[derive(Clone, Copy, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Input {
    /// The application writes.
    Write { bytes: u64, random: Random },
    /// The application writes no more.
    Close { random: Random },
    /// An acknowledgement arrived.
    Ack(Ack),
    /// A packet was cut to its header.
    Nack { psn: u32, pull_quanta: u32, last_hop: bool, marked: bool, entropy: u16 },
    /// A pull arrived.
    Pull { pull_quanta: u32 },
    /// The time has come that the end named.
    Timer { random: Random },
    /// May a packet of data leave, and which?
    Packet { random: Random },
    /// Does a request for pulls or a probe leave?
    Control { random: Random },
}

/// An acknowledgement.
#[derive(Clone, Copy, Serialize)]
pub struct Ack {
    /// The number before which all packets have arrived.
    pub next_psn: u32,
    /// The number of the packet, or of the probe, that it answers.
    pub psn: u32,
    /// The count of the bytes on the wire that have arrived.
    pub received_bytes: u32,
    /// The number of the packet of the first bit of the map.
    pub from_psn: u32,
    /// The packets that have arrived, the first one in the lowest bit.
    pub map: u64,
    pub pull_quanta: u32,
    pub marked: bool,
    pub of_repeat: bool,
    pub of_probe: bool,
    /// True if the receiver has all of the flow, and knows where it ends.
    pub ends: bool,
    pub entropy: u16,
}

/// What can be seen of an end.
#[derive(Serialize)]
struct Output {
    next_ps: Option<u64>,
    may_send: bool,
    finished: bool,
    cwnd_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    drawn: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none", flatten)]
    packet: Option<Left>,
}

/// What left, if anything did. All is none if nothing did.
#[derive(Clone, Copy, Default, Serialize)]
struct Left {
    psn: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none", flatten)]
    data: Option<Data>,
    entropy: Option<u16>,
    pull_quanta: Option<u32>,
    target_quanta: Option<u32>,
}

/// What a packet of data has beside that.
#[derive(Clone, Copy, Default, Serialize)]
struct Data {
    offset_bytes: u64,
    payload_bytes: u32,
    asks: bool,
    repeats: bool,
    ends: bool,
}

/// What an end has beside window, credit and paths.
#[derive(Serialize)]
struct Facts {
    kind: &'static str,
    part: &'static str,
    has_window: bool,
    has_credit: bool,
    payload_max_bytes: u32,
    overhead_bytes: u32,
    wire_min_bytes: u32,
    rto_ps: u64,
    rto_max_ps: u64,
    rto_doubles: bool,
    timeout_names_path: bool,
    sack_threshold_bytes: u64,
    small_window_asks: bool,
    probes_base_rtt: bool,
    acks_pull: bool,
    #[serde(flatten)]
    paths: PathFacts,
    #[serde(flatten)]
    window: Option<WindowFacts>,
    #[serde(flatten)]
    network: Option<NetworkFacts>,
    #[serde(flatten)]
    credit: Option<CreditFacts>,
}

/// What an end knows of packets and network that has no window, which knows it too.
#[derive(Serialize)]
struct NetworkFacts {
    mtu_bytes: u32,
    network_rtt_ps: u64,
}

/// What an end knows of credit.
#[derive(Serialize)]
struct CreditFacts {
    quantum_bytes: u32,
    most_bytes: i64,
}

/// An end, and what it was made with.
pub struct End {
    pub sender: Sender,
    config: SenderConfig,
    no_penalty: u8,
    facts: String,
    rng: Rng,
    /// True once the end has chosen a path.
    has_paths: bool,
    /// The packet that left last.
    pub left: Option<Packet>,
}

impl End {
    /// Returns the sending end of a new flow at 100 Gbps.
    pub fn new<M: Mode>(params: &M, seed: u64) -> End {
        let (groups, env) = (params.groups(), env(100));
        let config = groups.sender(&env);
        let rng = Rng::stream(seed, Entity::SenderPath, 100);
        let facts = facts(&groups, &config, &rng);
        End {
            sender: OfMode::<M>::sender(params, &env),
            no_penalty: groups.receiver(&env).no_penalty,
            config,
            facts: json(&facts),
            rng,
            has_paths: false,
            left: None,
        }
    }

    /// Returns true if the receiver grants credit.
    pub fn has_credit(&self) -> bool {
        self.config.credit.is_some()
    }

    /// Returns the size on the wire of a packet with so much payload.
    pub fn wire(&self, payload: u32) -> u32 {
        self.config.framing.wire(payload)
    }

    /// Returns the random numbers after those that the first choice of a path takes for its order of values, which `initial` has.
    fn next_random(&self) -> Rng {
        let mut rng = self.rng.clone();
        if !self.has_paths {
            let _ = Entropies::new(self.config.entropy, self.config.paths, &mut rng);
        }
        rng
    }

    /// Returns the random numbers that come next, which the end may take or leave.
    pub fn offered(&self) -> Random {
        let mut rng = self.next_random();
        [(); OFFERED].map(|()| (rng.bits() >> 48) as u16)
    }

    /// Hands an input over. Returns the packet that leaves, if one was asked for.
    fn handle(&mut self, at: Time, input: &Input) -> Option<Packet> {
        let (mut stats, mut extra) = (Stats::default(), Extra::None);
        let mut cx = Cx { now: at, rng: &mut self.rng, stats: &mut stats };
        let tagged = |header, flags: Flags, entropy| {
            let tag = Tag { lane: 0, entropy };
            Packet::control(header, self.config.framing.wire(0), at).with_flags(flags).with_tag(tag)
        };
        let packet = match *input {
            Input::Write { bytes, .. } => {
                self.sender.write(bytes, &mut cx);
                return None;
            }
            Input::Close { .. } => {
                self.sender.close(&mut cx);
                return None;
            }
            Input::Timer { .. } => {
                self.sender.handle_timeout(&mut cx);
                return None;
            }
            Input::Packet { .. } => return self.sender.poll_transmit(&mut cx),
            Input::Control { .. } => return self.sender.poll_control(&mut extra, &mut cx),
            Input::Ack(ack) => {
                let header = Header::PulledAck {
                    next: ack.next_psn,
                    psn: ack.psn,
                    pull: ack.pull_quanta,
                    received: ack.received_bytes,
                    from: ack.from_psn,
                    map: ack.map,
                    held: 0,
                    penalty: self.no_penalty,
                };
                let flags = Flags::NONE
                    .with_if(ack.marked, Flags::ECN_ECHO)
                    .with_if(ack.of_repeat, OF_REPEAT)
                    .with_if(ack.of_probe, OF_PROBE)
                    .with_if(ack.ends, Flags::LAST);
                tagged(header, flags, Some(ack.entropy))
            }
            Input::Nack { psn, pull_quanta, last_hop, marked, entropy } => {
                let header = Header::PulledNack { next: 0, psn, pull: pull_quanta, received: 0 };
                let flags = Flags::NONE.with_if(marked, Flags::ECN_ECHO).with_if(last_hop, Flags::LAST_HOP);
                tagged(header, flags, Some(entropy))
            }
            Input::Pull { pull_quanta } => {
                tagged(Header::Pull { pull: pull_quanta, leads: false }, Flags::NONE, None)
            }
        };
        self.sender.handle_packet(&packet, &extra, &mut cx);
        None
    }

    /// Returns what can be seen, after an input that may draw random numbers or let a packet leave.
    fn output(&self, at: Time, drawn: Option<bool>, packet: Option<Left>) -> String {
        let next = self.sender.next_timeout();
        let cwnd = self.sender.gauges().cwnd;
        json(&Output {
            next_ps: (next != Time::MAX).then(|| next.as_ps()),
            may_send: self.sender.wants_transmit(at),
            finished: self.sender.is_finished(),
            cwnd_bytes: (!cwnd.is_nan()).then(|| cwnd.round() as u64),
            drawn,
            packet,
        })
    }
}

impl Subject for End {
    type Input = Input;

    fn initial(&self) -> String {
        self.facts.clone()
    }

    fn first_output(&self) -> String {
        self.output(Time::ZERO, None, None)
    }

    fn step(&mut self, at: Time, input: &Input) -> (String, Option<String>) {
        let (before, mut untouched) = (self.next_random(), self.rng.clone());
        self.left = self.handle(at, input);
        let is_untouched = untouched.bits() == self.rng.clone().bits();
        self.has_paths |= !is_untouched;
        let drawn = !is_untouched && before.clone().bits() != self.rng.clone().bits();
        let may_draw = !matches!(input, Input::Ack(_) | Input::Nack { .. } | Input::Pull { .. });
        let asks = matches!(input, Input::Packet { .. } | Input::Control { .. });
        let left = asks.then(|| self.left.map_or(Left::default(), |packet| left(&packet)));
        (self.output(at, may_draw.then_some(drawn), left), None)
    }
}

/// Returns what a packet says that leaves.
fn left(packet: &Packet) -> Left {
    let entropy = packet.tag().entropy;
    match packet.header {
        Header::PulledData { offset, psn, pull, target } => Left {
            psn: Some(psn),
            data: Some(Data {
                offset_bytes: offset,
                payload_bytes: packet.payload(),
                asks: packet.flags.has(ASKS),
                repeats: packet.flags.has(Flags::RETRANSMIT),
                ends: packet.flags.has(Flags::LAST),
            }),
            entropy,
            pull_quanta: Some(pull),
            target_quanta: Some(target),
        },
        Header::PullRequest { psn, pull, target } => {
            Left { psn: Some(psn), data: None, entropy, pull_quanta: Some(pull), target_quanta: Some(target) }
        }
        Header::Probe { psn, .. } => Left { psn: Some(psn), entropy, ..Left::default() },
        _ => unreachable!("a sending end has three kinds of packets"),
    }
}

/// Returns all that an implementation must know to begin.
fn facts(groups: &Groups<'_>, config: &SenderConfig, rng: &Rng) -> Facts {
    let env = env(100);
    let window = groups.window.map(|params| {
        let params = NsccParams { common: groups.common.clone(), window: params.clone() };
        Window::new(&params, env, groups.credit.is_some())
    });
    let packets = |window: &Window| (window.nscc.cwnd() / f64::from(config.framing.wire_max())) as u64;
    let first_window = window.as_ref().map_or(u64::MAX, packets);
    let network = window.is_none().then(|| NetworkFacts {
        mtu_bytes: config.framing.wire_max(),
        network_rtt_ps: config.network_rtt.as_ps(),
    });
    let credit = config
        .credit
        .as_ref()
        .map(|credit| CreditFacts { quantum_bytes: credit.quantum, most_bytes: credit.most });
    Facts {
        kind: "initial",
        part: "flow",
        has_window: groups.window.is_some(),
        has_credit: config.credit.is_some(),
        payload_max_bytes: config.framing.payload_max,
        overhead_bytes: config.framing.overhead,
        wire_min_bytes: config.framing.wire_min,
        rto_ps: config.rto.as_ps(),
        rto_max_ps: config.rto_max().as_ps(),
        rto_doubles: config.rto_doubles,
        timeout_names_path: config.timeout_names_path,
        sack_threshold_bytes: config.sack_threshold as u64,
        small_window_asks: config.small_window_asks,
        probes_base_rtt: config.base_rtt == BaseRtt::Probe && groups.window.is_some(),
        acks_pull: config.acks_pull,
        paths: Paths::of(config.entropy, config.paths, first_window, rng.clone()).facts(),
        window: window.map(|window| window.facts()),
        network,
        credit,
    }
}

/// A recording of an end.
pub type Ends = Recording<End>;
