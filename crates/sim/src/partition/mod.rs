//! The partition of a network into parts, each of which a thread can simulate beside the others.
//!
//! | file | what it holds |
//! |---|---|
//! | `assignment.rs` | [`Partition`]: the part of each node, and why a model runs on one thread |
//! | `groups.rs` | nodes that must lie in one part |
//! | `demand.rs` | the packets that hosts send each other, from the traffic entries |
//! | `load.rs` | the work that these packets cause at nodes and links |
//! | `blocks.rs` | the number of blocks of a part |
//! | `cutter.rs` | cuts of a network, or of a part of it, by the four that follow |
//! | `order.rs` | the order of nodes in which neighbours stand together |
//! | `cut.rs`, `refine.rs` | the first cut of that order, and its improvement |
//! | `shares.rs` | [`PartitionSummary`]: shares of the load, and what crosses between parts |

mod assignment;
mod blocks;
mod cut;
mod cutter;
mod demand;
mod groups;
mod load;
mod order;
mod refine;
mod shares;
#[cfg(test)]
mod tests;

pub use assignment::Partition;
pub use shares::PartitionSummary;
