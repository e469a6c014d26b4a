//! The description of fields, and the inclusion of the fields of one set in another. All of it is computed by the
//! compiler: an include that names a field which its group lacks does not compile.

use crate::field::Field;
use crate::form::Form;
use crate::text::range;

/// The default of a field that must be given.
pub const REQUIRED: &str = "required";

/// True where only scenarios are read: the page in the browser writes no reference, and everybody who opens it loads every
/// byte of it.
const READS_ALONE: bool = cfg!(target_family = "wasm");

/// Returns a text of the reference, which is left out where nobody can read it.
pub const fn told(text: &'static str) -> &'static str {
    if READS_ALONE { "" } else { text }
}

/// Returns the forms in which values of a type may be written, which are left out likewise.
pub const fn forms_of<T: Field>() -> fn() -> Vec<Form> {
    if READS_ALONE { Vec::new } else { T::forms }
}

/// The description of one field.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    /// The name of the field, as in scenario files.
    pub name: &'static str,
    /// The documentation of the field.
    pub doc: &'static str,
    /// Says how a value is written: "number", "time", "rate", ...
    pub kind: fn() -> String,
    /// The forms in which a value may be written.
    pub forms: fn() -> Vec<Form>,
    /// The default as written in a scenario file; empty for a field that may be absent, or [`REQUIRED`].
    pub default: &'static str,
    /// The least value allowed, or empty.
    pub min: &'static str,
    /// The largest value allowed, or empty.
    pub max: &'static str,
    /// The unit of a plain number, such as "segments"; empty where the kind of value names its unit.
    pub unit: &'static str,
    /// The origin of the default: paper and section, RFC, or "our choice" with the reason; empty where the default
    /// needs none.
    pub source: &'static str,
}

impl Spec {
    const BLANK: Spec = Spec {
        name: "",
        doc: "",
        kind: String::new,
        forms: Vec::new,
        default: "",
        min: "",
        max: "",
        unit: "",
        source: "",
    };

    /// Returns the limits in words, or an empty text if there are none.
    pub fn range(&self) -> String {
        range(self.min, self.max)
    }

    /// Returns the kind of value, with the unit of a plain number.
    pub fn kind_and_unit(&self) -> String {
        let kind = (self.kind)();
        if self.unit.is_empty() { kind } else { format!("{kind} ({})", self.unit) }
    }
}

/// A part of a set of fields: fields of its own, or the fields of another set.
#[derive(Clone, Copy, Debug)]
pub enum Part {
    /// Fields that the set declares itself.
    Own(&'static [Spec]),
    /// Fields of another set.
    Group(Group),
}

/// The fields of another set, as far as users see them, and what differs from their declaration.
#[derive(Clone, Copy, Debug)]
pub struct Group {
    /// All fields of the other set.
    pub specs: &'static [Spec],
    /// The names of the fields that users see; `None`: all.
    pub shown: Option<&'static [&'static str]>,
    /// The differences, for fields that users see and for those that they don't.
    pub changes: &'static [Change],
}

/// The differences from the declaration of a field where a set includes it. Empty texts change nothing.
#[derive(Clone, Copy, Debug)]
pub struct Change {
    /// The name of the field.
    pub name: &'static str,
    /// Another documentation.
    pub doc: &'static str,
    /// Another default.
    pub default: &'static str,
    /// Another source of the default.
    pub source: &'static str,
}

impl Group {
    /// Returns true if users see the field.
    pub fn shows(&self, name: &str) -> bool {
        match self.shown {
            Some(shown) => shown.contains(&name),
            None => self.specs.iter().any(|spec| spec.name == name),
        }
    }

    /// Returns the default of the field, if it differs from the declaration.
    pub fn default_of(&self, name: &str) -> Option<&'static str> {
        let change = self.changes.iter().find(|change| change.name == name)?;
        Some(change.default).filter(|default| !default.is_empty())
    }

    const fn len(&self) -> usize {
        match self.shown {
            Some(shown) => shown.len(),
            None => self.specs.len(),
        }
    }

    /// Returns the field that users see at `index`, with its changes.
    const fn spec(&self, index: usize) -> Spec {
        let mut spec = match self.shown {
            Some(shown) => self.specs[position(self.specs, shown[index])],
            None => self.specs[index],
        };
        let mut at = 0;
        while at < self.changes.len() {
            let change = self.changes[at];
            // A change of a field that does not exist fails here.
            position(self.specs, change.name);
            if same(change.name, spec.name) {
                spec.doc = if change.doc.is_empty() { spec.doc } else { change.doc };
                spec.default = if change.default.is_empty() { spec.default } else { change.default };
                spec.source = if change.source.is_empty() { spec.source } else { change.source };
            }
            at += 1;
        }
        spec
    }
}

/// Returns the place of the field `name`.
const fn position(specs: &[Spec], name: &str) -> usize {
    let mut at = 0;
    while at < specs.len() {
        if same(specs[at].name, name) {
            return at;
        }
        at += 1;
    }
    panic!("the group has no field of this name")
}

/// Returns true if two texts are equal, at compile time.
const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return false;
    }
    let mut at = 0;
    while at < a.len() {
        if a[at] != b[at] {
            return false;
        }
        at += 1;
    }
    true
}

/// Returns the number of fields of these parts that users see.
pub const fn count(parts: &[Part]) -> usize {
    let (mut at, mut sum) = (0, 0);
    while at < parts.len() {
        sum += match &parts[at] {
            Part::Own(specs) => specs.len(),
            Part::Group(group) => group.len(),
        };
        at += 1;
    }
    sum
}

/// Returns the fields that users see of these parts, in their order. Two of the same name do not compile.
pub const fn join<const N: usize>(parts: &[Part]) -> [Spec; N] {
    let mut all = [Spec::BLANK; N];
    let (mut part, mut at) = (0, 0);
    while part < parts.len() {
        let mut index = 0;
        let len = count(&[parts[part]]);
        while index < len {
            all[at] = match &parts[part] {
                Part::Own(specs) => specs[index],
                Part::Group(group) => group.spec(index),
            };
            let mut earlier = 0;
            while earlier < at {
                assert!(!same(all[earlier].name, all[at].name), "two fields have one name");
                earlier += 1;
            }
            at += 1;
            index += 1;
        }
        part += 1;
    }
    all
}
