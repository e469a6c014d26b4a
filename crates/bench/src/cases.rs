//! The benchmark's cases.

use clearway_units::Span;
use clearway_view::Parts;

/// A case of the benchmark.
pub struct Case {
    /// The name, which `--case` takes.
    pub name: String,
    /// The network with its traffic and transport.
    pub load: Load,
    /// The bare loop on the same network, whose speed bounds that of the case.
    pub bare: Option<String>,
    /// The number of threads.
    pub threads: usize,
    /// The case that is the same on one thread.
    pub alone: Option<String>,
    /// The parts of the frames that are taken every 10 us of simulated time, if any are.
    pub frames: Option<Parts>,
    /// The case that is the same without frames.
    pub unseen: Option<String>,
    /// True for a case of `make bench-full` alone.
    pub is_long: bool,
    /// The scale at which instructions are counted, which is some fifty times slower than the run itself; zero where they
    /// are not.
    pub counted_at: f64,
}

/// A network with its traffic and transport.
#[derive(Clone, Copy)]
pub enum Load {
    /// Packets circulate on the paths of a permutation without any protocol.
    Bare(Permutation),
    /// Every host sends one flow without end and receives one.
    Permutation(Permutation, &'static str),
    /// As [`Load::Permutation`], in the frames of uet-htsim and under its profile: each packet takes a path of its own, and ports trim.
    Sprayed(Permutation, &'static str),
    /// A fat tree of this `k` is set up, and nothing is sent.
    Idle(u32),
    /// So many flows of the web-search sizes at load 0.6 on the 192-host tree at 10 Gbps.
    WebSearch(&'static str, u64),
    /// Such flows for this time.
    WebSearchFor(&'static str, Span),
    /// So many flows of the web-search sizes at load 0.5 on the lossless 320-host tree, with these rates in Gbps of hosts and fabric.
    Lossless(&'static str, [u32; 2], u64),
    /// So many flows of 1 KB, one after the other, between random hosts of the 128-host tree; their rows leave memory.
    Short(&'static str, u64),
    /// So many flows on the 128-host tree that are all active until the end.
    Active(&'static str, u64),
}

/// A permutation on a fat tree.
#[derive(Clone, Copy)]
pub struct Permutation {
    /// The `k` of the tree, which has `k`^3 / 4 hosts.
    pub k: u32,
    /// The rate of all links in Gbps.
    pub gbps: u32,
    /// The simulated time.
    pub time: Span,
    /// The delay of all links.
    pub delay: Span,
}

impl Permutation {
    const fn new(k: u32, gbps: u32, us: u64) -> Permutation {
        Permutation { k, gbps, time: Span::from_us(us), delay: Span::from_us(1) }
    }

    const fn with_delay(self, ns: u64) -> Permutation {
        Permutation { delay: Span::from_ns(ns), ..self }
    }

    /// Returns the number of hosts.
    pub fn hosts(&self) -> u32 {
        self.k * self.k * self.k / 4
    }
}

/// The permutations with a bare loop beside them, each of a few CPU-seconds, with the scale at which instructions are
/// counted.
const TREES: [(Permutation, f64); 3] = [
    (Permutation::new(8, 100, 4000), 0.05),
    (Permutation::new(16, 100, 500), 0.05),
    (Permutation::new(32, 100, 100), 0.05),
];
/// The permutations of Ultra Ethernet, with the scale at which instructions are counted.
const SPRAYED: [(Permutation, f64); 2] =
    [(Permutation::new(8, 400, 1000), 0.05), (Permutation::new(16, 400, 100), 0.1)];
/// The transports of Ultra Ethernet: a sender's window, and a receiver's credit.
const OF_UEC: [&str; 2] = ["uec-nscc", "uec-rccc"];
/// The permutations of 65,536 hosts.
const LARGE: [Permutation; 2] = [Permutation::new(64, 100, 20), Permutation::new(64, 400, 20)];
/// The permutation that two threads share, and that of sixteen.
const SHARED: [(Permutation, usize); 2] = [(TREES[1].0, 2), (TREES[2].0, 16)];
/// The delays of links, in nanoseconds, with which threads meet more often than with 1 us, beside the permutation of two threads.
const SHORTER: [u64; 2] = [100, 10];
/// The permutation of 65,536 hosts until each has started its flow, so that every path has been looked up.
const STARTING: Permutation = Permutation::new(64, 100, 1);
/// The transports of the permutations and of the 192-host tree.
const TRANSPORTS: [&str; 2] = ["dctcp", "expresspass"];
/// The run on the 192-host tree at which a viewer looks.
const LOOKED_AT: &str = "websearch-192-50ms-dctcp";
/// The parts of a frame that leaves nothing out.
pub const ALL_PARTS: Parts = Parts { packets: true, queued: true };
/// The names of the looks, each with what its frames hold beside ports and flows.
const LOOKS: [(&str, Parts); 2] =
    [("frames", Parts { packets: false, queued: false }), ("frames-packets", ALL_PARTS)];
/// The transports of the lossless tree at 25 and 100 Gbps, as PACC's authors ran it.
const AT_25: [&str; 4] = ["dcqcn", "timely", "hpcc", "pacc"];
/// The transports of the lossless tree at 100 and 400 Gbps, as HPCC's authors ran it.
const AT_100: [&str; 2] = ["dcqcn", "hpcc"];

impl Case {
    /// Returns all cases, each bare loop before the cases that it bounds.
    pub fn all() -> impl Iterator<Item = Case> {
        let trees = TREES.iter().flat_map(|&(tree, counted_at)| {
            let bare = format!("bare-{}", tree.hosts());
            let permutations = TRANSPORTS.map(|transport| Case {
                bare: Some(bare.clone()),
                counted_at,
                ..Case::new(
                    format!("permutation-{}-{transport}", tree.hosts()),
                    Load::Permutation(tree, transport),
                )
            });
            let bound = Case { counted_at, ..Case::new(bare, Load::Bare(tree)) };
            std::iter::once(bound).chain(permutations)
        });
        let web_search = TRANSPORTS.map(|transport| Case {
            counted_at: 0.05,
            ..Case::new(format!("websearch-192-{transport}"), Load::WebSearch(transport, 2000))
        });
        let looked_at = [("", None)].into_iter().chain(LOOKS.map(|(name, parts)| (name, Some(parts))));
        let looked_at = looked_at.map(|(name, frames)| Case {
            frames,
            unseen: frames.map(|_| LOOKED_AT.into()),
            counted_at: 0.2,
            ..Case::new(
                if frames.is_some() { format!("{LOOKED_AT}-{name}") } else { LOOKED_AT.into() },
                Load::WebSearchFor("dctcp", Span::from_ms(50)),
            )
        });
        let at_25 = AT_25.map(|transport| Case {
            counted_at: 0.05,
            ..Case::new(format!("websearch-320-{transport}"), Load::Lossless(transport, [25, 100], 1000))
        });
        let at_100 = AT_100.map(|transport| Case {
            counted_at: 0.05,
            ..Case::new(
                format!("websearch-320-100g-{transport}"),
                Load::Lossless(transport, [100, 400], 1000),
            )
        });
        let sprayed = SPRAYED.iter().flat_map(|&(tree, counted_at)| {
            OF_UEC.map(|transport| Case {
                counted_at,
                ..Case::new(
                    format!("permutation-{}-{transport}", tree.hosts()),
                    Load::Sprayed(tree, transport),
                )
            })
        });
        let scale = [
            Case::new("idle-65536".into(), Load::Idle(64)),
            Case::new("starting-65536-dctcp".into(), Load::Permutation(STARTING, "dctcp")),
            Case::new("active-flows-dctcp".into(), Load::Active("dctcp", 100_000)),
            Case::new("active-flows-expresspass".into(), Load::Active("expresspass", 100_000)),
            Case::new("active-flows-uec-nscc".into(), Load::Active("uec-nscc", 100_000)),
            Case::new("active-flows-uec-rccc".into(), Load::Active("uec-rccc", 100_000)),
            Case::new("short-1e6-dctcp".into(), Load::Short("dctcp", 1_000_000)),
        ];
        let shared = SHARED.map(|(tree, threads)| {
            let alone = format!("permutation-{}-dctcp", tree.hosts());
            Case {
                threads,
                is_long: threads > 2,
                alone: Some(alone.clone()),
                ..Case::new(format!("{alone}-{threads}threads"), Load::Permutation(tree, "dctcp"))
            }
        });
        let shorter = SHORTER.into_iter().flat_map(|ns| {
            let (tree, threads) = SHARED[0];
            let alone = format!("permutation-{}-{ns}ns-dctcp", tree.hosts());
            let load = Load::Permutation(tree.with_delay(ns), "dctcp");
            let on_threads = Case {
                threads,
                alone: Some(alone.clone()),
                ..Case::new(format!("{alone}-{threads}threads"), load)
            };
            [Case::new(alone, load), on_threads]
        });
        let large = LARGE.map(|tree| {
            Case::long(format!("permutation-65536-{}g-dctcp", tree.gbps), Load::Permutation(tree, "dctcp"))
        });
        let long = [
            Case::long("websearch-192-20k-expresspass".into(), Load::WebSearch("expresspass", 20_000)),
            Case::long("short-1e7-dctcp".into(), Load::Short("dctcp", 10_000_000)),
        ];
        trees
            .chain(web_search)
            .chain(looked_at)
            .chain(at_25)
            .chain(at_100)
            .chain(sprayed)
            .chain(shared)
            .chain(shorter)
            .chain(scale)
            .chain(large)
            .chain(long)
    }

    fn new(name: String, load: Load) -> Case {
        Case {
            name,
            load,
            bare: None,
            threads: 1,
            alone: None,
            frames: None,
            unseen: None,
            is_long: false,
            counted_at: 0.0,
        }
    }

    fn long(name: String, load: Load) -> Case {
        Case { is_long: true, ..Case::new(name, load) }
    }
}

/// Returns the cases and the kind of this build as JSON, for `tools/bench`.
pub fn list() -> String {
    let case = |case: Case| {
        let quoted = |name: Option<String>| name.map_or("null".into(), |name| format!("{name:?}"));
        let Case { name, bare, alone, unseen, is_long, counted_at, .. } = case;
        let [bare, alone, unseen] = [bare, alone, unseen].map(quoted);
        format!(
            "{{\"name\": {name:?}, \"bare\": {bare}, \"alone\": {alone}, \"unseen\": {unseen}, \"long\": {is_long}, \
             \"counted_at\": {counted_at}}}"
        )
    };
    let cases: Vec<String> = Case::all().map(case).collect();
    format!(
        "{{\"build\": {:?}, \"commit\": {:?}, \"rustc\": {:?}, \"cases\": [{}]}}",
        env!("CLEARWAY_BUILD"),
        env!("CLEARWAY_COMMIT"),
        env!("CLEARWAY_RUSTC"),
        cases.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_cases_have_one_name_and_what_a_case_is_compared_with_comes_before_it() {
        let mut seen: Vec<String> = Vec::new();
        for case in Case::all() {
            assert!(!seen.contains(&case.name), "{} is there twice", case.name);
            for before in [&case.bare, &case.alone, &case.unseen].into_iter().flatten() {
                assert!(seen.contains(before), "{before} comes before {}", case.name);
            }
            seen.push(case.name);
        }
    }
}
