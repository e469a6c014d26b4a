//! The start of a daemon, rehearsed where nobody else is: in a network namespace and a mount namespace that one thread
//! makes for itself, and that are gone when the thread ends.

use super::facts::{Kind, Trial};
use crate::rules::{Journal, Plan, Step};
use crate::service::config::{ConfigError, Given};
use crate::service::daemon::Job;
use crate::service::jobs::{HostJob, PacJob, switch};
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use std::fs;
use std::path::{Path, PathBuf};

/// The two ends of a virtual link, which stand for NICs.
const NICS: [&str; 2] = ["cwdoctor0", "cwdoctor1"];
/// The bridge of the rehearsed switch.
const BRIDGE: &str = "cwdoctor";

/// Starts a daemon on virtual NICs up to the point at which it would be ready, and undoes everything. The error, a clause
/// for the middle of a sentence, says why nothing could be tried.
pub fn rehearse(kind: Kind) -> Result<Vec<Trial>, String> {
    let thread = std::thread::Builder::new().name("rehearsal".into()).spawn(move || in_namespace(kind));
    let thread = thread.map_err(|error| format!("no thread could be started: {error}"))?;
    thread.join().unwrap_or_else(|_| Err("the rehearsal ended too early".into()))
}

fn in_namespace(kind: Kind) -> Result<Vec<Trial>, String> {
    unshare(CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWNS)
        .map_err(|errno| format!("the kernel allows this process no namespace ({errno})"))?;
    // What tc mounts to load its program stays in this namespace.
    mount(None::<&str>, "/", None::<&str>, MsFlags::MS_REC | MsFlags::MS_PRIVATE, None::<&str>)
        .map_err(|errno| format!("the mounts of a namespace could not be made private ({errno})"))?;
    let scratch = Scratch::new().map_err(|error| format!("no folder could be made: {error}"))?;
    let [first, second] = NICS;
    let link = Step {
        purpose: "A virtual link stands for two NICs.".into(),
        command: words(&format!("ip link add {first} type veth peer name {second}")),
        undo: Some(words(&format!("ip link del {first}"))),
    };
    let link = Plan { steps: vec![link] };
    let journal = Journal::open(&scratch.0, "link", "").map_err(|error| error.to_string())?;
    let _link = link.apply(journal).map_err(|error| error.to_string())?;
    let job = job(kind, &scratch.0).map_err(|error| error.to_string())?;
    Ok(trials(kind, job, &scratch.0))
}

fn job(kind: Kind, folder: &Path) -> Result<Box<dyn Job>, ConfigError> {
    let [first, second] = NICS;
    let given = |flags: &[(&str, &str)]| Given {
        flags: flags
            .iter()
            .chain(&[("rate", "1 Gbps"), ("run_dir", &folder.display().to_string())])
            .map(|(name, value)| (name.to_string(), value.to_string()))
            .collect(),
        ..Given::default()
    };
    match kind {
        Kind::Host => {
            let given = given(&[("dev", first)]);
            Ok(Box::new(HostJob::new(given.read()?, &given)?))
        }
        Kind::Pac => {
            let given = given(&[("dev", first), ("offloads", "off")]);
            Ok(Box::new(PacJob::new(given.read()?, &given)?))
        }
        Kind::Switch => {
            let ports = format!("{first},{second}");
            let given =
                given(&[("ports", &ports), ("bridge", BRIDGE), ("make_bridge", "true"), ("ecn", "20")]);
            switch(given.read()?, &given)
        }
    }
}

/// Goes through the start of a daemon in the order of [`Job`]. What comes after a failure is not tried.
fn trials(kind: Kind, mut job: Box<dyn Job>, folder: &Path) -> Vec<Trial> {
    let (rules, last) = match kind {
        Kind::Host | Kind::Pac => ("rules of iptables", None),
        Kind::Switch => ("traffic control", Some("counters of ports")),
    };
    let mut done = Vec::new();
    let mut applied = None;
    let set = job.plan().and_then(|plan| {
        let journal = Journal::open(folder, NICS[0], "").map_err(|error| error.to_string())?;
        if kind != Kind::Switch {
            done.push(Trial { name: "sockets", result: job.open() });
        }
        applied = Some(plan.apply(journal).map_err(|error| error.to_string())?);
        Ok(())
    });
    let is_set = set.is_ok();
    done.push(Trial { name: rules, result: set });
    if let (Some(name), true) = (last, is_set) {
        done.push(Trial { name, result: job.look_back() });
    }
    drop(applied);
    done
}

fn words(command: &str) -> Vec<String> {
    command.split(' ').map(str::to_owned).collect()
}

/// A folder for journals and for the kernel's program, removed with this value.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> std::io::Result<Scratch> {
        let folder = std::env::temp_dir().join(format!("clearwayd-doctor-{}", std::process::id()));
        // A folder that is there already is an error: it is somebody else's.
        fs::create_dir(&folder).map(|()| Scratch(folder))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
