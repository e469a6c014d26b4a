//! One end of an ExpressPass flow against a script of frames and times, without a simulator.
//!
//! A line is a time and what happens then: what the application does, `<` a frame that arrives, `>` a frame that
//! must leave at exactly that time. No other frame may leave. Timers fire by themselves in between.

use clearway_proto::expresspass;
use clearway_proto::expresspass::hotnets::Hotnets16;
use clearway_proto::testing::{Operation, Replay, Replayed};
use clearway_proto::{
    AnyTransport, CreditAnswer, CreditRequest, Env, Extra, Flags, Framing, Header, Kind, Packet, SackBlock,
    Stats, Transport,
};
use clearway_schema::Declared;
use clearway_units::{Rate, Span, Time};

/// A link on which the credit rate is one per microsecond, and a round trip of 10 us.
fn env() -> Env {
    Env {
        line_rate: Rate::mbps(12_976),
        path_rate: Rate::mbps(12_976),
        base_rtt: Span::from_us(10),
        framing: Framing::ETHERNET,
        established: true,
        network_rtt: Span::from_us(10),
        host_flows: 0,
    }
}

fn params(values: &[(&str, &str)]) -> AnyTransport {
    let mut params = expresspass::ExpressPassParams::default();
    for (name, value) in [("jitter", "0"), ("alpha", "1")].iter().chain(values) {
        params.set(name, *value).unwrap();
    }
    AnyTransport::ExpressPass(params)
}

/// A frame as the scripts write it.
fn show(packet: &Packet, extra: &Extra) -> String {
    let end = packet.range().end;
    let mut text = match packet.header {
        Header::CreditData { offset, credit, .. } => format!("data {offset}..{end} credit {credit}"),
        Header::UnscheduledData { offset, .. } => format!("unscheduled {offset}..{end}"),
        Header::Credit { number, ack, session, .. } => format!("credit {number} ack {ack} session {session}"),
        Header::CreditSyn(asked) => format!("syn session {} wants {}", asked.session, asked.wanted),
        Header::CreditSynAck(answer) => format!("synack session {}", answer.session),
        Header::CreditRequest(asked) => format!("request session {} wants {}", asked.session, asked.wanted),
        Header::CreditStop { session, end } => format!("stop session {session} at {end}"),
        Header::CreditAck(answer) => format!("ack {} session {}", answer.ack, answer.session),
        Header::CreditNack(answer) => format!("nack {}", answer.ack),
        other => panic!("{other:?} is no packet of ExpressPass"),
    };
    if packet.flags.has(Flags::EXTRA) {
        for block in extra.sack().iter().filter(|block| block.end > 0) {
            text += &format!(" sack {}..{}", block.start, block.end);
        }
    }
    for (flag, word) in [(Flags::EMPTY, " empty"), (Flags::LAST, " last"), (Flags::RETRANSMIT, " again")] {
        text += if packet.flags.has(flag) { word } else { "" };
    }
    text
}

