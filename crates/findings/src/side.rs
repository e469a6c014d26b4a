//! The runs of one transport, a run a seed, as one.

use crate::facts::{Facts, Flows, Group, Queue};
use crate::parts::Part;
use crate::ratio::Ratio;

/// The runs of one transport.
pub struct Side<'a> {
    /// The transport, as tables call it.
    pub name: &'a str,
    /// Its runs.
    pub runs: Vec<&'a Facts>,
}

/// Returns the sides of a comparison, in the order in which their names come first.
pub fn sides<'a>(facts: impl IntoIterator<Item = &'a Facts>) -> Vec<Side<'a>> {
    let mut sides: Vec<Side> = Vec::new();
    for run in facts {
        match sides.iter_mut().find(|side| side.name == run.name) {
            Some(side) => side.runs.push(run),
            None => sides.push(Side { name: &run.name, runs: vec![run] }),
        }
    }
    sides
}

impl<'a> Side<'a> {
    /// Returns the sum of a number over the runs.
    pub fn sum(&self, of: impl Fn(&Facts) -> u64) -> u64 {
        self.runs.iter().map(|run| of(run)).sum()
    }

    /// Returns the mean of a number over the runs that have it.
    pub fn mean(&self, of: impl Fn(&Facts) -> Option<f64>) -> Option<f64> {
        let values: Vec<f64> = self.runs.iter().filter_map(|run| of(run)).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    }

    /// Returns the largest of a number over the runs that have it.
    pub fn most(&self, of: impl Fn(&Facts) -> Option<f64>) -> Option<f64> {
        self.runs.iter().filter_map(|run| of(run)).reduce(f64::max)
    }

    /// Returns the mean completion time, over the runs.
    pub fn mean_s(&self) -> Option<f64> {
        self.mean(|run| run.flows.mean_s)
    }

    /// Returns the longest queue of all runs.
    pub fn queue(&self) -> Option<&'a Queue> {
        let longest = |one: &'a Queue, other: &'a Queue| if other.bytes > one.bytes { other } else { one };
        self.runs.iter().filter_map(|run| run.queue.as_ref()).reduce(longest)
    }

    /// Returns the flows of a fixed size that were not delivered.
    pub fn unfinished(&self) -> u64 {
        self.sum(|run| run.flows.unfinished)
    }

    /// Returns the flows of a fixed size that were delivered.
    pub fn completed(&self) -> u64 {
        self.sum(|run| run.flows.completed)
    }

    /// Returns the fewest flows that a run of it has behind a percentile.
    pub fn fewest(&self) -> u64 {
        self.runs.iter().map(|run| run.flows.completed).min().unwrap_or(0)
    }

    /// Returns the ratio of this side's mean completion time to another's, of all flows.
    pub fn ratio(&self, to: &Side) -> Option<Ratio> {
        self.ratio_of(to, |run| Some(run.flows.parts.as_slice()))
    }

    /// Returns the same of a group of flows.
    pub fn ratio_in(&self, to: &Side, group: &str) -> Option<Ratio> {
        let is_whole = |run: &Facts| run.groups.iter().any(|one| one.name == group && one.unfinished == 0);
        let all = self.runs.iter().chain(&to.runs);
        if !all.clone().all(|run| is_whole(run)) {
            return None;
        }
        self.ratio_of(to, |run| {
            run.groups.iter().find(|one| one.name == group).map(|Group { parts, .. }| parts.as_slice())
        })
    }

    /// Returns the ratio of this side's goodput to another's, over three seeds or more.
    pub fn goodput_ratio(&self, to: &Side) -> Option<Ratio> {
        let by_seed = |side: &Side| {
            let mut runs: Vec<(u64, Option<f64>)> =
                side.runs.iter().map(|run| (run.seed, run.goodput_bps)).collect();
            runs.sort_by_key(|(seed, _)| *seed);
            runs
        };
        let (own, others) = (by_seed(self), by_seed(to));
        if !own.iter().map(|(seed, _)| seed).eq(others.iter().map(|(seed, _)| seed)) {
            return None;
        }
        let rates = |runs: Vec<(u64, Option<f64>)>| {
            runs.into_iter().map(|(_, rate)| rate).collect::<Option<Vec<f64>>>()
        };
        Ratio::of_seeds(&rates(own)?, &rates(others)?)
    }

    fn ratio_of<'f>(&self, to: &Side<'f>, parts: impl Fn(&'f Facts) -> Option<&'f [Part]>) -> Option<Ratio>
    where
        'a: 'f,
    {
        let mut seeds: Vec<u64> = self.runs.iter().map(|run| run.seed).collect();
        let mut others: Vec<u64> = to.runs.iter().map(|run| run.seed).collect();
        if let ([one], [other]) = (self.runs.as_slice(), to.runs.as_slice()) {
            return if seeds == others { Ratio::of_parts(parts(one)?, parts(other)?) } else { None };
        }
        seeds.sort();
        others.sort();
        if seeds != others {
            return None;
        }
        let mean = |side: &Side<'f>, seed: u64| {
            let run = side.runs.iter().find(|run| run.seed == seed)?;
            Part::total(parts(run)?).mean()
        };
        let means =
            |side: &Side<'f>| seeds.iter().map(|&seed| mean(side, seed)).collect::<Option<Vec<f64>>>();
        let own = Side { name: self.name, runs: self.runs.clone() };
        Ratio::of_seeds(&means(&own)?, &means(to)?)
    }
}

impl Flows {
    /// Returns the number of flows that started.
    pub fn started(&self) -> u64 {
        self.completed + self.unfinished
    }
}
