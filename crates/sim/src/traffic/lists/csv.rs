//! Lists of flows as CSV.

use super::flow::{Flows, ListError, ListRules, ListedFlow, Waits, fail};
use super::number;
use crate::traffic::triggers::Done;
use clearway_schema::Field;
use clearway_units::{Bytes, Span, Time, UnitError};

const COLUMNS: &str =
    "write a first line such as start,src,dst,size (or start_us and size_bytes for plain numbers)";

/// The unit that the name of a column states.
#[derive(Clone, Copy)]
enum Unit {
    /// Values have units of their own.
    Written,
    /// Values are numbers times a power of ten of the smallest unit.
    Power(i64),
}

/// A column: its place in a line, its name, and its unit.
#[derive(Clone, Copy)]
struct Column<'a> {
    at: usize,
    name: &'a str,
    unit: Unit,
}

/// The columns of a list.
struct Columns<'a> {
    count: usize,
    start: Column<'a>,
    src: Column<'a>,
    dst: Column<'a>,
    size: Column<'a>,
    connection: Option<Column<'a>>,
    name: Option<Column<'a>>,
    after: Option<Column<'a>>,
    pause: Option<Column<'a>>,
    done: Option<Column<'a>>,
}

impl<'a> Columns<'a> {
    fn of(line: usize, names: &'a [String]) -> Result<Columns<'a>, ListError> {
        let [mut start, mut src, mut dst, mut size] = [None; 4];
        let [mut connection, mut own, mut after, mut pause, mut done] = [None; 5];
        for (at, name) in names.iter().enumerate() {
            let (column, unit) = match name.as_str() {
                "src" => (&mut src, Unit::Written),
                "dst" => (&mut dst, Unit::Written),
                "start" => (&mut start, Unit::Written),
                "start_s" => (&mut start, Unit::Power(12)),
                "start_ms" => (&mut start, Unit::Power(9)),
                "start_us" => (&mut start, Unit::Power(6)),
                "start_ns" => (&mut start, Unit::Power(3)),
                "start_ps" => (&mut start, Unit::Power(0)),
                "size" => (&mut size, Unit::Written),
                "size_bytes" => (&mut size, Unit::Power(0)),
                "connection" => (&mut connection, Unit::Written),
                "name" => (&mut own, Unit::Written),
                "after" => (&mut after, Unit::Written),
                "pause" => (&mut pause, Unit::Written),
                "done" => (&mut done, Unit::Written),
                _ => return fail(line, format!("{name:?} is no column; {COLUMNS}")),
            };
            if column.replace(Column { at, name, unit }).is_some() {
                return fail(line, format!("the column {name:?} stands there twice; {COLUMNS}"));
            }
        }
        let missing = |column: Option<Column<'a>>, name: &str| match column {
            Some(column) => Ok(column),
            None => fail(line, format!("a column is missing, {name}; {COLUMNS}")),
        };
        Ok(Columns {
            count: names.len(),
            start: missing(start, "start")?,
            src: missing(src, "src")?,
            dst: missing(dst, "dst")?,
            size: missing(size, "size")?,
            connection,
            name: own,
            after,
            pause,
            done,
        })
    }

    /// Reads a line whose values are `values`. With `comma`, a decimal comma stands for a point.
    fn flow(&self, line: usize, values: &mut [String], comma: bool) -> Result<ListedFlow, ListError> {
        if values.len() != self.count {
            let problem = format!("has {} values; the first line names {}", values.len(), self.count);
            return fail(line, problem);
        }
        if comma {
            for column in [self.start, self.size] {
                values[column.at] = values[column.at].replace(',', ".");
            }
        }
        let written = |column: Column<'_>, error: UnitError| ListError {
            line,
            problem: clearway_schema::one_line(&format!("{}: {error}", column.name)),
        };
        let waits = self.waits(line, values)?;
        let start = &values[self.start.at];
        let start = match (self.start.unit, &waits) {
            (_, Some(_)) if start.is_empty() => Time::ZERO,
            (_, Some(_)) => {
                let problem = "a flow that waits for others has no start; leave it empty, and write pause if it begins later";
                return fail(line, format!("{}: {start:?}: {problem}", self.start.name));
            }
            (Unit::Written, None) => start.parse::<Time>().map_err(|error| written(self.start, error))?,
            (Unit::Power(power), None) => number::time(line, self.start.name, start, power)?,
        };
        let size = &values[self.size.at];
        let size = match self.size.unit {
            Unit::Written => size.parse::<Bytes>().map_err(|error| written(self.size, error))?,
            Unit::Power(_) => number::bytes(line, self.size.name, size)?,
        };
        let (connection, name) = (take(self.connection, values), take(self.name, values));
        if self.after.is_some()
            && let Some(name) = name.as_ref().filter(|name| name.contains(char::is_whitespace))
        {
            return fail(
                line,
                format!("name: {name:?} has a space, which parts names in after; write one without"),
            );
        }
        let mut host = |column: Column<'_>| match std::mem::take(&mut values[column.at]) {
            name if name.is_empty() => fail(line, format!("{} is empty; name a host", column.name)),
            name => Ok(name),
        };
        let (src, dst) = (host(self.src)?, host(self.dst)?);
        let size = Some(size);
        Ok(ListedFlow { line, start, src, dst, size, connection, name, waits })
    }

    /// Reads what a flow waits for.
    fn waits(&self, line: usize, values: &mut [String]) -> Result<Option<Waits>, ListError> {
        let Some(after) = take(self.after, values) else {
            for column in [self.pause, self.done].into_iter().flatten() {
                if take(Some(column), values).is_some() {
                    let problem = "means nothing where the flow waits for no other; leave it empty, or name others in after";
                    return fail(line, format!("{}: {problem}", column.name));
                }
            }
            return Ok(None);
        };
        let pause = match take(self.pause, values) {
            Some(pause) => pause.parse::<Span>().or_else(|error| fail(line, format!("pause: {error}")))?,
            None => Span::ZERO,
        };
        let done = match take(self.done, values) {
            Some(done) => Done::read(&done.as_str().into())
                .or_else(|problem| fail(line, format!("done: {done:?}: {problem}")))?,
            None => Done::Delivered,
        };
        Ok(Some(Waits { after: after.split_whitespace().map(str::to_owned).collect(), pause, done }))
    }
}

