use super::super::config::Bridge;
use super::*;
use crate::rules::Plan;
use clearway_units::Rate;

fn config() -> Config {
    let port = |device: &str| Port { device: device.into(), rate: Rate::mbps(100) };
    let bridge = Some(Bridge { name: "br0".into(), create: true });
    Config { bridge, ecn: Some(20), ..Config::new(vec![port("p1"), port("p2")]) }
}

fn nic() -> PresentPort {
    PresentPort { mtu: 1500, offloads: vec!["gro", "tso"], ..PresentPort::default() }
}

fn present(first: PresentPort) -> Present {
    let links = [("p1", first), ("p2", PresentPort { is_up: true, ..nic() })];
    Present { links: links.map(|(name, port)| (name.to_owned(), port)).into_iter().collect() }
}

fn planned(config: &Config, present: &Present) -> Result<Plan, SwitchError> {
    plan(config, present, Path::new("/usr/sbin/clearwayd"), Path::new("/run/clearwayd/ecn.o"))
}

fn commands(plan: &Plan, word: &str) -> Vec<String> {
    let all = plan.steps.iter().map(|step| step.command.join(" "));
    all.filter(|command| command.split(' ').any(|each| each == word)).collect()
}

fn undone(plan: &Plan) -> Vec<String> {
    plan.steps.iter().rev().filter_map(|step| step.undo.as_ref()).map(|undo| undo.join(" ")).collect()
}

#[test]
fn a_port_gets_the_commands_that_were_measured() {
    let plan = planned(&config(), &present(nic())).unwrap();
    let size = "overhead 24 mpu 84 quantum 1514";
    assert_eq!(
        commands(&plan, "p1"),
        [
            "ethtool -K p1 gro off tso off".to_owned(),
            "tc qdisc add dev p1 root handle 1: htb default 20".into(),
            format!("tc class add dev p1 parent 1: classid 1:1 htb rate 100000000bit ceil 100000000bit burst 1538 cburst 1538 {size}"),
            format!("tc class add dev p1 parent 1:1 classid 1:10 htb rate 5178791bit ceil 5178791bit burst 84 cburst 84 prio 0 {size}"),
            format!("tc class add dev p1 parent 1:1 classid 1:18 htb rate 10357582bit ceil 100000000bit burst 2688 cburst 1538 prio 0 {size}"),
            format!("tc class add dev p1 parent 1:1 classid 1:20 htb rate 100000000bit ceil 100000000bit burst 1538 cburst 1538 prio 1 {size}"),
            "tc qdisc add dev p1 parent 1:10 handle 10: pfifo limit 8".into(),
            "tc qdisc add dev p1 parent 1:18 handle 18: pfifo limit 256".into(),
            "tc qdisc add dev p1 parent 1:20 handle 20: pfifo limit 250".into(),
            "tc filter add dev p1 parent 1: protocol 0x88b5 prio 1 u32 match u8 9 0xff at 1 flowid 1:10".into(),
            "tc filter add dev p1 parent 1: protocol 0x88b5 prio 2 u32 match u32 0 0 flowid 1:18".into(),
            "tc qdisc add dev p1 clsact".into(),
            "tc filter add dev p1 egress pref 49642 protocol all bpf da object-file /run/clearwayd/ecn.o section tc classid :14".into(),
            "ip link set dev p1 master br0".into(),
            "ip link set dev p1 up".into(),
        ]
    );
}

#[test]
fn undoing_restores_what_was_there_and_nothing_else() {
    let plan = planned(&config(), &present(PresentPort { has_clsact: true, ..nic() })).unwrap();
    assert_eq!(
        undone(&plan),
        [
            "ip link set dev p2 nomaster",
            "tc qdisc del dev p2 clsact",
            "tc qdisc del dev p2 root",
            "ethtool -K p2 gro on tso on",
            "ip link set dev p1 down",
            "ip link set dev p1 nomaster",
            "tc filter del dev p1 egress pref 49642 protocol all",
            "tc qdisc del dev p1 root",
            "ethtool -K p1 gro on tso on",
            "ip link del dev br0",
            "rm -f /run/clearwayd/ecn.o",
        ]
    );
}

#[test]
fn a_port_has_its_queues_before_it_joins_the_bridge() {
    let plan = planned(&config(), &present(nic())).unwrap();
    let all: Vec<String> = plan.steps.iter().map(|step| step.command.join(" ")).collect();
    let at = |start: &str| all.iter().position(|command| command.starts_with(start)).unwrap();
    assert!(at("tc filter add dev p1 egress") < at("ip link set dev p1 master"));
    assert!(at("ip link set dev p1 master") < at("ip link set dev p1 up"));
}

