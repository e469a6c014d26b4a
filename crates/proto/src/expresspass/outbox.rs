//! The sender's record of the data that was sent, has arrived or must be sent again.
//!
//! ExpressPass loses no data where buffers are sized by its bound, so the paper has no recovery. It must work with
//! smaller buffers too (E17 sec. 3.1), so we added one: credits carry an acknowledgement (`ack`, and selective
//! acknowledgements while there are gaps) and the time at which the newest data that arrived was sent. Data that was
//! sent earlier than that by more than the reordering allowed, and has not arrived, is lost (the rule of RACK, RFC
//! 8985). This adds no bytes to the wire while no data is lost.

use super::queue::Queue;
use crate::packet::SackBlock;
use clearway_units::{Span, Time};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// The bytes of one frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Chunk {
    /// The offset of the first byte.
    pub seq: u64,
    /// The number of bytes.
    pub len: u32,
    /// True if any of the bytes was sent before.
    pub again: bool,
}

/// The state of a frame that was released.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
enum Fate {
    /// A credit released the frame, and it is not yet on the wire.
    Released,
    /// The frame was sent, and it is not known to have arrived or to be lost.
    InFlight,
    /// The frame has arrived.
    Arrived,
    /// The frame is lost and must be sent again.
    Lost,
}

/// A frame that was released and is not acknowledged without gaps.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Segment {
    /// The offset of the first byte.
    seq: u64,
    /// The number of bytes.
    len: u32,
    fate: Fate,
    /// The time at which the frame was sent, or released if it has not been sent.
    sent: Time,
    /// True if the frame was sent without a credit.
    low: bool,
}

impl Segment {
    /// Returns the offset after the last byte.
    fn end(&self) -> u64 {
        self.seq + self.len as u64
    }

    /// Removes the bytes below `ack`. An acknowledgement can lie inside a frame only after going back.
    #[cold]
    fn cut(&mut self, ack: u64) {
        self.len = (self.end() - ack) as u32;
        self.seq = ack;
        (self.fate, self.low) = (Fate::InFlight, false);
    }
}

/// The record of a send buffer: offsets and states of frames, without the bytes.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Outbox {
    /// The frames from the first byte not acknowledged to `next`, in order and without gaps.
    segments: Queue<Segment>,
    /// The number of bytes that are acknowledged without gaps.
    acked: u64,
    /// The offset of the next new byte to release.
    next: u64,
    /// The number of bytes that the application has written.
    written: u64,
    /// The record of losses, of going back and of data without credits, of which most flows have none.
    mending: Mendings,
}

/// The record of what is not sent once and with a credit.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Mending {
    /// One above the highest byte released before the sender went back last.
    high: u64,
    /// The number of lost frames.
    lost_segments: u64,
    /// The bytes in lost frames.
    lost_bytes: u64,
    /// The bytes in flight that were sent without a credit.
    low_bytes: u64,
    /// The number of frames in flight that were sent without a credit.
    low_segments: u64,
    /// The offset below which frames may be lost although the receiver reports no gap.
    recover: u64,
}

/// The record of losses, of going back and of data without credits, which is made when the first of them happens.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Mendings(Option<Box<Mending>>);

impl Mendings {
    /// Returns a number of the record: zero while there is none.
    #[inline(always)]
    fn get(&self, number: impl Fn(&Mending) -> u64) -> u64 {
        self.0.as_deref().map_or(0, number)
    }

    /// Returns the record, made if there is none.
    fn make(&mut self) -> &mut Mending {
        self.0.get_or_insert_default()
    }
}

impl Outbox {
    /// Adds `bytes` to the data to send.
    pub fn write(&mut self, bytes: u64) {
        self.written = self.written.saturating_add(bytes);
    }

    /// Takes back the bytes that were never released. Returns the number of bytes that remain in all.
    pub fn truncate(&mut self) -> u64 {
        self.written = self.high();
        self.written
    }

    /// Returns the bytes that have been written.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Returns the offset one above the highest byte ever released.
    pub fn high(&self) -> u64 {
        self.mending.get(|mending| mending.high).max(self.next)
    }

