//! The packets of a sender that are not known to have arrived.

use super::SPAN;
use clearway_units::{Span, Time};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// What is known of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
enum State {
    /// It was sent, and nothing was heard of it.
    Sent,
    /// It has to be sent again.
    Lost,
    /// It has arrived, though one before it may have not.
    Arrived,
}

/// A packet that was sent.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Record {
    /// The time at which it was sent last.
    sent: Time,
    /// The low bits of the offset of its first byte.
    offset: u32,
    /// The entropy with which it was sent last.
    entropy: u16,
    state: State,
    /// True if it was sent more than once.
    again: bool,
}

const _: () = assert!(size_of::<Record>() == 16);

/// A packet to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment {
    /// The number of the packet.
    pub psn: u32,
    /// The offset of its first byte.
    pub offset: u64,
    /// The number of its bytes.
    pub len: u32,
    /// True if it was sent before.
    pub again: bool,
}

/// The packets of a flow from the oldest one that is not known to have arrived, by number.
#[derive(Clone, Default, Debug, Serialize, Deserialize)]
pub struct Flight {
    /// The number of the first record.
    base: u32,
    records: VecDeque<Record>,
    /// The offset of the first byte of the first record's packet, up to which all has arrived.
    acknowledged: u64,
    /// The offset after the last byte that was ever sent.
    end: u64,
    /// The number of records of packets that were sent and of which nothing was heard.
    waiting: u32,
    /// The number of records of packets that have to be sent again.
    lost: u32,
    /// No packet that has to be sent again is before this place among the records.
    first_lost: u32,
}

impl Flight {
    /// Makes a flight whose first packet has this number.
    #[cfg(test)]
    pub(super) fn starting_at(base: u32) -> Flight {
        Flight { base, ..Flight::default() }
    }

    /// Returns the offset up to which all bytes are known to have arrived.
    pub fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    /// Returns the offset after the last byte that was ever sent.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Returns the number of the oldest packet that is not known to have arrived, or else of the next new one.
    pub fn base(&self) -> u32 {
        self.base
    }

    /// Returns true if all packets that were sent are known to have arrived.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Returns true if there is room for a new packet.
    pub fn has_room(&self) -> bool {
        self.records.len() < SPAN
    }

    /// Returns the number of packets of which nothing was heard.
    pub fn waiting(&self) -> u32 {
        self.waiting
    }

    /// Returns the number of packets that have to be sent again.
    pub fn lost(&self) -> u32 {
        self.lost
    }

    /// Sends a new packet with the next `len` bytes.
    pub fn send(&mut self, len: u32, entropy: u16, now: Time) -> Segment {
        let psn = self.base.wrapping_add(self.records.len() as u32);
        let offset = self.end;
        let record = Record { sent: now, offset: offset as u32, entropy, state: State::Sent, again: false };
        self.records.push_back(record);
        self.waiting += 1;
        self.end += u64::from(len);
        Segment { psn, offset, len, again: false }
    }

    /// Sends the packet with the lowest number of those that have to be sent again, if there are any.
    pub fn send_lost(&mut self, entropy: u16, now: Time) -> Option<Segment> {
        if self.lost == 0 {
            return None;
        }
        let from = self.first_lost as usize;
        let at = from + self.records.range(from..).position(|record| record.state == State::Lost)?;
        let offset = self.offset(at);
        let len = (self.offset(at + 1) - offset) as u32;
        let record = &mut self.records[at];
        (record.sent, record.entropy, record.state, record.again) = (now, entropy, State::Sent, true);
        (self.lost, self.waiting, self.first_lost) = (self.lost - 1, self.waiting + 1, at as u32 + 1);
        Some(Segment { psn: self.base.wrapping_add(at as u32), offset, len, again: true })
    }

