//! Rounds of requests and responses, over connections that stay open or new ones each time: incast,
//! partition/aggregate.

use super::Simulation;
use super::start::{Source, Start};
use crate::model::{Pattern, Rounds};
use clearway_proto::Rng;
use clearway_units::{Bytes, Span, Time};
use std::collections::VecDeque;

/// How far the rounds of a part of the traffic have come.
pub struct RoundsState {
    /// Draws when each worker is asked.
    rng: Rng,
    /// Who is still to be asked in this round, and when.
    waiting: VecDeque<(Time, usize)>,
    /// By worker; with connections of each round, those of its last one.
    connections: Vec<Option<Connection>>,
    /// Responses of this round that have not arrived.
    outstanding: u32,
    /// Rounds begun.
    begun: u32,
    /// Connections that have yet to see all of their rounds.
    open: u32,
}

/// A client's connection to a worker, in this round if each has its own: a flow for requests, if there are any, and
/// one for responses.
#[derive(Clone, Copy)]
struct Connection {
    request: Option<u32>,
    response: u32,
    /// Responses that have arrived.
    done: u32,
}

impl RoundsState {
    /// Before the first round.
    pub fn new(rounds: &Rounds, rng: Rng) -> RoundsState {
        RoundsState {
            rng,
            waiting: VecDeque::new(),
            connections: vec![None; rounds.workers.len()],
            outstanding: 0,
            begun: 0,
            open: rounds.workers.len() as u32,
        }
    }
}

impl Simulation {
    /// Starts the next round of a part of the traffic, or goes on with one whose workers are asked one by one; the
    /// first opens the connections.
    pub(super) fn start_round(&mut self, traffic: u32) {
        let rounds = self.rounds_of(traffic);
        let (workers, reconnect, spread) = (rounds.workers.len(), rounds.reconnect, rounds.spread);
        if !self.state(traffic).waiting.is_empty() {
            return self.ask_those_due(traffic);
        }
        if self.state(traffic).begun == 0 && !reconnect {
            for connection in 0..workers {
                let opened = self.connect(traffic, connection, 0);
                self.state(traffic).connections[connection] = Some(opened);
            }
        }
        let state = self.state(traffic);
        state.begun += 1;
        state.outstanding = workers as u32;
        if spread == Span::ZERO {
            return (0..workers).for_each(|connection| self.ask(traffic, connection));
        }
        let now = self.net.now;
        let state = self.state(traffic);
        let mut waiting: Vec<(Time, usize)> =
            (0..workers).map(|connection| (now + state.rng.span_up_to(spread), connection)).collect();
        waiting.sort_unstable();
        state.waiting = waiting.into();
        self.ask_those_due(traffic);
    }

    /// Asks those whose time came, and says when the next one's does.
    fn ask_those_due(&mut self, traffic: u32) {
        let now = self.net.now;
        while let Some(&(at, connection)) = self.state(traffic).waiting.front() {
            if at > now {
                self.sources[traffic as usize] = Source::Rounds { next: Some(at) };
                return;
            }
            self.state(traffic).waiting.pop_front();
            self.ask(traffic, connection);
        }
    }

    /// A request or a response was delivered. Flow 2c carries the requests of connection c, flow 2c + 1 the responses;
    /// with new connections for each of W workers in every round, that is flow 2c + 2W r of round r.
    pub(super) fn round_progress(&mut self, traffic: u32, number: u64) {
        let rounds = self.rounds_of(traffic);
        let (total, barrier, pause, reconnect) =
            (rounds.rounds, rounds.barrier, rounds.pause, rounds.reconnect);
        let connection = (number / 2 % rounds.workers.len() as u64) as usize;
        let is_response = number % 2 == 1;
        if !is_response {
            return self.answer(traffic, connection);
        }
        let open = self.connection(traffic, connection);
        open.done += 1;
        let done = open.done;
        let state = self.state(traffic);
        if done == total {
            state.open -= 1;
            self.sources_left -= (state.open == 0) as usize;
            if !reconnect {
                self.disconnect(traffic, connection);
            }
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

    /// The connection to a worker that was asked.
    fn connection(&mut self, traffic: u32, connection: usize) -> &mut Connection {
        self.state(traffic).connections[connection].as_mut().expect("a worker that was asked has one")
    }

    fn rounds_of(&self, traffic: u32) -> &Rounds {
        match &self.model.traffic[traffic as usize].pattern {
            Pattern::Rounds(rounds) => rounds,
            _ => unreachable!("this part of the traffic has rounds"),
        }
    }

    /// Opens the connection to a worker; `done` responses came over earlier ones.
    fn connect(&mut self, traffic: u32, connection: usize, done: u32) -> Connection {
        let rounds = self.rounds_of(traffic);
        let (client, worker, asks) =
            (rounds.client, rounds.workers[connection], rounds.request > Bytes::ZERO);
        let (before, established) = (rounds.workers.len() as u64 * u64::from(done), !rounds.reconnect);
        let mut open = |number, src, dst| {
            let number = 2 * (before + connection as u64) + number;
            self.open_flow(Start { traffic, number, src, dst, established })
        };
        let request = asks.then(|| open(0, client, worker));
        let response = open(1, worker, client);
        Connection { request, response, done }
    }

    /// Asks one worker; without requests it starts by itself.
    fn ask(&mut self, traffic: u32, connection: usize) {
        let rounds = self.rounds_of(traffic);
        let (request, reconnect) = (rounds.request, rounds.reconnect);
        if reconnect {
            let done = self.state(traffic).connections[connection].map_or(0, |last| last.done);
            let opened = self.connect(traffic, connection, done);
            self.state(traffic).connections[connection] = Some(opened);
        }
        match self.connection(traffic, connection).request {
            Some(place) => {
                self.write(place, request.get(), reconnect);
            }
            None => self.answer(traffic, connection),
        }
    }

    /// A worker answers.
    fn answer(&mut self, traffic: u32, connection: usize) {
        let rounds = self.rounds_of(traffic);
        let bytes = rounds.response.get() + (connection < rounds.longer as usize) as u64;
        let close = rounds.reconnect;
        let place = self.connection(traffic, connection).response;
        self.write(place, bytes, close);
    }

    fn disconnect(&mut self, traffic: u32, connection: usize) {
        let connection = *self.connection(traffic, connection);
        self.close(connection.response);
        if let Some(place) = connection.request {
            self.close(place);
        }
    }
}
