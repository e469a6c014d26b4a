//! Checkpoints: a run that is broken off anywhere and goes on in another simulation ends as one that never was.

mod common;

use clearway_proto::TRANSPORTS;
use clearway_sim::model::*;
use clearway_sim::{CheckpointError, Partition, Results, Simulation, Spool, Store, Table};
use clearway_topology::PortId;
use clearway_units::{Span, Time};
use common::mixes;
use proptest::prelude::*;
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

/// Runs a model, cut into so many parts, that is broken off after each of these numbers of events.
fn broken(model: &Model, parts: usize, cuts: impl IntoIterator<Item = u64>) -> Results {
    let files = [Kept::default(), Kept::default()];
    let partition = Partition::new(model, parts);
    let mut simulation = Simulation::spooled(model, &partition, spools(&files)).unwrap();
    for events in cuts {
        simulation.step(events);
        let checkpoint = saved(&mut simulation);
        // Time passes between the last checkpoint and the kill.
        simulation.step(events / 3 + 1);
        drop(simulation);
        simulation = Simulation::resume(model, spools(&files), CODE, &checkpoint).unwrap();
        assert!(saved(&mut simulation) == checkpoint, "the state that was read is the one that was written");
    }
    simulation.run(&mut |_| true);
    simulation.finish().unwrap()
}

/// All that a run shows: summary, tables, traces.
fn shown(results: &Results) -> String {
    let table = |table: &Table| format!("{:?}", table.columns);
    let tables = [&results.flows, &results.ports, &results.samples].map(table);
    let traces: Vec<String> = results.traces.iter().map(|trace| table(trace.table())).collect();
    format!("{}\n{:?}\n{}\n{}", results.hash(), results.summary, tables.join("\n"), traces.join("\n"))
}

/// A model with two links that fail, one of them for ever, traces of some ports, samples and a window.
fn troubled(model: &Model) -> Model {
    let ports = model.topology.ports().len() as u32;
    let at = |us| Time::ZERO + Span::from_us(us);
    let port = |step: u64| PortId(((model.seed + step) % u64::from(ports)) as u32);
    let fault = |us, step, up| Fault { at: at(us), port: port(step), up };
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
    if model.seed.is_multiple_of(3) {
        model.faults = vec![fault(40, 3, false), fault(60, 5, false), fault(300, 3, true)];
    }
    if model.seed.is_multiple_of(2) {
        model.traces = vec![trace];
    }
    model
}

fn a_quarter() -> ProptestConfig {
    let usual = ProptestConfig::default();
    ProptestConfig { cases: usual.cases / 4, max_global_rejects: 100_000, ..usual }
}

proptest! {
    #![proptest_config(a_quarter())]

    #[test]
    fn any_mix_that_is_broken_off_anywhere_ends_as_one_that_never_was(
        text in mixes::scenarios(),
        shares in prop::collection::vec(0u64..1000, 1..4),
        parts in 1usize..5,
    ) {
        let model = match mixes::model(&text) {
            Ok(model) => troubled(&model),
            Err(error) => return Err(TestCaseError::reject(error)),
        };
        let whole = common::run(&model);
        let cuts = shares.iter().map(|share| share * whole.summary.events / 2000);
        prop_assert_eq!(shown(&broken(&model, parts, cuts)), shown(&whole));
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
fn every_transport_that_is_broken_off_twenty_times_ends_as_one_that_never_was() {
    for info in TRANSPORTS {
        let model = eventful(info.name);
        let whole = common::run(&model);
        assert!(whole.summary.events > 3_000, "{}: {} events", info.name, whole.summary.events);
        let cuts = std::iter::repeat_n(whole.summary.events / 25, 20);
        assert!(shown(&broken(&model, 1, cuts)) == shown(&whole), "{}", info.name);
    }
}

#[test]
fn rows_that_left_memory_before_a_checkpoint_are_those_of_the_result() {
    let model = eventful("dctcp");
    let files = [Kept::default(), Kept::default()];
    let mut simulation = Simulation::spooled(&model, &Partition::one(&model), spools(&files)).unwrap();
    let whole = common::run(&model);
    simulation.step(whole.summary.events / 2);
    let checkpoint = saved(&mut simulation);
    assert!(files.iter().all(|file| file.len() > 0), "flows and samples have left memory");
    simulation.step(whole.summary.events / 4);
    let mut resumed = Simulation::resume(&model, spools(&files), CODE, &checkpoint).unwrap();
    resumed.run(&mut |_| true);
    assert!(shown(&resumed.finish().unwrap()) == shown(&whole));
    let without = Simulation::resume(&model, [None, None], CODE, &checkpoint).err().unwrap();
    assert!(without.to_string().contains("rows of the run lie in a file"), "{without}");
}

#[test]
fn a_checkpoint_of_another_run_or_one_that_was_changed_is_refused() {
    let model = eventful("dctcp");
    let mut simulation = Simulation::new(&model).unwrap();
    simulation.step(5_000);
    let whole = saved(&mut simulation);
    let resumed = |model: &Model, from: &[u8]| Simulation::resume(model, [None, None], CODE, from).err();
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
    let by_others = Simulation::resume(&model, [None, None], "others", &whole).err();
    assert!(matches!(by_others, Some(CheckpointError::Code)));
    let other_seed = Model { seed: model.seed + 1, ..model.clone() };
    assert!(matches!(resumed(&other_seed, &whole), Some(CheckpointError::Model)));
    let mut slower = model.clone();
    slower.traffic[0].transport.set("g", "0.5").unwrap();
    assert!(matches!(resumed(&slower, &whole), Some(CheckpointError::Model)));
}

#[test]
fn a_checkpoint_goes_on_in_the_parts_in_which_the_run_was_begun_to_the_same_results() {
    let model = eventful("dctcp");
    let whole = shown(&broken(&model, 1, []));
    for parts in 1..=4 {
        let partition = Partition::new(&model, parts);
        assert!(parts == 1 || partition.parts() > 1, "the network can be divided");
        let mut simulation = Simulation::spooled(&model, &partition, [None, None]).unwrap();
        simulation.step(5_000);
        let mut resumed = Simulation::resume(&model, [None, None], CODE, &saved(&mut simulation)).unwrap();
        assert_eq!(resumed.parts(), partition.parts());
        resumed.run(&mut |_| true);
        assert_eq!(shown(&resumed.finish().unwrap()), whole, "{parts} parts");
    }
}
