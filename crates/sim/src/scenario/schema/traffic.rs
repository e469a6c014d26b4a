//! The keys of traffic entries.

use crate::scenario::field::*;
use crate::traffic::{Done, HtsimUnit, ListFormat};
use clearway_schema::{Auto, declare};
use clearway_units::{Bytes, Span, Time};

declare! {
    /// The keys that all traffic has.
    pub table TrafficTable {
        /// The name in tables and in `--set`. Without it, the kind, with a number if the kind comes again.
        name: Option<Name> = none;
        /// The kind of traffic, on which the other keys depend.
        kind: Kind = required;
        /// The transport: a name, or a table of a name and parameters. A table without a name takes over `[transport]`
        /// and changes parameters of it. Without this key, `[transport]`.
        transport: TransportKey = none;
        /// The class of data. Without it, the first of `[[switch.class]]`.
        class: Option<Name> = none;
        /// The class of credits. Without it, the first of `[[switch.credit_class]]`. It needs a transport that uses
        /// credits.
        credit_class: Option<Name> = none;
        /// The class of congestion notification packets (CNPs). Without it, a class of the highest priority that is
        /// made for them if the transport asks for one and there is no `[[switch.class]]`; else as `class`.
        notice_class: Option<Name> = none;
        /// The class of acknowledgements. Without it, a class ahead of data that is made for them if the transport asks
        /// for one (`acks` of RDMA transports) and there is no `[[switch.class]]`; else as `class`.
        ack_class: Option<Name> = none;
    }
}

declare! {
    /// Flows between pairs of hosts, which are known before the run.
    pub table Long {
        /// The pairs of sender and receiver. `"auto"`: the pairs of the shape, which are sender and receiver of each
        /// pair of a dumbbell, the long flow and the cross flows of a parking lot, and all flows of a multi-bottleneck;
        /// other shapes have none. `"random"`: two different hosts for each flow. A share, `{ share = 0.5, from = 0 }`:
        /// that share of the shape's pairs, in their order, so that several traffic entries can divide them.
        pairs: Pairs = "auto";
        /// The number of flows. If it exceeds the number of pairs, they are gone around again. Without it, one flow for
        /// each pair.
        count: Option<u64> = none in "1" to "2000000";
        /// The size of each flow. Without it, flows send until they are stopped.
        size: Option<Bytes> = none in "1 B" to "1 TB";
        /// The time at which the first flow starts.
        start: Time = "0 s" in "0 s" to "100000 s";
        /// The time between the starts of two flows that follow each other.
        stagger: Span = "0 s" in "0 s" to "100000 s";
        /// The largest random delay of the start of each flow.
        spread: Span = "0 s" in "0 s" to "100000 s";
        /// The longest time for which a flow sends, from its start.
        duration: Option<Span> = none in "1 ns" to "100000 s";
        /// The time at which all flows stop.
        stop: Option<Time> = none in "1 ns" to "100000 s";
    }
}

declare! {
    /// Flows that arrive by a Poisson process between random pairs of hosts, at a load of some links.
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
        /// The share of the links named by `load_of` that the flows ask for while they arrive, above 0 and at most 1. It
        /// counts the payload of flows alone: headers, acknowledgements, credits and retransmissions come on top, so that
        /// no link can carry more than the payload of a full frame by its bytes on the wire, 0.949 by default. Loads of
        /// several traffic entries add up.
        load: f64 = required;
        /// The links that `load` is about. Flows arrive at such a rate that these carry that share on average: over both
        /// directions, weighted by rate, of the links that this traffic can cross, all pairs of `hosts` being equally
        /// likely and all switches dividing equally among shortest paths. `"uplinks"`: the links between ToR switches and
        /// other switches. `"hosts"`: the links of hosts. `"bottleneck"`: the links between those two tiers of the network
        /// that this traffic loads most, which are the links of hosts where nothing is oversubscribed. `"ns2"`: no links,
        /// but the rule of the ExpressPass authors' ns-2 script, with which their results compare: hosts x link rate x
        /// load / (mean size on the wire) / oversubscription flows arrive in a second. Headers count there, flows inside
        /// a rack too, and `hosts` are taken to have the uplinks for themselves.
        load_of: LoadOf = "bottleneck";
        /// The mean size from which the arrival rate is set. Without it, the mean of the distribution; with `load_of =
        /// "ns2"`, the one that the authors of the workload use, if they state one (web-search 1,654,275 B, data-mining
        /// 7,410,212 B, cache-follower 701,490 B, web-server 63,735 B, 1 to 4 % below that of the distribution).
        mean: Option<Bytes> = none in "1 B" to "1 TB";
        /// The number of flows.
        flows: u64 = "1000" in "1" to "100000000";
        /// The time at which arrivals begin.
        start: Time = "0 s" in "0 s" to "100000 s";
        /// The time after which no flow arrives.
        stop: Option<Time> = none in "1 ns" to "100000 s";
        /// The hosts that send and receive; sender and receiver are uniform over these and differ. A share of all
        /// hosts, `{ share = 0.5, from = 0 }`, is drawn by the seed, once for all traffic: with `{ share = 0.5, from =
        /// 0.5 }` in another entry, every host is in one of both.
        hosts: Chosen<HostRef> = "all";
    }
}

