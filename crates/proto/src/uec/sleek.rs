//! SLEEK: how a sender finds lost packets in a network without trimming. Many packets behind a missing one, or the answer to a
//! probe that met no queue, mean that it is lost. Source: uet-htsim 40ccb05.

use super::records::Records;
use super::window::Nscc;
use clearway_units::{Span, Time};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// The state of SLEEK at a sender.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Sleek {
    /// The number of the packet after the last one that had been sent when recovery began, while it lasts.
    recover_to: Option<u32>,
    /// The number of the first packet that this recovery has not looked at.
    next: u32,
    /// The time at which a probe is to leave.
    probe_at: Time,
}

impl Default for Sleek {
    fn default() -> Sleek {
        Sleek { recover_to: None, next: 0, probe_at: Time::MAX }
    }
}

impl Sleek {
    /// Returns true while lost packets are sent again, whatever the window says.
    pub fn recovers(&self) -> bool {
        self.recover_to.is_some()
    }

    /// Returns the time at which a probe is to leave.
    pub fn next_timeout(&self) -> Time {
        self.probe_at
    }

    /// Looks at this packet and those behind it once more, if it did before: what was sent again was lost again.
    pub fn look_again(&mut self, psn: u32) {
        if (psn.wrapping_sub(self.next) as i32) < 0 {
            self.next = psn;
        }
    }

    /// Sets the time of the next probe after an acknowledgement, if anything is missing.
    pub fn schedule(&mut self, is_missing: bool, has_backlog: bool, window: &Nscc, now: Time) {
        let base_rtt = window.base_rtt();
        let pause = if has_backlog {
            base_rtt.saturating_mul(3)
        } else {
            base_rtt.saturating_add(window.config().target_qdelay)
        };
        self.probe_at = if is_missing { now.saturating_add(pause) } else { Time::MAX };
    }

    /// Returns true if a probe is to leave, and sets the time of the one after it.
    pub fn is_due(&mut self, window: &Nscc, now: Time) -> bool {
        let is_due = now >= self.probe_at;
        if is_due {
            self.probe_at = now.saturating_add(window.base_rtt().saturating_mul(5).max(Span::from_ns(1)));
        }
        is_due
    }

    /// Handles an acknowledgement that tells of `held` packets behind the first missing one and, if it answers a probe, of the
    /// delay. Returns the packets that are lost if they have not arrived, as distances from the first record.
    pub fn on_ack(
        &mut self,
        records: &Records,
        window: &Nscc,
        payload_max: u32,
        held: u16,
        of_probe: Option<Span>,
    ) -> Option<Range<usize>> {
        let (base, len, mss) = (records.base(), records.len() as u32, f64::from(payload_max));
        if of_probe.is_some_and(|delay| delay < window.config().target_qdelay) {
            (self.recover_to, self.next) = (Some(records.next()), base);
        }
        if self.recover_to.is_some_and(|to| to.wrapping_sub(base) as i32 <= 0) {
            self.recover_to = None;
        }
        if self.recover_to.is_none() {
            let threshold = ((1.5 * window.cwnd()).min(window.maxwnd()).max(5.0 * mss) / mss).floor();
            if f64::from(held) < threshold || records.lost() > 0 {
                return None;
            }
            (self.recover_to, self.next) = (Some(records.next()), base);
        }
        let to = self.recover_to?.wrapping_sub(base).min(len).min((window.cwnd() / mss) as u32);
        let from = (self.next.wrapping_sub(base) as i32).max(0) as u32;
        self.next = base.wrapping_add(to.max(from));
        (from < to).then_some(from as usize..to as usize)
    }
}
