//! Sentences on the points of a sweep: at which values of its axes who is ahead, how the longest queue grows, and where
//! packets are lost.

use crate::ahead::is_behind;
use crate::facts::Facts;
use crate::finding::{Finding, Kind};
use crate::side::{Side, sides};
use crate::text::{count, list, longer, many, percent, size};
use serde::Serialize;

/// A run of a sweep.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Point {
    /// The axes but transport and seed, each with its value as a text: `("buffer", "100 KB")`. Points come in the order in
    /// which the values rise.
    pub at: Vec<(String, String)>,
    /// The facts on the run.
    pub facts: Facts,
}

/// The runs at one place.
struct Place<'a> {
    at: &'a [(String, String)],
    sides: Vec<Side<'a>>,
}

pub fn findings(points: &[Point]) -> Vec<Finding> {
    let places = places(points);
    let mut found = Vec::new();
    if places.iter().any(|place| place.sides.len() > 1) {
        found.push(Finding::new(Kind::Ahead, ahead(&places)));
        found.extend(by_goodput(&places).map(|text| Finding::new(Kind::Behind, text)));
    }
    found.push(Finding::new(Kind::Queue, queues(points)));
    found.push(Finding::new(Kind::Lost, losses(&places)));
    found
}

fn places(points: &[Point]) -> Vec<Place<'_>> {
    let mut ats: Vec<&[(String, String)]> = Vec::new();
    for point in points {
        if !ats.contains(&point.at.as_slice()) {
            ats.push(&point.at);
        }
    }
    let here = |at| points.iter().filter(move |point| point.at == at).map(|point| &point.facts);
    ats.into_iter().map(|at| Place { at, sides: sides(here(at)) }).collect()
}

/// The verdict at a place.
#[derive(PartialEq, Eq, Clone, Copy)]
enum Verdict<'a> {
    Ahead(&'a str),
    Close,
    Missing,
    Few,
}

/// Who is ahead at which places.
fn ahead(places: &[Place]) -> String {
    let mut verdicts: Vec<(Verdict, Vec<&Place>)> = Vec::new();
    for place in places {
        let verdict = verdict(&place.sides);
        match verdicts.iter_mut().find(|(known, _)| *known == verdict) {
            Some((_, where_so)) => where_so.push(place),
            None => verdicts.push((verdict, vec![place])),
        }
    }
    let told: Vec<String> = verdicts
        .iter()
        .map(|(verdict, where_so)| {
            let at = where_text(where_so, places);
            match verdict {
                Verdict::Ahead(name) => format!("{name} is ahead {at}{}", lead(where_so)),
                Verdict::Close => format!("none is ahead by more than chance or 1 % {at}"),
                Verdict::Missing => format!("none is called ahead {at}, since flows did not complete"),
                Verdict::Few => {
                    format!("none is called ahead {at}, since so few flows or seeds give no interval")
                }
            }
        })
        .collect();
    format!("By the mean completion time {}.", told.join("; "))
}

/// By how much the best is ahead of the next, at the places where it is: the least and the most.
fn lead(places: &[&Place]) -> String {
    let next = |place: &&Place| {
        let mut order: Vec<(&Side, f64)> =
            place.sides.iter().filter_map(|side| Some((side, side.mean_s()?))).collect();
        order.sort_by(|one, other| one.1.total_cmp(&other.1));
        order.get(1)?.0.ratio(order[0].0)
    };
    let mut leads: Vec<_> = places.iter().filter_map(next).collect();
    leads.sort_by(|one, other| one.value.total_cmp(&other.value));
    let told = match (leads.first(), leads.last()) {
        (Some(least), Some(most)) if longer(least) != longer(most) => {
            format!("{} to {}", longer(least), longer(most))
        }
        (Some(one), _) => longer(one),
        _ => return String::new(),
    };
    format!(": flows take {told} under the next")
}

fn verdict<'a>(sides: &[Side<'a>]) -> Verdict<'a> {
    if sides.iter().any(|side| side.unfinished() > 0) {
        return Verdict::Missing;
    }
    let mut order: Vec<(&Side, f64)> = sides.iter().filter_map(|side| Some((side, side.mean_s()?))).collect();
    order.sort_by(|one, other| one.1.total_cmp(&other.1));
    let Some(((best, _), others)) = order.split_first() else { return Verdict::Missing };
    let ratios: Option<Vec<_>> = others.iter().map(|(side, _)| side.ratio(best)).collect();
    match ratios {
        None => Verdict::Few,
        Some(ratios) if ratios.iter().all(is_behind) => Verdict::Ahead(best.name),
        Some(_) => Verdict::Close,
    }
}

