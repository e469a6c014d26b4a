use super::*;
use clearway_units::Span;
use proptest::prelude::*;

const PAPER: Constants = Constants {
    expresspass: Algorithm1 {
        max_rate: 1.0,
        alpha: 1.0,
        w_init: 0.0625,
        w_min: 0.01,
        w_max: 0.5,
        target_loss: 0.1,
        ramp: 0,
    },
    mode_threshold: 3,
    g: 0.0625,
    target_ecn_ratio: 0.0,
    target_loss: 0.0,
    omega_mid: 0.05,
    ecn_increase: EcnIncrease::Target,
    omega_in_high: OmegaInHigh::Shared,
    credit_block: CreditBlock::LowOnly,
    credit_increase: CreditIncrease::Unmarked,
};

/// The constants of Algorithm 1 as printed.
const PRINTED: Constants =
    Constants { ecn_increase: EcnIncrease::Alpha, credit_increase: CreditIncrease::Always, ..PAPER };

fn at(rate: f64, constants: Constants) -> Law {
    let expresspass = Algorithm1 { alpha: rate, ..constants.expresspass };
    Law::new(Constants { expresspass, ..constants })
}

fn modes(law: &mut Law, ratios: &[f64]) -> Vec<Mode> {
    ratios
        .iter()
        .map(|&ratio| {
            law.step(Some(ratio), Some(0.0), 1.0, 0.0);
            law.mode()
        })
        .collect()
}

#[test]
fn high_mode_begins_with_the_fifth_unmarked_period_and_ends_with_a_mark() {
    use Mode::{High, Low};
    let mut law = at(0.5, PAPER);
    assert_eq!(modes(&mut law, &[0.0; 6]), [Low, Low, Low, Low, High, High]);
    assert_eq!(modes(&mut law, &[0.01]), [Low]);
    assert_eq!(modes(&mut law, &[0.0; 5]), [Low, Low, Low, Low, High], "the count starts anew");
    assert_eq!(modes(&mut law, &[0.0, 0.5, 0.0, 0.0, 0.5, 0.0]), [High, Low, Low, Low, Low, Low]);
}

#[test]
fn without_marks_only_omega_raises_the_rate_of_low_mode() {
    let mut law = at(0.5, PAPER);
    law.step(Some(0.0), Some(0.0), 1.0, 0.0);
    let omega = (0.0625 + 0.05) / 2.0;
    assert_eq!(law.omega(), omega, "line 21 in the first increase already");
    assert_eq!(law.rate(), (1.0 - omega) * 0.5 + omega, "line 22 with the new omega");
}

#[test]
fn a_marked_period_cuts_by_half_of_ecn_alpha_and_the_next_unmarked_one_leaves_the_average_out() {
    let mut law = at(0.5, Constants { omega_mid: 0.0, ..PAPER });
    law.omega = 0.0;
    law.step(Some(1.0), Some(0.0), 1.0, 0.0);
    assert_eq!(law.ecn_alpha(), 0.0625);
    assert_eq!(law.rate(), 0.5 * (1.0 - 0.03125));
    law.step(Some(0.0), Some(0.0), 1.0, 0.0);
    assert_eq!(law.ecn_alpha(), 0.0625 * 0.9375, "the average moves on");
    assert_eq!(law.rate(), 0.5 * (1.0 - 0.03125), "EC4-4");
}

#[test]
fn as_printed_an_unmarked_period_raises_the_rate_by_half_of_the_average_of_marks() {
    let mut law = at(0.5, Constants { omega_mid: 0.0, ..PRINTED });
    law.omega = 0.0;
    modes(&mut law, &[1.0]);
    let before = law.rate();
    modes(&mut law, &[0.0]);
    assert_eq!(law.rate(), before * (1.0 + 0.0625 * 0.9375 / 2.0), "EC4-4");
}

