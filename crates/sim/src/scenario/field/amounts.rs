//! Amounts of packets, marking thresholds and delays.

use crate::model::{Amount, Delay};
use crate::scenario::sizes::Sizes;
use clearway_schema::{Field, Form, TableKey, Value, quoted, scalar, suggestion, without_value};
use clearway_units::{Bytes, Span, UnitError};

/// The size of a buffer as a user writes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BufferWord {
    Unlimited,
    /// Bytes on the wire.
    Bytes(Bytes),
    /// The bytes of this many full data frames; a smaller packet takes its own size.
    Packets(u32),
    /// Places for this many packets; every packet takes one, whatever its size.
    Slots(u32),
    /// So many thousandths of the network's bandwidth-delay product, in full data frames and rounded up.
    Bdps(u32),
}

impl BufferWord {
    /// Returns the limit of a queue in a network of these sizes.
    pub fn limit(self, sizes: &Sizes<'_>) -> Amount {
        let bytes = |bytes| Amount { bytes, ..Amount::UNLIMITED };
        match self {
            BufferWord::Unlimited => Amount::UNLIMITED,
            BufferWord::Bytes(size) => bytes(size),
            BufferWord::Packets(count) => bytes(Bytes::new(u64::from(count) * u64::from(sizes.frame))),
            BufferWord::Slots(packets) => Amount { packets, ..Amount::UNLIMITED },
            BufferWord::Bdps(thousandths) => bytes(sizes.bytes(thousandths.into())),
        }
    }

    /// Returns a multiple of the buffer, rounded up.
    pub fn times(self, factor: f64) -> BufferWord {
        let count = |count: u32| (f64::from(count) * factor).ceil() as u32;
        match self {
            BufferWord::Unlimited => BufferWord::Unlimited,
            BufferWord::Bytes(size) => {
                BufferWord::Bytes(Bytes::new((size.get() as f64 * factor).ceil() as u64))
            }
            BufferWord::Packets(packets) => BufferWord::Packets(count(packets)),
            BufferWord::Slots(packets) => BufferWord::Slots(count(packets)),
            BufferWord::Bdps(thousandths) => BufferWord::Bdps(count(thousandths)),
        }
    }
}

/// The hint for a wrong size of a buffer.
const BUFFER_RIGHT: &str =
    "write a size such as \"384.5 KB\", \"250 packets\", \"250 slots\", \"1.5 BDP\" or \"unlimited\"";

/// Reads a count with one of these units, as in "250 packets"; `None` if the text has none of the units.
fn counted(text: &str, units: [&str; 2], right: &str) -> Option<Result<u32, String>> {
    let count = units.iter().find_map(|unit| text.strip_suffix(unit))?;
    let count = count.trim().replace('_', "").parse::<u32>().ok().filter(|&count| count > 0);
    Some(count.ok_or_else(|| format!("is no number of {}; {right}", units[0])))
}

/// Reads a multiple of the bandwidth-delay product, as in "1.5 BDP", in thousandths; `None` if the text has not the unit.
fn bdps(text: &str) -> Option<Result<u32, String>> {
    let number = text.strip_suffix("BDP")?.trim().parse::<f64>().ok();
    let number = number.map(|number| (number * 1000.0).round()).filter(|number| (1.0..=1e9).contains(number));
    Some(number.map(|number| number as u32).ok_or_else(|| format!("is no number of BDP; {BUFFER_RIGHT}")))
}

/// Reads a size in bytes that is not zero.
fn some_bytes(text: &str, right: &str) -> Result<Bytes, String> {
    let bytes: Bytes = text.parse().map_err(|error: UnitError| {
        let problem = without_value(&error, text);
        let problem = problem.split(';').next().unwrap_or_default().to_owned();
        format!("{problem}; {right}")
    })?;
    if bytes == Bytes::ZERO { Err(format!("holds nothing; {right}")) } else { Ok(bytes) }
}

impl Field for BufferWord {
    fn kind() -> String {
        "size, \"N packets\", \"N slots\", \"N BDP\" or \"unlimited\"".into()
    }

    fn forms() -> Vec<Form> {
        let counted = Form::Counted(&["packets", "packet", "slots", "slot"]);
        [Bytes::forms(), vec![counted, Form::Quantity(vec!["BDP"]), Form::Word("unlimited")]].concat()
    }

    fn blank() -> BufferWord {
        BufferWord::Unlimited
    }

