//! The plug for congestion control: what a controller hears from the [`Sender`](super::Sender), and what it
//! answers.
//!
//! The sender knows *which* bytes to send: acknowledgements, loss detection, retransmission, timers. A controller
//! knows *how much* may be in flight and, if it likes, at what pace. The sender is generic over its controller, so
//! that calls are direct and can be inlined.

use crate::packet::Header;
use clearway_units::{Rate, Span, Time};

/// A window that limits nothing, for controllers that steer by pace alone.
pub const UNLIMITED: u64 = u64::MAX / 4;

/// What a controller allows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Congestion window: most bytes in flight. One segment may always be in flight.
    pub cwnd: u64,
    /// Pace of packets in bytes on the wire; `None`: as fast as the window and the network card allow. Heeded if
    /// [`Controller::PACES`].
    pub pacing: Option<Rate>,
}

/// Where the sender stands with lost data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// Nothing is known to be lost.
    Open,
    /// Fast recovery: loss was inferred from acknowledgements (RFC 5681 sec. 3.2, RFC 6675 sec. 5).
    Recovery,
    /// The timer expired, and what was outstanding then is not all acknowledged yet (RFC 5681 sec. 3.1).
    Loss,
}

/// An acknowledgement arrived.
#[derive(Clone, Copy, Debug)]
pub struct AckEvent {
    /// When.
    pub now: Time,
    /// Bytes by which the cumulative acknowledgement advanced.
    pub acked: u64,
    /// Bytes now known to have arrived and not known before: in sequence or selectively.
    pub delivered: u64,
    /// Round-trip time of the data packet that caused the acknowledgement.
    pub rtt: Span,
    /// Smoothed round-trip time (RFC 6298), this measurement included.
    pub srtt: Span,
    /// From the departure of that packet until its acknowledgement left.
    pub one_way: Span,
    /// The rate that ports on the way granted to that packet (RCP); zero in other transports.
    pub granted: Rate,
    /// Whether it echoes a mark.
    pub ecn_echo: bool,
    /// Bytes in flight before this acknowledgement.
    pub in_flight: u64,
    /// Whether the window was full since the acknowledged data was sent. If not, the window limits nothing and
    /// should not grow (RFC 7661, RFC 9438 sec. 5.8): application, receive window or network card do.
    pub cwnd_limited: bool,
    /// The phase in which it arrived.
    pub phase: Phase,
    /// Oldest byte not acknowledged, after this acknowledgement.
    pub snd_una: u64,
    /// First byte never sent.
    pub snd_nxt: u64,
}

/// Congestion was met: loss or marks.
#[derive(Clone, Copy, Debug)]
pub struct CongestionEvent {
    /// When.
    pub now: Time,
    /// `FlightSize` of RFC 5681: bytes sent and not cumulatively acknowledged, what limited transmit added left
    /// out.
    pub flight: u64,
    /// First byte never sent.
    pub snd_nxt: u64,
    /// For a timeout: whether another one came before it without progress in between.
    pub repeated: bool,
}

/// Sending starts again with nothing in flight after a pause.
#[derive(Clone, Copy, Debug)]
pub struct RestartEvent {
    /// When.
    pub now: Time,
    /// Since the last packet was sent.
    pub idle: Span,
    /// Upper limit to the window from now on: RFC 5681 sec. 4.1 after a pause, sec. 3.1 after a lost `SYN`.
    pub window: u64,
}

/// Congestion control of one flow.
pub trait Controller {
    /// Whether [`Limits::pacing`] is ever set. If not, the sender carries no pacing code.
    const PACES: bool = false;

    /// What it allows now.
    fn limits(&self) -> Limits;

    /// An acknowledgement arrived; called in every phase.
    fn on_ack(&mut self, ack: &AckEvent);

    /// Loss was inferred from acknowledgements: once per window. Called after `on_ack`.
    fn on_loss(&mut self, event: &CongestionEvent);

    /// Marks were echoed: once per window (RFC 3168 sec. 6.1.2). Called after `on_ack`.
    fn on_ecn(&mut self, event: &CongestionEvent);

    /// The retransmission timer expired.
    fn on_timeout(&mut self, event: &CongestionEvent);

    /// All that was outstanding when loss was inferred is acknowledged; `flight` bytes are outstanding now. Called
    /// only where that moment could release a burst: without selective acknowledgements (RFC 6582 sec. 3.2).
    fn on_recovered(&mut self, flight: u64) {
        let _ = flight;
    }

    /// Sending starts again after a pause.
    fn on_restart(&mut self, event: &RestartEvent);

    /// The connection stands: the SYN was answered after `rtt` by a packet that left the receiver at `sent` and that
    /// brings the rate granted to the SYN (RCP; zero in other transports).
    fn on_open(&mut self, rtt: Span, granted: Rate, sent: Time) {
        let _ = (rtt, granted, sent);
    }

    /// The header of a data packet that starts at `offset`.
    #[inline]
    fn data_header(&self, offset: u64) -> Header {
        Header::data(offset)
    }

    /// The header of a SYN.
    fn syn_header(&self) -> Header {
        Header::Syn
    }

    /// The flow's max-min fair share changed; see [`crate::Sender::set_rate`].
    fn set_rate(&mut self, rate: Rate) {
        let _ = rate;
    }
}

/// A congestion window in bytes that moves as RFC 5681 says: what Reno-like controllers share.
#[derive(Clone, Copy, Debug)]
pub struct RenoWindow {
    /// The window.
    pub cwnd: u64,
    /// Slow start threshold.
    pub ssthresh: u64,
    /// Bytes acknowledged towards the next increase in congestion avoidance (RFC 3465).
    acked: u64,
    /// Segment size.
    pub mss: u32,
    /// Least window after a reduction, in bytes.
    pub min: u32,
}

