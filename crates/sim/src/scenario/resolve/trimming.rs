//! The trimming of switches, from the needs of transports and the keys of the scenario.

use super::needs::{Ahead, AllNeeds, Conflict, UNSCHEDULED, agreed, classes_of, lane_class};
use super::traffic::ReadPart;
use crate::model::Trim;
use crate::scenario::document::{Document, Path};
use crate::scenario::error::Result;
use crate::scenario::schema::{ClassTable, Switch};
use crate::scenario::shapes::has;
use clearway_proto::port::{TrimConfig, TrimVictim};
use clearway_proto::{BufferNeeds, Framing, Needs, TrimmingNeeds};
use clearway_schema::{Auto, quoted, suggestion};
use clearway_units::Bytes;
use std::fmt::Debug;

/// The keys that mean something only with trimming.
const TRIM_KEYS: [&str; 5] = ["trim_to", "trim_victim", "trim_headers", "trim_last_hop", "trim_return"];

/// A traffic entry, or a transport of a network without entries, as far as the classes of its data go.
struct User {
    /// The entry in words.
    who: String,
    /// The name of its transport.
    transport: &'static str,
    needs: Needs,
    /// The class of its data.
    data: usize,
    /// The class of its acknowledgements, in which headers travel.
    acks: usize,
}

/// The traffic in the classes of a network.
pub(super) struct Users(Vec<User>);

impl Users {
    /// Returns the users of classes: the entries or, where there are none, the transports with data in the first class and
    /// acknowledgements in one of those ahead of it.
    pub fn of(needs: &AllNeeds, parts: &[ReadPart], ahead: &[Ahead]) -> Users {
        let entry = |part: &ReadPart| User {
            who: part.traffic.told(),
            transport: part.traffic.transport.info().name,
            needs: part.traffic.transport.needs(),
            data: part.traffic.class,
            acks: part.traffic.ack_class,
        };
        let index = |class: &Ahead| ahead.iter().position(|other| other == class).map(|index| 1 + index);
        let transport = |(name, needs): &(&'static str, Needs)| User {
            who: (*name).into(),
            transport: name,
            needs: *needs,
            data: 0,
            acks: classes_of(needs, ahead, index).1.unwrap_or(0),
        };
        if parts.is_empty() {
            return Users(needs.transports.iter().map(transport).collect());
        }
        Users(parts.iter().map(entry).collect())
    }

    /// Returns those with data in a class.
    fn in_class<'a>(&'a self, classes: &'a [ClassTable], class: usize) -> impl Iterator<Item = &'a User> {
        let name = &classes[class].name.0;
        self.0.iter().filter(move |user| {
            let needs = &user.needs;
            user.data == class
                || (1..needs.lanes).any(|lane| lane_class(lane) == *name)
                || needs.unscheduled_queue.is_some() && name == UNSCHEDULED
        })
    }

    /// Returns for each class how it drops packets, if a coin may choose others than those that arrive: where the transports with data
    /// in it ask for that, and nothing in the network trims, since a port has one rule.
    pub fn coins(&self, classes: &[ClassTable], trimming: &Trimming, framing: Framing) -> Vec<Option<Trim>> {
        let trims = trimming.of.iter().any(Option::is_some);
        let coin = |class: usize| {
            let asks = |user: &User| user.needs.drop_victim == Some(TrimVictim::Coin);
            let mut here = self.in_class(classes, class).peekable();
            let is_asked = !trims && here.peek().is_some() && here.all(asks);
            let config =
                TrimConfig { to: framing.wire_min, victim: TrimVictim::Coin, returns: false, drops: true };
            is_asked.then_some(Trim { config, headers: class })
        };
        (0..classes.len()).map(coin).collect()
    }

    /// Returns whether headers of some traffic, or its acknowledgements, travel in a class.
    fn hold_headers(&self, classes: &[ClassTable], class: usize) -> bool {
        let name = Some(&classes[class].name);
        if classes.iter().any(|other| other.trim_class.as_ref() == name) {
            return true;
        }
        let sends_there = |user: &&User| user.acks == class && user.data != class;
        self.0.iter().filter(sends_there).any(|user| user.needs.trimming.is_some())
    }

    /// Returns the limit of the queue of a class that its traffic asks for, if any does, in units of the network's
    /// bandwidth-delay product.
    pub fn buffer(
        &self,
        classes: &[ClassTable],
        class: usize,
    ) -> std::result::Result<Option<BufferNeeds>, Conflict<BufferNeeds>> {
        let asks = |user: &User| Some((user.transport, user.needs.buffer?));
        agreed(&self.in_class(classes, class).filter_map(asks).collect::<Vec<_>>(), |needs| *needs)
    }
}

