use super::*;
use crate::rng::Entity;
use clearway_schema::{Field, Value};
use clearway_units::Span;
use std::collections::BTreeSet;

const NOW: Time = Time::ZERO;

struct Bench {
    rng: Rng,
    entropies: Entropies,
}

impl Bench {
    fn new(policy: EntropyPolicy, values: u16) -> Bench {
        let mut rng = Rng::stream(1, Entity::Sender, 0);
        let entropies = Entropies::new(policy, values, &mut rng);
        Bench { rng, entropies }
    }

    fn next(&mut self) -> u16 {
        self.entropies.next(&mut self.rng, NOW)
    }

    fn take(&mut self, count: usize) -> Vec<u16> {
        (0..count).map(|_| self.next()).collect()
    }

    fn hear(&mut self, entropy: u16, feedback: Feedback) {
        self.entropies.feedback(entropy, feedback, NOW);
    }
}

#[test]
fn each_value_comes_once_a_round_and_rounds_have_different_orders() {
    for policy in [
        EntropyPolicy::Oblivious,
        EntropyPolicy::Bitmap,
        EntropyPolicy::Mixed,
        EntropyPolicy::Perm,
        EntropyPolicy::Scored,
    ] {
        let mut bench = Bench::new(policy, 64);
        let rounds: Vec<Vec<u16>> = (0..10).map(|_| bench.take(64)).collect();
        for round in &rounds {
            assert_eq!(round.iter().map(|value| value & 63).collect::<BTreeSet<_>>().len(), 64, "{policy}");
            assert!(round.iter().all(|value| value & !63 == round[0] & !63), "{policy}: the base stays");
        }
        assert!(rounds.iter().collect::<BTreeSet<_>>().len() > 5, "{policy}");
    }
}

#[test]
fn the_order_of_the_walk_is_a_counter_with_bits_turned() {
    let mut bench = Bench::new(EntropyPolicy::Oblivious, 8);
    let round = bench.take(8);
    let expected: Vec<u16> = (0..8).map(|place| round[0] ^ place).collect();
    assert_eq!(round, expected);
}

#[test]
fn a_value_with_a_penalty_passes_as_often_as_the_penalty_says() {
    for (feedback, turns) in [(Feedback::Ecn, 1), (Feedback::Nack, 4), (Feedback::Timeout, 15)] {
        let mut bench = Bench::new(EntropyPolicy::Bitmap, 16);
        let bad = bench.next() & 15;
        bench.take(15);
        bench.hear(bad, feedback);
        let passed = |bench: &mut Bench| {
            // Its turn passes whenever the walk would come to it, so count packets until it comes again.
            (1..).find(|_| bench.next() & 15 == bad).expect("it comes again")
        };
        let packets = passed(&mut bench);
        // A round without it has 15 packets.
        assert!((15 * turns + 1..=15 * turns + 16).contains(&packets), "{feedback:?}: {packets}");
    }
}

#[test]
fn of_several_values_that_are_skipped_only_the_first_pays() {
    let mut rng = Rng::stream(1, Entity::Sender, 0);
    let mut walk = Walk::new(8, &mut rng);
    let first = walk.next(&mut rng) & 7;
    let [second, third, fourth] = [1, 2, 3].map(|place| usize::from(first ^ place));
    let mut penalties = [0; 8];
    (penalties[second], penalties[third]) = (2, 2);
    assert_eq!(usize::from(walk.next_without(&mut penalties, &mut rng) & 7), fourth);
    assert_eq!((penalties[second], penalties[third]), (1, 2));
}

#[test]
fn a_walk_in_which_every_value_has_a_penalty_goes_on() {
    let mut bench = Bench::new(EntropyPolicy::Bitmap, 8);
    (0..8).for_each(|value| (0..2).for_each(|_| bench.hear(value, Feedback::Timeout)));
    let State::Bitmap(penalties) = &bench.entropies.state else { panic!("it has penalties") };
    assert_eq!(**penalties, [15; 8], "no value has more than the cap");
    bench.take(32);
    let State::Bitmap(penalties) = &bench.entropies.state else { panic!("it has penalties") };
    assert_eq!(penalties.iter().map(|&penalty| u32::from(penalty)).sum::<u32>(), 8 * 15 - 32);
}

