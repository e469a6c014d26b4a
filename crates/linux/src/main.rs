//! The daemon `clearwayd`.

fn main() {}
