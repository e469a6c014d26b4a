//! From flags and a configuration file to settings. Flags win.

use super::settings::Settings;
use clearway_schema::{Entry, Error, Place, Value, one_line, suggestion};
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
    fn error(
        &self,
        table: &str,
        entry: &Entry,
        key: &str,
        value: Option<&Value>,
        problem: &str,
    ) -> ConfigError {
        let line = match entry.place {
            Place::Line(line) => format!(":{line}"),
            Place::Override => String::new(),
        };
        let value = value.filter(|value| value.is_short()).map(|value| format!(" = {}", value.show()));
        let (path, key, value) = (one_line(&self.path), one_line(key), value.unwrap_or_default());
        ConfigError(format!("{path}{line}: {table}.{key}{value}: {}", one_line(problem)))
    }
}

/// The flag of a setting.
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
        assert_eq!(error(&[]), "--dev: is missing; write name of a network card");
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
}
