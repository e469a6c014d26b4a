//! What the tests of transports share.

pub mod wire;
