//! Traffic of all kinds.

use crate::scenario::field::*;
use clearway_schema::declare;
use clearway_units::{Bytes, Span, Time};

declare! {
    /// The keys that all traffic has.
    pub table TrafficTable {
        /// Its name, in tables and `--set`. Without one, its kind, with a number if it comes again.
        name: Option<Name> = none;
        /// What it sends; the other keys depend on it.
        kind: Kind = required;
        /// Its transport: a name, or a table of a name and parameters. A table without a name takes over
        /// `[transport]` and changes parameters of it. Without this key, `[transport]`.
        transport: TransportKey = none;
        /// The class of its packets. Without it, the first of `[[switch.class]]`.
        class: Option<Name> = none;
        /// The class of its credits. Without it, the first of `[[switch.credit_class]]`. Only with a transport that uses
        /// credits.
        credit_class: Option<Name> = none;
        /// The class of its notifications of congestion. Without it, a class of the highest priority that is made for
        /// them if its transport asks for one and there is no `[[switch.class]]`; else as `class`.
        notice_class: Option<Name> = none;
        /// The class of its acknowledgements. Without it, a class ahead of data that is made for them if its transport
        /// asks for one (`acks` of RDMA transports) and there is no `[[switch.class]]`; else as `class`.
        ack_class: Option<Name> = none;
    }
}

declare! {
    /// Flows known in advance: pairs of hosts.
    pub table Long {
        /// Who sends to whom. `"auto"`: the pairs of the shape: sender to receiver of each pair of a dumbbell, the
        /// long flow and the cross flows of a parking lot, all flows of a multi-bottleneck; other shapes have none.
        /// `"random"`: two different hosts for each flow. A share, `{ share = 0.5, from = 0 }`: that part of the shape's
        /// pairs, in their order; so parts of the traffic can divide them.
        pairs: Pairs = "auto";
        /// How many flows; more than there are pairs go around them again. Without it, one for each pair.
        count: Option<u64> = none in "1" to "2000000";
        /// Bytes of each flow. Without it, they send as long as they may.
        size: Option<Bytes> = none in "1 B" to "1 TB";
        /// When the first flow starts.
        start: Time = "0 s" in "0 s" to "100000 s";
        /// Each flow starts this much later than the one before.
        stagger: Span = "0 s" in "0 s" to "100000 s";
        /// Each flow starts later by a random time up to this.
        spread: Span = "0 s" in "0 s" to "100000 s";
        /// How long each flow sends at most, from its start.
        duration: Option<Span> = none in "1 ns" to "100000 s";
        /// When all flows stop sending.
        stop: Option<Time> = none in "1 ns" to "100000 s";
    }
}

declare! {
    /// Flows that arrive by a Poisson process between random pairs of hosts, at a load of the network.
    pub table PoissonTable {
        /// Sizes of flows: the name of a built-in workload (`clearway list workloads`). One of `workload`, `cdf` and
        /// `size` is needed.
        workload: Option<String> = none;
        /// Sizes of flows: a CSV file of lines `bytes,cumulative_probability`.
        cdf: Option<String> = none;
        /// The BLAKE3 hash of the `cdf` file, which is then refused if it has changed.
        cdf_hash: Option<String> = none;
        /// Sizes of flows: all the same.
        size: Option<Bytes> = none in "1 B" to "1 TB";
        /// Share of the capacity of the switches' uplinks (of the host links, where nothing is oversubscribed) that
        /// the flows ask for: hosts x link rate x load / (mean size on the wire) / oversubscription flows arrive in a
        /// second. Sizes on the wire are payload times full frame / `payload`.
        load: f64 = required;
        /// The mean size from which the arrival rate is set. Without it, the one that the authors of the workload
        /// use, if they state one (web-search 1,654,275 B, data-mining 7,410,212 B, cache-follower 701,490 B,
        /// web-server 63,735 B, 1 to 4 % below that of the distribution), else the mean of the distribution.
        mean: Option<Bytes> = none in "1 B" to "1 TB";
        /// How many flows arrive.
        flows: u64 = "1000" in "1" to "100000000";
        /// When arrivals begin.
        start: Time = "0 s" in "0 s" to "100000 s";
        /// No arrivals after this.
        stop: Option<Time> = none in "1 ns" to "100000 s";
        /// Hosts that send and receive; sender and receiver are uniform over these and differ. A share of all hosts,
        /// `{ share = 0.5, from = 0 }`, is drawn by the seed, once for all traffic: with `{ share = 0.5, from = 0.5 }` in
        /// another part every host is in one of both.
        hosts: Chosen<HostRef> = "all";
    }
}

declare! {
    /// Each host sends to one and receives from one other: a random cycle through the hosts.
    pub table Permutation {
        /// Bytes of each flow. Without it, they send as long as they may.
        size: Option<Bytes> = none in "1 B" to "1 TB";
        /// When the flows start.
        start: Time = "0 s" in "0 s" to "100000 s";
        /// Each flow starts later by a random time up to this.
        spread: Span = "0 s" in "0 s" to "100000 s";
        /// When all flows stop sending.
        stop: Option<Time> = none in "1 ns" to "100000 s";
        /// The hosts that take part, at least 2; a share of them as in `poisson`.
        hosts: Chosen<HostRef> = "all";
    }
}

