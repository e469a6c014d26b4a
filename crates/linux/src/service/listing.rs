//! The command `clearwayd settings`: tables of all settings and parameters, which
//! `docs/how-to/clearwayd.md` repeats.

use super::config::flag_of;
use super::settings::{HostSettings, PacSettings, SwitchSettings};
use crate::host::{HostConfig, HostParams};
use crate::pac::PacParams;
use clearway_schema::{Declared, REQUIRED, Spec};
use std::fmt::Write;

/// Returns the settings of a kind of daemon, and the parameters for its `--set`; `None` for an unknown kind.
pub fn of(kind: &str) -> Option<String> {
    let (own, parameters): (&[Spec], Vec<Parameters>) = match kind {
        "host" => {
            let transports =
                ["expresspass", "ec4"].into_iter().filter_map(|name| HostConfig::transport(name).ok());
            // A host's defaults are not those of the simulator in all cases.
            let transports = transports
                .map(|transport| (transport.info().name, transport.info().params, transport.write()));
            let host: Parameters = ("host", HostParams::SPECS, Defaults::new());
            (HostSettings::SPECS, [host].into_iter().chain(transports).collect())
        }
        "pac" => (PacSettings::SPECS, vec![("pac", PacParams::SPECS, Defaults::new())]),
        "switch" => (SwitchSettings::SPECS, Vec::new()),
        _ => return None,
    };
    let mut out = settings(own);
    for (name, specs, defaults) in parameters {
        let _ = write!(out, "\nParameters of {name}, for --set and the table [{kind}.set] of the file:\n\n");
        out.push_str(&table("parameter", specs, &defaults, |spec| format!("`{}`", spec.name)));
    }
    Some(out)
}

/// Returns the table of settings, each with its flag.
fn settings(specs: &[Spec]) -> String {
    table("flag", specs, &Defaults::new(), |spec| format!("`{}`", flag_of(spec.name)))
}

/// A name, and parameters with the defaults that are not as declared.
type Parameters = (&'static str, &'static [Spec], Defaults);

/// Names of parameters with the defaults that they have instead of those of their declarations, written as TOML.
type Defaults = Vec<(&'static str, String)>;

fn table(first: &str, specs: &[Spec], defaults: &Defaults, name: impl Fn(&Spec) -> String) -> String {
    let mut out = format!("| {first} | value | default | meaning |\n|---|---|---|---|\n");
    for spec in specs {
        let value = [spec.kind_and_unit(), spec.range()].into_iter().filter(|text| !text.is_empty());
        let value = value.collect::<Vec<_>>().join(", ");
        let default =
            defaults.iter().find(|(name, _)| *name == spec.name).map(|(_, value)| value.trim_matches('"'));
        let default = match default.unwrap_or(spec.default) {
            "" => "none".to_owned(),
            REQUIRED => "must be given".to_owned(),
            default => format!("`{default}`"),
        };
        let doc = spec.doc.split_whitespace().collect::<Vec<_>>().join(" ");
        let _ = writeln!(
            out,
            "| {} | {} | {default} | {} |",
            name(spec),
            value.replace('|', "\\|"),
            doc.replace('|', "\\|")
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::settings::ServiceSettings;
    use super::*;

    /// Returns the own settings of a kind of daemon, without those of every daemon.
    fn own<S: Declared>() -> Vec<Spec> {
        let is_own = |spec: &&Spec| ServiceSettings::SPECS.iter().all(|other| other.name != spec.name);
        S::SPECS.iter().filter(is_own).copied().collect()
    }

    #[test]
    fn the_page_on_the_daemon_lists_every_setting_as_it_is_declared() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/how-to/clearwayd.md");
        let page = std::fs::read_to_string(path).expect("the page is there");
        let parameters =
            |specs: &[Spec]| table("parameter", specs, &Defaults::new(), |spec| format!("`{}`", spec.name));
        let mut written = page.clone();
        for (kind, expected) in [
            ("every daemon", settings(ServiceSettings::SPECS)),
            ("host", settings(&own::<HostSettings>())),
            ("host parameters", parameters(HostParams::SPECS)),
            ("pac", settings(&own::<PacSettings>())),
            ("pac parameters", parameters(PacParams::SPECS)),
            ("switch", settings(&own::<SwitchSettings>())),
        ] {
            let mark = format!("<!-- settings: {kind} -->\n\n");
            let at = written.find(&mark).expect("the page has the mark") + mark.len();
            let len = written[at..].find("\n\n").expect("a table ends with an empty line") + 1;
            written.replace_range(at..at + len, &expected);
        }
        if written != page {
            std::fs::write(path, written).expect("the page can be written");
            panic!(
                "docs/how-to/clearwayd.md was not up to date; this test has written its tables anew: commit it"
            );
        }
    }

    #[test]
    fn parameters_of_transports_are_listed_with_the_defaults_of_hosts() {
        let host = of("host").expect("a kind of daemon");
        let defaults = |name: &str| {
            let lines = host.lines().filter(|line| line.starts_with(&format!("| `{name}` |")));
            lines.map(|line| line.split(" | ").nth(2).unwrap_or_default().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(defaults("randomize_size"), ["`false`"; 2]);
        assert_eq!(defaults("bucket"), ["`840 B`"; 2]);
    }

    #[test]
    fn every_parameter_that_a_host_takes_is_listed_once() {
        let host = of("host").expect("a kind of daemon");
        for name in ["--transport", "unknown_wait", "w_init", "--metrics"] {
            assert!(host.contains(&format!("| `{name}` |")), "{name}");
        }
        for spec in HostParams::SPECS {
            for name in ["expresspass", "ec4"] {
                let transport = HostConfig::transport(name).expect("a transport of hosts");
                let names = transport.info().params.iter().map(|spec| spec.name);
                assert!(
                    !names.clone().any(|other| other == spec.name),
                    "{name} and hosts share {}",
                    spec.name
                );
            }
        }
        assert!(of("pac").is_some() && of("switch").is_some() && of("hots").is_none());
    }
}
