//! Gives the simulator a hash of the sources that decide what the state of a run is and how it goes on, so that a
//! checkpoint is read only by the code that wrote it.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// The crates that hold state of a run, or compute it.
const CRATES: [&str; 5] = ["units", "schema", "topology", "proto", "sim"];

fn main() -> io::Result<()> {
    let crates = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut hasher = blake3::Hasher::new();
    for name in CRATES {
        add(&crates.join(name).join("src"), &mut hasher)?;
    }
    let versions = crates.join("../Cargo.lock");
    if versions.exists() {
        add(&versions, &mut hasher)?;
    }
    println!("cargo::rustc-env=CLEARWAY_SOURCES={}", hasher.finalize().to_hex());
    Ok(())
}

/// Adds a file, or all files in a folder in the order of their names, to a hash.
fn add(path: &Path, hasher: &mut blake3::Hasher) -> io::Result<()> {
    if path.is_dir() {
        println!("cargo::rerun-if-changed={}", path.display());
        let mut entries: Vec<PathBuf> =
            fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
        entries.sort();
        return entries.iter().try_for_each(|entry| add(entry, hasher));
    }
    println!("cargo::rerun-if-changed={}", path.display());
    let content = fs::read(path)?;
    hasher.update(&(content.len() as u64).to_le_bytes()).update(&content);
    Ok(())
}
