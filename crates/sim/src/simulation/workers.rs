//! The threads beside the calling one: each drives a part of the network up to a barrier and hands it back.

use super::region::Region;
use super::times::{Clock, Spent};
use crate::net::Network;
use clearway_units::Time;
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, RecvError, SyncSender, TryRecvError, sync_channel};
use std::thread::{Builder, JoinHandle, available_parallelism, yield_now};

/// The number of looks for a message before a thread lets others have the processor in between: some 20 us.
const SPINS: u32 = 1 << 10;
/// The number of looks before a thread sleeps until the message comes: about a millisecond where nobody else runs.
const LOOKS: u32 = SPINS + (1 << 11);

/// A part of the network on its way to a thread or back.
pub struct Part {
    /// The ports and packets of the part.
    pub net: Network,
    /// The hosts of the part.
    pub region: Region,
    /// The time before which events are handled.
    pub until: Time,
    /// The clock, if the run is timed.
    pub clock: Option<Clock>,
    /// The time that it took.
    pub spent: Spent,
}

impl Part {
    fn run(&mut self) {
        self.spent = self.region.go_on(&mut self.net, self.until, self.clock);
    }
}

/// A thread that drives one part of the network whenever it is handed over, always the same one.
pub struct Worker {
    /// The way to the thread, until it shall end.
    to: Option<SyncSender<Part>>,
    from: Receiver<Part>,
    thread: Option<JoinHandle<()>>,
    looks: u32,
}

impl Worker {
    /// Starts so many threads. Answers none at all if the system does not give them.
    pub fn start(count: usize) -> Vec<Worker> {
        // Who waits while others need the processor only delays them.
        let has_room = available_parallelism().is_ok_and(|processors| count < processors.get());
        let looks = if has_room { LOOKS } else { 0 };
        (0..count).map(|_| Worker::new(looks)).collect::<Option<_>>().unwrap_or_default()
    }

    fn new(looks: u32) -> Option<Worker> {
        let (to, inbox) = sync_channel::<Part>(1);
        let (outbox, from) = sync_channel(1);
        let work = move || {
            while let Ok(mut part) = receive(&inbox, looks) {
                part.run();
                if outbox.send(part).is_err() {
                    break;
                }
            }
        };
        let thread = Builder::new().name("clearway".into()).spawn(work).ok()?;
        Some(Worker { to: Some(to), from, thread: Some(thread), looks })
    }

    /// Hands a part to the thread, which goes on with it at once.
    pub fn send(&self, part: Part) {
        if let Some(to) = &self.to {
            // If the thread is gone, `receive` says so.
            let _ = to.send(part);
        }
    }

    /// Waits for the part that was handed over.
    ///
    /// # Panics
    /// As the thread did, if it panicked.
    pub fn receive(&mut self) -> Part {
        receive(&self.from, self.looks).unwrap_or_else(|_| {
            let end = self.thread.take().map(JoinHandle::join);
            match end {
                Some(Err(panic)) => resume_unwind(panic),
                _ => panic!("a thread of the run ended before its part was done"),
            }
        })
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.to = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the thread is told where its part is waited for.
            let _ = thread.join();
        }
    }
}

/// Waits for a message: awake at first, since a thread that sleeps takes longer to wake than most windows last.
fn receive(from: &Receiver<Part>, looks: u32) -> Result<Part, RecvError> {
    for look in 0..looks {
        match from.try_recv() {
            Ok(part) => return Ok(part),
            Err(TryRecvError::Disconnected) => return Err(RecvError),
            Err(TryRecvError::Empty) if look < SPINS => std::hint::spin_loop(),
            Err(TryRecvError::Empty) => yield_now(),
        }
    }
    from.recv()
}
