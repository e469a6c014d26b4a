//! Records what the module is built from: the git commit and a hash of all sources, which `--version` and the results'
//! `summary.json` have; whether a profile guided the compiler; and a hash of the simulator's sources alone, by which results
//! that were computed before are known to be still valid.

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

/// The folders with the crates that simulate, and their data.
const SIMULATOR: &[&str] = &["crates/units", "crates/topology", "crates/proto", "crates/sim", "workloads"];
/// The folders with all that is compiled into the module.
const MODULE: &[&str] = &[
    "crates/units",
    "crates/schema",
    "crates/topology",
    "crates/proto",
    "crates/sim",
    "crates/trace",
    "crates/planner",
    "crates/findings",
    "crates/vectors",
    "crates/view",
    "crates/python",
    "workloads",
    "scenarios",
];

/// A hash of the files in some folders and of the dependencies' versions.
fn sources_hash(root: &Path, folders: &[&str]) -> String {
    let mut found = vec![root.join("Cargo.toml"), root.join("Cargo.lock")];
    for folder in folders {
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

/// The commit that the sources are of, marked if they were changed since; `None` where git does not have them, as in a
/// package of the sources, be it inside another repository.
fn commit() -> Option<String> {
    git(&["ls-files", "--error-unmatch", "build.rs"])?;
    let commit = git(&["rev-parse", "HEAD"])?;
    if let Some(log) = git(&["rev-parse", "--path-format=absolute", "--git-path", "logs/HEAD"]) {
        println!("cargo:rerun-if-changed={log}");
    }
    let changes = git(&[
        "status",
        "--porcelain",
        "--",
        "..",
        "../../Cargo.toml",
        "../../Cargo.lock",
        "../../workloads",
        "../../scenarios",
    ])?;
    Some(if changes.is_empty() { commit } else { format!("{commit}-dirty") })
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
    println!("cargo:rerun-if-changed=../../Cargo.toml");
    println!("cargo:rustc-env=CLEARWAY_SOURCES={}", sources_hash(Path::new("../.."), SIMULATOR));
    println!("cargo:rustc-env=CLEARWAY_BUILD={}", &sources_hash(Path::new("../.."), MODULE)[..12]);
    println!("cargo:rerun-if-changed=../");
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=CARGO_ENCODED_RUSTFLAGS");
    let flags = std::env::var_os("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    if flags.to_string_lossy().contains("profile-use") {
        println!("cargo:rustc-env=CLEARWAY_GUIDED=yes");
    }
    if let Some(commit) = commit() {
        println!("cargo:rustc-env=CLEARWAY_COMMIT={commit}");
    }
}
