//! Rounds of requests and responses over connections that stay open: incast, partition/aggregate.

use super::Simulation;
use super::start::{Source, Start};
use crate::model::{Pattern, Rounds};
use clearway_units::Bytes;

/// How far the rounds of a part of the traffic have come.
pub struct RoundsState {
    connections: Vec<Connection>,
    /// Responses of this round that have not arrived.
    outstanding: u32,
    /// Rounds begun.
    begun: u32,
    /// Connections that have yet to see all of their rounds.
    open: u32,
}

/// A client's connection to a worker: a flow for requests, if there are any, and one for responses.
#[derive(Clone, Copy)]
struct Connection {
    request: Option<u32>,
    response: u32,
    /// Responses that have arrived.
    done: u32,
}

impl RoundsState {
    /// Before the first round.
    pub fn new(rounds: &Rounds) -> RoundsState {
        RoundsState {
            connections: Vec::with_capacity(rounds.workers.len()),
            outstanding: 0,
            begun: 0,
            open: rounds.workers.len() as u32,
        }
    }
}

impl Simulation {
    /// Starts the next round of a part of the traffic; the first opens the connections.
    pub(super) fn start_round(&mut self, traffic: u32) {
        if self.state(traffic).connections.is_empty() {
            self.connect(traffic);
        }
        let state = self.state(traffic);
        state.begun += 1;
        state.outstanding = state.connections.len() as u32;
        for connection in 0..self.state(traffic).connections.len() {
            self.ask(traffic, connection);
        }
    }

    /// A request or a response was delivered. Flow 2c carries the requests of connection c, flow 2c + 1 the responses.
    pub(super) fn round_progress(&mut self, traffic: u32, number: u64) {
        let (connection, is_response) = ((number / 2) as usize, number % 2 == 1);
        let rounds = self.rounds_of(traffic);
        let (response, total, barrier, pause) =
            (rounds.response, rounds.rounds, rounds.barrier, rounds.pause);
        let state = self.state(traffic);
        if !is_response {
            let place = state.connections[connection].response;
            self.write(place, response.get(), false);
            return;
        }
        state.connections[connection].done += 1;
        let done = state.connections[connection].done;
        if done == total {
            state.open -= 1;
            self.sources_left -= (state.open == 0) as usize;
            self.disconnect(traffic, connection);
        } else if !barrier {
            self.ask(traffic, connection);
        }
        let state = self.state(traffic);
        state.outstanding -= barrier as u32;
        if barrier && state.outstanding == 0 && state.begun < total {
            self.sources[traffic as usize] = Source::Rounds { next: Some(self.net.now + pause) };
            self.schedule_source(traffic);
        }
    }

    fn state(&mut self, traffic: u32) -> &mut RoundsState {
        self.rounds[traffic as usize].as_mut().expect("this part of the traffic has rounds")
    }

    fn rounds_of(&self, traffic: u32) -> &Rounds {
        match &self.model.traffic[traffic as usize].pattern {
            Pattern::Rounds(rounds) => rounds,
            _ => unreachable!("this part of the traffic has rounds"),
        }
    }

    fn connect(&mut self, traffic: u32) {
        let rounds = self.rounds_of(traffic);
        let (client, workers, asks) = (rounds.client, rounds.workers.clone(), rounds.request > Bytes::ZERO);
        for (connection, worker) in workers.into_iter().enumerate() {
            let mut open = |number, src, dst| {
                self.open_flow(Start {
                    traffic,
                    number: 2 * connection as u64 + number,
                    src,
                    dst,
                    established: true,
                })
            };
            let request = asks.then(|| open(0, client, worker));
            let response = open(1, worker, client);
            self.state(traffic).connections.push(Connection { request, response, done: 0 });
        }
    }

    /// Asks one worker; without requests it starts by itself.
    fn ask(&mut self, traffic: u32, connection: usize) {
        let rounds = self.rounds_of(traffic);
        let (request, response) = (rounds.request, rounds.response);
        let connection = self.state(traffic).connections[connection];
        match connection.request {
            Some(place) => self.write(place, request.get(), false),
            None => self.write(connection.response, response.get(), false),
        };
    }

    fn disconnect(&mut self, traffic: u32, connection: usize) {
        let connection = self.state(traffic).connections[connection];
        self.close(connection.response);
        if let Some(place) = connection.request {
            self.close(place);
        }
    }
}
