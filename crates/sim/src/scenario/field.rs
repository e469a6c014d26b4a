//! What a key may hold: how each kind of value is read, written and described.

use super::document::{Node, Value};
use crate::model::{Amount, Delay};
use clearway_proto::{Auto, ParamType, port::MarkAt};
use clearway_topology::routing::Policy;
use clearway_units::{Bytes, Rate, Span, Time, UnitError};
use std::cmp::Ordering;

/// Longest text that names something.
const NAME_MAX: usize = 100;

/// A kind of value.
pub(super) trait Field: Sized {
    /// How a value is written, in a few words.
    fn kind() -> String;
    /// Reads a value; the error says what would be right.
    fn read(value: &Value) -> Result<Self, String>;
    /// The value in TOML, or `None` if the key is to be left out.
    fn write(&self) -> Option<String>;
    /// What a key that is left out means, if that needs no default.
    fn absent() -> Option<Self> {
        None
    }
    /// The order by which limits are meant.
    fn order(&self, _limit: &Self) -> Option<Ordering> {
        None
    }
}

/// A text in TOML.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if c.is_control() => out.push_str(&format!("\\u{:04X}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// The text of a value that is no list and no table.
fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::Text(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Float(number) => Some(number.to_string()),
        _ => None,
    }
}

/// What a unit error says, without the value that the line shows already.
pub(super) fn without_value(error: &UnitError, text: &str) -> String {
    let message = error.to_string();
    message.strip_prefix(&format!("{text:?} ")).unwrap_or(&message).to_owned()
}

macro_rules! unit_field {
    ($($Unit:ident $kind:literal $example:literal),+) => {$(
        impl Field for $Unit {
            fn kind() -> String {
                $kind.into()
            }

            fn read(value: &Value) -> Result<$Unit, String> {
                let Some(text) = scalar(value) else {
                    return Err(concat!("is no ", $kind, "; write one such as \"", $example, "\"").into());
                };
                text.parse().map_err(|error| without_value(&error, &text))
            }

            fn write(&self) -> Option<String> {
                Some(quoted(&self.to_string()))
            }

            fn order(&self, limit: &$Unit) -> Option<Ordering> {
                self.partial_cmp(limit)
            }
        }
    )+};
}
unit_field!(Span "time" "4 us", Time "time" "10 ms", Rate "rate" "10 Gbps", Bytes "size" "384.5 KB");

macro_rules! integer_field {
    ($($Integer:ident),+) => {$(
        impl Field for $Integer {
            fn kind() -> String {
                "integer".into()
            }

            fn read(value: &Value) -> Result<$Integer, String> {
                let number = match value {
                    Value::Integer(number) => $Integer::try_from(*number).ok(),
                    Value::Text(text) => text.parse().ok(),
                    _ => None,
                };
                let most = $Integer::MAX;
                number.ok_or_else(|| format!("write a whole number from 0 to {most}"))
            }

            fn write(&self) -> Option<String> {
                // TOML's integers end at 2^63.
                Some(if i64::try_from(*self).is_ok() { self.to_string() } else { quoted(&self.to_string()) })
            }

            fn order(&self, limit: &$Integer) -> Option<Ordering> {
                self.partial_cmp(limit)
            }
        }
    )+};
}
integer_field!(u8, u32, u64);

impl Field for f64 {
    fn kind() -> String {
        "number".into()
    }

    fn read(value: &Value) -> Result<f64, String> {
        let number = match value {
            Value::Float(number) => Some(*number),
            Value::Integer(number) => Some(*number as f64),
            Value::Text(text) => text.parse().ok(),
            _ => None,
        };
        number.filter(|number: &f64| number.is_finite()).ok_or("write a number, such as 0.5".into())
    }

    fn write(&self) -> Option<String> {
        Some(format!("{self:?}"))
    }

    fn order(&self, limit: &f64) -> Option<Ordering> {
        self.partial_cmp(limit)
    }
}

impl Field for bool {
    fn kind() -> String {
        "true or false".into()
    }

    fn read(value: &Value) -> Result<bool, String> {
        match value {
            Value::Bool(value) => Ok(*value),
            Value::Text(text) => text.parse().map_err(|_| "write true or false".into()),
            _ => Err("write true or false".into()),
        }
    }

    fn write(&self) -> Option<String> {
        Some(self.to_string())
    }
}

impl Field for String {
    fn kind() -> String {
        "text".into()
    }

    fn read(value: &Value) -> Result<String, String> {
        match value {
            Value::Text(text) if text.is_empty() => Err("is empty; write a text".into()),
            Value::Text(text) if text.chars().any(char::is_control) => {
                Err("has control characters; write a plain text".into())
            }
            Value::Text(text) => Ok(text.clone()),
            _ => Err("is no text; write one in quotes".into()),
        }
    }