impl RenoWindow {
    /// A window of `initial` segments of `mss` bytes, never reduced below `min` segments but by a timeout.
    pub fn new(mss: u32, initial: u32, min: u32) -> RenoWindow {
        RenoWindow {
            cwnd: mss as u64 * initial as u64,
            ssthresh: u64::MAX,
            acked: 0,
            mss,
            min: mss.saturating_mul(min),
        }
    }

    /// Grows by slow start or congestion avoidance with byte counting (RFC 5681 sec. 3.1, RFC 3465), unless in
    /// recovery, on an echo of a mark, or where the window was not the limit.
    #[inline]
    pub fn grow(&mut self, ack: &AckEvent) {
        if ack.acked == 0 || !ack.cwnd_limited || ack.ecn_echo || ack.phase == Phase::Recovery {
            return;
        }
        let mss = self.mss as u64;
        if self.cwnd < self.ssthresh {
            // RFC 3465: L = 2 SMSS, so that delayed acknowledgements double the window too; 1 after a timeout.
            let limit = if ack.phase == Phase::Loss { mss } else { 2 * mss };
            self.cwnd = (self.cwnd + ack.acked.min(limit)).min(self.ssthresh);
        } else {
            self.acked += ack.acked;
            if self.acked >= self.cwnd {
                self.acked -= self.cwnd;
                self.cwnd += mss;
            }
        }
    }

    /// Reduces window and threshold to `target`, or to the least window.
    pub fn reduce(&mut self, target: u64) {
        self.ssthresh = target.max(self.min as u64);
        self.cwnd = self.ssthresh;
        self.acked = 0;
    }

    /// Falls back to one segment, with threshold `target` (RFC 5681 sec. 3.1). A repeated timeout of the same
    /// segment leaves the threshold.
    pub fn collapse(&mut self, target: u64, repeated: bool) {
        if !repeated {
            self.ssthresh = target.max(self.min as u64);
        }
        self.cwnd = self.mss as u64;
        self.acked = 0;
    }

    /// `min(ssthresh, max(FlightSize, SMSS) + SMSS)`: RFC 6582 sec. 3.2, step 3, full acknowledgement, option (1).
    pub fn recovered(&mut self, flight: u64) {
        let mss = self.mss as u64;
        self.cwnd = self.ssthresh.min(flight.max(mss) + mss);
    }

    /// Falls to at most `window`.
    pub fn restart(&mut self, window: u64) {
        self.cwnd = self.cwnd.min(window);
        self.acked = 0;
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// An acknowledgement of `acked` bytes in the open phase with a full window and an RTT of 100 us.
    pub(in crate::tcp) fn ack(acked: u64) -> AckEvent {
        AckEvent {
            now: Time::ZERO,
            acked,
            delivered: acked,
            rtt: Span::from_us(100),
            srtt: Span::from_us(100),
            one_way: Span::from_us(50),
            granted: Rate::ZERO,
            ecn_echo: false,
            in_flight: 0,
            cwnd_limited: true,
            phase: Phase::Open,
            snd_una: acked,
            snd_nxt: acked,
        }
    }

    /// Congestion with `flight` bytes outstanding.
    pub(in crate::tcp) fn congestion(flight: u64) -> CongestionEvent {
        CongestionEvent { now: Time::ZERO, flight, snd_nxt: flight, repeated: false }
    }

    #[test]
    fn slow_start_grows_by_what_was_acknowledged_but_at_most_two_segments_rfc_3465_section_2_2() {
        let mut window = RenoWindow::new(1000, 2, 2);
        window.grow(&ack(1000));
        assert_eq!(window.cwnd, 3000);
        window.grow(&ack(5000));
        assert_eq!(window.cwnd, 5000);
        window.grow(&AckEvent { phase: Phase::Loss, ..ack(5000) });
        assert_eq!(window.cwnd, 6000, "after a timeout L = 1 SMSS (RFC 3465 sec. 2.3)");
    }

    #[test]
    fn congestion_avoidance_grows_by_a_segment_per_window_rfc_5681_section_3_1() {
        let mut window = RenoWindow::new(1000, 10, 2);
        window.reduce(10_000);
        (0..9).for_each(|_| window.grow(&ack(1000)));
        assert_eq!(window.cwnd, 10_000);
        window.grow(&ack(1000));
        assert_eq!(window.cwnd, 11_000);
    }

    #[test]
    fn a_window_that_limits_nothing_does_not_grow_rfc_7661() {
        let mut window = RenoWindow::new(1000, 10, 2);
        window.grow(&AckEvent { cwnd_limited: false, ..ack(1000) });
        window.grow(&AckEvent { phase: Phase::Recovery, ..ack(1000) });
        window.grow(&AckEvent { ecn_echo: true, ..ack(1000) });
        assert_eq!(window.cwnd, 10_000);
    }

    #[test]
    fn a_repeated_timeout_leaves_the_threshold_rfc_5681_section_3_1() {
        let mut window = RenoWindow::new(1000, 10, 2);
        window.collapse(5000, false);
        assert_eq!((window.cwnd, window.ssthresh), (1000, 5000));
        window.collapse(500, true);
        assert_eq!(window.ssthresh, 5000);
    }

    #[test]
    fn the_threshold_is_never_below_two_segments_rfc_5681_equation_4() {
        let mut window = RenoWindow::new(1000, 10, 2);
        window.reduce(500);
        assert_eq!((window.cwnd, window.ssthresh), (2000, 2000));
    }
}
