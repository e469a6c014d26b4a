//! Scenarios in which transports of several kinds share one network, with frames, classes, credit classes, flow control,
//! memory and loss drawn at random.

use clearway_proto::TRANSPORTS;
use clearway_sim::model::*;
use clearway_sim::scenario::{Overrides, Scenario};
use clearway_sim::warnings;
use clearway_topology::PortId;
use clearway_units::{Span, Time};
use proptest::prelude::*;
use proptest::sample::select;
use std::collections::BTreeSet;
use std::path::Path;

/// The hosts of every network here, at least.
const HOSTS: u32 = 6;

/// Returns proptest's configuration with one in so many of its cases, of which it has 256 unless `PROPTEST_CASES` says otherwise.
pub fn one_in(many: u32) -> ProptestConfig {
    let usual = ProptestConfig::default();
    ProptestConfig { cases: usual.cases / many, max_global_rejects: 100_000, ..usual }
}

fn pick(values: &'static [&'static str]) -> impl Strategy<Value = String> {
    select(values).prop_map(String::from)
}

/// Returns a line of a table, or nothing.
fn maybe(key: &'static str, values: &'static [&'static str]) -> impl Strategy<Value = String> {
    let line = select(values).prop_map(move |value| format!("{key} = {value}\n"));
    prop_oneof![1 => Just(String::new()), 1 => line]
}

fn topology() -> impl Strategy<Value = String> {
    let kinds = &[
        "kind = \"star\"\nhosts = 6",
        "kind = \"dumbbell\"\npairs = 3",
        "kind = \"parking-lot\"\nbottlenecks = 2",
        "kind = \"fat-tree\"",
        "kind = \"leaf-spine\"\nleaves = 3\nhosts_per_leaf = 2",
    ];
    let rate = select(&["1 Gbps", "10 Gbps", "25 Gbps", "100 Gbps", "400 Gbps", "800 Gbps"][..]);
    (pick(kinds), rate, 0u32..20_000)
        .prop_map(|(kind, rate, ns)| format!("[topology]\n{kind}\nrate = \"{rate}\"\ndelay = \"{ns} ns\"\n"))
}

fn network() -> impl Strategy<Value = String> {
    let keys = (
        maybe(
            "routing",
            &["\"ecmp\"", "\"spray\"", "\"ns2-xpass\"", "\"entropy\"", "\"source\"", "\"adaptive\""],
        ),
        maybe("payload", &["\"200 B\"", "\"536 B\"", "\"1000 B\"", "\"4096 B\"", "\"9000 B\""]),
        maybe("framing", &["\"ns-2\""]),
        maybe("whole_ns", &["true"]),
        maybe("processing_delay", &["\"1 us\"", "{ uniform = [\"0 us\", \"5 us\"] }"]),
    );
    keys.prop_map(|(routing, payload, framing, whole, delay)| {
        format!("[network]\n{routing}{payload}{framing}{whole}\n[host]\n{delay}")
    })
}

/// Returns the keys of trimming, where some transport asks for it.
fn trimming() -> impl Strategy<Value = String> {
    let keys = (
        maybe("trim_to", &["\"200 B\""]),
        maybe("trim_victim", &["\"coin\"", "\"arriving\""]),
        maybe("trim_headers", &["0.01", "1", "2"]),
        maybe("trim_last_hop", &["0.5", "1.5"]),
        maybe("trim_return", &["true", "false"]),
    );
    let rule = keys.prop_map(|(to, victim, headers, last_hop, returns)| {
        [to, victim, headers, last_hop, returns].concat()
    });
    prop_oneof![1 => Just(String::new()), 2 => rule, 1 => Just("trim = false\n".to_owned())]
}

/// Returns the table `[switch]`: memory, marks, flow control, trimming and limits of credits. `has` says whether there are
/// credits and trimming, `classes` holds the classes of packets and of credits.
fn switch(has: [bool; 2], classes: String) -> impl Strategy<Value = String> {
    let [credits, trims] = has;
    let memory = (
        maybe("buffer", &["\"20 KB\"", "\"5 packets\"", "\"2 slots\"", "\"1 MB\"", "\"0.5 BDP\""]),
        maybe("shared_buffer", &["\"1 MB\"", "\"40 MB\"", "\"400 MB\""]),
        maybe("marking", &["\"by-rate\"", "\"red\"", "\"off\"", "\"8 packets\"", "\"30 KB\"", "\"bdp\""]),
    );
    let control = (
        select(&["", "pfc = true\n", "pfc = false\n"][..]),
        maybe("pfc_alpha", &["0.01", "1", "8"]),
        maybe("pfc_reserve", &["\"0 B\"", "\"20 KB\""]),
        maybe("pfc_resume_offset", &["\"0 B\"", "\"10 KB\""]),
        maybe("pfc_response", &["\"1 us\"", "\"9 us\""]),
        maybe("pfc_storm", &["\"1 us\"", "\"1 ms\""]),
    );
    let limits = (
        select(&["8", "1", "64"][..]),
        maybe("credit_queue_bytes", &["true"]),
        maybe("credit_drop", &["\"random\""]),
        maybe("credit_share", &["0.5", "0.9"]),
        maybe("credit_bucket_empty", &["true"]),
    );
    (memory, control, limits, trimming()).prop_map(move |(memory, control, limits, trimming)| {
        let mut text = format!("[switch]\n{}{}{}", memory.1, memory.2, control.0);
        if !control.0.contains("true") {
            text += &memory.0;
            text += if trims { &trimming } else { "" };
        } else {
            text += &[control.1, control.2, control.3, control.4, control.5].concat();
        }
        if credits {
            text += &format!("credit_queue = {}\n{}{}{}", limits.0, limits.1, limits.2, limits.3);
        }
        text + &classes
    })
}

/// Returns up to three classes of data and up to three of credits, with their counts.
fn classes() -> impl Strategy<Value = (usize, usize, String)> {
    let memory = &["", "", "lossless = false\n", "lossless = false\nbuffer = \"30 KB\"\n"][..];
    let class = || (0u8..3, 1u32..4, select(memory));
    let credit_class = || (0u8..3, 1u32..4, maybe("queue", &["2", "32"]), maybe("share", &["0.2", "1.0"]));
    let some = |most| prop_oneof![Just(0usize), 1usize..most];
    let each = (prop::array::uniform3(class()), prop::array::uniform3(credit_class()));
    (some(4), some(4), each).prop_map(|(count, credit_count, (classes, credit_classes))| {
        let mut text = String::new();
        for (index, (priority, weight, memory)) in classes[..count].iter().enumerate() {
            let own = format!("name = \"c{index}\"\npriority = {priority}\nweight = {weight}\n");
            text += &format!("[[switch.class]]\n{own}{memory}");
        }
        for (index, (priority, weight, queue, share)) in credit_classes[..credit_count].iter().enumerate() {
            let own = format!("name = \"k{index}\"\npriority = {priority}\nweight = {weight}\n");
            text += &format!("[[switch.credit_class]]\n{own}{queue}{share}");
        }
        (count, credit_count, text)
    })
}

/// A traffic entry, drawn before it is known which transports and classes there are.
#[derive(Clone, Debug)]
struct Entry {
    pattern: String,
    transport: usize,
    low_priority: bool,
    class: usize,
    ack_class: usize,
    credit_class: usize,
}

/// Returns the places in the list of the transports that ask for trimming.
fn that_trim() -> Vec<usize> {
    let asks = |place: &usize| super::transport(TRANSPORTS[*place].name).needs().trimming.is_some();
    (0..TRANSPORTS.len()).filter(asks).collect()
}

/// Draws an entry under one of these transports.
fn entry(transports: Vec<usize>) -> impl Strategy<Value = Entry> {
    let start = 0u32..300;
    let bytes = prop_oneof![1u64..3_000, 1u64..60_000, 1u64..400_000];
    let incast = (1u32..6, bytes.clone(), start.clone(), maybe("connections", &["\"per-round\""]), 1u32..3)
        .prop_map(|(senders, bytes, us, connections, rounds)| {
            format!(
                "kind = \"incast\"\nreceiver = 5\nsenders = {senders}\nsize = \"{bytes} B\"\nstart = \"{us} us\"\n\
                 rounds = {rounds}\n{connections}"
            )
        });
    let permutation = (bytes.clone(), start).prop_map(|(bytes, us)| {
        format!("kind = \"permutation\"\nsize = \"{bytes} B\"\nstart = \"{us} us\"\nspread = \"20 us\"\n")
    });
    let asked = (1u32..6, 1u32..4).prop_map(|(fan_out, rounds)| {
        format!("kind = \"partition-aggregate\"\nclient = 0\nfan_out = {fan_out}\nrounds = {rounds}\nrequest = \"200 B\"\n")
    });
    let flow =
        (0..HOSTS, 1..HOSTS, bytes.clone(), prop_oneof![3 => Just(None), 1 => (301u32..900).prop_map(Some)]);
    let listed = prop::collection::vec(flow, 1..6).prop_map(|flows| {
        let flow = |&(src, step, bytes, stop): &(u32, u32, u64, Option<u32>)| {
            let stop = stop.map_or(String::new(), |us| format!(", stop = \"{us} us\""));
            format!("{{ src = {src}, dst = {}, size = \"{bytes} B\"{stop} }}", (src + step) % HOSTS)
        };
        format!("kind = \"flows\"\nlist = [{}]\n", flows.iter().map(flow).collect::<Vec<_>>().join(", "))
    });
    let message = (0..HOSTS, prop::option::of(1u32..3), bytes.clone(), 0u32..900);
    let messages = prop::collection::vec(message, 1..9).prop_map(|messages| {
        // Messages with a connection go from a host to the one or two behind it, and share that of their pair.
        let message = |&(src, step, bytes, us): &(u32, Option<u32>, u64, u32)| {
            let connection = step.map_or(String::new(), |step| format!(", connection = \"{src}-{step}\""));
            let dst = (src + step.unwrap_or(1)) % HOSTS;
            format!("{{ src = {src}, dst = {dst}, size = \"{bytes} B\", start = \"{us} us\"{connection} }}")
        };
        format!(
            "kind = \"flows\"\nlist = [{}]\n",
            messages.iter().map(message).collect::<Vec<_>>().join(", ")
        )
    });
    // Some begin at a time, the others once one or two of those before them are done, at either end.
    let waiting = (0..HOSTS, 1..HOSTS, bytes.clone(), prop::option::of((0usize..9, 0usize..9)), 0u32..60);
    let chained = prop::collection::vec(waiting, 2..9).prop_map(|flows| {
        let of = |place: usize| {
            let (src, step, bytes, after, us) = flows[place];
            let begin = match after.filter(|_| place > 0) {
                None => format!("start = \"{us} us\""),
                Some((a, b)) => {
                    let after = BTreeSet::from([a % place, b % place]);
                    let names: Vec<String> = after.iter().map(|place| format!("\"f{place}\"")).collect();
                    let done = if us % 2 == 0 { "delivered" } else { "acknowledged" };
                    format!("after = [{}], pause = \"{} us\", done = \"{done}\"", names.join(", "), us / 20)
                }
            };
            let dst = (src + step) % HOSTS;
            format!("{{ name = \"f{place}\", src = {src}, dst = {dst}, size = \"{bytes} B\", {begin} }}")
        };
        let list: Vec<String> = (0..flows.len()).map(of).collect();
        format!("kind = \"flows\"\nlist = [{}]\n", list.join(", "))
    });
    let arriving = (1u32..30, 1u32..60_000, select(&["0.2", "0.9"][..])).prop_map(|(flows, bytes, load)| {
        format!("kind = \"poisson\"\nsize = \"{bytes} B\"\nload = {load}\nflows = {flows}\n")
    });
    let pattern = prop_oneof![incast, permutation, asked, listed, messages, chained, arriving];
    (pattern, select(transports), any::<bool>(), 0usize..3, 0usize..3, 0usize..3).prop_map(
        |(pattern, transport, low_priority, class, ack_class, credit_class)| Entry {
            pattern,
            transport,
            low_priority,
            class,
            ack_class,
            credit_class,
        },
    )
}

impl Entry {
    fn name(&self) -> &'static str {
        TRANSPORTS[self.transport].name
    }

    fn uses_credits(&self) -> bool {
        super::transport(self.name()).needs().credits.is_some()
    }

    fn trims(&self) -> bool {
        super::transport(self.name()).needs().trimming.is_some()
    }

    /// Returns the entry as a table of a scenario with so many classes of packets and of credits.
    fn text(&self, classes: usize, credit_classes: usize) -> String {
        // EC4 and ExpressPass ask for different queues unless the scenario says otherwise, and so does low_priority.
        let unscheduled = self.low_priority && self.name() == "expresspass";
        let own = if unscheduled { ", low_priority = 1" } else { "" };
        // Without acknowledgements nothing waits for them.
        let recovers = TRANSPORTS[self.transport].recovers;
        let done = if recovers { "\"acknowledged\"" } else { "\"delivered\"" };
        let pattern = self.pattern.replace("\"acknowledged\"", done);
        let mut text = format!("[[traffic]]\ntransport = {{ name = \"{}\"{own} }}\n{pattern}", self.name());
        if classes > 0 {
            let (class, ack_class) = (self.class % classes, self.ack_class % classes);
            text += &format!("class = \"c{class}\"\nack_class = \"c{ack_class}\"\n");
        }
        if credit_classes > 0 && self.uses_credits() {
            text += &format!("credit_class = \"k{}\"\n", self.credit_class % credit_classes);
        }
        text
    }
}

