//! Comparable stacks: transports start their connections alike, so that a comparison shows their congestion control.

use super::document::{Document, Path};
use super::field::Stacks;
use clearway_proto::AnyTransport;
use clearway_schema::{Entry, Field, Node, Value};

/// The parameters that `stacks = "equal"` sets where a transport has them, each with the values to try, of which the
/// first that the transport accepts counts. Every connection is opened by a handshake, and the first window is that of
/// ns-2's TCP, with which the papers compared.
pub(super) const EQUAL: [(&str, &[&str]); 2] = [("handshake", &["true", "syn"]), ("initial_window", &["2"])];

/// Returns true if the document asks for equal stacks. A wrong value is refused later, with the other keys.
fn wants_equal(document: &Document) -> bool {
    let at = Path::default().key("stacks");
    document.get(&at).is_some_and(|node| Stacks::read(&node.value) == Ok(Stacks::Equal))
}

/// Adds the parameters of equal stacks to every transport that the document names, if it asks for that. Keys of the
/// document itself stay, and so does a transport with a profile, which is a whole stack.
pub(super) fn equalise(document: &mut Document) {
    if !wants_equal(document) {
        return;
    }
    let Value::Table(root) = &mut document.root.value else { return };
    for entry in root {
        match (entry.key.as_str(), &mut entry.node.value) {
            ("transport", _) => equalise_one(&mut entry.node),
            ("traffic", Value::List(parts)) => {
                for part in parts {
                    let Value::Table(keys) = &mut part.value else { continue };
                    let own = keys.iter_mut().filter(|key| key.key == "transport");
                    own.for_each(|key| equalise_one(&mut key.node));
                }
            }
            _ => {}
        }
    }
}

/// Adds the parameters of equal stacks to one transport, which is a name or a table with a name.
fn equalise_one(node: &mut Node) {
    let name = match &node.value {
        Value::Text(name) => name.clone(),
        Value::Table(_) => match node.value.get("name").and_then(|name| name.value.text()) {
            Some(name) => name.to_owned(),
            // It inherits from `[transport]`, which has them.
            None => return,
        },
        _ => return,
    };
    let Some(transport) = AnyTransport::by_name(&name) else { return };
    let place = node.place;
    let make = |key: &str, value: &str| Entry {
        key: key.into(),
        place,
        node: Node { place, value: Value::Text(value.into()) },
    };
    if matches!(node.value, Value::Text(_)) {
        node.value = Value::Table(vec![make("name", &name)]);
    }
    let Value::Table(entries) = &mut node.value else { return };
    if entries.iter().any(|entry| entry.key == "profile") {
        return;
    }
    for (key, values) in EQUAL {
        let known = values.iter().find(|value| transport.clone().set(key, **value).is_ok());
        if let Some(value) = known.filter(|_| entries.iter().all(|entry| entry.key != key)) {
            entries.push(make(key, value));
        }
    }
}
