//! The load of a loop, and the pause that it makes between two rounds while it is high.

use super::filter::Holds;
use clearway_units::{Span, Time};

/// The time over which packets are counted.
const WINDOW: Span = Span::from_ms(1);
/// The number of packets in a window from which on the load is high.
const HIGH: u64 = 40;
/// The least time between the starts of two rounds while the load is high. What leaves in it at 1 Gbit/s passes a port of a Linux switch at
/// once, whose buckets hold 100 us (`TIMER` of `clearway_planner::htb`).
const ROUND: Span = Span::from_us(100);
/// That time where acknowledgements are held: ten connections under PAC carried less at 1 Gbit/s with rounds of 100 us.
const ROUND_OF_ACKS: Span = Span::from_us(50);

/// The number of segments in a window of 1 ms from which on many pass.
const MANY_SEEN: u64 = 2;

/// The number of segments that come together while the datapath is patient: small packets, of which 90 and more leave for what credits
/// leave over by default, so that the sender has got further credits by then. They are about as many as one credit pays for.
const SEEN_TOGETHER: u64 = 16;
/// The shortest time for which they are let come, which is several times that of a wake-up.
const PATIENCE_MIN: Span = Span::from_us(400);
/// The time without a segment, or without a frame, after which a patient datapath is told of the next one at once.
const SEGMENTS_END: Span = Span::from_ms(20);
const FRAMES_END: Span = Span::from_ms(3);

/// The number of frames that left in a window of 1 ms from which on timers gather: half of the credits that fill 100 Mbit/s.
const MANY_SENT: u64 = 4;
/// The time for which a timer waits for later ones then: a little more than the time between two credits at 100 Mbit/s.
const GATHER: Span = Span::from_us(130);
/// The longest such time while all frames go to one host, and the number of frames that may come in it, after the one that is due. The
/// switch in front of that host spaces them again: two pass at once, and the others take half of a queue of eight. Frames for several
/// hosts would bring data from all of these at once.
const GATHER_FOR_ONE: Span = Span::from_us(650);
const GATHERED: u64 = 5;
/// The time by which a wake-up may be late beside that. At 1 Gbit/s it lets seven credits leave at once, which is what a switch
/// has room for.
const LATE_MAX: Span = Span::from_us(100);

/// The load of a loop.
///
/// A wake-up costs as much as ten packets. A loop that wakes up for each packet cannot carry 1 Gbit/s, so under high load
/// it lets some packets gather; under low load, where that would only cost time, it does not. While credits leave steadily,
/// two or a few of them share a wake-up. While the datapath is patient, wake-ups are as far apart as small packets allow: each takes the
/// processor from the applications that send these.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Load {
    /// True if acknowledgements are held, and not data.
    holds_acks: bool,
    /// The number of packets, of all time, when the window began.
    counted: u64,
    window_end: Time,
    is_high: bool,
    round_end: Time,
    /// The number of segments that were seen, of all time, when the window began, and the time of that.
    seen: u64,
    window_start: Time,
    many_seen: bool,
    /// The number of segments in a millisecond of the window before.
    seen_in_ms: u64,
    /// The number of frames, of all time, that had left when the window began.
    sent: u64,
    many_sent: bool,
    /// The number of frames, of all time, that had gone to another host than the one before when the window began.
    turns: u64,
    /// The time between two frames of the window before, if all of them went to one host.
    gap_for_one: Option<Span>,
    /// The times at which segments and frames came last.
    segments_at: Option<Time>,
    frames_at: Option<Time>,
}

/// The packets of all time that a loop has counted.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Counted {
    /// Those that came from the kernel in any way.
    pub came: u64,
    /// Segments that had passed: those among them, and small ones that were counted in the kernel.
    pub seen: u64,
    /// Frames that left.
    pub sent: u64,
    /// Frames among them that went to another host than the one before.
    pub turns: u64,
}

impl Load {
    /// Returns the load of a loop that has not begun.
    pub fn of(holds: Holds) -> Load {
        Load { holds_acks: matches!(holds, Holds::Acks { .. }), ..Load::default() }
    }

