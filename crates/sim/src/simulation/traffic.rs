//! Applications: traffic entries start their flows, and go through rounds of requests and responses, over connections
//! that stay open or new ones each time (incast, partition/aggregate).

use super::life::Start;
use super::rounds::Connection;
use super::run::Simulation;
use super::source::{Source, gap};
use crate::engine::EventKind;
use crate::ids::{Id, TrafficId};
use crate::metrics::WindowEnd;
use crate::model::{Flow, Pattern, Rounds};
use clearway_units::{Bytes, Span, Time};

impl Simulation {
    /// Starts what a traffic entry has due now, and schedules its next start.
    pub(super) fn run_source(&mut self, traffic: TrafficId) {
        let now = self.net.now();
        match (&self.model.traffic[traffic.index()].pattern, self.sources.get_mut(traffic)) {
            (Pattern::Flows(flows), Source::Flows(next)) => {
                let (number, flow) = (*next as u64, flows[*next]);
                *next += 1;
                self.start_single(traffic, number, flow);
            }
            (Pattern::Poisson(poisson), Source::Poisson { rng, arrived, next }) => {
                let size = Some(poisson.sizes.sample(rng));
                let hosts = poisson.hosts.len() as u64;
                let src = rng.below(hosts);
                let dst = (src + 1 + rng.below(hosts - 1)) % hosts;
                let [src, dst] = [src, dst].map(|host| poisson.hosts[host as usize]);
                let number = *arrived;
                *arrived += 1;
                *next = now + gap(poisson, rng);
                self.start_single(traffic, number, Flow { start: now, src, dst, size, stop: None });
            }
            _ => self.start_round(traffic),
        }
        self.schedule_source(traffic);
    }

    /// Schedules the next start of a traffic entry, or notes that it has none.
    fn schedule_source(&mut self, traffic: TrafficId) {
        let source = self.sources.get_mut(traffic);
        match source.next_at(&self.model.traffic[traffic.index()].pattern) {
            Some(at) => self.net.agenda.outside(at, EventKind::Traffic(traffic)),
            None if matches!(source, Source::Rounds(_)) => {}
            None => {
                let arrives = matches!(source, Source::Poisson { .. });
                self.sources.close();
                if arrives && self.window.ends_with_arrivals() {
                    let flows = self.flow_counts();
                    self.window.close(&mut self.net, flows, WindowEnd::LastArrival);
                }
            }
        }
    }

    /// Starts the next round of a traffic entry, or goes on with one whose workers are asked one by one; the first
    /// opens the connections.
    fn start_round(&mut self, traffic: TrafficId) {
        let rounds = self.rounds_of(traffic);
        let (workers, reconnect, spread) = (rounds.workers.len(), rounds.reconnect, rounds.spread);
        let state = self.sources.rounds(traffic);
        if !state.waiting.is_empty() {
            return self.ask_those_due(traffic);
        }
        if state.begun == 0 && !reconnect {
            for worker in 0..workers {
                let opened = self.connect(traffic, worker, 0);
                self.sources.rounds(traffic).connections[worker] = Some(opened);
            }
        }
        let now = self.net.now();
        let state = self.sources.rounds(traffic);
        state.begun += 1;
        state.outstanding = workers as u32;
        if spread == Span::ZERO {
            return (0..workers).for_each(|worker| self.ask(traffic, worker));
        }
        let mut waiting: Vec<(Time, usize)> =
            (0..workers).map(|worker| (now + state.rng.span_up_to(spread), worker)).collect();
        waiting.sort_unstable();
        state.waiting = waiting.into();
        self.ask_those_due(traffic);
    }

    /// Asks the workers whose time came, and notes when the next one's does.
    fn ask_those_due(&mut self, traffic: TrafficId) {
        let now = self.net.now();
        loop {
            let state = self.sources.rounds(traffic);
            let Some(&(at, worker)) = state.waiting.front() else { return };
            if at > now {
                state.next = Some(at);
                return;
            }
            state.waiting.pop_front();
            self.ask(traffic, worker);
        }
    }

    /// A request or a response was delivered. Flow 2w carries the requests to worker w, flow 2w + 1 the responses; with
    /// new connections for each of W workers in every round, that is flow 2w + 2W r of round r.
    pub(super) fn round_progress(&mut self, traffic: TrafficId, number: u64) {
        let rounds = self.rounds_of(traffic);
        let (total, barrier, pause, reconnect) =
            (rounds.rounds, rounds.barrier, rounds.pause, rounds.reconnect);
        let worker = (number / 2 % rounds.workers.len() as u64) as usize;
        let is_response = number % 2 == 1;
        if !is_response {
            return self.answer(traffic, worker);
        }
        let now = self.net.now();
        let state = self.sources.rounds(traffic);
        let connection = state.connection(worker);
        connection.done += 1;
        if connection.done == total {
            state.open -= 1;
            if state.open == 0 {
                self.sources.close();
            }
            if !reconnect {
                self.disconnect(traffic, worker);
            }
        } else if !barrier {
            self.ask(traffic, worker);
        }
        let state = self.sources.rounds(traffic);
        state.outstanding -= barrier as u32;
        if barrier && state.outstanding == 0 && state.begun < total {
            state.next = Some(now + pause);
            self.schedule_source(traffic);
        }
    }

    fn rounds_of(&self, traffic: TrafficId) -> &Rounds {
        match &self.model.traffic[traffic.index()].pattern {
            Pattern::Rounds(rounds) => rounds,
            _ => unreachable!("this traffic entry has rounds"),
        }
    }

    /// Opens the connection to a worker, of which `done` responses came over earlier ones.
    fn connect(&mut self, traffic: TrafficId, worker: usize, done: u32) -> Connection {
        let rounds = self.rounds_of(traffic);
        let (client, host, asks) = (rounds.client, rounds.workers[worker], rounds.request > Bytes::ZERO);
        let (before, established) = (rounds.workers.len() as u64 * u64::from(done), !rounds.reconnect);
        let mut open = |number, src, dst| {
            let number = 2 * (before + worker as u64) + number;
            self.open_flow(Start { traffic, number, src, dst, established })
        };
        let request = asks.then(|| open(0, client, host));
        let response = open(1, host, client);
        Connection { request, response, done }
    }

    /// Asks one worker; without requests it starts by itself.
    fn ask(&mut self, traffic: TrafficId, worker: usize) {
        let rounds = self.rounds_of(traffic);
        let (request, reconnect) = (rounds.request, rounds.reconnect);
        if reconnect {
            let done = self.sources.rounds(traffic).connections[worker].map_or(0, |last| last.done);
            let opened = self.connect(traffic, worker, done);
            self.sources.rounds(traffic).connections[worker] = Some(opened);
        }
        match self.sources.rounds(traffic).connection(worker).request {
            Some(slot) => {
                self.write(slot, request.get(), reconnect);
            }
            None => self.answer(traffic, worker),
        }
    }

    /// A worker answers.
    fn answer(&mut self, traffic: TrafficId, worker: usize) {
        let rounds = self.rounds_of(traffic);
        let bytes = rounds.response.get() + (worker < rounds.longer as usize) as u64;
        let close = rounds.reconnect;
        let slot = self.sources.rounds(traffic).connection(worker).response;
        self.write(slot, bytes, close);
    }

    fn disconnect(&mut self, traffic: TrafficId, worker: usize) {
        let connection = *self.sources.rounds(traffic).connection(worker);
        self.close(connection.response);
        if let Some(slot) = connection.request {
            self.close(slot);
        }
    }
}
