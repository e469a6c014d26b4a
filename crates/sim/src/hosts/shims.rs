//! Shims: what sits between the receivers of a host and its network card, one for each traffic entry that has one.

use crate::ids::{HostId, IdVec, ShimId, TrafficId};
use crate::timer::Timer;
use clearway_proto::{AnyShim, Shim, ShimStats};
use clearway_units::{Time, sort_by_key};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The shims of all hosts and traffic entries.
#[derive(Default, Serialize, Deserialize)]
pub struct Shims {
    shims: IdVec<ShimId, HostShim>,
    /// The shim of each traffic entry at each host.
    known: BTreeMap<(TrafficId, HostId), ShimId>,
}

/// A shim at its host.
#[derive(Serialize, Deserialize)]
pub struct HostShim {
    /// The protocol's part of it.
    pub shim: AnyShim,
    /// The host.
    pub host: HostId,
    timer: Timer,
}

impl HostShim {
    /// Sees to it that the shim is woken when it wants to be. Answers the time for which the caller must schedule an
    /// event, if any.
    #[must_use = "without the event, the shim is never woken"]
    pub fn arm(&mut self, now: Time) -> Option<Time> {
        self.timer.arm(self.shim.next_timeout(), now)
    }

    /// A timer event of the shim came. Answers whether it is the one that counts.
    pub fn wake(&mut self, now: Time) -> bool {
        let counts = self.timer.fires(now);
        if counts && self.shim.next_timeout() <= now {
            self.shim.handle_timeout(now);
        }
        counts
    }
}

impl Shims {
    /// The shim of a host for a traffic entry, which `make` makes when the first flow needs it; `None` for a transport
    /// without one.
    pub fn of_host(
        &mut self,
        traffic: TrafficId,
        host: HostId,
        make: impl FnOnce() -> Option<AnyShim>,
    ) -> Option<ShimId> {
        if let Some(&id) = self.known.get(&(traffic, host)) {
            return Some(id);
        }
        Some(self.add(traffic, HostShim { shim: make()?, host, timer: Timer::IDLE }))
    }

    /// Adds the shim of a host for a traffic entry.
    pub fn add(&mut self, traffic: TrafficId, shim: HostShim) -> ShimId {
        let host = shim.host;
        let id = self.shims.push(shim);
        self.known.insert((traffic, host), id);
        id
    }

    /// Hands over all shims with their traffic entries. Answers the ids that `give` answers, by those here.
    pub fn hand_over(self, mut give: impl FnMut(TrafficId, HostShim) -> ShimId) -> IdVec<ShimId, ShimId> {
        let Shims { shims, known } = self;
        let mut traffic: Vec<(ShimId, TrafficId)> =
            known.into_iter().map(|((traffic, _), id)| (id, traffic)).collect();
        sort_by_key(&mut traffic, |&(id, _)| id);
        traffic.into_iter().zip(shims).map(|((_, traffic), shim)| give(traffic, shim)).collect()
    }

    /// A shim.
    pub fn get_mut(&mut self, id: ShimId) -> &mut HostShim {
        &mut self.shims[id]
    }

    /// The counts of all shims, by traffic entry and host.
    pub fn stats(&self) -> impl Iterator<Item = (TrafficId, HostId, ShimStats)> {
        self.known.iter().map(|(&(traffic, host), &id)| (traffic, host, self.shims[id].shim.stats()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Id;
    use clearway_proto::{AnyTransport, Framing, ShimEnv};
    use clearway_units::Rate;

    #[test]
    fn a_host_has_one_shim_for_each_traffic_entry_that_wants_one() {
        let shaper = AnyTransport::by_name("ack-shaper").unwrap();
        let env = ShimEnv { line_rate: Rate::gbps(10), framing: Framing::ETHERNET };
        let mut shims = Shims::default();
        let mut shim = |traffic, host| {
            let (traffic, host) = (TrafficId::from_index(traffic), HostId::from_index(host));
            shims.of_host(traffic, host, || shaper.shim(&env))
        };
        let first = shim(0, 0);
        assert!(first.is_some());
        assert_eq!(shim(0, 0), first);
        assert!(shim(0, 1) != first && shim(1, 0) != first);
        assert_eq!(shims.stats().count(), 3);
        assert_eq!(shims.of_host(TrafficId::from_index(2), HostId::from_index(0), || None), None);
    }
}
