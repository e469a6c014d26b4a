//! The tables `[[traffic]]`: from their keys to flows.

mod connections;
mod flows;
mod load;
mod rounds;

use super::document::{Document, Path};
use super::error::Result;
use super::field::{Chosen, HostRef, LoadOf};
use super::files::{self, Files};
use super::memory::Limit;
use super::networks::Format;
use super::schema::*;
use super::shapes::{Found, KindInfo, Named, Shape, has, named_file, read_kind};
use crate::model::{Flow, Pattern, Poisson};
use crate::traffic::{Cdf, WORKLOADS, WorkloadInfo};
use clearway_proto::{Entity, Framing, Rng};
use clearway_schema::Declared;
use clearway_schema::suggestion;
use clearway_topology::{NodeId, Topology};
use clearway_units::{Span, Time};
use load::Arrivals;
use std::cell::Cell;
use std::sync::Arc;

/// The largest number of flows in a list.
pub const FLOWS_MAX: u64 = 2_000_000;
/// The latest start of a flow.
const LATEST: Time = Time::from_ps(100_000 * 1_000_000_000_000);

/// The kinds of traffic.
pub(super) const KINDS: &[KindInfo] = &[
    KindInfo { name: "long", doc: Long::DOC, keys: Long::SPECS },
    KindInfo { name: "poisson", doc: PoissonTable::DOC, keys: PoissonTable::SPECS },
    KindInfo { name: "permutation", doc: Permutation::DOC, keys: Permutation::SPECS },
    KindInfo { name: "incast", doc: Incast::DOC, keys: Incast::SPECS },
    KindInfo { name: "partition-aggregate", doc: PartitionAggregate::DOC, keys: PartitionAggregate::SPECS },
    KindInfo { name: "shuffle", doc: Shuffle::DOC, keys: Shuffle::SPECS },
    KindInfo { name: "flows", doc: Listed::DOC, keys: Listed::SPECS },
    KindInfo { name: "file", doc: ListFile::DOC, keys: ListFile::SPECS },
];

/// A traffic entry that was read.
pub(super) struct Part {
    pub common: TrafficTable,
    pub kind: &'static str,
    pub pattern: Pattern,
    /// The keys of the kind of traffic with their values in TOML.
    pub written: Vec<(&'static str, String)>,
}

/// The network and the defaults that traffic entries refer to while a scenario is read.
pub(super) struct Surroundings<'a> {
    pub document: &'a Document,
    pub files: &'a dyn Files,
    pub shape: &'a Shape,
    pub topology: &'a Topology,
    pub framing: Framing,
    pub seed: u64,
    /// Set once something is drawn by the seed, such as pairs of hosts.
    pub has_drawn: Cell<bool>,
    pub stop: Option<Time>,
    pub limit: Limit<'a>,
}

