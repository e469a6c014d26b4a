//! ExpressPass and EC4 at a host: data waits in the kernel, and one packet leaves per credit.
//!
//! The sources are those of `clearway-proto`'s `expresspass` and `ec4`, whose state machines run here as they are:
//!
//! | part | what runs there |
//! |---|---|
//! | sending side of a flow (`sender`, `held`) | `SenderGate` (E17 Fig. 7), and the packets that the kernel holds |
//! | receiving side (`receiver`) | the transport's receiver, with its pacer, loss meter and feedback control |
//! | NIC (`credits`) | `CreditLimiter`: the credits of all flows take the share that a port gives them |
//! | NIC (`signals`) | requests, stops and the answers to both leave at the rate that a port lets pass |
//!
//! `sending` and `receiving` hold the rules that span flows: who gets a place in the tables, and which frames count.
//!
//! **Data.** The kernel's TCP retransmits, orders and acknowledges, so the receiver is told that all data comes in
//! order. A data packet names the credit that it spends; the receiver learns from that which credits were lost.
//!
//! **Small packets** of at most half a frame may leave for what credits of the same host have left over (`leftover`), which the paper
//! does not have: a credit pays for a full frame, and one small packet for each credit is a tenth of what a link carries.
//!
//! **Bulk data** of a flow that has had some credits waits in its socket instead, and leaves in the kernel (`bulk`).
//!
//! **Requests** ride beside the SYN, and leave whenever data waits and no credits come. TCP small queues hand the kernel
//! few packets at a time, so the time after which a sender stops its credits is longer than in the simulator
//! (`idle_timeout`, 2 ms), and so is that of a repetition (`retry`, 1 ms), which must cover wake-ups of the other daemon.
//!
//! **Other hosts** may not run Clearway. Data to an unknown one waits for the answer to a request, but not much longer
//! than TCP's handshake took; data to one that is known not to answer never waits (`peers`). A host that falls silent
//! while data waits is asked anew, and after `unanswered` tries the flow is plain TCP. No packet is held longer than
//! `hold_max`.
//!
//! **Forged frames** are refused: the cookie, the Ethernet address, the session and the number of a frame must fit its
//! flow. Flows are bounded in all and per host, and those that have sent no data get few credits. Each refusal is
//! counted with its reason.

mod bulk;
mod config;
mod counters;
mod credits;
mod held;
mod leftover;
mod numbers;
mod pace;
mod peers;
mod receiver;
mod receiving;
mod sender;
mod sending;
mod signals;
mod small;
mod surroundings;
mod table;
#[cfg(test)]
mod tests;
mod trickle;

pub use config::{ConfigError, HostConfig, HostParams, TRANSPORTS};

use crate::datapath::{Actions, Datapath, Direction, HeldId, Link, Metric, Passed, Released, Small, Verdict};
use crate::wire::{Carrier, Control, ControlError, Kind, MacAddr, Segment};
use clearway_proto::expresspass::State;
use clearway_proto::{AnyTransport, mix};
use clearway_units::{Span, Time};
use counters::{Counters, Plain, Refusal};
use credits::CreditQueue;
use leftover::wire;
use peers::{Allowance, Peers, Runs};
use receiver::{ReceiveFlow, ReceiveSettings};
use sender::{Mode, SendFlow};
use signals::SignalQueue;
use std::collections::HashMap;
use std::hash::Hasher;
use surroundings::SendSettings;
use table::{Slot, Table};

/// The time without any input after which the clock is taken to have jumped, if a timer was due meanwhile.
const JUMP: Span = Span::from_secs(1);
/// The time after a request, or after a large packet that spent a credit, for which data is heard of at once: it tells how long credits
/// take, and which of them were lost.
const PROMPT: Span = Span::from_ms(5);
/// The time between two searches for old flows.
const SWEEP: Span = Span::from_ms(100);
/// The number of searches in which all flows are looked at.
const SWEEPS: Slot = 10;

