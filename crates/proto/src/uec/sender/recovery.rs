//! Loss recovery: what a sender does when it hears nothing.

use super::Sender;
use crate::endpoint::Cx;
use crate::entropy::Feedback;
use crate::uec::records::State;
use clearway_units::{Span, Time};

impl Sender {
    /// Handles the loss of all packets of which nothing was heard for too long, and finds the time of the next timeout.
    pub(super) fn expire(&mut self, cx: &mut Cx<'_>) {
        self.rto_at = Time::MAX;
        for place in self.deadlines.overdue(&self.records, &self.config, cx.now) {
            self.time_out(place, cx);
        }
        self.rto_at = self.rto_at.min(self.deadlines.next(&self.records, &self.config));
    }

    /// Handles the loss of a packet of which nothing was heard for too long.
    fn time_out(&mut self, place: usize, cx: &mut Cx<'_>) {
        let (now, (record, state)) = (cx.now, self.records.get(place));
        if state == State::Asking {
            let entropy = record.entropy;
            self.records.repeat(place, entropy, now);
            self.deadlines.begin_again(place, &self.records, &self.config);
            self.request = Some(self.records.psn(place));
            cx.stats.rare_mut().repeated_signals += 1;
            return;
        }
        if let Some(sleek) = &mut self.sleek
            && sleek.recovers()
        {
            sleek.look_again(self.records.psn(place));
            self.records.restart(place, now);
            self.deadlines.begin_again(place, &self.records, &self.config);
            return;
        }
        cx.stats.rare_mut().timeouts += 1;
        let entropy = if self.config.timeout_names_path { self.records.get(place).0.entropy } else { 0 };
        self.feed(Some(entropy), Feedback::Timeout, now);
        let others_wait = self.records.lost() > 0;
        let size = self.size(place);
        if let Some(window) = &mut self.window {
            window.on_timeout(size.into());
        }
        self.lose(place);
        let asks = if others_wait { self.credit.is_some() } else { !self.may_send() };
        if let Some(credit) = &mut self.credit
            && others_wait
        {
            credit.stop_speculating();
        }
        if asks {
            self.ask(cx);
        }
    }

    /// Sends a pull request, unless one is on its way or the last one left within a round trip.
    pub(super) fn ask(&mut self, cx: &mut Cx<'_>) {
        if cx.now < self.request_at || self.records.asks() {
            return;
        }
        let entropy = self.entropy(cx.rng, cx.now);
        self.request = Some(self.records.push(0, entropy, State::Asking, cx.now));
        self.request_at = cx.now.saturating_add(self.config.network_rtt);
        self.rto_at = self.rto_at.min(cx.now.saturating_add(self.config.rto_after(0)));
    }

    /// Sets the timer after an input: for what is on its way or, if nothing is and nothing may leave, to ask for pulls.
    pub(super) fn arm(&mut self, now: Time) {
        if self.records.awaits() {
            return;
        }
        self.rto_at = Time::MAX;
        if self.has_work() && !self.may_send() {
            let patience = self.config.rto.saturating_mul(4 << self.stalls.min(20));
            self.rto_at = now.saturating_add(patience.min(self.config.rto_max()));
        }
    }

    /// Lets SLEEK find lost packets after an acknowledgement, by the number of packets that have arrived behind the first
    /// missing one and, if it was the answer to a probe, by its delay.
    pub(super) fn recover(&mut self, held: u16, of_probe: Option<Span>, now: Time) {
        let has_backlog = self.has_backlog();
        let (Some(sleek), Some(window)) = (&mut self.sleek, &self.window) else { return };
        let payload_max = self.config.framing.payload_max;
        sleek.schedule(!self.records.is_empty() || has_backlog, has_backlog, window, now);
        let Some(span) = sleek.on_ack(&self.records, window, payload_max, held, of_probe) else { return };
        for place in span {
            if self.records.get(place).1 == State::Flying {
                self.lose(place);
            }
        }
    }
}
