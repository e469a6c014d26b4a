//! The reader of topology files of HPCC's ns-3 fork, which most work on RDMA congestion control uses.

use crate::builder::{Builder, HOSTS_MAX, LINKS_MAX, SWITCHES_MAX};
use crate::error::TopologyError;
use crate::graph::{NodeId, Topology};
use clearway_units::{Rate, Span};
use std::fmt::Display;
use std::iter::Enumerate;
use std::str::FromStr;

/// Reads a network from the text format of HPCC's ns-3 fork (`mix/fat.txt`, `mix/topology.txt`).
///
/// ```text
/// 6 2 5                          nodes, switches, links
/// 4 5                            ids of the switches, on one line or several
/// 0 4 100Gbps 1000ns 0           source, destination, rate, delay, error rate of packets
/// ...                            one line a link
/// ```
///
/// The reader stops after the number of links that the first line gives. The rest is a comment, as in the fork.
///
/// Ids in the file run from 0 to below the number of nodes, and those that are not listed as switches are hosts.
/// The network that is returned numbers the hosts first, in increasing order of their ids in the file, then the
/// switches. Names keep the file's ids: `h<id>` and `s<id>`. A switch's tier is its distance to the nearest host.
/// [`Topology::loss`] returns a link's error rate.
///
/// ```
/// let network = clearway_topology::from_hpcc(
///     "3 1 2\n\
///      0\n\
///      1 0 100Gbps 1000ns 0\n\
///      2 0 100Gbps 0.001ms 0\n",
/// )
/// .unwrap();
/// assert_eq!(network.nodes()[0].name, "h1");
/// assert_eq!(network.name(network.ports()[3].to), "h2");
/// ```
///
/// # Errors
/// Returns [`TopologyError::Line`] for a mistake on a line and for a text that ends too early, and the other errors
/// for a network that cannot work as a whole.
pub fn from_hpcc(text: &str) -> Result<Topology, TopologyError> {
    let mut lines = Lines { lines: text.lines().enumerate(), number: 1 };
    let words = lines.next_or("the text is empty; write the numbers of nodes, switches and links")?;
    let [nodes, switches, links] = words[..] else {
        return Err(fail(lines.number, "write three numbers here: nodes, switches and links"));
    };
    let nodes = count(lines.number, "nodes", nodes, HOSTS_MAX + SWITCHES_MAX)?;
    let switches = count(lines.number, "switches", switches, SWITCHES_MAX)?;
    let links = count(lines.number, "links", links, LINKS_MAX)?;
    if switches > nodes {
        let problem = format!("{switches} switches among {nodes} nodes; nodes count hosts too");
        return Err(fail(lines.number, problem));
    }
    let is_switch = read_switches(&mut lines, nodes, switches)?;
    let (mut builder, ids) = add_nodes(&is_switch);
    for index in 0..links {
        let words = lines.next_or(format!("the text ends after {index} links, but line 1 says {links}"))?;
        add_link(&mut builder, &ids, lines.number, index, &words)?;
    }
    builder.build()
}

/// The lines of a text that are not blank, split into words.
struct Lines<'a> {
    lines: Enumerate<std::str::Lines<'a>>,
    /// The number of the line returned last, from 1.
    number: usize,
}

impl<'a> Lines<'a> {
    /// Returns the words of the next line that is not blank, or an error at the last line if there is none.
    fn next_or(&mut self, problem: impl Into<String>) -> Result<Vec<&'a str>, TopologyError> {
        for (index, line) in self.lines.by_ref() {
            let words: Vec<&str> = line.split_whitespace().collect();
            if !words.is_empty() {
                self.number = index + 1;
                return Ok(words);
            }
        }
        Err(fail(self.number, problem))
    }
}

/// Reads the ids of the switches. Returns, for each node of the file, true if it is a switch.
fn read_switches(lines: &mut Lines<'_>, nodes: usize, switches: usize) -> Result<Vec<bool>, TopologyError> {
    let mut is_switch = vec![false; nodes];
    let mut listed = 0;
    while listed < switches {
        for word in lines.next_or(format!("the text ends after {listed} of {switches} switch ids"))? {
            let id = node_index(lines.number, word, nodes)?;
            if std::mem::replace(&mut is_switch[id], true) {
                return Err(fail(lines.number, format!("switch {id} is listed twice; list each id once")));
            }
            listed += 1;
        }
        if listed > switches {
            let problem = format!("{listed} switch ids so far, but line 1 says {switches}; make them agree");
            return Err(fail(lines.number, problem));
        }
    }
    Ok(is_switch)
}