fn troubles() -> impl Strategy<Value = String> {
    let loss = prop_oneof![3 => Just(String::new()), 1 => (1u32..50).prop_map(|permille| {
        format!("[[loss]]\nprobability = 0.{permille:03}\n")
    })];
    loss
}

/// The time at which runs stop that have not ended, in seconds. Where links lose packets, a third of the
/// handshakes and more are lost, and their timers double up to a minute: there is room for twenty tries of one flow.
const STOP_S: u32 = 1_000;

/// Draws scenario files with several transports in one network.
pub fn scenarios() -> impl Strategy<Value = String> {
    // Packets are cut where all transports of a class know of it, which those of all would seldom be.
    let entries = prop_oneof![
        4 => prop::collection::vec(entry((0..TRANSPORTS.len()).collect()), 1..5),
        1 => prop::collection::vec(entry(that_trim()), 1..5),
    ];
    let mixed = (entries, classes());
    mixed.prop_flat_map(|(entries, (count, credit_count, classes))| {
        let has_credits = entries.iter().any(Entry::uses_credits);
        let trims = entries.iter().any(Entry::trims);
        let credit_count = if has_credits { credit_count } else { 0 };
        let cut = classes.find("[[switch.credit_class]]").filter(|_| !has_credits);
        let classes = classes[..cut.unwrap_or(classes.len())].to_string();
        let traffic: String = entries.iter().map(|entry| entry.text(count, credit_count)).collect();
        (any::<u32>(), topology(), network(), switch([has_credits, trims], classes), troubles()).prop_map(
            move |(seed, topology, network, switch, troubles)| {
                format!(
                    "seed = {seed}\nstop = \"{STOP_S} s\"\n{topology}{network}{switch}{traffic}{troubles}"
                )
            },
        )
    })
}