/// The trimming of a network.
pub(super) struct Trimming {
    /// The limit of classes of headers as a multiple of those of data.
    pub headers: f64,
    /// The limit of data at ports to hosts, as a multiple of that at other ports.
    pub last_hop: f64,
    /// The trimming of each class that trims.
    pub of: Vec<Option<Trim>>,
}

impl Trimming {
    /// Returns the class of data whose headers travel in a class.
    pub fn data_of(&self, headers: usize) -> Option<usize> {
        self.of.iter().position(|trim| trim.is_some_and(|trim| trim.headers == headers))
    }
}

/// Returns the tables of switches and classes with every key of trimming filled in, and the trimming.
pub(super) fn with_trimming(
    document: &Document,
    needs: &AllNeeds,
    users: &Users,
    switch: Switch,
    classes: Vec<ClassTable>,
    framing: Framing,
) -> Result<(Switch, Vec<ClassTable>, Trimming)> {
    let at = Path::default().key("switch");
    let mut headers = Vec::new();
    for class in 0..classes.len() {
        headers.push(headers_of(document, users, &switch, &classes, class)?);
    }
    if headers.iter().all(Option::is_none) {
        if let Some(key) = TRIM_KEYS.into_iter().find(|key| has(document, &at, key)) {
            let problem = "means nothing, since no class trims; set trim = true, or remove it";
            return Err(document.error(&at.key(key), problem));
        }
        if switch.trim == Auto::Set(true) {
            return Err(document.error(&at.key("trim"), "trims nothing, since no traffic can; remove it"));
        }
        let trimming = Trimming { headers: 1.0, last_hop: 1.0, of: vec![None; classes.len()] };
        return Ok((Switch { trim: Auto::Set(false), ..switch }, classes, trimming));
    }
    let (switch, config) = with_rule(document, needs, switch, framing)?;
    let of: Vec<Option<Trim>> =
        headers.into_iter().map(|headers| headers.map(|headers| Trim { config, headers })).collect();
    let filled =
        |(class, trim): (ClassTable, &Option<Trim>)| ClassTable { trim: Some(trim.is_some()), ..class };
    let classes = classes.into_iter().zip(&of).map(filled).collect();
    let multiple = |key: Option<f64>| key.expect("filled in above");
    let (headers, last_hop) = (multiple(switch.trim_headers), multiple(switch.trim_last_hop));
    Ok((switch, classes, Trimming { headers, last_hop, of }))
}

/// Returns the class of the headers of a class, if it trims. Refuses trimming where it can't be.
fn headers_of(
    document: &Document,
    users: &Users,
    switch: &Switch,
    classes: &[ClassTable],
    class: usize,
) -> Result<Option<usize>> {
    let table = &classes[class];
    let at = Path::default().key("switch");
    let (key, wanted) = match table.trim {
        Some(own) => (at.key("class").index(class).key("trim"), Auto::Set(own)),
        None => (at.key("trim"), switch.trim),
    };
    let is_own = table.trim.is_some();
    let refuse = |problem: String| Err(document.error(&key, problem));
    let mut here = users.in_class(classes, class).peekable();
    let asks = users.in_class(classes, class).find(|user| user.needs.trimming.is_some());
    let wants = match wanted {
        Auto::Set(wants) => wants && (is_own || here.peek().is_some() && !users.hold_headers(classes, class)),
        Auto::Auto => asks.is_some() && table.lossless != Some(true) && !users.hold_headers(classes, class),
    };
    let named = named_class(document, classes, class, wants)?;
    if !wants {
        return Ok(None);
    }
    let name = quoted(&table.name.0);
    if table.lossless == Some(true) {
        return refuse(format!(
            "can't be in the class {name}, which flow control keeps from being full; write lossless = false for the class"
        ));
    }
    if users.hold_headers(classes, class) {
        return refuse(format!("can't be in the class {name}, which holds the headers of others; remove it"));
    }
    if let Some(unaware) = here.find(|user| user.needs.trimming.is_none()) {
        let besides = asks.map_or(String::new(), |asks| format!(" beside {}", asks.who));
        return refuse(format!(
            "can't be in the class {name}{besides}: {} knows no packets that were cut to their headers; give it a class of \
             [[switch.class]] of its own, or write trim = false",
            unaware.who
        ));
    }
    let mut ways = users.in_class(classes, class).map(|user| (named.unwrap_or(user.acks), user));
    let Some((headers, first)) = ways.next() else {
        return refuse(format!("trims nothing, since no traffic has data in the class {name}; remove it"));
    };
    if headers == class {
        return refuse(format!(
            "needs another class for headers than {name}; name one as the ack_class of {}, of a lower priority number, or as \
             the class's trim_class",
            first.who
        ));
    }
    if let Some((_, other)) = ways.find(|(acks, _)| *acks != headers) {
        return refuse(format!(
            "needs one class for the headers of {name}; {} and {} have acknowledgements in different ones, so name one as the \
             class's trim_class",
            first.who, other.who
        ));
    }
    Ok(Some(headers))
}

