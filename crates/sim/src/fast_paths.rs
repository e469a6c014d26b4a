//! Fast paths through the code, which a test can forbid to see that they change nothing.

/// Returns whether a test wants to see how things go without fast paths.
#[inline(always)]
pub fn tests_forbid() -> bool {
    #[cfg(test)]
    return tests::FORBIDDEN.get();
    #[cfg(not(test))]
    false
}

#[cfg(test)]
pub mod tests {
    use crate::Simulation;
    use crate::model::{Amount, CreditTurn, Fault, Flow, Model, Pattern, SharedBuffer};
    use crate::ports::network_for;
    use clearway_proto::{AnyTransport, Framing};
    use clearway_topology::{Dumbbell, NodeId, PortId, Star};
    use clearway_units::{Bytes, Rate, Span, Time};
    use proptest::prelude::*;
    use std::cell::Cell;

    thread_local! {
        /// Set while fast paths are forbidden.
        pub static FORBIDDEN: Cell<bool> = const { Cell::new(false) };
    }

    /// Frames of 80 and 8 ns at 100 Gbps, so that often several things happen in one instant.
    pub const FRAMING: Framing = Framing { payload_max: 952, overhead: 48, wire_min: 100 };

    /// A time in nanoseconds.
    pub fn ns(ns: u64) -> Time {
        Time::ZERO + Span::from_ns(ns)
    }

    /// Runs a model. Returns the hash of its results, the number of its events, and the number of packets on links.
    pub fn run(model: &Model, forbidden: bool) -> (String, u64, u64) {
        FORBIDDEN.set(forbidden);
        let mut simulation = Simulation::new(model).unwrap();
        simulation.run(&mut |_| true);
        let mut results = simulation.finish_spooled().unwrap();
        let (events, sent) = (results.summary.events, results.summary.link_transmissions);
        (results.hash().unwrap(), events, sent)
    }

    fn transport((name, parameters): &(&str, &[(&str, &str)])) -> AnyTransport {
        let mut transport = AnyTransport::by_name(name).unwrap();
        parameters.iter().for_each(|(key, value)| transport.set(key, value).unwrap());
        transport
    }

    /// Credits that often leave in one instant with data, as they have the size of acknowledgements.
    const EVEN: &[(&str, &str)] = &[("randomize_size", "false")];
    /// Packets that are marked as they leave, and a class of hosts alone, without flow control.
    const MARKED: &[(&str, &str)] = &[("lossless", "false"), ("acks", "first-at-hosts"), ("k", "2 KB")];
    /// Unscheduled data in a class of its own.
    const EAGER: &[(&str, &str)] = &[("randomize_size", "false"), ("low_priority", "0.5")];

