//! What the engine does with any network and transport: steps, parts, samples, windows, failures, exact times.

#[path = "../common/mod.rs"]
mod common;

mod agents;
mod checkpoints;
mod ends;
mod exactness;
mod failures;
mod ideal;
mod messages;
mod mixed;
mod scenarios;
mod series;
mod shares;
mod steps;
mod traces;
mod waiting;
mod window;
mod window_counters;
