//! Checkpoints: a run that is broken off anywhere and goes on in another simulation ends as one that never was.

use crate::common::{any_cut, mixes};
use clearway_proto::TRANSPORTS;
use clearway_sim::model::*;
use clearway_sim::{CheckpointError, Ended, Partition, Results, Simulation, Spool, Store, Table, Values};
use clearway_topology::{LeafSpine, NodeId, PortId};
use clearway_units::{Rate, Span, Time};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::{Arc, Mutex};

/// The name of the code, as checkpoints have it.
const CODE: &str = "tests";

/// A file of rows that outlives the simulation which fills it.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<io::Cursor<Vec<u8>>>>);

impl Kept {
    fn len(&self) -> usize {
        self.0.lock().unwrap().get_ref().len()
    }
}

impl Read for Kept {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.0.lock().unwrap().read(bytes)
    }
}

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for Kept {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.0.lock().unwrap().seek(to)
    }
}

impl Spool for Kept {
    fn open(&mut self) -> io::Result<Box<dyn Store>> {
        Ok(Box::new(self.clone()))
    }

    fn part_rows(&self) -> usize {
        5
    }

    fn reopen(&mut self, len: u64) -> io::Result<Box<dyn Store>> {
        self.0.lock().unwrap().get_mut().truncate(len as usize);
        Ok(Box::new(self.clone()))
    }
}

/// The files of flows and of samples, as the spools of a simulation.
fn spools(files: &[Kept; 2]) -> [Option<Box<dyn Spool>>; 2] {
    files.clone().map(|file| Some(Box::new(file) as Box<dyn Spool>))
}

fn saved(simulation: &mut Simulation) -> Vec<u8> {
    let mut bytes = Vec::new();
    simulation.save(CODE, &mut bytes).unwrap();
    bytes
}

/// A place in which a run is broken off, and the number of parts in which it goes on.
#[derive(Clone, Copy, Debug)]
struct Break {
    /// The number of events since the last break. With several parts, these end between two windows of time.
    events: u64,
    /// The simulated time thereafter, at whose end packets may be anywhere.
    span: Span,
    parts: usize,
}

/// A partition into so many parts, if the model can be divided: one of our making, or one that is drawn at random. The parts of a
/// model with an odd seed are divided into blocks.
fn cut(model: &Model, parts: usize) -> Partition {
    let cut = cut_in_parts(model, parts);
    let in_blocks = !model.seed.is_multiple_of(2) && Partition::refusal(model).is_none();
    if in_blocks { cut.divided_by(&any_cut(model, 3, model.seed)) } else { cut }
}

fn cut_in_parts(model: &Model, parts: usize) -> Partition {
    let made = Partition::new(model, parts);
    if made.parts() == parts || Partition::refusal(model).is_some() {
        return made;
    }
    let mut drawn = (0..100).map(|seed| any_cut(model, parts as u64, seed));
    drawn.find(|drawn| drawn.parts() == parts).unwrap_or(made)
}

fn resumed(model: &Model, parts: usize, spools: [Option<Box<dyn Spool>>; 2], from: &[u8]) -> Simulation {
    let mut simulation = Simulation::resume(model, &cut(model, parts), spools, CODE, from).unwrap();
    simulation.take_turns_but(5);
    simulation
}

/// All that a viewer sees of a run between two steps.
fn seen(simulation: &mut Simulation) -> String {
    let mut flows = Vec::new();
    simulation.flows().each(|flow| flows.push(format!("{flow:?}")));
    let mut links: Vec<String> =
        simulation.view().in_flight().iter().map(|in_flight| format!("{in_flight:?}")).collect();
    links.sort();
    let ports: Vec<_> = simulation
        .view()
        .ports()
        .map(|port| (format!("{port:?}"), simulation.view().queued(port.port)))
        .collect();
    format!("{:?}\n{:?}\n{ports:?}\n{flows:?}\n{links:?}", simulation.progress(), simulation.view().books())
}

