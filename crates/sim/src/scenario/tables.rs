//! The tables that a scenario file may have, with all their keys: what the reference, editors and `clearway new` show.

use super::mechanism;
use super::schema::*;
use super::shapes::{KindInfo, SHAPES};
use super::traffic::KINDS;
use clearway_schema::{Declared, Spec};

/// A table of scenario files.
#[derive(Clone, Debug)]
pub struct TableInfo {
    /// The keys that lead to the table from the top level, with dots between; empty for the top level itself.
    pub path: &'static str,
    /// True if the file may have several of these tables, each under `[[path]]`.
    pub many: bool,
    /// The documentation.
    pub doc: &'static str,
    /// The keys. The table `transport` has its keys in the registry of transports.
    pub keys: Vec<KeyInfo>,
    /// The words of the key `kind`, each with the keys that it adds; empty for tables without that key.
    pub kinds: &'static [KindInfo],
}

/// A key of a table.
#[derive(Clone, Debug)]
pub struct KeyInfo {
    /// The name of the key.
    pub name: String,
    /// The documentation of the key.
    pub doc: String,
    /// The kind of value, its default and limits.
    pub spec: Spec,
}

impl KeyInfo {
    fn of(spec: &Spec) -> KeyInfo {
        KeyInfo { name: spec.name.into(), doc: spec.doc.trim().into(), spec: *spec }
    }
}

/// The documentation of `[topology]`.
const TOPOLOGY: &str = "The network. `kind` chooses its shape and so the other keys.";

/// The documentation of `[transport]`.
const TRANSPORT: &str = "The transport of all traffic that names none: `name`, optionally `profile` (a named set of \
    parameters or a list of such, applied first and in order), and its parameters.";

/// Returns all tables, in the order of the reference.
pub fn tables() -> Vec<TableInfo> {
    vec![
        table::<Root>("", false),
        TableInfo { path: "topology", many: false, doc: TOPOLOGY, keys: Vec::new(), kinds: SHAPES },
        table::<LinkTable>("link", true),
        table::<Network>("network", false),
        switch(),
        table::<ClassTable>("switch.class", true),
        table::<CreditClassTable>("switch.credit_class", true),
        table::<Host>("host", false),
        TableInfo { path: "transport", many: false, doc: TRANSPORT, keys: Vec::new(), kinds: &[] },
        TableInfo { kinds: KINDS, ..table::<TrafficTable>("traffic", true) },
        table::<FlowTable>("traffic.list", true),
        table::<FaultTable>("fault", true),
        table::<LossTable>("loss", true),
        table::<MeasureTable>("measure", false),
        table::<SampleTable>("sample", true),
        table::<TraceTable>("trace", true),
    ]
}

fn table<T: Declared>(path: &'static str, many: bool) -> TableInfo {
    let keys = T::SPECS.iter().map(KeyInfo::of).collect();
    TableInfo { path, many, doc: T::DOC.trim(), keys, kinds: &[] }
}

/// Returns the table `[switch]`, to which port mechanisms add keys.
fn switch() -> TableInfo {
    let mut table = table::<Switch>("switch", false);
    table.keys.extend(mechanism::keys().into_iter().map(|key| {
        let names: Vec<String> = key.transports.iter().map(|name| format!("`{name}`")).collect();
        let (doc, names) = (key.constant.doc.trim(), names.join(" or "));
        let doc = format!("{doc} Without it, what the transport asks for. Only with {names}.");
        KeyInfo { name: key.name, doc, spec: Spec { default: "", ..*key.constant } }
    }));
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::resolve;

    #[test]
    fn every_table_that_a_scenario_may_have_is_listed() {
        let listed: Vec<&str> = tables().iter().map(|table| table.path).collect();
        assert!(resolve::TABLES.iter().all(|table| listed.contains(table)), "{listed:?}");
        let tops = listed.iter().filter(|path| !path.is_empty() && !path.contains('.'));
        assert!(tops.clone().all(|path| resolve::TABLES.contains(path)), "{listed:?}");
    }

    #[test]
    fn every_key_that_holds_tables_has_the_list_of_their_keys() {
        let all = tables();
        let listed: Vec<&str> = all.iter().map(|table| table.path).collect();
        for table in &all {
            let kinds = table.kinds.iter().flat_map(|kind| kind.keys);
            let names = table.keys.iter().map(|key| (key.name.as_str(), key.spec.forms));
            for (name, forms) in names.chain(kinds.map(|spec| (spec.name, spec.forms))) {
                if forms() == [clearway_schema::Form::Elsewhere("tables")] {
                    let path = format!("{}.{name}", table.path);
                    assert!(listed.contains(&path.as_str()), "{path}");
                }
            }
        }
    }
}
