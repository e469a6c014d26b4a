//! Scenario files with lines and bytes changed at random.

use super::{Draw, Drawn};

/// Values that stand where another kind of value is expected.
const ODD: [&str; 22] = [
    "0",
    "-1",
    "1e400",
    "nan",
    "-0.0",
    "9223372036854775807",
    "9223372036854775808",
    "true",
    "\"\"",
    "\"all\"",
    "\"auto\"",
    "\"0 s\"",
    "\"99999 s\"",
    "\"18446744073709551615 B\"",
    "\"1 packets\"",
    "[]",
    "[[]]",
    "{}",
    "{ x = 1 }",
    "1979-05-27T07:32:00Z",
    "\"\\u0000\"",
    "'''\n'''",
];

/// Changes a text in one to four places, most often in one.
pub fn mutated(draw: &mut Draw, drawn: &Drawn, others: &[Drawn]) -> (Vec<u8>, Drawn) {
    let mut text = drawn.text.clone().into_bytes();
    let mut drawn = drawn.clone();
    for _ in 0..[1, 1, 1, 2, 4][draw.below(5) as usize] {
        text = if draw.chance(60) { lines(draw, &text, others) } else { bytes(draw, text) };
    }
    if draw.chance(20)
        && let Some(file) = drawn.files.values_mut().next()
    {
        *file = bytes(draw, file.clone());
    }
    (text, drawn)
}

/// Removes, repeats, moves or replaces a line.
fn lines(draw: &mut Draw, text: &[u8], others: &[Drawn]) -> Vec<u8> {
    let mut lines: Vec<Vec<u8>> = text.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    let [at, other] = [(); 2].map(|()| draw.below(lines.len() as u64) as usize);
    match draw.below(6) {
        0 => drop(lines.remove(at)),
        1 => lines.insert(other, lines[at].clone()),
        2 => lines.swap(at, other),
        3 => {
            let from: Vec<&str> = draw.pick(others).text.lines().collect();
            let line = draw.pick(&from).as_bytes().to_vec();
            lines.insert(at, line);
        }
        4 => {
            let key = lines[at].split(|byte| *byte == b'=').next().unwrap_or_default().to_vec();
            lines[at] = [key.as_slice(), b"= ", draw.pick(&ODD).as_bytes()].concat();
        }
        _ => lines.truncate(at.max(1)),
    }
    lines.join(&b'\n')
}

/// Flips a bit, or removes, repeats or inserts some bytes.
fn bytes(draw: &mut Draw, mut text: Vec<u8>) -> Vec<u8> {
    if text.is_empty() {
        return b"x".to_vec();
    }
    let at = draw.below(text.len() as u64) as usize;
    match draw.below(4) {
        0 => text[at] ^= 1 << draw.below(8),
        1 => {
            let end = (at + draw.scale(1, 40) as usize).min(text.len());
            text.drain(at..end);
        }
        2 => {
            let end = (at + draw.scale(1, 40) as usize).min(text.len());
            let again = text[at..end].to_vec();
            text.splice(at..at, again);
        }
        _ => text.insert(at, *draw.pick(b"\"'[]{}=.#,-0\\\n\0 \xff")),
    }
    text
}