    /// Notes that a round starts.
    pub fn start_round(&mut self, now: Time, counted: Counted) {
        if now >= self.window_end {
            let Counted { came, seen, sent, turns } = counted;
            let time = now.saturating_since(self.window_start);
            let many = |new: u64, old: u64, many: u64| {
                WINDOW.saturating_mul(new.saturating_sub(old)) >= time.saturating_mul(many)
            };
            self.seen_in_ms =
                seen.saturating_sub(self.seen).saturating_mul(WINDOW.as_ps()) / time.max(WINDOW).as_ps();
            self.many_seen = many(seen, self.seen, MANY_SEEN);
            self.many_sent = many(sent, self.sent, MANY_SENT);
            self.gap_for_one = (turns == self.turns).then(|| time / sent.saturating_sub(self.sent).max(1));
            (self.seen, self.sent, self.turns, self.window_start) = (seen, sent, turns, now);
            self.is_high = came.saturating_sub(self.counted) >= HIGH;
            self.counted = came;
            self.window_end = now.saturating_add(WINDOW);
        }
        let round = if self.holds_acks { ROUND_OF_ACKS } else { ROUND };
        self.round_end = now.saturating_add(round);
    }

    /// Notes whether segments with data and frames came in a round.
    pub fn end_round(&mut self, now: Time, segments: bool, frames: bool) {
        self.segments_at = if segments { Some(now) } else { self.segments_at };
        self.frames_at = if frames { Some(now) } else { self.frames_at };
    }

    /// Returns the longest time for which credits and segments wait while the datapath is patient.
    pub fn patience(&self) -> Span {
        (WINDOW * SEEN_TOGETHER / self.seen_in_ms.max(SEEN_TOGETHER)).max(PATIENCE_MIN)
    }

    /// Returns true if segments have come not long ago.
    pub fn segments_go_on(&self, now: Time) -> bool {
        self.segments_at.is_some_and(|at| now.saturating_since(at) < SEGMENTS_END)
    }

    /// Returns true if frames have come not long ago.
    pub fn frames_go_on(&self, now: Time) -> bool {
        self.frames_at.is_some_and(|at| now.saturating_since(at) < FRAMES_END)
    }

    /// Returns true if so many segments pass that a wake-up for each would cost more than it is worth.
    pub fn many_are_seen(&self) -> bool {
        self.many_seen
    }

    /// Returns the time for which a timer that is due waits for later ones, and for packets if the datapath is patient. Under high load
    /// rounds let them gather anyway.
    pub fn gather(&self, is_patient: bool) -> Span {
        match self.gap_for_one {
            _ if is_patient => self.patience() / 2,
            _ if !self.many_sent || self.is_high => Span::ZERO,
            Some(gap) => gap.saturating_mul(GATHERED).min(GATHER_FOR_ONE).max(GATHER),
            None => GATHER,
        }
    }

    /// Returns the largest time by which the datapath is told less than the time, to make up for a late wake-up: it does
    /// then what it would have done in time.
    pub fn late_max(&self, is_patient: bool) -> Span {
        LATE_MAX.saturating_add(self.gather(is_patient))
    }

