//! A request, as it stands in JSON: an operation and its arguments.

use crate::refusal::Refusal;
use serde_json::{Map, Value};

/// A request whose arguments are taken out one by one.
pub struct Request {
    /// The operation.
    pub op: String,
    arguments: Map<String, Value>,
}

impl Request {
    /// Reads a request.
    ///
    /// # Errors
    /// It is no object with an operation.
    pub fn read(text: &str) -> Result<Request, Refusal> {
        let value = serde_json::from_str(text)
            .map_err(|error| Refusal(format!("the request is not JSON: {error}")))?;
        let Value::Object(mut arguments) = value else {
            return Err(Refusal("the request is not an object; write {\"op\": ...}".into()));
        };
        match arguments.remove("op") {
            Some(Value::String(op)) => Ok(Request { op, arguments }),
            _ => Err(Refusal("the request names no operation; write {\"op\": \"...\"}".into())),
        }
    }

    /// Takes a whole number that may be missing.
    pub fn number(&mut self, name: &str) -> Result<Option<u64>, Refusal> {
        // JavaScript writes large whole numbers such as 1e21, which then stand for no limit.
        self.take(name, "a whole number of 0 or more", |value| match value.as_f64() {
            Some(number) if number >= 2f64.powi(64) => Some(u64::MAX),
            Some(number) if number >= 0.0 && number.fract() == 0.0 => value.as_u64().or(Some(number as u64)),
            _ => None,
        })
    }

    /// Takes a number of 32 bits, which stands for a run, a port or a flow.
    pub fn id(&mut self, name: &str) -> Result<u32, Refusal> {
        let number = self.number(name)?;
        let number =
            number.ok_or_else(|| self.refuse(name, "is missing; write a whole number of 0 or more"))?;
        u32::try_from(number).map_err(|_| self.refuse(name, "is too large"))
    }

    /// Takes an answer of yes or no, which is yes where it is missing.
    pub fn is_wanted(&mut self, name: &str) -> Result<bool, Refusal> {
        Ok(self.take(name, "true or false", |value| value.as_bool())?.unwrap_or(true))
    }

    /// Takes a text that may be missing.
    pub fn text(&mut self, name: &str) -> Result<Option<String>, Refusal> {
        self.take(name, "text", |value| value.as_str().map(str::to_owned))
    }

    /// Takes a text that must be there.
    pub fn needed_text(&mut self, name: &str) -> Result<String, Refusal> {
        self.text(name)?.ok_or_else(|| self.refuse(name, "is missing; write text"))
    }

    /// Takes a list of pairs of texts, which is empty where it is missing.
    pub fn pairs(&mut self, name: &str) -> Result<Vec<(String, String)>, Refusal> {
        let pair = |value: &Value| match value.as_array()?.as_slice() {
            [Value::String(key), Value::String(value)] => Some((key.clone(), value.clone())),
            _ => None,
        };
        let pairs = self.take(name, "pairs of texts, such as [[\"seed\", \"2\"]]", |value| {
            value.as_array()?.iter().map(pair).collect()
        })?;
        Ok(pairs.unwrap_or_default())
    }

    /// Takes an object, which is empty where it is missing.
    pub fn object(&mut self, name: &str) -> Result<Map<String, Value>, Refusal> {
        Ok(self.take(name, "an object", |value| value.as_object().cloned())?.unwrap_or_default())
    }

    /// Takes a list, which is empty where it is missing.
    pub fn list(&mut self, name: &str) -> Result<Value, Refusal> {
        let list = self.take(name, "a list", |value| value.is_array().then(|| value.clone()))?;
        Ok(list.unwrap_or_else(|| Value::Array(Vec::new())))
    }

    /// Ends the reading.
    ///
    /// # Errors
    /// An argument is left that the operation does not have.
    pub fn finish(self) -> Result<(), Refusal> {
        match self.arguments.keys().next() {
            Some(name) => Err(self.refuse(name, "is no argument of this operation")),
            None => Ok(()),
        }
    }

    fn take<T>(
        &mut self,
        name: &str,
        what: &str,
        read: impl Fn(&Value) -> Option<T>,
    ) -> Result<Option<T>, Refusal> {
        match self.arguments.remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => match read(&value) {
                Some(value) => Ok(Some(value)),
                None => Err(self.refuse(name, &format!("is not {what}"))),
            },
        }
    }

    fn refuse(&self, name: &str, problem: &str) -> Refusal {
        Refusal(format!("{}: {name}: {problem}", self.op))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_of_another_kind_are_refused_with_what_would_be_right() {
        let refused = |text: &str, name: &str| {
            let mut request = Request::read(text).unwrap();
            request.id(name).unwrap_err().0
        };
        assert_eq!(
            refused(r#"{"op": "close"}"#, "run"),
            "close: run: is missing; write a whole number of 0 or more"
        );
        assert_eq!(
            refused(r#"{"op": "close", "run": -1}"#, "run"),
            "close: run: is not a whole number of 0 or more"
        );
        assert_eq!(refused(r#"{"op": "close", "run": 4294967296}"#, "run"), "close: run: is too large");
    }

    #[test]
    fn whole_numbers_are_read_however_they_are_written() {
        let number = |text: &str| {
            let mut request = Request::read(&format!(r#"{{"op": "advance", "events": {text}}}"#)).unwrap();
            request.number("events").ok().flatten()
        };
        assert_eq!(number("7"), Some(7));
        assert_eq!(number("7.0"), Some(7));
        assert_eq!(number("1e9"), Some(1_000_000_000));
        assert_eq!(number("18446744073709551615"), Some(u64::MAX));
        assert_eq!(number("1e300"), Some(u64::MAX));
        assert_eq!((number("0.5"), number("\"7\""), number("null")), (None, None, None));
    }

    #[test]
    fn an_argument_that_an_operation_does_not_have_is_refused() {
        let request = Request::read(r#"{"op": "catalog", "rnu": 1}"#).unwrap();
        assert_eq!(request.finish().unwrap_err().0, "catalog: rnu: is no argument of this operation");
    }
}
