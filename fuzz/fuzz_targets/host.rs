//! Sequences of inputs to ExpressPass at a host, with the rules of `crates/linux/tests/sequences/harness.rs`.

#![no_main]

#[path = "../../crates/linux/tests/sequences/harness.rs"]
mod harness;
#[path = "../../crates/linux/tests/sequences/host.rs"]
mod host;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|steps: Vec<harness::Step>| {
    harness::play(host::setup(), &steps);
});