impl Surroundings<'_> {
    /// Reads entry number `index`, which stands at `at`.
    pub fn read(&self, at: &Path, index: usize) -> Result<Part> {
        let kind = read_kind(self.document, at, KINDS)?;
        let keys = TrafficTable::SPECS.iter().chain(kind.keys).map(|key| key.name);
        self.document.check_keys(at, &keys.collect::<Vec<_>>())?;
        let common = self.document.read::<TrafficTable>(at)?;
        // Traffic that the engine draws itself uses the streams from 0 on; these here are apart.
        let mut rng = Rng::stream(self.seed, Entity::Traffic, 1 << 32 | index as u64);
        let (pattern, written) = match kind.name {
            "long" => {
                let table = self.document.read::<Long>(at)?;
                (self.long(at, &table, &mut rng)?, table.write())
            }
            "poisson" => {
                let (pattern, table) = self.poisson(at, self.document.read(at)?)?;
                (pattern, table.write())
            }
            "permutation" => {
                let table = self.document.read::<Permutation>(at)?;
                (self.permutation(at, &table, &mut rng)?, table.write())
            }
            "incast" => {
                let (pattern, table) = self.incast(at, self.document.read(at)?)?;
                (pattern, table.write())
            }
            "partition-aggregate" => {
                let table = self.document.read::<PartitionAggregate>(at)?;
                (self.partition_aggregate(at, &table)?, table.write())
            }
            "shuffle" => {
                let table = self.document.read::<Shuffle>(at)?;
                (self.shuffle(at, &table, &mut rng)?, table.write())
            }
            "flows" => {
                self.document.read::<Listed>(at)?;
                self.listed(at)?
            }
            _ => {
                let (pattern, table) = self.file(at, self.document.read(at)?)?;
                (pattern, table.write())
            }
        };
        self.has_drawn.set(self.has_drawn.get() || rng.has_drawn());
        self.check_end(at, &pattern)?;
        Ok(Part { common, kind: kind.name, pattern, written })
    }

    /// Refuses traffic that never ends, or that the end of the run forestalls.
    fn check_end(&self, at: &Path, pattern: &Pattern) -> Result<()> {
        let start = match pattern {
            Pattern::Flows(flows) => {
                let endless = |flow: &Flow| flow.size.is_none() && flow.stop.is_none();
                if self.stop.is_none() && flows.iter().any(endless) {
                    let problem = "its flows never end; give them a size or a stop, or the scenario a stop";
                    return Err(self.document.error(at, problem));
                }
                flows.first().map_or(Time::ZERO, |flow| flow.start)
            }
            Pattern::Messages(messages) => {
                messages.timed().first().map_or(Time::ZERO, |message| message.start)
            }
            Pattern::Poisson(poisson) => poisson.start,
            Pattern::Rounds(rounds) => rounds.start,
        };
        match self.stop {
            Some(stop) if start >= stop => {
                let problem = format!("starts at {start}, when the scenario has stopped at {stop}");
                Err(self.document.error(at, problem))
            }
            _ => Ok(()),
        }
    }

    /// Returns the host that a key names.
    fn host(&self, at: &Path, host: &HostRef) -> Result<NodeId> {
        self.find_host(host).map_err(|problem| self.document.error(at, problem))
    }

    /// Returns the host of a number in a list of flows. In a network of HPCC's format the number is that of the node
    /// there, which is kept in the name `h<number>`; in others hosts count from 0.
    fn find_numbered(&self, number: &str) -> std::result::Result<NodeId, String> {
        let Ok(number) = number.parse::<u64>() else {
            return Err(format!("{number:?} is no number of a host; write one from 0"));
        };
        if !matches!(self.shape, Shape::File(Format::Hpcc, _)) {
            return self.find_host(&HostRef::Number(number));
        }
        let named = |letter: char| self.topology.node(&format!("{letter}{number}"));
        named('h').ok_or_else(|| match named('s') {
            Some(_) => format!("{number} is a switch of the topology file; write the number of a host"),
            None => format!("{number} is no host of the topology file; write the number that one has there"),
        })
    }

    /// Returns the host that a name or a number means.
    pub fn find_host(&self, host: &HostRef) -> std::result::Result<NodeId, String> {
        let count = self.topology.hosts() as u64;
        let number = match host {
            HostRef::Name(name) => match self.topology.node(name) {
                Some(node) if self.topology.is_host(node) => return Ok(node),
                Some(_) => return Err(format!("{name:?} is a switch; name a host")),
                None => name.parse().ok(),
            },
            HostRef::Number(number) => Some(*number),
        };
        match (number, host) {
            (Some(number), _) if number < count => Ok(NodeId(number as u32)),
            (_, HostRef::Number(number)) => {
                Err(format!("there is no host {number}; the network has {count}, counted from 0"))
            }
            (_, HostRef::Name(name)) => Err(self.topology.names().no_host(name)),
        }
    }

    /// Returns the hosts that a key names, and refuses fewer than 2 and one that stands twice.
    fn hosts(&self, at: &Path, chosen: &Chosen<HostRef>) -> Result<Vec<NodeId>> {
        let path = at.key("hosts");
        let hosts = self.chosen(&path, chosen)?;
        if hosts.len() < 2 {
            let problem = format!(
                "comes to {} of {} hosts, and a flow needs two; name, build or share at least 2",
                hosts.len(),
                self.topology.hosts()
            );
            return Err(self.document.error(&path, problem));
        }
        Ok(hosts)
    }

    /// Returns the hosts that a key names, and refuses one that stands twice.
    fn chosen(&self, path: &Path, chosen: &Chosen<HostRef>) -> Result<Vec<NodeId>> {
        let hosts: Vec<NodeId> = match chosen {
            Chosen::All => (0..self.topology.hosts() as u32).map(NodeId).collect(),
            Chosen::List(hosts) => {
                let looked_up =
                    hosts.iter().enumerate().map(|(index, host)| self.host(&path.index(index), host));
                looked_up.collect::<Result<_>>()?
            }
            Chosen::Share(share) => {
                self.has_drawn.set(true);
                let drawn =
                    &shuffled_hosts(self.topology.hosts(), self.seed)[share.range(self.topology.hosts())];
                let mut hosts = drawn.to_vec();
                hosts.sort();
                hosts
            }
        };
        let mut sorted = hosts.clone();
        sorted.sort();
        if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            let problem = format!("the host {} stands there twice", self.topology.name(pair[0]));
            return Err(self.document.error(path, problem));
        }
        Ok(hosts)
    }

    /// Makes the pattern of listed flows, in the order of their starts.
    fn flows(&self, mut flows: Vec<Flow>) -> Pattern {
        flows.sort_by_key(|flow| flow.start);
        Pattern::Flows(Arc::new(flows))
    }

    fn check_count(&self, path: &Path, count: Option<u64>) -> Result<u64> {
        match count.filter(|count| *count <= FLOWS_MAX) {
            Some(count) => self.limit.check_list(path, count).map(|()| count),
            None => {
                let problem = format!("comes to more than {FLOWS_MAX} flows; ask for fewer");
                Err(self.document.error(path, problem))
            }
        }
    }

    fn check_stop(&self, at: &Path, last_start: Time, stop: Option<Time>) -> Result<()> {
        match stop {
            Some(stop) if stop <= last_start => {
                let problem = format!("must be after the last start, which may be at {last_start}");
                Err(self.document.error(&at.key("stop"), problem))
            }
            _ => Ok(()),
        }
    }

    fn check_pair(&self, path: &Path, (src, dst): (NodeId, NodeId)) -> Result<()> {
        if src == dst {
            let problem = format!("the host {} sends to itself; name two hosts", self.topology.name(src));
            return Err(self.document.error(path, problem));
        }
        Ok(())
    }

    /// Returns the distribution of flow sizes, the mean that its authors use if they state one, and the table with its
    /// file filled in.
    fn sizes(&self, at: &Path, table: PoissonTable) -> Result<(Cdf, Option<f64>, PoissonTable)> {
        let refuse = |key: &str, problem: String| Err(self.document.error(&at.key(key), problem));
        let given = ["workload", "cdf", "size"].into_iter().filter(|key| has(self.document, at, key));
        let given: Vec<&str> = given.collect();
        if given.len() != 1 {
            let problem = "write one of workload, cdf and size, such as workload = \"web-search\"";
            return match given.last() {
                None => refuse("workload", format!("is missing; {problem}")),
                Some(key) => refuse(key, format!("stands beside {}; {problem}", given[0])),
            };
        }
        if table.cdf.is_none() && table.cdf_hash.is_some() {
            return refuse("cdf_hash", "means nothing without cdf".into());
        }
        if let Some(name) = &table.workload {
            let Some(workload) = WorkloadInfo::by_name(name) else {
                let names = || WORKLOADS.iter().map(|workload| workload.name);
                let hint = suggestion(name, names());
                let known = names().collect::<Vec<_>>().join(", ");
                return refuse("workload", format!("is no workload{hint} (known: {known})"));
            };
            return Ok((workload.cdf(), workload.published_mean, table));
        }
        let Some(path) = &table.cdf else {
            return Ok((Cdf::fixed(table.size.expect("one of the three is given")), None, table));
        };
        let named = Named {
            key: "cdf",
            path,
            hash_key: "cdf_hash",
            hash: table.cdf_hash.as_deref(),
            max: files::TEXT_MAX,
        };
        let Found { text, path, hash } = named_file(self.document, at, self.files, &named)?;
        let sizes = Cdf::parse(&text.text).map_err(|error| text.error(error.line, &error.problem))?;
        Ok((sizes, None, PoissonTable { cdf: Some(path), cdf_hash: Some(hash), ..table }))
    }

    fn poisson(&self, at: &Path, table: PoissonTable) -> Result<(Pattern, PoissonTable)> {
        let refuse = |key: &str, problem: String| Err(self.document.error(&at.key(key), problem));
        let (sizes, published, table) = self.sizes(at, table)?;
        let load = table.load;
        if !(load > 0.0 && load <= 1.0) {
            return refuse("load", "must be above 0 and at most 1".into());
        }
        self.check_stop(at, table.start, table.stop)?;
        let hosts = self.hosts(at, &table.hosts)?;
        let own = table.mean.map(|mean| mean.get() as f64);
        let mean = match table.load_of {
            LoadOf::Ns2 => own.or(published),
            _ => own,
        };
        let mean = mean.unwrap_or_else(|| sizes.mean()).max(1.0);
        let arrivals = Arrivals { topology: self.topology, framing: self.framing, hosts: &hosts, mean };
        let flows_per_s = match arrivals.flows_per_s(load, table.load_of) {
            Ok(flows_per_s) => flows_per_s,
            Err(problem) => return refuse("load_of", problem),
        };
        let mean_gap_s = 1.0 / flows_per_s;
        let (flows, start, stop) = (table.flows, table.start, table.stop);
        let last = start.as_secs_f64() + mean_gap_s * flows as f64;
        if last.is_nan() || last > LATEST.as_secs_f64() {
            return refuse("load", format!("is so low that the flows arrive over more than {LATEST}"));
        }
        let sizes = Arc::new(sizes);
        Ok((Pattern::Poisson(Poisson { sizes, mean_gap_s, flows, start, stop, hosts }), table))
    }
}

/// Returns all hosts in an order drawn by the seed, the same for all traffic, so that shares of hosts don't overlap.
fn shuffled_hosts(count: usize, seed: u64) -> Vec<NodeId> {
    let mut rng = Rng::stream(seed, Entity::Traffic, 2 << 32);
    let mut hosts: Vec<NodeId> = (0..count as u32).map(NodeId).collect();
    for last in (1..count).rev() {
        hosts.swap(last, rng.below(last as u64 + 1) as usize);
    }
    hosts
}

/// Spans up to the limits above can be added without leaving the range of time.
const _: () = assert!(Span::from_secs(500_000).as_ps() < u64::MAX / 16);
