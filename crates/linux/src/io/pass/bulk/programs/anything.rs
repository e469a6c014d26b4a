//! Any packets, whole or broken, in any order: the programs make no broken packet of a whole one, what they count adds up, and they
//! read a packet as the daemon does.

use super::*;
use crate::datapath::Stamp;
use crate::io::filter::{Family, Holds, held, tests::run as run_filter};
use crate::io::samples::control;
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, TestRunner};
use std::cell::RefCell;

/// The programs that get a frame.
#[derive(Clone, Copy, Debug)]
enum At {
    Match,
    Ingress,
    Egress,
    /// The match, and the egress if the packet leaves.
    Out,
}

/// A change that breaks a frame, or makes it one of another kind.
#[derive(Clone, Debug)]
enum Change {
    /// A byte of the headers.
    Byte(Index, u8),
    /// The end is cut off.
    Cut(Index),
    /// A tag of a VLAN stands behind the addresses.
    Tag,
    /// A header of this kind stands between that of IPv6 and that of TCP.
    Extension(u8),
    /// Options of IPv4, so many words, and the length that the header tells in words.
    Options(u8, u8),
    /// The fragment's word of IPv4.
    Fragment(u16),
    /// The length that the TCP header tells, in words.
    Offset(u8),
    /// The length that the IP header tells differs by so much.
    Length(i16),
}

/// What happens to the programs.
#[derive(Clone, Debug)]
enum Step {
    Begin(bool),
    End(bool),
    Release,
    Alive(bool),
    /// A credit whose number is so much behind the highest one so far.
    Credit(bool, i64, Vec<Change>),
    /// A segment of the other host.
    Answer {
        is_six: bool,
        behind: u32,
        window: u16,
        payload: usize,
        flags: u8,
        changes: Vec<Change>,
    },
    /// A segment of this host.
    Data {
        is_six: bool,
        payload: usize,
        back: u32,
        flags: u8,
        class: u8,
        at: At,
        segments: u32,
        changes: Vec<Change>,
    },
    /// Any bytes behind an Ethernet header of a kind.
    Bytes(At, u16, Vec<u8>),
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        3 => (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Change::Byte(at, byte)),
        2 => any::<Index>().prop_map(Change::Cut),
        1 => Just(Change::Tag),
        1 => prop::sample::select(vec![0u8, 43, 44, 50, 51, 60, 6]).prop_map(Change::Extension),
        1 => (0u8..11, 0u8..16).prop_map(|(words, told)| Change::Options(words, told)),
        1 => prop::sample::select(vec![0u16, 0x2000, 0x4000, 0x6000, 0x8000, 0xc000, 0x1fff, 1]).prop_map(Change::Fragment),
        1 => (0u8..16).prop_map(Change::Offset),
        1 => (-1600i16..1600).prop_map(Change::Length),
    ]
}

/// No change as a rule, or some.
fn changes() -> impl Strategy<Value = Vec<Change>> {
    prop_oneof![3 => Just(Vec::new()), 2 => prop::collection::vec(change(), 1..4)]
}

fn flags() -> impl Strategy<Value = u8> {
    prop_oneof![6 => Just(16u8), 1 => Just(17), 1 => Just(24), 1 => any::<u8>()]
}

fn payload() -> impl Strategy<Value = usize> {
    prop_oneof![3 => Just(1_428usize), 1 => 0usize..1_500, 1 => 0usize..20]
}

