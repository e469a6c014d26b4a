//! The traffic of applications: flow sizes, lists of flows, and patterns of senders and receivers.

mod cdf;
mod lists;
mod pairs;
mod tiers;
mod triggers;
mod workloads;

pub use cdf::{Cdf, CdfError};
pub use lists::{
    HtsimUnit, List, ListError, ListFormat, ListRules, ListedFlow, Waits, detect_format, parse_list,
};
pub use pairs::{random_pair, random_permutation};
pub use tiers::TierShare;
pub(crate) use tiers::{Crossed, asked, crossed, tier_name};
pub use triggers::{Done, Fires, Pull, Triggers, Wait};
pub use workloads::{WORKLOADS, WorkloadInfo};
