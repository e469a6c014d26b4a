//! The traffic entries, each with its name, its transport and its classes.

use super::super::names::Names;
use crate::model::{Pattern, Traffic};
use crate::scenario::document::Path;
use crate::scenario::error::Result;
use crate::scenario::field::Name;
use crate::scenario::schema::*;
use crate::scenario::shapes::text_at;
use crate::scenario::traffic::{Part, Surroundings};
use crate::scenario::transport;
use crate::traffic::Done;
use clearway_proto::AnyTransport;
use clearway_schema::suggestion;

/// A traffic entry, for the model and for the resolved file.
pub(super) struct ReadPart {
    pub traffic: Traffic,
    pub own: Option<AnyTransport>,
    /// True if the transport of the entry starts from `[transport]`.
    pub inherits: bool,
    pub kind: &'static str,
    pub class: Option<Name>,
    /// True if the entry names the class of its acknowledgements.
    pub names_acks: bool,
    pub written: Vec<(&'static str, String)>,
}

impl ReadPart {
    /// Returns true if the entry leaves to the scenario in which class acknowledgements and the headers of its packets that are
    /// cut travel.
    pub fn leaves_acks_open(&self) -> bool {
        !self.names_acks && self.traffic.transport.needs().trimming.is_some()
    }
}

pub(super) fn read_traffic(
    surroundings: &Surroundings<'_>,
    default: Option<&AnyTransport>,
    classes: &[ClassTable],
    credit_classes: &[CreditClassTable],
) -> Result<Vec<ReadPart>> {
    let document = surroundings.document;
    let at = Path::default().key("traffic");
    let count = document.list_len(&at)?;
    if count == 0 {
        return Err(document.error(&at, "is missing; write at least one [[traffic]] with a kind"));
    }
    let given: Vec<Option<&str>> =
        (0..count).map(|index| text_at(document, &at.index(index), "name")).collect();
    let mut names = Names::new(given.iter().copied().flatten());
    let mut parts: Vec<ReadPart> = Vec::new();
    for index in 0..count {
        let at = at.index(index);
        let Part { common, kind, pattern, written } = surroundings.read(&at, index)?;
        let name = match common.name {
            Some(name) if given[..index].contains(&Some(&name.0)) => {
                let problem = "is taken by an earlier traffic entry; write another name";
                return Err(document.error(&at.key("name"), problem));
            }
            Some(name) => name.0,
            None => names.free(kind),
        };
        let own = transport::read(document, &at.key("transport"), default)?;
        let inherits = own.is_some() && transport::inherits(document, &at.key("transport"));
        let Some(transport) = own.as_ref().or(default).cloned() else {
            let known = transport::known();
            let problem = format!("is missing; name a transport here or under [transport] (known: {known})");
            return Err(document.error(&at.key("transport"), problem));
        };
        let heeds_senders =
            matches!(&pattern, Pattern::Messages(messages) if messages.triggers().heed(Done::Acknowledged));
        if heeds_senders && !transport.info().recovers {
            let problem = format!(
                "{} acknowledges nothing, so a flow that waits until another is acknowledged would never begin; choose another \
                 transport, or wait until flows are delivered",
                transport.info().name
            );
            return Err(document.error(&at.key("transport"), problem));
        }
        let find = |key: &str, class: &Name| {
            classes.iter().position(|other| other.name == *class).ok_or_else(|| {
                let names: Vec<&str> = classes.iter().map(|class| class.name.0.as_str()).collect();
                let hint = suggestion(&class.0, names.iter().copied());
                let problem = format!("is no class of [[switch.class]]{hint} (known: {})", names.join(", "));
                document.error(&at.key(key), problem)
            })
        };
        let credit_class = match &common.credit_class {
            None => 0,
            Some(_) if transport.needs().credits.is_none() => {
                let problem =
                    format!("means nothing, since {} uses no credits; remove it", transport.info().name);
                return Err(document.error(&at.key("credit_class"), problem));
            }
            Some(class) => credit_classes.iter().position(|other| other.name == *class).ok_or_else(|| {
                let names: Vec<&str> = credit_classes.iter().map(|class| class.name.0.as_str()).collect();
                let known = if names.is_empty() {
                    "there are none".into()
                } else {
                    format!("known: {}", names.join(", "))
                };
                let hint = suggestion(&class.0, names.iter().copied());
                let problem = format!("is no class of [[switch.credit_class]]{hint} ({known})");
                document.error(&at.key("credit_class"), problem)
            })?,
        };
        let class = common.class.as_ref().map_or(Ok(0), |class| find("class", class))?;
        let notice_class = common.notice_class.as_ref();
        let notice_class = notice_class.map_or(Ok(class), |class| find("notice_class", class))?;
        let ack_class = common.ack_class.as_ref();
        let ack_class = ack_class.map_or(Ok(class), |class| find("ack_class", class))?;
        let names_acks = common.ack_class.is_some();
        let traffic = Traffic { name, transport, class, credit_class, notice_class, ack_class, pattern };
        parts.push(ReadPart { traffic, own, inherits, kind, class: common.class, names_acks, written });
    }
    Ok(parts)
}
