//! The keys of the scenario itself, of its network, ports and hosts, of failures, of sampled series, and of traces.

use crate::model::Delay;
use crate::scenario::field::*;
use clearway_proto::port::{CreditDrop, MarkAt, TrimVictim};
use clearway_schema::{Auto, declare};
use clearway_units::{Bytes, Rate, Span, Time};

declare! {
    /// Keys outside any table.
    pub table Root {
        /// The name of the scenario, for tables and reports. Without it, the name of the file.
        name: Option<String> = none;
        /// The seed of all random streams. Equal seeds give equal results, to the last bit.
        seed: u64 = "1";
        /// The time at which the run stops at the latest. Without it, the run ends when every flow has ended, or after 106 days of
        /// simulated time.
        stop: Option<Time> = none in "1 ns" to "100000 s";
        /// The way in which connections start. `"own"`: by the defaults of each transport. `"equal"`: alike, so that
        /// transports can be compared: wherever a transport has the parameters `handshake` and `initial_window`, and
        /// neither the parameter nor a profile is set, a handshake opens every connection, and the first window is 2
        /// segments, as in the ns-2 stacks of the papers.
        stacks: Stacks = "own";
    }
}

declare! {
    /// The sizes of packets and the choice of paths.
    pub table Network {
        /// The rule that chooses paths. `"auto"`: `"entropy"` if a transport of the scenario chooses paths by entropy and none
        /// uses credits, which must take the path of their data; else `"symmetric-ecmp"`. `"symmetric-ecmp"`: one path for a flow, with the same links in both
        /// directions. `"ecmp"`: one path for each direction of a flow, chosen independently. `"spray"`: a
        /// shortest path for every packet, each switch of which picks its next hop by a hash of the flow and of 16 bits of
        /// entropy that the packet carries, at random or as its transport sets them. `"entropy"`: as `"spray"`, but packets whose
        /// transport sets no entropy take one path for each direction of a flow. `"source"`: as `"spray"`, but the entropy is the
        /// number of the path, as where a sender that knows all paths writes the route into the packet: in a Clos network the
        /// numbers from 0 on lead over each of the shortest paths once before one comes again. `"adaptive"`: as `"spray"`, but each switch
        /// takes the next hop whose queue is shortest, by four levels (below 5, 10 and 20 % of the limit, and above), and packets
        /// below 100 B go by the hash. `"ns2-xpass"`: one path for a flow, with the same links in both directions,
        /// by the hash of the ExpressPass authors' ns-2 code of the flow's place in its list.
        routing: Auto<Routing> = "auto";
        /// The largest payload of a data packet (the MSS).
        payload: Bytes = "1460 B" in "64 B" to "16 KB";
        /// The bytes that packets carry besides payload. `"ethernet"`: the headers of TCP and IPv4, Ethernet's header
        /// and frame check sequence, preamble and gap, as on a real link. `"ns-2"`: the headers of TCP and IPv4 alone,
        /// so that a full packet has 1,500 B and an ACK 40 B, as ns-2 counts them.
        framing: FramingWord = "ethernet";
        /// The number of bytes that a packet adds to its payload on the wire. `"auto"`: by `framing`, 78 B with
        /// `"ethernet"`, 40 B with `"ns-2"`. With `"0 B"`, `payload` is the whole frame, as in simulators whose frames have
        /// no headers of their own.
        overhead: Auto<Bytes> = "auto" in "0 B" to "500 B";
        /// The size of the smallest frame on the wire. `"auto"`: by `framing`, 84 B with `"ethernet"`, 40 B with
        /// `"ns-2"`.
        wire_min: Auto<Bytes> = "auto" in "20 B" to "500 B";
        /// Truncate the serialisation times of frames to whole nanoseconds, as HPCC's ns-3 code does. A time that is a
        /// whole number of nanoseconds loses one, since that code divides in floating point.
        whole_ns: bool = "false";
    }
}

