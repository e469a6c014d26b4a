//! The crew: threads that let the parts of a run go on beside each other, each as far as it may without hearing of the
//! others.
//!
//! Every part has a *seat*. A part that has handled its events before a time *promises* when it may do something next, and
//! so each other part knows before which time nothing more comes from there: no barrier holds all. A thread goes on with
//! its own parts. Where none of these may, it waits awake for a while, then goes on with a part whose thread has not come,
//! and then sleeps. So where others need the processors, one thread does what another one can't.

use super::company::{Company, REST};
use super::seat::{Piece, Seat};
use crate::net::Delays;
use clearway_units::{Span, Time};
use std::any::Any;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle, available_parallelism};

/// The most looks for something to do before a thread sleeps: about a millisecond.
const LOOKS: u64 = 1 << 15;
/// The least looks of a thread, which take about as long as to wake another one.
const LEAST_LOOKS: u64 = 1 << 10;

/// The threads, and the seats of the parts.
pub struct Crew<P> {
    hall: Arc<Hall<P>>,
    threads: Vec<JoinHandle<()>>,
    company: Company,
}

/// What the threads share.
struct Hall<P> {
    seats: Vec<Seat<P>>,
    /// For each part, the parts from which links lead to it, and the shortest delay of these.
    sources: Vec<Vec<(usize, Span)>>,
    /// For each part, the shortest of these delays, by more than which it never goes on in one step.
    windows: Vec<Span>,
    /// The number of threads: each has the parts whose numbers leave its own as the remainder.
    threads: usize,
    /// Set if there is a processor for each thread, so that they may wait awake.
    has_room: bool,
    state: State,
}

/// The state of all seats together, which shares no cache line with what is only read.
#[repr(align(128))]
#[derive(Default)]
struct State {
    /// The number of parts that have yet to come to the end of the stretch.
    left: AtomicUsize,
    /// The number of threads that sleep.
    sleepers: AtomicUsize,
    /// The number of whole rests that threads had in this stretch while a part of their own had to wait.
    rests: AtomicU64,
    /// The number of events in this stretch.
    events: AtomicU64,
    /// Set while only the calling thread goes on with parts.
    is_alone: AtomicBool,
    /// Set if time stands still in a part.
    is_stuck: AtomicBool,
    /// Set if a thread panicked.
    has_failed: AtomicBool,
    /// Set if the threads shall end.
    is_over: AtomicBool,
    /// Behind it threads lie down and are woken. It counts the calls that woke them.
    door: Mutex<u64>,
    bell: Condvar,
}

impl<P: Piece> Crew<P> {
    /// Returns the number of threads for so many parts: one for each, but no more than there are processors, and one
    /// where the platform has no threads.
    pub fn fitting(parts: usize) -> usize {
        let processors = available_parallelism().map_or(1, |processors| processors.get());
        if cfg!(target_family = "wasm") { 1 } else { parts.min(processors) }
    }

    /// Starts threads for parts with these delays between them: so many, the calling one included, or fewer if the system
    /// does not give them.
    pub fn start(delays: &Delays, threads: usize) -> Crew<P> {
        let parts = delays.parts();
        let of_part = |part| {
            let sources = delays.links_to(part).enumerate().filter(|&(_, delay)| delay != Span::MAX);
            sources.collect::<Vec<_>>()
        };
        let sources: Vec<Vec<(usize, Span)>> = (0..parts).map(of_part).collect();
        let least =
            |sources: &Vec<(usize, Span)>| sources.iter().map(|&(_, delay)| delay).min().unwrap_or(Span::MAX);
        let hall = Arc::new(Hall {
            seats: (0..parts).map(|_| Seat::default()).collect(),
            windows: sources.iter().map(least).collect(),
            sources,
            threads,
            has_room: Crew::<P>::fitting(threads) == threads,
            state: State::default(),
        });
        let start = |thread: usize| {
            let hall = Arc::clone(&hall);
            let work = move || {
                let _alarm = Alarm(&hall.state);
                hall.work(thread);
            };
            Builder::new().name("clearway".into()).spawn(work).ok()
        };
        // A part whose thread never comes is driven by others.
        let threads = (1..threads).map_while(start).collect();
        Crew { hall, threads, company: Company::default() }
    }