/// Returns the model of a scenario, or the line in which it is refused. One whose core headers can fill stops early, since it may
/// never end.
pub fn model(text: &str) -> Result<Model, String> {
    let read = Scenario::parse(text, "mix.toml", Path::new("."), &Overrides::default());
    let mut model = read.map(|scenario| scenario.model).map_err(|error| error.to_string())?;
    if may_collapse(&model) {
        model.stop = Some(Time::ZERO + Span::from_ms(2));
    }
    Ok(model)
}

/// Returns whether headers of cut packets and their answers can fill the core, and leave no room for data.
pub fn may_collapse(model: &Model) -> bool {
    warnings(model).iter().any(|warning| warning.kind == "collapse")
}

/// Returns the model with every port and flow sampled, about 200 times in a run of this length, and a window of
/// measurement.
pub fn watched(model: &Model, end: Time) -> Model {
    let every = Span::from_us(50).max((end - Time::ZERO) / 200);
    let ports: Vec<PortId> = (0..model.topology.ports().len() as u32).map(PortId).collect();
    let of_ports = [
        Probe::Queue(ports.clone()),
        Probe::CreditQueue(ports.clone()),
        Probe::Trims(ports.clone()),
        Probe::Drops(ports),
    ];
    let of_traffic = (0..model.traffic.len())
        .flat_map(|index| [Probe::Throughput(index), Probe::Sender(index), Probe::Losses(index)]);
    let sample = |what| Sample { name: "p".into(), every, what };
    let at = |us| Some(Time::ZERO + Span::from_us(us));
    let measure = Measure { from: at(model.seed % 200), until: at(200 + model.seed % 300) };
    Model { samples: of_ports.into_iter().chain(of_traffic).map(sample).collect(), measure, ..model.clone() }
}