declare! {
    /// The output ports of switches.
    pub table Switch {
        /// The largest queue of a class at a port. `"auto"`: 384.5 KB (250 full frames) for each 10 Gbps of the fastest
        /// link, at least 384.5 KB (ExpressPass '17, sec. 6: 384.5 KB at 10 Gbps, 1.54 MB at 40 Gbps); with
        /// `shared_buffer`, no limit of its own. `"250 packets"`: the bytes of 250 full data frames, so that an ACK or
        /// a credit takes its own size. `"250 slots"`: 250 packets of any size, as ns-2's DropTail counts. `"1.5 BDP"`: one and
        /// a half times the network's bandwidth-delay product, in full data frames and rounded up, which is what a host's link
        /// carries in the round trip of a full frame and the smallest one between the two hosts that are farthest apart. A
        /// class whose transports are made for such a limit has it by `"auto"`.
        buffer: Auto<BufferWord> = "auto";
        /// The ECN marking threshold K: data that meets a longer queue is marked. `"auto"`: `"by-rate"` if a transport
        /// of the scenario reacts to marks, or `"red"` if it asks for that, else `"off"`. `"by-rate"`: 65 full frames
        /// for each 10 Gbps of the port's rate, at least 10, and at most 26 % of the buffer, since ExpressPass '17 (sec. 6)
        /// has 65 frames in a buffer of 250. `"red"`: at random, by the keys that start with `red`. `"bdp"`: at random, by the
        /// keys that start with `bdp`. `"65 packets"` counts packets of any size, as the papers' K does.
        marking: MarkingWord = "auto";
        /// The moment at which a packet is compared with the threshold: as it joins the queue, or as it leaves. Without
        /// this key, as it joins, or with `"red"` or `"bdp"` as it leaves.
        marking_at: Option<MarkAt> = none;
        /// Mark packets also at the ports that lead to hosts. Without it, what the transports ask for, else `true`.
        marking_last_hop: Option<bool> = none;
        /// With `"bdp"`: the queue up to which no packet is marked, as a multiple of the bandwidth-delay product
        /// (`buffer`). Without it, what the transports ask for, else 0.2.
        bdp_min: Option<f64> = none in "0" to "1000";
        /// With `"bdp"`: the queue above which every packet is marked; the probability rises from 0 at `bdp_min` to 1 here.
        /// Without it, what the transports ask for, else 0.8.
        bdp_max: Option<f64> = none in "0" to "1000";
        /// With `"red"`: the queue up to which no packet is marked. Without it, what the transports ask for, else 400
        /// KB.
        red_kmin: Option<Bytes> = none in "0 B" to "1 TB";
        /// With `"red"`: the queue above which every packet is marked. Without it, what the transports ask for, else
        /// 1600 KB.
        red_kmax: Option<Bytes> = none in "0 B" to "1 TB";
        /// With `"red"`: the probability of a mark just below `red_kmax`; it rises from 0 at `red_kmin`. Without it,
        /// what the transports ask for, else 0.2.
        red_pmax: Option<f64> = none in "0" to "1";
        /// With `"red"`: the port rate for which the thresholds are given; at others they grow with the rate. Without
        /// it, what the transports ask for, else 100 Gbps.
        red_rate: Option<Rate> = none in "1 bps" to "1.6 Tbps";
        /// Trimming: a queue of data without room cuts a packet to its header, which goes on in the class of its flow's
        /// acknowledgements. `"auto"`: in the classes whose transports ask for it, unless flow control protects them. The
        /// packet that is being sent counts against the limit of a queue that trims.
        trim: Auto<bool> = "auto";
        /// With `trim`: the size on the wire of a packet that was cut. Without it, what the transports ask for, else the smallest
        /// frame.
        trim_to: Option<Bytes> = none in "1 B" to "10 KB";
        /// With `trim`: the packet that is cut. `"coin"`: the one that arrives or the newest one that waits, by a fair coin.
        /// `"arriving"`: the one that arrives. Without it, what the transports ask for, else `"coin"`.
        trim_victim: Option<TrimVictim> = none;
        /// With `trim`: the limit of the class of headers, as a multiple of the limit of data. Without it, what the transports
        /// ask for, else 2.
        trim_headers: Option<f64> = none in "0.001" to "1000";
        /// With `trim`: the limit of data at ports that lead to hosts, as a multiple of that at other ports. Without it, what
        /// the transports ask for, else 1.
        trim_last_hop: Option<f64> = none in "0.001" to "1000";
        /// With `trim`: return a header for which there is no room to its sender, once, in place of dropping it. Without it,
        /// what the transports ask for, else `false`.
        trim_return: Option<bool> = none;
        /// The largest number of credits that wait at a port. `"auto"`: what the transports ask for by their
        /// parameters. Like all keys of credits, it needs a transport that uses credits.
        credit_queue: Auto<u32> = "auto" in "1" to "1000000";
        /// Limit that queue to the bytes of so many credits of 84 B, and not to their number.
        /// `"auto"`: what the transports ask for.
        credit_queue_bytes: Auto<bool> = "auto";
        /// The credit that is dropped when that queue is full. `"tail"`: the one that arrives. `"random"`: one at random
        /// of those that wait and the one that arrives. `"auto"`: what the transports ask for.
        credit_drop: Auto<CreditDrop> = "auto";
        /// The depth of the token bucket of credits. `"auto"`: what the transports ask for.
        credit_bucket: Auto<Bytes> = "auto" in "92 B" to "100 KB";
        /// Start with an empty token bucket. `"auto"`: what the transports ask for.
        credit_bucket_empty: Auto<bool> = "auto";
        /// The share of each link that credited data may fill, by the rate limit of credits. The rest is left to other
        /// traffic. Where credited data has a class of its own, use the share that its weight gives it.
        credit_share: f64 = "1" in "0.001" to "1";
        /// The classes of credits, each under `[[switch.credit_class]]`. Without this key, there is one.
        credit_class: Tables = none;
        /// The memory that all ports of a switch share under dynamic thresholds, beside the limits of the ports. With
        /// `pfc` and without this key, 32 MB, or twice what headrooms and reserves take if that is more.
        shared_buffer: Option<Bytes> = none in "10 KB" to "1000000 TB";
        /// With `shared_buffer`: the multiple of the free memory that a queue may hold. Without it, 1.
        alpha: Option<f64> = none in "0.0001" to "1000";
        /// Priority flow control (IEEE 802.1Qbb): a switch pauses its neighbours before its memory is full, so that no
        /// packet is lost. `"auto"`: on if a transport of the scenario asks for a lossless network and no limit of a
        /// port's buffer is given.
        pfc: Auto<bool> = "auto";
        /// With `pfc`: the share of the free memory at which a class of a link is paused, at the slowest rate of the
        /// network. At faster links the share grows with the rate. Without it, 0.125.
        pfc_alpha: Option<f64> = none in "0.0001" to "1000";
        /// With `pfc`: the memory for bytes that arrive by a link after it was paused. `"auto"`, as without this key:
        /// the bytes of two propagation delays and of `pfc_response`, three full frames and a pause frame, which is
        /// always enough.
        pfc_headroom: Option<Auto<Bytes>> = none in "0 B" to "1 GB";
        /// With `pfc`: the memory reserved for each class of each link. Without it, 4096 B.
        pfc_reserve: Option<Bytes> = none in "0 B" to "1 GB";
        /// With `pfc`: the distance below the threshold at which a link may resume. Without it, 3072 B.
        pfc_resume_offset: Option<Bytes> = none in "0 B" to "1 GB";
        /// With `pfc`: the time from the arrival of a pause or resume frame at a port until the port obeys it.
        /// Without it, 0 s. IEEE 802.3 allows 3.07 us at 10 Gbps, 2.02 us at 100 Gbps.
        pfc_response: Option<Span> = none in "0 s" to "1 ms";
        /// With `pfc`: the time after which a port that is paused without a break is reported as a pause storm. Without
        /// it, 200 ms.
        pfc_storm: Option<Span> = none in "1 us" to "1000 s";
        /// The classes of packets, each under `[[switch.class]]`. Without this key, there is one, named `data`. Credits
        /// have a class of their own.
        class: Tables = none;
    }
}

