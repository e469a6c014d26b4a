//! The settings and counters of a port, read back from the kernel.

use super::layout::EGRESS;
use super::netlink::{About, Attributes, Netlink, Object, word};
use std::io;

const TCA_KIND: u16 = 1;
const TCA_OPTIONS: u16 = 2;
const TCA_STATS2: u16 = 7;
const TCA_STATS_BASIC: u16 = 1;
const TCA_STATS_QUEUE: u16 = 3;
const TCA_STATS_PKT64: u16 = 8;
const TCA_HTB_PARMS: u16 = 1;
const TCA_HTB_INIT: u16 = 2;
const TCA_HTB_RATE64: u16 = 6;
const TCA_HTB_CEIL64: u16 = 7;
const TCA_U32_CLASSID: u16 = 1;
const TCA_U32_SEL: u16 = 5;
const TCA_BPF_CLASSID: u16 = 3;
const TCA_BPF_ID: u16 = 11;
/// The nanoseconds of a tick, in which the kernel is told the sizes of buckets.
const TICK_NS: u64 = 64;

/// What passed through a queue, and what is in it.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counters {
    /// The packets that passed.
    pub packets: u64,
    /// The bytes that passed, as Linux counts them.
    pub bytes: u64,
    /// The packets that were dropped.
    pub drops: u32,
    /// The packets that wait.
    pub waiting: u32,
    /// The bytes that wait, as Linux counts them.
    pub waiting_bytes: u32,
}

/// A qdisc.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Qdisc {
    /// The handle.
    pub handle: u32,
    /// The class or the place to which the qdisc belongs.
    pub parent: u32,
    /// The kind, such as `pfifo`.
    pub kind: String,
    /// Of a pfifo: the number of packets that may wait.
    pub limit: Option<u32>,
    /// Of HTB: the minor number of the class of packets that no filter sends elsewhere.
    pub default_class: Option<u32>,
    /// The counters.
    pub counters: Counters,
}

/// A class of HTB.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Class {
    /// The id.
    pub id: u32,
    /// The parent.
    pub parent: u32,
    /// The rate in bytes a second.
    pub rate: u64,
    /// The ceiling in bytes a second.
    pub ceil: u64,
    /// The time in which the bucket fills, in nanoseconds.
    pub bucket_ns: u64,
    /// The priority; the lowest number goes first.
    pub priority: u32,
    /// The bytes that are added to each packet.
    pub overhead: u16,
    /// The bytes that each packet counts at least.
    pub mpu: u16,
}

/// A filter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Filter {
    /// The EtherType, 3 for all.
    pub protocol: u16,
    /// The preference.
    pub preference: u16,
    /// The class to which the filter sends packets, or the number that its program is told.
    pub class: u32,
    /// Of a u32 filter with one key: mask, value and place.
    pub key: Option<(u32, u32, i32)>,
    /// Of a BPF filter: the kernel's number of the program.
    pub program: Option<u32>,
}

/// All that traffic control has at a port.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Reading {
    /// The qdiscs.
    pub qdiscs: Vec<Qdisc>,
    /// The classes.
    pub classes: Vec<Class>,
    /// The filters below the root.
    pub filters: Vec<Filter>,
    /// The filters at the egress.
    pub egress: Vec<Filter>,
}

impl Reading {
    /// Asks the kernel about the NIC with this number.
    pub fn ask(netlink: &mut Netlink, index: i32) -> io::Result<Reading> {
        let qdiscs = Reading::ask_qdiscs(netlink, index)?;
        let htb = qdiscs.iter().any(|qdisc| qdisc.kind == "htb");
        let clsact = qdiscs.iter().any(|qdisc| qdisc.kind == "clsact");
        let classes = match htb {
            true => netlink.objects(About::Classes, index, 0)?.objects().filter_map(class).collect(),
            false => Vec::new(),
        };
        let mut filters = |parent: u32, there: bool| -> io::Result<Vec<Filter>> {
            if !there {
                return Ok(Vec::new());
            }
            Ok(netlink.objects(About::Filters, index, parent)?.objects().filter_map(filter).collect())
        };
        let (below_root, egress) = (filters(0x0001_0000, htb)?, filters(EGRESS, clsact)?);
        Ok(Reading { qdiscs, classes, filters: below_root, egress })
    }

