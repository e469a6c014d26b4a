use super::*;
use crate::wire::{Carrier, FlowKey, Kind};
use clearway_proto::port::{CreditShaping, MarkAt, StepMarker};
use clearway_proto::{AnyTransport, Entity, Rng};
use clearway_units::{Bytes, Span};
use proptest::prelude::*;
use std::net::{Ipv4Addr, Ipv6Addr};

const RATE: Rate = Rate::mbps(100);

fn mac(host: u8) -> MacAddr {
    MacAddr([2, 0, 0, 0, 0, host])
}

fn config(ports: u8) -> SoftConfig {
    let marker = Some(StepMarker { threshold: 20 * 1538, at: MarkAt::Enqueue });
    SoftConfig {
        ports: (0..ports).map(|port| (RATE, MacAddr([2, 1, 0, 0, 0, port]))).collect(),
        port: PortConfig {
            shaping: CreditShaping::PAPER,
            carrier: Carrier::Ethernet,
            credit_queue: 8,
            signal_queue: 256,
            data_queue: 250,
            marker,
        },
        mechanism: None,
    }
}

fn flow(source: u8, destination: u8) -> FlowKey {
    let address = |host| Ipv4Addr::new(10, 0, 0, host).into();
    FlowKey {
        source: address(source),
        destination: address(destination),
        source_port: 1000,
        destination_port: 2000,
    }
}

/// A TCP segment with `payload` bytes that takes part in ECN.
fn data(from: u8, to: u8, payload: usize) -> Vec<u8> {
    let mut frame = [mac(to).0, mac(from).0].concat();
    frame.extend([8, 0, 0x45, 2]);
    frame.extend(((40 + payload) as u16).to_be_bytes());
    frame.extend([0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, from, 10, 0, 0, to]);
    frame.extend([1000u16.to_be_bytes(), 2000u16.to_be_bytes()].concat());
    frame.extend([0, 0, 0, 1, 0, 0, 0, 1, 0x50, 16, 1, 0, 0, 0, 0, 0]);
    frame.resize(54 + payload, 7);
    frame
}

/// The same flow over IPv6.
fn flow6(source: u8, destination: u8) -> FlowKey {
    let address = |host: u8| Ipv6Addr::new(0xfd00, 0, 0, 1, 0, 0, 0, host.into()).into();
    FlowKey { source: address(source), destination: address(destination), ..flow(source, destination) }
}

/// The same segment over IPv6.
fn data6(from: u8, to: u8, payload: usize) -> Vec<u8> {
    let mut frame = [mac(to).0, mac(from).0].concat();
    frame.extend([0x86, 0xdd, 0x60, 0x20, 0, 0]);
    frame.extend(((20 + payload) as u16).to_be_bytes());
    frame.extend([6, 64]);
    for host in [from, to] {
        frame.extend([0xfd, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, host]);
    }
    frame.extend_from_slice(&data(from, to, payload)[34..]);
    frame
}

fn credit(from: u8, to: u8) -> Vec<u8> {
    frame_of(Kind::Credit, from, to)
}

fn frame_of(kind: Kind, from: u8, to: u8) -> Vec<u8> {
    let flow = flow(to, from);
    let control =
        Control { kind, flow, session: 0, cookie: 0, number: 0, value: 0, mtu: 0, wants_ecn: false };
    control.to_frame(mac(from), mac(to)).to_vec()
}

/// The frames that left: port, time, bytes.
type Left = Vec<(usize, Time, Vec<u8>)>;

fn push(left: &mut Left) -> impl FnMut(usize, Time, &[u8]) + '_ {
    |port, time, frame| left.push((port, time, frame.to_vec()))
}

/// A switch whose host `n` is known to be behind port `n`, and at rest.
fn learned(config: &SoftConfig) -> SoftSwitch {
    let mut switch = SoftSwitch::new(config);
    for port in 0..config.ports.len() {
        let hello = data(port as u8, 99, 0);
        switch.handle_frame(port, &hello, Time::ZERO, &mut |_, _, _| {});
    }
    switch.run(Time::ZERO + Span::from_ms(10), &mut |_, _, _| {});
    switch
}

const START: Time = Time::from_ps(20_000_000_000);

