//! The trait of a declared set of fields.

use crate::error::Error;
use crate::field::Slot;
use crate::spec::{Group, Part, REQUIRED, Spec};
use crate::value::Value;
use std::borrow::Cow;
use std::fmt;

/// A set of fields. [`declare!`](crate::declare!) implements it.
pub trait Declared: Members + Clone + fmt::Debug {
    /// The documentation of the set.
    const DOC: &'static str;
    /// The fields by their origin: declared here, or included from another set.
    const PARTS: &'static [Part];
    /// The fields that users see, in order of declaration.
    const SPECS: &'static [Spec];

    /// Returns a set whose fields have no sensible values yet.
    fn blank() -> Self;

    /// Makes a set from the values that `given` returns by field; fields without a value have their defaults.
    ///
    /// # Errors
    /// The first field that is missing, can't be read or is out of range.
    fn read(given: Given<'_, '_>) -> Result<Self, Error> {
        let mut set = Self::blank();
        fill(&mut set, given)?;
        Ok(set)
    }

    /// Sets one field.
    ///
    /// # Errors
    /// No field has that name, or the value is not one for it.
    fn set(&mut self, name: &str, value: impl Into<Value>) -> Result<(), Error> {
        set_field(self, Self::SPECS, name, &value.into())
    }

    /// Returns all fields that users see with their values in TOML. Absent values are left out.
    fn write(&self) -> Vec<(&'static str, String)> {
        list(&mut self.clone())
    }

    /// Returns the error that refuses `name`, which is no field.
    fn unknown(name: &str) -> Error {
        unknown(Self::SPECS, name)
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

/// The values given to a set, by the name of the field.
pub type Given<'a, 'v> = &'a dyn Fn(&str) -> Option<Cow<'v, Value>>;

/// A field or a group in its place in a set.
pub enum Member<'a> {
    /// A field.
    Field(&'a mut dyn Slot),
    /// The fields of another set, which this one includes.
    Group(&'a mut dyn Members),
}

/// The members of a set.
///
/// Functions on sets take this trait as an object. So their code is there once, and not once for each of the many sets:
/// it runs a few times when a scenario is read, and in the browser its bytes count.
pub trait Members {
    /// [`Declared::PARTS`].
    fn parts(&self) -> &'static [Part];
    /// Returns the members in the order of the parts.
    fn members(&mut self) -> Vec<Member<'_>>;
}

/// The members of a set with what is known of them.
enum Known<'a> {
    Field(&'static Spec, &'a mut dyn Slot),
    Group(&'static Group, &'a mut dyn Members),
}

fn known(set: &mut dyn Members) -> Vec<Known<'_>> {
    let (parts, mut members) = (set.parts(), set.members().into_iter());
    let mut all = Vec::new();
    for part in parts {
        match part {
            Part::Own(specs) => {
                all.extend(specs.iter().zip(&mut members).map(|(spec, member)| match member {
                    Member::Field(field) => Known::Field(spec, field),
                    Member::Group(_) => unreachable!("members stand in the order of the parts"),
                }))
            }
            Part::Group(group) => match members.next() {
                Some(Member::Group(included)) => all.push(Known::Group(group, included)),
                _ => unreachable!("members stand in the order of the parts"),
            },
        }
    }
    all
}

/// Gives all fields of a set the values that `given` returns by field, or their defaults.
///
/// # Errors
/// As of [`Declared::read`].
pub fn fill(set: &mut dyn Members, given: Given<'_, '_>) -> Result<(), Error> {
    for member in known(set) {
        match member {
            Known::Field(spec, field) => read_field(field, spec, given(spec.name).as_deref())?,
            // Fields that users don't see have their defaults.
            Known::Group(group, included) => fill(included, &|name| {
                let given = if group.shows(name) { given(name) } else { None };
                given.or_else(|| group.default_of(name).map(|text| Cow::Owned(Value::from(text))))
            })?,
        }
    }
    Ok(())
}

/// Reads the value of a field. `None` stands for a value that was not given.
fn read_field(field: &mut dyn Slot, spec: &'static Spec, given: Option<&Value>) -> Result<(), Error> {
    let Some(value) = given else {
        if spec.default == REQUIRED {
            return Err(Error::Missing { name: spec.name, kind: (spec.kind)() });
        }
        if !(spec.default.is_empty() && field.leave_out()) {
            field.read(&Value::from(spec.default), "", "").expect("values in the source are valid");
        }
        return Ok(());
    };
    field.read(value, spec.min, spec.max).map_err(|problem| Error::Value {
        name: spec.name,
        value: value.show(),
        problem,
    })
}

/// Sets one field of a set, whose [`Declared::SPECS`] are `specs`.
///
/// # Errors
/// As of [`Declared::set`].
pub fn set_field(
    set: &mut dyn Members,
    specs: &'static [Spec],
    name: &str,
    value: &Value,
) -> Result<(), Error> {
    for member in known(set) {
        match member {
            Known::Field(spec, field) if spec.name == name => return read_field(field, spec, Some(value)),
            Known::Group(group, included) if group.shows(name) => {
                return set_field(included, group.specs, name, value);
            }
            _ => {}
        }
    }
    Err(unknown(specs, name))
}

/// Lists the fields of a set, as [`Declared::write`].
pub fn list(set: &mut dyn Members) -> Vec<(&'static str, String)> {
    let mut written = Vec::new();
    for member in known(set) {
        match member {
            Known::Field(spec, field) => written.extend(field.write().map(|value| (spec.name, value))),
            Known::Group(group, included) => written.extend(group.choose(list(included))),
        }
    }
    written
}

fn unknown(specs: &[Spec], name: &str) -> Error {
    let known: Vec<&str> = specs.iter().map(|spec| spec.name).collect();
    Error::Unknown { name: name.into(), known: known.join(", ") }
}

impl Group {
    /// Of the written fields of the other set, those that users see, in the order in which they see them.
    fn choose(&self, mut written: Vec<(&'static str, String)>) -> Vec<(&'static str, String)> {
        let Some(shown) = self.shown else { return written };
        let take = |name: &&'static str| {
            let at = written.iter().position(|(key, _)| key == name)?;
            Some(written.swap_remove(at))
        };
        shown.iter().filter_map(take).collect()
    }
}
