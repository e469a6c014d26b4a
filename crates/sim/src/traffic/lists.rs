//! Flows that are known in advance: files that list them, and patterns of senders and receivers.

use clearway_proto::Rng;
use clearway_units::{Bytes, Time};
use thiserror::Error;

/// A flow of a file, whose hosts are not yet looked up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ListedFlow {
    /// The line of the file, counted from 1.
    pub line: usize,
    /// The time at which the flow starts.
    pub start: Time,
    /// The host that sends.
    pub src: String,
    /// The host that receives.
    pub dst: String,
    /// The size of the flow.
    pub size: Bytes,
}

/// The reason why a file is no list of flows.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{problem}")]
pub struct ListError {
    /// The line of the file, counted from 1.
    pub line: usize,
    /// The fault, and what would be right.
    pub problem: String,
}

fn fail<T>(line: usize, problem: impl Into<String>) -> Result<T, ListError> {
    Err(ListError { line, problem: problem.into() })
}

/// Returns the text of a unit error without the value, which the message shows already.
fn read<T: std::str::FromStr<Err = clearway_units::UnitError>>(
    line: usize,
    column: &str,
    text: &str,
) -> Result<T, ListError> {
    text.parse().or_else(|error| fail(line, format!("{column}: {error}")))
}

/// Reads a CSV file with the columns `start`, `src`, `dst` and `size` in any order, named on the first line. Values
/// have units (`10 us`, `1 MB`) unless the column's name states the unit: `start_s`, `start_ms`, `start_us`,
/// `start_ns`, `start_ps`, `size_bytes`. Empty lines and lines that start with `#` are skipped.
///
/// # Errors
/// A line is not of that form; the first such line is named.
pub fn parse_csv(text: &str) -> Result<Vec<ListedFlow>, ListError> {
    const COLUMNS: &str = "write a first line such as start,src,dst,size";
    let mut lines = (1..)
        .zip(text.lines().map(str::trim))
        .filter(|(_, content)| !content.is_empty() && !content.starts_with('#'));
    let Some((header_line, header)) = lines.next() else {
        return fail(1, format!("the file is empty; {COLUMNS}"));
    };
    let names: Vec<&str> = header.split(',').map(str::trim).collect();
    let (mut start, mut src, mut dst, mut size) = (None, None, None, None);
    for (at, &name) in names.iter().enumerate() {
        let (column, unit) = match name {
            "src" => (&mut src, ""),
            "dst" => (&mut dst, ""),
            "start" => (&mut start, ""),
            "start_s" => (&mut start, " s"),
            "start_ms" => (&mut start, " ms"),
            "start_us" => (&mut start, " us"),
            "start_ns" => (&mut start, " ns"),
            "start_ps" => (&mut start, " ps"),
            "size" => (&mut size, ""),
            "size_bytes" => (&mut size, " B"),
            _ => return fail(header_line, format!("{name:?} is no column; {COLUMNS}")),
        };
        if column.replace((at, unit)).is_some() {
            return fail(header_line, format!("the column {name:?} stands there twice; {COLUMNS}"));
        }
    }
    let (Some(start), Some(src), Some(dst), Some(size)) = (start, src, dst, size) else {
        return fail(header_line, format!("a column is missing; {COLUMNS}"));
    };
    let mut flows = Vec::new();
    for (line, content) in lines {
        let values: Vec<&str> = content.split(',').map(str::trim).collect();
        if values.len() != names.len() {
            let problem = format!("has {} values; the first line names {}", values.len(), names.len());
            return fail(line, problem);
        }
        let value = |(at, unit): (usize, &str)| format!("{}{unit}", values[at]);
        flows.push(ListedFlow {
            line,
            start: read(line, "start", &value(start))?,
            src: value(src),
            dst: value(dst),
            size: read(line, "size", &value(size))?,
        });
    }
    Ok(flows)
}

/// Reads the flow format of HPCC's ns-3 fork: a line with the number of flows, and then a line
/// `src dst priority dport bytes start-seconds` for each. Priority and port are ignored, and so is all text after the
/// last counted flow, which is a comment in the fork's `mix/flow.txt`.
///
/// # Errors
/// A counted line is not of that form, or the count is above the number of lines.
pub fn parse_hpcc(text: &str) -> Result<Vec<ListedFlow>, ListError> {
    const FORM: &str = "write src dst priority dport bytes start-in-seconds";
    let mut lines = (1..).zip(text.lines().map(str::trim)).filter(|(_, content)| !content.is_empty());
    let Some((count_line, count)) = lines.next() else {
        return fail(1, "the file is empty; write the number of flows, then a line each");
    };
    let Ok(count) = count.parse::<u64>() else {
        return fail(count_line, format!("{count:?} is no number of flows; write it on the first line"));
    };
    let mut flows = Vec::new();
    for (line, content) in lines.take(usize::try_from(count).unwrap_or(usize::MAX)) {
        let words: Vec<&str> = content.split_whitespace().collect();
        let &[src, dst, priority, dport, bytes, start] = words.as_slice() else {
            return fail(line, format!("has {} values for 6; {FORM}", words.len()));
        };
        for (name, word) in [("priority", priority), ("dport", dport)] {
            if word.parse::<u32>().is_err() {
                return fail(line, format!("{name} {word:?} is no number; {FORM}"));
            }
        }
        flows.push(ListedFlow {
            line,
            start: read(line, "start", &format!("{start} s"))?,
            src: src.into(),
            dst: dst.into(),
            size: read(line, "bytes", &format!("{bytes} B"))?,
        });
    }
    if flows.len() as u64 != count {
        let problem = format!("says {count} flows but {} lines follow; correct the count", flows.len());
        return fail(count_line, problem);
    }
    Ok(flows)
}

