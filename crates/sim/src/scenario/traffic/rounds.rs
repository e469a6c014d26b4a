//! Patterns of rounds, in which one host asks and many answer.

use super::{LATEST, Surroundings};
use crate::model::{Pattern, Rounds};
use crate::scenario::document::Path;
use crate::scenario::error::Result;
use crate::scenario::field::{Connections, Workers};
use crate::scenario::schema::*;
use clearway_topology::NodeId;
use clearway_units::Bytes;

/// The largest number of workers of a pattern of rounds.
const WORKERS_MAX: u64 = 1_000_000;
/// The largest number of answers that a pattern of rounds may ask for.
const ANSWERS_MAX: u64 = 1_000_000_000;
/// The default size of the answer of each sender of an incast.
const SENDER_SIZE: Bytes = Bytes::new(64_000);

impl Surroundings<'_> {
    /// Returns `count` workers that go around all hosts but `client`.
    fn around(&self, path: &Path, client: NodeId, count: u64) -> Result<Vec<NodeId>> {
        if !(1..=WORKERS_MAX).contains(&count) {
            return Err(self.document.error(path, format!("must be from 1 to {WORKERS_MAX}")));
        }
        let others = self.topology.hosts() as u64 - 1;
        if others == 0 {
            return Err(self.document.error(path, "there is no other host; build at least 2"));
        }
        let worker = |index: u64| {
            let host = (index % others) as u32;
            NodeId(if host >= client.0 { host + 1 } else { host })
        };
        Ok((0..count).map(worker).collect())
    }

    fn rounds(&self, at: &Path, rounds: Rounds) -> Result<Pattern> {
        let answers = rounds.workers.len() as u64 * u64::from(rounds.rounds);
        if answers > ANSWERS_MAX {
            let problem = format!("comes to {answers} answers; at most {ANSWERS_MAX} are possible");
            return Err(self.document.error(&at.key("rounds"), problem));
        }
        let pauses = u128::from(rounds.pause.as_ps()) * u128::from(rounds.rounds - 1);
        let last = u128::from(rounds.start.as_ps()) + pauses;
        if rounds.barrier && self.stop.is_none() && last > u128::from(LATEST.as_ps()) {
            let problem =
                format!("the last round starts after {LATEST}; write a shorter one, fewer rounds, or a stop");
            return Err(self.document.error(&at.key("pause"), problem));
        }
        Ok(Pattern::Rounds(rounds))
    }

    pub(super) fn incast(&self, at: &Path, table: Incast) -> Result<(Pattern, Incast)> {
        let client = self.host(&at.key("receiver"), &table.receiver)?;
        let path = at.key("senders");
        let workers = match &table.senders {
            Workers::Count(count) => self.around(&path, client, *count)?,
            Workers::List(hosts) if hosts.is_empty() => {
                return Err(self.document.error(&path, "is empty; name at least one host"));
            }
            Workers::List(hosts) => {
                let mut workers = Vec::new();
                for (index, host) in hosts.iter().enumerate() {
                    let worker = self.host(&path.index(index), host)?;
                    self.check_pair(&path.index(index), (worker, client))?;
                    workers.push(worker);
                }
                workers
            }
        };
        let (size, response, longer) = self.per_sender(at, &table, workers.len() as u64)?;
        let Incast { request, rounds, barrier, start, pause, spread, .. } = table;
        let reconnect = table.connections == Connections::PerRound;
        let rounds = Rounds {
            client,
            workers,
            request,
            response,
            longer,
            reconnect,
            rounds,
            barrier,
            start,
            pause,
            spread,
        };
        Ok((self.rounds(at, rounds)?, Incast { size, ..table }))
    }

    /// Returns the key `size` filled in, the bytes that each of `senders` sends, and how many of them send a byte more.
    fn per_sender(&self, at: &Path, table: &Incast, senders: u64) -> Result<(Option<Bytes>, Bytes, u32)> {
        let refuse = |problem: String| Err(self.document.error(&at.key("total"), problem));
        match (table.size, table.total.map(Bytes::get)) {
            (Some(_), Some(_)) => refuse("stands beside size; write one of them".into()),
            (size, None) => {
                let size = size.unwrap_or(SENDER_SIZE);
                Ok((Some(size), size, 0))
            }
            (None, Some(total)) if total < senders => {
                refuse(format!("is less than a byte for each of {senders} senders"))
            }
            (None, Some(total)) => Ok((None, Bytes::new(total / senders), (total % senders) as u32)),
        }
    }

    pub(super) fn partition_aggregate(&self, at: &Path, table: &PartitionAggregate) -> Result<Pattern> {
        let client = self.host(&at.key("client"), &table.client)?;
        let workers = self.around(&at.key("fan_out"), client, table.fan_out)?;
        let PartitionAggregate { request, response, rounds, barrier, start, pause, spread, .. } = *table;
        let reconnect = table.connections == Connections::PerRound;
        let rounds = Rounds {
            client,
            workers,
            request,
            response,
            longer: 0,
            reconnect,
            rounds,
            barrier,
            start,
            pause,
            spread,
        };
        self.rounds(at, rounds)
    }
}
