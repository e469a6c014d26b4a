//! Scenario files as users write them, and as they should not.

mod any;
mod endless;
mod files;
mod memory;
mod ports;
mod refused;
mod traffic;
mod trimming;

use super::*;
use crate::model::{Amount, Flow, Pattern, Poisson, Rounds, Threshold};
use clearway_proto::AnyMechanismConfig;
use clearway_schema::Auto;
use clearway_topology::{NodeId, PortId};
use clearway_units::{Bytes, Rate, Span, Time};
use std::path::PathBuf;

const VALID: &str = r#"
stop = "10 ms"

[topology]
kind = "star"
hosts = 5
rate = "10 Gbps"

[switch]
buffer = "100 KB"

[transport]
name = "expresspass"
alpha = 0.5

[[traffic]]
name = "web"
kind = "poisson"
workload = "web-search"
load = 0.4
flows = 10

[[traffic]]
name = "burst"
kind = "incast"
senders = 4
"#;

fn parse_with(text: &str, overrides: &Overrides) -> Result<Scenario, ScenarioError> {
    Scenario::parse(text, "x.toml", Path::new("."), overrides)
}

fn parse(text: &str) -> Scenario {
    parse_with(text, &Overrides::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn set(pairs: &[(&str, &str)]) -> Overrides {
    let set = pairs.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
    Overrides { set, ..Overrides::default() }
}

fn refused(text: &str) -> String {
    parse_with(text, &Overrides::default()).expect_err("this is to be refused").to_string()
}

/// Returns the error of [`VALID`] with one of its lines replaced.
fn refused_with(old: &str, new: &str) -> String {
    assert!(VALID.contains(old), "{old}");
    refused(&VALID.replacen(old, new, 1))
}

fn refused_set(key: &str, value: &str) -> String {
    parse_with(VALID, &set(&[(key, value)])).expect_err("this is to be refused").to_string()
}

fn flows(scenario: &Scenario, part: usize) -> &[Flow] {
    match &scenario.model.traffic[part].pattern {
        Pattern::Flows(flows) => flows,
        other => panic!("{other:?}"),
    }
}

fn poisson(scenario: &Scenario) -> &Poisson {
    match &scenario.model.traffic[0].pattern {
        Pattern::Poisson(poisson) => poisson,
        other => panic!("{other:?}"),
    }
}

fn rounds(scenario: &Scenario, part: usize) -> &Rounds {
    match &scenario.model.traffic[part].pattern {
        Pattern::Rounds(rounds) => rounds,
        other => panic!("{other:?}"),
    }
}

fn check_reads_back(scenario: &Scenario) {
    let written = scenario.to_toml();
    let again =
        parse_with(&written, &Overrides::default()).unwrap_or_else(|error| panic!("{error}\n{written}"));
    assert_eq!(written, again.to_toml());
    assert_eq!(format!("{:?}", scenario.model), format!("{:?}", again.model), "{written}");
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn shipped() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(repository().join("scenarios")).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    paths
}

#[test]
fn every_shipped_scenario_reads_under_every_transport_and_reads_back() {
    assert!(shipped().len() >= 10);
    for path in shipped() {
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("# "), "{} opens with what it shows", path.display());
        check_reads_back(
            &Scenario::load(&path, &Overrides::default()).unwrap_or_else(|error| panic!("{error}")),
        );
        for info in clearway_proto::TRANSPORTS {
            let overrides = Overrides { transport: Some(info.name.into()), ..Overrides::default() };
            let scenario =
                Scenario::load(&path, &overrides).unwrap_or_else(|error| panic!("{}: {error}", info.name));
            assert!(scenario.model.traffic.iter().all(|part| part.transport.info().name == info.name));
        }
    }
}

#[test]
fn the_reference_of_the_documentation_is_current() {
    let path = repository().join("docs/reference/scenario.md");
    if std::env::var_os("CLEARWAY_WRITE_DOCS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, reference()).unwrap();
    }
    let current = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        current == reference(),
        "write docs/reference/scenario.md anew: CLEARWAY_WRITE_DOCS=1 cargo test -p clearway-sim"
    );
}

#[test]
fn the_reference_names_every_transport_topology_and_workload() {
    let page = reference();
    let names = clearway_proto::TRANSPORTS.iter().map(|info| info.name);
    let names = names.chain(topologies().into_iter().map(|info| info.name));
    for name in names.chain(workloads().iter().map(|info| info.name)) {
        assert!(page.contains(name), "{name}");
    }
}

#[test]
fn a_replaced_transport_takes_its_own_parameters_and_credit_keys_along() {
    let text = VALID.replace("[switch]", "[switch]\ncredit_queue = 4");
    let with =
        |name: &str| parse_with(&text, &Overrides { transport: Some(name.into()), ..Overrides::default() });
    let dctcp = with("dctcp").unwrap();
    assert!(dctcp.model.switch.credit.is_none());
    check_reads_back(&dctcp);
    // The same transport keeps what the file sets for it; another with credits keeps the credit keys.
    let same = with("expresspass").unwrap();
    assert_eq!(same.to_toml(), parse(&text).to_toml());
    assert_eq!(with("naive-credit").unwrap().model.switch.credit.unwrap().queue, 4);
    let values = same.model.traffic[0].transport.write();
    assert!(values.contains(&("alpha", "0.5".into())), "{values:?}");
}

#[test]
fn set_after_transport_means_the_new_transport() {
    let overrides = Overrides { transport: Some("dctcp".into()), ..set(&[("transport.g", "0.25")]) };
    let scenario = parse_with(VALID, &overrides).unwrap();
    assert!(scenario.model.traffic[0].transport.write().contains(&("g", "0.25".into())));
    let overrides = Overrides { transport: Some("dctcp".into()), ..set(&[("transport.w_init", "0.25")]) };
    let error = parse_with(VALID, &overrides).unwrap_err().to_string();
    assert!(error.starts_with("--set transport.w_init = 0.25: is no parameter of dctcp"), "{error}");
}

#[test]
fn later_profiles_and_then_parameters_win() {
    let text = VALID.replace("alpha = 0.5", "w_init = 0.125\nprofile = [\"ns2\", \"ns2-fat-tree\"]");
    let values = parse(&text).model.traffic[0].transport.write();
    assert!(values.contains(&("feedback", "\"ns2\"".into())) && values.contains(&("w_init", "0.125".into())));
    assert!(
        refused(&text.replace("fat-tree", "thin-tree"))
            .contains("transport.profile.1 = \"ns2-thin-tree\": write one of")
    );
}

#[test]
fn a_part_of_the_traffic_may_change_parameters_or_name_another_transport() {
    let text = VALID
        .replace("senders = 4", "senders = 4\ntransport = { w_init = 0.25 }")
        .replace("load = 0.4", "load = 0.4\ntransport = \"dctcp\"");
    let scenario = parse(&text);
    assert_eq!(scenario.model.traffic[0].transport.info().name, "dctcp");
    let values = scenario.model.traffic[1].transport.write();
    assert!(
        values.contains(&("alpha", "0.5".into())) && values.contains(&("w_init", "0.25".into())),
        "{values:?}"
    );
    check_reads_back(&scenario);
}