    /// Returns the time for which the loop lets packets gather before the next round.
    pub fn pause(&self, now: Time) -> Span {
        if self.is_high { self.round_end.saturating_since(now) } else { Span::ZERO }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(us: u64) -> Time {
        Time::ZERO.saturating_add(Span::from_us(us))
    }

    fn came(came: u64) -> Counted {
        Counted { came, ..Counted::default() }
    }

    #[test]
    fn rounds_are_apart_only_under_high_load() {
        let mut load = Load::default();
        load.start_round(us(0), came(0));
        load.start_round(us(1000), came(HIGH - 1));
        assert_eq!(load.pause(us(1000)), Span::ZERO);
        load.start_round(us(2000), came(2 * HIGH - 1));
        assert_eq!(load.pause(us(2010)), Span::from_us(90));
        assert_eq!(load.pause(us(2110)), Span::ZERO);
        load.start_round(us(3000), came(2 * HIGH));
        assert_eq!(load.pause(us(3000)), Span::ZERO);
    }

    #[test]
    fn rounds_are_half_as_far_apart_where_acknowledgements_are_held() {
        let mut load = Load::of(Holds::Acks { syn_acks: true, requests: false });
        for (at, packets) in [(0, 0), (1000, HIGH)] {
            load.start_round(us(at), came(packets));
        }
        assert_eq!(load.pause(us(1010)), Span::from_us(40));
        let mut load = Load::of(Holds::Data);
        for (at, packets) in [(0, 0), (1000, HIGH)] {
            load.start_round(us(at), came(packets));
        }
        assert_eq!(load.pause(us(1010)), Span::from_us(90));
    }

    #[test]
    fn many_segments_pass_from_two_in_a_millisecond_on() {
        let mut load = Load::default();
        load.start_round(us(1000), came(0));
        for (at, seen, many) in [(2000, 1, false), (3000, 3, true), (5000, 7, true), (8000, 12, false)] {
            load.start_round(us(at), Counted { came: seen, seen, ..Counted::default() });
            assert_eq!(load.many_are_seen(), many, "at {at} us");
        }
    }

    #[test]
    fn timers_gather_while_four_frames_leave_in_a_millisecond_unless_rounds_are_apart() {
        let mut load = Load::default();
        load.start_round(us(1000), came(0));
        for (at, sent, more, gather) in
            [(2000, 3, 0, 0), (3000, 7, 0, 130), (5000, 15, 0, 130), (6000, 19, HIGH, 0), (7000, 22, HIGH, 0)]
        {
            load.start_round(us(at), Counted { came: more, sent, turns: sent, ..Counted::default() });
            assert_eq!(load.gather(false), Span::from_us(gather), "at {at} us");
            // A timer that waited for others is handled at its own time even if the wake-up is late too.
            assert_eq!(load.late_max(false), Span::from_us(100 + gather), "at {at} us");
        }
    }

    #[test]
    fn timers_gather_for_five_frames_while_all_go_to_one_host_and_for_one_again_when_another_host_gets_some()
    {
        let mut load = Load::default();
        load.start_round(us(1000), came(0));
        for (at, sent, turns, gather) in [
            (2000, 8, 0, 625),
            (3000, 12, 0, 650),
            (4000, 37, 0, 200),
            (5000, 45, 1, 130),
            (6000, 53, 1, 625),
            (7000, 56, 1, 0),
        ] {
            load.start_round(us(at), Counted { sent, turns, ..Counted::default() });
            assert_eq!(load.gather(false), Span::from_us(gather), "at {at} us");
        }
    }

    #[test]
    fn a_patient_datapath_hears_of_16_segments_at_once_but_not_more_often_than_each_400_us() {
        let mut load = Load::default();
        load.start_round(us(1000), came(0));
        for (at, seen, patience) in [
            (2000, 16, 1000),
            (3000, 48, 500),
            (4000, 88, 400),
            (5000, 188, 400),
            (7000, 252, 500),
            (8000, 252, 1000),
        ] {
            load.start_round(us(at), Counted { seen, came: 10 * seen, sent: seen, ..Counted::default() });
            assert_eq!(load.patience(), Span::from_us(patience), "at {at} us");
            // Half of it is left to timers, however high the load is and however many frames leave.
            assert_eq!(load.gather(true), Span::from_us(patience / 2));
            assert_eq!(load.late_max(true), Span::from_us(100 + patience / 2));
        }
    }

    #[test]
    fn segments_go_on_for_20_ms_and_frames_for_3_ms_after_the_last_one() {
        let mut load = Load::default();
        assert!(!load.segments_go_on(us(0)) && !load.frames_go_on(us(0)), "none came yet");
        load.end_round(us(1_000), true, false);
        load.end_round(us(2_000), false, true);
        load.end_round(us(4_000), false, false);
        let go_on = |at| (load.segments_go_on(us(at)), load.frames_go_on(us(at)));
        assert_eq!(
            [4_999, 5_000, 20_999, 21_000].map(go_on),
            [(true, true), (true, false), (true, false), (false, false)]
        );
    }
}
