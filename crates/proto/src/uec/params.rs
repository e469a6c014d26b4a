//! The parameters of the three transports, with a profile for each.
//!
//! The defaults are those of the Ultra Ethernet Specification 1.0.3 where its text is known, and of the consortium's simulator
//! (uet-htsim) elsewhere. The profile `htsim` is that simulator alone.

use crate::entropy::{EntropyPolicy, EntropyValues};
use crate::port::TrimVictim;
use clearway_schema::{Auto, Profile, choice, declare, told};
use clearway_units::{Bytes, Rate, Span};
use serde::{Deserialize, Serialize};

choice! {
    /// The size of packets by which the gains of the window are scaled.
    #[derive(Serialize, Deserialize)]
    pub enum Gains {
        /// A full packet on the wire.
        Mtu = "mtu",
        /// The payload of a full packet.
        Mss = "mss",
    }
}

choice! {
    /// The average of delays that the cut of a window asks.
    #[derive(Serialize, Deserialize)]
    pub enum Average {
        /// Over the last base round trip: a sample weighs as much as the time since the one before, as a share of that.
        RoundTrip = "round-trip",
        /// Over samples, the last of which weighs `delay_alpha`. A late packet without a mark is an outlier, and counts as a
        /// quarter of the base round-trip time.
        Samples = "samples",
    }
}

choice! {
    /// The penalty that a receiver may ask of a window.
    #[derive(Serialize, Deserialize)]
    pub enum Penalty {
        /// From 1 to 127, and 0 for none. The window from before the first penalty comes back with the first answer without one.
        Restored = "restored",
        /// From 0 to 254, and 255 for none. The window stays what it became.
        Kept = "kept",
    }
}

choice! {
    /// The base round-trip time of a flow.
    #[derive(Serialize, Deserialize)]
    pub enum BaseRtt {
        /// That of the longest path of the network, until a shorter one is measured.
        Network = "network",
        /// That of the flow's own path, which it knows.
        Path = "path",
        /// That of the longest path, until the answer to a probe comes. A flow with more to send than its first window sends
        /// one after its first answer: a control packet as long as a full one.
        Probe = "probe",
    }
}

declare! {
    /// The parameters that the three transports share.
    pub struct CommonParams {
        /// The way in which a sender chooses the entropy, and with it the path, of each packet.
        entropy: EntropyPolicy = "mixed" from "uet-htsim 40ccb05";
        /// The number of entropy values of a flow: a power of two, or any number under `perm`, `rand` and `scored`.
        paths: EntropyValues = "64" in "1" to "32768" from "uet-htsim 40ccb05; UE 1.0.3, 3.6.12: 64 to 256";
        /// If true, switches cut packets for which there is no room to their headers.
        trimming: bool = "true" from "UE 1.0.3, 4.1";
        /// The packet that is cut or, without trimming, dropped.
        trim_victim: TrimVictim = "arriving" from "UE 1.0.3, 4.1, our reading; uet-htsim 40ccb05: coin";
        /// The limit of the class of headers, as a multiple of that of data, which is one BDP.
        trim_headers: f64 = "1" in "0.001" to "1000" from "UE 1.0.3, 3.6.17; uet-htsim 40ccb05: 2";
        /// The limit of data at ports that lead to hosts, as a multiple of that at others.
        trim_last_hop: f64 = "1.5" in "0.001" to "1000" from "UE 1.0.3, 3.6.17; uet-htsim 40ccb05: 1";
        /// The queue up to which no packet is marked, in BDPs. Where receivers grant credit, ports that lead to hosts mark none.
        ecn_min: f64 = "0.2" in "0" to "1000" from "UE 1.0.3, 3.6.17; uet-htsim 40ccb05";
        /// The queue above which every packet is marked, in BDPs.
        ecn_max: f64 = "0.8" in "0" to "1000" from "UE 1.0.3, 3.6.17; uet-htsim 40ccb05";
        /// `maxwnd`: the largest window, and the most that a receiver grants ahead of demand, in BDPs.
        maxwnd: f64 = "1.5" in "0.1" to "100" from "UE 1.0.3, 3.6.13; uet-htsim 40ccb05";
        /// The time after which a packet of which nothing was heard counts as lost. `auto`: 15 us and the time in which six full
        /// queues drain, of one BDP each with trimming and of five without.
        rto: Auto<Span> = "auto" in "1 us" to "8 s" from "uet-htsim 40ccb05";
        /// If true, that time doubles with each retransmission of the packet, up to 8 s.
        rto_doubles: bool = "true" from "UE 1.0.3, RTO_INIT x 2^retries; uet-htsim 40ccb05: false";
        /// If true, a timeout is reported to the choice of paths with the entropy of the packet that was lost; else with 0.
        timeout_names_path: bool = "true" from "UE 1.0.3, 3.6.12 (UE-12); uet-htsim 40ccb05: false";
        /// `sack_threshold`: the bytes after which a receiver acknowledges without being asked.
        sack_threshold: Bytes = "16384 B" in "1 B" to "16 MB" from "uet-htsim 40ccb05";
        /// The unit in which a receiver counts the bytes that it has received, rounded up.
        received_unit: Bytes = "256 B" in "1 B" to "64 KB" from "UE 1.0.3, 3.6.13 (UE-15); uet-htsim 40ccb05: 1 B";
        /// The control packets that a host's NIC sends in a row while data waits, before a packet of data. 0: all of them go first.
        control_run: u32 = "0" in "0" to "1000" from "our choice; uet-htsim 40ccb05: 10 (UE-18)";
    }
}

