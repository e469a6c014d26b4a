//! The receiving end of TCP: it puts bytes in order and acknowledges them.

use super::config::{Config, Ecn};
use crate::endpoint::{Cx, Endpoint, Env, Framing};
use crate::packet::{Extra, Flags, Header, Packet, SackBlock};
use crate::ranges::Ranges;
use clearway_units::{Bytes, Rate, Span, Time};
use serde::{Deserialize, Serialize};

/// Returns a receive window as packets carry it, in bytes that fit 32 bits.
pub(super) fn window_field(window: Bytes) -> u32 {
    window.get().min(u32::MAX as u64) as u32
}

/// An acknowledgement held back when the marking changed (RFC 8257 sec. 3.2).
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Held {
    ack: u64,
    echo: Time,
    ce: bool,
}

/// The receiving end of a TCP flow. It answers every data packet, or every second one; its only timer is that of
/// delayed acknowledgements.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Receiver {
    /// The next byte expected.
    rcv_nxt: u64,
    /// The length of the stream; [`u64::MAX`] until it is known.
    end: u64,
    /// The bytes beyond `rcv_nxt` that arrived.
    early: Ranges,
    /// A byte of each of the three ranges that grew last, the last one first (RFC 2018 sec. 4).
    recent: [u64; 3],
    /// The time at which the data to be acknowledged was sent; that of the oldest packet if there are several.
    echo: Time,
    syn_echo: Time,
    /// The rate that ports granted to the sender's last packet, in RCP; else zero.
    granted: Rate,
    held: Option<Held>,
    /// The time at which a delayed acknowledgement leaves.
    delay_until: Time,
    delayed_ack: Option<Span>,
    framing: Framing,
    window: u32,
    /// The number of segments that arrived in order and are not acknowledged yet.
    pending: u32,
    ecn: Ecn,
    sack: bool,
    ack_now: bool,
    syn_ack: bool,
    /// True under RFC 3168 if an echo is due, under RFC 8257 if the last packet was marked (`DCTCP.CE`).
    ce: bool,
}

impl Receiver {
    /// Returns the receiving end of a new flow.
    pub fn new(config: &Config, env: &Env) -> Receiver {
        Receiver {
            rcv_nxt: 0,
            end: u64::MAX,
            early: Ranges::default(),
            recent: [0; 3],
            echo: Time::ZERO,
            syn_echo: Time::ZERO,
            granted: Rate::ZERO,
            held: None,
            delay_until: Time::MAX,
            delayed_ack: config.delayed_ack,
            framing: env.framing,
            window: window_field(config.receive_window),
            pending: 0,
            ecn: config.ecn,
            sack: config.sack,
            ack_now: false,
            syn_ack: false,
            ce: false,
        }
    }

    /// Sets the window that is advertised from the next acknowledgement on, for schemes that steer a sender with it.
    pub fn set_receive_window(&mut self, window: Bytes) {
        self.window = window_field(window);
    }

    /// Returns the window that is advertised.
    pub fn receive_window(&self) -> Bytes {
        Bytes::new(self.window as u64)
    }

    /// Handles a packet without data, of which only a SYN says anything.
    #[cold]
    fn handle_syn(&mut self, packet: &Packet) {
        match packet.header {
            Header::Syn => {}
            Header::RcpSyn { rate } => self.granted = rate,
            _ => return,
        }
        self.syn_ack = true;
        self.syn_echo = packet.sent;
    }

    #[inline]
    fn handle_data(&mut self, offset: u64, packet: &Packet, cx: &mut Cx<'_>) {
        let ce = packet.flags.has(Flags::ECN_CE);
        match self.ecn {
            Ecn::Off => {}
            Ecn::Classic => self.ce = ce || (self.ce && !packet.flags.has(Flags::CWR)),
            Ecn::Exact => {
                if ce != self.ce && self.pending > 0 {
                    self.held = Some(Held { ack: self.rcv_nxt, echo: self.echo, ce: self.ce });
                    self.acknowledged();
                }
                self.ce = ce;
            }
        }
        if self.pending == 0 {
            self.echo = packet.sent;
        }
        let payload = packet.payload() as u64;
        let (start, end) = (offset, offset + payload);
        if packet.flags.has(Flags::LAST) {
            self.end = end;
        }
        if start <= self.rcv_nxt && end > self.rcv_nxt {
            let before = self.rcv_nxt;
            cx.stats.add_duplicates(before - start);
            self.rcv_nxt = end;
            if !self.early.is_empty() {
                cx.stats.add_duplicates(self.early.covered(before, end));
                self.rcv_nxt = self.early.take_through(end).unwrap_or(end).max(end);
                self.ack_now = true;
            }
            self.pending += 1;
            match self.delayed_ack {
                Some(delay) if self.pending < 2 && self.rcv_nxt < self.end => {
                    self.delay_until = cx.now.saturating_add(delay);
                }
                _ => self.ack_now = true,
            }
        } else {
            // Seen before, out of order, or empty: an answer at once (RFC 5681 sec. 4.2).
            self.ack_now = true;
            if start > self.rcv_nxt && start < end {
                let new = self.early.insert(start, end);
                cx.stats.add_duplicates(payload - new);
                self.remember(start);
            } else {
                cx.stats.add_duplicates(payload);
            }
        }
    }

