//! The daemon around a datapath: command line, configuration, logs, statistics, privileges.

mod cli;
mod config;
mod daemon;
mod doctor;
mod events;
mod jobs;
mod listing;
mod logs;
mod notify;
mod privileges;
mod settings;
mod stats;
mod watch;

use crate::record::{Recording, Summary, replay};
use crate::rules::{Leftover, Outcome, cleanup};
use crate::switch::objects::{OBJECTS, Object};
use clap::ArgMatches;
use clearway_schema::{Declared, suggestion};
use config::{ConfigError, Given};
use daemon::Job;
use jobs::{HostJob, PacJob, switch};
use settings::{Folder, ServiceSettings, Settings};
use stats::Query;
use std::ffi::OsString;
use std::fs::File;
use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The exit status of a command that failed.
const FAILED: u8 = 1;
/// The exit status for a command line or a configuration that was refused, as clap has it.
const REFUSED: u8 = 2;

/// Runs the program with its arguments, of which the first is the name of the program.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let matches = match cli::command().try_get_matches_from(arguments) {
        Ok(matches) => matches,
        Err(error) => {
            // Nobody reads what cannot be printed.
            let _ = error.print();
            return ExitCode::from(error.exit_code() as u8);
        }
    };
    let result = match matches.subcommand() {
        Some(("host", matches)) => run_daemon(matches, HostJob::new),
        Some(("pac", matches)) => run_daemon(matches, PacJob::new),
        Some(("switch", matches)) => run_daemon(matches, switch),
        Some(("settings", matches)) => run_settings(matches),
        Some(("object", matches)) => run_object(matches),
        Some(("replay", matches)) => run_replay(matches),
        Some(("doctor", matches)) => run_doctor(matches),
        Some(("stats", matches)) => run_stats(matches),
        Some(("cleanup", matches)) => run_cleanup(matches),
        _ => Ok(()),
    };
    let (status, problem) = match result {
        Ok(()) => return ExitCode::SUCCESS,
        Err(Failure::Refused(problem)) => (REFUSED, problem),
        Err(Failure::Failed(problem)) => (FAILED, problem),
        Err(Failure::Told) => return ExitCode::from(FAILED),
    };
    eprintln!("clearwayd: {problem}");
    ExitCode::from(status)
}

/// Runs a daemon whose job `make` makes from its settings, or prints its rules.
fn run_daemon<S: Settings, J: Job>(
    matches: &ArgMatches,
    make: fn(S, &Given) -> Result<J, ConfigError>,
) -> Result<(), Failure> {
    let given = cli::given::<S>(matches)?;
    let settings = given.read::<S>()?;
    let service = settings.service().clone();
    let mut job = make(settings, &given)?;
    logs::start(&service);
    if matches.get_flag("dry_run") {
        print!("{}", job.plan()?);
        for line in job.unplanned() {
            println!("# {line}");
        }
        return Ok(());
    }
    daemon::run(&mut job, &service).map_err(|problem| {
        tracing::error!("{problem}");
        Failure::Told
    })
}

/// The reason why a command ended without success, in one line.
enum Failure {
    /// The user gave something wrong.
    Refused(String),
    /// The machine refused something.
    Failed(String),
    /// The machine refused or lacks something, and the logs or the output say what.
    Told,
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Failure {
        Failure::Refused(error.to_string())
    }
}

impl From<String> for Failure {
    fn from(problem: String) -> Failure {
        Failure::Failed(problem)
    }
}

/// Returns the folder of journals and sockets, for commands that are no daemons.
fn run_dir(matches: &ArgMatches) -> Result<PathBuf, ConfigError> {
    let mut service = ServiceSettings::default();
    if let Some(text) = matches.get_one::<String>("run_dir") {
        let wrong =
            |error: clearway_schema::Error| ConfigError(format!("--run-dir {text:?}: {}", error.problem()));
        service.set("run_dir", text).map_err(wrong)?;
    }
    Ok(Folder::of(&service.run_dir))
}

fn run_stats(matches: &ArgMatches) -> Result<(), Failure> {
    let query = Query {
        folder: run_dir(matches)?,
        dev: matches.get_one::<String>("dev").cloned(),
        watch: matches.get_flag("watch"),
        json: matches.get_flag("json"),
    };
    Ok(stats::show(&query)?)
}

