//! What all RDMA transports can be set to.

use crate::Acks;
use crate::endpoint::Env;
use clearway_schema::{Auto, choice, declare};
use clearway_units::{Bytes, Span};

choice! {
    /// What happens to data that follows a loss.
    pub enum Recovery {
        /// The receiver drops it and the sender goes back to the loss.
        GoBackN = "go-back-n",
        /// The receiver keeps it and the sender repeats only what is missing (IRN, SIGCOMM'18).
        SelectiveRepeat = "selective-repeat",
    }
}

/// How a receiver tells of marks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cnp {
    /// Not at all.
    Never,
    /// By packets of their own, at most one in this time (DCQCN's notification point).
    Packets(Span),
    /// By a flag on the acknowledgement of each marked packet.
    Flag,
}

/// Settings of a flow, whatever its law.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// What happens after a loss.
    pub recovery: Recovery,
    /// With going back: least time between two negative acknowledgements for the same loss.
    pub nack_interval: Span,
    /// The time between two packets is rounded down to a multiple of this.
    pub pacing_grain: Span,
    /// Without progress for so long, the sender starts again from what is acknowledged. `None`: never.
    pub rto: Option<Span>,
    /// Bytes that each data packet carries besides payload and the network's headers.
    pub stamp: u32,
    /// Bytes of the stamp that an acknowledgement returns.
    pub stamp_echo: u32,
    /// Whether data may be marked, and how the receiver tells.
    pub cnp: Cnp,
    /// Whether ports write what they know into data packets.
    pub telemetry: bool,
}

/// Bytes that the slowest link sends while a sender waits for progress: more than the memory of a switch, 4 ms at
/// 100 Gbps.
const RTO_BYTES: Bytes = Bytes::new(50_000_000);

/// The default retransmission timeout: what a deep queue takes to drain, since with flow control no data is lost and
/// a timeout would only repeat what waits.
pub(crate) fn auto_rto(env: &Env) -> Span {
    env.base_rtt * 4 + env.path_rate.time_to_send(RTO_BYTES)
}

declare! {
    /// Parameters that all RDMA transports share.
    pub struct CommonParams {
        /// What happens to data that follows a loss: `go-back-n`: the receiver drops it and the sender goes
        /// back; `selective-repeat`: the receiver keeps it and the sender repeats what is missing.
        recovery: Recovery = "go-back-n" from "InfiniBand Architecture 9.7; IRN, SIGCOMM'18";
        /// With `go-back-n`: least time between two negative acknowledgements for the same loss.
        nack_interval: Span = "500 us" in "1 ps" to "1 s" from "HPCC's ns-3 code";
        /// Without progress for so long (doubled each time), the sender starts again from what is
        /// acknowledged. `auto`: four base round-trip times and the time in which the slowest link sends
        /// 50 MB (4 ms at 100 Gbps): under flow control a long wait is no loss.
        rto: Auto<Span> = "auto" in "1 us" to "60 s" from "our choice";
        /// How acknowledgements travel. `with-data`: in the class of their data, and so behind it;
        /// `first-at-hosts`: hosts send them ahead of data and while flow control has data stopped, and
        /// switches treat them as data; `own-class`: in a class of their own ahead of data, at every port.
        acks: Acks = "with-data" from "InfiniBand Architecture 9.7: the service level of the request";
        /// The time between two packets is rounded down to a multiple of this, and one that is a multiple to the
        /// next lower one, as by ns-3's floating-point seconds. `1 ps`: it is not rounded.
        pacing_grain: Span = "1 ps" in "1 ps" to "1 ms" from "our choice; HPCC's ns-3 code: 1 ns";
        /// Whether the ports of switches stop senders before a buffer overflows (priority flow control),
        /// unless `[switch]` says otherwise.
        lossless: bool = "true" from "IEEE 802.1Qbb";
    }
}

impl CommonParams {
    /// The settings of both ends, for a law that needs neither stamps nor notifications.
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
