//! The files that scenarios may name, which a caller handed over.

use crate::refusal::Refusal;
use serde_json::{Map, Value};

/// Reads the bytes of files: a text, or `{"base64": text}`.
///
/// # Errors
/// One of them is neither.
pub fn read(files: Map<String, Value>) -> Result<Vec<(String, Vec<u8>)>, Refusal> {
    let read = |(name, file): (String, Value)| match file {
        Value::String(text) => Ok((name, text.into_bytes())),
        other => match other["base64"].as_str().and_then(decode) {
            Some(bytes) => Ok((name, bytes)),
            None => {
                Err(Refusal(format!("files: {name}: is neither text nor {{\"base64\": text in base64}}")))
            }
        },
    };
    files.into_iter().map(read).collect()
}

/// Reads base64 (RFC 4648, section 4), with or without padding.
fn decode(text: &str) -> Option<Vec<u8>> {
    let letters = text.trim_end_matches('=').as_bytes();
    let mut bytes = Vec::with_capacity(letters.len() * 3 / 4);
    for group in letters.chunks(4) {
        let mut bits = 0u32;
        for &letter in group {
            bits = bits << 6 | value(letter)?;
        }
        let count = match group.len() {
            4 => 3,
            3 => 2,
            2 => 1,
            _ => return None,
        };
        bits <<= 6 * (4 - group.len());
        bytes.extend_from_slice(&bits.to_be_bytes()[1..1 + count]);
    }
    Some(bytes)
}

fn value(letter: u8) -> Option<u32> {
    Some(u32::from(match letter {
        b'A'..=b'Z' => letter - b'A',
        b'a'..=b'z' => letter - b'a' + 26,
        b'0'..=b'9' => letter - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_read_as_the_examples_of_its_standard_say() {
        for (text, bytes) in [
            ("", ""),
            ("Zg==", "f"),
            ("Zm8=", "fo"),
            ("Zm9v", "foo"),
            ("Zm9vYg==", "foob"),
            ("Zm9vYmE=", "fooba"),
            ("Zm9vYmFy", "foobar"),
        ] {
            assert_eq!(decode(text).as_deref(), Some(bytes.as_bytes()), "{text}");
        }
        assert_eq!(decode("+/8="), Some(vec![0xfb, 0xff]));
        for wrong in ["A", "AAAAA", "A A=", "ä", "A=AA"] {
            assert_eq!(decode(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_file_that_is_neither_text_nor_base64_is_refused_by_name() {
        for file in [serde_json::json!({ "base64": "!" }), serde_json::json!(7), serde_json::json!({})] {
            let files = Map::from_iter([("lists/a.csv".to_owned(), file)]);
            assert!(read(files).unwrap_err().0.starts_with("files: lists/a.csv: is neither text nor"));
        }
    }
}