#[test]
fn routed_credits_are_found_by_their_dscp_whatever_their_ecn_field() {
    let plan = planned(&Config { credit_dscp: Some(46), ..config() }, &present(nic())).unwrap();
    let filters = commands(&plan, "u32");
    assert_eq!(
        filters[2..4],
        [
            "tc filter add dev p1 parent 1: protocol ip prio 3 u32 match ip dsfield 0xb8 0xfc flowid 1:10",
            "tc filter add dev p1 parent 1: protocol ipv6 prio 4 u32 match ip6 priority 0xb8 0xfc flowid 1:10",
        ]
    );
}

#[test]
fn nothing_that_could_not_be_restored_is_replaced() {
    let refused = |first: PresentPort| planned(&config(), &present(first)).unwrap_err();
    let said = refused(PresentPort { root: Some("htb 8001:".into()), ..nic() });
    assert_eq!(said, SwitchError::HasQdisc { device: "p1".into(), qdisc: "htb 8001:".into() });
    let said = refused(PresentPort { master: Some("br9".into()), ..nic() });
    assert_eq!(said, SwitchError::HasMaster { device: "p1".into(), master: "br9".into() });
    let said = refused(PresentPort { has_clsact: true, has_filter: true, ..nic() });
    assert_eq!(said, SwitchError::HasFilter("p1".into()));
}

#[test]
fn ports_of_a_switch_in_user_space_belong_to_no_bridge_and_join_no_frames() {
    let config = Config { bridge: None, ..config() };
    let plan = plan_user_space(&config, &present(nic())).unwrap();
    assert_eq!(commands(&plan, "p1"), ["ethtool -K p1 gro off tso off", "ip link set dev p1 up"]);
    let joined = present(PresentPort { master: Some("br0".into()), ..nic() });
    let error = plan_user_space(&config, &joined).unwrap_err();
    assert_eq!(error, SwitchError::ForwardsTwice { device: "p1".into(), master: "br0".into() });
}

#[test]
fn a_bridge_is_made_only_if_it_is_not_there_and_used_only_if_it_is() {
    let mut present = present(nic());
    let used = Config { bridge: Some(Bridge { name: "br0".into(), create: false }), ..config() };
    assert_eq!(planned(&used, &present).unwrap_err(), SwitchError::NoDevice("br0".into()));
    present.links.insert("br0".into(), nic());
    assert_eq!(planned(&used, &present).unwrap_err(), SwitchError::NoBridge("br0".into()));
    assert_eq!(planned(&config(), &present).unwrap_err(), SwitchError::BridgeExists("br0".into()));
    present.links.insert("br0".into(), PresentPort { is_bridge: true, ..nic() });
    let plan = planned(&used, &present).unwrap();
    assert!(!undone(&plan).contains(&"ip link del dev br0".to_owned()));
}

#[test]
fn a_credit_in_a_datagram_has_the_size_that_the_planner_counts() {
    let port = std::num::NonZeroU16::MIN;
    assert_eq!(Carrier::Udp(port).credit_wire(), clearway_planner::buffers::UDP_FRAME);
}

#[test]
fn a_switch_for_udp_leads_datagrams_of_both_versions_of_ip_to_the_classes_with_the_share_of_132_bytes() {
    let carrier = Carrier::Udp(std::num::NonZeroU16::new(1021).unwrap());
    let plan = planned(&Config { carrier, ..config() }, &present(nic())).unwrap();
    let udp: Vec<String> =
        commands(&plan, "p1").into_iter().filter(|command| command.contains("dport")).collect();
    let filter = "tc filter add dev p1 parent 1: protocol";
    assert_eq!(
        udp,
        [
            format!(
                "{filter} ip prio 5 u32 match ip protocol 17 0xff match ip dport 1021 0xffff match u8 9 0xff at 29 flowid 1:10"
            ),
            format!(
                "{filter} ip prio 6 u32 match ip protocol 17 0xff match ip dport 1021 0xffff flowid 1:18"
            ),
            format!(
                "{filter} ipv6 prio 7 u32 match ip6 protocol 17 0xff match ip6 dport 1021 0xffff match u8 9 0xff at 49 flowid 1:10"
            ),
            format!(
                "{filter} ipv6 prio 8 u32 match ip6 protocol 17 0xff match ip6 dport 1021 0xffff flowid 1:18"
            ),
        ]
    );
    // 100 Mbit/s x 132 / 1670.
    assert!(
        commands(&plan, "p1")
            .iter()
            .any(|command| command.contains("rate 7904191bit ceil 7904191bit burst 132"))
    );
}
