//! The life of a daemon, from its start to the undoing of its rules.

use super::notify::Notify;
use super::privileges::drop_privileges;
use super::settings::{Folder, ServiceSettings};
use super::stats::{Identity, Server, Shared, socket_path};
use super::watch::{Signals, Watch};
use crate::io::{Supervisor, needs_nice};
use crate::rules::{Journal, Namespace, Plan};
use std::sync::Arc;

/// The work of a daemon. The calls come in the order in which they stand here; an error is one line.
pub trait Job {
    /// Returns the kind of daemon and what it works on.
    fn identity(&self) -> Identity;

    /// Returns the NICs, of which no other daemon may have any.
    fn devices(&self) -> Vec<String>;

    /// Loads what the rules refer to, before they are planned. A dry run does without.
    fn prepare(&mut self) -> Result<(), String> {
        Ok(())
    }

    /// Returns the rules to set, after a look at the machine.
    fn plan(&mut self) -> Result<Plan, String>;

    /// Returns sentences about what a dry run doesn't show, since it is not prepared.
    fn unplanned(&self) -> Vec<String> {
        Vec::new()
    }

    /// Opens the sockets, before the rules are set.
    fn open(&mut self) -> Result<(), String>;

    /// Looks at what the rules have set, before privileges are given up.
    fn look_back(&mut self) -> Result<(), String> {
        Ok(())
    }

    /// Works until the supervisor ends it, after the rules are set and privileges are given up.
    fn drive(&mut self, supervisor: &mut dyn Supervisor) -> Result<(), String>;
}

impl Job for Box<dyn Job> {
    fn identity(&self) -> Identity {
        (**self).identity()
    }

    fn devices(&self) -> Vec<String> {
        (**self).devices()
    }

    fn prepare(&mut self) -> Result<(), String> {
        (**self).prepare()
    }

    fn plan(&mut self) -> Result<Plan, String> {
        (**self).plan()
    }

    fn unplanned(&self) -> Vec<String> {
        (**self).unplanned()
    }

    fn open(&mut self) -> Result<(), String> {
        (**self).open()
    }

    fn look_back(&mut self) -> Result<(), String> {
        (**self).look_back()
    }

    fn drive(&mut self, supervisor: &mut dyn Supervisor) -> Result<(), String> {
        (**self).drive(supervisor)
    }
}

/// The journals of a daemon's NICs. Their files go with this value, unless rules are in them.
struct Locks(Vec<Journal>);

impl Drop for Locks {
    fn drop(&mut self) {
        for journal in self.0.drain(..) {
            // A file that stays lists no rules.
            let _ = journal.remove();
        }
    }
}

/// Runs a daemon until a signal ends it. Rules are undone however it ends, but for SIGKILL.
pub fn run(job: &mut dyn Job, service: &ServiceSettings) -> Result<(), String> {
    let mut signals = Signals::block().map_err(|error| format!("signals cannot be handled: {error}"))?;
    let notify = Notify::from_environment();
    let folder = Folder::of(&service.run_dir);
    let identity = job.identity();
    let command_line: Vec<String> =
        std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    let mut locks = Locks(Vec::new());
    for device in job.devices() {
        let journal = Journal::open(&folder, &device, &command_line.join(" "));
        locks.0.push(journal.map_err(|error| error.to_string())?);
    }
    job.prepare()?;
    let plan = job.plan()?;
    job.open()?;
    let mut server = Server::default();
    let namespace =
        Namespace::own().map_err(|error| format!("the network namespace cannot be told: {error}"))?;
    let socket = socket_path(&folder, &namespace, job.devices().first().map_or("", String::as_str));
    server.listen(&socket).map_err(|error| format!("{}: {error}", socket.display()))?;
    if let Some(endpoint) = &service.metrics {
        server.listen_http(endpoint).map_err(|error| format!("the endpoint for metrics: {error}"))?;
    }
    // The first journal lists the rules; the others say that their NICs are taken.
    if locks.0.is_empty() {
        return Err("a daemon works on at least one NIC".into());
    }
    let journal = locks.0.remove(0);
    let applied = plan.apply(journal).map_err(|error| error.to_string())?;
    job.look_back()?;
    drop_privileges(identity.mode == "host" && needs_nice())?;
    let shared = Arc::new(Shared::new(identity.clone()));
    server.start(Arc::clone(&shared)).map_err(|error| format!("the thread of statistics: {error}"))?;
    let Identity { mode, dev, transport } = &identity;
    tracing::info!(mode, dev, transport, rules = applied.steps().count(), "ready");
    notify.ready(&format!("{transport} on {dev}"));
    let result = job.drive(&mut Watch::new(&mut signals, &notify, shared));
    notify.stopping();
    drop(server);
    let errors = applied.undo();
    for error in &errors {
        tracing::error!(%error, "a rule could not be undone; see `clearwayd cleanup`");
    }
    match errors.is_empty() {
        true => result,
        false => result.and(Err(format!("{} rules could not be undone", errors.len()))),
    }
}
