//! The reader of scenario files and of the files that they name, which lie in a folder on the disk or elsewhere.

use super::error::ScenarioError;
use super::packed::unpack;
use clearway_schema::{one_line, suggestion};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;

/// The size limit of a scenario, a topology and a distribution, in bytes.
pub(super) const TEXT_MAX: u64 = 16_000_000;
/// The size limit of a list of flows, in bytes.
pub const LIST_MAX: u64 = 256_000_000;

/// The files that a scenario may name: topologies, lists of flows and distributions of sizes.
///
/// A [`Path`] is a folder on the disk, from which relative names start. A map holds files by name, for a caller that
/// has no disk, such as a web page.
pub trait Files {
    /// Returns the file of a name as it stands in the scenario, unless it has more than `max` bytes.
    ///
    /// # Errors
    /// The reason why the file can't be read, as the end of a sentence that begins with the file's name.
    fn read(&self, name: &str, max: u64) -> Result<File, String>;
}

/// A file that a scenario names.
#[derive(Clone, Debug)]
pub struct File {
    /// The full name, by which the resolved scenario finds the file again.
    pub name: String,
    /// The content, which may be packed in the gzip or Zstandard format.
    pub bytes: Vec<u8>,
    /// True if `name` is a path on the disk, where the reader of Parquet files finds it as well.
    pub is_on_disk: bool,
}

impl<T: Files + ?Sized> Files for &T {
    fn read(&self, name: &str, max: u64) -> Result<File, String> {
        (**self).read(name, max)
    }
}

impl Files for Path {
    fn read(&self, name: &str, max: u64) -> Result<File, String> {
        let path = self.join(name);
        let bytes = on_disk(&path, max)?;
        let path = std::path::absolute(path).map_err(unreadable)?;
        match path.into_os_string().into_string() {
            Ok(name) => Ok(File { name, bytes, is_on_disk: true }),
            Err(_) => Err("lies under a name that is not UTF-8; move it".into()),
        }
    }
}

impl Files for BTreeMap<String, Vec<u8>> {
    fn read(&self, name: &str, max: u64) -> Result<File, String> {
        let wanted = plain_name(name);
        let Some((_, bytes)) = self.iter().find(|(other, _)| plain_name(other) == wanted) else {
            let hint = suggestion(&wanted.join("/"), self.keys().map(String::as_str));
            return Err(format!("can't be read: no file of this name was given{hint}"));
        };
        check_size(bytes.len() as u64, max)?;
        Ok(File { name: name.into(), bytes: bytes.clone(), is_on_disk: false })
    }
}

/// Returns the steps of a name without those that lead nowhere, so that `./a.csv` and `lists/../a.csv` are `a.csv`.
fn plain_name(name: &str) -> Vec<&str> {
    let mut steps: Vec<&str> = Vec::new();
    for step in name.split('/') {
        match step {
            "" | "." => {}
            ".." if steps.last().is_some_and(|last| *last != "..") => {
                steps.pop();
            }
            step => steps.push(step),
        }
    }
    steps
}

/// A file that was read.
pub(super) struct Text {
    /// The full name of the file.
    pub name: String,
    /// The content of the file; of a Parquet file, its table as CSV.
    pub text: String,
    /// The BLAKE3 hash of the file's bytes, once unpacked.
    pub hash: String,
    /// True if the file is a table in the Parquet format.
    pub is_parquet: bool,
}

impl Text {
    /// Makes the error that refuses a line of this file.
    pub fn error(&self, line: usize, problem: &str) -> ScenarioError {
        ScenarioError { line: Some(line), ..ScenarioError::file(&self.name, problem) }
    }
}

/// The reason why a file can't be read.
pub(super) struct Unreadable {
    pub line: Option<usize>,
    pub problem: String,
}