/// Returns the places at which the one with the higher goodput is not the one that is ahead by completion times.
fn by_goodput(places: &[Place]) -> Option<String> {
    let mut found: Vec<(&str, Vec<&Place>)> = Vec::new();
    for place in places {
        let most = |one: &Side, other: &Side| {
            let of = |side: &Side| side.mean(|run| run.goodput_bps).unwrap_or(0.0);
            of(one).total_cmp(&of(other))
        };
        let Some(best) = place.sides.iter().max_by(|one, other| most(one, other)) else { continue };
        let mut others = place.sides.iter().filter(|side| side.name != best.name).peekable();
        let is_ahead = others.peek().is_some()
            && others.all(|side| best.goodput_ratio(side).is_some_and(|ratio| is_behind(&ratio)));
        if !is_ahead || verdict(&place.sides) == Verdict::Ahead(best.name) {
            continue;
        }
        match found.iter_mut().find(|(name, _)| *name == best.name) {
            Some((_, where_so)) => where_so.push(place),
            None => found.push((best.name, vec![place])),
        }
    }
    let told: Vec<String> = found
        .iter()
        .map(|(name, where_so)| format!("{name} is ahead {}", where_text(where_so, places)))
        .collect();
    (!told.is_empty()).then(|| format!("By goodput it differs: {}.", told.join("; ")))
}

/// Returns the places as words: `at buffer 50 KB and 100 KB`, `at buffer 200 KB to 1 MB`, `at 20 of 24 points`, `at all
/// points`.
fn where_text(found: &[&Place], all: &[Place]) -> String {
    if found.len() == all.len() {
        return match all {
            [one] if one.at.is_empty() => String::new(),
            _ => format!("at all {} points", count(all.len() as u64)),
        };
    }
    let is_one_axis = all.iter().all(|place| place.at.len() == 1);
    if !is_one_axis {
        return format!("at {} of {}", count(found.len() as u64), many(all.len() as u64, "point"));
    }
    let value = |place: &Place| place.at[0].1.clone();
    let first = all.iter().position(|place| place.at == found[0].at).unwrap_or(0);
    let is_run = all[first..].iter().zip(found).all(|(one, other)| one.at == other.at) && found.len() > 2;
    let values = if is_run {
        format!("{} to {}", value(found[0]), value(found[found.len() - 1]))
    } else {
        list(&found.iter().map(|place| value(place)).collect::<Vec<_>>())
    };
    format!("at {} {values}", found[0].at[0].0)
}

/// Returns the longest queues: the least and the most of each transport over the points.
fn queues(points: &[Point]) -> String {
    let told: Vec<String> = sides(points.iter().map(|point| &point.facts))
        .iter()
        .map(|side| {
            let bytes: Vec<f64> =
                side.runs.iter().map(|run| run.queue.as_ref().map_or(0.0, |queue| queue.bytes)).collect();
            let least = size(bytes.iter().copied().fold(f64::INFINITY, f64::min));
            let most = size(bytes.iter().copied().fold(0.0, f64::max));
            if least == most {
                format!("{most} under {}", side.name)
            } else {
                format!("{least} to {most} under {}", side.name)
            }
        })
        .collect();
    format!("The longest queue of a run was {}.", list(&told))
}

/// Where packets were lost.
fn losses(places: &[Place]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for side in places.iter().flat_map(|place| &place.sides) {
        if !names.contains(&side.name) {
            names.push(side.name);
        }
    }
    let lost = |place: &Place, name: &str| {
        place.sides.iter().find(|side| side.name == name).map_or(0, |side| side.sum(|run| run.drops.all))
    };
    let share = |place: &Place, name: &str| {
        let side = place.sides.iter().find(|side| side.name == name)?;
        let sent = side.sum(|run| run.drops.sent);
        (sent > 0).then(|| lost(place, name) as f64 / sent as f64)
    };
    let (losing, whole): (Vec<&str>, Vec<&str>) =
        names.iter().partition(|name| places.iter().any(|place| lost(place, name) > 0));
    if losing.is_empty() {
        return "No packet was lost in any run.".into();
    }
    let mut told: Vec<String> = losing
        .iter()
        .map(|name| {
            let found: Vec<&Place> = places.iter().filter(|place| lost(place, name) > 0).collect();
            let most = found.iter().filter_map(|place| share(place, name)).fold(0.0, f64::max);
            let up_to = if most > 0.0 {
                format!("up to {} of those sent", percent(most))
            } else {
                let runs = found.iter().flat_map(|place| &place.sides).filter(|side| side.name == *name);
                let most = runs.flat_map(|side| &side.runs).map(|run| run.drops.all).max();
                format!("up to {} in a run", count(most.unwrap_or(0)))
            };
            format!("{name} lost packets ({up_to}) {}", where_text(&found, places))
        })
        .collect();
    if !whole.is_empty() {
        let names: Vec<String> = whole.iter().map(|&name| name.to_owned()).collect();
        told.push(format!("{} lost none", list(&names)));
    }
    format!("{}.", told.join("; ").trim_end())
}
