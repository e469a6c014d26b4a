//! The recording of a real exchange, replayed in a new host.

use clearway_linux::record::{Recording, replay};

#[test]
fn a_host_does_again_what_it_did_on_the_testbed() {
    let bytes = include_bytes!("recordings/receiver.rec");
    let summary = replay(Recording::open(bytes.as_slice()).unwrap()).unwrap().unwrap_or_else(|other| panic!("{other}"));
    assert!(summary.frames > 170, "a credit for each packet of 250 KB: {summary:?}");
    assert!(!summary.is_cut_off);
}
