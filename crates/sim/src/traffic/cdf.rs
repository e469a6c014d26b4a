//! The distribution of flow sizes.

use clearway_proto::Rng;
use clearway_units::Bytes;
use thiserror::Error;

/// The largest size in a distribution, in bytes.
const SIZE_MAX: u64 = 1_000_000_000_000;

/// A cumulative distribution of sizes, linear between its points.
///
/// Two points of the same size are a jump: the probability between them belongs to exactly that size. A first point
/// above probability 0 is a jump too. Two points of the same probability are a gap, in which no sizes occur.
///
/// ```
/// use clearway_sim::traffic::Cdf;
/// use clearway_units::Bytes;
/// let cdf = Cdf::new(vec![(100, 0.0), (100, 0.5), (300, 1.0)]).unwrap();
/// assert_eq!(cdf.quantile(0.25), Bytes::new(100));
/// assert_eq!(cdf.quantile(0.75), Bytes::new(200));
/// assert_eq!(cdf.mean(), 0.5 * 100.0 + 0.5 * 200.0);
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct Cdf {
    points: Vec<(u64, f64)>,
}

/// The reason why points are no distribution.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{problem}")]
pub struct CdfError {
    /// The number of the line of the text, from 1, or of the point, from 1, if there was no text.
    pub line: usize,
    /// The fault, and what would be right.
    pub problem: String,
}

impl Cdf {
    /// Makes the distribution through `points`: sizes in bytes, each with the probability of a size up to it.
    ///
    /// # Errors
    /// There are no points, a size or a probability falls, the last probability is not 1, or a size is above 1 TB.
    pub fn new(points: Vec<(u64, f64)>) -> Result<Cdf, CdfError> {
        let lines: Vec<usize> = (1..=points.len()).collect();
        Cdf::checked(points, &lines)
    }

    /// Makes the distribution of one size alone.
    pub fn fixed(size: Bytes) -> Cdf {
        Cdf { points: vec![(size.get().clamp(1, SIZE_MAX), 1.0)] }
    }

    /// Reads lines of `bytes,cumulative_probability`. That header and lines that start with `#` are skipped.
    ///
    /// # Errors
    /// A line is not of that form, or [`Cdf::new`] refuses the points.
    pub fn parse(text: &str) -> Result<Cdf, CdfError> {
        let (mut points, mut lines) = (Vec::new(), Vec::new());
        for (line, content) in (1..).zip(text.lines()) {
            let content = content.trim();
            let is_header = points.is_empty() && content.starts_with("bytes,");
            if content.is_empty() || content.starts_with('#') || is_header {
                continue;
            }
            let point = content.split_once(',').and_then(|(size, probability)| {
                Some((size.trim().parse().ok()?, probability.trim().parse().ok()?))
            });
            let Some(point) = point else {
                let problem = "is no point; write bytes,cumulative_probability, such as 10000,0.15".into();
                return Err(CdfError { line, problem });
            };
            points.push(point);
            lines.push(line);
        }
        Cdf::checked(points, &lines)
    }

    fn checked(points: Vec<(u64, f64)>, lines: &[usize]) -> Result<Cdf, CdfError> {
        let fail =
            |at: usize, problem: String| Err(CdfError { line: lines.get(at).copied().unwrap_or(1), problem });
        let Some(&(_, last)) = points.last() else {
            return fail(0, "the distribution is empty; write at least one point".into());
        };
        let mut before = (0, 0.0);
        for (at, &(size, probability)) in points.iter().enumerate() {
            if !(0.0..=1.0).contains(&probability) {
                return fail(at, format!("the probability {probability} must be from 0 to 1"));
            }
            if size > SIZE_MAX {
                return fail(at, format!("the size {size} is above {SIZE_MAX} bytes"));
            }
            if size < before.0 {
                return fail(at, format!("the size falls from {} to {size}; sizes must rise", before.0));
            }
            if probability < before.1 {
                return fail(
                    at,
                    format!("the CDF falls from {} to {probability}; probabilities must rise to 1", before.1),
                );
            }
            before = (size, probability);
        }
        if last != 1.0 {
            return fail(points.len() - 1, format!("the CDF ends at {last}; its last probability must be 1"));
        }
        Ok(Cdf { points })
    }

    /// Returns the points.
    pub fn points(&self) -> &[(u64, f64)] {
        &self.points
    }