fn step() -> impl Strategy<Value = Step> {
    let at = prop::sample::select(vec![At::Match, At::Egress, At::Out, At::Out, At::Out, At::Ingress]);
    let kinds = prop::sample::select(vec![0x0800u16, 0x86dd, 0x88b5, 0x8100, 0]);
    let segments = prop_oneof![5 => Just(0u32), 1 => 1u32..20];
    prop_oneof![
        2 => any::<bool>().prop_map(Step::Begin),
        1 => any::<bool>().prop_map(Step::End),
        4 => Just(Step::Release),
        1 => prop::bool::weighted(0.8).prop_map(Step::Alive),
        10 => (any::<bool>(), prop_oneof![4 => Just(-1i64), 1 => -70i64..70], changes())
            .prop_map(|(is_six, behind, changes)| Step::Credit(is_six, behind, changes)),
        6 => (any::<bool>(), prop_oneof![Just(0u32), 0u32..5_000], any::<u16>(), payload(), flags(), changes())
            .prop_map(|(is_six, behind, window, payload, flags, changes)| {
                Step::Answer { is_six, behind, window, payload, flags, changes }
            }),
        10 => (any::<bool>(), payload(), prop_oneof![4 => Just(0u32), 1 => 0u32..4_000], flags(), any::<u8>(), at.clone(), segments, changes())
            .prop_map(|(is_six, payload, back, flags, class, at, segments, changes)| {
                Step::Data { is_six, payload, back, flags, class, at, segments, changes }
            }),
        1 => (at, kinds, prop::collection::vec(any::<u8>(), 0..120))
            .prop_map(|(at, kind, bytes)| Step::Bytes(at, kind, bytes)),
    ]
}

/// Breaks a frame.
fn changed(mut frame: Vec<u8>, changes: &[Change]) -> Vec<u8> {
    for change in changes {
        let is_four = frame.get(12..15).is_some_and(|head| head[..2] == [8, 0] && head[2] >> 4 == 4);
        let is_six = frame.get(12..15).is_some_and(|head| head[..2] == [0x86, 0xdd]);
        let tcp = ETHERNET + if is_four { 20 } else { 40 };
        match change {
            Change::Byte(at, byte) if !frame.is_empty() => {
                let headers = frame.len().min(90);
                *at.get_mut(&mut frame[..headers]) = *byte;
            }
            // The kernel takes no frame without an Ethernet header.
            Change::Cut(at) if frame.len() > ETHERNET => {
                frame.truncate(ETHERNET + at.index(frame.len() - ETHERNET))
            }
            Change::Tag if frame.len() > 12 => drop(frame.splice(12..12, [0x81, 0, 0, 5])),
            Change::Extension(kind) if is_six && frame.len() > tcp => {
                let next = std::mem::replace(&mut frame[ETHERNET + 6], *kind);
                frame.splice(tcp..tcp, [next, 0, 1, 4, 0, 0, 0, 0]);
            }
            Change::Options(words, told) if is_four && frame.len() > tcp => {
                frame[ETHERNET] = 4 << 4 | told;
                frame.splice(tcp..tcp, vec![1; usize::from(*words) * 4]);
            }
            Change::Fragment(word) if is_four && frame.len() > tcp => {
                frame[ETHERNET + 6..ETHERNET + 8].copy_from_slice(&word.to_be_bytes());
            }
            Change::Offset(words) if frame.len() > tcp + 12 => frame[tcp + 12] = words << 4,
            Change::Length(more) if (is_four || is_six) && frame.len() > tcp => {
                let at = ETHERNET + if is_four { 2 } else { 4 };
                let len = u16::from_be_bytes([frame[at], frame[at + 1]]).wrapping_add_signed(*more);
                frame[at..at + 2].copy_from_slice(&len.to_be_bytes());
            }
            _ => {}
        }
    }
    frame
}

/// All that the programs count.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct Counts {
    held: u64,
    came: u64,
    taken: u64,
    bytes: u64,
    wire: u64,
    passed: u64,
    moved: u64,
    replayed: u64,
    unwatched: u64,
    unwatched_payload: u64,
}

/// The programs with what the steps so far must have made of their tables.
struct Model<'a> {
    programs: &'a mut Programs,
    sent_to: u32,
    /// What the daemon was told of: credits, packets, bytes of payload, bytes on the wire.
    told: [u64; 4],
    left: [u64; 4],
    stamps: u64,
    highest: i64,
    is_alive: bool,
}