declare! {
    /// The parameters of the window of a sender (NSCC).
    pub struct WindowParams {
        /// The window of a new flow. `auto`: `maxwnd` BDPs.
        cwnd: Auto<Bytes> = "auto" in "1 B" to "1 TB" from "UE 1.0.3, 3.6.13";
        /// `target_qdelay`: the queueing delay that is aimed at. `auto`: 0.75 base round trips with trimming, 1 without.
        target_qdelay: Auto<Span> = "auto" in "1 ns" to "1 s" from "UE 1.0.3, 3.6.13.3";
        /// `alpha`: the gain of the proportional increase, in packets for each `scale_rtt`.
        alpha: f64 = "4" in "0" to "1000" from "UE 1.0.3, 3.6.13.3";
        /// `fi`: the gain of the fair increase, in packets.
        fi: f64 = "5" in "0" to "1000" from "UE 1.0.3, 3.6.13.3";
        /// `fi_scale`: the gain of the fast increase.
        fi_scale: f64 = "0.25" in "0" to "100" from "UE 1.0.3, 3.6.13.3";
        /// `eta`: the increase of each `adjust_period`, in packets.
        eta: f64 = "0.15" in "0" to "100" from "uet-htsim 40ccb05";
        /// The size of packets by which `alpha`, `fi` and `eta` are scaled.
        gains: Gains = "mtu" from "UE 1.0.3, 3.6.13.3 (UE-1); uet-htsim 40ccb05: mss";
        /// The round-trip time for which the gains are stated. They are scaled by the BDP, over that of this time at `scale_rate`.
        scale_rtt: Span = "12 us" in "1 ns" to "1 s" from "UE 1.0.3, 3.6.13.3";
        /// The rate for which the gains are stated.
        scale_rate: Rate = "100 Gbps" in "1 Mbps" to "10 Tbps" from "UE 1.0.3, 3.6.13.3";
        /// `gamma`: the strength of a cut.
        gamma: f64 = "0.8" in "0" to "1" from "UE 1.0.3, 3.6.13.3";
        /// `max_md_jump`: the largest cut in one step, as a share of the window.
        max_md_jump: f64 = "0.5" in "0" to "1" from "UE 1.0.3, 3.6.13.3";
        /// The average of delays that a cut asks.
        average: Average = "round-trip" from "UE 1.0.3, 3.6.13 (UE-5), the form is ours; uet-htsim 40ccb05: samples";
        /// `delay_alpha`: the weight of a sample in the average over samples.
        delay_alpha: f64 = "0.0125" in "0" to "1" from "uet-htsim 40ccb05";
        /// The delay below which the window may grow fast.
        fast_delay: Span = "1 us" in "0 s" to "1 s" from "uet-htsim 40ccb05 (UE-17)";
        /// `qa_gate`: quick adapt takes place if no more than the largest window over two to the power of this arrived.
        qa_gate: u32 = "3" in "0" to "20" from "UE 1.0.3, 3.6.13.3";
        /// `qa_threshold`: the delay that counts as a loss for quick adapt. `auto`: four times the target.
        qa_threshold: Auto<Span> = "auto" in "1 ns" to "1 s" from "UE 1.0.3, 3.6.13.3";
        /// If true, such a delay counts with trimming too; else only without.
        qa_late_always: bool = "false" from "UE 1.0.3, 3.6.13.3 (UE-7); uet-htsim 40ccb05: true";
        /// If true, a period of quick adapt is over at its end; else just after it.
        qa_at_end: bool = "true" from "UE 1.0.3, 3.6.13 (UE-6); uet-htsim 40ccb05: false";
        /// `adjust_bytes`: the received bytes after which increases come into force, in full packets.
        adjust_packets: f64 = "8" in "1" to "1000" from "UE 1.0.3, 3.6.13.3";
        /// `adjust_period`: the time after which they do so at the latest. `auto`: the longest base round-trip time.
        adjust_period: Auto<Span> = "auto" in "1 ns" to "1 s" from "UE 1.0.3, 3.6.13.3";
        /// If true, they do so just after `adjust_period` and every answer holds the window to its largest value; else they do
        /// so at `adjust_period`, and only increases hold it.
        adjust_late: bool = "false" from "UE 1.0.3, 3.6.13 (UE-8); uet-htsim 40ccb05: true";
        /// If true, the counter of increases that are not yet in force has 32 bits, and goes on from zero beyond them; else it has
        /// room for all.
        increase_wraps: bool = "false" from "our choice; uet-htsim 40ccb05: true (UE-19)";
        /// If true, an answer without a valid sample of the delay acts as one with the average delay; else it counts bytes alone.
        acts_without_sample: bool = "false" from "UE 1.0.3, 3.6.13 (UE-3); uet-htsim 40ccb05: true";
        /// The penalty that a receiver may ask of the window.
        penalty: Penalty = "restored" from "UE 1.0.3, 3.6.13 (UE-4); uet-htsim 40ccb05: kept";
        /// If true, a packet that was cut leaves the bytes in flight before quick adapt asks for them; else after.
        nack_leaves_first: bool = "true" from "UE 1.0.3, 3.6.13 (UE-9); uet-htsim 40ccb05: false";
        /// If true, a packet that was cut at its last hop may set off quick adapt although the receiver paces its senders.
        last_hop_adapts: bool = "false" from "UE 1.0.3, 3.6.13 (UE-10); uet-htsim 40ccb05: true";
        /// If true, the bytes of a packet that timed out count as ignored by quick adapt.
        timeout_is_ignored: bool = "true" from "UE 1.0.3, 3.6.13 (UE-12); uet-htsim 40ccb05: false";
        /// If true, the window must have room for a full packet; else for the one that leaves.
        room_for_mtu: bool = "true" from "UE 1.0.3, 3.6.13 (UE-13); uet-htsim 40ccb05: false";
        /// If true, packets of a window below `sack_threshold` ask for acknowledgements.
        small_window_asks: bool = "true" from "UE 1.0.3, 3.6.13 (UE-14); uet-htsim 40ccb05: false";
        /// The base round-trip time of a flow.
        base_rtt: BaseRtt = "probe" from "UE 1.0.3, 3.6.13 (UE-16); uet-htsim 40ccb05: network";
        /// If true, senders take packets for lost when many later ones have arrived, and probe paths that are silent (SLEEK), for
        /// networks without trimming.
        sleek: bool = "false" from "uet-htsim 40ccb05";
    }
}

