//! The counters of a host.

use crate::datapath::{Metric, Released};
use clearway_units::Span;

macro_rules! reasons {
    ($(#[doc = $doc:literal])+ $Name:ident { $($(#[doc = $variant_doc:literal])+ $Variant:ident = $label:literal,)+ }) => {
        $(#[doc = $doc])+
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(super) enum $Name { $($(#[doc = $variant_doc])+ $Variant,)+ }

        impl $Name {
            /// The labels of all reasons, in their order.
            const LABELS: &'static [&'static str] = &[$($label),+];
        }
    };
}

reasons! {
    /// The reason why a control frame, or the credit number of a data packet, was refused.
    Refusal {
        /// The frame is cut off.
        Truncated = "truncated",
        /// The frame is of another EtherType.
        OtherType = "other_type",
        /// The frame is of another version of the format.
        Version = "version",
        /// The frame is of an unknown kind, or of one that hosts do not take.
        Kind = "kind",
        /// The checksum of the datagram is wrong.
        Checksum = "checksum",
        /// The addresses of the datagram are not those of its flow.
        Addresses = "addresses",
        /// The frame is for another NIC.
        NotOurs = "not_ours",
        /// The frame comes from a NIC that is not the one of the flow.
        Address = "address",
        /// There is no such flow.
        UnknownFlow = "unknown_flow",
        /// The cookie is not the one of the flow.
        Cookie = "cookie",
        /// The session ended.
        Session = "session",
        /// The credit arrived before.
        Replayed = "replayed",
        /// The host asked for credits too often without sending data.
        Flood = "flood",
        /// There are too many flows.
        Flows = "flow_limit",
        /// There are too many flows of that host.
        PeerFlows = "peer_flow_limit",
        /// A data packet names a credit that is not open.
        Number = "credit_number",
    }
}

reasons! {
    /// The reason why packets leave without a credit.
    Plain {
        /// The other host answered no request.
        Unanswered = "unanswered",
        /// The other host fell silent while data waited.
        Silent = "silent",
        /// A packet was held for the largest time.
        HeldTooLong = "held_too_long",
        /// Too many packets are held.
        HeldLimit = "held_limit",
        /// There are too many flows.
        FlowLimit = "flow_limit",
        /// The Ethernet address of the other host is not known yet.
        NoAddress = "no_address",
        /// The packet is larger than the MTU, because offloads are on.
        Oversized = "oversized",
        /// The packet has no DF, or has URG over IPv6, so the number of a credit has no place in it.
        NoPlace = "no_place",
        /// The datapath ended, or the NIC went down.
        Released = "released",
        /// The daemon gave no sign of life, so that the kernel let them leave.
        NoSign = "no_sign",
    }
}

/// All counters of a host. A gauge says so.
#[derive(Clone, Debug, Default)]
pub(super) struct Counters {
    pub held: u64,
    pub requests_sent: u64,
    pub stops_sent: u64,
    pub credits_received: u64,
    pub credits_used: u64,
    pub credits_wasted: u64,
    /// The number of packets held now, a gauge.
    pub held_now: u64,
    /// The largest number of packets held at once, a gauge.
    pub held_most: u64,
    pub held_time: Span,
    /// The longest time for which a packet was held, a gauge.
    pub held_longest: Span,
    /// The packets that were dropped because too many of their flow wait.
    pub dropped: u64,
    pub silences: u64,
    pub requests_received: u64,
    pub stops_received: u64,
    pub accepts_sent: u64,
    pub stops_answered: u64,
    pub credits_sent: u64,
    pub data_received: u64,
    pub data_marked: u64,
    pub cut_off: u64,
    pub takeovers: u64,
    pub mtu_mismatches: u64,
    pub clock_jumps: u64,
    pub aged: u64,
    /// The payload of packets that left for a credit, or for what credits left over, in bytes.
    pub credited_bytes: u64,
    /// The packets among them that left for what credits left over.
    pub leftover_packets: u64,
    /// Packets among them that left in the kernel, without being held.
    pub passed_packets: u64,
    /// Packets that left for a credit in the kernel, without being held.
    pub released_packets: u64,
    /// Credits that were not sent, since the other host has enough for its small packets.
    pub credits_spared: u64,
    refused: [u64; Refusal::LABELS.len()],
    plain_packets: [u64; Plain::LABELS.len()],
    plain_bytes: [u64; Plain::LABELS.len()],
    plain_flows: [u64; Plain::LABELS.len()],
}

impl Counters {
    /// Counts a refused frame or credit number.
    pub fn refuse(&mut self, reason: Refusal) {
        self.refused[reason as usize] += 1;
    }

    /// Counts a packet with so many bytes of payload that leaves for a credit.
    pub fn credited_packet(&mut self, payload: u16) {
        self.credits_used += 1;
        self.credited_bytes += u64::from(payload);
    }

    /// Counts a packet with so many bytes of payload that leaves for what credits left over.
    pub fn leftover_packet(&mut self, payload: u16) {
        self.leftover_packets += 1;
        self.credited_bytes += u64::from(payload);
    }

    /// Counts packets with so many bytes of payload that left in the kernel for what credits left over.
    pub fn passed_packets(&mut self, packets: u64, payload: u64) {
        self.leftover_packets += packets;
        self.passed_packets += packets;
        self.credited_bytes += payload;
    }

    /// Counts the credits of a flow that the kernel took, the packets that left there for one, and credits that came again.
    pub fn released(&mut self, released: &Released) {
        self.credits_received += released.credits;
        self.credits_used += released.packets;
        self.released_packets += released.packets;
        self.credited_bytes += released.payload;
        self.refused[Refusal::Replayed as usize] += released.replayed;
    }

    /// Counts a packet with so many bytes of payload that leaves without a credit.
    pub fn plain_packet(&mut self, reason: Plain, payload: u16) {
        self.plain_packets(reason, 1, payload.into());
    }

    /// Counts packets with so many bytes of payload that leave without a credit.
    pub fn plain_packets(&mut self, reason: Plain, packets: u64, payload: u64) {
        self.plain_packets[reason as usize] += packets;
        self.plain_bytes[reason as usize] += payload;
    }

    /// Counts a flow that becomes plain TCP.
    pub fn plain_flow(&mut self, reason: Plain) {
        self.plain_flows[reason as usize] += 1;
    }

    /// Counts a packet that is held from now on.
    pub fn hold(&mut self) {
        self.held += 1;
        self.held_now += 1;
        self.held_most = self.held_most.max(self.held_now);
    }

    /// Counts a packet that was held for `time`.
    pub fn release(&mut self, time: Span) {
        self.held_now -= 1;
        self.held_time = self.held_time.saturating_add(time);
        self.held_longest = self.held_longest.max(time);
    }

    /// Hands every counter to `each`.
    pub fn report(&self, each: &mut dyn FnMut(Metric)) {
        let mut one = |name, help, value: f64| each(Metric { name, help, label: None, value });
        one("packets_held_total", "Packets that the kernel held for us.", self.held as f64);
        one("packets_held", "Packets held now.", self.held_now as f64);
        one("packets_held_max", "Largest number of packets held at once.", self.held_most as f64);
        one(
            "hold_seconds_total",
            "Time for which packets were held, added up.",
            self.held_time.as_secs_f64(),
        );
        one("hold_seconds_max", "Longest time for which a packet was held.", self.held_longest.as_secs_f64());
        let help =
            "Packets that were dropped, since at the pace of their credits they would have waited too long.";
        one("packets_dropped_total", help, self.dropped as f64);
        one("requests_sent_total", "Requests for credits that left.", self.requests_sent as f64);
        one("requests_received_total", "Requests for credits that arrived.", self.requests_received as f64);
        one("accepts_sent_total", "Answers to requests that left.", self.accepts_sent as f64);
        one("stops_sent_total", "Stops that left.", self.stops_sent as f64);
        one("stops_received_total", "Stops that arrived.", self.stops_received as f64);
        one("stops_answered_total", "Answers to stops that left.", self.stops_answered as f64);
        one("credits_sent_total", "Credits that left.", self.credits_sent as f64);
        one("credits_received_total", "Credits that arrived.", self.credits_received as f64);
        one("credits_used_total", "Credits that released a packet.", self.credits_used as f64);
        let help = "Packets of bulk data that left for a credit in the kernel, without being held.";
        one("released_packets_total", help, self.released_packets as f64);
        let help = "Credits that were not sent, since the other host has enough for its small packets.";
        one("credits_spared_total", help, self.credits_spared as f64);
        let help = "Small packets that left for what credits had left over.";
        one("leftover_packets_total", help, self.leftover_packets as f64);
        let help = "Small packets among them that left in the kernel, without being held.";
        one("passed_packets_total", help, self.passed_packets as f64);
        let help = "Payload of packets that left for a credit or what credits had left over, repeated packets included.";
        one("credited_bytes_total", help, self.credited_bytes as f64);
        one("credits_wasted_total", "Credits that found no packet.", self.credits_wasted as f64);
        one("data_received_total", "Data packets that arrived with a credit.", self.data_received as f64);
        one(
            "data_marked_total",
            "Data packets among them with a mark of congestion.",
            self.data_marked as f64,
        );
        one("silences_total", "Times at which data waited and no credit came.", self.silences as f64);
        one(
            "cut_off_total",
            "Times at which credits were stopped because no data came.",
            self.cut_off as f64,
        );
        one("takeovers_total", "Flows whose sender was started again.", self.takeovers as f64);
        one("mtu_mismatches_total", "Hosts whose MTU differs from ours.", self.mtu_mismatches as f64);
        one(
            "clock_jumps_total",
            "Times at which the daemon did not run for a second.",
            self.clock_jumps as f64,
        );
        one("flows_aged_total", "Flows that were forgotten because nothing happened.", self.aged as f64);
        let mut many = |name, help, labels: &[&'static str], values: &[u64]| {
            for (label, value) in labels.iter().zip(values) {
                each(Metric { name, help, label: Some(("reason", label)), value: *value as f64 });
            }
        };
        let help = "Control frames and credit numbers that were refused.";
        many("refused_total", help, Refusal::LABELS, &self.refused);
        let help = "Packets that left without a credit.";
        many("plain_packets_total", help, Plain::LABELS, &self.plain_packets);
        let help = "Payload of packets that left without a credit, repeated packets included.";
        many("plain_bytes_total", help, Plain::LABELS, &self.plain_bytes);
        let help = "Times at which a flow became plain TCP.";
        many("plain_flows_total", help, Plain::LABELS, &self.plain_flows);
    }
}
