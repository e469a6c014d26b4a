//! The text format of Prometheus, version 0.0.4.

use super::snapshot::{Identity, Shared};
use crate::datapath::Metric;
use std::fmt::Write;

/// Writes the newest snapshot.
pub fn write(shared: &Shared) -> String {
    let (_, metrics) = shared.collect();
    text(&shared.identity, &metrics)
}

fn text(identity: &Identity, metrics: &[Metric]) -> String {
    let Identity { mode, dev, transport } = identity;
    let (dev, transport) = (escaped(dev), escaped(transport));
    let version = env!("CARGO_PKG_VERSION");
    let mut out = format!(
        "# HELP clearway_info The daemon and its version.\n# TYPE clearway_info gauge\n\
         clearway_info{{dev=\"{dev}\",mode=\"{mode}\",transport=\"{transport}\",version=\"{version}\"}} 1\n"
    );
    // All values of one name stand together, under one HELP and one TYPE.
    for (at, metric) in metrics.iter().enumerate() {
        let name = metric.name;
        if metrics[..at].iter().any(|earlier| earlier.name == name) {
            continue;
        }
        let help = metric.help.replace('\\', "\\\\").replace('\n', "\\n");
        let kind = if name.ends_with("_total") { "counter" } else { "gauge" };
        let _ = writeln!(out, "# HELP clearway_{name} {help}\n# TYPE clearway_{name} {kind}");
        for Metric { label, value, .. } in metrics[at..].iter().filter(|other| other.name == name) {
            let label = label.map(|(key, text)| format!(",{key}=\"{}\"", escaped(text))).unwrap_or_default();
            let _ = writeln!(out, "clearway_{name}{{dev=\"{dev}\"{label}}} {value}");
        }
    }
    out
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_one_name_stand_together_under_one_help_and_names_of_counters_make_counters() {
        let metric = |name, label, value| Metric { name, help: "Some \\ help.", label, value };
        let metrics = [
            metric("drops_total", Some(("reason", "a")), 1.0),
            metric("flows", None, 0.5),
            metric("drops_total", Some(("reason", "\"b\"")), 2e10),
        ];
        let identity = Identity { mode: "host", dev: "eth0".into(), transport: "ec4".into() };
        let text = text(&identity, &metrics);
        let version = env!("CARGO_PKG_VERSION");
        assert_eq!(
            text,
            format!(
                "# HELP clearway_info The daemon and its version.\n\
                 # TYPE clearway_info gauge\n\
                 clearway_info{{dev=\"eth0\",mode=\"host\",transport=\"ec4\",version=\"{version}\"}} 1\n\
                 # HELP clearway_drops_total Some \\\\ help.\n\
                 # TYPE clearway_drops_total counter\n\
                 clearway_drops_total{{dev=\"eth0\",reason=\"a\"}} 1\n\
                 clearway_drops_total{{dev=\"eth0\",reason=\"\\\"b\\\"\"}} 20000000000\n\
                 # HELP clearway_flows Some \\\\ help.\n\
                 # TYPE clearway_flows gauge\n\
                 clearway_flows{{dev=\"eth0\"}} 0.5\n"
            )
        );
    }
}
