//! Texts in TOML and in messages.

/// A text as TOML writes it, in quotes.
pub fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if c.is_control() => out.push_str(&format!("\\u{:04X}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// The text with line breaks and other control characters made visible, cut where it gets long.
pub fn one_line(text: &str) -> String {
    let mut line = String::new();
    for c in text.chars() {
        match c {
            '\n' => line.push_str("\\n"),
            c if c.is_control() => line.extend(c.escape_default()),
            c => line.push(c),
        }
        if line.len() > 600 {
            line.push_str("...");
            break;
        }
    }
    line
}

/// The hint `; did you mean "rate"?` if one of the known words is close to `word`, else nothing.
pub fn suggestion<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    // A long word is close to nothing, and the comparison takes the product of the lengths.
    if word.len() > 64 {
        return String::new();
    }
    let best = known
        .into_iter()
        .map(|candidate| (candidate, strsim::jaro_winkler(word, candidate)))
        .filter(|(_, closeness)| *closeness > 0.8)
        .max_by(|a, b| a.1.total_cmp(&b.1));
    best.map_or(String::new(), |(candidate, _)| format!("; did you mean {candidate:?}?"))
}