/// Reads a frame; `sent` and `echo` are written `sent 3 us` and `echo 3 us`.
fn read(text: &str) -> (Packet, Extra) {
    let (mut kind, mut payload) = (Kind::Data, 0);
    let (mut seq, mut ack, mut session) = (0, 0, 0);
    let (mut sent, mut echo, mut flags) = (Time::ZERO, Time::ZERO, Flags::NONE);
    let mut blocks = [SackBlock::default(); 3];
    let mut words = text.split_whitespace();
    let mut sacks = 0;
    let range = |word: &str| {
        let (start, end) = word.split_once("..").unwrap();
        (start.parse::<u64>().unwrap(), end.parse::<u64>().unwrap())
    };
    while let Some(word) = words.next() {
        let mut number = || words.next().unwrap().parse::<u64>().unwrap();
        match word {
            "data" => {
                let (start, end) = range(words.next().unwrap());
                (seq, payload) = (start, (end - start) as u32);
            }
            "credit" if payload > 0 => ack = number(),
            "credit" => (kind, seq) = (Kind::Credit, number()),
            "syn" => kind = Kind::Syn,
            "synack" => kind = Kind::SynAck,
            "request" => kind = Kind::CreditRequest,
            "stop" => kind = Kind::CreditStop,
            "nack" => (kind, ack) = (Kind::Nack, number()),
            "ack" if kind == Kind::Credit => ack = number(),
            "ack" => (kind, ack) = (Kind::Ack, number()),
            "session" => session = number() as u32,
            "wants" | "at" => seq = number(),
            "sent" => sent = Time::ZERO + Span::from_us(number()),
            "echo" => echo = Time::ZERO + Span::from_us(number()),
            "us" => {}
            "sack" => {
                let (start, end) = range(words.next().unwrap());
                blocks[sacks] = SackBlock { start, end };
                sacks += 1;
                flags.set(Flags::EXTRA);
            }
            "last" => flags.set(Flags::LAST),
            "empty" => flags.set(Flags::EMPTY),
            _ => panic!("{word:?} in {text:?}"),
        }
    }
    let answer = CreditAnswer { session, ack, echo };
    let request = CreditRequest { session, wanted: seq, written: ack };
    let header = match kind {
        Kind::Data => {
            let header = Header::CreditData { offset: seq, session, credit: ack, echo };
            return (
                Packet::data(header, payload, payload.max(84), sent).with_flags(flags),
                Extra::Sack(blocks),
            );
        }
        Kind::Credit => Header::Credit { number: seq, session, ack, echo },
        Kind::Syn => Header::CreditSyn(request),
        Kind::CreditRequest => Header::CreditRequest(request),
        Kind::CreditStop => Header::CreditStop { session, end: seq },
        Kind::SynAck => Header::CreditSynAck(answer),
        Kind::Ack => Header::CreditAck(answer),
        Kind::Nack => Header::CreditNack(answer),
        Kind::Cnp | Kind::Pull | Kind::PullRequest | Kind::Probe => unreachable!("no word makes one"),
    };
    (Packet::control(header, 84, sent).with_flags(flags), Extra::Sack(blocks))
}

/// Plays a script against an end; the application of a sender does what a line without a sign says.
fn play<E: Replayed + ?Sized>(
    mut replay: Replay<E>,
    script: &str,
    application: impl Fn(&mut Replay<E>, Time, &str),
) -> Stats {
    let shown =
        |left: Option<&(Time, Packet, Extra)>| left.map(|(at, packet, extra)| (*at, show(packet, extra)));
    for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (time, what) = line.split_once(" us ").expect(line);
        let at = Time::ZERO + format!("{time} us").parse::<Span>().unwrap();
        let what = what.trim();
        replay.run_until(at);
        if let Some(expected) = what.strip_prefix("> ") {
            assert_eq!(shown(replay.next().as_ref()), Some((at, expected.into())), "{line:?}");
            continue;
        }
        assert_eq!(shown(replay.peek()), None, "left unexpectedly before {line:?}");
        match what.strip_prefix("< ") {
            Some(frame) => {
                let (packet, extra) = read(frame);
                replay.arrive(at, &packet, &extra);
            }
            None if what == "finished" => assert!(replay.end.is_finished(), "{line:?}"),
            None if what == "quiet" => assert_eq!(replay.end.next_timeout(), Time::MAX, "{line:?}"),
            None => application(&mut replay, at, what),
        }
    }
    assert_eq!(shown(replay.peek()), None, "left unexpectedly at the end");
    replay.end.stats().clone()
}

fn sender(transport: &AnyTransport, established: bool, script: &str) -> Stats {
    let replay = Replay::sender(transport, &Env { established, ..env() }, 1);
    play(replay, script, |replay, at, what| {
        let operation = match what.split_once(' ') {
            Some(("write", bytes)) => Operation::Write(bytes.parse().unwrap()),
            None if what == "close" => Operation::Close,
            None if what == "truncate" => Operation::Truncate,
            _ => panic!("{what:?}"),
        };
        replay.operate(at, operation);
    })
}

fn receiver(transport: &AnyTransport, script: &str) -> Stats {
    play(Replay::receiver(transport, &env(), 1), script, |_, _, what| panic!("{what:?}"))
}

#[test]
fn a_short_flow_without_loss_asks_sends_stops_and_ends() {
    // E17 Fig. 7: the request rides on the SYN; each credit releases one frame; a credit without data is
    // wasted; one round trip without data later the sender stops the credits.
    let stats = sender(
        &params(&[]),
        false,
        "
         0 us write 3000
         0 us > syn session 1 wants 3
         0 us close
        10 us < synack session 1
        11 us < credit 0 ack 0 session 1
        11 us > data 0..1460 credit 0
        12 us < credit 1 ack 0 session 1
        12 us > data 1460..2920 credit 1
        14 us < credit 3 ack 0 session 1
        14 us > data 2920..3000 credit 3 empty last
        15 us < credit 4 ack 0 session 1
        24 us > stop session 1 at 3000 last
        25 us < credit 14 ack 3000 session 1 echo 14 us
        34 us < ack 3000 session 1 echo 24 us last
        35 us finished
        35 us quiet
        ",
    );
    assert_eq!(
        (stats.credits_used, stats.rare().credits_wasted, stats.rare().retransmits, stats.rare().timeouts),
        (3, 2, 0, 0)
    );
}

