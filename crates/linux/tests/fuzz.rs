//! A short fuzz: the targets of `fuzz/` as they stand there, on random bytes. libFuzzer, which chooses bytes by what they
//! reach, finds more (`make fuzz`), and takes minutes to build.

// Each target stands in a file of its own, and some of them share a module with tests by its path.
#![allow(clippy::duplicate_mod, clippy::module_inception)]

use clearway_linux::wire::{Control, Kind, MacAddr, Segment};
use proptest::prelude::*;
use proptest::sample::Index;

// The targets ask for `libfuzzer_sys::fuzz_target`.
extern crate self as libfuzzer_sys;

mod target {
    /// Makes a target a function of bytes, from which its input is read as libFuzzer's own macro reads it.
    macro_rules! fuzz_target {
        (|$input:ident: $kind:ty| $body:block) => {
            pub fn run(bytes: &[u8]) {
                let bytes = arbitrary::Unstructured::new(bytes);
                let Ok($input) = <$kind as arbitrary::Arbitrary>::arbitrary_take_rest(bytes) else { return };
                $body
            }
        };
    }
    pub(crate) use fuzz_target;
}
use target::fuzz_target;

#[allow(dead_code, unused_attributes)]
#[path = "../../../fuzz/fuzz_targets/host.rs"]
mod host;
#[allow(dead_code, unused_attributes)]
#[path = "../../../fuzz/fuzz_targets/pac.rs"]
mod pac;
#[allow(unused_attributes)]
#[path = "../../../fuzz/fuzz_targets/wire.rs"]
mod wire;

/// A TCP segment with timestamps and four bytes of payload.
const SEGMENT: &[u8] = b"\x45\0\0\x38\0\x01\x40\0\x40\x06\0\0\x0a\0\0\x01\x0a\0\0\x02\
    \x04\xd2\x16\x2e\0\0\0\x01\0\0\0\x02\x80\x10\x01\0\0\0\0\0\x01\x01\x08\x0a\0\0\0\x07\0\0\0\x08data";

/// The same over IPv6.
const SEGMENT6: &[u8] =
    b"\x60\0\0\0\0\x24\x06\x40\xfd\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\xfd\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x02\
    \x04\xd2\x16\x2e\0\0\0\x01\0\0\0\x02\x80\x10\x01\0\0\0\0\0\x01\x01\x08\x0a\0\0\0\x07\0\0\0\x08data";

/// A credit or another control for the flow of a segment.
fn control(kind: Kind, segment: &[u8]) -> Control {
    let segment = Segment::parse(segment).expect("a segment");
    Control {
        kind,
        flow: segment.flow,
        session: 7,
        cookie: 9,
        number: 5,
        value: 3,
        mtu: 1500,
        wants_ecn: true,
    }
}

const MACS: [MacAddr; 2] = [MacAddr([2, 0, 0, 0, 0, 1]), MacAddr([2, 0, 0, 0, 0, 2])];

/// The same as a frame straight over Ethernet.
fn frame(kind: Kind, segment: &[u8]) -> Vec<u8> {
    control(kind, segment).to_frame(MACS[0], MACS[1]).to_vec()
}

/// The same in a datagram.
fn datagram(kind: Kind, segment: &[u8]) -> Vec<u8> {
    let port = std::num::NonZeroU16::new(1021).expect("a port");
    control(kind, segment).to_datagram(MACS[0], MACS[1], port).to_vec()
}

/// Random bytes, or a credit, a request or a segment with some of its bytes changed.
fn frames() -> impl Strategy<Value = Vec<u8>> {
    let changes = prop::collection::vec((any::<Index>(), any::<u8>()), 0..4);
    let mut true_ones = vec![SEGMENT.to_vec(), SEGMENT6.to_vec()];
    for segment in [SEGMENT, SEGMENT6] {
        true_ones.extend([Kind::Credit, Kind::Request].map(|kind| frame(kind, segment)));
        true_ones.push(datagram(Kind::Credit, segment));
    }
    let changed = (prop::sample::select(true_ones), changes);
    let changed = changed.prop_map(|(mut bytes, changes)| {
        changes.iter().for_each(|(at, byte)| *at.get_mut(&mut bytes) = *byte);
        bytes
    });
    prop_oneof![prop::collection::vec(any::<u8>(), 0..200), changed]
}

/// Bytes that stand for up to a few hundred steps.
fn sequences() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..4096)
}

#[test]
fn the_bytes_that_are_changed_are_a_credit_and_a_segment_before() {
    for bytes in [SEGMENT, SEGMENT6] {
        let segment = Segment::parse(bytes).unwrap();
        assert_eq!((segment.payload, segment.seq, segment.timestamps.is_some()), (4, 1, true));
        for kind in [Kind::Credit, Kind::Request] {
            let read = Control::parse(&frame(kind, bytes)).unwrap().2;
            assert_eq!((read.kind, read.session, read.number), (kind, 7, 5));
        }
    }
}

proptest! {
    // A failure is shrunk for a while only: there are up to 64 KB of bytes to leave out.
    #![proptest_config(ProptestConfig { failure_persistence: None, max_shrink_iters: 2000, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_read_as_what_they_are_or_refused(bytes in prop::collection::vec(frames(), 16)) {
        bytes.iter().for_each(|bytes| wire::run(bytes));
    }

    #[test]
    fn expresspass_at_a_host_stands_random_inputs(bytes in prop::collection::vec(sequences(), 16)) {
        bytes.iter().for_each(|bytes| host::run(bytes));
    }

    #[test]
    fn pac_at_a_host_stands_random_inputs(bytes in prop::collection::vec(sequences(), 16)) {
        bytes.iter().for_each(|bytes| pac::run(bytes));
    }
}
