//! The rules of iptables and ip6tables that make the kernel hold packets for a driver.

use super::driver::Setup;
use super::error::IoError;
use super::filter::{self, Family, Holds};
use crate::rules::{Plan, Step};
use std::path::Path;
use std::process::{Command, Stdio};

/// The programs that may set the rules: the machine's default first, then both that it may stand for.
const PROGRAMS: [&str; 3] = ["iptables", "iptables-nft", "iptables-legacy"];
/// The setting by which TCP makes larger bursts for near hosts, since Linux 5.18.
const BURSTS: &str = "tcp_tso_rtt_log";

/// Returns the steps that make the kernel hold the packets of `setup`, by the first iptables that can set them here.
///
/// The rules stand at the end of the way out (`POSTROUTING`): there a changed header does not change the route. With
/// `--queue-bypass`, packets pass as long as no program has bound the queue.
pub fn rules(setup: &Setup) -> Result<Plan, IoError> {
    let program = first_of(PROGRAMS.map(str::to_string), Family::Ipv4, setup).map_err(IoError::NoIptables)?;
    let mut plan = plan(&program, setup);
    let setting = std::fs::read_to_string(format!("/proc/sys/net/ipv4/{BURSTS}"));
    if let (Holds::Data, Ok(value)) = (setup.holds, setting) {
        plan.steps.extend(short_queues(value.trim()));
    }
    if setup.bulk {
        plan.steps
            .extend(joined_at_most(&setup.interface).and_then(|most| one_by_one(&setup.interface, most)));
    }
    Ok(plan)
}

/// Returns the program that can set the rule for IPv6 here, or the reason why there is none, in one line.
pub fn ip6tables(setup: &Setup) -> Result<String, String> {
    if !Path::new("/proc/net/if_inet6").exists() {
        return Err("the kernel has no IPv6".to_string());
    }
    first_of(PROGRAMS.map(|program| program.replace("iptables", "ip6tables")), Family::Ipv6, setup)
}

/// Returns the first program that can set the rule, or what each of them said.
fn first_of(programs: [String; 3], family: Family, setup: &Setup) -> Result<String, String> {
    let mut tried = Vec::new();
    for program in programs {
        match probe(&program, family, setup) {
            Ok(()) => return Ok(program),
            Err(reason) => tried.push(format!("{program} ({reason})")),
        }
    }
    Err(tried.join(", "))
}

fn plan(program: &str, setup: &Setup) -> Plan {
    let packets = match setup.holds {
        Holds::Data => "outgoing TCP data",
        Holds::Acks { requests: true, .. } => "outgoing acknowledgements and requests",
        Holds::Acks { syn_acks: false, .. } => "outgoing pure acknowledgements",
        Holds::Acks { syn_acks: true, .. } => "outgoing pure acknowledgements and answers to a SYN",
    };
    let mut steps = hold(program, Family::Ipv4, setup, packets, "");
    if let Some(program) = &setup.ipv6 {
        steps.extend(hold(program, Family::Ipv6, setup, packets, " over IPv6"));
    }
    Plan { steps }
}

/// Returns the steps that hold packets of one version of IP: one rule, or a chain of rules in front of which small packets leave.
///
/// To delete a rule with a program, iptables would need the name of that, which is gone by then. So the chain is emptied instead.
fn hold(program: &str, family: Family, setup: &Setup, packets: &str, over: &str) -> Vec<Step> {
    let command = |words: Vec<String>| std::iter::once(program.to_string()).chain(words).collect();
    let purpose = format!("Queue {} holds {packets} of {}{over}.", setup.queue, setup.interface);
    let Some(pass) = &setup.pass else {
        let [add, delete] = ["-A", "-D"].map(|verb| command(arguments(verb, family, setup)));
        return vec![Step { purpose, command: add, undo: Some(delete) }];
    };
    let (chain, pass, dev) =
        (format!("CLEARWAY-{}", setup.interface), pass.display().to_string(), &setup.interface);
    let words = |words: &[&str]| {
        command(["-w", "-t", "mangle"].iter().chain(words).map(|word| word.to_string()).collect())
    };
    let step = |purpose: &str, line: &[&str], undo: Option<&[&str]>| Step {
        purpose: format!("{purpose}{over}."),
        command: words(line),
        undo: undo.map(words),
    };
    let target = target(family, setup);
    let held: Vec<&str> = ["-A", &chain].into_iter().chain(target.iter().map(String::as_str)).collect();
    let jump = |verb| [verb, "POSTROUTING", "-o", dev, "-p", "tcp", "-j", &chain];
    vec![
        step(&format!("A chain takes the rules for {dev}"), &["-N", &chain], Some(&["-X", &chain])),
        step(
            "Small packets for which credits left enough over leave at once",
            &["-A", &chain, "-m", "bpf", "--object-pinned", &pass, "-j", "RETURN"],
            Some(&["-F", &chain]),
        ),
        Step { purpose, command: words(&held), undo: None },
        step(
            &format!("Outgoing TCP segments of {dev} pass through the chain"),
            &jump("-A"),
            Some(&jump("-D")),
        ),
    ]
}

