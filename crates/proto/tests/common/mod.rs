//! What the tests of transports share.

pub mod stream;
pub mod wire;
