//! Scenarios that are files, and name files.

use super::*;
use std::collections::BTreeMap;

/// A folder of its own for a test, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("clearway-scenario-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, content).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_scenario_is_named_after_its_file_unless_it_says() {
    let path = repository().join("scenarios/incast.toml");
    assert_eq!(Scenario::load(&path, &Overrides::default()).unwrap().name, "incast");
    assert_eq!(parse(&format!("name = \"mine\"{VALID}")).name, "mine");
    let folder = Folder::new("names");
    let odd = Scenario::load(&folder.write("7.v1 \n.toml", VALID), &Overrides::default()).unwrap();
    assert_eq!(odd.name, "7.v1 ?");
    check_reads_back(&odd);
}

#[test]
fn files_that_are_no_text_are_refused() {
    let folder = Folder::new("unreadable");
    let load = |path: &Path| Scenario::load(path, &Overrides::default()).unwrap_err().to_string();
    let latin = folder.write("latin.toml", b"seed = 1\nname = \"caf\xe9\"\n");
    assert_eq!(load(&latin), format!("{}:2: is not UTF-8; save it as UTF-8 text", latin.display()));
    assert!(load(&folder.0).ends_with(": is a directory; name a text file"));
    assert!(load(&folder.0.join("none.toml")).contains("none.toml: can't be read: "));
    assert!(load(&folder.write("empty.toml", "")).contains("empty.toml: is empty"));
    let large = folder.write("large.toml", vec![b' '; 16_000_001]);
    assert!(load(&large).ends_with("is too large, 16000001 bytes; the limit is 16000000"));
}

#[test]
fn traffic_and_networks_come_from_files_and_are_held_against_their_hash() {
    let folder = Folder::new("files");
    folder.write("flows.csv", "start,src,dst,size\n1 us,h0,h1,1 KB\n0 us,h1,h2,2 KB\n");
    folder.write("sizes.csv", "1000,0.5\n3000,1\n");
    folder.write(
        "net.toml",
        "hosts = 3\nswitches = 1\nrate = \"10 Gbps\"\ndelay = \"1 us\"\n\
         [[link]]\na = [\"h0\", \"h1\", \"h2\"]\nb = \"s0\"\n",
    );
    folder.write("hpcc.txt", "1\n2 0 3 100 1000 0.5\n");
    let path = folder.write(
        "scenario.toml",
        "[topology]\nkind = \"file\"\npath = \"net.toml\"\n[transport]\nname = \"cubic\"\n\
         [[traffic]]\nkind = \"file\"\npath = \"flows.csv\"\n\
         [[traffic]]\nkind = \"file\"\npath = \"hpcc.txt\"\nformat = \"hpcc\"\n\
         [[traffic]]\nkind = \"poisson\"\ncdf = \"sizes.csv\"\nload = 0.1\nflows = 5\n",
    );
    let load = || Scenario::load(&path, &Overrides::default());
    let scenario = load().unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(flows(&scenario, 0)[0].src, NodeId(1), "flows are in order of their start");
    assert_eq!(flows(&scenario, 1)[0].src, NodeId(2));
    assert_eq!(scenario.model.traffic[1].name, "file-2");
    check_reads_back(&scenario);

    let refused = |file: &str, content: &str| {
        let before = std::fs::read_to_string(folder.0.join(file)).unwrap();
        let written = folder.write(file, content);
        let line = load().unwrap_err().to_string();
        folder.write(file, before);
        line.replace(&written.display().to_string(), file)
    };
    assert_eq!(
        refused("sizes.csv", "1,0.5\n2,0.4\n3,1"),
        "sizes.csv:2: the CDF falls from 0.5 to 0.4; probabilities must \
         rise to 1"
    );
    assert_eq!(
        refused("flows.csv", "start,src,dst,size\n1 us,h0,h0,1 KB"),
        "flows.csv:2: dst: the host h0 sends to itself; name another host"
    );
    assert!(
        refused("flows.csv", "start,src,dst,size\n1 us,h0,h7,1 KB")
            .starts_with("flows.csv:2: dst: there is no host \"h7\"")
    );
    assert_eq!(refused("flows.csv", "start,src,dst,size\n"), "flows.csv:1: lists no flows; add at least one");
    let disconnected = "hosts = 2\nswitches = 2\nrate = \"10 Gbps\"\ndelay = \"1 us\"\n\
         [[link]]\na = \"h0\"\nb = \"s0\"\n[[link]]\na = \"h1\"\nb = \"s1\"\n";
    assert!(refused("net.toml", disconnected).contains("no path joins hosts \"h0\" and \"h1\""));
    assert!(refused("net.toml", "hosts = 2\ncolour = 3\n").starts_with("net.toml:2: colour: unknown key"));

    let resolved = scenario.to_toml();
    folder.write("sizes.csv", "1000,0.25\n3000,1\n");
    let error = parse_with(&resolved, &Overrides::default()).unwrap_err().to_string();
    assert!(error.contains(".cdf_hash = ") && error.contains("the file has changed"), "{error}");
}