/// ExpressPass or EC4 at one NIC.
pub struct Host {
    config: HostConfig,
    wants_ecn: bool,
    asks_on_syn: bool,
    send: SendSettings,
    receive: ReceiveSettings,
    senders: Table<SendFlow>,
    receivers: Table<ReceiveFlow>,
    /// The places of the flows over IPv6 that are sent, by their cookies: the addresses in a credit are not whole.
    cookies: HashMap<u64, Slot>,
    peers: Peers,
    /// The flows from all hosts without data that may get credits.
    unproven: Allowance,
    /// The lines in the log about other hosts.
    lines: Allowance,
    credits: CreditQueue,
    signals: SignalQueue,
    counters: Counters,
    seed: u64,
    /// True if the log says that another host's control frames travel in another way.
    carrier_told: bool,
    /// The number of flows so far.
    serial: u64,
    /// The time of the last input, on the host's own clock.
    now: Time,
    /// The time by which the host's own clock is behind the driver's, because that jumped.
    skipped: Span,
    /// The time until which data is heard of at once, since some spent a credit not long ago, or will.
    prompt_until: Time,
    /// The time of the next search for old flows.
    sweep_at: Time,
    /// The first flow that the next search looks at.
    sweep_from: Slot,
}

impl Host {
    /// Makes a host without flows. `seed` must be random, because the cookies that guard flows against forged frames
    /// follow from it.
    ///
    /// # Errors
    /// The settings are not usable.
    pub fn new(config: HostConfig, seed: u64) -> Result<Host, ConfigError> {
        config.check()?;
        let parts = config.parts()?;
        let params = &config.params;
        let framing = config.framing();
        let base_rtt = config.base_rtt();
        let send = SendSettings {
            gate: parts.gate(base_rtt),
            base_rtt,
            unanswered: params.unanswered,
            silence: params.silence,
            wait_max: params.wait_max,
            hold_max: params.hold_max,
            held_max: u64::from(params.held_max),
            leftover: params.leftover,
            frame: framing.wire_max(),
            bulk: config.bulk_path,
            takes: config.credit_path,
            ask_again: params.ask_again,
            unknown_wait: params.unknown_wait,
            unknown_rtts: params.unknown_rtts,
            rate: config.rate,
            mtu: config.mtu,
        };
        let receive = ReceiveSettings {
            overhead: framing.overhead,
            data_wait: params.data_wait,
            first_credits: config.first_credits(),
            catch_up: params.catch_up,
            frame_bits: f64::from(framing.wire_max()) * 8.0,
        };
        let (shaping, capacity) = config.shaping();
        let limit = params.flows_max as usize;
        Ok(Host {
            wants_ecn: parts.ecn,
            asks_on_syn: parts.asks_on_syn(),
            send,
            receive,
            senders: Table::new(limit),
            receivers: Table::new(limit),
            cookies: HashMap::new(),
            peers: Peers::new(limit),
            unproven: Allowance::of_all(),
            lines: Allowance::of_lines(),
            credits: CreditQueue::new(config.rate, shaping, capacity),
            signals: SignalQueue::new(config.address, config.carrier, config.rate, shaping),
            counters: Counters::default(),
            seed,
            carrier_told: false,
            serial: 0,
            now: Time::ZERO,
            skipped: Span::ZERO,
            prompt_until: Time::ZERO,
            sweep_at: Time::MAX,
            sweep_from: 0,
            config,
        })
    }

    /// Returns the settings.
    pub fn config(&self) -> &HostConfig {
        &self.config
    }

    /// Returns the transport with its parameters.
    pub fn transport(&self) -> &AnyTransport {
        &self.config.transport
    }

    /// Moves the host's own clock on, and leaves out the time in which the whole machine stood still, since all timers
    /// would fire at once after it.
    fn advance(&mut self, now: Time) -> Time {
        let mut own = Time::from_ps(now.as_ps().saturating_sub(self.skipped.as_ps()));
        let jump = own.saturating_since(self.now);
        if jump > JUMP && self.own_timeout().saturating_add(JUMP) < own {
            self.counters.clock_jumps += 1;
            self.skipped = self.skipped.saturating_add(jump);
            own = self.now;
        }
        self.now = self.now.max(own);
        self.now
    }

    /// Returns the time of the next timer on the host's own clock.
    fn own_timeout(&self) -> Time {
        let flows = self.senders.next_timer().min(self.receivers.next_timer());
        let queues = self.credits.next_time(self.now).min(self.signals.next_time(self.now));
        flows.min(queues).min(self.sweep_at)
    }

