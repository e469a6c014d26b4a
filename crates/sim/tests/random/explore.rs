//! Many cases one after the other, and the report of them.

use super::mutate::mutated;
use super::repair::{ORIGIN, Readable, read, repaired};
use super::rules::{Failure, Ran, check, check_refusal};
use super::shrink::shrunk;
use super::{Draw, Drawn};
use clearway_sim::Simulation;
use clearway_sim::scenario::{Scenario, ScenarioError};
use std::any::Any;
use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// The number of cases between two lines that tell how far a run is.
const TOLD: u64 = 500;
/// The number of failures of one kind whose scenarios are shown.
const SHOWN: usize = 3;

/// The number of flows alive at once up to which a scenario is run.
const LIVE_FLOWS: f64 = 10_000.0;
/// The number of packets that hosts may put into their queues at once up to which a scenario is run.
const QUEUED: f64 = 500_000.0;
/// The number of reasons of refusals that a report names.
const REASONS: usize = 12;

/// The outcome of many cases.
#[derive(Default)]
pub struct Report {
    seed: u64,
    pub cases: u64,
    /// The number of scenarios that were accepted as they were drawn.
    pub accepted_at_once: u64,
    /// The number that were accepted at once, or without the lines for which they were refused.
    pub accepted: u64,
    /// The number among these that were not run, for the sake of time.
    too_large: u64,
    pub refusals: u64,
    /// The number of refusals by their reason.
    reasons: BTreeMap<String, u64>,
    pub ran: Ran,
    /// The cases that failed, by the rule that did not hold.
    failures: BTreeMap<String, Vec<u64>>,
}

impl Report {
    /// Returns true if every rule held in every case.
    pub fn is_clean(&self) -> bool {
        self.failures.is_empty()
    }

    /// Counts a case, and tells now and then how many there were.
    fn count(&mut self) {
        self.cases += 1;
        if self.cases.is_multiple_of(TOLD) {
            println!("{} cases of seed {}, {} kinds of failures", self.cases, self.seed, self.failures.len());
        }
    }

    /// Returns whether a failure is one of the first of its kind, whose scenarios are shown.
    fn shows(&self, failure: &Failure) -> bool {
        self.failures.get(&failure.kind).is_none_or(|cases| cases.len() < SHOWN)
    }

    fn fail(&mut self, case: u64, failure: &Failure, text: &str) {
        if self.shows(failure) {
            println!("--- {}: case {case} of seed {}: {}\n{text}", failure.kind, self.seed, failure.detail);
        }
        self.failures.entry(failure.kind.clone()).or_default().push(case);
    }

    fn refused(&mut self, refusals: &[ScenarioError]) {
        self.refusals += refusals.len() as u64;
        for error in refusals {
            let end = error.problem.find([';', ',']).unwrap_or(error.problem.len());
            let key = error.key.rsplit('.').next().unwrap_or_default();
            *self.reasons.entry(format!("{key}: {}", &error.problem[..end])).or_default() += 1;
        }
    }

    fn add(&mut self, ran: &Ran) {
        self.ran.runs += ran.runs;
        self.ran.on_threads += ran.on_threads;
        self.ran.from_checkpoints += ran.from_checkpoints;
        self.ran.recut += ran.recut;
        self.ran.events += ran.events;
        self.ran.peak = self.ran.peak.max(ran.peak);
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Ran { runs, on_threads, from_checkpoints, recut, events, peak } = self.ran;
        writeln!(
            f,
            "seed {}: {} cases, {} accepted as drawn, {} after lines were removed ({} too large to run), {} refusals",
            self.seed,
            self.cases,
            self.accepted_at_once,
            self.accepted - self.accepted_at_once,
            self.too_large,
            self.refusals
        )?;
        writeln!(
            f,
            "{runs} runs, {on_threads} on several threads, {from_checkpoints} from a checkpoint, {recut} of them with another number of threads; {events} events, at most {:.0} MB",
            peak as f64 / 1e6
        )?;
        let mut reasons: Vec<(&String, &u64)> = self.reasons.iter().collect();
        reasons.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        for (reason, count) in reasons.into_iter().take(REASONS) {
            writeln!(f, "{count:6} refusals: {reason}")?;
        }
        for (kind, cases) in &self.failures {
            let numbers: Vec<String> = cases.iter().map(u64::to_string).collect();
            writeln!(f, "FAILED {}: {kind}: cases {}", cases.len(), numbers.join(", "))?;
        }
        Ok(())
    }
}

