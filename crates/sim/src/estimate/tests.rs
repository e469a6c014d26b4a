use super::*;
use crate::Simulation;
use crate::scenario::{Overrides, Scenario};
use std::path::Path;

/// Asserts that two numbers differ by a factor of at most 1.5.
fn assert_near(what: &str, estimated: f64, measured: f64) {
    let ratio = estimated / measured;
    assert!((1.0 / 1.5..=1.5).contains(&ratio), "{what}: estimated {estimated:.4e}, measured {measured:.4e}");
}

/// Compares the estimate of a scenario with its run.
fn check(text: &str) -> Estimate {
    let scenario = Scenario::parse(text, "x.toml", Path::new("."), &Overrides::default()).unwrap();
    let estimate = scenario.estimate();
    let mut simulation = Simulation::new(&scenario.model).unwrap();
    simulation.run(&mut |_| true);
    let results = simulation.finish().unwrap();
    assert_near("flows", estimate.flows, results.flows.rows() as f64);
    assert_near("time", estimate.simulated_s, results.summary.end.as_secs_f64());
    let transmissions = results.summary.link_transmissions as f64;
    assert_near("transmissions", estimate.link_transmissions, transmissions);
    let packets: u64 = results.flows.u64s("data_packets").iter().sum();
    assert_near("packets", estimate.packets, packets as f64);
    let payload: u64 = results.flows.u64s("delivered_bytes").iter().sum();
    assert_near("payload", estimate.payload_bytes, payload as f64);
    let samples: f64 = estimate.samples.iter().map(|series| series.rows).sum();
    if samples > 0.0 {
        assert_near("samples", samples, results.samples.rows() as f64);
    }
    estimate
}

fn star(transport: &str, hosts: u32, rest: &str) -> String {
    let network = format!("[topology]\nkind = 'star'\nhosts = {hosts}\n[transport]\nname = '{transport}'\n");
    network + rest
}

#[test]
fn poisson_flows_are_estimated_by_their_arrivals_and_sizes() {
    for transport in ["dctcp", "expresspass"] {
        let traffic = "[[traffic]]\nkind = 'poisson'\nsize = '20 KB'\nload = 0.4\nflows = 500\n";
        check(&star(transport, 8, traffic));
        let stopped = format!("{}stop = '200 us'\n", star(transport, 8, traffic));
        check(&stopped);
    }
}

#[test]
fn an_incast_in_rounds_fills_the_link_of_its_receiver() {
    let rest = "[[traffic]]\nkind = 'incast'\nsenders = 10\nrounds = 20\nsize = '10 KB'\n";
    let estimate = check(&star("dctcp", 12, rest));
    assert_eq!((estimate.flows, estimate.live_flows), (200.0, 10.0));
}

#[test]
fn long_flows_share_the_busiest_link_of_their_path() {
    let text = "stop = '10 ms'\n[topology]\nkind = 'dumbbell'\npairs = 4\n[transport]\nname = 'dctcp'\n\
        [[traffic]]\nkind = 'long'\n[[sample]]\nwhat = 'throughput'\nevery = '10 us'\n\
        [[sample]]\nwhat = 'queue'\nevery = '10 us'\n[[sample]]\nwhat = 'rtt'\n";
    let estimate = check(text);
    assert_eq!((estimate.open_flows, estimate.path_links), (4, 3.0));
    let sized =
        text.replacen("kind = 'long'", "kind = 'long'\nsize = '1 MB'", 1).replacen("stop = '10 ms'", "", 1);
    assert_eq!(check(&sized).open_flows, 0);
}

#[test]
fn a_shuffle_has_all_its_flows_alive_at_once() {
    let rest = "[[traffic]]\nkind = 'shuffle'\ntasks = 2\nsize = '20 KB'\n";
    let estimate = check(&star("dcqcn", 6, rest));
    assert_eq!((estimate.flows, estimate.live_flows), (120.0, 120.0));
}

#[test]
fn flows_that_start_after_the_stop_are_not_counted() {
    let flows = "[[traffic]]\nkind = 'flows'\nlist = [{ src = 'h0', dst = 'h1', size = '10 KB' }, \
        { src = 'h0', dst = 'h1', size = '10 KB', start = '1 s' }]\n";
    let estimate = check(&format!("stop = '1 ms'\n{}", star("dctcp", 2, flows)));
    assert_eq!(estimate.flows, 1.0);
}

#[test]
fn each_number_says_how_it_was_got() {
    let said: Vec<&str> = Estimate::HOW.iter().map(|(name, _)| *name).collect();
    for name in ["flows", "packets", "link_transmissions", "samples", "memory_bytes", "cpu_s"] {
        assert!(said.contains(&name), "{name}");
    }
}
