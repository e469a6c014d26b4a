//! The keys of a scenario file, declared once: these lines are the reader, the limits, the defaults, the list that an
//! unknown key is held against, and `docs/scenario.md`.

use super::document::{Document, Path, Value};
use super::error::ScenarioError;
use super::field::Field;
use std::cmp::Ordering;

/// The default of a key that must be there.
pub(super) const REQUIRED: &str = "required";
/// The default of a key that may be left out.
const NONE: &str = "";

/// What is known of a key.
pub(super) struct KeySpec {
    pub name: &'static str,
    pub doc: &'static str,
    pub kind: fn() -> String,
    pub default: &'static str,
    pub min: &'static str,
    pub max: &'static str,
}

/// A table of the schema.
pub(super) trait Table: Sized {
    /// What it describes.
    const DOC: &'static str;
    const KEYS: &'static [KeySpec];
    /// Reads the keys of the table at `at`.
    fn read(document: &Document, at: &Path) -> Result<Self, ScenarioError>;
    /// Its keys with their values in TOML.
    fn write(&self) -> Vec<(&'static str, String)>;
}

/// Reads one key and holds it against its limits.
fn read_key<T: Field>(document: &Document, at: &Path, spec: &KeySpec) -> Result<T, ScenarioError> {
    let path = at.key(spec.name);
    let source = |text| T::read(&Value::of_source(text)).expect("the schema's own values are valid");
    let Some(node) = document.get(&path) else {
        if spec.default == REQUIRED {
            return Err(document.error(&path, format!("is missing; write {}", (spec.kind)())));
        }
        return Ok(T::absent().unwrap_or_else(|| source(spec.default)));
    };
    let value = T::read(&node.value).map_err(|problem| document.error(&path, problem))?;
    let below = !spec.min.is_empty() && value.order(&source(spec.min)) == Some(Ordering::Less);
    let above = !spec.max.is_empty() && value.order(&source(spec.max)) == Some(Ordering::Greater);
    if below || above {
        return Err(document.error(&path, format!("must be {}", range(spec.min, spec.max))));
    }
    Ok(value)
}

/// Limits in words.
pub(super) fn range(min: &str, max: &str) -> String {
    match (min, max) {
        (min, "") => format!("at least {min}"),
        ("", max) => format!("at most {max}"),
        (min, max) => format!("from {min} to {max}"),
    }
}

macro_rules! table {
    (
        $(#[doc = $table_doc:literal])+
        $Table:ident {$(
            $(#[doc = $doc:literal])+
            $name:ident : $ty:ty = $default:expr $(, $min:literal to $max:literal)?;
        )*}
    ) => {
        $(#[doc = $table_doc])+
        #[derive(Clone, Debug)]
        pub struct $Table {$(pub $name: $ty,)*}

        impl Table for $Table {
            const DOC: &'static str = concat!($($table_doc),+);
            const KEYS: &'static [KeySpec] = &[$(KeySpec {
                name: stringify!($name),
                doc: concat!($($doc),+),
                kind: <$ty as Field>::kind,
                default: $default,
                min: concat!("" $(, $min)?),
                max: concat!("" $(, $max)?),
            },)*];

            fn read(document: &Document, at: &Path) -> Result<$Table, ScenarioError> {
                let mut specs = Self::KEYS.iter();
                Ok($Table {$($name: {
                    let spec = specs.next().expect("one specification a key");
                    read_key::<$ty>(document, at, spec)?
                },)*})
            }

            fn write(&self) -> Vec<(&'static str, String)> {
                let written = [$((stringify!($name), self.$name.write())),*];
                written.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
            }
        }
    };
}
// After the macro, which they use.
mod network;
mod shapes;
mod traffic;

pub(super) use network::*;
pub(super) use shapes::*;
pub(super) use traffic::*;
