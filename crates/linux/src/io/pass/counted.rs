//! Small packets from other hosts that the kernel counts, flow by flow, so that the daemon need not hear of each one.
//!
//! The program `cw_seen` stands at the packet socket. While [`Counting::look_for`] says that the daemon looks at the counts, it counts
//! those packets whose flow has a place, and the socket gets the others. [`Counting::tally`] tells what was counted.

#[cfg(test)]
mod tests;

use super::hash::{self, PROBES, of_flow, ports};
use super::memory::{COUNTED, Counted, CountedPlace, Table};
use crate::datapath::Small;
use crate::io::shared::Shared;
use crate::wire::FlowKey;
use aya::programs::ProgramFd;
use std::collections::HashMap;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

/// The looks at all places without a packet after which a flow gives its place to another one: a second.
const IDLE_LOOKS: u32 = 20;

/// The daemon's side of the table of flows whose small packets are counted.
pub(super) struct Counting {
    shared: Shared<Counted>,
    /// The program for the packet socket; tests have none.
    program: Option<ProgramFd>,
    /// The flow of each place.
    flows: Vec<Option<Flow>>,
    places: HashMap<FlowKey, usize>,
    /// The number of looks so far.
    looks: u32,
    /// What was counted of flows that have lost their place.
    rest: Vec<Small>,
    /// Packets that were counted, of all time.
    pub packets: u64,
}

/// What is known of a flow that has a place.
#[derive(Clone, Copy, Debug)]
struct Flow {
    key: FlowKey,
    packets: u64,
    payload: u64,
    wire: u64,
    /// The number of looks when packets were counted last.
    used: u32,
}

impl Counting {
    /// Makes the daemon's side of an empty table.
    pub fn over(shared: Shared<Counted>, program: Option<ProgramFd>) -> Counting {
        let (flows, places) = (vec![None; COUNTED], HashMap::new());
        Counting { shared, program, flows, places, looks: 0, rest: Vec::new(), packets: 0 }
    }

    /// Returns the program for the packet socket.
    pub fn program(&self) -> Option<BorrowedFd<'_>> {
        self.program.as_ref().map(AsFd::as_fd)
    }

    /// Says whether the daemon looks at the counts before long. While it does not, it hears of each packet.
    pub fn look_for(table: &Table, looks: bool) {
        let looks = looks.into();
        if table.counts.load(Relaxed) != looks {
            table.counts.store(looks, Release);
        }
    }

    /// Gives a flow a place, since a small packet of it was heard. It gets none while all that it may have belong to others that are in
    /// use.
    pub fn learn(&mut self, key: &FlowKey) {
        if self.places.contains_key(key) {
            return;
        }
        let first = first_place(key);
        let mut probes = (0..PROBES).map(|step| (first + step) % COUNTED);
        let looks = self.looks;
        let is_free =
            |flow: &Option<Flow>| flow.is_none_or(|flow| looks.wrapping_sub(flow.used) >= IDLE_LOOKS);
        let Some(at) = probes.find(|at| is_free(&self.flows[*at])) else { return };
        self.leave(at);
        let place = &self.shared.table()[at];
        write(place, key);
        let (packets, payload, wire) = counts(place);
        place.version.store(if key.is_ipv6() { 6 } else { 4 }, Release);
        self.flows[at] = Some(Flow { key: *key, packets, payload, wire, used: self.looks });
        self.places.insert(*key, at);
    }

    /// Takes its place from a flow, since its connection ends.
    pub fn forget(&mut self, key: &FlowKey) {
        if let Some(at) = self.places.get(key) {
            self.leave(*at);
        }
    }

    /// Frees a place.
    fn leave(&mut self, at: usize) {
        let Some(mut flow) = self.flows[at].take() else { return };
        let place = &self.shared.table()[at];
        place.version.store(0, Release);
        self.rest.extend(moved(&mut flow, place));
        self.places.remove(&flow.key);
    }

    /// Counts a look at all places, of which there are some twenty in a second.
    pub fn look(&mut self) {
        self.looks = self.looks.wrapping_add(1);
    }

    /// Hands what was counted since the last time to `each`, flow by flow.
    pub fn tally(&mut self, table: &Table, mut each: impl FnMut(Small)) {
        let mut packets = 0;
        let mut one = |small: Small| {
            packets += small.packets;
            each(small);
        };
        self.rest.drain(..).for_each(&mut one);
        for (word, moved_there) in table.moved_counted.iter().enumerate() {
            if moved_there.load(Relaxed) == 0 {
                continue;
            }
            let mut bits = moved_there.swap(0, AcqRel);
            while bits != 0 {
                let at = word * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                let Some(flow) = &mut self.flows[at] else { continue };
                flow.used = self.looks;
                moved(flow, &self.shared.table()[at]).into_iter().for_each(&mut one);
            }
        }
        self.packets += packets;
    }
}

/// Returns what was counted of a flow since the last time, if anything was.
fn moved(flow: &mut Flow, place: &CountedPlace) -> Option<Small> {
    let (packets, payload, wire) = counts(place);
    let small = Small {
        flow: flow.key,
        packets: packets.wrapping_sub(flow.packets),
        payload: payload.wrapping_sub(flow.payload),
        wire: wire.wrapping_sub(flow.wire),
    };
    (flow.packets, flow.payload, flow.wire) = (packets, payload, wire);
    (small.packets > 0 || small.wire > 0).then_some(small)
}

fn counts(place: &CountedPlace) -> (u64, u64, u64) {
    (place.packets.load(Acquire), place.payload.load(Relaxed), place.wire.load(Relaxed))
}

/// Writes the addresses and ports of a flow into a place.
fn write(place: &CountedPlace, key: &FlowKey) {
    hash::write(&place.source, key.source);
    hash::write(&place.destination, key.destination);
    place.ports.store(ports(key), Relaxed);
}

/// Returns the first place that a flow may have.
fn first_place(key: &FlowKey) -> usize {
    (of_flow(key) >> (32 - COUNTED.ilog2())) as usize
}
