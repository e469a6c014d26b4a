//! The round-trip time and the retransmission timeout that follows from it (RFC 6298).

use clearway_units::Span;
use serde::{Deserialize, Serialize};

/// The largest retransmission timeout (RFC 6298 sec. 2.5 asks for at least 60 s).
pub(super) const RTO_MAX: Span = Span::from_secs(60);

/// The estimator of RFC 6298 sec. 2, with a clock granularity `G` of nothing.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Rtt {
    srtt: Span,
    rttvar: Span,
    /// The timeout before the first measurement; afterwards the least timeout.
    floor: Span,
    /// The number of times that the timeout was doubled (RFC 6298 sec. 5.5).
    pub(super) backoff: u8,
}

impl Rtt {
    pub(super) fn new(rto_initial: Span) -> Rtt {
        Rtt { srtt: Span::ZERO, rttvar: Span::ZERO, floor: rto_initial, backoff: 0 }
    }

    /// Returns the smoothed round-trip time; zero before the first measurement.
    #[inline]
    pub(super) fn srtt(&self) -> Span {
        self.srtt
    }

    /// Takes a measurement (sec. 2.2 and 2.3).
    #[inline]
    pub(super) fn sample(&mut self, rtt: Span, rto_min: Span) {
        if self.srtt.is_zero() {
            self.srtt = rtt;
            self.rttvar = rtt / 2;
            self.floor = rto_min;
        } else {
            let error = if self.srtt > rtt { self.srtt - rtt } else { rtt - self.srtt };
            let (srtt, rttvar) = (self.srtt.as_ps(), self.rttvar.as_ps());
            // Shifts round down: a variance that is constant must be able to reach zero.
            self.rttvar = Span::from_ps(rttvar - (rttvar >> 2) + (error.as_ps() >> 2));
            self.srtt = Span::from_ps(srtt - (srtt >> 3) + (rtt.as_ps() >> 3));
        }
    }

    /// Returns the retransmission timeout, back-off included (sec. 2.3 to 2.5, 5.5).
    #[inline]
    pub(super) fn rto(&self) -> Span {
        let rto = (self.srtt + self.rttvar * 4).max(self.floor);
        if self.backoff == 0 {
            return rto.min(RTO_MAX);
        }
        Span::from_ps(rto.as_ps().saturating_mul(1 << self.backoff.min(32))).min(RTO_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(us: u64) -> Span {
        Span::from_us(us)
    }

    #[test]
    fn before_any_measurement_the_timeout_is_the_initial_one_rfc_6298_section_2_1() {
        assert_eq!(Rtt::new(Span::from_secs(1)).rto(), Span::from_secs(1));
    }

    #[test]
    fn the_first_measurement_gives_three_times_itself_rfc_6298_section_2_2() {
        let mut rtt = Rtt::new(Span::from_secs(1));
        rtt.sample(us(100), us(10));
        assert_eq!((rtt.srtt(), rtt.rto()), (us(100), us(300)));
    }

    #[test]
    fn later_measurements_weigh_an_eighth_and_a_quarter_rfc_6298_section_2_3() {
        let mut rtt = Rtt::new(Span::from_secs(1));
        rtt.sample(us(80), us(10));
        rtt.sample(us(160), us(10));
        // rttvar = 3/4 * 40 + 1/4 * |80 - 160| = 50, srtt = 7/8 * 80 + 1/8 * 160 = 90
        assert_eq!((rtt.srtt(), rtt.rto()), (us(90), us(90 + 4 * 50)));
    }

    #[test]
    fn the_timeout_never_falls_below_its_minimum_rfc_6298_section_2_4() {
        let mut rtt = Rtt::new(Span::from_secs(1));
        (0..1000).for_each(|_| rtt.sample(us(80), Span::from_ms(10)));
        assert_eq!(rtt.rto(), Span::from_ms(10));
    }

    #[test]
    fn back_off_doubles_up_to_a_minute_rfc_6298_section_5_5() {
        let mut rtt = Rtt::new(Span::from_secs(1));
        rtt.backoff = 3;
        assert_eq!(rtt.rto(), Span::from_secs(8));
        rtt.backoff = 200;
        assert_eq!(rtt.rto(), RTO_MAX);
    }
}
