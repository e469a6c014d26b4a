//! The state of rounds of requests and responses.

use crate::ids::{FlowSlot, Id, TrafficId};
use crate::model::{Model, Pattern, Rounds};
use clearway_proto::Rng;
use clearway_units::{Bytes, Time};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// The progress of the rounds of a traffic entry.
#[derive(Serialize, Deserialize)]
pub struct RoundsState {
    /// The randomness of the times at which workers are asked.
    pub rng: Rng,
    /// The workers that are still to be asked in this round, by the time for each.
    pub waiting: VecDeque<(Time, usize)>,
    /// The connection to each worker; with connections of each round, the one of its last round.
    pub connections: Vec<Option<Connection>>,
    /// The number of responses of this round that have not arrived.
    pub outstanding: u32,
    /// The number of rounds begun.
    pub begun: u32,
    /// The number of connections that have yet to see all of their rounds.
    pub open: u32,
}

/// A client's connection to a worker, in this round if each has its own: a flow for requests, if there are any, and
/// one for responses.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub struct Connection {
    /// The flow of requests.
    pub request: Option<FlowSlot>,
    /// The flow of responses.
    pub response: FlowSlot,
    /// The number of responses that have arrived.
    pub done: u32,
}

impl RoundsState {
    /// Returns the state before the first round.
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

    /// Returns the connection to a worker that was asked.
    pub fn connection(&mut self, worker: usize) -> &mut Connection {
        self.connections[worker].as_mut().expect("a worker that was asked has one")
    }
}

/// Returns the rounds of a traffic entry that has some.
pub fn rounds_of(model: &Model, traffic: TrafficId) -> &Rounds {
    match &model.traffic[traffic.index()].pattern {
        Pattern::Rounds(rounds) => rounds,
        _ => unreachable!("this traffic entry has rounds"),
    }
}

/// Returns whether rounds ask for a request before each response.
pub fn has_requests(rounds: &Rounds) -> bool {
    rounds.request > Bytes::ZERO
}
