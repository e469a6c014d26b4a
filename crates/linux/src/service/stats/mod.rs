//! Statistics: the daemon's loop leaves a snapshot now and then, and a thread of its own hands it to whoever asks.

mod client;
mod prometheus;
mod server;
mod snapshot;

pub use client::{Query, show};
pub use server::{Server, socket_path};
pub use snapshot::{Identity, Shared};