/// A network of HPCC's format whose hosts are 0, 2, 3 and 5, and flows of its format.
const HPCC_NETWORK: &str = "6 2 5\n1 4\n0 1 100Gbps 1000ns 0\n2 1 100Gbps 1000ns 0\n3 4 25Gbps 1us 0\n5 4 25Gbps 1us 0\n\
                            1 4 400Gbps 1us 0\nFirst line: total node #, switch node #, link #\n";

fn hpcc_scenario(folder: &Folder, network: &str, list: &str) -> PathBuf {
    folder.write(
        "hpcc.toml",
        format!(
            "[topology]\n{network}\n[transport]\nname = \"hpcc\"\n\
             [[traffic]]\nkind = \"file\"\npath = \"{list}\"\nformat = \"hpcc\"\n"
        ),
    )
}

#[test]
fn flows_of_hpccs_format_name_hosts_by_their_numbers_and_never_by_anothers() {
    let folder = Folder::new("hpcc");
    folder.write("net.txt", HPCC_NETWORK);
    folder.write("flows.txt", "1\n5 2 3 100 1000 2\n0 3 3 100 1000 2\n");
    let path = hpcc_scenario(&folder, "kind = \"hpcc-file\"\npath = \"net.txt\"", "flows.txt");
    let load = || Scenario::load(&path, &Overrides::default());
    let scenario = load().unwrap_or_else(|error| panic!("{error}"));
    let read: Vec<_> = flows(&scenario, 0).iter().map(|flow| (flow.src, flow.dst)).collect();
    assert_eq!(read, [(NodeId(3), NodeId(1))], "the nodes 5 and 2 are the last host and the second");
    let refused = |list: &str| {
        folder.write("flows.txt", list);
        load().unwrap_err().to_string()
    };
    assert!(
        refused("1\n0 1 3 100 1000 2\n")
            .ends_with("flows.txt:2: dst: 1 is a switch of the topology file; write the number of a host")
    );
    assert!(refused("1\n6 0 3 100 1000 2\n").contains("flows.txt:2: src: 6 is no host of the topology file"));
    assert!(refused("1\nh0 2 3 100 1000 2\n").contains("\"h0\" is no number of a host"));
    // In another network hosts count from 0.
    folder.write("flows.txt", "1\n5 2 3 100 1000 2\n");
    let star = hpcc_scenario(&folder, "kind = \"star\"\nhosts = 6", "flows.txt");
    let star = Scenario::load(&star, &Overrides::default()).unwrap();
    assert_eq!((flows(&star, 0)[0].src, flows(&star, 0)[0].dst), (NodeId(5), NodeId(2)));
}

