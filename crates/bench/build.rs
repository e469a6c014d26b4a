//! Records what the benchmark is built from and how, since a figure must say of which build it is.

use std::ffi::OsStr;
use std::process::Command;

/// The words that a program prints, trimmed; none if it fails.
fn printed(program: impl AsRef<OsStr>, arguments: &[&str]) -> Option<String> {
    let output =
        Command::new(program).args(arguments).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}

fn main() {
    println!("cargo:rerun-if-changed=../");
    println!("cargo:rerun-if-env-changed=CARGO_ENCODED_RUSTFLAGS");
    println!("cargo:rerun-if-env-changed=CARGO_PROFILE_RELEASE_LTO");
    if let Some(log) = printed("git", &["rev-parse", "--path-format=absolute", "--git-path", "logs/HEAD"]) {
        println!("cargo:rerun-if-changed={log}");
    }
    let flags =
        std::env::var_os("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default().into_string().unwrap_or_default();
    let lacks_lto = std::env::var_os("CARGO_PROFILE_RELEASE_LTO").is_some_and(|lto| lto == "off");
    let build = match (flags.contains("profile-use"), flags.contains("profile-generate")) {
        (true, _) => "profile-guided",
        (_, true) => "instrumented",
        _ if lacks_lto => "plain, without link-time optimisation",
        _ => "plain",
    };
    println!("cargo:rustc-env=CLEARWAY_BUILD={build}");
    let commit = printed("git", &["rev-parse", "HEAD"]).unwrap_or_else(|| "unknown".into());
    let changes =
        printed("git", &["status", "--porcelain", "--", "..", "../../Cargo.toml", "../../Cargo.lock"]);
    let mark = if changes.is_none_or(|changes| changes.is_empty()) { "" } else { "-dirty" };
    println!("cargo:rustc-env=CLEARWAY_COMMIT={commit}{mark}");
    let rustc = std::env::var_os("RUSTC").and_then(|rustc| printed(&rustc, &["--version"]));
    println!("cargo:rustc-env=CLEARWAY_RUSTC={}", rustc.unwrap_or_else(|| "unknown".into()));
}
