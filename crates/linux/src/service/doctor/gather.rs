//! Finds out the facts about this machine. Nothing is changed.

use super::facts::{Facts, JournalFound, Kind, NicFacts, Place, RunDir};
use super::findings::PROGRAMS;
use super::rehearsal::rehearse;
use crate::io::{Acks, Leaves, Pass, check};
use crate::rules::FOLDERS;
use crate::switch::{Config, Port, Present};
use clearway_units::Rate;
use nix::sys::stat::{major, minor};
use rustix::thread::{CapabilitySet, capabilities};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

/// Finds out the facts for a kind of daemon, about the NICs `devices` and the folder of journals and sockets.
pub fn gather(kind: Kind, devices: &[String], folder: &Path) -> Facts {
    Facts {
        kernel: read("/proc/sys/kernel/osrelease").unwrap_or_default(),
        capabilities: held(),
        programs: PROGRAMS.into_iter().map(|program| (program, place(program))).collect(),
        congestion_control: read("/proc/sys/net/ipv4/tcp_congestion_control"),
        has_burst_setting: Path::new("/proc/sys/net/ipv4/tcp_tso_rtt_log").exists(),
        kernel_path: kernel_path(kind),
        memory_available: read("/proc/meminfo").as_deref().and_then(available),
        run_dir: run_dir(folder),
        journals: journals(folder),
        queues: read("/proc/net/netfilter/nfnetlink_queue").as_deref().map(queues).unwrap_or_default(),
        nics: devices.iter().map(|name| (name.clone(), nic(name))).collect(),
        trials: rehearse(kind),
    }
}

/// Tells whether the kernel takes the programs of a kind of daemon.
fn kernel_path(kind: Kind) -> Result<(), String> {
    if kind == Kind::Pac {
        return Acks::check();
    }
    let name = format!("clearwayd-doctor-{}", std::process::id());
    Pass::load(&std::env::temp_dir(), &name, Leaves { small: 0, frame: 0, most: 0, nic: None, bulk: false })
        .map(|_| ())
}

fn read(path: &str) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim_end().to_owned())
}

/// Returns the names of the capabilities that this process has, of those that a daemon can use.
fn held() -> Vec<&'static str> {
    const KNOWN: [(CapabilitySet, &str); 6] = [
        (CapabilitySet::NET_ADMIN, "CAP_NET_ADMIN"),
        (CapabilitySet::NET_RAW, "CAP_NET_RAW"),
        (CapabilitySet::BPF, "CAP_BPF"),
        (CapabilitySet::PERFMON, "CAP_PERFMON"),
        (CapabilitySet::SYS_ADMIN, "CAP_SYS_ADMIN"),
        (CapabilitySet::SYS_NICE, "CAP_SYS_NICE"),
    ];
    let Ok(sets) = capabilities(None) else { return Vec::new() };
    KNOWN.into_iter().filter(|(one, _)| sets.effective.contains(*one)).map(|(_, name)| name).collect()
}

fn place(program: &str) -> Place {
    let path = std::env::var_os("PATH").unwrap_or_default();
    Place { in_path: is_in(&path, program), in_folders: is_in(OsStr::new(FOLDERS), program) }
}

/// Tells whether one of several folders, with colons between them, has a program.
fn is_in(folders: &OsStr, program: &str) -> bool {
    std::env::split_paths(folders).any(|folder| {
        let found = fs::metadata(folder.join(program));
        found.is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    })
}

/// Reads the memory that is available, in bytes, from the text of `/proc/meminfo`.
pub(super) fn available(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kib| kib << 10)
}

/// Reads the numbers of the queues that are bound, from the text of `/proc/net/netfilter/nfnetlink_queue`.
pub(super) fn queues(text: &str) -> Vec<u32> {
    text.lines().filter_map(|line| line.split_whitespace().next()?.parse().ok()).collect()
}

fn run_dir(folder: &Path) -> RunDir {
    let path = folder.display();
    match fs::metadata(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => RunDir::Absent(path.to_string()),
        Err(error) => RunDir::Refused(format!("{path}: {error}.")),
        Ok(found) if !found.is_dir() => RunDir::Refused(format!("{path} is no folder.")),
        Ok(found) if found.uid() != nix::unistd::geteuid().as_raw() || found.mode() & 0o022 != 0 => {
            let (user, mode) = (found.uid(), found.mode() & 0o7777);
            RunDir::Refused(format!(
                "{path} belongs to user {user} with mode {mode:04o}; nobody but the user of clearwayd may write there."
            ))
        }
        Ok(_) => RunDir::Usable(path.to_string()),
    }
}

/// Lists the journals of a folder, of all network namespaces. The kernel's list of locks tells whether a daemon holds one:
/// to try the lock, as `clearwayd cleanup` does, could hinder a daemon that starts.
fn journals(folder: &Path) -> Vec<JournalFound> {
    let locks = read("/proc/locks").unwrap_or_default();
    let mut found: Vec<JournalFound> = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = path.file_name().and_then(OsStr::to_str).and_then(|name| name.strip_suffix(".journal"));
        let Some((_, device)) = name.and_then(|name| name.split_once('-')) else { continue };
        let lives = fs::metadata(&path).is_ok_and(|file| is_locked(&locks, file.dev(), file.ino()));
        found.push(JournalFound { path: path.display().to_string(), device: device.to_owned(), lives });
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

/// Tells from the text of `/proc/locks` whether somebody holds a lock (`flock`) on a file.
pub(super) fn is_locked(text: &str, device: u64, inode: u64) -> bool {
    let file = format!("{:02x}:{:02x}:{inode}", major(device), minor(device));
    text.lines().any(|line| {
        let mut words = line.split_whitespace();
        words.nth(1) == Some("FLOCK") && words.any(|word| word == file)
    })
}

fn nic(name: &str) -> Result<NicFacts, String> {
    let report = check(name).map_err(|error| error.to_string())?;
    // The rate does not matter here, and a NIC of any rate may be asked for its queues.
    let config = Config::new(vec![Port { device: name.to_owned(), rate: Rate::gbps(1) }]);
    let present = Present::read(&config).map_err(|error| error.to_string());
    let root_qdisc = present.map(|present| present.links.get(name).and_then(|link| link.root.clone()));
    let has_hardware = has_hardware(name, &report.address.to_string());
    Ok(NicFacts { report, has_hardware, root_qdisc })
}

/// Tells whether sysfs shows a device behind a NIC. It may show the NICs of another network namespace, whose addresses
/// differ.
fn has_hardware(name: &str, address: &str) -> bool {
    let folder = Path::new("/sys/class/net").join(name);
    let shown = fs::read_to_string(folder.join("address")).unwrap_or_default();
    shown.trim_end() == address && folder.join("device").exists()
}
