//! Shims: what sits between the receivers of a host and its NIC, one for each transport that has one. Traffic
//! entries whose transports have the same settings share it: how a scenario is cut into entries changes no protocol.

use crate::ids::{HostId, Id, IdVec, ShimId, TrafficId};
use crate::model::Traffic;
use crate::timer::Timer;
use clearway_proto::{AnyShim, Shim, ShimStats};
use clearway_units::Time;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The shims of all hosts and transports.
#[derive(Serialize, Deserialize)]
pub struct Shims {
    /// For each traffic entry the first one whose transport is the same, with the same settings.
    firsts: IdVec<TrafficId, TrafficId>,
    shims: IdVec<ShimId, HostShim>,
    /// The shim of each transport at each host, by the first traffic entry of the transport.
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
    /// Sees to it that the shim is woken when it wants to be. Returns the time for which the caller must schedule an
    /// event, if any.
    #[must_use = "without the event, the shim is never woken"]
    pub fn arm(&mut self, now: Time) -> Option<Time> {
        self.timer.arm(self.shim.next_timeout(), now)
    }

    /// A timer event of the shim came. Returns whether it is the one that counts.
    pub fn wake(&mut self, now: Time) -> bool {
        let counts = self.timer.fires(now);
        if counts && self.shim.next_timeout() <= now {
            self.shim.handle_timeout(now);
        }
        counts
    }
}

impl Shims {
    /// No shims yet, for this traffic.
    pub fn new(traffic: &[Traffic]) -> Shims {
        let told = |entry: &Traffic| (entry.transport.info().name, entry.transport.write());
        let told: Vec<_> = traffic.iter().map(told).collect();
        let first = |one| told.iter().position(|other| other == one).expect("an entry is equal to itself");
        let firsts = told.iter().map(|one| TrafficId::from_index(first(one))).collect();
        Shims { firsts, shims: IdVec::new(), known: BTreeMap::new() }
    }

    /// Returns the shim of a host for a traffic entry, which `make` makes when the first flow needs it; `None` for a
    /// transport without one.
    pub fn of_host(
        &mut self,
        traffic: TrafficId,
        host: HostId,
        make: impl FnOnce() -> Option<AnyShim>,
    ) -> Option<ShimId> {
        let first = self.firsts[traffic];
        if let Some(&id) = self.known.get(&(first, host)) {
            return Some(id);
        }
        Some(self.add(first, HostShim { shim: make()?, host, timer: Timer::IDLE }))
    }

    /// Adds the shim of a host, of the transport whose first traffic entry is this one.
    pub fn add(&mut self, traffic: TrafficId, shim: HostShim) -> ShimId {
        let host = shim.host;
        let id = self.shims.push(shim);
        self.known.insert((traffic, host), id);
        id
    }

    /// Hands over all shims with the first traffic entries of their transports. Returns the ids that `give` returns, by
    /// those here.
    pub fn hand_over(self, mut give: impl FnMut(TrafficId, HostShim) -> ShimId) -> IdVec<ShimId, ShimId> {
        let Shims { shims, known, .. } = self;
        let mut traffic: Vec<(ShimId, TrafficId)> =
            known.into_iter().map(|((traffic, _), id)| (id, traffic)).collect();
        traffic.sort_by_key(|&(id, _)| id);
        traffic.into_iter().zip(shims).map(|((_, traffic), shim)| give(traffic, shim)).collect()
    }

    /// Returns a shim.
    pub fn get_mut(&mut self, id: ShimId) -> &mut HostShim {
        &mut self.shims[id]
    }

    /// Returns the counts of all shims, by the first traffic entry of the transport and by host.
    pub fn stats(&self) -> impl Iterator<Item = (TrafficId, HostId, ShimStats)> {
        self.known.iter().map(|(&(traffic, host), &id)| (traffic, host, self.shims[id].shim.stats()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Pattern;
    use clearway_proto::{AnyTransport, Framing, ShimEnv};
    use clearway_units::Rate;
    use std::sync::Arc;

    /// An entry without flows.
    fn entry(transport: &AnyTransport) -> Traffic {
        Traffic {
            name: "any".into(),
            transport: transport.clone(),
            class: 0,
            credit_class: 0,
            notice_class: 0,
            ack_class: 0,
            pattern: Pattern::Flows(Arc::new(Vec::new())),
        }
    }

    #[test]
    fn a_host_has_one_shim_for_each_transport_that_wants_one_however_many_entries_use_it() {
        let shaper = AnyTransport::by_name("ack-shaper").unwrap();
        let mut slower = shaper.clone();
        slower.set("acks_per_second", "20000").unwrap();
        let traffic = [&shaper, &slower, &shaper].map(entry);
        let env = ShimEnv { line_rate: Rate::gbps(10), framing: Framing::ETHERNET };
        let mut shims = Shims::new(&traffic);
        let mut shim = |number: usize, host| {
            let (id, host) = (TrafficId::from_index(number), HostId::from_index(host));
            shims.of_host(id, host, || traffic[number].transport.shim(&env))
        };
        let first = shim(0, 0);
        assert!(first.is_some());
        assert_eq!(shim(0, 0), first);
        assert_eq!(shim(2, 0), first, "the same transport with the same settings");
        assert!(shim(0, 1) != first && shim(1, 0) != first);
        assert_eq!(shim(2, 1), shim(0, 1));
        let hosts: Vec<_> = shims.stats().map(|(traffic, host, _)| (traffic.index(), host.index())).collect();
        assert_eq!(hosts, [(0, 0), (0, 1), (1, 0)]);
    }

    #[test]
    fn a_transport_without_a_shim_has_none() {
        let mut shims = Shims::new(&[entry(&AnyTransport::by_name("dctcp").unwrap())]);
        assert_eq!(shims.of_host(TrafficId::from_index(0), HostId::from_index(0), || None), None);
    }
}
