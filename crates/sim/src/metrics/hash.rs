//! The fields that the hash of results covers.
//!
//! A hash covers the fields of its first version always, zeros included. A field that is not in their list, since it came
//! later, is covered by the hashes of those runs alone in which it is not zero everywhere. So a new counter moves no hash
//! of a run that has nothing to count. Columns of observation are covered by none.

/// The columns of the table of flows in the first version. The last two are there in runs with certain transports.
const FLOWS: [&str; 20] = [
    "flow",
    "traffic",
    "transport",
    "src",
    "dst",
    "size_bytes",
    "start_s",
    "fct_s",
    "acked_s",
    "ideal_fct_s",
    "slowdown",
    "delivered_bytes",
    "data_packets",
    "retransmits",
    "timeouts",
    "credits_sent",
    "credits_used",
    "credits_wasted",
    "notices",
    "repeated_signals",
];

/// The columns of the table of ports in the first version. The last two are there in runs with flow control.
const PORTS: [&str; 19] = [
    "port",
    "tier",
    "rate_bps",
    "tx_packets",
    "tx_bytes",
    "tx_data_bytes",
    "tx_credits",
    "utilisation",
    "queue_max_bytes",
    "queue_mean_bytes",
    "credit_queue_max",
    "credit_queue_mean",
    "marks",
    "drops_buffer",
    "drops_credit",
    "drops_loss",
    "drops_down",
    "pauses",
    "paused_s",
];

/// The lines of the books in the first version. The last two are there for credits alone.
const BOOKS: [&str; 9] = [
    "sent",
    "delivered",
    "dropped, buffer",
    "dropped, credit limit",
    "dropped, random loss",
    "dropped, link down",
    "in flight",
    "used",
    "wasted",
];

/// The runs whose hashes cover a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hashed {
    /// All runs that have the column.
    Always,
    /// The runs in which it is not zero everywhere.
    WhereItCounts,
    /// None: the column tells how a run was observed, and not only what the network did.
    Never,
}

impl Hashed {
    /// Returns the runs whose hashes cover a column of a table that does not tell of the observation.
    pub(super) fn of(table: &str, column: &str) -> Hashed {
        let first: &[&str] = match table {
            "flows" => &FLOWS,
            "ports" => &PORTS,
            _ => &[],
        };
        if first.contains(&column) { Hashed::Always } else { Hashed::WhereItCounts }
    }
}

/// Adds the lines of the books of packets, bytes and credits to a hash.
pub(super) fn add_books(hasher: &mut blake3::Hasher, books: [&[(&'static str, u64)]; 3]) {
    for (line, count) in books.into_iter().flatten() {
        if BOOKS.contains(line) || *count != 0 {
            hasher.update(line.as_bytes()).update(&count.to_le_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ended;
    use crate::metrics::{Measured, Results, Rows, Spooled, Summary, Table, Values, WindowEnd};
    use clearway_units::Time;

    /// Results with one row of zeros, and columns and a line of the books beside those of the first version.
    fn results(more: &[(&'static str, u64)]) -> Results {
        let table = |name: &'static str, first: &[&'static str]| {
            let columns = first.iter().map(|column| (*column, 0)).chain(more.iter().copied());
            Table::new(name, columns.map(|(column, value)| (column, "", "", Values::U64(vec![value]))))
        };
        let books: Vec<_> = BOOKS.iter().map(|line| (*line, 0)).chain(more.iter().copied()).collect();
        let measured = Measured {
            is_set: false,
            from: Time::ZERO,
            until: Time::ZERO,
            end: WindowEnd::RunEnd,
            flows: Vec::new(),
            ports: Vec::new(),
        };
        let summary = Summary {
            end: Time::ZERO,
            ended: Ended::Complete,
            livelock: None,
            link_transmissions: 0,
            events: 0,
            flows_started: 0,
            flows_completed: 0,
            cnps: 0,
            traffic: Vec::new(),
            warnings: Vec::new(),
            measured,
            asked: Vec::new(),
            flow_control: None,
            agents: Vec::new(),
            packets: books.clone(),
            bytes: books.clone(),
            credits: books,
        };
        let [flows, ports] = [table("flows", &FLOWS), table("ports", &PORTS)];
        Results { flows, ports, samples: Table::default(), summary, traces: Vec::new() }
    }

    fn spooled(results: Results) -> String {
        let Results { flows, ports, summary, .. } = results;
        let mut rows = Rows::default();
        rows.finish(flows);
        Spooled { flows: rows, ports, samples: Rows::default(), summary, traces: Vec::new() }.hash().unwrap()
    }

    #[test]
    fn a_counter_that_came_later_moves_the_hashes_of_runs_in_which_it_counts_and_no_others() {
        let before = results(&[]).hash();
        assert_eq!(results(&[("trimmed", 0)]).hash(), before);
        assert_ne!(results(&[("trimmed", 1)]).hash(), before);
        assert_ne!(results(&[("trimmed", 1)]).hash(), results(&[("trimmed", 2)]).hash());
        assert_ne!(results(&[("trimmed", 1)]).hash(), results(&[("returned", 1)]).hash());
        for more in [&[][..], &[("trimmed", 0)], &[("trimmed", 1)]] {
            assert_eq!(spooled(results(more)), results(more).hash(), "{more:?}");
        }
    }

    #[test]
    fn each_field_of_the_first_version_counts_with_its_name_even_where_it_is_zero() {
        let whole = results(&[]).hash();
        for (table, columns) in [("flows", &FLOWS[..]), ("ports", &PORTS)] {
            for (at, column) in columns.iter().enumerate() {
                let mut less = results(&[]);
                let of = if table == "flows" { &mut less.flows } else { &mut less.ports };
                of.columns.remove(at);
                assert_ne!(less.hash(), whole, "{table}.{column}");
            }
        }
        for (at, line) in BOOKS.iter().enumerate() {
            let mut less = results(&[]);
            less.summary.packets.remove(at);
            assert_ne!(less.hash(), whole, "{line}");
        }
    }

    #[test]
    fn columns_of_observation_move_no_hash() {
        let mut seen = results(&[]);
        seen.ports.observe([("window_drops", "packets", "", Values::U64(vec![9]))]);
        assert_eq!(seen.hash(), results(&[]).hash());
    }
}
