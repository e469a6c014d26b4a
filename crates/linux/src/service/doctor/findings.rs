//! From facts about a machine to findings: what is there, what is missing, and what to do about it.

use super::facts::{Facts, JournalFound, Kind, NicFacts, Place, RunDir, Trial};
use crate::io::LinkState;
use crate::service::settings::{HostSettings, PacSettings};
use clearway_schema::Declared;

/// The least version of Linux.
const LEAST_KERNEL: (u32, u32) = (5, 14);
/// The least version at whose NICs a daemon sets programs.
const LEAST_FOR_PROGRAMS: (u32, u32) = (6, 6);
/// The capabilities of every daemon.
const CAPABILITIES: [&str; 2] = ["CAP_NET_ADMIN", "CAP_NET_RAW"];
/// The capabilities that a switch needs besides, until its rules are set.
const SWITCH_CAPABILITIES: [&str; 3] = ["CAP_BPF", "CAP_PERFMON", "CAP_SYS_ADMIN"];
/// The memory that a busy daemon takes at most, by the limit of its unit file.
const MEMORY: u64 = 512 << 20;
/// The largest MTU that the daemon's settings take.
const MTU_MAX: u16 = 9216;

/// What a check found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// The machine has it.
    Ok,
    /// The daemon works, and this is worth knowing.
    Note,
    /// The daemon does not work without it.
    Missing,
}

impl Status {
    /// Returns the word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Status::Ok => "ok",
            Status::Note => "note",
            Status::Missing => "missing",
        }
    }
}

/// One line of the report.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// The thing that was examined.
    pub check: String,
    /// The result.
    pub status: Status,
    /// A sentence that says what was found.
    pub reason: String,
    /// A sentence that says what to do; `None` where nothing has to be done.
    pub remedy: Option<String>,
}

impl Finding {
    fn ok(check: impl Into<String>, reason: impl Into<String>) -> Finding {
        Finding { check: check.into(), status: Status::Ok, reason: reason.into(), remedy: None }
    }

    fn note(check: impl Into<String>, reason: impl Into<String>, remedy: impl Into<String>) -> Finding {
        let remedy = Some(remedy.into());
        Finding { check: check.into(), status: Status::Note, reason: reason.into(), remedy }
    }

    fn missing(check: impl Into<String>, reason: impl Into<String>, remedy: impl Into<String>) -> Finding {
        let remedy = Some(remedy.into());
        Finding { check: check.into(), status: Status::Missing, reason: reason.into(), remedy }
    }
}

/// Returns the findings for a kind of daemon, in the order in which they are shown.
pub fn findings(kind: Kind, facts: &Facts) -> Vec<Finding> {
    let mut all = vec![kernel(&facts.kernel)];
    all.extend(capabilities(kind, &facts.capabilities));
    all.extend(NEEDED.iter().filter(|need| need.kinds.contains(&kind)).map(|need| {
        let place = facts.programs.get(need.program).copied().unwrap_or_default();
        program(need, place)
    }));
    if kind != Kind::Switch && !facts.programs.get("ip6tables").is_some_and(|place| place.in_path) {
        all.push(Finding::note(
            "program ip6tables",
            "No folder of PATH has it, so that IPv6 passes as plain TCP.",
            "Install the package iptables (Debian, Ubuntu) or iptables-nft (Fedora, RHEL), which has it.",
        ));
    }
    all.extend(trials(&facts.trials));
    all.push(run_dir(&facts.run_dir));
    all.extend(facts.journals.iter().map(journal));
    if kind != Kind::Switch {
        all.extend(queue(kind, facts));
        all.push(congestion_control(facts.congestion_control.as_deref()));
    }
    if kind == Kind::Host {
        all.push(bursts(facts.has_burst_setting));
    }
    all.extend(kernel_path(kind, facts));
    all.extend(facts.memory_available.map(memory));
    for (name, nic) in &facts.nics {
        match nic {
            Ok(nic) => all.extend(nic_findings(kind, name, nic)),
            Err(problem) => all.push(Finding::missing(
                format!("NIC {name}"),
                problem,
                "Name a NIC of Ethernet that `ip link` shows in this network namespace.",
            )),
        }
    }
    all
}