/// Adds all nodes to a new builder, the hosts first. Returns it with the new id of each node of the file.
fn add_nodes(is_switch: &[bool]) -> (Builder, Vec<NodeId>) {
    let mut builder = Builder::new();
    let mut ids = vec![NodeId(0); is_switch.len()];
    for id in (0..ids.len()).filter(|&id| !is_switch[id]) {
        ids[id] = builder.add_host(format!("h{id}"));
    }
    for id in (0..ids.len()).filter(|&id| is_switch[id]) {
        ids[id] = builder.add_switch(format!("s{id}"), 0);
    }
    (builder, ids)
}

/// Adds the link that the words of line `line` describe.
fn add_link(
    builder: &mut Builder,
    ids: &[NodeId],
    line: usize,
    index: usize,
    words: &[&str],
) -> Result<(), TopologyError> {
    let [a, b, rate, delay, loss] = *words else {
        let problem = "has the wrong number of fields; write source, destination, rate, delay and error rate";
        return Err(fail(line, format!("link {index} {problem}, such as \"0 4 100Gbps 1000ns 0\"")));
    };
    let (a, b) = (ids[node_index(line, a, ids.len())?], ids[node_index(line, b, ids.len())?]);
    let rate: Rate = quantity(line, &rate.replace("b/s", "bps").replace("kbps", "Kbps"))?;
    let delay: Span = quantity(line, delay)?;
    let loss = loss
        .parse()
        .map_err(|_| fail(line, format!("{loss:?} is not an error rate; write a number such as 0")))?;
    builder.try_link(a, b, rate, delay, loss).map_err(|error| error.at(line))
}

fn fail(line: usize, problem: impl Into<String>) -> TopologyError {
    TopologyError::Line { line, problem: problem.into() }
}

fn count(line: usize, what: &str, word: &str, limit: u64) -> Result<usize, TopologyError> {
    let number = word.parse::<u64>().ok().filter(|&number| number <= limit);
    number.and_then(|number| usize::try_from(number).ok()).ok_or_else(|| {
        fail(line, format!("{word:?} is not a possible number of {what}; write one from 0 to {limit}"))
    })
}

fn node_index(line: usize, word: &str, nodes: usize) -> Result<usize, TopologyError> {
    word.parse::<usize>()
        .ok()
        .filter(|&id| id < nodes)
        .ok_or_else(|| fail(line, format!("{word:?} is not a node; ids here run from 0 to below {nodes}")))
}