declare! {
    /// A class of packets, at switches and hosts.
    pub table ClassTable {
        /// The name, by which traffic chooses the class.
        name: Name = required;
        /// The priority; classes of a lower number go first.
        priority: u8 = "0" in "0" to "7";
        /// The weight among classes of the same priority, by bytes.
        weight: u32 = "1" in "1" to "1000";
        /// The largest queue at a port of a switch. Without it, as `switch.buffer`.
        buffer: Option<BufferWord> = none;
        /// The marking threshold. Without it, as `switch.marking`.
        marking: Option<MarkingWord> = none;
        /// The moment of the comparison with the threshold. Without it, as `switch.marking_at`.
        marking_at: Option<MarkAt> = none;
        /// Protect the class by flow control. Without this key, it is protected if `switch.pfc` is on.
        lossless: Option<bool> = none;
        /// The class that packets of this class join at switches. With this key, the class is one of hosts alone, and
        /// flow control never pauses it there. Without it, packets stay in this class.
        at_switches: Option<Name> = none;
        /// Trim packets of this class where it has no room. Without it, as `switch.trim`.
        trim: Option<bool> = none;
        /// The class in which headers of packets of this class go on that were cut. Without it, the class of their flow's
        /// acknowledgements.
        trim_class: Option<Name> = none;
    }
}

