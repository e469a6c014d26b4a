//! What a host knows of one flow to it: the places of its bytes, and the acknowledgements that it answers.

use crate::wire::Timestamps;
use clearway_units::Time;
use std::collections::VecDeque;

/// The most different timestamps of released acknowledgements that a flow remembers. A timestamp counts for a
/// millisecond, so these cover round trips of that many.
const RELEASES: usize = 64;

/// The state of a flow to this host.
#[derive(Debug)]
pub struct Flow {
    /// A sequence number, and its offset in the flow: that of the highest acknowledgement seen. It comes from our own
    /// kernel alone, so that no forged segment can move it.
    reference: (u32, u64),
    /// True if our kernel has acknowledged data of the flow.
    acknowledged: bool,
    /// The offset after the FIN of the peer.
    end: Option<u64>,
    /// The timestamps of the acknowledgements released, oldest first, with the time of the first release of each.
    releases: VecDeque<(u32, Time)>,
    /// The acknowledgement number that completes the handshake, until it has arrived.
    pub opening: Option<u32>,
    /// True if the SYN-ACK has left and the handshake is not completed.
    pub unanswered: bool,
    /// True if a request has left and no data has come since.
    pub asked: bool,
    /// The number of packets held.
    pub held: u32,
    /// The time of the latest packet.
    pub seen: Time,
}

/// Returns true if `a` comes after `b` in sequence space.
fn after(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) > 0
}

impl Flow {
    /// Makes the state of a flow whose first byte has the sequence number `first`.
    pub fn new(first: u32, now: Time) -> Flow {
        Flow {
            reference: (first, 0),
            acknowledged: false,
            end: None,
            releases: VecDeque::new(),
            opening: None,
            unanswered: false,
            asked: false,
            held: 0,
            seen: now,
        }
    }

    /// Returns the offset of a sequence number, the nearest to what was acknowledged last; zero if it lies before the
    /// first byte.
    pub fn offset(&self, seq: u32) -> u64 {
        let (from, offset) = self.reference;
        offset.saturating_add_signed(i64::from(seq.wrapping_sub(from) as i32))
    }

    /// Records an acknowledgement that our kernel sends, and returns its offset.
    pub fn acknowledge(&mut self, number: u32) -> u64 {
        let offset = self.offset(number);
        self.acknowledged = true;
        if offset > self.reference.1 {
            self.reference = (number, offset);
        }
        offset
    }

    /// Returns true if our kernel takes part in the flow, so that it is not forged.
    pub fn is_confirmed(&self) -> bool {
        self.acknowledged && self.opening.is_none()
    }

    /// Returns true if the first byte of the flow has the sequence number `first`.
    pub fn begins_at(&self, first: u32) -> bool {
        let (number, offset) = self.reference;
        u64::from(number.wrapping_sub(first)) == offset & u64::from(u32::MAX)
    }

    /// Records the FIN of the peer, whose sequence number is `seq`.
    pub fn finish_at(&mut self, seq: u32) {
        self.end = Some(self.offset(seq.wrapping_add(1)));
    }

    /// Returns true if an acknowledgement of everything before `offset` covers the whole flow, its FIN included.
    pub fn is_over(&self, offset: u64) -> bool {
        self.end.is_some_and(|end| offset >= end)
    }

    /// Records the release of an acknowledgement.
    pub fn release(&mut self, timestamps: Option<u32>, now: Time) {
        let Some(value) = timestamps else { return };
        if self.releases.back().is_none_or(|(last, _)| after(value, *last)) {
            if self.releases.len() == RELEASES {
                self.releases.pop_front();
            }
            self.releases.push_back((value, now));
        }
    }

    /// Returns the time of the release that data with these timestamps answers. All acknowledgements released before
    /// that time had reached the sender before it sent the data.
    pub fn answers(&mut self, timestamps: Option<Timestamps>) -> Option<Time> {
        let echo = timestamps?.echo;
        if self.releases.back().is_none_or(|(last, _)| after(echo, *last)) {
            return None;
        }
        while self.releases.front().is_some_and(|(value, _)| after(echo, *value)) {
            self.releases.pop_front();
        }
        self.releases.front().filter(|(value, _)| *value == echo).map(|(_, at)| *at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clearway_units::Span;

    fn ms(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    fn echo(echo: u32) -> Option<Timestamps> {
        Some(Timestamps { value: 0, echo })
    }

    #[test]
    fn offsets_go_on_where_sequence_numbers_wrap() {
        let mut flow = Flow::new(u32::MAX - 999, ms(0));
        assert_eq!((flow.offset(u32::MAX), flow.offset(500)), (999, 1500));
        let mut number = u32::MAX - 999;
        for step in 1..=6 {
            number = number.wrapping_add(1 << 30);
            assert_eq!(flow.acknowledge(number), step << 30);
        }
        assert_eq!(flow.offset(number.wrapping_sub(10)), (6 << 30) - 10, "data that was sent again");
        assert_eq!(flow.acknowledge(number.wrapping_sub(10)), (6 << 30) - 10, "an old acknowledgement");
        assert_eq!(flow.offset(number), 6 << 30, "moves nothing");
    }

    #[test]
    fn what_lies_before_the_first_byte_seen_has_the_offset_zero() {
        let flow = Flow::new(5000, ms(0));
        assert_eq!((flow.offset(4000), flow.offset(5000), flow.offset(5001)), (0, 0, 1));
    }

    #[test]
    fn a_flow_begins_where_its_syn_says_however_far_it_has_come() {
        let mut flow = Flow::new(u32::MAX, ms(0));
        assert!(flow.begins_at(u32::MAX) && !flow.begins_at(0) && !flow.begins_at(u32::MAX - 1));
        flow.acknowledge(4000);
        assert!(flow.begins_at(u32::MAX) && !flow.begins_at(4000));
    }

    #[test]
    fn data_answers_the_first_release_with_the_timestamp_that_it_echoes() {
        let mut flow = Flow::new(0, ms(0));
        for (value, at) in [(7, 1), (7, 2), (8, 3), (10, 5)] {
            flow.release(Some(value), ms(at));
        }
        assert_eq!(flow.answers(echo(7)), Some(ms(1)));
        assert_eq!(flow.answers(echo(11)), None, "a timestamp that never left");
        assert_eq!(flow.answers(echo(8)), Some(ms(3)));
        assert_eq!(flow.answers(echo(7)), None, "data that a later answer overtook");
        assert_eq!(flow.answers(echo(9)), None, "an acknowledgement that was not held");
        assert_eq!(flow.answers(echo(10)), Some(ms(5)));
        assert_eq!((flow.answers(None), flow.releases.len()), (None, 1));
    }

    #[test]
    fn timestamps_wrap_and_only_the_latest_are_remembered() {
        let mut flow = Flow::new(0, ms(0));
        let first = u32::MAX - 50;
        (0..100).for_each(|step| flow.release(Some(first.wrapping_add(step)), ms(u64::from(step))));
        assert_eq!(flow.releases.len(), RELEASES);
        assert_eq!(flow.answers(echo(first)), None);
        assert_eq!(flow.answers(echo(first.wrapping_add(36))), Some(ms(36)), "before the numbers wrap");
        assert_eq!(flow.answers(echo(first.wrapping_add(99))), Some(ms(99)), "after it");
    }

    #[test]
    fn the_flow_is_over_when_its_fin_is_acknowledged() {
        let mut flow = Flow::new(1000, ms(0));
        assert!(!flow.is_over(5000));
        flow.finish_at(3000);
        assert!(!flow.is_over(2000) && flow.is_over(2001));
    }
}