/// Returns the step that has TCP hand over about a millisecond's worth of data at a time, which is the least, instead of
/// two bursts of 64 KiB: a connection waits for credits with what it has handed over. `value` is the setting as it is.
fn short_queues(value: &str) -> Option<Step> {
    let command = |value: &str| {
        ["sysctl", "-q", "-w", &format!("net.ipv4.{BURSTS}={value}")].map(str::to_string).to_vec()
    };
    (value != "0").then(|| Step {
        purpose: "TCP hands over about 1 ms of data at a time, so that little waits in the queue."
            .to_string(),
        command: command("0"),
        undo: Some(command(value)),
    })
}

/// Returns the number of segments that TCP joins for a NIC at most, if `ip` tells it.
fn joined_at_most(interface: &str) -> Option<u64> {
    let words = ["-details", "-json", "link", "show", "dev", interface];
    let output = Command::new("ip").args(words).stdin(Stdio::null()).output().ok()?;
    let links: serde_json::Value = serde_json::from_slice(&output.stdout).ok()?;
    links.get(0)?.get("gso_max_segs")?.as_u64()
}

/// Returns the step that has TCP hand over segments one by one, as credits pay for them, where it joins `most` at most. Connections
/// that are open stay as they are, and what they join is held.
fn one_by_one(interface: &str, most: u64) -> Option<Step> {
    let command = |value: u64| {
        ["ip", "link", "set", "dev", interface, "gso_max_segs", &value.to_string()]
            .map(str::to_string)
            .to_vec()
    };
    (most != 1).then(|| Step {
        purpose: format!("TCP hands {interface} segments one by one, so that each credit pays for one."),
        command: command(1),
        undo: Some(command(most)),
    })
}

/// Returns the arguments of iptables or ip6tables that add (`-A`), delete (`-D`) or look for (`-C`) the rule.
fn arguments(verb: &str, family: Family, setup: &Setup) -> Vec<String> {
    let before = ["-w", "-t", "mangle", verb, "POSTROUTING", "-o", &setup.interface, "-p", "tcp"];
    before.into_iter().map(str::to_string).chain(target(family, setup)).collect()
}

/// Returns the end of a rule: the program that chooses the packets that are held, and their queue.
fn target(family: Family, setup: &Setup) -> Vec<String> {
    let bytecode = filter::to_bytecode(&filter::held(setup.holds, family));
    let queue = setup.queue.to_string();
    ["-m", "bpf", "--bytecode", &bytecode, "-j", "NFQUEUE", "--queue-num", &queue, "--queue-bypass"]
        .map(str::to_string)
        .to_vec()
}