    /// Returns a cookie for flow number `serial`, which nobody can derive from other cookies.
    fn cookie(&self, serial: u64) -> u64 {
        #[allow(
            deprecated,
            reason = "the keyed function is stable, and the keys of its successor are not ours"
        )]
        let mut hasher = std::hash::SipHasher::new_with_keys(self.seed, mix(self.seed));
        hasher.write_u64(serial);
        hasher.finish()
    }

    /// Reads a control frame in the way in which those of this host travel. Returns the Ethernet addresses from and to which
    /// it was sent. Over UDP it may come from a router, and from another one than packets to its sender go to; so the address
    /// says nothing, and the one by which the sender is reached stands for it.
    fn read(&self, frame: &[u8]) -> Result<(MacAddr, MacAddr, Control), ControlError> {
        let Carrier::Udp(port) = self.config.carrier else { return Control::parse(frame) };
        let (from, to, control) = Control::parse_datagram(frame, port)?;
        let known = match control.kind.is_for_receiver() {
            true => self.peers.get(control.flow.source).map(|peer| peer.mac),
            false => self.senders.find(&control.flow).and_then(|slot| Some(self.senders.get(slot)?.mac)),
        };
        Ok((known.unwrap_or(from), to, control))
    }

    /// Records that a host runs Clearway, and compares its MTU with ours.
    fn hear(&mut self, address: std::net::IpAddr, control: &Control, now: Time) {
        let Some(peer) = self.peers.get_mut(address) else { return };
        if peer.runs != Runs::Clearway && self.lines.take(now) {
            tracing::info!(peer = %address, "the host runs Clearway");
        }
        peer.hear(now);
        let tells_mtu = matches!(control.kind, Kind::Request | Kind::Accept);
        if tells_mtu && control.mtu != self.config.mtu && !peer.mtu_told {
            peer.mtu_told = true;
            self.counters.mtu_mismatches += 1;
            let (theirs, ours) = (control.mtu, self.config.mtu);
            if self.lines.take(now) {
                tracing::warn!(peer = %address, theirs, ours, "the MTU of the host differs from ours; set both alike");
            }
        }
    }

    /// Sees that old flows are looked for.
    fn start_sweeps(&mut self, now: Time) {
        if self.sweep_at == Time::MAX {
            self.sweep_at = now.saturating_add(SWEEP);
        }
    }

    /// Forgets some of the flows without any packet for a long time.
    fn sweep(&mut self, now: Time, actions: &mut Actions) {
        let age = self.config.params.age;
        let places = self.senders.places().max(self.receivers.places());
        let from = self.sweep_from;
        let end = from.saturating_add(places / SWEEPS + 1);
        for slot in from..end {
            if let Some(flow) = self.senders.get(slot)
                && !flow.holds()
                && now.saturating_since(flow.used) >= age
            {
                let key = flow.key();
                self.counters.aged += 1;
                self.remove_sender(&key, actions);
            }
            if let Some(flow) = self.receivers.get(slot)
                && now.saturating_since(flow.used) >= age
            {
                let key = flow.key();
                self.counters.aged += 1;
                self.remove_receiver(&key);
            }
        }
        self.sweep_from = if end >= places { 0 } else { end };
        if self.sweep_from == 0 {
            self.peers.forget_old(age, now);
        }
        let is_empty = self.senders.len() + self.receivers.len() == 0;
        self.sweep_at = if is_empty { Time::MAX } else { now.saturating_add(SWEEP) };
    }
}

