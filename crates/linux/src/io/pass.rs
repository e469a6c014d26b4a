//! Small packets that leave in the kernel, for what credits have left over: the table that `bpf/pass.bpf.c` and the daemon share.
//!
//! The program stands before NFQUEUE, as a match of iptables. It lets a small packet leave at once if its host has an allowance for it
//! and no packet of its flow is held. [`Pass::allow`] sets allowances, and [`Pass::tally`] tells what left. Other programs count the
//! small packets that come ([`Pass::tally_small`]) and take credits for those that leave ([`Pass::order`]).

mod bulk;
mod counted;
pub(super) mod hash;
pub(super) mod heard;
mod memory;
#[cfg(test)]
mod tests;

use super::error::IoError;
use super::nic::Nic;
use super::shared::Shared;
use super::sys;
use crate::datapath::{HeldId, Order, Passed, Released, Small};
use crate::wire::Segment;
use aya::Ebpf;
use aya::maps::Map;
use aya::programs::tc::{SchedClassifierLink, TcAttachOptions};
use aya::programs::{LinkOrder, Program, TcAttachType};
use bulk::Bulks;
use counted::Counting;
use hash::{PROBES, of_address, of_flow};
use heard::Heard;
use memory::{FLOWS, HOSTS, HostPlace, Table};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sys::statfs::{BPF_FS_MAGIC, statfs};
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

/// The compiled program.
const OBJECT: &[u8] = include_bytes!("../../bpf/pass.bpf.o");
/// The folder in which systemd mounts the file system of BPF.
const BPF_FOLDER: &str = "/sys/fs/bpf";

/// The program in the kernel, and its table in memory that is shared with it.
pub struct Pass {
    shared: Shared<Table>,
    /// The hosts that have a place.
    hosts: BTreeMap<IpAddr, Place>,
    /// The value of `spent` at the last tally.
    tallied: u64,
    /// The place in the table of flows of each packet that is held.
    held: HashMap<HeldId, u16>,
    /// The packets of each place that are held.
    counts: Vec<u32>,
    /// The places of packets whose verdict the kernel is about to get.
    leaving: Vec<u16>,
    /// The places that had packets in the kernel's books and none in ours at the last look, with the kernel's count.
    astray: Vec<(u16, u32)>,
    /// The packets, and their payload, that had left at the last tally because the daemon gave no sign of life.
    unwatched: (u64, u64),
    /// The name of the program in the file system of BPF, until the rule has it.
    pin: Option<Pin>,
    /// The flows whose credits the kernel takes, or why it can't, if it shall.
    bulks: Option<Result<Bulks, String>>,
    /// The small packets from other hosts that are counted, if the kernel takes the program for that.
    counting: Option<Counting>,
    /// What the programs at the NIC tell of, until the driver has it.
    heard: Option<Heard>,
    /// The programs at the NIC, which are gone with this.
    _links: Vec<SchedClassifierLink>,
}

/// The packets that leave in the kernel.
#[derive(Clone, Copy, Debug)]
pub struct Leaves<'a> {
    /// The most bytes on the wire of a small packet.
    pub small: u32,
    /// The most bytes on the wire of a packet that a credit pays for.
    pub frame: u32,
    /// The most bytes on the wire that small packets to a host may spend.
    pub most: u32,
    /// The NIC at which the kernel takes credits, if it shall: for small packets, and for bulk data too if `bulk` says so.
    pub nic: Option<&'a str>,
    /// True if bulk data shall leave in the kernel too.
    pub bulk: bool,
}

/// The time for which the daemon is taken to live after each look: as long as it holds a packet at most by default.
const ALIVE_NS: u64 = 1_000_000_000;

/// What is known of a host in the table.
#[derive(Clone, Copy, Debug)]
struct Place {
    at: usize,
    /// The allowance after the last tally.
    allowance: i64,
    packets: u64,
    payload: u64,
    wire: u64,
    added: u64,
}

/// The name of the program in the file system of BPF. It goes with this value, and so does what was mounted for it.
#[derive(Debug)]
struct Pin {
    path: PathBuf,
    mounted: Option<PathBuf>,
}

