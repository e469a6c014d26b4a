//! Scenarios that would exhaust memory.

use super::*;

/// Returns the error of a scenario whose run may take so many bytes.
fn refused_within(memory: u64, text: &str) -> String {
    let overrides = Overrides { memory: Some(memory), ..Overrides::default() };
    assert!(parse_with(text, &Overrides::default()).is_ok(), "it is valid where memory abounds");
    parse_with(text, &overrides).expect_err("this is to be refused").to_string()
}

const HEAD: &str = "[topology]\nkind = 'star'\nhosts = 8\n[transport]\nname = 'dctcp'\n";

#[test]
fn samples_that_would_exhaust_memory_name_the_key_and_what_would_be_right() {
    let text = format!(
        "stop = '1 s'\n{HEAD}[[traffic]]\nkind = 'permutation'\n\
         [[sample]]\nname = 'queues'\nwhat = 'queue'\nports = 'all'\nevery = '1 ns'\n"
    );
    let error = refused_within(8_000_000_000, &text);
    assert!(error.starts_with("x.toml:13: sample.queues.every = \"1 ns\": "), "{error}");
    assert!(error.contains("1.6e10 samples: write \"1 us\" or more"), "{error}");
    assert!(error.contains("may take 8.0 GB"), "{error}");
    assert!(!error.contains('\n'));
    let text = text.replace("'1 ns'", "'1 us'");
    assert!(parse_with(&text, &Overrides { memory: Some(8_000_000_000), ..Overrides::default() }).is_ok());
}

#[test]
fn flows_that_would_exhaust_memory_are_refused_by_the_key_that_sets_their_number() {
    let poisson =
        "[[traffic]]\nname = 'web'\nkind = 'poisson'\nsize = '1 KB'\nload = 0.5\nflows = 100000000\n";
    let error = refused_within(4_000_000_000, &format!("{HEAD}{poisson}"));
    assert!(error.starts_with("x.toml:11: traffic.web.flows = 100000000: "), "{error}");
    let fan_out = "[[traffic]]\nkind = 'partition-aggregate'\nfan_out = 1000000\nrounds = 1\n";
    let error = refused_within(1_000_000_000, &format!("{HEAD}{fan_out}"));
    assert!(error.starts_with("x.toml:8: traffic.0.fan_out = 1000000: "), "{error}");
    let incast = "[[traffic]]\nkind = 'incast'\nsenders = 1000000\n";
    let error = refused_within(1_000_000_000, &format!("{HEAD}{incast}"));
    assert!(error.starts_with("x.toml:8: traffic.0.senders = 1000000: "), "{error}");
    let shuffle = "[[traffic]]\nkind = 'shuffle'\ntasks = 150\n";
    let error = refused_within(1_000_000_000, &format!("{HEAD}{shuffle}"));
    assert!(error.starts_with("x.toml:8: traffic.0.tasks = 150: "), "{error}");
    assert!(error.contains("ask for at most"), "{error}");
}

#[test]
fn a_network_or_a_list_that_would_exhaust_memory_is_refused_before_it_is_made() {
    let tree = "[topology]\nkind = 'fat-tree'\nk = 64\n[transport]\nname = 'dctcp'\n\
                [[traffic]]\nkind = 'incast'\n";
    let error = refused_within(100_000_000, tree);
    assert!(error.starts_with("x.toml:3: topology.k = 64: "), "{error}");
    assert!(error.contains("65536 hosts and 196608 links"), "{error}");
    let long = "[[traffic]]\nkind = 'long'\npairs = 'random'\ncount = 2000000\nsize = '1 KB'\n";
    let error = refused_within(100_000_000, &format!("{HEAD}{long}"));
    assert!(error.starts_with("x.toml:9: traffic.0.count = 2000000: "), "{error}");
}

