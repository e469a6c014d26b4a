//! The scenario itself, its network and its hosts; what fails in it, and what is watched.

use crate::model::Delay;
use crate::scenario::field::*;
use clearway_proto::port::MarkAt;
use clearway_schema::{Auto, declare};
use clearway_units::{Bytes, Rate, Span, Time};

declare! {
    /// Keys outside any table.
    pub table Root {
        /// Name of the scenario, for tables and reports. Without one, the file's name.
        name: Option<String> = none;
        /// Seed of every random stream. Equal seeds give equal results, to the last bit.
        seed: u64 = "1";
        /// When to stop at the latest. Without it the run ends when every flow has ended.
        stop: Option<Time> = none in "1 ns" to "100000 s";
        /// How connections start. `"own"`: as each transport's defaults say. `"equal"`: comparably: every connection is
        /// opened by a handshake, and a first window is 2 segments, as in the ns-2 stacks of the papers, wherever a
        /// transport has the parameters `handshake` and `initial_window` and neither it nor a profile is set.
        stacks: Stacks = "own";
    }
}

declare! {
    /// How packets are made and find their way.
    pub table Network {
        /// How a flow's path is chosen: one path, the same links in both directions; one path, chosen
        /// independently in each direction; a random shortest path for every packet; one path, the same links in both
        /// directions, by the hash of the ExpressPass authors' ns-2 code, from the flow's place in its list.
        routing: Routing = "symmetric-ecmp";
        /// Most payload of a data packet (the MSS).
        payload: Bytes = "1460 B" in "64 B" to "16 KB";
        /// What packets carry besides payload: `"ethernet"`: headers of TCP and IPv4, Ethernet's header and frame check
        /// sequence, preamble and gap, as on a real link; `"ns-2"`: headers of TCP and IPv4 alone, so that a full packet
        /// has 1,500 B and an ACK 40 B, as ns-2 counts them.
        framing: FramingWord = "ethernet";
        /// What a packet adds to its payload on the wire. `"auto"`: by `framing`, 78 B with `"ethernet"`, 40 B with
        /// `"ns-2"`.
        overhead: Auto<Bytes> = "auto" in "20 B" to "500 B";
        /// Size on the wire of the smallest frame. `"auto"`: by `framing`, 84 B with `"ethernet"`, 40 B with `"ns-2"`.
        wire_min: Auto<Bytes> = "auto" in "20 B" to "500 B";
        /// Drop the fraction of a nanosecond in the time that a frame takes on a link, as HPCC's ns-3 code does. A time
        /// that is a whole number of them loses one, since that code divides in floating point.
        whole_ns: bool = "false";
    }
}

