//! Findings about machines that somebody made up.

use super::facts::{Facts, JournalFound, Kind, NicFacts, Place, RunDir, Trial};
use super::findings::{Finding, PROGRAMS, Status, findings};
use super::gather::{available, is_locked, queues};
use super::{as_json, as_text, kind};
use crate::io::{LinkState, NicReport, Offload};
use crate::wire::MacAddr;
use clearway_units::Rate;

/// Returns a machine that lacks nothing.
fn whole() -> Facts {
    let here = Place { in_path: true, in_folders: true };
    let report = NicReport {
        interface: "eth0".into(),
        state: LinkState::Up,
        address: MacAddr([2, 0, 0, 0, 0, 1]),
        mtu: 1500,
        rate: Some(Rate::gbps(10)),
        offloads: Vec::new(),
    };
    Facts {
        kernel: "6.12.0-18-amd64".into(),
        capabilities: vec![
            "CAP_NET_ADMIN",
            "CAP_NET_RAW",
            "CAP_BPF",
            "CAP_PERFMON",
            "CAP_SYS_ADMIN",
            "CAP_SYS_NICE",
        ],
        programs: PROGRAMS.into_iter().map(|program| (program, here)).collect(),
        congestion_control: Some("cubic".into()),
        has_burst_setting: true,
        kernel_path: Ok(()),
        memory_available: Some(4 << 30),
        run_dir: RunDir::Absent("/run/clearwayd".into()),
        journals: Vec::new(),
        queues: Vec::new(),
        nics: vec![("eth0".into(), Ok(NicFacts { report, has_hardware: true, root_qdisc: Ok(None) }))],
        trials: Ok(vec![Trial { name: "sockets", result: Ok(()) }]),
    }
}

/// Returns the findings that are not fine.
fn troubles(kind: Kind, facts: &Facts) -> Vec<Finding> {
    findings(kind, facts).into_iter().filter(|finding| finding.status != Status::Ok).collect()
}

/// Returns the only finding that is not fine.
fn trouble(kind: Kind, facts: &Facts) -> Finding {
    let [only] = &troubles(kind, facts)[..] else { panic!("{:#?}", troubles(kind, facts)) };
    only.clone()
}

/// Returns a whole machine after a change of the NIC.
fn with_nic(change: impl FnOnce(&mut NicFacts)) -> Facts {
    let mut facts = whole();
    change(facts.nics[0].1.as_mut().expect("a NIC"));
    facts
}

#[test]
fn a_machine_that_lacks_nothing_is_fine_for_every_kind() {
    for kind in [Kind::Host, Kind::Pac, Kind::Switch] {
        assert_eq!(troubles(kind, &whole()), [], "{kind}");
        assert!(
            as_text(kind, &findings(kind, &whole())).ends_with(&format!("missing for `clearwayd {kind}`.\n"))
        );
    }
}

#[test]
fn a_kernel_is_old_by_its_numbers_and_not_by_its_letters() {
    for (release, status) in [
        ("5.14.0-427.el9.x86_64", Status::Ok),
        ("5.13.19", Status::Missing),
        ("4.18.0-553", Status::Missing),
        ("10.2", Status::Ok),
        ("6.18.44-fc", Status::Ok),
        ("none", Status::Missing),
    ] {
        let facts = Facts { kernel: release.into(), ..whole() };
        assert_eq!(findings(Kind::Host, &facts)[0].status, status, "{release}");
    }
}

#[test]
fn each_kind_needs_its_own_programs_alone() {
    let lacks = |program: &'static str, kind: Kind| {
        let mut facts = whole();
        facts.programs.remove(program);
        troubles(kind, &facts).iter().any(|finding| finding.status == Status::Missing)
    };
    for (program, kinds) in [
        ("iptables", [true, true, false]),
        ("ethtool", [true, false, true]),
        ("sysctl", [true, false, false]),
        ("tc", [false, false, true]),
        ("ip", [false, false, true]),
    ] {
        assert_eq!(
            [Kind::Host, Kind::Pac, Kind::Switch].map(|kind| lacks(program, kind)),
            kinds,
            "{program}"
        );
    }
}

