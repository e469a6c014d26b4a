//! Records the git commit that the module is built from, for the results' `summary.json`.

use std::process::Command;

fn git(args: &[&str]) -> Option<String> {
    let output = Command::new("git").args(args).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}

fn main() {
    println!("cargo:rerun-if-changed=../");
    println!("cargo:rerun-if-changed=build.rs");
    let Some(commit) = git(&["rev-parse", "HEAD"]) else { return };
    if let Some(log) = git(&["rev-parse", "--path-format=absolute", "--git-path", "logs/HEAD"]) {
        println!("cargo:rerun-if-changed={log}");
    }
    let clean = git(&["status", "--porcelain", "--", "..", "../../Cargo.toml", "../../Cargo.lock"]);
    let mark = if clean.is_some_and(|changes| changes.is_empty()) { "" } else { "-dirty" };
    println!("cargo:rustc-env=CLEARWAY_COMMIT={commit}{mark}");
}
