//! Ten parts of a run's flows, in the order of their starts. The scatter between the parts says how sure a mean of one run
//! is (the method of batch means: A. M. Law, Simulation Modeling and Analysis, sec. 9.5).

use serde::Serialize;

/// The number of parts.
pub const PARTS: usize = 10;

/// The flows of a part that were delivered.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Part {
    /// Their number.
    pub flows: u64,
    /// The sum of their completion times in seconds.
    pub sum_s: f64,
}

impl Part {
    /// Returns the flows of several parts together.
    pub fn total(parts: &[Part]) -> Part {
        parts.iter().fold(Part::default(), |all, part| all.plus(part))
    }

    /// Returns the flows of both.
    pub fn plus(&self, other: &Part) -> Part {
        Part { flows: self.flows + other.flows, sum_s: self.sum_s + other.sum_s }
    }

    /// Returns the flows without those of a part.
    pub fn minus(&self, part: &Part) -> Part {
        Part { flows: self.flows - part.flows, sum_s: self.sum_s - part.sum_s }
    }

    /// Returns the mean completion time; `None` of no flow.
    pub fn mean(&self) -> Option<f64> {
        (self.flows > 0).then(|| self.sum_s / self.flows as f64)
    }
}

/// Cuts flows into parts of about as many flows each. Flows that start together are one part, since the same queue holds
/// them, so there may be fewer parts with flows than ten. No flow gives no part.
pub fn cut(rows: &[usize], start_s: &[f64], fct_s: &[f64]) -> Vec<Part> {
    if rows.is_empty() {
        return Vec::new();
    }
    let mut rows = rows.to_vec();
    rows.sort_by(|&one, &other| start_s[one].total_cmp(&start_s[other]));
    let mut parts = vec![Part::default(); PARTS];
    let mut first = 0;
    for at in 0..rows.len() {
        if start_s[rows[at]] > start_s[rows[first]] {
            first = at;
        }
        let fct = fct_s[rows[at]];
        if !fct.is_nan() {
            let part = &mut parts[first * PARTS / rows.len()];
            *part = part.plus(&Part { flows: 1, sum_s: fct });
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_follow_the_starts_and_not_the_rows() {
        let start: Vec<f64> = (0..20).map(|flow| f64::from((flow * 7) % 20)).collect();
        let parts = cut(&(0..20).collect::<Vec<_>>(), &start, &start);
        assert!(parts.iter().all(|part| part.flows == 2));
        let sums: Vec<f64> = parts.iter().map(|part| part.sum_s).collect();
        assert_eq!(sums, [1.0, 5.0, 9.0, 13.0, 17.0, 21.0, 25.0, 29.0, 33.0, 37.0]);
    }

    #[test]
    fn flows_that_start_together_are_never_in_two_parts() {
        let start: Vec<f64> = (0..100).map(|flow| f64::from(flow / 25)).collect();
        let parts = cut(&(0..100).collect::<Vec<_>>(), &start, &[1.0; 100]);
        let flows: Vec<u64> = parts.iter().map(|part| part.flows).filter(|&flows| flows > 0).collect();
        assert_eq!(flows, [25, 25, 25, 25]);
    }

    #[test]
    fn no_flow_gives_no_part() {
        assert_eq!(cut(&[], &[], &[]), []);
    }
}
