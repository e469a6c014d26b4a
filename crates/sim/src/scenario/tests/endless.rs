//! Tests of runs that would never end, which are refused, and of those that end after all.

use super::*;

/// A star of three hosts without a stop, one of which sends to another under DCTCP.
fn to_h1(rest: &str) -> Result<(), String> {
    flows("dctcp", "kind = \"flows\"\nlist = [{ src = \"h0\", dst = \"h1\", size = \"1 MB\" }]", rest)
}

fn flows(transport: &str, traffic: &str, rest: &str) -> Result<(), String> {
    let text = format!(
        "[topology]\nkind = \"star\"\nhosts = 3\nrate = \"10 Gbps\"\ndelay = \"1 us\"\n[transport]\nname = \
         \"{transport}\"\n[[traffic]]\nname = \"web\"\n{traffic}\n{rest}"
    );
    let read = parse_with(&text, &Overrides::default());
    read.map(|_| ()).map_err(|error| error.to_string())
}

#[test]
fn a_link_that_loses_every_packet_of_a_flow_is_refused_without_a_stop() {
    let all = "[[loss]]\nprobability = 1.0\n";
    assert_eq!(
        to_h1(all).unwrap_err(),
        "x.toml:13: loss.0.probability = 1.0: flow 0 of traffic.web, from h0 to h1, has no way but h0->s0, which loses every \
         packet, so the run never ends; write less than 1, or a stop for the run (stop = \"10 ms\")"
    );
    let one = |link: &str, direction: &str| {
        format!("[[loss]]\nlink = [\"{link}\", \"s0\"]\nprobability = 1\ndirection = \"{direction}\"\n")
    };
    // Without its answers a flow sends for ever too.
    for (link, direction, port) in [
        ("h0", "forward", "h0->s0"),
        ("h1", "backward", "s0->h1"),
        ("h1", "forward", "h1->s0"),
        ("h0", "backward", "s0->h0"),
    ] {
        assert!(
            to_h1(&one(link, direction)).unwrap_err().contains(&format!("no way but {port}, which loses"))
        );
    }
    assert_eq!(to_h1(&one("h2", "both")), Ok(()), "no flow goes there");
    assert_eq!(to_h1(&all.replace("1.0", "0.999")), Ok(()));
    let healed = format!("{all}[[loss]]\nlink = [\"h0\", \"s0\"]\nprobability = 0\n");
    assert!(to_h1(&healed).unwrap_err().starts_with("x.toml:13: loss.0.probability"));
    let overridden = all.replace("1.0", "0.5") + &one("h1", "both");
    assert!(to_h1(&overridden).unwrap_err().starts_with("x.toml:16: loss.1.probability = 1:"));
}

#[test]
fn a_link_that_becomes_slower_for_good_ends_no_path_and_saves_none() {
    let slower = "[[fault]]\nlink = [\"h1\", \"s0\"]\ndown = \"0 s\"\nrate = \"1 Mbps\"\n";
    assert_eq!(to_h1(slower), Ok(()));
    let lossy = format!("{slower}[[loss]]\nprobability = 1\n");
    assert!(to_h1(&lossy).unwrap_err().contains("loss.0.probability = 1: flow 0 of traffic.web"));
    // Of two faults of that link, the one that takes it down for good is named.
    let down = slower.replace("0 s", "10 us").replace("rate", "up = \"20 us\"\nrate")
        + "[[fault]]\nlink = [\"h1\", \"s0\"]\ndown = \"100 us\"\n";
    assert!(to_h1(&down).unwrap_err().contains("fault.1.up: is missing"), "{down}");
}

#[test]
fn a_link_that_fails_for_good_is_refused_where_a_flow_can_not_have_ended_before_and_has_no_other_way() {
    let fault = |keys: &str| format!("[[fault]]\nlink = [\"h1\", \"s0\"]\n{keys}\n");
    assert_eq!(
        to_h1(&fault("down = \"100 us\"")).unwrap_err(),
        "x.toml:12: fault.0.up: is missing: flow 0 of traffic.web, from h0 to h1, has no way left once s0->h1 is down, so \
         the run never ends; write an up, or a stop for the run (stop = \"10 ms\")"
    );
    assert!(to_h1(&fault("down = \"0 s\"\ndirection = \"forward\"")).unwrap_err().contains("h1->s0 is down"));
    assert_eq!(to_h1(&fault("down = \"100 us\"\nup = \"1 s\"")), Ok(()));
    assert_eq!(to_h1(&fault("down = \"10 ms\"")), Ok(()), "1 MB takes 1 ms");
    assert_eq!(to_h1(&fault("down = \"0 s\"").replace("h1", "h2")), Ok(()), "no flow goes there");
    assert!(
        to_h1("[[fault]]\nswitch = \"s0\"\ndown = \"0 s\"\n")
            .unwrap_err()
            .starts_with("x.toml:12: fault.0.up")
    );
}

