//! Sentences on one run, or on the seeds of one transport.

use crate::facts::{Facts, Queue};
use crate::finding::{Finding, Kind};
use crate::side::Side;
use crate::text::{count, digits, list, many, percent, rate, size, time};

/// The fewest flows of which a 99th percentile is stated: ten then lie beyond it.
pub const FLOWS_OF_P99: u64 = 1000;
/// The share of time from which on a busy link is said to limit, and the one below which no link is.
pub const LIMITS: f64 = 0.95;
pub const IDLE: f64 = 0.5;

pub fn findings(side: &Side) -> Vec<Finding> {
    let mut found = vec![Finding::new(Kind::Flows, flows(side)), Finding::new(Kind::Queue, queue(side))];
    found.push(Finding::new(Kind::Lost, lost(side)));
    found.extend(limit(side).map(|text| Finding::new(Kind::Limit, text)));
    found
}

/// How long the flows took, and how much those carried that have no end.
fn flows(side: &Side) -> String {
    let sized = sized(side);
    let endless = side.runs.iter().filter_map(|run| run.endless.as_ref()).collect::<Vec<_>>();
    let Some(first) = endless.first() else { return sized.unwrap_or_else(|| "No flow started.".into()) };
    let jain = endless.iter().filter_map(|one| one.jain).reduce(f64::min);
    let carried = endless.iter().map(|one| one.rate_bps).sum::<f64>() / endless.len() as f64;
    let shares = jain.map_or(String::new(), |jain| {
        format!("; Jain's index of what each carried is {jain:.3}, where 1 is equal shares")
    });
    let verb = if first.flows == 1 { "goes on and carries" } else { "go on and carry" };
    let text =
        format!("{} without an end {verb} {}{shares}.", capital(&many(first.flows, "flow")), rate(carried));
    match sized {
        Some(sized) => format!("{sized} {text}"),
        None => text,
    }
}

/// How long flows of a fixed size took.
fn sized(side: &Side) -> Option<String> {
    let (completed, unfinished) = (side.completed(), side.unfinished());
    if completed + unfinished == 0 {
        return None;
    }
    let runs = if side.runs.len() > 1 { format!(" in {} runs", side.runs.len()) } else { String::new() };
    let Some(mean) = side.mean_s() else {
        return Some(format!("None of {} completed{runs}{}.", many(unfinished, "flow"), ended(side)));
    };
    let slowdown = side.mean(|run| run.flows.slowdown).filter(|slowdown| *slowdown >= 1.05);
    let idle = slowdown
        .map_or(String::new(), |slowdown| format!(", {} times that of an idle network", digits(slowdown)));
    let tail = tail(side);
    Some(match (completed, unfinished) {
        (1, 0) => format!("The flow took {}{idle}.", time(mean)),
        (_, 0) => format!(
            "All {} completed{runs}: they took {} on average{idle}{tail}.",
            many(completed, "flow"),
            time(mean)
        ),
        _ => format!(
            "{} of {} completed{runs}{}: these took {} on average{idle}, and the times leave out those that did not.",
            capital(&count(completed)),
            many(completed + unfinished, "flow"),
            ended(side),
            time(mean)
        ),
    })
}

/// The slow end of completion times: a percentile of enough flows, else the slowest flow.
fn tail(side: &Side) -> String {
    let p99 = side.mean(|run| run.flows.p99_s).filter(|_| side.fewest() >= FLOWS_OF_P99);
    match (p99, side.most(|run| run.flows.slowest_s)) {
        (Some(p99), _) => format!("; 99 % took at most {}", time(p99)),
        (None, Some(slowest)) => {
            format!("; the slowest took {} (too few flows for a 99th percentile)", time(slowest))
        }
        (None, None) => String::new(),
    }
}

/// The way in which runs ended that left flows undelivered.
fn ended(side: &Side) -> &'static str {
    let words = |run: &&Facts| match run.ended.as_str() {
        "stopped" => " by the stop time",
        "stalled" => " before the run stalled",
        "deadlocked" => " before a deadlock stopped the network",
        "complete" => "",
        _ => " before the run was cut off",
    };
    side.runs.iter().map(words).find(|words| !words.is_empty()).unwrap_or("")
}

