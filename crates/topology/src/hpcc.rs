//! Topologies of HPCC's ns-3 fork, the format of most RDMA congestion control work.

use crate::builder::{Builder, HOSTS_MAX, LINKS_MAX, SWITCHES_MAX};
use crate::error::TopologyError;
use crate::graph::{NodeId, Topology};
use clearway_units::{Rate, Span};
use std::fmt::Display;
use std::str::FromStr;

/// Reads the text format of HPCC's ns-3 fork (`mix/fat.txt`, `mix/topology.txt`).
///
/// ```text
/// 6 2 5                          nodes, switches, links
/// 4 5                            ids of the switches, on one line or several
/// 0 4 100Gbps 1000ns 0           source, destination, rate, delay, error rate of packets
/// ...                            one line a link
/// ```
///
/// Only as many links are read as the first line counts. What follows is a comment, as in the fork's own files.
///
/// Ids run from 0 to below the number of nodes; those that are not listed as switches are hosts. Here hosts are
/// numbered from 0 in increasing order of their original ids, then the switches likewise; the original ids live on
/// in the names, `h<id>` and `s<id>`. A switch's tier is its distance to the nearest host. The error rate is kept
/// ([`Topology::loss`]).
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
/// [`TopologyError::Line`] for what a line says wrong, others for what the whole lacks. A text with fewer switches or
/// links than its first line counts is refused.
pub fn from_hpcc(text: &str) -> Result<Topology, TopologyError> {
    let mut lines = text
        .lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line.split_whitespace().collect::<Vec<_>>()))
        .filter(|(_, words)| !words.is_empty());
    let (line, words) = lines
        .next()
        .ok_or_else(|| fail(1, "the text is empty; write the numbers of nodes, switches and links"))?;
    let [nodes, switches, links] = words[..] else {
        return Err(fail(line, "write three numbers here: nodes, switches and links"));
    };
    let nodes = count(line, "nodes", nodes, HOSTS_MAX + SWITCHES_MAX)?;
    let switches = count(line, "switches", switches, SWITCHES_MAX)?;
    let links = count(line, "links", links, LINKS_MAX)?;
    if switches > nodes {
        return Err(fail(line, format!("{switches} switches among {nodes} nodes; nodes count hosts too")));
    }

    let mut is_switch = vec![false; nodes];
    let (mut listed, mut last_line) = (0, line);
    while listed < switches {
        let (line, words) = lines.next().ok_or_else(|| {
            fail(last_line, format!("the text ends after {listed} of {switches} switch ids"))
        })?;
        last_line = line;
        for word in words {
            let id = node_id(line, word, nodes)?;
            if std::mem::replace(&mut is_switch[id], true) {
                return Err(fail(line, format!("switch {id} is listed twice; list each id once")));
            }
            listed += 1;
        }
        if listed > switches {
            return Err(fail(
                line,
                format!("{listed} switch ids so far, but line 1 says {switches}; make them agree"),
            ));
        }
    }

    let mut builder = Builder::new();
    let mut new_ids = vec![NodeId(0); nodes];
    for id in (0..nodes).filter(|&id| !is_switch[id]) {
        new_ids[id] = builder.add_host(format!("h{id}"));
    }
    for id in (0..nodes).filter(|&id| is_switch[id]) {
        new_ids[id] = builder.add_switch(format!("s{id}"), 0);
    }
    for index in 0..links {
        let (line, words) = lines.next().ok_or_else(|| {
            fail(last_line, format!("the text ends after {index} links, but line 1 says {links}"))
        })?;
        last_line = line;
        let [a, b, rate, delay, loss] = words[..] else {
            let problem =
                "has the wrong number of fields; write source, destination, rate, delay and error rate";
            return Err(fail(line, format!("link {index} {problem}, such as \"0 4 100Gbps 1000ns 0\"")));
        };
        let (a, b) = (new_ids[node_id(line, a, nodes)?], new_ids[node_id(line, b, nodes)?]);
        let rate: Rate = quantity(line, &rate.replace("b/s", "bps").replace("kbps", "Kbps"))?;
        let delay: Span = quantity(line, delay)?;
        let loss: f64 = loss
            .parse()
            .map_err(|_| fail(line, format!("{loss:?} is not an error rate; write a number such as 0")))?;
        builder.try_link(a, b, rate, delay, loss).map_err(|error| error.at(line))?;
    }
    builder.build()
}

fn fail(line: usize, problem: impl Into<String>) -> TopologyError {
    TopologyError::Line { line, problem: problem.into() }
}

fn count(line: usize, what: &str, word: &str, limit: u64) -> Result<usize, TopologyError> {
    word.parse::<u64>().ok().filter(|&number| number <= limit).map(|number| number as usize).ok_or_else(
        || fail(line, format!("{word:?} is not a possible number of {what}; write one from 0 to {limit}")),
    )
}

fn node_id(line: usize, word: &str, nodes: usize) -> Result<usize, TopologyError> {
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
    fn ids_are_renumbered_hosts_first_and_live_on_in_names() {
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
    fn what_was_written_for_the_320_host_tree_reads_back() {
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
    fn links_beyond_the_counted_ones_and_what_is_explained_below_are_not_read() {
        // As in the fork's `mix/topology.txt`: lines end in CR LF, and hosts that the count leaves out are listed.
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
            ("5 4 25", "3 4 25", "no path joins hosts \"h0\" and \"h5\""),
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