#[test]
fn a_network_of_too_many_links_is_refused_before_it_is_built_with_the_key_and_what_fits() {
    let within =
        |links, text: &str| parse_with(text, &Overrides { links: Some(links), ..Overrides::default() });
    let tree = "[topology]\nkind = 'fat-tree'\nrate = '10 Gbps'\nk = 64\n[transport]\nname = 'dctcp'\n\
                [[traffic]]\nkind = 'incast'\n";
    assert_eq!(
        within(30_000, tree).unwrap_err().to_string(),
        "x.toml:4: topology.k = 64: these are 65536 hosts and 196608 links, too many here; at most 30000 links fit"
    );
    // These are 25 million links.
    let spines = "[topology]\nkind = 'leaf-spine'\nleaves = 5000\nspines = 5000\n\
                  [transport]\nname = 'dctcp'\n[[traffic]]\nkind = 'incast'\n";
    let error = within(30_000, spines).unwrap_err().to_string();
    assert!(error.contains("at most 30000 links fit"), "{error}");
    let star = format!("{HEAD}[[traffic]]\nkind = 'incast'\n");
    assert!(within(8, &star).is_ok());
    assert!(within(7, &star).unwrap_err().to_string().starts_with("x.toml:3: topology.hosts = 8: "));
}

#[test]
fn a_network_of_a_file_is_held_to_the_same_number_of_links() {
    let pair = "rate = '10 Gbps'\ndelay = '1 us'\nhosts = 2\nswitches = 0\n[[link]]\na = 'h0'\nb = 'h1'\n";
    let files = std::collections::BTreeMap::from([("pair.toml".to_owned(), pair.as_bytes().to_vec())]);
    let text = "[topology]\nkind = 'file'\npath = 'pair.toml'\n[transport]\nname = 'dctcp'\n\
                [[traffic]]\nkind = 'incast'\n";
    let within = |links| {
        let overrides = Overrides { links: Some(links), ..Overrides::default() };
        Scenario::parse(text, "x.toml", &files, &overrides).map_err(|error| error.to_string())
    };
    assert!(within(1).is_ok(), "{:?}", within(1));
    let error = within(0).unwrap_err();
    assert!(error.starts_with("x.toml:1: topology: these are 2 hosts and 1 links"), "{error}");
}

#[test]
fn a_scenario_that_fits_is_not_refused() {
    let overrides = Overrides { memory: Some(20_000_000), ..Overrides::default() };
    assert!(parse_with(VALID, &overrides).is_ok());
}

#[test]
fn a_run_whose_rows_leave_memory_is_refused_by_the_room_on_the_disk() {
    let text = format!(
        "stop = '1 s'\n{HEAD}[[traffic]]\nkind = 'permutation'\n\
         [[sample]]\nname = 'queues'\nwhat = 'queue'\nports = 'all'\nevery = '100 ns'\n"
    );
    let within = |memory, disk| {
        parse_with(&text, &Overrides { memory: Some(memory), disk: Some(disk), ..Overrides::default() })
    };
    assert!(within(1_000_000_000, 20_000_000_000).is_ok(), "1.6e8 samples do not stay in memory");
    let error = within(1_000_000_000, 2_000_000_000).expect_err("7 GB do not fit").to_string();
    assert!(
        error.starts_with(
            "x.toml:13: sample.queues.every = \"100 ns\": the run would take about 7.2 GB of disk"
        ),
        "{error}"
    );
    assert!(error.contains("or write to a larger disk"), "{error}");
}

#[test]
fn samples_of_the_time_in_which_hosts_look_at_packets_count_for_the_disk() {
    let text = "[topology]\nkind = 'leaf-spine'\nleaves = 1\nspines = 100\nhosts_per_leaf = 4\n\
        [host]\nprocessing_delay = '1 s'\n[transport]\nname = 'dctcp'\n\
        [[traffic]]\nkind = 'long'\npairs = 'random'\ncount = 10\nduration = '13 us'\n\
        [[sample]]\nwhat = 'marks'\nevery = '50 us'\nports = 'switches'\n";
    let within = |disk| parse_with(text, &Overrides { disk: Some(disk), ..Overrides::default() });
    assert!(within(1_000_000_000).is_ok(), "8.2e6 samples of 204 ports in 2 s");
    let error = within(100_000_000).expect_err("367 MB do not fit").to_string();
    assert!(
        error.starts_with("x.toml:17: sample.0.every = \"50 us\": the run would take about 367 MB of disk"),
        "{error}"
    );
}