#[test]
fn a_request_that_is_lost_is_sent_again_and_the_credits_settle_it() {
    sender(
        &params(&[]),
        true,
        "
          0 us write 1
          0 us > request session 1 wants 1
        200 us > request session 1 wants 1
        600 us > request session 1 wants 1
        610 us < credit 0 ack 0 session 1
        610 us > data 0..1 credit 0 empty
        620 us > stop session 1 at 1
        ",
    );
}

#[test]
fn a_stop_that_is_lost_is_sent_again_until_it_is_answered() {
    sender(
        &params(&[]),
        true,
        "
          0 us write 1
          0 us > request session 1 wants 1
          0 us close
         10 us < credit 0 ack 0 session 1
         10 us > data 0..1 credit 0 empty last
         20 us > stop session 1 at 1 last
         30 us < credit 19 ack 1 session 1 echo 10 us
         45 us < credit 35 ack 1 session 1 echo 10 us
         45 us > stop session 1 at 1 last
        220 us > stop session 1 at 1 last
        230 us < ack 1 session 1 echo 220 us last
        231 us finished
        231 us quiet
        ",
    );
}

#[test]
fn a_gap_that_a_credit_reports_is_filled_with_that_credit() {
    let stats = sender(
        &params(&[]),
        true,
        "
         0 us write 6000
         0 us > request session 1 wants 5
        10 us < credit 0 ack 0 session 1
        10 us > data 0..1460 credit 0
        15 us < credit 1 ack 0 session 1
        15 us > data 1460..2920 credit 1
        20 us < credit 2 ack 0 session 1
        20 us > data 2920..4380 credit 2
        30 us < credit 3 ack 1460 session 1 echo 20 us sack 2920..4380
        30 us > data 1460..2920 credit 3 again
        31 us < credit 4 ack 1460 session 1 echo 20 us sack 2920..4380
        31 us > data 4380..5840 credit 4
        ",
    );
    assert_eq!(stats.rare().retransmits, 1);
}

#[test]
fn a_tail_that_is_lost_shows_in_the_answer_to_the_stop_and_opens_a_new_session() {
    sender(
        &params(&[]),
        true,
        "
         0 us write 1460
         0 us > request session 1 wants 1
         0 us close
        10 us < credit 0 ack 0 session 1
        10 us > data 0..1460 credit 0 empty last
        20 us > stop session 1 at 1460 last
        30 us < ack 0 session 1 echo 20 us last
        30 us > request session 2 wants 1
        31 us < credit 15 ack 0 session 1
        31 us > data 0..1460 credit 15 empty last again
        40 us < credit 16 ack 0 session 2
        41 us < credit 17 ack 1460 session 2 echo 31 us last
        50 us > stop session 2 at 1460 last
        60 us < ack 1460 session 2 echo 50 us last
        61 us finished
        ",
    );
}

#[test]
fn the_sender_of_2016_marks_its_last_packet_and_sends_no_stop() {
    sender(
        &AnyTransport::ExpressPassHotnets16(Default::default()),
        true,
        "
         0 us write 2000
         0 us > request session 1 wants 2
         0 us close
        10 us < credit 0 ack 0 session 1
        10 us > data 0..1460 credit 0
        11 us < credit 1 ack 0 session 1
        11 us > data 1460..2000 credit 1 empty last
        12 us < credit 2 ack 0 session 1
        21 us < ack 2000 session 1 echo 11 us last
        22 us finished
        22 us quiet
        ",
    );
}