/// Returns the class that the scenario names for the headers of a class, if it names one. Refuses one that means nothing, is
/// unknown, trims itself, or is one of hosts alone.
fn named_class(
    document: &Document,
    classes: &[ClassTable],
    class: usize,
    trims: bool,
) -> Result<Option<usize>> {
    let Some(name) = &classes[class].trim_class else { return Ok(None) };
    let at = Path::default().key("switch").key("class").index(class).key("trim_class");
    let found = classes.iter().position(|other| other.name == *name);
    let problem = match found {
        Some(found) if found == class => "is the class itself; headers need another one".into(),
        Some(found) if classes[found].at_switches.is_some() => {
            "is a class of hosts alone; name one that switches have".into()
        }
        Some(_) if !trims => {
            "means nothing, since the class does not trim; set trim = true, or remove it".into()
        }
        Some(found) => return Ok(Some(found)),
        None => {
            let names: Vec<&str> = classes.iter().map(|class| class.name.0.as_str()).collect();
            let hint = suggestion(&name.0, names.iter().copied());
            format!("is no class of [[switch.class]]{hint} (known: {})", names.join(", "))
        }
    };
    Err(document.error(&at, problem))
}

/// Returns the table of switches with the keys of the rule of trimming filled in, and the rule.
fn with_rule(
    document: &Document,
    needs: &AllNeeds,
    switch: Switch,
    framing: Framing,
) -> Result<(Switch, TrimConfig)> {
    let asked = Asked { document, needs };
    let at = Path::default().key("switch");
    let least = Bytes::new(framing.wire_min.into());
    let to = asked.value("trim_to", switch.trim_to, |needs| {
        needs.to.map_or(least, |to| Bytes::new(to.into())).max(least)
    })?;
    let most = Bytes::new(framing.wire_max().into());
    if to < least || to > most {
        let problem = format!(
            "is no size of a header: it must be at least the smallest frame, network.wire_min = {least}, and at most a full \
             frame, {most}"
        );
        return Err(document.error(&at.key("trim_to"), problem));
    }
    let victim = asked.value("trim_victim", switch.trim_victim, |needs| needs.victim)?;
    let headers = asked.value("trim_headers", switch.trim_headers, |needs| needs.headers)?;
    let last_hop = asked.value("trim_last_hop", switch.trim_last_hop, |needs| needs.last_hop)?;
    let returns = asked.value("trim_return", switch.trim_return, |needs| needs.returns == Some(true))?;
    if let Some((name, _)) = needs.trimmings.iter().find(|(_, needs)| returns && needs.returns.is_none()) {
        let problem =
            format!("can't go with {name}, whose senders know no packets that come back; write false");
        return Err(document.error(&at.key("trim_return"), problem));
    }
    let switch = Switch {
        trim: Auto::Set(true),
        trim_to: Some(to),
        trim_victim: Some(victim),
        trim_headers: Some(headers),
        trim_last_hop: Some(last_hop),
        trim_return: Some(returns),
        ..switch
    };
    Ok((switch, TrimConfig { to: to.get() as u32, victim, returns, drops: false }))
}

/// The wishes of transports for their trimming.
struct Asked<'a> {
    document: &'a Document,
    needs: &'a AllNeeds,
}

impl Asked<'_> {
    /// Returns the value of a key: the scenario's own, else the one that all transports ask for.
    fn value<T: Copy + PartialEq + Debug>(
        &self,
        key: &str,
        own: Option<T>,
        of: impl Fn(&TrimmingNeeds) -> T,
    ) -> Result<T> {
        if let Some(own) = own {
            return Ok(own);
        }
        let wanted = agreed(&self.needs.trimmings, &of).map_err(|conflict| {
            let at = Path::default().key("switch").key(key);
            self.document.error(&at, format!("{conflict}; write a value for both"))
        })?;
        Ok(wanted.unwrap_or_else(|| of(&TrimmingNeeds::COIN)))
    }
}