impl Drop for Pin {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
        if let Some(folder) = &self.mounted {
            let _ = umount2(folder, MntFlags::MNT_DETACH);
            let _ = fs::remove_dir(folder);
        }
    }
}

impl Pass {
    /// Loads the programs, and gives the one for iptables a name that no other daemon of the machine has, in `/sys/fs/bpf` or in a
    /// folder that is mounted in `folder`. The error says in one line what the machine lacks.
    pub fn load(folder: &Path, name: &str, leaves: Leaves<'_>) -> Result<Pass, String> {
        let mut loaded =
            Ebpf::load(OBJECT).map_err(|error| sys::in_one_line("cannot load the program", &error))?;
        let Some(Program::SocketFilter(program)) = loaded.program_mut("cw_pass_small") else {
            return Err("the object has no program".to_owned());
        };
        program.load().map_err(|error| sys::in_one_line("the kernel refuses the program", &error))?;
        let mounted = own_folder(folder)?;
        let path = mounted.as_deref().unwrap_or(Path::new(BPF_FOLDER)).join(name);
        let pin = Pin { path: path.clone(), mounted };
        // A daemon that was killed at its start may have left the name.
        let _ = fs::remove_file(&path);
        program.pin(&path).map_err(|error| sys::in_one_line("cannot name the program", &error))?;
        let Some(Map::Array(map)) = loaded.map("cw_pass") else {
            return Err("the object has no table".to_owned());
        };
        let shared: Shared<Table> = Shared::map(map.fd().as_fd())
            .map_err(|errno| sys::in_one_line("cannot map the table of the program into memory", &errno))?;
        shared.table().small.store(leaves.small, Release);
        shared.table().frame.store(leaves.frame, Release);
        shared.table().most.store(leaves.most, Release);
        let mut pass = Pass::over(shared, Some(pin));
        if let Some(nic) = leaves.nic {
            pass.bulks = Some(attach(&mut loaded, nic, leaves.bulk, &mut pass._links));
        }
        if pass.takes_credits() == Some(Ok(())) {
            let heard = Heard::of(&mut loaded);
            pass.heard =
                heard.inspect_err(|why| tracing::info!(why, "packets are told of by a packet socket")).ok();
        }
        // Without it the daemon hears of each packet.
        pass.counting =
            count(&mut loaded).inspect_err(|why| tracing::info!(why, "small packets aren't counted")).ok();
        // The loader reads what the kernel says of its own types: some 16 MB, of which nothing is needed any more.
        drop(loaded);
        sys::give_memory_back();
        Ok(pass)
    }

    /// Says whether the kernel takes credits, or why it can't. `None` if it shall not.
    pub fn takes_credits(&self) -> Option<Result<(), &str>> {
        self.bulks.as_ref().map(|bulks| bulks.as_ref().map(drop).map_err(String::as_str))
    }

    /// Says that the daemon lives, where the clock has this time in nanoseconds.
    pub(super) fn live(&self, clock: u64) {
        self.shared.table().alive.store(clock.saturating_add(ALIVE_NS), Relaxed);
    }

    /// Carries out what becomes of the bulk data of flows. `start` is the time of the clock, in nanoseconds, from which times are
    /// counted.
    pub(super) fn order(&mut self, orders: &[Order], start: u64) {
        for order in orders {
            match order {
                Order::Take(to) => self.take(*to, true),
                Order::Leave(to) => self.take(*to, false),
                _ => {}
            }
        }
        let Some(Ok(bulks)) = &mut self.bulks else { return };
        for order in orders {
            match order {
                Order::Begin(bulk) => bulks.begin(bulk),
                Order::End(flow) => bulks.end(flow, start),
                Order::Ask(flow) => bulks.ask(flow),
                // These are of hosts.
                Order::Take(_) | Order::Leave(_) => {}
            }
        }
    }

    /// Has credits of flows of small packets to a host add to its allowance in the kernel, or no more.
    fn take(&mut self, to: IpAddr, takes: bool) {
        if takes && !self.hosts.contains_key(&to) {
            self.new_place(to);
        }
        if let Some(place) = self.hosts.get(&to) {
            self.shared.table().hosts[place.at].takes.store(takes.into(), Release);
        }
    }

