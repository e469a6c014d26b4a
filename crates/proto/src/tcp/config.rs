//! Settings and parameters that all transports of the TCP family share.

/// The way in which both ends treat marks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Ecn {
    /// The ends do not take part in ECN, and a congested switch drops packets.
    Off,
    /// RFC 3168: the receiver echoes from the first mark until it hears of the sender's reaction.
    Classic,
    /// RFC 8257: the receiver echoes which bytes were marked and which were not.
    Exact,
}

/// The settings of a flow, whatever its controller. [`TcpParams`] describes each of them.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct Config {
    pub ecn: Ecn,
    /// The window of a new flow, in segments.
    pub initial_window: u32,
    /// The least window after a reduction, in segments.
    pub min_cwnd: u32,
    pub rto_min: Span,
    pub rto_initial: Auto<Span>,
    pub sack: bool,
    pub dupthresh: u32,
    /// The longest delay of an acknowledgement; `None` if every segment is acknowledged at once.
    pub delayed_ack: Option<Span>,
    pub receive_window: Bytes,
    pub handshake: bool,
    pub idle_restart: bool,
}

/// The profiles with the settings of operating systems and papers.
pub(crate) const PROFILES: &[Profile] = &[LINUX, PAC_TESTBED, PAC_NS2, EXPRESSPASS16];

pub(crate) const LINUX: Profile = Profile {
    name: "linux",
    doc: told("Linux as it comes: delayed acknowledgements, a least timeout of 200 ms"),
    values: &[
        ("initial_window", "10"),
        ("rto_min", "200 ms"),
        ("delayed_ack", "true"),
        ("delayed_ack_timeout", "40 ms"),
    ],
};

pub(crate) const PAC_TESTBED: Profile = Profile {
    name: "pac-testbed",
    doc: told("PAC's testbed: no delayed acknowledgements, windows from 3 segments, least timeout 200 ms"),
    values: &[("initial_window", "3"), ("rto_min", "200 ms")],
};

pub(crate) const PAC_NS2: Profile = Profile {
    name: "pac-ns2",
    doc: told("PAC's simulations: windows from 2 segments, least timeout 200 ms"),
    values: &[("initial_window", "2"), ("rto_min", "200 ms")],
};

pub(crate) const EXPRESSPASS16: Profile = Profile {
    name: "expresspass16",
    doc: told("The baselines of the ExpressPass paper of 2016: least timeout 200 us"),
    values: &[("rto_min", "200 us")],
};

use crate::needs::Needs;
use clearway_schema::{Auto, Profile, declare, told};
use clearway_units::{Bytes, Span};
use serde::{Deserialize, Serialize};

declare! {
    /// The parameters that all of the TCP family share.
    pub struct TcpParams {
        /// The congestion window of a new flow, in segments. The papers also use 2 (ns-2) and 3 (Linux of their time).
        initial_window: u32 = "10" in "1" to "100000" from "RFC 6928";
        /// The least congestion window after a reduction, in segments. Only a timeout goes below, to one.
        min_cwnd: u32 = "2" in "1" to "100000" from "RFC 5681 eq. (4); E17 sec. 6, E17-18";
        /// The least retransmission timeout. RFC 6298 says 1 s, Linux and PAC 200 ms, ExpressPass '16 200 us. The
        /// default is what DCTCP's authors advise for a datacenter: 200 ms would make every baseline look worse than it
        /// has to.
        rto_min: Span = "10 ms" in "1 us" to "60 s" from "SIGCOMM'10 sec. 4";
        /// The retransmission timeout before the first measurement of the round-trip time. `auto`: 1 s if the flow
        /// opens a connection (RFC 6298); else the connection stood before and its round trip is known: three times the
        /// base round-trip time, and no less than `rto_min`.
        rto_initial: Auto<Span> = "auto" in "1 us" to "60 s" from "RFC 6298 sec. 2.1 and 2.2";
        /// If true, receivers send selective acknowledgements. Else recovery is that of RFC 6582.
        sack: bool = "true" from "RFC 2018, RFC 6675";
        /// The number of duplicate acknowledgements (or segments selectively acknowledged above a gap) that stand for a
        /// loss. Raise it where packets take several paths and overtake each other.
        dupthresh: u32 = "3" in "1" to "1000000" from "RFC 5681 sec. 3.2, RFC 6675 sec. 2";
        /// If true, receivers acknowledge only every second segment, or once `delayed_ack_timeout` has passed.
        delayed_ack: bool = "false" from "RFC 5681 sec. 4.2; off as in PAC and ns-2";
        /// The longest delay of an acknowledgement. Keep it well below `rto_min`. Linux: 40 ms.
        delayed_ack_timeout: Span = "1 ms" in "1 us" to "500 ms" from "our choice: a tenth of rto_min";
        /// The receive window: the bytes that the receiver accepts beyond those that have arrived.
        receive_window: Bytes = "1 GB" in "1 B" to "4 GB" from "our choice: more than any path holds";
        /// If true, a flow opens a connection first, where none stands, which takes one round trip before the first
        /// byte.
        handshake: bool = "false" from "our choice: persistent connections, as in the papers";
        /// If true, a flow starts again from `initial_window` after a pause of more than a timeout.
        idle_restart: bool = "true" from "RFC 5681 sec. 4.1";
    }
}

impl TcpParams {
    /// Returns what every transport of the family needs: nothing from switches.
    pub fn needs(&self) -> Needs {
        Needs { first_window: Some(self.initial_window), handshake: self.handshake, ..Needs::NOTHING }
    }

    /// Returns the settings of both ends, which treat marks by `ecn`.
    pub fn config(&self, ecn: Ecn) -> Config {
        Config {
            ecn,
            initial_window: self.initial_window,
            min_cwnd: self.min_cwnd,
            rto_min: self.rto_min,
            rto_initial: self.rto_initial,
            sack: self.sack,
            dupthresh: self.dupthresh,
            delayed_ack: self.delayed_ack.then_some(self.delayed_ack_timeout),
            receive_window: self.receive_window,
            handshake: self.handshake,
            idle_restart: self.idle_restart,
        }
    }
}
