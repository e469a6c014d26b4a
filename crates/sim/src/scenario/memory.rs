//! The refusal of scenarios that are too large, by arithmetic and before the memory is taken.

use super::document::{Document, Path};
use super::error::Result;
use crate::estimate::{Estimate, RowBytes, network_bytes};
use crate::model::{Model, Pattern, Probe, Sample};
use clearway_schema::{Entry, Value};
use clearway_topology::Size;
use clearway_units::Span;

/// The bytes that a listed flow takes while a scenario is read.
const LISTED_BYTES: f64 = 150.0;

/// The memory, the links and the room on a disk that a run may take.
#[derive(Clone, Copy)]
pub(super) struct Limit<'a> {
    pub document: &'a Document,
    /// The memory in bytes, if it is limited.
    pub memory: Option<u64>,
    /// The most links of the network, if they are limited.
    pub links: Option<u64>,
    /// The room in bytes on the disk to which flows and samples go during the run, if they do.
    pub disk: Option<u64>,
}

/// A need that is compared with a limit.
struct Need {
    what: &'static str,
    limit: Option<u64>,
    total: f64,
}

impl Limit<'_> {
    /// Refuses a network that is too large, before it is built.
    pub fn check_network(&self, at: &Path, size: Size) -> Result<()> {
        let needed = network_bytes(size.hosts, size.links);
        let Size { hosts, links, .. } = size;
        let at = self.sizing_key(at);
        if let Some(most) = self.links.filter(|most| links > *most) {
            let problem =
                format!("these are {hosts} hosts and {links} links, too many here; at most {most} links fit");
            return Err(self.document.error(&at, problem));
        }
        self.check(&at, &self.memory(needed), needed, |_| {
            format!("build a smaller one than these {hosts} hosts and {links} links")
        })
    }

    /// Returns the key of a network that sets its size: its largest whole number. Where there is none, as in the table of
    /// a file, that is the table itself.
    fn sizing_key(&self, at: &Path) -> Path {
        let number = |entry: &Entry| match entry.node.value {
            Value::Integer(number) => Some((number, at.key(&entry.key))),
            _ => None,
        };
        let numbers = self.document.entries(at).iter().filter_map(number);
        numbers.max_by_key(|(number, _)| *number).map_or_else(|| at.clone(), |(_, key)| key)
    }

    /// Refuses a list of too many flows, before it is made.
    pub fn check_list(&self, at: &Path, flows: u64) -> Result<()> {
        let needed = flows as f64 * LISTED_BYTES;
        self.check(at, &self.memory(needed), needed, |share| at_most("flows", flows as f64 * share))
    }

    /// Refuses a run that needs too much, by the key that asks for most.
    pub fn check_run(&self, model: &Model) -> Result<()> {
        if self.memory.is_none() && self.disk.is_none() {
            return Ok(());
        }
        let estimate = Estimate::of(model);
        if self.disk.is_none() {
            return self
                .check_parts(model, &estimate, &self.memory(estimate.memory_bytes()), |rows| rows.kept);
        }
        self.check_parts(model, &estimate, &self.memory(estimate.streamed_memory_bytes()), |rows| {
            rows.streamed
        })?;
        let need = Need { what: "disk", limit: self.disk, total: estimate.disk_bytes() };
        self.check_parts(model, &estimate, &need, |rows| rows.disk)
    }

    /// Compares a need of a run with its limit; `rows` are the bytes of it that the rows of an entry or a series take.
    fn check_parts(
        &self,
        model: &Model,
        estimate: &Estimate,
        need: &Need,
        rows: fn(&RowBytes) -> f64,
    ) -> Result<()> {
        let is_memory = need.what == "memory";
        let (top, mut most) = (Path::default(), if is_memory { estimate.network_bytes } else { 0.0 });
        let mut worst = None;
        for (index, entry) in estimate.traffic.iter().enumerate() {
            let bytes = rows(&entry.row_bytes) + if is_memory { entry.flow_bytes } else { 0.0 };
            if bytes > most {
                (most, worst) = (bytes, Some((index, true)));
            }
        }
        for (index, series) in estimate.samples.iter().enumerate() {
            if rows(&series.row_bytes) > most {
                (most, worst) = (rows(&series.row_bytes), Some((index, false)));
            }
        }
        match worst {
            None => self.check(&top.key("topology"), need, most, |_| "build a smaller network".into()),
            Some((index, true)) => {
                let at = top.key("traffic").index(index);
                let key = self.flows_key(&at, &model.traffic[index].pattern);
                let flows = estimate.traffic[index].flows;
                self.check(&at.key(key), need, most, |share| match key {
                    "flows" | "count" => format!("write at most {:.0}", (flows * share).floor()),
                    _ => at_most("flows", flows * share),
                })
            }
            Some((index, false)) => {
                let at = top.key("sample").index(index);
                let (series, sample) = (&estimate.samples[index], &model.samples[index]);
                let key = if matches!(sample.what, Probe::Rtt(_)) { "what" } else { "every" };
                self.check(&at.key(key), need, most, |share| sparser(sample, series.rows, share))
            }
        }
    }

    fn memory(&self, total: f64) -> Need {
        Need { what: "memory", limit: self.memory, total }
    }

    /// Refuses a need that exceeds its limit. The value at `path` is to blame for `part` of it; `right` says what would be
    /// right, given the share of that part that would fit.
    fn check(&self, path: &Path, need: &Need, part: f64, right: impl Fn(f64) -> String) -> Result<()> {
        let Need { what, limit, total } = *need;
        let Some(limit) = limit.map(|limit| limit as f64).filter(|limit| total > *limit) else {
            return Ok(());
        };
        // Half of it, since an estimate may be wrong by that much.
        let share = ((limit - (total - part)) / part).max(0.0) / 2.0;
        let otherwise = match what {
            // A page in a browser can't be allowed more.
            "memory" if cfg!(target_family = "wasm") => "run it with the command clearway".into(),
            "memory" => format!("allow more (CLEARWAY_MEMORY=\"{}\")", about(round_up(total))),
            _ => "write to a larger disk".into(),
        };
        let problem = format!(
            "the run would take about {} of {what}, {} of it for this, and may take {}; {}, or {otherwise}",
            about(total),
            about(part),
            about(limit),
            right(share),
        );
        Err(self.document.error(path, problem))
    }

    /// Returns the key of a traffic entry that sets the number of its flows.
    fn flows_key(&self, at: &Path, pattern: &Pattern) -> &'static str {
        let kind = self.document.get(&at.key("kind")).and_then(|node| node.value.text()).unwrap_or("");
        let many_rounds =
            matches!(pattern, Pattern::Rounds(rounds) if rounds.rounds as usize > rounds.workers.len());
        match kind {
            "long" => "count",
            "poisson" => "flows",
            "permutation" => "hosts",
            "incast" | "partition-aggregate" if many_rounds => "rounds",
            "incast" => "senders",
            "partition-aggregate" => "fan_out",
            "shuffle" => "tasks",
            "flows" => "list",
            _ => "path",
        }
    }
}