#[test]
fn packed_files_are_read_like_others_and_refused_if_cut_or_too_large() {
    use std::io::Write;
    let gzip = |text: &str| {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        packer.write_all(text.as_bytes()).unwrap();
        packer.finish().unwrap()
    };
    let zstd = |text: &str| {
        use ruzstd::encoding::{CompressionLevel, compress_to_vec};
        // Two frames with one to skip in between, as programs that pack in parallel write them.
        let (first, second) = text.as_bytes().split_at(text.len() / 2);
        let skipped: &[u8] = &[0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3];
        let frame = |part: &[u8]| compress_to_vec(part, CompressionLevel::Fastest);
        [&frame(first), skipped, &frame(second)].concat()
    };
    type Pack<'a> = &'a dyn Fn(&str) -> Vec<u8>;
    for (ending, name, pack) in [("gz", "gzip", &gzip as Pack<'_>), ("zst", "Zstandard", &zstd)] {
        let folder = Folder::new(name);
        let (network, list) = (format!("net.txt.{ending}"), format!("flows.txt.{ending}"));
        folder.write(&network, pack(HPCC_NETWORK));
        folder.write(&list, pack("1\n5 2 3 100 1000 2\n"));
        let path = hpcc_scenario(&folder, &format!("kind = \"hpcc-file\"\npath = \"{network}\""), &list);
        let load = || Scenario::load(&path, &Overrides::default());
        let scenario = load().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(flows(&scenario, 0).len(), 1);
        check_reads_back(&scenario);
        let whole = pack(HPCC_NETWORK);
        folder.write(&network, &whole[..whole.len() - 9]);
        let error = load().unwrap_err().to_string();
        assert!(error.contains(&format!("is no whole {name} file: ")), "{error}");
        // Packed to some kilobytes.
        folder.write(&network, pack(&" ".repeat(16_000_001)));
        let error = load().unwrap_err().to_string();
        assert!(error.contains("is too large once unpacked; the limit is 16000000 bytes"), "{error}");
    }
}

#[test]
fn a_packed_file_with_flipped_bytes_is_read_or_refused() {
    let whole = ruzstd::encoding::compress_to_vec(
        HPCC_NETWORK.as_bytes(),
        ruzstd::encoding::CompressionLevel::Fastest,
    );
    let folder = Folder::new("flips");
    let path = hpcc_scenario(&folder, "kind = \"hpcc-file\"\npath = \"net.zst\"", "none.txt");
    for at in 4..whole.len() {
        for bit in 0..8 {
            let mut flipped = whole.clone();
            flipped[at] ^= 1 << bit;
            folder.write("net.zst", flipped);
            let error = Scenario::load(&path, &Overrides::default()).unwrap_err().to_string();
            assert!(!error.contains('\n'), "{error}");
        }
    }
}

#[test]
fn a_list_is_read_by_its_content_with_the_mark_and_line_ends_of_a_spreadsheet() {
    let folder = Folder::new("formats");
    let load = |file: &str, content: &str, keys: &str| {
        folder.write(file, content);
        let text = format!(
            "stop = \"1 s\"\n[topology]\nkind = \"star\"\nhosts = 4\n[transport]\nname = \"cubic\"\n\
             [[traffic]]\nkind = \"file\"\npath = \"{file}\"\n{keys}\n"
        );
        Scenario::parse(&text, "test.toml", folder.0.as_path(), &Overrides::default())
            .map_err(|error| error.to_string())
    };
    let cases = [
        ("excel.csv", "\u{feff}start_us;src;dst;size_bytes\r\n2;h1;h3;1000\r\n", ""),
        ("flows.txt", "1\n1 3 3 100 1000 0.000002\n", ""),
        ("flowfile.tr", "2e-06 1 3 1000\n", ""),
        ("matrix.cm", "Nodes 4\nConnections 1\n1->3 id 1 start 2 size 1000\n", "start_unit = \"us\""),
    ];
    for (file, content, keys) in cases {
        let scenario = load(file, content, keys).unwrap();
        let flow = &flows(&scenario, 0)[0];
        assert_eq!((flow.src, flow.dst), (NodeId(1), NodeId(3)), "{file}");
        assert_eq!((flow.start, flow.size), (Time::from_ps(2_000_000), Some(Bytes::new(1_000))), "{file}");
        check_reads_back(&scenario);
    }
    let endless = load("endless.cm", "0->1 start 0 size 0\n", "").unwrap();
    assert_eq!(flows(&endless, 0)[0].size, None);
    let refused = |file, content, keys| {
        load(file, content, keys).unwrap_err().replace(&folder.0.display().to_string(), "")
    };
    assert_eq!(
        refused("flowfile.tr", "0.1 0 1 1000\n0.2 7 1 1000\n", ""),
        "/flowfile.tr:2: src: there is no host 7; the network has 4, counted from 0"
    );
    let misplaced = refused("flowfile.tr", "0.1 0 1 1000\n", "start_unit = \"us\"");
    assert!(
        misplaced.contains("start_unit = \"us\": means nothing in a list of the format \"ns-2\""),
        "{misplaced}"
    );
    let forced = refused("flows.txt", "1\n1 3 3 100 1000 0.000002\n", "format = \"ns-2\"");
    assert_eq!(forced, "/flows.txt:1: has 1 values for 4; write start-in-seconds src dst bytes");
    assert!(refused("wide.csv", "s\0t\0", "").starts_with("/wide.csv:1: \"s\\0t\\0\" is no column"));
}

/// A network in Clearway's own format.
const OWN_NETWORK: &str = r#"hosts = 2
switches = 1
rate = "10 Gbps"
[[host]]
name = "nas"
[[switch]]
name = "spine"
tier = 2
[[link]]
a = ["h0", "h1"]
b = "s0"
delay = "4 us"
[[link]]
a = "s0"
b = "spine"
rate = "40 Gbps"
delay = "1 us"
[[link]]
a = "nas"
b = "spine"
delay = "4 us"
loss = 0.5
"#;

/// Reads a scenario on a network from a file, and returns it or the error without the folder.
fn on_network(folder: &Folder, kind: &str, content: &str) -> Result<Scenario, String> {
    folder.write("network", content);
    let text = format!(
        "[topology]\nkind = \"{kind}\"\npath = \"network\"\n[transport]\nname = \"cubic\"\n\
         [[traffic]]\nkind = \"permutation\"\nsize = \"1 KB\"\n"
    );
    Scenario::parse(&text, "test.toml", folder.0.as_path(), &Overrides::default())
        .map_err(|error| error.to_string().replace(&format!("{}/", folder.0.display()), ""))
}

#[test]
fn counted_nodes_and_named_nodes_of_a_network_may_be_mixed() {
    let folder = Folder::new("own");
    let scenario = on_network(&folder, "file", OWN_NETWORK).unwrap();
    let network = &scenario.model.topology;
    let names: Vec<&str> = network.nodes().iter().map(|node| node.name.as_str()).collect();
    assert_eq!(names, ["h0", "h1", "nas", "s0", "spine"]);
    assert_eq!(network.nodes().iter().map(|node| node.tier).collect::<Vec<_>>(), [0, 0, 0, 1, 2]);
    let port =
        |a: &str, b: &str| network.port_between(network.node(a).unwrap(), network.node(b).unwrap()).unwrap();
    assert_eq!(network.port(port("h1", "s0")).rate, Rate::gbps(10), "the file's");
    assert_eq!(network.port(port("spine", "s0")).rate, Rate::gbps(40), "its own");
    assert_eq!(network.loss(port("spine", "nas")), 0.5);
    assert_eq!(network.oversubscription(), 0.5);
    check_reads_back(&scenario);
}

#[test]
fn mistakes_in_a_network_are_named_like_those_in_a_scenario() {
    let folder = Folder::new("own-mistakes");
    let cases = [
        ("hosts = 2", "hosts = ", "network:1: is not TOML: "),
        ("hosts = 2", "hosts = 2000000", "network:1: hosts = 2000000: must be from 0 to 1000000"),
        ("hosts = 2", "host_count = 2", "network:1: host_count: unknown key"),
        ("\"10 Gbps\"", "\"10 Gb\"", "network:3: rate = \"10 Gb\": has an unknown unit"),
        ("rate = \"10 Gbps\"\n", "", "network:8: link.0.rate: is missing; write rate = \"10 Gbps\" here or"),
        ("\"nas\"", "\"h1\"", "network:5: host.h1.name = \"h1\": two nodes are named \"h1\""),
        ("\"nas\"", "\"s0\"", "network:2: switches = 1: two nodes are named \"s0\""),
        ("tier = 2", "tier = 0", "network:8: switch.spine.tier = 0: must be from 1 to 255"),
        (
            "\"h1\"]",
            "\"h2\"]",
            "network:10: link.0.a = [\"h0\", \"h2\"]: no node is named \"h2\"; add it as [[host]]",
        ),
        ("[\"h0\", \"h1\"]", "4", "network:10: link.0.a = 4: write a node's name, or a list of names"),
        ("b = \"s0\"\n", "", "network:9: link.0.b: is missing; write text"),
        (
            "b = \"s0\"\ndelay = \"4 us\"\n",
            "b = \"s0\"\n",
            "network:9: link.0.delay: is missing; write delay",
        ),
        ("b = \"spine\"\nrate", "b = \"s0\"\nrate", "network:13: link.1: \"s0\" is linked to itself"),
        ("\"40 Gbps\"", "\"0 bps\"", "network:16: link.1.rate = \"0 bps\": must be from 1 Mbps to 1.6 Tbps"),
        ("loss = 0.5", "loss = -1.0", "network:22: link.2.loss = -1.0: must be from 0 to 1"),
        ("a = \"nas\"", "a = \"s0\"", "network: no path joins hosts \"h0\" and \"nas\""),
        (
            "a = \"nas\"",
            "a = [\"nas\", \"h1\"]",
            "network:19: link.2.a = [\"nas\", \"h1\"]: host \"h1\" has a second link, to \"spine\" besides the one to \"s0\"; \
             a host has one link, so leave one of them out",
        ),
        (
            "b = \"spine\"\nrate",
            "b = \"h0\"\nrate",
            "network:15: link.1.b = \"h0\": host \"h0\" has a second link, to \"s0\" besides the one to \"s0\"; a host has",
        ),
    ];
    for (from, to, expected) in cases {
        assert!(OWN_NETWORK.contains(from), "{from}");
        let line = on_network(&folder, "file", &OWN_NETWORK.replacen(from, to, 1)).unwrap_err();
        assert!(line.starts_with(expected), "{from} -> {to}: {line}");
    }
    assert!(on_network(&folder, "file", "").unwrap_err().contains("the network has no hosts"));
    for (content, kind) in
        [("<graphml/>", "graphml-file"), (HPCC_NETWORK, "hpcc-file"), ("Nodes 4\nTiers 2\n", "htsim-file")]
    {
        let line = on_network(&folder, "file", content).unwrap_err();
        assert!(line.ends_with(&format!("write kind = \"{kind}\" if it is such a file")), "{line}");
    }
}

#[test]
fn networks_of_htsim_and_in_graphml_are_read_and_their_mistakes_named() {
    let folder = Folder::new("foreign");
    let htsim = "Nodes 8\nTiers 2\nPodsize 8\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down 4\nRadix_Up 4\n\
                 Downlink_Latency_ns 1000\nTier 1\nDownlink_speed_Gbps 100\nRadix_Down 2\nDownlink_Latency_ns 1000\n";
    let scenario = on_network(&folder, "htsim-file", htsim).unwrap();
    assert_eq!((scenario.model.topology.hosts(), scenario.model.topology.switches()), (8, 6));
    check_reads_back(&scenario);
    let line = on_network(&folder, "htsim-file", &htsim.replace("Radix_Up 4", "Radix_Up 3")).unwrap_err();
    assert!(line.starts_with("network:7: radix_up: 3 is not 4"), "{line}");
    let graphml = "<graphml><key id=\"k\" for=\"node\" attr.name=\"kind\"/><key id=\"r\" for=\"graph\" attr.name=\"rate\"/>\n\
                   <key id=\"d\" for=\"graph\" attr.name=\"delay\"/><graph><data key=\"r\">1 Gbps</data><data key=\"d\">1 us</data>\n\
                   <node id=\"a\"><data key=\"k\">host</data></node><node id=\"b\"><data key=\"k\">host</data></node>\n\
                   <edge source=\"a\" target=\"b\"/></graph></graphml>";
    let scenario = on_network(&folder, "graphml-file", graphml).unwrap();
    assert_eq!(scenario.model.topology.hosts(), 2);
    check_reads_back(&scenario);
    let line =
        on_network(&folder, "graphml-file", &graphml.replace("target=\"b\"", "target=\"c\"")).unwrap_err();
    assert_eq!(line, "network:4: no node has the id \"c\"");
}

#[test]
fn switches_go_by_what_they_are_and_an_unknown_name_lists_the_names() {
    let sample = |port: &str| format!("{VALID}\n[[sample]]\nwhat = \"queue\"\nports = [\"{port}\"]\n");
    let named = parse(&sample("switch->h0"));
    let ports = |scenario: &Scenario| format!("{:?}", scenario.model.samples[0].what);
    assert_eq!(ports(&named), ports(&parse(&sample("s0->h0"))));
    check_reads_back(&named);
    let line = refused(&sample("swich->h0"));
    assert!(
        line.contains(
            "there is no node \"swich\"; did you mean \"switch\"? (switches: s0 (or switch); hosts: h0"
        ),
        "{line}"
    );
}

use proptest::prelude::*;

proptest! {
    #[test]
    fn no_mutation_of_a_network_panics(
        edits in prop::collection::vec((0..OWN_NETWORK.len(), "[0-9a-z \n\"=\\[\\]]{0,3}", 0usize..4), 1..4),
    ) {
        let mut text = OWN_NETWORK.to_string();
        for (place, insert, remove) in edits {
            let start = place.min(text.len());
            let end = (start + remove).min(text.len());
            text.replace_range(start..end, &insert);
        }
        let folder = Folder::new("own-mutated");
        if let Ok(scenario) = on_network(&folder, "file", &text) {
            prop_assert!(scenario.model.topology.hosts() > 0);
        }
    }
}

/// A scenario with a list of flows, a distribution of sizes and a topology in files.
const OF_FILES: &str = r#"
    [topology]
    kind = "hpcc-file"
    path = "networks/pair.txt"
    [transport]
    name = "dctcp"
    [[traffic]]
    kind = "file"
    path = "./lists/a.csv"
    [[traffic]]
    kind = "poisson"
    cdf = "lists/../sizes.csv"
    load = 0.1
    flows = 5
"#;

fn given() -> BTreeMap<String, Vec<u8>> {
    let files = [
        ("networks/pair.txt", "3 1 2\n2\n0 2 100Gbps 1us 0\n1 2 100Gbps 1us 0\n"),
        ("lists/a.csv", "start,src,dst,size\n0 us,h0,h1,1 KB\n"),
        ("sizes.csv", "1000,0.5\n2000,1\n"),
    ];
    files.map(|(name, text)| (name.to_string(), text.as_bytes().to_vec())).into()
}

#[test]
fn a_scenario_reads_its_files_from_wherever_the_caller_has_them() {
    let folder = Folder::new("given");
    std::fs::create_dir_all(folder.0.join("networks")).unwrap();
    std::fs::create_dir_all(folder.0.join("lists")).unwrap();
    for (name, bytes) in given() {
        folder.write(&name, bytes);
    }
    let overrides = Overrides::default();
    let in_memory = Scenario::parse(OF_FILES, "x.toml", &given(), &overrides).unwrap();
    let on_disk = Scenario::parse(OF_FILES, "x.toml", folder.0.as_path(), &overrides).unwrap();
    assert_eq!(format!("{:?}", in_memory.model), format!("{:?}", on_disk.model));
    let again = Scenario::parse(&in_memory.to_toml(), "x.toml", &given(), &overrides).unwrap();
    assert_eq!(format!("{:?}", again.model), format!("{:?}", in_memory.model));
}

#[test]
fn a_file_that_was_not_given_is_refused_with_the_name_that_it_may_be() {
    let mut files = given();
    let list = files.remove("lists/a.csv").unwrap();
    files.insert("lists/b.csv".into(), list);
    let error = Scenario::parse(OF_FILES, "x.toml", &files, &Overrides::default()).unwrap_err().to_string();
    assert!(error.contains("traffic") && error.contains("no file of this name was given"), "{error}");
    assert!(error.contains("lists/b.csv"), "{error}");
    files.insert("lists/a.csv".into(), b"PAR1".to_vec());
    let error = Scenario::parse(OF_FILES, "x.toml", &files, &Overrides::default()).unwrap_err().to_string();
    assert!(error.contains("is a Parquet file, which can be read through Python alone"), "{error}");
}

#[test]
fn messages_of_a_connection_matrix_share_their_connection() {
    let folder = Folder::new("messages");
    let path = folder.write(
        "scenario.toml",
        "[topology]\nkind = \"star\"\nhosts = 4\n[transport]\nname = \"uec\"\n\
         [[traffic]]\nkind = \"file\"\npath = \"pairs.cm\"\nstart_unit = \"us\"\n",
    );
    let load = |lines: &str| {
        folder.write("pairs.cm", format!("Nodes 4\nConnections 3\n{lines}"));
        Scenario::load(&path, &Overrides::default())
    };
    let rest = "0->1 id 7 start 9 size 500 msg 2\n2->3 start 4 size 500\n";
    let scenario =
        load(&format!("0->1 id 7 start 3 size 500\n{rest}")).unwrap_or_else(|error| panic!("{error}"));
    let Pattern::Messages(messages) = &scenario.model.traffic[0].pattern else { panic!("a line says msg") };
    assert_eq!([0, 1, 2].map(|place| messages.connection(place)), [0, 1, 0]);
    check_reads_back(&scenario);
    let refused = |line: &str| load(&format!("{line}\n{rest}")).unwrap_err().to_string();
    assert!(
        refused("0->2 id 7 start 3 size 500").ends_with(
            "pairs.cm:4: connection: a flow from h0 to h1 can't be a message of \"7\", which goes from h0 to h2; name another connection"
        ),
        "{}",
        refused("0->2 id 7 start 3 size 500")
    );
    assert!(
        refused("0->1 id 7 start 3 size 0")
            .contains("pairs.cm:3: size: is missing; in a list with connections")
    );
}

#[test]
fn flows_of_a_connection_matrix_wait_for_the_triggers_that_others_pull() {
    let folder = Folder::new("triggers");
    let path = folder.write(
        "scenario.toml",
        "[topology]\nkind = \"star\"\nhosts = 4\n[transport]\nname = \"uec\"\n\
         [[traffic]]\nkind = \"file\"\npath = \"chain.cm\"\nstart_unit = \"us\"\n",
    );
    let load = |lines: &str| {
        folder.write("chain.cm", format!("Nodes 4\n{lines}"));
        Scenario::load(&path, &Overrides::default())
    };
    let scenario =
        load("1->2 trigger 1 size 500\n0->1 start 3 size 700 send_done_trigger 1\ntrigger id 1 oneshot\n");
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    let Pattern::Messages(messages) = &scenario.model.traffic[0].pattern else { panic!("a line waits") };
    let sizes: Vec<Option<Bytes>> = messages.list().iter().map(|flow| flow.size).collect();
    assert_eq!((sizes, messages.timed().len()), (vec![Some(Bytes::new(700)), Some(Bytes::new(500))], 1));
    assert_eq!(messages.triggers().waits()[0].message, 1);
    check_reads_back(&scenario);
    let refused = |lines: &str| load(lines).unwrap_err().to_string();
    let circle = "0->1 start 3 size 700\n1->2 trigger 1 size 5 send_done_trigger 2\n2->1 trigger 2 size 5 send_done_trigger 1\n\
                  trigger id 1 oneshot\ntrigger id 2 oneshot\n";
    assert!(
        refused(circle).ends_with(
            "chain.cm:3: trigger: the flow would never begin, since flows wait for each other in a circle; let one of them start by \
             itself"
        ),
        "{}",
        refused(circle)
    );
}
