//! PACC: a switch counts the flows that fill its queue, and sends the notifications of [DCQCN](super::dcqcn) itself.
//!
//! Source: Zhong et al., "PACC: Proactive and Accurate Congestion Feedback for RDMA Congestion Control", INFOCOM 2022,
//! sec. III and Algorithm 1. What the paper leaves open is named PACC-1 to PACC-24, in the fields of [`PaccConfig`] and
//! on the protocol's page.

mod params;
mod pi;
mod port;
mod table;

pub use params::{Pacc, PaccParams};
pub use pi::{PiController, PiForm};
pub use port::PaccPort;
pub use table::{Entry, FlowTable};

use clearway_schema::{Auto, choice, declare};
use clearway_units::{Bytes, Rate, Span};
use serde::{Deserialize, Serialize};

choice! {
    /// The rounding of a flow's share of the notifications (PACC-20).
    #[derive(Serialize, Deserialize)]
    pub enum Rounding {
        /// The share is rounded down, as the text says.
        Down = "down",
        /// The share is rounded to the nearest integer, half up: Algorithm 1 prints an assignment without a floor.
        Nearest = "nearest",
    }
}

choice! {
    /// The fate of notifications still to be sent when the next period allots new ones (PACC-11).
    #[derive(Serialize, Deserialize)]
    pub enum Pending {
        /// The new notifications take their place.
        Replace = "replace",
        /// The new notifications are added to them, within [`PaccConfig::n_cnp_max`].
        Add = "add",
    }
}

declare! {
    /// The constants of a port, under the paper's names, and our readings of what the paper leaves open.
    ///
    /// PACC-3, 4, 5, 14, 15, 16 and 17 are about the analysis and the evaluation, and set nothing here. PACC-12 (no
    /// marks, no notifications from receivers), PACC-18 and 21 to 24 (what hosts do) are the transport's. All periods
    /// end together, in this order: the average (PACC-9), the controller, the allotment, the table (PACC-10).
    #[derive(Copy, PartialEq)]
    pub struct PaccConfig {
        /// The period of a port's controller, average and flow table (`T`).
        period: Span = "80 us" in "1 us" to "1 s" from "PACC sec. III-B";
        /// The queue that a port's controller aims at (`Q_th`). `auto`: half of what the port sends in a period, 125 KB
        /// at 25 Gbps.
        q_th: Auto<Bytes> = "auto" in "0 B" to "1 TB" from "PACC sec. V-A, PACC-8";
        /// The average queue up to which a port assumes a microburst (`Q_burst`). `auto`: what the port sends in
        /// `burst`.
        q_burst: Auto<Bytes> = "auto" in "0 B" to "1 TB" from "PACC sec. V-A, PACC-8";
        /// The length of a microburst (`d`): 4 KB at 25 Gbps.
        burst: Span = "1.28 us" in "0 s" to "1 s" from "PACC sec. V-A, PACC-19";
        /// The bytes in a period below which a port forgets a pair of hosts (`B_th`). `auto`: as `q_burst`.
        b_th: Auto<Bytes> = "auto" in "0 B" to "1 TB" from "PACC sec. V-A";
        /// The weight of the present queue of a port in its average (`w`).
        w: f64 = "0.9" in "0.001" to "1" from "PACC sec. V-A";
        /// The number of CNPs that a port sends for each `queue_unit` of queue above `q_th` (`beta_1`).
        beta1: f64 = "0.05" in "0" to "1000" from "PACC sec. V-A";
        /// The number of CNPs that a port sends for each `queue_unit` by which the queue grew in a period (`beta_2`).
        beta2: f64 = "0.1" in "0" to "1000" from "PACC sec. V-A";
        /// The unit in which a port's controller counts the queue.
        queue_unit: Bytes = "1 KB" in "1 B" to "1 GB" from "PACC-1";
        /// The form of a port's controller. `position`: its output is the number of CNPs, as Algorithm 1 prints it;
        /// `incremental`: it is added to that of the period before, as in the paper's analysis.
        form: PiForm = "position" from "PACC Algorithm 1, PACC-2";
        /// The time between two CNPs of a port for the same pair of hosts.
        cnp_gap: Span = "4 us" in "100 ns" to "1 s" from "PACC sec. III-B";
        /// The largest number of congested packets that an entry of the flow table counts.
        n_cong_max: u32 = "255" in "1" to "4294967295" from "PACC Table I: 8 bits; PACC-7";
        /// The largest number of CNPs for a pair of hosts in a period, besides the limit of `period / cnp_gap`.
        n_cnp_max: u32 = "255" in "1" to "4294967295" from "PACC Table I: 8 bits";
        /// The rounding of a pair's share of the CNPs. `down`: down; `nearest`: to the nearest integer, half up.
        rounding: Rounding = "down" from "PACC sec. III-B, PACC-20";
        /// The fate of CNPs not sent when the next period allots new ones. `replace`: the new ones take their place;
        /// `add`: the new ones are added.
        pending: Pending = "replace" from "PACC-11";
        /// The number of pairs of hosts that a port's flow table has room for. Further ones get no CNPs in that period.
        table_entries: u32 = "1024" in "1" to "1000000" from "our choice";
    }
}

impl PaccConfig {
    /// Returns `Q_th` of a port of this rate, in bytes.
    pub fn threshold(&self, rate: Rate) -> u64 {
        self.q_th.set().map_or(rate.bytes_in(self.period).get() / 2, Bytes::get)
    }

    /// Returns `Q_burst` of a port of this rate, in bytes.
    pub fn burst_bytes(&self, rate: Rate) -> u64 {
        self.q_burst.set().map_or(rate.bytes_in(self.burst).get(), Bytes::get)
    }

    /// Returns `B_th` of a port of this rate, in bytes.
    pub fn bytes_min(&self, rate: Rate) -> u64 {
        self.b_th.set().map_or(self.burst_bytes(rate), Bytes::get)
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
        let config = PaccConfig::default();
        let at = |rate| (config.threshold(rate), config.burst_bytes(rate), config.bytes_min(rate));
        assert_eq!(at(Rate::gbps(25)), (125_000, 4_000, 4_000));
        assert_eq!(at(Rate::gbps(100)), (500_000, 16_000, 16_000));
        let set = PaccConfig { q_th: Auto::Set(Bytes::new(7)), q_burst: Auto::Set(Bytes::new(8)), ..config };
        assert_eq!((set.threshold(Rate::gbps(1)), set.bytes_min(Rate::gbps(1))), (7, 8));
    }

    #[test]
    fn at_most_20_notifications_fit_into_a_period_sec_iii_b() {
        assert_eq!(PaccConfig::default().cnps_max(), 20);
        let dense = PaccConfig { cnp_gap: Span::from_ns(100), ..PaccConfig::default() };
        assert_eq!(dense.cnps_max(), 255, "N_cnp has 8 bits");
    }
}
