//! How much, how marked, how late: amounts, marking thresholds, delays.

use super::{Field, quoted, scalar, without_value};
use crate::model::{Amount, Delay};
use crate::scenario::document::Value;
use crate::scenario::error::suggestion;
use clearway_units::{Bytes, Span, UnitError};

impl Field for Amount {
    fn kind() -> String {
        "size, \"N packets\" or \"unlimited\"".into()
    }

    fn read(value: &Value) -> Result<Amount, String> {
        const RIGHT: &str = "write a size such as \"384.5 KB\", \"250 packets\" or \"unlimited\"";
        let Some(text) = scalar(value) else { return Err(format!("is no amount; {RIGHT}")) };
        let text = text.trim();
        if text == "unlimited" {
            return Ok(Amount::UNLIMITED);
        }
        if let Some(count) = text.strip_suffix("packets").or_else(|| text.strip_suffix("packet")) {
            let count = count.trim().replace('_', "").parse::<u32>().ok().filter(|&count| count > 0);
            let packets = count.ok_or_else(|| format!("is no number of packets; {RIGHT}"))?;
            return Ok(Amount { packets, ..Amount::UNLIMITED });
        }
        let bytes: Bytes = text.parse().map_err(|error: UnitError| {
            let problem = without_value(&error, text);
            let problem = problem.split(';').next().unwrap_or_default().to_owned();
            format!("{problem}; {RIGHT}")
        })?;
        match bytes {
            Bytes::ZERO => Err(format!("holds nothing; {RIGHT}")),
            bytes => Ok(Amount { bytes, ..Amount::UNLIMITED }),
        }
    }

    fn write(&self) -> Option<String> {
        Some(quoted(&match (self.bytes, self.packets) {
            (Bytes::MAX, u32::MAX) => "unlimited".into(),
            (Bytes::MAX, packets) => format!("{packets} packets"),
            (bytes, _) => bytes.to_string(),
        }))
    }
}

/// Marking as written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MarkingWord {
    Off,
    Auto,
    ByRate,
    Red,
    Above(Amount),
}

impl Field for MarkingWord {
    fn kind() -> String {
        "\"auto\", \"off\", \"by-rate\", \"red\", size or \"N packets\"".into()
    }

    fn read(value: &Value) -> Result<MarkingWord, String> {
        match value.text() {
            Some("off") => Ok(MarkingWord::Off),
            Some("auto") => Ok(MarkingWord::Auto),
            Some("by-rate") => Ok(MarkingWord::ByRate),
            Some("red") => Ok(MarkingWord::Red),
            text => match Amount::read(value) {
                Ok(amount) if amount != Amount::UNLIMITED => Ok(MarkingWord::Above(amount)),
                problem => {
                    let right = "write \"auto\", \"off\", \"by-rate\", \"red\", a size such as \"100 KB\" or \"65 packets\"";
                    let words = ["auto", "off", "by-rate", "red"];
                    let hint = suggestion(text.unwrap_or(""), words);
                    let problem = problem.err().unwrap_or_else(|| "marks nothing".into());
                    Err(format!("{}; {right}{hint}", problem.split(';').next().unwrap_or_default()))
                }
            },
        }
    }

    fn write(&self) -> Option<String> {
        match self {
            MarkingWord::Off => Some(quoted("off")),
            MarkingWord::Auto => Some(quoted("auto")),
            MarkingWord::ByRate => Some(quoted("by-rate")),
            MarkingWord::Red => Some(quoted("red")),
            MarkingWord::Above(amount) => amount.write(),
        }
    }
}

impl Field for Delay {
    fn kind() -> String {
        "time, { uniform = [time, time] } or { quantiles = [[share, time], ...] }".into()
    }

    fn read(value: &Value) -> Result<Delay, String> {
        const RIGHT: &str = "write a time such as \"1 us\", { uniform = [\"0.9 us\", \"6.2 us\"] } or \
             { quantiles = [[0, \"0 us\"], [0.5, \"0.38 us\"], [1, \"6.2 us\"]] }";
        const LONGEST: Span = Span::from_secs(1);
        let time = |value: &Value| match <Span as Field>::read(value)? {
            span if span > LONGEST => Err(format!("{span} is above {LONGEST}")),
            span => Ok(span),
        };
        let Value::Table(entries) = value else { return time(value).map(Delay::Fixed) };
        let [entry] = entries.as_slice() else { return Err(RIGHT.into()) };
        match (entry.key.as_str(), &entry.node.value) {
            ("uniform", Value::List(ends)) if ends.len() == 2 => {
                match (time(&ends[0].value)?, time(&ends[1].value)?) {
                    (low, high) if low <= high => Ok(Delay::Uniform(low, high)),
                    (low, high) => Err(format!("{low} is above {high}; write the smaller one first")),
                }
            }
            ("quantiles", Value::List(points)) if points.len() >= 2 => {
                let mut quantiles = Vec::new();
                for point in points {
                    let Value::List(pair) = &point.value else { return Err(RIGHT.into()) };
                    let [share, delay] = pair.as_slice() else { return Err(RIGHT.into()) };
                    quantiles.push((<f64 as Field>::read(&share.value)?, time(&delay.value)?));
                }
                let rises = quantiles.windows(2).all(|pair| pair[0].0 <= pair[1].0 && pair[0].1 <= pair[1].1);
                let ends = (quantiles[0].0, quantiles[quantiles.len() - 1].0);
                if !rises || ends != (0.0, 1.0) {
                    return Err("quantiles must rise, from share 0 to share 1".into());
                }
                Ok(Delay::Quantiles(quantiles))
            }
            _ => Err(RIGHT.into()),
        }
    }

    fn write(&self) -> Option<String> {
        let time = |span: &Span| quoted(&span.to_string());
        Some(match self {
            Delay::Fixed(span) => time(span),
            Delay::Uniform(low, high) => format!("{{ uniform = [{}, {}] }}", time(low), time(high)),
            Delay::Quantiles(points) => {
                let points: Vec<String> =
                    points.iter().map(|(share, delay)| format!("[{share:?}, {}]", time(delay))).collect();
                format!("{{ quantiles = [{}] }}", points.join(", "))
            }
        })
    }
}
