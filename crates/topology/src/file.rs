//! The reader of networks from TOML.

use crate::builder::{Builder, HOSTS_MAX, SWITCHES_MAX};
use crate::error::TopologyError;
use crate::graph::{NodeId, Topology};
use clearway_units::{Rate, Span};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::str::FromStr;
use toml::Spanned;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    hosts: Option<Spanned<u64>>,
    switches: Option<Spanned<u64>>,
    rate: Option<Spanned<String>>,
    delay: Option<Spanned<String>>,
    #[serde(default)]
    host: Vec<Host>,
    #[serde(default)]
    switch: Vec<Switch>,
    #[serde(default)]
    link: Vec<Spanned<Link>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Host {
    name: Spanned<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Switch {
    name: Spanned<String>,
    tier: Option<Spanned<u64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Link {
    a: Spanned<Ends>,
    b: Spanned<String>,
    rate: Option<Spanned<String>>,
    delay: Option<Spanned<String>>,
    loss: Option<f64>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "write a node's name, or a list of names to link each of them to b")]
enum Ends {
    One(String),
    Each(Vec<String>),
}

/// Reads a network from a text in TOML.
///
/// ```
/// let network = clearway_topology::from_toml(r#"
///     hosts = 4                       # h0 to h3; [[host]] adds hosts with names of their own
///     switches = 1                    # s0
///     rate = "10 Gbps"                # of links that give none
///     delay = "4 us"
///
///     [[host]]
///     name = "storage"
///
///     [[switch]]
///     name = "spine"
///     tier = 2                        # 1 ToR, 2 aggregation, 3 core; default: hops to the nearest host
///
///     [[link]]
///     a = ["h0", "h1", "h2", "h3"]    # a link from each of these
///     b = "s0"
///
///     [[link]]
///     a = "s0"
///     b = "spine"
///     rate = "40 Gbps"
///
///     [[link]]
///     a = "storage"
///     b = "spine"
///     delay = "1 us"
///     loss = 0.001                    # share of packets corrupted; default 0
/// "#).unwrap();
/// assert_eq!((network.hosts(), network.switches(), network.links()), (5, 2, 6));
/// ```
///
/// Hosts are numbered first, those of `hosts` before those of `[[host]]`; switches follow in the same way.
///
/// # Errors
/// Returns [`TopologyError::Line`] for a mistake on a line, such as an unknown key, and the other errors for a
/// network that cannot work as a whole.
pub fn from_toml(text: &str) -> Result<Topology, TopologyError> {
    let line = |offset: usize| 1 + text.bytes().take(offset).filter(|&byte| byte == b'\n').count();
    let file: File = toml::from_str(text).map_err(|error| TopologyError::Line {
        line: line(error.span().map_or(0, |span| span.start)),
        problem: error.message().to_string(),
    })?;
    Reader { line, builder: Builder::new(), ids: BTreeMap::new() }.read(file)
}

struct Reader<F> {
    line: F,
    builder: Builder,
    ids: BTreeMap<String, NodeId>,
}

impl<F: Fn(usize) -> usize> Reader<F> {
    fn read(mut self, file: File) -> Result<Topology, TopologyError> {
        for index in 0..self.number(&file.hosts, "hosts", HOSTS_MAX)? {
            let name = format!("h{index}");
            self.ids.insert(name.clone(), self.builder.add_host(name));
        }
        for host in file.host {
            let id = self.builder.add_host(host.name.get_ref());
            self.name(host.name, id)?;
        }
        for index in 0..self.number(&file.switches, "switches", SWITCHES_MAX)? {
            let name = format!("s{index}");
            let id = self.builder.add_switch(&name, 0);
            if self.ids.insert(name.clone(), id).is_some() {
                return Err(TopologyError::DuplicateName(name));
            }
        }
        for switch in file.switch {
            let tier = match &switch.tier {
                None => 0,
                Some(tier) => match u8::try_from(*tier.get_ref()) {
                    Ok(number @ 1..) => number,
                    _ => {
                        return Err(
                            self.fail(tier, "this is no tier; write 1 for ToR, 2 aggregation, 3 core")
                        );
                    }
                },
            };
            let id = self.builder.add_switch(switch.name.get_ref(), tier);
            self.name(switch.name, id)?;
        }
        let rate = self.quantity(&file.rate)?;
        let delay = self.quantity(&file.delay)?;
        for link in &file.link {
            self.link(link, rate, delay)?;
        }
        self.builder.build()
    }

    fn link(
        &mut self,
        spanned: &Spanned<Link>,
        rate: Option<Rate>,
        delay: Option<Span>,
    ) -> Result<(), TopologyError> {
        let link = spanned.get_ref();
        let rate = self.quantity(&link.rate)?.or(rate).ok_or_else(|| {
            self.fail(spanned, "this link has no rate; give it one, such as rate = \"10 Gbps\", or the file")
        })?;
        let delay = self.quantity(&link.delay)?.or(delay).ok_or_else(|| {
            self.fail(spanned, "this link has no delay; give it one, such as delay = \"4 us\", or the file")
        })?;
        let b = self.find(&link.b, link.b.get_ref())?;
        let each = match link.a.get_ref() {
            Ends::One(name) => std::slice::from_ref(name),
            Ends::Each(names) => names,
        };
        for name in each {
            let a = self.find(&link.a, name)?;
            let made = self.builder.try_link(a, b, rate, delay, link.loss.unwrap_or(0.0));
            made.map_err(|error| error.at((self.line)(spanned.span().start)))?;
        }
        Ok(())
    }

    fn number(
        &self,
        count: &Option<Spanned<u64>>,
        what: &'static str,
        limit: u64,
    ) -> Result<u64, TopologyError> {
        let Some(spanned) = count else { return Ok(0) };
        let count = *spanned.get_ref();
        if count > limit {
            let line = (self.line)(spanned.span().start);
            return Err(TopologyError::TooMany { what, count, limit }.at(line));
        }
        Ok(count)
    }

    fn name(&mut self, name: Spanned<String>, id: NodeId) -> Result<(), TopologyError> {
        let line = (self.line)(name.span().start);
        let name = name.into_inner();
        match self.ids.insert(name.clone(), id) {
            Some(_) => Err(TopologyError::DuplicateName(name).at(line)),
            None => Ok(()),
        }
    }

    fn find<T>(&self, place: &Spanned<T>, name: &str) -> Result<NodeId, TopologyError> {
        self.ids.get(name).copied().ok_or_else(|| {
            self.fail(place, format!("no node is named {name:?}; add it as [[host]] or [[switch]]"))
        })
    }

    fn quantity<T: FromStr>(&self, text: &Option<Spanned<String>>) -> Result<Option<T>, TopologyError>
    where
        T::Err: Display,
    {
        let Some(text) = text else { return Ok(None) };
        text.get_ref().parse().map(Some).map_err(|error: T::Err| self.fail(text, error.to_string()))
    }

    fn fail<T>(&self, place: &Spanned<T>, problem: impl Into<String>) -> TopologyError {
        TopologyError::Line { line: (self.line)(place.span().start), problem: problem.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const VALID: &str = r#"hosts = 2
switches = 1
rate = "10 Gbps"
[[host]]
name = "nas"
[[switch]]
name = "spine"
tier = 2
[[link]]
a = ["h0", "h1"]
b = "s0"
delay = "4 us"
[[link]]
a = "s0"
b = "spine"
rate = "40 Gbps"
delay = "1 us"
[[link]]
a = "nas"
b = "spine"
delay = "4 us"
loss = 0.5
"#;

    #[test]
    fn counted_nodes_and_named_nodes_may_be_mixed() {
        let network = from_toml(VALID).unwrap();
        let names: Vec<&str> = network.nodes().iter().map(|node| node.name.as_str()).collect();
        assert_eq!(names, ["h0", "h1", "nas", "s0", "spine"]);
        assert_eq!(network.nodes().iter().map(|node| node.tier).collect::<Vec<_>>(), [0, 0, 0, 1, 2]);
        let port = |a: &str, b: &str| {
            network.port_between(network.node(a).unwrap(), network.node(b).unwrap()).unwrap()
        };
        assert_eq!(network.port(port("h1", "s0")).rate, Rate::gbps(10), "the file's");
        assert_eq!(network.port(port("spine", "s0")).rate, Rate::gbps(40), "its own");
        assert_eq!(network.loss(port("spine", "nas")), 0.5);
        assert_eq!(network.oversubscription(), 0.5);
    }

    #[test]
    fn mistakes_are_named_with_their_line() {
        let cases = [
            ("hosts = 2", "hosts = ", "line 1: "),
            ("hosts = 2", "hosts = 2000000", "line 1: 2000000 hosts are too many; the limit is 1000000"),
            ("hosts = 2", "host_count = 2", "line 1: unknown field `host_count`"),
            ("\"10 Gbps\"", "\"10 Gb\"", "line 3: \"10 Gb\" has an unknown unit"),
            ("rate = \"10 Gbps\"\n", "", "line 8: this link has no rate"),
            ("\"nas\"", "\"h1\"", "line 5: two nodes are named \"h1\""),
            ("\"nas\"", "\"s0\"", "two nodes are named \"s0\""),
            ("tier = 2", "tier = 0", "line 8: this is no tier"),
            ("\"h1\"]", "\"h2\"]", "line 10: no node is named \"h2\""),
            ("[\"h0\", \"h1\"]", "4", "line 10: write a node's name, or a list of names"),
            ("b = \"s0\"\n", "", "line 9: missing field `b`"),
            ("b = \"s0\"\ndelay = \"4 us\"\n", "b = \"s0\"\n", "line 9: this link has no delay"),
            ("b = \"spine\"\nrate", "b = \"s0\"\nrate", "line 13: \"s0\" is linked to itself"),
            ("\"40 Gbps\"", "\"0 bps\"", "line 13: the link s0 - spine has a rate of 0"),
            ("loss = 0.5", "loss = -1.0", "line 18: the link nas - spine has an error rate of -1"),
            ("a = \"nas\"", "a = \"s0\"", "no path joins hosts \"h0\" and \"nas\""),
        ];
        for (from, to, expected) in cases {
            assert!(VALID.contains(from), "{from}");
            let message = from_toml(&VALID.replacen(from, to, 1)).unwrap_err().to_string();
            assert!(message.starts_with(expected), "{from} -> {to}: {message}");
        }
        assert_eq!(from_toml("").unwrap_err(), TopologyError::NoHosts);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,80}") {
            let _ = from_toml(&text);
        }

        #[test]
        fn no_mutation_of_a_valid_text_panics(
            edits in prop::collection::vec((0..VALID.len(), "[0-9a-z \n\"=\\[\\]]{0,3}", 0usize..4), 1..4),
        ) {
            let mut text = VALID.to_string();
            for (place, insert, remove) in edits {
                let start = place.min(text.len());
                let end = (start + remove).min(text.len());
                text.replace_range(start..end, &insert);
            }
            if let Ok(network) = from_toml(&text) {
                prop_assert!(network.hosts() > 0 && network.ports().len() == 2 * network.links());
            }
        }
    }
}
