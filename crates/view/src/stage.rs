//! The files and the runs, and which request goes where.

use crate::catalog::Catalog;
use crate::files;
use crate::frame::Parts;
use crate::layout::Layout;
use crate::needs::Needs;
use crate::refusal::Refusal;
use crate::request::Request;
use crate::run::Run;
use clearway_sim::scenario::{Overrides, Scenario};
use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// The most runs that are open at once.
const RUNS: usize = 8;

/// The name of a scenario whose text gives it none.
const UNNAMED: &str = "scenario";

/// The operations, for messages.
const OPERATIONS: &str =
    "catalog, files, estimate, findings, open, advance, frame, port, flow, finished, result, resolved, close";

/// Files and runs. One owned value: a process may have many.
pub struct Stage {
    /// The memory in bytes that all runs together may take; `None` for no limit.
    memory: Option<u64>,
    files: BTreeMap<String, Vec<u8>>,
    runs: BTreeMap<u32, Run>,
}

/// The answer to a request.
#[derive(Clone, PartialEq, Debug)]
pub enum Reply {
    /// An object in JSON. That of a request that is refused has the one key `error`, whose value is one line.
    Json(String),
    /// A frame.
    Frame(Vec<u8>),
}

impl Stage {
    /// Returns a stage without files and runs. A scenario whose run would take more memory in bytes than `memory`, less
    /// what the open runs take, is refused.
    pub fn new(memory: Option<u64>) -> Stage {
        Stage { memory, files: BTreeMap::new(), runs: BTreeMap::new() }
    }

    /// Answers a request in JSON.
    pub fn handle(&mut self, request: &str) -> Reply {
        let answer = Request::read(request).and_then(|request| self.answer(request));
        answer.unwrap_or_else(|Refusal(error)| json(&serde_json::json!({ "error": error })))
    }

    fn answer(&mut self, mut request: Request) -> Result<Reply, Refusal> {
        match request.op.as_str() {
            "catalog" => {
                request.finish()?;
                Ok(json(&Catalog::new()))
            }
            "files" => {
                let files = request.object("files")?;
                request.finish()?;
                self.files.extend(files::read(files)?);
                Ok(json(&serde_json::json!({ "files": self.files.len() })))
            }
            "estimate" => {
                let (_, scenario) = self.scenario(request)?;
                Ok(json(&Needs::new(&scenario)))
            }
            "findings" => {
                let facts = request.list("facts")?;
                request.finish()?;
                let found = clearway_findings::runs_json(&facts)
                    .map_err(|error| Refusal(format!("findings: facts: {error}")))?;
                Ok(json(&serde_json::json!({ "findings": found })))
            }
            "open" => Ok(json(&self.open(request)?)),
            "close" => {
                let run = request.id("run")?;
                request.finish()?;
                self.runs.remove(&run);
                Ok(json(&serde_json::json!({})))
            }
            "advance" | "frame" | "port" | "flow" | "finished" | "result" | "resolved" => {
                let number = request.id("run")?;
                let run = self.runs.get_mut(&number);
                let run = run.ok_or_else(|| Refusal(format!("run {number} is not open; open it first")))?;
                answer_of(number, run, request)
            }
            other => Err(Refusal(format!("there is no operation {other:?}; write one of {OPERATIONS}"))),
        }
    }

    fn open(&mut self, request: Request) -> Result<Layout, Refusal> {
        let (number, scenario) = self.scenario(request)?;
        let run = Run::new(scenario)?;
        let layout = run.layout();
        self.runs.insert(number, run);
        Ok(layout)
    }

    /// Reads the scenario of a request, in place of the run of that number.
    fn scenario(&mut self, mut request: Request) -> Result<(u32, Scenario), Refusal> {
        let number = request.id("run")?;
        let (name, text) = (request.needed_text("name")?, request.needed_text("text")?);
        let (transport, seed) = (request.text("transport")?, request.number("seed")?);
        let (set, links) = (request.pairs("set")?, request.number("links")?);
        request.finish()?;
        self.runs.remove(&number);
        if self.runs.len() >= RUNS {
            return Err(Refusal(format!("{RUNS} runs are open already; close one first")));
        }
        let taken = self.runs.values().map(Run::memory_bytes).fold(0, u64::saturating_add);
        let memory = self.memory.map(|memory| memory.saturating_sub(taken));
        let overrides = Overrides { transport, seed, set, memory, links, disk: None };
        let mut scenario = Scenario::parse(&text, &name, &self.files, &overrides)?;
        // A text that does not name itself has the name of its file.
        if scenario.name == UNNAMED {
            scenario.name = name;
        }
        Ok((number, scenario))
    }
}

/// Answers a request to a run that is open.
fn answer_of(number: u32, run: &mut Run, mut request: Request) -> Result<Reply, Refusal> {
    match request.op.as_str() {
        "advance" => {
            let (until, events) = (request.number("until_ps")?, request.number("events")?);
            request.finish()?;
            Ok(json(&run.advance(until, events)))
        }
        "frame" => {
            let parts =
                Parts { packets: request.is_wanted("packets")?, queued: request.is_wanted("queued")? };
            request.finish()?;
            Ok(Reply::Frame(run.frame(number, parts)))
        }
        "port" => {
            let port = request.id("port")?;
            request.finish()?;
            Ok(json(&run.port(port)?))
        }
        "flow" => {
            let flow = request.id("flow")?;
            request.finish()?;
            Ok(json(&run.flow(flow)?))
        }
        "finished" => {
            let from = request.id("from")?;
            request.finish()?;
            Ok(json(&run.finished(from)))
        }
        "result" => {
            request.finish()?;
            Ok(json(run.outcome()?))
        }
        _ => {
            request.finish()?;
            Ok(json(&run.resolved()))
        }
    }
}

fn json(answer: &impl Serialize) -> Reply {
    let mut text = Vec::new();
    let written = answer.serialize(&mut Serializer::with_formatter(&mut text, Floats));
    written.expect("answers have keys that are text");
    Reply::Json(String::from_utf8(text).expect("JSON is text"))
}

/// Writes floats as the standard library does. The code that `serde_json` has for them brings 10 KB of powers of ten, which
/// everybody who opens the live page would load.
struct Floats;

impl Formatter for Floats {
    fn write_f64<W: Write + ?Sized>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        write!(writer, "{value:?}")
    }
}