#[test]
fn the_penalties_of_eqds_are_one_turn_at_most() {
    let mut bench = Bench::new(EntropyPolicy::Bitmap, 8);
    bench.entropies = bench.entropies.clone().with_penalties(Penalties::EQDS);
    [Feedback::Ecn, Feedback::Nack, Feedback::Nack].into_iter().for_each(|feedback| bench.hear(3, feedback));
    let State::Bitmap(penalties) = &bench.entropies.state else { panic!("it has penalties") };
    assert_eq!(**penalties, [0, 0, 0, 1, 0, 0, 0, 0]);
}

#[test]
fn values_that_proved_good_are_used_again_before_others_oldest_first() {
    for policy in [EntropyPolicy::Mixed, EntropyPolicy::Reps, EntropyPolicy::RepsLegacy] {
        let mut bench = Bench::new(policy, 64);
        bench.take(64);
        [5, 9, 2].into_iter().for_each(|value| bench.hear(value, Feedback::Good));
        bench.hear(11, Feedback::Ecn);
        bench.hear(12, Feedback::Nack);
        assert_eq!(bench.take(3), [5, 9, 2], "{policy}");
    }
}

#[test]
fn the_legacy_policy_counts_up_through_its_first_window() {
    let mut bench = Bench::new(EntropyPolicy::RepsLegacy, 8);
    bench.entropies = bench.entropies.clone().with_first_window(3);
    bench.hear(6, Feedback::Good);
    assert_eq!(bench.take(4), [1, 2, 3, 6]);
    let mut bench = Bench::new(EntropyPolicy::RepsLegacy, 8);
    assert_eq!(bench.take(8), [1, 2, 3, 4, 5, 6, 7, 0]);
}

#[test]
fn the_ring_keeps_the_eight_newest_values() {
    let mut bench = Bench::new(EntropyPolicy::Reps, 1 << 15);
    (100..110).for_each(|value| bench.hear(value, Feedback::Good));
    assert_eq!(bench.take(4), [102, 103, 104, 105]);
    [200, 201].into_iter().for_each(|value| bench.hear(value, Feedback::Good));
    assert_eq!(bench.take(6), [106, 107, 108, 109, 200, 201]);
    let State::Reps(reps) = &mut bench.entropies.state else { panic!("it has a ring") };
    assert_eq!(reps.next(), None, "all were used");
}

#[test]
fn a_timeout_freezes_the_ring_until_feedback_after_ten_milliseconds() {
    let mut reps = Reps::default();
    (1..=3).for_each(|value| reps.feedback(value, Feedback::Good, NOW));
    assert_eq!(reps.next(), Some(1));
    reps.feedback(0, Feedback::Timeout, NOW);
    let taken: Vec<_> = (0..7).map(|_| reps.next()).collect();
    assert_eq!(taken, [1, 2, 3, 1, 2, 3, 1].map(Some), "used ones too");
    let end = NOW + Span::from_ms(10);
    reps.feedback(0, Feedback::Timeout, end);
    assert!(reps.next().is_some(), "it is still frozen");
    reps.feedback(7, Feedback::Good, end + Span::from_ps(1));
    assert!((0..16).all(|_| reps.next().is_none()), "it explores");
    assert_eq!((reps.next(), reps.next()), (Some(7), None), "the others were forgotten");
}

#[test]
fn a_full_ring_that_is_frozen_is_used_from_its_first_place_on() {
    let mut reps = Reps::default();
    (1..=11).for_each(|value| reps.feedback(value, Feedback::Good, NOW));
    assert_eq!(reps.next(), Some(4), "the oldest value");
    reps.feedback(0, Feedback::Timeout, NOW);
    let taken: Vec<_> = (0..9).map(|_| reps.next()).collect();
    assert_eq!(taken, [9, 10, 11, 4, 5, 6, 7, 8, 9].map(Some));
}

