//! The receiving end: puts bytes in order and acknowledges them.

use super::config::{Config, Ecn};
use super::ranges::Ranges;
use crate::endpoint::{Cx, Endpoint, Env, Framing};
use crate::packet::{Extra, Flags, Kind, Packet, SackBlock};
use clearway_units::{Bytes, Span, Time};

/// A receive window as packets carry it.
pub(super) fn window_field(window: Bytes) -> u32 {
    window.get().min(u32::MAX as u64) as u32
}

/// An acknowledgement held back when the marking changed (RFC 8257 sec. 3.2).
#[derive(Clone, Copy, Debug)]
struct Held {
    ack: u64,
    echo: Time,
    ce: bool,
}

/// The receiving end of a TCP flow. It answers every data packet, or every second one, and needs no timer of its own
/// but that of delayed acknowledgements.
#[derive(Clone, Debug)]
pub struct Receiver {
    /// Next byte expected.
    rcv_nxt: u64,
    /// Length of the stream, once known.
    end: u64,
    /// Bytes beyond `rcv_nxt` that arrived.
    early: Ranges,
    /// Bytes within the ranges that grew last, the last one first (RFC 2018 sec. 4).
    recent: [u64; 3],
    /// When the data to be acknowledged was sent; the oldest, if it is several packets.
    echo: Time,
    syn_echo: Time,
    held: Option<Held>,
    /// When a delayed acknowledgement leaves.
    delay_until: Time,
    delayed_ack: Option<Span>,
    framing: Framing,
    window: u32,
    /// Segments that arrived in order and are not acknowledged.
    pending: u32,
    ecn: Ecn,
    sack: bool,
    ack_now: bool,
    syn_ack: bool,
    /// RFC 3168: an echo is due. RFC 8257: the last packet was marked (`DCTCP.CE`).
    ce: bool,
}

impl Receiver {
    /// For a new flow.
    pub fn new(config: &Config, env: &Env) -> Receiver {
        Receiver {
            rcv_nxt: 0,
            end: u64::MAX,
            early: Ranges::default(),
            recent: [0; 3],
            echo: Time::ZERO,
            syn_echo: Time::ZERO,
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

    /// The window to advertise from the next acknowledgement on, for schemes that steer a sender with it.
    pub fn set_receive_window(&mut self, window: Bytes) {
        self.window = window_field(window);
    }

    /// The window that is advertised.
    pub fn receive_window(&self) -> Bytes {
        Bytes::new(self.window as u64)
    }

    fn handle_data(&mut self, packet: &Packet, cx: &mut Cx<'_>) {
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
        let (start, end) = (packet.seq, packet.seq + packet.payload as u64);
        if packet.flags.has(Flags::LAST) {
            self.end = end;
        }
        if start <= self.rcv_nxt && end > self.rcv_nxt {
            let before = self.rcv_nxt;
            cx.stats.duplicate_bytes += before - start;
            self.rcv_nxt = end;
            if !self.early.is_empty() {
                cx.stats.duplicate_bytes += self.early.covered(before, end);
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
                cx.stats.duplicate_bytes += packet.payload as u64 - new;
                self.remember(start);
            } else {
                cx.stats.duplicate_bytes += packet.payload as u64;
            }
        }
    }

    /// Notes that the range around `offset` grew last.
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

    /// Fills in up to three selective acknowledgements; returns how many.
    fn fill_sack(&self, extra: &mut Extra) -> u32 {
        *extra = Extra::default();
        let mut count = 0;
        for &offset in &self.recent {
            if let Some(range) = self.early.containing(offset) {
                if !extra.sack[..count].contains(&range) {
                    extra.sack[count] = range;
                    count += 1;
                }
            }
        }
        debug_assert!(extra.sack[..count].iter().all(|block: &SackBlock| block.start > self.rcv_nxt));
        count as u32
    }

    fn ack_packet(&self, ack: u64, echo: Time, ce: bool, now: Time) -> Packet {
        let mut packet = Packet::new(Kind::Ack, self.framing.wire(0));
        packet.flags = Flags::NONE.with_if(ce, Flags::ECN_ECHO).with_if(ack == self.end, Flags::LAST);
        packet.ack = ack;
        packet.window = self.window;
        packet.sent = now;
        packet.echo = echo;
        packet
    }
}

impl Endpoint for Receiver {
    fn handle_packet(&mut self, packet: &Packet, _: &Extra, cx: &mut Cx<'_>) {
        match packet.kind {
            Kind::Data => self.handle_data(packet, cx),
            Kind::Syn => {
                self.syn_ack = true;
                self.syn_echo = packet.sent;
            }
            _ => {}
        }
    }

    fn handle_timeout(&mut self, cx: &mut Cx<'_>) {
        if cx.now >= self.delay_until {
            self.ack_now = true;
            self.delay_until = Time::MAX;
        }
    }

    fn poll_control(&mut self, extra: &mut Extra, cx: &mut Cx<'_>) -> Option<Packet> {
        if self.syn_ack {
            self.syn_ack = false;
            let mut packet = Packet::new(Kind::SynAck, self.framing.wire(0));
            packet.window = self.window;
            packet.sent = cx.now;
            packet.echo = self.syn_echo;
            return Some(packet);
        }
        if let Some(held) = self.held.take() {
            return Some(self.ack_packet(held.ack, held.echo, held.ce, cx.now));
        }
        if !self.ack_now {
            return None;
        }
        let mut packet = self.ack_packet(self.rcv_nxt, self.echo, self.ce, cx.now);
        if self.sack && !self.early.is_empty() {
            let blocks = self.fill_sack(extra);
            if blocks > 0 {
                packet.flags.set(Flags::EXTRA);
                // Two bytes of option header, two of padding, eight a block (RFC 2018 sec. 3).
                packet.wire = self.framing.wire(4 + 8 * blocks);
            }
        }
        self.acknowledged();
        Some(packet)
    }

    fn wants_transmit(&self, _: Time) -> bool {
        false
    }

    fn poll_transmit(&mut self, _: &mut Cx<'_>) -> Option<Packet> {
        None
    }

    #[inline]
    fn next_timeout(&self) -> Time {
        self.delay_until
    }

    fn is_finished(&self) -> bool {
        self.rcv_nxt == self.end && self.pending == 0 && !self.ack_now && self.held.is_none()
    }
}

impl crate::endpoint::Receiver for Receiver {
    fn delivered(&self) -> u64 {
        self.rcv_nxt
    }
}
