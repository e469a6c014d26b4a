//! Cases made by hand: each branch of the window, at and beside the values at which it is taken.

use super::window::{Input, Window, Windows};
use crate::case::Case;
use crate::setting::env;
use clearway_proto::Env;
use clearway_proto::uec::NsccParams;
use clearway_schema::Declared;
use clearway_units::{Span, Time};

/// A full packet on the wire, and the four that a receiver acknowledges at once.
const MTU: u64 = 4_150;
const FOUR: u64 = 4 * MTU;
/// The target of the queueing delay at 100 Gbps with trimming: 0.75 base round trips.
const TARGET: u64 = 10_517_040;

/// A network and the parameters that a case has of its own.
#[derive(Clone, Copy)]
struct With {
    gbps: u64,
    paces: bool,
    set: &'static [(&'static str, &'static str)],
}

const USUAL: With = With { gbps: 100, paces: false, set: &[] };

impl With {
    const fn set(self, set: &'static [(&'static str, &'static str)]) -> With {
        With { set, ..self }
    }

    fn window(self, params: &NsccParams) -> Window {
        let mut params = params.clone();
        for &(key, value) in self.set {
            params.set(key, value).expect("the parameters of cases are right");
        }
        Window::new(&params, env(self.gbps), self.paces)
    }
}

/// A window of 100,000 bytes.
const MIDDLE: With = USUAL.set(&[("cwnd", "100000 B")]);

/// The inputs of a case, in the order of time.
struct Script {
    windows: Windows,
    base: u64,
}

impl Script {
    fn at(&mut self, ps: u64, input: Input) {
        self.windows.step(Time::from_ps(ps), input);
    }

    /// An acknowledgement with a delay beyond the base round-trip time.
    fn ack(&mut self, ps: u64, new: u64, delay_ps: u64, marked: bool) {
        let rtt_ps = Some(self.base + delay_ps);
        self.answer(ps, new, rtt_ps, marked, None);
    }

    /// An acknowledgement while 100,000 bytes are in flight.
    fn answer(&mut self, ps: u64, new: u64, rtt_ps: Option<u64>, marked: bool, penalty: Option<u8>) {
        let in_flight_bytes = 100_000;
        self.at(ps, Input::Ack { new_bytes: new, in_flight_bytes, rtt_ps, may_lower: true, marked, penalty });
    }

    fn nack(&mut self, ps: u64, in_flight_bytes: i64, last_hop: bool) {
        let rtt_ps = Some(self.base + 1_000_000);
        self.at(ps, Input::Nack { size_bytes: MTU, rtt_ps, last_hop, in_flight_bytes });
    }
}

/// Records a case.
fn case(params: &NsccParams, name: &str, about: &str, with: With, script: fn(&mut Script)) -> Case {
    let Env { network_rtt, .. } = env(with.gbps);
    let windows = Windows::new(name, about, with.window(params));
    let mut inputs = Script { windows, base: Span::as_ps(network_rtt) };
    script(&mut inputs);
    inputs.windows.done()
}

/// Returns all of them.
pub fn cases(params: &NsccParams) -> Vec<Case> {
    let groups: [fn(&NsccParams) -> Vec<Case>; 7] = [first, increases, answers, cuts, adapts, late, losses];
    groups.iter().flat_map(|group| group(params)).collect()
}

