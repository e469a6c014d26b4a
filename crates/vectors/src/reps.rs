//! REPS and the other policies by which a sender chooses the path of each packet.

use crate::case::{Case, Recording, Subject, json};
use clearway_proto::entropy::{
    Entropies, EntropyPolicy, Feedback, Penalties, REPS_EXPLORATIONS, REPS_FREEZE, REPS_PLACES,
};
use clearway_proto::uec::NsccParams;
use clearway_proto::{Entity, Rng};
use clearway_units::{Span, Time};
use serde::Serialize;

/// The random numbers that a step offers, more than any choice takes.
const OFFERED: usize = 4;

/// What a choice of paths is told and asked.
#[derive(Clone, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Input {
    /// A packet leaves: which entropy has it?
    Next {
        /// Random numbers of 16 bits, to be taken in turn where one is drawn.
        random: [u16; OFFERED],
    },
    /// Something was heard of a packet with this entropy.
    Feedback { entropy: u16, feedback: &'static str },
}

/// What can be seen of a choice.
#[derive(Serialize)]
struct Output {
    entropy: u16,
    /// True if a random number was drawn.
    drawn: bool,
}

/// What is not to be seen: nothing but a choice has an output.
#[derive(Serialize)]
struct Nothing {}

#[derive(Serialize)]
struct Initial {
    kind: &'static str,
    part: &'static str,
    #[serde(flatten)]
    facts: PathFacts,
}

/// What a choice of paths is made with.
#[derive(Serialize)]
pub struct PathFacts {
    policy: String,
    values: u16,
    /// The bits above those of the values, and the first order, of the policies that walk over all values.
    base: u16,
    order: u16,
    first_window_packets: u64,
    penalty_ecn: u8,
    penalty_nack: u8,
    penalty_timeout: u8,
    penalty_most: u8,
    reps_places: u8,
    reps_freeze_ps: u64,
    reps_explorations: u8,
}

pub struct Paths {
    policy: EntropyPolicy,
    values: u16,
    first_window: u64,
    walk: (u16, u16),
    entropies: Entropies,
    rng: Rng,
}

impl Paths {
    fn new(policy: EntropyPolicy, values: u16, first_window: u64, seed: u64) -> Paths {
        Paths::of(policy, values, first_window, Rng::stream(seed, Entity::SenderPath, u64::from(values)))
    }

    /// Returns a choice that draws from a stream.
    pub fn of(policy: EntropyPolicy, values: u16, first_window: u64, mut rng: Rng) -> Paths {
        // Both policies draw the same, and the first value of a walk shows what.
        let mut twin = rng.clone();
        let first = Entropies::new(EntropyPolicy::Oblivious, values, &mut twin).next(&mut twin, Time::ZERO);
        let walk = (first & !(values - 1), first & (values - 1));
        let entropies = Entropies::new(policy, values, &mut rng).with_first_window(first_window);
        Paths { policy, values, first_window, walk, entropies, rng }
    }

    /// Returns what the choice was made with.
    pub fn facts(&self) -> PathFacts {
        let penalties = Penalties::UEC;
        PathFacts {
            policy: self.policy.to_string(),
            values: self.values,
            base: self.walk.0,
            order: self.walk.1,
            first_window_packets: self.first_window,
            penalty_ecn: penalties.ecn,
            penalty_nack: penalties.nack,
            penalty_timeout: penalties.timeout,
            penalty_most: penalties.most,
            reps_places: REPS_PLACES,
            reps_freeze_ps: REPS_FREEZE.as_ps(),
            reps_explorations: REPS_EXPLORATIONS,
        }
    }

    /// Returns the random numbers that come next, which a choice may take or leave.
    fn offered(&self) -> [u16; OFFERED] {
        let mut rng = self.rng.clone();
        [(); OFFERED].map(|()| (rng.bits() >> 48) as u16)
    }
}

impl Subject for Paths {
    type Input = Input;

    fn initial(&self) -> String {
        json(&Initial { kind: "initial", part: "paths", facts: self.facts() })
    }

    fn first_output(&self) -> String {
        json(&Nothing {})
    }

    fn step(&mut self, at: Time, input: &Input) -> (String, Option<String>) {
        let output = match input {
            Input::Next { .. } => {
                let mut before = self.rng.clone();
                let entropy = self.entropies.next(&mut self.rng, at);
                let drawn = before.bits() != self.rng.clone().bits();
                json(&Output { entropy, drawn })
            }
            Input::Feedback { entropy, feedback } => {
                let feedback = match *feedback {
                    "good" => Feedback::Good,
                    "ecn" => Feedback::Ecn,
                    "nack" => Feedback::Nack,
                    _ => Feedback::Timeout,
                };
                self.entropies.feedback(*entropy, feedback, at);
                json(&Nothing {})
            }
        };
        (output, None)
    }
}

