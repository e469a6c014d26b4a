//! The file of a recording.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;

/// Makes the file of a recording, if there shall be one. Nobody else may read it: it has the seed of cookies, or tells who talks to whom.
pub fn create(path: Option<&str>) -> Result<Option<File>, String> {
    let Some(path) = path else { return Ok(None) };
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    file.map(Some).map_err(|error| format!("record = {path:?}: {error}"))
}