    fn write(&self) -> Option<String> {
        Some(quoted(self))
    }
}

/// The name of a part of a scenario.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Name(pub String);

impl Field for Name {
    fn kind() -> String {
        "name".into()
    }

    fn read(value: &Value) -> Result<Name, String> {
        let text = String::read(value)?;
        let problem = if text.len() > NAME_MAX {
            format!("is longer than {NAME_MAX} bytes; write a shorter name")
        } else if text.contains('.') || text.trim() != text {
            "has dots or spaces around it; write a name such as \"web\"".into()
        } else if text.bytes().all(|byte| byte.is_ascii_digit()) {
            "is a number; write a name such as \"web\"".into()
        } else {
            return Ok(Name(text));
        };
        Err(problem)
    }

    fn write(&self) -> Option<String> {
        Some(quoted(&self.0))
    }
}

impl<T: Field> Field for Option<T> {
    fn kind() -> String {
        T::kind()
    }

    fn read(value: &Value) -> Result<Option<T>, String> {
        T::read(value).map(Some)
    }

    fn absent() -> Option<Option<T>> {
        Some(None)
    }

    fn write(&self) -> Option<String> {
        self.as_ref().and_then(T::write)
    }

    fn order(&self, limit: &Option<T>) -> Option<Ordering> {
        self.as_ref()?.order(limit.as_ref()?)
    }
}

impl<T: Field> Field for Auto<T> {
    fn kind() -> String {
        format!("{} or \"auto\"", T::kind())
    }

    fn read(value: &Value) -> Result<Auto<T>, String> {
        match value.text() {
            Some("auto") => Ok(Auto::Auto),
            _ => T::read(value).map(Auto::Set).map_err(|problem| format!("{problem}, or \"auto\"")),
        }
    }

    fn write(&self) -> Option<String> {
        match self {
            Auto::Auto => Some(quoted("auto")),
            Auto::Set(value) => value.write(),
        }
    }

    fn order(&self, limit: &Auto<T>) -> Option<Ordering> {
        match (self, limit) {
            (Auto::Set(value), Auto::Set(limit)) => value.order(limit),
            _ => None,
        }
    }
}

/// A value that is one of a few words.
macro_rules! words {
    ($(#[$doc:meta])* $Words:ident { $($Variant:ident = $text:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(super) enum $Words { $($Variant,)+ }

        impl Field for $Words {
            fn kind() -> String {
                [$(concat!("\"", $text, "\"")),+].join(" or ")
            }

            fn read(value: &Value) -> Result<$Words, String> {
                match value.text() {
                    $(Some($text) => Ok($Words::$Variant),)+
                    _ => {
                        let hint = super::error::suggestion(value.text().unwrap_or(""), [$($text),+]);
                        Err(format!("write {}{hint}", $Words::kind()))
                    }
                }
            }

            fn write(&self) -> Option<String> {
                Some(quoted(match self { $($Words::$Variant => $text,)+ }))
            }
        }
    };
}

words!(
    /// How paths are chosen.
    Routing { SymmetricEcmp = "symmetric-ecmp", Ecmp = "ecmp", Spray = "spray", }
);

impl Routing {
    pub fn policy(self) -> Policy {
        match self {
            Routing::SymmetricEcmp => Policy::SymmetricEcmp,
            Routing::Ecmp => Policy::Ecmp,
            Routing::Spray => Policy::Spray,
        }
    }
}

words!(
    /// How long connections of rounds last.
    Connections { Persistent = "persistent", PerRound = "per-round", }
);

words!(
    /// Which directions of a link.
    Direction { Both = "both", Forward = "forward", Backward = "backward", }
);

words!(
    /// What a series shows.
    What {
        Throughput = "throughput",
        Sender = "sender",
        Rtt = "rtt",
        Queue = "queue",
        CreditQueue = "credit-queue",
        Rate = "rate",
    }
);

words!(
    /// Format of a list of flows.
    ListFormat { Csv = "csv", Hpcc = "hpcc", }
);

impl Field for MarkAt {
    fn kind() -> String {
        "\"enqueue\" or \"dequeue\"".into()
    }

    fn read(value: &Value) -> Result<MarkAt, String> {
        <MarkAt as ParamType>::read(value.text().unwrap_or(""))
    }

    fn write(&self) -> Option<String> {
        Some(quoted(&self.to_string()))
    }
}

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
pub(super) enum MarkingWord {
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
                    let hint = super::error::suggestion(text.unwrap_or(""), words);
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

/// A host by name or by number.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum HostRef {
    Name(String),
    Number(u64),
}

impl Field for HostRef {
    fn kind() -> String {
        "host".into()
    }

    fn read(value: &Value) -> Result<HostRef, String> {
        match value {
            Value::Text(_) => String::read(value).map(HostRef::Name),
            Value::Integer(number) => u64::try_from(*number)
                .map(HostRef::Number)
                .map_err(|_| "is no host; write its name, such as \"h0\", or its number".into()),
            _ => Err("is no host; write its name, such as \"h0\", or its number".into()),
        }
    }

    fn write(&self) -> Option<String> {
        match self {
            HostRef::Name(name) => Some(quoted(name)),
            HostRef::Number(number) => Some(number.to_string()),
        }
    }
}

impl<T: Field> Field for Vec<T> {
    fn kind() -> String {
        format!("list of {}s", T::kind())
    }

    fn read(value: &Value) -> Result<Vec<T>, String> {
        let Value::List(items) = value else {
            return Err(format!("is no list; write {} in brackets", T::kind()));
        };
        let read = |(at, item): (usize, &Node)| {
            T::read(&item.value).map_err(|problem| format!("entry {at}, {}: {problem}", item.value.show()))
        };
        items.iter().enumerate().map(read).collect()
    }

    fn write(&self) -> Option<String> {
        let items: Vec<String> = self.iter().filter_map(T::write).collect();
        Some(format!("[{}]", items.join(", ")))
    }
}

/// A share of many that others divide too: from one share on.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Share {
    pub share: f64,
    pub from: f64,
}