/// Where the longest queue was, and why.
fn queue(side: &Side) -> String {
    match side.queue() {
        None => "No data waited at a switch.".into(),
        Some(queue) => {
            let why = why(queue).map_or(String::new(), |why| format!(", {why}"));
            format!("The longest queue was {}, at {}{why}.", size(queue.bytes), queue.port)
        }
    }
}

/// Why a queue stood where it stood, as far as the results tell: so many flows went to the host behind the port.
pub fn why(queue: &Queue) -> Option<String> {
    let host = queue.port.split("->").nth(1).unwrap_or(&queue.port);
    let at_once = queue.flows_at_once.filter(|&flows| flows > 1)?;
    Some(format!("where up to {} at once were under way to {host}", many(at_once, "flow")))
}

/// What was lost, and what that led to.
fn lost(side: &Side) -> String {
    let timeouts = side.sum(|run| run.timeouts);
    let pauses = side.runs.iter().filter_map(|run| run.pauses).sum::<u64>();
    let paused =
        if pauses > 0 { format!(" Flow control paused links {}.", times(pauses)) } else { String::new() };
    let all = side.sum(|run| run.drops.all);
    if all == 0 {
        let expired = if timeouts > 0 {
            format!(", but retransmission timers expired {}", times(timeouts))
        } else {
            String::new()
        };
        return format!("No packet was lost{expired}.{paused}");
    }
    let expired = if timeouts > 0 {
        format!(", and retransmission timers expired {}", times(timeouts))
    } else {
        String::new()
    };
    let verb = if all == 1 { "was" } else { "were" };
    format!("{} {verb} lost{}{expired}.{paused}", amount_lost(side), places(side))
}

/// The packets that were lost, and their share of those sent.
pub fn amount_lost(side: &Side) -> String {
    let (all, sent) = (side.sum(|run| run.drops.all), side.sum(|run| run.drops.sent));
    let packets = many(all, "packet");
    if sent > 0 {
        format!("{packets} ({} of those sent)", percent(all as f64 / sent as f64))
    } else {
        packets
    }
}

/// Where packets were lost, behind the words that some were.
fn places(side: &Side) -> String {
    let reasons = [
        (side.sum(|run| run.drops.full), "at full queues"),
        (side.sum(|run| run.drops.random), "on links that lose packets at random"),
        (side.sum(|run| run.drops.down), "at links that were down"),
    ];
    let met: Vec<_> = reasons.iter().filter(|(number, _)| *number > 0).collect();
    match met.as_slice() {
        [] => String::new(),
        [(_, place)] => format!(" {place}"),
        several => {
            let told: Vec<String> =
                several.iter().map(|(number, place)| format!("{} {place}", count(*number))).collect();
            format!(", {}", list(&told))
        }
    }
}

/// What limits the flows.
fn limit(side: &Side) -> Option<String> {
    let busiest = side
        .runs
        .iter()
        .filter_map(|run| run.busiest.as_ref())
        .reduce(|one, other| if other.busy > one.busy { other } else { one })?;
    let busy = percent(busiest.busy);
    let text = if busiest.busy >= LIMITS {
        format!("The link {} limits: it was busy for {busy} of the time", busiest.port)
    } else if busiest.busy < IDLE {
        format!("No link limits: the busiest, {}, was busy for {busy} of the time", busiest.port)
    } else {
        format!("The busiest link, {}, was busy for {busy} of the time", busiest.port)
    };
    Some(match side.mean(|run| run.credit_waste).filter(|waste| *waste >= 0.001) {
        Some(waste) => format!("{text}, and {} of the credits found nothing to send.", percent(waste)),
        None => format!("{text}."),
    })
}

fn times(number: u64) -> String {
    if number == 1 { "once".into() } else { format!("{} times", count(number)) }
}

/// The text with a capital letter, as a sentence begins.
pub fn capital(text: &str) -> String {
    let mut text = text.to_owned();
    if let Some(first) = text.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    text
}