    /// Returns the program that chooses what a packet socket gets, and counts the rest; `None` if small packets can't be counted.
    pub(super) fn counting_program(&self) -> Option<BorrowedFd<'_>> {
        self.counting.as_ref().and_then(Counting::program)
    }

    /// Returns what the programs at the NIC tell of; `None` if they don't, so that a packet socket must hear of packets. `ipv6` says
    /// whether the daemon shall hear of packets over IPv6.
    pub(super) fn hear(&mut self, ipv6: bool) -> Option<Heard> {
        self.shared.table().ipv6.store(ipv6.into(), Release);
        self.heard.take()
    }

    /// Says whether the daemon looks at small packets that were counted before long. Returns true if they are counted.
    pub(super) fn look_for_small(&self, looks: bool) -> bool {
        let counts = looks && self.counting.is_some();
        Counting::look_for(self.shared.table(), counts);
        counts
    }

    /// Returns the packets that left since the last call because the daemon had given no sign of life, and their payload in bytes.
    pub(super) fn tally_unwatched(&mut self) -> (u64, u64) {
        let table = self.shared.table();
        let now = (table.unwatched.load(Acquire), table.unwatched_payload.load(Acquire));
        let before = std::mem::replace(&mut self.unwatched, now);
        (now.0 - before.0, now.1 - before.1)
    }

    /// Records that a small packet was heard, of which the next ones can be counted.
    pub(super) fn on_small(&mut self, segment: &Segment) {
        let is_end = segment.flags.fin() || segment.flags.rst();
        let is_short = u32::from(segment.ip_len) <= self.shared.table().small.load(Relaxed);
        match &mut self.counting {
            Some(counting) if is_end => counting.forget(&segment.flow),
            // The program knows exactly which packets are small.
            Some(counting) if segment.payload > 0 && !segment.is_scheduled() && is_short => {
                counting.learn(&segment.flow);
            }
            _ => {}
        }
    }

    /// Hands the small packets that were counted since the last time to `each`, flow by flow.
    pub(super) fn tally_small(&mut self, each: impl FnMut(Small)) {
        if let Some(counting) = &mut self.counting {
            counting.tally(self.shared.table(), each);
        }
    }

    /// Returns the number of small packets that were counted, of all time.
    pub(super) fn counted(&self) -> u64 {
        self.counting.as_ref().map_or(0, |counting| counting.packets)
    }

    /// Takes the bulk data of all flows back.
    pub(super) fn end(&mut self, start: u64) {
        if let Some(Ok(bulks)) = &mut self.bulks {
            bulks.end_all(start);
        }
    }

    /// Hands what bulk data did in the kernel since the last time to `each`, flow by flow.
    pub(super) fn tally_bulk(&mut self, start: u64, each: impl FnMut(Released)) {
        let moved = self.shared.table().moved.load(Acquire);
        if let Some(Ok(bulks)) = &mut self.bulks {
            bulks.tally(moved, start, each);
        }
    }

    /// Makes the daemon's side of an empty table.
    fn over(shared: Shared<Table>, pin: Option<Pin>) -> Pass {
        Pass {
            shared,
            hosts: BTreeMap::new(),
            tallied: 0,
            held: HashMap::new(),
            counts: vec![0; FLOWS],
            leaving: Vec::new(),
            astray: Vec::new(),
            unwatched: (0, 0),
            pin,
            bulks: None,
            counting: None,
            heard: None,
            _links: Vec::new(),
        }
    }

    /// Returns the name of the program, until [`Pass::forget_name`].
    pub fn path(&self) -> Option<&Path> {
        self.pin.as_ref().map(|pin| pin.path.as_path())
    }

    /// Removes the name of the program, since the rules have the program itself now.
    pub fn forget_name(&mut self) {
        self.pin = None;
    }

    /// Sets the bytes on the wire that small packets to a host may spend from now on, what left since the last tally included.
    pub(super) fn allow(&mut self, to: IpAddr, bytes: i64) {
        if bytes > 0 && !self.hosts.contains_key(&to) {
            self.new_place(to);
        }
        let Some(place) = self.hosts.get_mut(&to) else { return };
        let more = bytes - place.allowance;
        place.allowance = bytes;
        self.shared.table().hosts[place.at].allowance.fetch_add(more, AcqRel);
    }

    /// Gives a host a place, if there is one.
    fn new_place(&mut self, to: IpAddr) {
        let Some(at) = self.free_place(to) else { return };
        let place = &self.shared.table().hosts[at];
        hash::write(&place.address, to);
        place.allowance.store(0, Relaxed);
        place.takes.store(0, Relaxed);
        let Counts { packets, payload, wire, added } = Counts::of(place);
        place.version.store(if to.is_ipv4() { 4 } else { 6 }, Release);
        self.hosts.insert(to, Place { at, allowance: 0, packets, payload, wire, added });
    }

    /// Returns a place for a host. One whose host has nothing to spend is free too.
    fn free_place(&mut self, to: IpAddr) -> Option<usize> {
        let first = first_place(to);
        let mut places = (0..PROBES).map(|step| (first + step) % HOSTS);
        if let Some(at) = places.clone().find(|at| self.shared.table().hosts[*at].version.load(Relaxed) == 0)
        {
            return Some(at);
        }
        let at = places.find(|at| self.shared.table().hosts[*at].allowance.load(Relaxed) <= 0)?;
        self.shared.table().hosts[at].version.store(0, Release);
        self.hosts.retain(|_, place| place.at != at);
        Some(at)
    }

    /// Hands what left since the last tally to `each`, host by host.
    pub(super) fn tally(&mut self, mut each: impl FnMut(Passed)) {
        let table = self.shared.table();
        let spent = table.spent.load(Acquire);
        if spent == self.tallied {
            return;
        }
        self.tallied = spent;
        for (to, place) in &mut self.hosts {
            let Counts { packets, payload, wire, added } = Counts::of(&table.hosts[place.at]);
            if packets == place.packets && added == place.added {
                continue;
            }
            let passed = Passed {
                to: *to,
                packets: packets - place.packets,
                payload: payload - place.payload,
                wire: wire - place.wire,
                added: added - place.added,
            };
            each(passed);
            place.allowance += passed.added as i64 - passed.wire as i64;
            (place.packets, place.payload, place.wire, place.added) = (packets, payload, wire, added);
        }
    }

    /// Records that the daemon has a packet that is held.
    pub(super) fn on_held(&mut self, id: HeldId, segment: &Segment) {
        let at = flow_place(segment);
        self.counts[usize::from(at)] += 1;
        self.held.insert(id, at);
    }

    /// Records that the kernel is about to get the verdict on a packet.
    pub(super) fn on_verdict(&mut self, id: HeldId) {
        if let Some(at) = self.held.remove(&id) {
            self.counts[usize::from(at)] -= 1;
            self.leaving.push(at);
        }
    }

    /// Records that the kernel has all verdicts, so that their packets have left.
    pub(super) fn on_left(&mut self) {
        for at in self.leaving.drain(..) {
            self.shared.table().flows[usize::from(at)].left.fetch_add(1, Release);
        }
    }

    /// Looks for packets that the kernel counted and that never came, because the queue was full or nobody had bound it. What is
    /// astray at two looks, with nothing that came between them, is taken as having left.
    pub(super) fn look(&mut self) {
        self.counting.iter_mut().for_each(Counting::look);
        let table = self.shared.table();
        for (at, held) in self.astray.drain(..) {
            let flows = &table.flows[usize::from(at)];
            if self.counts[usize::from(at)] == 0 && flows.held.load(Acquire) == held {
                flows.left.store(held, Release);
            }
        }
        for (at, flows) in table.flows.iter().enumerate() {
            let held = flows.held.load(Acquire);
            if self.counts[at] == 0 && held != flows.left.load(Relaxed) {
                self.astray.push((at as u16, held));
            }
        }
    }
}

