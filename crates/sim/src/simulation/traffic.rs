//! Traffic: entries start their flows, and open the connections of rounds.

use super::global_events::GlobalEvent;
use super::life::Start;
use super::region::TICK;
use super::rounds::{Connection, has_requests, rounds_of};
use super::run::Simulation;
use super::source::Source;
use crate::hosts::FlowName;
use crate::ids::{Id, TrafficId};
use crate::metrics::WindowEnd;
use crate::model::Flow;
use clearway_units::Time;

impl Simulation {
    /// Starts what a traffic entry has due now, and schedules its next start.
    pub(super) fn run_source(&mut self, traffic: TrafficId) {
        let Some((name, flow)) = self.next_flow(traffic) else { return self.start_rounds(traffic) };
        self.start_single(name, flow);
        self.schedule_source(traffic);
        if self.starts_ahead {
            self.prepare_starts();
        }
    }

    /// Prepares the flows that start before the next barrier, so that their regions start them without one. What else
    /// happens to the whole network never meets a flow that was prepared and has yet to start.
    fn prepare_starts(&mut self) {
        let stop = self.model.stop.map_or(Time::MAX, |stop| stop + TICK);
        let until = self.end_of_cell(self.now).min(stop);
        let mut count = 0;
        while let Some((at, GlobalEvent::Traffic(traffic))) = self.global_events.first()
            && at < until
            && self.sources.get_mut(traffic).may_prepare(&self.model.traffic[traffic.index()].pattern)
            && let Some((name, flow)) = self.next_flow(traffic)
        {
            self.global_events.pop();
            let slot = self.open_single(name, flow);
            self.nets.part_mut(self.nets.part_of(flow.src)).agenda.start(at, slot);
            self.schedule_source(traffic);
            count += 1;
        }
        self.threads.expect(count);
    }

    /// Returns the next flow of a traffic entry, with its name; `None` if the entry has rounds.
    fn next_flow(&mut self, traffic: TrafficId) -> Option<(FlowName, Flow)> {
        let pattern = &self.model.traffic[traffic.index()].pattern;
        let (number, flow) = self.sources.get_mut(traffic).next_flow(pattern)?;
        Some((FlowName { traffic, number }, flow))
    }

    /// Schedules the next start of a traffic entry, or notes that it has none.
    fn schedule_source(&mut self, traffic: TrafficId) {
        let source = self.sources.get_mut(traffic);
        match source.next_at(&self.model.traffic[traffic.index()].pattern) {
            Some(at) => self.global_events.push(at, GlobalEvent::Traffic(traffic)),
            None => {
                let arrives = matches!(source, Source::Poisson { .. });
                self.sources.close();
                if arrives && self.window.ends_with_arrivals() {
                    let flows = self.flow_counts();
                    self.window.close(&mut self.nets, flows, WindowEnd::LastArrival);
                }
            }
        }
    }

    /// Opens the connections that stay open, and starts the first round of a traffic entry.
    fn start_rounds(&mut self, traffic: TrafficId) {
        let rounds = rounds_of(&self.model, traffic);
        let (workers, reconnect, part) =
            (rounds.workers.len(), rounds.reconnect, self.nets.part_of(rounds.client));
        if !reconnect {
            (0..workers).for_each(|worker| self.connect(traffic, worker));
        }
        self.regions[part].start_round(traffic, self.nets.part_mut(part));
    }

    /// Opens a connection to a worker for a new round, and asks it.
    pub(super) fn reconnect(&mut self, traffic: TrafficId, worker: usize) {
        self.connect(traffic, worker);
        let part = self.nets.part_of(rounds_of(&self.model, traffic).client);
        self.regions[part].ask_connected(traffic, worker, self.nets.part_mut(part));
    }

    /// Opens the connection to a worker.
    fn connect(&mut self, traffic: TrafficId, worker: usize) {
        let rounds = rounds_of(&self.model, traffic);
        let (client, host, asks) = (rounds.client, rounds.workers[worker], has_requests(rounds));
        let (workers, established) = (rounds.workers.len() as u64, !rounds.reconnect);
        let part = self.nets.part_of(client);
        let state =
            self.regions[part].rounds[traffic].as_ref().expect("the rounds are in their client's region");
        let done = state.connections[worker].map_or(0, |last| last.done);
        let mut open = |kind, src, dst| {
            let number = 2 * (workers * u64::from(done) + worker as u64) + kind;
            self.open_flow(Start { name: FlowName { traffic, number }, src, dst, established })
        };
        let request = asks.then(|| open(0, client, host));
        let response = open(1, host, client);
        self.nets.share_paths();
        let state =
            self.regions[part].rounds[traffic].as_mut().expect("the rounds are in their client's region");
        state.connections[worker] = Some(Connection { request, response, done });
    }
}