fn first(params: &NsccParams) -> Vec<Case> {
    let case = |name, about, with, script| case(params, name, about, with, script);
    let quick = With { gbps: 400, ..USUAL };
    vec![
        case("first-window-100g", "Derived constants and the first window at 100 Gbps.", USUAL, |_| {}),
        case("first-window-400g", "Derived constants and the first window at 400 Gbps.", quick, |_| {}),
        case(
            "first-window-without-trimming",
            "Without trimming the target is a base round trip, and a late packet counts as a loss.",
            USUAL.set(&[("trimming", "false")]),
            |_| {},
        ),
        case(
            "first-window-least",
            "A window is a full packet at least.",
            USUAL.set(&[("cwnd", "100 B")]),
            |_| {},
        ),
        case(
            "base-rtt",
            "A faster sample lowers the base round trip and the largest window with it, one that may not lower gives no delay.",
            USUAL,
            |s| {
                let base = s.base;
                s.answer(20_000_000, MTU, Some(base - 1), false, None);
                s.answer(21_000_000, MTU, Some(base - 1_000_000), false, None);
                let slow = Input::Ack {
                    new_bytes: MTU,
                    in_flight_bytes: 50_000,
                    rtt_ps: Some(base - 2_000_000),
                    may_lower: false,
                    marked: false,
                    penalty: None,
                };
                s.at(22_000_000, slow);
                s.at(23_000_000, Input::Probe { rtt_ps: base });
                s.at(24_000_000, Input::Probe { rtt_ps: base - 3_000_000 });
                s.ack(45_000_000, FOUR, 0, false);
            },
        ),
    ]
}

fn increases(params: &NsccParams) -> Vec<Case> {
    let case = |name, about, script| case(params, name, about, MIDDLE, script);
    vec![
        case(
            "proportional-increase",
            "Below the target the window grows in proportion to what is missing, once more than 8 packets came.",
            |s| {
                s.ack(15_000_000, FOUR, 5_000_000, false);
                s.ack(15_400_000, FOUR, 5_000_000, false);
                s.ack(15_800_000, FOUR, 5_000_000, false);
                s.ack(16_200_000, MTU, TARGET - 1, false);
                s.ack(16_600_000, FOUR, 1_000_000, false);
                s.ack(17_000_000, FOUR, 1_000_000, false);
            },
        ),
        case("fair-increase", "At the target and above it an unmarked answer adds the fair increase.", |s| {
            s.ack(15_000_000, FOUR, TARGET, false);
            s.ack(15_400_000, FOUR, TARGET, false);
            s.ack(15_800_000, FOUR, TARGET + 1, false);
            s.ack(16_200_000, 1, 3 * TARGET, false);
            s.ack(16_600_000, FOUR, TARGET, false);
        }),
        case(
            "adjust-period",
            "Increases and eta come into force a period after the last time: at it, or just after it (UE-8).",
            |s| {
                let base = s.base;
                s.ack(base, MTU, 2_000_000, false);
                s.ack(base + 1, MTU, 2_000_000, false);
                s.ack(2 * base, MTU, 2_000_000, false);
                s.ack(2 * base + 1, MTU, 2_000_000, false);
                s.ack(3 * base + 1, 256, 2_000_000, false);
                s.ack(3 * base + 2, 256, 2_000_000, false);
            },
        ),
        case(
            "fast-increase",
            "A window without delay grows fast once it arrived as a whole, until a delay ends it.",
            |s| {
                (0..10).for_each(|k| s.ack(15_000_000 + k * 400_000, FOUR, 999_999, false));
                s.ack(19_200_000, FOUR, 1_000_000, false);
                s.ack(19_600_000, FOUR, 0, false);
                (0..8).for_each(|k| s.ack(20_000_000 + k * 400_000, FOUR, 0, false));
            },
        ),
        case(
            "largest-window",
            "The window is held to its largest value, which falls with the base round trip (UE-8).",
            |s| {
                (0..40).for_each(|k| s.ack(15_000_000 + k * 400_000, FOUR, 0, false));
                let base = s.base;
                s.at(32_000_000, Input::Probe { rtt_ps: base - 2_000_000 });
                s.ack(32_100_000, 256, 6_000_000, true);
                s.ack(32_200_000, 256, 6_000_000, false);
                s.ack(60_000_000, 256, 6_000_000, false);
            },
        ),
    ]
}