/// Says how many of a thing would fit.
fn at_most(what: &str, count: f64) -> String {
    if count < 1.0 { format!("ask for fewer {what}") } else { format!("ask for at most {count:.0} {what}") }
}

/// Says how a series of `rows` samples comes to the `share` of them that fits.
fn sparser(sample: &Sample, rows: f64, share: f64) -> String {
    let fewer = if sample.what.traffic().is_some() { "flows" } else { "ports" };
    let every = sample.every.as_ps() as f64 / share.max(1e-12);
    if matches!(sample.what, Probe::Rtt(_)) || every > 1e17 {
        return format!("these are {rows:.1e} samples: sample fewer {fewer}");
    }
    // The next power of ten that is a whole number of nanoseconds.
    let every = Span::from_ps(10_u64.pow(every.log10().ceil().max(3.0) as u32));
    format!("these are {rows:.1e} samples: write \"{every}\" or more, or sample fewer {fewer}")
}

/// Returns the number with two leading digits, rounded up.
fn round_up(number: f64) -> f64 {
    let unit = 10_f64.powf((number.log10() - 1.0).floor());
    (number / unit).ceil() * unit
}

/// Returns a size with two or three digits, such as `4.1 TB`.
fn about(bytes: f64) -> String {
    let units = ["KB", "MB", "GB", "TB", "PB", "EB"];
    let mut left = bytes / 1e3;
    let mut at = 0;
    while left >= 999.5 && at + 1 < units.len() {
        (left, at) = (left / 1e3, at + 1);
    }
    if left < 9.95 { format!("{left:.1} {}", units[at]) } else { format!("{left:.0} {}", units[at]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_two_or_three_digits() {
        assert_eq!([1.24e6, 9.96e9, 2.345e14, 999.6e3].map(about), ["1.2 MB", "10 GB", "234 TB", "1.0 MB"]);
        assert_eq!(about(round_up(2.345e14)), "240 TB");
    }
}