/// Runs a model, cut into so many parts, that is broken off in these places.
fn broken(model: &Model, parts: usize, breaks: impl IntoIterator<Item = Break>) -> Results {
    let files = [Kept::default(), Kept::default()];
    let mut simulation = Simulation::spooled(model, &cut(model, parts), spools(&files)).unwrap();
    simulation.take_turns_but(0);
    for Break { events, span, parts } in breaks {
        simulation.step(events);
        simulation.run_until(simulation.progress().now + span, u64::MAX);
        let (checkpoint, before) = (saved(&mut simulation), simulation.parts());
        let shown = seen(&mut simulation);
        // Time passes between the last checkpoint and the kill.
        simulation.step(events / 3 + 1);
        drop(simulation);
        simulation = resumed(model, parts, spools(&files), &checkpoint);
        assert_eq!(seen(&mut simulation), shown, "{before} to {parts} parts");
        if simulation.parts() == before {
            assert!(
                saved(&mut simulation) == checkpoint,
                "the state that was read is the one that was written"
            );
        }
    }
    simulation.run(&mut |_| true);
    simulation.finish().unwrap()
}

/// The most parts of runs that are broken off.
const MOST: usize = 4;

/// The numbers of parts of a run that is broken off again and again, from each of 1 to [`MOST`] to each of them.
fn all_changes() -> Vec<usize> {
    let mut parts = Vec::new();
    for low in 1..=MOST {
        parts.push(low);
        (low + 1..=MOST).for_each(|high| parts.extend([low, high]));
    }
    parts.push(1);
    parts
}

#[test]
fn a_list_of_numbers_of_parts_has_every_change_from_one_to_another() {
    let parts = all_changes();
    let changes: BTreeSet<[usize; 2]> = parts.windows(2).map(|two| [two[0], two[1]]).collect();
    assert_eq!(changes.len(), MOST * MOST, "{parts:?}");
}

/// Asserts that a run which is broken off after every 20th or so of its events, each time going on in another number of
/// parts, until there was every change from one to another, ends as one that never was. Returns the latter.
fn assert_bound_to_no_parts(model: &Model, of: &str) -> Results {
    let whole = crate::common::run(model);
    let parts = all_changes();
    let events = whole.summary.events / (parts.len() as u64 + 3);
    assert!(events > 100, "{of}: {} events", whole.summary.events);
    // Some nanoseconds more than a multiple of a microsecond, so that frames are just on their links.
    let breaks = parts[1..].iter().zip(0..).map(|(&parts, number)| Break {
        events,
        span: Span::from_ns(if number % 2 == 0 { 0 } else { 1_317 * number }),
        parts,
    });
    assert!(shown(&broken(model, parts[0], breaks)) == shown(&whole), "{of}");
    whole
}

/// All that a run shows: summary, tables, traces.
fn shown(results: &Results) -> String {
    let table = |table: &Table| format!("{:?}", table.columns);
    let tables = [&results.flows, &results.ports, &results.samples].map(table);
    let traces: Vec<String> = results.traces.iter().map(|trace| table(trace.table())).collect();
    format!("{}\n{:?}\n{}\n{}", results.hash(), results.summary, tables.join("\n"), traces.join("\n"))
}

