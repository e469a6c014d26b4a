//! From flags and a configuration file to settings. Flags win.

use super::settings::Settings;
use clearway_schema::{Entry, Error, Place, Value, one_line, parse_toml, suggestion};
use std::borrow::Cow;

/// What the user gave for one daemon: flags, values of `--set`, and a table of a configuration file.
#[derive(Debug, Default)]
pub struct Given {
    /// Flags by the name of their setting.
    pub flags: Vec<(String, String)>,
    /// The values of `--set`: a parameter of the transport, and its value.
    pub sets: Vec<String>,
    /// The configuration file.
    pub file: Option<ConfigFile>,
}

/// A configuration file that was read.
#[derive(Debug)]
pub struct ConfigFile {
    /// The path as the user gave it.
    pub path: String,
    /// The table of the daemon's kind.
    pub entries: Vec<Entry>,
}

/// The reason why settings were refused: one line with file or flag, key, value, and what would be right.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(pub String);

impl Given {
    /// Reads the settings.
    pub fn read<S: Settings>(&self) -> Result<S, ConfigError> {
        if let Some(file) = &self.file {
            let known: Vec<&str> = S::SPECS.iter().map(|spec| spec.name).chain(["set"]).collect();
            for entry in &file.entries {
                if !known.contains(&entry.key.as_str()) {
                    let hint = suggestion(&entry.key, known.iter().copied());
                    let problem = format!("unknown key{hint} (known: {})", known.join(", "));
                    return Err(file.error(S::COMMAND, entry, &entry.key, None, &problem));
                }
            }
        }
        let given = |name: &str| -> Option<Cow<'_, Value>> {
            let flag = self.flags.iter().find(|(flag, _)| flag == name);
            flag.map(|(_, text)| Cow::Owned(Value::Text(text.clone())))
                .or_else(|| self.entry(name).map(|entry| Cow::Borrowed(&entry.node.value)))
        };
        S::read(&given).map_err(|error| {
            let (Error::Missing { name, .. } | Error::Value { name, .. }) = error else {
                return ConfigError(error.to_string());
            };
            let flag = flag_of(name);
            if let Some((_, text)) = self.flags.iter().find(|(flag, _)| flag == name) {
                return ConfigError(format!(
                    "{flag} {}: {}",
                    Value::Text(text.clone()).show(),
                    error.problem()
                ));
            }
            match (&self.file, self.entry(name)) {
                (Some(file), Some(entry)) => {
                    file.error(S::COMMAND, entry, name, Some(&entry.node.value), &error.problem())
                }
                (Some(file), None) => ConfigError(format!(
                    "{}: {}.{name} or {flag}: {}",
                    one_line(&file.path),
                    S::COMMAND,
                    error.problem()
                )),
                (None, _) => ConfigError(format!("{flag}: {}", error.problem())),
            }
        })
    }

    /// Hands every parameter of `--set`, and of the table `[host.set]` in the file, to `set`; those of the file first,
    /// so that flags win. `owner` is whose parameters the `known` ones are.
    pub fn parameters<S: Settings>(
        &self,
        owner: &str,
        known: &[&str],
        set: &mut dyn FnMut(&str, &Value) -> Result<(), Error>,
    ) -> Result<(), ConfigError> {
        let problem = |key: &str, error: &Error| match error {
            Error::Unknown { .. } => {
                let hint = suggestion(key, known.iter().copied());
                format!("{owner} has no such parameter{hint} (known: {})", known.join(", "))
            }
            error => error.problem(),
        };
        // A profile sets many parameters, so it comes first.
        let is_other = |key: &str| key != "profile";
        if let Some((file, table)) = self.file.as_ref().zip(self.entry("set")) {
            let Value::Table(entries) = &table.node.value else {
                let problem = format!("write a table, under [{}.set]", S::COMMAND);
                return Err(file.error(S::COMMAND, table, "set", Some(&table.node.value), &problem));
            };
            let mut entries: Vec<&Entry> = entries.iter().collect();
            entries.sort_by_key(|entry| is_other(&entry.key));
            for entry in entries {
                let Entry { key, node, .. } = entry;
                set(key, &node.value).map_err(|error| {
                    let path = format!("set.{key}");
                    file.error(S::COMMAND, entry, &path, Some(&node.value), &problem(key, &error))
                })?;
            }
        }
        let mut flags = Vec::new();
        for text in &self.sets {
            let shown = Value::Text(text.clone()).show();
            let pair = text.split_once('=');
            let (key, value) = pair
                .ok_or_else(|| ConfigError(format!("--set {shown}: write a parameter, =, and its value")))?;
            flags.push((key.trim(), Value::Text(value.trim().into())));
        }
        flags.sort_by_key(|(key, _)| is_other(key));
        for (key, value) in flags {
            set(key, &value).map_err(|error| {
                ConfigError(format!("--set {} = {}: {}", one_line(key), value.show(), problem(key, &error)))
            })?;
        }
        Ok(())
    }

    fn entry(&self, name: &str) -> Option<&Entry> {
        self.file.as_ref()?.entries.iter().find(|entry| entry.key == name)
    }
}

