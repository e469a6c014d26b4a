//! Unit tests of the RDMA receiver, against data made by hand.

use super::*;
use crate::endpoint::{Receiver as _, Stats};
use crate::packet::{Hop, Hops};
use crate::rng::{Entity, Rng};
use clearway_units::Rate;

/// Payload of a packet, in bytes.
const S: u64 = 1000;

const FRAMING: Framing = Framing { payload_max: S as u32, overhead: 48, wire_min: 60 };

const CONFIG: Config = Config {
    recovery: Recovery::GoBackN,
    nack_interval: Span::from_us(10),
    pacing_grain: Span::ZERO,
    rto: None,
    stamp: 0,
    stamp_echo: 0,
    cnp: Cnp::Never,
    telemetry: false,
};

/// A receiver at a time, with all that it needs.
struct Bench {
    receiver: Receiver,
    now: Time,
    rng: Rng,
    stats: Stats,
}

impl Bench {
    fn new(config: &Config) -> Bench {
        let line = Rate::gbps(8);
        let env = Env::for_test(line, Span::from_us(10), FRAMING);
        Bench {
            receiver: Receiver::new(config, &env),
            now: Time::ZERO,
            rng: Rng::stream(1, Entity::Receiver, 0),
            stats: Stats::default(),
        }
    }

    fn at_us(&mut self, us: u64) -> &mut Bench {
        self.now = Time::ZERO + Span::from_us(us);
        self
    }

    /// The answers to a packet with the given bytes, which left a microsecond ago.
    fn bytes(&mut self, start: u64, len: u64, flags: Flags) -> Vec<Packet> {
        let sent = self.now.max(Time::ZERO + Span::from_us(1)) - Span::from_us(1);
        let packet = Packet::data(Header::data(start), len as u32, 48 + len as u32, sent).with_flags(flags);
        let mut cx = Cx { now: self.now, rng: &mut self.rng, stats: &mut self.stats };
        self.receiver.handle_packet(&packet, &Extra::None, &mut cx);
        let mut extra = Extra::None;
        std::iter::from_fn(|| self.receiver.poll_control(&mut extra, &mut cx)).collect()
    }

    /// The answers to packet `number`, as scripts write them: `+2` acknowledges all packets before 2, `-2` misses
    /// packet 2.
    fn data(&mut self, number: u64) -> String {
        show(&self.bytes(number * S, S, Flags::NONE))
    }

    /// The answers to packet `number` that a switch marked.
    fn marked(&mut self, number: u64) -> String {
        show(&self.bytes(number * S, S, Flags::ECN_CE))
    }
}

fn show(answers: &[Packet]) -> String {
    let words: Vec<String> = answers
        .iter()
        .map(|packet| {
            let echo = if packet.flags.has(Flags::ECN_ECHO) { "!" } else { "" };
            let last = if packet.flags.has(Flags::LAST) { "." } else { "" };
            match packet.header {
                Header::RdmaAck { ack, .. } => format!("+{}{echo}{last}", ack / S),
                Header::RdmaNack { ack, .. } => format!("-{}{echo}{last}", ack / S),
                Header::Cnp => "cnp".to_string(),
                other => panic!("{other:?} is no answer of RDMA"),
            }
        })
        .collect();
    words.join(" ")
}

#[test]
fn an_acknowledgement_names_the_packet_that_it_answers_and_returns_its_timestamp() {
    let mut bench = Bench::new(&CONFIG);
    let echo = Time::ZERO + Span::from_us(4);
    let answer = bench.at_us(5).bytes(0, 300, Flags::NONE)[0];
    assert_eq!(answer.header, Header::RdmaAck { ack: 300, offset: 0, len: 300, echo });
    assert_eq!((answer.sent, answer.wire, answer.payload()), (bench.now, 60, 0));
    let answer = bench.bytes(2 * S, S, Flags::NONE)[0];
    assert_eq!(answer.header, Header::RdmaNack { ack: 300, offset: 2 * S, len: 1000, echo });
}

#[test]
fn go_back_n_throws_away_what_follows_a_gap_and_reports_the_gap_once_per_interval() {
    let mut bench = Bench::new(&CONFIG);
    assert_eq!(bench.data(0), "+1");
    assert_eq!(bench.at_us(1).data(2), "-1");
    assert_eq!(bench.data(3), "", "the interval of 10 us runs");
    assert_eq!(bench.at_us(10).data(4), "");
    assert_eq!(bench.at_us(11).data(5), "-1", "it is over");
    assert_eq!(bench.at_us(20).data(6), "", "and began again");
    assert_eq!(bench.data(1), "+2");
    assert_eq!(bench.data(3), "-2", "another gap is reported at once");
    assert_eq!(bench.receiver.delivered(), 2 * S);
    assert_eq!(bench.stats.rare().duplicate_bytes, 0, "bytes thrown away did not arrive");
}

