//! The loop that drives a datapath on one NIC.

use super::clock::{Clock, timespec};
use super::error::IoError;
use super::filter::Holds;
use super::load::{Counted, Load};
use super::nic::{LinkState, Nic};
use super::packet::{FrameSocket, Received, Sniffer};
use super::pass::Pass;
use super::priority::Following;
use super::queue::Queue;
use super::supervisor::{Next, Supervisor};
use super::sys::Priority;
use super::watched::{Counts, Watched};
use crate::datapath::{Actions, Datapath, Direction, HeldId, Metric, Verdict};
use crate::wire::{Carrier, Segment};
use clearway_units::{Span, Time};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::time::{ClockId, ClockNanosleepFlags, clock_nanosleep};
use std::path::PathBuf;

/// What a driver needs to know about the machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Setup {
    /// The name of the NIC.
    pub interface: String,
    /// The number of the queue of NFQUEUE, which no other program on the machine may use.
    pub queue: u16,
    /// The outgoing packets that wait in that queue.
    pub holds: Holds,
    /// The program that sets the rule for IPv6 ([`super::rules::ip6tables`]). Without it packets of IPv6 pass.
    pub ipv6: Option<String>,
    /// The way in which control frames travel.
    pub carrier: Carrier,
    /// The priority of the thread that drives.
    pub priority: Priority,
    /// The name of the program that lets small packets leave in the kernel ([`Pass`]), if one is loaded.
    pub pass: Option<PathBuf>,
    /// True if that has bulk data leave in the kernel too.
    pub bulk: bool,
}

/// The time between two looks of the supervisor and at the link.
const LOOK_EVERY: Span = Span::from_ms(50);
/// The number of bytes of a packet that are copied to us if it cannot be stamped: more than the longest headers.
const HEADERS: usize = 128;
/// The longest time to the next timer for which segments that have passed wait for it, instead of waking the loop: while credits
/// leave at this pace, each of them would otherwise cost a second wake-up, for the data that an earlier one brought.
const SEEN_WITH_TIMER: Span = Span::from_us(200);
/// The longest time for which segments wait while many pass.
const SEEN_LATE: Span = Span::from_ms(1);
/// The number of timers that are handled before packets have their turn.
const TIMERS: usize = 64;
/// The number of times that one source is read before the others have their turn.
const TURNS: usize = 4;

/// Sockets that are open, ready to drive a datapath.
///
/// A driver is opened before the rules of [`super::rules`] are set, and dropped after they were undone: packets of the
/// queue wait from the moment on at which the rules are set, and those that came after [`Driver::drive`] has ended leave
/// when the driver is dropped.
pub struct Driver {
    nic: Nic,
    queue: Queue,
    frames: FrameSocket,
    sniffer: Sniffer,
    pass: Option<Pass>,
    clock: Clock,
    load: Load,
    priority: Following,
    /// The latest time that the datapath was told.
    told: Time,
    /// The times that the link went down.
    downs: u64,
}

impl Driver {
    /// Opens all sockets, and gives the calling thread a high priority if it may have one (CAP_SYS_NICE). This needs
    /// CAP_NET_ADMIN and CAP_NET_RAW; nothing later needs more.
    ///
    /// `pass` is the program whose name `setup` has.
    pub fn open(setup: &Setup, mut pass: Option<Pass>) -> Result<Driver, IoError> {
        let nic = Nic::open(&setup.interface)?;
        // A credit that leaves late cannot be made up for: on a busy machine half of the throughput depends on this.
        let priority = Following::raise(setup.priority);
        // The default slack of 50 us is more than the time between two credits at 1 Gbit/s.
        let _ = nix::sys::prctl::set_timerslack(1);
        let (copied, copying) = match setup.holds {
            Holds::Data => (usize::from(nic.mtu()?), true),
            Holds::Acks { .. } => (HEADERS, false),
        };
        let frames = FrameSocket::open(&nic, setup.carrier)?;
        let ipv6 = setup.ipv6.is_some();
        let sniffer = match pass.as_mut().and_then(|pass| pass.hear(ipv6)) {
            Some(heard) => Sniffer::over(heard),
            None => {
                let counting = pass.as_ref().and_then(Pass::counting_program);
                Sniffer::open(nic.index(), setup.holds, ipv6, counting)?
            }
        };
        let queue = Queue::open(setup.queue, copied, copying)?;
        let clock = Clock::start()?;
        // The rules are about to be set, and the loop begins after that.
        pass.iter().for_each(|pass| pass.live(clock.kernel_ns(clock.now())));
        let (load, told, downs) = (Load::of(setup.holds), Time::ZERO, 0);
        Ok(Driver { nic, queue, frames, sniffer, pass, clock, load, priority, told, downs })
    }

