//! The beginning of a recording: a line with the version of the format, and a text in TOML behind its length.

use super::bytes::{RecordError, Source};
use std::io::Read;

/// The first line of a recording, with the version of the format.
const MAGIC: &str = "clearwayd recording 6\n";
/// The first lines of recordings from before small packets were counted in the kernel, from before TCP was asked for its socket, from before bulk data left in the kernel, and from before any
/// packet did. The entries of the third lack orders, and those of the last ones allowances too.
const MAGIC_BEFORE: [&str; 5] = [
    "clearwayd recording 5\n",
    "clearwayd recording 4\n",
    "clearwayd recording 3\n",
    "clearwayd recording 2\n",
    "clearwayd recording 1\n",
];
/// The longest header.
const LENGTH_MAX: u32 = 1 << 20;

/// The actions that the entries of a recording have, by its version.
#[derive(Clone, Copy, Debug)]
pub(super) struct Has {
    /// Allowances of small packets.
    pub allowances: bool,
    /// Orders about bulk data.
    pub orders: bool,
}

/// The title of the table of parameters of the protocol.
pub(super) const PARAMETERS: &str = "parameters";

/// Returns the bytes with which a recording begins, for its text.
pub(super) fn framed(text: &str) -> Vec<u8> {
    let mut bytes = MAGIC.as_bytes().to_vec();
    bytes.extend_from_slice(&(text.len() as u32).to_be_bytes());
    bytes.extend_from_slice(text.as_bytes());
    bytes
}

/// Reads the text at the beginning of a recording, and tells what its entries have.
pub(super) fn read<R: Read>(from: &mut Source<R>) -> Result<(String, Has), RecordError> {
    let no_recording = |_| RecordError::Magic(MAGIC.trim_end());
    let magic: [u8; MAGIC.len()] = from.array().map_err(no_recording)?;
    let mut lines = std::iter::once(MAGIC).chain(MAGIC_BEFORE);
    let age = lines.position(|line| magic == *line.as_bytes());
    let age = age.ok_or_else(|| no_recording(RecordError::CutOff))?;
    let has = Has { orders: age < 3, allowances: age < 4 };
    let len = from.word()?;
    if len > LENGTH_MAX {
        return Err(RecordError::Header("it is too long".into()));
    }
    let mut text = vec![0; len as usize];
    from.fill(&mut text)?;
    let text = String::from_utf8(text).map_err(|_| RecordError::Header("it is no text".into()))?;
    Ok((text, has))
}

/// Returns the value of a line that stands before all tables.
pub(super) fn word<'a>(lines: &[Line<'a>], key: &str) -> Result<&'a str, String> {
    let found = lines.iter().find(|line| line.table.is_empty() && line.key == key);
    found.map(|line| line.value).ok_or(format!("{key} is missing"))
}

/// Returns a number of such a line.
pub(super) fn number(lines: &[Line<'_>], key: &str) -> Result<u64, String> {
    word(lines, key)?.parse::<u64>().map_err(|error| format!("{key}: {error}"))
}

/// A line `key = value` of the header, with the title of its table.
pub(super) struct Line<'a> {
    pub table: &'a str,
    pub key: &'a str,
    pub value: &'a str,
}

/// Returns the lines of the header. They are as headers write them, which is less than TOML allows.
pub(super) fn lines(text: &str) -> Result<Vec<Line<'_>>, String> {
    let (mut table, mut lines) = ("", Vec::new());
    for line in text.lines().filter(|line| !line.is_empty()) {
        if let Some(title) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            table = title;
            continue;
        }
        let (key, value) = line.split_once(" = ").ok_or(format!("{line:?} is no line \"key = value\""))?;
        lines.push(Line { table, key, value: value.trim_matches('"') });
    }
    Ok(lines)
}