declare! {
    /// A class of credits, at switches and hosts. All classes together keep within the port's limit of credits. Since
    /// data needs credits, the order among classes of credits becomes the order among their data (ExpressPass '17, sec.
    /// 7).
    pub table CreditClassTable {
        /// The name, by which traffic chooses the class.
        name: Name = required;
        /// The priority; classes of a lower number go first.
        priority: u8 = "0" in "0" to "7";
        /// The weight among classes of the same priority, by credits.
        weight: u32 = "1" in "1" to "1000";
        /// The largest number of credits of the class that wait at a port of a switch. Without it, as
        /// `switch.credit_queue`.
        queue: Option<u32> = none in "1" to "1000000";
        /// The rate limit of this class alone, besides the common one, written as `switch.credit_share`. Use it where
        /// the data has a class of its own.
        share: Option<f64> = none in "0.001" to "1";
    }
}

declare! {
    /// The hosts and their NICs.
    pub table Host {
        /// The time between the arrival of a packet and its handling, drawn for each packet. Packets of one flow keep
        /// their order. Quantiles are pairs of a share of packets and a time, with straight lines between.
        processing_delay: Delay = "0 s";
        /// The largest queue of a class at the NIC, written as `switch.buffer`: of acknowledgements and the
        /// like, since data waits at its flow, unless there is a `queue`.
        buffer: BufferWord = "unlimited";
        /// A queue of data at the NIC, first in, first out, as each host of ns-2 has: flows put their packets
        /// there as soon as their windows, credits or paces let them, and a packet that finds no room is lost. It is
        /// the largest queue of a class, written as `switch.buffer`, in whose place it stands. Without it, data waits
        /// at its flow, the flows of a host take turns at the NIC, a packet each, and no host loses data.
        queue: Option<BufferWord> = none;
        /// With `queue`: mark packets in it as ports of switches do, since in ns-2 both ends of a link have the same
        /// queue. Without it, `true`.
        queue_marking: Option<bool> = none;
        /// The largest number of credits that wait at the NIC. `"auto"`: as at a port of a switch.
        credit_queue: Auto<u32> = "auto" in "1" to "1000000";
    }
}

declare! {
    /// A link that differs from `[topology]`, such as that of a faster host. Entries are applied in their order.
    pub table LinkTable {
        /// The two ends of the link.
        link: Link = required;
        /// The rate in both directions. Without it, the rate stays.
        rate: Option<Rate> = none in "1 Mbps" to "1.6 Tbps";
        /// The delay in both directions. Without it, the delay stays.
        delay: Option<Span> = none in "0 s" to "1 s";
    }
}

declare! {
    /// A link that fails or becomes slower, or a switch with all its links.
    pub table FaultTable {
        /// The two ends of the link.
        link: Option<Link> = none;
        /// The switch that fails, in place of a link: all its links go down, or become slower, in both directions.
        switch: Option<String> = none;
        /// The time at which the link goes down or, with `rate`, becomes slower.
        down: Time = required in "0 s" to "100000 s";
        /// The time at which the link comes up again, or has its full rate again, if ever.
        up: Option<Time> = none in "0 s" to "100000 s";
        /// The direction that fails or becomes slower; `"forward"` is from the first end to the second.
        direction: Direction = "both";
        /// The rate of the link between `down` and `up`, below its own: the link stays up, loses nothing, and sends the
        /// frames that begin then at this rate. Nothing takes notice: routing keeps its paths, and whatever ports are
        /// configured with by their rate stays as it is. Without it, the link is down.
        rate: Option<Rate> = none in "1 Mbps" to "1.6 Tbps";
        /// With `rate`: what becomes of the queues at the link's ports. `"kept"`: they are those of its own rate. `"scaled"`: their
        /// limits and the thresholds of their marks are lower in proportion to the rate, as if the ports were configured for a
        /// link that is slow throughout the run: with `down = "0 s"` and without `up` only.
        queues: QueuesWord = "kept";
        /// The time for which the link must be down, and later be up again, until routing has noticed it and flows take
        /// other paths. Until then packets are sent to the link that is down, and lost. A link that is up again sooner
        /// is never noticed. `"at once"`: in the instant of the failure, as no real network does. `"never"`: paths stay, as
        /// always with `rate`.
        noticed: Noticed = "at once" in "0 s" to "60 s";
    }
}

declare! {
    /// Random loss of packets. A later entry replaces an earlier one on the same link, and all replace the loss in a
    /// topology file.
    pub table LossTable {
        /// The two ends of the link.
        link: Links = "all";
        /// The share of packets that are lost.
        probability: f64 = required in "0" to "1";
        /// The direction that loses packets; `"forward"` is from the first end to the second.
        direction: Direction = "both";
    }
}

