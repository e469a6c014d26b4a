//! The records of packets that a sender has sent and that are not known to have arrived with all before them.

use super::window::Sample;
use clearway_units::Time;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// What is known of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum State {
    /// It is on its way, for all that is known.
    Flying,
    /// It is lost, and waits to be sent again.
    Lost,
    /// It has arrived.
    Arrived,
    /// It is a pull request (RTS), which carries no data, and on its way.
    Asking,
}

/// The record of a packet. There are as many as a window has packets, so it is small: its payload ends where that of the next
/// one begins.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Record {
    /// The time at which it was sent last.
    pub sent: Time,
    /// The offset of its first byte, without all but the lowest 32 bits.
    offset: u32,
    /// The entropy with which it was sent last.
    pub entropy: u16,
    /// The number of times that it was sent again.
    pub repeats: u8,
    /// What is known of it.
    state: State,
}

/// The records of a flow's packets, by number. All packets before the first one have arrived.
#[derive(Clone, Default, Debug, Serialize, Deserialize)]
pub struct Records {
    ring: VecDeque<Record>,
    /// The number of the first packet.
    base: u32,
    /// The offset of its first byte.
    offset: u64,
    /// The offset after the last byte that was ever sent.
    end: u64,
    /// The number of packets in each state, in the order of [`State`]. That of packets that have arrived means nothing.
    counts: [u32; 4],
    /// The place of the first of them.
    first_lost: u32,
}

/// The map of arrived packets that a sender took last.
#[derive(Clone, Default, Debug, Serialize, Deserialize)]
pub struct Taken {
    /// The number of the packet to which the lowest bit belongs.
    from: u32,
    map: u64,
}

impl Taken {
    /// Takes the next map, whose lowest bit belongs to the packet `from`. Returns what is new in it: few packets, where one
    /// acknowledgement follows another, since the others have been taken before.
    pub fn news(&mut self, from: u32, map: u64) -> u64 {
        let ahead = from.wrapping_sub(self.from);
        let behind = ahead.wrapping_neg();
        let known = self.map.checked_shr(ahead).or(self.map.checked_shl(behind)).unwrap_or(0);
        (self.from, self.map) = (from, map);
        map & !known
    }
}

impl Records {
    /// Adds the record of a new packet with so much payload, which is flying or asking. Returns its number.
    pub fn push(&mut self, payload: u32, entropy: u16, state: State, now: Time) -> u32 {
        let psn = self.next();
        self.ring.push_back(Record { sent: now, offset: self.end as u32, entropy, repeats: 0, state });
        self.end += u64::from(payload);
        self.note(state, 1);
        psn
    }

    /// Returns the number of the next packet.
    pub fn next(&self) -> u32 {
        self.base.wrapping_add(self.ring.len() as u32)
    }

    /// Returns the number of the first packet that is not known to have arrived.
    pub fn base(&self) -> u32 {
        self.base
    }

    /// Returns the offset of the first byte that is not known to have arrived.
    pub fn acknowledged(&self) -> u64 {
        self.offset
    }

    /// Returns the offset after the last byte that was ever sent.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Returns true if all packets have arrived.
    pub fn is_empty(&self) -> bool {
        self.ring.is_empty()
    }

    /// Returns the number of packets of data that are on their way.
    pub fn flying(&self) -> u32 {
        self.counts[State::Flying as usize]
    }

    /// Returns true if something is on its way of which the receiver is to tell.
    pub fn awaits(&self) -> bool {
        self.flying() > 0 || self.asks()
    }

    /// Returns true if a pull request is on its way.
    pub fn asks(&self) -> bool {
        self.counts[State::Asking as usize] > 0
    }

    /// Returns the number of packets that are lost.
    pub fn lost(&self) -> u32 {
        self.counts[State::Lost as usize]
    }

    /// Returns the place of the first packet that is lost.
    pub fn first_lost(&self) -> Option<usize> {
        (self.lost() > 0).then_some(self.first_lost as usize)
    }

    /// Returns the place of the packet with this number, if it has a record.
    pub fn place(&self, psn: u32) -> Option<usize> {
        let place = psn.wrapping_sub(self.base) as usize;
        (place < self.ring.len()).then_some(place)
    }

    /// Returns the number of the packet at a place.
    pub fn psn(&self, place: usize) -> u32 {
        self.base.wrapping_add(place as u32)
    }

    /// Returns the number of places.
    pub fn len(&self) -> usize {
        self.ring.len()
    }