    /// Returns the offset of the first byte of the packet at a place, or of the next new one behind the last.
    fn offset(&self, at: usize) -> u64 {
        match self.records.get(at) {
            // Packets in flight have fewer than 2^32 bytes together.
            Some(record) => {
                self.acknowledged + u64::from(record.offset.wrapping_sub(self.acknowledged as u32))
            }
            None => self.end,
        }
    }

    /// Returns the place of a packet among the records.
    fn place(&self, psn: u32) -> Option<usize> {
        let at = psn.wrapping_sub(self.base) as usize;
        (at < self.records.len()).then_some(at)
    }

    /// A packet has arrived. Returns true if that is news.
    pub fn arrived(&mut self, psn: u32) -> bool {
        self.arrived_in(psn, 1)
    }

    /// Returns how long ago a packet was sent of which nothing was heard, if it was sent once.
    pub fn round_trip(&self, psn: u32, now: Time) -> Option<Span> {
        let record = self.records[self.place(psn)?];
        (record.state == State::Sent && !record.again).then(|| now.saturating_since(record.sent))
    }

    /// All packets below a number have arrived. Returns false, and does nothing, if the number is none of a packet that was sent
    /// or comes next.
    pub fn arrived_below(&mut self, next: u32) -> bool {
        let count = next.wrapping_sub(self.base) as usize;
        if count > self.records.len() {
            // What was known already is no news, and right.
            return self.base.wrapping_sub(next) <= u32::MAX / 2;
        }
        for at in 0..count {
            self.note(at);
        }
        self.drop_arrived();
        true
    }

    /// Of the packets from a number on, those have arrived whose bits are set, the lowest first. Returns true if that is news.
    pub fn arrived_in(&mut self, from: u32, mut map: u64) -> bool {
        let mut is_news = false;
        while map != 0 {
            let psn = from.wrapping_add(map.trailing_zeros());
            is_news |= self.place(psn).is_some_and(|at| self.note(at));
            map &= map - 1;
        }
        self.drop_arrived();
        is_news
    }

    /// Notes that the packet at a place has arrived. Returns true if that is news.
    fn note(&mut self, at: usize) -> bool {
        let record = &mut self.records[at];
        match record.state {
            State::Sent => self.waiting -= 1,
            State::Lost => self.lost -= 1,
            State::Arrived => return false,
        }
        record.state = State::Arrived;
        true
    }

    fn drop_arrived(&mut self) {
        let mut count = 0;
        while self.records.front().is_some_and(|record| record.state == State::Arrived) {
            let end = self.offset(1);
            self.records.pop_front();
            self.acknowledged = end;
            count += 1;
        }
        self.base = self.base.wrapping_add(count);
        self.first_lost = self.first_lost.saturating_sub(count);
    }

    /// A packet did not arrive, and has to be sent again. Returns true if that is news.
    pub fn lose(&mut self, psn: u32) -> bool {
        let Some(at) = self.place(psn) else { return false };
        let record = &mut self.records[at];
        if record.state != State::Sent {
            return false;
        }
        record.state = State::Lost;
        (self.waiting, self.lost) = (self.waiting - 1, self.lost + 1);
        self.first_lost = if self.lost == 1 { at as u32 } else { self.first_lost.min(at as u32) };
        true
    }

    /// The packets that were sent this long ago, and of which nothing was heard, have to be sent again. Calls `with` with the
    /// entropy of each, and returns how many there are.
    pub fn expire(&mut self, after: Span, now: Time, mut with: impl FnMut(u16)) -> u32 {
        let before = self.lost;
        for at in 0..self.records.len() {
            let record = self.records[at];
            if record.state == State::Sent && record.sent.saturating_add(after) <= now {
                self.lose(self.base.wrapping_add(at as u32));
                with(record.entropy);
            }
        }
        self.lost - before
    }

    /// Returns the time at which the packet was sent that waits longest for an answer.
    pub fn oldest(&self) -> Option<Time> {
        let waiting = self.records.iter().filter(|record| record.state == State::Sent);
        waiting.map(|record| record.sent).min()
    }
}