#[test]
fn a_frame_to_an_unknown_host_goes_to_all_other_ports_and_the_answer_to_one() {
    let (mut switch, mut left) = (SoftSwitch::new(&config(3)), Vec::new());
    switch.handle_frame(0, &data(0, 1, 100), Time::ZERO, &mut push(&mut left));
    switch.run(START, &mut push(&mut left));
    assert_eq!(left.iter().map(|frame| frame.0).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(left[0].2, data(0, 1, 100), "bytes are as they came");
    left.clear();
    switch.handle_frame(1, &data(1, 0, 100), START, &mut push(&mut left));
    switch.run(START + Span::from_ms(1), &mut push(&mut left));
    assert_eq!(left.iter().map(|frame| frame.0).collect::<Vec<_>>(), [0]);
    assert!(switch.balances());
}

#[test]
fn full_frames_leave_every_123_04_microseconds_though_the_driver_comes_late() {
    let (mut switch, mut left) = (learned(&config(2)), Vec::new());
    for _ in 0..10 {
        switch.handle_frame(0, &data(0, 1, 1460), START, &mut push(&mut left));
    }
    assert_eq!(switch.next_timeout(), START + Span::from_ns(123_040));
    switch.run(START + Span::from_ms(5), &mut push(&mut left));
    let times: Vec<Time> = left.iter().map(|frame| frame.1).collect();
    let expected: Vec<Time> = (1..=10u64).map(|n| START + Span::from_ns(123_040 * n)).collect();
    assert_eq!(times, expected);
}

#[test]
fn two_credits_leave_at_once_eight_wait_and_one_leaves_every_129_76_microseconds() {
    let (mut switch, mut left) = (learned(&config(2)), Vec::new());
    for _ in 0..32 {
        switch.handle_frame(0, &credit(0, 1), START, &mut push(&mut left));
    }
    switch.run(START + Span::from_ms(5), &mut push(&mut left));
    // One is being sent when the others come, a second has its tokens, and eight wait behind the first.
    assert_eq!(left.len(), 9);
    assert_eq!(switch.port_books().nth(1).unwrap().credits_dropped, 23);
    let starts: Vec<Span> = left.iter().map(|frame| frame.1 - START - Span::from_ns(6_720)).collect();
    assert_eq!(starts[..3], [Span::ZERO, Span::from_ns(6_720), Span::from_ns(129_760)]);
    assert!(starts[2..].windows(2).all(|pair| pair[1] - pair[0] == Span::from_ns(129_760)));
    assert!(switch.balances());
}

#[test]
fn a_port_full_of_credits_and_data_sends_32_signals_at_once_and_two_for_each_credit_then() {
    let (mut switch, mut left) = (learned(&config(2)), Vec::new());
    for _ in 0..100 {
        switch.handle_frame(0, &data(0, 1, 1460), START, &mut push(&mut left));
        switch.handle_frame(0, &frame_of(Kind::Request, 0, 1), START, &mut push(&mut left));
        switch.handle_frame(0, &frame_of(Kind::Stop, 0, 1), START, &mut push(&mut left));
        switch.handle_frame(0, &credit(0, 1), START, &mut push(&mut left));
    }
    let end = START + Span::from_ms(5);
    switch.run(end, &mut push(&mut left));
    let count = |until: Time, class: Class| {
        left.iter()
            .filter(|(_, at, frame)| *at <= until && Class::of(frame, Carrier::Ethernet) == class)
            .count()
    };
    // 32 at once, and one each 64.88 us; the last ones are perhaps behind a frame of data.
    for us in [500, 1_000, 2_000, 5_000] {
        let (sent, allowed) =
            (count(START + Span::from_us(us), Class::Signal), 32 + us as usize * 100 / 6_488);
        assert!((allowed - 5..=allowed + 1).contains(&sent), "{sent} in {us} us instead of {allowed}");
    }
    assert!(count(end, Class::Data) > 30, "data has the rest");
    let books = *switch.port_books().nth(1).unwrap();
    assert_eq!((books.signals_dropped, books.credits_dropped), (0, 92));
    assert!(switch.balances());
}

#[test]
fn where_credits_and_data_fill_a_port_a_signal_waits_for_less_than_a_round_trip() {
    let (mut switch, mut left, mut came) = (learned(&config(4)), Vec::new(), Vec::new());
    let mut rng = Rng::stream(1, Entity::Network, 0);
    // Credits come at twice their share, data at twice the rate of the link, and signals at half of their
    // share, up to eight at a time.
    let mut now = START;
    for _ in 0..20_000 {
        now += Span::from_us(62);
        switch.handle_frame(0, &credit(0, 1), now, &mut push(&mut left));
        switch.handle_frame(2, &data(2, 1, 1460), now, &mut push(&mut left));
        if rng.unit() < 0.11 {
            for _ in 0..=(rng.unit() * 8.0) as u32 {
                came.push(now);
                switch.handle_frame(3, &frame_of(Kind::Request, 3, 1), now, &mut push(&mut left));
            }
        }
    }
    switch.run(now + Span::from_secs(1), &mut push(&mut left));
    let of = |class| {
        left.iter().filter(move |frame| frame.0 == 1 && Class::of(&frame.2, Carrier::Ethernet) == class)
    };
    let left_at: Vec<Time> = of(Class::Signal).map(|frame| frame.1).collect();
    assert!(left_at.len() == came.len() && came.len() > 9_000, "none is lost: {}", left_at.len());
    // A request and its answer cross a port each, so two round trips of 410 us are more than enough for both.
    let round_trip = Span::from_us(410);
    let late = came.iter().zip(&left_at).filter(|(came, left)| **left - **came > round_trip).count();
    assert!(late * 1_000 <= came.len(), "{late} of {} signals", came.len());
    assert!(switch.port_books().nth(1).unwrap().credits_dropped > 5_000, "credits fill their queue");
    assert!(switch.balances());
}

#[test]
fn signals_have_an_idle_link_for_themselves_and_a_queue_of_256() {
    let (mut switch, mut left) = (learned(&config(2)), Vec::new());
    for _ in 0..300 {
        switch.handle_frame(0, &frame_of(Kind::Stop, 0, 1), START, &mut push(&mut left));
    }
    assert_eq!(switch.port_books().nth(1).unwrap().signals_dropped, 300 - 257);
    switch.run(START + Span::from_ns(257 * 6_720), &mut push(&mut left));
    assert_eq!(left.len(), 257, "they left one behind the other");
    assert!(switch.balances());
}

#[test]
fn credits_in_datagrams_get_132_of_1670_bytes_of_the_link_over_both_versions_of_ip() {
    let port = std::num::NonZeroU16::new(1021).unwrap();
    let carrier = Carrier::Udp(port);
    let shaping = CreditShaping { credit: 132, bucket: 264, ..CreditShaping::PAPER };
    let mut config = config(2);
    config.port = PortConfig { shaping, carrier, ..config.port };
    let (mut switch, mut left) = (learned(&config), Vec::new());
    let control = |kind, flow| {
        let control =
            Control { kind, flow, session: 0, cookie: 0, number: 0, value: 0, mtu: 0, wants_ecn: false };
        control.to_datagram(mac(0), mac(1), port)
    };
    for n in 0..1000u64 {
        let now = START + Span::from_us(10 * n);
        let flow = if n % 2 == 0 { flow(1, 0) } else { flow6(1, 0) };
        switch.handle_frame(0, &control(Kind::Credit, flow), now, &mut push(&mut left));
    }
    switch.handle_frame(
        0,
        &control(Kind::Accept, flow6(1, 0)),
        START + Span::from_ms(10),
        &mut push(&mut left),
    );
    let mut other = control(Kind::Credit, flow(1, 0));
    other[37] ^= 1;
    switch.handle_frame(0, &other, START + Span::from_ms(10), &mut push(&mut left));
    switch.run(START + Span::from_ms(30), &mut push(&mut left));
    let books = *switch.port_books().nth(1).unwrap();
    // 10 ms have room for 74.85 credits; the bucket has two, and eight wait.
    assert!((84..=86).contains(&books.credits_sent), "{books:?}");
    assert_eq!((books.credits_dropped, books.signals_sent), (1000 - books.credits_sent, 1));
    // Beside these left the greeting by which the switch learned an address.
    assert_eq!(books.sent, books.credits_sent + 3, "a datagram to another port is data");
}

#[test]
fn a_packet_of_ipv6_that_meets_a_long_queue_is_marked_too() {
    let (mut switch, mut left) = (learned(&config(2)), Vec::new());
    (0..100).for_each(|_| switch.handle_frame(0, &data6(0, 1, 1440), START, &mut push(&mut left)));
    switch.run(START + Span::from_ms(100), &mut push(&mut left));
    assert_eq!(switch.port_books().nth(1).unwrap().marked, 99 - 21);
    assert_eq!(left.iter().filter(|(_, _, frame)| frame[15] >> 4 & 3 == 3).count(), 99 - 21);
}

#[test]
fn a_packet_that_meets_more_than_k_bytes_is_marked_and_a_full_queue_drops() {
    let (mut switch, mut left) = (learned(&config(2)), Vec::new());
    for _ in 0..300 {
        switch.handle_frame(0, &data(0, 1, 1460), START, &mut push(&mut left));
    }
    switch.run(START + Span::from_ms(100), &mut push(&mut left));
    let books = *switch.port_books().nth(1).unwrap();
    // One is being sent; 250 wait; of these the first 21 meet 0 to 20 packets.
    assert_eq!((books.data_dropped, books.marked, books.waiting_max), (49, 250 - 21, 250));
    let marked = left.iter().filter(|(_, _, frame)| frame[15] & 3 == 3).count();
    assert_eq!(marked, 229);
    assert!(switch.balances());
}

type Data = fn(u8, u8, usize) -> Vec<u8>;

#[test]
fn pacc_notifies_the_sender_that_fills_the_queue_by_a_control_frame_of_its_version_of_ip() {
    let both: [(Data, FlowKey, usize); 2] = [(data, flow(0, 1), 60), (data6, flow6(0, 1), 84)];
    for (data, flow, len) in both {
        notifies(data, flow, len);
    }
}

fn notifies(data: Data, flow: FlowKey, len: usize) {
    let mut mechanism = AnyTransport::by_name("pacc").unwrap().mechanism().unwrap();
    let set = |mechanism: &mut AnyMechanismConfig, name, value: &str| {
        mechanism.set(name, &clearway_schema::Value::from(value)).unwrap();
    };
    set(&mut mechanism, "q_th", "20 KB");
    set(&mut mechanism, "period", "1 ms");
    set(&mut mechanism, "cnp_gap", "50 us");
    let (mut switch, mut left) =
        (learned(&SoftConfig { mechanism: Some(mechanism), ..config(2) }), Vec::new());
    // Twice the rate of the link for 10 ms.
    for n in 0..160 {
        let now = START + Span::from_us(62 * n);
        switch.handle_frame(0, &data(0, 1, 1440), now, &mut push(&mut left));
    }
    switch.run(START + Span::from_ms(100), &mut push(&mut left));
    let cnps: Vec<_> =
        left.iter().filter(|frame| Class::of(&frame.2, Carrier::Ethernet) == Class::Signal).collect();
    assert!(!cnps.is_empty());
    for (port, _, frame) in cnps {
        let (_, to, control) = Control::parse(frame).unwrap();
        assert_eq!((*port, to, control.kind, control.flow), (0, mac(0), Kind::Cnp, flow));
        assert_eq!(frame.len(), len);
    }
    assert!(switch.balances());
}

proptest! {
    #[test]
    fn books_balance_and_no_port_sends_faster_than_its_link_nor_credits_above_their_share(
        steps in prop::collection::vec((0u8..4, 0u8..5, 0usize..1461, 0u8..3, 0u64..300), 1..400)
    ) {
        let (mut switch, mut left, mut now) = (SoftSwitch::new(&config(3)), Vec::new(), Time::ZERO);
        for (from, to, payload, kind, gap) in steps {
            now += Span::from_us(gap);
            let frame = match kind {
                0 => credit(from, to),
                1 => frame_of(Kind::Accept, from, to),
                _ => data(from, to, payload),
            };
            switch.handle_frame(usize::from(from), &frame, now, &mut push(&mut left));
            prop_assert!(switch.balances());
            prop_assert!(switch.next_timeout() > now);
        }
        switch.run(now + Span::from_secs(1), &mut push(&mut left));
        prop_assert_eq!(switch.next_timeout(), Time::MAX);
        prop_assert!(switch.balances());
        for port in 0..3 {
            let of_port: Vec<_> = left.iter().filter(|frame| frame.0 == port).collect();
            let mut last = Time::ZERO;
            for (_, time, frame) in &of_port {
                let takes = RATE.time_to_send(Bytes::new(u64::from(frame::wire(frame))));
                prop_assert!(*time >= last + takes, "frames do not overlap");
                last = *time;
            }
            let credits: Vec<Time> =
                of_port.iter().filter(|left| Class::of(&left.2, Carrier::Ethernet) == Class::Credit).map(|left| left.1).collect();
            for (n, first) in credits.iter().enumerate() {
                for (more, then) in credits[n..].iter().enumerate() {
                    // In any window: what the bucket has, and one each 129.76 us.
                    let allowed = 2.0 + (*then - *first).as_secs_f64() * 1e8 / 8.0 / 1622.0;
                    prop_assert!(more as f64 + 1.0 <= allowed + 1e-6);
                }
            }
        }
    }

    #[test]
    fn no_bytes_make_it_panic(
        frames in prop::collection::vec((0usize..4, prop::collection::vec(any::<u8>(), 0..120)), 0..40)
    ) {
        let mut switch = SoftSwitch::new(&config(3));
        for (port, frame) in frames {
            switch.handle_frame(port, &frame, Time::ZERO, &mut |_, _, _| {});
        }
        switch.run(START, &mut |_, _, _| {});
        prop_assert!(switch.balances());
    }
}