    /// Returns the bytes that wait for credits, including lost ones.
    pub fn backlog(&self) -> u64 {
        self.written - self.next + self.mending.get(|mending| mending.lost_bytes)
    }

    /// Returns the number of frames for which a credit is of use: those that wait, and those in flight without a
    /// credit.
    pub fn backlog_frames(&self, payload_max: u32) -> u64 {
        let again = self.mending.get(|mending| mending.lost_segments + mending.low_segments);
        (self.written - self.next).div_ceil(payload_max as u64) + again
    }

    /// Returns the bytes that were never released, or must be released again after going back.
    pub fn unsent(&self) -> u64 {
        self.written - self.next
    }

    /// Returns the bytes in flight that were sent without a credit.
    pub fn low_in_flight(&self) -> u64 {
        self.mending.get(|mending| mending.low_bytes)
    }

    /// Returns the bytes that are acknowledged without gaps.
    pub fn acknowledged(&self) -> u64 {
        self.acked
    }

    /// Returns true if all bytes that were written are acknowledged.
    pub fn is_acknowledged(&self) -> bool {
        self.acked == self.written
    }

    /// Releases the next frame: a lost one first, then a new one, then one in flight without a credit. The credit would
    /// otherwise be wasted, and that frame may well be lost.
    pub fn release(&mut self, payload_max: u32, now: Time) -> Option<Chunk> {
        if self.mending.0.is_some()
            && let Some(again) = self.release_again(now)
        {
            return Some(again);
        }
        self.advance_by(payload_max, Fate::Released, now)
    }

    /// Releases the next lost frame, or one in flight without a credit if there is no other.
    fn release_again(&mut self, now: Time) -> Option<Chunk> {
        let lost_segments = self.mending.get(|mending| mending.lost_segments);
        if lost_segments == 0 && self.unsent() == 0 && self.mending.get(|mending| mending.low_segments) > 0 {
            let low = |segment: &Segment| segment.low && segment.fate == Fate::InFlight;
            let first = self.segments.all().iter().position(low).expect("such segments are counted");
            self.set_fate(first, Fate::Lost);
        }
        if self.mending.get(|mending| mending.lost_segments) == 0 {
            return None;
        }
        let lost = self.segments.all().iter_mut().find(|segment| segment.fate == Fate::Lost);
        let segment = lost.expect("lost segments are counted");
        (segment.fate, segment.sent, segment.low) = (Fate::Released, now, false);
        let Segment { seq, len, .. } = *segment;
        let mending = self.mending.make();
        mending.lost_segments -= 1;
        mending.lost_bytes -= len as u64;
        Some(Chunk { seq, len, again: true })
    }

    /// Returns the next new frame, to be sent without a credit.
    pub fn send_low(&mut self, payload_max: u32, now: Time) -> Option<Chunk> {
        let chunk = self.advance_by(payload_max, Fate::InFlight, now)?;
        self.segments.back_mut().expect("it was just added").low = true;
        let mending = self.mending.make();
        mending.low_bytes += chunk.len as u64;
        mending.low_segments += 1;
        Some(chunk)
    }

    /// Adds the next new frame with the given state.
    fn advance_by(&mut self, payload_max: u32, fate: Fate, now: Time) -> Option<Chunk> {
        let len = (self.written - self.next).min(payload_max as u64) as u32;
        if len == 0 {
            return None;
        }
        let chunk =
            Chunk { seq: self.next, len, again: self.next < self.mending.get(|mending| mending.high) };
        self.segments.all().push_back(Segment { seq: self.next, len, fate, sent: now, low: false });
        self.next += len as u64;
        Some(chunk)
    }

    /// Records that the frame that starts at `seq` leaves for the wire.
    #[inline]
    pub fn on_sent(&mut self, seq: u64, now: Time) {
        // Most frames leave as soon as they are released, and are then the newest.
        let frame = match self.segments.back_mut() {
            Some(newest) if newest.seq != seq => self.find(seq),
            newest => newest,
        };
        if let Some(frame) = frame.filter(|frame| frame.fate == Fate::Released) {
            (frame.fate, frame.sent) = (Fate::InFlight, now);
        }
    }

