//! Hosts and shares of them, pairs, links and ports.

use clearway_schema::{Field, Form, TableKey, Value, quoted};
use clearway_units::Span;
use std::cmp::Ordering;

/// A host by name or by number.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HostRef {
    Name(String),
    Number(u64),
}

impl Field for HostRef {
    fn kind() -> String {
        "host".into()
    }

    fn forms() -> Vec<Form> {
        vec![Form::Text, Form::Integer(u64::MAX)]
    }

    fn blank() -> HostRef {
        HostRef::Number(0)
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

/// A share of many things from an offset on, so that several shares divide the things without overlap.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Share {
    pub share: f64,
    pub from: f64,
}

impl Share {
    const KIND: &str = "{ share = number, from = number }";

    fn form() -> Form {
        let key = |name, required| TableKey { name, forms: f64::forms(), required };
        Form::Table(vec![key("share", true), key("from", false)])
    }

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

    /// Returns the range of the share in `count` things. Shares that adjoin leave out none and take none twice.
    pub fn range(self, count: usize) -> std::ops::Range<usize> {
        let place = |share: f64| ((share * count as f64).round() as usize).min(count);
        place(self.from)..place(self.from + self.share)
    }
}

/// Some of many: all, a list, or a share.
#[derive(Clone, PartialEq, Debug)]
pub enum Chosen<T> {
    All,
    List(Vec<T>),
    Share(Share),
}

impl<T: Field> Field for Chosen<T> {
    fn kind() -> String {
        format!("\"all\", {} or {}", <Vec<T>>::kind(), Share::KIND)
    }

    fn forms() -> Vec<Form> {
        [vec![Form::Word("all")], <Vec<T>>::forms(), vec![Share::form()]].concat()
    }

    fn blank() -> Chosen<T> {
        Chosen::All
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

/// The senders of an incast: a number, spread over the hosts, or a list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Workers {
    Count(u64),
    List(Vec<HostRef>),
}

impl Field for Workers {
    fn kind() -> String {
        "integer or list of hosts".into()
    }

    fn forms() -> Vec<Form> {
        [u64::forms(), <Vec<HostRef>>::forms()].concat()
    }

    fn blank() -> Workers {
        Workers::Count(0)
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

/// The pairs of sender and receiver of long flows.
#[derive(Clone, PartialEq, Debug)]
pub enum Pairs {
    Auto,
    Random,
    Share(Share),
    List(Vec<Pair<HostRef>>),
}

impl Field for Pairs {
    fn kind() -> String {
        format!("\"auto\", \"random\", list of [host, host] or {}", Share::KIND)
    }

    fn forms() -> Vec<Form> {
        [Form::words(&["auto", "random"]), <Vec<Pair<HostRef>>>::forms(), vec![Share::form()]].concat()
    }

    fn blank() -> Pairs {
        Pairs::Auto
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

/// Two values of one kind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pair<T>(pub T, pub T);

impl<T: Field> Field for Pair<T> {
    fn kind() -> String {
        format!("[{}, {}]", T::kind(), T::kind())
    }

    fn forms() -> Vec<Form> {
        vec![Form::Row(vec![T::forms(), T::forms()])]
    }

    fn blank() -> Pair<T> {
        Pair(T::blank(), T::blank())
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

/// The links on which packets are lost.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Links {
    All,
    Between(Pair<String>),
}

impl Field for Links {
    fn kind() -> String {
        "\"all\" or [node, node]".into()
    }

    fn forms() -> Vec<Form> {
        [vec![Form::Word("all")], Link::forms()].concat()
    }

    fn blank() -> Links {
        Links::All
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
pub struct Link(pub Pair<String>);

impl Field for Link {
    fn kind() -> String {
        "[node, node]".into()
    }

    fn forms() -> Vec<Form> {
        Pair::<String>::forms()
    }

    fn blank() -> Link {
        Link(Pair::blank())
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
pub enum Ports {
    All,
    Switches,
    Hosts,
    List(Vec<String>),
}

impl Field for Ports {
    fn kind() -> String {
        "\"all\", \"switches\", \"hosts\" or list of ports".into()
    }

    fn forms() -> Vec<Form> {
        [Form::words(&["all", "switches", "hosts"]), <Vec<String>>::forms()].concat()
    }

    fn blank() -> Ports {
        Ports::All
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

/// One end of a link, or the ends of several links.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ends(pub Vec<String>);

impl Field for Ends {
    fn kind() -> String {
        "node or list of nodes".into()
    }

    fn forms() -> Vec<Form> {
        [String::forms(), <Vec<String>>::forms()].concat()
    }

    fn blank() -> Ends {
        Ends(Vec::new())
    }

    fn read(value: &Value) -> Result<Ends, String> {
        const RIGHT: &str = "write a node's name, or a list of names to link each of them to b";
        match value {
            Value::Text(_) => String::read(value).map(|name| Ends(vec![name])),
            Value::List(names) if !names.is_empty() => {
                <Vec<String>>::read(value).map(Ends).map_err(|_| RIGHT.into())
            }
            _ => Err(RIGHT.into()),
        }
    }

    fn write(&self) -> Option<String> {
        self.0.write()
    }
}

/// The time for which a link must be down or up again until routing has noticed it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Noticed {
    AtOnce,
    After(Span),
    Never,
}

impl Noticed {
    const AT_ONCE: &str = "at once";
    const NEVER: &str = "never";
}

impl Field for Noticed {
    fn kind() -> String {
        "time, \"at once\" or \"never\"".into()
    }

    fn forms() -> Vec<Form> {
        [Span::forms(), vec![Form::Word(Noticed::AT_ONCE), Form::Word(Noticed::NEVER)]].concat()
    }

    fn blank() -> Noticed {
        Noticed::AtOnce
    }

    fn read(value: &Value) -> Result<Noticed, String> {
        match value.text() {
            Some(Noticed::AT_ONCE) => Ok(Noticed::AtOnce),
            Some(Noticed::NEVER) => Ok(Noticed::Never),
            _ => <Span as Field>::read(value)
                .map(Noticed::After)
                .map_err(|problem| format!("{problem}, \"at once\" or \"never\"")),
        }
    }

    fn write(&self) -> Option<String> {
        match self {
            Noticed::AtOnce => Some(quoted(Noticed::AT_ONCE)),
            Noticed::After(time) => time.write(),
            Noticed::Never => Some(quoted(Noticed::NEVER)),
        }
    }

    /// Limits hold for times alone.
    fn order(&self, limit: &Noticed) -> Option<Ordering> {
        match (self, limit) {
            (Noticed::After(time), Noticed::After(limit)) => Some(time.cmp(limit)),
            _ => None,
        }
    }
}
