//! What ports do, from what the transports ask for and what the scenario says.

use super::Result;
use crate::model::{CreditClass, SharedBuffer};
use crate::scenario::document::{Document, Path};
use crate::scenario::field::BufferWord;
use crate::scenario::schema::*;
use crate::scenario::shapes::has;
use crate::scenario::transport::{AllNeeds, CREDIT_KEYS};
use clearway_proto::port::CreditShaping;
use clearway_proto::{CreditNeeds, Framing};
use clearway_schema::Auto;
use clearway_topology::Topology;
use clearway_units::{Bytes, Rate};

/// The buffer of a port by default, for each 10 Gbps of the fastest link: 250 full frames.
const BUFFER_PER_10_GBPS: u64 = 384_500;
/// A token bucket is counted in 64 bits (`CreditLimiter::new`).
const BUCKET_FACTOR: u64 = u64::MAX / 8_000_000_000_000;

/// The class of credits, from what the transports ask for and what the scenario says.
pub(super) fn resolve_credit(
    document: &Document,
    needs: &AllNeeds,
    switch: &Switch,
    framing: Framing,
) -> Result<Option<CreditClass>> {
    let top = Path::default();
    let Some(&(name, first)) = needs.credits.first() else {
        for (table, key) in CREDIT_KEYS {
            if has(document, &top.key(table), key) {
                let problem = "means nothing, since no transport of the scenario uses credits; remove it";
                return Err(document.error(&top.key(table).key(key), problem));
            }
        }
        return Ok(None);
    };
    let at = top.key("switch");
    let agree = |key: &str, is_set: bool, value: &dyn Fn(&CreditNeeds) -> u32| {
        let other = needs.credits.iter().find(|(_, other)| value(other) != value(&first));
        match other.filter(|_| !is_set) {
            None => Ok(value(&first)),
            Some((other_name, other)) => {
                let problem = format!(
                    "the transports {name} and {other_name} ask for {} and {}; write a value for both",
                    value(&first),
                    value(other)
                );
                Err(document.error(&at.key(key), problem))
            }
        }
    };
    let is_set = |key: &str| has(document, &at, key);
    let queue = agree("credit_queue", !matches!(switch.credit_queue, Auto::Auto), &|needs| needs.queue)?;
    let bucket =
        agree("credit_bucket", !matches!(switch.credit_bucket, Auto::Auto), &|needs| needs.shaping.bucket)?;
    let empty = agree("credit_bucket_empty", is_set("credit_bucket_empty"), &|needs| {
        u32::from(needs.shaping.starts_empty)
    })?;
    let in_bytes = agree("credit_queue_bytes", is_set("credit_queue_bytes"), &|needs| {
        u32::from(needs.shaping.queue_in_bytes)
    })?;
    let credit = agree("credit_queue", false, &|needs| needs.shaping.credit)?;
    let bucket = match switch.credit_bucket {
        Auto::Set(bucket) => bucket.get() as u32,
        Auto::Auto => bucket,
    };
    let queue = switch.credit_queue.or(queue);
    let starts_empty = switch.credit_bucket_empty.or(empty == 1);
    // A credit releases one full frame of this scenario.
    let queue_in_bytes = switch.credit_queue_bytes.or(in_bytes == 1);
    let shaping = CreditShaping { credit, data: framing.wire_max(), bucket, starts_empty, queue_in_bytes };
    let deepest = BUCKET_FACTOR / u64::from(credit + shaping.data);
    if u64::from(bucket) > deepest {
        let problem = format!(
            "the bucket of {bucket} B is too deep for frames of {} B; at most {deepest} B can \
             be counted exactly",
            shaping.data
        );
        return Err(document.error(&at.key("credit_bucket"), problem));
    }
    if bucket < framing.wire_min.max(credit) {
        let problem =
            format!("the bucket of {bucket} B never holds a credit of {} B", framing.wire_min.max(credit));
        return Err(document.error(&at.key("credit_bucket"), problem));
    }
    Ok(Some(CreditClass { queue, shaping, share: switch.credit_share }))
}

/// Fills in what the switches' keys leave open.
pub(super) fn resolve_switch(
    document: &Document,
    at: &Path,
    switch: &mut Switch,
    classes: &mut [ClassTable],
    topology: &Topology,
) -> Result<Option<SharedBuffer>> {
    let shared = match (switch.shared_buffer, switch.alpha) {
        (None, Some(_)) => {
            return Err(
                document.error(&at.key("alpha"), "means nothing without shared_buffer; set both or none")
            );
        }
        (None, None) => None,
        (Some(size), alpha) => {
            let alpha = alpha.unwrap_or(1.0);
            switch.alpha = Some(alpha);
            Some(SharedBuffer { size, alpha })
        }
    };
    let buffer = match switch.buffer {
        Auto::Set(buffer) => buffer,
        Auto::Auto if shared.is_some() => BufferWord::Unlimited,
        Auto::Auto => {
            let fastest = topology.ports().iter().map(|port| port.rate).max().unwrap_or(Rate::ZERO);
            let scaled = u128::from(BUFFER_PER_10_GBPS) * u128::from(fastest.as_bps())
                / u128::from(Rate::gbps(10).as_bps());
            BufferWord::Bytes(Bytes::new((scaled as u64).max(BUFFER_PER_10_GBPS)))
        }
    };
    // Under flow control a class of a port has no limit, and saying so would contradict it.
    let protects = matches!(switch.pfc, Auto::Set(true));
    if !protects {
        switch.buffer = Auto::Set(buffer);
    }
    for class in classes.iter_mut().filter(|_| !protects) {
        class.buffer.get_or_insert(buffer);
    }
    Ok(shared)
}
