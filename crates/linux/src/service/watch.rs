//! The daemon's view of its loop: signals, statistics, the watchdog.

use super::events::Events;
use super::notify::Notify;
use super::stats::Shared;
use crate::datapath::Datapath;
use crate::io::{Next, Supervisor};
use clearway_units::{Span, Time};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use std::sync::Arc;

/// The signals that end the daemon. They are blocked from the start, so that none of them arrives between two steps of
/// a plan, and read by the loop.
#[derive(Debug)]
pub struct Signals(SignalFd);

impl Signals {
    /// Blocks the signals for this thread and all that it starts. Commands that it runs are not affected.
    pub fn block() -> nix::Result<Signals> {
        let set: SigSet =
            [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP, Signal::SIGQUIT].into_iter().collect();
        set.thread_block()?;
        SignalFd::with_flags(&set, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC).map(Signals)
    }

    /// Returns the next signal that has come, if there is one.
    pub fn next(&mut self) -> Option<Signal> {
        let info = self.0.read_signal().ok()??;
        Signal::try_from(info.ssi_signo as i32).ok()
    }
}

/// The supervisor of a loop.
pub struct Watch<'a> {
    signals: &'a mut Signals,
    notify: &'a Notify,
    shared: Arc<Shared>,
    events: Events,
    /// The time of the last look.
    last: Time,
    looks: u64,
    longest: Span,
    /// The time of the next sign of life to the service manager.
    alive_at: Time,
}

impl<'a> Watch<'a> {
    /// Makes the supervisor of a loop that begins now.
    pub fn new(signals: &'a mut Signals, notify: &'a Notify, shared: Arc<Shared>) -> Watch<'a> {
        let (events, looks, longest) = (Events::default(), 0, Span::ZERO);
        Watch { signals, notify, shared, events, last: Time::ZERO, looks, longest, alive_at: Time::ZERO }
    }
}

impl Supervisor for Watch<'_> {
    fn look(&mut self, datapath: &dyn Datapath, now: Time) -> Next {
        if self.looks > 0 {
            self.longest = self.longest.max(now.saturating_since(self.last));
        }
        (self.last, self.looks) = (now, self.looks + 1);
        self.shared.publish(datapath, now, self.looks, self.longest);
        self.events.look(datapath, now);
        if let Some(period) = self.notify.watchdog().filter(|_| now >= self.alive_at) {
            // Half of the period, as sd_watchdog_enabled(3) recommends.
            self.alive_at = now.saturating_add(Span::from_us(period.as_micros() as u64 / 2));
            self.notify.alive();
        }
        match self.signals.next() {
            Some(signal) => {
                tracing::info!(%signal, "stops");
                Events::totals(datapath);
                Next::Stop
            }
            None => Next::Continue,
        }
    }
}
