//! The reader of fat-tree files (`.topo`) of htsim.

use crate::alias::Alias;
use crate::builder::{Builder, HOSTS_MAX, LINKS_MAX, SWITCHES_MAX, at_most};
use crate::error::TopologyError;
use crate::graph::{NodeId, Topology};
use clearway_schema::suggestion;
use clearway_units::{Rate, Span};

/// A number of the file, and its line.
#[derive(Clone, Copy)]
struct Entry {
    line: usize,
    value: u64,
}

/// The keys of the header, in lower case as the reader compares them.
const HEADER: [&str; 3] = ["nodes", "tiers", "podsize"];
/// The keys of a tier.
const KEYS: [&str; 7] = [
    "downlink_speed_gbps",
    "radix_down",
    "radix_up",
    "downlink_latency_ns",
    "switch_latency_ns",
    "oversubscribed",
    "bundle",
];
/// Keys of a tier that say nothing on the network.
const QUEUES: [&str; 2] = ["queue_up", "queue_down"];

fn fail<T>(line: usize, problem: impl Into<String>) -> Result<T, TopologyError> {
    Err(TopologyError::Line { line, problem: problem.into() })
}

/// The keys of a file.
#[derive(Default)]
struct File {
    header: [Option<Entry>; HEADER.len()],
    /// The line of each tier, and its keys.
    tiers: [Option<(usize, [Option<Entry>; KEYS.len()])>; 3],
}

impl File {
    fn parse(text: &str) -> Result<File, TopologyError> {
        let (mut file, mut current) = (File::default(), None);
        for (line, content) in (1..).zip(text.lines().map(str::trim)) {
            if content.is_empty() || content.starts_with('#') {
                continue;
            }
            let words: Vec<&str> = content.split_whitespace().collect();
            let name = words[0];
            let key = name.to_ascii_lowercase();
            let &[_, number] = words.as_slice() else {
                return fail(line, format!("{name} has {} values for 1; write a number", words.len() - 1));
            };
            if QUEUES.contains(&key.as_str()) {
                let problem = format!(
                    "{name}: a topology has no buffers; write [switch] buffer = \"{number} B\" in the scenario and \
                     remove this line"
                );
                return fail(line, problem);
            }
            let value = match number.parse::<u64>() {
                Ok(value) if value <= 1_000_000_000 => value,
                _ => return fail(line, format!("{name}: {number:?} is no number from 0 to 1000000000")),
            };
            let place = if key == "tier" {
                let Some(tier) = usize::try_from(value).ok().and_then(|tier| file.tiers.get_mut(tier)) else {
                    return fail(line, format!("Tier {value}: write 0 (ToR), 1 or 2"));
                };
                if tier.replace((line, [None; KEYS.len()])).is_some() {
                    return fail(line, format!("Tier {value} stands there twice; remove one"));
                }
                current = Some(value as usize);
                continue;
            } else if let Some(at) = HEADER.iter().position(|known| *known == key) {
                &mut file.header[at]
            } else if let Some(at) = KEYS.iter().position(|known| *known == key) {
                match current.and_then(|tier: usize| file.tiers[tier].as_mut()) {
                    Some((_, keys)) => &mut keys[at],
                    None => {
                        return fail(
                            line,
                            format!("{name} belongs to a tier; write it below Tier 0, 1 or 2"),
                        );
                    }
                }
            } else {
                let known: Vec<&str> = [&HEADER[..], &["tier"], &KEYS].concat();
                let hint = suggestion(&key, known.iter().copied());
                return fail(line, format!("{name} is no key{hint} (known: {})", known.join(", ")));
            };
            if place.replace(Entry { line, value }).is_some() {
                return fail(line, format!("{name} stands there twice; remove one"));
            }
        }
        Ok(file)
    }

    fn header(&self, at: usize, right: &str) -> Result<Entry, TopologyError> {
        let name = ["Nodes", "Tiers", "Podsize"][at];
        match self.header[at] {
            Some(entry) if entry.value > 0 => Ok(entry),
            Some(entry) => fail(entry.line, format!("{name} is 0; write {right}")),
            None => fail(1, format!("{name} is missing; write {right}")),
        }
    }
}