    /// Notes that, of all ranges, the one around `offset` grew last.
    fn remember(&mut self, offset: u64) {
        let range = self.early.containing(offset).expect("inserted just now");
        let same = |&at: &u64| range.start <= at && at < range.end;
        let place = self.recent.iter().position(same).unwrap_or(2);
        self.recent.copy_within(..place, 1);
        self.recent[0] = offset;
    }

    fn acknowledged(&mut self) {
        self.pending = 0;
        self.ack_now = false;
        self.delay_until = Time::MAX;
    }

    /// Adds up to three selective acknowledgements to an acknowledgement.
    #[cold]
    fn add_sack(&self, packet: &mut Packet, extra: &mut Extra) {
        let mut blocks = [SackBlock::default(); 3];
        let mut count = 0;
        for &offset in &self.recent {
            if let Some(range) = self.early.containing(offset)
                && !blocks[..count].contains(&range)
            {
                blocks[count] = range;
                count += 1;
            }
        }
        debug_assert!(blocks[..count].iter().all(|block| block.start > self.rcv_nxt));
        *extra = Extra::Sack(blocks);
        if count > 0 {
            packet.flags.set(Flags::EXTRA);
            // Two bytes of option header, two of padding, eight a block (RFC 2018 sec. 3).
            packet.resize(self.framing.wire(4 + 8 * count as u32));
        }
    }

    /// Returns the next packet of those that are due: the answer to a SYN, an acknowledgement held back, the latest one.
    #[inline(never)]
    fn next_answer(&mut self, extra: &mut Extra, now: Time) -> Packet {
        if self.syn_ack {
            self.syn_ack = false;
            let header = Header::SynAck { window: self.window, rate: self.granted, echo: self.syn_echo };
            return Packet::control(header, self.framing.wire(0), now);
        }
        if let Some(held) = self.held.take() {
            return self.ack_packet(held.ack, held.echo, held.ce, now);
        }
        let mut packet = self.ack_packet(self.rcv_nxt, self.echo, self.ce, now);
        if self.sack && !self.early.is_empty() {
            self.add_sack(&mut packet, extra);
        }
        self.acknowledged();
        packet
    }

    #[inline]
    fn ack_packet(&self, ack: u64, echo: Time, ce: bool, now: Time) -> Packet {
        let header = Header::Ack { ack, window: self.window, rate: self.granted, echo };
        let flags = Flags::NONE.with_if(ce, Flags::ECN_ECHO).with_if(ack == self.end, Flags::LAST);
        Packet::control(header, self.framing.wire(0), now).with_flags(flags)
    }
}

impl Endpoint for Receiver {
    fn handle_packet(&mut self, packet: &Packet, _: &Extra, cx: &mut Cx<'_>) {
        let offset = match packet.header {
            Header::Data { offset, .. } => offset,
            Header::RcpData { offset, rate, .. } => {
                self.granted = rate;
                offset
            }
            _ => return self.handle_syn(packet),
        };
        self.handle_data(offset, packet, cx);
    }

    fn handle_timeout(&mut self, cx: &mut Cx<'_>) {
        if cx.now >= self.delay_until {
            self.ack_now = true;
            self.delay_until = Time::MAX;
        }
    }

    #[inline]
    fn poll_control(&mut self, extra: &mut Extra, cx: &mut Cx<'_>) -> Option<Packet> {
        if self.ack_now || self.syn_ack || self.held.is_some() {
            return Some(self.next_answer(extra, cx.now));
        }
        None
    }

    #[inline]
    fn next_timeout(&self) -> Time {
        self.delay_until
    }

    #[inline]
    fn is_finished(&self) -> bool {
        self.rcv_nxt == self.end && self.pending == 0 && !self.ack_now && self.held.is_none()
    }
}

