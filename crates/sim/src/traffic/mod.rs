//! The traffic of applications: flow sizes, lists of flows, and patterns of senders and receivers.

mod cdf;
mod lists;
mod workloads;

pub use cdf::{Cdf, CdfError};
pub use lists::{ListError, ListedFlow, parse_csv, parse_hpcc, random_pair, random_permutation};
pub use workloads::{WORKLOADS, WorkloadInfo};
