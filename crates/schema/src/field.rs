//! The types that a field can have: how a value of each is read, written and described.

use crate::auto::Auto;
use crate::form::Form;
use crate::text::{quoted, range};
use crate::value::{Node, Value};
use clearway_units::{Bytes, Rate, Span, Time, UnitError};
use std::cmp::Ordering;

/// A type that a field can have.
pub trait Field: Sized + 'static {
    /// Returns the way in which a value is written, in a few words: "number", "time", "rate", ...
    fn kind() -> String;
    /// Returns the forms in which a value may be written.
    fn forms() -> Vec<Form>;
    /// Some value, for a field that has yet to be read.
    fn blank() -> Self;
    /// Reads a value; the error says what would be right.
    fn read(value: &Value) -> Result<Self, String>;
    /// Returns the value in TOML, or `None` if the key is to be left out.
    fn write(&self) -> Option<String>;
    /// Returns the meaning of a key that is left out, for types that need no default.
    fn absent() -> Option<Self> {
        None
    }
    /// Returns the order by which limits are meant; `None` for types without limits.
    fn order(&self, _limit: &Self) -> Option<Ordering> {
        None
    }
}

/// A field in its place, whatever its type.
pub trait Slot {
    /// Reads a value and holds it against the limits, which are empty or values themselves. A field whose value is refused
    /// keeps the one that it has.
    ///
    /// # Errors
    /// Says what would be right.
    fn read(&mut self, value: &Value, min: &'static str, max: &'static str) -> Result<(), String>;
    /// Gives the field the value of a key that is left out. Returns false if its type has none.
    fn leave_out(&mut self) -> bool;
    /// Returns the value in TOML, or `None` if the key is to be left out.
    fn write(&self) -> Option<String>;
}

impl<T: Field> Slot for T {
    fn read(&mut self, value: &Value, min: &'static str, max: &'static str) -> Result<(), String> {
        let read = <T as Field>::read(value).map_err(|problem| with_limits(problem, min, max))?;
        let is_beyond = |limit: &'static str, beyond: Ordering| {
            let of = || <T as Field>::read(&Value::from(limit)).expect("limits in the source are valid");
            !limit.is_empty() && read.order(&of()) == Some(beyond)
        };
        if is_beyond(min, Ordering::Less) || is_beyond(max, Ordering::Greater) {
            return Err(format!("must be {}", range(min, max)));
        }
        *self = read;
        Ok(())
    }

    fn leave_out(&mut self) -> bool {
        match T::absent() {
            Some(absent) => {
                *self = absent;
                true
            }
            None => false,
        }
    }

    fn write(&self) -> Option<String> {
        Field::write(self)
    }
}

/// The start of the message for what is no whole number.
const WHOLE: &str = "write a whole number from 0 to ";

/// Returns the message for what is no whole number, with the limits of the field in place of those of its type.
fn with_limits(problem: String, min: &str, max: &str) -> String {
    match problem.strip_prefix(WHOLE) {
        Some(most) if !(min.is_empty() || max.is_empty()) => {
            let rest = most.trim_start_matches(|c: char| c.is_ascii_digit());
            format!("write a whole number {}{rest}", range(min, max))
        }
        _ => problem,
    }
}

