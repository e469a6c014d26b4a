//! The time that a host takes to look at a packet.

use crate::model::Delay;
use clearway_proto::Rng;
use clearway_units::Span;

impl Delay {
    /// Returns the least and the largest delay.
    pub fn ends(&self) -> (Span, Span) {
        match self {
            Delay::Fixed(span) => (*span, *span),
            Delay::Uniform(low, high) => (*low, *high),
            Delay::Quantiles(points) => {
                let delay = |end: Option<&(f64, Span)>| end.map_or(Span::ZERO, |(_, delay)| *delay);
                (delay(points.first()), delay(points.last()))
            }
        }
    }

    /// Returns the mean of the distribution, in seconds.
    pub fn mean_s(&self) -> f64 {
        let middle = |low: Span, high: Span| (low.as_secs_f64() + high.as_secs_f64()) / 2.0;
        match self {
            Delay::Fixed(span) => span.as_secs_f64(),
            Delay::Uniform(low, high) => middle(*low, *high),
            Delay::Quantiles(points) => {
                let pieces =
                    points.windows(2).map(|ends| (ends[1].0 - ends[0].0, middle(ends[0].1, ends[1].1)));
                pieces.map(|(share, mean)| share * mean).sum()
            }
        }
    }

    /// Draws a delay from the distribution.
    pub(super) fn draw(&self, rng: &mut Rng) -> Span {
        match self {
            Delay::Fixed(span) => *span,
            Delay::Uniform(low, high) => *low + rng.span_up_to(*high - *low),
            Delay::Quantiles(points) => {
                let at = rng.unit();
                let above =
                    points.partition_point(|(probability, _)| *probability <= at).clamp(1, points.len() - 1);
                let ((p0, low), (p1, high)) = (points[above - 1], points[above]);
                let share = if p1 > p0 { (at - p0) / (p1 - p0) } else { 0.0 };
                low + (high - low).mul_f64(share.clamp(0.0, 1.0))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clearway_proto::Entity;

    #[test]
    fn the_mean_and_the_ends_of_a_delay_are_those_of_what_is_drawn() {
        let [low, middle, high] = [1, 2, 10].map(Span::from_us);
        for (delay, least, mean_s) in [
            (Delay::Fixed(high), high, 10e-6),
            (Delay::Uniform(low, high), low, 5.5e-6),
            // Nine tenths of 1.5 us, and a tenth of 6 us.
            (Delay::Quantiles(vec![(0.0, low), (0.9, middle), (1.0, high)]), low, 1.95e-6),
        ] {
            assert_eq!(delay.ends(), (least, high), "{delay:?}");
            assert!((delay.mean_s() - mean_s).abs() < 1e-15, "{delay:?}: {} s", delay.mean_s());
            let mut rng = Rng::stream(1, Entity::Host, 0);
            let drawn: f64 = (0..10_000).map(|_| delay.draw(&mut rng).as_secs_f64()).sum();
            assert!((drawn / 1e4 / mean_s - 1.0).abs() < 0.03, "{delay:?}: {drawn}");
        }
    }

    #[test]
    fn delays_are_drawn_from_their_distribution() {
        let mut rng = Rng::stream(1, Entity::Host, 0);
        let [low, middle, high] = [1, 2, 10].map(Span::from_us);
        assert_eq!(Delay::Fixed(low).draw(&mut rng), low);
        let uniform: Vec<Span> = (0..1000).map(|_| Delay::Uniform(low, high).draw(&mut rng)).collect();
        assert!(uniform.iter().all(|&delay| low <= delay && delay <= high));
        let mean = uniform.iter().copied().sum::<Span>().as_secs_f64() / 1000.0;
        assert!((mean - 5.5e-6).abs() < 3e-7, "{mean} s");
        let quantiles = Delay::Quantiles(vec![(0.0, low), (0.9, middle), (1.0, high)]);
        let drawn: Vec<Span> = (0..1000).map(|_| quantiles.draw(&mut rng)).collect();
        let above = drawn.iter().filter(|&&delay| delay > middle).count();
        assert!((70..130).contains(&above), "{above} of 1000 above the 90 % quantile");
    }
}
