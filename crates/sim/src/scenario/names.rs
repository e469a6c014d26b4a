//! Names of the entries of a scenario that have none.

use clearway_schema::{Node, Value};
use std::collections::{BTreeMap, BTreeSet};

/// The names of a list, to which free ones are added.
pub(super) struct Names {
    taken: BTreeSet<String>,
    /// For each word that was asked for, the number from which on it may be free.
    numbers: BTreeMap<String, u64>,
}

impl Names {
    /// Returns the names that entries were given.
    pub fn new<'a>(given: impl IntoIterator<Item = &'a str>) -> Names {
        Names { taken: given.into_iter().map(str::to_owned).collect(), numbers: BTreeMap::new() }
    }

    /// Takes `word`, or if it is taken `word-2`, `word-3`, ...
    pub fn free(&mut self, word: &str) -> String {
        // Names are never given back, so no number is tried twice.
        let number = self.numbers.entry(word.to_owned()).or_insert(1);
        loop {
            let name = if *number == 1 { word.to_owned() } else { format!("{word}-{number}") };
            *number += 1;
            if self.taken.insert(name.clone()) {
                return name;
            }
        }
    }
}

/// Returns the names of the entries of a list: the given one, or that which an entry without one gets by its `kind` (of
/// traffic) or its `what` (of a sample). `None` for entries that get no name.
pub(super) fn names_of(items: &[Node]) -> Vec<Option<String>> {
    let text = |item: &Node, key: &str| item.value.get(key)?.value.text().map(str::to_owned);
    let mut names: Vec<Option<String>> = items.iter().map(|item| text(item, "name")).collect();
    let mut all = Names::new(names.iter().flatten().map(String::as_str));
    for (at, item) in items.iter().enumerate() {
        let is_unnamed = matches!(item.value, Value::Table(_)) && item.value.get("name").is_none();
        if let (true, Some(word)) = (is_unnamed, text(item, "kind").or_else(|| text(item, "what"))) {
            names[at] = Some(all.free(&word));
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_free_name_is_the_word_or_its_first_number_that_nobody_has() {
        let mut names = Names::new(["incast", "incast-3", "flows-2"]);
        let found = ["incast", "incast", "flows", "flows", "incast-3"].map(|word| names.free(word));
        assert_eq!(found, ["incast-2", "incast-4", "flows", "flows-3", "incast-3-2"]);
    }

    #[test]
    fn names_of_many_entries_are_found_without_trying_all_of_them_for_each() {
        // Each name was compared with each other one for each number: 10^15 comparisons.
        let mut names = Names::new([]);
        let last = (0..100_000).map(|_| names.free("queue")).last();
        assert_eq!(last.as_deref(), Some("queue-100000"));
    }
}
