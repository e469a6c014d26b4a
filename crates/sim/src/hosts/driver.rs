//! The driver of all hosts: packets reach their ends, ports take turns among flows, timers wake ends and shims.

use super::drive::{Input, Standing};
use super::flow::{Flow, Flows};
use super::shims::Shims;
use crate::engine::EventKind;
use crate::ids::{ClassId, FlowSlot, HostId, IdVec, PacketId, ShimId};
use crate::model::{Delay, Model};
use crate::net::{Network, Next};
use clearway_proto::{Entity, Rng, Shim};
use clearway_topology::{PortId, Topology};
use clearway_units::Span;
use serde::{Deserialize, Serialize};

/// The state of a host besides its flows.
#[derive(Serialize, Deserialize)]
struct Host {
    /// The randomness of the host's processing delays.
    rng: Rng,
    /// The number of flows that the host is sending: the application wrote, and not all is delivered.
    sending: u32,
}

/// All hosts, with the flows between them.
#[derive(Serialize, Deserialize)]
pub struct Hosts {
    /// The flows that are alive.
    pub flows: Flows,
    /// The shims of hosts.
    pub shims: Shims,
    hosts: IdVec<HostId, Host>,
    /// The time between the arrival of a packet and its handling.
    delay: Delay,
}

impl Hosts {
    /// The hosts of a model, yet without flows.
    pub fn new(model: &Model) -> Hosts {
        let stream = |host| Rng::stream(model.seed, Entity::Host, host);
        let hosts = (0..model.topology.hosts() as u64).map(|host| Host { rng: stream(host), sending: 0 });
        Hosts {
            flows: Flows::default(),
            shims: Shims::default(),
            hosts: hosts.collect(),
            delay: model.host.processing_delay.clone(),
        }
    }

    /// The number of flows that a host is sending.
    pub fn load(&self, host: HostId) -> u32 {
        self.hosts[host].sending
    }

    /// Notes that a host sends one more flow.
    pub fn add_load(&mut self, host: HostId) {
        self.hosts[host].sending += 1;
    }

    /// Notes that all that one of a host's flows had to send is delivered.
    pub fn drop_load(&mut self, host: HostId) {
        self.hosts[host].sending -= 1;
    }

    /// A packet reached its host. Answers true if the host handles it at once, false if it takes time to look at it.
    #[inline]
    pub fn reach(&mut self, id: PacketId, net: &mut Network) -> bool {
        if matches!(self.delay, Delay::Fixed(Span::ZERO)) {
            return true;
        }
        let parcel = &net.slab[id];
        let for_receiver = parcel.packet.kind().is_for_receiver();
        let Some(flow) = self.flows.get_mut(parcel.flow) else { return true };
        let end = if for_receiver { &mut flow.receiving } else { &mut flow.sending };
        let done = net.now() + self.delay.draw(&mut self.hosts[end.host].rng);
        end.handled_at = end.handled_at.max(done);
        net.agenda.at_host(end.host, end.handled_at, EventKind::Handle(id));
        false
    }

    /// Lets a port send what it can at once, and sees to it that it wakes for the rest.
    pub fn use_port(&mut self, port: PortId, net: &mut Network) {
        if net.ports[port].is_free(net.now()) {
            match net.next(port) {
                Next::Send(id) => net.transmit(port, id),
                Next::Pull(class) => self.pull(port, class, net),
                Next::Rest => {}
            }
        }
        net.rearm(port);
    }

    /// Asks the flows of a class in turn for a packet, until one has it.
    #[inline(always)]
    fn pull(&mut self, port: PortId, class: ClassId, net: &mut Network) {
        while let Some(slot) = net.card(port).pop(class) {
            let flow = self.flows.get_mut(slot).expect("a flow leaves the round robin before it ends");
            debug_assert_eq!(
                flow.sending.host.node(),
                net.ports[port].owner,
                "a flow in another host's turn"
            );
            let pulled = flow.pull(slot, class, net);
            if pulled.more {
                net.card(port).push(class, slot);
            }
            let Some((id, first)) = pulled.packet else { continue };
            self.note_finished(slot, net);
            if first == port {
                net.charge_pull(port, class, id);
                net.transmit(port, id);
                return;
            }
            // The path starts at another port of a host that has several.
            net.send(first, id);
        }
    }

