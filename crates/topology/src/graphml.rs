//! The reader of networks in GraphML, as networkx and graph editors write them.

use crate::builder::{Builder, HOSTS_MAX, LINKS_MAX, SWITCHES_MAX};
use crate::error::TopologyError;
use crate::graph::{NodeId, Topology};
use clearway_schema::suggestion;
use clearway_units::{Rate, Span};
use roxmltree::{Document, Node, ParsingOptions};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::str::FromStr;

/// The largest number of elements of a file. A link with rate and delay has six with the text in between.
const ELEMENTS_MAX: u64 = 2 * (HOSTS_MAX + SWITCHES_MAX) + 6 * LINKS_MAX;
/// Attributes for drawings, which say nothing on the network.
const DRAWN: [&str; 8] = ["label", "x", "y", "z", "pos", "color", "description", "url"];

/// The attributes that a reader knows, by the element that has them.
const KNOWN: [(&str, &[&str]); 3] =
    [("graph", &["rate", "delay"]), ("node", &["kind", "tier"]), ("edge", &["rate", "delay", "loss"])];

/// An attribute that the head of a file declares.
struct Key<'a> {
    /// The element that the attribute is for: `graph`, `node`, `edge` or `all`.
    of: &'a str,
    /// The name; `None` for data of a graph editor.
    name: Option<&'a str>,
    default: Option<&'a str>,
}

/// A value of an element, and where it stands.
#[derive(Clone, Copy)]
struct Given<'a> {
    text: &'a str,
    at: Node<'a, 'a>,
}

/// Reads a network from GraphML, of the dialect that networkx writes.
///
/// The `id` of a node is its name. A node has the attribute `kind`, which is `host` or `switch`; a switch may have a
/// `tier` (1 ToR, 2 aggregation, 3 core; without it, the number of hops to the nearest host). An edge has the
/// attributes `rate` (`10 Gbps`), `delay` (`1 us`) and `loss` (a share of packets, default 0). The attributes `rate`
/// and `delay` of the graph itself are for edges without their own, and so are defaults of keys. Attributes for
/// drawings (`label`, `x`, `y`, `pos`, `color`, ...) are skipped, others refused.
///
/// ```
/// let network = clearway_topology::from_graphml(r#"<?xml version="1.0" encoding="utf-8"?>
/// <graphml xmlns="http://graphml.graphdrawing.org/xmlns">
///   <key id="d0" for="node" attr.name="kind" attr.type="string" />
///   <key id="d1" for="edge" attr.name="rate" attr.type="string" />
///   <key id="d2" for="graph" attr.name="delay" attr.type="string" />
///   <graph edgedefault="undirected">
///     <data key="d2">1 us</data>
///     <node id="a"><data key="d0">host</data></node>
///     <node id="b"><data key="d0">host</data></node>
///     <node id="switch"><data key="d0">switch</data></node>
///     <edge source="a" target="switch"><data key="d1">25 Gbps</data></edge>
///     <edge source="switch" target="b"><data key="d1">100 Gbps</data></edge>
///   </graph>
/// </graphml>"#).unwrap();
/// assert_eq!((network.hosts(), network.switches(), network.links()), (2, 1, 2));
/// ```
///
/// Hosts and switches are numbered in the order of the file, hosts first.
///
/// # Errors
/// Returns [`TopologyError::Line`] for a mistake on a line, and the other errors for a network that cannot work as a
/// whole. Files with a document type definition are refused, and so nothing outside the file is ever read.
pub fn from_graphml(text: &str) -> Result<Topology, TopologyError> {
    let options = ParsingOptions {
        allow_dtd: false,
        nodes_limit: u32::try_from(ELEMENTS_MAX).unwrap_or(u32::MAX),
        ..ParsingOptions::default()
    };
    let document = Document::parse_with_options(text, options).map_err(|error| TopologyError::Line {
        line: error.pos().row as usize,
        problem: format!("is no GraphML: {error}"),
    })?;
    Reader { keys: BTreeMap::new(), builder: Builder::new(), ids: BTreeMap::new() }.read(&document)
}

