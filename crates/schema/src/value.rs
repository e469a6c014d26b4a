//! Values as a user wrote them.

use crate::text::one_line;
use std::fmt::Write;

/// The place at which a value was given, for messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// A line of the file, counted from 1.
    Line(usize),
    /// An override beside the file, such as `--set`.
    Override,
}

/// A value and where it was given.
#[derive(Clone, PartialEq, Debug)]
pub struct Node {
    /// The place where the value was given.
    pub place: Place,
    /// The value.
    pub value: Value,
}

/// A key of a table with its value.
#[derive(Clone, PartialEq, Debug)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// The place where the key was given.
    pub place: Place,
    /// The value of the key.
    pub node: Node,
}

/// A value as written, of the types that TOML has.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// A text.
    Text(String),
    /// A whole number.
    Integer(i128),
    /// A number with a point or an exponent.
    Float(f64),
    /// `true` or `false`.
    Bool(bool),
    /// A date, or a number too large for any use.
    Other(String),
    /// A list.
    List(Vec<Node>),
    /// A table, its keys in the order in which they were written.
    Table(Vec<Entry>),
}

impl Value {
    /// Returns the value as it would be written, cut if long.
    pub fn show(&self) -> String {
        let mut text = String::new();
        self.show_into(&mut text);
        text
    }

    fn show_into(&self, out: &mut String) {
        match self {
            Value::Text(text) if text.chars().count() > 60 => {
                let cut: String = text.chars().take(60).collect();
                let _ = write!(out, "{:?}", cut + "...");
            }
            Value::Text(text) => _ = write!(out, "{text:?}"),
            Value::Integer(number) => _ = write!(out, "{number}"),
            Value::Float(number) => _ = write!(out, "{number:?}"),
            Value::Bool(value) => _ = write!(out, "{value}"),
            Value::Other(text) => out.push_str(&one_line(text)),
            Value::List(items) => {
                out.push('[');
                for (at, item) in items.iter().enumerate() {
                    if at > 0 {
                        out.push_str(", ");
                    }
                    if out.len() > 60 {
                        out.push_str("...");
                        break;
                    }
                    item.value.show_into(out);
                }
                out.push(']');
            }
            Value::Table(_) => out.push_str("{...}"),
        }
    }

    /// Returns true if the value fits into a line of a message, as all values but tables do.
    pub fn is_short(&self) -> bool {
        !matches!(self, Value::Table(_))
    }

    /// Returns the value of a key, if this is a table that has the key.
    pub fn get(&self, key: &str) -> Option<&Node> {
        match self {
            Value::Table(entries) => entries.iter().find(|entry| entry.key == key).map(|entry| &entry.node),
            _ => None,
        }
    }

    /// Returns the text, if this is a text.
    pub fn text(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.into())
    }
}

impl From<&&str> for Value {
    fn from(text: &&str) -> Value {
        Value::from(*text)
    }
}

impl From<&String> for Value {
    fn from(text: &String) -> Value {
        Value::Text(text.clone())
    }
}

impl From<&Value> for Value {
    fn from(value: &Value) -> Value {
        value.clone()
    }
}
