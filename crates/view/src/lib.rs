//! Runs that are looked at while they go on, by one entry: [`Stage::handle`] takes a request in JSON and answers with
//! JSON or with a frame of bytes. The browser's worker, `clearway view` and Python all call it.
//!
//! `docs/reference/view-protocol.md` describes requests, answers and frames byte by byte.
//!
//! | module | purpose |
//! |---|---|
//! | `stage` | the files and the runs, and which request goes where |
//! | `request` | an operation with its arguments |
//! | `run` | one run: its progress, what it shows between two steps, and its result |
//! | `answers` | what JSON tells of a run |
//! | `frame` | frames |
//! | `facts` | what findings on a run are made of |
//! | `layout` | the network and the traffic of a run, as its first answer |
//! | `needs` | what a run will take, before it is opened |
//! | `warnings` | remarks on a scenario whose results could mislead |
//! | `files` | the files that a caller handed over |
//! | `catalog` | the transports that there are |
//! | `refusal` | the one line that answers a request that can't be met |
#![deny(unsafe_code)]

mod answers;
mod catalog;
mod facts;
mod files;
mod frame;
mod layout;
mod needs;
mod refusal;
mod request;
mod run;
mod stage;
mod warnings;

pub use frame::{Camera, Parts};
pub use stage::{Reply, Stage};
