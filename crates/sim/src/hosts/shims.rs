//! Shims: what sits between the receivers of a host and its network card, one for each traffic entry that has one.

use crate::ids::{HostId, IdVec, ShimId, TrafficId};
use crate::timer::Timer;
use clearway_proto::{AnyShim, Shim, ShimStats};
use clearway_units::Time;
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
        let id = self.shims.push(HostShim { shim: make()?, host, timer: Timer::IDLE });
        self.known.insert((traffic, host), id);
        Some(id)
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
