//! Whole scenarios, drawn table by table.

use super::values::{Scope, value};
use super::{Draw, Files, World, files, network};
use clearway_proto::{AnyTransport, TRANSPORTS, TransportInfo};
use clearway_schema::{Form, REQUIRED, Spec};
use clearway_sim::scenario::{KindInfo, TableInfo, tables};

/// The keys of traffic that go with a file.
const OF_FILES: [&str; 6] = ["path", "cdf", "hash", "cdf_hash", "start_unit", "format"];

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
struct Maker<'a> {
    all: &'a [TableInfo],
    lines: Vec<String>,
}

impl<'a> Maker<'a> {
    fn table(&self, path: &str) -> &'a TableInfo {
        self.all.iter().find(|table| table.path == path).expect("the table is listed")
    }

    /// The keys of a table with their names, which differ from those of the constants of port mechanisms.
    fn keys_of(&self, path: &str) -> impl Iterator<Item = (&'a str, &'a Spec)> + use<'a> {
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
            let named = self.keys_of(path).filter(|(name, _)| path == "trace" || !unwanted.contains(name));
            let lines = keys(draw, named, scope, density, world);
            self.lines.extend(lines);
        }
    }

    /// Draws the transports, then the ports that they use, then the traffic.
    fn transport_and_traffic(&mut self, draw: &mut Draw, world: &mut World) {
        let count = [1, 1, 1, 2, 3, 4][draw.below(6) as usize];
        world.traffic = (0..count).map(|entry| format!("t{entry}")).collect();
        let default = draw.pick(TRANSPORTS);
        // One transport in all traffic, or some of the entries have their own.
        let own: Vec<Option<&TransportInfo>> =
            (0..count).map(|_| draw.chance(40).then(|| draw.pick(TRANSPORTS))).collect();
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

    /// Draws the table `[switch]` with its classes.
    fn ports(&mut self, draw: &mut Draw, world: &mut World) {
        let class = |letter: char, count: u64| (0..count).map(|index| format!("{letter}{index}")).collect();
        let few = |draw: &mut Draw| [0, 0, 0, 1, 2, 3][draw.below(6) as usize];
        world.classes = class('c', few(draw));
        world.credit_classes = if world.has_credits() { class('k', few(draw)) } else { Vec::new() };
        self.switch(draw, world);
        for (path, names) in
            [("switch.class", world.classes.clone()), ("switch.credit_class", world.credit_classes.clone())]
        {
            for name in names {
                self.lines.push(format!("[[{path}]]"));
                self.lines.push(format!("name = \"{name}\""));
                let draw_joins = draw.chance(25);
                let fits = |name: &str| name != "name" && (name != "at_switches" || draw_joins);
                let lines =
                    keys(draw, self.keys_of(path).filter(|(name, _)| fits(name)), Scope::Other, 20, world);
                self.lines.extend(lines);
            }
        }
    }

    /// Draws the keys of `[switch]`. Most of those that mean something only beside another key, or with some transports,
    /// come where they do.
    fn switch(&mut self, draw: &mut Draw, world: &World) {
        self.lines.push("[switch]".into());
        let mut groups: Vec<&str> = Vec::new();
        for (group, line) in
            [("pfc", "pfc = true"), ("red", "marking = \"red\""), ("shared", "shared_buffer = \"1 MB\"")]
        {
            if draw.chance(25) {
                self.lines.push(line.into());
                groups.push(group);
            }
        }
        let written: Vec<String> = self.lines.iter().rev().take(3).cloned().collect();
        let stray = draw.chance(5);
        let fits = |name: &str| {
            let group = name.split('_').next().unwrap_or_default();
            let is_written = written.iter().any(|line| line.starts_with(&format!("{name} =")));
            let has_meaning = match group {
                "credit" => world.has_credits(),
                "red" => groups.contains(&group),
                "pfc" => name == "pfc" || groups.contains(&group),
                "buffer" => !groups.contains(&"pfc"),
                "alpha" => groups.contains(&"shared"),
                _ => world.has_mechanism_key(name) || !self.is_of_mechanism(name),
            };
            !is_written && name != "class" && name != "credit_class" && (stray || has_meaning)
        };
        let density = [0, 10, 30, 100][draw.below(4) as usize];
        let chosen: Vec<(&str, &Spec)> = self.keys_of("switch").filter(|(name, _)| fits(name)).collect();
        let lines = keys(draw, chosen, Scope::Other, density, world);
        self.lines.extend(lines);
    }

    /// Answers whether a key of `[switch]` belongs to a port mechanism of some transport.
    fn is_of_mechanism(&self, name: &str) -> bool {
        TRANSPORTS.iter().any(|info| info.mechanism.keys().any(|(key, _)| key == name))
    }

    fn traffic(
        &mut self,
        draw: &mut Draw,
        kind: &KindInfo,
        own: Option<&TransportInfo>,
        entry: usize,
        world: &mut World,
    ) {
        self.lines.push("[[traffic]]".into());
        self.lines.push(format!("name = \"t{entry}\""));
        self.lines.push(format!("kind = \"{}\"", kind.name));
        if let Some(own) = own {
            let lines = parameters(draw, own, world);
            self.lines.extend(lines.into_iter().map(|line| format!("transport.{line}")));
        }
        let uses_credits =
            own.is_none() && world.has_credits() || own.is_some_and(has_credits) || draw.chance(3);
        let fits = |name: &str| !["kind", "name"].contains(&name) && (uses_credits || name != "credit_class");
        let common = self.keys_of("traffic").filter(|(name, _)| fits(name));
        let lines = keys(draw, common, Scope::Traffic, 20, world);
        self.lines.extend(lines);
        let density = [15, 50, 100][draw.below(3) as usize];
        // Of keys that exclude each other one is drawn, but now and then all.
        let sizes = ["workload", "size", "total"];
        let size = if draw.chance(3) { None } else { Some(*draw.pick(&sizes)) };
        let has_pairs = kind.keys.iter().any(|spec| spec.name == "pairs") && draw.chance(75);
        if has_pairs {
            // Few shapes have pairs of their own.
            self.lines.push(format!("pairs = \"random\"\ncount = {}", draw.within(1, 16)));
        }
        // By default every host has eight tasks, and so 64 flows to every other host.
        let has_tasks = kind.keys.iter().any(|spec| spec.name == "tasks") && draw.chance(95);
        if has_tasks {
            self.lines.push(format!("tasks = {}", draw.within(1, 2)));
        }
        let fits = |name: &str| {
            let is_written = has_pairs && ["pairs", "count"].contains(&name) || has_tasks && name == "tasks";
            !is_written
                && !OF_FILES.contains(&name)
                && (!sizes.contains(&name) || size.is_none_or(|size| size == name))
        };
        let own = named(kind.keys).filter(|(name, _)| fits(name));
        let lines = keys(draw, own, Scope::Traffic, density, world);
        self.lines.extend(lines);
        self.file(draw, kind, entry, world);
        self.size(draw, kind);
        if kind.keys.iter().any(|spec| (spec.forms)() == [Form::Elsewhere("tables")]) {
            for _ in 0..draw.within(1, 8) {
                self.lines.push("[[traffic.list]]".into());
                let lines = keys(draw, self.keys_of("traffic.list"), Scope::Traffic, 50, world);
                self.lines.extend(lines);
            }
        }
    }

    /// Draws the file that a kind of traffic names.
    fn file(&mut self, draw: &mut Draw, kind: &KindInfo, entry: usize, world: &mut World) {
        let has = |name: &str| kind.keys.iter().any(|spec| spec.name == name);
        let (key, bytes) = if has("path") {
            ("path", files::flows(draw, world))
        } else if has("cdf") && !self.has_size() && draw.chance(70) {
            ("cdf", files::sizes(draw))
        } else {
            return;
        };
        self.lines.push(format!("{key} = \"file{entry}\""));
        world.files.insert(format!("file{entry}"), bytes.into_bytes());
    }

    /// Gives Poisson traffic, which needs one of three keys for sizes, a size where it has none.
    fn size(&mut self, draw: &mut Draw, kind: &KindInfo) {
        if kind.keys.iter().any(|spec| spec.name == "cdf") && !self.has_size() {
            self.lines.push(format!("size = \"{} B\"", draw.scale(1, 200_000)));
        }
    }

    /// Answers whether the traffic entry that is being drawn has a key for sizes.
    fn has_size(&self) -> bool {
        let of_entry = self.lines.iter().rev().take_while(|line| *line != "[[traffic]]");
        of_entry
            .into_iter()
            .any(|line| ["size =", "cdf =", "workload ="].iter().any(|key| line.starts_with(key)))
    }
}

/// Answers whether a transport with its default parameters uses credits.
pub fn has_credits(info: &TransportInfo) -> bool {
    AnyTransport::by_name(info.name).is_some_and(|transport| transport.needs().credits.is_some())
}

/// Draws the lines of a transport: its name, perhaps a profile, and none, some or all of its parameters.
fn parameters(draw: &mut Draw, info: &TransportInfo, world: &World) -> Vec<String> {
    let mut lines = vec![format!("name = \"{}\"", info.name)];
    if !info.profiles.is_empty() && draw.chance(20) {
        lines.push(format!("profile = \"{}\"", draw.pick(info.profiles).name));
    }
    let density = [0, 15, 50, 100][draw.below(4) as usize];
    lines.extend(keys(draw, named(info.params), Scope::Other, density, world));
    lines
}
