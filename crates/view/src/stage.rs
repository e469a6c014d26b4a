//! The files and the runs, and which request goes where.

use crate::catalog::Catalog;
use crate::files;
use crate::layout::Layout;
use crate::refusal::Refusal;
use crate::request::{Open, Request};
use crate::run::Run;
use clearway_sim::scenario::{Overrides, Scenario};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// The most runs that are open at once.
const RUNS: usize = 8;

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
    /// A stage without files and runs. A scenario whose run would take more memory in bytes than `memory`, less what the
    /// open runs take, is refused.
    pub fn new(memory: Option<u64>) -> Stage {
        Stage { memory, files: BTreeMap::new(), runs: BTreeMap::new() }
    }

    /// Answers a request in JSON.
    pub fn handle(&mut self, request: &str) -> Reply {
        let refuse = |Refusal(error): Refusal| json(&serde_json::json!({ "error": error }));
        let request = serde_json::from_str(request).map_err(Refusal::from);
        request.and_then(|request| self.answer(request)).unwrap_or_else(refuse)
    }

    fn answer(&mut self, request: Request) -> Result<Reply, Refusal> {
        let reply = match request {
            Request::Files { files } => {
                self.files.extend(files::read(files)?);
                json(&serde_json::json!({ "files": self.files.len() }))
            }
            Request::Catalog {} => json(&Catalog::new()),
            Request::Open(open) => json(&self.open(open)?),
            Request::Advance { run, until_ps, events } => json(&self.run(run)?.advance(until_ps, events)),
            Request::Result { run } => json(&self.run(run)?.outcome()?),
            Request::Resolved { run } => json(&serde_json::json!({ "text": self.run(run)?.resolved() })),
            Request::Close { run } => {
                self.runs.remove(&run);
                json(&serde_json::json!({}))
            }
        };
        Ok(reply)
    }

    fn run(&mut self, number: u32) -> Result<&mut Run, Refusal> {
        self.runs.get_mut(&number).ok_or_else(|| Refusal(format!("run {number} is not open; open it first")))
    }

    fn open(&mut self, open: Open) -> Result<Layout, Refusal> {
        let Open { run: number, name, text, transport, seed, set } = open;
        self.runs.remove(&number);
        if self.runs.len() >= RUNS {
            return Err(Refusal(format!("{RUNS} runs are open already; close one first")));
        }
        let taken = self.runs.values().map(Run::memory_bytes).fold(0, u64::saturating_add);
        let memory = self.memory.map(|memory| memory.saturating_sub(taken));
        let overrides = Overrides { transport, seed, set, memory, disk: None };
        let run = Run::new(Scenario::parse(&text, &name, Path::new(""), &overrides)?)?;
        let layout = run.layout();
        self.runs.insert(number, run);
        Ok(layout)
    }
}

fn json(answer: &impl Serialize) -> Reply {
    Reply::Json(serde_json::to_string(answer).expect("answers have keys that are text"))
}