    /// Returns the record at a place, and what is known of its packet.
    pub fn get(&self, place: usize) -> (&Record, State) {
        let record = &self.ring[place];
        (record, record.state)
    }

    /// Returns the offset of the first byte of the packet at a place, and the number of its bytes.
    pub fn bytes(&self, place: usize) -> (u64, u32) {
        let low = self.ring[place].offset;
        let next = self.ring.get(place + 1).map_or(self.end as u32, |record| record.offset);
        (self.offset + u64::from(low.wrapping_sub(self.offset as u32)), next.wrapping_sub(low))
    }

    /// Returns the measurement of an answer to the packet with this number, if it is a valid one: that of the only packet with
    /// the number, or of the only repeat.
    pub fn sample(&self, psn: u32, of_repeat: bool, now: Time) -> Option<Sample> {
        let (record, state) = self.get(self.place(psn)?);
        let is_on_its_way = matches!(state, State::Flying | State::Asking);
        let is_clear = is_on_its_way && record.repeats == u8::from(of_repeat);
        let rtt = now.saturating_since(record.sent);
        is_clear.then_some(Sample { rtt, lowers: state == State::Flying })
    }

    /// Records that the packet at a place is lost. It must be flying.
    pub fn lose(&mut self, place: usize) {
        let record = &mut self.ring[place];
        debug_assert!(record.state == State::Flying, "only data on its way gets lost");
        record.state = State::Lost;
        self.first_lost = if self.lost() == 0 { place as u32 } else { self.first_lost.min(place as u32) };
        self.note(State::Flying, -1);
        self.note(State::Lost, 1);
    }

    /// Records that the packet at a place was sent again, and is flying.
    pub fn repeat(&mut self, place: usize, entropy: u16, now: Time) {
        let record = &mut self.ring[place];
        (record.sent, record.entropy, record.repeats) = (now, entropy, record.repeats.saturating_add(1));
        if record.state == State::Lost {
            record.state = State::Flying;
            self.note(State::Lost, -1);
            self.note(State::Flying, 1);
            self.find_lost(place);
        }
    }

    /// Lets the time of the packet at a place begin anew.
    pub fn restart(&mut self, place: usize, now: Time) {
        self.ring[place].sent = now;
    }

    /// Records that the packet at a place has arrived. Returns what was known of it before.
    pub fn arrive(&mut self, place: usize) -> State {
        let record = &mut self.ring[place];
        let was = std::mem::replace(&mut record.state, State::Arrived);
        self.note(was, -1);
        if was == State::Lost {
            self.find_lost(place);
        }
        was
    }

    /// Drops the records of the first packets, as long as these have arrived.
    #[inline]
    pub fn drop_arrived(&mut self) {
        while self.ring.front().is_some_and(|record| record.state == State::Arrived) {
            self.pop();
        }
    }

    /// Drops the record of the first packet, which has arrived. Returns what was known of it before, and its payload.
    #[inline]
    pub fn pop(&mut self) -> Option<(State, u32)> {
        let first = self.ring.pop_front()?;
        let next = self.ring.front().map_or(self.end as u32, |record| record.offset);
        let payload = next.wrapping_sub(first.offset);
        self.base = self.base.wrapping_add(1);
        self.offset += u64::from(payload);
        self.note(first.state, -1);
        if first.state == State::Lost && self.lost() > 0 {
            let lost = self.ring.iter().position(|record| record.state == State::Lost);
            self.first_lost = lost.expect("some packet is lost") as u32;
        } else {
            self.first_lost = self.first_lost.saturating_sub(1);
        }
        Some((first.state, payload))
    }

    /// Counts one packet more or less of a state.
    fn note(&mut self, state: State, by: i32) {
        // By a place in an array: the compiler makes a jump of a `match`, which is often guessed wrong.
        let count = &mut self.counts[state as usize];
        *count = count.wrapping_add_signed(by);
    }

