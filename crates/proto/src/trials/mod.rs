//! Trials: small transports of kinds that the simulator has no finished one of yet, each in one folder with one line in
//! `registry.rs`. They show that the interfaces carry such protocols, and exist with the cargo feature `trials` alone.

pub mod homa;
pub mod ndp;