    fn read(value: &Value) -> Result<BufferWord, String> {
        let Some(text) = scalar(value) else { return Err(format!("is no amount; {BUFFER_RIGHT}")) };
        let text = text.trim();
        if text == "unlimited" {
            Ok(BufferWord::Unlimited)
        } else if let Some(count) = counted(text, ["packets", "packet"], BUFFER_RIGHT) {
            count.map(BufferWord::Packets)
        } else if let Some(count) = counted(text, ["slots", "slot"], BUFFER_RIGHT) {
            count.map(BufferWord::Slots)
        } else if let Some(bdps) = bdps(text) {
            bdps.map(BufferWord::Bdps)
        } else {
            some_bytes(text, BUFFER_RIGHT).map(BufferWord::Bytes)
        }
    }

    fn write(&self) -> Option<String> {
        Some(quoted(&match self {
            BufferWord::Unlimited => "unlimited".into(),
            BufferWord::Bytes(bytes) => bytes.to_string(),
            BufferWord::Packets(count) => format!("{count} packets"),
            BufferWord::Slots(count) => format!("{count} slots"),
            BufferWord::Bdps(thousandths) => format!("{} BDP", f64::from(*thousandths) / 1000.0),
        }))
    }
}

/// The marking of a class as a user writes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MarkingWord {
    Off,
    Auto,
    ByRate,
    Red,
    Bdp,
    Above(Amount),
}

/// Reads a fixed threshold, in bytes or in packets.
fn above(value: &Value) -> Result<Amount, String> {
    let Some(text) = scalar(value) else { return Err("is no amount".into()) };
    let text = text.trim();
    match counted(text, ["packets", "packet"], "") {
        Some(count) => count.map(|packets| Amount { packets, ..Amount::UNLIMITED }),
        None if text == "unlimited" => Err("marks nothing".into()),
        None => some_bytes(text, "").map(|bytes| Amount { bytes, ..Amount::UNLIMITED }),
    }
}

impl Field for MarkingWord {
    fn kind() -> String {
        "\"auto\", \"off\", \"by-rate\", \"red\", \"bdp\", size or \"N packets\"".into()
    }

    fn forms() -> Vec<Form> {
        let words = Form::words(&["auto", "off", "by-rate", "red", "bdp"]);
        [words, Bytes::forms(), vec![Form::Counted(&["packets", "packet"])]].concat()
    }

    fn blank() -> MarkingWord {
        MarkingWord::Off
    }

    fn read(value: &Value) -> Result<MarkingWord, String> {
        match value.text() {
            Some("off") => Ok(MarkingWord::Off),
            Some("auto") => Ok(MarkingWord::Auto),
            Some("by-rate") => Ok(MarkingWord::ByRate),
            Some("red") => Ok(MarkingWord::Red),
            Some("bdp") => Ok(MarkingWord::Bdp),
            text => above(value).map(MarkingWord::Above).map_err(|problem| {
                let right = "write \"auto\", \"off\", \"by-rate\", \"red\", \"bdp\", a size such as \"100 KB\" or \"65 packets\"";
                let words = ["auto", "off", "by-rate", "red", "bdp"];
                let hint = suggestion(text.unwrap_or(""), words);
                format!("{}; {right}{hint}", problem.split(';').next().unwrap_or_default())
            }),
        }
    }

    fn write(&self) -> Option<String> {
        match self {
            MarkingWord::Off => Some(quoted("off")),
            MarkingWord::Auto => Some(quoted("auto")),
            MarkingWord::ByRate => Some(quoted("by-rate")),
            MarkingWord::Red => Some(quoted("red")),
            MarkingWord::Bdp => Some(quoted("bdp")),
            MarkingWord::Above(Amount { bytes: Bytes::MAX, packets }) => {
                Some(quoted(&format!("{packets} packets")))
            }
            MarkingWord::Above(amount) => Some(quoted(&amount.bytes.to_string())),
        }
    }
}

impl Field for Delay {
    fn kind() -> String {
        "time, { uniform = [time, time] } or { quantiles = [[share, time], ...] }".into()
    }

    fn forms() -> Vec<Form> {
        let table = |name, form| Form::Table(vec![TableKey { name, forms: vec![form], required: true }]);
        let points = Form::List(vec![Form::Row(vec![f64::forms(), Span::forms()])]);
        let uniform = table("uniform", Form::Row(vec![Span::forms(), Span::forms()]));
        [Span::forms(), vec![uniform, table("quantiles", points)]].concat()
    }

    fn blank() -> Delay {
        Delay::Fixed(Span::ZERO)
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
