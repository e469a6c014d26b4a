//! The table of the network, drawn by shape, and the names in the network that it describes.

use super::scenario::{keys, named};
use super::values::Scope;
use super::{Draw, Files, World, files};
use clearway_sim::scenario::{KindInfo, Overrides, Scenario, tables};
use clearway_topology::Topology;
use std::sync::Arc;

/// The largest network that is drawn often.
const HOSTS_OFTEN: usize = 40;
/// The largest network that is drawn at all.
const HOSTS_MAX: usize = 400;

/// Draws the table `[topology]`, and enters the names of hosts and links, and a file that the table names, into `world`.
pub fn topology(draw: &mut Draw, world: &mut World) -> Vec<String> {
    let all = tables();
    let shapes = all.iter().find(|table| table.path == "topology").expect("a scenario has a network").kinds;
    for attempt in 0.. {
        let shape = draw.pick(shapes);
        let (lines, files) = table(draw, shape, world);
        match built(&lines, &files) {
            Some(network) if network.hosts() <= HOSTS_OFTEN || network_is_wanted(draw, &network) => {
                enter(world, &network, files);
                return lines;
            }
            // Now and then one that is refused stays.
            None if draw.chance(5) || attempt == 100 => {
                world.files = files;
                return lines;
            }
            _ => {}
        }
    }
    unreachable!("attempts have no end")
}

/// Returns whether a large network is drawn: seldom, since its runs are long.
fn network_is_wanted(draw: &mut Draw, network: &Topology) -> bool {
    network.hosts() <= HOSTS_MAX && draw.chance(5)
}

fn table(draw: &mut Draw, shape: &KindInfo, world: &World) -> (Vec<String>, Files) {
    let mut lines = vec!["[topology]".to_owned(), format!("kind = \"{}\"", shape.name)];
    let mut files = Files::new();
    if shape.keys.iter().any(|key| key.name == "path") {
        lines.push("path = \"network\"".into());
        files.insert("network".into(), files::network(draw, shape.name).into_bytes());
    } else {
        let density = [20, 60, 100][draw.below(3) as usize];
        lines.extend(keys(draw, named(shape.keys), Scope::Topology, density, world));
    }
    (lines, files)
}

/// Returns the network that a table describes, unless it is refused.
fn built(lines: &[String], files: &Files) -> Option<Arc<Topology>> {
    let rest = "[[traffic]]\nkind = \"permutation\"\nsize = \"1 B\"\ntransport = \"blast\"\n";
    let text = format!("{}\n{rest}", lines.join("\n"));
    let overrides = Overrides { memory: Some(50_000_000), ..Overrides::default() };
    Some(Scenario::parse(&text, "network", files, &overrides).ok()?.model.topology)
}

fn enter(world: &mut World, network: &Topology, files: Files) {
    let name = |node| network.name(node).to_owned();
    world.hosts = (0..network.hosts()).map(|host| name(clearway_topology::NodeId(host as u32))).collect();
    world.links = network.ports().iter().step_by(2).map(|port| [name(port.from), name(port.to)]).collect();
    world.files = files;
}
