//! The programs in the kernel, and the ring by which they tell what happened.

#[cfg(test)]
mod programs;

use super::frames::{ETHERNET_LEN, FRAME_MAX, Frames};
use crate::datapath::{Direction, HeldId, Link};
use crate::io::nic::Nic;
use crate::io::shared::{Common, Shared};
use crate::io::sys;
use crate::wire::{MacAddr, Segment};
use aya::Ebpf;
use aya::maps::{Map, MapData, RingBuf};
use aya::programs::tc::{SchedClassifierLink, TcAttachOptions};
use aya::programs::{LinkOrder, Program, SchedClassifier, TcAttachType};
use clearway_units::Span;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicU32, AtomicU64, fence};

/// The compiled programs.
const OBJECT: &[u8] = include_bytes!("../../../bpf/acks.bpf.o");
/// The names of the programs, and the way at which each stands.
const PROGRAMS: [(&str, TcAttachType); 2] =
    [("cw_acks_in", TcAttachType::Ingress), ("cw_acks_out", TcAttachType::Egress)];
/// The time for which the daemon is taken to live after each look.
const ALIVE_NS: u64 = 300_000_000;
/// The kinds of records.
const CAME: u8 = 1;
const LEFT: u8 = 2;
const TAKEN: u8 = 3;

/// `struct table`.
#[repr(C)]
struct Table {
    /// The time until which the daemon is taken to live, in nanoseconds of the monotonic clock.
    alive: AtomicU64,
    /// The time without data after which acknowledgements of a connection pass, in nanoseconds.
    idle: AtomicU64,
    /// The mark of packets that the daemon sends.
    mark: AtomicU32,
    /// 1 if answers to a SYN are taken too.
    takes_syn_acks: AtomicU32,
    /// 1 while the daemon sleeps until something is written.
    sleeps: AtomicU32,
    unused: u32,
    /// Acknowledgements that passed since the ring was full, and segments of which the ring did not tell.
    passed: AtomicU64,
    missed: AtomicU64,
}

impl Common for Table {}

const _: () = assert!(size_of::<Table>() == 48);

/// What the ring told, in the order in which it happened.
#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    /// A segment crossed the NIC.
    Seen(Direction, Segment, Link),
    /// A packet was taken, and is held now.
    Held(HeldId, Segment),
}

/// What the programs take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Takes {
    /// If true, answers to a SYN.
    pub syn_acks: bool,
    /// The time without data after which acknowledgements of a connection pass.
    pub idle: Span,
}

/// The programs in the kernel and what they share with the daemon.
pub struct Acks {
    shared: Shared<Table>,
    ring: RingBuf<MapData>,
    pub(super) mark: u32,
    /// The programs at the NIC, which are gone with this, however the daemon ends.
    links: Vec<SchedClassifierLink>,
}

impl Acks {
    /// Loads the programs and sets them at a NIC. They let everything pass until [`super::AcksDriver::drive`] runs. The error says in one line
    /// what the machine lacks.
    pub fn load(interface: &str, takes: Takes) -> Result<Acks, String> {
        // The programs read Ethernet headers.
        Nic::open(interface).and_then(|nic| nic.address()).map_err(|error| error.to_string())?;
        let mut loaded =
            Ebpf::load(OBJECT).map_err(|error| sys::in_one_line("cannot load the programs", &error))?;
        let mut links = Vec::new();
        for (name, way) in PROGRAMS {
            let program = program(&mut loaded, name)?;
            let link = program
                .attach_with_options(interface, way, TcAttachOptions::TcxOrder(LinkOrder::default()))
                .and_then(|id| program.take_link(id))
                .map_err(|error| {
                    sys::in_one_line("the NIC takes no program, for which it needs Linux 6.6", &error)
                })?;
            links.push(link);
        }
        let acks = Acks::over(&mut loaded, takes, links)?;
        // The loader reads what the kernel says of its own types: some 16 MB, of which nothing is needed any more.
        drop(loaded);
        sys::give_memory_back();
        Ok(acks)
    }

    /// Says whether the kernel takes the programs, which are set at no NIC. The error is one line.
    pub fn check() -> Result<(), String> {
        let mut loaded =
            Ebpf::load(OBJECT).map_err(|error| sys::in_one_line("cannot load the programs", &error))?;
        for (name, _) in PROGRAMS {
            program(&mut loaded, name)?;
        }
        Ok(())
    }

