//! What remains of a scenario once the lines are removed for which it is refused.

use super::Drawn;
use super::rules::{Failure, check_refusal};
use clearway_sim::scenario::{Overrides, Scenario, ScenarioError};

/// The memory that a run may take, so that scenarios at the upper ends of counts are refused.
const MEMORY: u64 = 200_000_000;
/// The name of a scenario's file in messages.
pub const ORIGIN: &str = "random.toml";

/// A scenario that is accepted.
pub struct Readable {
    pub drawn: Drawn,
    pub scenario: Scenario,
}

/// The refusals of a scenario while lines were removed, and what remains of it, if it is accepted in the end.
pub struct Repaired {
    pub refusals: Vec<ScenarioError>,
    pub readable: Option<Readable>,
}

/// Reads a scenario with a limit of memory.
pub fn read(drawn: &Drawn) -> Result<Scenario, ScenarioError> {
    let overrides = Overrides { memory: Some(MEMORY), ..Overrides::default() };
    Scenario::parse(&drawn.text, ORIGIN, &drawn.files, &overrides)
}

/// Reads a scenario, and removes the line, or the table, that each refusal names, until it is accepted or nothing is left
/// to remove.
///
/// # Errors
/// If a refusal is not one line that names the file and a key or line of it.
pub fn repaired(mut drawn: Drawn) -> Result<Repaired, Failure> {
    let mut refusals = Vec::new();
    loop {
        let error = match read(&drawn) {
            Ok(scenario) => return Ok(Repaired { refusals, readable: Some(Readable { drawn, scenario }) }),
            Err(error) => error,
        };
        check_refusal(&error, ORIGIN, &drawn)?;
        let line = error.line.filter(|_| error.origin == ORIGIN);
        refusals.push(error);
        match line.and_then(|line| without(&drawn.text, line)) {
            Some(text) => drawn.text = text,
            None => return Ok(Repaired { refusals, readable: None }),
        }
    }
}

/// Returns the text without a line, or without the table that this line begins; `None` where the scenario can't do
/// without.
fn without(text: &str, line: usize) -> Option<String> {
    let lines: Vec<&str> = text.lines().collect();
    let start = line.checked_sub(1).filter(|start| *start < lines.len())?;
    let is_head = |line: &str| line.starts_with('[');
    let end = match lines[start] {
        "[topology]" => return None,
        "[[traffic]]" => {
            if lines.iter().filter(|line| **line == "[[traffic]]").count() == 1 {
                return None;
            }
            // The lists of flows of the entry go with it.
            let next =
                lines[start + 1..].iter().position(|line| is_head(line) && *line != "[[traffic.list]]");
            next.map_or(lines.len(), |next| start + 1 + next)
        }
        head if is_head(head) => {
            let next = lines[start + 1..].iter().position(|line| is_head(line));
            next.map_or(lines.len(), |next| start + 1 + next)
        }
        _ => start + 1,
    };
    let kept: Vec<&str> = lines[..start].iter().chain(&lines[end..]).copied().collect();
    Some(kept.join("\n") + "\n")
}