/// A tier of switches, with the links below it.
struct Tier {
    rate: Rate,
    gbps: u64,
    delay: Span,
    /// The time that a packet spends in a switch besides queueing and transmission.
    latency: Span,
    down: Entry,
    up: Entry,
    oversubscribed: Entry,
    bundle: Entry,
}

impl Tier {
    fn read(file: &File, tier: usize, is_top: bool) -> Result<Tier, TopologyError> {
        let (line, keys) = file.tiers[tier].unwrap_or((1, [None; KEYS.len()]));
        let get = |key: &str| keys[KEYS.iter().position(|known| *known == key).expect("a known key")];
        let needed = |key: &str| match get(key) {
            Some(entry) if entry.value > 0 => Ok(entry),
            Some(entry) => fail(entry.line, format!("{key} is 0; write a number from 1")),
            None => fail(line, format!("Tier {tier} has no {key}; add it")),
        };
        let optional = |key: &str, value: u64| get(key).unwrap_or(Entry { line, value });
        if let Some(up) = get("radix_up").filter(|_| is_top) {
            return fail(up.line, "radix_up: the highest tier has no links up; remove this line");
        }
        let speed = needed("downlink_speed_gbps")?;
        if speed.value > 1_600 {
            return fail(speed.line, format!("downlink_speed_gbps: {} is above 1600", speed.value));
        }
        let ns = |entry: Entry| Span::from_ns(entry.value);
        let (oversubscribed, bundle) = (optional("oversubscribed", 1), optional("bundle", 1));
        for (key, entry) in [("oversubscribed", oversubscribed), ("bundle", bundle)] {
            if entry.value == 0 {
                return fail(entry.line, format!("{key} is 0; write a number from 1"));
            }
        }
        Ok(Tier {
            rate: Rate::gbps(speed.value),
            gbps: speed.value,
            delay: ns(needed("downlink_latency_ns")?),
            latency: ns(optional("switch_latency_ns", 0)),
            down: needed("radix_down")?,
            up: if is_top { Entry { line, value: 0 } } else { needed("radix_up")? },
            oversubscribed,
            bundle,
        })
    }
}

/// Returns `whole / part`, or an error at the line of `part` if it does not divide.
fn divide(whole: u64, part: u64, line: usize, problem: impl Fn() -> String) -> Result<u64, TopologyError> {
    if part == 0 || !whole.is_multiple_of(part) { fail(line, problem()) } else { Ok(whole / part) }
}

/// Reads a network from a fat-tree file of htsim (`.topo`).
///
/// ```text
/// Nodes 32                       hosts
/// Tiers 2                        2 (leaf-spine) or 3 (fat tree)
/// Podsize 32                     hosts of a pod; all of them with 2 tiers
/// Tier 0                         ToRs: the links to hosts, the radix of a switch
/// Downlink_speed_Gbps 100
/// Radix_Down 8
/// Radix_Up 2
/// Downlink_Latency_ns 1000
/// Switch_Latency_ns 0            default 0
/// Oversubscribed 4               default 1: capacity down / capacity up
/// Tier 1
/// Downlink_speed_Gbps 100
/// Radix_Down 4
/// Downlink_Latency_ns 1000
/// Bundle 1                       default 1: parallel links to each switch below
/// ```
///
/// Hosts are named `h0` on, switches `tor0`, `agg0` and `core0` on, with 2 tiers `tor0` and `spine0` on. The wiring is
/// htsim's: aggregation switch `j` of a pod is linked to the cores `j`, `j + n`, `j + 2n`, ..., where `n` is the
/// number of aggregation switches in a pod. Half of a switch's latency is added to the delay of each of its links, so
/// that every path takes as long as in htsim. Queue sizes belong to the scenario and are refused here.
///
/// # Errors
/// Returns [`TopologyError::Line`] for a mistake on a line and for numbers that don't fit together, and the other errors
/// for a network that cannot work as a whole.
pub fn from_htsim(text: &str) -> Result<Topology, TopologyError> {
    let file = File::parse(text)?;
    let nodes = file.header(0, "the number of hosts, such as Nodes 128")?;
    let tiers = file.header(1, "2 or 3")?;
    let pod = file.header(2, "the number of hosts in a pod")?;
    if !(2..=3).contains(&tiers.value) {
        return fail(tiers.line, format!("Tiers: {} is not possible; write 2 or 3", tiers.value));
    }
    let top = tiers.value as usize - 1;
    if let Some((line, _)) = file.tiers[2].filter(|_| top == 1) {
        return fail(line, "Tier 2: the file says Tiers 2, which are 0 and 1; correct one of both");
    }
    if let Some(tier) = (0..=top).find(|&tier| file.tiers[tier].is_none()) {
        return fail(1, format!("Tier {tier} is missing; describe it below a line Tier {tier}"));
    }
    at_most("hosts", nodes.value, HOSTS_MAX).map_err(|error| error.at(nodes.line))?;
    let read: Vec<Tier> =
        (0..=top).map(|tier| Tier::read(&file, tier, tier == top)).collect::<Result<_, _>>()?;
    Plan::of(nodes, pod, &read)?.build(&read)
}

