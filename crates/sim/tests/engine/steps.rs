//! Property tests of steps and views: a run that goes on in steps of any sizes, at which somebody looks after each, gives
//! the results of an unbroken one, and what the views show is what the results say.

use crate::common::mixes::{model, one_in, scenarios, watched};
use crate::common::*;
use clearway_sim::model::*;
use clearway_sim::{
    DropReason, Finished, FlowState, FrameKind, InFlight, PacketView, Packets, PortView, QueuedPacket,
    Results, SeenPorts, Simulation, Values,
};
use clearway_topology::PortId;
use clearway_units::{Span, Time};
use proptest::prelude::*;

/// A step: up to a share of the run's length further, in thousandths, and at most so many events.
type Step = (u64, u64);

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let time = prop_oneof![1 => 0u64..3, 3 => 1u64..60, 1 => Just(2_000)];
    let events = prop_oneof![1 => 1u64..20, 1 => 100u64..5_000, 2 => Just(u64::MAX)];
    prop::collection::vec((time, events), 8..40)
}

/// Runs a model in steps, each with a look after it, and then to its end with one more look.
fn stepped(model: &Model, end: Time, steps: &[Step], mut look: impl FnMut(&mut Simulation)) -> Results {
    let mut sim = Simulation::new(model).expect("a model of a test is sound");
    for &(share, events) in steps {
        let span = (end - Time::ZERO).mul_f64(share as f64 * 1e-3);
        sim.run_until(sim.progress().now + span, events);
        look(&mut sim);
    }
    sim.run_until(Time::MAX, u64::MAX);
    look(&mut sim);
    sim.finish().expect("the books balance")
}

/// All that a run shows.
fn shown(results: &Results) -> String {
    format!("{} {:?} {:?} {:?}", results.hash(), results.summary, results.ports, results.samples)
}

/// Asserts that what the views show of packets and ports fits together.
fn check_packets(sim: &Simulation, packets: &mut Packets) {
    let books = sim.view().books();
    assert!(books.balance(), "{books:?}");
    let now = sim.progress().now;
    sim.view().look_at_links(packets);
    let on_links = sorted(&packets.in_flight);
    sim.view().look_at_packets(packets);
    assert_eq!(on_links, sorted(&packets.in_flight), "a look at links alone shows the same frames");
    for frame in &packets.in_flight {
        assert!(frame.start <= now && frame.start < frame.arrives, "{frame:?} at {now}");
        assert!(now <= frame.arrives || frame.packet.kind == FrameKind::Pause, "{frame:?} at {now}");
    }
    for view in sim.view().ports() {
        let all = packets.queued.iter().filter(|packet| packet.port == view.port);
        let queued: Vec<_> = all.copied().collect();
        assert_eq!(queued, sim.view().queued(view.port));
        let mut known = Vec::new();
        sim.view().each_queued(view.port, usize::MAX, |packet| known.push(packet));
        let without_flow = |packet: &PacketView| (packet.kind, packet.wire, packet.marks);
        let of_port = |packet: &QueuedPacket| (FrameKind::Packet(packet.kind), packet.wire, packet.marks);
        assert!(queued.iter().map(without_flow).eq(known.iter().map(of_port)), "{queued:?} {known:?}");
        let bytes: u64 = queued.iter().map(|packet| u64::from(packet.wire)).sum();
        assert_eq!(bytes, view.queue_bytes + view.credit_queue_bytes, "{view:?}");
        assert_eq!(queued.len() as u64, view.queue_packets + view.credit_queue_packets, "{view:?}");
        let sums = sim.view().classes(view.port).fold((0, 0), |sum, class| {
            let add = if class.is_credit { (0, class.bytes) } else { (class.bytes, 0) };
            (sum.0 + add.0, sum.1 + add.1)
        });
        assert_eq!(sums, (view.queue_bytes, view.credit_queue_bytes), "{view:?}");
        let sends = packets.in_flight.iter().any(|frame| {
            let out = model_port(sim, frame.packet.port);
            frame.packet.port == view.port && frame.start <= now && now + out < frame.arrives
        });
        assert!(!sends || view.is_transmitting, "a frame is leaving {view:?}");
    }
}

/// Frames on links in an order of their own.
fn sorted(frames: &[InFlight]) -> Vec<InFlight> {
    let mut frames = frames.to_vec();
    frames.sort_by_key(|frame| (frame.packet.port, frame.arrives));
    frames
}