fn quantity<T: FromStr>(line: usize, word: &str) -> Result<T, TopologyError>
where
    T::Err: Display,
{
    word.parse().map_err(|error: T::Err| fail(line, error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const VALID: &str = "6 2 5\n1 4\n0 1 100Gbps 1000ns 0\n2 1 100Gbps 0.001ms 0\n3 4 25Gb/s 1us 0\n\
                         5 4 25Gbps 1us 0.000\n1 4 400Gbps 1us 0.25\n";

    fn message(text: &str) -> String {
        from_hpcc(text).unwrap_err().to_string()
    }

    #[test]
    fn hosts_are_numbered_before_switches_and_names_keep_the_ids_of_the_file() {
        let network = from_hpcc(VALID).unwrap();
        let names: Vec<&str> = network.nodes().iter().map(|node| node.name.as_str()).collect();
        assert_eq!(names, ["h0", "h2", "h3", "h5", "s1", "s4"]);
        assert_eq!((network.hosts(), network.links()), (4, 5));
        let trunk = network.port_between(NodeId(4), NodeId(5)).unwrap();
        assert_eq!((network.port(trunk).rate, network.loss(trunk)), (Rate::gbps(400), 0.25));
        assert_eq!(network.port_name(crate::PortId(4)), "h3->s4");
        assert!(network.ports().iter().all(|port| port.delay == Span::from_us(1)));
        assert!(network.nodes()[4..].iter().all(|switch| switch.tier == 1));
    }

    #[test]
    fn a_file_of_the_320_host_tree_gives_the_ports_and_tiers_of_the_shape() {
        let tree = crate::Pacc320::default().build().unwrap();
        let mut text = format!("{} {} {}\n", tree.nodes().len(), tree.switches(), tree.links());
        (tree.hosts()..tree.nodes().len()).for_each(|id| text += &format!("{id} "));
        text += "\n";
        for port in tree.ports().iter().step_by(2) {
            let (rate, ns) = (port.rate.as_bps() / 1_000_000_000, port.delay.as_ps() / 1_000);
            text += &format!("{} {} {rate}Gbps {ns}ns 0.000000\n", port.from.0, port.to.0);
        }
        let read = from_hpcc(&text).unwrap();
        assert_eq!(read.ports(), tree.ports());
        assert!(read.nodes().iter().zip(tree.nodes()).all(|(read, tree)| read.tier == tree.tier));
    }

    #[test]
    fn text_after_the_last_counted_link_is_ignored() {
        // In the fork's `mix/topology.txt`, too, lines end in CR LF and links beyond the count are listed.
        let text = "4 1 3\r\n0\r\n0 1 100Gbps 0.001ms 0\r\n0 2 100Gbps 0.001ms 0\r\n0 3 25Gbps 0.001ms 0\r\n\
                    0 4 25Gbps 0.001ms 0\r\n\r\nFirst line: total node #, switch node #, link #\r\n\
                    src0 dst0 rate delay error_rate\r\n...\r\n";
        let network = from_hpcc(text).unwrap();
        let names: Vec<&str> = network.nodes().iter().map(|node| node.name.as_str()).collect();
        assert_eq!((names, network.links()), (vec!["h1", "h2", "h3", "s0"], 3));
    }

    #[test]
    fn mistakes_are_named_with_their_line() {
        let cases = [
            ("", "line 1: the text is empty"),
            ("\n6 2\n", "line 2: write three numbers here"),
            ("6 7 5\n", "line 1: 7 switches among 6 nodes"),
            (
                "99999999999999999999 2 5\n",
                "line 1: \"99999999999999999999\" is not a possible number of nodes",
            ),
            ("6 2 5\n1\n", "line 2: the text ends after 1 of 2 switch ids"),
            ("6 2 5\n1 1\n", "line 2: switch 1 is listed twice"),
            ("6 2 5\n1 6\n", "line 2: \"6\" is not a node; ids here run from 0 to below 6"),
            ("6 2 5\n1 4 5\n", "line 2: 3 switch ids so far, but line 1 says 2"),
        ];
        for (text, expected) in cases {
            assert!(message(text).starts_with(expected), "{}", message(text));
        }
        let cases = [
            ("1 4 400Gbps 1us 0.25", "", "line 6: the text ends after 4 links, but line 1 says 5"),
            ("1us 0.000", "1us", "line 6: link 3 has the wrong number of fields"),
            ("100Gbps 1000ns", "100Gb 1000ns", "line 3: \"100Gb\" has an unknown unit"),
            ("0.001ms", "0.001", "line 4: \"0.001\" has no unit"),
            ("0 1 100", "1 1 100", "line 3: \"s1\" is linked to itself"),
            ("0 1 100", "0 1 0", "line 3: the link h0 - s1 has a rate of 0"),
            ("0.25", "1.25", "line 7: the link s1 - s4 has an error rate of 1.25"),
            ("0.25", "none", "line 7: \"none\" is not an error rate"),
            (
                "5 4 25",
                "3 4 25",
                "line 6: host \"h3\" has a second link, to \"s4\" besides the one to \"s4\"; a host",
            ),
            ("5 4 25", "1 4 25", "no path joins hosts \"h0\" and \"h5\""),
        ];
        for (from, to, expected) in cases {
            let text = VALID.replacen(from, to, 1);
            assert!(message(&text).starts_with(expected), "{}", message(&text));
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[0-9a-zA-Z .\n-]{0,80}") {
            let _ = from_hpcc(&text);
        }

        #[test]
        fn no_mutation_of_a_valid_text_panics(
            edits in prop::collection::vec((0..VALID.len(), "[0-9 \nGbpsun./x-]{0,3}", 0usize..4), 1..4),
        ) {
            let mut text = VALID.to_string();
            for (place, insert, remove) in edits {
                let start = place.min(text.len());
                let end = (start + remove).min(text.len());
                text.replace_range(start..end, &insert);
            }
            if let Ok(network) = from_hpcc(&text) {
                prop_assert!(network.hosts() > 0 && network.ports().len() == 2 * network.links());
            }
        }
    }
}
