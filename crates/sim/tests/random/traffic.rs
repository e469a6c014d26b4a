//! Traffic entries.

use super::scenario::{Maker, has_credits, keys, named, parameters};
use super::values::Scope;
use super::{Draw, World, files};
use clearway_proto::TransportInfo;
use clearway_schema::{Form, Spec};
use clearway_sim::scenario::KindInfo;

/// The keys of traffic that go with a file.
const OF_FILES: [&str; 6] = ["path", "cdf", "hash", "cdf_hash", "start_unit", "format"];

/// The keys that exclude each other.
const SIZES: [&str; 3] = ["workload", "size", "total"];

impl Maker<'_> {
    /// Draws a traffic entry of a kind, with a transport of its own or without.
    pub fn traffic(
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
        self.pattern(draw, kind, world);
        self.file(draw, kind, entry, world);
        self.size(draw, kind);
        self.flows(draw, kind, world);
    }

    /// Draws the keys of a kind of traffic.
    fn pattern(&mut self, draw: &mut Draw, kind: &KindInfo, world: &World) {
        let density = [15, 50, 100][draw.below(3) as usize];
        // Of keys that exclude each other one is drawn, but now and then all.
        let size = if draw.chance(3) { None } else { Some(*draw.pick(&SIZES)) };
        let mut written = Vec::new();
        // Few shapes have pairs of their own.
        if has(kind, "pairs") && draw.chance(75) {
            self.lines.push("pairs = \"random\"".into());
            self.lines.push(format!("count = {}", draw.within(1, 16)));
            written.extend(["pairs", "count"]);
        }
        // By default every host has eight tasks, and so 64 flows to every other host.
        if has(kind, "tasks") && draw.chance(95) {
            self.lines.push(format!("tasks = {}", draw.within(1, 2)));
            written.push("tasks");
        }
        let fits = |name: &str| {
            let is_chosen = !SIZES.contains(&name) || size.is_none_or(|size| size == name);
            is_chosen && !written.contains(&name) && !OF_FILES.contains(&name)
        };
        let own = named(kind.keys).filter(|(name, _)| fits(name));
        let lines = keys(draw, own, Scope::Traffic, density, world);
        self.lines.extend(lines);
    }

    /// Draws the file that a kind of traffic names.
    fn file(&mut self, draw: &mut Draw, kind: &KindInfo, entry: usize, world: &mut World) {
        let (key, bytes) = if has(kind, "path") {
            ("path", files::flows(draw, world))
        } else if has(kind, "cdf") && !self.has_size() && draw.chance(70) {
            ("cdf", files::sizes(draw))
        } else {
            return;
        };
        self.lines.push(format!("{key} = \"file{entry}\""));
        world.files.insert(format!("file{entry}"), bytes.into_bytes());
    }

    /// Gives Poisson traffic, which needs one of three keys for sizes, a size where it has none.
    fn size(&mut self, draw: &mut Draw, kind: &KindInfo) {
        if has(kind, "cdf") && !self.has_size() {
            self.lines.push(format!("size = \"{} B\"", draw.scale(1, 200_000)));
        }
    }

    /// Returns whether the traffic entry that is being drawn has a key for sizes.
    fn has_size(&self) -> bool {
        let mut of_entry = self.lines.iter().rev().take_while(|line| *line != "[[traffic]]");
        of_entry.any(|line| ["size =", "cdf =", "workload ="].iter().any(|key| line.starts_with(key)))
    }

    /// Draws for which of those before it a flow of a list waits, if any, and gives it its name.
    fn waiting(&mut self, draw: &mut Draw, place: u64) {
        self.lines.push(format!("name = \"f{place}\""));
        if place == 0 || draw.chance(30) {
            return;
        }
        let [a, b] = [draw.below(place), draw.below(place)];
        let after = if a == b { format!("\"f{a}\"") } else { format!("\"f{a}\", \"f{b}\"") };
        self.lines.push(format!("after = [{after}]"));
        if draw.chance(50) {
            self.lines.push(format!("pause = \"{} ns\"", draw.scale(1, 100_000)));
        }
        if draw.chance(50) {
            let done = if draw.chance(50) { "delivered" } else { "acknowledged" };
            self.lines.push(format!("done = \"{done}\""));
        }
    }

    /// Draws the flows of a list.
    fn flows(&mut self, draw: &mut Draw, kind: &KindInfo, world: &World) {
        let is_list = |spec: &Spec| (spec.forms)() == [Form::Elsewhere("tables")];
        if !kind.keys.iter().any(is_list) {
            return;
        }
        // Messages of a connection have the same ends, and flows that wait for others no start; both have a size.
        let (shares, waits) = (draw.chance(30), draw.chance(20));
        for place in 0..draw.within(1, 8) {
            self.lines.push("[[traffic.list]]".into());
            let fits = |name: &str| {
                let drawn_below = ["connection", "name", "after", "pause", "done"].contains(&name)
                    || shares && ["src", "dst"].contains(&name)
                    || (shares || waits) && ["size", "stop"].contains(&name)
                    || waits && name == "start";
                !drawn_below
            };
            let own = self.keys_of("traffic.list").filter(|(name, _)| fits(name));
            let lines = keys(draw, own, Scope::Traffic, 50, world);
            self.lines.extend(lines);
            if shares {
                let src = draw.below(2);
                let dst = 1 - src;
                self.lines.push(format!("src = {src}\ndst = {dst}\nconnection = \"of {src}\""));
            }
            if shares || waits {
                self.lines.push(format!("size = \"{} B\"", draw.scale(1, 100_000)));
            }
            if waits {
                self.waiting(draw, place);
            }
        }
    }
}

/// Returns whether a kind of traffic has a key.
fn has(kind: &KindInfo, name: &str) -> bool {
    kind.keys.iter().any(|spec| spec.name == name)
}