    /// Returns whether there is any thread beside the calling one.
    pub fn has_threads(&self) -> bool {
        !self.threads.is_empty()
    }

    /// Lets all parts go on to `until`. `firsts` are the times of what they have to do first, before which nothing comes
    /// from anywhere. They come no further than one in which time stands still lets them.
    ///
    /// # Panics
    /// As a thread did, if one panicked.
    pub fn go_on(&mut self, pieces: &mut Vec<P>, delays: &Delays, firsts: &[Time], until: Time) {
        let Hall { seats, state, .. } = &*self.hall;
        let is_alone = self.company.is_alone();
        state.is_alone.store(is_alone, Ordering::SeqCst);
        state.rests.store(0, Ordering::Relaxed);
        state.events.store(0, Ordering::Relaxed);
        state.left.store(seats.len(), Ordering::SeqCst);
        for (part, piece) in pieces.drain(..).enumerate() {
            seats[part].promise(firsts[part].min(delays.heard(part, firsts)));
            seats[part].fill(piece, firsts[part], until);
        }
        if !is_alone {
            state.wake();
        }
        self.hall.work(0);
        if state.has_failed.load(Ordering::SeqCst)
            && let Some(panic) = self.end()
        {
            resume_unwind(panic);
        }
        let Hall { seats, state, .. } = &*self.hall;
        pieces.extend(seats.iter().map(Seat::empty));
        state.is_stuck.store(false, Ordering::SeqCst);
        self.company.heed(state.events.load(Ordering::Relaxed), state.rests.load(Ordering::Relaxed));
    }
}

impl<P> Crew<P> {
    /// Ends the threads. Returns the panic of one of them, if one panicked.
    fn end(&mut self) -> Option<Box<dyn Any + Send>> {
        self.hall.state.is_over.store(true, Ordering::SeqCst);
        self.hall.state.wake();
        // All have ended before any panic goes on.
        let ends: Vec<_> = self.threads.drain(..).map(JoinHandle::join).collect();
        ends.into_iter().find_map(Result::err)
    }
}

impl<P> Drop for Crew<P> {
    fn drop(&mut self) {
        // A panic of a thread was told by `go_on`.
        let _ = self.end();
    }
}

/// Tells all others if a thread panics.
struct Alarm<'a>(&'a State);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.has_failed.store(true, Ordering::SeqCst);
            self.0.wake();
        }
    }
}

impl State {
    /// Wakes threads that sleep, after something changed for which they may wait.
    fn wake(&self) {
        // Either a thread that lies down sees the change, or it is seen here.
        fence(Ordering::SeqCst);
        if self.sleepers.load(Ordering::SeqCst) > 0 {
            let mut calls = self.door.lock().unwrap_or_else(PoisonError::into_inner);
            *calls += 1;
            self.sleepers.store(0, Ordering::SeqCst);
            self.bell.notify_all();
        }
    }
}

impl<P: Piece> Hall<P> {
    /// Goes on with parts: the calling thread, which has the number 0, until all have come to the end of the stretch; the
    /// others until the crew is dissolved.
    fn work(&self, thread: usize) {
        let (mut looks, mut most) = (0, LEAST_LOOKS);
        while !self.is_done(thread) {
            let is_alone = self.state.is_alone.load(Ordering::Relaxed);
            if is_alone && thread > 0 {
                self.sleep(thread);
                continue;
            }
            let mut went = None;
            for part in (thread..self.seats.len()).step_by(self.threads) {
                if let Some(events) = self.go_on(part, thread) {
                    self.seats[part].is_away.store(false, Ordering::Relaxed);
                    went = Some(events);
                }
            }
            if went.is_none() {
                went = self.help(thread, looks >= most || !self.has_room || is_alone);
            }
            if let Some(events) = went {
                // An event takes some five looks.
                (looks, most) = (0, events.clamp(LEAST_LOOKS, LOOKS));
            } else if looks < most && self.has_room {
                std::hint::spin_loop();
                looks += 1;
            } else {
                self.sleep(thread);
                looks = 0;
            }
        }
    }

