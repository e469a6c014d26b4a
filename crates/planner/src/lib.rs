//! Bounds of queues and settings of ports for a network, computed by formula instead of simulated.
//!
//! | module | purpose |
//! |---|---|
//! | [`buffers`] | bounds of the data queue of each port under ExpressPass: eq. (1) of the paper, and a safe bound |
//! | [`switches`] | settings of each port: credit rate and bucket, marking threshold, headroom |
//! | [`htb`] | settings of each port of a Linux switch: the figures of its HTB classes |
//! | [`feeds`] | the ports from which each port's data comes, over all shortest paths |
//!
//! ```
//! use clearway_planner::buffers::{Parameters, Reading, bounds};
//! use clearway_topology::Star;
//!
//! let star = Star { hosts: 4, ..Star::default() }.build().unwrap();
//! let plan = bounds(&star, &Parameters::PAPER, Reading::Safe).unwrap();
//! let switch_port = star.ports_of(star.node("s0").unwrap())[0];
//! assert!(plan[switch_port.index()].unwrap().bytes() > 2.0 * 1538.0);
//! ```
#![forbid(unsafe_code)]

pub mod buffers;
pub mod feeds;
pub mod htb;
pub mod switches;