/// The delay of a port's link.
fn model_port(sim: &Simulation, port: PortId) -> Span {
    sim.model().topology.port(port).delay
}

/// Asserts that the counters of ports at the end are those of the table.
fn check_table(ports: &[PortView], results: &Results) {
    let column = |name: &str, of: &dyn Fn(&PortView) -> u64| {
        let views: Vec<u64> = ports.iter().map(of).collect();
        assert_eq!(results.ports.u64s(name), views, "{name}");
    };
    column("tx_packets", &|port| port.sent_packets);
    column("tx_bytes", &|port| port.sent_bytes);
    column("tx_data_bytes", &|port| port.sent_data_bytes);
    column("tx_credits", &|port| port.sent_credits);
    column("marks", &|port| port.marks);
    for why in DropReason::ALL {
        column(why.column(), &|port| port.drops[why]);
    }
    if results.ports.column("pauses").is_some() {
        column("pauses", &|port| port.pauses);
    }
}

/// Ports as a viewer keeps them who is shown only those that changed.
#[derive(Default)]
struct Kept {
    seen: SeenPorts,
    ports: Vec<Option<PortView>>,
}

impl Kept {
    /// Asserts that the ports that are kept look as all ports do after a look at those that changed.
    fn check(&mut self, sim: &Simulation) {
        self.ports.resize_with(sim.view().ports().len(), || None);
        self.look(sim);
        for (kept, port) in self.ports.iter().zip(sim.view().ports()) {
            assert_eq!(format!("{kept:?}"), format!("{:?}", Some(port)));
        }
    }

    /// Looks at the ports that changed. Returns how many these are.
    fn look(&mut self, sim: &Simulation) -> usize {
        let mut shown = 0;
        sim.view().changed_ports(&mut self.seen, |view| {
            self.ports[view.port.0 as usize] = Some(view);
            shown += 1;
        });
        shown
    }
}

proptest! {
    #![proptest_config(one_in(4))]

    #[test]
    fn steps_of_any_sizes_and_looks_after_them_change_nothing(text in scenarios(), steps in steps()) {
        let model = match model(&text) {
            Ok(model) => model,
            Err(error) => return Err(TestCaseError::reject(error)),
        };
        let unbroken = run(&model);
        prop_assume!(unbroken.summary.events < 400_000);
        let model = watched(&model, unbroken.summary.end);
        let unbroken = run(&model);
        let (mut packets, mut reader) = (Packets::default(), Finished::default());
        let (mut finished, mut ports, mut kept) = (Vec::new(), Vec::new(), Kept::default());
        let stepped = stepped(&model, unbroken.summary.end, &steps, |sim| {
            check_packets(sim, &mut packets);
            finished.extend(sim.view().finished(&mut reader));
            ports = sim.view().ports().collect();
            kept.check(sim);
            let started = sim.progress().flows_started;
            sim.flows().each(|flow| {
                let size = flow.size.unwrap_or(u64::MAX);
                assert!(flow.row.is_none_or(|row| u64::from(row) < started), "{flow:?}");
                assert!(flow.delivered <= size, "{flow:?}");
                assert_eq!(flow.state == FlowState::Sending, flow.row.is_some() && flow.end.is_none(), "{flow:?}");
            });
        });
        prop_assert_eq!(shown(&stepped), shown(&unbroken));
        check_table(&ports, &stepped);
        let mut fcts: Vec<f64> = stepped.flows.f64s("fct_s").to_vec();
        fcts.retain(|fct| !fct.is_nan());
        fcts.sort_by(f64::total_cmp);
        let mut seen: Vec<f64> = finished.iter().map(|flow| flow.fct().as_secs_f64()).collect();
        seen.sort_by(f64::total_cmp);
        prop_assert_eq!(seen, fcts);
    }
}

/// An incast of so many flows, whose queues are sampled every 3 us.
fn sampled_incast(name: &str, flows: u32) -> Model {
    let mut model = incast(&transport(name), flows, 146_000);
    let ports: Vec<PortId> = (0..model.topology.ports().len() as u32).map(PortId).collect();
    let probes = [Probe::Queue(ports.clone()), Probe::CreditQueue(ports)];
    model.samples =
        probes.map(|what| Sample { name: "queues".into(), every: Span::from_us(3), what }).to_vec();
    model
}