/// Returns for each of `count` hosts the host that it sends to. They form a random cycle, so that no host sends to
/// itself and each receives from one (Sattolo's algorithm). `count` is at least 2.
pub fn random_permutation(count: usize, rng: &mut Rng) -> Vec<usize> {
    let mut to: Vec<usize> = (0..count).collect();
    for last in (1..count).rev() {
        to.swap(last, rng.below(last as u64) as usize);
    }
    to
}

/// Draws two different numbers below `count`, uniformly over all such pairs. `count` is at least 2.
pub fn random_pair(count: usize, rng: &mut Rng) -> (usize, usize) {
    let first = rng.below(count as u64) as usize;
    let second = rng.below(count as u64 - 1) as usize;
    (first, if second >= first { second + 1 } else { second })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clearway_proto::{Entity, Rng};
    use proptest::prelude::*;

    #[test]
    fn a_csv_file_may_order_its_columns_and_name_units_in_them() {
        let expected = ListedFlow {
            line: 2,
            start: Time::from_ps(10_000_000),
            src: "h0".into(),
            dst: "h3".into(),
            size: Bytes::new(1_000_000),
        };
        for text in
            ["start,src,dst,size\n10 us,h0,h3,1 MB\n", "size_bytes, dst, src, start_us\n1000000, h3, h0, 10"]
        {
            assert_eq!(parse_csv(text).unwrap(), std::slice::from_ref(&expected));
        }
    }

    #[test]
    fn a_csv_file_of_another_form_is_refused_with_its_line() {
        let refused = |text: &str| {
            let error = parse_csv(text).unwrap_err();
            format!("{}: {}", error.line, error.problem)
        };
        assert_eq!(refused(""), "1: the file is empty; write a first line such as start,src,dst,size");
        assert!(refused("start,src,dst\n").starts_with("1: a column is missing"));
        assert!(refused("start,src,dst,size,colour\n").starts_with("1: \"colour\" is no column"));
        assert!(refused("start,src,src,size\n").contains("twice"));
        assert_eq!(refused("start,src,dst,size\n\n1 us,h0,h1"), "3: has 3 values; the first line names 4");
        assert!(refused("start,src,dst,size\n1,h0,h1,3 KB").starts_with("2: start: \"1\" has no unit"));
    }

    #[test]
    fn the_flow_format_of_hpcc_is_read_to_the_picosecond() {
        let flows = parse_hpcc("2\n0 1 3 100 1000 2.000000001\n\n5 4 3 100 200000 2\n").unwrap();
        assert_eq!(flows[0].start, Time::from_ps(2_000_000_001_000));
        assert_eq!((flows[1].line, flows[1].src.as_str(), flows[1].size), (4, "5", Bytes::new(200_000)));
    }

    #[test]
    fn text_after_the_last_counted_flow_is_ignored() {
        let text = "2\n2 1 3 100 200000000 2\n3 1 3 100 5000000 2\n4 1 3 100 150000000 2\n...\n\n\
                    Please order the flows in ascending start_time!\n";
        let flows = parse_hpcc(text).unwrap();
        let read: Vec<(&str, u64)> = flows.iter().map(|flow| (flow.src.as_str(), flow.size.get())).collect();
        assert_eq!(read, [("2", 200_000_000), ("3", 5_000_000)]);
    }

    #[test]
    fn a_count_of_more_flows_than_there_are_is_refused() {
        let error = parse_hpcc("3\n0 1 3 100 1000 2.0\n").unwrap_err();
        assert_eq!(error.to_string(), "says 3 flows but 1 lines follow; correct the count");
        assert!(parse_hpcc("1\n0 1 3 100 1000\n").unwrap_err().problem.starts_with("has 5 values for 6"));
    }

    proptest! {
        #[test]
        fn in_a_permutation_everybody_receives_once_and_nobody_from_itself(count in 2usize..200, seed: u64) {
            let to = random_permutation(count, &mut Rng::stream(seed, Entity::Traffic, 0));
            let mut seen = vec![false; count];
            for (from, &to) in to.iter().enumerate() {
                prop_assert!(from != to && !std::mem::replace(&mut seen[to], true));
            }
        }

        #[test]
        fn a_random_pair_differs(count in 2usize..200, seed: u64) {
            let (a, b) = random_pair(count, &mut Rng::stream(seed, Entity::Traffic, 0));
            prop_assert!(a != b && a < count && b < count);
        }

        #[test]
        fn any_text_is_read_or_refused(text in "(start,src,dst,size\n|1\n)?[0-9a-z ,.\n-]{0,60}") {
            let _ = (parse_csv(&text), parse_hpcc(&text));
        }
    }
}
