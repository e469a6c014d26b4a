//! What holds for every scenario and for every run of one.

use super::repair::{Readable, read};
use super::runs::{Break, bounded, is_divisible, resumed, shown, threaded, whole};
use super::{Draw, Drawn, heap};
use clearway_sim::model::Model;
use clearway_sim::scenario::{Scenario, ScenarioError};
use clearway_sim::{Estimate, Partition, Results, Values};
use clearway_units::Span;

/// A rule that did not hold.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The rule.
    pub kind: String,
    /// What happened instead.
    pub detail: String,
}

impl Failure {
    pub fn new(kind: &str, detail: impl Into<String>) -> Failure {
        Failure { kind: kind.into(), detail: detail.into() }
    }
}

/// What was run of a scenario.
#[derive(Clone, Copy, Default)]
pub struct Ran {
    pub runs: u64,
    pub on_threads: u64,
    pub from_checkpoints: u64,
    /// The number among these that went on in another number of parts.
    pub recut: u64,
    pub events: u64,
    /// The bytes that the run allocated at most.
    pub peak: usize,
}

/// Asserts that a refusal is one line that names the file and a key or a line of it.
pub fn check_refusal(error: &ScenarioError, origin: &str, drawn: &Drawn) -> Result<(), Failure> {
    let line = error.to_string();
    let is_known = error.origin.starts_with(origin) || drawn.files.contains_key(&error.origin);
    let is_whole = drawn.text.trim().is_empty();
    let has_place =
        is_whole || !error.key.is_empty() || error.line.is_some() || drawn.files.contains_key(&error.origin);
    if line.chars().any(char::is_control) || !is_known || !has_place || error.problem.is_empty() {
        return Err(Failure::new("the message of a refusal", line));
    }
    Ok(())
}

/// Asserts all rules for a scenario that is accepted.
pub fn check(readable: &Readable, draw: &mut Draw) -> Result<Ran, Failure> {
    let scenario = &readable.scenario;
    check_estimate(&scenario.estimate())?;
    let again = reread(readable)?;
    let (run, peak) = heap::peak_of(|| bounded(&scenario.model));
    let (model, results) = run?;
    check_memory(&model, &Estimate::of(&model), &results, peak)?;
    let mut ran = Ran { runs: 1, events: results.summary.events, peak, ..Ran::default() };
    let expected = shown(&results);
    let same = |kind: &str, results: &Results| differing(&expected, &shown(results), kind);
    // What is read again is the same model, and a run at a stretch the same as one in slices.
    same("the run of the resolved scenario", &whole(&Model { stop: model.stop, ..again.model })?)?;
    ran.runs += 1;
    let threads = if draw.chance(20) { draw.within(3, 4) } else { 2 } as usize;
    let end = results.summary.end;
    if let Some(results) = threaded(&model, threads, end, draw.chance(10))? {
        same(&format!("the run on {threads} threads"), &results)?;
        (ran.runs, ran.on_threads) = (ran.runs + 1, 1);
    }
    if draw.chance(if is_divisible(&model, 4, end) { 80 } else { 30 }) {
        let (first, breaks) = breaks(&model, &results, draw);
        let kind = "the run from checkpoints, with other numbers of threads";
        same(kind, &resumed(&model, first, &breaks)?)?;
        (ran.runs, ran.from_checkpoints) = (ran.runs + 1, 1);
        let threads = [first].into_iter().chain(breaks.iter().map(|&(_, threads)| threads));
        let parts: Vec<usize> = threads.map(|threads| Partition::new(&model, threads).parts()).collect();
        ran.recut = u64::from(parts.windows(2).any(|parts| parts[0] != parts[1]));
    }
    check_results(&model, &results)?;
    Ok(ran)
}

/// Draws a number of threads, and one or two breaks of a run, each with the number of threads that go on.
fn breaks(model: &Model, results: &Results, draw: &mut Draw) -> (usize, Vec<(Break, usize)>) {
    let (events, end) = (results.summary.events, results.summary.end);
    let threads = |draw: &mut Draw| {
        let threads = draw.within(1, 4) as usize;
        if is_divisible(model, threads, end) { threads } else { 1 }
    };
    let first = threads(draw);
    let at = |draw: &mut Draw| {
        // A break after a number of events lies between two windows if there are several threads, one at a time anywhere.
        let span = if draw.chance(50) { draw.within(0, 5_000_000) } else { 0 };
        (Break { events: draw.within(0, events), span: Span::from_ps(span) }, threads(draw))
    };
    let count = draw.within(1, 2);
    (first, (0..count).map(|_| at(draw)).collect())
}