/// A model with two links that fail, one of them for ever, or that become slower, traces of some ports, samples and a
/// window.
fn troubled(model: &Model) -> Model {
    let ports = model.topology.ports().len() as u32;
    let at = |us| Time::ZERO + Span::from_us(us);
    let port = |step: u64| PortId(((model.seed + step) % u64::from(ports)) as u32);
    // Routing notices a failure at once, after a while, or never.
    let late = [Some(0), Some(25), None][(model.seed / 3 % 3) as usize];
    let fault = |us, step, up| Fault {
        noticed: late.map(|late| at(us + late)),
        ..Fault::at_once(at(us), port(step), up)
    };
    let trace = Trace {
        name: "t".into(),
        ports: vec![port(0), port(1), port(2)],
        flows: None,
        from: Time::ZERO,
        until: None,
        limit: 500,
        formats: Vec::new(),
    };
    let mut model = mixes::watched(model, at(10_000));
    model.stop = model.stop.map(|stop| stop.min(at(20_000)));
    let rate = |us, step, part| {
        let full = model.topology.port(port(step)).rate;
        Fault::rate(at(us), port(step), Rate::bps(full.as_bps() / part))
    };
    match model.seed % 3 {
        0 => model.faults = vec![fault(40, 3, false), fault(60, 5, false), fault(300, 3, true)],
        1 => model.faults = vec![rate(40, 3, 7), rate(60, 5, 30), rate(300, 3, 1)],
        _ => {}
    }
    if model.seed.is_multiple_of(2) {
        model.traces = vec![trace];
    }
    model
}

proptest! {
    #![proptest_config(mixes::one_in(4))]

    #[test]
    fn any_mix_that_is_broken_off_anywhere_ends_as_one_that_never_was(
        text in mixes::scenarios(),
        places in prop::collection::vec((0u64..1000, 0u64..20_000_000, any::<bool>(), 1..=MOST), 1..4),
        parts in 1..=MOST,
    ) {
        let model = match mixes::model(&text) {
            Ok(model) => troubled(&model),
            Err(error) => return Err(TestCaseError::reject(error)),
        };
        let whole = crate::common::run(&model);
        let breaks = places.iter().map(|&(share, ps, goes_on, parts)| Break {
            events: share * whole.summary.events / 2000,
            span: if goes_on { Span::from_ps(ps) } else { Span::ZERO },
            parts,
        });
        prop_assert_eq!(shown(&broken(&model, parts, breaks)), shown(&whole));
    }
}

/// A scenario in which a transport meets losses, a narrow buffer, timeouts and rounds, and Poisson traffic ends.
fn eventful(transport: &str) -> Model {
    let text = format!(
        "seed = 7\nstop = \"30 ms\"\n[topology]\nkind = \"leaf-spine\"\nleaves = 2\nhosts_per_leaf = 3\nrate = \"10 Gbps\"\n\
         [host]\nprocessing_delay = {{ uniform = [\"0 us\", \"2 us\"] }}\n\
         [[traffic]]\nname = \"a\"\nkind = \"incast\"\nreceiver = 0\nsenders = 4\nsize = \"40 KB\"\nrounds = 2\n\
         transport = \"{transport}\"\n\
         [[traffic]]\nname = \"b\"\nkind = \"poisson\"\nworkload = \"cache-follower\"\nload = 0.2\nflows = 20\n\
         transport = \"{transport}\"\n\
         [[loss]]\nprobability = 0.005\n\
         [[fault]]\nlink = [\"leaf0\", \"spine0\"]\ndown = \"200 us\"\nup = \"900 us\"\n"
    );
    let model = mixes::model(&text).unwrap_or_else(|error| panic!("{transport}: {error}"));
    mixes::watched(&model, Time::ZERO + Span::from_us(30_000))
}

#[test]
fn every_transport_that_is_broken_off_again_and_again_goes_on_with_any_number_of_threads() {
    for info in TRANSPORTS {
        let model = eventful(info.name);
        let parts = cut(&model, MOST).parts();
        assert!(parts == MOST || Partition::refusal(&model).is_some(), "{}: {parts} parts", info.name);
        assert_bound_to_no_parts(&model, info.name);
    }
}

