//! The program behind `make bench`, which measures link transmissions per CPU-second and peak memory of fixed cases,
//! and compares them with a bare forwarding loop.
//!
//! A *link transmission* is one packet, data or control, put on one link. The bare loop moves packets over the same
//! links with the same event queue, but without protocols, port queues or books, so its speed bounds that of the
//! simulator.

mod cases;
mod usage;

use cases::{Case, Outcome};
use clap::Parser;

/// Measures the simulator's speed and memory.
#[derive(Parser)]
#[command(
    name = "clearway-bench",
    after_help = "Examples:\n  clearway-bench\n  clearway-bench --only 128\n  clearway-bench --scale 0.1 --only websearch"
)]
struct Args {
    /// Run only the cases whose name contains this text.
    #[arg(long, default_value = "")]
    only: String,
    /// The length of each case relative to its normal length.
    #[arg(long, default_value_t = 1.0)]
    scale: f64,
    /// Run this case in this process and print its outcome in one line. The parent process starts each case so.
    #[arg(long, hide = true)]
    case: Option<String>,
}

fn main() {
    let args = Args::parse();
    if let Some(name) = &args.case {
        let case = Case::by_name(name).unwrap_or_else(|| panic!("no case {name}"));
        println!("{}", case.run(args.scale).to_line());
        return;
    }
    println!(
        "{:34} {:>9} {:>9} {:>9} {:>8} {:>8} {:>8}  hash",
        "case", "M tx", "CPU s", "M tx/s", "% bare", "M ev/s", "MB"
    );
    let mut bare = None;
    for case in Case::all().filter(|case| case.name().contains(&args.only)) {
        // Each case has a process of its own, so that its peak memory is not that of another case.
        let outcome = Outcome::of_child(&case.name(), args.scale);
        let speed = outcome.link_transmissions / outcome.cpu_s / 1e6;
        if case.is_bare() {
            bare = Some(speed);
        }
        let bound = bare.filter(|_| case.is_bounded());
        let share = bound.map_or("-".into(), |bare| format!("{:.0}", speed / bare * 100.0));
        println!(
            "{:34} {:9.1} {:9.2} {:9.2} {:>8} {:8.2} {:8.0}  {}",
            case.name(),
            outcome.link_transmissions / 1e6,
            outcome.cpu_s,
            speed,
            share,
            outcome.events / outcome.cpu_s / 1e6,
            outcome.peak_bytes / 1e6,
            outcome.hash,
        );
    }
}
