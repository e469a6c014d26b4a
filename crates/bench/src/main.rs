//! Runs one case of the benchmark in a process of its own and prints what it took, as JSON on one line.
//!
//! `make bench` runs all cases by `tools/bench`, which compares speeds, counts instructions and writes the tables. A
//! *link transmission* is one packet, data or control, put on one link. The bare loop moves packets over the same
//! links with the same event queue, but without protocols, port queues or books, so its speed bounds that of the
//! simulator.

mod cases;
mod models;
mod outcome;
mod shares;
mod usage;

use cases::Case;
use clap::Parser;
use std::path::PathBuf;
use std::process::ExitCode;

/// Runs one case of the benchmark and prints what it took, as JSON.
#[derive(Parser)]
#[command(
    name = "clearway-bench",
    after_help = "Examples:\n  clearway-bench --list\n  clearway-bench --case permutation-128-dctcp --scale 0.1\n\
                  \nAll cases, with tables and comparisons: make bench"
)]
struct Args {
    /// The case to run.
    #[arg(long, required_unless_present_any = ["list", "scenario"])]
    case: Option<String>,
    /// The length of the case relative to its normal length.
    #[arg(long, default_value_t = 1.0)]
    scale: f64,
    /// Print how the work of the case divides among these numbers of threads, and the speed-up that follows, as JSON.
    #[arg(long, requires = "case", value_name = "THREADS", num_args = 1.., value_parser = clap::value_parser!(u16).range(2..=1024))]
    shares: Vec<u16>,
    /// Go through the network of the case or scenario as a whole, and not block by block.
    #[arg(long, conflicts_with_all = ["list", "shares"])]
    whole: bool,
    /// Print the cases and the kind of this build, as JSON.
    #[arg(long)]
    list: bool,
    /// Run this scenario file instead of a case: the training of a profile-guided build.
    #[arg(long, conflicts_with_all = ["case", "list"])]
    scenario: Option<PathBuf>,
    /// Set a key of the scenario, as in `--set stop="2 ms"`.
    #[arg(long, requires = "scenario", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Take a frame with packets every 10 us of simulated time of the scenario, as the live page does.
    #[arg(long, requires = "scenario")]
    frames: bool,
    /// The transport of the scenario.
    #[arg(long, requires = "scenario")]
    transport: Option<String>,
}

fn main() -> ExitCode {
    let args = Args::parse();
    if args.list {
        println!("{}", cases::list());
        return ExitCode::SUCCESS;
    }
    if !(args.scale > 0.0 && args.scale <= 1e6) {
        return fail(&format!("--scale {}: must be more than 0 and at most 1e6", args.scale));
    }
    let threads: Vec<usize> = args.shares.iter().copied().map(usize::from).collect();
    let outcome = match (&args.case, &args.scenario) {
        (_, Some(path)) => {
            let frames = args.frames.then_some(cases::ALL_PARTS);
            outcome::of_scenario(path, args.transport, &args.set, args.whole, frames)
                .map(|outcome| outcome.to_json())
        }
        (name, None) => {
            let name = name.as_deref().unwrap_or_default();
            let case = Case::all().find(|case| case.name == name);
            case.ok_or_else(|| {
                format!("--case {name}: there is no such case; --list prints those that there are")
            })
            .and_then(|case| match threads.is_empty() {
                true => Ok(outcome::of_case(&case, args.scale, args.whole).to_json()),
                false => Ok(shares::of_case(&case, args.scale, &threads)?.to_json()),
            })
        }
    };
    match outcome {
        Ok(outcome) => {
            println!("{outcome}");
            ExitCode::SUCCESS
        }
        Err(problem) => fail(&problem),
    }
}

fn fail(problem: &str) -> ExitCode {
    eprintln!("clearway-bench: {problem}");
    ExitCode::FAILURE
}
