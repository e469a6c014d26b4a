//! Flow lists of the ExpressPass authors' ns-2 script.

use super::flow::{Flows, ListError, ListRules, ListedFlow, fail};
use super::number;

/// Reads a list as `large-scale-fattree.tcl` writes it to `flowfile.tr`: a line `start-seconds src dst bytes` for each
/// flow, with hosts counted from 0. Empty lines and lines that start with `#` are skipped.
pub(super) fn parse(text: &str, rules: ListRules) -> Result<Vec<ListedFlow>, ListError> {
    let mut flows = Flows::new(rules);
    for (line, content) in (1..).zip(text.lines().map(str::trim)) {
        if content.is_empty() || content.starts_with('#') {
            continue;
        }
        let words: Vec<&str> = content.split_whitespace().collect();
        let &[start, src, dst, bytes] = words.as_slice() else {
            let problem = format!("has {} values for 4; write start-in-seconds src dst bytes", words.len());
            return fail(line, problem);
        };
        let start = number::time(line, "start", start, 12)?;
        let size = number::bytes(line, "bytes", bytes)?;
        flows.push(ListedFlow::plain(line, start, [src, dst], Some(size)))?;
    }
    Ok(flows.flows)
}
