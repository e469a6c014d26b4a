//! Random scenarios over all keys and all parameters, and scenario files changed at random: none may crash, hang, or give a
//! result that breaks a rule.
//!
//! `make random N=10000 SEED=1` runs more of them. A failure shows the seed, the number of the case and the scenario;
//! `make random SEED=1 FROM=1234 N=1` runs that case alone.

mod random;

use clearway_proto::TRANSPORTS;
use random::{Draw, Drawn, Report, mutants, repaired, scenarios};
use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard};

/// Held by each test, since the memory of the process is counted as a whole.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Asserts that every rule held, and shows what was done.
fn assert_clean(report: &Report) {
    println!("{report}");
    assert!(report.is_clean(), "{report}");
}

/// A number from the environment, by which more cases are asked for.
fn asked(name: &str, default: u64) -> u64 {
    #[allow(clippy::disallowed_methods, reason = "the number of cases is no result")]
    let text = std::env::var(name);
    text.map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")))
}

#[test]
fn random_scenarios_over_all_parameters_keep_every_rule() {
    let _alone = alone();
    let report = scenarios(1, 0..95);
    assert_clean(&report);
    assert!(report.accepted * 10 > report.cases * 7, "most scenarios are run in the end: {report}");
    let ran = &report.ran;
    assert!(ran.on_threads > 10 && ran.from_checkpoints > 10 && ran.recut > 2, "{report}");
}

#[test]
fn scenario_files_changed_at_random_are_run_or_refused_in_one_line() {
    let _alone = alone();
    let report = mutants(1, 0..300);
    assert_clean(&report);
    assert!(report.accepted > 25 && report.refusals > 100, "{report}");
}

#[test]
fn the_generator_writes_every_parameter_of_every_transport_and_every_table() {
    let _alone = alone();
    let mut seen = BTreeSet::new();
    for case in 0..1_500 {
        let drawn = Drawn::new(&mut Draw::new(7, case));
        let mut transport = "";
        for line in drawn.text.lines() {
            let line = line.strip_prefix("transport.").unwrap_or(line);
            if let Some(name) =
                TRANSPORTS.iter().map(|info| info.name).find(|name| line == format!("name = \"{name}\""))
            {
                transport = name;
            } else if let Some((key, _)) = line.split_once(" = ") {
                seen.insert(format!("{transport}.{key}"));
            } else {
                seen.insert(line.to_owned());
                transport = "";
            }
        }
    }
    let missing = |name: &String| !seen.contains(name);
    let parameters = TRANSPORTS
        .iter()
        .flat_map(|info| info.params.iter().map(|spec| format!("{}.{}", info.name, spec.name)));
    assert_eq!(parameters.filter(missing).collect::<Vec<_>>(), [""; 0]);
    let tables = clearway_sim::scenario::tables().into_iter().filter(|table| !table.path.is_empty());
    let heads = tables
        .map(|table| if table.many { format!("[[{}]]", table.path) } else { format!("[{}]", table.path) });
    assert_eq!(heads.filter(missing).collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn a_scenario_is_refused_line_by_line_until_it_can_be_run() {
    let text = "stop = \"1 ms\"\n[topology]\nkind = \"star\"\nhosts = 3\n[switch]\npfc_alpha = 1\nbuffer = \"0 B\"\n\
        [transport]\nname = \"dctcp\"\n[[traffic]]\nkind = \"permutation\"\nsize = \"1 KB\"\nspeed = 3\n";
    let drawn = Drawn { text: text.into(), files: random::Files::new() };
    let Ok(repaired) = repaired(drawn) else { panic!("each refusal names a line") };
    let keys: Vec<&str> = repaired.refusals.iter().map(|error| error.key.as_str()).collect();
    assert_eq!(keys, ["switch.buffer", "traffic.0.speed", "switch.pfc_alpha"]);
    let rest = repaired.readable.expect("three lines are to blame").drawn.text;
    assert_eq!(text.lines().count() - rest.lines().count(), 3);
}

#[test]
#[ignore = "needs minutes; make random, or make test-full"]
fn thousands_of_random_scenarios_and_mutants_keep_every_rule() {
    let _alone = alone();
    let (seed, from) = (asked("RANDOM_SEED", 1), asked("RANDOM_FROM", 0));
    let cases = from..from + asked("RANDOM_CASES", 3_000);
    let report = scenarios(seed, cases.clone());
    println!("{report}");
    let changed = mutants(seed, cases);
    println!("scenario files changed at random: {changed}");
    assert!(report.is_clean() && changed.is_clean(), "rules were broken; see above");
}
