//! Marks, and what they lead to.

use super::*;

/// A bottleneck of 10 Gbps with a base round trip of 100 us.
fn bottleneck() -> Network {
    let port = PortConfig { rate: Rate::gbps(10), buffer: 400_000, mark_above: 65 * 1538 };
    Network { to_receiver: Wire { port: Some(port), ..ideal_wire() }, ..ideal() }
}

#[test]
fn dctcp_keeps_the_queue_near_k_and_the_link_busy_sigcomm_2010_section_3_3() {
    let flows = 2;
    let actions = vec![vec![(Time::ZERO, Operation::Write(1_000_000_000))]; flows];
    let mut world = world::<Dctcp>(&[], bottleneck(), 1, &actions);
    world.run_until(at_us(20_000));
    let before: u64 = world.flows.iter().map(|f| f.receiver.delivered()).sum();
    world.transit.watch_queue();
    world.run_until(at_us(70_000));
    let after: u64 = world.flows.iter().map(|f| f.receiver.delivered()).sum();
    let goodput = (after - before) as f64 * 8.0 / 0.05;
    assert!(goodput > 0.98 * 10e9 * 1460.0 / 1538.0, "{goodput:e}");
    // The most: K + N, and what slow reaction adds within a round trip; the mean: about K.
    let seen = world.transit.queue_seen(Way::ToReceiver);
    let (max, mean) = (seen.max / 1538, seen.mean() as u64 / 1538);
    assert!((50..=80).contains(&mean), "mean {mean} packets");
    assert!(max <= 90, "max {max} packets");
    assert!(world.flows.iter().all(|f| f.sender.stats().rare().retransmits == 0));
}

#[test]
fn reno_with_ecn_loses_nothing_and_is_cut_once_per_window_rfc_3168_section_6_1() {
    let actions = vec![vec![(Time::ZERO, Operation::Write(1_000_000_000))]];
    let mut world =
        world::<NewReno>(&[("ecn", "true"), ("initial_window", "100")], bottleneck(), 1, &actions);
    world.run_until(at_us(50_000));
    let flow = &world.flows[0];
    assert_eq!(flow.sender.stats().rare().retransmits, 0);
    let reductions = sent(flow).iter().filter(|(.., flags)| flags.has(Flags::CWR)).count();
    // A sawtooth from half of (BDP + K) = 146 packets upwards takes some 70 round trips of at least 100 us.
    assert!((2..=10).contains(&reductions), "{reductions}");
    let bdp = 10e9 / 8.0 * 100e-6;
    assert!(flow.sender.gauges().cwnd > 0.4 * bdp, "{}", flow.sender.gauges().cwnd);
}

#[test]
fn dctcp_echoes_marks_exactly_with_delayed_acknowledgements_rfc_8257_section_3_2() {
    let dctcp = AnyTransport::Dctcp(params::<Dctcp>(&[("delayed_ack", "true")]));
    let mut receiver = Replay::receiver(&dctcp, &ideal().env(), 1);
    let mut acks = Vec::new();
    for (index, marked) in [false, false, false, true, true, true, false, false].into_iter().enumerate() {
        let flags = Flags::ECN_CAPABLE.with_if(marked, Flags::ECN_CE);
        let packet = Packet::data(Header::data(index as u64), 1, 1538, Time::ZERO).with_flags(flags);
        receiver.arrive(at_us(index as u64), &packet, &Extra::default());
        for (_, ack, _) in receiver.by_ref() {
            acks.push((index, ack.header.ack().unwrap(), ack.flags.has(Flags::ECN_ECHO)));
        }
    }
    // (at packet, acknowledges, echo): 0 1 | 2, at once when 3 is marked | 3 4 | 5, at once when 6 is not | 6 7.
    assert_eq!(acks, [(1, 2, false), (3, 3, false), (4, 5, true), (6, 6, true), (7, 8, false)]);
}

#[test]
fn a_classic_receiver_echoes_until_it_hears_of_the_reduction_rfc_3168_section_6_1_3() {
    let newreno = AnyTransport::NewReno(params::<NewReno>(&[("ecn", "true")]));
    let mut receiver = Replay::receiver(&newreno, &ideal().env(), 1);
    let flags = [Flags::NONE, Flags::ECN_CE, Flags::NONE, Flags::NONE, Flags::CWR, Flags::NONE];
    let mut echoes = Vec::new();
    for (index, flags) in flags.into_iter().enumerate() {
        let packet = Packet::data(Header::data(index as u64), 1, 1538, Time::ZERO).with_flags(flags);
        receiver.arrive(at_us(index as u64), &packet, &Extra::default());
        let (_, ack, _) = receiver.next().expect("every packet is answered");
        echoes.push(ack.flags.has(Flags::ECN_ECHO));
    }
    assert_eq!(echoes, [false, true, true, true, false, false]);
}