/// What the kernel has counted at the place of a host.
struct Counts {
    packets: u64,
    payload: u64,
    wire: u64,
    added: u64,
}

impl Counts {
    fn of(place: &HostPlace) -> Counts {
        let packets = place.packets.load(Acquire);
        let (payload, wire) = (place.payload.load(Relaxed), place.wire.load(Relaxed));
        Counts { packets, payload, wire, added: place.added.load(Acquire) }
    }
}

/// Makes the daemon's side of the program that counts small packets.
fn count(loaded: &mut Ebpf) -> Result<Counting, String> {
    let Some(Program::SocketFilter(program)) = loaded.program_mut("cw_seen") else {
        return Err("the object has no program cw_seen".to_owned());
    };
    program.load().map_err(|error| sys::in_one_line("the kernel refuses the program that counts", &error))?;
    let program = program.fd().and_then(|program| Ok(program.try_clone()?));
    let program = program.map_err(|error| sys::in_one_line("cannot keep the program that counts", &error))?;
    let Some(Map::Array(map)) = loaded.map("cw_counted") else {
        return Err("the object has no table of flows that are counted".to_owned());
    };
    let flows = Shared::map(map.fd().as_fd())
        .map_err(|errno| sys::in_one_line("cannot map the table of flows that are counted", &errno))?;
    Ok(Counting::over(flows, Some(program)))
}