impl Model<'_> {
    fn counts(&self) -> Counts {
        let table = self.programs.table();
        let held = table.flows.iter().map(|flows| u64::from(flows.held.load(Relaxed))).sum();
        let (passed, moved) = (table.spent.load(Relaxed), table.moved.load(Relaxed));
        let unwatched = table.unwatched.load(Relaxed);
        let unwatched_payload = table.unwatched_payload.load(Relaxed);
        let mut counts = Counts { held, passed, moved, unwatched, unwatched_payload, ..Counts::default() };
        for place in self.programs.bulks.shared.table() {
            counts.came += u64::from(place.came.load(Relaxed));
            counts.taken += u64::from(place.taken.load(Relaxed));
            counts.bytes += place.bytes.load(Relaxed);
            counts.wire += place.wire.load(Relaxed);
            counts.replayed += place.replayed.load(Relaxed);
        }
        counts
    }

    fn take(&mut self, step: &Step) -> Result<(), TestCaseError> {
        match step {
            Step::Begin(is_six) => {
                let highest = self.highest as u64;
                let cookie = 77 + u64::from(*is_six);
                self.programs.bulks.begin(&Bulk { cookie, highest, ..bulk(key(*is_six)) });
            }
            Step::End(is_six) => self.programs.bulks.end(&key(*is_six), 0),
            Step::Release => {
                let flows = &self.programs.table().flows;
                flows.iter().for_each(|flows| flows.left.store(flows.held.load(Relaxed), Relaxed));
            }
            Step::Alive(is_alive) => {
                self.is_alive = *is_alive;
                let until = if *is_alive { u64::MAX } else { 1 };
                self.programs.table().alive.store(until, Relaxed);
            }
            Step::Credit(is_six, behind, changes) => {
                let number = self.highest - behind;
                self.highest = self.highest.max(number);
                let credit = credit(key(*is_six), number as u64);
                let frame = control(&Control { cookie: 77 + u64::from(*is_six), ..credit });
                self.comes_in(&changed(frame, changes))?;
            }
            Step::Answer { is_six, behind, window, payload, flags, changes } => {
                let answer = Packet::answer(key(*is_six), self.sent_to.wrapping_sub(*behind), *window);
                let frame = Packet { payload: *payload, flags: *flags, ..answer }.frame();
                self.comes_in(&changed(frame, changes))?;
            }
            Step::Data { is_six, payload, back, flags, class, at, segments, changes } => {
                let seq = self.sent_to.wrapping_sub(*back);
                let data = Packet::data(key(*is_six), seq, *payload);
                self.sent_to = self.sent_to.max(seq.wrapping_add(*payload as u32));
                let frame = changed(Packet { flags: *flags, class: *class, ..data }.frame(), changes);
                self.meets(*at, &frame, *segments)?;
            }
            Step::Bytes(at, kind, bytes) => {
                let frame = [&[0; 12][..], &kind.to_be_bytes(), bytes].concat();
                self.meets(*at, &frame, 0)?;
            }
        }
        self.adds_up()
    }

    fn meets(&mut self, at: At, frame: &[u8], segments: u32) -> Result<(), TestCaseError> {
        match at {
            At::Ingress => self.comes_in(frame),
            At::Egress => self.goes_out(frame),
            At::Match => self.is_matched(frame, segments).map(drop),
            At::Out => match self.is_matched(frame, segments)? {
                true => self.goes_out(frame),
                false => Ok(()),
            },
        }
    }

    /// The match counts what the rule behind it holds, and lets nothing leave that nothing pays for.
    fn is_matched(&mut self, frame: &[u8], segments: u32) -> Result<bool, TestCaseError> {
        let before = self.counts();
        let Some(result) = self.programs.leaves_joined(frame, segments) else { return Ok(false) };
        let after = self.counts();
        let ip = &frame[ETHERNET..];
        let family = match u16::from_be_bytes([frame[12], frame[13]]) {
            0x0800 => Some((Family::Ipv4, 4)),
            0x86dd => Some((Family::Ipv6, 6)),
            _ => None,
        };
        // Of an address of the wrong version no rule makes a packet.
        let family = family.filter(|(_, version)| ip.first().is_some_and(|byte| byte >> 4 == *version));
        let is_held = family.is_some_and(|(family, _)| run_filter(&held(Holds::Data, family), ip, 0) == 1);
        let segment = family.and_then(|_| Segment::parse(ip).ok()).filter(|_| is_held);
        match segment {
            None => {
                prop_assert_eq!((result, after), (0, before), "what the rule does not hold is nothing to us")
            }
            Some(segment) if !self.is_alive => {
                let unwatched = before.unwatched + u64::from(segments.max(1));
                let unwatched_payload = before.unwatched_payload + u64::from(segment.payload);
                prop_assert_eq!((result, after), (1, Counts { unwatched, unwatched_payload, ..before }));
            }
            Some(_) if result == 0 => {
                let count = u64::from(segments.max(1));
                prop_assert_eq!(after, Counts { held: before.held + count, ..before });
            }
            Some(segment) => {
                let wire = (u64::from(segment.ip_len) + 38).max(84);
                prop_assert!(!segment.flags.fin() && segments < 2 && result == 1);
                let flows = &self.programs.table().flows[usize::from(flow_place(&segment))];
                prop_assert_eq!(seen(&flows.held), seen(&flows.left), "it overtakes what is held");
                let is_small = wire <= u64::from(SMALL);
                if is_small {
                    prop_assert_eq!(after, Counts { passed: before.passed + 1, ..before });
                } else {
                    prop_assert!(segment.has_place && wire <= u64::from(FRAME));
                    prop_assert!(before.came > before.taken, "there is an unspent credit");
                    let place = self.programs.bulks.flows.get(&segment.flow);
                    prop_assert!(place.is_some_and(|place| place.is_on), "the flow was taken back");
                    let (taken, moved) = (before.taken + 1, before.moved + 1);
                    let bytes = before.bytes + u64::from(segment.payload);
                    let left = Counts { taken, moved, bytes, wire: before.wire + wire, ..before };
                    prop_assert_eq!(after, left);
                    self.left[1] += 1;
                    self.left[2] += u64::from(segment.payload);
                    self.left[3] += wire;
                }
            }
        }
        Ok(result == 1)
    }

    /// A packet leaves as it is, or with the number of a credit, as the daemon would write it.
    fn goes_out(&mut self, frame: &[u8]) -> Result<(), TestCaseError> {
        let before = self.counts();
        let Some((verdict, out)) = self.programs.run("cw_bulk_out", frame, 0) else { return Ok(()) };
        prop_assert_eq!(self.counts(), before);
        let is_news = frame[12..14] == [0x88, 0xb5] && frame.get(15) == Some(&NEWS);
        prop_assert_eq!(verdict, if is_news { REDIRECT } else { NEXT });
        if out == frame {
            return Ok(());
        }
        self.stamps += 1;
        prop_assert!(fault(frame).is_some() || fault(&out).is_none(), "{:?}", fault(&out));
        let id = Segment::parse(&out[ETHERNET..]).map(|segment| segment.id);
        let mut stamped = frame.to_vec();
        let id = id.map_err(|error| TestCaseError::fail(error.to_string()))?;
        let is_stamped = Stamp { id, ecn: false }.apply(&mut stamped[ETHERNET..]);
        prop_assert!(is_stamped && stamped == out, "{stamped:x?} {out:x?}");
        Ok(())
    }

    /// A packet comes in as it is or with a smaller window, and a credit as it is, as a whole acknowledgement, or not at all.
    fn comes_in(&mut self, frame: &[u8]) -> Result<(), TestCaseError> {
        let before = self.counts();
        let Some((verdict, out)) = self.programs.run("cw_bulk_in", frame, 0) else { return Ok(()) };
        let after = self.counts();
        let came = after.came - before.came;
        let replayed = after.replayed - before.replayed;
        prop_assert_eq!(
            after,
            Counts {
                came: before.came + came,
                moved: before.moved + came,
                replayed: before.replayed + replayed,
                ..before
            }
        );
        let is_control = frame[12..14] == [0x88, 0xb5] && frame.len() >= 60;
        prop_assert!(verdict == NEXT || verdict == DROP && is_control);
        prop_assert!(came + replayed == 0 || is_control && came + replayed == 1);
        self.left[0] += came;
        if out == frame {
            return Ok(());
        }
        if is_control {
            prop_assert!(verdict == NEXT && fault(&out).is_none(), "{:?}", fault(&out));
            prop_assert!(Segment::parse(&out[ETHERNET..]).is_ok_and(|segment| segment.is_pure_ack()));
            return Ok(());
        }
        prop_assert!(fault(frame).is_some() || fault(&out).is_none(), "{:?}", fault(&out));
        let parsed = (Segment::parse(&frame[ETHERNET..]), Segment::parse(&out[ETHERNET..]));
        let (Ok(old), Ok(new)) = parsed else { return Err(TestCaseError::fail("no segment was changed")) };
        prop_assert_eq!(new, Segment { window: new.window.min(old.window), ..old });
        Ok(())
    }

    /// Credits that are kept are no more than may be, and what is not spent is kept.
    fn adds_up(&mut self) -> Result<(), TestCaseError> {
        for place in self.programs.bulks.flows.values() {
            let shared = &self.programs.bulks.shared.table()[place.at];
            let kept = shared.came.load(Relaxed).wrapping_sub(shared.taken.load(Relaxed));
            prop_assert!(kept <= shared.keep.load(Relaxed), "{kept} credits are kept");
        }
        prop_assert!(self.stamps <= self.left[1], "{} numbers for {} packets", self.stamps, self.left[1]);
        Ok(())
    }

    fn hear(&mut self) {
        let (told, moved) = (&mut self.told, self.programs.table().moved.load(Relaxed));
        self.programs.bulks.tally(moved, 0, |released| {
            let Released { credits, packets, payload, wire, .. } = released;
            told.iter_mut().zip([credits, packets, payload, wire]).for_each(|(sum, more)| *sum += more);
        });
    }
}

