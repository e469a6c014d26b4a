//! The journal: which steps a daemon has carried out, kept in a file that outlives it.
//!
//! The file's lock (`flock`) says whether the daemon lives: the kernel drops it when the process dies, however it does.
//! Each line is a JSON object. A line is on the disk before the change that it announces is made, so the file lists at
//! least what was changed; the last line may be cut off.

use super::namespace::Namespace;
use super::step::Step;
use nix::fcntl::{Flock, FlockArg};
use serde_json::{Value, json};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The reason why rules were not set, or not undone.
#[derive(Debug, Error)]
pub enum RulesError {
    /// A command failed.
    #[error("{command}: {problem}")]
    Command {
        /// The command, as one types it.
        command: String,
        /// The status with which the command ended, and what it said.
        problem: String,
    },
    /// Another daemon works on the device.
    #[error("{device}: another clearwayd works on this device in this network namespace (process {pid})")]
    Busy {
        /// The name of the device.
        device: String,
        /// The process, as its journal says.
        pid: String,
    },
    /// A file or folder cannot be used.
    #[error("{path}: {problem}")]
    File {
        /// The file or folder.
        path: String,
        /// The fault.
        problem: String,
    },
    /// A dead daemon's rules could not be undone.
    #[error(
        "{device}: rules of a daemon that was killed are left and cannot be undone ({problem}); see `clearwayd \
         cleanup`, and `clearwayd cleanup --forget` if they are no longer there"
    )]
    Leftover {
        /// The name of the device.
        device: String,
        /// The first step whose undoing failed, and why.
        problem: String,
    },
}

impl RulesError {
    pub(super) fn file(path: &Path, problem: impl ToString) -> RulesError {
        RulesError::File { path: path.display().to_string(), problem: problem.to_string() }
    }
}

/// A step that is in a journal and not undone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Recorded {
    /// The number of the step in its journal.
    pub number: usize,
    /// True if the journal says that the command succeeded; false if the daemon died during the command.
    pub done: bool,
    /// The step.
    pub step: Step,
}

/// The journal of one daemon for one device. While this value lives, the file is locked.
#[derive(Debug)]
pub struct Journal {
    file: Flock<File>,
    path: PathBuf,
    /// The number of the next step.
    next: usize,
}

/// The contents of a journal.
#[derive(Debug)]
pub(super) struct Contents {
    pub device: String,
    pub pid: String,
    pub namespace: Option<Namespace>,
    /// The steps that were begun and not undone, in the order in which they were begun.
    pub left: Vec<Recorded>,
}

impl Journal {
    /// Makes the folder for journals, or checks the one that is there: `clearwayd cleanup` runs the commands that it
    /// finds in it, so nobody else may write there.
    pub fn make_folder(folder: &Path) -> Result<(), RulesError> {
        let fail = |problem: String| RulesError::file(folder, problem);
        let made = fs::DirBuilder::new().recursive(true).mode(0o755).create(folder);
        made.map_err(|error| fail(format!("cannot be made: {error}")))?;
        let found = fs::metadata(folder).map_err(|error| fail(error.to_string()))?;
        if found.uid() != nix::unistd::geteuid().as_raw() || found.mode() & 0o022 != 0 {
            let mode = found.mode() & 0o7777;
            return Err(fail(format!(
                "belongs to user {} with mode {mode:04o}; it must belong to the user of clearwayd, and nobody else may \
                 write there, because `clearwayd cleanup` runs commands from it",
                found.uid()
            )));
        }
        Ok(())
    }

    /// Returns the file of a device's journal.
    pub fn path(folder: &Path, namespace: &Namespace, device: &str) -> PathBuf {
        folder.join(format!("{}-{device}.journal", namespace.cookie))
    }

    /// Empties the journal, and writes whose it is.
    pub(super) fn start(
        &mut self,
        namespace: &Namespace,
        device: &str,
        command_line: &str,
    ) -> Result<(), RulesError> {
        let emptied = self.file.set_len(0).and_then(|()| self.file.rewind());
        emptied.map_err(|error| RulesError::file(&self.path, error))?;
        self.write(&json!({
            "clearwayd": env!("CARGO_PKG_VERSION"), "device": device, "pid": std::process::id(),
            "command_line": command_line, "boot": namespace.boot, "namespace": namespace.cookie,
            "inode": namespace.inode,
        }))
    }