/// Takes the value of a column out of a line, unless there is none or it is empty.
fn take(column: Option<Column<'_>>, values: &mut [String]) -> Option<String> {
    let value = column.map(|column| std::mem::take(&mut values[column.at]));
    value.filter(|value| !value.is_empty())
}

/// Splits a line into its values; those in quotes may hold the separator, and `""` there is a quote.
fn split(line: usize, text: &str, separator: char) -> Result<Vec<String>, ListError> {
    if !text.contains('"') {
        return Ok(text.split(separator).map(|value| value.trim().to_owned()).collect());
    }
    let (mut values, mut rest) = (Vec::new(), text);
    loop {
        let start = rest.trim_start_matches(' ');
        let Some(mut quoted) = start.strip_prefix('"') else {
            let (value, next) = rest.split_once(separator).map_or((rest, None), |(a, b)| (a, Some(b)));
            values.push(value.trim().to_owned());
            match next {
                Some(next) => rest = next,
                None => return Ok(values),
            }
            continue;
        };
        let mut value = String::new();
        loop {
            let Some((part, next)) = quoted.split_once('"') else {
                return fail(line, format!("value {} has no closing quote; write \"...\"", values.len() + 1));
            };
            value.push_str(part);
            quoted = next;
            match quoted.strip_prefix('"') {
                Some(next) => {
                    value.push('"');
                    quoted = next;
                }
                None => break,
            }
        }
        values.push(value.trim().to_owned());
        let after = quoted.trim_start_matches(' ');
        if after.trim().is_empty() {
            return Ok(values);
        }
        match after.strip_prefix(separator) {
            Some(next) => rest = next,
            None => {
                return fail(
                    line,
                    format!("value {} goes on after its closing quote; end it there", values.len()),
                );
            }
        }
    }
}

/// Returns the separator of a header: a semicolon or a tab where it has one, else a comma.
fn separator(header: &str) -> char {
    [';', '\t'].into_iter().find(|&separator| header.contains(separator)).unwrap_or(',')
}

/// Reads a CSV file with the columns `start`, `src`, `dst` and `size` in any order, named on the first line. Values
/// have units (`10 us`, `1 MB`) unless the column's name states the unit: `start_s`, `start_ms`, `start_us`,
/// `start_ns`, `start_ps`, `size_bytes`. A column `connection` names the connection of which a flow is a message; where it is
/// empty, the flow has one of its own. A column `after` names the flows, by the column `name`, for which a flow waits in place
/// of a start, and columns `pause` and `done` say more of that. Values are separated by commas, semicolons or tabs; with semicolons, numbers
/// may have a decimal comma, as spreadsheets write them in many countries. Empty lines and lines that start with `#`
/// are skipped, and so is the first line `sep=;` of some spreadsheets.
pub(super) fn parse(text: &str, rules: ListRules) -> Result<Vec<ListedFlow>, ListError> {
    let mut lines = (1..)
        .zip(text.lines().map(str::trim))
        .filter(|(_, content)| !content.is_empty() && !content.starts_with('#'))
        .peekable();
    let told =
        lines.peek().and_then(|(_, line)| line.strip_prefix("sep=")).and_then(|rest| rest.chars().next());
    if told.is_some() {
        lines.next();
    }
    let Some((header_line, header)) = lines.next() else {
        return fail(1, format!("the file is empty; {COLUMNS}"));
    };
    let separator = told.unwrap_or_else(|| separator(header));
    let names: Vec<String> = split(header_line, header, separator)?;
    let columns = Columns::of(header_line, &names)?;
    let mut flows = Flows::new(rules);
    for (line, content) in lines {
        let mut values = split(line, content, separator)?;
        flows.push(columns.flow(line, &mut values, separator == ';')?)?;
    }
    Ok(flows.flows)
}
