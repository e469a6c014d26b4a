//! The loop that drives a datapath with the acknowledgements that programs at the NIC take.

use super::frames::{self, Frames};
use super::kernel::{Acks, Event};
use crate::datapath::{Actions, Datapath, Metric};
use crate::io::clock::{Clock, timespec};
use crate::io::error::IoError;
use crate::io::nic::{LinkState, Nic};
use crate::io::priority::Following;
use crate::io::supervisor::{Next, Supervisor};
use crate::io::sys::Priority;
use crate::io::watched::{Counts, Watched};
use clearway_units::{Span, Time};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::time::{ClockId, ClockNanosleepFlags, clock_nanosleep};
use std::os::fd::{AsFd, OwnedFd};

/// The time between two looks of the supervisor and at the link.
const LOOK_EVERY: Span = Span::from_ms(50);
/// The records that are read before what they release is sent.
const RECORDS: usize = 256;
/// The times that records are read, as long as there are so many, before the supervisor has its look.
const ROUNDS: usize = 16;
/// The times that records are read so as to empty the ring, which has less room.
const ROUNDS_TO_EMPTY: usize = 256;
/// The number of timers that are handled before packets have their turn.
const TIMERS: usize = 64;

/// What the driver needs to know.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AcksSetup {
    /// The name of the NIC.
    pub interface: String,
    /// The priority of the thread that drives.
    pub priority: Priority,
    /// The time between two looks at the ring while packets cross.
    pub gather: Span,
}

/// Sockets and programs, ready to drive a datapath.
pub struct AcksDriver {
    nic: Nic,
    acks: Acks,
    frames: Frames,
    socket: OwnedFd,
    clock: Clock,
    gather: Span,
    /// The times that the link went down.
    downs: u64,
    /// The times that the loop slept until a packet came, and those that it slept for a while.
    waits: u64,
    naps: u64,
}

impl AcksDriver {
    /// Opens the socket for what the programs take, and gives the calling thread a high priority if it may have one (CAP_SYS_NICE).
    /// This needs CAP_NET_ADMIN and CAP_NET_RAW; nothing later needs more.
    pub fn open(setup: &AcksSetup, acks: Acks) -> Result<AcksDriver, IoError> {
        let nic = Nic::open(&setup.interface)?;
        let _ = Following::raise(setup.priority);
        // The default slack of 50 us is as long as a nap at 1 Gbit/s.
        let _ = nix::sys::prctl::set_timerslack(1_000);
        let socket = frames::open(&nic, acks.mark)?;
        let (clock, gather) = (Clock::start()?, setup.gather);
        Ok(AcksDriver {
            nic,
            acks,
            frames: Frames::default(),
            socket,
            clock,
            gather,
            downs: 0,
            waits: 0,
            naps: 0,
        })
    }

    /// Drives `datapath` until `supervisor` stops it, or an error ends it. In both cases the programs are taken away, and all that is
    /// held leaves.
    pub fn drive(
        &mut self,
        datapath: &mut dyn Datapath,
        supervisor: &mut dyn Supervisor,
    ) -> Result<(), IoError> {
        let mut actions = Actions::default();
        let result = self.run(datapath, supervisor, &mut actions);
        self.acks.detach();
        self.empty(datapath, &mut actions);
        result
    }

    fn run(
        &mut self,
        datapath: &mut dyn Datapath,
        supervisor: &mut dyn Supervisor,
        actions: &mut Actions,
    ) -> Result<(), IoError> {
        let mut look_at = Time::ZERO;
        loop {
            let mut now = self.clock.now();
            if now >= look_at {
                look_at = now.saturating_add(LOOK_EVERY);
                self.look(now, datapath, actions)?;
                if supervisor.look(&Watched { datapath, driver: self }, now) == Next::Stop {
                    return Ok(());
                }
            }
            let mut records = 0;
            let mut is_full = true;
            for _ in 0..ROUNDS {
                let count = self.read(datapath, now, actions);
                timers(datapath, now, actions);
                self.carry_out(actions);
                records += count;
                is_full = count == RECORDS;
                if !is_full {
                    break;
                }
                now = self.clock.now();
            }
            match records {
                0 => self.wait(datapath.next_timeout().min(look_at))?,
                // A flood must not keep the supervisor from its look.
                _ if is_full => {}
                _ => self.nap(now),
            }
        }
    }

