//! What a window remembers, for those who compare it with another implementation.

use super::Nscc;
use clearway_units::{Span, Time};

/// What a window remembers.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct NsccState {
    /// The window.
    pub cwnd_bytes: f64,
    /// The average delay.
    pub average_delay_ps: f64,
    /// The bytes that arrived in this period of quick adapt.
    pub achieved_bytes: u64,
    /// The bytes that arrived since increases last came into force.
    pub received_bytes: f64,
    /// The increases that are not yet in force, in bytes of window times bytes.
    pub increase_bytes_squared: f64,
    /// The bytes of which the sender heard since the last quick adapt.
    pub ignored_bytes: i64,
    /// The bytes of which nothing is to be learned.
    pub to_ignore_bytes: i64,
    /// The bytes that arrived in a row without delay.
    pub fast_bytes: f64,
    /// The end of this period of quick adapt.
    pub qa_end: Time,
    /// The time at which the last `eta` was added.
    pub adjusted: Time,
    /// The time of the last cut.
    pub cut: Time,
    /// The window from before a penalty, which is to come back.
    pub saved_cwnd_bytes: Option<f64>,
    /// True if a packet was cut in this period of quick adapt.
    pub lost: bool,
    /// True while the window grows fast.
    pub is_fast: bool,
    /// The base round-trip time.
    pub base_rtt: Span,
}

impl Nscc {
    /// Returns what the window remembers.
    pub fn state(&self) -> NsccState {
        NsccState {
            cwnd_bytes: self.cwnd,
            average_delay_ps: self.average,
            achieved_bytes: self.achieved,
            received_bytes: self.received,
            increase_bytes_squared: self.increase,
            ignored_bytes: self.ignored,
            to_ignore_bytes: self.to_ignore,
            fast_bytes: self.fast_bytes,
            qa_end: self.qa_end,
            adjusted: self.adjusted,
            cut: self.cut,
            saved_cwnd_bytes: self.saved,
            lost: self.lost,
            is_fast: self.is_fast,
            base_rtt: self.base_rtt,
        }
    }
}