#[test]
fn a_program_outside_of_the_path_is_no_package_to_install() {
    let mut facts = whole();
    facts.programs.insert("iptables", Place { in_path: false, in_folders: true });
    let found = trouble(Kind::Host, &facts);
    assert_eq!((found.status, found.check.as_str()), (Status::Missing, "program iptables"));
    assert!(found.remedy.is_some_and(|remedy| remedy.contains("PATH") && !remedy.contains("package")));
    facts.programs.insert("iptables", Place::default());
    let remedy = trouble(Kind::Host, &facts).remedy;
    assert!(remedy.is_some_and(|remedy| remedy.contains("the package iptables ")));
}

#[test]
fn a_switch_needs_more_capabilities_than_a_host() {
    let facts = Facts { capabilities: vec!["CAP_NET_ADMIN", "CAP_NET_RAW"], ..whole() };
    let host = trouble(Kind::Host, &facts);
    assert_eq!((host.status, host.check.as_str()), (Status::Note, "priority"));
    let switch = trouble(Kind::Switch, &facts);
    assert_eq!(switch.status, Status::Missing);
    assert!(switch.reason.contains("CAP_BPF, CAP_PERFMON, CAP_SYS_ADMIN"), "{}", switch.reason);
}

#[test]
fn a_trial_that_failed_is_missing_and_one_that_was_not_made_is_noted() {
    let problem = "No chain/target/match by that name";
    let failed = Trial { name: "rules of iptables", result: Err(problem.into()) };
    let found = trouble(Kind::Host, &Facts { trials: Ok(vec![failed]), ..whole() });
    assert!(found.status == Status::Missing && found.reason.contains(problem));
    let found = trouble(Kind::Host, &Facts { trials: Err("EPERM".into()), ..whole() });
    assert!(found.status == Status::Note && found.reason.contains("EPERM"));
}

#[test]
fn a_journal_of_a_dead_daemon_names_its_remedy_and_one_of_a_living_daemon_is_left() {
    let journal =
        |lives| JournalFound { path: "/run/clearwayd/1-eth0.journal".into(), device: "eth0".into(), lives };
    let dead = trouble(Kind::Host, &Facts { journals: vec![journal(false)], ..whole() });
    assert!(dead.status == Status::Note && dead.remedy.is_some_and(|remedy| remedy.contains("cleanup")));
    let living = trouble(Kind::Host, &Facts { journals: vec![journal(true)], ..whole() });
    assert!(living.status == Status::Note && living.remedy.is_some_and(|remedy| !remedy.contains("cleanup")));
}

#[test]
fn a_queue_that_is_taken_is_noted_for_the_daemon_that_uses_it() {
    let facts = Facts { queues: vec![7], ..whole() };
    assert_eq!(trouble(Kind::Host, &facts).check, "queue 7");
    assert_eq!(troubles(Kind::Pac, &facts), []);
}

#[test]
fn a_folder_in_which_others_may_write_is_missing() {
    let facts = Facts { run_dir: RunDir::Refused("/run/clearwayd belongs to user 7.".into()), ..whole() };
    assert_eq!(trouble(Kind::Pac, &facts).status, Status::Missing);
}

#[test]
fn a_nic_that_is_not_there_is_missing_and_a_link_that_is_down_is_not() {
    let gone = Facts { nics: vec![("eth7".into(), Err("there is no eth7".into()))], ..whole() };
    assert_eq!(trouble(Kind::Host, &gone).status, Status::Missing);
    let down = trouble(Kind::Host, &with_nic(|nic| nic.report.state = LinkState::Down));
    assert_eq!((down.status, down.check.as_str()), (Status::Note, "link of eth0"));
}

#[test]
fn a_rate_that_is_unknown_or_that_means_nothing_is_noted() {
    for facts in [with_nic(|nic| nic.report.rate = None), with_nic(|nic| nic.has_hardware = false)] {
        let found = trouble(Kind::Host, &facts);
        assert_eq!((found.status, found.check.as_str()), (Status::Note, "rate of eth0"));
        assert!(found.remedy.is_some_and(|remedy| remedy.contains("--rate")));
    }
}

#[test]
fn offloads_are_noted_for_a_host_and_left_by_pac() {
    let facts = with_nic(|nic| nic.report.offloads = vec![Offload::Tso, Offload::Gro]);
    assert!(trouble(Kind::Host, &facts).reason.contains("tso, gro"));
    assert_eq!(troubles(Kind::Pac, &facts), []);
}

