//! The numbers on a run of which sentences are made.

use crate::parts::{Part, cut};
use serde::Serialize;

/// The sizes of flows whose completion times are compared apart, in bytes: name, least size, first that is too large.
/// They are the buckets of the tables (Fig. 19 of ExpressPass, SIGCOMM '17).
const SIZES: [(&str, f64, f64); 4] = [
    ("flows below 10 KB", 0.0, 10e3),
    ("flows of 10 to 100 KB", 10e3, 100e3),
    ("flows of 100 KB to 1 MB", 100e3, 1e6),
    ("flows above 1 MB", 1e6, f64::INFINITY),
];

/// The most that the starts of flows that start together are apart, as a share of the time from the first to the end.
const TOGETHER: f64 = 0.01;

/// The facts on a run. Times are in seconds, sizes in bytes, rates in bits a second. A number that a run does not have
/// is `None`.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Facts {
    /// The transport, as tables call it.
    pub name: String,
    /// The seed.
    pub seed: u64,
    /// The way in which the run ended, in one word: `complete`, `stopped`, `stalled`, `deadlocked`, ...
    pub ended: String,
    /// The flows of a fixed size.
    pub flows: Flows,
    /// The flows without an end, if there are any.
    pub endless: Option<Endless>,
    /// The flows of a fixed size by size and by traffic entry. A run all of whose flows fall into one group has none.
    pub groups: Vec<Group>,
    /// The payload that all receivers got by the time of measurement; `None` over no time.
    pub goodput_bps: Option<f64>,
    /// The longest queue of a switch port; `None` where nothing waited.
    pub queue: Option<Queue>,
    /// The busiest link; `None` where nothing was sent.
    pub busiest: Option<Busiest>,
    /// The packets that were dropped, credits aside.
    pub drops: Drops,
    /// The expiries of retransmission timers.
    pub timeouts: u64,
    /// The pauses that flow control sent; `None` without flow control.
    pub pauses: Option<u64>,
    /// The credits that found nothing to send, as a share of those that arrived; `None` without credits.
    pub credit_waste: Option<f64>,
}

/// The flows of a fixed size that count.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Flows {
    /// Those that were delivered in full.
    pub completed: u64,
    /// Those that started and were not.
    pub unfinished: u64,
    /// The mean of the completion times.
    pub mean_s: Option<f64>,
    /// Their 99th percentile.
    pub p99_s: Option<f64>,
    /// The longest.
    pub slowest_s: Option<f64>,
    /// The mean of completion times over those of an idle network.
    pub slowdown: Option<f64>,
    /// The flows in ten parts, in the order of their starts.
    pub parts: Vec<Part>,
}

/// Flows without an end.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Endless {
    /// The number of flows.
    pub flows: u64,
    /// The rate of what they delivered together, from the first start to the end of the run.
    pub rate_bps: f64,
    /// Jain's index of what each delivered: 1 if all are equal, 1 / n if one of n flows has all. `None` of one flow, and of
    /// flows that did not start together, whose shares of a link are not alike while others are missing.
    pub jain: Option<f64>,
}

/// Flows that have something in common.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Group {
    /// The words for the group in a sentence: `flows below 10 KB`, `traffic burst`.
    pub name: String,
    /// The flows that started and were not delivered.
    pub unfinished: u64,
    /// The flows in ten parts, in the order of their starts.
    pub parts: Vec<Part>,
}

/// The longest queue.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Queue {
    /// The port, as `s0->h0`.
    pub port: String,
    /// The most bytes that waited there.
    pub bytes: f64,
    /// The packets that were dropped there because the queue was full.
    pub dropped: u64,
    /// The most flows that were under way at once to the host behind the port; `None` if a switch is behind it.
    pub flows_at_once: Option<u64>,
}

/// The busiest link.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Busiest {
    /// The port that sends on it.
    pub port: String,
    /// The share of the time of measurement during which it was busy.
    pub busy: f64,
}

/// Packets that were dropped, by reason.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Drops {
    /// All of them.
    pub all: u64,
    /// Those that met a full queue.
    pub full: u64,
    /// Those that were lost on a link at random.
    pub random: u64,
    /// Those whose link was down.
    pub down: u64,
    /// The data packets that were sent, of which these are a share.
    pub sent: u64,
}

