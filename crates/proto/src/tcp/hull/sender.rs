//! A DCTCP sender with the pacer behind it.

use super::super::Sender;
use super::super::dctcp::DctcpController;
use super::pacer::Pacer;
use crate::endpoint::{Cx, Endpoint, Gauges, Sender as _};
use crate::packet::{Extra, Flags, Header, Packet};
use clearway_units::{Span, Time};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// The sending end of a HULL flow: what TCP sends goes straight to the NIC until the pacer takes the flow on,
/// and then waits in the pacer for tokens. Round-trip times include that wait, as they do behind a pacer in hardware.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HullSender {
    tcp: Sender<DctcpController>,
    pacer: Pacer,
    /// The packets that wait for tokens.
    held: VecDeque<Packet>,
    /// True while the pacer paces this flow.
    paced: bool,
    p_a: f64,
    association: Span,
    /// The time at which a packet was last sent.
    last_sent: Time,
    /// The time to look for tokens; [`Time::MAX`] if the first packet waits for the NIC or none waits.
    look_at: Time,
}

impl HullSender {
    /// Returns the sending end of a new flow. The pacer takes it on with probability `p_a` at each echoed mark, and
    /// lets it go after `association` without anything sent.
    pub fn new(tcp: Sender<DctcpController>, pacer: Pacer, p_a: f64, association: Span) -> HullSender {
        let (held, last_sent) = (VecDeque::new(), Time::ZERO);
        HullSender { tcp, pacer, held, paced: false, p_a, association, last_sent, look_at: Time::MAX }
    }

    /// Returns true while the pacer paces this flow.
    pub fn is_paced(&self) -> bool {
        self.paced
    }

    /// Moves the packets that TCP may send now into the pacer, if it paces the flow.
    fn take_over(&mut self, cx: &mut Cx<'_>) {
        if self.paced && self.held.is_empty() && cx.now.saturating_since(self.last_sent) > self.association {
            self.paced = false;
        }
        self.pacer.advance(cx.now);
        while self.paced
            && let Some(packet) = self.tcp.poll_transmit(cx)
        {
            self.pacer.hold(packet.wire.into(), cx.now);
            self.held.push_back(packet);
        }
        self.set_timer(cx.now);
    }

    fn set_timer(&mut self, now: Time) {
        self.look_at = match self.held.front() {
            Some(packet) if self.pacer.ready_at(packet.wire.into()) > now => {
                self.pacer.look_again_at(packet.wire.into())
            }
            _ => Time::MAX,
        };
    }
}

impl Endpoint for HullSender {
    fn handle_packet(&mut self, packet: &Packet, extra: &Extra, cx: &mut Cx<'_>) {
        self.tcp.handle_packet(packet, extra, cx);
        let echoes = matches!(packet.header, Header::Ack { .. }) && packet.flags.has(Flags::ECN_ECHO);
        if !self.paced && self.p_a > 0.0 && echoes {
            self.paced = cx.rng.unit() < self.p_a;
        }
        self.take_over(cx);
    }

    fn handle_timeout(&mut self, cx: &mut Cx<'_>) {
        self.tcp.handle_timeout(cx);
        self.take_over(cx);
    }

    fn poll_control(&mut self, extra: &mut Extra, cx: &mut Cx<'_>) -> Option<Packet> {
        self.tcp.poll_control(extra, cx)
    }

    fn next_timeout(&self) -> Time {
        self.tcp.next_timeout().min(self.look_at)
    }

    fn is_finished(&self) -> bool {
        self.tcp.is_finished() && self.held.is_empty()
    }

    fn gauges(&self) -> Gauges {
        let gauges = self.tcp.gauges();
        if self.paced { Gauges { rate: self.pacer.rate(), ..gauges } } else { gauges }
    }
}

impl crate::endpoint::Sender for HullSender {
    #[inline]
    fn wants_transmit(&self, now: Time) -> bool {
        match self.held.front() {
            Some(packet) => self.pacer.ready_at(packet.wire.into()) <= now,
            None => self.tcp.wants_transmit(now),
        }
    }

    fn poll_transmit(&mut self, cx: &mut Cx<'_>) -> Option<Packet> {
        // An update of the rate that is due just now can free the first packet. The timer, which is due too, sees to it.
        if !self.wants_transmit(cx.now) {
            return None;
        }
        self.take_over(cx);
        let packet = match self.held.front() {
            Some(packet) if self.pacer.ready_at(packet.wire.into()) <= cx.now => {
                let packet = *packet;
                self.held.pop_front();
                self.pacer.release(packet.wire.into());
                packet
            }
            Some(_) => return None,
            None => {
                let packet = self.tcp.poll_transmit(cx)?;
                self.pacer.pass(packet.wire.into(), cx.now);
                packet
            }
        };
        self.last_sent = cx.now;
        self.set_timer(cx.now);
        Some(packet)
    }

    fn write(&mut self, bytes: u64, cx: &mut Cx<'_>) {
        self.tcp.write(bytes, cx);
        self.take_over(cx);
    }

