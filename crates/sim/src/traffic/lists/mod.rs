//! Lists of flows in files, in the formats of several simulators.
//!
//! | module | purpose |
//! |---|---|
//! | `flow` | what the readers share: a flow, an error, the rules |
//! | `csv` | a table with a header, as spreadsheets, Polars and pandas write it |
//! | `hpcc` | the flow file of HPCC's ns-3 code |
//! | `ns2` | the flow list of the ExpressPass authors' ns-2 script |
//! | `htsim`, `htsim_triggers` | the connection matrix (`.cm`) of htsim, and its triggers |
//! | `number` | numbers whose unit the column states |

mod csv;
mod flow;
mod hpcc;
mod htsim;
mod htsim_triggers;
mod ns2;
mod number;
#[cfg(test)]
mod tests;

pub use flow::{HtsimUnit, List, ListError, ListFormat, ListRules, ListedFlow, Waits};

use super::triggers::Triggers;

/// Returns the format of a list, by its content or, where that says nothing, by the file's name.
pub fn detect_format(name: &str, text: &str) -> ListFormat {
    let name = name.to_ascii_lowercase();
    let name = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(&name);
    if name.ends_with(".cm") {
        return ListFormat::Htsim;
    }
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let Some(line) = lines.next() else { return ListFormat::Csv };
    let words: Vec<&str> = line.split_whitespace().collect();
    match words[..] {
        ["Nodes" | "Connections" | "Triggers" | "Failures", ..] => ListFormat::Htsim,
        [first, "start" | "id" | "size" | "trigger", ..] if first.contains("->") => ListFormat::Htsim,
        [count] if count.bytes().all(|byte| byte.is_ascii_digit()) => ListFormat::Hpcc,
        [_, _, ..] if words.iter().all(|word| word.parse::<f64>().is_ok()) => ListFormat::Ns2,
        _ => ListFormat::Csv,
    }
}

/// Reads a list of flows.
///
/// # Errors
/// The first line that is not of the format, with the column, the value and what would be right.
pub fn parse_list(format: ListFormat, text: &str, rules: ListRules) -> Result<List, ListError> {
    let flows = match format {
        ListFormat::Csv | ListFormat::Parquet => csv::parse(text, rules)?,
        ListFormat::Hpcc => hpcc::parse(text, rules)?,
        ListFormat::Ns2 => ns2::parse(text, rules)?,
        ListFormat::Htsim => return htsim::parse(text, rules),
    };
    Ok(List { flows, triggers: Triggers::default() })
}
