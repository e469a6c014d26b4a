//! The resolved scenario as a file.

use super::ports::PortTables;
use super::traffic::ReadPart;
use crate::scenario::schema::*;
use crate::scenario::shapes::Shape;
use crate::scenario::transport::{self, CREDIT_KEYS};
use clearway_proto::AnyTransport;
use clearway_schema::{Declared, quoted};
use std::fmt::Write;

/// The parts of a scenario that the resolved file is written from.
pub(super) struct Written<'a> {
    pub root: &'a Root,
    pub shape: &'a Shape,
    pub links: &'a [LinkTable],
    pub network: &'a Network,
    pub ports: &'a PortTables,
    /// The keys of the port mechanism.
    pub mechanism: &'a [(String, String)],
    pub has_credits: bool,
    pub default: Option<&'a AnyTransport>,
    pub parts: &'a [ReadPart],
    pub faults: &'a [FaultTable],
    pub loss: &'a [LossTable],
    pub measure: &'a MeasureTable,
    pub samples: &'a [SampleTable],
    pub traces: &'a [TraceTable],
}

/// Returns a scenario in TOML without its name and its seed, which [`Scenario`](crate::scenario::Scenario) writes itself.
pub(super) fn write_toml(written: &Written<'_>) -> String {
    let mut out = String::new();
    let keys = |out: &mut String, keys: Vec<(&'static str, String)>| {
        for (key, value) in keys {
            let _ = writeln!(out, "{key} = {value}");
        }
    };
    let credits = |table: &str, keys: Vec<(&'static str, String)>| -> Vec<_> {
        let is_idle = |key: &str| !written.has_credits && CREDIT_KEYS.contains(&(table, key));
        keys.into_iter().filter(|(key, _)| !is_idle(key)).collect()
    };
    let is_apart = |key: &str| ["name", "seed"].contains(&key);
    keys(&mut out, written.root.write().into_iter().filter(|(key, _)| !is_apart(key)).collect());
    let _ = writeln!(out, "\n[topology]\nkind = {}", quoted(written.shape.kind()));
    keys(&mut out, written.shape.write());
    for link in written.links {
        out.push_str("\n[[link]]\n");
        keys(&mut out, link.write());
    }
    out.push_str("\n[network]\n");
    keys(&mut out, written.network.write());
    out.push_str("\n[switch]\n");
    keys(&mut out, credits("switch", written.ports.switch.write()));
    for (key, value) in written.mechanism {
        let _ = writeln!(out, "{key} = {value}");
    }
    for class in &written.ports.classes {
        out.push_str("\n[[switch.class]]\n");
        keys(&mut out, class.write());
    }
    for class in &written.ports.credit_classes {
        out.push_str("\n[[switch.credit_class]]\n");
        keys(&mut out, class.write());
    }
    out.push_str("\n[host]\n");
    keys(&mut out, credits("host", written.ports.host.write()));
    if let Some(default) = written.default {
        out.push_str("\n[transport]\n");
        keys(&mut out, transport::write(default));
    }
    for part in written.parts {
        let _ = writeln!(
            out,
            "\n[[traffic]]\nname = {}\nkind = {}",
            quoted(&part.traffic.name),
            quoted(part.kind)
        );
        if let Some(own) = &part.own {
            let _ = writeln!(out, "transport = {}", transport::write_inline(own));
        }
        let class = part.class.as_ref().unwrap_or(&written.ports.classes[part.traffic.class].name);
        let _ = writeln!(out, "class = {}", quoted(&class.0));
        let uses_credits = part.traffic.transport.needs().credits.is_some();
        if let Some(class) =
            written.ports.credit_classes.get(part.traffic.credit_class).filter(|_| uses_credits)
        {
            let _ = writeln!(out, "credit_class = {}", quoted(&class.name.0));
        }
        if part.traffic.notice_class != part.traffic.class {
            let cnps = &written.ports.classes[part.traffic.notice_class].name;
            let _ = writeln!(out, "notice_class = {}", quoted(&cnps.0));
        }
        if part.traffic.ack_class != part.traffic.class || part.names_acks {
            let acks = &written.ports.classes[part.traffic.ack_class].name;
            let _ = writeln!(out, "ack_class = {}", quoted(&acks.0));
        }
        keys(&mut out, part.written.clone());
    }
    for fault in written.faults {
        out.push_str("\n[[fault]]\n");
        keys(&mut out, fault.write());
    }
    for loss in written.loss {
        out.push_str("\n[[loss]]\n");
        keys(&mut out, loss.write());
    }
    let measure = written.measure.write();
    if !measure.is_empty() {
        out.push_str("\n[measure]\n");
        keys(&mut out, measure);
    }
    for sample in written.samples {
        out.push_str("\n[[sample]]\n");
        keys(&mut out, sample.write());
    }
    for trace in written.traces {
        out.push_str("\n[[trace]]\n");
        keys(&mut out, trace.write());
    }
    out
}
