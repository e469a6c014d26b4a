//! The number of entropy values of a flow, as a parameter.

use clearway_schema::{Field, Form, Value};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

/// The largest number of values that 16 bits hold and that is itself a number of 16 bits.
const MOST: u16 = 1 << 15;

/// The number of entropy values among which a sender chooses, from 1 to 32,768. Policies that turn the bits of values need a power
/// of two ([`EntropyPolicy::conflict`](super::EntropyPolicy::conflict)).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Debug, Serialize, Deserialize)]
pub struct EntropyValues(u16);

impl EntropyValues {
    /// Returns this number of values, or `None` if it is 0 or above 32,768.
    pub const fn new(values: u64) -> Option<EntropyValues> {
        if values > 0 && values <= MOST as u64 { Some(EntropyValues(values as u16)) } else { None }
    }

    /// Returns the number.
    pub const fn get(self) -> u16 {
        self.0
    }
}

impl Field for EntropyValues {
    fn kind() -> String {
        "integer".into()
    }

    fn forms() -> Vec<Form> {
        vec![Form::Integer(MOST.into())]
    }

    fn blank() -> EntropyValues {
        EntropyValues(1)
    }

    fn read(value: &Value) -> Result<EntropyValues, String> {
        let number = u64::read(value).ok().and_then(EntropyValues::new);
        number.ok_or_else(|| format!("write a number from 1 to {MOST}, such as 64"))
    }

    fn write(&self) -> Option<String> {
        Some(self.0.to_string())
    }

    fn order(&self, limit: &EntropyValues) -> Option<Ordering> {
        self.partial_cmp(limit)
    }
}