#[test]
fn a_qdisc_of_others_stops_a_switch_and_is_noted_for_a_host_if_it_limits() {
    let with_qdisc = |qdisc: &str| with_nic(|nic| nic.root_qdisc = Ok(Some(qdisc.into())));
    assert_eq!(trouble(Kind::Switch, &with_qdisc("fq 1:")).status, Status::Missing);
    assert_eq!(trouble(Kind::Host, &with_qdisc("htb 1:")).status, Status::Note);
    assert_eq!(troubles(Kind::Host, &with_qdisc("fq 1:")), []);
}

#[test]
fn the_report_says_how_many_things_are_missing_and_json_says_the_same() {
    let mut facts = Facts { kernel: "4.9".into(), ..whole() };
    facts.programs.remove("sysctl");
    let found = findings(Kind::Host, &facts);
    let text = as_text(Kind::Host, &found);
    assert!(text.starts_with("missing  kernel ") && text.contains("  -> Install "), "{text}");
    assert!(text.ends_with("`clearwayd host` does not work here: 2 things are missing.\n"), "{text}");
    let json: serde_json::Value = serde_json::from_str(&as_json(Kind::Host, &found)).expect("JSON");
    assert_eq!((json["kind"].as_str(), json["missing"].as_u64()), (Some("host"), Some(2)));
    assert_eq!(json["findings"].as_array().map(Vec::len), Some(found.len()));
    assert_eq!(json["findings"][0]["status"], "missing");
}

#[test]
fn an_unknown_kind_is_told_what_there_is() {
    assert_eq!(kind("pac"), Ok(Kind::Pac));
    assert!(kind("hots").is_err_and(|problem| problem.ends_with("write host, pac or switch")));
}

#[test]
fn the_files_of_the_kernel_are_read_and_damaged_ones_say_nothing() {
    assert_eq!(available("MemTotal: 9 kB\nMemAvailable:   2048 kB\n"), Some(2 << 20));
    assert_eq!((available("MemAvailable:\n"), available("")), (None, None));
    assert_eq!(queues("    7   1234     0 2 65531     0     0       12  1\n    5 9 0 2 4 0 0 0 1\n"), [7, 5]);
    let locks = "1: FLOCK  ADVISORY  WRITE 99 00:1a:4242 0 EOF\n2: POSIX  ADVISORY  WRITE 99 00:1a:5 0 EOF\n";
    assert!(is_locked(locks, 0x1a, 4242));
    assert!(!is_locked(locks, 0x1a, 42) && !is_locked(locks, 0x1b, 4242) && !is_locked(locks, 0x1a, 5));
}

#[test]
fn a_machine_without_the_file_system_of_bpf_is_told_that_small_packets_wait_in_user_space() {
    let facts = Facts { kernel_path: Err("none can be mounted: EPERM".into()), ..whole() };
    let found = trouble(Kind::Host, &facts);
    assert_eq!((found.check.as_str(), found.status), ("path in the kernel", Status::Note));
    assert_eq!(found.reason, "Small packets wait in user space like all others: none can be mounted: EPERM.");
    assert_eq!(troubles(Kind::Switch, &facts), []);
}

#[test]
fn a_machine_whose_kernel_refuses_programs_or_whose_nics_take_none_is_told_where_acknowledgements_wait() {
    let refused = Facts { kernel_path: Err("the kernel refuses a program: EPERM".into()), ..whole() };
    let old = Facts { kernel: "6.5.9-1".into(), ..whole() };
    for (facts, why) in [(refused, "the kernel refuses a program: EPERM"), (old, "a NIC takes no programs")] {
        let found = trouble(Kind::Pac, &facts);
        assert_eq!((found.check.as_str(), found.status), ("path in the kernel", Status::Note));
        let where_they_wait = "With --kernel-path acks acknowledgements would wait in NFQUEUE all the same";
        assert_eq!(found.reason, format!("{where_they_wait}: {why}."));
    }
    assert_eq!(troubles(Kind::Pac, &Facts { kernel: "6.6.0".into(), ..whole() }), []);
}

#[test]
fn a_machine_without_ip6tables_is_told_that_ipv6_passes_as_plain_tcp() {
    let mut facts = whole();
    facts.programs.insert("ip6tables", Place { in_path: false, in_folders: true });
    for kind in [Kind::Host, Kind::Pac] {
        let found = trouble(kind, &facts);
        assert_eq!((found.check.as_str(), found.status), ("program ip6tables", Status::Note));
        assert_eq!(found.reason, "No folder of PATH has it, so that IPv6 passes as plain TCP.");
    }
    assert_eq!(troubles(Kind::Switch, &facts), []);
}
