//! The smallest scenario that still fails.

use super::Drawn;

/// The number of smaller scenarios that are tried.
const ATTEMPTS: usize = 300;

/// Removes tables and lines from a scenario as long as it fails.
pub fn shrunk(mut drawn: Drawn, fails: impl Fn(&Drawn) -> bool) -> Drawn {
    let mut attempts = 0;
    loop {
        let before = drawn.text.len();
        for by_table in [true, false] {
            // From the end, so that the numbers of the parts before stay.
            for part in (0..parts(&drawn.text, by_table).len()).rev() {
                let kept = parts(&drawn.text, by_table);
                let text: String = kept
                    .iter()
                    .enumerate()
                    .filter(|(at, _)| *at != part)
                    .map(|(_, part)| part.as_str())
                    .collect();
                attempts += 1;
                let smaller = Drawn { text, ..drawn.clone() };
                if fails(&smaller) {
                    drawn = smaller;
                }
                if attempts == ATTEMPTS {
                    return drawn;
                }
            }
        }
        if drawn.text.len() == before {
            return drawn;
        }
    }
}

/// The tables of a text with their heads, or its lines.
fn parts(text: &str, by_table: bool) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    for line in text.lines() {
        match parts.last_mut() {
            Some(last) if by_table && !line.starts_with('[') => *last += &format!("{line}\n"),
            _ => parts.push(format!("{line}\n")),
        }
    }
    parts
}