/// Tells whether a program could set the rule, by having it look for the rule; this changes nothing.
fn probe(program: &str, family: Family, setup: &Setup) -> Result<(), String> {
    const FOUND: i32 = 0;
    const NOT_FOUND: i32 = 1;
    let output = Command::new(program)
        .args(arguments("-C", family, setup))
        .stdin(Stdio::null())
        .output()
        .map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stderr);
    match output.status.code() {
        // A kernel that lacks a match or target is only warned about.
        Some(FOUND | NOT_FOUND) if !said.contains("not supported") => Ok(()),
        _ => Err(said.lines().next().unwrap_or("it was killed").to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Carrier;

    #[test]
    fn the_rule_that_is_deleted_is_the_one_that_was_added() {
        let setup = Setup {
            interface: "eth0".to_string(),
            queue: 7,
            holds: Holds::Acks { syn_acks: true, requests: false },
            ipv6: None,
            carrier: Carrier::Ethernet,
            priority: crate::io::Priority::High,
            pass: None,
            bulk: false,
        };
        let plan = plan("iptables-legacy", &setup);
        let [step] = &plan.steps[..] else { panic!("one rule is enough: {plan:?}") };
        let text = step.command.join(" ");
        assert!(
            text.starts_with("iptables-legacy -w -t mangle -A POSTROUTING -o eth0 -p tcp -m bpf --bytecode ")
        );
        assert!(text.ends_with(" -j NFQUEUE --queue-num 7 --queue-bypass"), "{text}");
        assert_eq!(step.undo.as_ref().unwrap().join(" "), text.replace(" -A ", " -D "));
        assert_eq!(
            step.purpose,
            "Queue 7 holds outgoing pure acknowledgements and answers to a SYN of eth0."
        );
    }

    #[test]
    fn a_chain_lets_small_packets_leave_before_the_queue_and_is_emptied_without_the_name_of_its_program() {
        let setup = Setup {
            interface: "eth0".to_string(),
            queue: 7,
            holds: Holds::Data,
            ipv6: Some("ip6tables".to_string()),
            carrier: Carrier::Ethernet,
            priority: crate::io::Priority::High,
            pass: Some("/sys/fs/bpf/clearway-1".into()),
            bulk: true,
        };
        let steps = plan("iptables", &setup).steps;
        let lines =
            |command: &[String]| command.join(" ").split(" -m bpf --bytecode").next().unwrap().to_string();
        let done: Vec<String> = steps.iter().map(|step| lines(&step.command)).collect();
        let four = [
            "iptables -w -t mangle -N CLEARWAY-eth0",
            "iptables -w -t mangle -A CLEARWAY-eth0 -m bpf --object-pinned /sys/fs/bpf/clearway-1 -j RETURN",
            "iptables -w -t mangle -A CLEARWAY-eth0",
            "iptables -w -t mangle -A POSTROUTING -o eth0 -p tcp -j CLEARWAY-eth0",
        ];
        assert_eq!(done[..4], four);
        assert_eq!(done[4..], four.map(|line| line.replace("iptables", "ip6tables")));
        assert!(steps[2].command.join(" ").ends_with("-j NFQUEUE --queue-num 7 --queue-bypass"));
        let undone: Vec<String> =
            steps[..4].iter().rev().filter_map(|step| Some(step.undo.as_ref()?.join(" "))).collect();
        assert_eq!(
            undone,
            [
                "iptables -w -t mangle -D POSTROUTING -o eth0 -p tcp -j CLEARWAY-eth0",
                "iptables -w -t mangle -F CLEARWAY-eth0",
                "iptables -w -t mangle -X CLEARWAY-eth0",
            ]
        );
    }

    #[test]
    fn a_machine_with_ipv6_gets_a_second_rule_with_a_program_of_its_own_and_the_same_queue() {
        let ipv6 = Some("ip6tables-nft".to_string());
        let (interface, carrier) = ("eth0".to_string(), Carrier::Ethernet);
        let priority = crate::io::Priority::High;
        let setup = Setup {
            interface,
            queue: 9,
            holds: Holds::Data,
            ipv6,
            carrier,
            priority,
            pass: None,
            bulk: false,
        };
        let plan = plan("iptables-nft", &setup);
        let [four, six] = &plan.steps[..] else { panic!("one rule for each version of IP: {plan:?}") };
        assert_eq!(six.purpose, "Queue 9 holds outgoing TCP data of eth0 over IPv6.");
        let [four, six] = [four, six].map(|step| step.command.join(" "));
        let (before, after) = six.split_once(" --bytecode ").expect("a match by a program");
        assert_eq!(before, "ip6tables-nft -w -t mangle -A POSTROUTING -o eth0 -p tcp -m bpf");
        assert!(
            after.ends_with(" -j NFQUEUE --queue-num 9 --queue-bypass") && !four.contains(after),
            "{six}"
        );
    }
}
