//! The transports of a scenario with their parameters, which the registry of transports describes.

use super::document::{Document, Path};
use super::error::ScenarioError;
use super::mechanism::keys_of;
use clearway_proto::{AnyTransport, Conflict, TRANSPORTS};
use clearway_schema::{Entry, Error, Node, Place, Value, one_line, quoted, suggestion};

/// The keys that mean something only with a transport that uses credits, as (table, key).
pub(super) const CREDIT_KEYS: [(&str, &str); 8] = [
    ("switch", "credit_queue"),
    ("switch", "credit_bucket"),
    ("switch", "credit_bucket_empty"),
    ("switch", "credit_queue_bytes"),
    ("switch", "credit_drop"),
    ("switch", "credit_share"),
    ("switch", "credit_class"),
    ("host", "credit_queue"),
];

/// Returns the names of all transports, for messages.
pub(super) fn known() -> String {
    TRANSPORTS.iter().map(|info| info.name).collect::<Vec<_>>().join(", ")
}

fn unknown(name: &str) -> String {
    let hint = suggestion(name, TRANSPORTS.iter().map(|info| info.name));
    format!("is no transport{hint} (known: {})", known())
}

/// Reads the transport at `at`: a name, or a table of a name and parameters. A table without a name starts from
/// `inherited`. Returns `None` if there is no transport at `at`.
pub(super) fn read(
    document: &Document,
    at: &Path,
    inherited: Option<&AnyTransport>,
) -> Result<Option<AnyTransport>, ScenarioError> {
    let Some(node) = document.get(at) else { return Ok(None) };
    let entries = match &node.value {
        Value::Text(name) => {
            let transport = AnyTransport::by_name(name).ok_or_else(|| document.error(at, unknown(name)))?;
            return Ok(Some(transport));
        }
        Value::Table(entries) => entries,
        _ => {
            let problem = "write a transport's name, or a table of name and parameters";
            return Err(document.error(at, problem));
        }
    };
    let mut transport = match (node.value.get("name"), inherited) {
        (Some(name), _) => {
            let text = name.value.text().unwrap_or("");
            AnyTransport::by_name(text).ok_or_else(|| document.error(&at.key("name"), unknown(text)))?
        }
        (None, Some(inherited)) => inherited.clone(),
        (None, None) => {
            let problem = format!("is missing; write the name of a transport, one of {}", known());
            return Err(document.error(&at.key("name"), problem));
        }
    };
    // A profile sets several parameters, so it comes first; of several the later ones win.
    let profiles = entries.iter().filter(|entry| entry.key == "profile");
    let others = entries.iter().filter(|entry| entry.key != "profile" && entry.key != "name");
    for entry in profiles.chain(others) {
        let path = at.key(&entry.key);
        match &entry.node.value {
            Value::List(items) if entry.key == "profile" => {
                for (index, item) in items.iter().enumerate() {
                    set(document, &path.index(index), &mut transport, &entry.key, &item.value)?;
                }
            }
            value => set(document, &path, &mut transport, &entry.key, value)?,
        }
    }
    check_conflict(document, at, &transport)?;
    Ok(Some(transport))
}

/// Refuses two parameters of the transport at `at` that contradict each other, at the one that the scenario sets, or at the
/// first of both.
fn check_conflict(document: &Document, at: &Path, transport: &AnyTransport) -> Result<(), ScenarioError> {
    let Some(Conflict { keys, problems: [first, second] }) = transport.conflict() else { return Ok(()) };
    let [has_first, has_second] = keys.map(|key| document.get(&at.key(key)).is_some());
    let (key, problem) = if has_second && !has_first { (keys[1], second) } else { (keys[0], first) };
    Err(document.error(&at.key(key), problem))
}

/// Returns true if the transport at `at` has no name of its own.
pub(super) fn inherits(document: &Document, at: &Path) -> bool {
    document
        .get(at)
        .is_some_and(|node| matches!(node.value, Value::Table(_)) && node.value.get("name").is_none())
}