fn answers(params: &NsccParams) -> Vec<Case> {
    let case = |name, about, script| case(params, name, about, MIDDLE, script);
    vec![
        case(
            "room",
            "A packet may leave if the window has room: for a full one, or for that packet (UE-13).",
            |s| {
                for (in_flight_bytes, packet_bytes) in [
                    (0, 4_150),
                    (95_850, 4_150),
                    (95_851, 4_150),
                    (95_851, 4_149),
                    (99_000, 1_000),
                    (99_001, 1_000),
                    (-5_000, 4_150),
                ] {
                    s.at(15_000_000, Input::Room { in_flight_bytes, packet_bytes });
                }
            },
        ),
        case("nothing-new", "Answers that bring no news still let a period pass.", |s| {
            s.ack(15_000_000, 0, 2_000_000, false);
            s.ack(16_000_000, 0, 2_000_000, true);
            s.ack(30_000_000, 0, 12_000_000, false);
            s.ack(45_000_000, 0, 500_000, false);
        }),
        case(
            "no-sample",
            "An answer without a valid sample counts bytes alone, or acts with the average delay (UE-3).",
            |s| {
                s.ack(15_000_000, FOUR, 5_000_000, false);
                s.answer(15_400_000, FOUR, None, false, None);
                s.answer(15_800_000, FOUR, None, true, None);
                s.answer(16_200_000, FOUR, None, false, None);
                s.answer(40_000_000, FOUR, None, false, None);
                s.ack(40_400_000, MTU, 5_000_000, false);
            },
        ),
        case("penalty", "A receiver's penalty, which is taken back or stays (UE-4).", |s| {
            let rtt = Some(s.base + 4_000_000);
            s.answer(15_000_000, FOUR, rtt, false, None);
            s.answer(15_400_000, FOUR, rtt, false, Some(64));
            s.answer(15_800_000, FOUR, rtt, false, Some(127));
            s.answer(16_200_000, FOUR, None, true, Some(1));
            s.answer(16_600_000, FOUR, rtt, false, None);
            s.answer(17_000_000, FOUR, rtt, false, None);
            let full = |in_flight_bytes, penalty| Input::Ack {
                new_bytes: FOUR,
                in_flight_bytes,
                rtt_ps: None,
                may_lower: true,
                marked: false,
                penalty,
            };
            s.at(17_400_000, full(9_000, Some(100)));
            s.at(17_800_000, full(-2_000, Some(100)));
            s.at(18_200_000, full(9_000, None));
        }),
    ]
}

fn cuts(params: &NsccParams) -> Vec<Case> {
    let case = |name, about, script| case(params, name, about, MIDDLE, script);
    vec![
        case("mark-below-the-target", "A mark below the target changes the path and not the window.", |s| {
            s.ack(15_000_000, FOUR, TARGET - 1, true);
            s.ack(15_400_000, FOUR, 0, true);
            s.ack(15_800_000, FOUR, TARGET - 1, true);
        }),
        case("cut-by-the-average", "Marks at the target cut once the average delay is beyond it.", |s| {
            (0..60).for_each(|k| s.ack(15_000_000 + k * 1_000_000, MTU, 2 * TARGET, true));
        }),
        case(
            "cut-once-a-round-trip",
            "The next cut comes more than a base round trip after the last one.",
            |s| {
                (0..40).for_each(|k| s.ack(15_000_000 + k * 15_000_000, MTU, 15_000_000, true));
                let (base, last) = (s.base, 600_000_000);
                s.ack(last + base - 1, MTU, 15_000_000, true);
                s.ack(last + base, MTU, 15_000_000, true);
                s.ack(last + base + 1, MTU, 15_000_000, true);
                s.ack(last + 2 * base + 1, MTU, 15_000_000, true);
                s.ack(last + 2 * base + 2, MTU, 15_000_000, true);
            },
        ),
        case("largest-cut", "A cut takes half of the window at most, and leaves a full packet.", |s| {
            (0..120).for_each(|k| s.ack(15_000_000 + k * 100_000, 256, 4 * TARGET, true));
            (0..40).for_each(|k| s.ack(40_000_000 + k * 20_000_000, 256, 4 * TARGET, true));
        }),
        case(
            "late-without-a-mark",
            "Late packets without marks count in the average by their delay, or as outliers (UE-5).",
            |s| {
                (0..30).for_each(|k| s.ack(15_000_000 + k * 3_000_000, MTU, 2 * TARGET, false));
                s.ack(106_000_000, MTU, 2 * TARGET, true);
                s.ack(107_000_000, MTU, TARGET, true);
                s.ack(130_000_000, MTU, 0, false);
                s.ack(131_000_000, MTU, 2 * TARGET, true);
            },
        ),
        case("a-cut-ends-fast-increase", "A marked answer beyond the target ends the fast increase.", |s| {
            (0..8).for_each(|k| s.ack(15_000_000 + k * 400_000, FOUR, 0, false));
            s.ack(18_400_000, FOUR, TARGET, true);
            (0..3).for_each(|k| s.ack(18_800_000 + k * 400_000, FOUR, 0, false));
        }),
    ]
}