    /// Goes on with a part of another thread that has not come before or, if `any` is set, does not come now.
    fn help(&self, thread: usize, any: bool) -> Option<u64> {
        for (part, seat) in self.seats.iter().enumerate() {
            if part % self.threads != thread && (any || seat.is_away.load(Ordering::Relaxed)) {
                let went = self.go_on(part, thread);
                if went.is_some() {
                    seat.is_away.store(true, Ordering::Relaxed);
                    return went;
                }
            }
        }
        None
    }

    /// Goes on with a part, if it may and nobody else does, on a thread. Returns the number of events that it handled.
    fn go_on(&self, part: usize, thread: usize) -> Option<u64> {
        let seat = &self.seats[part];
        if !self.may_go_on(part) {
            return None;
        }
        // Where a thread sleeps nobody waits for a promise soon.
        let sleeps = self.state.sleepers.load(Ordering::Relaxed) > 0;
        let window = if sleeps { Span::MAX } else { self.windows[part] };
        let went = seat.go_on(|| self.heard(part), window)?;
        if went.is_stuck {
            self.state.is_stuck.store(true, Ordering::SeqCst);
        }
        if went.is_at_end {
            self.state.left.fetch_sub(1, Ordering::SeqCst);
        }
        self.state.events.fetch_add(went.events, Ordering::Relaxed);
        // The calling thread, alone, wakes nobody. One that has yet to hear that it is out wakes the calling one.
        if thread > 0 || !self.state.is_alone.load(Ordering::Relaxed) {
            self.state.wake();
        }
        Some(went.events)
    }

    /// Returns whether a part is free to go on, by what can be seen without taking it.
    fn may_go_on(&self, part: usize) -> bool {
        self.seats[part].open_from().is_some_and(|done| self.heard(part) > done)
    }

    /// Returns the time before which a part hears of nothing more.
    fn heard(&self, part: usize) -> Time {
        let sources = self.sources[part].iter();
        let heard = sources.map(|&(from, delay)| self.seats[from].promised().saturating_add(delay));
        heard.min().unwrap_or(Time::MAX)
    }

    /// Returns whether a thread has nothing more to do.
    fn is_done(&self, thread: usize) -> bool {
        let state = &self.state;
        if thread > 0 {
            return state.is_over.load(Ordering::Acquire);
        }
        let is_stuck = || state.is_stuck.load(Ordering::Acquire) && self.is_quiet();
        state.left.load(Ordering::Acquire) == 0 || state.has_failed.load(Ordering::Acquire) || is_stuck()
    }

    /// Returns whether no part goes on, nor can.
    fn is_quiet(&self) -> bool {
        (0..self.seats.len()).all(|part| !self.seats[part].is_taken() && !self.may_go_on(part))
    }

    /// Sleeps until something changes, unless there is something to do.
    fn sleep(&self, thread: usize) {
        let door = self.state.door.lock().unwrap_or_else(PoisonError::into_inner);
        self.state.sleepers.fetch_add(1, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        let is_out = thread > 0 && self.state.is_alone.load(Ordering::SeqCst);
        let may_help = || !is_out && (0..self.seats.len()).any(|part| self.may_go_on(part));
        if self.is_done(thread) || may_help() {
            // Whoever wakes all sets the number to zero behind the same door.
            self.state.sleepers.fetch_sub(1, Ordering::SeqCst);
            return;
        }
        // A call that wakes it for nothing costs one more round.
        let waits = |part: usize| self.seats[part].is_open();
        if is_out || !(thread..self.seats.len()).step_by(self.threads).any(waits) {
            drop(self.state.bell.wait(door));
            return;
        }
        let calls = *door;
        let Ok((door, end)) = self.state.bell.wait_timeout(door, REST) else { return };
        if end.timed_out() {
            self.state.rests.fetch_add(1, Ordering::Relaxed);
            if *door == calls {
                // Nobody has called, and so set the number to zero.
                self.state.sleepers.fetch_sub(1, Ordering::SeqCst);
            }
        }
    }
}

#[cfg(test)]
#[path = "crew_tests.rs"]
mod tests;
