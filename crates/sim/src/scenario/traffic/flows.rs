//! Patterns whose flows are known before the run: long flows, permutations, shuffles, lists and files.

use super::connections::{Listed as ListedFlow, Refusal, pattern};
use super::{FLOWS_MAX, LATEST, Surroundings};
use crate::model::{Flow, Pattern};
use crate::scenario::document::Path;
use crate::scenario::error::Result;
use crate::scenario::field::{Chosen, HostRef, Pair, Pairs};
use crate::scenario::files;
use crate::scenario::schema::*;
use crate::scenario::shapes::{Found, Named, named_file};
use crate::traffic::{
    Done, List, ListFormat, ListRules, Triggers, Waits, detect_format, parse_list, random_pair,
    random_permutation,
};
use clearway_proto::Rng;
use clearway_schema::{Auto, Declared};
use clearway_topology::NodeId;
use clearway_units::{Bytes, Span, Time};

impl Surroundings<'_> {
    /// Returns the pairs of hosts that a table names; none if a pair is drawn for each flow.
    fn pairs(&self, at: &Path, chosen: &Pairs) -> Result<Vec<(NodeId, NodeId)>> {
        let path = at.key("pairs");
        let refuse = |problem: String| Err(self.document.error(&path, problem));
        match chosen {
            Pairs::Auto | Pairs::Share(_) => {
                let pairs = self.shape.pairs();
                if pairs.is_empty() {
                    return refuse(format!(
                        "a {} has no pairs of its own; write \"random\" or a list such as [[\"h0\", \"h1\"]]",
                        self.shape.kind()
                    ));
                }
                let Pairs::Share(share) = chosen else { return Ok(pairs) };
                let shared = &pairs[share.range(pairs.len())];
                if shared.is_empty() {
                    return refuse(format!("comes to none of {} pairs; write a larger share", pairs.len()));
                }
                Ok(shared.to_vec())
            }
            Pairs::Random if self.topology.hosts() < 2 => {
                refuse("a flow needs two hosts; build at least 2".into())
            }
            Pairs::Random => Ok(Vec::new()),
            Pairs::List(list) if list.is_empty() => {
                refuse("is empty; write a list such as [[\"h0\", \"h1\"]]".into())
            }
            Pairs::List(list) => {
                let look_up = |(index, Pair(src, dst)): (usize, &Pair<HostRef>)| {
                    let path = path.index(index);
                    let pair = (self.host(&path, src)?, self.host(&path, dst)?);
                    self.check_pair(&path, pair)?;
                    Ok(pair)
                };
                list.iter().enumerate().map(look_up).collect()
            }
        }
    }

    pub(super) fn long(&self, at: &Path, table: &Long, rng: &mut Rng) -> Result<Pattern> {
        let pairs = self.pairs(at, &table.pairs)?;
        if table.pairs == Pairs::Random && table.count.is_none() {
            let problem = "is missing; with pairs = \"random\" say how many flows";
            return Err(self.document.error(&at.key("count"), problem));
        }
        let count = self.check_count(&at.key("count"), Some(table.count.unwrap_or(pairs.len() as u64)))?;
        let last = u128::from(table.stagger.as_ps()) * u128::from(count - 1)
            + u128::from(table.start.as_ps())
            + u128::from(table.spread.as_ps());
        if last > u128::from(LATEST.as_ps()) {
            return Err(self
                .document
                .error(&at.key("stagger"), format!("the last flow starts after {LATEST}")));
        }
        self.check_stop(at, Time::from_ps(last as u64), table.stop)?;
        let mut flow = |index: u64| {
            let (src, dst) = match pairs.as_slice() {
                [] => {
                    let (src, dst) = random_pair(self.topology.hosts(), rng);
                    (NodeId(src as u32), NodeId(dst as u32))
                }
                pairs => pairs[(index % pairs.len() as u64) as usize],
            };
            let start = table.start + table.stagger * index + rng.span_up_to(table.spread);
            let up = table.duration.map(|duration| start + duration);
            let stop = [table.stop, up].into_iter().flatten().min();
            Flow { start, src, dst, size: table.size, stop }
        };
        Ok(self.flows((0..count).map(&mut flow).collect()))
    }

    pub(super) fn permutation(&self, at: &Path, table: &Permutation, rng: &mut Rng) -> Result<Pattern> {
        let hosts = self.hosts(at, &table.hosts)?;
        self.check_stop(at, table.start + table.spread, table.stop)?;
        let to = random_permutation(hosts.len(), rng);
        let flow = |(from, to): (usize, &usize)| Flow {
            start: table.start + rng.span_up_to(table.spread),
            src: hosts[from],
            dst: hosts[*to],
            size: table.size,
            stop: table.stop,
        };
        Ok(self.flows(to.iter().enumerate().map(flow).collect()))
    }

    pub(super) fn shuffle(&self, at: &Path, table: &Shuffle, rng: &mut Rng) -> Result<Pattern> {
        let hosts = self.hosts(at, &table.hosts)?;
        let path = at.key("senders");
        let all = table.senders == Chosen::All;
        let senders = if all { hosts.clone() } else { self.chosen(&path, &table.senders)? };
        let mut sorted = hosts.clone();
        sorted.sort();
        let stranger = senders.iter().find(|sender| sorted.binary_search(sender).is_err());
        if let Some(&stranger) = stranger {
            let problem = format!("{} is none of the hosts; name some of them", self.topology.name(stranger));
            return Err(self.document.error(&path, problem));
        }
        if senders.is_empty() {
            return Err(self.document.error(&path, "comes to no host; name or share at least one"));
        }
        let (count, tasks) = (hosts.len() as u64, table.tasks);
        let total = (senders.len() as u64 * (count - 1)).checked_mul(tasks * tasks);
        self.check_count(&at.key("tasks"), total)?;
        let mut flows = Vec::new();
        for &src in &senders {
            for &dst in hosts.iter().filter(|&&dst| dst != src) {
                for _ in 0..tasks * tasks {
                    let start = table.start + rng.span_up_to(table.spread);
                    flows.push(Flow { start, src, dst, size: Some(table.size), stop: None });
                }
            }
        }
        Ok(self.flows(flows))
    }

    pub(super) fn listed(&self, at: &Path) -> Result<(Pattern, Vec<(&'static str, String)>)> {
        let list = at.key("list");
        let count = self.document.list_len(&list)?;
        if count == 0 {
            return Err(self
                .document
                .error(&list, "is empty; write at least one { src = \"h0\", dst = \"h1\" }"));
        }
        self.check_count(&list, Some(count as u64))?;
        let known: Vec<&str> = FlowTable::SPECS.iter().map(|key| key.name).collect();
        let (mut flows, mut written) = (Vec::new(), Vec::new());
        for index in 0..count {
            let path = list.index(index);
            self.document.check_keys(&path, &known)?;
            let table = self.document.read::<FlowTable>(&path)?;
            let src = self.host(&path.key("src"), &table.src)?;
            let dst = self.host(&path.key("dst"), &table.dst)?;
            self.check_pair(&path.key("dst"), (src, dst))?;
            self.check_stop(&path, table.start, table.stop)?;
            let flow = Flow { start: table.start, src, dst, size: table.size, stop: table.stop };
            let (connection, name) = (table.connection.clone(), table.name.clone());
            flows.push(ListedFlow { flow, connection, name, waits: self.waits(&path, &table)? });
            let keys = table.write().into_iter().map(|(key, value)| format!("{key} = {value}"));
            written.push(format!("    {{ {} }},\n", keys.collect::<Vec<_>>().join(", ")));
        }
        let pattern = pattern(self, flows, Triggers::default()).map_err(|refusal| {
            self.document.error(&list.index(refusal.place).key(refusal.key), refusal.problem)
        })?;
        Ok((pattern, vec![("list", format!("[\n{}]", written.concat()))]))
    }

    /// Returns what a flow of a list waits for, if it names others.
    fn waits(&self, path: &Path, table: &FlowTable) -> Result<Option<Waits>> {
        let refuse = |key, problem| Err(self.document.error(&path.key(key), problem));
        let Some(after) = &table.after else {
            let told = [("pause", table.pause.is_some()), ("done", table.done.is_some())];
            return match told.iter().find(|(_, is_told)| *is_told) {
                Some((key, _)) => {
                    refuse(key, "means nothing without after; remove it, or name the flows to wait for")
                }
                None => Ok(None),
            };
        };
        if table.start > Time::ZERO {
            let problem = "means nothing beside after; remove it, and write pause if the flow begins later";
            return refuse("start", problem);
        }
        let (pause, done) = (table.pause.unwrap_or(Span::ZERO), table.done.unwrap_or(Done::Delivered));
        Ok(Some(Waits { after: after.clone(), pause, done }))
    }

    pub(super) fn file(&self, at: &Path, table: ListFile) -> Result<(Pattern, ListFile)> {
        let named = Named {
            key: "path",
            path: &table.path,
            hash_key: "hash",
            hash: table.hash.as_deref(),
            max: files::LIST_MAX,
        };
        let Found { text, path, hash } = named_file(self.document, at, self.files, &named)?;
        // A line is a flow, but for a few.
        self.limit.check_list(&at.key("path"), text.text.lines().count() as u64)?;
        let is_parquet = text.is_parquet;
        let format = if is_parquet { ListFormat::Parquet } else { detect_format(&path, &text.text) };
        let format = match table.format {
            Auto::Set(chosen) if is_parquet != (chosen == ListFormat::Parquet) => {
                let problem = format!(
                    "the file is {}; correct or remove this key",
                    if is_parquet { "Parquet" } else { "no Parquet" }
                );
                return Err(self.document.error(&at.key("format"), problem));
            }
            chosen => chosen.or(format),
        };
        if table.start_unit.is_some() && format != ListFormat::Htsim {
            let problem = format!("means nothing in a list of the format \"{format}\"; remove it");
            return Err(self.document.error(&at.key("start_unit"), problem));
        }
        // The first line of a Parquet file's CSV is no row of its table.
        let row_of = |line: usize| if is_parquet { line.saturating_sub(1).max(1) } else { line };
        let rules = ListRules {
            most: FLOWS_MAX as usize,
            start_unit: table.start_unit,
            hosts: self.topology.hosts(),
        };
        let List { flows: rows, triggers } = parse_list(format, &text.text, rules)
            .map_err(|error| text.error(row_of(error.line), &error.problem))?;
        if rows.is_empty() {
            return Err(text.error(1, "lists no flows; add at least one"));
        }
        let (mut flows, mut lines) = (Vec::new(), Vec::new());
        for row in rows {
            let refuse = |problem: String| text.error(row_of(row.line), &problem);
            let find = |column: &str, name: &String| {
                let found = match format.is_numbered() {
                    true => self.find_numbered(name),
                    false => self.find_host(&HostRef::Name(name.clone())),
                };
                found.map_err(|problem| refuse(format!("{column}: {problem}")))
            };
            let (src, dst) = (find("src", &row.src)?, find("dst", &row.dst)?);
            if src == dst {
                return Err(refuse(format!("dst: the host {} sends to itself; name another host", row.dst)));
            }
            if row.size.is_some_and(|size| size == Bytes::ZERO || size > Bytes::new(1_000_000_000_000)) {
                let size = row.size.unwrap_or_default();
                return Err(refuse(format!("size: {size} is out of range; write one from 1 B to 1 TB")));
            }
            if row.start > LATEST {
                let start = row.start;
                return Err(refuse(format!("start: {start} is too late; the latest start is {LATEST}")));
            }
            let most = Span::from_ms(1_000_000);
            if let Some(pause) = row.waits.as_ref().map(|waits| waits.pause).filter(|&pause| pause > most) {
                return Err(refuse(format!("pause: {pause} is out of range; write one from 0 s to {most}")));
            }
            let flow = Flow { start: row.start, src, dst, size: row.size, stop: None };
            flows.push(ListedFlow { flow, connection: row.connection, name: row.name, waits: row.waits });
            lines.push(row.line);
        }
        let pattern = pattern(self, flows, triggers).map_err(|Refusal { place, key, problem }| {
            text.error(row_of(lines[place]), &format!("{key}: {problem}"))
        })?;
        let table = ListFile { path, hash: Some(hash), format: Auto::Set(format), ..table };
        Ok((pattern, table))
    }
}
