//! A seat of the crew: a part of the run, which one thread at a time takes, and what the others may see of it meanwhile.

use clearway_units::{Span, Time};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Something that goes on in simulated time, beside others of which it hears with a delay.
pub trait Piece: Send + 'static {
    /// Takes in what the others have sent, handles all that comes before `until`, and sends what it has for them.
    fn go_on(&mut self, until: Time) -> Left;

    /// Returns whether it costs more to go on in several steps than in one.
    fn prefers_one_step(&self) -> bool {
        false
    }
}

/// What a piece has left.
pub struct Left {
    /// The time of the first thing that it has to do, as far as it has heard; the present if it does not get on.
    pub next: Time,
    /// The number of events that it handled.
    pub events: u64,
    /// Set if time stands still in it.
    pub is_stuck: bool,
}

/// What came of going on.
pub struct Went {
    /// The number of events.
    pub events: u64,
    /// Set if the piece has come to the end of the stretch.
    pub is_at_end: bool,
    /// Set if time stands still in it.
    pub is_stuck: bool,
}

/// The seat of a piece. It shares no cache line with another one.
#[repr(align(128))]
pub struct Seat<P> {
    taken: Mutex<Option<Taken<P>>>,
    /// Set while a thread goes on with the piece.
    is_taken: AtomicBool,
    /// The time before which the piece has handled all, in picoseconds; [`CLOSED`] if it is not to go on.
    done: AtomicU64,
    /// A time before which the piece does nothing that it has not told the others, in picoseconds.
    promise: AtomicU64,
    /// Set if another thread had to go on with the piece in the place of its own.
    pub is_away: AtomicBool,
}

/// A piece on its way to the end of a stretch.
struct Taken<P> {
    piece: P,
    /// The end of the stretch.
    until: Time,
    /// The time before which all is handled.
    done: Time,
    /// The time of the first thing to do.
    next: Time,
    /// The events of the last step, and the simulated time that it took.
    last: (u64, Span),
}

/// The number of steps in which a piece that has much to do goes through a window. A thread that is slower for a moment then keeps nobody
/// waiting.
const PORTIONS: u64 = 4;
/// The events that a step is expected to have, where such a part of a window has fewer: they take several times as long as what a step
/// costs beside its events.
const ENOUGH: u64 = 64;
/// The mark of a seat whose piece is not to go on.
const CLOSED: u64 = u64::MAX;

impl<P> Default for Seat<P> {
    fn default() -> Seat<P> {
        Seat {
            taken: Mutex::new(None),
            is_taken: AtomicBool::new(false),
            done: AtomicU64::new(CLOSED),
            promise: AtomicU64::new(0),
            is_away: AtomicBool::new(false),
        }
    }
}

impl<P> Seat<P> {
    /// Gives the seat a piece that is to go on to `until` and has nothing to do before `next`.
    pub fn fill(&self, piece: P, next: Time, until: Time) {
        let taken = Taken { piece, until, done: Time::ZERO, next, last: (0, Span::ZERO) };
        *self.taken.lock().unwrap_or_else(PoisonError::into_inner) = Some(taken);
        self.done.store(0, Ordering::SeqCst);
    }

    /// Takes the piece away.
    ///
    /// # Panics
    /// If there is none.
    pub fn empty(&self) -> P {
        self.done.store(CLOSED, Ordering::SeqCst);
        let taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner).take();
        taken.expect("a piece keeps its seat for a stretch").piece
    }

    /// Sets the time before which the piece does nothing that it has not told the others.
    pub fn promise(&self, at: Time) {
        self.promise.store(at.as_ps(), Ordering::SeqCst);
    }

    /// Returns the time before which the piece does nothing that it has not told the others.
    #[inline]
    pub fn promised(&self) -> Time {
        Time::from_ps(self.promise.load(Ordering::Acquire))
    }

    /// Returns whether a thread goes on with the piece.
    pub fn is_taken(&self) -> bool {
        self.is_taken.load(Ordering::Acquire)
    }

    /// Returns whether the piece has yet to come to the end of the stretch.
    pub fn is_open(&self) -> bool {
        self.done.load(Ordering::Acquire) != CLOSED
    }

    /// Returns the time before which the piece has handled all, if it is to go on and nobody does.
    #[inline]
    pub fn open_from(&self) -> Option<Time> {
        let done = self.done.load(Ordering::Acquire);
        (done != CLOSED && !self.is_taken()).then_some(Time::from_ps(done))
    }
}