#[test]
fn rows_that_left_memory_before_a_checkpoint_are_those_of_the_result() {
    let model = eventful("dctcp");
    let files = [Kept::default(), Kept::default()];
    let mut simulation = Simulation::spooled(&model, &Partition::one(&model), spools(&files)).unwrap();
    let whole = crate::common::run(&model);
    simulation.step(whole.summary.events / 2);
    let checkpoint = saved(&mut simulation);
    assert!(files.iter().all(|file| file.len() > 0), "flows and samples have left memory");
    simulation.step(whole.summary.events / 4);
    for parts in [1, 2] {
        let mut resumed = resumed(&model, parts, spools(&files), &checkpoint);
        resumed.run(&mut |_| true);
        assert!(shown(&resumed.finish().unwrap()) == shown(&whole), "{parts} parts");
    }
    let one = Partition::one(&model);
    let without = Simulation::resume(&model, &one, [None, None], CODE, &checkpoint).err().unwrap();
    assert!(without.to_string().contains("rows of the run lie in a file"), "{without}");
}

#[test]
fn a_checkpoint_of_another_run_or_one_that_was_changed_is_refused() {
    let model = eventful("dctcp");
    let mut simulation = Simulation::new(&model).unwrap();
    simulation.step(5_000);
    let whole = saved(&mut simulation);
    // A run on another number of threads refuses the same.
    let by = |code: &str, model: &Model, from: &[u8]| {
        let resumed = [1, 3].map(|parts| {
            let partition = Partition::new(model, parts);
            Simulation::resume(model, &partition, [None, None], code, from).err()
        });
        let [one, several] = resumed;
        assert_eq!(format!("{one:?}"), format!("{several:?}"));
        one
    };
    let resumed = |model: &Model, from: &[u8]| by(CODE, model, from);
    assert!(resumed(&model, &whole).is_none());
    assert!(matches!(resumed(&model, b"clearway"), Some(CheckpointError::Foreign)));
    for cut in [20, 50, 120, whole.len() / 2, whole.len() - 1] {
        assert!(matches!(resumed(&model, &whole[..cut]), Some(CheckpointError::Damaged)), "{cut}");
    }
    for at in [20, 60, 100, whole.len() / 2, whole.len() - 1] {
        let mut changed = whole.clone();
        changed[at] ^= 1;
        assert!(matches!(resumed(&model, &changed), Some(CheckpointError::Damaged)), "{at}");
    }
    assert!(matches!(by("others", &model, &whole), Some(CheckpointError::Code)));
    let other_seed = Model { seed: model.seed + 1, ..model.clone() };
    assert!(matches!(resumed(&other_seed, &whole), Some(CheckpointError::Model)));
    let mut slower = model.clone();
    slower.traffic[0].transport.set("g", "0.5").unwrap();
    assert!(matches!(resumed(&slower, &whole), Some(CheckpointError::Model)));
}

/// A scenario whose traffic meets in one host across the switches of a tree, with these lines besides.
fn crowded(transport: &str, lines: &str) -> Model {
    let text = format!(
        "seed = 5\nstop = \"6 ms\"\n[topology]\nkind = \"leaf-spine\"\nleaves = 4\nhosts_per_leaf = 3\nrate = \"25 Gbps\"\n\
         delay = \"2 us\"\n[[traffic]]\nname = \"a\"\nkind = \"incast\"\nreceiver = 0\nsenders = 9\nsize = \"300 KB\"\n\
         transport = \"{transport}\"\n[[traffic]]\nname = \"b\"\nkind = \"permutation\"\nsize = \"400 KB\"\nspread = \"50 us\"\n\
         transport = \"{transport}\"\n[[traffic]]\nname = \"c\"\nkind = \"flows\"\nlist = [{{ src = 1, dst = 11, stop = \"900 us\" }}]\n\
         transport = \"{transport}\"\n{lines}"
    );
    let model = mixes::model(&text).unwrap_or_else(|error| panic!("{transport}: {error}"));
    assert_eq!((2..=MOST).map(|parts| cut(&model, parts).parts()).collect::<Vec<_>>(), [2, 3, 4]);
    mixes::watched(&model, Time::ZERO + Span::from_us(6_000))
}