declare! {
    /// Many hosts answer one at once, in rounds.
    pub table Incast {
        /// Who asks and receives.
        receiver: HostRef = "h0";
        /// Who sends: a number, which goes around all other hosts, or a list, in which a host may stand several
        /// times.
        senders: Workers = "32";
        /// Bytes that each sends in a round. Without this and `total`, 64 KB.
        size: Option<Bytes> = none in "1 B" to "1 TB";
        /// Bytes that all send in a round together, in equal parts; what does not divide goes to the first, a byte
        /// each. Either this or `size`.
        total: Option<Bytes> = none in "1 B" to "1 TB";
        /// Whether connections stay open from the first round to the last and count as established; or every round
        /// opens its own, with the handshake of the transport and a first window, and closes them. Requests and
        /// answers are connections of their own.
        connections: Connections = "persistent";
        /// Bytes of the request to each. Zero: all start by themselves at once.
        request: Bytes = "0 B" in "0 B" to "1 TB";
        /// How many rounds.
        rounds: u32 = "1" in "1" to "1000000";
        /// Whether a round starts only when all answers of the last have arrived; else each is asked again as soon as
        /// its own has.
        barrier: bool = "true";
        /// When the first round starts.
        start: Time = "0 s" in "0 s" to "100000 s";
        /// Pause between the end of a round and the next.
        pause: Span = "0 s" in "0 s" to "1000 s";
        /// Each sender starts in a round later by a random time up to this; with `request`, that is when it is asked.
        spread: Span = "0 s" in "0 s" to "1000 s";
    }
}

declare! {
    /// One host asks many workers without pause and each answers (ExpressPass '17, Fig. 1).
    pub table PartitionAggregate {
        /// Who asks and collects.
        client: HostRef = "h0";
        /// How many workers, which go around all other hosts; each is a connection of its own.
        fan_out: u64 = "32" in "1" to "1000000";
        /// Bytes of a request.
        request: Bytes = "200 B" in "1 B" to "1 TB";
        /// Bytes of a response.
        response: Bytes = "1000 B" in "1 B" to "1 TB";
        /// Whether connections stay open from the first round to the last and count as established; or every round
        /// opens its own, with the handshake of the transport and a first window, and closes them. Requests and
        /// responses are connections of their own.
        connections: Connections = "persistent";
        /// How many requests each worker gets.
        rounds: u32 = "100" in "1" to "1000000";
        /// Whether a round starts only when all responses of the last have arrived; else each worker is asked again
        /// as soon as its own has.
        barrier: bool = "false";
        /// When the first round starts.
        start: Time = "0 s" in "0 s" to "100000 s";
        /// Pause between the end of a round and the next.
        pause: Span = "0 s" in "0 s" to "1000 s";
        /// Each worker is asked later by a random time up to this when a round starts; without `barrier`, the first.
        spread: Span = "0 s" in "0 s" to "1000 s";
    }
}

declare! {
    /// The shuffle step of MapReduce: every task sends to every task of every other host.
    pub table Shuffle {
        /// The hosts that take part, at least 2; a share of them as in `poisson`.
        hosts: Chosen<HostRef> = "all";
        /// Those of them that send; all receive. With shares in two parts of the traffic, the sender decides which
        /// transport a flow has.
        senders: Chosen<HostRef> = "all";
        /// Tasks of a host.
        tasks: u64 = "8" in "1" to "1000";
        /// Bytes of each flow.
        size: Bytes = "1 MB" in "1 B" to "1 TB";
        /// When the flows start.
        start: Time = "0 s" in "0 s" to "100000 s";
        /// Each flow starts later by a random time up to this.
        spread: Span = "0 s" in "0 s" to "100000 s";
    }
}

declare! {
    /// Flows listed in the scenario.
    pub table Listed {
        /// The flows, each a table.
        list: Tables = required;
    }
}

declare! {
    /// A flow of a list.
    pub table FlowTable {
        /// Who sends.
        src: HostRef = required;
        /// Who receives.
        dst: HostRef = required;
        /// How many bytes. Without it, it sends as long as it may.
        size: Option<Bytes> = none in "1 B" to "1 TB";
        /// When it starts.
        start: Time = "0 s" in "0 s" to "100000 s";
        /// When it stops sending.
        stop: Option<Time> = none in "1 ns" to "100000 s";
    }
}

declare! {
    /// Flows listed in a file.
    pub table ListFile {
        /// The file, relative to the scenario's.
        path: String = required;
        /// Its format. CSV: the first line names the columns `start,src,dst,size`, whose values have units; or
        /// `start_us` (`_s`, `_ms`, `_ns`, `_ps`) and `size_bytes`, whose values are numbers. HPCC: the flow format of
        /// its ns-3, a count and then `src dst priority dport bytes start-in-seconds` a line.
        format: ListFormat = "csv";
        /// The BLAKE3 hash of the file, which is then refused if it has changed.
        hash: Option<String> = none;
    }
}