/// The file in which the scenario of the present case stands, for the case that the process ends within it.
struct Present(PathBuf);

impl Present {
    fn new(what: &str) -> Present {
        let name = format!("random-{what}-{}.toml", std::process::id());
        Present(Path::new(env!("CARGO_TARGET_TMPDIR")).join(name))
    }

    fn write(&self, case: u64, drawn: &Drawn) {
        let mut text = format!("# case {case}\n{}", drawn.text);
        for (name, bytes) in &drawn.files {
            let lines = String::from_utf8_lossy(bytes).replace('\n', "\n# ");
            let _ = write!(text, "\n# file {name}:\n# {lines}\n");
        }
        std::fs::write(&self.0, text).expect("the folder of the target can be written");
    }
}

impl Drop for Present {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Returns whether a scenario would take long: for its flows, or since hosts put whole windows into their queues at once, each of
/// which may be as long as the longest delay at the highest rate.
fn is_too_large(scenario: &Scenario) -> bool {
    let (model, estimate) = (&scenario.model, scenario.estimate());
    let ports = model.topology.ports();
    let rate = ports.iter().map(|port| port.rate.as_bps_f64()).fold(0.0, f64::max);
    let delay = ports.iter().map(|port| port.delay.as_secs_f64()).fold(0.0, f64::max);
    let window = 2.0 * delay * rate / 8.0 / f64::from(model.framing.wire_max());
    let queued = (window * estimate.live_flows).max(estimate.packets);
    estimate.live_flows > LIVE_FLOWS || model.host.queues_data && queued > QUEUED
}

/// Calls `work`; a panic is a failure as any other.
fn guarded<T>(work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    let says = |panic: &(dyn Any + Send)| {
        let text = panic.downcast_ref::<String>().cloned();
        text.or_else(|| panic.downcast_ref::<&str>().map(|text| text.to_string())).unwrap_or_default()
    };
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(Failure::new("panic", says(&*panic))))
}

/// Draws the scenarios of these cases and holds them against all rules.
pub fn scenarios(seed: u64, cases: Range<u64>) -> Report {
    let mut report = Report { seed, ..Report::default() };
    let present = Present::new("scenario");
    for case in cases {
        report.count();
        let mut draw = Draw::new(seed, case);
        let drawn = Drawn::new(&mut draw);
        present.write(case, &drawn);
        let repaired = match guarded(|| repaired(drawn.clone())) {
            Ok(repaired) => repaired,
            Err(failure) => {
                report.fail(case, &failure, &shown(&drawn));
                continue;
            }
        };
        report.refused(&repaired.refusals);
        let Some(read) = repaired.readable else { continue };
        report.accepted += 1;
        report.accepted_at_once += u64::from(repaired.refusals.is_empty());
        if is_too_large(&read.scenario) {
            report.too_large += 1;
            continue;
        }
        present.write(case, &read.drawn);
        let checked = |read: &Readable| guarded(|| check(read, &mut Draw::new(!seed, case)));
        match checked(&read) {
            Ok(ran) => report.add(&ran),
            Err(failure) => {
                // Without the key that limits it, traffic may be much more by default, which takes long.
                let most = read.scenario.estimate().live_flows.max(1_000.0);
                let fails_alike = |drawn: &Drawn| {
                    let read = guarded(|| Ok(accepted(drawn))).ok().flatten();
                    let small = read.filter(|read| read.scenario.estimate().live_flows <= most);
                    small.is_some_and(|read| checked(&read).is_err_and(|other| other.kind == failure.kind))
                };
                let is_shown = report.shows(&failure);
                let drawn = if is_shown { shrunk(read.drawn, fails_alike) } else { read.drawn };
                report.fail(case, &failure, &shown(&drawn));
            }
        }
    }
    report
}