/// Columns of the flows that count, as long as each other.
#[derive(Clone, Copy, Debug)]
pub struct Observed<'a> {
    /// The size in bytes; 0 of a flow without an end, and of one that carries nothing.
    pub size_bytes: &'a [u64],
    /// The start in seconds.
    pub start_s: &'a [f64],
    /// The completion time in seconds; NaN of a flow that was not delivered.
    pub fct_s: &'a [f64],
    /// The completion time over that of an idle network; NaN of a flow that was not delivered.
    pub slowdown: &'a [f64],
    /// The bytes that were delivered.
    pub delivered_bytes: &'a [u64],
    /// The traffic entry, as an index into `names`.
    pub traffic: &'a [u32],
    /// The names of traffic entries.
    pub names: &'a [String],
    /// The end of the run in seconds.
    pub end_s: f64,
}

impl Observed<'_> {
    /// Returns the flows as facts: those of a fixed size, those without an end, and the groups.
    pub fn facts(&self) -> (Flows, Option<Endless>, Vec<Group>) {
        let rows = 0..self.fct_s.len();
        let sized: Vec<usize> =
            rows.clone().filter(|&row| self.size_bytes[row] > 0 || !self.fct_s[row].is_nan()).collect();
        let endless: Vec<usize> =
            rows.filter(|&row| self.size_bytes[row] == 0 && self.fct_s[row].is_nan()).collect();
        (self.flows(&sized), self.endless(&endless), self.groups(&sized))
    }

    fn flows(&self, rows: &[usize]) -> Flows {
        let mut times = self.done(rows, self.fct_s);
        let mean_s = mean(&times);
        times.sort_by(f64::total_cmp);
        let completed = times.len() as u64;
        Flows {
            completed,
            unfinished: rows.len() as u64 - completed,
            mean_s,
            p99_s: percentile(&times, 0.99),
            slowest_s: times.last().copied(),
            slowdown: mean(&self.done(rows, self.slowdown)),
            parts: cut(rows, self.start_s, self.fct_s),
        }
    }

    /// Returns the values of flows that were delivered.
    fn done(&self, rows: &[usize], values: &[f64]) -> Vec<f64> {
        rows.iter().filter(|&&row| !self.fct_s[row].is_nan()).map(|&row| values[row]).collect()
    }

    fn endless(&self, rows: &[usize]) -> Option<Endless> {
        let starts = rows.iter().map(|&row| self.start_s[row]);
        let first = starts.clone().reduce(f64::min)?;
        let (last, time) = (starts.fold(first, f64::max), self.end_s - first);
        let carried = rows.iter().map(|&row| self.delivered_bytes[row] as f64);
        let (sum, squares) = (carried.clone().sum::<f64>(), carried.map(|bytes| bytes * bytes).sum::<f64>());
        let is_together = rows.len() > 1 && last - first <= TOGETHER * time;
        let jain = (is_together && squares > 0.0).then(|| sum * sum / (rows.len() as f64 * squares));
        (time > 0.0).then(|| Endless { flows: rows.len() as u64, rate_bps: 8.0 * sum / time, jain })
    }

    /// Returns the groups by size and by traffic entry; none where a way of grouping has one group alone.
    fn groups(&self, rows: &[usize]) -> Vec<Group> {
        let group = |name: String, rows: Vec<usize>| Group {
            name,
            unfinished: rows.iter().filter(|&&row| self.fct_s[row].is_nan()).count() as u64,
            parts: cut(&rows, self.start_s, self.fct_s),
        };
        let by_size = SIZES.iter().map(|&(name, least, above)| {
            let inside = |row: &&usize| (least..above).contains(&(self.size_bytes[**row] as f64));
            group(name.to_owned(), rows.iter().filter(inside).copied().collect())
        });
        let by_entry = self.names.iter().enumerate().map(|(entry, name)| {
            let inside = |row: &&usize| self.traffic[**row] as usize == entry;
            group(format!("traffic {name}"), rows.iter().filter(inside).copied().collect())
        });
        let some = |groups: Vec<Group>| if groups.len() > 1 { groups } else { Vec::new() };
        let is_any = |group: &Group| !group.parts.is_empty();
        let by_size = some(by_size.filter(is_any).collect());
        by_size.into_iter().chain(some(by_entry.filter(is_any).collect())).collect()
    }
}

