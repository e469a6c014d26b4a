use super::*;
use crate::Simulation;
use crate::scenario::{Overrides, Scenario};
use std::path::Path;

/// Asserts that two numbers differ by a factor of at most 1.5.
fn assert_near(what: &str, estimated: f64, measured: f64) {
    let ratio = estimated / measured;
    assert!((1.0 / 1.5..=1.5).contains(&ratio), "{what}: estimated {estimated:.4e}, measured {measured:.4e}");
}

fn read(text: &str) -> Scenario {
    Scenario::parse(text, "x.toml", Path::new("."), &Overrides::default()).unwrap()
}

/// Compares the estimate of a scenario with its run.
fn check(text: &str) -> Estimate {
    let scenario = read(text);
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

/// A leaf-spine of 10 Gbps with so many leaves and hosts at each, and a shuffle with one task a host.
fn shuffle(transport: &str, leaves: u32, hosts: u32, size: &str) -> String {
    format!(
        "[topology]\nkind = \"leaf-spine\"\nleaves = {leaves}\nspines = 4\nhosts_per_leaf = {hosts}\nrate = \"10 Gbps\"\n\
         [transport]\nname = \"{transport}\"\n[[traffic]]\nkind = \"shuffle\"\ntasks = 1\nsize = \"{size}\"\n"
    )
}

#[test]
fn the_processor_time_of_runs_that_were_measured_is_within_a_factor_of_three() {
    // Measured on two cores that other work shared, with 240 to 65,280 flows alive at once.
    let measured = [
        ("dctcp", 4, 4, "1 MB", 0.077),
        ("expresspass", 4, 4, "1 MB", 0.138),
        ("dctcp", 8, 8, "100 KB", 0.426),
        ("expresspass", 8, 8, "100 KB", 0.665),
        ("ec4", 8, 8, "100 KB", 1.23),
        ("naive-credit", 8, 8, "100 KB", 3.21),
        ("dctcp", 8, 16, "10 KB", 0.234),
        ("expresspass", 8, 16, "10 KB", 1.07),
        ("dctcp", 16, 16, "1 KB", 0.276),
        ("expresspass", 16, 16, "1 KB", 2.88),
        ("dctcp", 16, 16, "10 KB", 1.96),
        ("expresspass", 16, 16, "10 KB", 7.66),
        ("dctcp", 16, 16, "100 KB", 17.8),
    ];
    for (transport, leaves, hosts, size, seconds) in measured {
        let estimate = read(&shuffle(transport, leaves, hosts, size)).estimate();
        let factor = estimate.cpu_s / seconds;
        println!("{transport} {leaves} x {hosts} {size}: {:.3} of {seconds} s", estimate.cpu_s);
        assert!(
            (1.0 / 3.0..3.0).contains(&factor),
            "{transport} {leaves} x {hosts} {size}: {factor} of {seconds} s"
        );
    }
}

#[test]
fn the_credits_that_a_crowd_of_flows_loses_are_known_to_a_factor_of_two() {
    let incast = "[[traffic]]\nkind = \"incast\"\nsenders = 60\nsize = \"100 KB\"\n";
    let several = "[[traffic]]\nkind = \"shuffle\"\nhosts = [0, 1, 2, 3, 4, 5, 6, 7]\nsize = \"10 KB\"\n";
    let permutation = "[[traffic]]\nkind = \"permutation\"\nsize = \"10 KB\"\n";
    for (what, text) in [
        ("all to all", shuffle("expresspass", 6, 6, "20 KB")),
        ("naive", shuffle("naive-credit", 4, 4, "50 KB")),
        ("incast", star("expresspass", 61, incast)),
        ("several tasks a host", star("expresspass", 8, several)),
        ("permutation", star("expresspass", 61, permutation)),
    ] {
        let model = read(&text).model;
        let mut simulation = Simulation::new(&model).unwrap();
        simulation.run(&mut |_| true);
        let results = simulation.finish().unwrap();
        let dropped = results.ports.u64s("drops_credit").iter().sum::<u64>() as f64;
        let estimated: f64 = traffic::loads(&model).iter().map(|load| load.dropped_credits).sum();
        println!("{what}: {estimated} of {dropped}");
        let packets = results.ports.u64s("tx_packets").iter().sum::<u64>() as f64;
        let is_near =
            (0.5..2.0).contains(&(estimated / dropped)) || (estimated - dropped).abs() < 0.1 * packets;
        assert!(is_near, "{what}: {estimated}, not {dropped}");
    }
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

/// Compares the estimated time of a run on a star of six hosts, and the rows of a series of its ports, with the run.
fn check_time(delays: &str, transport: &str, traffic: &str) {
    let text = format!(
        "[topology]\nkind = 'star'\nhosts = 6\n{delays}\n[transport]\n{transport}\n[[traffic]]\n{traffic}\n\
         [[sample]]\nwhat = 'marks'\nevery = '10 us'\nports = 'switches'\n"
    );
    let scenario = read(&text);
    let mut simulation = Simulation::new(&scenario.model).unwrap();
    simulation.run(&mut |_| true);
    let results = simulation.finish().unwrap();
    let estimate = scenario.estimate();
    assert_near(&text, estimate.simulated_s, results.summary.end.as_secs_f64());
    assert_near(&text, estimate.samples[0].rows, results.samples.rows() as f64);
}

#[test]
fn delays_of_links_and_hosts_and_the_exchanges_of_a_transport_are_part_of_the_simulated_time() {
    let transports = ["dctcp", "dctcp'\nhandshake = true\nrto_min = '10 ms", "hpcc", "expresspass", "ec4"];
    let incast = "kind = 'incast'\nsenders = 4\nsize = '5 KB'\nrounds = 3\n";
    for delays in ["delay = '500 us'", "[host]\nprocessing_delay = '1 ms'"] {
        for transport in transports.map(|name| format!("name = '{name}'")) {
            check_time(delays, &transport, "kind = 'permutation'\nsize = '8 KB'");
            check_time(delays, &transport, "kind = 'long'\npairs = 'random'\ncount = 3\nduration = '8 ms'");
            check_time(delays, &transport, &format!("{incast}pause = '2 ms'"));
            check_time(delays, &transport, &format!("{incast}request = '1 KB'"));
            check_time(delays, &transport, &format!("{incast}connections = 'per-round'"));
        }
    }
    // Flows that arrive at random are taken to meet others, and to take twice their time in the network.
    for transport in ["name = 'dctcp'", "name = 'expresspass'"] {
        let poisson = "kind = 'poisson'\nsize = '5 KB'\nload = 0.4\nflows = 20";
        check_time("[host]\nprocessing_delay = '1 ms'", transport, poisson);
    }
    let uniform = "[host]\nprocessing_delay = { uniform = ['10 us', '1 ms'] }";
    check_time(uniform, "name = 'dctcp'", "kind = 'permutation'\nsize = '8 KB'");
    let hosts = "[host]\nprocessing_delay = '1 ms'";
    check_time(hosts, "name = 'rcp'", "kind = 'permutation'\nsize = '8 KB'");
    for name in ["dctcp", "expresspass"] {
        let brief = "kind = 'long'\npairs = 'random'\ncount = 3\nduration = '5 us'";
        check_time(hosts, &format!("name = '{name}'"), brief);
    }
}

#[test]
fn no_pause_follows_the_last_round() {
    check_time("", "name = 'dctcp'", "kind = 'incast'\nsenders = 4\nsize = '5 KB'\npause = '1 s'");
}

#[test]
fn a_long_flow_ends_a_round_trip_after_it_was_stopped_and_never_after_the_stop_of_the_run() {
    let long = |rest: &str| {
        let text = format!("{rest}[topology]\nkind = 'star'\nhosts = 2\n[host]\nprocessing_delay = '1 s'\n");
        let flow = "[transport]\nname = 'dctcp'\n[[traffic]]\nkind = 'long'\npairs = 'random'\ncount = 1\nduration = '13 us'\n";
        read(&(text + flow)).estimate().simulated_s
    };
    assert!((2.0..2.001).contains(&long("")), "{}", long(""));
    assert_eq!(long("stop = '1 s'\n"), 1.0);
}

#[test]
fn flows_that_score_many_paths_or_queue_large_windows_at_their_host_take_memory() {
    let bytes = |transport: &str, host: &str| {
        let text = format!(
            "transport = {{ name = 'uec'{transport} }}\n[topology]\nkind = 'star'\nhosts = 3\n[host]\n{host}\n\
             [[traffic]]\nkind = 'long'\npairs = [[0, 2], [1, 2]]\nsize = '10 GB'\n"
        );
        read(&text).estimate().traffic[0].flow_bytes
    };
    let (plain, queue) = (bytes("", ""), "queue = '100 KB'");
    // By default each of 64 paths has a penalty and a place in the queue of good ones.
    assert_eq!(
        bytes(", entropy = 'scored', paths = 32768", "") - plain,
        2.0 * (14.0 * 32_768.0 - 3.0 * 64.0)
    );
    assert_eq!(bytes(", cwnd = '1 GB'", ""), plain, "a window waits in no queue of the host");
    assert_eq!(bytes("", queue), plain, "a window of the network's size is small");
    let [one, ten, all] =
        ["1 GB", "10 GB", "1 TB"].map(|cwnd| bytes(&format!(", cwnd = '{cwnd}'"), queue) - plain);
    assert!((5e7..2e8).contains(&(one / 2.0)), "{one} B of two flows");
    assert!((ten / one - 10.0).abs() < 1e-9 && all == ten, "a flow queues no more than it has: {ten} {all}");
}