/// The counts of a tree that fit together.
struct Plan {
    hosts: u64,
    hosts_per_tor: u64,
    pods: u64,
    tors_per_pod: u64,
    aggs_per_pod: u64,
    cores: u64,
    /// The number of cores that an aggregation switch is linked to.
    cores_per_agg: u64,
}

impl Plan {
    fn of(nodes: Entry, pod: Entry, tiers: &[Tier]) -> Result<Plan, TopologyError> {
        let (tor, agg) = (&tiers[0], &tiers[1]);
        let (hosts, hosts_per_tor) = (nodes.value, tor.down.value);
        let pods = divide(hosts, pod.value, pod.line, || {
            format!("Podsize: {} does not divide the {hosts} nodes", pod.value)
        })?;
        if tiers.len() == 2 && pods != 1 {
            return fail(
                pod.line,
                format!("Podsize: {} is not {hosts}; with 2 tiers write all nodes", pod.value),
            );
        }
        if tor.bundle.value != 1 {
            return fail(
                tor.bundle.line,
                "bundle: hosts have one link; write 1 in Tier 0 or remove this line",
            );
        }
        let tors_per_pod = divide(pod.value, hosts_per_tor, tor.down.line, || {
            format!("radix_down: {hosts_per_tor} does not divide the Podsize, {}", pod.value)
        })?;
        let share = |tier: &Tier, lower: u64, upper: &Tier, what: &str| {
            let (ratio, line) = (tier.oversubscribed.value, tier.oversubscribed.line);
            divide(lower * tier.gbps, upper.gbps * ratio, line, || {
                format!(
                    "oversubscribed: the {lower} links below {what} at {} Gbps, divided by {ratio}, are no whole number \
                     of links at {} Gbps",
                    tier.gbps, upper.gbps
                )
            })
        };
        let up_links = share(tor, hosts, agg, "the ToRs")?;
        let aggs = divide(up_links, agg.down.value, agg.down.line, || {
            format!("radix_down: {} does not divide the {up_links} links up from the ToRs", agg.down.value)
        })?;
        let aggs_per_pod = divide(aggs, pods, agg.down.line, || {
            format!("radix_down: {aggs} aggregation switches don't divide among {pods} pods")
        })?;
        let bundled = |lower: &Tier, upper: &Tier, count: u64, what: &str| {
            let right = count * upper.bundle.value;
            if lower.up.value == right {
                return Ok(());
            }
            let problem = format!(
                "radix_up: {} is not {right}, for {count} {what} with {} links each; correct it, or the bundle above",
                lower.up.value, upper.bundle.value
            );
            fail(lower.up.line, problem)
        };
        bundled(tor, agg, aggs_per_pod, "switches above")?;
        let (mut cores, mut cores_per_agg) = (0, 0);
        if let Some(core) = tiers.get(2) {
            let up_links = share(agg, up_links, core, "the aggregation switches")?;
            cores = divide(up_links, core.down.value, core.down.line, || {
                format!(
                    "radix_down: {} does not divide the {up_links} links up to the cores",
                    core.down.value
                )
            })?;
            cores_per_agg = divide(cores, aggs_per_pod, core.down.line, || {
                format!(
                    "radix_down: {cores} cores are no multiple of {aggs_per_pod} aggregation switches of a pod"
                )
            })?;
            bundled(agg, core, cores_per_agg, "cores")?;
        }
        if cores_per_agg == 0 && tiers.len() == 3 || aggs_per_pod == 0 {
            return fail(agg.down.line, "the numbers come to no switch above; check speeds and radices");
        }
        at_most("switches", pods * (tors_per_pod + aggs_per_pod) + cores, SWITCHES_MAX)?;
        let links = hosts + pods * tors_per_pod * tor.up.value + pods * aggs_per_pod * agg.up.value;
        at_most("links", links, LINKS_MAX)?;
        Ok(Plan { hosts, hosts_per_tor, pods, tors_per_pod, aggs_per_pod, cores, cores_per_agg })
    }

