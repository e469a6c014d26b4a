//! Unit tests of the RDMA sender, against answers made by hand.

use super::*;
use crate::endpoint::{Sender as _, Stats};
use crate::rdma::Cnp;
use crate::rng::{Entity, Rng};

/// Payload of a packet, in bytes.
const S: u64 = 1000;
/// Time that a full packet (1048 bytes on the wire) takes at the test's rate of 8 Gbps.
const GAP: Span = Span::from_ns(1048);
const RTO: Span = Span::from_us(100);

const FRAMING: Framing = Framing { payload_max: S as u32, overhead: 48, wire_min: 60 };

/// A law whose rate and window a test sets, and which notes what it hears.
struct Dial<const REPACES: bool> {
    rate: Rate,
    window: u64,
    /// `acked`, `snd_una`, `snd_nxt`, `ecn_echo` and `rtt` of each acknowledgement.
    acks: Vec<(u64, u64, u64, bool, Span)>,
    cnps: u32,
    wire_sent: u64,
    timeout: Time,
    timeouts: u32,
}

impl<const REPACES: bool> RateLaw for Dial<REPACES> {
    const REPACES: bool = REPACES;

    fn rate(&self) -> Rate {
        self.rate
    }

    fn window(&self) -> u64 {
        self.window
    }

    fn on_ack(&mut self, ack: &AckEvent<'_>, _: Time) {
        self.acks.push((ack.acked, ack.snd_una, ack.snd_nxt, ack.ecn_echo, ack.rtt));
    }

    fn on_cnp(&mut self, _: Time) {
        self.cnps += 1;
    }

    fn on_sent(&mut self, wire: u32, _: Time) {
        self.wire_sent += wire as u64;
    }

    fn next_timeout(&self) -> Time {
        self.timeout
    }

    fn on_timeout(&mut self, _: Time) {
        self.timeouts += 1;
        self.timeout = Time::MAX;
    }
}

/// A sender at a time, with all that it needs.
struct Bench<const REPACES: bool = false> {
    sender: Sender<Dial<REPACES>>,
    now: Time,
    rng: Rng,
    stats: Stats,
}

fn config(recovery: Recovery) -> Config {
    Config {
        recovery,
        nack_interval: Span::ZERO,
        pacing_grain: Span::ZERO,
        rto: Some(RTO),
        stamp: 0,
        stamp_echo: 0,
        cnp: Cnp::Never,
        telemetry: false,
    }
}

impl Bench {
    /// A sender that has `packets` to send, of which `window` may be in flight.
    fn new(recovery: Recovery, packets: u64, window: u64) -> Bench {
        Bench::with(&config(recovery), packets * S, window * S)
    }
}

impl<const REPACES: bool> Bench<REPACES> {
    fn with(config: &Config, bytes: u64, window: u64) -> Bench<REPACES> {
        let line = Rate::gbps(8);
        let env = Env::for_test(line, Span::from_us(10), FRAMING);
        let law = Dial {
            rate: line,
            window,
            acks: Vec::new(),
            cnps: 0,
            wire_sent: 0,
            timeout: Time::MAX,
            timeouts: 0,
        };
        let mut bench = Bench {
            sender: Sender::new(config, &env, law),
            now: Time::ZERO,
            rng: Rng::stream(1, Entity::Sender, 0),
            stats: Stats::default(),
        };
        bench.input(|sender, cx| sender.write(bytes, cx));
        bench
    }

