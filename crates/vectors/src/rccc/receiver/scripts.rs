//! The cases of a receiving host.

use super::{Host, Input};
use crate::case::{Case, Recording};
use clearway_proto::uec::RcccParams;
use clearway_proto::{Entity, Rng};
use clearway_schema::Auto;
use clearway_units::{Span, Time};

/// A recording of a host.
struct Script {
    host: Recording<Host>,
    now: Time,
}

impl Script {
    fn tell(&mut self, input: Input) {
        self.host.step(self.now, input);
    }

    fn at(&mut self, ps: u64, input: Input) {
        self.now = Time::from_ps(ps);
        self.tell(input);
    }

    fn begin(&mut self, flows: &[u32]) {
        flows.iter().for_each(|&flow| self.tell(Input::Begin { flow }));
    }

    fn data(&mut self, flow: u32, target_quanta: u32) {
        self.tell(Input::Data { flow, target_quanta, marked: false, trimmed: false, last_hop: false });
    }

    /// Lets so many pulls leave, each at the earliest time, if flows wait.
    fn pulls(&mut self, count: usize) {
        for _ in 0..count {
            let next = self.host.subject.pacer.next_pull();
            if next != Time::MAX {
                self.now = self.now.max(next);
            }
            self.tell(Input::Turn);
        }
    }
}

/// Returns the cases of the receiver.
pub fn cases(params: &RcccParams, seed: u64) -> Vec<Case> {
    let groups: [fn(&RcccParams) -> Vec<Case>; 4] = [of_turns, of_demand, of_requests, of_answers];
    let mut cases: Vec<Case> = groups.iter().flat_map(|group| group(params)).collect();
    cases.push(oversubscribed(params));
    cases.extend([drawn(params, seed, 0, 100), drawn(params, seed, 1, 400)]);
    cases
}

/// Records a case.
fn case(params: &RcccParams, name: &str, about: &str, gbps: u64, script: fn(&mut Script)) -> Case {
    let mut inputs = Script { host: Recording::new(name, about, Host::new(params, gbps)), now: Time::ZERO };
    script(&mut inputs);
    inputs.host.done()
}

/// Cases of turns and their times.
fn of_turns(params: &RcccParams) -> Vec<Case> {
    let case = |name, about, gbps, script| case(params, name, about, gbps, script);
    vec![
        case(
            "one-flow",
            "A flow asks for 100 units: a full pull and the rest, each as far from the next as its credit takes.",
            100,
            |s| {
                s.begin(&[4]);
                s.data(4, 100);
                s.pulls(2);
            },
        ),
        case(
            "turns",
            "Three flows take turns; at 400 Gbps the time of a unit is cut to whole picoseconds.",
            400,
            |s| {
                s.begin(&[9, 4, 7]);
                [4, 9, 7].into_iter().for_each(|flow| s.data(flow, 200));
                s.pulls(12);
            },
        ),
        case("too-early", "A pull leaves no earlier than its time.", 100, |s| {
            s.begin(&[4]);
            s.data(4, 640);
            s.at(1_000, Input::Turn);
            let next = s.host.subject.pacer.next_pull().as_ps();
            s.at(next - 1, Input::Turn);
            s.at(next, Input::Turn);
            s.at(next, Input::Turn);
        }),
    ]
}

/// Cases of demand, and of what is granted ahead of it.
fn of_demand(params: &RcccParams) -> Vec<Case> {
    let case = |name, about, gbps, script| case(params, name, about, gbps, script);
    vec![
        case(
            "ahead-of-demand",
            "A flow that asks for no more is granted up to the largest window ahead, and then is empty.",
            100,
            |s| {
                s.begin(&[4]);
                s.data(4, 10);
                s.pulls(20);
                s.data(4, 11);
                s.pulls(1);
                s.data(4, 1_200);
                s.pulls(4);
            },
        ),
        case("demand-first", "Flows that ask go first; those granted ahead have what is left.", 100, |s| {
            s.begin(&[1, 2]);
            s.data(1, 10);
            s.data(2, 10);
            s.pulls(5);
            s.data(2, 500);
            s.pulls(6);
        }),
        case(
            "idle-and-active",
            "A flow that waits ahead of demand asks for more: it leaves that turn or keeps it (UEC-9).",
            100,
            |s| {
                s.begin(&[4, 5]);
                for target in [10, 20, 30, 200] {
                    s.data(4, target);
                    s.pulls(1);
                }
                s.data(5, 8);
                s.pulls(8);
            },
        ),
    ]
}