/// The inputs of a case.
struct Script {
    paths: Recording<Paths>,
    now: Time,
}

impl Script {
    fn next(&mut self, count: usize) {
        for _ in 0..count {
            let random = self.paths.subject.offered();
            self.paths.step(self.now, Input::Next { random });
        }
    }

    fn hear(&mut self, feedback: &'static str, entropies: impl IntoIterator<Item = u16>) {
        for entropy in entropies {
            self.paths.step(self.now, Input::Feedback { entropy, feedback });
        }
    }

    fn at(&mut self, ps: u64) {
        self.now = Time::from_ps(ps);
    }
}

/// Returns the cases of a reading.
pub fn cases(params: &NsccParams, seed: u64) -> Vec<Case> {
    let mut cases = of_reps(seed);
    cases.extend(of_frozen_reps(seed));
    cases.extend(of_others(seed));
    let names_path = params.common.timeout_names_path;
    let policies = [
        EntropyPolicy::Reps,
        EntropyPolicy::RepsLegacy,
        EntropyPolicy::Oblivious,
        EntropyPolicy::Bitmap,
        EntropyPolicy::Mixed,
    ];
    cases.extend((0..).zip(policies).map(|(number, policy)| drawn(policy, names_path, seed, number)));
    cases
}

/// Records a case.
fn case(name: &str, about: &str, subject: Paths, script: impl FnOnce(&mut Script)) -> Case {
    let mut inputs = Script { paths: Recording::new(name, about, subject), now: Time::ZERO };
    script(&mut inputs);
    inputs.paths.done()
}

/// Cases of REPS that is not frozen.
fn of_reps(seed: u64) -> Vec<Case> {
    let case = |name, about, script: &dyn Fn(&mut Script)| {
        case(name, about, Paths::new(EntropyPolicy::Reps, 64, 64, seed), script)
    };
    vec![
        case("reps-warm-up", "Until a value proved good, all are drawn.", &|s| s.next(12)),
        case(
            "reps-recycling",
            "Values with good feedback are used once each, the oldest first; others are drawn.",
            &|s| {
                s.hear("good", [5, 6, 7]);
                s.next(2);
                s.hear("good", [8, 5]);
                s.next(5);
            },
        ),
        case(
            "reps-full-ring",
            "The ring holds eight: the ninth value takes the place of the oldest.",
            &|s| {
                s.hear("good", 10..19);
                s.next(9);
                s.hear("good", 20..40);
                s.next(10);
            },
        ),
        case("reps-bad-feedback", "Marks and NACKs bring no value back.", &|s| {
            s.hear("ecn", [5]);
            s.hear("nack", [6]);
            s.next(2);
            s.hear("good", [7]);
            s.hear("ecn", [7]);
            s.next(2);
        }),
    ]
}

/// Cases of REPS that is frozen, and of the time after that.
fn of_frozen_reps(seed: u64) -> Vec<Case> {
    let freeze = REPS_FREEZE.as_ps();
    let case = |name, about, script: &dyn Fn(&mut Script)| {
        case(name, about, Paths::new(EntropyPolicy::Reps, 64, 64, seed), script)
    };
    vec![
        case(
            "reps-freeze-full",
            "A timeout freezes a full ring: its values are used over and over, from the first place on.",
            &|s| {
                s.hear("good", 10..21);
                s.next(3);
                s.at(1_000_000);
                s.hear("timeout", [20]);
                s.next(20);
                s.hear("good", [40]);
                s.next(10);
            },
        ),
        case(
            "reps-freeze-in-part",
            "A ring that is full in part uses what it holds, also what was used.",
            &|s| {
                s.hear("good", [1, 2, 3]);
                s.next(3);
                s.hear("timeout", [9]);
                s.next(7);
                s.hear("good", [4]);
                s.next(8);
            },
        ),
        case("reps-freeze-empty", "An empty ring that is frozen draws until it holds a value.", &|s| {
            s.hear("timeout", [9]);
            s.next(3);
            s.hear("good", [4]);
            s.next(3);
        }),
        case(
            "reps-thaw",
            "The first feedback more than 10 ms after the freeze clears the ring; 16 values are drawn then.",
            &|s| {
                s.hear("good", 10..14);
                s.at(5_000_000);
                s.hear("timeout", [10]);
                s.next(2);
                s.at(5_000_000 + freeze - 1);
                s.hear("ecn", [11]);
                s.next(2);
                s.at(5_000_000 + freeze);
                s.next(2);
                s.hear("good", [30]);
                s.next(15);
                s.hear("timeout", [30]);
                s.next(4);
            },
        ),
        case(
            "reps-timeout-while-frozen",
            "A timeout while the ring is frozen freezes it no longer; one while it explores does not freeze.",
            &|s| {
                s.hear("good", 10..14);
                s.hear("timeout", [10]);
                s.at(freeze - 1_000);
                s.hear("timeout", [11]);
                s.next(3);
                s.at(freeze + 1);
                s.hear("timeout", [12]);
                s.next(5);
                s.hear("timeout", [13]);
                s.next(11);
                s.hear("good", [50, 51]);
                s.next(3);
                s.hear("timeout", [52]);
                s.next(3);
            },
        ),
    ]
}

