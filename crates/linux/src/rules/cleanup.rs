//! Undoing what dead daemons have left.

use super::journal::{Contents, Journal, RulesError, read};
use super::namespace::Namespace;
use super::undo::undo_recorded;
use std::fs;
use std::io;
use std::path::Path;

/// The journal of one daemon, as [`cleanup`] found it.
#[derive(Debug)]
pub struct Leftover {
    /// The name of the device.
    pub device: String,
    /// The process that wrote the journal.
    pub pid: String,
    /// The result for this journal.
    pub outcome: Outcome,
}

/// What became of a journal.
#[derive(Debug)]
pub enum Outcome {
    /// The daemon lives, so its rules stay.
    Lives,
    /// The rules were undone; so many steps were left.
    Undone(usize),
    /// The journal was removed without undoing its steps, as the user asked.
    Forgotten(usize),
    /// The network namespace of the rules is gone, and the rules with it.
    NamespaceGone,
    /// The rules are in another network namespace, which can be entered here.
    Elsewhere(String),
    /// The undoing of these steps failed; they stay in the journal.
    Failed(Vec<RulesError>),
}

impl Journal {
    /// Locks the journal of a device, and empties it. Rules that a dead daemon has left for the device are undone first.
    ///
    /// # Errors
    /// Another daemon works on the device, rules that were left cannot be undone, or the file cannot be written.
    pub fn open(folder: &Path, device: &str, command_line: &str) -> Result<Journal, RulesError> {
        Journal::make_folder(folder)?;
        let namespace = Namespace::own().map_err(|error| RulesError::file(folder, error))?;
        let path = Journal::path(folder, &namespace, device);
        let Some(mut journal) = Journal::lock(&path, true)? else {
            let pid = fs::read_to_string(&path).ok().map(|text| read(&text).pid).unwrap_or_default();
            return Err(RulesError::Busy { device: device.into(), pid });
        };
        let contents = journal.contents()?;
        let left = if contents.namespace.as_ref() == Some(&namespace) { contents.left } else { Vec::new() };
        if let Some(problem) = undo_recorded(&mut journal, &left).into_iter().next() {
            return Err(RulesError::Leftover { device: device.into(), problem: problem.to_string() });
        }
        if !left.is_empty() {
            tracing::warn!(
                dev = device,
                steps = left.len(),
                pid = contents.pid,
                "a killed daemon's rules are undone"
            );
        }
        journal.start(&namespace, device, command_line)?;
        Ok(journal)
    }
}

/// Undoes the rules of all daemons that are dead, in this network namespace; of one device only, if it is named. With
/// `forget` the journals are removed and no command is run.
pub fn cleanup(folder: &Path, device: Option<&str>, forget: bool) -> Result<Vec<Leftover>, RulesError> {
    if !folder.exists() {
        return Ok(Vec::new());
    }
    Journal::make_folder(folder)?;
    let own = Namespace::own().map_err(|error| RulesError::file(folder, error))?;
    let entries = fs::read_dir(folder).map_err(|error| RulesError::file(folder, error))?;
    let paths: io::Result<Vec<_>> = entries.map(|entry| entry.map(|entry| entry.path())).collect();
    let mut paths = paths.map_err(|error| RulesError::file(folder, error))?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "journal"));
    paths.sort();
    let mut all = Vec::new();
    for path in paths {
        let Some(mut journal) = Journal::lock(&path, false)? else {
            let name = path.file_stem().and_then(|stem| stem.to_str()?.split_once('-'));
            let name = name.map(|(_, device)| device.to_owned()).unwrap_or_default();
            if device.is_none_or(|device| device == name) {
                all.push(Leftover { device: name, pid: String::new(), outcome: Outcome::Lives });
            }
            continue;
        };
        let contents = journal.contents()?;
        if device.is_none_or(|device| device == contents.device) {
            let (device, pid) = (contents.device.clone(), contents.pid.clone());
            all.push(Leftover { device, pid, outcome: clean(journal, contents, &own, forget)? });
        }
    }
    Ok(all)
}

fn clean(
    mut journal: Journal,
    contents: Contents,
    own: &Namespace,
    forget: bool,
) -> Result<Outcome, RulesError> {
    let left = contents.left.len();
    let outcome = match contents.namespace {
        _ if forget => Outcome::Forgotten(left),
        // The daemon died before it had written the first line.
        None => Outcome::Undone(0),
        Some(theirs) if theirs == *own => {
            let errors = undo_recorded(&mut journal, &contents.left);
            if !errors.is_empty() {
                return Ok(Outcome::Failed(errors));
            }
            Outcome::Undone(left)
        }
        Some(theirs) => match theirs.place().filter(|_| theirs.boot == own.boot && theirs.inode != own.inode)
        {
            Some(place) => return Ok(Outcome::Elsewhere(place.display().to_string())),
            None => Outcome::NamespaceGone,
        },
    };
    journal.remove_socket()?;
    journal.remove()?;
    Ok(outcome)
}