/// Sets one parameter of a transport.
fn set(
    document: &Document,
    path: &Path,
    transport: &mut AnyTransport,
    key: &str,
    value: &Value,
) -> Result<(), ScenarioError> {
    if matches!(value, Value::Other(_) | Value::List(_) | Value::Table(_)) {
        return Err(document.error(path, "write a single value"));
    }
    let info = transport.info();
    transport.set(key, value).map_err(|error| match error {
        Error::Unknown { known, .. } => {
            let hint = suggestion(key, info.params.iter().map(|spec| spec.name));
            let has = if known.is_empty() { "has none".into() } else { format!("has {known}") };
            document.error(path, format!("is no parameter of {}{hint} (it {has})", info.name))
        }
        other => document.error(path, other.problem()),
    })
}

/// Returns the transport in TOML, as an inline table of its name and all parameters.
pub(super) fn write_inline(transport: &AnyTransport) -> String {
    let keys = write(transport).into_iter().map(|(name, value)| format!("{name} = {value}"));
    format!("{{ {} }}", keys.collect::<Vec<_>>().join(", "))
}

/// Returns the keys of a transport's table with their values in TOML.
pub(super) fn write(transport: &AnyTransport) -> Vec<(&'static str, String)> {
    [("name", quoted(transport.info().name))].into_iter().chain(transport.write()).collect()
}

/// Makes all traffic use the transport `name`, after a check of the transports that the file names. See
/// [`super::Overrides::transport`].
pub(super) fn replace_all(document: &mut Document, name: &str) -> Result<(), ScenarioError> {
    let replacement = AnyTransport::by_name(name).ok_or_else(|| ScenarioError {
        key: String::new(),
        value: None,
        ..ScenarioError::file(&format!("--transport {}", one_line(name)), unknown(name))
    })?;
    let at = Path::default().key("transport");
    let default = read(document, &at, None)?;
    let mut used: Vec<AnyTransport> = default.iter().cloned().collect();
    let traffic = Path::default().key("traffic");
    let mut keeps = Vec::new();
    for index in 0..document.list_len(&traffic)? {
        let own = read(document, &traffic.index(index).key("transport"), default.as_ref())?;
        keeps.push(own.as_ref().is_none_or(|own| own.info().name == name));
        used.extend(own);
    }
    let Value::Table(root) = &mut document.root.value else { return Ok(()) };
    if default.is_none_or(|default| default.info().name != name) {
        let node = Node { place: Place::Override, value: Value::Text(name.into()) };
        root.retain(|entry| entry.key != "transport");
        root.push(Entry { key: "transport".into(), place: Place::Override, node });
    }
    let parts = root.iter_mut().find(|entry| entry.key == "traffic").map(|entry| &mut entry.node.value);
    if let Some(Value::List(parts)) = parts {
        for (part, keep) in parts.iter_mut().zip(keeps) {
            if let (Value::Table(entries), false) = (&mut part.value, keep) {
                entries.retain(|entry| entry.key != "transport");
            }
            if let (Value::Table(entries), None) = (&mut part.value, replacement.needs().credits) {
                entries.retain(|entry| entry.key != "credit_class");
            }
        }
    }
    let had_credits = used.iter().any(|transport| transport.needs().credits.is_some());
    if had_credits && replacement.needs().credits.is_none() {
        for (table, key) in CREDIT_KEYS {
            let table = root.iter_mut().find(|entry| entry.key == table).map(|entry| &mut entry.node.value);
            if let Some(Value::Table(entries)) = table {
                entries.retain(|entry| entry.key != key);
            }
        }
    }
    let kept = replacement.mechanism().map_or(Vec::new(), |mechanism| keys_of(&mechanism));
    let had = used.iter().filter_map(AnyTransport::mechanism);
    let idle: Vec<String> = had.flat_map(|had| keys_of(&had)).filter(|key| !kept.contains(key)).collect();
    let switch = root.iter_mut().find(|entry| entry.key == "switch").map(|entry| &mut entry.node.value);
    if let Some(Value::Table(entries)) = switch {
        entries.retain(|entry| !idle.contains(&entry.key));
    }
    Ok(())
}