    fn over(loaded: &mut Ebpf, takes: Takes, links: Vec<SchedClassifierLink>) -> Result<Acks, String> {
        let Some(Map::Array(map)) = loaded.map("cw_acks") else {
            return Err("the object has no table".to_owned());
        };
        let shared: Shared<Table> = Shared::map(map.fd().as_fd())
            .map_err(|errno| sys::in_one_line("cannot map the table of the programs into memory", &errno))?;
        let ring = loaded.take_map("cw_acks_ring").ok_or("the object has no ring")?;
        let ring =
            RingBuf::try_from(ring).map_err(|error| sys::in_one_line("cannot map the ring", &error))?;
        let mut mark = [0; 4];
        rustix::rand::getrandom(&mut mark, rustix::rand::GetRandomFlags::empty())
            .map_err(|error| format!("the kernel gives no random number: {error}"))?;
        // Packets of others have no mark as a rule.
        let mark = u32::from_ne_bytes(mark) | 1;
        let table = shared.table();
        table.idle.store(takes.idle.as_ps() / 1_000, Relaxed);
        table.mark.store(mark, Relaxed);
        table.takes_syn_acks.store(takes.syn_acks.into(), Relaxed);
        Ok(Acks { shared, ring, mark, links })
    }

    /// Says that the daemon lives, where the clock of the kernel has this time in nanoseconds.
    pub(super) fn live(&self, clock: u64) {
        self.shared.table().alive.store(clock.saturating_add(ALIVE_NS), Relaxed);
    }

    /// Lets everything pass from now on, until [`Acks::live`].
    pub(super) fn pass(&self) {
        self.shared.table().alive.store(0, SeqCst);
    }

    /// Returns true unless everything passes.
    pub(super) fn lives(&self) -> bool {
        self.shared.table().alive.load(Relaxed) != 0
    }

    /// Takes the programs away from the NIC.
    pub(super) fn detach(&mut self) {
        self.pass();
        self.links.clear();
    }

    /// Says whether the daemon sleeps until something is written. What was written before must be read after this.
    pub(super) fn sleeps(&self, sleeps: bool) {
        self.shared.table().sleeps.store(sleeps.into(), SeqCst);
        fence(SeqCst);
    }

    /// Hands up to `most` events to `each`, and what is held to `frames`. Returns the number of records.
    pub(super) fn read(&mut self, most: usize, frames: &mut Frames, mut each: impl FnMut(Event)) -> usize {
        for count in 0..most {
            let Some(record) = self.ring.next() else { return count };
            if let Some(event) = event(&record, frames) {
                each(event);
            }
        }
        most
    }

    /// Returns the socket that has something to read when the ring has.
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.ring.as_fd()
    }

    /// Returns the acknowledgements that passed since the ring was full, and the segments of which it did not tell.
    pub(super) fn overruns(&self) -> (u64, u64) {
        let table = self.shared.table();
        (table.passed.load(Relaxed), table.missed.load(Relaxed))
    }
}

/// Returns a program that the kernel has taken.
fn program<'a>(loaded: &'a mut Ebpf, name: &str) -> Result<&'a mut SchedClassifier, String> {
    let Some(Program::SchedClassifier(program)) = loaded.program_mut(name) else {
        return Err(format!("the object has no program {name}"));
    };
    program.load().map_err(|error| sys::in_one_line("the kernel refuses a program", &error))?;
    Ok(program)
}

/// Reads a record. What was taken is kept in `frames`; if it is no segment that can be read, it leaves at once.
fn event(record: &[u8], frames: &mut Frames) -> Option<Event> {
    let (kind, len) = (*record.first()?, usize::from(*record.get(1)?));
    let frame = record.get(2..2 + len.min(FRAME_MAX))?;
    let (ethernet, packet) = frame.split_at_checked(ETHERNET_LEN)?;
    let segment = Segment::parse(packet).ok();
    let mac = |at: usize| ethernet[at..].first_chunk().map_or(MacAddr::default(), |mac| MacAddr(*mac));
    let (to, from) = (mac(0), mac(6));
    match (kind, segment) {
        (TAKEN, Some(segment)) => Some(Event::Held(frames.hold(frame), segment)),
        (TAKEN, None) => {
            frames.pass(frame);
            None
        }
        (CAME, Some(segment)) => {
            Some(Event::Seen(Direction::Incoming, segment, Link { local: to, peer: from }))
        }
        (LEFT, Some(segment)) => {
            Some(Event::Seen(Direction::Outgoing, segment, Link { local: from, peer: to }))
        }
        _ => None,
    }
}
