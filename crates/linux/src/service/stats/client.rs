//! The command `clearwayd stats`.

use crate::rules::Namespace;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The time between two rows of `--watch`.
const PERIOD: Duration = Duration::from_secs(1);

/// What the user asks for.
#[derive(Debug)]
pub struct Query {
    /// The folder of sockets.
    pub folder: PathBuf,
    /// The NIC; without it, those of all daemons of this network namespace.
    pub dev: Option<String>,
    /// If true, the statistics are shown again every second, with rates, until the program is stopped.
    pub watch: bool,
    /// If true, each daemon is a JSON object on one line.
    pub json: bool,
}

/// Shows statistics. The error is one line.
pub fn show(query: &Query) -> Result<(), String> {
    let mut before: BTreeMap<PathBuf, Value> = BTreeMap::new();
    loop {
        let sockets = sockets(query)?;
        let mut shown = String::new();
        let mut now = BTreeMap::new();
        for path in sockets {
            let text = match ask(&path) {
                Ok(text) => text,
                // The daemon has ended; the next one replaces its socket.
                Err(error) if query.dev.is_none() && error.kind() == io::ErrorKind::ConnectionRefused => {
                    continue;
                }
                Err(error) => return Err(format!("{}: {error}", path.display())),
            };
            let parsed = serde_json::from_str(&text);
            let told: Value = parsed.map_err(|error| format!("{}: {error}", path.display()))?;
            let works_on =
                |dev: &String| told["dev"].as_str().is_some_and(|devs| devs.split(',').any(|own| own == dev));
            if !query.dev.as_ref().is_none_or(works_on) {
                continue;
            }
            match query.json {
                true => shown.push_str(&text),
                false => shown.push_str(&table(&told, before.get(&path))),
            }
            now.insert(path, told);
        }
        if now.is_empty() && !query.watch {
            let folder = query.folder.display();
            return Err(match &query.dev {
                Some(dev) => format!("{dev}: no daemon runs on this NIC (looked in {folder})"),
                None => format!("no daemon runs in this network namespace (looked in {folder})"),
            });
        }
        if query.watch && !query.json {
            // Clears the screen.
            shown.insert_str(0, "\x1b[H\x1b[2J");
        }
        let mut out = io::stdout().lock();
        if out.write_all(shown.as_bytes()).and_then(|()| out.flush()).is_err() || !query.watch {
            // An error means that nobody reads any more.
            return Ok(());
        }
        before = now;
        std::thread::sleep(PERIOD);
    }
}

fn sockets(query: &Query) -> Result<Vec<PathBuf>, String> {
    let namespace =
        Namespace::own().map_err(|error| format!("the network namespace cannot be told: {error}"))?;
    let prefix = format!("{}-", namespace.cookie);
    let is_ours = |path: &Path| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with(&prefix) && name.ends_with(".sock")
    };
    let entries = fs::read_dir(&query.folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| is_ours(path)).collect();
    paths.sort();
    Ok(paths)
}

fn ask(path: &Path) -> io::Result<String> {
    let mut stream = UnixStream::connect(path)?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    Ok(text)
}

/// Writes the statistics of a daemon as a table; counters with their rates, if earlier statistics are given.
fn table(told: &Value, before: Option<&Value>) -> String {
    let text = |key: &str| told.get(key).and_then(Value::as_str).unwrap_or_default();
    let number = |of: &Value, key: &str| of.get(key).and_then(Value::as_f64);
    let uptime = number(told, "uptime_s").unwrap_or_default();
    let pid = told.get("pid").map(Value::to_string).unwrap_or_default();
    let mut out = format!(
        "{} {} ({}), process {pid}, up {uptime:.1} s\n",
        text("mode"),
        text("dev"),
        text("transport")
    );
    let empty = serde_json::Map::new();
    let metrics = |of: &'_ Value| of.get("metrics").and_then(Value::as_object).cloned();
    let earlier = before.and_then(|before| Some((metrics(before)?, number(before, "uptime_s")?)));
    for (key, value) in told.get("metrics").and_then(Value::as_object).unwrap_or(&empty) {
        let is_counter = key.split('{').next().is_some_and(|name| name.ends_with("_total"));
        let rate = earlier.as_ref().filter(|_| is_counter).and_then(|(metrics, at)| {
            let (now, then) = (value.as_f64()?, metrics.get(key)?.as_f64()?);
            (uptime > *at).then(|| format!("{:>12.1}/s", (now - then) / (uptime - at)))
        });
        out.push_str(format!("  {key:<60} {:>16}{}", value.to_string(), rate.unwrap_or_default()).trim_end());
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_table_shows_rates_of_counters_between_two_times() {
        let told = |uptime: f64, sent: u64| {
            json!({"mode": "host", "dev": "eth0", "transport": "ec4", "pid": 7, "uptime_s": uptime,
                   "metrics": {"flows": 3, "sent_total{kind=\"a\"}": sent}})
        };
        let table = table(&told(12.0, 300), Some(&told(10.0, 100)));
        let lines: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[0], ["host", "eth0", "(ec4),", "process", "7,", "up", "12.0", "s"]);
        assert_eq!(lines[1], ["flows", "3"]);
        assert_eq!(lines[2], ["sent_total{kind=\"a\"}", "300", "100.0/s"]);
    }
}