    /// Pulls for half of the link, for packets of which headers come back to their senders.
    const SELDOM: &[(&str, &str)] = &[("pull_share", "0.5")];

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1500))]
        #[test]
        fn fast_paths_of_ports_change_nothing(
            pair in prop::sample::select(vec![
                [("expresspass", EVEN), ("dctcp", &[])],
                [("expresspass", EVEN), ("expresspass", &[])],
                [("expresspass", &[]), ("cubic", &[])],
                [("expresspass", EVEN), ("dcqcn", &[])],
                [("expresspass", EAGER), ("dctcp", &[])],
                [("naive-credit", EVEN), ("newreno", &[])],
                [("expresspass-hotnets16", &[]), ("dctcp", &[])],
                [("ec4", &[]), ("dctcp", &[])],
                [("expresspass", EVEN), ("rdma-dctcp", MARKED)],
                [("dctcp", &[]), ("newreno", &[])],
                [("rocev2", &[]), ("hpcc", &[])],
                [("ndp", &[]), ("ndp", SELDOM)],
                [("eqds", &[]), ("eqds", &[])],
                [("uec-nscc", &[]), ("uec-nscc", &[])],
                [("uec", &[]), ("uec", &[])],
            ]),
            flows in prop::collection::vec((0u32..6, 1u32..6, 0u64..60, 1u64..80), 1..16),
            (is_star, is_even, credits, credit_classes) in (any::<bool>(), any::<bool>(), 1u32..9, 0usize..4),
            (packets, memory) in (2u32..40, prop::option::of(8_000u64..80_000)),
            (loss, faults) in (prop::option::of(0.001..0.1), prop::collection::vec((0u64..20_000, 0u32..14), 0..3)),
        ) {
            let transports = pair.each_ref().map(transport);
            let (rate, delay) = (Rate::gbps(100), Span::from_ns(400));
            let topology = if is_star {
                Star { hosts: 6, rate, delay }.build()
            } else {
                Dumbbell { pairs: 3, rate, delay, bottleneck_delay: delay, ..Dumbbell::default() }.build()
            };
            let mut model = network_for(topology.unwrap(), &transports).unwrap();
            model.framing = if is_even { FRAMING } else { Framing { payload_max: 1000, ..FRAMING } };
            if let Some(credit) = &mut model.switch.credit {
                credit.queue = credits;
                // One class of three is none: credits then share a queue.
                if credit_classes > 1 {
                    let turn = |class| {
                        let (name, weight) = (format!("c{class}"), class as u32 + 1);
                        CreditTurn { name, priority: 0, weight, queue: credits, share: None }
                    };
                    let turns: Vec<CreditTurn> = (0..credit_classes).map(turn).collect();
                    model.switch.credit_classes.clone_from(&turns);
                    model.host.port.credit_classes = turns;
                }
            }
            match (&mut model.pfc, memory) {
                (Some(pfc), _) => {
                    pfc.headroom = Some(Bytes::new(4_000));
                    pfc.config.reserve = Bytes::ZERO;
                    let size = Bytes::new(60_000 + memory.unwrap_or(0));
                    model.switch.shared.as_mut().unwrap().size = size;
                }
                (None, Some(size)) => {
                    model.switch.shared = Some(SharedBuffer { size: Bytes::new(size), alpha: 1.0 });
                }
                (None, None) => model.switch.classes[0].limit = Amount { bytes: Bytes::MAX, packets },
            }
            for (place, transport) in transports.iter().enumerate() {
                let of = flows.iter().skip(place).step_by(transports.len());
                let mut list: Vec<Flow> = of.map(|&(src, ahead, start, frames)| Flow {
                    start: ns(start * 80),
                    src: NodeId(src),
                    dst: NodeId((src + ahead) % 6),
                    size: Some(Bytes::new(frames * u64::from(model.framing.payload_max))),
                    stop: None,
                }).collect();
                list.sort_by_key(|flow| flow.start);
                model.add_traffic(format!("flows{place}"), transport, Pattern::Flows(list.into()));
                model.traffic[place].credit_class = place.min(model.switch.credit_classes.len().saturating_sub(1));
            }
            let ports = model.topology.ports().len() as u32;
            model.loss = loss.into_iter().flat_map(|share| (0..ports).map(move |port| (PortId(port), share))).collect();
            for (at, port) in faults {
                let fault = |at, up| Fault::at_once(ns(at), PortId(port % ports), up);
                model.faults.extend([fault(at, false), fault(at + 500, true)]);
            }
            model.faults.sort_by_key(|fault| fault.at);
            model.stop = Some(ns(200_000));
            let ((with, fewer, _), (without, more, _)) = (run(&model, false), run(&model, true));
            prop_assert_eq!(with, without);
            // Parked flows take fewer events, and so do ports that are served late.
            let of = ["dcqcn", "rdma-dctcp", "rocev2", "hpcc", "ndp", "eqds", "uec-nscc", "uec"];
            let saves = pair.iter().any(|(name, _)| of.contains(name));
            prop_assert!(fewer == more || saves && fewer < more, "{} events instead of {}", fewer, more);
        }
    }
}