#[test]
fn data_that_is_always_marked_takes_the_rate_to_its_floor_and_as_printed_only_to_a_tenth_of_the_link() {
    let [mended, printed] = [PAPER, PRINTED].map(|constants| {
        let mut law = at(1.0, constants);
        (0..2_000).for_each(|_| law.step(Some(1.0), Some(0.0), 1.0, 0.001));
        law.rate()
    });
    assert_eq!(mended, 0.001, "EC4-17");
    // omega / (1 - (1 - omega) (1 - ECN_alpha / 2)) with ECN_alpha = 1: eleven such flows fill the link.
    assert!((printed - 0.05 / (1.0 - 0.95 * 0.5)).abs() < 1e-9, "{printed}");
}

#[test]
fn as_printed_a_marked_period_raises_a_rate_below_half_of_the_link_and_otherwise_none_does() {
    let [mended, printed] = [PAPER, PRINTED].map(|constants| {
        let mut law = at(0.4, constants);
        law.ecn_alpha = 0.1;
        law.step(Some(0.1), Some(0.0), 1.0, 0.0);
        law.rate()
    });
    assert!(mended < 0.4 && printed > 0.4, "{mended} {printed}");
}

#[test]
fn both_signals_together_multiply_and_one_lost_credit_is_above_a_target_of_zero() {
    let mut law = at(0.8, PAPER);
    law.step(Some(0.5), Some(1.0 / 77.0), 1.0, 0.0);
    assert_eq!(law.rate(), 0.8 * (1.0 - 0.03125 / 2.0) * (1.0 - 1.0 / 77.0), "EC4-16");
    assert_eq!(law.omega(), 0.03125);
}

#[test]
fn omega_halves_with_lost_credits_down_to_its_least_and_returns_to_omega_mid_by_halves() {
    let mut law = at(1.0, PAPER);
    for omega in [0.03125, 0.015625, 0.01, 0.01] {
        law.step(Some(1.0), Some(0.2), 1.0, 0.0);
        assert_eq!(law.omega(), omega);
    }
    law.step(Some(1.0), Some(0.0), 1.0, 0.0);
    assert!((law.omega() - 0.03).abs() < 1e-12);
    law.step(Some(1.0), Some(0.0), 1.0, 0.0);
    assert!((law.omega() - 0.04).abs() < 1e-12);
}

#[test]
fn high_mode_is_expresspass_from_the_same_rate_and_omega() {
    let mut law = at(0.25, PAPER);
    modes(&mut law, &[0.0; 4]);
    let mut expresspass = PassedFeedback::new(PAPER.expresspass);
    expresspass.resume(law.rate(), law.omega());
    for loss in [0.0, 0.05, 0.0, 0.3, 0.0, 0.0] {
        law.step(Some(0.0), Some(loss), 0.2, 0.0);
        expresspass.step(loss, 0.2, 0.0);
        assert_eq!((law.rate(), law.omega()), (expresspass.rate(), expresspass.w()));
    }
}

#[test]
fn ecn_alpha_does_not_change_in_high_mode() {
    let mut law = at(0.25, PAPER);
    modes(&mut law, &[1.0, 0.0, 0.0, 0.0, 0.0]);
    let alpha = law.ecn_alpha();
    assert!((alpha - 0.0625 * 0.9375f64.powi(4)).abs() < 1e-15);
    modes(&mut law, &[0.0; 50]);
    assert_eq!((law.mode(), law.ecn_alpha()), (Mode::High, alpha), "EC4-3");
    modes(&mut law, &[1.0]);
    assert_eq!(law.ecn_alpha(), 0.9375 * alpha + 0.0625);
}

#[test]
fn high_mode_approaches_the_links_rate_and_the_first_mark_after_it_lowers_omega() {
    let mut law = at(0.5, PAPER);
    modes(&mut law, &[0.0; 44]);
    assert!((law.rate() - 1.0).abs() < 1e-9 && law.rate() <= 1.0 && law.omega() == 0.5, "EC4-6");
    modes(&mut law, &[0.0001]);
    assert!(law.rate() < 1.0);
    assert_eq!(law.omega(), 0.275, "EC4-2: halfway from 0.5 to 0.05");
}

