//! Drawn sequences: a network and a receiver in small, which mark, cut, lose and reorder.

use super::end::{Ack, Input};
use super::scripts::{Begin, Script, ack, entropy, psn};
use crate::case::Case;
use clearway_proto::{Endpoint, Entity, Flags, Rng, Sender as _};
use clearway_units::Time;
use std::collections::BTreeMap;

/// The number of turns of a case, in each of which a packet leaves or arrives, or the end's time comes.
const STEPS: usize = 500;
/// The least time in picoseconds that a packet takes in one direction. An answer arrives when both ways have passed.
const WAY: u64 = 7_000_000;

/// A packet on its way to the receiver.
#[derive(Clone, Copy)]
struct OnItsWay {
    psn: u32,
    entropy: u16,
    size: u32,
    again: bool,
    asks: bool,
}

/// A receiver that keeps account of what has arrived.
#[derive(Default)]
struct Receiver {
    /// True for each packet that has arrived, by number.
    arrived: Vec<bool>,
    received: u32,
    pulls: u32,
    /// The packets since the last acknowledgement.
    since: u32,
}

impl Receiver {
    /// Takes a packet. Returns the acknowledgement, if it is time for one.
    fn take(&mut self, packet: OnItsWay, marked: bool) -> Option<Ack> {
        let place = packet.psn as usize;
        self.arrived.resize(self.arrived.len().max(place + 1), false);
        let is_twice = std::mem::replace(&mut self.arrived[place], true);
        self.received += if is_twice { 0 } else { packet.size };
        self.since += 1;
        if !(packet.asks || marked || is_twice || self.since >= 4) {
            return None;
        }
        self.since = 0;
        let next = self.arrived.iter().position(|has| !has).unwrap_or(self.arrived.len());
        let from = next.max(place.saturating_sub(40));
        let bit = |bit: usize| u64::from(self.arrived.get(from + bit) == Some(&true)) << bit;
        Some(Ack {
            from_psn: from as u32,
            map: (0..64).map(bit).sum(),
            pull_quanta: self.pulls,
            marked,
            of_repeat: packet.again,
            ..ack(next as u32, packet.psn, self.received, packet.entropy)
        })
    }
}

/// Returns a drawn sequence.
pub fn case(begin: Begin<'_>, seed: u64) -> Case {
    let mut script =
        Script { end: begin("drawn", "A drawn sequence: packets are marked, cut, lost and late."), now: 0 };
    let mut rng = Rng::stream(seed, Entity::Traffic, 7);
    let (mut way, mut receiver) = (BTreeMap::<u64, OnItsWay>::new(), Receiver::default());
    script.write(700_000);
    for step in 0..STEPS {
        if step == STEPS / 2 {
            script.write(300_001);
            script.close();
        }
        let at = Time::from_ps(script.now);
        if script.end.subject.sender.wants_transmit(at) && rng.below(3) > 0 {
            send(&mut script, &mut way, &mut rng);
            continue;
        }
        let next = script.end.subject.sender.next_timeout();
        match way.first_key_value().map(|(at, _)| *at) {
            Some(at) if at < next.as_ps() => arrive(&mut script, &mut way, &mut receiver, &mut rng),
            _ if next != Time::MAX => {
                script.timer();
                script.control();
            }
            _ if script.end.subject.sender.wants_transmit(at) => send(&mut script, &mut way, &mut rng),
            _ => break,
        }
        if script.end.subject.has_credit() && rng.below(3) > 0 {
            receiver.pulls += 16;
            script.step(Input::Pull { pull_quanta: receiver.pulls });
        }
    }
    script.end.done()
}

/// Lets a packet leave, which arrives some time later.
fn send(script: &mut Script, way: &mut BTreeMap<u64, OnItsWay>, rng: &mut Rng) {
    if let Some(packet) = script.packet() {
        let sent = OnItsWay {
            psn: psn(&packet),
            entropy: entropy(packet.tag()),
            size: script.end.subject.wire(packet.payload()),
            again: packet.flags.has(Flags::RETRANSMIT),
            asks: packet.flags.has(clearway_proto::uec::marks::ASKS),
        };
        way.insert(script.now + 2 * WAY + rng.below(WAY), sent);
        script.now += 332_000;
    }
}

/// Lets the next packet arrive, or be cut, or lost, and its answer come back.
fn arrive(script: &mut Script, way: &mut BTreeMap<u64, OnItsWay>, receiver: &mut Receiver, rng: &mut Rng) {
    let Some((at, packet)) = way.pop_first() else { return };
    script.now = script.now.max(at);
    let marked = rng.below(6) == 0;
    match rng.below(20) {
        0 => {}
        1 | 2 => {
            let last_hop = rng.below(2) == 0;
            let (psn, pull_quanta) = (packet.psn, receiver.pulls);
            script.step(Input::Nack { psn, pull_quanta, last_hop, marked, entropy: packet.entropy });
        }
        _ => {
            if let Some(ack) = receiver.take(packet, marked) {
                script.step(Input::Ack(ack));
                if rng.below(8) == 0 {
                    script.control();
                }
            }
        }
    }
}
