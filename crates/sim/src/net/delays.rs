//! The delays between the parts of a network: how much later than one part another one can hear of it.

use super::networks::Networks;
use super::port::Away;
use clearway_units::{Span, Time};

/// The shortest delays between parts, from which follows how far each may go on without hearing of the others. They
/// never change: a fault of a link changes its rate or whether it works, and not its delay.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Delays {
    parts: usize,
    /// The shortest delay of a link from one part to another, by both; [`Span::MAX`] if there is no link.
    links: Vec<Span>,
    /// The shortest delay over any number of links and parts; from a part to itself, over at least one other part.
    ways: Vec<Span>,
    /// The shortest of all.
    least: Option<Span>,
}

impl Delays {
    /// Returns the delays between the parts of a network.
    pub fn new(nets: &Networks) -> Delays {
        let parts = nets.len();
        let mut links = vec![Span::MAX; parts * parts];
        for (from, net) in nets.iter().enumerate() {
            for out in net.ports.iter() {
                if let Some(Away::Part(to)) = out.special.leads_to {
                    let shortest = &mut links[from * parts + usize::from(to)];
                    *shortest = out.delay.min(*shortest);
                }
            }
        }
        Delays::of_links(parts, links)
    }

    /// Returns the delays between parts of which those of links are known, by the part from which they lead and the one
    /// to which they do.
    pub fn of_links(parts: usize, links: Vec<Span>) -> Delays {
        let mut ways = links.clone();
        for over in 0..parts {
            for from in 0..parts {
                let first = ways[from * parts + over];
                if first == Span::MAX {
                    continue;
                }
                for to in 0..parts {
                    let both = first.saturating_add(ways[over * parts + to]);
                    let way = &mut ways[from * parts + to];
                    *way = both.min(*way);
                }
            }
        }
        let least = links.iter().copied().min().filter(|&least| least != Span::MAX);
        Delays { parts, links, ways, least }
    }

    /// Returns the number of parts.
    pub fn parts(&self) -> usize {
        self.parts
    }

    /// Returns the shortest delay of a link between parts, if there is one.
    pub fn least(&self) -> Option<Span> {
        self.least
    }

    /// Returns the shortest delay of a link from each part to this one; [`Span::MAX`] where there is no link.
    pub fn links_to(&self, part: usize) -> impl Iterator<Item = Span> {
        self.links[part..].iter().step_by(self.parts).copied()
    }

    /// Returns the time before which a part hears of nothing that the others have yet to do, by the times of what each
    /// has to do first, itself included: what it does comes back to it after the way to another part and back.
    pub fn heard(&self, part: usize, firsts: &[Time]) -> Time {
        let ways = self.ways[part..].iter().step_by(self.parts);
        let heard = firsts.iter().zip(ways).map(|(first, &way)| first.saturating_add(way));
        heard.min().unwrap_or(Time::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NONE: Span = Span::MAX;

    fn ns(ns: u64) -> Span {
        Span::from_ns(ns)
    }

    fn at(ns: u64) -> Time {
        Time::ZERO + Span::from_ns(ns)
    }

    #[test]
    fn a_part_hears_of_another_after_the_shortest_way_and_of_itself_after_the_way_there_and_back() {
        // A short link leads from 0 to 1, a long one from 1 to 2 and back, and none from 0 to 2.
        let links = vec![NONE, ns(10), NONE, ns(20), NONE, ns(500), NONE, ns(600), NONE];
        let delays = Delays::of_links(3, links);
        assert_eq!(delays.least(), Some(ns(10)));
        assert_eq!(delays.links_to(1).collect::<Vec<_>>(), [ns(10), NONE, ns(600)]);
        let alone = |part: usize| {
            let mut firsts = [Time::MAX; 3];
            firsts[part] = at(1000);
            [0, 1, 2].map(|to| delays.heard(to, &firsts))
        };
        assert_eq!(alone(0), [at(1030), at(1010), at(1510)]);
        assert_eq!(alone(1), [at(1020), at(1030), at(1500)]);
        assert_eq!(alone(2), [at(1620), at(1600), at(2100)]);
        assert_eq!(delays.heard(0, &[at(1000), at(5), Time::MAX]), at(25));
        assert_eq!(delays.heard(0, &[Time::MAX; 3]), Time::MAX);
    }

    #[test]
    fn parts_without_a_link_hear_of_nothing() {
        let delays = Delays::of_links(2, vec![NONE; 4]);
        assert_eq!((delays.parts(), delays.least()), (2, None));
        assert_eq!(delays.heard(0, &[Time::ZERO; 2]), Time::MAX);
    }

    proptest! {
        /// Whatever one part does, what follows from it elsewhere, over any links, is never heard too early.
        #[test]
        fn nothing_that_goes_over_any_number_of_links_comes_before_it_may_be_heard(
            drawn in prop::collection::vec(prop::option::of(1u64..1000), 25),
            walk in prop::collection::vec(0usize..5, 1..12),
            first in 0u64..1000,
        ) {
            let mut links: Vec<Span> = drawn.into_iter().map(|ns| ns.map_or(NONE, Span::from_ns)).collect();
            (0..5).for_each(|part| links[part * 6] = NONE);
            let delays = Delays::of_links(5, links.clone());
            let mut firsts = [Time::MAX; 5];
            firsts[walk[0]] = at(first);
            let mut now = firsts[walk[0]];
            for step in walk.windows(2) {
                let link = links[step[0] * 5 + step[1]];
                if step[0] == step[1] || link == NONE {
                    break;
                }
                now = now.saturating_add(link);
                prop_assert!(delays.heard(step[1], &firsts) <= now, "{:?}", step);
            }
        }
    }
}
