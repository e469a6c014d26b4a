//! Any bytes as a control frame, as a TCP segment and as a packet to stamp: nothing panics, and what was read is what
//! stands in the bytes.

#![no_main]

use clearway_linux::datapath::{FRAME_LEN, Stamp};
use clearway_linux::wire::{Control, Segment};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok((from, to, control)) = Control::parse(bytes) {
        let mut canonical = bytes[..FRAME_LEN].to_vec();
        canonical[16] &= 1;
        canonical[17] = 0;
        assert_eq!(control.to_frame(from, to)[..], canonical[..]);
    }
    let Ok(segment) = Segment::parse(bytes) else { return };
    assert!(segment.payload <= segment.ip_len - 40);
    let mut stamped = bytes.to_vec();
    let stamp = Stamp { id: 4711, ecn: true };
    assert_eq!(stamp.apply(&mut stamped), segment.dont_fragment);
    let read = Segment::parse(&stamped).expect("a stamped segment is a segment");
    assert_eq!(read.is_scheduled(), segment.dont_fragment);
    assert_eq!((read.flow, read.payload, read.seq), (segment.flow, segment.payload, segment.seq));
});