#[test]
fn selective_repeat_keeps_what_follows_a_gap_and_reports_each_packet() {
    let mut bench = Bench::new(&Config { recovery: Recovery::SelectiveRepeat, ..CONFIG });
    assert_eq!(bench.data(0), "+1");
    assert_eq!((bench.data(3), bench.data(4), bench.data(2)), ("-1".into(), "-1".into(), "-1".into()));
    assert_eq!(bench.receiver.delivered(), S);
    assert_eq!(bench.data(1), "+5");
    assert_eq!((bench.receiver.delivered(), bench.stats.rare().duplicate_bytes), (5 * S, 0));
}

#[test]
fn bytes_that_arrive_twice_are_answered_and_counted() {
    let mut bench = Bench::new(&Config { recovery: Recovery::SelectiveRepeat, ..CONFIG });
    bench.data(0);
    assert_eq!(bench.data(0), "+1");
    assert_eq!(bench.stats.rare().duplicate_bytes, S);
    bench.data(2);
    assert_eq!(bench.data(2), "-1");
    assert_eq!(bench.stats.rare().duplicate_bytes, 2 * S);
    // Half of these bytes are new; the others arrived in order, or beyond the gap.
    assert_eq!(show(&bench.bytes(S / 2, 2 * S, Flags::NONE)), "+3");
    assert_eq!(bench.stats.rare().duplicate_bytes, 3 * S);
    assert_eq!(bench.receiver.delivered(), 3 * S);
}

#[test]
fn a_receiver_sends_at_most_one_cnp_in_an_interval() {
    let mut bench = Bench::new(&Config { cnp: Cnp::Packets(Span::from_us(50)), ..CONFIG });
    assert_eq!(bench.data(0), "+1", "no mark, no CNP");
    assert_eq!(bench.at_us(1).marked(1), "cnp +2");
    assert_eq!(bench.at_us(2).marked(2), "+3");
    assert_eq!(bench.at_us(50).marked(3), "+4");
    assert_eq!(bench.at_us(51).marked(4), "cnp +5", "50 us after the first one");
    assert_eq!(bench.at_us(100).marked(5), "+6");
    assert_eq!(bench.at_us(500).data(6), "+7");
    assert_eq!(bench.at_us(501).marked(7), "cnp +8");
}

#[test]
fn a_marked_packet_that_is_thrown_away_still_brings_a_cnp() {
    let mut bench = Bench::new(&Config { cnp: Cnp::Packets(Span::from_us(2)), ..CONFIG });
    bench.data(1);
    assert_eq!(bench.at_us(3).marked(2), "cnp");
}

#[test]
fn marks_are_reported_as_the_settings_say() {
    let answers = |cnp| {
        let mut bench = Bench::new(&Config { cnp, ..CONFIG });
        (bench.marked(0), bench.data(1), bench.marked(3))
    };
    assert_eq!(answers(Cnp::Never), ("+1".into(), "+2".into(), "-2".into()));
    assert_eq!(answers(Cnp::Flag), ("+1!".into(), "+2".into(), "-2!".into()));
}

#[test]
fn a_flow_is_finished_when_all_bytes_up_to_its_end_have_arrived() {
    for (recovery, after_gap) in [(Recovery::GoBackN, "+2"), (Recovery::SelectiveRepeat, "+3.")] {
        let mut bench = Bench::new(&Config { recovery, ..CONFIG });
        bench.data(0);
        assert_eq!(show(&bench.bytes(2 * S, S, Flags::LAST)), "-1");
        assert!(!bench.receiver.is_finished());
        assert_eq!(bench.data(1), after_gap, "go-back-n threw the end away with its packet");
        assert_eq!(show(&bench.bytes(2 * S, S, Flags::LAST)), "+3.");
        assert!(bench.receiver.is_finished());
        assert_eq!(bench.data(0), "+3.", "a finished receiver still answers");
    }
}

#[test]
fn an_empty_packet_ends_a_flow_that_was_closed_later() {
    let mut bench = Bench::new(&CONFIG);
    assert_eq!(bench.data(0), "+1");
    assert_eq!(show(&bench.bytes(S, 0, Flags::LAST)), "+1.");
    assert!(bench.receiver.is_finished());
    assert_eq!((bench.receiver.delivered(), bench.receiver.next_timeout()), (S, Time::MAX));
}

#[test]
fn telemetry_returns_with_the_acknowledgement_and_adds_its_stamp() {
    let mut bench = Bench::new(&Config { telemetry: true, stamp_echo: 42, ..CONFIG });
    let mut hops = Hops::default();
    hops.push(Hop { queued: 7, ..Hop::default() });
    let flags = Flags::TELEMETRY.with(Flags::EXTRA);
    let packet = Packet::data(Header::data(0), 1000, 1090, Time::ZERO).with_flags(flags);
    let mut cx = Cx { now: bench.now, rng: &mut bench.rng, stats: &mut bench.stats };
    let mut extra = Extra::Hops(hops);
    bench.receiver.handle_packet(&packet, &extra, &mut cx);
    let answer = bench.receiver.poll_control(&mut extra, &mut cx).expect("an answer");
    assert!(answer.flags.has(Flags::EXTRA) && !answer.flags.has(Flags::TELEMETRY));
    assert_eq!((answer.wire, extra.hops().len(), extra.hops()[0].queued), (90, 1, 7));
}