declare! {
    /// Output ports of switches.
    pub table Switch {
        /// How much may wait in a class at a port. `"auto"`: 384.5 KB (250 full frames) for each 10 Gbps of the
        /// fastest link, at least 384.5 KB (ExpressPass '17, sec. 6: 384.5 KB at 10 Gbps, 1.54 MB at 40 Gbps); with
        /// `shared_buffer`, no limit of its own. `"250 packets"`: as many bytes as 250 full data frames have, so that an
        /// ACK or a credit takes its own size; `"250 slots"`: 250 packets, whatever their size, as ns-2's DropTail counts.
        buffer: Auto<BufferWord> = "auto";
        /// ECN marking threshold K: data that meets a longer queue is marked. `"auto"`: `"by-rate"` if a transport
        /// of the scenario reacts to marks, or `"red"` if it asks for that, else `"off"`. `"by-rate"`: 65 full frames
        /// for each 10 Gbps of the port's rate, at least 10. `"red"`: at random, by the keys that start with `red`.
        /// `"65 packets"` counts packets of any size, as the papers' K does.
        marking: MarkingWord = "auto";
        /// Whether a packet meets the queue as it joins or as it leaves. Without it, as it joins; with `"red"`, as it
        /// leaves.
        marking_at: Option<MarkAt> = none;
        /// With `"red"`: no mark up to this queue. Without it, what the transports ask for, else 400 KB.
        red_kmin: Option<Bytes> = none in "0 B" to "1 GB";
        /// With `"red"`: always a mark above this queue. Without it, what the transports ask for, else 1600 KB.
        red_kmax: Option<Bytes> = none in "0 B" to "1 GB";
        /// With `"red"`: probability of a mark just below `red_kmax`; it rises from 0 at `red_kmin`. Without it, what
        /// the transports ask for, else 0.2.
        red_pmax: Option<f64> = none in "0" to "1";
        /// With `"red"`: the rate of a port that has just these thresholds; at others they grow with the rate. Without
        /// it, what the transports ask for, else 100 Gbps.
        red_rate: Option<Rate> = none in "1 Mbps" to "1.6 Tbps";
        /// Most credits that wait at a port. `"auto"`: what the transports ask for by their parameters; a value here
        /// replaces that. Only with a transport that uses credits, as all keys of credits.
        credit_queue: Auto<u32> = "auto" in "1" to "1000000";
        /// Whether that queue is as long as so many credits of 84 B are in bytes, whatever the number of those that wait.
        /// `"auto"`: what the transports ask for.
        credit_queue_bytes: Auto<bool> = "auto";
        /// Depth of the credits' token bucket. `"auto"`: what the transports ask for.
        credit_bucket: Auto<Bytes> = "auto" in "92 B" to "100 KB";
        /// Whether the token bucket starts empty. `"auto"`: what the transports ask for.
        credit_bucket_empty: Auto<bool> = "auto";
        /// Share of each link that the limit of credits takes for the whole, so that they release data for this share
        /// and leave the rest to others: for data in a class of its own, what its weight gives it.
        credit_share: f64 = "1" in "0.001" to "1";
        /// Classes of credits, each under `[[switch.credit_class]]`. Without any, there is one.
        credit_class: Tables = none;
        /// Memory that all ports of a switch share under dynamic thresholds, beside the limits of the ports. With
        /// `pfc` and without this key, 32 MB, or twice what headrooms and reserves take if that is more.
        shared_buffer: Option<Bytes> = none in "10 KB" to "1 TB";
        /// With `shared_buffer`: a queue may hold this many times what is free. Without it, 1.
        alpha: Option<f64> = none in "0.0001" to "1000";
        /// Priority flow control (IEEE 802.1Qbb): a switch stops who sends to it before its memory is full, so that
        /// nothing is lost. `"auto"`: if a transport of the scenario asks for a lossless network and no limit of a
        /// port's buffer is given.
        pfc: Auto<bool> = "auto";
        /// With `pfc`: a class of a link is stopped once it holds this share of the free memory, at the slowest rate
        /// of the network; at faster links the share grows with the rate. Without it, 0.125.
        pfc_alpha: Option<f64> = none in "0.0001" to "1000";
        /// With `pfc`: memory for what arrives by a link after it was stopped. `"auto"`, and without it: two delays'
        /// worth of bytes, that of `pfc_response`, three full frames and a pause frame, which is always enough.
        pfc_headroom: Option<Auto<Bytes>> = none in "0 B" to "1 GB";
        /// With `pfc`: memory of its own for each class of each link. Without it, 4096 B.
        pfc_reserve: Option<Bytes> = none in "0 B" to "1 GB";
        /// With `pfc`: a link may go on so far below the threshold. Without it, 3072 B.
        pfc_resume_offset: Option<Bytes> = none in "0 B" to "1 GB";
        /// With `pfc`: time from the arrival of a pause frame at a port until the port obeys it, to stop as to go on.
        /// Without it, 0 s. IEEE 802.3 allows 3.07 us at 10 Gbps, 2.02 us at 100 Gbps.
        pfc_response: Option<Span> = none in "0 s" to "1 ms";
        /// With `pfc`: a port that is stopped for longer without a break is reported as a pause storm. Without it,
        /// 200 ms.
        pfc_storm: Option<Span> = none in "1 us" to "1000 s";
        /// Classes of packets, each under `[[switch.class]]`. Without any, there is one, named `data`. Credits have a
        /// class of their own.
        class: Tables = none;
    }
}

