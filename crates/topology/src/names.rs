//! Messages on names of nodes: short lists of the names that there are, and the closest one.

use crate::alias::number;
use crate::graph::{NodeId, Topology};
use clearway_schema::suggestion;
use std::fmt::Write;

/// The largest number of names that a suggestion is sought among.
const COMPARED_MAX: usize = 10_000;
/// The largest number of runs of names in a message.
const RUNS_MAX: usize = 16;

/// Splits a name into its word and its number, if it ends with one.
fn split(name: &str) -> (&str, Option<u32>) {
    let word = name.trim_end_matches(|c: char| c.is_ascii_digit());
    match number(&name[word.len()..]) {
        Some(number) => (word, Some(number)),
        None => (name, None),
    }
}

/// Returns the names from `first` to `last` in short.
fn short(first: &str, last: &str, count: usize) -> String {
    match count {
        1 => first.into(),
        2 => format!("{first}, {last}"),
        _ => format!("{first}..{last}"),
    }
}

/// The names of a topology's nodes, in short and in messages.
#[derive(Clone, Copy)]
pub struct Names<'a> {
    topology: &'a Topology,
}

impl Topology {
    /// Returns the names of the nodes, as messages show them.
    pub fn names(&self) -> Names<'_> {
        Names { topology: self }
    }
}

impl Names<'_> {
    /// Returns a further name of a node, which says what it is, such as `leaf0`.
    pub fn alias(self, node: NodeId) -> Option<String> {
        let found = self
            .topology
            .aliases()
            .iter()
            .find(|alias| (alias.first..alias.first + alias.count).contains(&node.0))?;
        Some(found.name(node.0 - found.first))
    }

    /// Returns the names of nodes in short, with other names in parentheses: `tor0..tor3 (or leaf0..leaf3), spine0,
    /// spine1`.
    fn of(self, nodes: std::ops::Range<usize>) -> String {
        let mut out = String::new();
        let (mut start, mut runs) = (nodes.start, 0);
        while start < nodes.end {
            let name = |index: usize| self.topology.nodes()[index].name.as_str();
            let (word, number) = split(name(start));
            let mut end = start + 1;
            while let Some(number) = number
                && end < nodes.end
                && split(name(end)) == (word, Some(number.wrapping_add((end - start) as u32)))
            {
                end += 1;
            }
            if runs == RUNS_MAX {
                let _ = write!(out, " and {} more", nodes.end - start);
                break;
            }
            runs += 1;
            let comma = if out.is_empty() { "" } else { ", " };
            let _ = write!(out, "{comma}{}", short(name(start), name(end - 1), end - start));
            let others: Vec<String> = self
                .topology
                .aliases()
                .iter()
                .filter(|alias| (start..end).contains(&(alias.first as usize)))
                .map(|alias| short(&alias.name(0), &alias.name(alias.count - 1), alias.count as usize))
                .collect();
            if !others.is_empty() {
                let _ = write!(out, " (or {})", others.join(", "));
            }
            start = end;
        }
        out
    }

    /// Returns the names of the hosts in short, such as `h0..h15`.
    pub fn hosts(self) -> String {
        self.of(0..self.topology.hosts())
    }

    /// Returns the names of the switches in short, with their other names in parentheses.
    pub fn switches(self) -> String {
        self.of(self.topology.hosts()..self.topology.nodes().len())
    }

    /// Returns a message that there is no node of this name, with the closest name and the names that there are.
    pub fn no_node(self, name: &str) -> String {
        let others =
            self.topology.aliases().iter().flat_map(|alias| (0..alias.count).map(|index| alias.name(index)));
        let names = self.topology.nodes().iter().rev().map(|node| node.name.clone()).chain(others);
        let names: Vec<String> = names.take(COMPARED_MAX).collect();
        let hint = suggestion(name, names.iter().map(String::as_str));
        let switches = if self.topology.switches() == 0 { "none".into() } else { self.switches() };
        format!("there is no node {name:?}{hint} (switches: {switches}; hosts: {})", self.hosts())
    }

    /// Returns a message that there is no host of this name, with the closest name and the names that there are.
    pub fn no_host(self, name: &str) -> String {
        let hosts = &self.topology.nodes()[..self.topology.hosts()];
        let hint = suggestion(name, hosts.iter().take(COMPARED_MAX).map(|host| host.name.as_str()));
        format!("there is no host {name:?}{hint} (hosts: {})", self.hosts())
    }
}

#[cfg(test)]
mod tests {
    use crate::{Clos3, Dumbbell, LeafSpine, NodeId, Star};
    use proptest::prelude::*;

    #[test]
    fn switches_are_found_by_what_they_are() {
        let network = LeafSpine { leaves: 3, ..LeafSpine::default() }.build().unwrap();
        assert_eq!(network.node("leaf2"), network.node("tor2"));
        assert!(network.node("tor2").is_some() && network.node("leaf3").is_none());
        assert_eq!(network.name(network.node("leaf0").unwrap()), "tor0", "results show the node's own name");
        let network = Star::default().build().unwrap();
        assert_eq!(network.node("switch"), network.node("s0"));
        let network = Dumbbell::default().build().unwrap();
        assert_eq!((network.node("left"), network.node("right")), (network.node("s0"), network.node("s1")));
        let network = Clos3::default().build().unwrap();
        assert_eq!(network.node("pod3-agg1"), network.node("agg13"));
        for name in [
            "pod4-agg0",
            "pod0-agg4",
            "pod00-agg0",
            "pod-agg0",
            "pod0agg0",
            "leaf",
            "leaf00",
            "pod4294967295-agg1",
        ] {
            assert_eq!(network.node(name), None, "{name}");
        }
    }

    #[test]
    fn a_message_lists_the_names_in_short() {
        let network = LeafSpine::default().build().unwrap();
        assert_eq!(network.names().hosts(), "h0..h31");
        assert_eq!(network.names().switches(), "tor0..tor3 (or leaf0..leaf3), spine0, spine1");
        assert_eq!(
            network.names().no_node("leave1"),
            "there is no node \"leave1\"; did you mean \"leaf1\"? (switches: tor0..tor3 (or leaf0..leaf3), spine0, \
             spine1; hosts: h0..h31)"
        );
        let mut builder = crate::Builder::new();
        for letter in 'a'..='z' {
            builder.add_host(format!("{letter}{letter}"));
        }
        let switch = builder.add_switch("007", 1);
        for host in 0..26 {
            builder.link(NodeId(host), switch, clearway_units::Rate::gbps(1), clearway_units::Span::ZERO);
        }
        let network = builder.build().unwrap();
        assert!(network.names().hosts().ends_with("oo, pp and 10 more"), "{}", network.names().hosts());
        assert_eq!(network.names().switches(), "007");
    }

    proptest! {
        #[test]
        fn no_name_panics(name in "(pod|leaf|tor|switch)?[0-9]{0,12}(-agg[0-9]{0,12})?") {
            for network in [LeafSpine::default().build().unwrap(), Clos3::default().build().unwrap()] {
                let _ = (network.node(&name), network.names().no_node(&name));
            }
        }
    }
}
