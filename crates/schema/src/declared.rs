//! The trait of a declared set of fields.

use crate::error::Error;
use crate::field::Field;
use crate::spec::{Group, Part, REQUIRED, Spec, range};
use crate::value::Value;
use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;

/// A set of fields. [`declare!`](crate::declare!) implements it.
pub trait Declared: Clone + fmt::Debug + Sized {
    /// The documentation of the set.
    const DOC: &'static str;
    /// The fields by their origin: declared here, or included from another set.
    const PARTS: &'static [Part];
    /// The fields that users see, in order of declaration.
    const SPECS: &'static [Spec];

    /// Makes a set from the values that `given` returns by field; fields without a value have their defaults.
    ///
    /// # Errors
    /// The first field that is missing, can't be read or is out of range.
    fn read<'v>(given: &dyn Fn(&str) -> Option<Cow<'v, Value>>) -> Result<Self, Error>;

    /// Sets one field.
    ///
    /// # Errors
    /// No field has that name, or the value is not one for it.
    fn set(&mut self, name: &str, value: impl Into<Value>) -> Result<(), Error> {
        self.set_value(name, &value.into())
    }

    /// Sets one field, as [`Declared::set`].
    ///
    /// # Errors
    /// As of [`Declared::set`].
    fn set_value(&mut self, name: &str, value: &Value) -> Result<(), Error>;

    /// All fields that users see with their values in TOML. Absent values are left out.
    fn write(&self) -> Vec<(&'static str, String)>;

    /// The error that refuses `name`, which is no field.
    fn unknown(name: &str) -> Error {
        let known: Vec<&str> = Self::SPECS.iter().map(|spec| spec.name).collect();
        Error::Unknown { name: name.into(), known: known.join(", ") }
    }
}

/// A named set of values, such as those of a reference implementation.
#[derive(Clone, Copy, Debug)]
pub struct Profile {
    /// The name, given as `profile = "..."`.
    pub name: &'static str,
    /// The origin of the values, and their use.
    pub doc: &'static str,
    /// The fields that it sets, with values as written in a scenario file.
    pub values: &'static [(&'static str, &'static str)],
}

/// Reads a default or a limit.
#[inline(never)]
fn of_source<T: Field>(text: &str) -> T {
    T::read(&Value::from(text)).expect("values in the source are valid")
}

/// Reads a value for the field `spec` and holds it against the limits. `None` stands for a value that was not given.
///
/// This code, and that which follows, is there once for each type of values. Copies in each of the many sets would make
/// programs larger and nothing faster.
#[inline(never)]
pub fn read_field<T: Field>(spec: &'static Spec, given: Option<&Value>) -> Result<T, Error> {
    let Some(value) = given else {
        if spec.default == REQUIRED {
            return Err(Error::Missing { name: spec.name, kind: (spec.kind)() });
        }
        return Ok(match T::absent() {
            Some(absent) if spec.default.is_empty() => absent,
            _ => of_source(spec.default),
        });
    };
    let fail = |problem| Error::Value { name: spec.name, value: value.show(), problem };
    let read = T::read(value).map_err(fail)?;
    let is_beyond = |limit: &str, beyond: Ordering| {
        !limit.is_empty() && read.order(&of_source(limit)).is_some_and(|order| order == beyond)
    };
    if is_beyond(spec.min, Ordering::Less) || is_beyond(spec.max, Ordering::Greater) {
        return Err(fail(format!("must be {}", range(spec.min, spec.max))));
    }
    Ok(read)
}

/// Adds a field with its value in TOML to a list; an absent value is left out.
#[inline(never)]
pub fn write_field<T: Field>(written: &mut Vec<(&'static str, String)>, name: &'static str, field: &T) {
    written.extend(field.write().map(|value| (name, value)));
}

/// Reads the fields of a set in their order, for the code that [`declare!`](crate::declare!) writes.
pub struct Reader<'a, 'v> {
    parts: std::slice::Iter<'static, Part>,
    own: std::slice::Iter<'static, Spec>,
    given: &'a dyn Fn(&str) -> Option<Cow<'v, Value>>,
}

impl<'a, 'v> Reader<'a, 'v> {
    /// A reader of the fields of `parts`.
    pub fn new(parts: &'static [Part], given: &'a dyn Fn(&str) -> Option<Cow<'v, Value>>) -> Reader<'a, 'v> {
        Reader { parts: parts.iter(), own: [].iter(), given }
    }

    /// Reads the next field that the set declares itself.
    #[inline(never)]
    pub fn field<T: Field>(&mut self) -> Result<T, Error> {
        loop {
            if let Some(spec) = self.own.next() {
                return read_field(spec, (self.given)(spec.name).as_deref());
            }
            match self.parts.next() {
                Some(Part::Own(specs)) => self.own = specs.iter(),
                _ => unreachable!("the fields stand in the order of the parts"),
            }
        }
    }

    /// Reads the next set that is included. Fields that users don't see have their defaults.
    #[inline(never)]
    pub fn group<T: Declared>(&mut self) -> Result<T, Error> {
        let group: &Group = loop {
            match self.parts.next() {
                Some(Part::Group(group)) => break group,
                Some(Part::Own(_)) => {}
                None => unreachable!("the groups stand in the order of the parts"),
            }
        };
        T::read(&|name| {
            let given = if group.shows(name) { (self.given)(name) } else { None };
            given.or_else(|| group.default_of(name).map(|text| Cow::Owned(Value::from(text))))
        })
    }
}

impl Group {
    /// The values of an included set that users see, in TOML and in the order in which they see them.
    pub fn write(&self, included: &impl Declared) -> Vec<(&'static str, String)> {
        let mut written = included.write();
        match self.shown {
            None => written,
            Some(shown) => {
                let mut take = |name: &&'static str| {
                    let at = written.iter().position(|(key, _)| key == name)?;
                    Some(written.swap_remove(at))
                };
                shown.iter().filter_map(&mut take).collect()
            }
        }
    }
}
