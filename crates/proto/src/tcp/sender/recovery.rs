//! Loss recovery of the TCP sender: the reactions to acknowledgements and to the retransmission timer.

use super::*;

impl<C: Controller> Sender<C> {
    pub(super) fn handle_ack(&mut self, packet: &Packet, extra: &Extra, cx: &mut Cx<'_>) {
        let Header::Ack { ack, window, rate, echo } = packet.header else { return };
        let now = cx.now;
        // RFC 9293 sec. 3.10.7.4: an acknowledgement of bytes that were never sent is ignored.
        if ack > self.snd_nxt {
            return;
        }
        let rtt = now.saturating_since(echo);
        self.rtt.sample(rtt, self.rto_min);
        let una_before = self.snd_una;
        let acked = ack.saturating_sub(una_before);
        let in_flight = self.in_flight();
        let mut delivered = acked;
        if ack >= una_before {
            self.snd_una = ack;
            self.peer_window = window;
        }
        if acked > 0 && !self.scoreboard.is_empty() {
            delivered -= self.scoreboard.remove_below(ack);
        }
        let mut sacked = 0;
        if self.sack && packet.flags.has(Flags::EXTRA) {
            for block in extra.sack() {
                let (start, end) = (block.start.max(self.snd_una), block.end.min(self.snd_nxt));
                if start < end {
                    sacked += self.scoreboard.insert(start, end);
                }
            }
            delivered += sacked;
        }
        if packet.flags.has(Flags::LAST) {
            self.last_acked = true;
            self.last_sent_flag = true;
        }

        let one_way = packet.sent.saturating_since(echo);
        let marked = self.ecn != Ecn::Off && packet.flags.has(Flags::ECN_ECHO);
        self.control.on_ack(&AckEvent {
            now,
            acked,
            delivered,
            rtt,
            srtt: self.rtt.srtt(),
            one_way,
            granted: rate,
            ecn_echo: marked,
            in_flight,
            cwnd_limited: una_before < self.full_until,
            phase: self.phase,
            snd_una: self.snd_una,
            snd_nxt: self.snd_nxt,
        });

        let mut restart_timer = acked > 0;
        if acked > 0 {
            self.dupacks = 0;
            self.rtt.backoff = 0;
            if self.phase == Phase::Open {
                self.inflation = 0;
            } else if self.snd_una >= self.recover {
                self.leave_recovery();
            } else if self.phase == Phase::Recovery && !self.sack {
                restart_timer = self.partial_ack(acked);
            }
        } else if ack == self.snd_una && self.snd_una < self.snd_nxt && (sacked > 0 || !self.sack) {
            self.dupacks += 1;
            // Limited transmit (RFC 3042) before recovery, inflation (RFC 6582 sec. 3.2, step 2) within.
            let limited = self.phase == Phase::Open && self.dupacks <= self.dupthresh;
            if !self.sack && (limited || self.phase == Phase::Recovery) {
                self.inflation += self.mss();
            }
        }
        if !self.scoreboard.is_empty() {
            self.lost_below = self.lost_below.max(self.scoreboard.lost_below(self.dupthresh, self.mss()));
        }
        self.set_pipe();
        if self.phase == Phase::Open && self.snd_una < self.snd_nxt {
            let suspicious = self.dupacks >= self.dupthresh || self.lost_below > self.snd_una;
            if suspicious && !(self.wary && self.snd_una == self.recover) {
                self.enter_recovery(now);
            }
        }
        if marked && self.phase == Phase::Open && self.snd_una > self.ecn_recover {
            self.control.on_ecn(&self.congestion(now));
            self.reduced();
        }

        if !self.is_outstanding() {
            self.rto_at = Time::MAX;
        } else if restart_timer {
            self.rto_at = now.saturating_add(self.rtt.rto());
        }
    }

    /// Notes that the window was reduced: that answers the marks of all data sent so far, and the receiver is told.
    pub(super) fn reduced(&mut self) {
        self.ecn_recover = self.snd_nxt;
        self.cwr = self.ecn == Ecn::Classic;
    }

