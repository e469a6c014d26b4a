//! Any bytes as a control frame, as a TCP segment and as a packet to stamp: nothing panics, and what was read is what
//! stands in the bytes.

#![no_main]

use clearway_linux::datapath::Stamp;
use clearway_linux::wire::{Control, Segment};
use libfuzzer_sys::fuzz_target;
use std::num::NonZeroU16;

fuzz_target!(|bytes: &[u8]| {
    if let Ok((from, to, control)) = Control::parse(bytes) {
        let written = control.to_frame(from, to);
        let mut canonical = bytes[..written.len()].to_vec();
        canonical[16] &= 1;
        canonical[17] = 0;
        assert_eq!(written[..], canonical[..]);
    }
    let port = NonZeroU16::new(1021).expect("a port");
    if let Ok((from, to, control)) = Control::parse_datagram(bytes, port) {
        let written = control.to_datagram(from, to, port);
        assert_eq!(Control::parse_datagram(&written, port), Ok((from, to, control)));
    }
    let Ok(segment) = Segment::parse(bytes) else { return };
    assert!(segment.payload <= segment.ip_len - if segment.flow.is_ipv6() { 60 } else { 40 });
    let mut stamped = bytes.to_vec();
    let stamp = Stamp { id: 4711, ecn: true };
    assert_eq!(stamp.apply(&mut stamped), segment.has_place);
    let read = Segment::parse(&stamped).expect("a stamped segment is a segment");
    assert_eq!(read.is_scheduled(), segment.has_place);
    assert_eq!((read.flow, read.payload, read.seq), (segment.flow, segment.payload, segment.seq));
});