/// Returns the text of a value that is no list, no table and no truth value.
pub fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::Text(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Float(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Returns the message of a unit error without the value, which the line of the message shows already.
pub fn without_value(error: &UnitError, text: &str) -> String {
    let message = error.to_string();
    message.strip_prefix(&format!("{text:?} ")).unwrap_or(&message).to_owned()
}

macro_rules! unit_field {
    ($($Unit:ident $kind:literal $example:literal),+) => {$(
        impl Field for $Unit {
            fn kind() -> String {
                $kind.into()
            }

            fn forms() -> Vec<Form> {
                vec![Form::Quantity($Unit::units().collect())]
            }

            fn blank() -> $Unit {
                $Unit::default()
            }

            fn read(value: &Value) -> Result<$Unit, String> {
                let Some(text) = scalar(value) else {
                    return Err(concat!("is no ", $kind, "; write one such as \"", $example, "\"").into());
                };
                text.parse().map_err(|error| without_value(&error, &text))
            }

            fn write(&self) -> Option<String> {
                Some(quoted(&self.to_string()))
            }

            fn order(&self, limit: &$Unit) -> Option<Ordering> {
                self.partial_cmp(limit)
            }
        }
    )+};
}
unit_field!(Span "time" "4 us", Time "time" "10 ms", Rate "rate" "10 Gbps", Bytes "size" "384.5 KB");

macro_rules! integer_field {
    ($($Integer:ident),+) => {$(
        impl Field for $Integer {
            fn kind() -> String {
                "integer".into()
            }

            fn forms() -> Vec<Form> {
                vec![Form::Integer($Integer::MAX.into())]
            }

            fn blank() -> $Integer {
                0
            }

            fn read(value: &Value) -> Result<$Integer, String> {
                let number = match value {
                    Value::Integer(number) => $Integer::try_from(*number).ok(),
                    Value::Text(text) => text.parse().ok(),
                    _ => None,
                };
                let most = $Integer::MAX;
                number.ok_or_else(|| format!("{WHOLE}{most}"))
            }

            fn write(&self) -> Option<String> {
                // TOML's integers end at 2^63.
                Some(if i64::try_from(*self).is_ok() { self.to_string() } else { quoted(&self.to_string()) })
            }

            fn order(&self, limit: &$Integer) -> Option<Ordering> {
                self.partial_cmp(limit)
            }
        }
    )+};
}
integer_field!(u8, u32, u64);

impl Field for f64 {
    fn kind() -> String {
        "number".into()
    }

    fn forms() -> Vec<Form> {
        vec![Form::Number]
    }

    fn blank() -> f64 {
        0.0
    }

    fn read(value: &Value) -> Result<f64, String> {
        let number = match value {
            Value::Float(number) => Some(*number),
            Value::Integer(number) => Some(*number as f64),
            Value::Text(text) => text.parse().ok(),
            _ => None,
        };
        number.filter(|number: &f64| number.is_finite()).ok_or("write a number, such as 0.5".into())
    }

    fn write(&self) -> Option<String> {
        Some(format!("{self:?}"))
    }

    fn order(&self, limit: &f64) -> Option<Ordering> {
        self.partial_cmp(limit)
    }
}

impl Field for bool {
    fn kind() -> String {
        "true or false".into()
    }

    fn forms() -> Vec<Form> {
        vec![Form::Truth]
    }

    fn blank() -> bool {
        false
    }

    fn read(value: &Value) -> Result<bool, String> {
        match value {
            Value::Bool(value) => Ok(*value),
            Value::Text(text) => text.parse().map_err(|_| "write true or false".into()),
            _ => Err("write true or false".into()),
        }
    }

    fn write(&self) -> Option<String> {
        Some(self.to_string())
    }
}

impl Field for String {
    fn kind() -> String {
        "text".into()
    }

    fn forms() -> Vec<Form> {
        vec![Form::Text]
    }

    fn blank() -> String {
        String::new()
    }

    fn read(value: &Value) -> Result<String, String> {
        match value {
            Value::Text(text) if text.is_empty() => Err("is empty; write a text".into()),
            Value::Text(text) if text.chars().any(char::is_control) => {
                Err("has control characters; write a plain text".into())
            }
            Value::Text(text) => Ok(text.clone()),
            _ => Err("is no text; write one in quotes".into()),
        }
    }

    fn write(&self) -> Option<String> {
        Some(quoted(self))
    }
}

impl<T: Field> Field for Option<T> {
    fn kind() -> String {
        T::kind()
    }

    fn forms() -> Vec<Form> {
        T::forms()
    }

    fn blank() -> Option<T> {
        None
    }

    fn read(value: &Value) -> Result<Option<T>, String> {
        T::read(value).map(Some)
    }

    fn absent() -> Option<Option<T>> {
        Some(None)
    }

    fn write(&self) -> Option<String> {
        self.as_ref().and_then(T::write)
    }

    fn order(&self, limit: &Option<T>) -> Option<Ordering> {
        self.as_ref()?.order(limit.as_ref()?)
    }
}

impl<T: Field> Field for Auto<T> {
    fn kind() -> String {
        format!("{} or \"auto\"", T::kind())
    }

    fn forms() -> Vec<Form> {
        [T::forms(), vec![Form::Word("auto")]].concat()
    }

    fn blank() -> Auto<T> {
        Auto::Auto
    }

    fn read(value: &Value) -> Result<Auto<T>, String> {
        match value.text() {
            Some("auto") => Ok(Auto::Auto),
            _ => T::read(value).map(Auto::Set).map_err(|problem| format!("{problem}, or \"auto\"")),
        }
    }

    fn write(&self) -> Option<String> {
        match self {
            Auto::Auto => Some(quoted("auto")),
            Auto::Set(value) => value.write(),
        }
    }

    /// `auto` is neither above nor below any value: limits hold for values alone.
    fn order(&self, limit: &Auto<T>) -> Option<Ordering> {
        match (self, limit) {
            (Auto::Set(value), Auto::Set(limit)) => value.order(limit),
            _ => None,
        }
    }
}

impl<T: Field> Field for Vec<T> {
    fn kind() -> String {
        format!("list of {}s", T::kind())
    }

    fn forms() -> Vec<Form> {
        vec![Form::List(T::forms())]
    }

    fn blank() -> Vec<T> {
        Vec::new()
    }

    fn read(value: &Value) -> Result<Vec<T>, String> {
        let Value::List(items) = value else {
            return Err(format!("is no list; write {} in brackets", T::kind()));
        };
        let read = |(at, item): (usize, &Node)| {
            T::read(&item.value).map_err(|problem| format!("entry {at}, {}: {problem}", item.value.show()))
        };
        items.iter().enumerate().map(read).collect()
    }

    fn write(&self) -> Option<String> {
        let items: Vec<String> = self.iter().filter_map(T::write).collect();
        Some(format!("[{}]", items.join(", ")))
    }
}
