//! A scenario file as it was written, whose values know their line. The values of `--set` are written into it.

use super::error::ScenarioError;
use super::names::names_of;
use clearway_schema::{
    Declared, Entry, Error, Members, Node, Place, Spec, Value, fill, one_line, override_value, parse_toml,
    suggestion,
};
use std::borrow::Cow;
use std::fmt::Write;

/// The place of a value: the keys and indices that lead to it from the root.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Path(Vec<Step>);

#[derive(Clone, PartialEq, Eq, Debug)]
enum Step {
    Key(String),
    Index(usize),
}

impl Path {
    pub fn key(&self, key: &str) -> Path {
        let mut path = self.clone();
        path.0.push(Step::Key(key.into()));
        path
    }

    pub fn index(&self, index: usize) -> Path {
        let mut path = self.clone();
        path.0.push(Step::Index(index));
        path
    }
}

/// A scenario file as it was written.
#[derive(Clone, Debug)]
pub(super) struct Document {
    pub origin: String,
    pub root: Node,
}

impl Document {
    /// Reads the text of a TOML file.
    pub fn parse(text: &str, origin: &str) -> Result<Document, ScenarioError> {
        let value = parse_toml(text).map_err(|error| ScenarioError {
            line: Some(error.line),
            ..ScenarioError::file(origin, error.to_string())
        })?;
        let root = Node { place: Place::Line(1), value };
        Ok(Document { origin: origin.into(), root })
    }

    /// Returns the value at `path`, if there is one.
    pub fn get(&self, path: &Path) -> Option<&Node> {
        path.0.iter().try_fold(&self.root, |node, step| match (&node.value, step) {
            (Value::List(items), Step::Index(index)) => items.get(*index),
            (value, Step::Key(key)) => value.get(key),
            _ => None,
        })
    }

    /// Returns the keys of the table at `path`; none if the table is absent.
    pub fn entries(&self, path: &Path) -> &[Entry] {
        match self.get(path).map(|node| &node.value) {
            Some(Value::Table(entries)) => entries,
            _ => &[],
        }
    }

    /// Refuses a value at `path` that is no table.
    pub fn check_table(&self, path: &Path) -> Result<(), ScenarioError> {
        match self.get(path).map(|node| &node.value) {
            None | Some(Value::Table(_)) => Ok(()),
            Some(_) => Err(self.error(path, format!("write a table, under [{}]", self.show_path(path)))),
        }
    }

    /// Returns the number of tables in the list at `path`, and refuses a value that is no list of tables.
    pub fn list_len(&self, path: &Path) -> Result<usize, ScenarioError> {
        match self.get(path).map(|node| &node.value) {
            None => Ok(0),
            Some(Value::List(items)) => {
                match items.iter().position(|item| !matches!(item.value, Value::Table(_))) {
                    Some(at) => Err(self.error(&path.index(at), "write a table here")),
                    None => Ok(items.len()),
                }
            }
            Some(_) => {
                let name = self.show_path(path);
                Err(self.error(path, format!("write a list of tables, each under [[{name}]]")))
            }
        }
    }

    /// Returns the path as users write it, with the entries of a list by their name if they have one.
    pub fn show_path(&self, path: &Path) -> String {
        let (mut text, mut node) = (String::new(), Some(&self.root));
        for step in &path.0 {
            if !text.is_empty() {
                text.push('.');
            }
            node = match (node.map(|node| &node.value), step) {
                (Some(Value::List(items)), Step::Index(index)) => {
                    let item = items.get(*index);
                    let name =
                        item.and_then(|item| item.value.get("name")).and_then(|name| name.value.text());
                    match name {
                        Some(name) => text.push_str(&one_line(name)),
                        None => _ = write!(text, "{index}"),
                    }
                    item
                }
                (value, Step::Key(key)) => {
                    text.push_str(&one_line(key));
                    value.and_then(|value| value.get(key))
                }
                (_, Step::Index(index)) => {
                    let _ = write!(text, "{index}");
                    None
                }
            };
        }
        text
    }

    /// Makes the error that refuses the value at `path`, or its absence.
    pub fn error(&self, path: &Path, problem: impl Into<String>) -> ScenarioError {
        let node = self.get(path);
        let value = node.filter(|node| node.value.is_short()).map(|node| node.value.show());
        self.error_at(path, value, problem)
    }

    fn error_at(&self, path: &Path, value: Option<String>, problem: impl Into<String>) -> ScenarioError {
        // The place of the deepest part of the path that exists.
        let mut place = self.root.place;
        let mut node = &self.root;
        for step in &path.0 {
            let next = match (&node.value, step) {
                (Value::List(items), Step::Index(index)) => items.get(*index).map(|item| (item, item.place)),
                (Value::Table(entries), Step::Key(key)) => {
                    entries.iter().find(|entry| entry.key == *key).map(|entry| (&entry.node, entry.place))
                }
                _ => None,
            };
            let Some((next, at)) = next else { break };
            (node, place) = (next, at);
        }
        let (origin, line) = match place {
            Place::Line(line) => (one_line(&self.origin), Some(line)),
            Place::Override => ("--set".into(), None),
        };
        ScenarioError { origin, line, key: self.show_path(path), value, problem: one_line(&problem.into()) }
    }

    /// Refuses a key of the table at `path` that is not among the `known` ones.
    pub fn check_keys(&self, path: &Path, known: &[&str]) -> Result<(), ScenarioError> {
        for entry in self.entries(path) {
            if !known.contains(&entry.key.as_str()) {
                let hint = suggestion(&entry.key, known.iter().copied());
                let known = known.join(", ");
                let problem = format!("unknown key{hint} (known: {known})");
                return Err(self.error_at(&path.key(&entry.key), None, problem));
            }
        }
        Ok(())
    }