impl Datapath for Host {
    fn handle_frame(&mut self, frame: &[u8], now: Time, actions: &mut Actions) {
        let now = self.advance(now);
        let (from, to, control) = match self.read(frame) {
            Ok(parsed) => parsed,
            Err(error) => {
                if error == ControlError::OtherType && !self.carrier_told {
                    self.carrier_told = true;
                    tracing::warn!(
                        "a host sends control frames in another way than this one, over Ethernet or over UDP; set \
                         --control alike at both"
                    );
                }
                return self.counters.refuse(match error {
                    ControlError::Truncated => Refusal::Truncated,
                    ControlError::OtherType => Refusal::OtherType,
                    ControlError::Checksum => Refusal::Checksum,
                    ControlError::Addresses => Refusal::Addresses,
                    ControlError::Version(_) => Refusal::Version,
                    ControlError::Kind(_) => Refusal::Kind,
                });
            }
        };
        if to != self.config.address || from == self.config.address {
            return self.counters.refuse(Refusal::NotOurs);
        }
        let handled = match control.kind {
            Kind::Request => self.on_request(&control, from, now, actions),
            Kind::Stop => self.on_stop(&control, from, now, actions),
            Kind::Accept | Kind::Stopped | Kind::Credit => self.on_answer(&control, from, now, actions),
            Kind::Cnp => Err(Refusal::Kind),
        };
        if let Err(reason) = handled {
            self.counters.refuse(reason);
        }
    }

    fn handle_segment(
        &mut self,
        direction: Direction,
        segment: &Segment,
        link: Link,
        now: Time,
        actions: &mut Actions,
    ) {
        let now = self.advance(now);
        let flags = segment.flags;
        match direction {
            Direction::Outgoing => {
                self.peers.learn(segment.flow.destination, link.peer, true, now);
                if let Some(slot) = self.senders.find(&segment.flow) {
                    self.with_sender(slot, now, actions, |flow, cx| {
                        flow.mac = link.peer;
                        if flags.rst() {
                            flow.release_all(cx);
                            flow.end(cx);
                        }
                    });
                }
                if flags.syn() {
                    self.on_syn(segment, now, actions);
                }
            }
            Direction::Incoming => {
                if segment.is_scheduled() && segment.payload > 0 {
                    self.on_data(segment, now, actions);
                    return;
                }
                self.peers.learn(segment.flow.source, link.peer, false, now);
                if segment.payload > 0 {
                    self.on_data(segment, now, actions);
                }
                if flags.syn()
                    && flags.ack()
                    && let Some(slot) = self.senders.find(&segment.flow.reversed())
                {
                    self.with_sender(slot, now, actions, |flow, cx| flow.on_open(cx));
                }
            }
        }
    }

    fn handle_held(&mut self, id: HeldId, segment: &Segment, now: Time, actions: &mut Actions) {
        let now = self.advance(now);
        let (is_data, is_end) = (segment.payload > 0, segment.flags.fin() || segment.flags.rst());
        if !is_data && !is_end || segment.flags.syn() {
            return actions.verdicts.push((id, Verdict::Accept));
        }
        if segment.ip_len > self.config.mtu || !segment.has_place {
            let is_oversized = segment.ip_len > self.config.mtu;
            let reason = if is_oversized { Plain::Oversized } else { Plain::NoPlace };
            self.counters.plain_packet(reason, segment.payload);
            return actions.verdicts.push((id, Verdict::Accept));
        }
        let slot = match self.senders.find(&segment.flow) {
            Some(slot) => slot,
            // An end without data is no reason to make a flow.
            None if !is_data => return actions.verdicts.push((id, Verdict::Accept)),
            None => match self.send_slot(segment.flow, now) {
                Ok(slot) => slot,
                Err(reason) => {
                    self.counters.plain_packet(reason, segment.payload);
                    return actions.verdicts.push((id, Verdict::Accept));
                }
            },
        };
        if let Some(Mode::Plain(ask_at)) = self.senders.get(slot).map(SendFlow::mode) {
            let asks = !is_end && self.may_ask(&segment.flow, ask_at, now);
            self.with_sender(slot, now, actions, |flow, cx| {
                if asks {
                    flow.ask(cx);
                }
                flow.pass(id, segment.payload, is_end, cx);
            });
            return;
        }
        self.with_sender(slot, now, actions, |flow, cx| {
            flow.hold(id, segment.payload, wire(segment.ip_len), is_end, cx);
        });
    }

