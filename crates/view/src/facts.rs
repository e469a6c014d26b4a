//! The facts on a run that has ended, of which the page makes sentences. `clearway.findings` takes them from the tables of
//! stored runs in the same way, and a test compares both.

use clearway_findings::{Busiest, Drops, Facts, Observed, Queue, most_at_once};
use clearway_sim::{ByReason, DropReason, Results, Table, Values};
use std::cmp::Ordering;

/// Returns the facts on a run: of the window of measurement where the scenario sets it. The page gives them the name of
/// the side.
pub fn facts(results: &Results, seed: u64, ended: &str) -> Facts {
    let summary = &results.summary;
    let flows = &results.flows;
    let (traffic, names) = texts(flows, "traffic");
    let (starts, times) = (flows.f64s("start_s"), flows.f64s("fct_s"));
    let (from, until) = (summary.measured.from.as_secs_f64(), summary.measured.until.as_secs_f64());
    let counts = |row: &usize| !summary.measured.is_set || (from..=until).contains(&starts[*row]);
    let rows: Vec<usize> = (0..flows.rows()).filter(counts).collect();
    let ints = |name| pick(flows.u64s(name), &rows);
    let reals = |name| pick(flows.f64s(name), &rows);
    let (flows_of_a_size, endless, groups) = Observed {
        size_bytes: &ints("size_bytes"),
        start_s: &reals("start_s"),
        fct_s: &reals("fct_s"),
        slowdown: &reals("slowdown"),
        delivered_bytes: &ints("delivered_bytes"),
        traffic: &pick(traffic, &rows),
        names,
        end_s: summary.end.as_secs_f64(),
    }
    .facts();
    let (used, wasted, timeouts) = signals(results);
    Facts {
        name: String::new(),
        seed,
        ended: ended.to_owned(),
        flows: flows_of_a_size,
        endless,
        groups,
        goodput_bps: goodput(results),
        queue: queue(results, starts, times),
        busiest: busiest(&results.ports),
        drops: drops(results),
        timeouts,
        pauses: summary.flow_control.as_ref().map(|control| control.pauses),
        credit_waste: (used + wasted > 0).then(|| wasted as f64 / (used + wasted) as f64),
    }
}

fn pick<T: Copy>(values: &[T], rows: &[usize]) -> Vec<T> {
    rows.iter().map(|&row| values[row]).collect()
}

/// Returns a column of texts: the index of each row, and the texts.
fn texts<'a>(table: &'a Table, name: &str) -> (&'a [u32], &'a [String]) {
    match table.column(name).map(|column| &column.values) {
        Some(Values::Text(indices, texts)) => (indices, texts),
        _ => (&[], &[]),
    }
}

fn text<'a>(table: &'a Table, name: &str, row: usize) -> &'a str {
    let (indices, texts) = texts(table, name);
    &texts[indices[row] as usize]
}

/// Returns the credits that were used, those that found nothing to send, and the expiries of retransmission timers.
fn signals(results: &Results) -> (u64, u64, u64) {
    let measured = &results.summary.measured;
    if measured.is_set {
        let sum = |of: fn(&clearway_sim::FlowCounts) -> u64| measured.flows.iter().map(of).sum();
        return (
            sum(|counts| counts.stats.credits_used),
            sum(|counts| counts.stats.rare().credits_wasted),
            sum(|counts| counts.stats.rare().timeouts),
        );
    }
    let sum = |name| results.flows.u64s(name).iter().sum();
    (sum("credits_used"), sum("credits_wasted"), sum("timeouts"))
}

/// Returns the payload that all receivers got by the time of measurement.
fn goodput(results: &Results) -> Option<f64> {
    let measured = &results.summary.measured;
    let time = measured.until.as_secs_f64() - measured.from.as_secs_f64();
    let bytes: u64 = measured.flows.iter().map(|counts| counts.delivered).sum();
    (time > 0.0).then(|| 8.0 * bytes as f64 / time)
}

/// Returns the row of the switch port, or of any port, with the largest value; of equal ones the first by name. `None`
/// where all are 0.
fn largest(ports: &Table, of_switches: bool, value: impl Fn(usize) -> f64) -> Option<usize> {
    let counts = |row: &usize| !of_switches || !text(ports, "tier", *row).starts_with("host");
    let order = |one: &usize, other: &usize| match value(*one).total_cmp(&value(*other)) {
        Ordering::Equal => text(ports, "port", *other).cmp(text(ports, "port", *one)),
        order => order,
    };
    (0..ports.rows()).filter(counts).filter(|&row| value(row) > 0.0).max_by(order)
}

fn queue(results: &Results, starts: &[f64], times: &[f64]) -> Option<Queue> {
    let ports = &results.ports;
    let name = if results.summary.measured.is_set { "window_queue_max_bytes" } else { "queue_max_bytes" };
    let bytes = ports.u64s(name);
    let row = largest(ports, true, |row| bytes[row] as f64)?;
    let port = text(ports, "port", row).to_owned();
    let host = port.split("->").nth(1).filter(|_| text(ports, "tier", row).ends_with("->host"));
    let flows_at_once = host.map(|host| {
        let (indices, names) = texts(&results.flows, "dst");
        let behind = |row: &usize| names[indices[*row] as usize] == host;
        let rows: Vec<usize> = (0..results.flows.rows()).filter(behind).collect();
        most_at_once(&pick(starts, &rows), &pick(times, &rows))
    });
    let dropped = ports.u64s(DropReason::Buffer.column())[row];
    Some(Queue { port, bytes: bytes[row] as f64, dropped, flows_at_once })
}

fn busiest(ports: &Table) -> Option<Busiest> {
    let busy = ports.f64s("window_utilisation");
    let row = largest(ports, false, |row| busy[row])?;
    Some(Busiest { port: text(ports, "port", row).to_owned(), busy: busy[row] })
}

fn drops(results: &Results) -> Drops {
    let ports = &results.ports;
    let sum = |name| ports.u64s(name).iter().sum::<u64>();
    if results.summary.measured.is_set {
        return Drops { all: sum("window_drops"), ..Drops::default() };
    }
    let dropped = ByReason::of(|why| sum(why.column()));
    let sent =
        |book: &[(&str, u64)]| book.iter().find(|(line, _)| *line == "sent").map_or(0, |(_, count)| *count);
    let packets = sent(&results.summary.packets) - sent(&results.summary.credits);
    Drops {
        all: dropped.losses(),
        full: dropped[DropReason::Buffer],
        random: dropped[DropReason::Loss],
        down: dropped[DropReason::Down],
        sent: packets,
    }
}
