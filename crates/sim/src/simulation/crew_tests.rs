use super::*;
use crate::simulation::seat::Left;
use clearway_proto::mix;
use proptest::prelude::*;
use std::collections::{BTreeSet, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::{self, ThreadId};

/// Tokens on their way: the time of each, and its name.
type Tokens = BTreeSet<(Time, u64)>;

/// A part in which tokens arrive. Each is sent on to a part that its name and time draw.
struct Toy {
    number: usize,
    delays: Arc<Delays>,
    waiting: Tokens,
    post: Arc<Vec<Mutex<Tokens>>>,
    seen: Vec<(Time, u64)>,
    now: Time,
    by: HashSet<ThreadId>,
    fault: Fault,
}

/// Something that goes wrong in a part.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    Panic,
    /// Time stands still from the first event on.
    Stuck,
}

impl Piece for Toy {
    fn go_on(&mut self, until: Time) -> Left {
        assert!(self.fault != Fault::Panic, "the part fails");
        self.by.insert(thread::current().id());
        self.waiting.append(&mut self.post[self.number].lock().unwrap());
        let before = self.seen.len();
        let is_stuck = self.fault == Fault::Stuck;
        while let Some(&(at, name)) = self.waiting.first().filter(|(at, _)| *at < until && !is_stuck) {
            assert!(at >= self.now, "nothing comes too late");
            self.now = at;
            self.waiting.pop_first();
            self.seen.push((at, name));
            let to = mix(name ^ at.as_ps()) as usize % self.post.len();
            let delay = self.delays.links_to(to).nth(self.number).unwrap();
            let sent = (at.saturating_add(delay), name);
            if to == self.number {
                self.waiting.insert((at + Span::from_ns(1), name));
            } else if delay < Span::MAX {
                self.post[to].lock().unwrap().insert(sent);
            }
        }
        let next = self.waiting.first().map_or(Time::MAX, |(at, _)| *at);
        Left { next, events: (self.seen.len() - before) as u64, is_stuck }
    }
}

fn at(ns: u64) -> Time {
    Time::ZERO + Span::from_ns(ns)
}

/// Delays between so many parts: drawn ones, some pairs without a link.
fn delays(parts: usize, seed: u64) -> Delays {
    let link = |pair: usize| match mix(seed ^ pair as u64) % 8 {
        _ if pair / parts == pair % parts => Span::MAX,
        0 => Span::MAX,
        1 => Span::from_ns(1),
        drawn => Span::from_ns(drawn * 100),
    };
    Delays::of_links(parts, (0..parts * parts).map(link).collect())
}

/// Parts with some tokens in each.
fn toys(delays: &Arc<Delays>, tokens: u64) -> Vec<Toy> {
    let parts = delays.parts();
    let post: Arc<Vec<Mutex<Tokens>>> = Arc::new((0..parts).map(|_| Mutex::default()).collect());
    let toy = |number| Toy {
        number,
        delays: Arc::clone(delays),
        waiting: (0..tokens).map(|name| (at(mix(name) % 500), name * 64 + number as u64)).collect(),
        post: Arc::clone(&post),
        seen: Vec::new(),
        now: Time::ZERO,
        by: HashSet::new(),
        fault: Fault::None,
    };
    (0..parts).map(toy).collect()
}

/// Lets all parts go on to each of these times.
fn through(crew: &mut Crew<Toy>, toys: &mut Vec<Toy>, delays: &Delays, ends: &[Time]) {
    for &end in ends {
        for toy in toys.iter_mut() {
            toy.waiting.append(&mut toy.post[toy.number].lock().unwrap());
        }
        let first = |toy: &Toy| toy.waiting.first().map_or(Time::MAX, |(at, _)| *at);
        let firsts: Vec<Time> = toys.iter().map(first).collect();
        crew.go_on(toys, delays, &firsts, end);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_number_of_threads_sees_the_same_in_each_part_in_the_order_of_time(
        parts in 2usize..6, threads in 1usize..5, seed in any::<u64>(), tokens in 1u64..20,
    ) {
        let delays = Arc::new(delays(parts, seed));
        let ends = [at(1_000), at(1_001), at(6_000)];
        let run = |threads: usize| {
            let mut crew = Crew::start(&delays, threads.min(parts));
            let mut toys = toys(&delays, tokens);
            through(&mut crew, &mut toys, &delays, &ends);
            toys.into_iter().map(|toy| toy.seen).collect::<Vec<_>>()
        };
        let (one, many) = (run(1), run(threads));
        prop_assert!(one.iter().any(|seen| !seen.is_empty()));
        prop_assert!(one.iter().flatten().all(|(time, _)| *time < at(6_000)));
        prop_assert_eq!(one, many);
    }
}

#[test]
fn parts_whose_threads_never_come_are_driven_by_the_calling_one() {
    let delays = Arc::new(delays(3, 7));
    let mut crew = Crew::start(&delays, 3);
    // The threads end before there is anything to do.
    assert!(crew.end().is_none());
    crew.hall.state.is_over.store(false, Ordering::SeqCst);
    let mut toys = toys(&delays, 10);
    through(&mut crew, &mut toys, &delays, &[at(5_000)]);
    assert!(toys.iter().all(|toy| !toy.seen.is_empty()));
    assert!(toys.iter().all(|toy| toy.by.len() == 1 && toy.by.contains(&thread::current().id())));
}

#[test]
fn a_thread_that_goes_on_alone_drives_all_parts_and_wakes_no_other() {
    let delays = Arc::new(delays(3, 7));
    let mut crew = Crew::start(&delays, 3);
    crew.company.heed(1 << 10, 1 << 20);
    assert!(crew.company.is_alone());
    let mut toys = toys(&delays, 10);
    through(&mut crew, &mut toys, &delays, &[at(5_000)]);
    assert!(toys.iter().all(|toy| toy.by.len() == 1 && toy.by.contains(&thread::current().id())));
}

#[test]
fn the_panic_of_a_part_comes_out_where_the_parts_were_handed_over() {
    for number in 0..3 {
        let delays = Arc::new(delays(3, 7));
        let mut crew = Crew::start(&delays, 3);
        let mut toys = toys(&delays, 10);
        toys[number].fault = Fault::Panic;
        let panic = catch_unwind(AssertUnwindSafe(|| through(&mut crew, &mut toys, &delays, &[at(5_000)])));
        let panic = panic.expect_err("it panics");
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"the part fails"), "part {number}");
    }
}

#[test]
fn parts_come_as_far_as_one_in_which_time_stands_still_lets_them() {
    let links = vec![Span::MAX, Span::from_ns(10), Span::from_ns(10), Span::MAX];
    let delays = Arc::new(Delays::of_links(2, links));
    let seen = |threads| {
        let mut crew = Crew::start(&delays, threads);
        let mut toys = toys(&delays, 50);
        toys[1].fault = Fault::Stuck;
        let stands = toys[1].waiting.first().unwrap().0;
        through(&mut crew, &mut toys, &delays, &[at(5_000)]);
        assert!(toys[0].seen.iter().all(|(time, _)| *time < stands + Span::from_ns(10)));
        toys.into_iter().map(|toy| toy.seen).collect::<Vec<_>>()
    };
    assert_eq!(seen(1), seen(2));
}