impl Share {
    const KIND: &str = "{ share = number, from = number }";

    fn read(value: &Value) -> Option<Result<Share, String>> {
        const RIGHT: &str = "write { share = 0.5, from = 0 }";
        let Value::Table(entries) = value else { return None };
        let mut read = Share { share: f64::NAN, from: 0.0 };
        for entry in entries {
            let place = match entry.key.as_str() {
                "share" => &mut read.share,
                "from" => &mut read.from,
                other => return Some(Err(format!("has no {}; {RIGHT}", quoted(other)))),
            };
            match <f64 as Field>::read(&entry.node.value) {
                Ok(number) => *place = number,
                Err(_) => return Some(Err(format!("{} is no number; {RIGHT}", entry.key))),
            }
        }
        let sound = read.share > 0.0 && read.from >= 0.0 && read.share + read.from <= 1.0 + 1e-9;
        Some(
            sound
                .then_some(read)
                .ok_or_else(|| "share must be above 0, from at least 0, and both together at most 1".into()),
        )
    }

    fn text(self) -> String {
        format!("{{ share = {:?}, from = {:?} }}", self.share, self.from)
    }

    /// Which of `count` things these are; shares that meet leave out none and take none twice.
    pub fn range(self, count: usize) -> std::ops::Range<usize> {
        let place = |share: f64| ((share * count as f64).round() as usize).min(count);
        place(self.from)..place(self.from + self.share)
    }
}

/// Some of many: all, a list, or a share.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Chosen<T> {
    All,
    List(Vec<T>),
    Share(Share),
}

impl<T: Field> Field for Chosen<T> {
    fn kind() -> String {
        format!("\"all\", {} or {}", <Vec<T>>::kind(), Share::KIND)
    }

    fn read(value: &Value) -> Result<Chosen<T>, String> {
        if let Some(share) = Share::read(value) {
            return share.map(Chosen::Share);
        }
        match value.text() {
            Some("all") => Ok(Chosen::All),
            _ => <Vec<T>>::read(value).map(Chosen::List).map_err(|problem| format!("{problem}, or \"all\"")),
        }
    }

    fn write(&self) -> Option<String> {
        match self {
            Chosen::All => Some(quoted("all")),
            Chosen::List(items) => items.write(),
            Chosen::Share(share) => Some(share.text()),
        }
    }
}

/// Who answers in an incast: so many, spread over the hosts, or a list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Workers {
    Count(u64),
    List(Vec<HostRef>),
}

impl Field for Workers {
    fn kind() -> String {
        "integer or list of hosts".into()
    }

    fn read(value: &Value) -> Result<Workers, String> {
        match value {
            Value::List(_) => <Vec<HostRef>>::read(value).map(Workers::List),
            _ => u64::read(value)
                .map(Workers::Count)
                .map_err(|problem| format!("{problem}, or a list of hosts")),
        }
    }

    fn write(&self) -> Option<String> {
        match self {
            Workers::Count(count) => count.write(),
            Workers::List(hosts) => hosts.write(),
        }
    }
}

/// Who sends to whom.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Pairs {
    Auto,
    Random,
    Share(Share),
    List(Vec<Pair<HostRef>>),
}

