//! Bulk data that leaves in the kernel: the table of flows that `bpf/pass.bpf.c` and the daemon share.
//!
//! [`Bulks::begin`] hands a flow over to the programs, [`Bulks::end`] takes it back, and [`Bulks::tally`] tells what they did. A flow
//! whose connection TCP does not know here stays with the daemon, and so does one for which there is no place.

#[cfg(test)]
mod programs;
#[cfg(test)]
mod tests;

use super::hash::{self, PROBES, mixed, ports, words};
use super::memory::{self, BULK, BULKS, BulkPlace, KEPT, SMALL};

use crate::datapath::{Bulk, Released};
use crate::io::diag::{Connection, Diagnosis};
use crate::io::error::IoError;
use crate::io::nic::Nic;
use crate::io::packet;
use crate::io::shared::Shared;
use crate::wire::{Control, FlowKey, Kind, MacAddr};
use clearway_units::{Span, Time};
use nix::sys::socket::{MsgFlags, send};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// The kind of the frame that has the program tell TCP of the window as it is. It never leaves the host.
const NEWS: u8 = 255;

/// The flows whose bulk data leaves in the kernel.
pub(super) struct Bulks {
    shared: Shared<memory::Bulks>,
    /// The flows that have a place. Those that the kernel has no more keep it until another one needs it.
    flows: BTreeMap<FlowKey, Place>,
    /// The number of changes at the last tally.
    tallied: u64,
    /// The last words on flows that the kernel has no more.
    ended: Vec<Released>,
    /// The flows that were taken back since the last tally. Another processor may have been letting a packet leave just then.
    left: Vec<FlowKey>,
    /// The flows of which it was asked whether their window keeps bytes in the socket.
    asked: Vec<FlowKey>,
    kernel: Kernel,
}

/// How the kernel is reached.
enum Kernel {
    /// By the socket that asks for connections, the socket that sends to the NIC, and the address of that.
    Sockets { diagnosis: Diagnosis, nic: OwnedFd, address: MacAddr },
    /// Not at all: a test plays its part. The first function answers for TCP, the second one does what the programs do at once with a
    /// flow that is handed over.
    #[cfg(test)]
    Played(fn(&FlowKey) -> Option<Connection>, fn(&BulkPlace)),
}

impl Kernel {
    /// Hands a flow over to the programs, which may use its place from then on.
    fn hand(&self, place: &BulkPlace, what: u32) {
        place.is_on.store(what, Release);
        #[cfg(test)]
        if let Kernel::Played(_, at_once) = self {
            at_once(place);
        }
    }
}

/// What is known of a flow in the table.
#[derive(Clone, Copy, Debug)]
struct Place {
    at: usize,
    is_on: bool,
    /// True if the kernel takes its credits for small packets.
    is_small: bool,
    came: u32,
    added: u32,
    taken: u32,
    bytes: u64,
    wire: u64,
    replayed: u64,
}

impl Bulks {
    /// Makes the daemon's side of an empty table, for flows of a NIC.
    pub fn new(shared: Shared<memory::Bulks>, nic: &Nic) -> Result<Bulks, IoError> {
        let socket = packet::open(nic.index(), 0, |_| Ok(()))?;
        let kernel = Kernel::Sockets { diagnosis: Diagnosis::open()?, nic: socket, address: nic.address()? };
        Ok(Bulks::over(shared, kernel))
    }

    fn over(shared: Shared<memory::Bulks>, kernel: Kernel) -> Bulks {
        Bulks {
            shared,
            flows: BTreeMap::new(),
            tallied: 0,
            ended: Vec::new(),
            left: Vec::new(),
            asked: Vec::new(),
            kernel,
        }
    }

    fn connection(&self, flow: &FlowKey) -> Option<Connection> {
        match &self.kernel {
            Kernel::Sockets { diagnosis, .. } => diagnosis.ask(flow),
            #[cfg(test)]
            Kernel::Played(ask, _) => ask(flow),
        }
    }