declare! {
    /// A class of packets, at switches and hosts.
    pub table ClassTable {
        /// Its name, which traffic chooses.
        name: Name = required;
        /// Classes of a lower number go first.
        priority: u8 = "0" in "0" to "7";
        /// Share among classes of the same priority, by bytes.
        weight: u32 = "1" in "1" to "1000";
        /// How much may wait at a switch's port. Without it, as `switch.buffer`.
        buffer: Option<BufferWord> = none;
        /// Marking threshold. Without it, as `switch.marking`.
        marking: Option<MarkingWord> = none;
        /// When to compare. Without it, as `switch.marking_at`.
        marking_at: Option<MarkAt> = none;
        /// Whether flow control protects it. Without it, if `switch.pfc` is on.
        lossless: Option<bool> = none;
        /// The class that its packets join at switches: with it, this class is one of hosts alone, and flow control
        /// never stops it there. Without it, this class itself.
        at_switches: Option<Name> = none;
    }
}

declare! {
    /// A class of credits, at switches and hosts. All classes together keep within the port's limit of credits; whose
    /// credits pass has its data sent. So the order among credits is the order among data (ExpressPass '17, sec. 7).
    pub table CreditClassTable {
        /// Its name, which traffic chooses.
        name: Name = required;
        /// Classes of a lower number go first.
        priority: u8 = "0" in "0" to "7";
        /// Share among classes of the same priority, by credits.
        weight: u32 = "1" in "1" to "1000";
        /// Most credits of the class that wait at a switch's port. Without it, as `switch.credit_queue`.
        queue: Option<u32> = none in "1" to "1000000";
        /// A limit of its own besides the common one, as `switch.credit_share`: for data in a class of its own.
        share: Option<f64> = none in "0.001" to "1";
    }
}

declare! {
    /// Hosts and their network cards.
    pub table Host {
        /// Time between the arrival of a packet and its handling, drawn for each packet; packets of one flow keep
        /// their order. Quantiles are pairs of a share of packets and a time, with straight lines between.
        processing_delay: Delay = "0 s";
        /// How much may wait in a class at the network card, written as `switch.buffer`.
        buffer: BufferWord = "unlimited";
        /// Most credits that wait at the network card. `"auto"`: as at a switch's port.
        credit_queue: Auto<u32> = "auto" in "1" to "1000000";
    }
}

declare! {
    /// A link that differs from what `[topology]` says, such as that of a faster host. A later entry comes after an
    /// earlier one.
    pub table LinkTable {
        /// Its two ends.
        link: Link = required;
        /// Its rate, in both directions. Without it, as it was.
        rate: Option<Rate> = none in "1 Mbps" to "1.6 Tbps";
        /// Its delay, in both directions. Without it, as it was.
        delay: Option<Span> = none in "0 s" to "1 s";
    }
}

declare! {
    /// A link that fails.
    pub table FaultTable {
        /// Its two ends.
        link: Link = required;
        /// When it goes down.
        down: Time = required in "0 s" to "100000 s";
        /// When it comes up again, if ever.
        up: Option<Time> = none in "0 s" to "100000 s";
        /// Which direction fails; forward is from the first end to the second.
        direction: Direction = "both";
    }
}

declare! {
    /// Packets lost at random. A later entry replaces an earlier one on the same link, and all replace what a topology
    /// file says.
    pub table LossTable {
        /// The two ends of the link.
        link: Links = "all";
        /// Share of packets that are lost.
        probability: f64 = required in "0" to "1";
        /// Which direction loses; forward is from the first end to the second.
        direction: Direction = "both";
    }
}

declare! {
    /// A series that is sampled at intervals or, for `rtt`, with each acknowledgement.
    pub table SampleTable {
        /// Its name in the results. Without one, what it shows, with a number if it comes again.
        name: Option<Name> = none;
        /// What it shows: bits per second delivered to each receiver of `traffic`; congestion window, rate and
        /// smoothed RTT of each sender of `traffic`; the round-trip time that each acknowledgement of `traffic` tells
        /// its sender (credits tell none); bytes of data waiting at each of `ports`; credits waiting at each of
        /// `ports`; bits per second that leave each of `ports`.
        what: What = required;
        /// Time between samples. Without it, 100 us. For `rtt` it means nothing: every acknowledgement is a sample.
        every: Option<Span> = none in "1 ns" to "1000 s";
        /// The part of the traffic, for `throughput`, `sender` and `rtt`. May be left out if there is only one.
        traffic: Option<Name> = none;
        /// The output ports, for `queue`, `credit-queue` and `rate`: a port is named by both ends of its link, the
        /// sending one first. Without it, those of all switches.
        ports: Option<Ports> = none;
    }
}
