//! Parameters of transports, shapes of networks and tables of scenario files, each declared once.
//!
//! One declaration gives the struct, the reader, the limits, the defaults and the documentation. Everything that a user
//! can set goes through this crate, so that a value is read, refused and written in one way wherever it stands.
//!
//! | item | what it is |
//! |---|---|
//! | [`declare!`] | declares a set of fields, which may include the fields of another set |
//! | [`Declared`] | what such a set can do: read itself, set one field, write itself |
//! | [`Spec`] | what is known of one field: name, documentation, default, limits, source |
//! | [`Form`] | a way to write a value, for programs that check or complete scenario files |
//! | [`Field`] | a type that a field can have; [`choice!`] declares one that is one of a few words |
//! | [`Auto`], [`Option`] | a value that the transport may choose; a value that may be absent |
//! | [`Profile`] | a named set of values, such as those of a reference implementation |
//! | [`Value`] | a value as a user wrote it |
//! | [`parse_toml`] | reads a TOML file into values that know their line |
#![forbid(unsafe_code)]

mod auto;
mod choice;
mod declared;
mod document;
mod error;
mod field;
mod form;
mod macros;
mod spec;
#[cfg(test)]
mod tests;
mod text;
mod value;

pub use auto::Auto;
pub use declared::{Declared, Given, Member, Members, Profile, fill, list, set_field};
pub use document::{SyntaxError, override_value, parse_toml};
pub use error::Error;
pub use field::{Field, Slot, scalar, without_value};
pub use form::{Form, TableKey};
pub use spec::{Change, Group, Part, REQUIRED, Spec, count, forms_of, join, told};
pub use text::{one_line, quoted, range, suggestion};
pub use value::{Entry, Node, Place, Value};
