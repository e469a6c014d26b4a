//! Names for parts of a scenario that have none.

/// Returns `word`, or if it is taken `word-2`, `word-3`, ...
pub(super) fn free_name(word: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let numbered = (2u64..).map(|number| format!("{word}-{number}"));
    let mut names = [word.to_owned()].into_iter().chain(numbered);
    names.find(|name| !is_taken(name)).expect("some number is free")
}