/// Reads a scenario as it stands.
fn accepted(drawn: &Drawn) -> Option<Readable> {
    read(drawn).ok().map(|scenario| Readable { drawn: drawn.clone(), scenario })
}

/// A scenario with its files, as a failure shows it.
fn shown(drawn: &Drawn) -> String {
    let mut text = drawn.text.clone();
    for (name, bytes) in &drawn.files {
        let _ = write!(text, "# file {name}:\n{}", String::from_utf8_lossy(bytes));
    }
    text
}

/// Changes scenarios, those shipped and some that are drawn, at random, and asserts that each is read and can be run, or
/// is refused in one line.
pub fn mutants(seed: u64, cases: Range<u64>) -> Report {
    let mut report = Report { seed, ..Report::default() };
    let present = Present::new("mutant");
    let shipped = shipped();
    for case in cases {
        report.count();
        let mut draw = Draw::new(!seed, case);
        let original = if draw.chance(60) { draw.pick(&shipped).clone() } else { Drawn::new(&mut draw) };
        let (bytes, drawn) = mutated(&mut draw, &original, &shipped);
        // What is no UTF-8 is refused where files are read, which has its own tests.
        let drawn = Drawn { text: String::from_utf8_lossy(&bytes).into_owned(), ..drawn };
        present.write(case, &drawn);
        match guarded(|| mutant(&drawn)) {
            Ok(Some(ran)) => {
                report.accepted += 1;
                report.accepted_at_once += 1;
                report.add(&ran);
            }
            Ok(None) => report.refusals += 1,
            Err(failure) => report.fail(case, &failure, &shown(&drawn)),
        }
    }
    report
}

/// Reads a scenario, and runs the start of one that is accepted.
fn mutant(drawn: &Drawn) -> Result<Option<Ran>, Failure> {
    let scenario: Scenario = match read(drawn) {
        Ok(scenario) => scenario,
        Err(error) => return check_refusal(&error, ORIGIN, drawn).map(|()| None),
    };
    let no_model = |error: clearway_sim::SimError| Failure::new("accepted, but no model", error.to_string());
    let mut simulation = Simulation::new(&scenario.model).map_err(no_model)?;
    simulation.step(5_000);
    let events = simulation.progress().events;
    simulation.finish().map_err(|error| Failure::new("books", error.to_string()))?;
    Ok(Some(Ran { runs: 1, events, ..Ran::default() }))
}

/// The scenarios that are shipped, with the networks that they name.
fn shipped() -> Vec<Drawn> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let texts = |folder: &str| -> Vec<(String, String)> {
        let entries = std::fs::read_dir(root.join(folder)).expect("the folder is there");
        let paths = entries.map(|entry| entry.expect("an entry of the folder").path());
        let mut paths: Vec<PathBuf> =
            paths.filter(|path| path.extension().is_some_and(|end| end == "toml")).collect();
        paths.sort();
        let name = |path: &Path| {
            path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
        };
        paths.iter().map(|path| (name(path), std::fs::read_to_string(path).expect("a text"))).collect()
    };
    let networks = texts("networks");
    let files =
        networks.into_iter().map(|(name, text)| (format!("networks/{name}"), text.into_bytes())).collect();
    let all = [texts(""), texts("lessons")].concat();
    all.into_iter().map(|(_, text)| Drawn { text, files: BTreeMap::clone(&files) }).collect()
}