impl crate::endpoint::Receiver for Receiver {
    fn delivered(&self) -> u64 {
        self.rcv_nxt
    }
}

#[cfg(test)]
mod tests {
    use super::super::newreno::{NewReno, NewRenoParams};
    use super::*;
    use crate::endpoint::Stats;
    use crate::rng::{Entity, Rng};
    use crate::transport::Transport;
    use clearway_schema::Declared;
    use clearway_units::Rate;

    struct Bench {
        receiver: Receiver,
        stats: Stats,
    }

    impl Bench {
        fn new(values: &[(&str, &str)]) -> Bench {
            let env = Env::for_test(Rate::gbps(10), Span::from_us(100), Framing::ETHERNET);
            let mut params = NewRenoParams::default();
            values.iter().for_each(|(name, value)| params.set(name, *value).unwrap());
            Bench { receiver: NewReno::receiver(&params, &env), stats: Stats::default() }
        }

        /// The answers to ten bytes from `seq` on.
        fn data(&mut self, seq: u64) -> Vec<(Packet, Extra)> {
            let mut rng = Rng::stream(1, Entity::Receiver, 1);
            let mut cx = Cx { now: Time::from_ps(seq + 1), rng: &mut rng, stats: &mut self.stats };
            let packet = Packet::data(Header::data(seq), 10, 88, Time::from_ps(seq));
            self.receiver.handle_packet(&packet, &Extra::default(), &mut cx);
            let mut extra = Extra::default();
            std::iter::from_fn(|| self.receiver.poll_control(&mut extra, &mut cx).map(|ack| (ack, extra)))
                .collect()
        }

        fn sacks(&mut self, seq: u64) -> Vec<(u64, u64)> {
            let (ack, extra) = self.data(seq)[0];
            if !ack.flags.has(Flags::EXTRA) {
                return Vec::new();
            }
            extra.sack().iter().filter(|b| b.start < b.end).map(|b| (b.start, b.end)).collect()
        }
    }

    #[test]
    fn the_range_that_grew_last_is_reported_first_rfc_2018_section_4() {
        let mut bench = Bench::new(&[]);
        assert_eq!(bench.sacks(0), [], "in order: nothing to report");
        assert_eq!(bench.sacks(20), [(20, 30)]);
        assert_eq!(bench.sacks(40), [(40, 50), (20, 30)]);
        assert_eq!(bench.sacks(60), [(60, 70), (40, 50), (20, 30)]);
        assert_eq!(bench.sacks(80), [(80, 90), (60, 70), (40, 50)]);
        assert_eq!(bench.sacks(50), [(40, 70), (80, 90)], "two became one");
        assert_eq!(bench.sacks(10), [(40, 70), (80, 90)]);
        assert_eq!(bench.receiver.rcv_nxt, 30);
    }

    #[test]
    fn reports_add_their_option_to_the_acknowledgement_rfc_2018_section_3() {
        let mut bench = Bench::new(&[]);
        assert_eq!(bench.data(0)[0].0.wire, 84);
        assert_eq!(bench.data(20)[0].0.wire, 78 + 12);
        bench.data(40);
        assert_eq!(bench.data(60)[0].0.wire, 78 + 28);
    }

    #[test]
    fn a_gap_is_answered_at_once_and_so_is_its_end_rfc_5681_section_4_2() {
        let mut bench = Bench::new(&[("delayed_ack", "true")]);
        assert!(bench.data(0).is_empty());
        assert_eq!(bench.data(20)[0].0.header.ack(), Some(10));
        assert_eq!(bench.data(30)[0].0.header.ack(), Some(10));
        assert_eq!(bench.data(10)[0].0.header.ack(), Some(40));
        assert!(bench.data(40).is_empty(), "delayed again");
    }

    #[test]
    fn an_acknowledgement_of_several_segments_returns_the_oldest_timestamp_rfc_7323_section_4_3() {
        let mut bench = Bench::new(&[("delayed_ack", "true")]);
        bench.data(0);
        bench.data(10);
        bench.data(20);
        let Header::Ack { echo, .. } = bench.data(30)[0].0.header else { panic!("an acknowledgement") };
        assert_eq!(echo, Time::from_ps(20));
    }

    #[test]
    fn without_sack_nothing_is_reported_and_bytes_that_come_twice_are_counted() {
        let mut bench = Bench::new(&[("sack", "false")]);
        assert_eq!(bench.sacks(20), []);
        bench.data(20);
        bench.data(0);
        bench.data(0);
        assert_eq!(bench.stats.rare().duplicate_bytes, 20);
    }
}