/// Returns the first two numbers of a release of the kernel.
fn version(release: &str) -> (u32, u32) {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map_while(|part| part.parse().ok());
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

fn kernel(release: &str) -> Finding {
    let (major, minor) = LEAST_KERNEL;
    let reason = format!("Linux {release} runs; {major}.{minor} or later is needed.");
    match version(release) >= LEAST_KERNEL {
        true => Finding::ok("kernel", reason),
        false => {
            Finding::missing("kernel", reason, "Install a newer kernel of the distribution, and reboot.")
        }
    }
}

fn capabilities(kind: Kind, held: &[&str]) -> Vec<Finding> {
    let mut needed = CAPABILITIES.to_vec();
    if kind == Kind::Switch {
        needed.extend(SWITCH_CAPABILITIES);
    }
    let lacking: Vec<&str> = needed.iter().filter(|name| !held.contains(name)).copied().collect();
    let mut found = vec![match lacking.is_empty() {
        true => Finding::ok("capabilities", format!("This process has {}.", needed.join(", "))),
        false => Finding::missing(
            "capabilities",
            format!("This process lacks {}.", lacking.join(", ")),
            "Run clearwayd as root, or give these capabilities to its container.",
        ),
    }];
    if kind != Kind::Switch && !held.contains(&"CAP_SYS_NICE") {
        found.push(Finding::note(
            "priority",
            "Without CAP_SYS_NICE the daemon cannot raise its priority, and is late where other programs are busy.",
            "Start it by its systemd unit, which sets Nice=-20, or give CAP_SYS_NICE to its container.",
        ));
    }
    found
}

/// A program that daemons call.
struct Need {
    program: &'static str,
    kinds: &'static [Kind],
    /// True if the daemon looks for it in `PATH`, else in the folders of the administrator's tools.
    by_path: bool,
    /// The packages of Debian and of Fedora that have it.
    packages: [&'static str; 2],
}

const fn need(
    program: &'static str,
    kinds: &'static [Kind],
    by_path: bool,
    packages: [&'static str; 2],
) -> Need {
    Need { program, kinds, by_path, packages }
}

const NEEDED: [Need; 6] = [
    need("iptables", &[Kind::Host, Kind::Pac], true, ["iptables", "iptables-nft"]),
    need("ethtool", &[Kind::Host], false, ["ethtool", "ethtool"]),
    need("ethtool", &[Kind::Switch], true, ["ethtool", "ethtool"]),
    need("sysctl", &[Kind::Host], false, ["procps", "procps-ng"]),
    need("tc", &[Kind::Switch], false, ["iproute2", "iproute-tc"]),
    need("ip", &[Kind::Switch], false, ["iproute2", "iproute"]),
];

/// The names of all programs that are looked for; `ip` serves the trials of hosts too.
pub const PROGRAMS: [&str; 6] = ["iptables", "ip6tables", "ethtool", "sysctl", "tc", "ip"];

fn program(need: &Need, place: Place) -> Finding {
    let check = format!("program {}", need.program);
    let [debian, fedora] = need.packages;
    match (need.by_path, place) {
        (true, Place { in_path: true, .. }) | (false, Place { in_folders: true, .. }) => {
            Finding::ok(check, "It is installed.")
        }
        (true, Place { in_folders: true, .. }) => Finding::missing(
            check,
            "It is installed, but no folder of PATH has it.",
            "Add /usr/sbin and /sbin to PATH.",
        ),
        (by_path, _) => Finding::missing(
            check,
            match by_path {
                true => "No folder of PATH has it.",
                false => "None of the folders bin and sbin of /, /usr and /usr/local has it.",
            },
            format!("Install the package {debian} (Debian, Ubuntu) or {fedora} (Fedora, RHEL)."),
        ),
    }
}

fn trials(trials: &Result<Vec<Trial>, String>) -> Vec<Finding> {
    let trials = match trials {
        Ok(trials) => trials,
        Err(why) => {
            return vec![Finding::note(
                "trial",
                format!("Rules and sockets were not tried in a network namespace: {why}."),
                "Run `clearwayd doctor` as root outside of containers, with the program ip installed.",
            )];
        }
    };
    let finding = |trial: &Trial| match &trial.result {
        Ok(()) => {
            Finding::ok(trial.name, "It works in a network namespace made for this trial, now removed.")
        }
        Err(problem) => Finding::missing(
            trial.name,
            format!("It failed in a network namespace made for this trial: {problem}"),
            "Install or load what the message names: docs/how-to/clearwayd.md lists what the kernel must have.",
        ),
    };
    trials.iter().map(finding).collect()
}

fn run_dir(found: &RunDir) -> Finding {
    let check = "run directory";
    match found {
        RunDir::Absent(path) => {
            Finding::ok(check, format!("{path} is not there; a daemon makes it when it starts."))
        }
        RunDir::Usable(path) => Finding::ok(check, format!("{path} belongs to this user alone.")),
        RunDir::Refused(problem) => Finding::missing(
            check,
            problem,
            "Run clearwayd as the owner of the folder, or name another folder with --run-dir.",
        ),
    }
}

fn journal(found: &JournalFound) -> Finding {
    let JournalFound { path, device, lives } = found;
    match lives {
        true => Finding::note(
            format!("daemon on {device}"),
            format!("A clearwayd works on {device}: it has the journal {path}."),
            "Another one on the same NIC is refused; `clearwayd stats` shows what this one does.",
        ),
        false => Finding::note(
            format!("journal of {device}"),
            format!("A daemon that was killed left rules of {device}: {path} lists them."),
            "Run `clearwayd cleanup`, or start a daemon on that NIC, which undoes them too.",
        ),
    }
}

fn queue(kind: Kind, facts: &Facts) -> Option<Finding> {
    let specs = match kind {
        Kind::Host => HostSettings::SPECS,
        Kind::Pac => PacSettings::SPECS,
        Kind::Switch => return None,
    };
    let number = specs.iter().find(|spec| spec.name == "queue")?.default.parse().ok()?;
    let is_ours = facts.journals.iter().any(|journal| journal.lives);
    facts.queues.contains(&number).then(|| {
        let whose = if is_ours { "a program, perhaps a clearwayd that runs," } else { "another program" };
        Finding::note(
            format!("queue {number}"),
            format!(
                "The netfilter queue {number}, the default, is bound by {whose} in this network namespace."
            ),
            "Give a daemon beside it another number with --queue.",
        )
    })
}

fn congestion_control(name: Option<&str>) -> Finding {
    let check = "congestion control";
    match name {
        Some(name @ ("cubic" | "reno" | "dctcp" | "cw_dctcp")) => {
            Finding::ok(check, format!("Flows of plain TCP, and those that give up credits, use {name}."))
        }
        name => Finding::note(
            check,
            format!(
                "Flows of plain TCP, and those that give up credits, use {}.",
                name.unwrap_or("an unknown one")
            ),
            "Compare with the same congestion control on all hosts: `sysctl net.ipv4.tcp_congestion_control`.",
        ),
    }
}

fn bursts(has_setting: bool) -> Finding {
    let check = "bursts of TCP";
    match has_setting {
        true => Finding::ok(
            check,
            "The kernel has net.ipv4.tcp_tso_rtt_log, which the daemon sets while it runs.",
        ),
        false => Finding::note(
            check,
            "The kernel, older than 5.18, lacks net.ipv4.tcp_tso_rtt_log.",
            "Nothing has to be done: kernels before 5.18 do not make the larger bursts that it limits.",
        ),
    }
}

fn kernel_path(kind: Kind, facts: &Facts) -> Option<Finding> {
    let check = "path in the kernel";
    let (taken, refused, remedy) = match kind {
        Kind::Switch => return None,
        Kind::Host => (
            "The kernel takes the program that lets small packets leave without being held.",
            "Small packets wait in user space like all others",
            "Give the daemon CAP_BPF and CAP_PERFMON, and mount the file system of BPF at /sys/fs/bpf, as systemd does.",
        ),
        Kind::Pac => (
            "The kernel takes the programs that take acknowledgements, with --kernel-path acks.",
            "With --kernel-path acks acknowledgements would wait in NFQUEUE all the same",
            "Give the daemon CAP_BPF and CAP_PERFMON, on Linux 6.6 or later.",
        ),
    };
    let is_old = kind == Kind::Pac && version(&facts.kernel) < LEAST_FOR_PROGRAMS;
    Some(match &facts.kernel_path {
        Ok(()) if is_old => Finding::note(check, format!("{refused}: a NIC takes no programs."), remedy),
        Ok(()) => Finding::ok(check, taken),
        Err(why) => Finding::note(check, format!("{refused}: {why}."), remedy),
    })
}

fn memory(available: u64) -> Finding {
    let reason = format!("{} MiB are available; a unit limits its daemon to 512.", available >> 20);
    match available >= MEMORY {
        true => Finding::ok("memory", reason),
        false => {
            Finding::note("memory", reason, "Lower held_max and flows_max with --set if memory is short.")
        }
    }
}

fn nic_findings(kind: Kind, name: &str, nic: &NicFacts) -> Vec<Finding> {
    let report = &nic.report;
    let check = |what: &str| format!("{what} of {name}");
    let mut all = vec![match report.state {
        LinkState::Up => Finding::ok(check("link"), "It is up."),
        LinkState::Down => Finding::note(
            check("link"),
            "It is down; packets pass without credits until it is up.",
            format!("Plug in the cable, or run `ip link set {name} up`."),
        ),
    }];
    all.push(match (report.rate, nic.has_hardware) {
        (Some(rate), true) => Finding::ok(check("rate"), format!("The driver tells {rate}.")),
        (Some(rate), false) => Finding::note(
            check("rate"),
            format!("No hardware is seen behind the NIC; a virtual one tells {rate} whatever limits it."),
            "Give the real rate with --rate, as in --rate 1Gbps.",
        ),
        (None, _) => Finding::note(
            check("rate"),
            "The driver tells none, so that --rate must be given.",
            "Give the rate of the link with --rate, as in --rate 10Gbps.",
        ),
    });
    all.push(match report.mtu {
        0..=MTU_MAX => Finding::ok(check("MTU"), format!("It is {} bytes.", report.mtu)),
        mtu => Finding::note(
            check("MTU"),
            format!("It is {mtu} bytes, and credits pay for at most {MTU_MAX}."),
            "Give --mtu, and set the MTU of all hosts alike.",
        ),
    });
    let offloads: Vec<&str> = report.offloads.iter().map(|offload| offload.name()).collect();
    all.push(match (offloads.is_empty(), kind) {
        (true, _) => Finding::ok(check("offloads"), "TSO, GSO, GRO and LRO are off."),
        (false, Kind::Pac) => {
            Finding::ok(check("offloads"), format!("{} are on, which PAC leaves.", offloads.join(", ")))
        }
        (false, _) => Finding::note(
            check("offloads"),
            format!("{} are on; the daemon switches them off while it runs.", offloads.join(", ")),
            "Nothing has to be done; expect more CPU time per byte than with offloads.",
        ),
    });
    all.push(root_qdisc(kind, name, &nic.root_qdisc));
    all
}

/// The qdiscs that limit or delay packets, or that a daemon cannot replace.
const LIMITING: [&str; 6] = ["htb", "tbf", "netem", "cbs", "hfsc", "taprio"];

fn root_qdisc(kind: Kind, name: &str, found: &Result<Option<String>, String>) -> Finding {
    let check = format!("root qdisc of {name}");
    match (found, kind) {
        (Ok(None), _) => Finding::ok(check, "It is the one that the kernel chose."),
        (Ok(Some(qdisc)), Kind::Switch) => Finding::missing(
            check,
            format!(
                "Somebody set `{qdisc}`, which `clearwayd switch` does not replace since it could not restore it."
            ),
            format!(
                "Remove it with `tc qdisc del dev {name} root`, or with `clearwayd cleanup` if a killed daemon left it."
            ),
        ),
        (Ok(Some(qdisc)), _) if LIMITING.iter().any(|kind| qdisc.starts_with(kind)) => Finding::note(
            check,
            format!(
                "Somebody set `{qdisc}`, which may limit or delay packets after credits have released them."
            ),
            "If it limits the rate, give that rate with --rate.",
        ),
        (Ok(Some(qdisc)), _) => Finding::ok(check, format!("It is `{qdisc}`, which does no harm.")),
        (Err(problem), _) => Finding::note(
            check,
            format!("It could not be asked for: {problem}."),
            "`tc qdisc show` tells it.",
        ),
    }
}
