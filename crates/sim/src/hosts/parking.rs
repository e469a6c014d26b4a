//! Flows that are parked: one event instead of two for a packet that leaves at line rate.
//!
//! Where paces are whole nanoseconds, as in HPCC's ns-3 code, the pace of a flow at line rate ends up to a nanosecond
//! before its own frame has left the port. The flow would be woken, join the round robin, and wait for the port's
//! wake-up. So it is not woken: the port's NIC keeps it until the port wakes. All is as if it had joined the round
//! robin at the end of its pace:
//!
//! - Whoever uses the NIC after that time finds it there (`Nic::settle_before`).
//! - An input before that time after which the flow wants to be woken at another one ends the parking, and the wake-up
//!   at the end of the pace is scheduled after all. So does a pause of the port.
//! - Flows of a host whose paces end in one instant join in the order in which their wake-ups were scheduled. Those
//!   scheduled before the parking come first anyway; before one that is scheduled later, a mark for the parked flow
//!   goes onto the wheel.

use super::driver::Hosts;
use super::ends::End;
use crate::engine::EventKind;
use crate::fast_paths::tests_forbid;
use crate::ids::FlowSlot;
use crate::net::{Network, pipeline};
use clearway_topology::PortId;
use clearway_units::Time;

impl End {
    /// Returns the end of the pace for which a sending end is parked at its port, if it is.
    #[inline]
    pub fn parked(&self, flow: FlowSlot, net: &mut Network) -> Option<Time> {
        if !self.in_turn {
            return None;
        }
        let now = net.now();
        let nic = net.nic(net.paths.first_port(self.route));
        nic.settle_before(now);
        nic.parked().filter(|parked| parked.flow == flow).map(|parked| parked.at)
    }

    /// Returns whether the end may be parked until the end of its pace, where it wants to be woken for anything else at
    /// `other`, and a packet of `wire` bytes is about to leave at a port: the frame takes longer than the pace, and the
    /// wake-ups that are scheduled serve for the rest.
    #[inline(always)]
    pub fn may_park(&self, pace_end: Time, other: Time, port: PortId, wire: u32, net: &Network) -> bool {
        let (now, out) = (net.now(), &net.ports[port]);
        pace_end < now + out.time_to_send(wire)
            && self.timer.serves_after(pace_end, other, now)
            && out.is_free(now)
            && out.control.is_empty()
            && port == net.paths.first_port(self.route)
            && !tests_forbid()
    }

    /// Ends the parking of a sending end whose pace has yet to end, at `at`: it will be woken then.
    #[cold]
    #[inline(never)]
    pub fn unpark(&mut self, flow: FlowSlot, at: Time, net: &mut Network) {
        let port = net.paths.first_port(self.route);
        net.nic(port).unpark();
        self.in_turn = false;
        if let Some(at) = self.timer.arm(at, net.now()) {
            net.agenda.at_host(self.host, at, EventKind::SenderTimer(flow));
        }
        // The port wakes for it no longer, unless it does for another reason.
        net.ports[port].wake_at = Time::MAX;
        pipeline::rearm(net, port);
    }

    /// The end is about to be woken at `at`. A flow of its host whose pace ends then and that was parked before goes first.
    #[cold]
    #[inline(never)]
    pub fn keep_order(&self, at: Time, net: &mut Network) {
        let port = net.paths.first_port(self.route);
        if let Some(parked) = net.nic(port).parked().filter(|parked| parked.at == at) {
            net.agenda.at_host(self.host, at, EventKind::SenderTimer(parked.flow));
        }
    }
}

impl Hosts {
    /// A wake-up of a sending end came that it did not ask for, or no longer. It may be the mark of a parked flow.
    #[cold]
    #[inline(never)]
    pub(super) fn meet_mark(&self, flow: FlowSlot, net: &mut Network) {
        let Some(sending) = self.senders.get(flow).filter(|sending| sending.end.in_turn) else { return };
        let port = net.paths.first_port(sending.end.route);
        let now = net.now();
        let nic = net.nic(port);
        if nic.parked().is_some_and(|parked| parked.flow == flow && parked.at == now) {
            nic.settle_through(now);
        }
    }

    /// A port is about to obey a pause frame: its parked flow will be woken at the end of its pace.
    pub fn unpark(&mut self, port: PortId, net: &mut Network) {
        if net.ports[port].nic.is_none() {
            return;
        }
        let now = net.now();
        let nic = net.nic(port);
        nic.settle_before(now);
        let Some(parked) = nic.parked() else { return };
        let sending = self.senders.get_mut(parked.flow).expect("a flow leaves its NIC before it ends");
        sending.end.unpark(parked.flow, parked.at, net);
    }
}

