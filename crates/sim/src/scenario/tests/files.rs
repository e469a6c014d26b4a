//! Scenarios that are files, and name files.

use super::*;

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
    assert!(refused("net.toml", "hosts = 2\ncolour = 3\n").starts_with("net.toml:2: unknown field"));

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
        Scenario::parse(&text, "test.toml", &folder.0, &Overrides::default())
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