declare! {
    /// Each host sends to one and receives from one other: a random cycle through the hosts.
    pub table Permutation {
        /// The size of each flow. Without it, flows send until they are stopped.
        size: Option<Bytes> = none in "1 B" to "1 TB";
        /// The time at which the flows start.
        start: Time = "0 s" in "0 s" to "100000 s";
        /// The largest random delay of the start of each flow.
        spread: Span = "0 s" in "0 s" to "100000 s";
        /// The time at which all flows stop.
        stop: Option<Time> = none in "1 ns" to "100000 s";
        /// The hosts that take part, at least 2; a share of them as in `poisson`.
        hosts: Chosen<HostRef> = "all";
    }
}

declare! {
    /// Many hosts answer one at once, in rounds.
    pub table Incast {
        /// The host that asks and receives.
        receiver: HostRef = "h0";
        /// The senders: a number, which goes around all other hosts, or a list, in which a host may stand several
        /// times.
        senders: Workers = "32";
        /// The number of bytes that each sender sends in a round. Without this key and `total`, 64 KB.
        size: Option<Bytes> = none in "1 B" to "1 TB";
        /// The number of bytes that all senders send in a round together, in equal parts. A remainder goes to the first
        /// senders, a byte each. It stands in place of `size`.
        total: Option<Bytes> = none in "1 B" to "1 TB";
        /// The lifetime of connections. `"persistent"`: they stay open from the first round to the last and count as
        /// established. `"per-round"`: every round opens connections of its own, with the handshake of the transport
        /// and a first window, and closes them. Requests and answers are connections of their own.
        connections: Connections = "persistent";
        /// The size of the request to each sender. Zero: all start by themselves at once.
        request: Bytes = "0 B" in "0 B" to "1 TB";
        /// The number of rounds.
        rounds: u32 = "1" in "1" to "1000000";
        /// Start a round only when all answers of the last round have arrived. Otherwise each sender is asked again as
        /// soon as its own answer has arrived.
        barrier: bool = "true";
        /// The time at which the first round starts.
        start: Time = "0 s" in "0 s" to "100000 s";
        /// The pause between the end of a round and the start of the next.
        pause: Span = "0 s" in "0 s" to "1000 s";
        /// The largest random delay after which a sender starts in a round, or with `request` after which it is asked.
        spread: Span = "0 s" in "0 s" to "1000 s";
    }
}

declare! {
    /// One host asks many workers without pause and each answers (ExpressPass '17, Fig. 1).
    pub table PartitionAggregate {
        /// The host that asks and collects the responses.
        client: HostRef = "h0";
        /// The number of workers, which go around all other hosts; each has a connection of its own.
        fan_out: u64 = "32" in "1" to "1000000";
        /// The size of a request.
        request: Bytes = "200 B" in "1 B" to "1 TB";
        /// The size of a response.
        response: Bytes = "1000 B" in "1 B" to "1 TB";
        /// The lifetime of connections. `"persistent"`: they stay open from the first round to the last and count as
        /// established. `"per-round"`: every round opens connections of its own, with the handshake of the transport
        /// and a first window, and closes them. Requests and responses are connections of their own.
        connections: Connections = "persistent";
        /// The number of requests that each worker gets.
        rounds: u32 = "100" in "1" to "1000000";
        /// Start a round only when all responses of the last round have arrived. Otherwise each worker is asked again
        /// as soon as its own response has arrived.
        barrier: bool = "false";
        /// The time at which the first round starts.
        start: Time = "0 s" in "0 s" to "100000 s";
        /// The pause between the end of a round and the start of the next.
        pause: Span = "0 s" in "0 s" to "1000 s";
        /// The largest random delay after which a worker is asked in a round; without `barrier`, in the first round.
        spread: Span = "0 s" in "0 s" to "1000 s";
    }
}

