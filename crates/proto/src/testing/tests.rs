//! The tools themselves: a replay repeats what a pair did, and each fault of an end is found.

use super::*;
use crate::{AnyTransport, Cx, Endpoint, Extra, Flags, Header, Packet, Receiver, Sender, TRANSPORTS};
use clearway_units::{Rate, Span, Time};

fn transports() -> impl Iterator<Item = AnyTransport> {
    TRANSPORTS.iter().map(|info| AnyTransport::by_name(info.name).expect("it is listed"))
}

fn write_and_close(bytes: u64) -> [(Time, Operation); 2] {
    [(Time::ZERO, Operation::Write(bytes)), (Time::ZERO, Operation::Close)]
}

/// Returns the packets that left an end, in a form that can be compared.
fn shown(packets: impl Iterator<Item = (Time, Packet)>) -> Vec<String> {
    packets.map(|(at, packet)| format!("{at} {:?} {:?}", packet.header, packet.flags)).collect()
}

#[test]
fn a_recorded_exchange_fed_into_one_end_of_any_transport_draws_the_same_packets_from_it() {
    for transport in transports().filter(|transport| transport.info().name != "blast") {
        let wire = Wire { loss: 0.02, jitter: Span::from_us(3), ..Wire::default() };
        let mut pair = Pair::new(Network { instant: true, ..Network::of(wire) });
        pair.log = true;
        let flow = pair.add(&transport, write_and_close(300_000));
        pair.finish();
        let (flow, env, seed) = (&pair.flows[flow], *pair.env(), Network::default().seed);

        let mut sender = Replay::sender(&transport, &env, seed);
        if transport.needs().oracle {
            sender.operate(Time::ZERO, Operation::SetRate(Rate::gbps(10)));
        }
        sender.end.operate(Operation::Write(300_000), Time::ZERO);
        sender.operate(Time::ZERO, Operation::Close);
        flow.arrived(Way::ToSender).for_each(|it| sender.arrive(it.at, &it.packet, &it.extra));
        sender.run_until(pair.now);
        let recorded = shown(flow.left(Way::ToReceiver).map(|it| (it.at, it.packet)));
        assert!(recorded.len() > 200, "{}", transport.info().name);
        assert_eq!(shown(sender.map(|(at, packet, _)| (at, packet))), recorded, "{}", transport.info().name);

        // An agent would hold and rewrite what the receiver answers.
        if !transport.agent_scope().any() {
            let mut receiver = Replay::receiver(&transport, &env, seed);
            flow.arrived(Way::ToReceiver).for_each(|it| receiver.arrive(it.at, &it.packet, &it.extra));
            receiver.run_until(pair.now);
            let recorded = shown(flow.left(Way::ToSender).map(|it| (it.at, it.packet)));
            assert_eq!(
                shown(receiver.map(|(at, packet, _)| (at, packet))),
                recorded,
                "{}",
                transport.info().name
            );
        }
    }
}

/// A fault of a toy transport that sends all data at once and acknowledges nothing.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    SendsMoreThanWasWritten,
    DeliversWhatDidNotArrive,
    NeverStopsAcknowledging,
    NeverMovesItsTimerOn,
    LeavesATimer,
    MiscountsItsPackets,
    BreaksItsPromise,
}

struct Toy {
    fault: Fault,
    /// Bytes to send, or bytes delivered.
    bytes: u64,
    sent: u64,
    acks: u32,
    timer: Time,
}

impl Toy {
    fn new(fault: Fault) -> Box<Toy> {
        Box::new(Toy { fault, bytes: 0, sent: 0, acks: 0, timer: Time::MAX })
    }
}

impl Endpoint for Toy {
    fn handle_packet(&mut self, packet: &Packet, _: &Extra, cx: &mut Cx<'_>) {
        let Some(offset) = packet.header.offset() else { return };
        self.bytes =
            offset + packet.payload() as u64 + (self.fault == Fault::DeliversWhatDidNotArrive) as u64;
        self.acks = 1;
        if matches!(self.fault, Fault::NeverMovesItsTimerOn | Fault::LeavesATimer) {
            self.timer = cx.now;
        }
    }

    fn handle_timeout(&mut self, _: &mut Cx<'_>) {
        if self.fault == Fault::LeavesATimer {
            self.timer = Time::ZERO + Span::from_secs(1_000);
        }
    }

    fn poll_control(&mut self, _: &mut Extra, cx: &mut Cx<'_>) -> Option<Packet> {
        if self.fault != Fault::NeverStopsAcknowledging {
            self.acks = self.acks.checked_sub(1)?;
        } else if self.acks == 0 {
            return None;
        }
        let header = Header::Ack { ack: self.bytes, window: u32::MAX, rate: Rate::ZERO, echo: Time::ZERO };
        Some(Packet::control(header, 84, cx.now))
    }

    fn next_timeout(&self) -> Time {
        self.timer
    }

    fn is_finished(&self) -> bool {
        true
    }
}

impl Sender for Toy {
    fn wants_transmit(&self, _: Time) -> bool {
        self.sent < self.bytes
    }

    fn poll_transmit(&mut self, cx: &mut Cx<'_>) -> Option<Packet> {
        if self.sent == self.bytes || self.fault == Fault::BreaksItsPromise {
            return None;
        }
        let packet = Packet::data(Header::data(self.sent), 1000, 1078, cx.now);
        self.sent += 1000;
        cx.stats.data_packets += 1;
        if self.fault == Fault::MiscountsItsPackets {
            cx.stats.rare_mut().retransmits += 1;
        }
        Some(packet)
    }