    /// Returns the frame that starts at `seq`, if there is one.
    fn find(&mut self, seq: u64) -> Option<&mut Segment> {
        let segments = self.segments.all();
        let index = segments.partition_point(|segment| segment.seq < seq);
        segments.get_mut(index).filter(|segment| segment.seq == seq)
    }

    /// Records an acknowledgement: the receiver has all bytes below `ack`, the blocks `sack`, and data that was sent at
    /// `newest`. Frames that were sent `reorder` or more before `newest` and have not arrived are lost.
    #[inline]
    pub fn on_ack(&mut self, ack: u64, sack: &[SackBlock], newest: Time, reorder: Span) {
        self.advance(ack);
        if !sack.is_empty() {
            self.on_sack(sack);
        }
        // While no frame is lost, the oldest one is newer than the last arrival, and no search is needed.
        let overdue = self.segments.front().is_some_and(|front| front.sent.saturating_add(reorder) <= newest);
        if overdue || !sack.is_empty() || self.acked < self.mending.get(|mending| mending.recover) {
            self.lose(|segment| segment.sent.saturating_add(reorder) <= newest);
        }
    }

    /// Records that the blocks `sack` have arrived.
    #[cold]
    fn on_sack(&mut self, sack: &[SackBlock]) {
        for block in sack.iter().filter(|block| block.end > block.start) {
            let segments = self.segments.all();
            let mut from = segments.partition_point(|segment| segment.seq < block.start);
            let to = segments.partition_point(|segment| segment.end() <= block.end);
            // Most of what a block tells is known from the blocks before.
            while let Some(index) = self.first_in(from..to, |segment| segment.fate != Fate::Arrived) {
                self.set_fate(index, Fate::Arrived);
                from = index + 1;
            }
        }
    }

    /// Counts frames as lost that were sent `age` ago or more and are not known to have arrived. Returns true if there
    /// were any.
    pub fn expire(&mut self, age: Span, now: Time) -> bool {
        match self.segments.front() {
            None => false,
            Some(_) => self.lose(|segment| segment.sent.saturating_add(age) <= now),
        }
    }

    /// Goes back to `ack`, since the receiver accepts no data out of order and wants all from there again.
    pub fn go_back(&mut self, ack: u64) {
        self.advance(ack);
        if ack == self.acked {
            self.segments.all().clear();
            let (high, recover) = (self.high(), self.mending.get(|mending| mending.recover));
            *self.mending.make() = Mending { high, recover, ..Mending::default() };
            self.next = self.acked;
        }
    }

    /// Returns the time since the oldest frame that is not acknowledged was sent.
    pub fn oldest(&self, now: Time) -> Span {
        self.segments.front().map_or(Span::ZERO, |segment| now.saturating_since(segment.sent))
    }

    /// Removes the frames below `ack`.
    #[inline]
    fn advance(&mut self, ack: u64) {
        // An acknowledgement of bytes that were never sent is ignored, as in TCP.
        if ack <= self.acked || ack > self.high() {
            return;
        }
        self.acked = ack;
        self.next = self.next.max(ack);
        while let Some(front) = self.segments.front().filter(|front| front.seq < ack) {
            let end = front.end();
            // No count depends on other frames.
            if front.low || front.fate == Fate::Lost {
                self.set_fate(0, Fate::Arrived);
            }
            if end > ack {
                return self.segments.all()[0].cut(ack);
            }
            self.segments.pop_front();
        }
    }

    /// Counts the frames in flight for which `is_late` is true as lost. Returns true if there were any.
    #[inline(never)]
    fn lose(&mut self, is_late: impl Fn(&Segment) -> bool) -> bool {
        let (mut from, to) = (0, self.segments.len());
        let is_lost = |segment: &Segment| segment.fate == Fate::InFlight && is_late(segment);
        while let Some(index) = self.first_in(from..to, is_lost) {
            self.set_fate(index, Fate::Lost);
            self.mending.make().recover = self.next;
            from = index + 1;
        }
        from > 0
    }