fn run_doctor(matches: &ArgMatches) -> Result<(), Failure> {
    let name = matches.get_one::<String>("kind").map_or("", String::as_str);
    let question = doctor::Question {
        kind: doctor::kind(name).map_err(Failure::Refused)?,
        devices: matches.get_many::<String>("dev").into_iter().flatten().cloned().collect(),
        folder: run_dir(matches)?,
        json: matches.get_flag("json"),
    };
    let (report, is_whole) = doctor::examine(&question);
    // Nobody reads what cannot be printed.
    let _ = std::io::stdout().write_all(report.as_bytes());
    if is_whole { Ok(()) } else { Err(Failure::Told) }
}

fn run_replay(matches: &ArgMatches) -> Result<(), Failure> {
    let path = matches.get_one::<String>("file").map_or("", String::as_str);
    let fail = |error: &dyn std::fmt::Display| format!("{path}: {error}");
    let file = File::open(path).map_err(|error| fail(&error))?;
    let recording = Recording::open(BufReader::new(file)).map_err(|error| fail(&error))?;
    println!("{}", recording.start());
    match replay(recording).map_err(|error| fail(&error))? {
        Ok(Summary { inputs, verdicts, frames, until, is_cut_off }) => {
            let seconds = until.as_secs_f64();
            println!(
                "{inputs} inputs in {seconds:.3} s: all {verdicts} verdicts and {frames} frames are the same again"
            );
            if is_cut_off {
                println!("the recording ends within an entry: the daemon was killed, or the disk was full");
            }
            Ok(())
        }
        Err(difference) => Err(Failure::Failed(fail(&difference))),
    }
}

fn run_settings(matches: &ArgMatches) -> Result<(), Failure> {
    let kind = matches.get_one::<String>("kind").map_or("", String::as_str);
    let listed = listing::of(kind)
        .ok_or_else(|| Failure::Refused(format!("settings {kind:?}: write host, pac or switch")))?;
    // Nobody reads what cannot be printed.
    let _ = std::io::stdout().write_all(listed.as_bytes());
    Ok(())
}

fn run_object(matches: &ArgMatches) -> Result<(), Failure> {
    let name = matches.get_one::<String>("name").map_or("", String::as_str);
    let known: Vec<&str> = OBJECTS.iter().map(|object| object.name).collect();
    let object = Object::by_name(name).ok_or_else(|| {
        let hint = suggestion(name, known.iter().copied());
        Failure::Refused(format!(
            "object {name:?}: there is no such program{hint} (known: {})",
            known.join(", ")
        ))
    })?;
    let path = matches.get_one::<String>("output").map_or("", String::as_str);
    Ok(object.write(Path::new(path)).map_err(|error| format!("{path}: {error}"))?)
}

fn run_cleanup(matches: &ArgMatches) -> Result<(), Failure> {
    let folder = run_dir(matches)?;
    let device = matches.get_one::<String>("dev").map(String::as_str);
    let all = cleanup(&folder, device, matches.get_flag("forget")).map_err(|error| error.to_string())?;
    let mut failed = 0;
    for Leftover { device, pid, outcome } in &all {
        match outcome {
            Outcome::Lives => println!("{device}: the daemon lives; its rules stay"),
            Outcome::Undone(steps) => println!("{device}: {steps} steps of process {pid} undone"),
            Outcome::Forgotten(steps) => println!("{device}: {steps} steps of process {pid} forgotten"),
            Outcome::NamespaceGone => {
                println!("{device}: the network namespace is gone, and the rules with it")
            }
            Outcome::Elsewhere(place) => {
                println!(
                    "{device}: in another network namespace; run `nsenter --net={place} clearwayd cleanup`"
                );
            }
            Outcome::Failed(errors) => {
                failed += errors.len();
                errors.iter().for_each(|error| eprintln!("clearwayd: {device}: {error}"));
            }
        }
    }
    if all.is_empty() {
        println!("nothing is left of a dead daemon");
    }
    match failed {
        0 => Ok(()),
        failed => Err(Failure::Failed(format!("{failed} steps could not be undone"))),
    }
}
