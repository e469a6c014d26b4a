//! The table `[topology]`: from its keys to a network.

use super::document::{Document, Path};
use super::error::ScenarioError;
use super::files::{self, Files, Text};
use super::networks::Format;
use super::schema::*;
use clearway_schema::suggestion;
use clearway_schema::{Declared, Spec, Value};
use clearway_topology::{
    Clos3, Dumbbell, FatTree, LeafSpine, MultiBottleneck, NodeId, OversubscribedFatTree, Pacc320, ParkingLot,
    Size, Star, Topology, TopologyError,
};
use clearway_units::Rate;

/// A kind of table: the word that chooses it, a description, and the keys.
#[derive(Clone, Copy, Debug)]
pub struct KindInfo {
    /// The word, as the key `kind` has it.
    pub name: &'static str,
    /// A description in a sentence or two.
    pub doc: &'static str,
    /// The keys that only this kind has.
    pub keys: &'static [Spec],
}

/// Returns the kind of the table at `at`, one of the `known` ones.
pub(super) fn read_kind<'a>(
    document: &Document,
    at: &Path,
    known: &'a [KindInfo],
) -> Result<&'a KindInfo, ScenarioError> {
    let path = at.key("kind");
    let names = || known.iter().map(|kind| kind.name);
    let list = || names().collect::<Vec<_>>().join(", ");
    let Some(node) = document.get(&path) else {
        return Err(document.error(&path, format!("is missing; write one of {}", list())));
    };
    let word = node.value.text().unwrap_or("");
    known.iter().find(|kind| kind.name == word).ok_or_else(|| {
        let hint = suggestion(word, names());
        document.error(&path, format!("is no kind{hint} (known: {})", list()))
    })
}

macro_rules! shapes {
    ($($name:literal $Shape:ident $doc:literal;)+) => {
        /// The network of a scenario, as the file describes it.
        #[derive(Clone, Debug)]
        pub(super) enum Shape {
            $($Shape($Shape),)+
            File(Format, TopologyFile),
        }

        /// All kinds of networks.
        pub(super) const SHAPES: &[KindInfo] = &[
            $(KindInfo { name: $name, doc: $doc, keys: $Shape::SPECS },)+
            of_file(Format::ALL[0]),
            of_file(Format::ALL[1]),
            of_file(Format::ALL[2]),
            of_file(Format::ALL[3]),
        ];

        /// Returns the network of a shape with its default keys; `None` for networks from files.
        pub(super) fn example(kind: &str) -> Option<Topology> {
            match kind {
                $($name => $Shape::default().build().ok(),)+
                _ => None,
            }
        }

        impl Shape {
            /// Reads the table and builds the network, unless `check` refuses its size. That of a file is built before.
            pub fn read(
                document: &Document,
                at: &Path,
                files: &dyn Files,
                check: &dyn Fn(Size) -> Result<(), ScenarioError>,
            ) -> Result<(Shape, Topology), ScenarioError> {
                let info = read_kind(document, at, SHAPES)?;
                let known: Vec<&str> = ["kind"].into_iter().chain(info.keys.iter().map(|key| key.name)).collect();
                document.check_keys(at, &known)?;
                match info.name {
                    $($name => {
                        let shape = document.read::<$Shape>(at)?;
                        check(shape.size())?;
                        let topology = shape.build().map_err(|error| refused(document, at, error))?;
                        Ok((Shape::$Shape(shape), topology))
                    })+
                    kind => {
                        let read = read_file(document, at, files, kind)?;
                        check(size_of(&read.1))?;
                        Ok(read)
                    }
                }
            }

            /// Returns the word for `kind`.
            pub fn kind(&self) -> &'static str {
                match self {
                    $(Shape::$Shape(_) => $name,)+
                    Shape::File(format, _) => format.kind(),
                }
            }

            /// Returns the keys with their values in TOML.
            pub fn write(&self) -> Vec<(&'static str, String)> {
                match self {
                    $(Shape::$Shape(shape) => shape.write(),)+
                    Shape::File(_, table) => table.write(),
                }
            }
        }
    };
}

/// Reads the network of a file, whose format is that of `kind`.
fn read_file(
    document: &Document,
    at: &Path,
    files: &dyn Files,
    kind: &str,
) -> Result<(Shape, Topology), ScenarioError> {
    let table = document.read::<TopologyFile>(at)?;
    let named = Named {
        key: "path",
        path: &table.path,
        hash_key: "hash",
        hash: table.hash.as_deref(),
        max: files::TEXT_MAX,
    };
    let Found { text, path, hash } = named_file(document, at, files, &named)?;
    let format = Format::ALL.into_iter().find(|format| format.kind() == kind).unwrap_or(Format::Own);
    let topology = format.read(&text)?;
    Ok((Shape::File(format, TopologyFile { path, hash: Some(hash) }), topology))
}

/// Returns the size of a network that stands in a file, which is built from its text.
fn size_of(topology: &Topology) -> Size {
    let [hosts, switches, links] =
        [topology.hosts(), topology.switches(), topology.links()].map(|count| count as u64);
    Size { hosts, switches, links }
}

/// Returns the kind of network that files of a format have.
const fn of_file(format: Format) -> KindInfo {
    KindInfo { name: format.kind(), doc: format.doc(), keys: TopologyFile::SPECS }
}

