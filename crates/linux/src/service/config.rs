//! From flags and a configuration file to settings. Flags win.

use super::settings::Settings;
use clearway_proto::AnyTransport;
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

    /// Sets the parameters of the transport `name` that were given by `--set` and under `[host.set]` in the file.
    pub fn transport<S: Settings>(&self, name: &str) -> Result<AnyTransport, ConfigError> {
        let mut transport =
            AnyTransport::by_name(name).ok_or_else(|| ConfigError(format!("{name:?} is no transport")))?;
        let mut from_file: Vec<(&ConfigFile, &Entry)> = Vec::new();
        if let Some((file, set)) = self.file.as_ref().zip(self.entry("set")) {
            let Value::Table(entries) = &set.node.value else {
                let problem = format!("write a table, under [{}.set]", S::COMMAND);
                return Err(file.error(S::COMMAND, set, "set", Some(&set.node.value), &problem));
            };
            from_file.extend(entries.iter().map(|entry| (file, entry)));
        }
        let mut from_flags = Vec::new();
        for set in &self.sets {
            let (key, value) = set.split_once('=').ok_or_else(|| {
                ConfigError(format!(
                    "--set {}: write a parameter, =, and its value",
                    Value::Text(set.clone()).show()
                ))
            })?;
            from_flags.push((key.trim(), value.trim()));
        }
        // A profile sets many parameters, so it comes first.
        let is_profile = |key: &str| key == "profile";
        from_file.sort_by_key(|(_, entry)| !is_profile(&entry.key));
        from_flags.sort_by_key(|(key, _)| !is_profile(key));
        for (file, entry) in from_file {
            transport.set(&entry.key, &entry.node.value).map_err(|error| {
                let key = format!("set.{}", entry.key);
                file.error(
                    S::COMMAND,
                    entry,
                    &key,
                    Some(&entry.node.value),
                    &problem(&transport, &entry.key, &error),
                )
            })?;
        }
        for (key, value) in from_flags {
            transport.set(key, value).map_err(|error| {
                let shown = Value::Text(value.into()).show();
                ConfigError(format!(
                    "--set {} = {shown}: {}",
                    one_line(key),
                    problem(&transport, key, &error)
                ))
            })?;
        }
        Ok(transport)
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

/// The fault of a parameter, and what would be right.
fn problem(transport: &AnyTransport, key: &str, error: &Error) -> String {
    let info = transport.info();
    match error {
        Error::Unknown { .. } => {
            let known: Vec<&str> = info.params.iter().map(|spec| spec.name).collect();
            let hint = suggestion(key, known.iter().copied());
            format!("{} has no such parameter{hint} (known: {})", info.name, known.join(", "))
        }
        error => error.problem(),
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
        let error =
            |set: &str| given(&[], &[set]).transport::<HostSettings>("expresspass").expect_err("wrong").0;
        assert!(error("w_int=1").contains("did you mean \"w_init\"?"), "{}", error("w_int=1"));
        assert!(error("w_init=2").starts_with("--set w_init = \"2\": must be "), "{}", error("w_init=2"));
        assert!(error("w_init").contains("write a parameter, =, and its value"));
        let set = given(&[], &["w_init=0.25"]).transport::<HostSettings>("expresspass").expect("right");
        assert!(set.write().contains(&("w_init", "0.25".into())));
    }
}