#[test]
fn an_omega_of_its_own_survives_high_mode() {
    let mut law = at(1.0, Constants { omega_in_high: OmegaInHigh::Own, ..PAPER });
    modes(&mut law, &[0.0; 4]);
    let low = law.omega();
    modes(&mut law, &[0.0]);
    assert_eq!(law.omega(), 0.0625, "the first increase leaves w");
    modes(&mut law, &[0.0; 20]);
    assert!((law.omega() - 0.5).abs() < 1e-4);
    modes(&mut law, &[0.5]);
    assert_eq!(law.omega(), (low + 0.05) / 2.0);
}

#[test]
fn the_credit_block_after_high_mode_holds_omega_down() {
    let mut law = at(0.5, Constants { credit_block: CreditBlock::Always, ..PAPER });
    modes(&mut law, &[0.0; 4]);
    let (rate, omega) = (law.rate(), law.omega());
    modes(&mut law, &[0.0]);
    let stepped = (1.0 - omega) * rate + omega;
    let halved = (omega + 0.05) / 2.0;
    assert_eq!(law.rate(), (1.0 - halved) * stepped + halved);
    assert_eq!(law.omega(), halved);
    modes(&mut law, &[0.0; 40]);
    assert!(law.omega() < 0.11 && law.rate() <= 1.0, "{} {}", law.omega(), law.rate());
}

#[test]
fn a_period_without_credits_changes_nothing_and_one_without_data_counts_lost_credits_only() {
    let period = |sent, dropped, received, marked| Period {
        sent,
        dropped,
        received,
        marked,
        span: Span::from_us(10),
        rtt: Span::from_us(10),
    };
    let expresspass = Algorithm1 { max_rate: 770_000.0, ..PAPER.expresspass };
    let mut law = Law::new(Constants { expresspass, ..PAPER });
    law.update(&period(7, 0, 7, 7));
    let before = law.clone();
    law.update(&period(0, 0, 0, 0));
    assert_eq!((law.rate(), law.omega(), law.mode_flag), (before.rate(), before.omega(), 0));
    law.update(&period(7, 7, 0, 0));
    assert!((law.rate() - 100_000.0).abs() < 1e-6, "one credit in 10 us");
    assert_eq!((law.ecn_alpha(), law.mode_flag), (before.ecn_alpha(), 0), "no data, so no share of marks");
}

#[test]
fn two_flows_with_equal_marks_converge_to_equal_rates() {
    let mut pair = [at(0.9, PAPER), at(0.1, PAPER)];
    for _ in 0..400 {
        let marked = pair.iter().map(Law::rate).sum::<f64>() > 1.0;
        pair.iter_mut().for_each(|law| law.step(Some(marked as u8 as f64), Some(0.0), 1.0, 0.0));
    }
    assert!((pair[0].rate() - pair[1].rate()).abs() < 1e-6, "omega max_rate is added to both");
}

proptest! {
    #[test]
    fn rate_and_omega_stay_in_their_limits_after_any_periods(
        periods in prop::collection::vec(
            (prop::option::of(0.0..=1.0f64), prop::option::of(0.0..=1.0f64), 0.0..=1.0f64), 1..300,
        ),
        alpha in 0.001..=1.0f64, own in any::<bool>(), always in any::<bool>(),
    ) {
        let mut law = at(alpha, Constants {
            omega_in_high: if own { OmegaInHigh::Own } else { OmegaInHigh::Shared },
            credit_block: if always { CreditBlock::Always } else { CreditBlock::LowOnly },
            ..PAPER
        });
        for (ratio, loss, passed) in periods {
            law.step(ratio, loss, passed, 0.001);
            prop_assert!((0.001..=1.0 + 1e-12).contains(&law.rate()), "{law:?}");
            prop_assert!((0.01..=0.5).contains(&law.omega()), "{law:?}");
            prop_assert!((0.0..=1.0).contains(&law.ecn_alpha()));
        }
    }
}
