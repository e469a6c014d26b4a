//! The switch in user space on real NICs: sockets, the clock, and the loop.

use super::soft::{FRAME_MAX, SoftSwitch};
use crate::io::{IoError, Next, PortSocket};
use crate::wire::MacAddr;
use clearway_units::{Span, Time};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime};

/// The time between two looks of the supervisor.
const LOOK_EVERY: Span = Span::from_ms(50);
/// The number of times that one port is read before the others have their turn.
const TURNS: usize = 4;

/// The sockets of a switch's ports.
pub struct Shell {
    sockets: Vec<PortSocket>,
    outbox: Outbox,
    start: TimeSpec,
}

/// Frames that have left a port and are not yet given to the kernel.
#[derive(Default)]
struct Outbox {
    bytes: Vec<u8>,
    frames: Vec<(usize, std::ops::Range<usize>)>,
}

impl Outbox {
    fn push(&mut self, port: usize, frame: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(frame);
        self.frames.push((port, start..self.bytes.len()));
    }
}

impl Shell {
    /// Opens the sockets of the ports. This needs CAP_NET_RAW; nothing later needs more.
    pub fn open(devices: &[String]) -> Result<Shell, IoError> {
        let open = |device: &String| PortSocket::open(device, FRAME_MAX);
        let sockets = devices.iter().map(open).collect::<Result<_, _>>()?;
        // The default slack of 50 us is most of the time between two credits at 100 Mbit/s.
        let _ = nix::sys::prctl::set_timerslack(1);
        let start = now().map_err(|errno| IoError::Socket { what: "cannot read the clock", errno })?;
        Ok(Shell { sockets, outbox: Outbox::default(), start })
    }

    /// Returns the Ethernet address of each port's NIC.
    pub fn addresses(&self) -> Result<Vec<MacAddr>, IoError> {
        self.sockets.iter().map(PortSocket::address).collect()
    }

    /// Returns the frames that the kernel did not take, of each port.
    pub fn unsent(&self) -> impl Iterator<Item = u64> {
        self.sockets.iter().map(|socket| socket.unsent)
    }

    fn now(&self) -> Time {
        let since = now().unwrap_or(self.start) - self.start;
        let (s, ns) = (since.tv_sec().max(0) as u64, since.tv_nsec().max(0) as u64);
        Time::ZERO.saturating_add(Span::from_secs(s) + Span::from_ns(ns))
    }

    /// Drives `switch` until `look`, which is called 20 times a second, stops it.
    pub fn drive(
        &mut self,
        switch: &mut SoftSwitch,
        look: &mut dyn FnMut(&SoftSwitch, &Shell, Time) -> Next,
    ) -> Result<(), IoError> {
        let mut look_at = Time::ZERO;
        loop {
            let now = self.now();
            if now >= look_at {
                look_at = now.saturating_add(LOOK_EVERY);
                if look(switch, self, now) == Next::Stop {
                    return Ok(());
                }
            }
            let ready = self.wait(now, switch.next_timeout().min(look_at))?;
            for port in (0..self.sockets.len()).filter(|&port| port >= 64 || ready & 1 << port != 0) {
                for _ in 0..TURNS {
                    let (now, outbox) = (self.now(), &mut self.outbox);
                    let more = self.sockets[port].receive(|frame| {
                        switch.handle_frame(port, frame, now, &mut |port, _, frame| outbox.push(port, frame));
                    })?;
                    self.flush();
                    if !more {
                        break;
                    }
                }
            }
            let (now, outbox) = (self.now(), &mut self.outbox);
            switch.run(now, &mut |port, _, frame| outbox.push(port, frame));
            self.flush();
        }
    }

    /// Gives the frames that have left their ports to the kernel.
    fn flush(&mut self) {
        for (port, range) in self.outbox.frames.drain(..) {
            self.sockets[port].send(&self.outbox.bytes[range]);
        }
        self.outbox.bytes.clear();
    }

    /// Waits until a frame comes or `until` is reached. Returns a bit for each of the first 64 ports that has frames.
    fn wait(&self, now: Time, until: Time) -> Result<u64, IoError> {
        // Ports are few, and a list of them for the kernel cannot outlive this call.
        let sockets = self.sockets.iter().map(|socket| PollFd::new(socket.fd(), PollFlags::POLLIN));
        let mut sockets: Vec<PollFd<'_>> = sockets.collect();
        let span = until.saturating_since(now).as_ps().div_ceil(1000);
        let timeout = TimeSpec::new((span / 1_000_000_000) as i64, (span % 1_000_000_000) as i64);
        match ppoll(&mut sockets, Some(timeout), None) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(errno) => return Err(IoError::Socket { what: "cannot wait for frames", errno }),
        }
        let ready = sockets.iter().take(64).enumerate().filter(|(_, socket)| socket.any().unwrap_or(true));
        Ok(ready.map(|(port, _)| 1u64 << port).sum())
    }
}

fn now() -> Result<TimeSpec, Errno> {
    clock_gettime(ClockId::CLOCK_MONOTONIC)
}