#[test]
fn the_queues_that_a_look_shows_are_those_that_a_sample_has_at_that_time() {
    for name in ["dctcp", "expresspass", "dcqcn", "pacc"] {
        let model = sampled_incast(name, 6);
        let mut sim = Simulation::new(&model).unwrap();
        let (mut bytes, mut credits) = (Vec::new(), Vec::new());
        let mut at = Time::ZERO;
        while sim.run_until(at + Span::from_us(3), u64::MAX) {
            at += Span::from_us(3);
            bytes.extend(sim.view().ports().map(|port| port.queue_bytes as f64));
            credits.extend(sim.view().ports().map(|port| port.credit_queue_packets as f64));
        }
        let samples = sim.finish().unwrap().samples;
        let values = samples.f64s("value");
        let Values::Text(of, names) = &samples.column("quantity").unwrap().values else {
            panic!("a name each")
        };
        let sampled = |quantity: &str| -> Vec<f64> {
            let rows = values.iter().zip(of).filter(|(_, of)| names[**of as usize] == quantity);
            rows.map(|(value, _)| *value).collect()
        };
        assert!(bytes.iter().any(|&bytes| bytes > 0.0), "{name}: a queue formed");
        // The last sample may lie behind the last look.
        assert_eq!(bytes, sampled("queue_bytes")[..bytes.len()], "{name}");
        assert_eq!(credits, sampled("queue_credits")[..credits.len()], "{name}");
    }
}

#[test]
fn ports_at_which_nothing_happened_are_passed_over_by_a_look_at_those_that_changed() {
    for name in ["dctcp", "expresspass"] {
        let mut model = incast(&transport(name), 3, 14_600);
        model.traffic.clear();
        add(&mut model, &transport(name), vec![flow(0, 1, 14_600)]);
        let mut sim = Simulation::new(&model).unwrap();
        let mut kept = Kept::default();
        kept.check(&sim);
        assert_eq!(kept.look(&sim), 0, "{name}: nothing happened at any port");
        sim.run_until(Time::MAX, u64::MAX);
        assert_eq!(kept.look(&sim), 4, "{name}: a flow and its answers cross two links in both directions");
        kept.check(&sim);
        assert_eq!(kept.look(&sim), 0, "{name}: all were seen at rest");
    }
}

#[test]
fn a_frame_that_waits_at_a_plain_port_is_queued_until_it_starts_and_then_in_flight() {
    let model = incast(&transport("blast"), 4, 14_600);
    let mut sim = Simulation::new(&model).unwrap();
    // Four frames reach the switch together; one leaves, three wait in the order of their arrival.
    let frame = Span::from_ps(123_040);
    let arrived = Time::ZERO + frame + Span::from_us(1);
    sim.run_until(arrived, u64::MAX);
    let to_receiver = sim.view().ports().find(|port| port.queue_packets > 0).expect("a queue forms").port;
    let waits = |sim: &Simulation| {
        sim.view().queued(to_receiver).iter().map(|packet| packet.flow).collect::<Vec<_>>()
    };
    assert_eq!(waits(&sim), [Some(1), Some(2), Some(3)]);
    let leaving = |sim: &Simulation| {
        let frames = sim.view().in_flight().into_iter().filter(|frame| frame.packet.port == to_receiver);
        frames.map(|frame| (frame.packet.flow, frame.start, frame.arrives)).collect::<Vec<_>>()
    };
    assert_eq!(leaving(&sim), [(Some(0), arrived, arrived + frame + Span::from_us(1))]);
    sim.run_until(arrived + frame - Span::from_ps(1), u64::MAX);
    assert_eq!(waits(&sim)[..3], [Some(1), Some(2), Some(3)]);
    sim.run_until(arrived + frame, u64::MAX);
    assert_eq!(waits(&sim)[..2], [Some(2), Some(3)]);
    assert_eq!(leaving(&sim).len(), 2);
}

#[test]
fn a_step_by_time_ends_at_its_time_and_one_into_the_past_does_nothing() {
    let model = incast(&transport("dctcp"), 2, 146_000);
    let mut sim = Simulation::new(&model).unwrap();
    let at = |us| Time::ZERO + Span::from_us(us);
    assert!(sim.run_until(at(7), u64::MAX));
    assert_eq!(sim.progress().now, at(7));
    let events = sim.progress().events;
    assert!(sim.run_until(at(3), u64::MAX));
    assert_eq!((sim.progress().now, sim.progress().events), (at(7), events));
    assert!(sim.run_until(at(90), 5));
    assert_eq!(sim.progress().events, events + 5);
    assert!(sim.progress().now < at(90));
}