    /// Looks at the link. While it is down, packets pass.
    fn look(&mut self, now: Time, datapath: &mut dyn Datapath, actions: &mut Actions) -> Result<(), IoError> {
        if self.nic.state()? == LinkState::Up {
            self.acks.live(self.clock.kernel_ns(now));
        } else if self.acks.lives() {
            self.downs += 1;
            self.acks.pass();
            self.empty(datapath, actions);
        }
        Ok(())
    }

    /// Lets all leave that is held.
    fn empty(&mut self, datapath: &mut dyn Datapath, actions: &mut Actions) {
        for _ in 0..ROUNDS_TO_EMPTY {
            if self.read(datapath, self.clock.now(), actions) == 0 {
                break;
            }
        }
        datapath.release_all(self.clock.now(), actions);
        self.carry_out(actions);
    }

    /// Hands over what the ring has. Returns the number of records.
    fn read(&mut self, datapath: &mut dyn Datapath, now: Time, actions: &mut Actions) -> usize {
        self.acks.read(RECORDS, &mut self.frames, |event| match event {
            Event::Seen(direction, segment, link) => {
                datapath.handle_segment(direction, &segment, link, now, actions);
            }
            Event::Held(id, segment) => datapath.handle_held(id, &segment, now, actions),
        })
    }

    fn carry_out(&mut self, actions: &mut Actions) {
        for (id, verdict) in &actions.verdicts {
            self.frames.verdict(*id, *verdict);
        }
        self.frames.send(self.socket.as_fd());
        actions.clear();
    }

    /// Lets packets gather for a while.
    fn nap(&mut self, now: Time) {
        let left = now.saturating_add(self.gather).saturating_since(self.clock.now());
        self.naps += 1;
        // A signal that ends the nap early does no harm.
        let _ = clock_nanosleep(ClockId::CLOCK_MONOTONIC, ClockNanosleepFlags::empty(), &timespec(left));
    }

    /// Sleeps until the programs write something, or `until` is reached.
    fn wait(&mut self, until: Time) -> Result<(), IoError> {
        self.waits += 1;
        self.acks.sleeps(true);
        // What was written before is seen here, since the kernel looks into the ring before it puts us to sleep.
        let time = until.saturating_since(self.clock.now());
        let mut ring = [PollFd::new(self.acks.fd(), PollFlags::POLLIN)];
        let result = ppoll(&mut ring, Some(timespec(time)), None);
        self.acks.sleeps(false);
        match result {
            Ok(_) | Err(Errno::EINTR) => Ok(()),
            Err(errno) => Err(IoError::Socket { what: "cannot wait for packets", errno }),
        }
    }
}

/// Handles the timers that are due.
fn timers(datapath: &mut dyn Datapath, now: Time, actions: &mut Actions) {
    for _ in 0..TIMERS {
        if datapath.next_timeout() > now {
            break;
        }
        datapath.handle_timeout(now, actions);
    }
}

impl Counts for AcksDriver {
    fn counts(&self, each: &mut dyn FnMut(Metric)) {
        let frames = &self.frames.counters;
        let (passed, missed) = self.acks.overruns();
        let mut counter =
            |name, help, label, value: u64| each(Metric { name, help, label, value: value as f64 });
        let socket = "Frames and packets that crossed a socket of the daemon.";
        counter("socket_packets_total", socket, Some(("kind", "packets_held")), frames.held);
        counter("socket_packets_total", socket, Some(("kind", "frames_sent")), frames.sent);
        let failure = "Packets and messages that the kernel or the daemon could not treat as they should be.";
        counter("socket_failures_total", failure, Some(("kind", "frame_unsent")), frames.unsent);
        counter("socket_failures_total", failure, Some(("kind", "packet_unreadable")), frames.unreadable);
        counter("socket_failures_total", failure, Some(("kind", "ack_passed_ring_full")), passed);
        counter("socket_failures_total", failure, Some(("kind", "segment_missed_ring_full")), missed);
        let sleeps =
            "Times that the loop slept: until a packet came, or for a while in which packets gathered.";
        counter("loop_sleeps_total", sleeps, Some(("until", "packet")), self.waits);
        counter("loop_sleeps_total", sleeps, Some(("until", "time")), self.naps);
        counter("link_downs_total", "Times that the link of the NIC went down.", None, self.downs);
    }
}