/// The number of packets dropped for a reason that begins so.
fn dropped(results: &Results, why: &str) -> u64 {
    results.summary.packets.iter().filter(|(line, _)| line.starts_with(why)).map(|(_, count)| count).sum()
}

#[test]
fn flow_control_and_notifications_go_on_with_any_number_of_threads() {
    let short = "[switch]\npfc = true\nshared_buffer = \"1 MB\"\npfc_alpha = 0.05\n\
        [[fault]]\nlink = [\"leaf0\", \"spine0\"]\ndown = \"150 us\"\nup = \"700 us\"\n";
    for (transport, cnps) in [("dcqcn", true), ("pacc", true), ("hpcc", false), ("timely", false)] {
        let whole = assert_bound_to_no_parts(&crowded(transport, short), transport);
        let control = whole.summary.flow_control.expect("there is flow control");
        assert!(control.pauses > 20, "{transport}: {} pauses", control.pauses);
        assert_eq!(whole.summary.cnps > 20, cnps, "{transport}: {} notifications", whole.summary.cnps);
    }
}

#[test]
fn a_run_that_goes_on_knows_those_failures_that_routing_had_noticed_and_no_others() {
    let rate = Rate::gbps(10);
    let shape = LeafSpine {
        leaves: 2,
        spines: 4,
        hosts_per_leaf: 16,
        rate,
        uplink_rate: rate,
        ..LeafSpine::default()
    };
    let mut model = crate::common::quiet(shape.build().unwrap());
    let at = |us| Time::ZERO + Span::from_us(us);
    let flow = |src, us| Flow { start: at(us), ..crate::common::flow(src, 16 + src, 20_000) };
    crate::common::add(
        &mut model,
        &crate::common::transport("dctcp"),
        (0..16).map(|src| flow(src, 200)).collect(),
    );
    model.stop = Some(at(5_000));
    let leaf = model.topology.port(model.topology.ports_of(NodeId(0))[0]).to;
    let ports = model.topology.ports_of(leaf).iter().copied();
    let ups: Vec<PortId> =
        ports.filter(|&port| !model.topology.is_host(model.topology.port(port).to)).collect();
    let fault = |port, us, noticed: Option<u64>| Fault {
        noticed: noticed.map(at),
        ..Fault::at_once(at(us), port, false)
    };
    // At 150 us, before any flow starts, routing knows of the first failure alone.
    model.faults =
        vec![fault(ups[0], 20, Some(40)), fault(ups[1], 100, Some(3_000)), fault(ups[2], 100, None)];
    let whole = crate::common::run(&model);
    assert!(whole.ports.u64s("drops_down")[ups[1].index()] > 0, "flows start on a path that is down");
    let there = Break { events: 0, span: Span::from_us(150), parts: 2 };
    assert!(shown(&broken(&model, 1, [there])) == shown(&whole));
}

#[test]
fn a_deadlock_that_began_before_a_checkpoint_is_found_in_the_same_instant_in_any_parts() {
    let model = crate::common::ring(true);
    let whole = crate::common::run(&model);
    assert_eq!(whole.summary.ended, Ended::Deadlocked);
    let end = whole.summary.end - Time::ZERO;
    for (parts, next) in [(1, 3), (3, 1), (2, 4), (4, 2)] {
        for tenths in [2, 5, 9] {
            let place = Break { events: 0, span: end / 10 * tenths, parts: next };
            assert!(
                shown(&broken(&model, parts, [place])) == shown(&whole),
                "{parts} to {next}, {tenths} / 10"
            );
        }
    }
}

#[test]
fn a_run_that_is_broken_off_before_it_hears_of_its_last_event_ends_when_that_came() {
    let lost = "[[loss]]\nprobability = 0.01\n[switch]\nbuffer = \"20 KB\"\n";
    for (transport, lines, ended) in [("blast", lost, Ended::Stalled), ("dctcp", "", Ended::Complete)] {
        let model = Model { stop: None, ..crowded(transport, lines) };
        let whole = crate::common::run(&model);
        assert_eq!(whole.summary.ended, ended, "{transport}");
        let span = whole.summary.end - Time::ZERO;
        for (before, parts) in [(1, 3), (3, 1), (2, 4), (4, 3)] {
            let place = Break { events: 0, span, parts };
            assert!(
                shown(&broken(&model, before, [place])) == shown(&whole),
                "{transport}, {before} to {parts}"
            );
        }
    }
}

