//! The writer of Perfetto traces: tracks with slices, instants and counters, as `perfetto_trace.proto` names them.
//!
//! Times are whole nanoseconds, which is Perfetto's unit: the fraction of a nanosecond is dropped. Events may be added
//! in any order; those of one instant keep theirs.

use super::protobuf::Message;
use clearway_units::Time;

/// The numbers of fields, by message.
mod field {
    pub const TRACE_PACKET: u64 = 1;
    pub mod packet {
        pub const TIMESTAMP: u64 = 8;
        pub const SEQUENCE: u64 = 10;
        pub const TRACK_EVENT: u64 = 11;
        pub const SEQUENCE_FLAGS: u64 = 13;
        pub const TRACK_DESCRIPTOR: u64 = 60;
    }
    pub mod track {
        pub const UUID: u64 = 1;
        pub const NAME: u64 = 2;
        pub const PARENT: u64 = 5;
        pub const COUNTER: u64 = 8;
        pub const CHILD_ORDERING: u64 = 11;
        pub const RANK: u64 = 12;
    }
    pub mod counter {
        pub const UNIT: u64 = 3;
    }
    pub mod event {
        pub const ANNOTATION: u64 = 4;
        pub const TYPE: u64 = 9;
        pub const TRACK: u64 = 11;
        pub const NAME: u64 = 23;
        pub const COUNTER_VALUE: u64 = 30;
        pub const FLOW: u64 = 47;
    }
    pub mod annotation {
        pub const UNSIGNED: u64 = 3;
        pub const TEXT: u64 = 6;
        pub const NAME: u64 = 10;
    }
}

/// The only sequence of packets that a trace has here, which starts with a clean state.
const SEQUENCE: u64 = 1;
const STATE_CLEARED: u64 = 1;
/// The order of a track's children that their ranks tell.
const EXPLICIT: u64 = 3;

/// The types of events.
mod kind {
    pub const BEGIN: u64 = 1;
    pub const END: u64 = 2;
    pub const INSTANT: u64 = 3;
    pub const COUNTER: u64 = 4;
}

/// A track of a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Track(u64);

/// The unit of a counter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// A number of things.
    Count = 2,
    /// Bytes.
    Bytes = 3,
}

/// A remark on an event, which Perfetto shows beside it.
pub enum Note {
    /// A number.
    Number(u64),
    /// A text.
    Text(String),
}