struct Reader<'a> {
    keys: BTreeMap<&'a str, Key<'a>>,
    builder: Builder,
    ids: BTreeMap<&'a str, NodeId>,
}

/// Returns the line of an element.
fn line_of(at: Node<'_, '_>) -> usize {
    at.document().text_pos_at(at.range().start).row as usize
}

fn fail<T>(at: Node<'_, '_>, problem: impl Into<String>) -> Result<T, TopologyError> {
    Err(TopologyError::Line { line: line_of(at), problem: problem.into() })
}

/// Returns an XML attribute of an element.
fn attribute<'a>(at: Node<'a, 'a>, name: &str) -> Result<&'a str, TopologyError> {
    match at.attribute(name) {
        Some(value) => Ok(value),
        None => fail(at, format!("<{}> has no {name}; add {name}=\"...\"", at.tag_name().name())),
    }
}

/// Returns the elements in an element.
fn elements<'a>(at: Node<'a, 'a>) -> impl Iterator<Item = Node<'a, 'a>> {
    at.children().filter(Node::is_element)
}

fn quantity<T: FromStr>(given: Option<Given<'_>>) -> Result<Option<T>, TopologyError>
where
    T::Err: Display,
{
    let Some(given) = given else { return Ok(None) };
    given.text.parse().map(Some).or_else(|error: T::Err| fail(given.at, error.to_string()))
}

impl<'a> Reader<'a> {
    fn read(mut self, document: &'a Document<'a>) -> Result<Topology, TopologyError> {
        let root = document.root_element();
        if root.tag_name().name() != "graphml" {
            return fail(root, format!("<{}> is no GraphML; write <graphml>", root.tag_name().name()));
        }
        for key in elements(root).filter(|element| element.tag_name().name() == "key") {
            let default = elements(key).find(|element| element.tag_name().name() == "default");
            let default = default.map(|default| default.text().unwrap_or("").trim());
            let of = key.attribute("for").unwrap_or("all");
            let name = key.attribute("attr.name");
            if self.keys.insert(attribute(key, "id")?, Key { of, name, default }).is_some() {
                return fail(key, "two keys have this id; give each one of its own");
            }
        }
        let mut graphs = elements(root).filter(|element| element.tag_name().name() == "graph");
        let Some(graph) = graphs.next() else { return fail(root, "has no <graph>; add one") };
        if let Some(second) = graphs.next() {
            return fail(second, "is a second graph; write one network a file");
        }
        if graph.attribute("edgedefault") == Some("directed") {
            let problem = "is a directed graph, and links work both ways; write edgedefault=\"undirected\" (networkx: \
                           G.to_undirected())";
            return fail(graph, problem);
        }
        self.nodes(graph)?;
        self.edges(graph)?;
        self.builder.build()
    }

    /// Returns the value of an attribute of an element: its own, or the key's default.
    fn value(&self, at: Node<'a, 'a>, name: &str) -> Result<Option<Given<'a>>, TopologyError> {
        let tag = at.tag_name().name();
        for data in elements(at).filter(|element| element.tag_name().name() == "data") {
            let id = attribute(data, "key")?;
            let Some(key) = self.keys.get(id) else {
                return fail(data, format!("no <key> has the id {id:?}; declare it at the top of the file"));
            };
            if key.name == Some(name) {
                return Ok(Some(Given { text: data.text().unwrap_or("").trim(), at: data }));
            }
        }
        let matches = |key: &&Key<'_>| key.name == Some(name) && (key.of == tag || key.of == "all");
        let default = self.keys.values().filter(matches).find_map(|key| key.default);
        Ok(default.map(|text| Given { text, at }))
    }

    /// Refuses attributes of an element that the reader does not know.
    fn check(&self, at: Node<'a, 'a>) -> Result<(), TopologyError> {
        let tag = at.tag_name().name();
        let known = KNOWN.iter().find(|(of, _)| *of == tag).map_or(&[][..], |(_, names)| names);
        for data in elements(at).filter(|element| element.tag_name().name() == "data") {
            let name = self.keys.get(attribute(data, "key")?).and_then(|key| key.name);
            if let Some(name) = name.filter(|name| !known.contains(name) && !DRAWN.contains(name)) {
                let hint = suggestion(name, known.iter().copied());
                let problem =
                    format!("{name} is no attribute of a {tag}{hint} (known: {})", known.join(", "));
                return fail(data, problem);
            }
        }
        Ok(())
    }

    fn nodes(&mut self, graph: Node<'a, 'a>) -> Result<(), TopologyError> {
        let mut switches = Vec::new();
        for element in elements(graph) {
            match element.tag_name().name() {
                "node" => {}
                "edge" | "data" | "desc" => continue,
                other => {
                    return fail(element, format!("<{other}> can't be read; write <node> and <edge> alone"));
                }
            }
            self.check(element)?;
            let name = attribute(element, "id")?;
            if elements(element).any(|inner| inner.tag_name().name() == "graph") {
                return fail(element, format!("node {name:?} holds a graph; write a flat one"));
            }
            let kind = self.value(element, "kind")?;
            let tier = self.value(element, "tier")?;
            match kind.map(|kind| kind.text) {
                Some("host") if tier.is_some_and(|tier| tier.text != "0") => {
                    return fail(element, format!("node {name:?} is a host, which has no tier; remove it"));
                }
                Some("host") => {
                    let id = self.builder.add_host(name);
                    self.name(element, name, id)?;
                }
                Some("switch") => switches.push((element, name, tier)),
                Some(other) => {
                    return fail(element, format!("node {name:?}: kind = {other:?}: write host or switch"));
                }
                None => {
                    return fail(element, format!("node {name:?} has no kind; give it one, host or switch"));
                }
            }
        }
        for (element, name, tier) in switches {
            let tier = match tier {
                None => 0,
                Some(tier) => match tier.text.parse::<u8>() {
                    Ok(number @ 1..) => number,
                    _ => {
                        let problem =
                            format!("tier = {:?}: write 1 for ToR, 2 aggregation, 3 core", tier.text);
                        return fail(tier.at, problem);
                    }
                },
            };
            let id = self.builder.add_switch(name, tier);
            self.name(element, name, id)?;
        }
        Ok(())
    }

    fn name(&mut self, at: Node<'a, 'a>, name: &'a str, id: NodeId) -> Result<(), TopologyError> {
        match self.ids.insert(name, id) {
            Some(_) => fail(at, TopologyError::DuplicateName(name.into()).to_string()),
            None => Ok(()),
        }
    }

    fn edges(&mut self, graph: Node<'a, 'a>) -> Result<(), TopologyError> {
        self.check(graph)?;
        let rate = quantity::<Rate>(self.value(graph, "rate")?)?;
        let delay = quantity::<Span>(self.value(graph, "delay")?)?;
        for edge in elements(graph).filter(|element| element.tag_name().name() == "edge") {
            self.check(edge)?;
            if edge.attribute("directed") == Some("true") {
                return fail(edge, "is a directed edge, and links work both ways; remove directed=\"true\"");
            }
            let ends = (attribute(edge, "source")?, attribute(edge, "target")?);
            let find = |name: &str| match self.ids.get(name) {
                Some(id) => Ok(*id),
                None => {
                    let hint = suggestion(name, self.ids.keys().take(10_000).copied());
                    fail(edge, format!("no node has the id {name:?}{hint}"))
                }
            };
            let (a, b) = (find(ends.0)?, find(ends.1)?);
            let missing = |what: &str, example: &str| {
                let (a, b) = ends;
                fail(
                    edge,
                    format!("the edge {a} - {b} has no {what}; give it one, such as {example}, or the graph"),
                )
            };
            let Some(rate) = quantity(self.value(edge, "rate")?)?.or(rate) else {
                return missing("rate", "10 Gbps");
            };
            let Some(delay) = quantity(self.value(edge, "delay")?)?.or(delay) else {
                return missing("delay", "1 us");
            };
            let loss = match self.value(edge, "loss")? {
                None => 0.0,
                Some(given) => match given.text.parse() {
                    Ok(loss) => loss,
                    Err(_) => {
                        return fail(
                            given.at,
                            format!("loss = {:?}: write a share such as 0.001", given.text),
                        );
                    }
                },
            };
            let made = self.builder.try_link(a, b, rate, delay, loss);
            made.map_err(|error| error.at(line_of(edge)))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// As networkx's `write_graphml` writes it.
    const VALID: &str = r#"<?xml version='1.0' encoding='utf-8'?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="http://graphml.graphdrawing.org/xmlns http://graphml.graphdrawing.org/xmlns/1.0/graphml.xsd"><key id="d4" for="edge" attr.name="delay" attr.type="string"/>
<key id="d3" for="edge" attr.name="rate" attr.type="string"/>
<key id="d2" for="node" attr.name="tier" attr.type="long"/>
<key id="d1" for="node" attr.name="kind" attr.type="string"/>
<key id="d0" for="graph" attr.name="rate" attr.type="string"/>
<key id="d5" for="edge" attr.name="loss" attr.type="double"/>
<key id="d6" for="node" attr.name="pos" attr.type="string"/>
<key id="d7" for="node" yfiles.type="nodegraphics"/>
<graph edgedefault="undirected"><data key="d0">10 Gbps</data>
<node id="spine"><data key="d1">switch</data><data key="d2">2</data><data key="d6">(0, 1)</data><data key="d7"><y/></data></node>
<node id="h0"><data key="d1">host</data></node>
<node id="tor"><data key="d1">switch</data></node>
<node id="h1"><data key="d1">host</data></node>
<edge source="h0" target="tor"><data key="d4">1 us</data></edge>
<edge source="h1" target="tor"><data key="d4">1 us</data><data key="d5">0.25</data></edge>
<edge source="tor" target="spine"><data key="d3">40 Gbps</data><data key="d4">2 us</data></edge>
</graph></graphml>"#;

    fn message(text: &str) -> String {
        from_graphml(text).unwrap_err().to_string()
    }

    #[test]
    fn a_graph_of_networkx_is_read_with_hosts_first() {
        let network = from_graphml(VALID).unwrap();
        let names: Vec<&str> = network.nodes().iter().map(|node| node.name.as_str()).collect();
        assert_eq!(names, ["h0", "h1", "spine", "tor"]);
        assert_eq!(network.nodes().iter().map(|node| node.tier).collect::<Vec<_>>(), [0, 0, 2, 1]);
        let port = |a: &str, b: &str| {
            network.port_between(network.node(a).unwrap(), network.node(b).unwrap()).unwrap()
        };
        assert_eq!(network.port(port("h0", "tor")).rate, Rate::gbps(10), "the graph's");
        assert_eq!(network.port(port("tor", "spine")).rate, Rate::gbps(40), "its own");
        assert_eq!((network.loss(port("tor", "h1")), network.loss(port("tor", "h0"))), (0.25, 0.0));
        assert_eq!(network.port(port("spine", "tor")).delay, Span::from_us(2));
    }

    #[test]
    fn a_default_of_a_key_holds_where_an_element_has_no_value() {
        let text = VALID.replace(
            r#"attr.name="delay" attr.type="string"/>"#,
            r#"attr.name="delay" attr.type="string"><default>7 us</default></key>"#,
        );
        let network = from_graphml(&text.replacen("<data key=\"d4\">1 us</data>", "", 1)).unwrap();
        assert_eq!(network.ports()[0].delay, Span::from_us(7));
        assert_eq!(network.ports()[2].delay, Span::from_us(1));
    }

    #[test]
    fn mistakes_are_named_with_their_line() {
        let cases = [
            ("</graphml>", "", "line 1: is no GraphML: the root node was opened but never closed"),
            (
                "<?xml version='1.0' encoding='utf-8'?>",
                "<!DOCTYPE x [<!ENTITY a \"b\">]>",
                "line 1: is no GraphML: ",
            ),
            ("undirected", "directed", "line 10: is a directed graph, and links work both ways"),
            (
                ">switch</data><data key=\"d2\">",
                ">router</data><data key=\"d2\">",
                "line 11: node \"spine\": kind = \"router\"",
            ),
            (
                "<data key=\"d1\">host</data>",
                "",
                "line 12: node \"h0\" has no kind; give it one, host or switch",
            ),
            ("<data key=\"d2\">2", "<data key=\"d2\">0", "line 11: tier = \"0\": write 1 for ToR"),
            ("id=\"h1\"", "id=\"h0\"", "line 14: two nodes are named \"h0\""),
            ("id=\"h1\"", "", "line 14: <node> has no id"),
            ("\"pos\"", "\"weight\"", "line 11: weight is no attribute of a node (known: kind, tier)"),
            ("\"delay\"", "\"dealy\"", "line 15: dealy is no attribute of a edge; did you mean \"delay\"?"),
            ("source=\"h1\"", "source=\"H1\"", "line 16: no node has the id \"H1\"; did you mean \"h1\"?"),
            ("40 Gbps", "40 Gb", "line 17: \"40 Gb\" has an unknown unit"),
            ("40 Gbps", "0 bps", "line 17: the link tor - spine has a rate of 0"),
            ("<data key=\"d4\">1 us</data>", "", "line 15: the edge h0 - tor has no delay; give it one"),
            ("<data key=\"d0\">10 Gbps</data>", "", "line 15: the edge h0 - tor has no rate"),
            ("0.25", "2", "line 16: the link h1 - tor has an error rate of 2"),
            (
                "source=\"tor\"",
                "source=\"h0\"",
                "line 17: host \"h0\" has a second link, to \"spine\" besides the one to \"tor\"; a host has one link",
            ),
            ("0.25", "x", "line 16: loss = \"x\": write a share"),
            ("key=\"d5\">0.25", "key=\"d9\">0.25", "line 16: no <key> has the id \"d9\""),
            ("<edge source=\"h0\"", "<hyperedge/><edge source=\"h0\"", "line 15: <hyperedge> can't be read"),
            ("<edge source=\"h0\"", "<edge directed=\"true\" source=\"h0\"", "line 15: is a directed edge"),
            ("</graph>", "</graph><graph edgedefault=\"undirected\"/>", "line 18: is a second graph"),
        ];
        for (from, to, expected) in cases {
            assert!(VALID.contains(from), "{from}");
            let message = message(&VALID.replacen(from, to, 1));
            assert!(message.starts_with(expected), "{from} -> {to}: {message}");
        }
        assert!(message("<html/>").starts_with("line 1: <html> is no GraphML"));
        assert!(message("").starts_with("line 1: is no GraphML"));
    }

    #[test]
    fn deep_and_entity_laden_files_are_refused_and_do_not_hang() {
        message(&"<a>".repeat(200_000));
        message(&format!("{}{}", "<graphml>".repeat(100_000), "</graphml>".repeat(100_000)));
        message("<!DOCTYPE lolz [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;&a;\">]><graphml>&b;</graphml>");
    }

    proptest! {
        #[test]
        fn no_mutation_of_a_valid_text_panics(
            edits in prop::collection::vec((0..VALID.len(), "[0-9a-z \n\"=<>/&;]{0,3}", 0usize..4), 0..4),
        ) {
            let mut text = VALID.to_string();
            for (place, insert, remove) in edits {
                let start = place.min(text.len());
                let end = (start + remove).min(text.len());
                text.replace_range(start..end, &insert);
            }
            if let Ok(network) = from_graphml(&text) {
                prop_assert!(network.hosts() > 0 && network.ports().len() == 2 * network.links());
            }
        }

        #[test]
        fn no_text_panics(text in "(<graphml>)?\\PC{0,80}") {
            let _ = from_graphml(&text);
        }
    }
}
