//! The reader of scenario files and of the files that they name.

use super::error::ScenarioError;
use clearway_schema::one_line;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The size limit of a scenario, a topology and a distribution, in bytes.
pub(super) const TEXT_MAX: u64 = 16_000_000;
/// The size limit of a list of flows, in bytes.
pub(super) const LIST_MAX: u64 = 256_000_000;

/// A file that was read.
pub(super) struct Text {
    /// The full path of the file.
    pub path: PathBuf,
    /// The content of the file.
    pub text: String,
}

impl Text {
    /// Returns the BLAKE3 hash of the content.
    pub fn hash(&self) -> String {
        blake3::hash(self.text.as_bytes()).to_hex().to_string()
    }

    /// Makes the error that refuses a line of this file.
    pub fn error(&self, line: usize, problem: &str) -> ScenarioError {
        ScenarioError { line: Some(line), ..ScenarioError::file(&self.path.display().to_string(), problem) }
    }
}

/// The reason why a file can't be read.
pub(super) struct Unreadable {
    pub line: Option<usize>,
    pub problem: String,
}

/// The first bytes of a file in the gzip format (RFC 1952).
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Unpacks at most `max` bytes of a file in the gzip format.
fn unpack(packed: &[u8], max: u64) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let unpacked = flate2::read::MultiGzDecoder::new(packed).take(max + 1).read_to_end(&mut bytes);
    unpacked.map_err(|error| format!("is no whole gzip file: {}", one_line(&error.to_string())))?;
    if bytes.len() as u64 > max {
        return Err(format!("is too large once unpacked; the limit is {max} bytes"));
    }
    Ok(bytes)
}

/// Reads a text file of at most `max` bytes, which may be in the gzip format.
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
