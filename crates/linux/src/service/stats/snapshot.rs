//! What the loop and the process report at one time.

use crate::datapath::{Datapath, Metric};
use clearway_units::{Span, Time};
use nix::sys::resource::{UsageWho, getrusage};
use serde_json::{Map, Value, json};
use std::sync::{Mutex, PoisonError};

/// What does not change while a daemon runs.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The subcommand: `host`, `pac` or `switch`.
    pub mode: &'static str,
    /// The NIC; several are separated by commas.
    pub dev: String,
    /// The transport.
    pub transport: String,
}

/// Numbers of one time.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    metrics: Vec<Metric>,
    looks: u64,
    /// The time since the start.
    at: Time,
    /// The longest time between two looks.
    longest: Span,
}

/// The newest snapshot, shared by the loop, which never waits for it, and the thread that hands it out.
#[derive(Debug)]
pub struct Shared {
    pub(super) identity: Identity,
    newest: Mutex<Snapshot>,
}

impl Shared {
    /// Makes the place of snapshots.
    pub fn new(identity: Identity) -> Shared {
        Shared { identity, newest: Mutex::default() }
    }

    /// Leaves a new snapshot, unless somebody reads the last one just now.
    pub fn publish(&self, datapath: &dyn Datapath, at: Time, looks: u64, longest: Span) {
        let Ok(mut newest) = self.newest.try_lock() else { return };
        let metrics = &mut newest.metrics;
        metrics.clear();
        datapath.metrics(&mut |metric| metrics.push(metric));
        (newest.at, newest.looks, newest.longest) = (at, looks, longest);
    }

    /// Returns the newest snapshot, with what the process reports now.
    pub(super) fn collect(&self) -> (Span, Vec<Metric>) {
        let newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut metrics = newest.metrics;
        let mut add = |name, help, label, value| metrics.push(Metric { name, help, label, value });
        const CPU: &str = "Processor time that the daemon took, in seconds.";
        if let Ok(usage) = getrusage(UsageWho::RUSAGE_SELF) {
            let seconds = |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
            add("process_cpu_seconds_total", CPU, Some(("mode", "user")), seconds(usage.user_time()));
            add("process_cpu_seconds_total", CPU, Some(("mode", "system")), seconds(usage.system_time()));
        }
        if let Some(held) = resident_bytes() {
            add("process_resident_memory_bytes", "Memory that the daemon holds, in bytes.", None, held);
        }
        add(
            "uptime_seconds",
            "Time since the daemon's loop began, in seconds.",
            None,
            newest.at.as_secs_f64(),
        );
        add(
            "loop_looks_total",
            "Times that the daemon's loop looked at its signals, its link and its watchdog.",
            None,
            newest.looks as f64,
        );
        add(
            "loop_longest_gap_seconds",
            "The longest time between two such looks since the start, in seconds; 0.05 if nothing ever delayed one.",
            None,
            newest.longest.as_secs_f64(),
        );
        (newest.at.saturating_since(Time::ZERO), metrics)
    }

    /// Returns the snapshot as a JSON object on one line.
    pub(super) fn to_json(&self) -> String {
        let (uptime, metrics) = self.collect();
        let mut values = Map::new();
        for Metric { name, label, value, .. } in metrics {
            let key = match label {
                Some((key, text)) => format!("{name}{{{key}={text:?}}}"),
                None => name.to_owned(),
            };
            values.insert(key, number(value));
        }
        let Identity { mode, dev, transport } = &self.identity;
        let object = json!({
            "mode": mode, "dev": dev, "transport": transport, "pid": std::process::id(),
            "version": env!("CARGO_PKG_VERSION"), "uptime_s": uptime.as_secs_f64(), "metrics": values,
        });
        format!("{object}\n")
    }
}

/// Writes whole numbers without a fraction.
fn number(value: f64) -> Value {
    const EXACT: f64 = (1u64 << 53) as f64;
    if value.fract() == 0.0 && value.abs() <= EXACT { json!(value as i64) } else { json!(value) }
}

fn resident_bytes() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: f64 = text.split(' ').nth(1)?.parse().ok()?;
    let page = nix::unistd::sysconf(nix::unistd::SysconfVar::PAGE_SIZE).ok()??;
    Some(pages * page as f64)
}