declare! {
    /// The parameters of the credit of a receiver (RCCC).
    pub struct CreditParams {
        /// The unit of credit.
        quantum: Bytes = "256 B" in "1 B" to "64 KB" from "uet-htsim 40ccb05";
        /// The credit of a pull, in units.
        pull_quanta: u32 = "64" in "1" to "65536" from "uet-htsim 40ccb05";
        /// The credit whose time a pull takes that grants nothing, in units.
        empty_quanta: u32 = "4" in "1" to "65536" from "uet-htsim 40ccb05";
        /// The rate of pulled data, as a share of that of the receiver's NIC.
        pull_rate: f64 = "0.99" in "0.01" to "1" from "uet-htsim 40ccb05";
        /// If true, acknowledgements tell the number of the last pull too, which repairs pulls that were lost.
        acks_pull: bool = "true" from "UE 1.0.3, 3.6.14: credit in control packets and ACKs; uet-htsim 40ccb05: false";
        /// If true, each pull puts its flow in turn once more for a pull ahead of demand; else a flow that asks for nothing
        /// is in turn once, and one that asks for more is not.
        stays_idle: bool = "false" from "our choice; uet-htsim 40ccb05: true";
        /// If true, a flow that has arrived keeps its turns for pulls ahead of demand, which take their time from other flows
        /// though nobody needs them.
        turns_outlast: bool = "false" from "our choice; uet-htsim 40ccb05: true";
        /// If true, receivers slow their pulls down by the marks and cuts of what arrives, for networks whose core is
        /// oversubscribed. `auto`: in these, where senders have no window.
        oversubscribed_cc: Auto<bool> = "auto" from "uet-htsim 40ccb05";
        /// `min_rate`: the least factor by which pulls slow down. `auto`: 0.9 divided by the oversubscription of the way from hosts
        /// to the core, but at least 0.01, which it is where nothing is oversubscribed.
        min_rate: Auto<f64> = "auto" in "0.0001" to "1" from "uet-htsim 40ccb05";
        /// `Ai`: the additive increase of the factor.
        rate_ai: f64 = "0.01" in "0" to "1" from "uet-htsim 40ccb05";
        /// `Md`: the multiplicative decrease of the factor.
        rate_md: f64 = "0.5" in "0" to "1" from "uet-htsim 40ccb05";
        /// `alpha`: the weight of the last interval in the average share of marks.
        rate_alpha: f64 = "0.5" in "0" to "1" from "uet-htsim 40ccb05";
        /// `target_congestion`: the average share of marks above which the factor falls.
        target_congestion: f64 = "0.3" in "0" to "1" from "uet-htsim 40ccb05";
    }
}