#[test]
fn a_failure_that_routing_never_notices_is_refused_where_a_flow_keeps_a_path_that_is_down() {
    let fault = |keys: &str| format!("[[fault]]\nlink = [\"h1\", \"s0\"]\nnoticed = \"never\"\n{keys}\n");
    assert!(to_h1(&fault("down = \"100 us\"")).unwrap_err().contains("no way left once s0->h1 is down"));
    // Without its answers a flow sends for ever too.
    assert!(to_h1(&fault("down = \"0 s\"\ndirection = \"forward\"")).unwrap_err().contains("h1->s0 is down"));
    assert_eq!(to_h1(&fault("down = \"10 ms\"")), Ok(()), "1 MB takes 1 ms");
    assert_eq!(to_h1(&fault("down = \"0 s\"").replace("h1", "h2")), Ok(()), "no flow goes there");
    assert_eq!(to_h1(&fault("down = \"100 us\"\nup = \"1 s\"")), Ok(()));
    // One of two paths is down for good: a flow whose path it is never ends, and one that sprays packets does.
    let leaves = |routing: &str| {
        let text = format!(
            "[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 8\n[network]\nrouting = \
             \"{routing}\"\n[transport]\nname = \"dctcp\"\n[[traffic]]\nname = \"web\"\nkind = \"permutation\"\nsize = \
             \"1 MB\"\n[[fault]]\nlink = [\"leaf0\", \"spine0\"]\ndown = \"0 s\"\nnoticed = \"never\"\n"
        );
        parse_with(&text, &Overrides::default()).map(|_| ()).map_err(|error| error.to_string())
    };
    let refused = leaves("symmetric-ecmp").unwrap_err();
    assert!(refused.contains("spine0 is down") || refused.contains("leaf0 is down"), "{refused}");
    assert_eq!(leaves("spray"), Ok(()));
}

#[test]
fn every_kind_of_traffic_that_would_never_end_is_refused_and_no_other() {
    let lost = "[[loss]]\nlink = [\"h2\", \"s0\"]\nprobability = 1\n";
    for (kind, flow) in [
        ("kind = \"incast\"\nsize = \"64 KB\"\nsenders = 2", "flow 3 of traffic.web, from h2 to h0"),
        ("kind = \"partition-aggregate\"\nfan_out = 2", "flow 2 of traffic.web, from h0 to h2"),
        ("kind = \"poisson\"\nsize = \"1 KB\"\nload = 0.1", "of traffic.web, from h"),
        ("kind = \"shuffle\"\nsize = \"1 KB\"\ntasks = 1", "of traffic.web, from h"),
    ] {
        let refusal = flows("expresspass", kind, lost).unwrap_err();
        assert!(refusal.contains(flow) && refusal.contains("loss.0.probability"), "{kind}: {refusal}");
        assert_eq!(flows("blast", kind, lost), Ok(()), "what is lost is not sent again, and so the run ends");
    }
    let long = "kind = \"flows\"\nlist = [{ src = \"h0\", dst = \"h2\", stop = \"1 ms\" }]";
    assert_eq!(flows("dctcp", long, lost), Ok(()), "the flow is stopped");
}

#[test]
fn a_flow_that_is_sprayed_or_has_a_way_around_may_end() {
    let tree = |network: &str, rest: &str| {
        let text = format!(
            "[topology]\nkind = \"fat-tree\"\nk = 4\n[network]\nrouting = \"{network}\"\n[transport]\nname = \"dctcp\"\n\
             [[traffic]]\nname = \"web\"\nkind = \"flows\"\nlist = [{{ src = \"h0\", dst = \"h15\", size = \"1 MB\" }}]\n{rest}"
        );
        parse_with(&text, &Overrides::default()).map(|_| ()).map_err(|error| error.to_string())
    };
    let topology =
        clearway_topology::FatTree { k: 4, ..clearway_topology::FatTree::default() }.build().unwrap();
    let access = topology.ports_of(NodeId(0))[0];
    let switch = topology.port(access).to;
    let names: Vec<_> = topology
        .ports_of(switch)
        .iter()
        .map(|&port| topology.port(port).to)
        .filter(|&to| !topology.is_host(to))
        .map(|to| [topology.name(switch).to_string(), topology.name(to).to_string()])
        .collect();
    let lost = |[a, b]: &[String; 2]| format!("[[loss]]\nlink = [\"{a}\", \"{b}\"]\nprobability = 1\n");
    let down = |[a, b]: &[String; 2]| format!("[[fault]]\nlink = [\"{a}\", \"{b}\"]\ndown = \"0 s\"\n");
    assert_eq!(names.len(), 2);
    let outcomes = [&names[0], &names[1]].map(|link| tree("symmetric-ecmp", &lost(link)).is_ok());
    assert_ne!(outcomes[0], outcomes[1], "the flow has one of the two ways");
    for link in &names {
        assert_eq!(tree("spray", &lost(link)), Ok(()), "half of its packets go the other way");
        assert_eq!(tree("symmetric-ecmp", &down(link)), Ok(()), "paths lead around a link that is down");
    }
    assert!(tree("spray", &(lost(&names[0]) + &lost(&names[1]))).is_err());
    assert!(tree("symmetric-ecmp", &(down(&names[0]) + &down(&names[1]))).is_err());
}
