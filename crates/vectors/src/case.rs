//! Cases: a first state, inputs in the order of time, and what the protocol code makes of each.

use clearway_units::Time;
use serde::Serialize;

/// What is driven by inputs and has outputs.
pub trait Subject {
    /// What it can be told.
    type Input: Serialize;
    /// Returns all that an implementation must know to begin, as JSON.
    fn initial(&self) -> String;
    /// Returns what can be seen of it before any input, as JSON.
    fn first_output(&self) -> String;
    /// Handles an input. Returns what can be seen then and, if there is more to say, what it remembers, as JSON.
    fn step(&mut self, at: Time, input: &Self::Input) -> (String, Option<String>);
}

/// An input and what follows from it, as JSON.
struct Step {
    at: Time,
    input: String,
    output: String,
    state: Option<String>,
}

/// A case that is complete.
pub struct Case {
    name: String,
    about: String,
    initial: String,
    output: String,
    steps: Vec<Step>,
}

/// A case that is being recorded.
pub struct Recording<S> {
    pub subject: S,
    case: Case,
    now: Time,
}

impl<S: Subject> Recording<S> {
    /// Returns a recording without inputs.
    pub fn new(name: impl Into<String>, about: impl Into<String>, subject: S) -> Recording<S> {
        let (initial, output) = (subject.initial(), subject.first_output());
        let case = Case { name: name.into(), about: about.into(), initial, output, steps: Vec::new() };
        Recording { subject, case, now: Time::ZERO }
    }

    /// Hands an input to the subject, which records what follows. Times never go back.
    pub fn step(&mut self, at: Time, input: S::Input) {
        self.now = self.now.max(at);
        let (output, state) = self.subject.step(self.now, &input);
        self.case.steps.push(Step { at: self.now, input: json(&input), output, state });
    }

    /// Returns the case.
    pub fn done(self) -> Case {
        self.case
    }
}

impl Case {
    /// Returns the case as JSON, with a line for each step.
    pub fn text(&self) -> String {
        let steps: Vec<String> = self.steps.iter().map(Step::text).collect();
        let (name, about) = (json(&self.name), json(&self.about));
        let Case { initial, output, .. } = self;
        let steps = if steps.is_empty() { String::new() } else { format!("\n{}\n", steps.join(",\n")) };
        format!(
            "{{\"name\": {name},\n\"about\": {about},\n\"initial\": {initial},\n\"output\": {output},\n\"steps\": [{steps}]}}"
        )
    }
}

impl Step {
    fn text(&self) -> String {
        let Step { at, input, output, state } = self;
        let state = state.as_ref().map_or(String::new(), |state| format!(", \"state\": {state}"));
        format!("{{\"at_ps\": {}, \"input\": {input}, \"output\": {output}{state}}}", at.as_ps())
    }
}

/// Returns a value as JSON.
pub fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("these values have names for keys and nothing that JSON lacks")
}

/// Returns a JSON object with these values, which are JSON.
pub fn object<'a>(fields: impl Iterator<Item = (&'a str, String)>) -> String {
    let fields: Vec<String> = fields.map(|(name, value)| format!("\"{name}\": {value}")).collect();
    format!("{{{}}}", fields.join(", "))
}
