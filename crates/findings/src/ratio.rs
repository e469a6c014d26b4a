//! The ratio of two mean completion times with its 95 % interval.
//!
//! Runs of several seeds give an interval by Student's t over the logarithms of the ratios, one a seed. One seed has none
//! of other seeds; its interval comes from the parts of the run, by the jackknife that leaves out a part at a time (Efron
//! and Tibshirani, An Introduction to the Bootstrap, ch. 11). Both transports lose the same part, since their traffic is the
//! same.

use crate::parts::Part;

/// The fewest parts with flows, and the fewest flows, of which an interval is made.
const LEAST_PARTS: usize = 5;
const LEAST_FLOWS: u64 = 20;

/// Student's t for a two-sided 95 % interval, for 1 to 30 degrees of freedom; above, that of 30 is a little too wide.
const STUDENT: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
    2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];

/// What an interval rests on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Basis {
    /// So many seeds.
    Seeds(usize),
    /// So many parts of one run.
    Parts(usize),
}

/// A ratio with its interval.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Ratio {
    /// The ratio.
    pub value: f64,
    /// The lower and the upper end of its 95 % interval.
    pub interval: (f64, f64),
    /// What the interval rests on.
    pub basis: Basis,
}

impl Ratio {
    /// Returns the ratio of the means of two runs, each in parts. `None` where too few flows or too few parts carry an
    /// interval, or where the parts hold other flows.
    pub fn of_parts(above: &[Part], below: &[Part]) -> Option<Ratio> {
        let (all_above, all_below) = (Part::total(above), Part::total(below));
        let value = all_above.mean()? / all_below.mean()?;
        let parts: Vec<(&Part, &Part)> =
            above.iter().zip(below).filter(|(one, other)| one.flows + other.flows > 0).collect();
        let is_alike = |(one, other): &(&Part, &Part)| one.flows.abs_diff(other.flows) * 10 <= one.flows;
        if parts.len() < LEAST_PARTS || all_above.flows < LEAST_FLOWS || !parts.iter().all(is_alike) {
            return None;
        }
        let without = |(one, other): &(&Part, &Part)| {
            let (above, below) = (all_above.minus(one).mean()?, all_below.minus(other).mean()?);
            (above > 0.0 && below > 0.0).then(|| (above / below).ln())
        };
        let logs: Vec<f64> = parts.iter().map(without).collect::<Option<_>>()?;
        let count = logs.len() as f64;
        let middle = logs.iter().sum::<f64>() / count;
        let spread = logs.iter().map(|log| (log - middle).powi(2)).sum::<f64>() * (count - 1.0) / count;
        Some(Ratio::around(value, spread.sqrt(), Basis::Parts(logs.len()), logs.len() - 1))
    }

    /// Returns the ratio of the means over seeds, of which both sides have the same. `None` of fewer than three.
    pub fn of_seeds(above: &[f64], below: &[f64]) -> Option<Ratio> {
        let count = above.len();
        if count < 3 || below.len() != count || above.iter().chain(below).any(|&mean| mean <= 0.0) {
            return None;
        }
        let logs: Vec<f64> = above.iter().zip(below).map(|(one, other)| (one / other).ln()).collect();
        let middle = logs.iter().sum::<f64>() / count as f64;
        let variance = logs.iter().map(|log| (log - middle).powi(2)).sum::<f64>() / (count - 1) as f64;
        Some(Ratio::around(middle.exp(), (variance / count as f64).sqrt(), Basis::Seeds(count), count - 1))
    }

    fn around(value: f64, error: f64, basis: Basis, freedom: usize) -> Ratio {
        let half = STUDENT[freedom.min(STUDENT.len()) - 1] * error;
        Ratio { value, interval: (value * (-half).exp(), value * half.exp()), basis }
    }

    /// Returns true if the ratio is above 1, and by more than chance explains.
    pub fn is_above(&self) -> bool {
        self.interval.0 > 1.0
    }

    /// Returns true if the ratio is below 1, and by more than chance explains.
    pub fn is_below(&self) -> bool {
        self.interval.1 < 1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parts(sums: &[f64]) -> Vec<Part> {
        sums.iter().map(|&sum_s| Part { flows: 10, sum_s }).collect()
    }

    #[test]
    fn parts_that_differ_alike_give_a_ratio_without_scatter() {
        let ratio = Ratio::of_parts(&parts(&[20.0; 10]), &parts(&[10.0; 10])).unwrap();
        assert_eq!((ratio.value, ratio.basis), (2.0, Basis::Parts(10)));
        assert!((ratio.interval.0 - 2.0).abs() < 1e-12 && (ratio.interval.1 - 2.0).abs() < 1e-12);
        assert!(ratio.is_above() && !ratio.is_below());
    }

    #[test]
    fn one_part_that_makes_all_the_difference_proves_nothing() {
        let mut above = [10.0; 10];
        above[3] = 60.0;
        let ratio = Ratio::of_parts(&parts(&above), &parts(&[10.0; 10])).unwrap();
        assert_eq!(ratio.value, 1.5);
        assert!(!ratio.is_above() && !ratio.is_below(), "{ratio:?}");
    }

    #[test]
    fn an_interval_needs_five_parts_and_twenty_flows_and_the_same_flows() {
        assert_eq!(Ratio::of_parts(&parts(&[2.0; 4]), &parts(&[1.0; 4])), None);
        assert!(Ratio::of_parts(&parts(&[2.0; 5]), &parts(&[1.0; 5])).is_some());
        let few = vec![Part { flows: 1, sum_s: 1.0 }; 10];
        assert_eq!(Ratio::of_parts(&few, &few), None);
        let mut other = parts(&[1.0; 10]);
        other[0].flows = 12;
        assert_eq!(Ratio::of_parts(&parts(&[2.0; 10]), &other), None);
    }

    #[test]
    fn seeds_give_students_interval_of_the_logarithms() {
        let ratio = Ratio::of_seeds(&[2.0, 2.0 * 1.1, 2.0 / 1.1], &[1.0, 1.0, 1.0]).unwrap();
        assert!((ratio.value - 2.0).abs() < 1e-12);
        let half = 4.303 * 1.1f64.ln() / 3f64.sqrt();
        assert!((ratio.interval.1 - 2.0 * half.exp()).abs() < 1e-9);
        assert_eq!(ratio.basis, Basis::Seeds(3));
        assert_eq!(Ratio::of_seeds(&[2.0, 2.0], &[1.0, 1.0]), None);
    }

    proptest! {
        #[test]
        fn the_interval_holds_the_value_and_turns_with_the_ratio(
            sums in proptest::collection::vec((1.0f64..100.0, 1.0f64..100.0), 5..12),
        ) {
            let (above, below): (Vec<f64>, Vec<f64>) = sums.into_iter().unzip();
            let ratio = Ratio::of_parts(&parts(&above), &parts(&below)).unwrap();
            let turned = Ratio::of_parts(&parts(&below), &parts(&above)).unwrap();
            prop_assert!(ratio.interval.0 <= ratio.value && ratio.value <= ratio.interval.1);
            prop_assert!((ratio.value * turned.value - 1.0).abs() < 1e-9);
            prop_assert_eq!(ratio.is_above(), turned.is_below());
        }
    }
}
