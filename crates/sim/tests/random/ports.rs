//! The table `[switch]` and its classes.

use super::scenario::{Maker, keys};
use super::values::Scope;
use super::{Draw, World};
use clearway_proto::TRANSPORTS;
use clearway_schema::Spec;

/// Groups of keys, each with the line beside which its keys mean something.
const GROUPS: [(&str, &str); 3] =
    [("pfc", "pfc = true"), ("red", "marking = \"red\""), ("shared", "shared_buffer = \"1 MB\"")];

impl Maker<'_> {
    /// Draws the table `[switch]` with its classes.
    pub fn ports(&mut self, draw: &mut Draw, world: &mut World) {
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
                let joins = draw.chance(25);
                let fits = |name: &str| name != "name" && (name != "at_switches" || joins);
                let others = self.keys_of(path).filter(|(name, _)| fits(name));
                let lines = keys(draw, others, Scope::Other, 20, world);
                self.lines.extend(lines);
            }
        }
    }

    /// Draws the keys of `[switch]`. Most of those that mean something only beside another key, or with some transports,
    /// come where they do.
    fn switch(&mut self, draw: &mut Draw, world: &World) {
        self.lines.push("[switch]".into());
        let chosen = GROUPS.into_iter().filter(|_| draw.chance(25));
        let (groups, written): (Vec<&str>, Vec<&str>) = chosen.unzip();
        self.lines.extend(written.iter().map(|line| line.to_string()));
        let stray = draw.chance(5);
        let fits = |name: &str| {
            let group = name.split('_').next().unwrap_or_default();
            let is_written = written.iter().any(|line| line.starts_with(&format!("{name} =")));
            let has_meaning = match group {
                "credit" => world.has_credits(),
                "trim" => world.trims(),
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

    /// Returns whether a key of `[switch]` belongs to a port mechanism of some transport.
    fn is_of_mechanism(&self, name: &str) -> bool {
        TRANSPORTS.iter().any(|info| info.mechanism.keys().any(|(key, _)| key == name))
    }
}
