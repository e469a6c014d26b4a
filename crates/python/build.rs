//! Records what the module is built from: the git commit, for the results' `summary.json`; whether a profile guided the
//! compiler; and a hash of the simulator's sources, by which results that were computed before are known to be still valid.

use std::path::{Path, PathBuf};
use std::process::Command;

fn git(args: &[&str]) -> Option<String> {
    let output = Command::new("git").args(args).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}

/// All files below `folder` that may change a result, in a fixed order.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() && !["tests", "benches", "examples"].contains(&name.as_str()) {
            sources(&path, found);
        } else if path.is_file() && !name.ends_with(".md") {
            found.push(path);
        }
    }
}

/// A hash of the crates that simulate, their data and their dependencies' versions.
fn sources_hash(root: &Path) -> String {
    let mut found = vec![root.join("Cargo.toml"), root.join("Cargo.lock")];
    for folder in ["crates/units", "crates/topology", "crates/proto", "crates/sim", "workloads"] {
        sources(&root.join(folder), &mut found);
    }
    found.sort();
    let mut hasher = blake3::Hasher::new();
    for path in found {
        hasher.update(path.strip_prefix(root).unwrap_or(&path).to_string_lossy().as_bytes());
        hasher.update(&std::fs::read(&path).unwrap_or_default());
    }
    hasher.finalize().to_hex()[..32].to_owned()
}

/// Writes the example scenarios as a Rust list of (name, text), so that an installed package has them too. An example
/// that names another file is left out, since it can't be read without that file.
fn write_examples(folder: &Path) {
    let mut rows = Vec::new();
    for path in std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let alone = !text.contains("kind = \"file\"");
        if let (Some("toml"), Some(stem), true) =
            (path.extension().and_then(|e| e.to_str()), path.file_stem().and_then(|s| s.to_str()), alone)
        {
            rows.push(format!("({stem:?}, {text:?})"));
        }
    }
    rows.sort();
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join("examples.rs");
    std::fs::write(out, format!("&[{}]", rows.join(", "))).expect("cargo's OUT_DIR can be written");
}

fn main() {
    println!("cargo:rerun-if-changed=../../scenarios");
    write_examples(Path::new("../../scenarios"));
    println!("cargo:rerun-if-changed=../../workloads");
    println!("cargo:rerun-if-changed=../../Cargo.lock");
    println!("cargo:rustc-env=CLEARWAY_SOURCES={}", sources_hash(Path::new("../..")));
    println!("cargo:rerun-if-changed=../");
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=CARGO_ENCODED_RUSTFLAGS");
    let flags = std::env::var_os("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    if flags.to_string_lossy().contains("profile-use") {
        println!("cargo:rustc-env=CLEARWAY_GUIDED=yes");
    }
    let Some(commit) = git(&["rev-parse", "HEAD"]) else { return };
    if let Some(log) = git(&["rev-parse", "--path-format=absolute", "--git-path", "logs/HEAD"]) {
        println!("cargo:rerun-if-changed={log}");
    }
    let clean = git(&["status", "--porcelain", "--", "..", "../../Cargo.toml", "../../Cargo.lock"]);
    let mark = if clean.is_some_and(|changes| changes.is_empty()) { "" } else { "-dirty" };
    println!("cargo:rustc-env=CLEARWAY_COMMIT={commit}{mark}");
}
