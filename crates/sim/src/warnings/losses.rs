//! Transports made for lossless networks, headrooms that are too small, and first windows beyond the buffer.

use super::places::{about, class_at_switches};
use super::queues;
use crate::model::{Flow, Model, Pattern, Rounds, Traffic};
use clearway_proto::port::pfc::headroom as needed_headroom;
use clearway_units::Bytes;

/// Warns of a transport made for lossless networks in one that loses packets.
pub fn lossless(model: &Model, entry: &Traffic) -> Option<String> {
    if !entry.transport.needs().lossless {
        return None;
    }
    let class = class_at_switches(model, entry);
    let is_protected = model.pfc.as_ref().is_some_and(|pfc| pfc.lossless[class]);
    let made_for = "is made for a network that loses nothing";
    if !is_protected && let Some(longest) = queues::longest(model, class) {
        return Some(format!(
            "{made_for}, and here a switch drops what exceeds a queue of {longest}; set switch.pfc = true, with \
             switch.shared_buffer in place of a buffer of ports"
        ));
    }
    let is_lossy = model.loss.iter().any(|(_, probability)| *probability > 0.0);
    is_lossy.then(|| format!("{made_for}, and here links lose packets at random ([[loss]])"))
}

/// Warns of a headroom that is too small for what arrives after a pause.
pub fn headroom(model: &Model, entry: &Traffic) -> Option<String> {
    let pfc = model.pfc.as_ref().filter(|pfc| pfc.lossless[class_at_switches(model, entry)])?;
    let own = pfc.headroom?;
    let stamp = model.traffic.iter().map(|entry| entry.transport.needs().stamp).max().unwrap_or(0);
    let topology = &model.topology;
    let into_switch = topology.ports().iter().filter(|port| !topology.is_host(port.to));
    let needs = into_switch.map(|port| {
        (
            needed_headroom(port.rate, port.delay, model.framing, stamp, pfc.config.response),
            topology.name(port.to),
        )
    });
    let (needed, switch) = needs.max_by_key(|(needed, _)| *needed)?;
    (own < needed).then(|| {
        format!(
            "can lose packets in spite of flow control: up to {needed} arrive at {switch} after it pauses a link, and \
             switch.pfc_headroom = \"{own}\" holds less; write \"auto\" or that much"
        )
    })
}

/// Warns of an entry whose first windows alone exceed a buffer: packets are lost whatever congestion control does.
pub fn first_windows(model: &Model, entry: &Traffic) -> Option<String> {
    let needs = entry.transport.needs();
    let window = needs.first_window?;
    let longest = queues::longest(model, class_at_switches(model, entry))?;
    let (flows, size, opens, spread) = match &entry.pattern {
        Pattern::Rounds(rounds) => {
            (rounds.workers.len() as u64, Some(rounds.response), rounds.reconnect, drained(model, rounds))
        }
        Pattern::Flows(flows) => {
            let (count, size) = most_at_once(flows);
            (count, size, true, 0)
        }
        // A connection's messages share its window.
        Pattern::Messages(_) | Pattern::Poisson(_) => return None,
    };
    if flows < 2 || (needs.holds_openings && opens) || model.pfc.is_some() {
        return None;
    }
    let payload = u64::from(model.framing.payload_max);
    let data = size.map_or(u64::MAX, Bytes::get).min(u64::from(window) * payload);
    let (full, rest) = (data / payload, (data % payload) as u32);
    let last = if rest > 0 { u64::from(model.framing.wire(rest)) } else { 0 };
    let burst = full * u64::from(model.framing.wire_max()) + last;
    // All senders together fill the link of the receiver, which takes one of their windows meanwhile.
    let waiting = Bytes::new(burst.saturating_mul(flows - 1).saturating_sub(spread));
    (waiting > longest).then(|| {
        let windows = about(Bytes::new(burst.saturating_mul(flows)));
        format!(
            "loses packets before it can react: {flows} flows start at once, and their first windows of {window} \
             segments are {windows} together, more than the buffer of {longest}"
        )
    })
}

/// Returns the bytes that leave for the client of rounds while their answers still begin.
fn drained(model: &Model, rounds: &Rounds) -> u64 {
    let into_client = model.topology.ports().iter().filter(|port| port.to == rounds.client);
    into_client.map(|port| port.rate.bytes_in(rounds.spread).get()).max().unwrap_or(0)
}

/// Returns the most flows of a list that start at one instant towards one host, and the size of the smallest of them.
fn most_at_once(flows: &[Flow]) -> (u64, Option<Bytes>) {
    let mut best = (0, None);
    let mut at_once: Vec<&Flow> = Vec::new();
    for group in flows.chunk_by(|one, next| one.start == next.start) {
        at_once.clear();
        at_once.extend(group);
        at_once.sort_by_key(|flow| flow.dst);
        for same in at_once.chunk_by(|one, next| one.dst == next.dst) {
            if same.len() as u64 > best.0 {
                best = (same.len() as u64, same.iter().filter_map(|flow| flow.size).min());
            }
        }
    }
    best
}

/// Warns of a transport that controls first windows where flows open connections, in rounds whose connections stand from
/// the beginning.
pub fn openings(entry: &Traffic) -> Option<String> {
    let Pattern::Rounds(rounds) = &entry.pattern else { return None };
    let misses = entry.transport.needs().holds_openings && !rounds.reconnect && rounds.workers.len() > 1;
    misses.then(|| {
        format!(
            "does not control the first windows of traffic \"{}\", since its connections stand from the beginning; write \
             connections = \"per-round\", and it controls them in every round",
            entry.name
        )
    })
}