declare! {
    /// The shuffle step of MapReduce: every task sends to every task of every other host.
    pub table Shuffle {
        /// The hosts that take part, at least 2; a share of them as in `poisson`.
        hosts: Chosen<HostRef> = "all";
        /// The hosts among them that send; all receive. With shares in two traffic entries, the sender decides which
        /// transport a flow has.
        senders: Chosen<HostRef> = "all";
        /// The number of tasks of a host.
        tasks: u64 = "8" in "1" to "1000";
        /// The size of each flow.
        size: Bytes = "1 MB" in "1 B" to "1 TB";
        /// The time at which the flows start.
        start: Time = "0 s" in "0 s" to "100000 s";
        /// The largest random delay of the start of each flow.
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
        /// The host that sends.
        src: HostRef = required;
        /// The host that receives.
        dst: HostRef = required;
        /// The size of the flow. Without it, the flow sends until it is stopped.
        size: Option<Bytes> = none in "1 B" to "1 TB";
        /// The time at which the flow starts.
        start: Time = "0 s" in "0 s" to "100000 s";
        /// The time at which the flow stops.
        stop: Option<Time> = none in "1 ns" to "100000 s";
        /// The name of the flow, by which others of the list wait for it.
        name: Option<String> = none;
        /// The names of the flows of the list for which this one waits: it begins once they are all done, and has no `start`. In a
        /// list in which flows wait for others, each flow has a size, and none a stop; the run takes one thread.
        after: Option<Vec<String>> = none;
        /// With `after`: the time between the end of the last of them and the begin of this flow, such as that of a
        /// computation. Without it, none.
        pause: Option<Span> = none in "0 s" to "1000 s";
        /// With `after`: the moment at which they are done. `"delivered"`, as without it: all of them has arrived.
        /// `"acknowledged"`: their senders know that.
        done: Option<Done> = none;
        /// The name of the connection of which the flow is a message. All flows of the list with that name have the same
        /// sender and receiver, and the connection carries them one after another, in the order of their starts: the first
        /// opens it, with the handshake of the transport, and it closes behind the last. Without a name, the flow has a
        /// connection of its own. In a list with connections each flow has a size, and none a stop.
        connection: Option<String> = none;
    }
}

declare! {
    /// Flows listed in a file.
    pub table ListFile {
        /// The file, relative to the scenario's. It may be packed by gzip or Zstandard.
        path: String = required;
        /// The format of the file. `"auto"`: by its content. `"csv"`: the first line names the columns
        /// `start,src,dst,size` in any order, whose values have units; or `start_us` (`_s`, `_ms`, `_ns`, `_ps`) and
        /// `size_bytes`, whose values are numbers; a column `connection` names the connection of which a flow is a
        /// message, as in `list`, and so do columns `name`, `after` (names with spaces between them), `pause` and
        /// `done`. `"hpcc"`: the flow file of HPCC's ns-3, a count and then `src dst priority dport bytes
        /// start-in-seconds` a line. `"ns-2"`: the list of the ExpressPass authors' script, `start-in-seconds src dst
        /// bytes` a line. `"htsim"`: a connection matrix (`.cm`), `Nodes`, `Connections` and then `src->dst start TIME
        /// size BYTES` a line; lines that share an `id`, and have `msg`, are messages of a connection, and a line may
        /// have a `trigger` in place of its start. `"parquet"`: a table with the columns of CSV, read through the
        /// Python package. The [page on networks](../how-to/own-network-and-flows.md#formats) has an example of each.
        format: Auto<ListFormat> = "auto";
        /// The unit of start times in a connection matrix of htsim, whose programs differ: `"ps"` for NDP, EQDS, RoCE
        /// and HPCC of csg-htsim, `"us"` for Swift, and for UEC and EQDS of uet-htsim. It is needed if a start is not
        /// 0, and means nothing in other formats.
        start_unit: Option<HtsimUnit> = none;
        /// The BLAKE3 hash of the file, which is then refused if it has changed.
        hash: Option<String> = none;
    }
}