    /// Returns the place of the first of these frames for which `is_wanted` is true. Thousands of frames may be looked through for
    /// each acknowledgement, so nothing else is done on the way.
    #[inline(always)]
    fn first_in(&mut self, places: Range<usize>, is_wanted: impl Fn(&Segment) -> bool) -> Option<usize> {
        let from = places.start;
        if places.is_empty() {
            return None;
        }
        self.segments.all().range(places).position(is_wanted).map(|ahead| from + ahead)
    }

    /// Changes the state of a frame and the counts that depend on it.
    #[inline(never)]
    fn set_fate(&mut self, index: usize, fate: Fate) {
        let segment = &mut self.segments.all()[index];
        let was = std::mem::replace(&mut segment.fate, fate);
        let (len, low) = (segment.len as u64, segment.low);
        let mending = self.mending.make();
        if low && was == Fate::InFlight && fate != Fate::InFlight {
            mending.low_segments -= 1;
            mending.low_bytes -= len;
        }
        if was == Fate::Lost && fate != Fate::Lost {
            mending.lost_segments -= 1;
            mending.lost_bytes -= len;
        }
        if was != Fate::Lost && fate == Fate::Lost {
            mending.lost_segments += 1;
            mending.lost_bytes += len;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REORDER: Span = Span::from_us(2);

    fn us(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    /// Returns an outbox with `count` frames of 100 bytes, sent at 10, 20, 30, ... us.
    fn sent(count: u64) -> Outbox {
        let mut outbox = Outbox::default();
        outbox.write(count * 100);
        for i in 0..count {
            let chunk = outbox.release(100, us(0)).unwrap();
            assert_eq!(chunk, Chunk { seq: i * 100, len: 100, again: false });
            outbox.on_sent(chunk.seq, us(10 * (i + 1)));
        }
        assert_eq!(outbox.backlog(), 0);
        outbox
    }

    fn block(start: u64, end: u64) -> SackBlock {
        SackBlock { start, end }
    }

    #[test]
    fn acknowledgements_in_order_cause_no_retransmission() {
        let mut outbox = sent(3);
        outbox.on_ack(200, &[], us(20), REORDER);
        assert!(!outbox.is_acknowledged() && outbox.backlog() == 0);
        outbox.on_ack(300, &[], us(30), REORDER);
        assert!(outbox.is_acknowledged());
    }

    #[test]
    fn a_frame_missing_below_newer_data_is_released_again_before_new_data() {
        let mut outbox = sent(4);
        outbox.write(50);
        outbox.on_ack(100, &[block(200, 300)], us(30), REORDER);
        assert_eq!(outbox.backlog(), 150, "the second frame is lost, the fourth is under way");
        assert_eq!(outbox.release(100, us(50)), Some(Chunk { seq: 100, len: 100, again: true }));
        assert_eq!(outbox.release(100, us(50)), Some(Chunk { seq: 400, len: 50, again: false }));
        assert_eq!(outbox.release(100, us(50)), None);
    }

    #[test]
    fn data_within_the_reordering_allowed_is_not_lost_yet() {
        let mut outbox = sent(4);
        outbox.on_ack(100, &[block(200, 300)], us(30), Span::from_us(11));
        assert_eq!(outbox.backlog(), 0);
    }

    #[test]
    fn a_lost_retransmission_is_lost_again() {
        let mut outbox = sent(3);
        outbox.on_ack(0, &[block(100, 200)], us(20), REORDER);
        outbox.release(100, us(40));
        outbox.on_sent(0, us(40));
        outbox.on_ack(0, &[block(100, 300)], us(30), REORDER);
        assert_eq!(outbox.backlog(), 0, "the newest arrival is older than the retransmission");
        outbox.write(100);
        let chunk = outbox.release(100, us(50)).unwrap();
        outbox.on_sent(chunk.seq, us(50));
        outbox.on_ack(0, &[block(100, 400)], us(50), REORDER);
        assert_eq!(outbox.backlog(), 100);
    }

    #[test]
    fn a_lost_tail_is_found_when_a_retransmission_closes_the_gap_before_it() {
        let mut outbox = sent(3);
        outbox.on_ack(0, &[block(100, 200)], us(20), REORDER);
        outbox.release(100, us(40));
        outbox.on_sent(0, us(40));
        // Data sent at 40 us closes the gap, so the frame sent at 30 us is late.
        outbox.on_ack(200, &[], us(40), REORDER);
        assert_eq!(outbox.release(100, us(60)), Some(Chunk { seq: 200, len: 100, again: true }));
    }

    #[test]
    fn unscheduled_frames_are_lost_by_the_same_rules_and_sent_again_with_a_credit() {
        let mut outbox = Outbox::default();
        outbox.write(500);
        for at in [10, 20, 30] {
            assert!(!outbox.send_low(100, us(at)).unwrap().again);
        }
        assert_eq!((outbox.low_in_flight(), outbox.unsent(), outbox.backlog()), (300, 200, 200));
        outbox.on_ack(100, &[block(200, 300)], us(30), REORDER);
        assert_eq!((outbox.low_in_flight(), outbox.backlog()), (0, 300), "the second is lost");
        assert_eq!(outbox.release(100, us(50)), Some(Chunk { seq: 100, len: 100, again: true }));
        outbox.on_sent(100, us(50));
        assert!(!outbox.send_low(100, us(60)).unwrap().again);
        assert_eq!(outbox.release(100, us(70)), Some(Chunk { seq: 400, len: 100, again: false }));
        assert_eq!(
            (outbox.backlog(), outbox.backlog_frames(100)),
            (0, 1),
            "nothing waits, but a credit has its use"
        );
        assert_eq!(outbox.release(100, us(75)), Some(Chunk { seq: 300, len: 100, again: true }));
        assert_eq!((outbox.low_in_flight(), outbox.release(100, us(80))), (0, None));
        outbox.on_ack(500, &[], us(90), REORDER);
        assert!(outbox.is_acknowledged() && outbox.backlog() == 0);
    }

    #[test]
    fn a_frame_that_waits_for_the_nic_is_never_lost() {
        let mut outbox = sent(2);
        outbox.write(100);
        outbox.release(100, us(25)).unwrap();
        outbox.on_ack(0, &[block(100, 200)], us(90), REORDER);
        assert_eq!(outbox.backlog(), 100, "only the first frame");
    }

    #[test]
    fn each_frame_counts_from_when_it_left_though_others_were_released_since() {
        let mut outbox = Outbox::default();
        outbox.write(300);
        let chunks = [0, 1, 2].map(|_| outbox.release(100, us(0)).unwrap());
        chunks.iter().zip([10, 20, 30]).for_each(|(chunk, at)| outbox.on_sent(chunk.seq, us(at)));
        assert_eq!(outbox.oldest(us(40)), Span::from_us(30), "the first frame left at 10 us");
        outbox.on_ack(0, &[block(100, 200)], us(20), REORDER);
        assert_eq!(outbox.backlog(), 100, "the third frame left after the second and may still arrive");
    }

    #[test]
    fn going_back_releases_all_frames_again_and_an_ack_may_lie_inside_a_frame() {
        let mut outbox = sent(3);
        outbox.go_back(100);
        assert_eq!(outbox.backlog(), 200);
        assert_eq!(outbox.release(150, us(50)), Some(Chunk { seq: 100, len: 150, again: true }));
        outbox.on_sent(100, us(50));
        outbox.on_ack(200, &[], us(50), REORDER);
        assert_eq!(outbox.release(150, us(50)), Some(Chunk { seq: 250, len: 50, again: true }));
        outbox.go_back(100);
        assert_eq!(outbox.backlog(), 0, "an old request to go back is ignored");
        outbox.on_ack(300, &[], us(50), REORDER);
        assert!(outbox.is_acknowledged());
    }

    #[test]
    fn an_endless_flow_does_not_overflow_and_can_be_cut_off() {
        let mut outbox = Outbox::default();
        (0..8).for_each(|_| outbox.write(u64::MAX / 4));
        assert_eq!(outbox.backlog(), u64::MAX);
        outbox.release(1460, us(0)).unwrap();
        assert_eq!(outbox.truncate(), 1460);
        assert_eq!(outbox.backlog(), 0);
    }
}