#[test]
fn whole_nanoseconds_parked_flows_and_round_trip_times_go_on_with_any_number_of_threads() {
    for transport in ["dcqcn", "timely", "hpcc"] {
        let whole_ns =
            "[network]\nwhole_ns = true\npayload = \"1000 B\"\n[switch]\nshared_buffer = \"2 MB\"\n";
        let mut model = crowded(transport, whole_ns);
        for entry in &mut model.traffic {
            entry.transport.set("profile", "hpcc-ns3").unwrap();
        }
        let sample = |entry| Sample { name: "rtt".into(), every: Span::from_us(1), what: Probe::Rtt(entry) };
        model.samples.extend([0, 1].map(sample));
        let whole = assert_bound_to_no_parts(&model, transport);
        let Some(Values::Text(quantities, names)) =
            whole.samples.column("quantity").map(|column| &column.values)
        else {
            panic!("samples have a quantity");
        };
        let rtts = quantities.iter().filter(|&&quantity| names[quantity as usize] == "rtt_s").count();
        assert!(rtts > 1_000, "{transport}: {rtts} round-trip times");
    }
}

#[test]
fn classes_credits_and_shared_memory_go_on_with_any_number_of_threads() {
    let classes = "[network]\nrouting = \"spray\"\n[switch]\nshared_buffer = \"400 KB\"\nmarking = \"red\"\n\
        [[switch.class]]\nname = \"x\"\nweight = 3\n[[switch.class]]\nname = \"y\"\nweight = 1\n\
        [[traffic]]\nkind = \"permutation\"\nsize = \"300 KB\"\ntransport = \"dctcp\"\nclass = \"y\"\n";
    let whole = assert_bound_to_no_parts(&crowded("newreno", classes), "classes");
    assert!(dropped(&whole, "dropped, buffer") > 100, "{:?}", whole.summary.packets);
    let credits = "[[switch.credit_class]]\nname = \"x\"\nweight = 3\n[[switch.credit_class]]\nname = \"y\"\nshare = 0.3\n\
        [[traffic]]\nkind = \"permutation\"\nsize = \"300 KB\"\ntransport = \"expresspass\"\ncredit_class = \"y\"\n";
    for (lines, of) in [(credits, "classes of credits"), ("", "one class of credits")] {
        let whole = assert_bound_to_no_parts(&crowded("expresspass", lines), of);
        assert!(dropped(&whole, "dropped, credit limit") > 100, "{of}: {:?}", whole.summary.packets);
    }
}

#[test]
fn agents_rounds_and_lost_packets_go_on_with_any_number_of_threads() {
    let rounds = "[host]\nprocessing_delay = { uniform = [\"0 us\", \"3 us\"] }\n[[loss]]\nprobability = 0.002\n\
        [[traffic]]\nkind = \"partition-aggregate\"\nclient = 4\nfan_out = 3\nrounds = 9\nrequest = \"300 B\"\n\
        transport = \"dctcp\"\n";
    for transport in ["ack-shaper", "pac", "ictcp", "homa-trial", "ndp-trial"] {
        // Transports that share a class must agree on the order of a host's flows.
        let lines =
            if transport == "homa-trial" { rounds.replace("dctcp", transport) } else { rounds.into() };
        let whole = assert_bound_to_no_parts(&crowded(transport, &lines), transport);
        assert!(dropped(&whole, "dropped, random loss") > 10, "{transport}: {:?}", whole.summary.packets);
        assert!(!whole.summary.agents.is_empty(), "{transport}");
    }
}