    fn build(&self, tiers: &[Tier]) -> Result<Topology, TopologyError> {
        let mut builder = Builder::new();
        // The checks above keep all counts far below 2^32.
        let [hosts, tors, aggs, cores] =
            [self.hosts, self.pods * self.tors_per_pod, self.pods * self.aggs_per_pod, self.cores]
                .map(|count| count as u32);
        for host in 0..hosts {
            builder.add_host(format!("h{host}"));
        }
        let upper = if tiers.len() == 2 { "spine" } else { "agg" };
        for (count, word, tier) in [(tors, "tor", 1), (aggs, upper, 2), (cores, "core", 3)] {
            (0..count).for_each(|index| _ = builder.add_switch(format!("{word}{index}"), tier));
        }
        let (first_tor, first_agg, first_core) = (hosts, hosts + tors, hosts + tors + aggs);
        if tiers.len() == 2 {
            builder.alias(Alias::row("leaf", first_tor, tors));
        } else {
            builder.alias(Alias::pods("tor", first_tor, tors, self.tors_per_pod as u32));
            builder.alias(Alias::pods("agg", first_agg, aggs, self.aggs_per_pod as u32));
        }
        let mut join = |lower: u32, higher: u32, tier: usize| {
            let half = |tier: &Tier| Span::from_ps(tier.latency.as_ps() / 2);
            let below = if tier == 0 { Span::ZERO } else { half(&tiers[tier - 1]) };
            let delay = tiers[tier].delay + below + half(&tiers[tier]);
            for _ in 0..tiers[tier].bundle.value {
                builder.link(NodeId(lower), NodeId(higher), tiers[tier].rate, delay);
            }
        };
        for host in 0..hosts {
            join(host, first_tor + host / self.hosts_per_tor as u32, 0);
        }
        let (tors_per_pod, aggs_per_pod) = (self.tors_per_pod as u32, self.aggs_per_pod as u32);
        for tor in 0..tors {
            for agg in 0..aggs_per_pod {
                join(first_tor + tor, first_agg + tor / tors_per_pod * aggs_per_pod + agg, 1);
            }
        }
        for agg in 0..aggs {
            for link in 0..self.cores_per_agg as u32 {
                join(first_agg + agg, first_core + agg % aggs_per_pod + aggs_per_pod * link, 2);
            }
        }
        builder.build()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FatTree, LeafSpine};
    use proptest::prelude::*;

    const LEAF_SPINE: &str = "# 4:1\nNodes 32\nTiers 2\nPodsize 32\n\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down 8\n\
                              Radix_Up 2\nDownlink_Latency_ns 1000\nSwitch_Latency_ns 500\nOversubscribed 4\n\nTier 1\n\
                              Downlink_speed_Gbps 100\nRadix_Down 4\nDownlink_Latency_ns 1000\nSwitch_Latency_ns 300\n";
    const TREE: &str = "nodes 8\ntiers 3\npodsize 4\ntier 0\ndownlink_speed_gbps 200\nradix_down 2\nradix_up 2\n\
                        downlink_latency_ns 1000\ntier 1\ndownlink_speed_gbps 200\nradix_down 2\nradix_up 4\n\
                        downlink_latency_ns 1000\ntier 2\ndownlink_speed_gbps 100\nradix_down 4\n\
                        downlink_latency_ns 1000\nbundle 2\n";

