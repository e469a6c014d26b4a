//! Whole scenarios, drawn table by table.

use super::values::{Scope, value};
use super::{Draw, Files, World, network};
use clearway_proto::{AnyTransport, TRANSPORTS, TransportInfo};
use clearway_schema::{REQUIRED, Spec};
use clearway_sim::scenario::{TableInfo, tables};

/// A scenario that was drawn.
#[derive(Clone)]
pub struct Drawn {
    pub text: String,
    pub files: Files,
}

/// Draws lines for the keys of a table, each with a chance of `density` percent; keys that must be there always.
pub fn keys<'a>(
    draw: &mut Draw,
    named: impl IntoIterator<Item = (&'a str, &'a Spec)>,
    scope: Scope,
    density: u64,
    world: &World,
) -> Vec<String> {
    // Of some tables all values are near their defaults, of others many are at the ends of their ranges.
    let ends = [0, 20, 60][draw.below(3) as usize];
    let mut lines = Vec::new();
    for (name, spec) in named {
        if spec.default == REQUIRED || draw.chance(density) {
            let drawn = value(draw, spec, scope, ends, world);
            lines.extend(drawn.map(|value| format!("{name} = {value}")));
        }
    }
    lines
}

/// The keys of a declaration with their names.
pub fn named(specs: &[Spec]) -> impl Iterator<Item = (&str, &Spec)> {
    specs.iter().map(|spec| (spec.name, spec))
}

impl Drawn {
    /// Draws the scenario of a case.
    pub fn new(draw: &mut Draw) -> Drawn {
        let mut world = World { stop: draw.scale(10_000_000, 20_000_000_000), ..World::default() };
        let all = tables();
        let mut maker = Maker { all: &all, lines: Vec::new() };
        maker.root(draw, &world);
        let topology = network::topology(draw, &mut world);
        maker.lines.extend(topology);
        maker.lists(draw, "link", Scope::Topology, &world);
        maker.transport_and_traffic(draw, &mut world);
        for path in ["fault", "loss", "sample", "trace"] {
            maker.lists(draw, path, Scope::Other, &world);
        }
        maker.single(draw, "measure", &world);
        Drawn { text: maker.lines.join("\n") + "\n", files: world.files }
    }
}

/// The lines of a scenario that is being drawn.
pub struct Maker<'a> {
    all: &'a [TableInfo],
    pub lines: Vec<String>,
}

impl<'a> Maker<'a> {
    fn table(&self, path: &str) -> &'a TableInfo {
        self.all.iter().find(|table| table.path == path).expect("the table is listed")
    }

    /// The keys of a table with their names, which differ from those of the constants of port mechanisms.
    pub fn keys_of(&self, path: &str) -> impl Iterator<Item = (&'a str, &'a Spec)> + use<'a> {
        self.table(path).keys.iter().map(|key| (key.name.as_str(), &key.spec))
    }

    fn root(&mut self, draw: &mut Draw, world: &World) {
        let keeps = draw.chance(4);
        let others = self.keys_of("").filter(|(name, _)| keeps || *name != "stop");
        let lines = keys(draw, others, Scope::Other, 60, world);
        self.lines.extend(lines);
        if !keeps {
            self.lines.push(format!("stop = \"{} ps\"", world.stop));
        }
    }

    /// Draws a table that a file has once, or leaves it out.
    fn single(&mut self, draw: &mut Draw, path: &str, world: &World) {
        let density = [0, 12, 40, 100][draw.below(4) as usize];
        if density == 0 {
            return;
        }
        self.lines.push(format!("[{path}]"));
        let lines = keys(draw, self.keys_of(path), Scope::Other, density, world);
        self.lines.extend(lines);
    }

    /// Draws a list of tables, most often none.
    fn lists(&mut self, draw: &mut Draw, path: &str, scope: Scope, world: &World) {
        let count = [0, 0, 0, 1, 1, 2, 3][draw.below(7) as usize];
        for _ in 0..count {
            self.lines.push(format!("[[{path}]]"));
            let density = [50, 80, 100][draw.below(3) as usize];
            // A series is one of traffic or one of ports, and the direction of all links means nothing.
            let unwanted = if draw.chance(95) {
                draw.pick(&[&["traffic", "direction"], &["ports", "direction"]])
            } else {
                &[""; 2]
            };
            // A link fails, or a switch; or it becomes slower, which nobody notices.
            let fails = if draw.chance(75) { "link" } else { "switch" };
            let idle = if draw.chance(40) { "noticed" } else { "rate" };
            let is_drawn = |name: &str| match path {
                "trace" => true,
                "fault" => {
                    !["link", "switch", idle].contains(&name) && (fails == "link" || name != "direction")
                }
                _ => !unwanted.contains(&name),
            };
            let named = self.keys_of(path).filter(|(name, _)| is_drawn(name));
            let mut lines = keys(draw, named, scope, density, world);
            if path == "fault" {
                let (name, spec) =
                    self.keys_of(path).find(|(name, _)| *name == fails).expect("a key of faults");
                lines.extend(value(draw, spec, scope, 0, world).map(|value| format!("{name} = {value}")));
            }
            self.lines.extend(lines);
        }
    }

    /// Draws the transports, then the ports that they use, then the traffic.
    fn transport_and_traffic(&mut self, draw: &mut Draw, world: &mut World) {
        let count = [1, 1, 1, 2, 3, 4][draw.below(6) as usize];
        world.traffic = (0..count).map(|entry| format!("t{entry}")).collect();
        // Switches trim where all transports of a class know of it, which those of all would seldom be.
        let trim = draw.chance(20);
        let pool: Vec<&TransportInfo> = TRANSPORTS.iter().filter(|info| !trim || trims(info)).collect();
        let default = *draw.pick(&pool);
        // One transport in all traffic, or some of the entries have their own.
        let own: Vec<Option<&TransportInfo>> =
            (0..count).map(|_| draw.chance(40).then(|| *draw.pick(&pool))).collect();
        let is_used = own.iter().any(Option::is_none) || draw.chance(2);
        let used = own.iter().flatten().copied().chain(is_used.then_some(default));
        world.transports = used.collect();
        self.single(draw, "network", world);
        self.ports(draw, world);
        self.single(draw, "host", world);
        if is_used {
            self.lines.push("[transport]".into());
            let parameters = parameters(draw, default, world);
            self.lines.extend(parameters);
        }
        let kinds = self.table("traffic").kinds;
        for (entry, own) in own.into_iter().enumerate() {
            let kind = draw.pick(kinds);
            self.traffic(draw, kind, own, entry, world);
        }
    }
}

/// Returns whether a transport with its default parameters uses credits.
pub fn has_credits(info: &TransportInfo) -> bool {
    AnyTransport::by_name(info.name).is_some_and(|transport| transport.needs().credits.is_some())
}

/// Returns whether a transport with its default parameters asks switches to trim.
pub fn trims(info: &TransportInfo) -> bool {
    AnyTransport::by_name(info.name).is_some_and(|transport| transport.needs().trimming.is_some())
}

/// Draws the lines of a transport: its name, perhaps a profile, and none, some or all of its parameters.
pub fn parameters(draw: &mut Draw, info: &TransportInfo, world: &World) -> Vec<String> {
    let mut lines = vec![format!("name = \"{}\"", info.name)];
    if !info.profiles.is_empty() && draw.chance(20) {
        lines.push(format!("profile = \"{}\"", draw.pick(info.profiles).name));
    }
    let density = [0, 15, 50, 100][draw.below(4) as usize];
    lines.extend(keys(draw, named(info.params), Scope::Other, density, world));
    lines
}