    fn close(&mut self, cx: &mut Cx<'_>) {
        self.tcp.close(cx);
        self.take_over(cx);
    }

    fn truncate(&mut self, cx: &mut Cx<'_>) -> u64 {
        let total = self.tcp.truncate(cx);
        self.take_over(cx);
        total
    }

    fn acknowledged(&self) -> u64 {
        self.tcp.acknowledged()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Hull, HullParams};
    use super::*;
    use crate::endpoint::{Env, Framing, Stats};
    use crate::rng::{Entity, Rng};
    use crate::transport::Transport;
    use clearway_schema::Declared;
    use clearway_units::Rate;

    #[test]
    fn a_mark_lets_the_pacer_take_the_flow_on_if_the_draw_lies_below_p_a_and_not_at_it() {
        let env = Env::for_test(Rate::gbps(10), Span::from_us(100), Framing::ETHERNET);
        let header = Header::Ack { ack: 1460, window: u32::MAX, rate: Rate::ZERO, echo: Time::ZERO };
        let ack = Packet::control(header, 84, Time::ZERO).with_flags(Flags::ECN_ECHO);
        let draw = Rng::stream(1, Entity::Sender, 1).unit();
        for (p_a, is_paced) in [(draw.next_down(), false), (draw, false), (draw.next_up(), true)] {
            let params = HullParams { p_a, ..HullParams::default() };
            let mut sender = Hull::sender(&params, &env);
            let (mut rng, mut stats) = (Rng::stream(1, Entity::Sender, 1), Stats::default());
            let mut cx = Cx { now: Time::ZERO, rng: &mut rng, stats: &mut stats };
            sender.write(100_000, &mut cx);
            assert!(sender.poll_transmit(&mut cx).is_some());
            sender.handle_packet(&ack, &Extra::default(), &mut cx);
            assert_eq!(sender.is_paced(), is_paced, "{p_a} and a draw of {draw}");
            // A flow that the pacer took on shows the pacer's rate, and another one that of its window.
            let (shown, of_tcp) = (sender.gauges(), sender.tcp.gauges());
            assert_eq!(shown.cwnd, of_tcp.cwnd);
            assert_eq!(shown.rate == sender.pacer.rate() && shown.rate != of_tcp.rate, is_paced, "{shown:?}");
        }
    }

    #[test]
    fn a_mark_makes_the_pacer_hold_what_tcp_would_send_in_a_burst_hull() {
        let env = Env::for_test(Rate::gbps(10), Span::from_us(100), Framing::ETHERNET);
        let mut params = HullParams::default();
        params.set("p_a", "1").unwrap();
        params.set("bucket", "1538 B").unwrap();
        params.set("initial_window", "40").unwrap();
        let mut sender = Hull::sender(&params, &env);
        let (mut rng, mut stats) = (Rng::stream(1, Entity::Sender, 1), Stats::default());
        let mut cx = Cx { now: Time::ZERO, rng: &mut rng, stats: &mut stats };
        sender.write(1_000_000, &mut cx);
        let burst = std::iter::from_fn(|| sender.poll_transmit(&mut cx)).count();
        assert_eq!((burst, sender.is_paced()), (40, false));

        let (rate, echo) = (Rate::ZERO, Time::ZERO);
        let header = Header::Ack { ack: 35 * 1460, window: u32::MAX, rate, echo };
        let ack = Packet::control(header, 84, Time::ZERO).with_flags(Flags::ECN_ECHO);
        cx.now = Time::ZERO + Span::from_us(100);
        sender.handle_packet(&ack, &Extra::default(), &mut cx);
        assert!(sender.is_paced());
        let (mut sent, mut last) = (0, cx.now);
        loop {
            if sender.poll_transmit(&mut cx).is_some() {
                sent += 1;
                last = cx.now;
                assert!(sender.held.is_empty() || !sender.wants_transmit(cx.now), "one at a time");
            }
            if sender.held.is_empty() {
                break;
            }
            cx.now = sender.next_timeout().max(cx.now);
            sender.handle_timeout(&mut cx);
        }
        assert_eq!(sent, 15, "a window of 20, of which 5 are in flight");
        assert!(last > Time::ZERO + Span::from_us(110), "{last:?}");
    }

    #[test]
    fn a_flow_that_opens_a_connection_sends_the_question_of_tcp_once_and_no_data_before_the_answer() {
        let framing = Framing::ETHERNET;
        let env = Env { established: false, ..Env::for_test(Rate::gbps(10), Span::from_us(100), framing) };
        let mut params = HullParams::default();
        params.set("handshake", "true").unwrap();
        let mut sender = Hull::sender(&params, &env);
        let (mut rng, mut stats) = (Rng::stream(1, Entity::Sender, 1), Stats::default());
        let mut cx = Cx { now: Time::ZERO, rng: &mut rng, stats: &mut stats };
        sender.write(100_000, &mut cx);
        let mut asks = || sender.poll_control(&mut Extra::default(), &mut cx).map(|packet| packet.header);
        assert_eq!((asks(), asks()), (Some(Header::Syn), None));
        assert!(!sender.wants_transmit(Time::ZERO));
    }
}