/// The first bytes of a file in the Parquet format.
const PARQUET: [u8; 4] = *b"PAR1";
/// The mark with which some programs, spreadsheets among them, begin a text in UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The refusal of a Parquet file where there is no reader.
const NO_PARQUET: &str = "is a Parquet file, which can be read through Python alone; save it as CSV";

/// Returns the table of a Parquet file as CSV, by the reader that the program around the simulator gave.
fn read_parquet(path: &Path) -> Result<String, String> {
    match PARQUET_READER.get() {
        Some(reader) => reader(path).map_err(|problem| one_line(&problem)),
        None => Err(NO_PARQUET.into()),
    }
}

/// A function that returns the table of a Parquet file as CSV, or says why it can't.
pub type ParquetReader = fn(&Path) -> Result<String, String>;

/// The reader of Parquet files, which the Python package has and this crate has not.
static PARQUET_READER: OnceLock<ParquetReader> = OnceLock::new();

/// Gives the reader of Parquet files, once for the whole program. A second one is ignored.
pub fn read_parquet_with(reader: ParquetReader) {
    let _ = PARQUET_READER.set(reader);
}

/// Reads a text file on the disk of at most `max` bytes, which may be in the gzip or Zstandard format.
pub(super) fn read(path: &Path, max: u64) -> Result<Text, Unreadable> {
    let bytes = on_disk(path, max).map_err(fail)?;
    text(path.display().to_string(), bytes, max, &|| read_parquet(path))
}

/// Reads a text file of at most `max` bytes that a scenario names.
pub(super) fn read_named(files: &dyn Files, name: &str, max: u64) -> Result<Text, Unreadable> {
    let File { name, bytes, is_on_disk } = files.read(name, max).map_err(fail)?;
    let path = Path::new(&name);
    let parquet = || if is_on_disk { read_parquet(path) } else { Err(NO_PARQUET.into()) };
    text(name.clone(), bytes, max, &parquet)
}

/// Returns the text in the bytes of a file, unpacked; `parquet` reads it if it is a Parquet file.
fn text(
    name: String,
    bytes: Vec<u8>,
    max: u64,
    parquet: &dyn Fn() -> Result<String, String>,
) -> Result<Text, Unreadable> {
    let mut bytes = unpack(bytes, max).map_err(fail)?;
    let hash = blake3::hash(&bytes).to_hex().to_string();
    if bytes.starts_with(BYTE_ORDER_MARK) {
        bytes.drain(..BYTE_ORDER_MARK.len());
    }
    let is_parquet = bytes.starts_with(&PARQUET);
    if is_parquet {
        bytes = parquet().map_err(fail)?.into_bytes();
        if bytes.len() as u64 > max {
            return Err(fail(format!("is too large as CSV, {} bytes; the limit is {max}", bytes.len())));
        }
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        Unreadable { line: Some(line), problem: "is not UTF-8; save it as UTF-8 text".into() }
    })?;
    Ok(Text { name, text, hash, is_parquet })
}

/// Returns the bytes of a file on the disk.
fn on_disk(path: &Path, max: u64) -> Result<Vec<u8>, String> {
    if cfg!(target_family = "wasm") {
        return Err("can't be read: there is no disk here".into());
    }
    let about = std::fs::metadata(path).map_err(unreadable)?;
    // A pipe or a device might never end.
    if !about.is_file() {
        let what = if about.is_dir() { "a directory" } else { "no file" };
        return Err(format!("is {what}; name a text file"));
    }
    check_size(about.len(), max)?;
    std::fs::read(path).map_err(unreadable)
}

/// Refuses a file of more than `max` bytes.
fn check_size(bytes: u64, max: u64) -> Result<(), String> {
    if bytes > max {
        return Err(format!("is too large, {bytes} bytes; the limit is {max}"));
    }
    Ok(())
}

fn unreadable(error: std::io::Error) -> String {
    format!("can't be read: {}", one_line(&error.to_string()))
}

fn fail(problem: String) -> Unreadable {
    Unreadable { line: None, problem }
}
