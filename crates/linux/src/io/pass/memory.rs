//! The table of `bpf/pass.bpf.c` in memory that the kernel and the daemon share.

use crate::io::shared::Common;
use std::sync::atomic::{AtomicI64, AtomicU16, AtomicU32, AtomicU64};

/// The places for hosts, and for flows.
pub(super) const HOSTS: usize = 1024;
pub(super) const FLOWS: usize = 4096;
/// The places for flows whose bulk data leaves in the kernel, and the credits that one keeps at most.
pub(super) const BULKS: usize = 1024;
pub(super) const KEPT: u32 = 16;
/// The places for flows whose small packets are counted.
pub(super) const COUNTED: usize = 1024;
/// What the kernel does with the credits of a flow: they open its window, or add to what small packets to its host may spend.
pub(super) const BULK: u32 = 1;
pub(super) const SMALL: u32 = 2;

/// `struct host`: another host.
#[repr(C)]
pub(super) struct HostPlace {
    /// Its address as in the header, with zeroes behind one of IPv4.
    pub address: [AtomicU32; 4],
    /// 4 or 6 for the version of IP; 0 if the place is free.
    pub version: AtomicU32,
    /// 1 while credits of flows of small packets add to the allowance in the kernel.
    pub takes: AtomicU32,
    /// The bytes on the wire that small packets may spend.
    pub allowance: AtomicI64,
    /// The packets that left, their payload in bytes, and their bytes on the wire.
    pub packets: AtomicU64,
    pub payload: AtomicU64,
    pub wire: AtomicU64,
    /// The bytes that credits added in the kernel.
    pub added: AtomicU64,
}

/// `struct flows`: the flows of one place.
#[repr(C)]
pub(super) struct FlowPlace {
    /// The packets that NFQUEUE was to hold, and those among them that left.
    pub held: AtomicU32,
    pub left: AtomicU32,
}

/// `struct table`.
#[repr(C)]
pub(super) struct Table {
    /// The most bytes on the wire of a small packet, and of any that a credit pays for.
    pub small: AtomicU32,
    pub frame: AtomicU32,
    /// The time until which the daemon is taken to live, in nanoseconds of the monotonic clock.
    pub alive: AtomicU64,
    /// The most bytes on the wire that an allowance may have.
    pub most: AtomicU32,
    /// 1 while small packets are counted, and 1 if those over IPv6 are heard of.
    pub counts: AtomicU32,
    pub ipv6: AtomicU32,
    /// 1 if the programs at the NIC tell of packets, and 1 while any of them shall wake the daemon.
    pub hears: AtomicU32,
    pub wakes: AtomicU32,
    unused: [u32; 7],
    /// The changes of what small packets to hosts may spend. It and the next ones change with each packet, so that they are kept out of the
    /// cache line that each packet reads.
    pub spent: AtomicU64,
    /// The changes at flows whose bulk data leaves in the kernel.
    pub moved: AtomicU64,
    /// What left because the daemon gave no sign of life: packets, and their payload in bytes.
    pub unwatched: AtomicU64,
    pub unwatched_payload: AtomicU64,
    unused_too: [u64; 4],
    /// A bit for each place of a flow of which small packets were counted.
    pub moved_counted: [AtomicU64; COUNTED / 64],
    pub hosts: [HostPlace; HOSTS],
    pub flows: [FlowPlace; FLOWS],
}

const _: () =
    assert!(size_of::<HostPlace>() == 64 && size_of::<Table>() == 128 + COUNTED / 8 + 64 * HOSTS + 8 * FLOWS);
const _: () = assert!(size_of::<BulkPlace>() == 208 && size_of::<Bulks>() == 208 * BULKS);
const _: () = assert!(size_of::<CountedPlace>() == 64 && size_of::<Counted>() == 64 * COUNTED);

/// `struct counted`: a flow from another host, whose small packets are counted.
#[repr(C)]
pub(super) struct CountedPlace {
    /// Its addresses and ports as in the headers of its data.
    pub source: [AtomicU32; 4],
    pub destination: [AtomicU32; 4],
    pub ports: AtomicU32,
    /// 4 or 6 for the version of IP; 0 if the place is free.
    pub version: AtomicU32,
    /// The packets that came, their payload in bytes, and their bytes on the wire.
    pub packets: AtomicU64,
    pub payload: AtomicU64,
    pub wire: AtomicU64,
}

/// All of `cw_counted`.
pub(super) type Counted = [CountedPlace; COUNTED];

/// `struct bulk`: a flow whose bulk data leaves in the kernel, or whose credits are for small packets.
#[repr(C)]
pub(super) struct BulkPlace {
    /// Its addresses and ports as in the headers of its data.
    pub source: [AtomicU32; 4],
    pub destination: [AtomicU32; 4],
    pub ports: AtomicU32,
    /// 4 or 6 for the version of IP; 0 if the place is free.
    pub version: AtomicU32,
    /// What its credits must have.
    pub cookie: AtomicU64,
    pub session: AtomicU32,
    /// The payload of a full segment.
    pub payload: AtomicU32,
    /// The six bytes of the Ethernet address from which its credits come, whether its data takes part in ECN, and the scale of the
    /// other host's windows.
    pub peer: AtomicU64,
    /// [`BULK`] or [`SMALL`] while the kernel takes its credits, else 0.
    pub is_on: AtomicU32,
    /// The credits that are kept at most.
    pub keep: AtomicU32,
    /// Whether the other host has sent a segment.
    pub heard: AtomicU32,
    pub ack: AtomicU32,
    pub seq: AtomicU32,
    pub window: AtomicU32,
    pub told: AtomicU32,
    /// The credits that the kernel took.
    pub came: AtomicU32,
    /// The highest number of a credit, and a bit for each of it and the 63 before that came.
    pub highest: AtomicU64,
    pub seen: AtomicU64,
    /// The bits of those that the kernel took.
    pub used: AtomicU64,
    /// The time of the last credit.
    pub last: AtomicU64,
    /// Whether data was sent, and the end of it.
    pub sends: AtomicU32,
    pub sent_to: AtomicU32,
    /// The credits that were spent, and those whose packet has its number.
    pub taken: AtomicU32,
    pub stamped: AtomicU32,
    /// What left for them: bytes of payload, and on the wire.
    pub bytes: AtomicU64,
    pub wire: AtomicU64,
    /// The credits that came again.
    pub replayed: AtomicU64,
    /// The credits that added to the allowance of the host.
    pub added: AtomicU32,
    unused: u32,
    numbers: [AtomicU16; KEPT as usize],
}

/// All of `cw_bulk`.
pub(super) type Bulks = [BulkPlace; BULKS];

impl Common for Table {}
impl Common for Bulks {}
impl Common for Counted {}