impl ConfigFile {
    /// Reads the table of a kind of daemon from a file.
    ///
    /// # Errors
    /// The file cannot be read, is no TOML, or has something other than the tables of daemons at its top.
    pub fn read(path: &str, table: &str, tables: &[&str]) -> Result<ConfigFile, ConfigError> {
        let shown = one_line(path);
        let text = std::fs::read_to_string(path).map_err(|error| ConfigError(format!("{shown}: {error}")))?;
        ConfigFile::parse(path, &text, table, tables)
    }

    fn parse(path: &str, text: &str, table: &str, tables: &[&str]) -> Result<ConfigFile, ConfigError> {
        let root = parse_toml(text)
            .map_err(|error| ConfigError(format!("{}:{}: {error}", one_line(path), error.line)))?;
        let mut file = ConfigFile { path: path.into(), entries: Vec::new() };
        let Value::Table(entries) = root else { return Ok(file) };
        for entry in entries {
            let is_known = tables.contains(&entry.key.as_str());
            match entry.node.value {
                Value::Table(entries) if entry.key == table => file.entries = entries,
                Value::Table(_) if is_known => {}
                _ => {
                    let hint = suggestion(&entry.key, tables.iter().copied());
                    let problem = match is_known {
                        true => "write a table of settings".to_owned(),
                        false => format!("is no table of settings{hint} (known: {})", tables.join(", ")),
                    };
                    let shown = format!("{}:{}", one_line(path), line(entry.place));
                    return Err(ConfigError(format!("{shown}: {}: {problem}", one_line(&entry.key))));
                }
            }
        }
        Ok(file)
    }

    fn error(
        &self,
        table: &str,
        entry: &Entry,
        key: &str,
        value: Option<&Value>,
        problem: &str,
    ) -> ConfigError {
        let line = line(entry.place);
        let value = value.filter(|value| value.is_short()).map(|value| format!(" = {}", value.show()));
        let (path, key, value) = (one_line(&self.path), one_line(key), value.unwrap_or_default());
        ConfigError(format!("{path}:{line}: {table}.{key}{value}: {}", one_line(problem)))
    }
}

/// Returns the line of a value of a file.
fn line(place: Place) -> usize {
    match place {
        Place::Line(line) => line,
        Place::Override => 0,
    }
}

/// Returns the flag of a setting.
pub fn flag_of(name: &str) -> String {
    format!("--{}", name.replace('_', "-"))
}

#[cfg(test)]
mod tests {
    use super::super::settings::{CreditTransport, HostSettings, LogLevel};
    use super::*;
    use clearway_proto::AnyTransport;

    fn given(flags: &[(&str, &str)], sets: &[&str]) -> Given {
        Given {
            flags: flags.iter().map(|(name, text)| ((*name).into(), (*text).into())).collect(),
            sets: sets.iter().map(|set| (*set).into()).collect(),
            file: None,
        }
    }

    #[test]
    fn flags_set_what_they_name_and_leave_the_rest_at_its_default() {
        let given = given(&[("dev", "eth0"), ("transport", "ec4"), ("log_level", "debug")], &[]);
        let settings: HostSettings = given.read().expect("the flags are right");
        assert_eq!((settings.dev.0.as_str(), settings.transport), ("eth0", CreditTransport::Ec4));
        assert_eq!((settings.service.log_level, settings.queue), (LogLevel::Debug, 7));
    }

    #[test]
    fn a_wrong_flag_is_named_with_its_value_and_what_would_be_right() {
        let error = |flags: &[(&str, &str)]| given(flags, &[]).read::<HostSettings>().expect_err("wrong").0;
        assert_eq!(error(&[]), "--dev: is missing; write name of a NIC");
        assert_eq!(
            error(&[("dev", "eth0"), ("rate", "100")]),
            "--rate \"100\": has no unit; write a rate as a number and one of Tbps, Gbps, Mbps, Kbps, bps, such as \
             \"10 Gbps\", or \"auto\""
        );
        assert!(error(&[("dev", "eth0"), ("log_level", "debugg")]).ends_with("did you mean \"debug\"?"));
    }