    /// Records that the rules are set.
    pub fn look_back(&mut self) {
        if let Some(pass) = &mut self.pass {
            pass.forget_name();
        }
    }

    /// Drives `datapath` until `supervisor` stops it, or an error ends it. In both cases all held packets are
    /// released first.
    pub fn drive(
        &mut self,
        datapath: &mut dyn Datapath,
        supervisor: &mut dyn Supervisor,
    ) -> Result<(), IoError> {
        let mut actions = Actions::default();
        let result = self.run(datapath, supervisor, &mut actions);
        datapath.release_all(self.clock.now(), &mut actions);
        self.carry_out(&mut actions);
        let start = self.clock.start_ns();
        self.pass.iter_mut().for_each(|pass| pass.end(start));
        result
    }

    fn run(
        &mut self,
        datapath: &mut dyn Datapath,
        supervisor: &mut dyn Supervisor,
        actions: &mut Actions,
    ) -> Result<(), IoError> {
        let mut look_at = Time::ZERO;
        let mut up = true;
        loop {
            let mut now = self.clock.now();
            if now >= look_at {
                look_at = now.saturating_add(LOOK_EVERY);
                let is_up = self.nic.state()? == LinkState::Up;
                if up && !is_up {
                    self.downs += 1;
                    datapath.release_all(now, actions);
                    self.carry_out(actions);
                }
                up = is_up;
                let clock = self.clock.kernel_ns(now);
                if let Some(pass) = &mut self.pass {
                    pass.live(clock);
                    pass.look();
                }
                if supervisor.look(&Watched { datapath, driver: self }, now) == Next::Stop {
                    return Ok(());
                }
            }
            let is_patient = datapath.is_patient(now);
            self.priority.follow(is_patient);
            let pause = if is_patient { Span::ZERO } else { self.load.pause(now) };
            if !pause.is_zero() {
                // A signal that ends the pause early does no harm.
                let _ =
                    clock_nanosleep(ClockId::CLOCK_MONOTONIC, ClockNanosleepFlags::empty(), &timespec(pause));
                now = self.clock.now();
            }
            let due = datapath.next_timeout().saturating_add(self.load.gather(is_patient));
            let ready = self.wait(now, due.min(look_at), is_patient)?;
            now = self.clock.now();
            let came = self.frames.received + self.sniffer.seen + self.queue.counters.held;
            let (seen, sent, turns) = (self.seen(), self.frames.sent, self.frames.turns);
            self.load.start_round(now, Counted { came, seen, sent, turns });
            let (frames, data) = (self.frames.received, self.data());
            let start = self.clock.start_ns();
            if let Some(pass) = &mut self.pass {
                pass.tally(|passed| datapath.handle_passed(&passed, now, actions));
                pass.tally_bulk(start, |released| datapath.handle_released(&released, now, actions));
                pass.tally_small(|small| datapath.handle_small(&small, now, actions));
                let (packets, payload) = pass.tally_unwatched();
                datapath.count_unwatched(packets, payload);
            }
            self.timers(datapath, now, actions);
            if self.packets(datapath, now, ready, actions)? {
                look_at = now;
            }
            self.load.end_round(now, self.data() > data, self.frames.received > frames);
            self.carry_out(actions);
            if ready.held {
                self.held(datapath, now, up, actions)?;
            }
            self.timers(datapath, now, actions);
            self.carry_out(actions);
        }
    }

