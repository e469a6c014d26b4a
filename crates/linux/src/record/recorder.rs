//! The datapath that writes what happens to another one.

use super::entry::{Counts, EntryWriter};
use super::start::Start;
use crate::datapath::{Actions, Datapath, Direction, HeldId, Link, Metric, Passed, Released, Small};
use crate::wire::Segment;
use clearway_units::Time;
use std::io::Write;

/// The bytes that are collected before they are written.
const BLOCK: usize = 1 << 16;
/// The largest recording in bytes; what comes later is not recorded. That is about ten minutes at 100 Mbit/s.
const SIZE_MAX: u64 = 1 << 30;

/// A datapath that does what the one inside does, and records it.
///
/// A recording that cannot be written ends, with a line in the log; the datapath goes on.
pub struct Recorder<D, W: Write> {
    inner: D,
    /// The file, until it cannot be written any more or is full.
    to: Option<W>,
    entries: EntryWriter,
    written: u64,
}

impl<D: Datapath, W: Write> Recorder<D, W> {
    /// Begins a recording of a datapath that `start` describes.
    pub fn new(inner: D, start: &Start, to: W) -> Recorder<D, W> {
        let entries = EntryWriter::new(start.to_bytes());
        Recorder { inner, to: Some(to), entries, written: 0 }
    }

    /// Writes what is collected.
    pub fn flush(&mut self) {
        let Some(to) = &mut self.to else { return self.entries.bytes.clear() };
        let result = to.write_all(&self.entries.bytes).and_then(|()| to.flush());
        self.written += self.entries.bytes.len() as u64;
        self.entries.bytes.clear();
        match result {
            Err(error) => tracing::error!(%error, "the recording ends here: it cannot be written"),
            Ok(()) if self.written >= SIZE_MAX => {
                tracing::warn!(bytes = self.written, "the recording ends here: it has its largest size");
            }
            Ok(()) => return,
        }
        self.to = None;
    }

    /// Returns the file, until the recording has ended.
    pub fn file(&self) -> Option<&W> {
        self.to.as_ref()
    }

    /// Lets `write` record an input, hands it to the datapath, and records the actions.
    fn record(
        &mut self,
        actions: &mut Actions,
        write: impl FnOnce(&mut EntryWriter),
        input: impl FnOnce(&mut D, &mut Actions),
    ) {
        if self.to.is_none() {
            return input(&mut self.inner, actions);
        }
        let before = Counts::of(actions);
        write(&mut self.entries);
        input(&mut self.inner, actions);
        self.entries.actions(actions, before);
        if self.entries.bytes.len() >= BLOCK {
            self.flush();
        }
    }
}

impl<D: Datapath, W: Write> Datapath for Recorder<D, W> {
    fn handle_frame(&mut self, frame: &[u8], now: Time, actions: &mut Actions) {
        self.record(
            actions,
            |entries| entries.frame(frame, now),
            |inner, actions| inner.handle_frame(frame, now, actions),
        );
    }

    fn handle_segment(
        &mut self,
        direction: Direction,
        segment: &Segment,
        link: Link,
        now: Time,
        actions: &mut Actions,
    ) {
        self.record(
            actions,
            |entries| entries.segment(direction, segment, link, now),
            |inner, actions| inner.handle_segment(direction, segment, link, now, actions),
        );
    }

    fn handle_held(&mut self, id: HeldId, segment: &Segment, now: Time, actions: &mut Actions) {
        self.record(
            actions,
            |entries| entries.held(id, segment, now),
            |inner, actions| inner.handle_held(id, segment, now, actions),
        );
    }

    fn handle_passed(&mut self, passed: &Passed, now: Time, actions: &mut Actions) {
        self.record(
            actions,
            |entries| entries.passed(passed, now),
            |inner, actions| inner.handle_passed(passed, now, actions),
        );
    }

    fn handle_small(&mut self, small: &Small, now: Time, actions: &mut Actions) {
        self.record(
            actions,
            |entries| entries.small(small, now),
            |inner, actions| inner.handle_small(small, now, actions),
        );
    }

    fn handle_released(&mut self, released: &Released, now: Time, actions: &mut Actions) {
        self.record(
            actions,
            |entries| entries.released(released, now),
            |inner, actions| inner.handle_released(released, now, actions),
        );
    }

    fn count_unwatched(&mut self, packets: u64, payload: u64) {
        // No action follows from it, and so nothing is recorded.
        self.inner.count_unwatched(packets, payload);
    }

    fn release_all(&mut self, now: Time, actions: &mut Actions) {
        self.record(
            actions,
            |entries| entries.release_all(now),
            |inner, actions| inner.release_all(now, actions),
        );
        // The daemon may end now.
        self.flush();
    }

    fn is_patient(&self, now: Time) -> bool {
        self.inner.is_patient(now)
    }

    fn next_timeout(&self) -> Time {
        self.inner.next_timeout()
    }

    fn handle_timeout(&mut self, now: Time, actions: &mut Actions) {
        self.record(
            actions,
            |entries| entries.timeout(now),
            |inner, actions| inner.handle_timeout(now, actions),
        );
    }

    fn metrics(&self, each: &mut dyn FnMut(Metric)) {
        self.inner.metrics(each);
    }
}

impl<D, W: Write> Drop for Recorder<D, W> {
    fn drop(&mut self) {
        // An error has no one left to hear it.
        if let Some(to) = &mut self.to {
            let _ = to.write_all(&self.entries.bytes).and_then(|()| to.flush());
        }
    }
}
