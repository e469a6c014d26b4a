//! What a network needs, by formula and without a packet.
//!
//! | module | answers |
//! |---|---|
//! | [`buffers`] | how much data can wait at each port under ExpressPass (its eq. (1), and a bound that is safe) |
//! | [`switches`] | what each port is set to: credit rate and bucket, marking threshold, headroom |
//! | [`feeds`] | from which ports a port's data comes, over all shortest paths |
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
pub mod switches;