impl<P: Piece> Taken<P> {
    /// Returns how far the piece goes on in one step, if what it promises is heard elsewhere after such a window at the earliest.
    ///
    /// A step is never longer than a window, even if the piece has heard enough for two. In a step of two windows it would keep another
    /// piece waiting all the time, which would then take two windows itself while this one waits, and so on: threads would work by turns.
    fn step(&self, window: Span) -> Span {
        if self.piece.prefers_one_step() {
            return window;
        }
        let (events, span) = self.last;
        let enough = span.as_ps().saturating_mul(ENOUGH) / events.max(1);
        Span::from_ps(enough.max(window.as_ps() / PORTIONS).clamp(1, window.as_ps()))
    }
}

impl<P: Piece> Seat<P> {
    /// Goes on with the piece up to what it may hear, but by no more than a step. Returns `None` if another thread does, or if it
    /// may not. `heard` must see all promises before the piece takes in what came; `window` is the shortest delay from another
    /// piece, or [`Span::MAX`] if nobody waits for a promise.
    pub fn go_on(&self, heard: impl Fn() -> Time, window: Span) -> Option<Went> {
        let mut place = self.taken.try_lock().ok()?;
        let taken = place.as_mut()?;
        let heard = heard();
        let reach = heard.min(taken.until);
        if reach <= taken.done {
            return None;
        }
        self.is_taken.store(true, Ordering::SeqCst);
        let start = taken.done.max(taken.next);
        let end = reach.min(start.saturating_add(taken.step(window)));
        let Left { next, events, is_stuck } = taken.piece.go_on(end);
        (taken.next, taken.last) = (next, (events, end.saturating_since(start)));
        taken.done = if is_stuck { taken.until } else { end };
        // What it hears from now on comes no sooner than what it might have heard.
        self.promise(if is_stuck { next } else { next.min(heard) });
        let is_over = taken.done >= taken.until;
        self.done.store(if is_over { CLOSED } else { end.as_ps() }, Ordering::SeqCst);
        self.is_taken.store(false, Ordering::SeqCst);
        drop(place);
        Some(Went { events, is_at_end: is_over && !is_stuck, is_stuck })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A piece that has an event in each span of so many nanoseconds, and notes how far it went.
    struct Busy {
        every: u64,
        prefers_one_step: bool,
        done: Time,
        ends: Vec<u64>,
    }

    impl Piece for Busy {
        fn go_on(&mut self, until: Time) -> Left {
            let events = until.saturating_since(self.done).as_ps() / (1000 * self.every);
            self.done = until;
            self.ends.push(until.as_ps() / 1000);
            Left { next: until, events, is_stuck: false }
        }

        fn prefers_one_step(&self) -> bool {
            self.prefers_one_step
        }
    }

    /// Returns where the steps of such a piece end if it hears early of 4,000 ns, in windows of 1,000 ns.
    fn ends(every: u64, prefers_one_step: bool) -> Vec<u64> {
        let at = |ns| Time::ZERO + Span::from_ns(ns);
        let seat = Seat::default();
        seat.fill(Busy { every, prefers_one_step, done: Time::ZERO, ends: Vec::new() }, Time::ZERO, at(4000));
        // Before the first step nothing is known of events.
        seat.go_on(|| at(100), Span::from_ns(1000));
        while seat.go_on(|| at(4000), Span::from_ns(1000)).is_some() {}
        let mut ends = seat.empty().ends;
        assert_eq!(ends.remove(0), 100);
        ends
    }

    #[test]
    fn a_busy_piece_goes_through_a_window_in_four_steps_and_in_fewer_where_these_would_have_few_events() {
        assert_eq!(ends(1, false)[..4], [350, 600, 850, 1100]);
        // 64 events take 320 ns, and then 640 ns.
        assert_eq!(ends(5, false)[..4], [420, 740, 1060, 1380]);
        assert_eq!(ends(10, false)[..4], [740, 1380, 2020, 2660]);
    }

    #[test]
    fn no_piece_goes_on_by_more_than_a_window_at_once_for_then_others_would_wait_for_it_and_it_for_them() {
        // It has too few events for a step of its own in a window, or does best in one step.
        for found in [ends(50, false), ends(1, true)] {
            assert_eq!(found, [1100, 2100, 3100, 4000]);
        }
    }
}