    /// Returns the number of segments that were seen or counted.
    fn seen(&self) -> u64 {
        self.sniffer.seen + self.pass.as_ref().map_or(0, Pass::counted)
    }

    /// Returns the number of segments with data that were seen or counted. A daemon that only sends sees samples of acknowledgements too,
    /// of which none is a reason to look for more.
    fn data(&self) -> u64 {
        self.sniffer.data + self.pass.as_ref().map_or(0, Pass::counted)
    }

    /// Handles timers in their order, each at its own time if that is not long past.
    fn timers(&mut self, datapath: &mut dyn Datapath, now: Time, actions: &mut Actions) {
        let late_max = self.load.late_max(datapath.is_patient(now));
        for _ in 0..TIMERS {
            let due = datapath.next_timeout();
            if due > now {
                break;
            }
            let late = Time::from_ps(now.as_ps().saturating_sub(late_max.as_ps()));
            self.told = self.told.max(late).max(due);
            datapath.handle_timeout(self.told, actions);
        }
        self.told = self.told.max(now);
    }

    /// Waits until a socket has something to read or `until` is reached. While the datapath is patient, credits and segments that go on
    /// coming don't end the wait, and are looked for after a time that the load tells.
    fn wait(&self, now: Time, until: Time, is_patient: bool) -> Result<Ready, IoError> {
        let mut time = until.saturating_since(now);
        let credits_wait = is_patient && self.load.frames_go_on(now);
        let segments_go_on = self.load.segments_go_on(now);
        // Small packets are counted, so that any segment that is still heard may wake a patient loop.
        let counts = self.pass.as_ref().is_some_and(|pass| pass.look_for_small(segments_go_on));
        let segments_wait = is_patient && segments_go_on && !counts;
        let is_soon = time <= SEEN_WITH_TIMER || self.load.many_are_seen();
        let urgent = self.sniffer.urgent().filter(|_| segments_wait || is_soon && !(is_patient && counts));
        self.sniffer.wake(urgent.is_none());
        if credits_wait || segments_wait || counts {
            time = time.min(self.load.patience());
        } else if urgent.is_some() {
            time = time.min(SEEN_LATE);
        }
        let frames = if credits_wait { self.frames.urgent() } else { self.frames.fd() };
        let seen = urgent.unwrap_or(self.sniffer.fd());
        let mut sockets =
            [frames, seen, self.queue.fd()].map(|socket| PollFd::new(socket, PollFlags::POLLIN));
        match ppoll(&mut sockets, Some(timespec(time)), None) {
            Ok(_) => {}
            Err(Errno::EINTR) => return Ok(Ready { credits_wait, ..Ready::default() }),
            Err(errno) => return Err(IoError::Socket { what: "cannot wait for packets", errno }),
        }
        let [frames, segments, held] = sockets.map(|socket| socket.any().unwrap_or(true));
        Ok(Ready { frames, credits_wait, segments, held })
    }

    /// Hands over what came by the packet sockets. Returns true if the NIC is down.
    ///
    /// Segments go first: a request may follow closely on the SYN of its connection. They may have waited, so they are looked for in
    /// each round, which costs no system call.
    fn packets(
        &mut self,
        datapath: &mut dyn Datapath,
        now: Time,
        ready: Ready,
        actions: &mut Actions,
    ) -> Result<bool, IoError> {
        let failed = IoError::socket("cannot read a packet socket");
        let mut down = false;
        let mut read = |more: &mut dyn FnMut() -> Result<Received, Errno>| -> Result<(), IoError> {
            for _ in 0..TURNS {
                match more().map_err(&failed)? {
                    Received::More => {}
                    Received::All => break,
                    Received::Down => {
                        down = true;
                        break;
                    }
                }
            }
            Ok(())
        };
        read(&mut || {
            let pass = &mut self.pass;
            self.sniffer.receive(ready.segments, |direction, segment, link| {
                if direction == Direction::Incoming
                    && let Some(pass) = pass
                {
                    pass.on_small(segment);
                }
                datapath.handle_segment(direction, segment, link, now, actions);
            })
        })?;
        if ready.frames || ready.credits_wait {
            read(&mut || {
                self.frames.receive(ready.frames, ready.credits_wait, |frame| {
                    datapath.handle_frame(frame, now, actions);
                })
            })?;
        }
        Ok(down)
    }