    /// Looks for the first packet that is lost, after the one at a place no longer is.
    fn find_lost(&mut self, place: usize) {
        if self.lost() > 0 && self.first_lost as usize == place {
            let rest = self.ring.range(place..).position(|record| record.state == State::Lost);
            self.first_lost = (place + rest.expect("some packet is lost")) as u32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Entity, Rng};

    fn three() -> Records {
        let mut records =
            Records { base: u32::MAX, offset: 0xffff_fff0, end: 0xffff_fff0, ..Records::default() };
        for payload in [100, 50, 7] {
            records.push(payload, 3, State::Flying, Time::from_ps(5));
        }
        records
    }

    #[test]
    fn numbers_and_offsets_pass_32_bits() {
        let records = three();
        let bytes: Vec<_> = (0..3).map(|place| records.bytes(place)).collect();
        assert_eq!(bytes, [(0xffff_fff0, 100), (0x1_0000_0054, 50), (0x1_0000_0086, 7)]);
        assert_eq!((records.psn(0), records.psn(1), records.next()), (u32::MAX, 0, 2));
        assert_eq!([u32::MAX, 1, 2, 77].map(|psn| records.place(psn)), [Some(0), Some(2), None, None]);
        assert_eq!(records.end(), 0x1_0000_008d);
    }

    #[test]
    fn the_first_lost_packet_is_found_whatever_becomes_of_the_others() {
        let mut records = three();
        [2, 0, 1].into_iter().for_each(|place| records.lose(place));
        assert_eq!((records.first_lost(), records.lost(), records.flying()), (Some(0), 3, 0));
        records.repeat(0, 9, Time::from_ps(8));
        assert_eq!((records.first_lost(), records.get(0).0.repeats), (Some(1), 1));
        assert_eq!(records.arrive(1), State::Lost);
        assert_eq!(records.first_lost(), Some(2));
        assert_eq!(records.arrive(0), State::Flying);
        records.drop_arrived();
        assert_eq!(
            (records.base(), records.acknowledged(), records.first_lost()),
            (1, 0x1_0000_0086, Some(0))
        );
        records.arrive(0);
        records.drop_arrived();
        assert_eq!((records.is_empty(), records.acknowledged()), (true, records.end()));
        assert_eq!((records.first_lost(), records.flying()), (None, 0));
    }

    #[test]
    fn packets_fly_get_lost_and_arrive_as_a_list_of_them_tells() {
        let mut rng = Rng::stream(1, Entity::Traffic, 0);
        let (mut records, mut list) = (Records::default(), Vec::new());
        let (mut base, mut offset) = (0u32, 0u64);
        for step in 0..20_000u64 {
            let (now, at) = (Time::from_ps(step), rng.below(list.len().max(1) as u64) as usize);
            let known: Option<&mut (State, u32)> = list.get_mut(at);
            match (rng.below(6), known) {
                (0 | 1, _) => {
                    let payload = [4086, 100, 7][rng.below(3) as usize];
                    records.push(payload, 3, State::Flying, now);
                    list.push((State::Flying, payload));
                }
                (2, Some((state @ State::Flying, _))) => {
                    records.lose(at);
                    *state = State::Lost;
                }
                (3, Some((state @ State::Lost, _))) => {
                    records.repeat(at, 4, now);
                    *state = State::Flying;
                }
                (4, Some((state, _))) if *state != State::Arrived => {
                    assert_eq!(records.arrive(at), std::mem::replace(state, State::Arrived));
                }
                (5, Some(_)) => {
                    let gone = list.remove(0);
                    assert_eq!(records.pop(), Some(gone));
                    (base, offset) = (base + 1, offset + u64::from(gone.1));
                }
                _ => {}
            }
            while list.first().is_some_and(|first| first.0 == State::Arrived) {
                (base, offset) = (base + 1, offset + u64::from(list.remove(0).1));
            }
            records.drop_arrived();
            let count = |of| list.iter().filter(|(state, _)| *state == of).count() as u32;
            assert_eq!((records.base(), records.acknowledged()), (base, offset));
            assert_eq!((records.flying(), records.lost()), (count(State::Flying), count(State::Lost)));
            assert_eq!(records.first_lost(), list.iter().position(|(state, _)| *state == State::Lost));
        }
        assert!(base > 1_000);
    }

    #[test]
    fn a_map_tells_the_packets_alone_that_were_not_in_the_one_before_whichever_begins_first() {
        let mut taken = Taken { from: u32::MAX - 1, map: 0b1011 };
        // Of the packets 0, 1 and 2 the second one was known.
        assert_eq!(taken.news(0, 0b111), 0b101);
        // The map begins four packets before: the two of its packets that were in the last one begin at bit 4.
        assert_eq!(taken.news(u32::MAX - 3, 0b11_0001), 0b1);
        assert_eq!(taken.news(60, 1 | 1 << 63), 1 | 1 << 63, "64 packets ahead of 0xffff_fffc");
        assert_eq!(taken.news(123, 1), 0, "the last packet of the map before");
        assert_eq!(taken.news(1 << 31, u64::MAX), u64::MAX, "far ahead nothing is known");
    }

    #[test]
    fn a_record_takes_16_bytes() {
        assert_eq!(size_of::<Record>(), 16);
    }
}
