//! The interface of congestion control: the events that a controller hears from the [`Sender`](super::Sender), and the
//! window and pace with which it answers.
//!
//! The sender knows *which* bytes to send: acknowledgements, loss detection, retransmission, timers. A controller
//! knows *how much* may be in flight and, if it likes, at what pace. The sender is generic over its controller, so
//! that calls are direct and can be inlined.

use crate::packet::Header;
use clearway_units::{Rate, Span, Time};
use serde::{Deserialize, Serialize};

/// A window that limits nothing, for controllers that steer by pace alone.
pub const UNLIMITED: u64 = u64::MAX / 4;

/// The limits that a controller sets to the sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// The congestion window, the most bytes in flight. One segment may always be in flight.
    pub cwnd: u64,
    /// The pace of packets, counted in bytes on the wire; `None` if window and NIC alone limit them. The
    /// sender heeds it only if [`Controller::PACES`].
    pub pacing: Option<Rate>,
}

/// The phase of loss recovery in which a sender is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Phase {
    /// No byte is known to be lost.
    Open,
    /// The sender is in fast recovery: loss was inferred from acknowledgements (RFC 5681 sec. 3.2, RFC 6675 sec. 5).
    Recovery,
    /// The timer expired, and bytes that were outstanding then are not acknowledged yet (RFC 5681 sec. 3.1).
    Loss,
}

/// An acknowledgement arrived.
#[derive(Clone, Copy, Debug)]
pub struct AckEvent {
    /// The time of its arrival.
    pub now: Time,
    /// The bytes by which the cumulative acknowledgement advanced.
    pub acked: u64,
    /// The bytes that are newly known to have arrived, in sequence or selectively acknowledged.
    pub delivered: u64,
    /// The round-trip time of the data packet that caused the acknowledgement.
    pub rtt: Span,
    /// The smoothed round-trip time (RFC 6298), this measurement included.
    pub srtt: Span,
    /// The time from the departure of that packet until its acknowledgement left the receiver.
    pub one_way: Span,
    /// The rate that ports on the way granted to that packet (RCP); zero in other transports.
    pub granted: Rate,
    /// True if the acknowledgement echoes a mark.
    pub ecn_echo: bool,
    /// The bytes in flight before this acknowledgement.
    pub in_flight: u64,
    /// True if the window was full since the acknowledged data was sent. Else the application, the receive window or
    /// the NIC was the limit, and the window should not grow (RFC 7661, RFC 9438 sec. 5.8).
    pub cwnd_limited: bool,
    /// The phase in which the acknowledgement arrived.
    pub phase: Phase,
    /// The oldest byte that is not acknowledged, after this acknowledgement.
    pub snd_una: u64,
    /// The offset of the first byte that was never sent.
    pub snd_nxt: u64,
}

/// Congestion was met, as loss or as marks.
#[derive(Clone, Copy, Debug)]
pub struct CongestionEvent {
    /// The time at which the sender learnt of it.
    pub now: Time,
    /// The `FlightSize` of RFC 5681: bytes sent and not cumulatively acknowledged, less those that limited transmit
    /// added.
    pub flight: u64,
    /// The offset of the first byte that was never sent.
    pub snd_nxt: u64,
    /// True for a timeout that follows another one without progress in between.
    pub repeated: bool,
}

/// Sending starts again with nothing in flight after a pause.
#[derive(Clone, Copy, Debug)]
pub struct RestartEvent {
    /// The time of the restart.
    pub now: Time,
    /// The time since the last packet was sent.
    pub idle: Span,
    /// The upper limit to the window from now on, in bytes: RFC 5681 sec. 4.1 after a pause, sec. 3.1 after a lost
    /// `SYN`.
    pub window: u64,
}

/// The congestion control of one flow.
pub trait Controller {
    /// True if [`Limits::pacing`] is ever set; else the sender carries no code for pacing.
    const PACES: bool = false;

    /// Returns the present limits.
    fn limits(&self) -> Limits;

    /// Handles an acknowledgement, in every phase.
    fn on_ack(&mut self, ack: &AckEvent);

    /// Handles loss that was inferred from acknowledgements; called once per window, after `on_ack`.
    fn on_loss(&mut self, event: &CongestionEvent);

    /// Handles echoed marks; called once per window (RFC 3168 sec. 6.1.2), after `on_ack`.
    fn on_ecn(&mut self, event: &CongestionEvent);

    /// Handles a retransmission timeout.
    fn on_timeout(&mut self, event: &CongestionEvent);

    /// Handles the end of fast recovery, when `flight` bytes are outstanding. Called only without selective
    /// acknowledgements, where that moment could release a burst (RFC 6582 sec. 3.2).
    fn on_recovered(&mut self, flight: u64) {
        let _ = flight;
    }

    /// Handles the restart of sending after a pause.
    fn on_restart(&mut self, event: &RestartEvent);

    /// Handles the answer to the SYN, which came after `rtt`. It left the receiver at `sent` and brings the rate
    /// granted to the SYN (RCP; zero in other transports).
    fn on_open(&mut self, rtt: Span, granted: Rate, sent: Time) {
        let _ = (rtt, granted, sent);
    }

    /// Returns the header of a data packet that starts at `offset`.
    #[inline]
    fn data_header(&self, offset: u64) -> Header {
        Header::data(offset)
    }

    /// Returns the header of a SYN.
    fn syn_header(&self) -> Header {
        Header::Syn
    }

    /// Takes a new max-min fair share of the flow; see [`crate::Sender::set_rate`].
    fn set_rate(&mut self, rate: Rate) {
        let _ = rate;
    }
}

/// A congestion window in bytes that moves as RFC 5681 says, shared by the controllers that resemble Reno.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct RenoWindow {
    /// The window, in bytes.
    pub cwnd: u64,
    /// The slow start threshold, in bytes.
    pub ssthresh: u64,
    /// The bytes acknowledged towards the next increase in congestion avoidance (RFC 3465).
    acked: u64,
    /// The segment size, in bytes.
    pub mss: u32,
    /// The least window after a reduction, in bytes.
    pub min: u32,
}

impl RenoWindow {
    /// Returns a window of `initial` segments of `mss` bytes, which only a timeout reduces below `min` segments.
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

    /// Sets the window to `min(ssthresh, max(FlightSize, SMSS) + SMSS)` at the end of fast recovery (RFC 6582 sec. 3.2,
    /// step 3, full acknowledgement, option (1)).
    pub fn recovered(&mut self, flight: u64) {
        let mss = self.mss as u64;
        self.cwnd = self.ssthresh.min(flight.max(mss) + mss);
    }

    /// Reduces the window to at most `window` bytes.
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