    /// Locks a journal's file. Returns `None` if a living daemon holds it, or if it is not there and `make` is false.
    pub(super) fn lock(path: &Path, make: bool) -> Result<Option<Journal>, RulesError> {
        let fail = |error: io::Error| RulesError::file(path, error);
        loop {
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(make).mode(0o600).custom_flags(libc::O_NOFOLLOW);
            let file = match options.open(path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound && !make => return Ok(None),
                other => other.map_err(fail)?,
            };
            let file = match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
                Ok(file) => file,
                Err((_, nix::errno::Errno::EWOULDBLOCK)) => return Ok(None),
                Err((_, error)) => return Err(fail(error.into())),
            };
            // Between the opening and the lock another process may have removed the file.
            let locked = file.metadata().map_err(fail)?.ino();
            if fs::metadata(path).is_ok_and(|found| found.ino() == locked) {
                return Ok(Some(Journal { file, path: path.into(), next: 0 }));
            }
        }
    }

    pub(super) fn contents(&mut self) -> Result<Contents, RulesError> {
        let mut bytes = Vec::new();
        self.file.rewind().map_err(|error| RulesError::file(&self.path, error))?;
        self.file.read_to_end(&mut bytes).map_err(|error| RulesError::file(&self.path, error))?;
        Ok(read(&String::from_utf8_lossy(&bytes)))
    }

    /// Removes the socket for statistics that a dead daemon has left beside its journal, if there is one.
    pub(super) fn remove_socket(&self) -> Result<(), RulesError> {
        let path = self.path.with_extension("sock");
        let is_socket = fs::symlink_metadata(&path).is_ok_and(|found| found.file_type().is_socket());
        if is_socket {
            fs::remove_file(&path).map_err(|error| RulesError::file(&path, error))
        } else {
            Ok(())
        }
    }

    /// Removes the file, whose rules are undone.
    pub fn remove(self) -> Result<(), RulesError> {
        fs::remove_file(&self.path).map_err(|error| RulesError::file(&self.path, error))
    }

    /// Writes that a step begins. Returns the number of the step.
    pub(super) fn begin(&mut self, step: &Step) -> Result<usize, RulesError> {
        let number = self.next;
        self.next += 1;
        let Step { purpose, command, undo } = step;
        self.write(&json!({"begin": number, "purpose": purpose, "command": command, "undo": undo}))?;
        Ok(number)
    }

    pub(super) fn done(&mut self, number: usize) -> Result<(), RulesError> {
        self.write(&json!({"done": number}))
    }

    pub(super) fn undone(&mut self, number: usize) -> Result<(), RulesError> {
        self.write(&json!({"undone": number}))
    }

    fn write(&mut self, line: &Value) -> Result<(), RulesError> {
        let written =
            self.file.write_all(format!("{line}\n").as_bytes()).and_then(|()| self.file.sync_data());
        written.map_err(|error| RulesError::file(&self.path, error))
    }
}

/// Reads a journal. Lines that are cut off or of an unknown kind are passed over.
pub(super) fn read(text: &str) -> Contents {
    let mut contents =
        Contents { device: String::new(), pid: String::new(), namespace: None, left: Vec::new() };
    for line in text.lines() {
        let Ok(line) = serde_json::from_str::<Value>(line) else { continue };
        let number = |key: &str| line.get(key).and_then(Value::as_u64).map(|number| number as usize);
        let text = |key: &str| line.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let words = |key: &str| -> Option<Vec<String>> {
            line.get(key)?.as_array()?.iter().map(|word| word.as_str().map(str::to_owned)).collect()
        };
        if line.get("clearwayd").is_some() {
            contents.device = text("device");
            contents.pid = line.get("pid").map(Value::to_string).unwrap_or_default();
            let numbers =
                line.get("namespace").and_then(Value::as_u64).zip(line.get("inode").and_then(Value::as_u64));
            contents.namespace =
                numbers.map(|(cookie, inode)| Namespace { boot: text("boot"), cookie, inode });
        } else if let Some((number, command)) = number("begin").zip(words("command")) {
            let step = Step { purpose: text("purpose"), command, undo: words("undo") };
            contents.left.push(Recorded { number, done: false, step });
        } else if let Some(number) = number("done") {
            contents.left.iter_mut().filter(|step| step.number == number).for_each(|step| step.done = true);
        } else if let Some(number) = number("undone") {
            contents.left.retain(|step| step.number != number);
        }
    }
    contents
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_that_is_cut_off_anywhere_lists_the_steps_before_the_cut() {
        let text = concat!(
            "{\"clearwayd\":\"0.1.0\",\"device\":\"eth0\",\"pid\":7,\"boot\":\"b\",\"namespace\":3,\"inode\":9}\n",
            "{\"begin\":0,\"purpose\":\"One.\",\"command\":[\"a\"],\"undo\":[\"b\"]}\n",
            "{\"done\":0}\n",
            "{\"begin\":1,\"purpose\":\"Two.\",\"command\":[\"c\"],\"undo\":null}\n",
            "{\"undone\":0}\n",
        );
        let ends: Vec<usize> = text.match_indices('\n').map(|(at, _)| at).collect();
        for cut in 0..=text.len() {
            let contents = read(&text[..cut]);
            let whole = ends.iter().filter(|&&end| end <= cut).count();
            let left: Vec<_> = contents.left.iter().map(|step| (step.number, step.done)).collect();
            let expected: &[(usize, bool)] = match whole {
                0 | 1 => &[],
                2 => &[(0, false)],
                3 => &[(0, true)],
                4 => &[(0, true), (1, false)],
                _ => &[(1, false)],
            };
            assert_eq!(left, expected, "cut at {cut}");
            assert_eq!(contents.namespace.is_some(), whole >= 1, "cut at {cut}");
        }
    }
}