    /// Enters fast recovery by a fast retransmit (RFC 6582 sec. 3.2, step 2; RFC 6675 sec. 5, step 4).
    pub(super) fn enter_recovery(&mut self, now: Time) {
        self.control.on_loss(&self.congestion(now));
        self.reduced();
        self.phase = Phase::Recovery;
        self.recover = self.snd_nxt;
        self.rescued = false;
        self.wary = false;
        self.rtx_next = self.snd_una;
        self.lose_first_segment();
    }

    /// Takes the first segment outstanding for lost and sends it again at once.
    pub(super) fn lose_first_segment(&mut self) {
        let limit = (self.snd_una + self.mss()).min(self.snd_nxt);
        self.lost_below = self.lost_below.max(limit);
        self.force = true;
        self.set_pipe();
    }

    /// Handles progress within recovery without SACK: the next segment is lost too (RFC 6582 sec. 3.2, step 3). Returns
    /// true if the timer restarts, which it does only the first time, so that many losses end in a timeout
    /// ("impatient").
    pub(super) fn partial_ack(&mut self, acked: u64) -> bool {
        let mss = self.mss();
        self.inflation = self.inflation.saturating_sub(acked);
        if acked >= mss {
            self.inflation += mss;
        }
        self.rtx_next = self.snd_una;
        self.lose_first_segment();
        !std::mem::replace(&mut self.rescued, true)
    }

    /// Returns the segment that may leave now while bytes are lost, or fast recovery goes on.
    #[cold]
    pub(super) fn next_in_recovery(&self) -> Option<Segment> {
        let again = |(start, end): (u64, u64)| {
            let len = self.segment_max().min(end - start) as u32;
            Segment { start, len, kind: SegmentKind::Retransmission }
        };
        // Rule 1: lost bytes.
        if self.rtx_next < self.lost_below
            && let Some(lost) = self.scoreboard.gap(self.rtx_next, self.lost_below).map(again)
        {
            return (self.force || self.fits(lost.len)).then_some(lost);
        }
        // Rule 2: new bytes.
        if let Some(new) = self.next_new() {
            return (new.kind == SegmentKind::End || self.fits(new.len)).then_some(new);
        }
        // Rules 3 and 4: bytes that may be lost, while there is nothing better to do.
        if self.phase != Phase::Recovery || !self.sack || self.scoreboard.is_empty() {
            return None;
        }
        let sacked_end = self.scoreboard.end();
        let doubtful = match self.scoreboard.gap(self.rtx_next, sacked_end) {
            Some(gap) => again(gap),
            None if !self.rescued && sacked_end < self.snd_nxt => {
                let len = self.segment_max().min(self.snd_nxt - sacked_end);
                Segment { start: self.snd_nxt - len, len: len as u32, kind: SegmentKind::Rescue }
            }
            None => return None,
        };
        self.fits(doubtful.len).then_some(doubtful)
    }

    pub(super) fn leave_recovery(&mut self) {
        if self.phase == Phase::Loss {
            self.wary = !self.sack;
        } else if !self.sack {
            self.control.on_recovered(self.snd_nxt - self.snd_una);
        }
        self.phase = Phase::Open;
        self.force = false;
        self.inflation = 0;
        self.rtx_next = self.snd_una;
        self.lost_below = self.snd_una;
    }

    /// Handles a retransmission timeout (RFC 6298 sec. 5.4 to 5.7, RFC 5681 sec. 3.1, RFC 6675 sec. 5.1).
    pub(super) fn expire(&mut self, cx: &mut Cx<'_>) {
        let now = cx.now;
        if self.snd_una < self.snd_nxt {
            cx.stats.rare_mut().timeouts += 1;
            self.control.on_timeout(&self.congestion(now));
            self.reduced();
            self.phase = Phase::Loss;
            self.recover = self.snd_nxt;
            self.dupacks = 0;
            self.inflation = 0;
            self.force = false;
            self.rtx_next = self.snd_una;
            // All that is not on the scoreboard counts as lost. The receiver never drops what it reported, so the
            // scoreboard stays (RFC 6675 sec. 5.1).
            self.lost_below = self.snd_nxt;
            self.set_pipe();
        }
        self.last_sent_flag &= self.last_acked;
        self.rtt.backoff = self.rtt.backoff.saturating_add(1);
        self.rto_at = now.saturating_add(self.rtt.rto());
    }
}
