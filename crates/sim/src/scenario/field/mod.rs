//! Kinds of values that scenario files alone have; `clearway_schema` has the others.

mod amounts;
mod places;
mod traces;
mod words;

pub(super) use amounts::{BufferWord, MarkingWord};
pub(super) use places::*;
pub(super) use traces::*;
pub(super) use words::*;

use clearway_schema::{Field, Form, Value, quoted};

/// The length limit of a name, in bytes.
const NAME_MAX: usize = 100;

/// The name of a class, a traffic entry or a series.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Name(pub String);

impl Field for Name {
    fn kind() -> String {
        "name".into()
    }

    fn forms() -> Vec<Form> {
        vec![Form::Name]
    }

    fn blank() -> Name {
        Name(String::new())
    }

    fn read(value: &Value) -> Result<Name, String> {
        let text = String::read(value)?;
        let problem = if text.len() > NAME_MAX {
            format!("is longer than {NAME_MAX} bytes; write a shorter name")
        } else if text.contains('.') || text.trim() != text {
            "has dots or spaces around it; write a name such as \"web\"".into()
        } else if text.bytes().all(|byte| byte.is_ascii_digit()) {
            "is a number; write a name such as \"web\"".into()
        } else {
            return Ok(Name(text));
        };
        Err(problem)
    }

    fn write(&self) -> Option<String> {
        Some(quoted(&self.0))
    }
}
