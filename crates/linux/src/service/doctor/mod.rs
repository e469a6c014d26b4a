//! The command `clearwayd doctor`: what this machine lacks for a kind of daemon.
//!
//! | part | what it does |
//! |---|---|
//! | `facts` | the facts about a machine that matter |
//! | `gather` | finds them out, and changes nothing |
//! | `rehearsal` | tries rules and sockets in a network namespace of its own |
//! | `findings` | judges the facts, without looking at the machine |

mod facts;
mod findings;
mod gather;
mod rehearsal;
#[cfg(test)]
mod tests;

use clearway_schema::{Field, Value};
use findings::{Finding, Status};
use serde_json::json;
use std::path::PathBuf;

pub use facts::Kind;

/// What is to be examined.
pub struct Question {
    /// The kind of daemon.
    pub kind: Kind,
    /// The names of NICs.
    pub devices: Vec<String>,
    /// The folder of journals and sockets.
    pub folder: PathBuf,
    /// True if the report is one JSON object.
    pub json: bool,
}

/// Reads the name of a kind of daemon. The error is one line.
pub fn kind(name: &str) -> Result<Kind, String> {
    let wrong = || format!("doctor {name:?}: there is no such daemon; write host, pac or switch");
    Kind::read(&Value::Text(name.to_owned())).map_err(|_| wrong())
}

/// Examines the machine. Returns the report, and true if nothing is missing.
pub fn examine(question: &Question) -> (String, bool) {
    let facts = gather::gather(question.kind, &question.devices, &question.folder);
    let findings = findings::findings(question.kind, &facts);
    let report = match question.json {
        true => as_json(question.kind, &findings),
        false => as_text(question.kind, &findings),
    };
    (report, count(&findings, Status::Missing) == 0)
}

fn count(findings: &[Finding], status: Status) -> usize {
    findings.iter().filter(|finding| finding.status == status).count()
}

fn as_text(kind: Kind, findings: &[Finding]) -> String {
    let width = findings.iter().map(|finding| finding.check.len()).max().unwrap_or(0);
    let mut out = String::new();
    for Finding { check, status, reason, remedy } in findings {
        out.push_str(&format!("{:<8} {check:<width$}  {reason}\n", status.name()));
        if let Some(remedy) = remedy {
            out.push_str(&format!("{:<8} {:<width$}  -> {remedy}\n", "", ""));
        }
    }
    out.push_str(&match count(findings, Status::Missing) {
        0 => format!("Nothing is missing for `clearwayd {kind}`.\n"),
        1 => format!("`clearwayd {kind}` does not work here: one thing is missing.\n"),
        missing => format!("`clearwayd {kind}` does not work here: {missing} things are missing.\n"),
    });
    out
}

fn as_json(kind: Kind, findings: &[Finding]) -> String {
    let listed = findings.iter().map(|Finding { check, status, reason, remedy }| {
        json!({"check": check, "status": status.name(), "reason": reason, "remedy": remedy})
    });
    let missing = count(findings, Status::Missing);
    format!(
        "{}\n",
        json!({"kind": kind.to_string(), "missing": missing, "findings": listed.collect::<Vec<_>>()})
    )
}