fn adapts(params: &NsccParams) -> Vec<Case> {
    let case = |name, about, script| case(params, name, about, MIDDLE, script);
    vec![
        case(
            "quick-adapt",
            "Little arrived and something was lost: the window becomes what arrived; marks are ignored then.",
            |s| {
                s.ack(15_000_000, MTU, 5_000_000, false);
                (0..3).for_each(|k| s.nack(16_000_000 + k * 400_000, 90_000, false));
                s.ack(30_000_000, 2 * MTU, 5_000_000, true);
                s.ack(40_000_000, MTU, 5_000_000, true);
                (0..6).for_each(|k| s.ack(41_000_000 + k * 1_000_000, FOUR, 12_000_000, true));
                s.ack(48_000_000, FOUR, 5_000_000, false);
                s.ack(49_000_000, FOUR, 12_000_000, true);
            },
        ),
        case("end-of-a-period", "A period of quick adapt ends at its end, or just after it (UE-6).", |s| {
            let (first, period) = (15_000_000, s.base + TARGET);
            s.ack(first, MTU, 5_000_000, false);
            s.nack(16_000_000, 90_000, false);
            s.ack(first + period - 1, MTU, 5_000_000, false);
            s.ack(first + period, MTU, 5_000_000, false);
            s.ack(first + period + 1, MTU, 5_000_000, false);
            s.ack(first + 2 * period, MTU, 5_000_000, false);
            s.ack(first + 2 * period + 1, MTU, 5_000_000, false);
        }),
        case("gate", "Quick adapt takes place if less than an eighth of the largest window arrived.", |s| {
            s.ack(15_000_000, 0, 5_000_000, false);
            s.nack(16_000_000, 90_000, false);
            s.ack(17_000_000, 32_866, 5_000_000, false);
            s.nack(50_000_000, 90_000, false);
            s.ack(51_000_000, 32_865, 5_000_000, false);
            s.nack(90_000_000, 90_000, false);
        }),
        case("nothing-lost", "Little arrived but nothing was lost: the window stays.", |s| {
            s.ack(15_000_000, MTU, 5_000_000, false);
            s.ack(60_000_000, MTU, 5_000_000, false);
            s.ack(120_000_000, MTU, 5_000_000, true);
        }),
    ]
}

