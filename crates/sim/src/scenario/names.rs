//! Names of the entries of a scenario that have none.

use clearway_schema::{Node, Value};

/// Returns `word`, or if it is taken `word-2`, `word-3`, ...
pub(super) fn free_name(word: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let numbered = (2u64..).map(|number| format!("{word}-{number}"));
    let mut names = [word.to_owned()].into_iter().chain(numbered);
    names.find(|name| !is_taken(name)).expect("some number is free")
}

/// The names of the entries of a list: the given one, or that which an entry without one gets by its `kind` (of
/// traffic) or its `what` (of a sample). `None` for entries that get no name.
pub(super) fn names_of(items: &[Node]) -> Vec<Option<String>> {
    let text = |item: &Node, key: &str| item.value.get(key)?.value.text().map(str::to_owned);
    let mut names: Vec<Option<String>> = items.iter().map(|item| text(item, "name")).collect();
    for (at, item) in items.iter().enumerate() {
        let is_unnamed = matches!(item.value, Value::Table(_)) && item.value.get("name").is_none();
        if let (true, Some(word)) = (is_unnamed, text(item, "kind").or_else(|| text(item, "what"))) {
            names[at] = Some(free_name(&word, |name| names.iter().flatten().any(|taken| taken == name)));
        }
    }
    names
}
