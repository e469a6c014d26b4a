//! Listed flows, some of which are messages of one connection, or begin once others are done.

use super::{LATEST, Surroundings};
use crate::model::{Flow, Messages, Pattern};
use crate::traffic::{Fires, Pull, Triggers, Wait, Waits};
use clearway_schema::suggestion;
use clearway_topology::NodeId;
use clearway_units::Time;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A flow of a list, with what the list says of it besides.
pub struct Listed {
    /// The flow, whose start means nothing if it waits for others.
    pub flow: Flow,
    /// The connection of which it is a message.
    pub connection: Option<String>,
    /// Its name.
    pub name: Option<String>,
    /// The flows for which it waits, by their names.
    pub waits: Option<Waits>,
}

/// A flow of a list that can't be what the list says.
pub struct Refusal {
    /// The place of the flow in the list.
    pub place: usize,
    /// The key or column whose value is wrong.
    pub key: &'static str,
    /// The fault, and what would be right.
    pub problem: String,
}

/// Returns the pattern of listed flows: messages if the list names a connection of any, or if any waits for others. `triggers` are
/// those of a list that has some in place of names.
pub fn pattern(of: &Surroundings<'_>, listed: Vec<Listed>, triggers: Triggers) -> Result<Pattern, Refusal> {
    let (key, triggers) = match triggers.is_empty() {
        true => ("after", triggers_of(&listed)?),
        false => ("trigger", triggers),
    };
    if triggers.is_empty() && listed.iter().all(|one| one.connection.is_none()) {
        return Ok(of.flows(listed.into_iter().map(|one| one.flow).collect()));
    }
    let kind = match triggers.is_empty() {
        true => "a list with connections",
        false => "a list in which flows wait for others",
    };
    let mut ends: BTreeMap<&str, (NodeId, NodeId)> = BTreeMap::new();
    for (place, Listed { flow, connection, .. }) in listed.iter().enumerate() {
        let refuse = |key, problem| Err(Refusal { place, key, problem });
        if flow.size.is_none() {
            return refuse("size", format!("is missing; in {kind} every flow is a message and needs a size"));
        }
        if flow.stop.is_some() {
            let problem = format!("means nothing in {kind}, whose messages are sent in full; remove it");
            return refuse("stop", problem);
        }
        let Some(name) = connection else { continue };
        let (src, dst) = *ends.entry(name).or_insert((flow.src, flow.dst));
        if (src, dst) != (flow.src, flow.dst) {
            let [from, to, src, dst] = [flow.src, flow.dst, src, dst].map(|host| of.topology.name(host));
            let problem = format!(
                "a flow from {from} to {to} can't be a message of {name:?}, which goes from {src} to {dst}; name another connection"
            );
            return refuse("connection", problem);
        }
    }
    check_begins(&listed, &triggers, key)?;
    if of.stop.is_none() && triggers.longest_pause(listed.len()) > LATEST.saturating_since(Time::ZERO) {
        let longest =
            listed.iter().enumerate().max_by_key(|(_, one)| one.waits.as_ref().map(|waits| waits.pause));
        let place = longest.map_or(0, |(place, _)| place);
        let problem = format!(
            "pauses of flows that wait for each other add up to more than {LATEST}; write shorter ones, or a stop"
        );
        return Err(Refusal { place, key: "pause", problem });
    }
    let named = listed.into_iter().map(|one| (one.flow, one.connection)).collect();
    Ok(Pattern::Messages(Arc::new(Messages::new(named, triggers))))
}

/// Returns the triggers by which flows wait for others that they name: one for each that waits.
fn triggers_of(listed: &[Listed]) -> Result<Triggers, Refusal> {
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for (place, name) in
        listed.iter().enumerate().filter_map(|(place, one)| Some((place, one.name.as_deref()?)))
    {
        if let Some(first) = places.insert(name, place) {
            let problem = format!("is the name of flow {first} of the list too; write another one");
            return Err(Refusal { place, key: "name", problem });
        }
    }
    let (mut fires, mut waits, mut pulls) = (Vec::new(), Vec::new(), Vec::new());
    for (place, one) in listed.iter().enumerate() {
        let Some(Waits { after, pause, done }) = &one.waits else { continue };
        let refuse = |problem| Err(Refusal { place, key: "after", problem });
        if after.is_empty() {
            return refuse("is empty; name a flow, or remove the key".into());
        }
        let trigger = fires.len() as u32;
        for (index, name) in after.iter().enumerate() {
            let Some(&other) = places.get(name.as_str()) else {
                let hint = suggestion(name, places.keys().copied());
                let known: Vec<&str> = places.keys().copied().take(20).collect();
                let known = if known.is_empty() {
                    "none has one".into()
                } else {
                    format!("known: {}", known.join(", "))
                };
                return refuse(format!("{name:?} is no name of a flow of the list{hint} ({known})"));
            };
            if after[..index].contains(name) {
                return refuse(format!("{name:?} stands there twice; remove one"));
            }
            pulls.push(Pull { message: other as u32, done: *done, trigger });
        }
        fires.push(Fires::All(after.len() as u32));
        waits.push(Wait { trigger, message: place as u32, pause: *pause });
    }
    Ok(Triggers::new(fires, waits, pulls))
}

/// Refuses flows that would never begin, since they wait for each other.
fn check_begins(listed: &[Listed], triggers: &Triggers, key: &'static str) -> Result<(), Refusal> {
    let order = triggers.order(listed.len());
    if order.len() == listed.len() {
        return Ok(());
    }
    let mut begins = vec![false; listed.len()];
    order.iter().for_each(|&message| begins[message as usize] = true);
    let place = begins.iter().position(|begins| !begins).expect("one of them is missing from the order");
    let circle = match circle(listed, &begins, place) {
        Some(names) => format!(" ({})", names.join(" waits for ")),
        None => String::new(),
    };
    let problem = format!(
        "the flow would never begin, since flows wait for each other in a circle{circle}; let one of them start by itself"
    );
    Err(Refusal { place, key, problem })
}

/// Returns the names of a circle of flows each of which waits for the next one, to which the flow at `place` leads, if flows
/// have names. `begins` tells the flows that are in no circle and wait for none.
fn circle(listed: &[Listed], begins: &[bool], place: usize) -> Option<Vec<String>> {
    let places: BTreeMap<&str, usize> =
        listed.iter().enumerate().filter_map(|(place, one)| Some((one.name.as_deref()?, place))).collect();
    let next = |place: usize| {
        let after = listed[place].waits.iter().flat_map(|waits| &waits.after);
        after.filter_map(|name| places.get(name.as_str()).copied()).find(|&other| !begins[other])
    };
    let mut way = vec![place];
    loop {
        let last = next(*way.last()?)?;
        if let Some(first) = way.iter().position(|&place| place == last) {
            way.push(last);
            return way[first..].iter().map(|&place| listed[place].name.clone()).collect();
        }
        way.push(last);
    }
}