/// A remark with its name.
pub type Named = (&'static str, Note);

/// A trace that is being written.
#[derive(Default)]
pub struct Writer {
    tracks: Vec<Message>,
    events: Vec<(u64, Message)>,
}

impl Writer {
    /// Makes an empty trace.
    pub fn new() -> Writer {
        Writer::default()
    }

    /// Adds a track, below its parent and behind the tracks that were added there before.
    pub fn track(&mut self, parent: Option<Track>, name: &str) -> Track {
        self.describe(parent, name, None)
    }

    /// Adds a track that shows a number over time.
    pub fn counter(&mut self, parent: Option<Track>, name: &str, unit: Unit) -> Track {
        self.describe(parent, name, Some(unit))
    }

    fn describe(&mut self, parent: Option<Track>, name: &str, unit: Option<Unit>) -> Track {
        let uuid = self.tracks.len() as u64 + 1;
        let mut track = Message::new().number(field::track::UUID, uuid).text(field::track::NAME, name);
        if let Some(Track(parent)) = parent {
            track = track.number(field::track::PARENT, parent);
        }
        track = match unit {
            Some(unit) => {
                let counter = Message::new().number(field::counter::UNIT, unit as u64);
                track.message(field::track::COUNTER, &counter)
            }
            None => track.number(field::track::CHILD_ORDERING, EXPLICIT),
        };
        self.tracks.push(track.number(field::track::RANK, uuid));
        Track(uuid)
    }

    /// Begins a slice. Perfetto draws arrows between the slices of one number of `linked`.
    pub fn begin(&mut self, at: Time, track: Track, name: &str, notes: &[Named], linked: Option<u64>) {
        let event = named(kind::BEGIN, track, name, notes);
        self.push(
            at,
            linked.into_iter().fold(event, |event, number| event.fixed(field::event::FLOW, number)),
        );
    }

    /// Ends the slice that was begun last on a track.
    pub fn end(&mut self, at: Time, track: Track) {
        self.push(at, of_kind(kind::END, track));
    }

    /// Adds an instant.
    pub fn instant(&mut self, at: Time, track: Track, name: &str, notes: &[Named]) {
        self.push(at, named(kind::INSTANT, track, name, notes));
    }

    /// Sets a counter.
    pub fn count(&mut self, at: Time, track: Track, value: u64) {
        self.push(at, of_kind(kind::COUNTER, track).number(field::event::COUNTER_VALUE, value));
    }

    fn push(&mut self, at: Time, event: Message) {
        self.events.push((at.as_ps() / 1000, event));
    }

    /// Returns the trace.
    pub fn finish(mut self) -> Vec<u8> {
        self.events.sort_by_key(|(at, _)| *at);
        let mut trace = Message::new();
        for (number, track) in self.tracks.iter().enumerate() {
            let flags = if number == 0 { STATE_CLEARED } else { 0 };
            let packet = Message::new().number(field::packet::SEQUENCE, SEQUENCE);
            let packet = packet.number(field::packet::SEQUENCE_FLAGS, flags);
            let packet = packet.message(field::packet::TRACK_DESCRIPTOR, track);
            trace = trace.message(field::TRACE_PACKET, &packet);
        }
        for (at, event) in &self.events {
            let packet = Message::new().number(field::packet::TIMESTAMP, *at);
            let packet = packet.number(field::packet::SEQUENCE, SEQUENCE);
            let packet = packet.message(field::packet::TRACK_EVENT, event);
            trace = trace.message(field::TRACE_PACKET, &packet);
        }
        trace.into_bytes()
    }
}

fn of_kind(kind: u64, Track(uuid): Track) -> Message {
    Message::new().number(field::event::TYPE, kind).number(field::event::TRACK, uuid)
}

fn named(kind: u64, track: Track, name: &str, notes: &[Named]) -> Message {
    let event = of_kind(kind, track).text(field::event::NAME, name);
    notes.iter().fold(event, |event, (name, note)| {
        let annotation = Message::new().text(field::annotation::NAME, name);
        let annotation = match note {
            Note::Number(number) => annotation.number(field::annotation::UNSIGNED, *number),
            Note::Text(text) => annotation.text(field::annotation::TEXT, text),
        };
        event.message(field::event::ANNOTATION, &annotation)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tiny_trace_has_the_bytes_that_the_protocol_asks_for() {
        let mut writer = Writer::new();
        let port = writer.track(None, "p");
        let queue = writer.counter(Some(port), "q", Unit::Bytes);
        writer.begin(Time::from_ps(2_999), port, "d", &[("n", Note::Number(7))], Some(9));
        writer.count(Time::from_ps(1_000), queue, 300);
        writer.end(Time::from_ps(3_000), port);
        let expected: &[&[u8]] = &[
            // The track: sequence 1, which starts anew; uuid 1, "p", its children by rank, rank 1.
            &[10, 16, 80, 1, 104, 1, 226, 3, 9, 8, 1, 18, 1, b'p', 88, 3, 96, 1],
            // The counter: uuid 2, "q", parent 1, bytes, rank 2.
            &[10, 20, 80, 1, 104, 0, 226, 3, 13, 8, 2, 18, 1, b'q', 40, 1, 66, 2, 24, 3, 96, 2],
            // At 1 ns the counter is 300.
            &[10, 14, 64, 1, 80, 1, 90, 8, 72, 4, 88, 2, 240, 1, 172, 2],
            // At 2 ns a slice begins: "d", n = 7, linked with 9; at 3 ns it ends.
            &[10, 31, 64, 2, 80, 1, 90, 25, 72, 1, 88, 1, 186, 1, 1, b'd', 34, 5, 82, 1, b'n', 24, 7],
            &[249, 2, 9, 0, 0, 0, 0, 0, 0, 0],
            &[10, 10, 64, 3, 80, 1, 90, 4, 72, 2, 88, 1],
        ];
        assert_eq!(writer.finish(), expected.concat());
    }
}
