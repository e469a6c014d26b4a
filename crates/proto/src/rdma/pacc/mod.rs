//! PACC: a switch counts the flows that fill its queue, and sends the notifications of [DCQCN](super::dcqcn) itself.
//!
//! Source: Zhong et al., "PACC: Proactive and Accurate Congestion Feedback for RDMA Congestion Control", INFOCOM 2022,
//! sec. III and Algorithm 1. What the paper leaves open is named PACC-1 to PACC-24, in the fields of [`PaccConfig`] and
//! on the protocol's page.

mod params;
mod pi;
mod port;
mod table;

pub use params::{Pacc, Params};
pub use pi::{PiController, PiForm};
pub use port::PaccPort;
pub use table::{Entry, FlowTable};

use clearway_schema::choice;
use clearway_units::{Bytes, Rate, Span};

choice! {
    /// The rounding of a flow's share of the notifications (PACC-20).
    pub enum Rounding {
        /// The share is rounded down, as the text says.
        Down = "down",
        /// The share is rounded to the nearest integer, half up: Algorithm 1 prints an assignment without a floor.
        Nearest = "nearest",
    }
}

choice! {
    /// The fate of notifications still to be sent when the next period allots new ones (PACC-11).
    pub enum Pending {
        /// The new notifications take their place.
        Replace = "replace",
        /// The new notifications are added to them, within [`PaccConfig::n_cnp_max`].
        Add = "add",
    }
}

/// The constants of a port, under the paper's names, and our readings of what the paper leaves open.
///
/// PACC-3, 4, 5, 14, 15, 16 and 17 are about the analysis and the evaluation, and set nothing here. PACC-12 (no marks,
/// no notifications from receivers), PACC-18 and 21 to 24 (what hosts do) are the transport's.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PaccConfig {
    /// The period `T` of the controller, of the average (PACC-9) and of the table. They end together, in this order: the
    /// average, the controller, the allotment, the table (PACC-10).
    pub period: Span,
    /// The queue `Q_th` at which the controller aims; `None` for half of what the port sends in a period (PACC-8: per port,
    /// 125 KB at 25 Gbps).
    pub q_th: Option<Bytes>,
    /// The queue `Q_burst` of a microburst; `None` for what the port sends in [`PaccConfig::burst`].
    pub q_burst: Option<Bytes>,
    /// The duration `d` of a microburst (PACC-19: 1.28 us, in which 25 Gbps send 4 KB).
    pub burst: Span,
    /// The bytes `B_th` in a period below which an entry is deleted; `None` for `Q_burst`.
    pub b_th: Option<Bytes>,
    /// The weight `w` of the present queue in its average.
    pub w: f64,
    /// The notifications `beta_1` for each unit of queue above `Q_th`.
    pub beta1: f64,
    /// The notifications `beta_2` for each unit by which the queue grew in a period.
    pub beta2: f64,
    /// The unit of the queue in `beta_1` and `beta_2` (PACC-1: KB of 1,000 bytes).
    pub unit: Bytes,
    /// The form of the controller, position or incremental (PACC-2).
    pub form: PiForm,
    /// The time between two notifications for the same pair of hosts.
    pub cnp_gap: Span,
    /// The largest number of congested packets that an entry counts (PACC-7: a field of 8 bits).
    pub n_cong_max: u32,
    /// The largest number of notifications for a pair in a period, besides the limit of `period / cnp_gap` (a field of 8 bits).
    pub n_cnp_max: u32,
    /// The rounding of a pair's share (PACC-20).
    pub rounding: Rounding,
    /// The fate of notifications not sent by the end of a period (PACC-11).
    pub pending: Pending,
    /// The number of pairs for which the table has room. PACC-6: an entry takes 14 bytes by Table I and 21 by the text.
    pub capacity: u32,
}

impl PaccConfig {
    /// The paper's constants.
    pub const PAPER: PaccConfig = PaccConfig {
        period: Span::from_us(80),
        q_th: None,
        q_burst: None,
        burst: Span::from_ns(1280),
        b_th: None,
        w: 0.9,
        beta1: 0.05,
        beta2: 0.1,
        unit: Bytes::new(1_000),
        form: PiForm::Position,
        cnp_gap: Span::from_us(4),
        n_cong_max: 255,
        n_cnp_max: 255,
        rounding: Rounding::Down,
        pending: Pending::Replace,
        capacity: 1_024,
    };

    /// Returns `Q_th` of a port of this rate, in bytes.
    pub fn threshold(&self, rate: Rate) -> u64 {
        self.q_th.map_or(rate.bytes_in(self.period).get() / 2, Bytes::get)
    }

    /// Returns `Q_burst` of a port of this rate, in bytes.
    pub fn burst_bytes(&self, rate: Rate) -> u64 {
        self.q_burst.map_or(rate.bytes_in(self.burst).get(), Bytes::get)
    }

    /// Returns `B_th` of a port of this rate, in bytes.
    pub fn bytes_min(&self, rate: Rate) -> u64 {
        self.b_th.map_or(self.burst_bytes(rate), Bytes::get)
    }

    /// Returns the largest number of notifications for a pair in a period.
    pub fn cnps_max(&self) -> u32 {
        let fit = self.period.as_ps() / self.cnp_gap.as_ps().max(1);
        fit.min(self.n_cnp_max as u64) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_are_125_kb_and_4_kb_at_25_gbps_and_follow_the_rate_pacc_8_and_19() {
        let config = PaccConfig::PAPER;
        let at = |rate| (config.threshold(rate), config.burst_bytes(rate), config.bytes_min(rate));
        assert_eq!(at(Rate::gbps(25)), (125_000, 4_000, 4_000));
        assert_eq!(at(Rate::gbps(100)), (500_000, 16_000, 16_000));
        let set = PaccConfig { q_th: Some(Bytes::new(7)), q_burst: Some(Bytes::new(8)), ..config };
        assert_eq!((set.threshold(Rate::gbps(1)), set.bytes_min(Rate::gbps(1))), (7, 8));
    }

    #[test]
    fn at_most_20_notifications_fit_into_a_period_sec_iii_b() {
        assert_eq!(PaccConfig::PAPER.cnps_max(), 20);
        let dense = PaccConfig { cnp_gap: Span::from_ns(100), ..PaccConfig::PAPER };
        assert_eq!(dense.cnps_max(), 255, "N_cnp has 8 bits");
    }
}
