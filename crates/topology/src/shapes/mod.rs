//! The families of networks that the papers use. Each is a struct of parameters with a method `build`.
//!
//! Every shape documents how it numbers its hosts, so that an experiment can name them without looking at links.
//! Rates and delays default to those of the ExpressPass authors' ns-2 scripts, 10 Gbps and 4 us, unless the shape
//! belongs to another paper.

mod clos;
mod fat_tree;
mod flat;
mod limits;
mod line;
mod size;

pub use clos::{Clos3, LeafSpine};
pub use fat_tree::{FatTree, OversubscribedFatTree, Pacc320};
pub use flat::{Dumbbell, Star};
pub use line::{MultiBottleneck, ParkingLot};
pub use size::Size;
