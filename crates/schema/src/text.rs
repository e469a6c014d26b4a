//! Texts in TOML and in messages.

/// Returns a text as TOML writes it, in quotes.
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

/// Returns the text with line breaks and other control characters made visible, cut where it gets long.
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

/// Limits in words, or an empty text if there are none.
pub fn range(min: &str, max: &str) -> String {
    match (min, max) {
        ("", "") => String::new(),
        (min, "") => format!("at least {min}"),
        ("", max) => format!("at most {max}"),
        (min, max) => format!("from {min} to {max}"),
    }
}

/// Returns the hint `; did you mean "rate"?` if one of the known words is close to `word`, else nothing. Capital
/// letters, underscores and spaces count as small letters and hyphens, so that `DCTCP` is `dctcp`.
pub fn suggestion<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    // A long word is close to nothing, and the comparison takes the product of the lengths.
    if word.len() > 64 {
        return String::new();
    }
    let plain = |text: &str| text.trim().to_ascii_lowercase().replace(['_', ' '], "-");
    let word = plain(word);
    let best = known
        .into_iter()
        .map(|candidate| (candidate, strsim::jaro_winkler(&word, &plain(candidate))))
        .filter(|(_, closeness)| *closeness > 0.8)
        .max_by(|a, b| a.1.total_cmp(&b.1));
    best.map_or(String::new(), |(candidate, _)| format!("; did you mean {candidate:?}?"))
}

#[cfg(test)]
mod tests {
    use super::suggestion;

    #[test]
    fn a_close_word_is_suggested_whatever_its_case_and_hyphens() {
        let known = ["dctcp", "rdma-dctcp", "expresspass", "credit_queue"];
        for (word, right) in [
            ("DCTCP", "dctcp"),
            ("expresspas", "expresspass"),
            ("ExpressPass", "expresspass"),
            ("RDMA_DCTCP", "rdma-dctcp"),
            ("credit-queue", "credit_queue"),
            (" dctcp ", "dctcp"),
        ] {
            assert_eq!(suggestion(word, known), format!("; did you mean {right:?}?"));
        }
        assert_eq!(suggestion("hpcc", known), "");
        assert_eq!(suggestion("", known), "");
    }
}