    /// Hands a flow over to the kernel, if TCP knows it here and there is a place. TCP isn't asked about a flow of small packets, since
    /// these leave as they are.
    pub fn begin(&mut self, bulk: &Bulk) {
        if self.flows.get(&bulk.flow).is_some_and(|place| place.is_on) {
            return;
        }
        let connection = match bulk.is_small {
            true => Connection::default(),
            false => match self.connection(&bulk.flow) {
                Some(connection) => connection,
                None => return,
            },
        };
        let known = self.flows.get(&bulk.flow).map(|place| place.at);
        let Some(at) = known.or_else(|| self.free_place(&bulk.flow)) else { return };
        self.look_again(&bulk.flow);
        let place = &self.shared.table()[at];
        if known.is_none() {
            name(place, &bulk.flow);
        }
        let mut peer = [0; 8];
        peer[..6].copy_from_slice(&bulk.peer.0);
        (peer[6], peer[7]) = (bulk.ecn.into(), connection.scale);
        place.peer.store(u64::from_ne_bytes(peer), Relaxed);
        place.cookie.store(bulk.cookie, Relaxed);
        place.session.store(bulk.session, Relaxed);
        place.payload.store(connection.payload, Relaxed);
        place.keep.store(bulk.keep.clamp(1, KEPT), Relaxed);
        place.highest.store(bulk.highest, Relaxed);
        place.seen.store(bulk.seen, Relaxed);
        place.used.store(0, Relaxed);
        forget(place);
        // The counts from which the next tally counts are read before the kernel may move them.
        let (came, taken) = (place.came.load(Relaxed), place.taken.load(Relaxed));
        let (bytes, wire) = (place.bytes.load(Relaxed), place.wire.load(Relaxed));
        let (replayed, added) = (place.replayed.load(Relaxed), place.added.load(Relaxed));
        let is_small = bulk.is_small;
        place.version.store(if bulk.flow.is_ipv6() { 6 } else { 4 }, Release);
        self.kernel.hand(place, if is_small { SMALL } else { BULK });
        let place = Place { at, is_on: true, is_small, came, added, taken, bytes, wire, replayed };
        self.flows.insert(bulk.flow, place);
    }

    /// Takes a flow back, and has TCP told of the whole window.
    pub fn end(&mut self, flow: &FlowKey, start: u64) {
        let Some(place) = self.flows.get_mut(flow) else { return };
        if !std::mem::replace(&mut place.is_on, false) {
            return;
        }
        let shared = &self.shared.table()[place.at];
        shared.is_on.store(0, Release);
        let released = released(flow, place, shared, start);
        let cookie = shared.cookie.load(Relaxed);
        self.ended.push(released);
        self.left.push(*flow);
        if !place.is_small {
            self.tell(flow, cookie);
        }
    }

    /// Looks at a flow that was taken back, for packets that another processor was letting leave just then.
    fn look_again(&mut self, flow: &FlowKey) {
        let Some(place) = self.flows.get_mut(flow).filter(|place| !place.is_on) else { return };
        let shared = &self.shared.table()[place.at];
        if shared.taken.load(Acquire) != place.taken {
            // What the kernel kept was told as the flow was taken back.
            let late = Released { kept: 0, last: Time::ZERO, ..released(flow, place, shared, 0) };
            self.ended.push(late);
        }
    }

    /// Has the next tally tell of the bytes that the window of a flow keeps in its socket.
    pub fn ask(&mut self, flow: &FlowKey) {
        self.asked.push(*flow);
    }

    /// Returns the bytes that the window of a flow keeps in its socket, though there are credits for them and the other host would take
    /// them. TCP is told of the window then, since it may not have heard of it.
    fn kept_back(&self, flow: &FlowKey, place: &BulkPlace) -> u32 {
        let Some(Connection { unsent, window, payload, .. }) = self.connection(flow) else { return 0 };
        let (ack, sent_to) = (place.ack.load(Acquire), place.sent_to.load(Acquire));
        // A window that has no room for a segment, or for all that there is, keeps it back.
        let room = |window: u32| ack.wrapping_add(window).wrapping_sub(sent_to) as i32;
        let least = unsent.min(payload) as i32;
        if unsent == 0 || room(window) >= least || room(place.window.load(Relaxed)) < least {
            return 0;
        }
        self.tell(flow, place.cookie.load(Relaxed));
        unsent
    }

    /// Takes all flows back.
    pub fn end_all(&mut self, start: u64) {
        let on: Vec<FlowKey> =
            self.flows.iter().filter(|(_, place)| place.is_on).map(|(flow, _)| *flow).collect();
        on.iter().for_each(|flow| self.end(flow, start));
    }

    /// Has TCP told of the window of a flow as it is.
    fn tell(&self, flow: &FlowKey, cookie: u64) {
        #[allow(irrefutable_let_patterns)] // Tests have another way.
        let Kernel::Sockets { nic, address, .. } = &self.kernel else { return };
        let (kind, flow) = (Kind::Credit, flow.in_credits());
        let control =
            Control { kind, flow, session: 0, cookie, number: 0, value: 0, mtu: 0, wants_ecn: false };
        let mut frame = control.to_frame(*address, *address);
        frame[15] = NEWS;
        // Without it TCP asks for the window by itself, a little later.
        let _ = send(nic.as_raw_fd(), &frame, MsgFlags::MSG_DONTWAIT);
    }