/// Returns the most flows that were under way at once, of flows with these starts and completion times (NaN where a
/// flow was under way until the end).
pub fn most_at_once(start_s: &[f64], fct_s: &[f64]) -> u64 {
    let ends =
        start_s.iter().zip(fct_s).filter(|(_, fct)| !fct.is_nan()).map(|(start, fct)| (start + fct, -1));
    let mut changes: Vec<(f64, i64)> = start_s.iter().map(|&start| (start, 1)).chain(ends).collect();
    // At one instant flows end before others start.
    changes.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
    let (mut now, mut most) = (0, 0);
    for (_, change) in changes {
        now += change;
        most = most.max(now);
    }
    most as u64
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Returns the percentile of sorted values: between the two nearest of them, in proportion, as NumPy has it by default.
fn percentile(sorted: &[f64], share: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let at = share * last as f64;
    let (below, above) = (sorted[at.floor() as usize], sorted[at.ceil() as usize]);
    Some(below + (above - below) * at.fract())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observed<'a>(size: &'a [u64], start: &'a [f64], fct: &'a [f64], names: &'a [String]) -> Observed<'a> {
        static NONE: [u32; 8] = [0, 1, 0, 1, 0, 1, 0, 1];
        let delivered = size;
        Observed {
            size_bytes: size,
            start_s: start,
            fct_s: fct,
            slowdown: fct,
            delivered_bytes: delivered,
            traffic: &NONE[..size.len()],
            names,
            end_s: 2.0,
        }
    }

    #[test]
    fn flows_that_were_not_delivered_count_as_unfinished_and_in_no_time() {
        let names = ["one".to_owned(), "other".to_owned()];
        let (flows, endless, _) =
            observed(&[5, 5, 5, 5], &[0.0; 4], &[1.0, f64::NAN, 3.0, 2.0], &names).facts();
        assert_eq!((flows.completed, flows.unfinished), (3, 1));
        assert_eq!((flows.mean_s, flows.slowest_s), (Some(2.0), Some(3.0)));
        assert_eq!(flows.p99_s, Some(2.98));
        assert_eq!(endless, None);
    }

    #[test]
    fn flows_without_an_end_share_by_jains_index_of_their_rates() {
        let mut seen = observed(&[0, 0], &[0.0, 0.02], &[f64::NAN, f64::NAN], &[]);
        seen.delivered_bytes = &[100, 100];
        assert_eq!(seen.facts().1, Some(Endless { flows: 2, rate_bps: 800.0, jain: Some(1.0) }));
        seen.delivered_bytes = &[200, 0];
        assert_eq!(seen.facts().1.unwrap().jain, Some(0.5));
        seen.start_s = &[0.0, 0.03];
        assert_eq!(seen.facts().1.unwrap().jain, None, "the first had the link to itself for a while");
        let alone = observed(&[0], &[0.0], &[f64::NAN], &[]);
        assert_eq!(alone.facts().1.unwrap().jain, None);
    }

    #[test]
    fn groups_are_by_size_and_by_entry_and_none_where_there_is_one_alone() {
        let names = ["one".to_owned(), "other".to_owned()];
        let of = |sizes: &[u64]| -> Vec<String> {
            let (_, _, groups) = observed(sizes, &[0.0, 1.0], &[1.0, 1.0], &names).facts();
            groups.into_iter().map(|group| group.name).collect()
        };
        assert_eq!(of(&[5, 6]), ["traffic one", "traffic other"]);
        assert_eq!(of(&[9_999, 10_000])[..2], ["flows below 10 KB", "flows of 10 to 100 KB"]);
        let one = &names[..1];
        let seen = Observed { traffic: &[0, 0], ..observed(&[5, 6], &[0.0, 1.0], &[1.0, 1.0], one) };
        assert_eq!(seen.facts().2, []);
    }

    #[test]
    fn the_most_flows_at_once_leaves_out_those_that_follow_each_other() {
        assert_eq!(most_at_once(&[0.0, 1.0, 2.0], &[1.0, 1.0, 1.0]), 1);
        assert_eq!(most_at_once(&[0.0, 1.0, 2.0], &[1.5, 1.5, 1.0]), 2);
        assert_eq!(most_at_once(&[0.0, 1.0, 2.0], &[f64::NAN, f64::NAN, 1.0]), 3);
        assert_eq!(most_at_once(&[], &[]), 0);
    }
}