/// Cases of the other policies.
fn of_others(seed: u64) -> Vec<Case> {
    let of = |policy, first_window| Paths::new(policy, 8, first_window, seed);
    vec![
        case(
            "oblivious",
            "All values come once in each round, each round in an order of its own.",
            of(EntropyPolicy::Oblivious, 8),
            |s| {
                s.next(10);
                s.hear("timeout", [3]);
                s.hear("ecn", [1]);
                s.next(14);
            },
        ),
        case(
            "bitmap",
            "Values with a penalty pass; of those that pass in a choice, the first pays one.",
            of(EntropyPolicy::Bitmap, 8),
            |s| {
                s.hear("ecn", [0, 3]);
                s.next(9);
                s.hear("nack", [5]);
                s.hear("good", [5]);
                s.next(20);
                s.hear("timeout", [2, 2]);
                s.next(20);
            },
        ),
        case(
            "bitmap-all-bad",
            "With a penalty on every value the last one that is looked at has to do.",
            of(EntropyPolicy::Bitmap, 8),
            |s| {
                s.hear("nack", 0..8);
                s.next(40);
            },
        ),
        case(
            "mixed",
            "Values with good feedback first, each as often as it was good; else as bitmap.",
            of(EntropyPolicy::Mixed, 8),
            |s| {
                s.hear("ecn", [0, 3]);
                s.next(4);
                s.hear("good", [3, 3, 6]);
                s.next(8);
                s.hear("timeout", [6]);
                s.hear("good", [6]);
                s.next(12);
            },
        ),
        case(
            "reps-legacy",
            "All values in turn in the first window, then those with good feedback, else any.",
            of(EntropyPolicy::RepsLegacy, 5),
            |s| {
                s.hear("good", [7, 2]);
                s.next(7);
                s.hear("good", [1, 1]);
                s.hear("ecn", [4]);
                s.next(5);
            },
        ),
    ]
}

/// Returns a drawn sequence of a policy: choices, and feedback on what was chosen before.
fn drawn(policy: EntropyPolicy, names_path: bool, seed: u64, number: u64) -> Case {
    let about = format!("A drawn sequence of the policy {policy}, with timeouts and pauses.");
    let mut dice = Rng::stream(seed, Entity::Traffic, 300 + number);
    case(&format!("{policy}-drawn"), &about, Paths::new(policy, 16, 12, seed), |s| {
        let mut sent = Vec::new();
        for _ in 0..300 {
            let pause = if dice.below(60) == 0 { Span::from_ms(6) } else { Span::from_ns(400) };
            s.now = s.now.saturating_add(dice.span_up_to(pause));
            if dice.below(2) == 0 || sent.is_empty() {
                // A twin makes the choice first, so that what is heard later is of values that were chosen.
                let (mut twin, mut rng) = (s.paths.subject.entropies.clone(), s.paths.subject.rng.clone());
                sent.push(twin.next(&mut rng, s.now));
                s.next(1);
                continue;
            }
            let entropy = sent.swap_remove(dice.below(sent.len() as u64) as usize);
            let feedback = match dice.below(20) {
                0..=11 => "good",
                12..=15 => "ecn",
                16..=18 => "nack",
                _ => "timeout",
            };
            let is_nameless = feedback == "timeout" && !names_path;
            s.hear(feedback, [if is_nameless { 0 } else { entropy }]);
        }
    })
}
