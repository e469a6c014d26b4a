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
    /// The events of the last time.
    events: u64,
}

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
        let taken = Taken { piece, until, done: Time::ZERO, next, events: 0 };
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

impl<P: Piece> Seat<P> {
    /// Goes on with the piece up to what it may hear, or by a portion of time if it had many events the last time and several
    /// steps cost it no more than one. Returns `None` if another thread does, or if it may not. `heard` must see all promises before the piece takes in what came.
    pub fn go_on(&self, heard: impl Fn() -> Time, portion: Span, many: u64) -> Option<Went> {
        let mut place = self.taken.try_lock().ok()?;
        let taken = place.as_mut()?;
        let heard = heard();
        let reach = heard.min(taken.until);
        if reach <= taken.done {
            return None;
        }
        self.is_taken.store(true, Ordering::SeqCst);
        let end = if taken.events < many || taken.piece.prefers_one_step() {
            reach
        } else {
            reach.min(taken.done.max(taken.next).saturating_add(portion))
        };
        let Left { next, events, is_stuck } = taken.piece.go_on(end);
        (taken.next, taken.events) = (next, events);
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

    /// A piece that has many events, and notes how far it went.
    struct Busy {
        prefers_one_step: bool,
        ends: Vec<Time>,
    }

    impl Piece for Busy {
        fn go_on(&mut self, until: Time) -> Left {
            self.ends.push(until);
            Left { next: until, events: 1000, is_stuck: false }
        }

        fn prefers_one_step(&self) -> bool {
            self.prefers_one_step
        }
    }

    #[test]
    fn a_busy_piece_goes_on_by_portions_unless_that_costs_it_more() {
        let at = |ns| Time::ZERO + Span::from_ns(ns);
        let ends = |prefers_one_step| {
            let seat = Seat::default();
            seat.fill(Busy { prefers_one_step, ends: Vec::new() }, Time::ZERO, at(1000));
            // Nothing is known of the first step.
            seat.go_on(|| at(100), Span::from_ns(250), 128);
            while seat.go_on(|| at(1000), Span::from_ns(250), 128).is_some() {}
            seat.empty().ends[1..].to_vec()
        };
        assert_eq!(ends(false), [at(350), at(600), at(850), at(1000)]);
        assert_eq!(ends(true), [at(1000)]);
    }
}