/// Reads the resolved scenario, which must be resolved into itself.
fn reread(readable: &Readable) -> Result<Scenario, Failure> {
    let toml = readable.scenario.to_toml();
    let drawn = Drawn { text: toml.clone(), files: readable.drawn.files.clone() };
    let again = read(&drawn).map_err(|error| {
        let line = error.line.and_then(|line| toml.lines().nth(line - 1)).unwrap_or("");
        Failure::new("the resolved scenario is refused", format!("{error}\n{line}"))
    })?;
    match differing(&toml, &again.to_toml(), "the resolved scenario, read again") {
        Ok(()) => Ok(again),
        Err(failure) => Err(failure),
    }
}

/// Compares two texts, and names the first place in which they differ.
fn differing(one: &str, other: &str, kind: &str) -> Result<(), Failure> {
    if one == other {
        return Ok(());
    }
    let at = one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
    let cut = |text: &str| -> String {
        let from =
            text.char_indices().map(|(at, _)| at).take_while(|&start| start + 200 < at).last().unwrap_or(0);
        text[from..].chars().take(400).collect()
    };
    Err(Failure::new(kind, format!("{}\n--- differs from\n{}", cut(other), cut(one))))
}

fn check_estimate(estimate: &Estimate) -> Result<(), Failure> {
    let text = format!("{estimate:?} {} {}", estimate.memory_bytes(), estimate.disk_bytes());
    let is_wrong = text.contains("NaN") || text.contains("inf") || text.contains(": -");
    if is_wrong { Err(Failure::new("the estimate is no number", text)) } else { Ok(()) }
}

/// Asserts that a run took no more memory than was estimated, times a factor, beside what packets under way, protocols and
/// traces take, which estimates leave out, and samples, of which a run has more where losses make it long.
fn check_memory(model: &Model, estimate: &Estimate, results: &Results, peak: usize) -> Result<(), Failure> {
    let entries: usize = results.traces.iter().map(|trace| trace.table().rows()).sum();
    let rows = entries + results.samples.rows();
    // A window is as large as a slow link and a long delay make it, and its packets have records, which are doubled now and then,
    // and may all lie in the queue of the host.
    let each = if model.host.queues_data { 600.0 } else { 40.0 };
    let records = each * results.flows.u64s("data_packets").iter().sum::<u64>() as f64;
    let others = records + 500.0 * rows as f64 + 8e6;
    let allowed = 4.0 * estimate.memory_bytes() + 2_000.0 * results.summary.events as f64 + others;
    if peak as f64 <= allowed {
        return Ok(());
    }
    let memory = estimate.memory_bytes();
    Err(Failure::new(
        "memory",
        format!("{peak} B, where {memory} B were estimated and {allowed} B are allowed"),
    ))
}

/// Asserts what holds for the numbers of every run.
fn check_results(model: &Model, results: &Results) -> Result<(), Failure> {
    let summary = &results.summary;
    if model.stop.is_some_and(|stop| summary.end > stop) {
        return Err(Failure::new("the run passes its stop", format!("{:?}", summary.end)));
    }
    if let Some(livelock) = &summary.livelock {
        return Err(Failure::new("time stands still", format!("{livelock:?}")));
    }
    if summary.flows_completed > summary.flows_started {
        return Err(Failure::new("flows", format!("{summary:?}")));
    }
    for (row, slowdown) in results.flows.f64s("slowdown").iter().enumerate() {
        if *slowdown < 1.0 {
            let fct = results.flows.f64s("fct_s")[row];
            return Err(Failure::new("slowdown below 1", format!("row {row}: {slowdown}, fct {fct} s")));
        }
    }
    for name in ["utilisation", "window_utilisation"] {
        if let Some((row, share)) = results
            .ports
            .f64s(name)
            .iter()
            .enumerate()
            .find(|(_, share)| !share.is_nan() && !(0.0..=1.0 + 1e-9).contains(*share))
        {
            return Err(Failure::new("utilisation", format!("{name} of port {row}: {share}")));
        }
    }
    for table in [&results.flows, &results.ports, &results.samples] {
        for column in &table.columns {
            let Values::F64(values) = &column.values else { continue };
            if let Some(value) = values.iter().find(|value| value.is_infinite() || **value < 0.0) {
                return Err(Failure::new("numbers", format!("{}.{}: {value}", table.name, column.name)));
            }
        }
    }
    let [sizes, delivered] =
        ["size_bytes", "delivered_bytes"].map(|name| results.flows.column(name).map(|c| &c.values));
    if let (Some(Values::U64(sizes)), Some(Values::U64(delivered))) = (sizes, delivered)
        && let Some(row) = sizes.iter().zip(delivered).position(|(size, got)| *size > 0 && got > size)
    {
        return Err(Failure::new("flows", format!("row {row}: {} of {} B", delivered[row], sizes[row])));
    }
    Ok(())
}
