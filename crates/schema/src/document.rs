//! Reads texts in TOML into values that know their line.

use crate::value::{Entry, Node, Place, Value};
use thiserror::Error;
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

/// The reason why a text is not TOML.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("is not TOML: {problem}")]
pub struct SyntaxError {
    /// The line, counted from 1.
    pub line: usize,
    /// The fault.
    pub problem: String,
}

/// Reads the text of a TOML file into a table.
pub fn parse_toml(text: &str) -> Result<Value, SyntaxError> {
    let lines = Lines::of(text);
    let table = DeTable::parse(text).map_err(|error| SyntaxError {
        line: error.span().map_or(1, |span| lines.line(span.start)),
        problem: error.message().replace('\n', "; "),
    })?;
    Ok(lines.table(table.get_ref()))
}

/// Returns the value of the text in `--set key=text`: that of TOML if the text is TOML, else the text itself.
pub fn override_value(text: &str) -> Result<Value, String> {
    let trimmed = text.trim();
    let line = format!("x = {trimmed}\n");
    let parsed = if trimmed.contains('\n') { None } else { DeTable::parse(&line).ok() };
    match parsed {
        Some(table) if table.get_ref().len() == 1 => {
            let value = table.get_ref().iter().next().map(|(_, value)| value.get_ref());
            let mut value = value.map_or(Value::Text(trimmed.into()), |value| Lines::of("").value(value));
            of_override(&mut value);
            Ok(value)
        }
        _ if trimmed.starts_with(['[', '{', '"', '\'']) => {
            Err("is not TOML; close its brackets and quotes".into())
        }
        _ => Ok(Value::Text(trimmed.into())),
    }
}

/// Marks a value and all values inside as given by an override.
fn of_override(value: &mut Value) {
    match value {
        Value::List(items) => {
            for item in items {
                item.place = Place::Override;
                of_override(&mut item.value);
            }
        }
        Value::Table(entries) => {
            for entry in entries {
                (entry.place, entry.node.place) = (Place::Override, Place::Override);
                of_override(&mut entry.node.value);
            }
        }
        _ => {}
    }
}

/// The offsets at which the lines of a text end.
struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &str) -> Lines {
        Lines(text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at).collect())
    }

    fn line(&self, offset: usize) -> usize {
        self.0.partition_point(|&end| end < offset) + 1
    }

    fn node(&self, value: &Spanned<DeValue<'_>>) -> Node {
        Node { place: Place::Line(self.line(value.span().start)), value: self.value(value.get_ref()) }
    }

    fn table(&self, table: &DeTable<'_>) -> Value {
        let mut entries: Vec<_> = table.iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        let entry = |(key, value): (&Spanned<DeString<'_>>, &Spanned<DeValue<'_>>)| Entry {
            key: key.get_ref().to_string(),
            place: Place::Line(self.line(key.span().start)),
            node: self.node(value),
        };
        Value::Table(entries.into_iter().map(entry).collect())
    }

    fn value(&self, value: &DeValue<'_>) -> Value {
        match value {
            DeValue::String(text) => Value::Text(text.to_string()),
            DeValue::Integer(number) => {
                let digits = number.as_str().replace('_', "");
                match i128::from_str_radix(&digits, number.radix()) {
                    Ok(number) => Value::Integer(number),
                    Err(_) => Value::Other(digits),
                }
            }
            DeValue::Float(number) => match number.as_str().replace('_', "").parse() {
                Ok(number) => Value::Float(number),
                Err(_) => Value::Other(number.as_str().into()),
            },
            DeValue::Boolean(value) => Value::Bool(*value),
            DeValue::Datetime(date) => Value::Other(date.to_string()),
            DeValue::Array(items) => Value::List(items.iter().map(|item| self.node(item)).collect()),
            DeValue::Table(table) => self.table(table),
        }
    }
}
