//! EC4: a credit-based transport that makes room for traffic without credits, guided by ECN marks on its data.
//!
//! The source is Wei, Dong, Huang, Xiao, "EC4: ECN and Credit-Reservation Converged Congestion Control". The page
//! `docs/protocols/ec4.md` lists our readings of it and the deviations.
//!
//! Both ends, the ports, credits, requests, stops and recovery are those of [`crate::expresspass`]. EC4 differs in two
//! points: its data takes part in ECN, in a queue that it shares with DCTCP, and the credit rate follows [`Law`].

mod law;

pub use law::{Constants, CreditBlock, CreditIncrease, EcnIncrease, Law, Mode, OmegaInHigh};

use crate::endpoint::Env;
use crate::expresspass::{Algorithm1, CreditParams, CreditTransport, link_rate};
use crate::transport::Checked;
use clearway_schema::{Profile, declare, told};

declare! {
    /// The parameters of `ec4`.
    pub struct Ec4Params {
        /// The number of unmarked update periods beyond the first before HIGH mode (mode_threshold). With 3, the fifth
        /// in a row is in HIGH mode.
        mode_threshold: u32 = "3" in "0" to "1000000" from "EC4 III-C";
        /// The weight of a new share of marked packets in its moving average (g).
        g: f64 = "0.0625" in "0" to "1" from "EC4 III-C";
        /// The share of marked packets up to which there is no congestion (target_ECN_ratio).
        target_ecn_ratio: f64 = "0" in "0" to "1" from "EC4 III-C";
        /// The loss of credits up to which LOW mode sees no congestion (target_loss).
        target_loss: f64 = "0" in "0" to "0.9" from "EC4 III-C";
        /// The aggressiveness factor that LOW mode approaches while no credits are lost (omega_mid).
        omega_mid: f64 = "0.05" in "0.0001" to "1" from "EC4 III-C; 0.04 to 0.06 are fair";
        /// The first aggressiveness factor (omega_init).
        omega_init: f64 = "0.0625" in "0.0001" to "1" from "our choice: EC4 states none; w_init of E17 6.3";
        /// The least aggressiveness factor, in both modes (omega_min).
        omega_min: f64 = "0.01" in "0.0001" to "1" from "our choice: EC4 states none; w_min of E17 3.2";
        /// The aggressiveness factor that HIGH mode approaches (w_max of ExpressPass).
        w_max: f64 = "0.5" in "0.0001" to "1" from "E17 Algorithm 1";
        /// The loss of credits up to which HIGH mode sees no congestion at rate zero (target_loss of ExpressPass).
        high_target_loss: f64 = "0.1" in "0" to "0.9" from "E17 3.3";
        /// The amount by which an unmarked period of LOW mode raises the rate: with or without the average of marks.
        ecn_increase: EcnIncrease = "target" from "our choice: as printed, marks speed the increase (EC4-4)";
        /// The aggressiveness factor of HIGH mode: that of LOW mode or one of its own.
        omega_in_high: OmegaInHigh = "shared" from "our choice: EC4 names one omega (EC4-2)";
        /// The modes that apply the credit block, which the paper prints after both modes.
        credit_block: CreditBlock = "low-only" from "our choice: Algorithm 1 sets no tmp_rate in HIGH mode (EC4-1)";
        /// The periods of LOW mode in which the credit block raises the rate if no credits were lost.
        credit_increase: CreditIncrease = "unmarked" from "our choice: EC4 III has marks reduce the rate (EC4-17)";
        /// The initial credit rate as a share of the link's.
        initial_rate: f64 = "1" in "0.0001" to "1" from "EC4 III-C: initially at the maximum link capacity (EC4-5)";
        ..credit: CreditParams [
            update_period, rtt_gain, jitter, jitter_around, randomize_size, idle_timeout, retry, handshake,
            reorder_window, reorder_credits, credit_queue, bucket,
        ] {
            update_period from "EC4 III-B speaks of RTTs; E17 Algorithm 1",
            credit_queue from "EC4 III-A: as ExpressPass; E17 3.3",
            bucket from "EC4 III-A: as ExpressPass; E17 3.1",
        };
    }
}

/// The transport `ec4`.
pub struct Ec4;

impl CreditTransport for Ec4 {
    type Params = Ec4Params;
    type Law = Law;
    const NAME: &'static str = "ec4";
    const SUMMARY: &'static str = "Credits that share a data queue with DCTCP, by marks on their data";
    const SOURCE: &'static str =
        "Wei, Dong, Huang, Xiao: EC4: ECN and Credit-Reservation Converged Congestion Control";
    const CHECKED: Checked = Checked::Paper("Held against the paper's text; its code is not public.");
    const ECN: bool = true;
    const PROFILES: &'static [Profile] = &[Profile {
        name: "printed",
        doc: told(
            "Algorithm 1 to the letter (EC4-4, EC4-17): marks speed the increase, and marked periods increase too",
        ),
        values: &[("ecn_increase", "alpha"), ("credit_increase", "always")],
    }];

    fn credit(params: &Ec4Params) -> &CreditParams {
        &params.credit
    }

    fn law(params: &Ec4Params, env: &Env) -> Law {
        let expresspass = Algorithm1 {
            max_rate: link_rate(env),
            alpha: params.initial_rate,
            w_init: params.omega_init,
            w_min: params.omega_min,
            w_max: params.w_max,
            target_loss: params.high_target_loss,
            ramp: 0,
        };
        Law::new(Constants {
            expresspass,
            mode_threshold: params.mode_threshold,
            g: params.g,
            target_ecn_ratio: params.target_ecn_ratio,
            target_loss: params.target_loss,
            omega_mid: params.omega_mid,
            ecn_increase: params.ecn_increase,
            omega_in_high: params.omega_in_high,
            credit_block: params.credit_block,
            credit_increase: params.credit_increase,
        })
    }
}
