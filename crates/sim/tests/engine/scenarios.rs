//! Tests of the scenarios that are shipped.

use clearway_sim::scenario::{Overrides, Scenario};
use clearway_sim::{Ended, Simulation};
use std::path::Path;

#[test]
fn every_shipped_scenario_runs_under_several_transports_and_its_books_balance() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    assert!(paths.len() >= 10);
    for path in paths {
        for transport in [None, Some("expresspass"), Some("dctcp")] {
            let overrides = Overrides { transport: transport.map(str::to_owned), ..Overrides::default() };
            let scenario = Scenario::load(&path, &overrides).unwrap_or_else(|error| panic!("{error}"));
            let about = format!("{} under {transport:?}", scenario.name);
            let mut simulation =
                Simulation::new(&scenario.model).unwrap_or_else(|error| panic!("{about}: {error}"));
            // The start of the run is enough to show that the scenario works.
            simulation.run(&mut |progress| progress.events < 100_000);
            let results = simulation.finish().unwrap_or_else(|error| panic!("{about}: {error}"));
            let summary = &results.summary;
            assert!(summary.link_transmissions > 10_000 || summary.ended == Ended::Complete, "{about}");
            assert!(results.summary.flows_started > 0, "{about}");
        }
    }
}
