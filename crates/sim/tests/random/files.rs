//! Files that scenarios name: networks, lists of flows and distributions of sizes.

use super::{Draw, World};
use std::fmt::Write;

/// A network of some hosts and switches: a tree of switches with a few links more.
struct Graph {
    hosts: u64,
    switches: u64,
    /// The numbers of both ends, where switches follow the hosts, with Gbps and nanoseconds.
    links: Vec<[u64; 4]>,
}

impl Graph {
    fn new(draw: &mut Draw) -> Graph {
        let (hosts, switches) = (draw.within(2, 12), draw.within(1, 5));
        let mut ends: Vec<[u64; 2]> = (0..hosts).map(|host| [host, hosts + draw.below(switches)]).collect();
        ends.extend((1..switches).map(|switch| [hosts + switch, hosts + draw.below(switch)]));
        for _ in 0..draw.below(4) {
            let [a, b] = [hosts + draw.below(switches), hosts + draw.below(switches)];
            // Now and then a link that is refused: of a switch with itself, or a second one of a host.
            if a != b || draw.chance(3) {
                ends.push([a, b]);
            }
        }
        if draw.chance(3) {
            ends.push([0, hosts]);
        }
        let links =
            ends.into_iter().map(|[a, b]| [a, b, draw.scale(1, 400), draw.scale(1, 20_000)]).collect();
        Graph { hosts, switches, links }
    }

    fn name(&self, node: u64) -> String {
        if node < self.hosts { format!("h{node}") } else { format!("s{}", node - self.hosts) }
    }

    fn own(&self) -> String {
        let mut text = format!("hosts = {}\nswitches = {}\n", self.hosts, self.switches);
        for &[a, b, gbps, ns] in &self.links {
            let (a, b) = (self.name(a), self.name(b));
            let _ = write!(
                text,
                "[[link]]\na = \"{a}\"\nb = \"{b}\"\nrate = \"{gbps} Gbps\"\ndelay = \"{ns} ns\"\n"
            );
        }
        text
    }

    fn hpcc(&self) -> String {
        let nodes = self.hosts + self.switches;
        let switches: Vec<String> = (self.hosts..nodes).map(|node| node.to_string()).collect();
        let mut text = format!("{nodes} {} {}\n{}\n", self.switches, self.links.len(), switches.join(" "));
        for [a, b, gbps, ns] in &self.links {
            let _ = writeln!(text, "{a} {b} {gbps}Gbps {}ms 0", *ns as f64 / 1e6);
        }
        text
    }

    fn graphml(&self) -> String {
        let mut text = String::from(
            "<?xml version='1.0' encoding='utf-8'?>\n<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n\
             <key id=\"k\" for=\"node\" attr.name=\"kind\" attr.type=\"string\"/>\n\
             <key id=\"r\" for=\"edge\" attr.name=\"rate\" attr.type=\"string\"/>\n\
             <key id=\"d\" for=\"edge\" attr.name=\"delay\" attr.type=\"string\"/>\n<graph edgedefault=\"undirected\">\n",
        );
        for node in 0..self.hosts + self.switches {
            let kind = if node < self.hosts { "host" } else { "switch" };
            let _ = writeln!(text, "<node id=\"{}\"><data key=\"k\">{kind}</data></node>", self.name(node));
        }
        for &[a, b, gbps, ns] in &self.links {
            let (a, b) = (self.name(a), self.name(b));
            let _ = writeln!(
                text,
                "<edge source=\"{a}\" target=\"{b}\"><data key=\"r\">{gbps} Gbps</data><data key=\"d\">{ns} ns</data></edge>"
            );
        }
        text + "</graph>\n</graphml>\n"
    }
}

/// A leaf-spine in htsim's format.
fn htsim(draw: &mut Draw) -> String {
    let [leaves, hosts] = [draw.within(2, 4), draw.within(1, 4)];
    let spines = if draw.chance(90) { hosts } else { draw.within(1, 3) };
    let (gbps, ns) = (draw.scale(1, 400), draw.scale(1, 20_000));
    let nodes = leaves * hosts;
    format!(
        "Nodes {nodes}\nTiers 2\nPodsize {nodes}\nTier 0\nDownlink_speed_Gbps {gbps}\nRadix_Down {hosts}\nRadix_Up {spines}\n\
         Downlink_Latency_ns {ns}\nTier 1\nDownlink_speed_Gbps {gbps}\nRadix_Down {leaves}\nDownlink_Latency_ns {ns}\n"
    )
}

/// Draws the file of a network of a kind.
pub fn network(draw: &mut Draw, kind: &str) -> String {
    let graph = Graph::new(draw);
    match kind {
        "hpcc-file" => graph.hpcc(),
        "graphml-file" => graph.graphml(),
        "htsim-file" => htsim(draw),
        _ => graph.own(),
    }
}

/// Draws a list of flows in any format. In some, the flows between two hosts are messages of one connection, or each flow waits for
/// the one before it.
pub fn flows(draw: &mut Draw, world: &World) -> String {
    let hosts = world.hosts.len().max(2) as u64;
    let count = draw.within(1, 12);
    let (format, shares, waits) = (draw.below(4), draw.chance(30), draw.chance(20));
    let mut lines = Vec::new();
    for place in 0..count {
        let src = draw.below(hosts);
        let dst = (src + draw.within(1, hosts - 1)) % hosts;
        let (bytes, us) = (draw.scale(1, 100_000), draw.below(world.stop / 1_000_000 + 1));
        let s = us as f64 / 1e6;
        let connection = if shares { format!("{src}-{dst}") } else { String::new() };
        let message = if shares { format!(" id {} msg", src * hosts + dst) } else { String::new() };
        lines.push(match format {
            0 if waits => {
                let begin = if place == 0 { format!("{us},") } else { format!(",f{}", place - 1) };
                format!("{begin},{src},{dst},{bytes},{connection},f{place}")
            }
            0 => format!("{us},{src},{dst},{bytes},{connection}"),
            1 => format!("{src} {dst} 3 100 {bytes} {s:.6}"),
            2 => format!("{s:.6} {src} {dst} {bytes}"),
            _ if waits => {
                let begin = if place == 0 { "start 0".into() } else { format!("trigger {place}") };
                let pull = if place + 1 < count {
                    format!(" recv_done_trigger {}", place + 1)
                } else {
                    String::new()
                };
                format!("{src}->{dst} {begin} size {bytes}{message}{pull}")
            }
            _ => format!("{src}->{dst} start 0 size {bytes}{message}"),
        });
    }
    let head = match format {
        0 if waits => "start_us,after,src,dst,size_bytes,connection,name\n".into(),
        0 => "start_us,src,dst,size_bytes,connection\n".into(),
        1 => format!("{count}\n"),
        2 => String::new(),
        _ => format!("Nodes {hosts}\nConnections {count}\n"),
    };
    if format == 3 && waits {
        let kind = if draw.chance(50) { "oneshot" } else { "barrier count 1" };
        lines.extend((1..count).map(|id| format!("trigger id {id} {kind}")));
    }
    head + &lines.join("\n") + "\n"
}

/// Draws a distribution of sizes.
pub fn sizes(draw: &mut Draw) -> String {
    let (mut text, mut bytes, mut share) = (String::from("bytes,cumulative_probability\n"), 1, 0.0);
    for _ in 0..draw.within(0, 4) {
        bytes += draw.scale(1, 20_000);
        share += (1.0 - share) * draw.unit();
        let _ = writeln!(text, "{bytes},{share}");
    }
    let _ = writeln!(text, "{},1", bytes + draw.scale(1, 50_000));
    text
}
