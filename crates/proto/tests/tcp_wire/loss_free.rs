//! Without loss: rates and times as computed, and even pacing.

use super::*;
use clearway_proto::tcp::controller::{AckEvent, CongestionEvent, Controller, Limits, Phase, RestartEvent};
use clearway_proto::tcp::{self, Ecn};

#[test]
fn slow_start_doubles_every_round_trip_rfc_5681_section_3_1() {
    let mut world = world::<NewReno>(&[("initial_window", "2")], ideal(), 1, &[one_write(62 * MSS)]);
    world.finish();
    // 2 + 4 + 8 + 16 + 32 segments in five round trips.
    for round in 0..5 {
        let sent = sent(&world.flows[0]).iter().filter(|(at, ..)| *at == at_us(100 * round)).count();
        assert_eq!(sent, 2 << round, "round {round}");
    }
    assert_eq!(world.flows[0].finished_at, [Some(at_us(500)), Some(at_us(450))]);
    assert_eq!(world.flows[0].sender.stats().data_packets, 62);
    assert_eq!(world.flows[0].sender.stats().rare().retransmits, 0);
}

#[test]
fn goodput_is_the_receive_window_over_the_round_trip_time() {
    let window = 20 * MSS;
    let values = [("receive_window", "29.2 KB"), ("initial_window", "20")];
    let mut world = world::<Cubic>(&values, ideal(), 1, &[one_write(50 * window)]);
    world.finish();
    assert_eq!(world.flows[0].finished_at[1], Some(at_us(49 * 100 + 50)));
}

#[test]
fn a_handshake_costs_a_round_trip() {
    let mut world = world::<Dctcp>(&[("handshake", "true")], ideal(), 1, &[one_write(MSS)]);
    world.finish();
    assert_eq!(world.flows[0].finished_at[1], Some(at_us(150)));
}

#[test]
fn delayed_acknowledgements_come_for_every_second_segment_rfc_5681_section_4_2() {
    let mut world = world::<NewReno>(&[("delayed_ack", "true")], ideal(), 1, &[one_write(10 * MSS)]);
    world.finish();
    assert_eq!(world.flows[0].left(Way::ToSender).count(), 5);
}

#[test]
fn a_lone_segment_is_acknowledged_after_the_delay_rfc_1122_section_4_2_3_2() {
    let mut actions = one_write(MSS);
    actions[1].0 = at_us(20_000);
    let mut world = world::<NewReno>(&[("delayed_ack", "true")], ideal(), 1, &[actions]);
    world.run_until(at_us(10_000));
    assert_eq!(world.flows[0].left(Way::ToSender).count(), 1);
    assert_eq!(world.flows[0].left(Way::ToSender).next().unwrap().packet.sent, at_us(50 + 1000));
    world.finish();
}

#[test]
fn a_flow_that_is_closed_later_ends_by_an_empty_packet() {
    let mut actions = one_write(3 * MSS);
    actions[1].0 = at_us(1000);
    let mut world = world::<NewReno>(&[], ideal(), 1, &[actions]);
    world.finish();
    assert_eq!(world.flows[0].finished_at, [Some(at_us(1100)), Some(at_us(1050))]);
    assert_eq!(world.flows[0].sender.stats().data_packets, 4);
}

#[test]
fn a_window_that_the_application_does_not_fill_does_not_grow_rfc_7661() {
    let actions: Vec<_> = (0..1000).map(|i| (at_us(200 * i), Operation::Write(MSS))).collect();
    let mut newreno = world::<NewReno>(&[], ideal(), 1, std::slice::from_ref(&actions));
    newreno.run_until(at_us(300_000));
    assert_eq!(newreno.flows[0].sender.gauges().cwnd, 10.0 * MSS as f64);
    let mut cubic = world::<Cubic>(&[], ideal(), 1, &[actions]);
    cubic.run_until(at_us(300_000));
    assert_eq!(cubic.flows[0].sender.gauges().cwnd, 10.0 * MSS as f64);
}

#[test]
fn after_a_long_pause_the_window_starts_again_rfc_5681_section_4_1() {
    let actions = vec![
        (Time::ZERO, Operation::Write(70 * MSS)),
        (at_us(100_000), Operation::Write(70 * MSS)),
        (at_us(100_000), Operation::Close),
    ];
    let burst = |idle_restart| {
        let mut world =
            world::<Dctcp>(&[("idle_restart", idle_restart)], ideal(), 1, std::slice::from_ref(&actions));
        world.finish();
        sent(&world.flows[0]).iter().filter(|(at, ..)| *at == at_us(100_000)).count()
    };
    assert_eq!(burst("true"), 10);
    assert_eq!(burst("false"), 70);
}

#[test]
fn what_was_not_sent_can_be_taken_back() {
    let actions = vec![(Time::ZERO, Operation::Write(1000 * MSS)), (at_us(120), Operation::Truncate)];
    let mut world = world::<NewReno>(&[], ideal(), 1, &[actions]);
    world.finish();
    assert_eq!(world.flows[0].receiver.delivered(), 30 * MSS, "10, then 20 segments");
}

#[test]
fn a_flow_without_a_byte_ends_too() {
    let actions = vec![(Time::ZERO, Operation::Write(1000)), (Time::ZERO, Operation::Truncate)];
    let mut handshake = world::<NewReno>(&[("handshake", "true")], ideal(), 1, &[actions]);
    handshake.finish();
    assert_eq!(handshake.flows[0].receiver.delivered(), 0);
    world::<NewReno>(&[], ideal(), 1, &[vec![(Time::ZERO, Operation::Close)]]).finish();
}

/// A wide window at a steady pace.
struct Steady(Rate);

impl Controller for Steady {
    const PACES: bool = true;
    fn limits(&self) -> Limits {
        Limits { cwnd: 1 << 30, pacing: Some(self.0) }
    }
    fn on_ack(&mut self, ack: &AckEvent) {
        assert_eq!(ack.phase, Phase::Open);
    }
    fn on_loss(&mut self, _: &CongestionEvent) {}
    fn on_ecn(&mut self, _: &CongestionEvent) {}
    fn on_timeout(&mut self, _: &CongestionEvent) {}
    fn on_restart(&mut self, _: &RestartEvent) {}
}

#[test]
fn a_paced_sender_spaces_its_packets_evenly() {
    let config = params::<NewReno>(&[]).tcp.config(Ecn::Off);
    let rate = Rate::gbps(1);
    let mut world = Pair::new(ideal());
    world.log = true;
    let sender = tcp::Sender::new(&config, world.env(), Steady(rate));
    let receiver = tcp::Receiver::new(&config, world.env());
    world.add_ends(Box::new(sender), Box::new(receiver), one_write(100 * MSS));
    world.finish();
    let gap = rate.time_to_send(Bytes::new(1538));
    let times: Vec<_> = sent(&world.flows[0]).iter().map(|(at, ..)| *at).collect();
    assert_eq!(times.len(), 100);
    assert!(times.windows(2).all(|pair| pair[1] - pair[0] == gap));
}
