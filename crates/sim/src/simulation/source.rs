//! The state of each traffic entry: what it starts next, and when.

use super::messages::MessagesState;
use crate::ids::{Id, IdVec, TrafficId};
use crate::model::{Flow, Model, Pattern, Poisson};
use clearway_proto::{Entity, Rng};
use clearway_units::{Bytes, Span, Time};
use serde::{Deserialize, Serialize};

/// The source of a traffic entry.
#[derive(Serialize, Deserialize)]
pub enum Source {
    /// A position in a list of flows.
    Flows(usize),
    /// The progress of a list of messages.
    Messages(Box<MessagesState>),
    /// The next arrival of a Poisson process.
    Poisson {
        /// The stream of randomness of sizes, times and pairs.
        rng: Rng,
        /// The number of flows that arrived.
        arrived: u64,
        /// The time at which the next one does.
        next: Time,
    },
    /// Rounds: the first starts at a time of the model, the others when the application says so, in the client's region.
    Rounds,
}

/// The sources of all traffic entries.
#[derive(Serialize, Deserialize)]
pub struct Sources {
    of: IdVec<TrafficId, Source>,
    /// The number of traffic entries that have not started all their flows.
    left: usize,
}

impl Sources {
    /// Returns the sources of a model before their first start.
    pub fn new(model: &Model) -> Sources {
        let source = |index| Source::of(model, TrafficId::from_index(index));
        Sources { of: (0..model.traffic.len()).map(source).collect(), left: 0 }
    }

    /// Returns the source of a traffic entry.
    pub fn get_mut(&mut self, traffic: TrafficId) -> &mut Source {
        &mut self.of[traffic]
    }

    /// Notes that a traffic entry has something to start.
    pub fn open(&mut self) {
        self.left += 1;
    }

    /// Notes that a traffic entry has started all its flows.
    pub fn close(&mut self) {
        self.left -= 1;
    }

    /// Returns whether all traffic entries have started all their flows.
    pub fn all_done(&self) -> bool {
        self.left == 0
    }
}

impl Source {
    /// Returns the source of a traffic entry before its first start.
    pub fn of(model: &Model, traffic: TrafficId) -> Source {
        let rng = Rng::stream(model.seed, Entity::Traffic, traffic.index() as u64);
        Source::new(&model.traffic[traffic.index()].pattern, rng)
    }

    /// Returns the source of a pattern before its first start.
    fn new(pattern: &Pattern, mut rng: Rng) -> Source {
        match pattern {
            Pattern::Poisson(poisson) => {
                let next = poisson.start + gap(poisson, &mut rng);
                Source::Poisson { rng, arrived: 0, next }
            }
            Pattern::Flows(_) => Source::Flows(0),
            Pattern::Messages(messages) => Source::Messages(Box::new(MessagesState::new(messages))),
            Pattern::Rounds(_) => Source::Rounds,
        }
    }

    /// Returns the time at which the source starts something next, if ever; of rounds, the time of the first.
    pub fn next_at(&self, pattern: &Pattern) -> Option<Time> {
        match (self, pattern) {
            (Source::Flows(next), Pattern::Flows(flows)) => flows.get(*next).map(|flow| flow.start),
            (Source::Messages(state), Pattern::Messages(messages)) => state.next_at(messages),
            (Source::Poisson { arrived, next, .. }, Pattern::Poisson(poisson)) => {
                let open = *arrived < poisson.flows && poisson.stop.is_none_or(|stop| *next <= stop);
                open.then_some(*next)
            }
            (Source::Rounds, Pattern::Rounds(rounds)) => Some(rounds.start),
            _ => unreachable!("a source is made from its pattern"),
        }
    }

    /// Returns whether the source starts flows of which none has a time yet.
    pub fn waits(&self) -> bool {
        matches!(self, Source::Messages(state) if state.waits())
    }

