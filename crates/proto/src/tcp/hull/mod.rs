//! HULL: DCTCP with marks from phantom queues, and paced (Alizadeh et al., "Less is More", NSDI'12).
//!
//! | part | where |
//! |---|---|
//! | phantom queue | [`PhantomQueue`] at switches' ports |
//! | pacer | [`Pacer`] between TCP and the NIC |
//! | DCTCP | [`DctcpController`] |

mod pacer;
mod phantom;
mod sender;

pub use pacer::{Pacer, PacerConfig};
pub use phantom::{PhantomConfig, PhantomQueue};
pub use sender::HullSender;

use super::config::TcpParams;
use super::dctcp::DctcpController;
use super::{Ecn, Receiver, Sender};
use crate::agent::NoAgent;
use crate::endpoint::Env;
use crate::needs::Needs;
use crate::transport::{Checked, Transport};
use clearway_schema::{Profile, declare};
use clearway_units::{Bytes, Span};

declare! {
    /// The parameters of `hull`.
    pub struct HullParams {
        ..phantom: PhantomConfig;
        /// The weight of a new measurement of marking in DCTCP's `alpha` (`g`).
        g: f64 = "0.0625" in "0" to "1" from "RFC 8257 sec. 4.2";
        /// The `alpha` of a new flow in DCTCP.
        alpha_initial: f64 = "1" in "0" to "1" from "RFC 8257 sec. 3.3";
        /// If true, marks cut the window down to one segment, while the threshold of slow start stays at `min_cwnd` or
        /// above. With many flows this floor decides the length of real queues.
        marks_to_one: bool = "false" from "our choice: as `dctcp` (HULL-6, DCTCP-3)";
        /// If true, hosts have a pacer.
        pacer: bool = "true" from "NSDI'12";
        /// The probability that an echoed mark makes the pacer pace the flow from then on (`p_a`).
        p_a: f64 = "0.125" in "0" to "1" from "NSDI'12, unchecked: see the page";
        /// The idle time after which the pacer forgets a flow.
        association: Span = "10 ms" in "1 us" to "100 s" from "our choice: we could not look up the paper's";
        /// The weight of a new measurement of the rate in the pacer (`eta`).
        eta: f64 = "0.125" in "0" to "1" from "NSDI'12, unchecked: see the page";
        /// The amount that a waiting KB adds to the pacer's rate at each update, in Mbps (`beta`).
        beta: f64 = "16" in "0" to "100000" from "NSDI'12, unchecked: see the page; our reading of its unit";
        /// The time between two updates of the pacer's rate (`T_r`).
        t_r: Span = "64 us" in "1 us" to "1 s" from "NSDI'12, unchecked: see the page";
        /// The depth of the pacer's token bucket.
        bucket: Bytes = "24 KB" in "1 B" to "1 GB" from "NSDI'12, unchecked: see the page";
        ..tcp: TcpParams;
    }
}

/// The transport `hull`.
pub struct Hull;

impl Transport for Hull {
    type Params = HullParams;
    type Sender = HullSender;
    type Receiver = Receiver;
    type Agent = NoAgent;
    type Mechanism = PhantomQueue;
    const NAME: &'static str = "hull";
    const SUMMARY: &'static str =
        "HULL: DCTCP, paced, with marks from phantom queues that drain slower than links";
    const SOURCE: &'static str = "NSDI'12";
    const CHECKED: Checked = Checked::Neither(
        "Only the abstract of NSDI'12 was at hand; the phantom queue was compared with two implementations by others, \
         and most constants are recollected.",
    );
    const PROFILES: &'static [Profile] = super::config::PROFILES;

    fn needs(params: &HullParams) -> Needs {
        params.tcp.needs()
    }

    fn mechanism(params: &HullParams) -> Option<PhantomConfig> {
        Some(params.phantom)
    }

    fn sender(params: &HullParams, env: &Env) -> HullSender {
        let config = params.tcp.config(Ecn::Exact);
        let control = DctcpController::new(params.g, params.alpha_initial, &config, env);
        let control = control.marks_to_one(params.marks_to_one);
        let pacer = PacerConfig {
            eta: params.eta,
            beta: params.beta * 1e6 / 8000.0,
            interval: params.t_r,
            bucket: params.bucket,
        };
        let p_a = if params.pacer { params.p_a } else { 0.0 };
        HullSender::new(Sender::new(&config, env, control), Pacer::new(pacer), p_a, params.association)
    }

    fn receiver(params: &HullParams, env: &Env) -> Receiver {
        Receiver::new(&params.tcp.config(Ecn::Exact), env)
    }
}