    /// Reads the keys of the table at `path`.
    pub fn read<T: Declared>(&self, path: &Path) -> Result<T, ScenarioError> {
        let mut table = T::blank();
        self.fill(path, &mut table)?;
        Ok(table)
    }

    /// Gives the keys of a table the values that stand at `path`, or their defaults.
    fn fill(&self, path: &Path, table: &mut dyn Members) -> Result<(), ScenarioError> {
        let given = |key: &str| self.get(&path.key(key)).map(|node| Cow::Borrowed(&node.value));
        fill(table, &given).map_err(|error| match error {
            Error::Missing { name, .. } | Error::Value { name, .. } => {
                self.error(&path.key(name), error.problem())
            }
            Error::Unknown { .. } => self.error(path, error.problem()),
        })
    }

    /// Reads the keys of the table at `path`, and refuses other keys.
    pub fn read_table<T: Declared>(&self, path: &Path) -> Result<T, ScenarioError> {
        self.check_own_keys(path, T::SPECS)?;
        self.read(path)
    }

    /// Refuses keys of the table at `path` that are not declared.
    fn check_own_keys(&self, path: &Path, specs: &[Spec]) -> Result<(), ScenarioError> {
        self.check_table(path)?;
        self.check_keys(path, &specs.iter().map(|key| key.name).collect::<Vec<_>>())
    }

    /// Reads a list of tables, each with its place.
    pub fn read_list<T: Declared>(&self, path: &Path) -> Result<Vec<(Path, T)>, ScenarioError> {
        let count = self.list_len(path)?;
        (0..count).map(|index| path.index(index)).map(|at| Ok((at.clone(), self.read_table(&at)?))).collect()
    }

    /// Writes the value of `text` at `key`, as `--set key=text` asks. Missing tables on the way are made. Entries of a
    /// list are chosen by number or name.
    pub fn set(&mut self, key: &str, text: &str) -> Result<(), ScenarioError> {
        let refuse = |problem: String| ScenarioError {
            key: one_line(key),
            value: Some(Value::Text(text.into()).show()),
            ..ScenarioError::file("--set", problem)
        };
        let value = override_value(text).map_err(refuse)?;
        let steps: Vec<&str> = key.split('.').map(str::trim).collect();
        if steps.len() > 16 || steps.iter().any(|step| step.is_empty()) {
            return Err(refuse("is no key; write one such as switch.buffer or traffic.web.load".into()));
        }
        let (last, way) = steps.split_last().expect("split gives at least one part");
        let mut node = &mut self.root;
        let mut walked = Vec::new();
        for step in way {
            node = child(node, step, &walked).map_err(refuse)?;
            walked.push(*step);
        }
        *child(node, last, &walked).map_err(refuse)? = Node { place: Place::Override, value };
        // The key itself is now an override's too, for messages.
        let parent = way.iter().try_fold(&mut self.root, |node, step| find(node, step));
        if let Some(Node { value: Value::Table(entries), .. }) = parent {
            let entry = entries.iter_mut().find(|entry| entry.key == *last);
            entry.into_iter().for_each(|entry| entry.place = Place::Override);
        }
        Ok(())
    }
}

/// Returns the index of the list entry that `step` names, by number or by name. An entry without a name goes by that
/// which the results have for it.
fn position(items: &[Node], step: &str) -> Option<usize> {
    let by_name = names_of(items).iter().position(|name| name.as_deref() == Some(step));
    by_name.or_else(|| step.parse().ok().filter(|index| *index < items.len()))
}

fn find<'a>(node: &'a mut Node, step: &str) -> Option<&'a mut Node> {
    match &mut node.value {
        Value::Table(entries) => {
            entries.iter_mut().find(|entry| entry.key == step).map(|entry| &mut entry.node)
        }
        Value::List(items) => position(items, step).map(|at| &mut items[at]),
        _ => None,
    }
}

/// Returns the child of `node` that `step` names. A key of a table that is missing is made.
fn child<'a>(node: &'a mut Node, step: &str, walked: &[&str]) -> Result<&'a mut Node, String> {
    let here = walked.join(".");
    // `transport = "dctcp"` is short for a table with that name.
    if let (Value::Text(name), Some(&"transport")) = (&node.value, walked.last()) {
        let name = Node { place: node.place, value: Value::Text(name.clone()) };
        node.value = Value::Table(vec![Entry { key: "name".into(), place: node.place, node: name }]);
    }
    match &mut node.value {
        Value::Table(entries) => {
            let at = entries.iter().position(|entry| entry.key == step).unwrap_or_else(|| {
                let node = Node { place: Place::Override, value: Value::Table(Vec::new()) };
                entries.push(Entry { key: step.into(), place: Place::Override, node });
                entries.len() - 1
            });
            Ok(&mut entries[at].node)
        }
        Value::List(items) => match position(items, step) {
            Some(at) => Ok(&mut items[at]),
            None => {
                let names: Vec<String> = names_of(items).into_iter().flatten().collect();
                let hint = suggestion(step, names.iter().map(String::as_str));
                let some: Vec<&str> = names.iter().map(String::as_str).take(20).collect();
                let known = if some.is_empty() { String::new() } else { format!(" ({})", some.join(", ")) };
                let count = items.len();
                Err(format!("there is no {here} {step:?}{hint}; it has {count} parts, counted from 0{known}"))
            }
        },
        _ => Err(format!("{here:?} is a value and has no keys")),
    }
}