    fn message(text: &str) -> String {
        from_htsim(text).unwrap_err().to_string()
    }

    #[test]
    fn a_leaf_spine_has_the_delays_of_its_switches_along_every_path() {
        let network = from_htsim(LEAF_SPINE).unwrap();
        assert_eq!((network.hosts(), network.switches(), network.links()), (32, 4 + 2, 32 + 8));
        assert_eq!((network.oversubscription(), crate::core_oversubscription(&network)), (4.0, 4.0));
        assert_eq!(network.node("leaf3"), network.node("tor3"));
        let mut path = Vec::new();
        crate::Routes::new(crate::Policy::Ecmp).paths(&network, NodeId(0), NodeId(31), 1, &mut path).unwrap();
        let delay: Span = path.iter().map(|&port| network.port(port).delay).fold(Span::ZERO, |a, b| a + b);
        assert_eq!(delay, Span::from_ns(4 * 1_000 + 2 * 500 + 300));
        let shape = LeafSpine { uplink_rate: Rate::gbps(100), ..LeafSpine::default() }.build().unwrap();
        let ends = |network: &Topology| -> Vec<_> {
            network.ports().iter().map(|port| (port.from, port.to)).collect()
        };
        assert_eq!(ends(&network), ends(&shape), "the wiring is that of the shape");
    }

    #[test]
    fn a_tree_with_bundles_has_parallel_links_to_its_cores() {
        let network = from_htsim(TREE).unwrap();
        assert_eq!((network.hosts(), network.switches(), network.links()), (8, 4 + 4 + 4, 8 + 8 + 16));
        let node = |name: &str| network.node(name).unwrap();
        assert_eq!(network.ports_between(node("agg0"), node("core0")).len(), 2);
        assert_eq!(network.ports_between(node("agg0"), node("core2")).len(), 2);
        assert!(
            network.port_between(node("agg0"), node("core1")).is_none(),
            "core 1 is for aggregation switch 1"
        );
        assert_eq!(node("pod1-agg0"), node("agg2"));
    }

    #[test]
    fn the_core_is_oversubscribed_by_the_product_over_all_tiers() {
        let narrower = TREE
            .replace("tier 1\ndownlink_speed_gbps 200", "tier 1\ndownlink_speed_gbps 100\noversubscribed 2")
            .replace("tier 0\n", "tier 0\noversubscribed 2\n")
            .replace("tier 2\ndownlink_speed_gbps 100", "tier 2\ndownlink_speed_gbps 25");
        let network = from_htsim(&narrower).unwrap();
        assert_eq!((network.oversubscription(), crate::core_oversubscription(&network)), (2.0, 4.0));
        let network = from_htsim(TREE).unwrap();
        assert_eq!(crate::core_oversubscription(&network), 1.0);
    }

    #[test]
    fn htsims_tree_of_1024_hosts_has_the_counts_of_the_full_fat_tree() {
        let text = "Nodes 1024\nTiers 3\nPodsize 64\nTier 0\nOversubscribed 1\nDownlink_speed_Gbps 100\nRadix_Down 8\n\
                    Radix_Up 8\nDownlink_Latency_ns 1000\nTier 1\nDownlink_speed_Gbps 100\nRadix_Down 8\nRadix_Up 8\n\
                    Downlink_Latency_ns 1000\nBundle 1\nTier 2\nDownlink_speed_Gbps 100\nRadix_Down 16\n\
                    Downlink_Latency_ns 1000";
        let (network, tree) =
            (from_htsim(text).unwrap(), FatTree { k: 16, ..FatTree::default() }.build().unwrap());
        assert_eq!(
            (network.hosts(), network.switches(), network.links(), network.oversubscription()),
            (tree.hosts(), tree.switches(), tree.links(), 1.0)
        );
    }

