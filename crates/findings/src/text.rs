//! Numbers and lists as people write them.

use crate::ratio::{Basis, Ratio};

const TIMES: [(f64, &str); 4] = [(1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")];
const SIZES: [(f64, &str); 4] = [(1e9, "GB"), (1e6, "MB"), (1e3, "KB"), (1.0, "B")];
const RATES: [(f64, &str); 4] = [(1e9, "Gbps"), (1e6, "Mbps"), (1e3, "Kbps"), (1.0, "bps")];

/// Returns a time in seconds, such as `12.3 µs`.
pub fn time(value: f64) -> String {
    scaled(value, &TIMES)
}

/// Returns a size in bytes, such as `1.54 KB`.
pub fn size(value: f64) -> String {
    scaled(value, &SIZES)
}

/// Returns a rate in bits a second, such as `9.48 Gbps`.
pub fn rate(value: f64) -> String {
    scaled(value, &RATES)
}

/// Three digits, in the largest unit that is not larger than the value.
fn scaled(value: f64, units: &[(f64, &str)]) -> String {
    if value == 0.0 {
        return format!("0 {}", units[if units[0].0 > 1.0 { units.len() - 1 } else { 0 }].1);
    }
    // The small excess: 999.9 KB is 1.00 MB.
    let fits = units.iter().find(|(scale, _)| value.abs() * 1.0005 >= *scale);
    let (scale, name) = fits.unwrap_or(&units[units.len() - 1]);
    format!("{} {name}", digits(value / scale))
}

/// Three digits, and never an exponent.
pub fn digits(value: f64) -> String {
    let places = if value.abs() >= 99.95 {
        0
    } else if value.abs() >= 9.995 {
        1
    } else {
        2
    };
    let text = format!("{value:.places$}");
    // The tables round a half to the even number, as this does.
    if places == 0 { text.parse().map_or(text, count) } else { text }
}

/// Returns a count with commas: `12,345`.
pub fn count(value: u64) -> String {
    let plain = value.to_string();
    let mut text = String::new();
    for (at, digit) in plain.chars().enumerate() {
        if at > 0 && (plain.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns a number of things: `1 flow`, `640 flows`.
pub fn many(value: u64, thing: &str) -> String {
    format!("{} {thing}{}", count(value), if value == 1 { "" } else { "s" })
}

/// Returns a share in percent, with two digits that count: `86 %`, `5.4 %`, `0.52 %`.
pub fn percent(share: f64) -> String {
    let value = 100.0 * share;
    let places = match value.abs() {
        0.0 => 0,
        size if size >= 9.95 => 0,
        size if size >= 0.995 => 1,
        _ => 2,
    };
    // A share that rounds to all or to nothing is said to be near it.
    if places == 0 && share < 1.0 && value.round() >= 100.0 {
        return "over 99 %".into();
    }
    if places == 2 && value > 0.0 && value < 0.005 {
        return "under 0.01 %".into();
    }
    format!("{value:.places$} %")
}

/// Returns how much longer a ratio above 1 is, with its interval: `8.2 % longer (95 % interval 6.9 to 9.6 %)`, `3.2
/// times as long (95 % interval 2.9 to 3.5)`.
pub fn longer(ratio: &Ratio) -> String {
    let (amount, than, interval) = parts_of(ratio);
    format!("{amount} {than} ({interval})")
}

/// Returns the same with the two transports: `8.2 % longer under dctcp than under expresspass (95 % interval 6.9 to 9.6
/// %)`.
pub fn longer_under(ratio: &Ratio, slow: &str, fast: &str) -> String {
    let (amount, than, interval) = parts_of(ratio);
    let word = if ratio.value >= 2.0 { "as" } else { "than" };
    format!("{amount} {than} under {slow} {word} under {fast} ({interval})")
}

/// Returns the amount, the words behind it, and the interval.
fn parts_of(ratio: &Ratio) -> (String, &'static str, String) {
    let (low, high) = ratio.interval;
    if ratio.value >= 2.0 {
        let ends = span(&format!("{low:.1}"), &format!("{high:.1}"));
        return (format!("{:.1} times", ratio.value), "as long", format!("95 % interval {ends}"));
    }
    let places = if ratio.value >= 1.0995 { 0 } else { 1 };
    let change = |value: f64| format!("{:.places$}", 100.0 * (value - 1.0));
    let ends = span(&change(low), &change(high));
    (format!("{} %", change(ratio.value)), "longer", format!("95 % interval {ends} %"))
}

/// Returns the two ends of an interval; one number where both are the same.
fn span(low: &str, high: &str) -> String {
    if low == high { low.to_owned() } else { format!("{low} to {high}") }
}

/// Returns what an interval rests on, behind the sentence that has it.
pub fn basis(basis: Basis) -> String {
    match basis {
        Basis::Seeds(count) => format!("The interval is from {count} seeds."),
        Basis::Parts(count) => {
            format!("The interval is from {count} parts of this one run; other seeds may differ by more.")
        }
    }
}

/// Names in a sentence: `a`, `a and b`, `a, b and c`.
pub fn list(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_and_the_largest_unit_that_fits() {
        assert_eq!(
            (time(12.34e-6), time(0.0), time(3.17e-3)),
            ("12.3 µs".into(), "0 s".into(), "3.17 ms".into())
        );
        assert_eq!(
            (size(999_900.0), size(0.0), size(1538.0)),
            ("1.00 MB".into(), "0 B".into(), "1.54 KB".into())
        );
        assert_eq!((size(384_500.0), size(385_500.0)), ("384 KB".into(), "386 KB".into()));
        assert_eq!((rate(9.48e9), rate(123_456e9)), ("9.48 Gbps".into(), "123,456 Gbps".into()));
        assert_eq!((count(0), count(999), count(1_234_567)), ("0".into(), "999".into(), "1,234,567".into()));
        assert_eq!((many(1, "flow"), many(640, "flow")), ("1 flow".into(), "640 flows".into()));
    }

    #[test]
    fn a_share_below_one_is_never_said_to_be_all_and_one_above_zero_never_nothing() {
        assert_eq!(
            (percent(1.0), percent(0.9999), percent(0.863)),
            ("100 %".into(), "over 99 %".into(), "86 %".into())
        );
        assert_eq!((percent(0.054), percent(0.0052)), ("5.4 %".into(), "0.52 %".into()));
        assert_eq!((percent(0.0), percent(1e-6)), ("0 %".into(), "under 0.01 %".into()));
    }

    #[test]
    fn a_ratio_is_in_percent_below_two_and_in_times_from_there_on() {
        let ratio =
            |value: f64| Ratio { value, interval: (value * 0.9, value * 1.1), basis: Basis::Seeds(3) };
        assert_eq!(longer(&ratio(1.5)), "50 % longer (95 % interval 35 to 65 %)");
        assert_eq!(longer(&ratio(1.05)), "5.0 % longer (95 % interval -5.5 to 15.5 %)");
        assert_eq!(longer(&ratio(3.0)), "3.0 times as long (95 % interval 2.7 to 3.3)");
        let sure = Ratio { value: 1.25, interval: (1.25, 1.25), basis: Basis::Parts(10) };
        assert_eq!(longer(&sure), "25 % longer (95 % interval 25 %)");
        assert_eq!(longer_under(&sure, "a", "b"), "25 % longer under a than under b (95 % interval 25 %)");
        assert_eq!(
            longer_under(&ratio(3.0), "a", "b"),
            "3.0 times as long under a as under b (95 % interval 2.7 to 3.3)"
        );
    }

    #[test]
    fn names_are_joined_as_in_a_sentence() {
        let of = |names: &[&str]| list(&names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>());
        assert_eq!(
            (of(&["a"]), of(&["a", "b"]), of(&["a", "b", "c"])),
            ("a".into(), "a and b".into(), "a, b and c".into())
        );
    }
}