/// Cases of demand that does not rise, and of those who ask without demand.
fn of_requests(params: &RcccParams) -> Vec<Case> {
    let case = |name, about, gbps, script| case(params, name, about, gbps, script);
    vec![
        case(
            "demand-that-does-not-rise",
            "A demand that is no higher than the last one, also past zero, changes nothing.",
            100,
            |s| {
                s.begin(&[4]);
                s.data(4, 64);
                s.data(4, 60);
                s.data(4, 4_294_967_291);
                s.pulls(2);
                s.data(4, 64);
                s.pulls(1);
            },
        ),
        case(
            "requests-and-nacks",
            "A request and a NACK let a flow wait for a pull though it asks for nothing; an empty pull is short.",
            100,
            |s| {
                s.begin(&[4]);
                s.tell(Input::Request { flow: 4, target_quanta: 0 });
                s.pulls(1);
                s.tell(Input::Nack { flow: 4 });
                s.pulls(1);
                s.tell(Input::Data {
                    flow: 4,
                    target_quanta: 32,
                    marked: false,
                    trimmed: true,
                    last_hop: true,
                });
                s.tell(Input::Nack { flow: 4 });
                s.pulls(2);
                s.tell(Input::Ack { flow: 4 });
            },
        ),
    ]
}

/// Cases of answers, and of flows that end.
fn of_answers(params: &RcccParams) -> Vec<Case> {
    let case = |name, about, gbps, script| case(params, name, about, gbps, script);
    vec![
        case(
            "answers-tell-the-pull",
            "Acknowledgements and NACKs tell the number of the last pull, or none.",
            100,
            |s| {
                s.begin(&[4]);
                s.tell(Input::Ack { flow: 4 });
                s.data(4, 100);
                s.pulls(1);
                s.tell(Input::Ack { flow: 4 });
                s.tell(Input::Nack { flow: 4 });
            },
        ),
        case(
            "ends",
            "A flow that ends leaves its turns; one that was never there changes nothing.",
            100,
            |s| {
                s.begin(&[1, 2, 3]);
                [1, 2, 3].into_iter().for_each(|flow| s.data(flow, 300));
                s.pulls(1);
                s.tell(Input::End { flow: 2 });
                s.pulls(2);
                s.data(2, 900);
                s.tell(Input::End { flow: 1 });
                s.tell(Input::End { flow: 3 });
                s.pulls(1);
                s.begin(&[2]);
                s.data(2, 5);
                s.pulls(2);
            },
        ),
    ]
}

/// The controller of networks whose core is oversubscribed, by what arrived.
fn oversubscribed(params: &RcccParams) -> Case {
    let mut params: RcccParams = params.clone();
    params.credit.oversubscribed_cc = Auto::Set(true);
    let about = "Pulls slow down by marks and by packets cut in the core, and recover ever faster.";
    let mut s =
        Script { host: Recording::new("oversubscribed", about, Host::new(&params, 100)), now: Time::ZERO };
    s.begin(&[4]);
    s.data(4, 4_000_000);
    // Whole, marked, cut in the core, cut at the last hop.
    let rounds = [
        [80, 0, 20, 0],
        [0, 0, 0, 50],
        [10, 0, 0, 0],
        [0, 10, 0, 0],
        [9, 1, 0, 0],
        [9, 1, 0, 0],
        [5, 0, 0, 0],
        [5, 0, 0, 0],
        [5, 0, 0, 0],
        [0, 0, 10, 0],
        [0, 0, 0, 0],
        [0, 0, 0, 0],
    ];
    for counts in rounds {
        for (kind, count) in counts.into_iter().enumerate() {
            for _ in 0..count {
                let (marked, trimmed, last_hop) = (kind == 1, kind >= 2, kind == 3);
                s.tell(Input::Data { flow: 4, target_quanta: 4_000_000, marked, trimmed, last_hop });
            }
        }
        // The controller draws when it decides, 1.875 round trips after the last time at most.
        s.now = s.now.saturating_add(s.host.subject.env.network_rtt * 2);
        s.tell(Input::Decide);
        s.pulls(2);
    }
    s.host.done()
}

/// Returns a drawn sequence of flows that come, ask and go.
fn drawn(params: &RcccParams, seed: u64, number: u64, gbps: u64) -> Case {
    let name = format!("receiver-drawn-{gbps}g");
    let about = format!("A drawn sequence of a receiving host at {gbps} Gbps: flows come, ask and go.");
    let mut s = Script { host: Recording::new(name, about, Host::new(params, gbps)), now: Time::ZERO };
    let mut rng = Rng::stream(seed, Entity::Traffic, 200 + number);
    let mut targets = [None::<u32>; 8];
    for _ in 0..400 {
        s.now = s.now.saturating_add(rng.span_up_to(Span::from_ns(300)));
        let flow = rng.below(8) as u32;
        let known = &mut targets[flow as usize];
        match (rng.below(12), *known) {
            (_, None) => {
                *known = Some(0);
                s.tell(Input::Begin { flow });
            }
            (0, Some(_)) => {
                *known = None;
                s.tell(Input::End { flow });
            }
            (1, Some(target)) => s.tell(Input::Request { flow, target_quanta: target }),
            (2, Some(_)) => s.tell(Input::Ack { flow }),
            (3, Some(_)) => s.tell(Input::Nack { flow }),
            (4..=6, Some(target)) => {
                let target = (target + rng.below(120) as u32).saturating_sub(20);
                *known = Some(target);
                s.data(flow, target);
            }
            _ => s.pulls(1),
        }
    }
    s.host.done()
}