fn late(params: &NsccParams) -> Vec<Case> {
    let of = |name, about, with, script| case(params, name, about, with, script);
    let case = |name, about, script| of(name, about, MIDDLE, script);
    vec![
        case("late-with-trimming", "A late packet counts as a loss where the reading says so (UE-7).", |s| {
            s.ack(15_000_000, MTU, 5_000_000, false);
            s.ack(60_000_000, MTU, 4 * TARGET, false);
            s.ack(120_000_000, MTU, 4 * TARGET + 1, false);
            s.ack(180_000_000, MTU, 4 * TARGET + 1, true);
        }),
        of(
            "late-without-trimming",
            "Without trimming a late packet counts as a loss in both readings.",
            With { set: &[("trimming", "false"), ("cwnd", "100000 B")], ..USUAL },
            |s| {
                let threshold = 4 * s.base;
                s.ack(15_000_000, MTU, 5_000_000, false);
                s.ack(80_000_000, MTU, threshold, false);
                s.ack(140_000_000, MTU, threshold + 1, false);
                s.ack(200_000_000, MTU, threshold + 1, true);
            },
        ),
        case(
            "nack-leaves-first",
            "A NACK sets quick adapt off: what is ignored then holds the packet or does not (UE-9).",
            |s| {
                s.ack(15_000_000, MTU, 5_000_000, false);
                s.nack(60_000_000, 20_000, false);
                s.ack(60_400_000, 15_849, 12_000_000, true);
                s.ack(60_800_000, 1, 12_000_000, true);
                s.ack(61_200_000, MTU, 12_000_000, true);
                s.ack(90_000_000, MTU, 12_000_000, false);
            },
        ),
    ]
}

fn losses(params: &NsccParams) -> Vec<Case> {
    let of = |name, about, with, script| case(params, name, about, with, script);
    let paced = With { paces: true, ..MIDDLE };
    vec![
        of(
            "nack",
            "Without quick adapt each NACK takes its packet off the window, down to a full packet.",
            MIDDLE,
            |s| {
                s.ack(15_000_000, MTU, 5_000_000, false);
                (0..26)
                    .for_each(|k| s.nack(15_100_000 + k * 330_000, 100_000 - k as i64 * 4_150, k % 2 == 0));
            },
        ),
        of(
            "nack-lowers-the-base",
            "A NACK may lower the base round trip; that of a repeated packet does not.",
            MIDDLE,
            |s| {
                let base = s.base;
                let nack = |rtt_ps| Input::Nack {
                    size_bytes: 1_000,
                    rtt_ps,
                    last_hop: false,
                    in_flight_bytes: 90_000,
                };
                s.ack(15_000_000, MTU, 5_000_000, false);
                s.at(16_000_000, nack(None));
                s.at(17_000_000, nack(Some(base - 2_000_000)));
                s.ack(18_000_000, MTU, 5_000_000, false);
            },
        ),
        of(
            "last-hop-where-receivers-pace",
            "Where receivers pace too, a packet cut at its last hop leaves the window, and quick adapt or not (UE-10).",
            paced,
            |s| {
                s.ack(15_000_000, MTU, 5_000_000, false);
                s.nack(16_000_000, 90_000, true);
                s.nack(17_000_000, 90_000, false);
                s.ack(18_000_000, 16_384, 5_000_000, false);
                s.nack(60_000_000, 80_000, true);
                s.ack(61_000_000, MTU, 5_000_000, false);
                s.nack(90_000_000, 80_000, true);
                s.nack(120_000_000, 80_000, false);
                s.ack(121_000_000, MTU, 12_000_000, true);
            },
        ),
        of(
            "timeout",
            "A timeout takes its packet off the window; its bytes count as ignored or do not (UE-12).",
            MIDDLE,
            |s| {
                s.ack(15_000_000, MTU, 5_000_000, false);
                s.at(16_000_000, Input::Timeout { size_bytes: MTU });
                s.nack(60_000_000, 20_000, false);
                s.at(61_000_000, Input::Timeout { size_bytes: 15_849 });
                s.ack(62_000_000, 1, 12_000_000, true);
                s.ack(63_000_000, 1, 12_000_000, true);
                (0..3).for_each(|k| s.at(64_000_000 + k * 1_000_000, Input::Timeout { size_bytes: MTU }));
            },
        ),
    ]
}