    /// Returns the next flow, which there must be, with its number; `None` of messages and rounds, which share flows.
    pub fn next_flow(&mut self, pattern: &Pattern) -> Option<(u64, Flow)> {
        match (pattern, self) {
            (Pattern::Flows(flows), Source::Flows(next)) => {
                let (number, flow) = (*next as u64, flows[*next]);
                *next += 1;
                Some((number, flow))
            }
            (Pattern::Poisson(poisson), Source::Poisson { rng, arrived, next }) => {
                let size = Some(poisson.sizes.sample(rng));
                let hosts = poisson.hosts.len() as u64;
                let src = rng.below(hosts);
                let dst = (src + 1 + rng.below(hosts - 1)) % hosts;
                let [src, dst] = [src, dst].map(|host| poisson.hosts[host as usize]);
                let (number, start) = (*arrived, *next);
                *arrived += 1;
                *next = start + gap(poisson, rng);
                Some((number, Flow { start, src, dst, size, stop: None }))
            }
            _ => None,
        }
    }

    /// Returns whether the next flow may be prepared before it starts. The last arrival may close the window of
    /// measurement, and a flow that stops is known by its row.
    pub fn may_prepare(&self, pattern: &Pattern) -> bool {
        match (self, pattern) {
            (Source::Flows(next), Pattern::Flows(flows)) => flows[*next].stop.is_none(),
            (Source::Poisson { arrived, .. }, Pattern::Poisson(poisson)) => {
                poisson.stop.is_none() && *arrived + 1 < poisson.flows
            }
            _ => false,
        }
    }
}

/// Draws the time between two arrivals.
fn gap(poisson: &Poisson, rng: &mut Rng) -> Span {
    Span::from_secs_f64(rng.exponential(poisson.mean_gap_s))
}

impl Pattern {
    /// Returns the number of flows or messages that there will be, if that is known.
    pub fn expected(&self) -> Option<u64> {
        Some(match self {
            Pattern::Flows(flows) => flows.len() as u64,
            Pattern::Messages(messages) => messages.list().len() as u64,
            Pattern::Poisson(poisson) => poisson.flows,
            Pattern::Rounds(rounds) => {
                let messages = if rounds.request == Bytes::ZERO { 1 } else { 2 };
                messages * rounds.rounds as u64 * rounds.workers.len() as u64
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::Cdf;
    use clearway_topology::NodeId;
    use std::sync::Arc;

    #[test]
    fn a_list_of_flows_hands_out_its_times_in_order() {
        let flow = |us| {
            let start = Time::ZERO + Span::from_us(us);
            Flow { start, src: NodeId(0), dst: NodeId(1), size: None, stop: None }
        };
        let pattern = Pattern::Flows(vec![flow(1), flow(5)].into());
        let mut source = Source::new(&pattern, Rng::stream(0, Entity::Traffic, 0));
        assert_eq!(source.next_at(&pattern), Some(Time::ZERO + Span::from_us(1)));
        let Source::Flows(next) = &mut source else { unreachable!() };
        *next += 1;
        assert_eq!(source.next_at(&pattern), Some(Time::ZERO + Span::from_us(5)));
    }

    #[test]
    fn flows_are_prepared_early_unless_they_stop_or_may_be_the_last_arrival() {
        let flow = |stop| Flow { start: Time::ZERO, src: NodeId(0), dst: NodeId(1), size: None, stop };
        let pattern = Pattern::Flows(vec![flow(None), flow(Some(Time::ZERO))].into());
        assert_eq!([0, 1].map(|next| Source::Flows(next).may_prepare(&pattern)), [true, false]);
        let poisson = |stop| Poisson {
            hosts: vec![NodeId(0), NodeId(1)],
            sizes: Arc::new(Cdf::fixed(Bytes::new(1))),
            mean_gap_s: 1.0,
            flows: 3,
            start: Time::ZERO,
            stop,
        };
        let may = |stop, arrived| {
            let source =
                Source::Poisson { rng: Rng::stream(0, Entity::Traffic, 0), arrived, next: Time::ZERO };
            source.may_prepare(&Pattern::Poisson(poisson(stop)))
        };
        assert_eq!([may(None, 1), may(None, 2), may(Some(Time::MAX), 1)], [true, false, false]);
        assert!(!may(Some(Time::MAX), 1) && !Source::Rounds.may_prepare(&pattern));
    }
}
