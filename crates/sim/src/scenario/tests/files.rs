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
        "flows.csv:2: the host h0 sends to itself"
    );
    assert!(
        refused("flows.csv", "start,src,dst,size\n1 us,h0,h7,1 KB")
            .starts_with("flows.csv:2: there is no host \"h7\"")
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
            .ends_with("flows.txt:2: 1 is a switch of the topology file; write the number of a host")
    );
    assert!(refused("1\n6 0 3 100 1000 2\n").contains("flows.txt:2: 6 is no host of the topology file"));
    assert!(refused("1\nh0 2 3 100 1000 2\n").contains("\"h0\" is no number of a host"));
    // In another network hosts count from 0.
    folder.write("flows.txt", "1\n5 2 3 100 1000 2\n");
    let star = hpcc_scenario(&folder, "kind = \"star\"\nhosts = 6", "flows.txt");
    let star = Scenario::load(&star, &Overrides::default()).unwrap();
    assert_eq!((flows(&star, 0)[0].src, flows(&star, 0)[0].dst), (NodeId(5), NodeId(2)));
}

#[test]
fn files_packed_by_gzip_are_read_like_others() {
    use std::io::Write;
    let pack = |text: &str| {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        packer.write_all(text.as_bytes()).unwrap();
        packer.finish().unwrap()
    };
    let folder = Folder::new("gzip");
    folder.write("net.txt.gz", pack(HPCC_NETWORK));
    folder.write("flows.txt.gz", pack("1\n5 2 3 100 1000 2\n"));
    let path = hpcc_scenario(&folder, "kind = \"hpcc-file\"\npath = \"net.txt.gz\"", "flows.txt.gz");
    let load = || Scenario::load(&path, &Overrides::default());
    let scenario = load().unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(flows(&scenario, 0).len(), 1);
    check_reads_back(&scenario);
    let whole = pack(HPCC_NETWORK);
    folder.write("net.txt.gz", &whole[..whole.len() - 9]);
    let error = load().unwrap_err().to_string();
    assert!(error.contains("is no whole gzip file: "), "{error}");
    folder.write("net.txt.gz", pack(&" ".repeat(16_000_001)));
    let error = load().unwrap_err().to_string();
    assert!(error.contains("is too large once unpacked; the limit is 16000000 bytes"), "{error}");
}