#[test]
fn a_run_that_stops_at_a_time_is_not_over_before_it() {
    let mut model = incast(&transport("dctcp"), 2, 1_460);
    model.stop = Some(Time::ZERO + Span::from_ms(2));
    add(
        &mut model,
        &transport("dctcp"),
        vec![Flow { start: Time::ZERO + Span::from_ms(3), ..flow(0, 1, 1_460) }],
    );
    let mut sim = Simulation::new(&model).unwrap();
    let at = |us| Time::ZERO + Span::from_us(us);
    assert!(sim.run_until(at(1_999), u64::MAX));
    assert_eq!((sim.progress().now, sim.ended()), (at(1_999), None));
    assert!(!sim.run_until(at(5_000), u64::MAX));
    assert_eq!((sim.progress().now, sim.ended()), (at(2_000), Some(clearway_sim::Ended::Stopped)));
}

/// Flows of 1 MB from hosts of a star to the last one, one each microsecond.
fn one_each_microsecond(name: &str, sources: &[u32]) -> Model {
    let mut model = network_for(&transport(name), star(5));
    let flows = sources.iter().zip(1..).map(|(&src, us)| {
        let start = Time::ZERO + Span::from_us(us);
        Flow { start, ..flow(src, 4, 1_000_000) }
    });
    add(&mut model, &transport(name), flows.collect());
    model
}

#[test]
fn flows_that_start_between_two_barriers_are_shown_once_they_have_started() {
    let model = one_each_microsecond("dctcp", &[0, 1, 2, 3]);
    let mut sim = Simulation::new(&model).unwrap();
    for us in 1..=4 {
        sim.run_until(Time::ZERO + Span::from_us(us), u64::MAX);
        let mut shown = Vec::new();
        sim.flows().each(|flow| shown.push((flow.number, flow.row, flow.size, flow.state)));
        shown.sort_unstable_by_key(|&(number, ..)| number);
        let started = |number| (number, Some(number as u32), Some(1_000_000), FlowState::Sending);
        assert_eq!(shown, (0..us).map(started).collect::<Vec<_>>());
        assert_eq!(sim.progress().flows_started, us);
        assert_eq!(sim.flows().get(us as u32).map(|flow| flow.number), None);
    }
}

#[test]
fn a_transport_that_asks_is_told_how_many_flows_its_host_sends_when_one_starts() {
    let model = one_each_microsecond("timely", &[0, 0, 1, 0]);
    let mut sim = Simulation::new(&model).unwrap();
    sim.run_until(Time::ZERO + Span::from_us(4), u64::MAX);
    let mut rates = [0.0; 4];
    sim.flows().each(|flow| rates[flow.number as usize] = flow.rate * 1e-9);
    assert_eq!(rates.map(f64::round), [100.0, 50.0, 100.0, 33.0]);
}

#[test]
fn the_path_and_the_end_of_a_flow_are_shown_also_when_it_is_over() {
    let model = incast(&transport("dctcp"), 2, 14_600);
    let mut sim = Simulation::new(&model).unwrap();
    sim.run_until(Time::ZERO + Span::from_us(2), u64::MAX);
    let (path, alive) = (sim.flows().path(1), sim.flows().get(1).unwrap());
    assert_eq!((path.len(), alive.state, alive.end), (2, FlowState::Sending, None));
    assert!(alive.window > 0.0 && alive.delivered < 14_600);
    while sim.run_until(Time::MAX, 1 << 16) {}
    let over = sim.flows().get(1).unwrap();
    assert_eq!((sim.flows().path(1), over.state, over.delivered), (path, FlowState::Ended, 14_600));
    assert!(over.window.is_nan() && over.end.is_some());
    assert!(sim.flows().get(2).is_none() && sim.flows().path(2).is_empty());
}

#[test]
fn a_run_up_to_a_time_handles_what_happens_at_that_time_and_nothing_that_happens_later() {
    let ms = |ms| Time::ZERO + Span::from_ms(ms);
    let mut model = network_for(&transport("dctcp"), star(2));
    let flows = [1, 3].map(|start| Flow { start: ms(start), ..flow(0, 1, 1_000) });
    add(&mut model, &transport("dctcp"), flows.to_vec());
    let mut sim = Simulation::new(&model).unwrap();
    for (until, started) in
        [(ms(1) - Span::from_ps(1), 0), (ms(1), 1), (ms(3) - Span::from_ps(1), 1), (ms(3), 2)]
    {
        assert!(sim.run_until(until, u64::MAX));
        assert_eq!((sim.progress().flows_started, sim.progress().now), (started, until));
    }
}
