//! Flow files of HPCC's ns-3 code.

use super::flow::{Flows, ListError, ListRules, ListedFlow, fail};
use super::number;

const FORM: &str = "write src dst priority dport bytes start-in-seconds";

/// Reads the flow format of HPCC's ns-3 code: a line with the number of flows, and then a line
/// `src dst priority dport bytes start-seconds` for each. Priority and port are ignored, and so is all text after the
/// last counted flow, which is a comment in that code's `mix/flow.txt`.
pub(super) fn parse(text: &str, rules: ListRules) -> Result<Vec<ListedFlow>, ListError> {
    let mut lines = (1..).zip(text.lines().map(str::trim)).filter(|(_, content)| !content.is_empty());
    let Some((count_line, count)) = lines.next() else {
        return fail(1, "the file is empty; write the number of flows, then a line each");
    };
    let Ok(count) = count.parse::<u64>() else {
        return fail(count_line, format!("{count:?} is no number of flows; write it on the first line"));
    };
    let mut flows = Flows::new(rules);
    for (line, content) in lines.take(usize::try_from(count).unwrap_or(usize::MAX)) {
        let words: Vec<&str> = content.split_whitespace().collect();
        let &[src, dst, priority, dport, bytes, start] = words.as_slice() else {
            return fail(line, format!("has {} values for 6; {FORM}", words.len()));
        };
        for (name, word) in [("priority", priority), ("dport", dport)] {
            if word.parse::<u32>().is_err() {
                return fail(line, format!("{name}: {word:?} is no number; {FORM}"));
            }
        }
        let start = number::time(line, "start", start, 12)?;
        let size = number::bytes(line, "bytes", bytes)?;
        flows.push(ListedFlow::plain(line, start, [src, dst], Some(size)))?;
    }
    let flows = flows.flows;
    if flows.len() as u64 != count {
        let problem = format!("says {count} flows but {} lines follow; correct the count", flows.len());
        return fail(count_line, problem);
    }
    Ok(flows)
}
