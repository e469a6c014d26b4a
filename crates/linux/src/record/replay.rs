//! The replay of a recording: a new datapath gets the same inputs, and must do the same.

use super::bytes::{RecordError, Source};
use super::entry::{self, Entry, Input};
use super::start::Start;
use super::text::Has;
use crate::datapath::Actions;
use clearway_units::Time;
use std::fmt;
use std::io::Read;

/// A recording that is read entry by entry.
pub struct Recording<R> {
    from: Source<R>,
    start: Start,
    last: Time,
    has: Has,
}

impl<R: Read> Recording<R> {
    /// Reads the header of a recording. `from` should be buffered.
    pub fn open(from: R) -> Result<Recording<R>, RecordError> {
        let mut from = Source(from);
        let (start, has) = Start::read(&mut from)?;
        Ok(Recording { from, start, last: Time::ZERO, has })
    }

    /// Returns what was recorded, in its first state.
    pub fn start(&self) -> &Start {
        &self.start
    }
}

impl<R: Read> Iterator for Recording<R> {
    type Item = Result<Entry, RecordError>;

    fn next(&mut self) -> Option<Result<Entry, RecordError>> {
        let entry = entry::read(&mut self.from, self.last, self.has).transpose()?;
        if let Ok(entry) = &entry {
            self.last = entry.at;
        }
        Some(entry)
    }
}

/// The numbers of a replay.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Summary {
    /// Inputs.
    pub inputs: u64,
    /// Verdicts.
    pub verdicts: u64,
    /// Frames that were sent.
    pub frames: u64,
    /// The time of the last input.
    pub until: Time,
    /// True if the recording ends within an entry.
    pub is_cut_off: bool,
}

/// The first entry at which a replay did something else than the recording says.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The number of the entry, from 1.
    pub entry: u64,
    /// The entry as recorded.
    pub recorded: Entry,
    /// The actions of the replay.
    pub replayed: Actions,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Difference { entry, recorded: Entry { at, input, actions }, replayed } = self;
        writeln!(f, "entry {entry} at {at} ({input:?}) was recorded with the actions")?;
        write!(f, "  {actions:?}\nand the replay did\n  {replayed:?}")
    }
}

/// Replays a recording in a new datapath. Returns its numbers, or the first difference.
pub fn replay<R: Read>(recording: Recording<R>) -> Result<Result<Summary, Box<Difference>>, RecordError> {
    let mut datapath = recording.start.datapath()?;
    let (mut summary, mut actions) = (Summary::default(), Actions::default());
    for entry in recording {
        let entry = match entry {
            Ok(entry) => entry,
            Err(RecordError::CutOff) => {
                summary.is_cut_off = true;
                break;
            }
            Err(error) => return Err(error),
        };
        let now = entry.at;
        actions.clear();
        match &entry.input {
            Input::Frame(frame) => datapath.handle_frame(frame, now, &mut actions),
            Input::Segment(direction, segment, link) => {
                datapath.handle_segment(*direction, segment, *link, now, &mut actions);
            }
            Input::Held(id, segment) => datapath.handle_held(*id, segment, now, &mut actions),
            Input::Passed(passed) => datapath.handle_passed(passed, now, &mut actions),
            Input::Small(small) => datapath.handle_small(small, now, &mut actions),
            Input::Released(released) => datapath.handle_released(released, now, &mut actions),
            Input::Timeout => datapath.handle_timeout(now, &mut actions),
            Input::ReleaseAll => datapath.release_all(now, &mut actions),
        }
        summary.inputs += 1;
        if actions != entry.actions {
            return Ok(Err(Box::new(Difference {
                entry: summary.inputs,
                recorded: entry,
                replayed: actions,
            })));
        }
        summary.verdicts += actions.verdicts.len() as u64;
        summary.frames += actions.frames.len() as u64;
        summary.until = now;
    }
    Ok(Ok(summary))
}