    /// Asks the kernel about the qdiscs only, which have the counters.
    pub fn ask_qdiscs(netlink: &mut Netlink, index: i32) -> io::Result<Vec<Qdisc>> {
        Ok(netlink.objects(About::Qdiscs, index, 0)?.objects().filter_map(qdisc).collect())
    }

    /// Returns the qdisc with this handle.
    pub fn qdisc(&self, handle: u32) -> Option<&Qdisc> {
        self.qdiscs.iter().find(|qdisc| qdisc.handle == handle)
    }

    /// Returns the class with this id.
    pub fn class(&self, id: u32) -> Option<&Class> {
        self.classes.iter().find(|class| class.id == id)
    }
}

fn qdisc(object: Object<'_>) -> Option<Qdisc> {
    let kind = object.attributes.text(TCA_KIND)?;
    let options = object.attributes.get(TCA_OPTIONS).unwrap_or_default();
    let limit = (kind == "pfifo").then(|| word(options, 0)).flatten();
    let init = Attributes(options).get(TCA_HTB_INIT).filter(|_| kind == "htb");
    Some(Qdisc {
        handle: object.handle,
        parent: object.parent,
        limit,
        default_class: init.and_then(|init| word(init, 8)),
        counters: counters(object.attributes.nested(TCA_STATS2)),
        kind,
    })
}

fn counters(stats: Attributes<'_>) -> Counters {
    let basic = stats.get(TCA_STATS_BASIC).unwrap_or_default();
    let queue = |at| word(stats.get(TCA_STATS_QUEUE).unwrap_or_default(), at).unwrap_or(0);
    Counters {
        packets: stats.long(TCA_STATS_PKT64).or(word(basic, 8).map(u64::from)).unwrap_or(0),
        bytes: basic.first_chunk().map_or(0, |bytes| u64::from_ne_bytes(*bytes)),
        waiting: queue(0),
        waiting_bytes: queue(4),
        drops: queue(8),
    }
}

fn class(object: Object<'_>) -> Option<Class> {
    let options = object.attributes.nested(TCA_OPTIONS);
    let parms = options.get(TCA_HTB_PARMS)?;
    let half = |at: usize| Some(u16::from_ne_bytes(*parms.get(at..)?.first_chunk()?));
    // A rate of 2^32 bytes a second and more stands in an attribute of its own.
    let rate = |at, wide| options.long(wide).or_else(|| word(parms, at).map(u64::from));
    Some(Class {
        id: object.handle,
        parent: object.parent,
        rate: rate(8, TCA_HTB_RATE64)?,
        ceil: rate(20, TCA_HTB_CEIL64)?,
        bucket_ns: u64::from(word(parms, 24)?) * TICK_NS,
        priority: word(parms, 40)?,
        overhead: half(2)?,
        mpu: half(6)?,
    })
}

fn filter(object: Object<'_>) -> Option<Filter> {
    let kind = object.attributes.text(TCA_KIND)?;
    let options = object.attributes.nested(TCA_OPTIONS);
    let sel = options.get(TCA_U32_SEL);
    // The selector has a header of 16 bytes, then keys of 16 bytes: mask, value, place.
    let key = sel.filter(|sel| sel.get(2) == Some(&1)).and_then(|sel| {
        let field = |at| Some(u32::from_be(word(sel, at)?));
        Some((field(16)?, field(20)?, word(sel, 24)? as i32))
    });
    let class = options.word(if kind == "bpf" { TCA_BPF_CLASSID } else { TCA_U32_CLASSID })?;
    Some(Filter {
        protocol: u16::from_be(object.info as u16),
        preference: (object.info >> 16) as u16,
        class,
        key: key.filter(|_| kind == "u32"),
        program: options.word(TCA_BPF_ID).filter(|_| kind == "bpf"),
    })
}
