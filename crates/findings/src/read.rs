//! Facts read from JSON, by hand: the code that `serde` derives for it is 30 KB of WebAssembly, which everybody who opens the
//! live page would load.

use crate::facts::{Busiest, Drops, Endless, Facts, Flows, Group, Queue};
use crate::parts::Part;
use crate::sweep::Point;
use serde_json::Value;

/// What was read, or the key that is missing or has another kind of value.
type Read<T> = Result<T, String>;

/// Reads a list of facts.
pub fn facts(value: &Value) -> Read<Vec<Facts>> {
    list(value, "facts", run)
}

/// Reads a list of the points of a sweep.
pub fn points(value: &Value) -> Read<Vec<Point>> {
    list(value, "points", |value| {
        let pair = |pair: &Value| Ok((word(&pair[0], "at")?, word(&pair[1], "at")?));
        Ok(Point { at: list(&value["at"], "at", pair)?, facts: run(&value["facts"])? })
    })
}

fn run(value: &Value) -> Read<Facts> {
    Ok(Facts {
        name: text(value, "name")?,
        seed: count(value, "seed")?,
        ended: text(value, "ended")?,
        flows: flows(&value["flows"])?,
        endless: maybe(&value["endless"], |value| {
            let jain = maybe_number(value, "jain");
            Ok(Endless { flows: count(value, "flows")?, rate_bps: number(value, "rate_bps")?, jain })
        })?,
        groups: list(&value["groups"], "groups", |value| {
            let (name, unfinished) = (text(value, "name")?, count(value, "unfinished")?);
            Ok(Group { name, unfinished, parts: parts(value)? })
        })?,
        goodput_bps: maybe_number(value, "goodput_bps"),
        queue: maybe(&value["queue"], |value| {
            Ok(Queue {
                port: text(value, "port")?,
                bytes: number(value, "bytes")?,
                dropped: count(value, "dropped")?,
                flows_at_once: value["flows_at_once"].as_u64(),
            })
        })?,
        busiest: maybe(&value["busiest"], |value| {
            Ok(Busiest { port: text(value, "port")?, busy: number(value, "busy")? })
        })?,
        drops: drops(&value["drops"])?,
        timeouts: count(value, "timeouts")?,
        pauses: value["pauses"].as_u64(),
        credit_waste: maybe_number(value, "credit_waste"),
    })
}

fn flows(value: &Value) -> Read<Flows> {
    Ok(Flows {
        completed: count(value, "completed")?,
        unfinished: count(value, "unfinished")?,
        mean_s: maybe_number(value, "mean_s"),
        p99_s: maybe_number(value, "p99_s"),
        slowest_s: maybe_number(value, "slowest_s"),
        slowdown: maybe_number(value, "slowdown"),
        parts: parts(value)?,
    })
}

fn parts(value: &Value) -> Read<Vec<Part>> {
    list(&value["parts"], "parts", |part| {
        Ok(Part { flows: count(part, "flows")?, sum_s: number(part, "sum_s")? })
    })
}

/// Reasons are left out where a window of measurement knows the number alone.
fn drops(value: &Value) -> Read<Drops> {
    let reason = |key: &str| value[key].as_u64().unwrap_or(0);
    let (full, random, down) = (reason("full"), reason("random"), reason("down"));
    Ok(Drops { all: count(value, "all")?, full, random, down, sent: reason("sent") })
}

fn list<T>(value: &Value, key: &str, read: impl Fn(&Value) -> Read<T>) -> Read<Vec<T>> {
    value.as_array().ok_or_else(|| wrong(key, "a list"))?.iter().map(read).collect()
}

fn maybe<T>(value: &Value, read: impl Fn(&Value) -> Read<T>) -> Read<Option<T>> {
    if value.is_null() { Ok(None) } else { read(value).map(Some) }
}

fn text(value: &Value, key: &str) -> Read<String> {
    word(&value[key], key)
}

fn word(value: &Value, key: &str) -> Read<String> {
    value.as_str().map(str::to_owned).ok_or_else(|| wrong(key, "a text"))
}

fn count(value: &Value, key: &str) -> Read<u64> {
    value[key].as_u64().ok_or_else(|| wrong(key, "a whole number of 0 or more"))
}

fn number(value: &Value, key: &str) -> Read<f64> {
    value[key].as_f64().ok_or_else(|| wrong(key, "a number"))
}

fn maybe_number(value: &Value, key: &str) -> Option<f64> {
    value[key].as_f64()
}

#[inline(never)]
fn wrong(key: &str, right: &str) -> String {
    format!("{key}: must be {right}")
}