#[test]
fn no_timeout_freezes_a_ring_that_explores_and_an_empty_one_has_no_value() {
    let mut reps = Reps::default();
    reps.feedback(0, Feedback::Timeout, NOW);
    assert_eq!(reps.next(), None);
    let later = NOW + Span::from_ms(11);
    reps.feedback(0, Feedback::Timeout, later);
    reps.feedback(7, Feedback::Good, later);
    assert!((0..16).all(|_| reps.next().is_none()), "it explores");
    assert_eq!((reps.next(), reps.next()), (Some(7), None), "it is not frozen");
}

#[test]
fn a_path_that_loses_more_than_others_passes_until_it_does_not() {
    let mut bench = Bench::new(EntropyPolicy::Scored, 4);
    let count = |bench: &mut Bench| bench.take(400).into_iter().filter(|&value| value == 2).count();
    for _ in 0..200 {
        [0, 1, 3].into_iter().for_each(|value| bench.hear(value, Feedback::Good));
        [Feedback::Good, Feedback::Nack].into_iter().for_each(|feedback| bench.hear(2, feedback));
    }
    // Its last 300 pieces of feedback came when it was known to be bad.
    assert_eq!(count(&mut bench), 0, "its turn passes");
    bench.take(1_000);
    assert_eq!(count(&mut bench), 100, "its turns have passed");
}

#[test]
fn a_bounce_counts_as_three_losses() {
    let mut bench = Bench::new(EntropyPolicy::Scored, 2);
    for _ in 0..30 {
        bench.hear(0, Feedback::Good);
        bench.hear(1, Feedback::Good);
        bench.hear(1, Feedback::Bounce);
    }
    // 120 pieces of feedback by then; the first above 100 makes it bad.
    assert!(bench.take(4).iter().all(|&value| value == 0));
}

#[test]
fn a_flow_takes_little_memory() {
    assert!(size_of::<Entropies>() <= 80, "{}", size_of::<Entropies>());
    assert!(size_of::<Entropies>() + 128 <= 208, "with a permutation of 64");
}

#[test]
fn a_number_of_values_out_of_range_is_refused() {
    for (text, values) in [("1", 1), ("9", 9), ("64", 64), ("32768", 32768)] {
        assert_eq!(EntropyValues::read(&Value::from(text)).ok().map(EntropyValues::get), Some(values));
    }
    for text in ["0", "32769", "65536", "-1", "many", "1.5"] {
        let problem = EntropyValues::read(&Value::from(text)).unwrap_err();
        assert_eq!(problem, "write a number from 1 to 32768, such as 64", "{text}");
    }
    assert_eq!(EntropyValues::new(64).unwrap().write(), Some("64".into()));
}

#[test]
fn only_policies_that_turn_no_bits_choose_among_a_number_of_values_that_is_no_power_of_two() {
    let nine = EntropyValues::new(9).unwrap();
    for policy in [EntropyPolicy::Perm, EntropyPolicy::Rand, EntropyPolicy::Scored] {
        assert_eq!(policy.conflict("paths", nine, "path_values"), None, "{policy}");
        let seen: BTreeSet<u16> = Bench::new(policy, 9).take(900).into_iter().collect();
        assert_eq!(seen, (0..9).collect(), "{policy}");
    }
    let conflict = EntropyPolicy::Mixed.conflict("entropy", nine, "paths").unwrap();
    assert_eq!(conflict.keys, ["paths", "entropy"]);
    assert_eq!(conflict.problems[0], "entropy = \"mixed\" needs a power of two; write one such as 16");
    assert_eq!(
        conflict.problems[1],
        "needs a power of two, and paths is 9; write \"perm\", \"rand\" or \"scored\""
    );
    assert_eq!(EntropyPolicy::Mixed.conflict("entropy", EntropyValues::new(16).unwrap(), "paths"), None);
}