    /// Returns a place for a flow. One whose flow the kernel has no more is free too.
    fn free_place(&mut self, flow: &FlowKey) -> Option<usize> {
        let first = first_place(flow);
        let mut places = (0..PROBES).map(|step| (first + step) % BULKS);
        let table = self.shared.table();
        if let Some(at) = places.clone().find(|at| table[*at].version.load(Relaxed) == 0) {
            return Some(at);
        }
        let at = places.find(|at| table[*at].is_on.load(Relaxed) == 0)?;
        table[at].version.store(0, Release);
        self.flows.retain(|_, place| place.at != at);
        Some(at)
    }

    /// Hands what flows did since the last tally to `each`. `moved` is the number of all changes so far, and `start` the time of the
    /// clock, in nanoseconds, from which times are counted.
    pub fn tally(&mut self, moved: u64, start: u64, mut each: impl FnMut(Released)) {
        for flow in std::mem::take(&mut self.left) {
            self.look_again(&flow);
        }
        self.ended.drain(..).for_each(&mut each);
        for flow in std::mem::take(&mut self.asked) {
            let Some(place) = self.flows.get(&flow).filter(|place| place.is_on) else { continue };
            let shared = &self.shared.table()[place.at];
            let unsent = Some(self.kept_back(&flow, shared));
            let Some(place) = self.flows.get_mut(&flow) else { continue };
            each(Released { unsent, ..released(&flow, place, shared, start) });
        }
        if moved == self.tallied {
            return;
        }
        self.tallied = moved;
        for (flow, place) in self.flows.iter_mut().filter(|(_, place)| place.is_on) {
            let shared = &self.shared.table()[place.at];
            let is_same = shared.came.load(Acquire) == place.came
                && shared.taken.load(Acquire) == place.taken
                && shared.added.load(Acquire) == place.added;
            if !is_same {
                each(released(flow, place, shared, start));
            }
        }
    }
}

/// Returns what a flow did since the last time, and records that it was told.
fn released(flow: &FlowKey, place: &mut Place, shared: &BulkPlace, start: u64) -> Released {
    // What was spent is read first, so that what is kept is never less than nothing.
    let taken = shared.taken.load(Acquire);
    let (bytes, wire) = (shared.bytes.load(Relaxed), shared.wire.load(Relaxed));
    let (came, added) = (shared.came.load(Acquire), shared.added.load(Acquire));
    let replayed = shared.replayed.load(Relaxed);
    let last = Span::from_ns(shared.last.load(Relaxed).saturating_sub(start));
    let told = Released {
        flow: *flow,
        credits: u64::from(came.wrapping_sub(place.came)) + u64::from(added.wrapping_sub(place.added)),
        packets: taken.wrapping_sub(place.taken).into(),
        payload: bytes.wrapping_sub(place.bytes),
        wire: wire.wrapping_sub(place.wire),
        replayed: replayed.wrapping_sub(place.replayed),
        kept: came.wrapping_sub(taken).min(KEPT),
        last: Time::ZERO.saturating_add(last),
        highest: shared.highest.load(Relaxed),
        used: shared.used.load(Relaxed),
        unsent: None,
    };
    (place.came, place.taken, place.added) = (came, taken, added);
    (place.bytes, place.wire, place.replayed) = (bytes, wire, replayed);
    told
}

/// Forgets the credits that a flow keeps, so that no packet spends them or names one of them.
fn forget(place: &BulkPlace) {
    let (came, taken) = (place.came.load(Acquire), place.taken.load(Acquire));
    // A packet that has spent its credit and is on its way to the NIC still gets the number of that.
    if place.stamped.load(Acquire) == taken {
        place.stamped.store(came, Release);
    }
    place.taken.store(came, Release);
}

/// Writes a flow into a place that no flow has, with all that the kernel counts at zero.
fn name(place: &BulkPlace, flow: &FlowKey) {
    hash::write(&place.source, flow.source);
    hash::write(&place.destination, flow.destination);
    place.ports.store(ports(flow), Relaxed);
    for counter in
        [&place.is_on, &place.heard, &place.sends, &place.came, &place.taken, &place.stamped, &place.added]
    {
        counter.store(0, Relaxed);
    }
}

/// Returns the first place that a flow may have: a credit has the lower 32 bits of its addresses alone.
fn first_place(flow: &FlowKey) -> usize {
    let low = |address: IpAddr| words(address)[if address.is_ipv4() { 0 } else { 3 }];
    let hash = mixed(mixed(mixed(0, low(flow.destination)), low(flow.source)), ports(flow));
    (hash >> (32 - BULKS.ilog2())) as usize
}