    /// Returns the mean size in bytes, with straight lines between the points.
    pub fn mean(&self) -> f64 {
        let (first, at_first) = self.points[0];
        let pairs = self.points.windows(2);
        let lines = pairs.map(|pair| (pair[1].1 - pair[0].1) * (pair[0].0 as f64 + pair[1].0 as f64) / 2.0);
        first as f64 * at_first + lines.sum::<f64>()
    }

    /// Returns the size below which a share `u` of all flows lies, at least 1 byte. `u` is in [0, 1).
    pub fn quantile(&self, u: f64) -> Bytes {
        let above = self.points.partition_point(|&(_, probability)| probability <= u);
        let above = above.min(self.points.len() - 1);
        let (high, p_high) = self.points[above];
        let Some(&(low, p_low)) = above.checked_sub(1).and_then(|below| self.points.get(below)) else {
            return Bytes::new(high.max(1));
        };
        let part = ((u - p_low) / (p_high - p_low)).clamp(0.0, 1.0);
        let size = low as f64 + (high - low) as f64 * if part.is_finite() { part } else { 1.0 };
        Bytes::new((size.round() as u64).max(1))
    }

    /// Draws a size.
    pub fn sample(&self, rng: &mut Rng) -> Bytes {
        self.quantile(rng.unit())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clearway_proto::{Entity, Rng};
    use proptest::prelude::*;

    fn refused(text: &str) -> (usize, String) {
        let error = Cdf::parse(text).unwrap_err();
        (error.line, error.problem)
    }

    #[test]
    fn a_jump_puts_its_probability_on_one_size() {
        let cdf = Cdf::new(vec![(70, 0.0), (70, 0.1), (150, 0.15), (150, 0.4), (300, 1.0)]).unwrap();
        for u in [0.0, 0.05, 0.0999] {
            assert_eq!(cdf.quantile(u), Bytes::new(70));
        }
        for u in [0.15, 0.2, 0.399] {
            assert_eq!(cdf.quantile(u), Bytes::new(150));
        }
        assert_eq!(cdf.quantile(0.7), Bytes::new(225));
    }

    #[test]
    fn a_first_point_above_zero_is_a_jump_too() {
        let cdf = Cdf::new(vec![(3, 0.5), (5, 1.0)]).unwrap();
        assert_eq!(cdf.quantile(0.49), Bytes::new(3));
        assert_eq!(cdf.mean(), 0.5 * 3.0 + 0.5 * 4.0);
    }

    #[test]
    fn no_flow_is_smaller_than_a_byte() {
        let cdf = Cdf::new(vec![(0, 0.0), (0, 0.5), (10, 1.0)]).unwrap();
        assert_eq!(cdf.quantile(0.0), Bytes::new(1));
    }

    #[test]
    fn samples_have_the_mean_of_the_distribution() {
        let cdf = Cdf::new(vec![(100, 0.2), (100, 0.3), (5_000, 0.9), (20_000, 1.0)]).unwrap();
        let mut rng = Rng::stream(3, Entity::Traffic, 0);
        let mean = (0..200_000).map(|_| cdf.sample(&mut rng).get() as f64).sum::<f64>() / 200_000.0;
        assert!((mean / cdf.mean() - 1.0).abs() < 0.01, "{mean} for {}", cdf.mean());
    }

    #[test]
    fn points_that_are_not_a_distribution_are_refused_with_their_line() {
        assert_eq!(refused("# nothing\n"), (1, "the distribution is empty; write at least one point".into()));
        assert_eq!(
            refused("bytes,cumulative_probability\n1,0.5\n2,0.4\n3,1"),
            (3, "the CDF falls from 0.5 to 0.4; probabilities must rise to 1".into())
        );
        assert_eq!(refused("1,0.5\n2,0.9").0, 2);
        assert_eq!(refused("5,0.5\n2,1"), (2, "the size falls from 5 to 2; sizes must rise".into()));
        assert_eq!(refused("1,nan").1, "the probability NaN must be from 0 to 1");
        assert!(refused("1;1").1.starts_with("is no point"));
        assert!(refused("-1,1").1.starts_with("is no point"));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[0-9.,\n#a-e-]{0,60}") {
            if let Ok(cdf) = Cdf::parse(&text) {
                prop_assert!(cdf.mean().is_finite());
                let mut before = Bytes::ZERO;
                for step in 0..50 {
                    let size = cdf.quantile(step as f64 / 50.0);
                    prop_assert!(size >= before && size.get() >= 1);
                    before = size;
                }
            }
        }
    }
}