/// Takes steps on empty tables, and tells the daemon's side now and then.
fn happens(programs: &mut Programs, steps: &[Step]) -> Result<(), TestCaseError> {
    programs.bulks.flows.clear();
    programs.bulks.ended.clear();
    programs.bulks.shared.table().iter().for_each(|place| place.version.store(0, Relaxed));
    programs.bulks.tallied = programs.table().moved.load(Relaxed);
    programs.pass.allow(key(false).destination, 4_000);
    let (highest, sent_to) = (FIRST as i64 + 1_000, 1_000);
    let is_alive = true;
    let mut model = Model { programs, sent_to, told: [0; 4], left: [0; 4], stamps: 0, highest, is_alive };
    for first in [Step::Release, Step::Alive(true), Step::Begin(false), Step::Begin(true)] {
        model.take(&first)?;
    }
    for (number, step) in steps.iter().enumerate() {
        model.take(step)?;
        if number % 7 == 0 {
            model.hear();
        }
    }
    model.programs.bulks.end_all(0);
    model.hear();
    prop_assert_eq!(model.told, model.left, "credits, packets, payload and bytes on the wire");
    Ok(())
}

/// Runs so many cases on programs that are loaded once.
fn holds(cases: u32) {
    let Some(programs) = Programs::load() else { return };
    let programs = RefCell::new(programs);
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 2_000, ..Config::default() };
    let mut runner = TestRunner::new(config);
    let steps = prop::collection::vec(step(), 1..80);
    runner
        .run(&steps, |steps| happens(&mut programs.borrow_mut(), &steps))
        .unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn any_packets_leave_whole_ones_whole_and_are_counted_as_the_daemon_reads_them() {
    holds(Config::default().cases / 2);
}

#[test]
#[ignore = "needs minutes; make test-full"]
fn any_packets_leave_whole_ones_whole_in_a_hundred_thousand_sequences() {
    holds(100_000);
}
