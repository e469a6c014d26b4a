//! The sentences on who is ahead, and for which traffic it is the other way.
//!
//! A transport is called ahead only where all flows completed under both, and the 95 % interval of the ratio of their mean
//! completion times lies on one side of 1, by 1 % or more.

use crate::finding::{Finding, Kind};
use crate::one::FLOWS_OF_P99;
use crate::ratio::Ratio;
use crate::side::Side;
use crate::text::{basis, count, list, longer, longer_under, percent, rate, time};

/// The least difference of which a sentence is made.
const LEAST: f64 = 0.01;

pub fn findings(sides: &[Side]) -> Vec<Finding> {
    let timed: Vec<&Side> = sides.iter().filter(|side| side.completed() + side.unfinished() > 0).collect();
    if timed.len() < 2 {
        return Vec::new();
    }
    if timed.iter().any(|side| side.unfinished() > 0) {
        return vec![Finding::new(Kind::Flows, incomplete(&timed))];
    }
    let mut order: Vec<(&Side, f64)> =
        timed.iter().filter_map(|&side| side.mean_s().map(|mean| (side, mean))).collect();
    order.sort_by(|one, other| one.1.total_cmp(&other.1));
    let (text, is_ahead) = ranked(&order);
    let mut found = vec![Finding::new(if is_ahead { Kind::Ahead } else { Kind::Flows }, text)];
    let (first, last) = (order[0].0, order[order.len() - 1].0);
    let behind = [elsewhere(first, &order), tail(first, last), goodput(first, &order)];
    let behind: Vec<String> = behind.into_iter().flatten().collect();
    if !behind.is_empty() {
        found.push(Finding::new(Kind::Behind, behind.join(" ")));
    }
    found
}

/// That times can't be compared, since flows are missing from them.
fn incomplete(sides: &[&Side]) -> String {
    let told: Vec<String> = sides
        .iter()
        .map(|side| {
            let all = side.completed() + side.unfinished();
            let share = percent(side.completed() as f64 / all as f64);
            format!("{} of {} ({share}) under {}", count(side.completed()), count(all), side.name)
        })
        .collect();
    format!(
        "Flows completed: {}. None is called ahead, since the times leave out the flows that did not complete.",
        list(&told)
    )
}

/// Returns the order by mean completion time, as far as intervals carry it; and whether one is ahead.
fn ranked(order: &[(&Side, f64)]) -> (String, bool) {
    let (best, least) = order[0];
    let ratios: Option<Vec<Ratio>> = order[1..].iter().map(|(side, _)| side.ratio(best)).collect();
    let Some(ratios) = ratios else {
        let why =
            "none is called ahead, since so few flows that start apart, or so few seeds, give no interval";
        return (format!("On average flows took {}; {why}.", means(order)), false);
    };
    let tied = ratios.iter().take_while(|ratio| !is_behind(ratio)).count();
    if tied == ratios.len() {
        let last = &ratios[tied - 1];
        let who = if order.len() == 2 { "Neither" } else { "None" };
        let apart = if last.is_above() || last.value < 1.0 + LEAST {
            "less than 1 % apart".to_owned()
        } else {
            let who = if order.len() == 2 { "" } else { "the last took " };
            format!("{who}{}, which may be chance", longer(last))
        };
        return (format!("{who} is ahead: flows took {} on average, {apart}.", means(order)), false);
    }
    let ((next, slower), ratio) = (order[tied + 1], &ratios[tied]);
    let of = if order.len() == 2 { String::new() } else { format!(" of {}", order.len()) };
    let names: Vec<String> = order[..=tied].iter().map(|(side, _)| side.name.to_owned()).collect();
    let (head, it) = if tied == 0 {
        (format!("{} is ahead{of}", best.name), "it")
    } else {
        (format!("{} are ahead{of} and too close to tell apart", list(&names)), best.name)
    };
    let mut text = format!(
        "{head}: flows took {} on average under {it} and {} under {}, {}",
        time(least),
        time(slower),
        next.name,
        longer(ratio)
    );
    if tied + 1 < ratios.len() {
        let (last, slowest) = order[order.len() - 1];
        text += &format!("; the last is {} with {}", last.name, time(slowest));
    }
    (format!("{text}. {}", basis(ratio.basis)), true)
}

/// Returns true if a ratio to the best says that a side is behind, by 1 % or more and not by chance.
pub fn is_behind(ratio: &Ratio) -> bool {
    ratio.is_above() && ratio.value >= 1.0 + LEAST
}

/// Returns the means of all sides: `3.17 ms under expresspass and 3.43 ms under dctcp`.
fn means(order: &[(&Side, f64)]) -> String {
    list(&order.iter().map(|(side, mean)| format!("{} under {}", time(*mean), side.name)).collect::<Vec<_>>())
}

/// Returns the groups of flows for which another transport is ahead of the one that is ahead of all.
fn elsewhere(first: &Side, order: &[(&Side, f64)]) -> Option<String> {
    let mut groups: Vec<&str> = Vec::new();
    for group in first.runs.iter().flat_map(|run| &run.groups) {
        if !groups.contains(&group.name.as_str()) {
            groups.push(&group.name);
        }
    }
    let against = |group: &str| {
        let ratio = |other: &Side| first.ratio_in(other, group).filter(is_behind);
        let found = order[1..].iter().filter_map(|(other, _)| ratio(other).map(|ratio| (other.name, ratio)));
        let (name, ratio) = found.max_by(|one, other| one.1.value.total_cmp(&other.1.value))?;
        Some(format!("{group} took {}", longer_under(&ratio, first.name, name)))
    };
    let told: Vec<String> = groups.into_iter().filter_map(against).collect();
    (!told.is_empty()).then(|| format!("It is the other way round in part: {}.", list(&told)))
}

/// Returns the slow end of completion times, where its order is not that of the means: 99th percentiles of enough
/// flows, else the slowest flows.
fn tail(first: &Side, last: &Side) -> Option<String> {
    let is_enough = first.fewest().min(last.fewest()) >= FLOWS_OF_P99;
    let (what, of): (_, fn(&Side) -> Option<f64>) = if is_enough {
        ("the 99th percentile is", |side| side.mean(|run| run.flows.p99_s))
    } else {
        ("the slowest flow took", |side| side.most(|run| run.flows.slowest_s))
    };
    let (best, other) = (of(first)?, of(last)?);
    (best > other * (1.0 + LEAST)).then(|| {
        format!(
            "In the tail it is the other way round: {what} {} under {} and {} under {}.",
            time(best),
            first.name,
            time(other),
            last.name
        )
    })
}

/// Returns the goodput of another side, where it is higher than that of the side that is ahead by completion times.
fn goodput(first: &Side, order: &[(&Side, f64)]) -> Option<String> {
    let of = |side: &Side| side.mean(|run| run.goodput_bps);
    let own = of(first)?;
    let others = order[1..].iter().filter_map(|(side, _)| Some((side.name, of(side)?)));
    let (name, most) = others.max_by(|one, other| one.1.total_cmp(&other.1))?;
    (most > own * (1.0 + LEAST)).then(|| {
        format!("{name} has the higher goodput, {}, where {} has {}.", rate(most), first.name, rate(own))
    })
}
