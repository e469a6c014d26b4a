//! Whatever is given is read or refused, in one line.

use super::*;
use proptest::prelude::*;

#[test]
fn deep_and_wide_files_are_refused_and_do_not_hang() {
    refused(&format!("x = {}", "[".repeat(100_000)));
    refused(&"[a.".repeat(50_000));
    refused(&format!("a{} = 1", ".a".repeat(50_000)));
    refused(&format!("topology = {{ kind = \"star\", {} = 1 }}", "x".repeat(100_000)));
    let many = "[[traffic]]\nkind = \"incast\"\nrounds = 1000000\nsenders = 1000000\n".repeat(3);
    let line = refused(&format!("[topology]\nkind = \"star\"\n[transport]\nname = \"cubic\"\n{many}"));
    assert!(line.contains("at most 1000000000 are possible"), "{line}");
}

/// A line of VALID or another file, with something done to it.
fn mutated() -> impl Strategy<Value = String> {
    let texts: Vec<String> = shipped().iter().map(|path| std::fs::read_to_string(path).unwrap()).collect();
    let texts: Vec<String> = texts.into_iter().chain([VALID.to_owned()]).collect();
    let value = prop_oneof![
        Just("0".to_owned()),
        Just("-1".into()),
        Just("1e400".into()),
        Just("nan".into()),
        Just("9223372036854775807".into()),
        Just("true".into()),
        Just("\"\"".into()),
        Just("\"all\"".into()),
        Just("\"auto\"".into()),
        Just("\"random\"".into()),
        Just("\"h0\"".into()),
        Just("\"0 s\"".into()),
        Just("\"99999 s\"".into()),
        Just("\"18446744073709551615 B\"".into()),
        Just("\"1 packets\"".into()),
        Just("[]".into()),
        Just("[[1, 2], [\"h0\", \"h0\"]]".into()),
        Just("{}".into()),
        Just("{ name = \"expresspass\", credit_queue = 3 }".into()),
        Just("1979-05-27T07:32:00Z".into()),
        (0u64..100).prop_map(|number| number.to_string()),
        (0u64..100).prop_map(|number| format!("\"{number} us\"")),
        (0u64..100).prop_map(|number| format!("\"{number} KB\"")),
        "\"[a-z0-9 ]{0,8}\"",
    ];
    let keys: Vec<String> = {
        let page = reference();
        let cells =
            page.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next().map(str::to_owned));
        cells.collect()
    };
    let change = (any::<prop::sample::Index>(), 0..5, value, prop::sample::select(keys));
    (prop::sample::select(texts), prop::collection::vec(change, 1..5)).prop_map(|(text, changes)| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        for (index, how, value, key) in changes {
            if lines.is_empty() {
                break;
            }
            let at = index.index(lines.len());
            match how {
                0 => drop(lines.remove(at)),
                1 => lines.insert(at, lines[at].clone()),
                2 => lines.insert(at, format!("{key} = {value}")),
                _ => {
                    if let Some((key, _)) = lines[at].clone().split_once('=') {
                        lines[at] = format!("{key}= {value}");
                    }
                }
            }
        }
        lines.join("\n")
    })
}

fn check_any(text: &str, overrides: &Overrides) {
    match parse_with(text, overrides) {
        Ok(scenario) => check_reads_back(&scenario),
        Err(error) => assert!(!error.to_string().contains('\n'), "{error}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read_or_refused_in_one_line(text in "\\PC{0,80}") {
        check_any(&text, &Overrides::default());
    }

    #[test]
    fn any_toml_is_read_or_refused_in_one_line(
        lines in prop::collection::vec("(\\[\\[?(topology|switch|traffic|host|loss)\\]\\]?)|((kind|name|rate|k|load) = (\"[a-z0-9 ]{0,9}\"|-?[0-9]{1,20}|\\[[0-9, \"]{0,9}\\]|\\{\\}))", 0..12),
    ) {
        check_any(&lines.join("\n"), &Overrides::default());
    }

    #[test]
    fn a_mutated_scenario_is_read_or_refused_in_one_line_and_reads_back(text in mutated()) {
        check_any(&text, &Overrides::default());
    }

    #[test]
    fn any_override_is_read_or_refused_in_one_line(
        key in "(traffic|switch|transport|topology|stop|host)?(\\.(web|0|1|load|buffer|name|kind|alpha|[a-z]{1,4})){0,3}",
        value in "\\PC{0,12}|[0-9]{1,6}( us| KB)?|\\[[0-9,]{0,6}\\]|\\{ ?\\}",
        transport in prop::option::of(prop::sample::select(vec!["dctcp", "expresspass", "blast", "x"])),
    ) {
        let transport = transport.map(str::to_owned);
        check_any(VALID, &Overrides { transport, ..set(&[(&key, &value)]) });
    }
}