    /// Drives a sending end. Answers its state, unless the flow is over.
    #[inline]
    pub fn drive_sender(&mut self, slot: FlowSlot, input: Input<'_>, net: &mut Network) -> Option<Standing> {
        let flow = self.flows.get_mut(slot)?;
        let standing = flow.drive_sender(slot, input, net);
        if standing.wants_transmit && !flow.in_turn {
            flow.in_turn = true;
            let (port, class) = (net.paths.first_port(flow.sending.route), flow.classes.data);
            self.take_turn(port, class, slot, net);
        }
        if standing.wants_unscheduled {
            self.want_unscheduled(slot, net);
        }
        if standing.finished {
            self.note_finished(slot, net);
        }
        Some(standing)
    }

    #[inline(always)]
    fn take_turn(&mut self, port: PortId, class: ClassId, slot: FlowSlot, net: &mut Network) {
        net.card(port).push(class, slot);
        self.use_port(port, net);
    }

    /// A flow has unscheduled data: it waits for its turn in the class that yields to all others.
    #[inline(never)]
    fn want_unscheduled(&mut self, slot: FlowSlot, net: &mut Network) {
        let Some(flow) = self.flows.get_mut(slot).filter(|flow| !flow.unscheduled_in_turn) else { return };
        flow.unscheduled_in_turn = true;
        let (port, class) = (net.paths.first_port(flow.sending.route), flow.classes.unscheduled);
        self.take_turn(port, class, slot, net);
    }

    /// Drives a receiving end. Answers its state, unless the flow is over.
    #[inline]
    pub fn drive_receiver(
        &mut self,
        slot: FlowSlot,
        input: Input<'_>,
        net: &mut Network,
    ) -> Option<Standing> {
        let flow = self.flows.get_mut(slot)?;
        if let Some(shim) = flow.shim {
            return self.drive_behind_shim(slot, shim, input, net);
        }
        Some(flow.drive_receiver(slot, input, net, None))
    }

    /// Drives the receiving end of a flow that has a shim, and lets the shim release what it may.
    #[inline(never)]
    fn drive_behind_shim(
        &mut self,
        slot: FlowSlot,
        id: ShimId,
        input: Input<'_>,
        net: &mut Network,
    ) -> Option<Standing> {
        let shim = &mut self.shims.get_mut(id).shim;
        if let Input::Packet(packet, _) = &input {
            shim.handle_incoming(slot.to_bits(), packet, net.now());
        }
        let standing = self.flows.get_mut(slot)?.drive_receiver(slot, input, net, Some(shim));
        self.release_held(id, net);
        Some(standing)
    }

    /// Sends what a shim releases now, and sees to it that the shim is woken for the rest. What it holds is not yet
    /// sent: it stands in no book.
    fn release_held(&mut self, id: ShimId, net: &mut Network) {
        let now = net.now();
        let host = self.shims.get_mut(id);
        while let Some((flow, packet, extra)) = host.shim.poll_release(now) {
            let slot = FlowSlot::from_bits(flow);
            let flow = self.flows.get_mut(slot).expect("a shim forgets a flow before its place is empty");
            flow.release(slot, packet, &extra, net);
        }
        if let Some(at) = host.arm(now) {
            net.agenda.at_host(host.host, at, EventKind::ShimTimer(id));
        }
    }

    /// A timer event of a sending end came. Answers whether the end must be driven.
    #[inline]
    pub fn sender_wakes(&mut self, slot: FlowSlot, net: &Network) -> bool {
        self.flows.get_mut(slot).is_some_and(|flow| flow.sending.timer.fires(net.now()))
    }