    #[test]
    fn mistakes_are_named_with_their_line_and_what_would_be_right() {
        let cases = [
            ("Nodes 32\n", "", "line 1: Nodes is missing; write the number of hosts"),
            ("Nodes 32", "Nodes 0", "line 2: Nodes is 0"),
            ("Nodes 32", "Nodes many", "line 2: Nodes: \"many\" is no number"),
            ("Nodes 32", "Nodes 32 3", "line 2: Nodes has 2 values for 1"),
            ("Tiers 2", "Tiers 4", "line 3: Tiers: 4 is not possible; write 2 or 3"),
            ("Tiers 2", "Tiers 3", "line 1: Tier 2 is missing"),
            ("Podsize 32", "Podsize 16", "line 4: Podsize: 16 is not 32; with 2 tiers write all nodes"),
            ("Podsize 32", "Podsize 31", "line 4: Podsize: 31 does not divide the 32 nodes"),
            ("Tier 1", "Tier 0", "line 14: Tier 0 stands there twice"),
            ("Tier 1", "Tier 3", "line 14: Tier 3: write 0 (ToR), 1 or 2"),
            ("Radix_Down 8", "Radix_Down 7", "line 8: radix_down: 7 does not divide the Podsize, 32"),
            ("Radix_Down 8\n", "", "line 6: Tier 0 has no radix_down; add it"),
            (
                "Radix_Up 2",
                "Radix_Up 4",
                "line 9: radix_up: 4 is not 2, for 2 switches above with 1 links each",
            ),
            (
                "Oversubscribed 4",
                "Oversubscribed 5",
                "line 12: oversubscribed: the 32 links below the ToRs at 100 Gbps",
            ),
            (
                "Radix_Down 4",
                "Radix_Down 3",
                "line 16: radix_down: 3 does not divide the 8 links up from the ToRs",
            ),
            (
                "Radix_Down 4",
                "Radix_Down 4\nRadix_Up 1",
                "line 17: radix_up: the highest tier has no links up",
            ),
            ("Radix_Down 4", "Radix_Dwn 4", "line 16: Radix_Dwn is no key; did you mean \"radix_down\"?"),
            (
                "Radix_Down 4",
                "Queue_Down 9000",
                "line 16: Queue_Down: a topology has no buffers; write [switch] buffer",
            ),
            ("Radix_Down 4", "Bundle 0\nRadix_Down 4", "line 16: bundle is 0"),
            (
                "Downlink_speed_Gbps 100",
                "Downlink_speed_Gbps 1601",
                "line 7: downlink_speed_gbps: 1601 is above 1600",
            ),
            ("Tier 0\n", "", "line 6: Downlink_speed_Gbps belongs to a tier"),
        ];
        for (from, to, expected) in cases {
            assert!(LEAF_SPINE.contains(from), "{from}");
            let message = message(&LEAF_SPINE.replacen(from, to, 1));
            assert!(message.starts_with(expected), "{from} -> {to}: {message}");
        }
        assert!(message("").contains("Nodes is missing"));
    }

    proptest! {
        #[test]
        fn no_mutation_of_a_valid_text_panics(
            text in prop::sample::select(&[LEAF_SPINE, TREE][..]),
            edits in prop::collection::vec((any::<prop::sample::Index>(), "[0-9a-zT\n ]{0,3}", 0usize..4), 0..4),
        ) {
            let mut text = text.to_owned();
            for (place, insert, remove) in edits {
                let start = place.index(text.len() + 1);
                let end = (start + remove).min(text.len());
                text.replace_range(start..end, &insert);
            }
            if let Ok(network) = from_htsim(&text) {
                prop_assert!(network.hosts() > 0 && network.ports().len() == 2 * network.links());
            }
        }

        #[test]
        fn no_numbers_panic(numbers in prop::collection::vec(prop_oneof![0u64..20, any::<u64>()], 15)) {
            let mut numbers = numbers.into_iter();
            let mut next = |key: &str| format!("{key} {}\n", numbers.next().unwrap_or(1));
            let mut text = next("Nodes") + "Tiers 3\n" + &next("Podsize");
            for tier in 0..3 {
                text += &format!("Tier {tier}\n");
                text += &next("Downlink_speed_Gbps");
                text += &next("Radix_Down");
                if tier < 2 { text += &next("Radix_Up"); }
                text += &next("Bundle");
                text += "Downlink_Latency_ns 1\n";
            }
            let _ = from_htsim(&text);
        }
    }
}
