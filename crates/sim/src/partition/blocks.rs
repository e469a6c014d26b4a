//! The number of blocks through which one thread goes in turn.

use crate::model::Model;
use clearway_units::{Bytes, Span};

/// The output ports that one block should have: what they need together with hosts and packets fits into a core's own cache.
const PORTS: usize = 384;
/// The output ports from which a network exceeds that cache where nothing but ports counts: half a kilobyte each.
const LARGE: usize = 2048;
/// The most blocks: with more of them more packets cross from one to another.
const MOST: usize = 16;
/// The least frames that a link carries in a window, so that a block finds in the cache what it has fetched once.
const FRAMES: u64 = 2;

/// Returns the number of blocks with which one thread is expected to be fastest that goes through the nodes `is_here` of a model.
/// `width` is the shortest delay of a link, if any has one.
pub fn wanted(model: &Model, width: Option<Span>, is_here: impl Fn(usize) -> bool) -> usize {
    let ports = model.topology.ports().iter().filter(|port| is_here(port.from.index()));
    let frame = Bytes::new(model.framing.wire_max() as u64);
    let (count, slowest) = (ports.clone().count(), ports.map(|port| port.rate).min());
    let fills = |width| slowest.is_some_and(|rate| rate.time_to_send(frame) * FRAMES <= width);
    let trims = model.switch.classes.iter().any(|class| class.trim.is_some());
    // Where ports trim, first windows fill their queues, so that packets exceed the cache of a smaller network too.
    let is_heavy = trims || model.switch.credit.is_some() && count >= LARGE;
    if cfg!(target_family = "wasm") || !is_heavy || !width.is_some_and(fills) {
        return 1;
    }
    (count / PORTS).clamp(1, MOST)
}
