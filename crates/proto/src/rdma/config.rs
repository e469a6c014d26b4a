//! Settings and parameters that all RDMA transports share.

use crate::Acks;
use crate::endpoint::Env;
use clearway_schema::{Auto, choice, declare};
use clearway_units::{Bytes, Span};
use serde::{Deserialize, Serialize};

choice! {
    /// The treatment of data that follows a loss.
    #[derive(Serialize, Deserialize)]
    pub enum Recovery {
        /// The receiver drops it and the sender goes back to the loss.
        GoBackN = "go-back-n",
        /// The receiver keeps it and the sender repeats only what is missing (IRN, SIGCOMM'18).
        SelectiveRepeat = "selective-repeat",
    }
}

/// The way in which a receiver reports marks to the sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Cnp {
    /// The receiver does not report marks, and data takes no part in ECN.
    Never,
    /// The receiver sends CNPs, at most one in this time (DCQCN's notification point).
    Packets(Span),
    /// The acknowledgement of each marked packet has a flag.
    Flag,
}

/// The settings of a flow, whatever its law.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// The treatment of data that follows a loss.
    pub recovery: Recovery,
    /// With go-back-N, the least time between two negative acknowledgements for the same loss.
    pub nack_interval: Span,
    /// The time between two packets is rounded down to a multiple of this, unless it is shorter.
    pub pacing_grain: Span,
    /// The time without progress after which the sender repeats all that is not acknowledged; `None` if it never does.
    pub rto: Option<Span>,
    /// The bytes that each data packet carries besides payload and the network's headers.
    pub stamp: u32,
    /// The bytes of that stamp which an acknowledgement returns.
    pub stamp_echo: u32,
    /// The way in which the receiver reports marks; data may be marked unless this is [`Cnp::Never`].
    pub cnp: Cnp,
    /// True if ports write telemetry into data packets.
    pub telemetry: bool,
}

/// The bytes that the slowest link sends while a sender waits for progress: more than the memory of a switch, 4 ms at
/// 100 Gbps.
const RTO_BYTES: Bytes = Bytes::new(50_000_000);

/// Returns the default retransmission timeout, the time in which a deep queue drains: under flow control no data is
/// lost, and a shorter timeout would only repeat data that waits.
pub(crate) fn auto_rto(env: &Env) -> Span {
    env.base_rtt * 4 + env.path_rate.time_to_send(RTO_BYTES)
}

declare! {
    /// The parameters that all RDMA transports share.
    pub struct CommonParams {
        /// The treatment of data that follows a loss. `go-back-n`: the receiver drops it and the sender goes back;
        /// `selective-repeat`: the receiver keeps it and the sender repeats the missing data.
        recovery: Recovery = "go-back-n" from "InfiniBand Architecture 9.7; IRN, SIGCOMM'18";
        /// The least time between two negative acknowledgements for the same loss, with `go-back-n`.
        nack_interval: Span = "500 us" in "1 ns" to "1 s" from "HPCC's ns-3 code";
        /// The time without progress, doubled each time, after which the sender starts again from the last acknowledged
        /// byte. `auto`: four base round-trip times and the time in which the slowest link sends 50 MB (4 ms at 100
        /// Gbps): under flow control a long wait is no loss.
        rto: Auto<Span> = "auto" in "1 us" to "60 s" from "our choice";
        /// The class of acknowledgements. `with-data`: in the class of their data, and so behind it; `first-at-hosts`:
        /// hosts send them ahead of data and while flow control has data paused, and switches treat them as data;
        /// `own-class`: in a class of their own ahead of data, at every port.
        acks: Acks = "with-data" from "InfiniBand Architecture 9.7: the service level of the request";
        /// The grain of the time between two packets, which is rounded down to a multiple of it, and one that is a
        /// multiple to the next lower one, as by ns-3's floating-point seconds. A time below the
        /// grain is not rounded. `1 ps`: no rounding.
        pacing_grain: Span = "1 ps" in "1 ps" to "1 ms" from "our choice; HPCC's ns-3 code: 1 ns";
        /// If true, the ports of switches pause senders before a buffer overflows (priority flow control), unless
        /// `[switch]` sets something else.
        lossless: bool = "true" from "IEEE 802.1Qbb";
    }
}

impl CommonParams {
    /// Returns the settings of both ends, for a law that needs neither stamps nor notifications.
    pub fn config(&self, env: &Env) -> Config {
        Config {
            recovery: self.recovery,
            nack_interval: self.nack_interval,
            pacing_grain: self.pacing_grain,
            rto: Some(self.rto.or(auto_rto(env))),
            stamp: 0,
            stamp_echo: 0,
            cnp: Cnp::Never,
            telemetry: false,
        }
    }
}