#[test]
fn a_receiver_paces_credits_by_its_feedback_and_stops_when_told() {
    // alpha 1/2: a credit every 2 us; w_init 1/2: after the first loss-free update every 1 / 0.8 us.
    let law = ("feedback", "sigcomm17-printed");
    let stats = receiver(
        &params(&[law, ("alpha", "0.5"), ("w_init", "0.5"), ("update_period", "10 us")]),
        "
         0    us < request session 1 wants 9
         0    us > credit 0 ack 0 session 1
         2    us > credit 1 ack 0 session 1
         4    us > credit 2 ack 0 session 1
         6    us > credit 3 ack 0 session 1
         8    us > credit 4 ack 0 session 1
         9    us < data 0..1460 credit 0
        10    us > credit 5 ack 1460 session 1
        11.25 us > credit 6 ack 1460 session 1
        12    us < data 1460..2920 credit 1 echo 2 us
        12.5  us > credit 7 ack 2920 session 1
        13    us < stop session 1 at 2920 last
        13    us > ack 2920 session 1 last
        99    us finished
        99    us quiet
        ",
    );
    assert_eq!(stats.credits_sent, 8);
}

#[test]
fn a_receiver_reports_gaps_on_its_credits_and_answers_a_stop_with_them() {
    receiver(
        &params(&[("update_period", "1 ms"), ("alpha", "0.1")]),
        "
         0 us < syn session 1 wants 3
         0 us > synack session 1
         0 us > credit 0 ack 0 session 1
         5 us < data 1460..2920 credit 0 sent 3 us
        10 us > credit 1 ack 0 session 1 sack 1460..2920
        11 us < stop session 1 at 2920 last sent 9 us
        11 us > ack 0 session 1 sack 1460..2920 last
        20 us < request session 1 wants 3
        25 us quiet
        26 us < request session 2 wants 1
        26 us > credit 2 ack 0 session 2 sack 1460..2920 last
        27 us < stop session 1 at 2920 last
        30 us < data 0..1460 credit 2 echo 26 us
        36 us > credit 3 ack 2920 session 2 last
        37 us < stop session 2 at 2920 last
        37 us > ack 2920 session 2 last
        38 us finished
        ",
    );
}

#[test]
fn credits_of_which_nothing_is_heard_slow_a_receiver_to_one_per_update_period() {
    // E17-5. The first update is at 10 us. Before a round trip is measured, credits are overdue after four
    // periods: those of the first period at 50 us. Then the loss is 1 and one credit per 10 us remains.
    receiver(
        &params(&[("alpha", "0.2"), ("update_period", "10 us")]),
        "
          0 us < request session 1 wants 9
          0 us > credit 0 ack 0 session 1
          5 us > credit 1 ack 0 session 1
         10 us > credit 2 ack 0 session 1
         15 us > credit 3 ack 0 session 1
         20 us > credit 4 ack 0 session 1
         25 us > credit 5 ack 0 session 1
         30 us > credit 6 ack 0 session 1
         35 us > credit 7 ack 0 session 1
         40 us > credit 8 ack 0 session 1
         45 us > credit 9 ack 0 session 1
         55 us > credit 10 ack 0 session 1
         65 us > credit 11 ack 0 session 1
         75 us > credit 12 ack 0 session 1
        ",
    );
}

#[test]
fn a_receiver_that_goes_back_throws_data_beyond_a_gap_away_and_says_so_once_a_round_trip() {
    receiver(
        &params(&[("recovery", "go-back-n"), ("alpha", "0.01"), ("update_period", "1 ms")]),
        "
         0 us < request session 1 wants 9
         0 us > credit 0 ack 0 session 1
        20 us < data 1460..2920 credit 0 echo 10 us
        20 us > nack 0
        21 us < data 2920..4380 credit 0 echo 11 us
        31 us < data 4380..5840 credit 0 echo 21 us
        31 us > nack 0
        40 us < data 0..1460 credit 0 echo 30 us
        41 us < stop session 1 at 5840
        41 us > ack 1460 session 1
        ",
    );
}

#[test]
fn the_receiver_of_2016_stops_on_the_mark_and_does_not_hear_a_mark_beyond_a_gap() {
    let mut params = <Hotnets16 as Transport>::Params::default();
    for (name, value) in [("jitter", "0"), ("alpha", "0.1"), ("update_period", "1 ms")] {
        params.set(name, value).unwrap();
    }
    receiver(
        &AnyTransport::ExpressPassHotnets16(params),
        "
         0 us < request session 1 wants 2
         0 us > credit 0 ack 0 session 1
         5 us < data 1460..2000 credit 0 session 1 empty last
        10 us > credit 1 ack 0 session 1 sack 1460..2000 last
        15 us < data 0..1460 credit 1 session 1 empty
        15 us > ack 2000 session 1 last
        16 us finished
        16 us quiet
        ",
    );
}
