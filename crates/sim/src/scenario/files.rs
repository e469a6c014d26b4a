//! Reading the files that a scenario consists of.

use super::error::ScenarioError;
use clearway_schema::one_line;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Largest scenario, topology or distribution.
pub(super) const TEXT_MAX: u64 = 16_000_000;
/// Largest list of flows.
pub(super) const LIST_MAX: u64 = 256_000_000;

/// A file that was read.
pub(super) struct Text {
    /// Where it is, from the root of the file system.
    pub path: PathBuf,
    /// What it says.
    pub text: String,
}

impl Text {
    /// The hash of what it says.
    pub fn hash(&self) -> String {
        blake3::hash(self.text.as_bytes()).to_hex().to_string()
    }

    /// A problem on a line of this file.
    pub fn error(&self, line: usize, problem: &str) -> ScenarioError {
        ScenarioError { line: Some(line), ..ScenarioError::file(&self.path.display().to_string(), problem) }
    }
}

/// Why a file can't be read.
pub(super) struct Unreadable {
    pub line: Option<usize>,
    pub problem: String,
}

/// The first bytes of a file that gzip packed (RFC 1952).
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Unpacks what gzip packed, at most `max` bytes of it.
fn unpack(packed: &[u8], max: u64) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let unpacked = flate2::read::MultiGzDecoder::new(packed).take(max + 1).read_to_end(&mut bytes);
    unpacked.map_err(|error| format!("is no whole gzip file: {}", one_line(&error.to_string())))?;
    if bytes.len() as u64 > max {
        return Err(format!("is too large once unpacked; the limit is {max} bytes"));
    }
    Ok(bytes)
}

/// Reads a text file of at most `max` bytes, which may be packed by gzip.
pub(super) fn read(path: &Path, max: u64) -> Result<Text, Unreadable> {
    let fail = |problem: String| Unreadable { line: None, problem };
    let unreadable = |error: std::io::Error| fail(format!("can't be read: {}", one_line(&error.to_string())));
    let about = std::fs::metadata(path).map_err(unreadable)?;
    // A pipe or a device might never end.
    if !about.is_file() {
        let what = if about.is_dir() { "a directory" } else { "no file" };
        return Err(fail(format!("is {what}; name a text file")));
    }
    if about.len() > max {
        return Err(fail(format!("is too large, {} bytes; the limit is {max}", about.len())));
    }
    let mut bytes = std::fs::read(path).map_err(unreadable)?;
    if bytes.starts_with(&GZIP) {
        bytes = unpack(&bytes, max).map_err(fail)?;
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        Unreadable { line: Some(line), problem: "is not UTF-8; save it as UTF-8 text".into() }
    })?;
    let path = std::path::absolute(path).map_err(unreadable)?;
    Ok(Text { path, text })
}