    fn input<T>(&mut self, act: impl FnOnce(&mut Sender<Dial<REPACES>>, &mut Cx<'_>) -> T) -> T {
        act(&mut self.sender, &mut Cx { now: self.now, rng: &mut self.rng, stats: &mut self.stats })
    }

    fn at_us(&mut self, us: u64) -> &mut Bench<REPACES> {
        self.now = Time::ZERO + Span::from_us(us);
        self
    }

    fn wakes(&mut self) {
        self.now = self.now.max(self.sender.next_timeout());
        self.input(|sender, cx| sender.handle_timeout(cx));
    }

    /// The packets that leave until the sender waits for something else than its pace.
    fn packets(&mut self) -> Vec<Packet> {
        let mut packets = Vec::new();
        loop {
            let promised = self.sender.wants_transmit(self.now);
            let packet = self.input(|sender, cx| sender.poll_transmit(cx));
            assert_eq!(promised, packet.is_some());
            if let Some(packet) = packet {
                packets.push(packet);
                assert!(packets.len() < 1000, "the sender does not stop sending");
                continue;
            }
            if self.sender.pace_timer == Time::MAX {
                return packets;
            }
            self.now = self.sender.pace_timer;
            self.input(|sender, cx| sender.handle_timeout(cx));
        }
    }

    /// Returns the packets that leave now, by their numbers in the flow.
    fn sends(&mut self) -> Vec<u64> {
        self.packets().iter().map(|packet| packet.range().start / S).collect()
    }

    fn answer(&mut self, header: Header, flags: Flags) {
        let packet = Packet::control(header, 60, self.now).with_flags(flags);
        self.input(|sender, cx| sender.handle_packet(&packet, &Extra::None, cx));
    }

    /// The receiver has all packets before `next`.
    fn ack(&mut self, next: u64) {
        let (ack, offset) = (next * S, next.saturating_sub(1) * S);
        self.answer(Header::RdmaAck { ack, offset, len: S as u32, echo: self.now }, Flags::NONE);
    }

    /// The receiver has all packets before `next`, and got packet `got`, which left at `echo`.
    fn nack(&mut self, next: u64, got: u64, echo: Time) {
        let (ack, offset) = (next * S, got * S);
        self.answer(Header::RdmaNack { ack, offset, len: S as u32, echo }, Flags::NONE);
    }
}

fn sequence(range: std::ops::Range<u64>) -> Vec<u64> {
    range.collect()
}

#[test]
fn go_back_n_repeats_all_from_the_missing_packet_on() {
    let mut bench = Bench::new(Recovery::GoBackN, 12, 10);
    assert_eq!(bench.sends(), sequence(0..10));
    bench.nack(3, 4, Time::ZERO);
    let again = bench.packets();
    let (old, new) = again.split_at(7);
    assert_eq!(old.iter().map(|packet| packet.range().start / S).collect::<Vec<_>>(), sequence(3..10));
    assert!(old.iter().all(|packet| packet.flags.has(Flags::RETRANSMIT)));
    assert_eq!(new.iter().map(|packet| packet.range().start / S).collect::<Vec<_>>(), [10, 11]);
    assert!(new.iter().all(|packet| !packet.flags.has(Flags::RETRANSMIT)));
    assert_eq!((bench.stats.data_packets, bench.stats.rare().retransmits), (19, 7));
}

#[test]
fn go_back_n_skips_what_turns_out_to_have_arrived() {
    let mut bench = Bench::new(Recovery::GoBackN, 10, 10);
    bench.sends();
    bench.nack(3, 4, Time::ZERO);
    // An acknowledgement that was on its way overtakes the repetition.
    bench.ack(8);
    assert_eq!(bench.sends(), [8, 9]);
}

#[test]
fn selective_repeat_repeats_only_what_is_missing() {
    let mut bench = Bench::new(Recovery::SelectiveRepeat, 14, 10);
    assert_eq!(bench.sends(), sequence(0..10));
    bench.nack(3, 5, Time::ZERO);
    bench.nack(3, 7, Time::ZERO);
    // Room in the window for three new packets follows the repetitions of 3, 4 and 6.
    assert_eq!(bench.sends(), [3, 4, 6, 10, 11, 12]);
    assert_eq!(bench.stats.rare().retransmits, 3);
    bench.ack(4);
    bench.ack(6);
    assert_eq!(bench.sends(), [13], "nothing is repeated twice");
    bench.ack(14);
    assert!(bench.sender.scoreboard.is_empty(), "no memory of acknowledged bytes is left");
}

#[test]
fn selective_repeat_repeats_again_only_after_later_data_overtook_the_repetition() {
    let mut bench = Bench::new(Recovery::SelectiveRepeat, 20, 16);
    assert_eq!(bench.sends(), sequence(0..16));
    bench.nack(0, 1, Time::ZERO);
    let repeated_at = bench.now.max(bench.sender.pace_at);
    assert_eq!(bench.sends(), [0]);
    // Data that left before the repetition, or with it, tells nothing of it.
    bench.nack(0, 2, repeated_at - Span::from_ps(1));
    assert_eq!(bench.sends(), []);
    bench.nack(0, 3, repeated_at);
    assert_eq!(bench.sends(), []);
    // Data that left after it, and is here before it, proves its loss: once.
    bench.nack(0, 4, repeated_at + Span::from_ps(1));
    assert_eq!(bench.sends(), [0]);
    bench.nack(0, 5, repeated_at + Span::from_ps(2));
    assert_eq!(bench.sends(), [], "the second repetition left later still");
    assert_eq!(bench.stats.rare().retransmits, 2);
}

#[test]
fn the_lost_repetition_of_a_second_gap_is_noticed_too() {
    let mut bench = Bench::new(Recovery::SelectiveRepeat, 10, 10);
    bench.sends();
    bench.nack(3, 4, Time::ZERO);
    bench.nack(3, 6, Time::ZERO);
    assert_eq!(bench.sends(), [3, 5]);
    // Packet 3 is repaired; 5 was repeated before now and is missing still.
    bench.ack(5);
    let repaired_at = bench.now;
    bench.nack(5, 7, repaired_at);
    assert_eq!(bench.sends(), []);
    bench.nack(5, 8, repaired_at + Span::from_ps(1));
    assert_eq!(bench.sends(), [5]);
}

#[test]
fn a_gap_that_was_not_repeated_yet_is_not_taken_for_a_lost_repetition() {
    let mut bench = Bench::new(Recovery::SelectiveRepeat, 10, 10);
    bench.sends();
    bench.nack(3, 4, Time::ZERO);
    assert_eq!(bench.sends(), [3]);
    bench.ack(5);
    bench.nack(5, 6, bench.now + Span::from_ps(1));
    assert_eq!(bench.sends(), [5]);
    assert_eq!(bench.stats.rare().retransmits, 2);
}

#[test]
fn without_progress_the_timeout_doubles_up_to_64_times_and_progress_resets_it() {
    for recovery in [Recovery::GoBackN, Recovery::SelectiveRepeat] {
        let mut bench = Bench::new(recovery, 3, 2);
        assert_eq!(bench.sends(), [0, 1]);
        let mut last = Time::ZERO;
        for times in [1, 2, 4, 8, 16, 32, 64, 64, 64] {
            assert_eq!(bench.sender.next_timeout(), last + RTO * times);
            bench.wakes();
            last = bench.now;
            assert_eq!(bench.sends(), [0, 1]);
        }
        assert_eq!((bench.stats.rare().timeouts, bench.stats.rare().retransmits), (9, 18));
        let progress_at = bench.now;
        bench.ack(1);
        assert_eq!(bench.sends(), [2]);
        assert_eq!(bench.sender.next_timeout(), progress_at + RTO);
    }
}

#[test]
fn a_duplicate_acknowledgement_does_not_put_the_timeout_off() {
    let mut bench = Bench::new(Recovery::GoBackN, 4, 4);
    bench.sends();
    bench.at_us(50).ack(1);
    assert_eq!(bench.sender.next_timeout(), bench.now + RTO);
    bench.at_us(90).ack(1);
    assert_eq!(bench.sender.next_timeout(), Time::ZERO + Span::from_us(50) + RTO);
    bench.ack(4);
    assert_eq!(bench.sender.next_timeout(), Time::MAX, "nothing is outstanding");
}

#[test]
fn without_a_retransmission_timer_a_sender_waits_for_ever() {
    let mut bench = Bench::<false>::with(&Config { rto: None, ..config(Recovery::GoBackN) }, 3 * S, 3 * S);
    bench.sends();
    assert_eq!(bench.sender.next_timeout(), Time::MAX);
}

#[test]
fn an_old_acknowledgement_changes_nothing() {
    let mut bench = Bench::new(Recovery::GoBackN, 10, 4);
    bench.sends();
    bench.ack(3);
    assert_eq!(bench.sends(), [4, 5, 6]);
    bench.ack(2);
    assert_eq!((bench.sends(), bench.sender.acknowledged()), (vec![], 3 * S));
    assert_eq!(bench.sender.law().acks[1].0, 0);
}

#[test]
fn packets_leave_at_the_rate_of_the_law_in_bytes_on_the_wire() {
    let mut bench = Bench::new(Recovery::GoBackN, 3, 10);
    let times: Vec<Time> = bench.packets().iter().map(|packet| packet.sent).collect();
    assert_eq!(times, [Time::ZERO, Time::ZERO + GAP, Time::ZERO + GAP * 2]);
    assert_eq!(bench.sender.law().wire_sent, 3 * 1048);
}

#[test]
fn a_grain_rounds_the_time_between_packets_down() {
    let config = Config { pacing_grain: Span::from_us(1), ..config(Recovery::GoBackN) };
    let mut bench = Bench::<false>::with(&config, 2 * S, 10 * S);
    assert_eq!(bench.packets()[1].sent, Time::ZERO + Span::from_us(1));
}

#[test]
fn a_grain_leaves_a_shorter_time_between_packets_as_it_is_so_that_they_do_not_all_leave_at_once() {
    let config = Config { pacing_grain: Span::from_us(2), ..config(Recovery::GoBackN) };
    let mut bench = Bench::<false>::with(&config, 2 * S, 10 * S);
    assert_eq!(bench.packets()[1].sent, Time::ZERO + GAP);
}

#[test]
fn a_new_rate_moves_the_waiting_packet_only_under_a_law_that_asks_for_it() {
    fn second_leaves<const REPACES: bool>() -> Time {
        let mut bench = Bench::<REPACES>::with(&config(Recovery::GoBackN), 2 * S, 10 * S);
        bench.input(|sender, cx| sender.poll_transmit(cx)).expect("the first packet");
        bench.sender.law.rate = Rate::gbps(4);
        bench.answer(Header::Cnp, Flags::NONE);
        bench.sender.next_timeout()
    }
    assert_eq!(second_leaves::<false>(), Time::ZERO + GAP);
    assert_eq!(second_leaves::<true>(), Time::ZERO + GAP * 2);
}

#[test]
fn the_gap_behind_a_packet_follows_its_own_size_and_the_rate_at_which_it_left() {
    // Two full packets, one of 100 bytes behind which the application writes another full one, and a new rate.
    let mut bench: Bench = Bench::with(&config(Recovery::GoBackN), 2 * S + 100, 10 * S);
    let mut left: Vec<Time> = bench.packets().iter().map(|packet| packet.sent).collect();
    bench.input(|sender, cx| sender.write(S, cx));
    left.extend(bench.packets().iter().map(|packet| packet.sent));
    bench.sender.law.rate = Rate::gbps(4);
    bench.input(|sender, cx| sender.write(2 * S, cx));
    left.extend(bench.packets().iter().map(|packet| packet.sent));
    let gaps: Vec<Span> = left.windows(2).map(|two| two[1] - two[0]).collect();
    assert_eq!(gaps, [GAP, GAP, Span::from_ns(148), GAP, GAP * 2]);
}

#[test]
fn at_most_a_window_is_in_flight_but_always_one_packet_may_be() {
    let mut bench = Bench::<false>::with(&config(Recovery::GoBackN), 10 * S, 2 * S + 1);
    assert_eq!(bench.sends(), [0, 1, 2], "a packet may begin within the window and end beyond it");
    bench.ack(1);
    assert_eq!(bench.sends(), [3]);
    bench.sender.law.window = 0;
    bench.ack(3);
    assert_eq!(bench.sends(), []);
    bench.ack(4);
    assert_eq!(bench.sends(), [4]);
    assert_eq!(bench.sends(), []);
}

#[test]
fn the_last_bytes_carry_the_end_of_the_flow_if_it_is_known_by_then() {
    let mut bench = Bench::<false>::with(&config(Recovery::GoBackN), 2 * S + 300, 10 * S);
    bench.input(|sender, cx| sender.close(cx));
    let packets = bench.packets();
    let seen: Vec<_> =
        packets.iter().map(|packet| (packet.payload(), packet.flags.has(Flags::LAST))).collect();
    assert_eq!(seen, [(1000, false), (1000, false), (300, true)]);
    assert_eq!(packets[2].wire, 348);
    let all = Header::RdmaAck { ack: 2 * S + 300, offset: 2 * S, len: 300, echo: bench.now };
    bench.answer(all, Flags::NONE);
    assert!(!bench.sender.is_finished(), "the receiver has the bytes but not the end");
    bench.answer(all, Flags::LAST);
    assert!(bench.sender.is_finished());
    assert_eq!(bench.sender.next_timeout(), Time::MAX);
}

#[test]
fn a_flow_is_not_finished_before_all_its_bytes_are_acknowledged() {
    let mut bench = Bench::new(Recovery::GoBackN, 2, 10);
    bench.input(|sender, cx| sender.close(cx));
    bench.sends();
    bench.answer(Header::RdmaAck { ack: S, offset: 0, len: 1000, echo: bench.now }, Flags::LAST);
    assert!(!bench.sender.is_finished());
}

#[test]
fn a_flow_closed_later_ends_by_an_empty_packet_which_is_repeated_if_lost() {
    for recovery in [Recovery::GoBackN, Recovery::SelectiveRepeat] {
        let mut bench = Bench::new(recovery, 1, 10);
        assert!(!bench.packets()[0].flags.has(Flags::LAST));
        bench.ack(1);
        assert!(!bench.sender.is_finished());
        bench.input(|sender, cx| sender.close(cx));
        for timeouts in 0..3 {
            let end = bench.packets();
            assert_eq!((end.len(), end[0].payload(), end[0].range().start), (1, 0, S));
            assert!(end[0].flags.has(Flags::LAST));
            assert_eq!(bench.stats.rare().timeouts, timeouts);
            bench.wakes();
        }
        bench.answer(Header::RdmaAck { ack: S, offset: S, len: 0, echo: bench.now }, Flags::LAST);
        assert!(bench.sender.is_finished());
        assert_eq!((bench.sends(), bench.sender.next_timeout()), (vec![], Time::MAX));
    }
}

#[test]
fn a_truncated_flow_ends_after_what_was_sent() {
    let mut bench = Bench::new(Recovery::GoBackN, 10, 4);
    bench.sends();
    bench.nack(1, 2, Time::ZERO);
    assert_eq!(bench.input(|sender, cx| sender.truncate(cx)), 4 * S);
    let again = bench.packets();
    assert_eq!(again.len(), 3);
    assert!(again[2].flags.has(Flags::LAST));
}

#[test]
fn the_law_hears_of_acknowledgements_marks_notifications_and_departures() {
    let mut bench = Bench::new(Recovery::GoBackN, 8, 4);
    bench.sends();
    bench.at_us(20);
    let echo = bench.now - Span::from_us(12);
    bench.answer(Header::RdmaAck { ack: 2 * S, offset: S, len: 1000, echo }, Flags::ECN_ECHO);
    bench.answer(Header::RdmaNack { ack: 2 * S, offset: 3 * S, len: 1000, echo }, Flags::NONE);
    let rtt = Span::from_us(12);
    assert_eq!(
        bench.sender.law().acks,
        [(2 * S, 2 * S, 4 * S, true, rtt), (0, 2 * S, 2 * S, false, rtt)],
        "after the second one the sender goes back"
    );
    bench.answer(Header::Cnp, Flags::NONE);
    assert_eq!((bench.sender.law().cnps, bench.stats.rare().notifications), (1, 2));
}

#[test]
fn the_timer_of_the_law_fires_at_its_time_and_no_sooner() {
    let mut bench = Bench::new(Recovery::GoBackN, 1, 1);
    bench.sender.law.timeout = Time::ZERO + Span::from_us(7);
    bench.packets();
    assert_eq!(bench.sender.next_timeout(), Time::ZERO + Span::from_us(7));
    bench.at_us(6).input(|sender, cx| sender.handle_timeout(cx));
    assert_eq!(bench.sender.law().timeouts, 0);
    bench.wakes();
    assert_eq!((bench.sender.law().timeouts, bench.stats.rare().timeouts), (1, 0));
}

#[test]
fn data_is_marked_as_its_settings_say() {
    let flags = |change: fn(&mut Config)| {
        let mut config = config(Recovery::GoBackN);
        change(&mut config);
        let packet = Bench::<false>::with(&config, S, S).packets()[0];
        (packet.flags, packet.wire)
    };
    assert_eq!(flags(|_| {}), (Flags::NONE, 1048));
    assert_eq!(flags(|config| config.cnp = Cnp::Flag), (Flags::ECN_CAPABLE, 1048));
    let telemetry = Flags::TELEMETRY.with(Flags::EXTRA);
    assert_eq!(flags(|config| (config.telemetry, config.stamp) = (true, 42)), (telemetry, 1090));
}

#[test]
fn the_gauges_are_the_window_and_the_rate_of_the_law_and_a_window_without_a_limit_is_none() {
    let bench = Bench::new(Recovery::GoBackN, 10, 4);
    let gauges = bench.sender.gauges();
    assert_eq!((gauges.cwnd, gauges.rate), (4_000.0, 8e9));
    assert!(gauges.srtt.is_nan(), "{gauges:?}");
    let unlimited = Bench::<false>::with(&config(Recovery::GoBackN), 10 * S, crate::rdma::law::UNLIMITED);
    assert!(unlimited.sender.gauges().cwnd.is_nan());
}