shapes! {
    "dumbbell" Dumbbell
        "Two switches and a link that all pairs share. The first half of the hosts send, the others receive.";
    "star" Star
        "One switch.";
    "parking-lot" ParkingLot
        "Switches in a line: one flow over all links between them, and on each link a cross flow.";
    "multi-bottleneck" MultiBottleneck
        "ExpressPass '17, Fig. 11 (a): flows 1 to N cross Link 1 and then Link 2, Flow 0 crosses Link 2 \
         only.";
    "fat-tree" FatTree
        "The k-ary fat tree: k^3/4 hosts in k pods.";
    "oversubscribed-fat-tree" OversubscribedFatTree
        "The 192-host tree of ExpressPass '17, sec. 6.3, 3:1 oversubscribed at its 32 ToRs; 16 \
         aggregation switches, 8 cores.";
    "pacc-320" Pacc320
        "The 320-host tree of PACC and HPCC: 20 ToRs, 20 aggregation switches, 16 cores.";
    "clos3" Clos3
        "Three tiers with free counts.";
    "leaf-spine" LeafSpine
        "Two tiers: every leaf is linked to every spine.";
}

impl Shape {
    /// Returns the pairs of sender and receiver that the shape is made for, if there are any.
    pub fn pairs(&self) -> Vec<(NodeId, NodeId)> {
        match self {
            Shape::Dumbbell(table) => {
                (0..table.pairs).map(|pair| (NodeId(pair), NodeId(table.pairs + pair))).collect()
            }
            Shape::ParkingLot(table) => {
                let shape = ParkingLot { bottlenecks: table.bottlenecks, ..ParkingLot::default() };
                let cross = (0..table.bottlenecks).map(|i| (shape.cross_sender(i), shape.cross_receiver(i)));
                [(shape.long_sender(), shape.long_receiver())].into_iter().chain(cross).collect()
            }
            Shape::MultiBottleneck(table) => {
                let (flows, shared_sender) = (table.flows, table.shared_sender);
                let shape = MultiBottleneck { flows, shared_sender, ..MultiBottleneck::default() };
                (0..=flows).map(|flow| (shape.sender(flow), shape.receiver(flow))).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// The largest number of links between two hosts. A route of the engine holds 255 links, and a failure makes routes
/// longer.
const HOPS_MAX: usize = 110;

/// Refuses rates of links and lengths of paths that exceed the ranges of the simulator's integers.
pub(super) fn check_links(document: &Document, at: &Path, topology: &Topology) -> Result<(), ScenarioError> {
    let (low, high) = (Rate::mbps(1), Rate::gbps(1600));
    if let Some(port) = topology.ports().iter().find(|port| !(low..=high).contains(&port.rate)) {
        let (a, b, rate) = (topology.name(port.from), topology.name(port.to), port.rate);
        let problem = format!("the link {a} - {b} has a rate of {rate}; it must be from {low} to {high}");
        return Err(document.error(at, problem));
    }
    let (far, _) = farthest(topology, NodeId(0));
    let (_, hops) = farthest(topology, far);
    if hops > HOPS_MAX {
        return Err(document.error(at, format!("a path has {hops} links; at most {HOPS_MAX} are possible")));
    }
    Ok(())
}

/// Returns the host that is farthest from `start`, and the number of links in between.
fn farthest(topology: &Topology, start: NodeId) -> (NodeId, usize) {
    let mut hops = vec![usize::MAX; topology.nodes().len()];
    hops[start.index()] = 0;
    let (mut reached, mut next, mut last) = (vec![start], 0, start);
    while let Some(&node) = reached.get(next) {
        next += 1;
        if topology.is_host(node) {
            last = node;
            // Hosts do not forward.
            if node != start {
                continue;
            }
        }
        for &port in topology.ports_of(node) {
            let to = topology.port(port).to;
            if hops[to.index()] == usize::MAX {
                hops[to.index()] = hops[node.index()] + 1;
                reached.push(to);
            }
        }
    }
    (last, hops[last.index()])
}

fn refused(document: &Document, at: &Path, error: TopologyError) -> ScenarioError {
    match error {
        TopologyError::Parameter { field, right, .. } => {
            document.error(&at.key(field), format!("is out of range; give {right}"))
        }
        other => document.error(at, other.to_string()),
    }
}

/// The keys that name a file and its hash, with their values.
pub(super) struct Named<'a> {
    pub key: &'static str,
    pub path: &'a str,
    pub hash_key: &'static str,
    pub hash: Option<&'a str>,
    pub max: u64,
}

/// A file that was found, with its entries in the resolved scenario.
pub(super) struct Found {
    pub text: Text,
    /// The full name.
    pub path: String,
    /// The hash of the content.
    pub hash: String,
}

/// Reads a file that a key names, and refuses one that differs from its hash.
pub(super) fn named_file(
    document: &Document,
    at: &Path,
    files: &dyn Files,
    named: &Named<'_>,
) -> Result<Found, ScenarioError> {
    let key = at.key(named.key);
    let text = files::read_named(files, named.path, named.max).map_err(|error| {
        let line = error.line.map_or(String::new(), |line| format!("line {line} "));
        document.error(&key, format!("{line}{}", error.problem))
    })?;
    let (path, hash) = (text.name.clone(), text.hash.clone());
    if named.hash.is_some_and(|expected| expected != hash) {
        let problem = format!("the file has changed: its hash is {hash}; correct or remove this key");
        return Err(document.error(&at.key(named.hash_key), problem));
    }
    Ok(Found { text, path, hash })
}

/// Returns true if the table at `at` has the key.
pub(super) fn has(document: &Document, at: &Path, key: &str) -> bool {
    document.get(&at.key(key)).is_some()
}

/// Returns the value of a key, if it is a text.
pub(super) fn text_at<'a>(document: &'a Document, at: &Path, key: &str) -> Option<&'a str> {
    document.get(&at.key(key)).and_then(|node| Value::text(&node.value))
}
