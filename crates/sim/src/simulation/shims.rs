//! Shims: what sits between the receivers of a host and its network card, one for each part of the traffic.

use super::Simulation;
use crate::engine::What;
use crate::flows::Input;
use crate::metrics::ShimSummary;
use crate::model::Model;
use crate::net::NONE;
use crate::timer::Timer;
use clearway_proto::{AnyShim, Shim};
use clearway_topology::NodeId;
use std::collections::BTreeMap;

/// All shims.
#[derive(Default)]
pub struct Shims {
    places: Vec<HostShim>,
    /// By part of the traffic and host.
    known: BTreeMap<(u32, u32), u32>,
}

struct HostShim {
    shim: AnyShim,
    host: u32,
    /// The wake-ups that the shim asked for.
    timer: Timer,
}

impl Shims {
    /// The shim of a host for a part of the traffic, which is made when the first flow needs it; [`NONE`] for a
    /// transport without one.
    pub fn of_host(&mut self, traffic: u32, host: u32, make: impl FnOnce() -> Option<AnyShim>) -> u32 {
        if let Some(&place) = self.known.get(&(traffic, host)) {
            return place;
        }
        let Some(shim) = make() else { return NONE };
        let place = self.places.len() as u32;
        self.places.push(HostShim { shim, host, timer: Timer::IDLE });
        self.known.insert((traffic, host), place);
        place
    }

    /// What each did.
    pub fn summary(&self, model: &Model) -> Vec<ShimSummary> {
        let entry = |(&(traffic, host), &place): (&(u32, u32), &u32)| ShimSummary {
            traffic: model.traffic[traffic as usize].name.clone(),
            host: model.topology.name(NodeId(host)).to_string(),
            stats: self.places[place as usize].shim.stats(),
        };
        self.known.iter().map(entry).collect()
    }
}

impl Simulation {
    /// Drives the receiving end of a flow that has a shim, and lets the shim release what it may.
    #[inline(never)]
    pub(super) fn drive_behind_shim(&mut self, place: u32, input: Input<'_>) {
        let Some(flow) = self.flows.get_mut(place) else { return };
        let index = flow.shim;
        let shim = &mut self.shims.places[index as usize].shim;
        if let Input::Packet(packet, _) = &input {
            shim.handle_incoming(place, packet, self.net.now);
        }
        let standing = flow.drive_receiver(place, input, &mut self.net, Some(shim));
        self.release_held(index);
        self.after_receiver(place, &standing);
    }

    /// A shim's timer event came.
    pub(super) fn shim_timer(&mut self, index: u32) {
        let now = self.net.now;
        let host = &mut self.shims.places[index as usize];
        if !host.timer.fires(now) {
            return;
        }
        if host.shim.next_timeout() <= now {
            host.shim.handle_timeout(now);
        }
        self.release_held(index);
    }

    /// Sends what a shim releases now, and sees to it that it is woken for the rest. What it holds is not yet sent:
    /// it stands in no book.
    fn release_held(&mut self, index: u32) {
        let now = self.net.now;
        let host = &mut self.shims.places[index as usize];
        while let Some((place, packet, extra)) = host.shim.poll_release(now) {
            let flow = self.flows.get_mut(place).expect("a shim forgets a flow before its place is empty");
            let end = &mut flow.receiving;
            let (packet, port) =
                self.net.inject(packet, &extra, place, flow.classes.data, end.route, &mut end.rng);
            self.net.send(port, packet);
        }
        if let Some(at) = host.timer.arm(host.shim.next_timeout(), now) {
            self.net.schedule_at_host(host.host, at, What::ShimTimer(index));
        }
    }

    /// A flow is over at both ends and in the network: its shim forgets it.
    pub(super) fn leave_shim(&mut self, place: u32) {
        let index = self.flows.get_mut(place).map_or(NONE, |flow| flow.shim);
        if index != NONE {
            self.shims.places[index as usize].shim.forget(place);
            self.release_held(index);
        }
    }
}