impl Field for Pairs {
    fn kind() -> String {
        format!("\"auto\", \"random\", list of [host, host] or {}", Share::KIND)
    }

    fn read(value: &Value) -> Result<Pairs, String> {
        if let Some(share) = Share::read(value) {
            return share.map(Pairs::Share);
        }
        match value.text() {
            Some("auto") => Ok(Pairs::Auto),
            Some("random") => Ok(Pairs::Random),
            _ => <Vec<Pair<HostRef>>>::read(value).map(Pairs::List).map_err(|problem| {
                format!("{problem}; write \"auto\", \"random\" or [[\"h0\", \"h1\"], ...]")
            }),
        }
    }

    fn write(&self) -> Option<String> {
        match self {
            Pairs::Auto => Some(quoted("auto")),
            Pairs::Random => Some(quoted("random")),
            Pairs::List(pairs) => pairs.write(),
            Pairs::Share(share) => Some(share.text()),
        }
    }
}

/// Two of a kind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Pair<T>(pub T, pub T);

impl<T: Field> Field for Pair<T> {
    fn kind() -> String {
        format!("[{}, {}]", T::kind(), T::kind())
    }

    fn read(value: &Value) -> Result<Pair<T>, String> {
        match value {
            Value::List(items) => match items.as_slice() {
                [a, b] => Ok(Pair(T::read(&a.value)?, T::read(&b.value)?)),
                _ => Err(format!("has {} entries for 2; write {}", items.len(), Self::kind())),
            },
            _ => Err(format!("is no pair; write {}", Self::kind())),
        }
    }

    fn write(&self) -> Option<String> {
        Some(format!("[{}, {}]", self.0.write()?, self.1.write()?))
    }
}

/// The links that something happens to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Links {
    All,
    Between(Pair<String>),
}

impl Field for Links {
    fn kind() -> String {
        "\"all\" or [node, node]".into()
    }

    fn read(value: &Value) -> Result<Links, String> {
        match value.text() {
            Some("all") => Ok(Links::All),
            _ => Pair::read(value).map(Links::Between).map_err(|_| {
                "write the two ends of the link, such as [\"tor0\", \"agg1\"], or \"all\"".into()
            }),
        }
    }

    fn write(&self) -> Option<String> {
        match self {
            Links::All => Some(quoted("all")),
            Links::Between(ends) => ends.write(),
        }
    }
}

/// The two ends of a link.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Link(pub Pair<String>);

impl Field for Link {
    fn kind() -> String {
        "[node, node]".into()
    }

    fn read(value: &Value) -> Result<Link, String> {
        Pair::read(value)
            .map(Link)
            .map_err(|_| "write the two ends of the link, such as [\"tor0\", \"agg1\"]".into())
    }

    fn write(&self) -> Option<String> {
        self.0.write()
    }
}

/// Output ports.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Ports {
    All,
    Switches,
    Hosts,
    List(Vec<String>),
}

impl Field for Ports {
    fn kind() -> String {
        "\"all\", \"switches\", \"hosts\" or list of ports".into()
    }

    fn read(value: &Value) -> Result<Ports, String> {
        match value.text() {
            Some("all") => Ok(Ports::All),
            Some("switches") => Ok(Ports::Switches),
            Some("hosts") => Ok(Ports::Hosts),
            _ => <Vec<String>>::read(value).map(Ports::List).map_err(|_| {
                "write \"all\", \"switches\", \"hosts\" or a list such as [\"tor0->h3\"]".into()
            }),
        }
    }

    fn write(&self) -> Option<String> {
        match self {
            Ports::All => Some(quoted("all")),
            Ports::Switches => Some(quoted("switches")),
            Ports::Hosts => Some(quoted("hosts")),
            Ports::List(ports) => ports.write(),
        }
    }
}

/// A key that is read elsewhere: declared for the documentation and the list of known keys.
macro_rules! elsewhere {
    ($($(#[$doc:meta])* $Type:ident = $kind:literal;)+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(super) struct $Type;

        impl Field for $Type {
            fn kind() -> String {
                $kind.into()
            }

            fn read(_: &Value) -> Result<$Type, String> {
                Ok($Type)
            }

            fn absent() -> Option<$Type> {
                Some($Type)
            }

            fn write(&self) -> Option<String> {
                None
            }
        }
    )+};
}
elsewhere!(
    /// The word that chooses the other keys.
    Kind = "word";
    /// A transport.
    TransportKey = "name, or table of name and parameters";
    /// Further tables.
    Tables = "list of tables";
);

impl Value {
    /// A default or a limit of the schema, as a value.
    pub fn of_source(text: &str) -> Value {
        Value::Text(text.into())
    }
}
