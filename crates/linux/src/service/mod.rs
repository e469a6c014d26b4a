//! The daemon around a datapath: command line, configuration, logs, statistics, privileges.

mod cli;
mod config;
mod daemon;
mod logs;
mod notify;
mod privileges;
mod settings;
mod stats;
mod watch;

use crate::rules::{Outcome, Plan, cleanup};
use clap::ArgMatches;
use clearway_schema::Declared;
use config::{ConfigError, Given};
use settings::{Folder, HostSettings, PacSettings, ServiceSettings, Settings};
use stats::Query;
use std::ffi::OsString;
use std::path::PathBuf;
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
    match matches.subcommand() {
        Some(("host", matches)) => daemon::<HostSettings>(matches, host),
        Some(("pac", matches)) => daemon::<PacSettings>(matches, pac),
        Some(("stats", matches)) => run_stats(matches),
        Some(("cleanup", matches)) => run_cleanup(matches),
        _ => ExitCode::from(REFUSED),
    }
}

fn daemon<S: Settings>(matches: &ArgMatches, run: fn(&S, &Given, bool) -> Result<(), Failure>) -> ExitCode {
    let given = cli::given::<S>(matches);
    let result =
        given.read::<S>().map_err(|error| Failure::Refused(error.to_string())).and_then(|settings| {
            logs::start(settings.service());
            run(&settings, &given, matches.get_flag("dry_run"))
        });
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Refused(problem)) => {
            eprintln!("clearwayd: {problem}");
            ExitCode::from(REFUSED)
        }
        Err(Failure::Failed(problem)) => {
            eprintln!("clearwayd: {problem}");
            ExitCode::from(FAILED)
        }
    }
}

/// The reason why a command ended without success, in one line.
enum Failure {
    /// The user gave something wrong.
    Refused(String),
    /// The machine refused something.
    Failed(String),
}

fn host(settings: &HostSettings, given: &Given, dry_run: bool) -> Result<(), Failure> {
    let transport = given
        .transport::<HostSettings>(&settings.transport.to_string())
        .map_err(|error| Failure::Refused(error.to_string()))?;
    not_yet(dry_run, transport.info().name)
}

fn pac(_: &PacSettings, given: &Given, dry_run: bool) -> Result<(), Failure> {
    let transport =
        given.transport::<PacSettings>("pac").map_err(|error| Failure::Refused(error.to_string()))?;
    not_yet(dry_run, transport.info().name)
}

fn not_yet(dry_run: bool, name: &str) -> Result<(), Failure> {
    if dry_run {
        print!("{}", Plan::default());
        return Ok(());
    }
    Err(Failure::Failed(format!("this build has no datapath for {name}")))
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

fn run_stats(matches: &ArgMatches) -> ExitCode {
    let query = run_dir(matches).map_err(|error| error.to_string()).map(|folder| Query {
        folder,
        dev: matches.get_one::<String>("dev").cloned(),
        watch: matches.get_flag("watch"),
        json: matches.get_flag("json"),
    });
    match query.and_then(|query| stats::show(&query)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("clearwayd: {problem}");
            ExitCode::from(FAILED)
        }
    }
}

fn run_cleanup(matches: &ArgMatches) -> ExitCode {
    let folder = match run_dir(matches) {
        Ok(folder) => folder,
        Err(error) => {
            eprintln!("clearwayd: {error}");
            return ExitCode::from(REFUSED);
        }
    };
    let device = matches.get_one::<String>("dev").map(String::as_str);
    let all = match cleanup(&folder, device, matches.get_flag("forget")) {
        Ok(all) => all,
        Err(error) => {
            eprintln!("clearwayd: {error}");
            return ExitCode::from(FAILED);
        }
    };
    let mut status = ExitCode::SUCCESS;
    for leftover in &all {
        let device = &leftover.device;
        match &leftover.outcome {
            Outcome::Lives => println!("{device}: the daemon lives; its rules stay"),
            Outcome::Undone(steps) => println!("{device}: {steps} steps of process {} undone", leftover.pid),
            Outcome::Forgotten(steps) => {
                println!("{device}: {steps} steps of process {} forgotten", leftover.pid)
            }
            Outcome::NamespaceGone => {
                println!("{device}: the network namespace is gone, and the rules with it")
            }
            Outcome::Elsewhere(place) => {
                println!(
                    "{device}: in another network namespace; run `nsenter --net={place} clearwayd cleanup`"
                );
            }
            Outcome::Failed(errors) => {
                status = ExitCode::from(FAILED);
                errors.iter().for_each(|error| eprintln!("clearwayd: {device}: {error}"));
            }
        }
    }
    if all.is_empty() {
        println!("nothing is left of a dead daemon");
    }
    status
}
