//! The other hosts: whether they run Clearway, and how much they may ask for.

use super::leftover::Leftover;
use super::trickle::Trickle;
use crate::datapath::{Actions, Order};
use crate::wire::MacAddr;
use clearway_units::{Span, Time};
use std::collections::HashMap;
use std::net::IpAddr;

/// Permissions for what others can cause: so many at once, and so many more per second. For flows that get credits
/// before they send data, which give their permission back with that, and for lines in the log.
#[derive(Clone, Copy, Debug)]
pub(super) struct Allowance {
    left: f64,
    at_once: f64,
    per_second: f64,
    /// The time at which `left` was last raised.
    raised: Time,
}

impl Allowance {
    /// Makes the allowance of all flows from one other host.
    pub const fn of_peer(now: Time) -> Allowance {
        Allowance { left: 512.0, at_once: 512.0, per_second: 128.0, raised: now }
    }

    /// Makes the allowance of lines in the log about other hosts, which may be invented.
    pub const fn of_lines() -> Allowance {
        Allowance { left: 20.0, at_once: 20.0, per_second: 1.0, raised: Time::ZERO }
    }

    /// Makes the allowance of all flows. It bounds the work for requests from hosts that somebody invents.
    pub const fn of_all() -> Allowance {
        Allowance { left: 4096.0, at_once: 4096.0, per_second: 512.0, raised: Time::ZERO }
    }

    /// Returns true if there is a permission.
    pub fn is_left(&mut self, now: Time) -> bool {
        let gained = now.saturating_since(self.raised).as_secs_f64() * self.per_second;
        (self.left, self.raised) = ((self.left + gained).min(self.at_once), now);
        self.left >= 1.0
    }

    /// Takes a permission. Returns false if there is none.
    pub fn take(&mut self, now: Time) -> bool {
        let has = self.is_left(now);
        self.left -= f64::from(has);
        has
    }

    /// Takes a permission back, since the flow has sent data.
    pub fn give_back(&mut self) {
        self.left = (self.left + 1.0).min(self.at_once);
    }
}

/// The knowledge of whether a host runs Clearway.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Runs {
    /// Nothing is known: data waits a short time for an answer.
    Unknown,
    /// The host runs Clearway: data waits for credits.
    Clearway,
    /// The host answered no request: data leaves at once, and a request may leave from this time on.
    Plain {
        /// The time of the next request.
        ask_at: Time,
    },
}

/// Another host.
#[derive(Clone, Debug)]
pub(super) struct Peer {
    /// The Ethernet address of the next node towards the host.
    pub mac: MacAddr,
    /// True if the address was learned from packets that this host sent, which the kernel vouches for.
    pub is_sure: bool,
    /// The knowledge of whether the host runs Clearway.
    pub runs: Runs,
    /// The time of the last frame from the host.
    pub heard: Option<Time>,
    /// The number of flows to the host.
    pub sends: u32,
    /// The number of flows from the host.
    pub receives: u32,
    /// True if an MTU of the host that differs from ours was reported.
    pub mtu_told: bool,
    /// The flows from the host without data that may get credits.
    pub unproven: Allowance,
    /// What credits of the host have left over.
    pub leftover: Leftover,
    /// The credits for flows of small packets from the host.
    pub trickle: Trickle,
    /// The time at which the host was last of use.
    used: Time,
}

impl Peer {
    fn new(mac: MacAddr, is_sure: bool, now: Time) -> Peer {
        Peer {
            mac,
            is_sure,
            runs: Runs::Unknown,
            heard: None,
            sends: 0,
            receives: 0,
            mtu_told: false,
            unproven: Allowance::of_peer(now),
            leftover: Leftover::default(),
            trickle: Trickle::default(),
            used: now,
        }
    }

    /// Records a frame from the host.
    pub fn hear(&mut self, now: Time) {
        (self.runs, self.heard, self.used) = (Runs::Clearway, Some(now), now);
    }

    /// Records that the host does not answer, and shall be asked again after `ask_again`. A host that once answered
    /// is asked ten times as often: its daemon may have been started again, or its link may be back. So is any host
    /// after its first silence: if the daemon here was started again, the other one refuses its first request, as long
    /// as it waits for data of the daemon before.
    pub fn is_silent(&mut self, ask_again: Span, now: Time) {
        let soon = self.heard.is_some() || self.runs == Runs::Unknown;
        let wait = if soon { ask_again / 10 } else { ask_again };
        self.runs = Runs::Plain { ask_at: now.saturating_add(wait) };
    }
}

/// The table of other hosts, which is bounded.
#[derive(Debug)]
pub(super) struct Peers {
    by_address: HashMap<IpAddr, Peer>,
    limit: usize,
}

impl Peers {
    /// Makes a table of at most `limit` hosts.
    pub fn new(limit: usize) -> Peers {
        Peers { by_address: HashMap::new(), limit }
    }

    /// Asks the driver to let the kernel spend what credits of a host have left over, if it was told otherwise.
    pub fn allow(&mut self, to: IpAddr, actions: &mut Actions) {
        let Some(peer) = self.by_address.get_mut(&to) else { return };
        if let Some(bytes) = peer.leftover.new_allowance() {
            actions.allowances.push((to, bytes));
        }
    }

