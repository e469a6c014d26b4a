//! Recovery from losses.

use super::*;
use clearway_proto::{Entity, Rng};

#[test]
fn one_loss_is_repaired_without_a_timeout_rfc_5681_section_3_2() {
    for sack in ["true", "false"] {
        let mut world = with_drops(&[("sack", sack)], 100 * MSS, &[12]);
        world.finish();
        let flow = &world.flows[0];
        assert_eq!(
            (flow.sender.stats().rare().timeouts, flow.sender.stats().rare().retransmits),
            (0, 1),
            "sack {sack}"
        );
        assert_eq!(flow.receiver.stats().rare().duplicate_bytes, 0);
    }
}

#[test]
fn new_reno_repairs_one_loss_per_round_trip_rfc_6582_section_3_2() {
    let drops = &[30, 32, 34];
    let mut world = with_drops(&[("sack", "false")], 300 * MSS, drops);
    world.finish();
    let flow = &world.flows[0];
    assert_eq!((flow.sender.stats().rare().timeouts, flow.sender.stats().rare().retransmits), (0, 3));
    let again: Vec<_> = sent(flow).into_iter().filter(|(.., flags)| flags.has(Flags::RETRANSMIT)).collect();
    assert_eq!(again.iter().map(|(_, seq, ..)| seq / MSS).collect::<Vec<_>>(), [30, 32, 34]);
    assert_eq!(again[1].0, again[0].0 + Span::from_us(100));
    assert_eq!(again[2].0, again[1].0 + Span::from_us(100));
}

#[test]
fn selective_acknowledgements_repair_many_losses_in_one_round_trip_rfc_6675_section_5() {
    let drops = &[30, 32, 34, 36, 38];
    let mut world = with_drops(&[], 300 * MSS, drops);
    world.finish();
    let flow = &world.flows[0];
    assert_eq!((flow.sender.stats().rare().timeouts, flow.sender.stats().rare().retransmits), (0, 5));
    let again: Vec<_> = sent(flow).into_iter().filter(|(.., flags)| flags.has(Flags::RETRANSMIT)).collect();
    assert!(again[4].0 <= again[0].0 + Span::from_us(100));
}

#[test]
fn the_first_two_duplicates_release_new_data_rfc_3042() {
    for sack in ["true", "false"] {
        // Four segments, the first lost: three duplicates only come because two new segments left.
        let values = [("initial_window", "3"), ("sack", sack)];
        let mut world = with_drops(&values, 20 * MSS, &[0]);
        world.finish();
        assert_eq!(world.flows[0].sender.stats().rare().timeouts, 0, "sack {sack}");
    }
}

#[test]
fn a_lost_tail_waits_for_the_timer_rfc_6298_section_5() {
    let mut world = with_drops(&[], 10 * MSS, &[9]);
    world.finish();
    let flow = &world.flows[0];
    assert_eq!((flow.sender.stats().rare().timeouts, flow.sender.stats().rare().retransmits), (1, 1));
    // The timer was restarted by the last acknowledgement, at 100 us.
    assert_eq!(flow.finished_at[1], Some(at_us(100 + 10_000 + 50)));
}

#[test]
fn each_timeout_doubles_the_next_rfc_6298_section_5_5() {
    let mut world = with_drops(&[], MSS, &[0, 1, 2]);
    world.finish();
    let times: Vec<_> = sent(&world.flows[0]).iter().map(|(at, ..)| *at).collect();
    assert_eq!(times, [at_us(0), at_us(10_000), at_us(30_000), at_us(70_000)]);
}

#[test]
fn a_lost_window_is_repaired_in_slow_start_rfc_5681_section_3_1() {
    let mut world = with_drops(&[], 10 * MSS, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    world.finish();
    let flow = &world.flows[0];
    assert_eq!((flow.sender.stats().rare().timeouts, flow.sender.stats().rare().retransmits), (1, 10));
    let count = |us| sent(flow).iter().filter(|(at, ..)| *at == at_us(us)).count();
    assert_eq!([count(10_000), count(10_100), count(10_200)], [1, 2, 4]);
}

#[test]
fn a_lost_syn_is_sent_again_after_a_second_and_costs_the_initial_window_rfc_6298_rfc_5681_section_3_1() {
    let mut world = world::<NewReno>(&[("handshake", "true")], ideal(), 1, &[one_write(10 * MSS)]);
    let mut syns = 0;
    lose_if(&mut world, move |packet| {
        syns += (packet.kind() == Kind::Syn) as u32;
        packet.kind() == Kind::Syn && syns == 1
    });
    world.finish();
    let flow = &world.flows[0];
    assert_eq!(sent(flow)[0].0, at_us(1_000_100));
    assert_eq!(sent(flow).iter().filter(|(at, ..)| *at == at_us(1_000_100)).count(), 1);
    assert_eq!(flow.sender.stats().rare().timeouts, 0, "no data was outstanding");
}

#[test]
fn a_higher_threshold_bears_more_reordering_rfc_6675_section_2() {
    let network = both(Wire { jitter: Span::from_us(20), ..ideal_wire() });
    let retransmits = |dupthresh| {
        let values = [("dupthresh", dupthresh)];
        let mut world = world::<NewReno>(&values, network.clone(), 3, &[one_write(1000 * MSS)]);
        world.finish();
        (world.flows[0].sender.stats().rare().retransmits, world.now)
    };
    let (three, slow) = retransmits("3");
    let (many, fast) = retransmits("1000");
    assert!(three > 0 && many == 0, "{three}, {many}");
    assert!(fast < slow);
}

#[test]
fn an_old_segment_is_still_answered_by_a_finished_receiver() {
    let mut world = world::<NewReno>(&[], ideal(), 1, &[one_write(1000)]);
    world.finish();
    let receiver = &mut world.flows[0].receiver;
    let packet = Packet::data(Header::data(0), 1000, 1078, Time::ZERO).with_flags(Flags::LAST);
    receiver.handle_packet(&packet, &Extra::default(), at_us(5000));
    let (ack, _) = receiver.poll_control(at_us(5000)).expect("an answer");
    assert_eq!(ack.header.ack(), Some(1000));
    assert!(ack.flags.has(Flags::LAST));
    assert!(receiver.is_finished());
    assert_eq!(receiver.stats().rare().duplicate_bytes, 1000);
}

#[test]
fn goodput_under_random_loss_is_that_of_the_square_root_formula_mathis_1997() {
    for p in [0.0005, 0.002, 0.005] {
        let actions = [vec![(Time::ZERO, Operation::Write(1_000_000_000))]];
        let mut world = world::<NewReno>(&[], ideal(), 1, &actions);
        let mut rng = Rng::stream(5, Entity::Port, 0);
        lose_if(&mut world, move |_| rng.unit() < p);
        world.log = false;
        world.run_until(at_us(1_000_000));
        let window = world.flows[0].receiver.delivered() as f64 / MSS as f64 / 10_000.0;
        let formula = (1.5 / p).sqrt();
        assert!((window / formula - 1.0).abs() < 0.15, "{window} segments instead of {formula} at {p}");
    }
}

#[test]
fn selective_acknowledgements_pay_under_random_loss() {
    for loss in [0.03, 0.1] {
        let total = |sack| -> f64 {
            let times = (1..20).map(|seed| {
                let network = both(Wire { loss, ..ideal_wire() });
                let mut world = world::<NewReno>(&[("sack", sack)], network, seed, &[one_write(3_000_000)]);
                world.finish();
                world.now.as_secs_f64()
            });
            times.sum()
        };
        assert!(total("true") < total("false"), "at {loss}");
    }
}
