//! Marks of congestion that never come, and thresholds below those of DCTCP's paper.

use super::places::{about, class_at_switches, switch_ports};
use super::queues;
use crate::model::{Amount, Model, Threshold, Traffic, by_rate};
use clearway_proto::port::RedMarker;
use clearway_topology::{PortId, base_rtt, between, farthest_pair};
use clearway_units::{Bytes, Rate, Span};

/// Warns of an entry whose transport reacts to marks and gets none, or gets them too early.
pub fn warning(model: &Model, entry: &Traffic) -> Option<String> {
    entry.transport.needs().marking?;
    let class = class_at_switches(model, entry);
    let Some(marking) = model.switch.classes[class].marking else {
        return Some(
            "reacts to marks of congestion, and no switch marks a packet (switch.marking = \"off\"); leave the key out, \
             or write a size"
                .into(),
        );
    };
    never(model, class, marking.threshold).or_else(|| early(model, class, marking.threshold))
}

/// Warns if a full queue is too short for a mark at every port: a frame is marked that meets more than K, and it must
/// have room itself.
fn never(model: &Model, class: usize, threshold: Threshold) -> Option<String> {
    let longest = queues::longest(model, class)?;
    let frame = u64::from(model.framing.wire_max());
    let is_late = |k: u64| (k / frame + 2).saturating_mul(frame) > longest.get();
    let mut least: Option<Bytes> = None;
    for port in switch_ports(&model.topology) {
        let k = least_threshold(model, class, threshold, model.topology.port(port).rate);
        if !is_late(k.get()) {
            return None;
        }
        least = Some(least.map_or(k, |least| least.min(k)));
    }
    let key = match threshold {
        Threshold::Red(_) => "red_kmin",
        Threshold::Between(..) => "bdp_min",
        Threshold::Fixed(_) | Threshold::ByRate => "marking",
    };
    let k = least?;
    Some(format!(
        "reacts to marks of congestion, and none is ever given: they begin at a queue of more than {k}, and the buffer of \
         {longest} holds no frame beyond that; write a smaller switch.{key} or a larger buffer"
    ))
}

/// Returns the queue from which a port of `rate` may mark.
fn least_threshold(model: &Model, class: usize, threshold: Threshold, rate: Rate) -> Bytes {
    match threshold {
        Threshold::Fixed(amount) => in_bytes(model, amount),
        Threshold::ByRate => in_bytes(model, by_rate(rate, model.switch.classes[class].limit, model.framing)),
        Threshold::Red(config) => Bytes::new(RedMarker::new(&config, rate).k_min()),
        Threshold::Between(min, _) => min,
    }
}

/// Returns a threshold in bytes, the packets of one counted as full frames.
fn in_bytes(model: &Model, amount: Amount) -> Bytes {
    let frame = u64::from(model.framing.wire_max());
    if amount.packets == u32::MAX {
        amount.bytes
    } else {
        amount.bytes.min(Bytes::new(u64::from(amount.packets) * frame))
    }
}

/// Warns if K is at most a seventh of the bytes in flight, at which DCTCP's senders leave links idle (SIGCOMM'10,
/// eq. (13)). It looks at the slowest links between the two hosts that are farthest from each other.
fn early(model: &Model, class: usize, threshold: Threshold) -> Option<String> {
    if matches!(threshold, Threshold::Red(_) | Threshold::Between(..)) {
        return None;
    }
    let topology = &model.topology;
    let (path, rtt) = longest_path(model)?;
    let rate = path.iter().map(|&port| topology.port(port).rate).min()?;
    let k = least_threshold(model, class, threshold, rate);
    let needed = Bytes::new(rate.bytes_in(rtt).get() / 7);
    let is_slow = |port: &&PortId| {
        let port = topology.port(**port);
        port.rate == rate && !topology.is_host(port.from)
    };
    let port = path.iter().find(is_slow).filter(|_| k < needed)?;
    let name = topology.port_name(*port);
    let (needed, rtt) = (about(needed), Span::from_ns(rtt.as_ps() / 1000));
    Some(format!(
        "may leave links idle: {name} marks from a queue of {k} on, and at {rate} and a round trip of {rtt} the threshold \
         has to be above C RTT / 7 = {needed} (SIGCOMM'10, eq. (13)); write a larger switch.marking"
    ))
}

/// Returns a shortest path between the two hosts that are farthest from each other, and the round-trip time of a full
/// frame and its answer there.
fn longest_path(model: &Model) -> Option<(Vec<PortId>, Span)> {
    let topology = &model.topology;
    if topology.hosts() < 2 {
        return None;
    }
    let (from, to, _) = farthest_pair(topology);
    let path = between(topology, from, to)?.one_path(topology, from);
    let back = between(topology, to, from)?.one_path(topology, to);
    let [data, answer] =
        [model.framing.wire_max(), model.framing.wire_min].map(|size| Bytes::new(u64::from(size)));
    let rtt = base_rtt(topology, &path, &back, data, answer);
    Some((path, rtt))
}
