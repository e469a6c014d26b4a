//! Log lines on what a datapath counts, at most one a second for each count.

use crate::datapath::{Datapath, Metric};
use clearway_units::{Span, Time};

/// The least time between two looks at the counts.
const PERIOD: Span = Span::from_secs(1);

/// The counts whose growth is worth a line, with its words; true if the line is a warning.
const EVENTS: [(&str, &str, bool); 7] = [
    ("refused_total", "control frames or numbers of credits were refused", true),
    ("plain_flows_total", "flows go on as plain TCP", false),
    ("clock_jumps_total", "the daemon did not run for a second or more", true),
    ("cut_off_total", "credits were stopped because no data came", false),
    ("link_downs_total", "the link went down; what was held has left", true),
    ("socket_failures_total", "packets or messages were not treated as they should be", true),
    ("pac_full_total", "acknowledgements passed because a bound was reached", true),
];

/// The counts as they were when the last line was written.
#[derive(Debug, Default)]
pub struct Events {
    counts: Vec<Metric>,
    next: Time,
}

impl Events {
    /// Writes a line for each count that has grown, if the last look is a second ago.
    pub fn look(&mut self, datapath: &dyn Datapath, now: Time) {
        if now >= self.next {
            self.next = now.saturating_add(PERIOD);
            datapath.metrics(&mut |metric| {
                if let Some((grown, words, is_warning)) = self.note(metric) {
                    let (kind, value) = metric.label.unwrap_or(("kind", ""));
                    match (is_warning, value) {
                        (true, "") => tracing::warn!(count = grown, "{words}"),
                        (true, value) => tracing::warn!(count = grown, cause = value, by = kind, "{words}"),
                        (false, "") => tracing::info!(count = grown, "{words}"),
                        (false, value) => tracing::info!(count = grown, cause = value, by = kind, "{words}"),
                    }
                }
            });
        }
    }

    /// Remembers a count. Returns by how much it has grown, and the words for that, if it is worth a line.
    fn note(&mut self, metric: Metric) -> Option<(u64, &'static str, bool)> {
        let (_, words, is_warning) = EVENTS.iter().find(|(name, ..)| *name == metric.name)?;
        let is_same = |other: &&mut Metric| (other.name, other.label) == (metric.name, metric.label);
        let before = match self.counts.iter_mut().find(is_same) {
            Some(known) => std::mem::replace(&mut known.value, metric.value),
            None => {
                self.counts.push(metric);
                0.0
            }
        };
        let grown = metric.value - before;
        (grown > 0.0).then_some((grown as u64, *words, *is_warning))
    }

    /// Writes the totals of all counters that are not zero, at the end.
    pub fn totals(datapath: &dyn Datapath) {
        let mut totals = Vec::new();
        datapath.metrics(&mut |Metric { name, label, value, .. }| {
            if name.ends_with("_total") && value != 0.0 {
                let label = label.map(|(key, text)| format!("{{{key}={text:?}}}")).unwrap_or_default();
                totals.push(format!("{name}{label}={value}"));
            }
        });
        tracing::info!(totals = totals.join(" "), "totals");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_told_when_it_has_grown_and_only_then() {
        let mut events = Events::default();
        let metric = |name, value| Metric { name, help: "", label: Some(("reason", "cookie")), value };
        let mut grown = |name, value| events.note(metric(name, value)).map(|(grown, ..)| grown);
        assert_eq!(grown("refused_total", 0.0), None);
        assert_eq!(grown("refused_total", 5.0), Some(5));
        assert_eq!(grown("refused_total", 5.0), None);
        assert_eq!(grown("refused_total", 7.0), Some(2));
        assert_eq!(grown("credits_sent_total", 7.0), None, "a count that grows all the time is no event");
    }
}
