//! The toy runs in a scenario with its own key in `[switch]`, and its key is checked and documented like all others.

use clearway_sim::scenario::{Overrides, Scenario, reference};
use clearway_sim::{Results, Simulation};
use std::path::Path;

fn text(switch: &str) -> String {
    format!(
        "name = \"toy\"\ntransport = \"toy\"\n[topology]\nkind = \"star\"\nhosts = 4\n[switch]\n{switch}\n\
         [[traffic]]\nname = \"burst\"\nkind = \"incast\"\nsenders = 3\nsize = \"640 KB\"\n"
    )
}

fn parse(switch: &str) -> Result<Scenario, String> {
    Scenario::parse(&text(switch), "toy.toml", Path::new("."), &Overrides::default())
        .map_err(|error| error.to_string())
}

fn run(switch: &str) -> Results {
    let scenario = parse(switch).unwrap();
    let mut simulation = Simulation::new(&scenario.model).unwrap();
    simulation.run(&mut |_| true);
    simulation.finish().unwrap()
}

#[test]
fn ends_agent_and_mechanism_work_and_the_mechanism_heeds_its_key() {
    let (asked, same, often) = (run(""), run("toy_every = 100"), run("toy_every = 2"));
    assert_eq!(asked.hash(), same.hash(), "100 is what the transport asks for");
    assert_ne!(asked.hash(), often.hash(), "marks slow DCTCP down");
    assert!(often.summary.end > asked.summary.end);
    assert_eq!(asked.summary.agents.len(), 1, "the host that receives has one");
    assert!(asked.summary.agents[0].stats.released > 1_000, "every acknowledgement passed it");
}

#[test]
fn the_key_is_read_limited_written_and_documented_by_itself() {
    let error = |switch: &str| parse(switch).err().unwrap();
    assert_eq!(error("toy_every = 0"), "toy.toml:7: switch.toy_every = 0: must be from 1 to 1000");
    assert!(error("toy_evry = 3").contains("did you mean \"toy_every\"?"), "{}", error("toy_evry = 3"));
    let others = text("toy_every = 3").replace("transport = \"toy\"", "transport = \"dctcp\"");
    let refused = Scenario::parse(&others, "toy.toml", Path::new("."), &Overrides::default());
    assert!(refused.err().unwrap().to_string().contains("no transport of the scenario asks its ports for this"));
    let written = parse("toy_every = 3").unwrap().to_toml();
    assert!(written.contains("\ntoy_every = 3\n"), "{written}");
    assert!(!parse("").unwrap().to_toml().contains("toy_every"));
    let page = reference();
    let line = page.lines().find(|line| line.starts_with("| `toy_every`")).expect("a line of the reference");
    assert!(line.contains("integer") && line.contains("from 1 to 1000"), "{line}");
    assert!(page.contains("### `name = \"toy\"`"));
}