#[cfg(test)]
mod tests {
    use crate::fast_paths::tests::{FRAMING, ns, run};
    use crate::model::{Fault, Flow, Model, Pattern};
    use crate::ports::network_for;
    use clearway_proto::{AnyTransport, Framing};
    use clearway_topology::{NodeId, PortId, Star};
    use clearway_units::{Bytes, Rate, Span};
    use proptest::prelude::*;
    use std::sync::Arc;

    fn transport(name: &str) -> AnyTransport {
        let mut transport = AnyTransport::by_name(name).unwrap();
        transport.set("profile", "hpcc-ns3").unwrap();
        transport
    }

    /// A flow of so many bytes from one host to another that starts at a time in nanoseconds.
    fn flow(src: u32, dst: u32, start: u64, bytes: u64) -> Flow {
        Flow {
            start: ns(start),
            src: NodeId(src),
            dst: NodeId(dst),
            size: Some(Bytes::new(bytes)),
            stop: None,
        }
    }

    /// A network of four hosts at a switch, whose memory is short.
    fn network(transports: &[AnyTransport], framing: Framing, memory: u64) -> Model {
        let star = Star { hosts: 4, rate: Rate::gbps(100), delay: Span::from_ns(400) };
        let mut model = network_for(star.build().unwrap(), transports).unwrap();
        model.framing = framing;
        let pfc = model.pfc.as_mut().unwrap();
        pfc.headroom = Some(Bytes::new(4_000));
        pfc.config.reserve = Bytes::ZERO;
        model.switch.shared.as_mut().unwrap().size = Bytes::new(memory);
        model
    }

    #[test]
    fn a_packet_at_line_rate_takes_one_event_at_its_host_instead_of_two() {
        for name in ["dcqcn", "timely"] {
            let transport = transport(name);
            let mut model = network(std::slice::from_ref(&transport), FRAMING, 1_000_000);
            model.add_traffic("flow", &transport, Pattern::Flows(vec![flow(0, 1, 0, 952_000)].into()));
            let ((with, fewer, sent), (without, more, _)) = (run(&model, false), run(&model, true));
            assert_eq!((with, sent), (without, 4 * 1000), "{name}: data and acknowledgements over two links");
            // The port wakes for all packets but the first.
            assert!(fewer <= sent + 1000 + 20, "{name}: {fewer} events");
            assert!(more >= sent + 2 * 999, "{name}: {more} events");
        }
    }

    /// Returns proptest's configuration with four times its cases: 1,024, unless `PROPTEST_CASES` says otherwise.
    fn four_times() -> ProptestConfig {
        let usual = ProptestConfig::default();
        ProptestConfig { cases: usual.cases * 4, ..usual }
    }

    proptest! {
        #![proptest_config(four_times())]
        #[test]
        fn parking_changes_nothing_but_the_number_of_events(
            names in prop::sample::select(
                vec![["dcqcn", "hpcc"], ["timely", "hpcc"], ["dcqcn", "timely"], ["pacc", "timely"]]
            ),
            flows in prop::collection::vec((0u32..4, 1u32..4, 0u64..40, 1u64..200, any::<bool>()), 1..24),
            (is_even, whole_ns, memory) in (any::<bool>(), any::<bool>(), 24_000u64..200_000),
            faults in prop::collection::vec((0u64..8_000, 0u32..8), 0..3),
            stop in prop::option::of(0u64..6_000),
        ) {
            let transports: Vec<AnyTransport> = names.into_iter().map(transport).collect();
            let framing = if is_even { FRAMING } else { Framing { payload_max: 1000, ..FRAMING } };
            let mut model = network(&transports, framing, memory);
            model.whole_ns = whole_ns;
            for (place, transport) in transports.iter().enumerate() {
                let of = flows.iter().skip(place).step_by(transports.len());
                let mut list: Vec<Flow> = of.map(|&(src, ahead, start, frames, stops)| {
                    let bytes = frames * u64::from(framing.payload_max);
                    let flow = flow(src, (src + ahead) % 4, start * 80, bytes);
                    Flow { stop: stop.filter(|_| stops).map(|stop| flow.start + Span::from_ns(stop)), ..flow }
                }).collect();
                list.sort_by_key(|flow| flow.start);
                model.add_traffic(format!("flows{place}"), transport, Pattern::Flows(Arc::new(list)));
            }
            for (at, port) in faults {
                let fault = |at, up| Fault::at_once(ns(at), PortId(port), up);
                model.faults.extend([fault(at, false), fault(at + 500, true)]);
            }
            model.faults.sort_by_key(|fault| fault.at);
            model.stop = Some(ns(100_000));
            let ((with, fewer, _), (without, more, _)) = (run(&model, false), run(&model, true));
            prop_assert_eq!(with, without);
            prop_assert!(fewer <= more + more / 8, "{} events instead of {}", fewer, more);
        }
    }
}
