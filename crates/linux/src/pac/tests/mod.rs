//! PAC at a host, by exact values; with packets and times at random ([`properties`]); and beside the simulator's agent
//! ([`beside_the_agent`]).

mod beside_the_agent;
mod properties;

use super::*;
use crate::wire::{Dscp, FlowKey, MacAddr, TcpFlags, Timestamps};
use clearway_schema::Declared;
use clearway_units::Rate;
use std::net::Ipv4Addr;

const FIN: u8 = 1;
const SYN: u8 = 2;
const RST: u8 = 4;
const ACK: u8 = 16;
const MSS: u32 = 1448;
/// The first sequence number of every peer: 1,000 bytes before the numbers wrap.
const FIRST: u32 = u32::MAX - 999;
const LINK: Link = Link { local: MacAddr([2, 0, 0, 0, 0, 1]), peer: MacAddr([2, 0, 0, 0, 0, 2]) };

fn us(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

/// Returns the flow of data from a peer to this host.
fn key(flow: u16) -> FlowKey {
    FlowKey {
        source: Ipv4Addr::new(10, 0, 0, (flow % 4) as u8).into(),
        destination: Ipv4Addr::new(10, 0, 1, 1).into(),
        source_port: 40_000 + flow,
        destination_port: 5001,
    }
}

/// Returns a segment from a peer with `payload` bytes from `offset` on.
fn from_peer(flow: u16, flags: u8, offset: u32, payload: u16) -> Segment {
    Segment {
        flow: key(flow),
        payload,
        ip_len: payload + 52,
        id: 0,
        has_place: true,
        dscp: Dscp(0),
        ecn: Ecn::Capable0,
        flags: TcpFlags(flags),
        ecn_echo: false,
        seq: FIRST.wrapping_add(offset),
        ack: 7001,
        window: 500,
        timestamps: None,
    }
}

/// Returns data from a peer: one full segment, the `number`-th of the flow from 0 on.
fn data(flow: u16, number: u32) -> Segment {
    from_peer(flow, ACK, number * MSS, MSS as u16)
}

/// Returns a segment of this host to a peer that acknowledges `offset` bytes.
fn to_peer(flow: u16, flags: u8, offset: u32) -> Segment {
    let segment = from_peer(flow, flags, 0, 0);
    Segment { flow: key(flow).reversed(), seq: 7001, ack: FIRST.wrapping_add(offset), ..segment }
}

/// Returns a pure acknowledgement of a number of full segments.
fn ack(flow: u16, segments: u32) -> Segment {
    to_peer(flow, ACK, segments * MSS)
}

fn syn_ack(flow: u16) -> Segment {
    Segment { seq: 7000, ..to_peer(flow, SYN | ACK, 0) }
}

fn with_echo(segment: Segment, value: u32, echo: u32) -> Segment {
    Segment { timestamps: Some(Timestamps { value, echo }), ..segment }
}

/// PAC with parameters, and every verdict so far in order.
struct Bench {
    pac: Pac,
    verdicts: Vec<(u32, Verdict)>,
    next: u32,
}

impl Bench {
    fn new(settings: &[(&str, &str)]) -> Bench {
        Bench::at(Rate::mbps(100), settings)
    }

    fn at(line_rate: Rate, settings: &[(&str, &str)]) -> Bench {
        let mut params = PacParams::default();
        settings.iter().for_each(|(name, value)| params.set(name, *value).unwrap());
        let pac = Pac::new(&params, PacEnv { line_rate, mtu: 1500 });
        Bench { pac, verdicts: Vec::new(), next: 0 }
    }

    fn with(&mut self, act: impl FnOnce(&mut Pac, &mut Actions)) -> Vec<(u32, Verdict)> {
        let mut actions = Actions::default();
        act(&mut self.pac, &mut actions);
        assert!(actions.frames.is_empty(), "PAC has no frames");
        let new: Vec<_> = actions.verdicts.iter().map(|(id, verdict)| (id.0, *verdict)).collect();
        self.verdicts.extend(&new);
        new
    }

    fn incoming(&mut self, segment: Segment, now: Time) -> Vec<(u32, Verdict)> {
        self.with(|pac, actions| pac.handle_segment(Direction::Incoming, &segment, LINK, now, actions))
    }

    fn outgoing(&mut self, segment: Segment, now: Time) -> Vec<(u32, Verdict)> {
        self.with(|pac, actions| pac.handle_segment(Direction::Outgoing, &segment, LINK, now, actions))
    }

    /// Hands over a packet that the kernel holds; packets are numbered from 0 on.
    fn held(&mut self, segment: Segment, now: Time) -> Vec<(u32, Verdict)> {
        let id = HeldId(self.next);
        self.next += 1;
        self.with(|pac, actions| pac.handle_held(id, &segment, now, actions))
    }

    fn timeout(&mut self, now: Time) -> Vec<(u32, Verdict)> {
        self.with(|pac, actions| pac.handle_timeout(now, actions))
    }

    fn metric(&self, name: &str) -> f64 {
        let mut found = None;
        self.pac.metrics(&mut |metric| {
            if metric.name == name {
                found = Some(metric.value);
            }
        });
        found.unwrap_or_else(|| panic!("no metric {name}"))
    }
}

fn accepted(ids: impl IntoIterator<Item = u32>) -> Vec<(u32, Verdict)> {
    ids.into_iter().map(|id| (id, Verdict::Accept)).collect()
}

/// 6 KB of buffer: two acknowledgements of a segment in slow start, which trigger two segments each, fit.
const SMALL: &[(&str, &str)] = &[("buffer", "6 KB")];

#[test]
fn acknowledgements_leave_while_what_they_trigger_fits_and_the_next_when_data_has_come() {
    let mut bench = Bench::new(SMALL);
    for flow in 0..3 {
        bench.incoming(data(flow, 0), us(10));
        bench.held(ack(flow, 1), us(10));
    }
    assert_eq!(bench.verdicts, accepted([0, 1]));
    assert_eq!((bench.pac.in_flight(), bench.pac.held()), (4 * u64::from(MSS), 1));
    assert_eq!(bench.incoming(data(0, 1), us(60)), []);
    assert_eq!(bench.pac.in_flight(), 3 * u64::from(MSS));
    assert_eq!(bench.incoming(data(1, 1), us(70)), accepted([2]));
    assert_eq!((bench.pac.in_flight(), bench.pac.held()), (4 * u64::from(MSS), 0));
}

#[test]
fn one_connection_alone_is_held_only_by_the_buffer() {
    let mut bench = Bench::new(&[("buffer", "80 KB")]);
    for number in 0..5000u32 {
        // The line's rate, a round trip of 500 us, and timestamps of milliseconds.
        let now = 1_000_000 + number * 123;
        let stamp = |segment| with_echo(segment, now / 1000, (now - 500) / 1000);
        bench.incoming(stamp(data(0, number)), us(now.into()));
        if number % 2 == 1 {
            let delayed = bench.held(stamp(ack(0, number + 1)), us(now.into()));
            assert_eq!(delayed, accepted([number / 2]));
        }
    }
    assert_eq!(bench.metric("pac_hold_seconds_max"), 0.0);
}

#[test]
fn a_sender_that_cuts_its_window_keeps_others_waiting_by_its_own_round_trip_and_not_by_that_of_timestamps() {
    let mut bench = Bench::at(Rate::gbps(1), &[("buffer", "80 KB")]);
    bench.incoming(with_echo(data(0, 0), 1, 0), us(0));
    bench.held(with_echo(ack(0, 1), 100, 0), us(10));
    bench.incoming(with_echo(data(0, 1), 1, 100), us(60));
    // Each acknowledges more than half of the threshold, and none is answered. The line needs 0.71 ms for 1.5 times as much.
    (1..=10).for_each(|number| _ = bench.held(with_echo(ack(0, 1 + 40 * number), 105, 0), us(5000)));
    bench.incoming(data(1, 0), us(5000));
    bench.held(ack(1, 1), us(5000));
    let mut now = us(5000);
    while bench.pac.held() > 0 {
        now = bench.pac.next_timeout();
        bench.timeout(now);
    }
    let each = Span::from_us(2 * 50 + 713);
    assert!(now <= us(5000) + each * 10, "the last one has left at {now}");
    assert!(now >= us(5000) + each * 8, "the threshold holds: the last one has left at {now}");
}

#[test]
fn an_acknowledgement_is_held_no_longer_than_the_limit_whatever_is_in_flight() {
    let mut bench = Bench::new(&[
        ("buffer", "1 KB"),
        ("patience", "10 s"),
        ("stall", "1000000"),
        ("hold_limit", "150 ms"),
    ]);
    for flow in 0..2 {
        bench.incoming(data(flow, 0), us(0));
    }
    assert_eq!(bench.held(ack(0, 1), us(0)), accepted([0]), "with nothing in flight one leaves");
    assert_eq!(bench.held(ack(1, 1), us(100)), []);
    let mut now = us(100);
    while bench.pac.held() > 0 {
        assert!(bench.pac.next_timeout() > now);
        now = bench.pac.next_timeout();
        bench.timeout(now);
    }
    assert_eq!(now, us(150_100));
    assert_eq!((bench.metric("pac_overdue_total"), bench.metric("pac_hold_seconds_max")), (1.0, 0.15));
}

#[test]
fn data_that_echoes_a_timestamp_settles_what_earlier_acknowledgements_triggered() {
    let mut bench = Bench::new(&[("buffer", "100 KB")]);
    bench.incoming(data(0, 0), us(0));
    bench.held(with_echo(ack(0, 1), 5, 0), us(0));
    bench.incoming(data(0, 1), us(500));
    bench.held(with_echo(ack(0, 2), 8, 0), us(500));
    // Of the first acknowledgement's two segments one has come.
    assert_eq!(bench.pac.in_flight(), 3 * u64::from(MSS));
    bench.incoming(with_echo(data(0, 2), 0, 8), us(900));
    assert_eq!(
        bench.pac.in_flight(),
        u64::from(MSS),
        "the sender answers the second, so the other never comes"
    );
}

#[test]
fn three_duplicate_acknowledgements_are_held_and_all_leave_in_their_order() {
    let mut bench = Bench::new(&[("buffer", "3 KB"), ("patience", "1 ms")]);
    bench.incoming(data(0, 0), us(0));
    bench.incoming(data(1, 0), us(0));
    bench.held(ack(1, 1), us(0));
    for number in 2..5 {
        bench.incoming(data(0, number), us(10));
        assert_eq!(bench.held(ack(0, 1), us(10)), [], "segment 1 is missing");
    }
    let mut now = us(10);
    while bench.pac.held() > 0 {
        now = bench.pac.next_timeout();
        bench.timeout(now);
    }
    assert_eq!(bench.verdicts, accepted([0, 1, 2, 3]));
    assert!(now < us(6000), "{now:?}");
}

#[test]
fn held_acknowledgements_that_a_timeout_of_the_sender_made_stale_are_dropped_once() {
    let mut bench = Bench::new(&[("buffer", "3 KB")]);
    bench.incoming(data(1, 0), us(0));
    bench.held(ack(1, 1), us(0));
    bench.incoming(data(0, 0), us(0));
    bench.held(ack(0, 1), us(0));
    bench.held(ack(0, 1), us(1));
    bench.incoming(data(0, 0), us(500));
    // The kernel answers the repeated segment; of three equal acknowledgements the newest stays.
    assert_eq!(bench.held(ack(0, 1), us(500)), [(1, Verdict::Drop), (2, Verdict::Drop)]);
    assert_eq!((bench.pac.held(), bench.metric("pac_superseded_total")), (1, 2.0));
}

#[test]
fn the_acknowledgement_of_the_fin_passes_and_those_before_it_are_dropped() {
    let mut bench = Bench::new(&[("buffer", "3 KB")]);
    bench.incoming(data(1, 0), us(0));
    bench.held(ack(1, 1), us(0));
    bench.incoming(data(0, 0), us(0));
    bench.held(ack(0, 1), us(0));
    bench.incoming(from_peer(0, ACK | FIN, MSS, 100), us(10));
    assert_eq!(bench.held(to_peer(0, ACK, MSS + 100), us(10)), [], "the FIN itself is not acknowledged");
    assert_eq!(
        bench.held(to_peer(0, ACK, MSS + 101), us(11)),
        [(1, Verdict::Drop), (2, Verdict::Drop), (3, Verdict::Accept)]
    );
    assert_eq!((bench.pac.flows(), bench.pac.held()), (1, 0));
}

#[test]
fn a_reset_in_either_direction_releases_what_its_flow_has_held() {
    for incoming in [true, false] {
        let mut bench = Bench::new(&[("buffer", "3 KB")]);
        for flow in 0..3 {
            bench.incoming(data(flow, 0), us(0));
            bench.held(ack(flow, 1), us(0));
        }
        let released = if incoming {
            bench.incoming(from_peer(1, RST, MSS, 0), us(5))
        } else {
            bench.outgoing(to_peer(1, RST, MSS), us(5))
        };
        assert_eq!(released, accepted([1]));
        assert_eq!((bench.pac.flows(), bench.pac.held()), (2, 1));
    }
}

#[test]
fn acknowledgements_pass_where_no_data_has_come() {
    let mut bench = Bench::new(SMALL);
    assert_eq!(bench.incoming(from_peer(0, SYN | ACK, u32::MAX, 0), us(0)), []);
    assert_eq!(bench.held(ack(0, 0), us(0)), accepted([0]), "the end of our own handshake");
    assert_eq!((bench.pac.flows(), bench.metric("pac_passed_total")), (0, 1.0));
}

#[test]
fn a_syn_ack_is_held_and_triggers_a_first_window_unless_it_shall_pass() {
    let mut bench = Bench::new(&[("buffer", "10 KB"), ("initial_window", "3")]);
    for flow in 0..3 {
        bench.held(syn_ack(flow), us(0));
    }
    assert_eq!((bench.verdicts.clone(), bench.pac.in_flight()), (accepted([0, 1]), 6 * u64::from(MSS)));
    assert_eq!(bench.metric("pac_flows_opening"), 3.0);
    assert_eq!(bench.held(syn_ack(2), us(1)), [(2, Verdict::Drop)], "a repeated one supersedes the first");
    bench.incoming(Segment { ack: 7021, ..data(0, 0) }, us(2));
    assert_eq!(bench.metric("pac_flows_opening"), 2.0, "data after a request completes the handshake");
    bench.incoming(Segment { ack: 7000, ..from_peer(1, ACK, 0, 0) }, us(3));
    assert_eq!(bench.metric("pac_flows_opening"), 2.0, "a forged acknowledgement does not");
    bench.incoming(data(0, 1), us(4));
    assert_eq!(bench.incoming(data(0, 2), us(4)), accepted([3]));
    let mut bench = Bench::new(&[("hold_syn_ack", "false")]);
    assert_eq!((bench.held(syn_ack(0), us(0)), bench.pac.flows()), (accepted([0]), 0));
}

#[test]
fn in_a_flood_of_handshakes_syn_acks_pass_as_soon_as_too_many_are_not_answered() {
    let mut bench = Bench::new(&[("max_unanswered", "2"), ("buffer", "20 KB"), ("stall", "1000000")]);
    assert_eq!(bench.held(syn_ack(0), us(0)), accepted([0]));
    assert_eq!((bench.held(syn_ack(1), us(0)), bench.held(syn_ack(2), us(0))), (vec![], vec![]));
    let mut now = us(0);
    while bench.pac.held() > 0 {
        now = bench.pac.next_timeout();
        bench.timeout(now);
    }
    assert_eq!(bench.verdicts, accepted([0, 1, 2]), "the last one with the second that nobody answers");
    assert!(now < us(6000), "{now:?}");
    assert_eq!(bench.held(syn_ack(3), now), accepted([3]));
    assert_eq!((bench.pac.flows(), bench.metric("pac_flood_total")), (2, 2.0));
    bench.incoming(Segment { ack: 7001, ..data(0, 0) }, now);
    assert_eq!(bench.held(syn_ack(4), now), [], "one was answered, so there is room for another");
    bench.timeout(us(15_000_000));
    assert_eq!((bench.pac.flows(), bench.metric("pac_flows_opening")), (0, 0.0));
    assert_eq!(bench.pac.next_timeout(), Time::MAX);
}

#[test]
fn a_new_connection_with_the_ports_of_an_old_one_starts_anew() {
    let mut bench = Bench::new(&[("buffer", "3 KB")]);
    bench.incoming(data(1, 0), us(0));
    bench.held(ack(1, 1), us(0));
    bench.incoming(data(0, 0), us(0));
    assert_eq!(bench.held(ack(0, 1), us(0)), []);
    let repeated = Segment { seq: FIRST.wrapping_sub(1), ..from_peer(0, SYN, 0, 0) };
    assert_eq!(bench.incoming(repeated, us(5)), [], "the SYN of this connection, repeated");
    assert_eq!(bench.incoming(Segment { seq: 5, ..repeated }, us(5)), accepted([1]));
    assert_eq!(bench.pac.flows(), 1);
}

#[test]
fn requests_are_held_only_if_asked_to_and_never_dropped() {
    let request = |flow| Segment { payload: 20, ..ack(flow, 0) };
    let mut bench = Bench::new(SMALL);
    assert_eq!((bench.held(request(0), us(0)), bench.pac.flows()), (accepted([0]), 0));
    let mut bench = Bench::new(&[("hold_requests", "true"), ("buffer", "20 KB")]);
    assert_eq!(bench.held(request(0), us(0)), accepted([0]));
    assert_eq!(bench.pac.in_flight(), 10 * u64::from(MSS), "a first window");
    assert_eq!(bench.held(request(0), us(0)), accepted([1]), "the rest of the request");
    assert_eq!(bench.held(request(1), us(0)), []);
    assert_eq!(bench.held(request(1), us(1)), [], "the rest of a request waits behind its beginning");
    assert_eq!(bench.held(Segment { flags: TcpFlags(ACK | FIN), ..ack(1, 0) }, us(2)), []);
    for number in 0..10 {
        bench.incoming(data(0, number), us(10));
    }
    assert_eq!(bench.verdicts, accepted(0..5), "with the end of the connection");
}

#[test]
fn flows_beyond_the_limits_pass_and_harm_no_others() {
    let mut bench = Bench::new(&[("max_flows_per_peer", "1"), ("max_flows", "3"), ("buffer", "3 KB")]);
    for flow in [0, 4, 1, 2, 3] {
        bench.incoming(data(flow, 0), us(0));
    }
    assert_eq!(bench.pac.flows(), 3);
    assert_eq!(bench.metric("pac_untracked_bytes_total"), 2.0 * f64::from(MSS), "of two flows of five");
    assert_eq!(bench.metric("pac_data_bytes_total"), 5.0 * f64::from(MSS));
    assert_eq!(bench.held(ack(0, 1), us(1)), accepted([0]), "it is the first");
    assert_eq!(bench.held(ack(4, 1), us(1)), accepted([1]), "a second flow of one peer");
    assert_eq!(bench.held(ack(3, 1), us(1)), accepted([2]), "a fourth flow");
    assert_eq!(bench.held(ack(1, 1), us(1)), [], "the others are controlled");
}

#[test]
fn a_flow_with_too_many_held_packets_has_all_released_in_order() {
    let mut bench = Bench::new(&[("max_held", "2"), ("buffer", "3 KB")]);
    bench.incoming(data(1, 0), us(0));
    bench.held(ack(1, 1), us(0));
    bench.incoming(data(0, 0), us(0));
    assert_eq!((bench.held(ack(0, 1), us(0)), bench.held(ack(0, 1), us(0))), (vec![], vec![]));
    assert_eq!(bench.held(ack(0, 1), us(0)), accepted([1, 2, 3]));
    assert_eq!(bench.metric("pac_full_total"), 1.0);
}

#[test]
fn idle_flows_are_forgotten_and_flows_that_our_kernel_does_not_answer_sooner() {
    let mut bench = Bench::new(&[("idle_timeout", "60 s")]);
    bench.incoming(data(0, 0), us(0));
    bench.held(ack(0, 1), us(0));
    bench.incoming(data(1, 0), us(0));
    bench.timeout(us(10_000_000));
    assert_eq!(bench.pac.flows(), 1);
    bench.timeout(us(59_999_999));
    assert_eq!(bench.pac.flows(), 1);
    bench.timeout(us(62_000_000));
    assert_eq!(bench.pac.flows(), 0);
}

#[test]
fn at_the_end_everything_leaves_as_it_is() {
    let mut bench = Bench::new(&[("buffer", "3 KB")]);
    for flow in 0..4 {
        bench.incoming(data(flow, 0), us(0));
        bench.held(ack(flow, 1), us(0));
    }
    assert_eq!(bench.with(|pac, actions| pac.release_all(us(5), actions)), accepted([1, 2, 3]));
    assert_eq!((bench.pac.flows(), bench.pac.held(), bench.pac.in_flight()), (0, 0, 0));
    assert_eq!(bench.pac.next_timeout(), Time::MAX);
}

#[test]
fn parameters_are_those_of_the_simulator_but_for_the_senders() {
    let mut params = PacParams::default();
    assert!(params.set("under", "dctcp").is_err() && params.set("rto_min", "1 s").is_err());
    params.set("buffer", "96 KB").unwrap();
    params.set("first_trigger", "5 KB").unwrap();
    let config = params.bounded().pac(&PacEnv { line_rate: Rate::gbps(1), mtu: 1500 }.agent());
    assert_eq!(
        (config.buffer.get(), config.floor.get(), config.first_trigger.get()),
        (96_000, 57_600, 5_000)
    );
    assert_eq!((config.mss, config.hold_limit), (MSS, Some(Span::from_secs(1))));
    assert_eq!((config.rtt_initial, config.interval_min), (Span::from_ms(1), Span::from_us(500)));
}

#[test]
fn every_metric_has_a_sentence_and_counters_end_in_total() {
    let mut names = Vec::new();
    Bench::new(SMALL).pac.metrics(&mut |metric| {
        assert!(metric.help.ends_with('.'), "{}", metric.name);
        assert!(metric.name.starts_with("pac_"));
        names.push(metric.name);
    });
    let count = names.len();
    names.dedup();
    assert_eq!((names.len(), count), (21, 21));
}