    fn write(&mut self, bytes: u64, _: &mut Cx<'_>) {
        self.bytes += bytes + if self.fault == Fault::SendsMoreThanWasWritten { 1000 } else { 0 };
    }

    fn close(&mut self, _: &mut Cx<'_>) {}

    fn truncate(&mut self, _: &mut Cx<'_>) -> u64 {
        self.bytes
    }

    fn acknowledged(&self) -> u64 {
        0
    }
}

impl Receiver for Toy {
    fn delivered(&self) -> u64 {
        self.bytes
    }
}

/// The message of the panic with which a pair of such ends stops; `None` if it finds nothing wrong.
fn found(sender: Fault, receiver: Fault, wire: Wire) -> Option<String> {
    let run = std::panic::AssertUnwindSafe(|| {
        let mut pair = Pair::new(Network::of(wire));
        pair.add_ends(Toy::new(sender), Toy::new(receiver), write_and_close(5000));
        pair.finish();
    });
    let error = std::panic::catch_unwind(run).err()?;
    let text = error.downcast_ref::<String>().cloned();
    Some(text.or(error.downcast_ref::<&str>().map(|text| text.to_string())).expect("a message"))
}

#[test]
fn each_fault_of_an_end_is_found_and_named() {
    assert_eq!(found(Fault::None, Fault::None, Wire::default()), None);
    let cases = [
        (Fault::SendsMoreThanWasWritten, Fault::None, "no byte is sent that was not written"),
        (Fault::BreaksItsPromise, Fault::None, "if and only if the end wants to"),
        (Fault::MiscountsItsPackets, Fault::None, "the counters are those of the packets that were sent"),
        (Fault::None, Fault::DeliversWhatDidNotArrive, "1001 bytes are delivered, but 1000 arrived in order"),
        (Fault::None, Fault::NeverStopsAcknowledging, "the end does not stop sending"),
        (Fault::None, Fault::NeverMovesItsTimerOn, "the timer does not move on"),
        (Fault::None, Fault::LeavesATimer, "not finished at 100 s"),
    ];
    for (sender, receiver, expected) in cases {
        let message = found(sender, receiver, Wire::default()).expect(expected);
        assert!(message.contains(expected), "{message:?} instead of {expected:?}");
    }
    let lossy =
        found(Fault::None, Fault::None, Wire { loss: 1.0, ..Wire::default() }).expect("nothing arrives");
    assert!(lossy.contains("all bytes are delivered"), "{lossy}");
}

#[test]
fn a_script_loses_repeats_delays_and_marks_exactly_the_packets_that_it_names() {
    let fates = [
        Fate::Pass,
        Fate::Lose,
        Fate::Duplicate(Span::from_us(40)),
        Fate::Delay(Span::from_us(70)),
        Fate::Mark,
    ];
    let mut pair = Pair::new(Network { instant: true, ..Network::default() });
    pair.log = true;
    let flow = pair.add(&AnyTransport::by_name("dctcp").unwrap(), [(Time::ZERO, Operation::Write(5 * 1460))]);
    pair.transit.decide(move |departure| match departure.way {
        Way::ToReceiver => fates[departure.position as usize % 5],
        Way::ToSender => Fate::Lose,
    });
    pair.run_until(Time::ZERO + Span::from_ms(1));
    let arrivals: Vec<(u64, Time, bool)> = pair.flows[flow]
        .arrived(Way::ToReceiver)
        .map(|it| (it.packet.range().start / 1460, it.at, it.packet.flags.has(Flags::ECN_CE)))
        .collect();
    let at = |us| Time::ZERO + Span::from_us(us);
    assert_eq!(
        arrivals,
        [(0, at(5), false), (2, at(5), false), (4, at(5), true), (2, at(45), false), (3, at(75), false)]
    );
    assert_eq!(pair.flows[flow].arrived(Way::ToSender).count(), 0);
}

#[test]
fn mechanisms_and_agents_of_transports_are_driven_too() {
    let port = PortConfig { rate: Rate::gbps(5), buffer: 1_000_000, mark_above: 1_000_000 };
    for name in ["hull", "rcp", "hpcc", "pacc", "pac", "ictcp", "ack-shaper"] {
        let wire = Wire { port: Some(port), ..Wire::default() };
        let mut pair = Pair::new(Network { to_receiver: wire, ..Network::default() });
        pair.log = true;
        let transport = AnyTransport::by_name(name).expect(name);
        let both = [
            pair.add(&transport, write_and_close(3_000_000)),
            pair.add(&transport, write_and_close(3_000_000)),
        ];
        pair.finish();
        let seen = |what: fn(&Logged) -> bool| both.iter().any(|&flow| pair.flows[flow].log.iter().any(what));
        let acts = match name {
            "hull" => seen(|it| it.packet.flags.has(Flags::ECN_CE)),
            "rcp" => seen(
                |it| matches!(it.packet.header, Header::RcpData { rate, .. } if it.arrived && rate < Rate::gbps(5)),
            ),
            "hpcc" => seen(|it| it.way == Way::ToReceiver && it.arrived && !it.extra.hops().is_empty()),
            "pacc" => seen(|it| it.packet.header == Header::Cnp && it.arrived),
            _ => pair.agent_stats(Side::Receiver).expect("an agent").released > 0,
        };
        assert!(acts, "{name} leaves no trace on the packets that pass");
    }
}