/// Attaches to a NIC the program that takes credits, and the one for bulk data if that shall leave in the kernel. They are gone with
/// `links`, however the daemon ends.
fn attach(
    loaded: &mut Ebpf,
    nic: &str,
    bulk: bool,
    links: &mut Vec<SchedClassifierLink>,
) -> Result<Bulks, String> {
    let Some(Map::Array(map)) = loaded.map("cw_bulk") else {
        return Err("the object has no table of flows".to_owned());
    };
    let flows = Shared::map(map.fd().as_fd())
        .map_err(|errno| sys::in_one_line("cannot map the table of flows into memory", &errno))?;
    let for_bulk = [("cw_bulk_in", TcAttachType::Ingress), ("cw_bulk_out", TcAttachType::Egress)];
    let for_small = [("cw_credits_in", TcAttachType::Ingress), ("cw_small_out", TcAttachType::Egress)];
    for (name, way) in if bulk { &for_bulk[..] } else { &for_small } {
        let Some(Program::SchedClassifier(program)) = loaded.program_mut(name) else {
            return Err(format!("the object has no program {name}"));
        };
        program
            .load()
            .map_err(|error| sys::in_one_line("the kernel refuses a program for credits", &error))?;
        let link = program
            .attach_with_options(nic, *way, TcAttachOptions::TcxOrder(LinkOrder::default()))
            .and_then(|id| program.take_link(id))
            .map_err(|error| {
                sys::in_one_line("the NIC takes no program, for which it needs Linux 6.6", &error)
            })?;
        links.push(link);
    }
    Nic::open(nic).and_then(|nic| Bulks::new(flows, &nic)).map_err(|error: IoError| error.to_string())
}

/// Mounts the file system of BPF in a folder of the daemon's own, unless the machine has it where systemd mounts it.
fn own_folder(folder: &Path) -> Result<Option<PathBuf>, String> {
    if statfs(BPF_FOLDER).is_ok_and(|found| found.filesystem_type() == BPF_FS_MAGIC) {
        return Ok(None);
    }
    let folder = folder.join(format!("bpf-{}", std::process::id()));
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    mount(Some("bpf"), &folder, Some("bpf"), MsFlags::MS_NOSUID | MsFlags::MS_NODEV, None::<&str>).map_err(
        |errno| {
            let _ = fs::remove_dir(&folder);
            format!("{BPF_FOLDER} is no file system of BPF, and none can be mounted: {errno}")
        },
    )?;
    Ok(Some(folder))
}

/// Returns the first place that a host may have.
fn first_place(to: IpAddr) -> usize {
    (of_address(to) >> (32 - HOSTS.ilog2())) as usize
}

/// Returns the place of a segment's flow.
fn flow_place(segment: &Segment) -> u16 {
    (of_flow(&segment.flow) >> (32 - FLOWS.ilog2())) as u16
}