    /// Asks the driver to let the kernel take credits of flows of small packets to a host, or no more, if it was told otherwise.
    pub fn take(&mut self, to: IpAddr, actions: &mut Actions) {
        let Some(peer) = self.by_address.get_mut(&to) else { return };
        if let Some(takes) = peer.leftover.new_takes() {
            actions.orders.push(if takes { Order::Take(to) } else { Order::Leave(to) });
        }
    }

    /// Returns a host.
    pub fn get_mut(&mut self, address: IpAddr) -> Option<&mut Peer> {
        self.by_address.get_mut(&address)
    }

    /// Returns a host.
    pub fn get(&self, address: IpAddr) -> Option<&Peer> {
        self.by_address.get(&address)
    }

    /// Records the Ethernet address by which a host is reached. An address from packets that this host sent is sure,
    /// and replaces any other. Returns `None` if the table is full.
    pub fn learn(&mut self, address: IpAddr, mac: MacAddr, is_sure: bool, now: Time) -> Option<&mut Peer> {
        if self.by_address.len() >= self.limit && !self.by_address.contains_key(&address) {
            return None;
        }
        let peer = self.by_address.entry(address).or_insert_with(|| Peer::new(mac, is_sure, now));
        if is_sure {
            (peer.mac, peer.is_sure) = (mac, true);
        }
        peer.used = now;
        Some(peer)
    }

    /// Forgets hosts that have no flow and were of no use for `age`, except for those that may not be asked yet.
    pub fn forget_old(&mut self, age: Span, now: Time) {
        self.by_address.retain(|_, peer| {
            let is_barred = matches!(peer.runs, Runs::Plain { ask_at } if ask_at > now);
            peer.sends + peer.receives > 0 || is_barred || now.saturating_since(peer.used) < age
        });
    }

    /// Returns the number of hosts that are unknown, that run Clearway, and that do not.
    pub fn count(&self) -> [u64; 3] {
        let mut counts = [0; 3];
        #[allow(clippy::iter_over_hash_type, reason = "the order does not change a count")]
        for peer in self.by_address.values() {
            counts[match peer.runs {
                Runs::Unknown => 0,
                Runs::Clearway => 1,
                Runs::Plain { .. } => 2,
            }] += 1;
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    const ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
    const MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
    const OTHER: MacAddr = MacAddr([2, 0, 0, 0, 0, 2]);

    #[test]
    fn an_address_from_our_own_packets_is_not_replaced_by_one_that_came_from_outside() {
        let mut peers = Peers::new(10);
        peers.learn(ADDRESS, OTHER, false, Time::ZERO).unwrap();
        assert_eq!(peers.learn(ADDRESS, MAC, true, Time::ZERO).unwrap().mac, MAC);
        assert_eq!(peers.learn(ADDRESS, OTHER, false, Time::ZERO).unwrap().mac, MAC);
    }

    #[test]
    fn a_host_that_once_answered_is_asked_again_ten_times_as_soon() {
        let mut peers = Peers::new(10);
        let peer = peers.learn(ADDRESS, MAC, true, Time::ZERO).unwrap();
        let wait = |peer: &mut Peer| {
            peer.is_silent(Span::from_secs(10), Time::ZERO);
            let Runs::Plain { ask_at } = peer.runs else { panic!("{:?}", peer.runs) };
            ask_at.saturating_since(Time::ZERO).as_secs_f64()
        };
        assert_eq!([wait(peer), wait(peer), wait(peer)], [1.0, 10.0, 10.0]);
        peer.hear(Time::ZERO);
        assert_eq!([wait(peer), wait(peer), wait(peer)], [1.0, 1.0, 1.0]);
    }

    #[test]
    fn a_host_may_open_512_flows_without_data_and_then_128_per_second() {
        let mut peers = Peers::new(10);
        let peer = peers.learn(ADDRESS, MAC, true, Time::ZERO).unwrap();
        assert_eq!((0..1000).filter(|_| peer.unproven.take(Time::ZERO)).count(), 512);
        let later = Time::ZERO + Span::from_secs(1);
        assert_eq!((0..1000).filter(|_| peer.unproven.take(later)).count(), 128);
        peer.unproven.give_back();
        assert!(peer.unproven.take(later) && !peer.unproven.take(later));
    }

    #[test]
    fn the_table_is_bounded_and_forgets_hosts_without_flows() {
        let mut peers = Peers::new(2);
        let address = |last| Ipv4Addr::new(10, 0, 0, last).into();
        peers.learn(address(1), MAC, true, Time::ZERO).unwrap().sends = 1;
        peers.learn(address(2), MAC, true, Time::ZERO).unwrap();
        assert!(peers.learn(address(3), MAC, true, Time::ZERO).is_none());
        peers.forget_old(Span::from_secs(1), Time::ZERO + Span::from_secs(1));
        assert!(peers.get(address(1)).is_some() && peers.get(address(2)).is_none());
    }
}