    /// A timer event of a receiving end came. Answers whether the end must be driven.
    #[inline]
    pub fn receiver_wakes(&mut self, slot: FlowSlot, net: &Network) -> bool {
        self.flows.get_mut(slot).is_some_and(|flow| flow.receiving.timer.fires(net.now()))
    }

    /// A timer event of a shim came.
    pub fn wake_shim(&mut self, id: ShimId, net: &mut Network) {
        if self.shims.get_mut(id).wake(net.now()) {
            self.release_held(id, net);
        }
    }

    /// Notes that a flow is over if both of its ends are done: it is removed once its last packet has left the network.
    pub fn note_finished(&mut self, slot: FlowSlot, net: &mut Network) {
        let Some(flow) = self.flows.get_mut(slot) else { return };
        if flow.sending.finished && flow.receiving.finished && !flow.ended {
            flow.ended = true;
            net.residents.end(slot);
        }
    }

    /// Removes a flow that is over at both ends and in the network: its shim and its ports forget it.
    pub fn remove(&mut self, slot: FlowSlot, net: &mut Network, topology: &Topology) -> Option<Flow> {
        if let Some(shim) = self.flows.get_mut(slot)?.shim {
            self.shims.get_mut(shim).shim.forget(slot.to_bits());
            self.release_held(shim, net);
        }
        let flow = self.flows.remove(slot);
        // The last wish of an end may have been to send something that has arrived in the meantime.
        let turns = [(flow.in_turn, flow.classes.data), (flow.unscheduled_in_turn, flow.classes.unscheduled)];
        for (_, class) in turns.into_iter().filter(|(waits, _)| *waits) {
            let ports = topology.ports_of(flow.sending.host.node());
            ports.iter().for_each(|&port| net.card(port).leave(class, slot));
        }
        net.paths.remove(flow.sending.route);
        net.paths.remove(flow.receiving.route);
        if let Some(back) = flow.way_back {
            net.paths.remove(back);
        }
        Some(flow)
    }
}

impl Delay {
    /// Draws a delay from the distribution.
    fn draw(&self, rng: &mut Rng) -> Span {
        match self {
            Delay::Fixed(span) => *span,
            Delay::Uniform(low, high) => *low + rng.span_up_to(*high - *low),
            Delay::Quantiles(points) => {
                let at = rng.unit();
                let above =
                    points.partition_point(|(probability, _)| *probability <= at).clamp(1, points.len() - 1);
                let ((p0, low), (p1, high)) = (points[above - 1], points[above]);
                let share = if p1 > p0 { (at - p0) / (p1 - p0) } else { 0.0 };
                low + (high - low).mul_f64(share.clamp(0.0, 1.0))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_are_drawn_from_their_distribution() {
        let mut rng = Rng::stream(1, Entity::Host, 0);
        let [low, middle, high] = [1, 2, 10].map(Span::from_us);
        assert_eq!(Delay::Fixed(low).draw(&mut rng), low);
        let uniform: Vec<Span> = (0..1000).map(|_| Delay::Uniform(low, high).draw(&mut rng)).collect();
        assert!(uniform.iter().all(|&delay| low <= delay && delay <= high));
        let mean = uniform.iter().copied().sum::<Span>().as_secs_f64() / 1000.0;
        assert!((mean - 5.5e-6).abs() < 3e-7, "{mean} s");
        let quantiles = Delay::Quantiles(vec![(0.0, low), (0.9, middle), (1.0, high)]);
        let drawn: Vec<Span> = (0..1000).map(|_| quantiles.draw(&mut rng)).collect();
        let above = drawn.iter().filter(|&&delay| delay > middle).count();
        assert!((70..130).contains(&above), "{above} of 1000 above the 90 % quantile");
    }
}
