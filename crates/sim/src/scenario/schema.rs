//! The keys of a scenario file, declared once: these lines are the reader, the limits, the defaults, the list that an
//! unknown key is held against, and `docs/scenario.md`.

use super::document::{Document, Path, Value};
use super::error::ScenarioError;
use super::field::*;
use crate::model::{Amount, Delay};
use clearway_proto::{Auto, port::MarkAt};
use clearway_units::{Bytes, Rate, Span, Time};
use std::cmp::Ordering;

/// The default of a key that must be there.
pub(super) const REQUIRED: &str = "required";
/// The default of a key that may be left out.
const NONE: &str = "";

/// What is known of a key.
pub(super) struct KeySpec {
    pub name: &'static str,
    pub doc: &'static str,
    pub kind: fn() -> String,
    pub default: &'static str,
    pub min: &'static str,
    pub max: &'static str,
}

/// A table of the schema.
pub(super) trait Table: Sized {
    /// What it describes.
    const DOC: &'static str;
    const KEYS: &'static [KeySpec];
    /// Reads the keys of the table at `at`.
    fn read(document: &Document, at: &Path) -> Result<Self, ScenarioError>;
    /// Its keys with their values in TOML.
    fn write(&self) -> Vec<(&'static str, String)>;
}

/// Reads one key and holds it against its limits.
fn read_key<T: Field>(document: &Document, at: &Path, spec: &KeySpec) -> Result<T, ScenarioError> {
    let path = at.key(spec.name);
    let source = |text| T::read(&Value::of_source(text)).expect("the schema's own values are valid");
    let Some(node) = document.get(&path) else {
        if spec.default == REQUIRED {
            return Err(document.error(&path, format!("is missing; write {}", (spec.kind)())));
        }
        return Ok(T::absent().unwrap_or_else(|| source(spec.default)));
    };
    let value = T::read(&node.value).map_err(|problem| document.error(&path, problem))?;
    let below = !spec.min.is_empty() && value.order(&source(spec.min)) == Some(Ordering::Less);
    let above = !spec.max.is_empty() && value.order(&source(spec.max)) == Some(Ordering::Greater);
    if below || above {
        return Err(document.error(&path, format!("must be {}", range(spec.min, spec.max))));
    }
    Ok(value)
}

/// Limits in words.
pub(super) fn range(min: &str, max: &str) -> String {
    match (min, max) {
        (min, "") => format!("at least {min}"),
        ("", max) => format!("at most {max}"),
        (min, max) => format!("from {min} to {max}"),
    }
}

macro_rules! table {
    (
        $(#[doc = $table_doc:literal])+
        $Table:ident {$(
            $(#[doc = $doc:literal])+
            $name:ident : $ty:ty = $default:expr $(, $min:literal to $max:literal)?;
        )*}
    ) => {
        $(#[doc = $table_doc])+
        #[derive(Clone, Debug)]
        pub(super) struct $Table {$(pub $name: $ty,)*}

        impl Table for $Table {
            const DOC: &'static str = concat!($($table_doc),+);
            const KEYS: &'static [KeySpec] = &[$(KeySpec {
                name: stringify!($name),
                doc: concat!($($doc),+),
                kind: <$ty as Field>::kind,
                default: $default,
                min: concat!("" $(, $min)?),
                max: concat!("" $(, $max)?),
            },)*];

            fn read(document: &Document, at: &Path) -> Result<$Table, ScenarioError> {
                let mut specs = Self::KEYS.iter();
                Ok($Table {$($name: {
                    let spec = specs.next().expect("one specification a key");
                    read_key::<$ty>(document, at, spec)?
                },)*})
            }

            fn write(&self) -> Vec<(&'static str, String)> {
                let written = [$((stringify!($name), self.$name.write())),*];
                written.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
            }
        }
    };
}

table! {
    /// Keys outside any table.
    Root {
        /// Name of the scenario, for tables and reports. Without one, the file's name.
        name: Option<String> = NONE;
        /// Seed of every random stream. Equal seeds give equal results, to the last bit.
        seed: u64 = "1";
        /// When to stop at the latest. Without it the run ends when every flow has ended.
        stop: Option<Time> = NONE, "1 ns" to "100000 s";
    }
}

table! {
    /// How packets are made and find their way.
    Network {
        /// How a flow's path is chosen: one path, the same links in both directions; one path, chosen
        /// independently in each direction; a random shortest path for every packet.
        routing: Routing = "symmetric-ecmp";
        /// Most payload of a data packet (the MSS).
        payload: Bytes = "1460 B", "64 B" to "16 KB";
        /// What a packet adds to its payload on the wire: headers, frame check sequence, preamble and gap.
        overhead: Bytes = "78 B", "20 B" to "500 B";
        /// Size on the wire of the smallest frame, preamble and gap included.
        wire_min: Bytes = "84 B", "20 B" to "500 B";
        /// Drop the fraction of a nanosecond in the time that a frame takes on a link, as HPCC's ns-3 code does.
        whole_ns: bool = "false";
    }
}

table! {
    /// Output ports of switches.
    Switch {
        /// How much may wait in a class at a port. `"auto"`: 384.5 KB (250 full frames) for each 10 Gbps of the
        /// fastest link, at least 384.5 KB (ExpressPass '17, sec. 6: 384.5 KB at 10 Gbps, 1.54 MB at 40 Gbps); with
        /// `shared_buffer`, no limit of its own.
        buffer: Auto<Amount> = "auto";
        /// ECN marking threshold K: data that meets a longer queue is marked. `"auto"`: `"by-rate"` if a transport
        /// of the scenario reacts to marks, or `"red"` if it asks for that, else `"off"`. `"by-rate"`: 65 full frames
        /// for each 10 Gbps of the port's rate, at least 10. `"red"`: at random, by the keys that start with `red`.
        marking: MarkingWord = "auto";
        /// Whether a packet meets the queue as it joins or as it leaves. Without it, as it joins; with `"red"`, as it
        /// leaves.
        marking_at: Option<MarkAt> = NONE;
        /// With `"red"`: no mark up to this queue. Without it, what the transports ask for, else 400 KB.
        red_kmin: Option<Bytes> = NONE, "0 B" to "1 GB";
        /// With `"red"`: always a mark above this queue. Without it, what the transports ask for, else 1600 KB.
        red_kmax: Option<Bytes> = NONE, "0 B" to "1 GB";
        /// With `"red"`: probability of a mark just below `red_kmax`; it rises from 0 at `red_kmin`. Without it, what
        /// the transports ask for, else 0.2.
        red_pmax: Option<f64> = NONE, "0" to "1";
        /// With `"red"`: the rate of a port that has just these thresholds; at others they grow with the rate. Without
        /// it, what the transports ask for, else 100 Gbps.
        red_rate: Option<Rate> = NONE, "1 Mbps" to "1.6 Tbps";
        /// Most credits that wait at a port. `"auto"`: what the transports ask for by their parameters; a value here
        /// replaces that. Only with a transport that uses credits, as all keys of credits.
        credit_queue: Auto<u32> = "auto", "1" to "1000000";
        /// Depth of the credits' token bucket. `"auto"`: what the transports ask for.
        credit_bucket: Auto<Bytes> = "auto", "84 B" to "100 KB";
        /// Whether the token bucket starts empty. `"auto"`: what the transports ask for.
        credit_bucket_empty: Auto<bool> = "auto";
        /// Share of each link that the limit of credits takes for the whole, so that they release data for this share
        /// and leave the rest to others: for data in a class of its own, what its weight gives it.
        credit_share: f64 = "1", "0.001" to "1";
        /// Classes of credits, each under `[[switch.credit_class]]`. Without any, there is one.
        credit_class: Tables = NONE;
        /// Memory that all ports of a switch share under dynamic thresholds, beside the limits of the ports. With
        /// `pfc` and without this key, 32 MB, or twice what headrooms and reserves take if that is more.
        shared_buffer: Option<Bytes> = NONE, "10 KB" to "1 TB";
        /// With `shared_buffer`: a queue may hold this many times what is free. Without it, 1.
        alpha: Option<f64> = NONE, "0.0001" to "1000";
        /// Priority flow control (IEEE 802.1Qbb): a switch stops who sends to it before its memory is full, so that
        /// nothing is lost. `"auto"`: if a transport of the scenario asks for a lossless network and no limit of a
        /// port's buffer is given.
        pfc: Auto<bool> = "auto";
        /// With `pfc`: a class of a link is stopped once it holds this share of the free memory, at the slowest rate
        /// of the network; at faster links the share grows with the rate. Without it, 0.125.
        pfc_alpha: Option<f64> = NONE, "0.0001" to "1000";
        /// With `pfc`: memory for what arrives by a link after it was stopped. `"auto"`, and without it: two delays'
        /// worth of bytes, three full frames and a pause frame, which is always enough.
        pfc_headroom: Option<Auto<Bytes>> = NONE, "0 B" to "1 GB";
        /// With `pfc`: memory of its own for each class of each link. Without it, 4096 B.
        pfc_reserve: Option<Bytes> = NONE, "0 B" to "1 GB";
        /// With `pfc`: a link may go on so far below the threshold. Without it, 3072 B.
        pfc_resume_offset: Option<Bytes> = NONE, "0 B" to "1 GB";
        /// With `pfc`: a port that is stopped for longer without a break is reported as a pause storm. Without it,
        /// 200 ms.
        pfc_storm: Option<Span> = NONE, "1 us" to "1000 s";
        /// Drain rate of phantom queues, as a share of the link's. Without it, what the transport asks for. Only with
        /// a transport that uses phantom queues, as the next key.
        phantom_drain: Option<f64> = NONE, "0.01" to "1";
        /// Marking threshold of phantom queues. Without it, what the transport asks for.
        phantom_threshold: Option<Bytes> = NONE, "1 B" to "1 GB";
        /// RCP's gain on spare capacity. Without it, what the transport asks for. Only with a transport that uses
        /// RCP's rates, as the next two keys.
        rcp_alpha: Option<f64> = NONE, "0.0001" to "10";
        /// RCP's gain on the queue. Without it, what the transport asks for.
        rcp_beta: Option<f64> = NONE, "0" to "10";
        /// Share of the link that RCP uses. Without it, what the transport asks for.
        rcp_gamma: Option<f64> = NONE, "0.01" to "1";
        /// Classes of packets, each under `[[switch.class]]`. Without any, there is one, named `data`. Credits have a
        /// class of their own.
        class: Tables = NONE;
    }
}

table! {
    /// A class of packets, at switches and hosts.
    ClassTable {
        /// Its name, which traffic chooses.
        name: Name = REQUIRED;
        /// Classes of a lower number go first.
        priority: u8 = "0", "0" to "7";
        /// Share among classes of the same priority, by bytes.
        weight: u32 = "1", "1" to "1000";
        /// How much may wait at a switch's port. Without it, as `switch.buffer`.
        buffer: Option<Amount> = NONE;
        /// Marking threshold. Without it, as `switch.marking`.
        marking: Option<MarkingWord> = NONE;
        /// When to compare. Without it, as `switch.marking_at`.
        marking_at: Option<MarkAt> = NONE;
        /// Whether flow control protects it. Without it, if `switch.pfc` is on.
        lossless: Option<bool> = NONE;
    }
}

table! {
    /// A class of credits, at switches and hosts. All classes together keep within the port's limit of credits; whose
    /// credits pass has its data sent. So the order among credits is the order among data (ExpressPass '17, sec. 7).
    CreditClassTable {
        /// Its name, which traffic chooses.
        name: Name = REQUIRED;
        /// Classes of a lower number go first.
        priority: u8 = "0", "0" to "7";
        /// Share among classes of the same priority, by credits.
        weight: u32 = "1", "1" to "1000";
        /// Most credits of the class that wait at a switch's port. Without it, as `switch.credit_queue`.
        queue: Option<u32> = NONE, "1" to "1000000";
        /// A limit of its own besides the common one, as `switch.credit_share`: for data in a class of its own.
        share: Option<f64> = NONE, "0.001" to "1";
    }
}

table! {
    /// Hosts and their network cards.
    Host {
        /// Time between the arrival of a packet and its handling, drawn for each packet; packets of one flow keep
        /// their order. Quantiles are pairs of a share of packets and a time, with straight lines between.
        processing_delay: Delay = "0 s";
        /// How much may wait in a class at the network card.
        buffer: Amount = "unlimited";
        /// Most credits that wait at the network card. `"auto"`: as at a switch's port.
        credit_queue: Auto<u32> = "auto", "1" to "1000000";
    }
}

table! {
    /// The keys that all traffic has.
    TrafficTable {
        /// Its name, in tables and `--set`. Without one, its kind, with a number if it comes again.
        name: Option<Name> = NONE;
        /// What it sends; the other keys depend on it.
        kind: Kind = REQUIRED;
        /// Its transport: a name, or a table of a name and parameters. A table without a name takes over
        /// `[transport]` and changes parameters of it. Without this key, `[transport]`.
        transport: TransportKey = NONE;
        /// The class of its packets. Without it, the first of `[[switch.class]]`.
        class: Option<Name> = NONE;
        /// The class of its credits. Without it, the first of `[[switch.credit_class]]`. Only with a transport that uses
        /// credits.
        credit_class: Option<Name> = NONE;
        /// The class of its notifications of congestion. Without it, a class of the highest priority that is made for
        /// them if its transport asks for one and there is no `[[switch.class]]`; else as `class`.
        notice_class: Option<Name> = NONE;
    }
}

table! {
    /// Flows known in advance: pairs of hosts.
    Long {
        /// Who sends to whom. `"auto"`: the pairs of the shape: sender to receiver of each pair of a dumbbell, the
        /// long flow and the cross flows of a parking lot, all flows of a multi-bottleneck; other shapes have none.
        /// `"random"`: two different hosts for each flow. A share, `{ share = 0.5, from = 0 }`: that part of the shape's
        /// pairs, in their order; so parts of the traffic can divide them.
        pairs: Pairs = "auto";
        /// How many flows; more than there are pairs go around them again. Without it, one for each pair.
        count: Option<u64> = NONE, "1" to "2000000";
        /// Bytes of each flow. Without it, they send as long as they may.
        size: Option<Bytes> = NONE, "1 B" to "1 TB";
        /// When the first flow starts.
        start: Time = "0 s", "0 s" to "100000 s";
        /// Each flow starts this much later than the one before.
        stagger: Span = "0 s", "0 s" to "100000 s";
        /// Each flow starts later by a random time up to this.
        spread: Span = "0 s", "0 s" to "100000 s";
        /// How long each flow sends at most, from its start.
        duration: Option<Span> = NONE, "1 ns" to "100000 s";
        /// When all flows stop sending.
        stop: Option<Time> = NONE, "1 ns" to "100000 s";
    }
}

table! {
    /// Flows that arrive by a Poisson process between random pairs of hosts, at a load of the network.
    PoissonTable {
        /// Sizes of flows: the name of a built-in workload (`clearway list workloads`). One of `workload`, `cdf` and
        /// `size` is needed.
        workload: Option<String> = NONE;
        /// Sizes of flows: a CSV file of lines `bytes,cumulative_probability`.
        cdf: Option<String> = NONE;
        /// The BLAKE3 hash of the `cdf` file, which is then refused if it has changed.
        cdf_hash: Option<String> = NONE;
        /// Sizes of flows: all the same.
        size: Option<Bytes> = NONE, "1 B" to "1 TB";
        /// Share of the capacity of the switches' uplinks (of the host links, where nothing is oversubscribed) that
        /// the flows ask for: hosts x link rate x load / (mean size on the wire) / oversubscription flows arrive in a
        /// second. Sizes on the wire are payload times full frame / `payload`.
        load: f64 = REQUIRED;
        /// The mean size from which the arrival rate is set. Without it, the one that the authors of the workload
        /// use, if they state one (web-search 1,654,275 B, data-mining 7,410,212 B, cache-follower 701,490 B,
        /// web-server 63,735 B, 1 to 4 % below that of the distribution), else the mean of the distribution.
        mean: Option<Bytes> = NONE, "1 B" to "1 TB";
        /// How many flows arrive.
        flows: u64 = "1000", "1" to "100000000";
        /// When arrivals begin.
        start: Time = "0 s", "0 s" to "100000 s";
        /// No arrivals after this.
        stop: Option<Time> = NONE, "1 ns" to "100000 s";
        /// Hosts that send and receive; sender and receiver are uniform over these and differ. A share of all hosts,
        /// `{ share = 0.5, from = 0 }`, is drawn by the seed, once for all traffic: with `{ share = 0.5, from = 0.5 }` in
        /// another part every host is in one of both.
        hosts: Chosen<HostRef> = "all";
    }
}

table! {
    /// Each host sends to one and receives from one other: a random cycle through the hosts.
    Permutation {
        /// Bytes of each flow. Without it, they send as long as they may.
        size: Option<Bytes> = NONE, "1 B" to "1 TB";
        /// When the flows start.
        start: Time = "0 s", "0 s" to "100000 s";
        /// Each flow starts later by a random time up to this.
        spread: Span = "0 s", "0 s" to "100000 s";
        /// When all flows stop sending.
        stop: Option<Time> = NONE, "1 ns" to "100000 s";
        /// The hosts that take part, at least 2; a share of them as in `poisson`.
        hosts: Chosen<HostRef> = "all";
    }
}

table! {
    /// Many hosts answer one at once, in rounds.
    Incast {
        /// Who asks and receives.
        receiver: HostRef = "h0";
        /// Who sends: a number, which goes around all other hosts, or a list, in which a host may stand several
        /// times.
        senders: Workers = "32";
        /// Bytes that each sends in a round. Without this and `total`, 64 KB.
        size: Option<Bytes> = NONE, "1 B" to "1 TB";
        /// Bytes that all send in a round together, in equal parts; what does not divide goes to the first, a byte
        /// each. Either this or `size`.
        total: Option<Bytes> = NONE, "1 B" to "1 TB";
        /// Whether connections stay open from the first round to the last and count as established; or every round
        /// opens its own, with the handshake of the transport and a first window, and closes them. Requests and
        /// answers are connections of their own.
        connections: Connections = "persistent";
        /// Bytes of the request to each. Zero: all start by themselves at once.
        request: Bytes = "0 B", "0 B" to "1 TB";
        /// How many rounds.
        rounds: u32 = "1", "1" to "1000000";
        /// Whether a round starts only when all answers of the last have arrived; else each is asked again as soon as
        /// its own has.
        barrier: bool = "true";
        /// When the first round starts.
        start: Time = "0 s", "0 s" to "100000 s";
        /// Pause between the end of a round and the next.
        pause: Span = "0 s", "0 s" to "1000 s";
        /// Each sender starts in a round later by a random time up to this; with `request`, that is when it is asked.
        spread: Span = "0 s", "0 s" to "1000 s";
    }
}

table! {
    /// One host asks many workers without pause and each answers (ExpressPass '17, Fig. 1).
    PartitionAggregate {
        /// Who asks and collects.
        client: HostRef = "h0";
        /// How many workers, which go around all other hosts; each is a connection of its own.
        fan_out: u64 = "32", "1" to "1000000";
        /// Bytes of a request.
        request: Bytes = "200 B", "1 B" to "1 TB";
        /// Bytes of a response.
        response: Bytes = "1000 B", "1 B" to "1 TB";
        /// Whether connections stay open from the first round to the last and count as established; or every round
        /// opens its own, with the handshake of the transport and a first window, and closes them. Requests and
        /// responses are connections of their own.
        connections: Connections = "persistent";
        /// How many requests each worker gets.
        rounds: u32 = "100", "1" to "1000000";
        /// Whether a round starts only when all responses of the last have arrived; else each worker is asked again
        /// as soon as its own has.
        barrier: bool = "false";
        /// When the first round starts.
        start: Time = "0 s", "0 s" to "100000 s";
        /// Pause between the end of a round and the next.
        pause: Span = "0 s", "0 s" to "1000 s";
        /// Each worker is asked later by a random time up to this when a round starts; without `barrier`, the first.
        spread: Span = "0 s", "0 s" to "1000 s";
    }
}

table! {
    /// The shuffle step of MapReduce: every task sends to every task of every other host.
    Shuffle {
        /// The hosts that take part, at least 2; a share of them as in `poisson`.
        hosts: Chosen<HostRef> = "all";
        /// Those of them that send; all receive. With shares in two parts of the traffic, the sender decides which
        /// transport a flow has.
        senders: Chosen<HostRef> = "all";
        /// Tasks of a host.
        tasks: u64 = "8", "1" to "1000";
        /// Bytes of each flow.
        size: Bytes = "1 MB", "1 B" to "1 TB";
        /// When the flows start.
        start: Time = "0 s", "0 s" to "100000 s";
        /// Each flow starts later by a random time up to this.
        spread: Span = "0 s", "0 s" to "100000 s";
    }
}

table! {
    /// Flows listed in the scenario.
    Listed {
        /// The flows, each a table.
        list: Tables = REQUIRED;
    }
}

table! {
    /// A flow of a list.
    FlowTable {
        /// Who sends.
        src: HostRef = REQUIRED;
        /// Who receives.
        dst: HostRef = REQUIRED;
        /// How many bytes. Without it, it sends as long as it may.
        size: Option<Bytes> = NONE, "1 B" to "1 TB";
        /// When it starts.
        start: Time = "0 s", "0 s" to "100000 s";
        /// When it stops sending.
        stop: Option<Time> = NONE, "1 ns" to "100000 s";
    }
}

table! {
    /// Flows listed in a file.
    ListFile {
        /// The file, relative to the scenario's.
        path: String = REQUIRED;
        /// Its format. CSV: the first line names the columns `start,src,dst,size`, whose values have units; or
        /// `start_us` (`_s`, `_ms`, `_ns`, `_ps`) and `size_bytes`, whose values are numbers. HPCC: the flow format of
        /// its ns-3, a count and then `src dst priority dport bytes start-in-seconds` a line.
        format: ListFormat = "csv";
        /// The BLAKE3 hash of the file, which is then refused if it has changed.
        hash: Option<String> = NONE;
    }
}

table! {
    /// A link that differs from what `[topology]` says, such as that of a faster host. A later entry comes after an
    /// earlier one.
    LinkTable {
        /// Its two ends.
        link: Link = REQUIRED;
        /// Its rate, in both directions. Without it, as it was.
        rate: Option<Rate> = NONE, "1 Mbps" to "1.6 Tbps";
        /// Its delay, in both directions. Without it, as it was.
        delay: Option<Span> = NONE, "0 s" to "1 s";
    }
}

table! {
    /// A link that fails.
    FaultTable {
        /// Its two ends.
        link: Link = REQUIRED;
        /// When it goes down.
        down: Time = REQUIRED, "0 s" to "100000 s";
        /// When it comes up again, if ever.
        up: Option<Time> = NONE, "0 s" to "100000 s";
        /// Which direction fails; forward is from the first end to the second.
        direction: Direction = "both";
    }
}

table! {
    /// Packets lost at random. A later entry replaces an earlier one on the same link, and all replace what a topology
    /// file says.
    LossTable {
        /// The two ends of the link.
        link: Links = "all";
        /// Share of packets that are lost.
        probability: f64 = REQUIRED, "0" to "1";
        /// Which direction loses; forward is from the first end to the second.
        direction: Direction = "both";
    }
}

table! {
    /// A series that is sampled at intervals or, for `rtt`, with each acknowledgement.
    SampleTable {
        /// Its name in the results. Without one, what it shows, with a number if it comes again.
        name: Option<Name> = NONE;
        /// What it shows: bits per second delivered to each receiver of `traffic`; congestion window, rate and
        /// smoothed RTT of each sender of `traffic`; the round-trip time that each acknowledgement of `traffic` tells
        /// its sender (credits tell none); bytes of data waiting at each of `ports`; credits waiting at each of
        /// `ports`; bits per second that leave each of `ports`.
        what: What = REQUIRED;
        /// Time between samples. Without it, 100 us. For `rtt` it means nothing: every acknowledgement is a sample.
        every: Option<Span> = NONE, "1 ns" to "1000 s";
        /// The part of the traffic, for `throughput`, `sender` and `rtt`. May be left out if there is only one.
        traffic: Option<Name> = NONE;
        /// The output ports, for `queue`, `credit-queue` and `rate`: a port is named by both ends of its link, the
        /// sending one first. Without it, those of all switches.
        ports: Option<Ports> = NONE;
    }
}

table! {
    /// Two switches and a link that all pairs share. Hosts: senders `h0` on, then receivers.
    DumbbellTable {
        /// Senders, and as many receivers.
        pairs: u32 = "2", "1" to "500000";
        /// Rate of host links.
        rate: Rate = "10 Gbps", "1 Mbps" to "1.6 Tbps";
        /// Delay of host links.
        delay: Span = "4 us", "0 s" to "1 s";
        /// Rate of the link between the switches.
        bottleneck_rate: Rate = "10 Gbps", "1 Mbps" to "1.6 Tbps";
        /// Delay of the link between the switches.
        bottleneck_delay: Span = "4 us", "0 s" to "1 s";
    }
}

table! {
    /// One switch. Hosts: `h0` on.
    StarTable {
        /// Hosts.
        hosts: u32 = "4", "1" to "60000";
        /// Rate of every link.
        rate: Rate = "10 Gbps", "1 Mbps" to "1.6 Tbps";
        /// Delay of every link.
        delay: Span = "4 us", "0 s" to "1 s";
    }
}

table! {
    /// Switches in a line: one flow over all links between them, and on each link a cross flow. Hosts: `long-sender`,
    /// `long-receiver`, then `cross-sender0`, `cross-receiver0`, ...
    ParkingLotTable {
        /// Links between switches.
        bottlenecks: u32 = "2", "1" to "100";
        /// Rate of every link.
        rate: Rate = "10 Gbps", "1 Mbps" to "1.6 Tbps";
        /// Delay of every link.
        delay: Span = "4 us", "0 s" to "1 s";
    }
}

table! {
    /// ExpressPass '17, Fig. 11 (a): flows 1 to N cross Link 1 and then Link 2, Flow 0 crosses Link 2 only. Hosts:
    /// `sender0` on, `receiver0` on.
    MultiBottleneckTable {
        /// N.
        flows: u32 = "2", "1" to "30000";
        /// One host for all senders, as in the authors' script.
        shared_sender: bool = "false";
        /// Rate of every link.
        rate: Rate = "10 Gbps", "1 Mbps" to "1.6 Tbps";
        /// Delay of every link.
        delay: Span = "4 us", "0 s" to "1 s";
    }
}

table! {
    /// The k-ary fat tree: k^3/4 hosts `h0` on, switches `tor0`, `agg0`, `core0` on.
    FatTreeTable {
        /// Ports of a switch, even.
        k: u32 = "4", "2" to "128";
        /// Rate of every link that has no other.
        rate: Rate = "10 Gbps", "1 Mbps" to "1.6 Tbps";
        /// Delay of every link that has no other.
        delay: Span = "4 us", "0 s" to "1 s";
        /// Rate of host links.
        host_rate: Option<Rate> = NONE, "1 Mbps" to "1.6 Tbps";
        /// Delay of host links.
        host_delay: Option<Span> = NONE, "0 s" to "1 s";
        /// Rate of links to the cores.
        core_rate: Option<Rate> = NONE, "1 Mbps" to "1.6 Tbps";
        /// Delay of links to the cores.
        core_delay: Option<Span> = NONE, "0 s" to "1 s";
    }
}

table! {
    /// The 192-host tree of ExpressPass '17, sec. 6.3, 3:1 oversubscribed at its 32 ToRs; 16 aggregation switches, 8
    /// cores.
    OversubscribedTable {
        /// Rate of every link.
        rate: Rate = "10 Gbps", "1 Mbps" to "1.6 Tbps";
        /// Delay of every link.
        delay: Span = "4 us", "0 s" to "1 s";
    }
}

table! {
    /// The 320-host tree of PACC and HPCC: 20 ToRs, 20 aggregation switches, 16 cores.
    Pacc320Table {
        /// Rate of host links.
        rate: Rate = "100 Gbps", "1 Mbps" to "1.6 Tbps";
        /// Rate of links between switches.
        fabric_rate: Rate = "400 Gbps", "1 Mbps" to "1.6 Tbps";
        /// Delay of every link.
        delay: Span = "1 us", "0 s" to "1 s";
    }
}

table! {
    /// Three tiers with free counts. Hosts `h0` on, switches `tor0`, `agg0`, `core0` on.
    Clos3Table {
        /// Pods.
        pods: u32 = "4", "1" to "10000";
        /// ToRs of a pod.
        tors_per_pod: u32 = "4", "1" to "10000";
        /// Aggregation switches of a pod.
        aggs_per_pod: u32 = "4", "1" to "10000";
        /// Hosts of a ToR.
        hosts_per_tor: u32 = "8", "1" to "10000";
        /// Cores.
        cores: u32 = "16", "1" to "10000";
        /// Links from each aggregation switch to different cores.
        uplinks_per_agg: u32 = "4", "1" to "10000";
        /// Rate of host links.
        rate: Rate = "10 Gbps", "1 Mbps" to "1.6 Tbps";
        /// Delay of host links.
        delay: Span = "1 us", "0 s" to "1 s";
        /// Rate of links between ToRs and aggregation switches.
        agg_rate: Rate = "40 Gbps", "1 Mbps" to "1.6 Tbps";
        /// Delay of links between ToRs and aggregation switches.
        agg_delay: Span = "1 us", "0 s" to "1 s";
        /// Rate of links to the cores.
        core_rate: Rate = "40 Gbps", "1 Mbps" to "1.6 Tbps";
        /// Delay of links to the cores.
        core_delay: Span = "5 us", "0 s" to "1 s";
    }
}

table! {
    /// Two tiers: every leaf is linked to every spine. Hosts `h0` on, switches `tor0`, `spine0` on.
    LeafSpineTable {
        /// Leaves.
        leaves: u32 = "4", "1" to "10000";
        /// Spines.
        spines: u32 = "2", "1" to "10000";
        /// Hosts of a leaf.
        hosts_per_leaf: u32 = "8", "1" to "10000";
        /// Rate of host links.
        rate: Rate = "10 Gbps", "1 Mbps" to "1.6 Tbps";
        /// Delay of host links.
        delay: Span = "4 us", "0 s" to "1 s";
        /// Rate of links to the spines.
        uplink_rate: Rate = "40 Gbps", "1 Mbps" to "1.6 Tbps";
        /// Delay of links to the spines.
        uplink_delay: Span = "4 us", "0 s" to "1 s";
    }
}

table! {
    /// A network from a file.
    TopologyFile {
        /// The file, relative to the scenario's.
        path: String = REQUIRED;
        /// The BLAKE3 hash of the file, which is then refused if it has changed.
        hash: Option<String> = NONE;
    }
}