    #[test]
    fn a_wrong_parameter_is_named_with_its_value_and_what_would_be_right() {
        let read = |sets: &[&str]| {
            let mut transport = AnyTransport::by_name("expresspass").expect("a transport");
            let known: Vec<&str> = transport.info().params.iter().map(|spec| spec.name).collect();
            let mut set = |key: &str, value: &Value| transport.set(key, value);
            let result = given(&[], sets).parameters::<HostSettings>("expresspass", &known, &mut set);
            result.map(|()| transport.write())
        };
        let error = |set: &str| read(&[set]).expect_err("wrong").0;
        assert!(
            error("w_int=1").contains("has no such parameter; did you mean \"w_init\"?"),
            "{}",
            error("w_int=1")
        );
        assert!(error("w_init=2").starts_with("--set w_init = \"2\": must be "), "{}", error("w_init=2"));
        assert!(error("w_init").contains("write a parameter, =, and its value"));
        let written = read(&["w_init = 0.25", "alpha=0.5"]).expect("right");
        assert!(written.contains(&("w_init", "0.25".into())), "{written:?}");
    }

    fn file(text: &str) -> Result<Given, ConfigError> {
        let file = ConfigFile::parse("x.toml", text, "host", &["host", "pac", "switch"])?;
        Ok(Given { file: Some(file), ..Given::default() })
    }

    #[test]
    fn a_file_gives_what_flags_do_not() {
        let mut given = file("[host]\ndev = \"eth0\"\nqueue = 9\nlog_level = \"warn\"\n[pac]\nwrong = 1\n")
            .expect("TOML");
        given.flags.push(("queue".into(), "10".into()));
        let settings: HostSettings = given.read().expect("right");
        assert_eq!((settings.dev.0.as_str(), settings.queue), ("eth0", 10));
        assert_eq!(settings.service.log_level, LogLevel::Warn);
    }

    #[test]
    fn an_error_in_a_file_names_file_line_key_and_value_and_what_would_be_right() {
        let error = |text: &str| match file(text) {
            Err(error) => error.0,
            Ok(given) => given.read::<HostSettings>().expect_err("wrong").0,
        };
        let wrong = error("[host]\ndev = \"eth0\"\nqueue = 70000\n");
        assert_eq!(wrong, "x.toml:3: host.queue = 70000: must be from 0 to 65535");
        let wrong = error("[host]\ndevice = \"eth0\"\n");
        assert!(
            wrong.starts_with("x.toml:2: host.device: unknown key; did you mean \"dev\"? (known: dev, "),
            "{wrong}"
        );
        let missing = error("[host]\nqueue = 7\n");
        assert_eq!(missing, "x.toml: host.dev or --dev: is missing; write name of a NIC");
        let wrong = error("\n[hosts]\n");
        assert_eq!(
            wrong,
            "x.toml:2: hosts: is no table of settings; did you mean \"host\"? (known: host, pac, switch)"
        );
        assert!(error("[host\n").starts_with("x.toml:1: is not TOML: "), "{}", error("[host\n"));
        assert_eq!(error("host = 1\n"), "x.toml:1: host: write a table of settings");
    }

    #[test]
    fn parameters_of_a_file_come_before_those_of_flags_and_are_named_with_their_line() {
        let read = |text: &str, sets: &[&str]| {
            let mut given = file(text).expect("TOML");
            given.sets = sets.iter().map(|set| (*set).into()).collect();
            let mut got = Vec::new();
            let mut set = |key: &str, value: &Value| match key {
                "wrong" => {
                    Err(Error::Value { name: "wrong", value: value.show(), problem: "must be 1".into() })
                }
                key => {
                    got.push(format!("{key}={}", value.show()));
                    Ok(())
                }
            };
            given.parameters::<HostSettings>("x", &[], &mut set).map(|()| got)
        };
        let got = read("[host.set]\na = 1\nprofile = \"p\"\n", &["b=2", "profile=q"]).expect("right");
        assert_eq!(got, ["profile=\"p\"", "a=1", "profile=\"q\"", "b=\"2\""]);
        let wrong = read("[host.set]\na = 1\nwrong = 2\n", &[]).expect_err("wrong").0;
        assert_eq!(wrong, "x.toml:3: host.set.wrong = 2: must be 1");
        assert!(
            read("[host]\nset = 1\n", &[]).expect_err("wrong").0.ends_with("write a table, under [host.set]")
        );
    }
}