declare! {
    /// The window of time over which a run is measured, so that start and end don't blur the figures of what lies
    /// between. The columns of ports that start with `window_` and the tables of `clearway run` show it. Flows count by
    /// their start: with `from` or `until`, the table of FCT has the flows that start in the window. Without both, it has
    /// all flows, and only utilisation is that of the default window.
    pub table MeasureTable {
        /// The start of the window. Without it, the start of the first flow.
        from: Option<Time> = none in "0 s" to "100000 s";
        /// The end of the window. Without it, the start of the last flow of `poisson` traffic: what follows is the drain
        /// of a network that nobody fills any more, and its length depends on the largest flow and not on the load.
        /// Without `poisson` traffic, the end of the run: an incast, a shuffle or rounds of requests have no load that
        /// could end before they do, and to empty the network is their work.
        until: Option<Time> = none in "1 ns" to "100000 s";
    }
}

declare! {
    /// A series that is sampled at intervals or, for `rtt`, with each acknowledgement.
    pub table SampleTable {
        /// The name of the series in the results. Without it, the word of `what`, with a number if the word comes
        /// again.
        name: Option<Name> = none;
        /// The quantity. `"throughput"`: bits per second delivered to each receiver of `traffic`. `"sender"`:
        /// congestion window, rate and smoothed RTT of each sender of `traffic`. `"rtt"`: the round-trip time that each
        /// acknowledgement of `traffic` tells its sender (credits tell none). `"queue"`: bytes of data that wait at
        /// each of `ports`. `"credit-queue"`: credits that wait at each of `ports`. `"rate"`: bits per second that
        /// leave each of `ports`. `"window"`, `"sending-rate"`: the congestion window and the rate of each sender of
        /// `traffic` alone. `"credit-rate"`: credits per second that each receiver of `traffic` sent, and the rate of
        /// data, in bits per second, that its feedback law allows. `"losses"`: packets that each sender of `traffic`
        /// repeated, and expiries of its retransmission timer. `"notices"`: notifications of congestion that each sender
        /// of `traffic` heard of. `"drops"`: packets that each of `ports` dropped for want of buffer and, where links
        /// lose or fail, at random and on a failed link. `"marks"`: packets that each of `ports` gave an ECN mark.
        /// `"trims"`: packets that each of `ports` cut to their headers.
        /// `"credit-drops"`: credits that each of `ports` dropped by the credit limit. `"pauses"`: the number of times
        /// that flow control stopped a class of each of `ports`, and the seconds for which any was stopped. All counts
        /// are those since the sample before.
        what: ProbeWord = required;
        /// The time between samples. Without it, 100 us. It means nothing for `"rtt"`, where every acknowledgement is a
        /// sample.
        every: Option<Span> = none in "1 ns" to "1000 s";
        /// The traffic entry, for quantities of `traffic`. It may be left out if there is only one.
        traffic: Option<Name> = none;
        /// The output ports, for quantities of `ports`. A port is named by both ends of its link,
        /// the sending one first. Without it, the ports of all switches.
        ports: Option<Ports> = none;
    }
}

declare! {
    /// A trace: what happens to packets at ports, written to files for Wireshark and Perfetto
    /// ([more](../how-to/traces.md)). A packet is in the trace if `flows` names its flow, at the ports that `ports` and
    /// `hosts` name.
    pub table TraceTable {
        /// The name of the trace, which the names of its files have in them: letters, digits, `-` and `_`. Without it,
        /// `packets`, with a number if the word comes again.
        name: Option<Name> = none;
        /// The flows: traffic entries, with the numbers of flows behind a slash or without, as in `["web/0..9"]`. Without
        /// it, all flows.
        flows: Option<Vec<FlowsRef>> = none;
        /// The output ports, as `[[sample]]` names them. Without it and `hosts`, all ports.
        ports: Option<Ports> = none;
        /// The hosts whose ports are traced in addition to `ports`: the host's own, and that of the switch towards it.
        hosts: Option<Vec<HostRef>> = none;
        /// The time of the first event in the trace.
        from: Time = "0 s" in "0 s" to "100000 s";
        /// The time of the last event in the trace. Without it, the end of the run.
        until: Option<Time> = none in "1 ns" to "100000 s";
        /// The largest number of events that the trace keeps. A packet has one or two at each port that it crosses.
        /// Later ones are counted, and the summary of the run says how many were left out.
        limit: u64 = "100000" in "1" to "10000000";
        /// The formats of the files. `"pcapng"`: for Wireshark and tshark. `"perfetto"`: for ui.perfetto.dev. Without
        /// it, both.
        format: Option<Vec<FormatWord>> = none;
    }
}