impl CreditParams {
    /// Returns the least factor by which pulls slow down, where the way from hosts to the core is oversubscribed so much.
    pub fn least_rate(&self, oversubscription: f64) -> f64 {
        let by_topology = if oversubscription > 1.0 { 0.9 / oversubscription } else { 0.0 };
        self.min_rate.or(by_topology.max(0.01))
    }
}

declare! {
    /// The parameters of `uec-nscc`.
    pub struct NsccParams {
        ..common: CommonParams;
        ..window: WindowParams;
    }
}

declare! {
    /// The parameters of `uec-rccc`.
    pub struct RcccParams {
        ..common: CommonParams;
        ..credit: CreditParams;
    }
}

declare! {
    /// The parameters of `uec`.
    pub struct BothParams {
        ..common: CommonParams;
        ..window: WindowParams;
        ..credit: CreditParams;
    }
}

/// Defines the values of the profile `htsim` for a transport with these groups of parameters.
macro_rules! htsim {
    (@values [$($done:tt)*]) => { &[$($done)*] };
    (@values [$($done:tt)*] common $($rest:ident)*) => {
        htsim!(@values [$($done)*
            ("trim_victim", "coin"),
            ("trim_headers", "2"),
            ("trim_last_hop", "1"),
            ("rto_doubles", "false"),
            ("timeout_names_path", "false"),
            ("received_unit", "1 B"),
            ("control_run", "10"),
        ] $($rest)*)
    };
    (@values [$($done:tt)*] window $($rest:ident)*) => {
        htsim!(@values [$($done)*
            ("gains", "mss"),
            ("average", "samples"),
            ("qa_late_always", "true"),
            ("qa_at_end", "false"),
            ("adjust_late", "true"),
            ("increase_wraps", "true"),
            ("acts_without_sample", "true"),
            ("penalty", "kept"),
            ("nack_leaves_first", "false"),
            ("last_hop_adapts", "true"),
            ("timeout_is_ignored", "false"),
            ("room_for_mtu", "false"),
            ("small_window_asks", "false"),
            ("base_rtt", "network"),
        ] $($rest)*)
    };
    (@values [$($done:tt)*] credit $($rest:ident)*) => {
        htsim!(@values [$($done)* ("acks_pull", "false"), ("stays_idle", "true"), ("turns_outlast", "true"),] $($rest)*)
    };
    ($($group:ident)+) => {
        &[Profile {
            name: "htsim",
            doc: told("the Ultra Ethernet consortium's simulator (uet-htsim 40ccb05), where it differs from the specification"),
            values: htsim!(@values [] $($group)+),
        }]
    };
}

/// The profiles of `uec-nscc`.
pub(super) const NSCC_PROFILES: &[Profile] = htsim!(common window);
/// The profiles of `uec-rccc`.
pub(super) const RCCC_PROFILES: &[Profile] = htsim!(common credit);
/// The profiles of `uec`.
pub(super) const BOTH_PROFILES: &[Profile] = htsim!(common window credit);