    /// Hands over the packets that the kernel holds. While the link is down, they leave at once.
    fn held(
        &mut self,
        datapath: &mut dyn Datapath,
        now: Time,
        up: bool,
        actions: &mut Actions,
    ) -> Result<(), IoError> {
        for _ in 0..TURNS {
            let pass = &mut self.pass;
            let more = self.queue.receive(|id: HeldId, segment: &Segment| {
                if let Some(pass) = pass {
                    pass.on_held(id, segment);
                }
                if up {
                    datapath.handle_held(id, segment, now, actions);
                } else {
                    actions.verdicts.push((id, Verdict::Accept));
                }
            });
            if !more.map_err(IoError::socket("cannot read the queue of NFQUEUE"))? {
                break;
            }
        }
        Ok(())
    }

    fn carry_out(&mut self, actions: &mut Actions) {
        for (id, verdict) in &actions.verdicts {
            self.queue.verdict(*id, *verdict);
            if let Some(pass) = &mut self.pass {
                pass.on_verdict(*id);
            }
        }
        self.queue.flush();
        let start = self.clock.start_ns();
        if let Some(pass) = &mut self.pass {
            pass.on_left();
            pass.order(&actions.orders, start);
            actions.allowances.iter().for_each(|(to, bytes)| pass.allow(*to, *bytes));
        }
        self.frames.send(&actions.frames);
        actions.clear();
    }
}

impl Counts for Driver {
    fn counts(&self, each: &mut dyn FnMut(Metric)) {
        let queue = &self.queue.counters;
        let mut counter =
            |name, help, label, value: u64| each(Metric { name, help, label, value: value as f64 });
        let socket = "Frames and packets that crossed a socket of the daemon.";
        counter("socket_packets_total", socket, Some(("kind", "frames_received")), self.frames.received);
        counter("socket_packets_total", socket, Some(("kind", "frames_sent")), self.frames.sent);
        counter("socket_packets_total", socket, Some(("kind", "segments_seen")), self.sniffer.seen);
        let counted = self.pass.as_ref().map_or(0, Pass::counted);
        counter("socket_packets_total", socket, Some(("kind", "segments_counted")), counted);
        counter("socket_packets_total", socket, Some(("kind", "packets_held")), queue.held);
        counter("socket_packets_total", socket, Some(("kind", "packets_stamped")), queue.stamped);
        let failure = "Packets and messages that the kernel or the daemon could not treat as they should be.";
        counter("socket_failures_total", failure, Some(("kind", "frame_unsent")), self.frames.unsent);
        counter("socket_failures_total", failure, Some(("kind", "packet_unstamped")), queue.unstamped);
        counter("socket_failures_total", failure, Some(("kind", "packet_unreadable")), queue.unreadable);
        counter("socket_failures_total", failure, Some(("kind", "queue_overrun")), queue.overruns);
        counter("socket_failures_total", failure, Some(("kind", "verdict_refused")), queue.refused);
        counter("link_downs_total", "Times that the link of the NIC went down.", None, self.downs);
    }
}

/// The sockets that have something to read.
#[derive(Clone, Copy, Default)]
struct Ready {
    frames: bool,
    /// True if only frames that must not wait were looked for, so that credits may have come too.
    credits_wait: bool,
    segments: bool,
    held: bool,
}