    fn handle_passed(&mut self, passed: &Passed, now: Time, actions: &mut Actions) {
        let now = self.advance(now);
        self.counters.passed_packets(passed.packets, passed.payload);
        if let Some(peer) = self.peers.get_mut(passed.to) {
            peer.leftover.on_passed(passed.wire, passed.added, self.send.leftover, now);
            self.peers.allow(passed.to, actions);
        }
        if passed.added > 0 {
            // A packet may have begun to wait meanwhile.
            self.spend_leftover(passed.to, now, actions);
        }
    }

    fn handle_small(&mut self, small: &Small, now: Time, actions: &mut Actions) {
        let now = self.advance(now);
        self.on_small_data(&small.flow, small.wire, small.payload, now, actions);
    }

    fn handle_released(&mut self, released: &Released, now: Time, actions: &mut Actions) {
        let now = self.advance(now);
        self.counters.released(released);
        let Some(slot) = self.senders.find(&released.flow) else { return };
        self.with_sender(slot, now, actions, |flow, cx| sender::kernel::on_released(flow, released, cx));
    }

    fn count_unwatched(&mut self, packets: u64, payload: u64) {
        self.counters.plain_packets(Plain::NoSign, packets, payload);
    }

    fn release_all(&mut self, now: Time, actions: &mut Actions) {
        let now = self.advance(now);
        for slot in 0..self.senders.places() {
            self.with_sender(slot, now, actions, |flow, cx| flow.release_all(cx));
        }
        self.signals.send_all(actions);
    }

    fn is_patient(&self, now: Time) -> bool {
        let own = now.as_ps().saturating_sub(self.skipped.as_ps());
        self.counters.held_now == 0 && own >= self.prompt_until.as_ps()
    }

    fn next_timeout(&self) -> Time {
        self.own_timeout().saturating_add(self.skipped)
    }

    fn handle_timeout(&mut self, now: Time, actions: &mut Actions) {
        let now = self.advance(now);
        while let Some(slot) = self.senders.due(now) {
            self.with_sender(slot, now, actions, |flow, cx| flow.on_timer(cx));
        }
        while let Some(slot) = self.receivers.due(now) {
            let Some(flow) = self.receivers.get_mut(slot) else { break };
            self.counters.cut_off += u64::from(flow.on_timer(&self.receive, now));
            self.drain(slot, now, actions);
        }
        self.signals.send(now, actions);
        self.send_credits(now, actions);
        if now >= self.sweep_at {
            self.sweep(now, actions);
        }
    }

    fn metrics(&self, each: &mut dyn FnMut(Metric)) {
        self.counters.report(each);
        let mut one = |name, help, value: f64| each(Metric { name, help, label: None, value });
        one("credits_limited_total", "Credits dropped at our own NIC.", self.credits.dropped as f64);
        let help = "Requests, stops and answers for which our own NIC's queue had no room.";
        one("signals_limited_total", help, self.signals.dropped as f64);
        let help = "Requests, stops and answers that wait for our own NIC.";
        one("signals_queued", help, self.signals.len() as f64);
        one("credits_queued", "Credits that wait for our own NIC.", self.credits.len() as f64);
        let mut states = [0u64; 6];
        for (_, flow) in self.senders.iter() {
            states[match (flow.mode(), flow.state()) {
                (Mode::Plain(_), _) => 0,
                (Mode::Probing(_), _) => 1,
                (_, State::Closed) => 2,
                (_, State::RequestSent) => 3,
                (_, State::Receiving) => 4,
                (_, State::StopSent) => 5,
            }] += 1;
        }
        let mut many = |name, help, labels: &[&'static str], values: &[u64]| {
            for (label, value) in labels.iter().zip(values) {
                each(Metric { name, help, label: Some(("state", label)), value: *value as f64 });
            }
        };
        let labels = ["plain", "probing", "closed", "request_sent", "receiving", "stop_sent"];
        many("flows_sent", "Flows that this host sends, by state.", &labels, &states);
        let sending = self.receivers.iter().filter(|(_, flow)| flow.is_sending()).count() as u64;
        let stopped = self.receivers.len() as u64 - sending;
        many(
            "flows_received",
            "Flows that this host receives, by state.",
            &["credited", "stopped"],
            &[sending, stopped],
        );
        let labels = ["unknown", "clearway", "plain"];
        many("peers", "Other hosts, by what they run.", &labels, &self.peers.count());
    }
}
