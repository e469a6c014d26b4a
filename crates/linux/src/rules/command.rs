//! Commands of the machine's own tools.

use std::process::{Command, Stdio};

/// The folders in which the tools are, for users whose `PATH` lacks those of the administrator.
pub(crate) const FOLDERS: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Runs a command and waits for its end. The error is one line that says why the command failed, with its own words.
pub(super) fn run(command: &[String]) -> Result<(), String> {
    let (program, arguments) = command.split_first().ok_or("the command is empty")?;
    let output = Command::new(program)
        .args(arguments)
        .env_clear()
        .env("PATH", FOLDERS)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("could not be started: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = if said.trim().is_empty() { String::from_utf8_lossy(&output.stdout) } else { said };
    Err(format!("{}: {}", output.status, clearway_schema::one_line(said.trim())))
}

/// Returns the command as one types it into a shell.
pub fn show(command: &[String]) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@%".contains(c);
    let word = |word: &String| match word.is_empty() || !word.chars().all(plain) {
        true => format!("'{}'", word.replace('\'', r"'\''")),
        false => word.clone(),
    };
    command.iter().map(word).collect::<Vec<_>>().join(" ")
}
