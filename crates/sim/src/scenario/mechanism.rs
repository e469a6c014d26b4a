//! Port mechanisms and their keys in `[switch]`. The registry of transports brings both along, so that a new mechanism
//! needs no line here.

use super::document::{Document, Path};
use super::error::ScenarioError;
use clearway_proto::{AnyMechanismConfig, TRANSPORTS};
use clearway_schema::Spec;

/// A key of a mechanism.
pub(super) struct MechanismKey {
    /// The key in `[switch]`.
    pub name: String,
    /// The constant that it sets.
    pub constant: &'static Spec,
    /// The transports that bring the mechanism.
    pub transports: Vec<&'static str>,
}

/// Returns the keys of all mechanisms, in the order of the registry.
pub(super) fn keys() -> Vec<MechanismKey> {
    let mut keys: Vec<MechanismKey> = Vec::new();
    for info in TRANSPORTS {
        for (name, constant) in info.mechanism.keys() {
            match keys.iter_mut().find(|key| key.name == name) {
                Some(key) => key.transports.push(info.name),
                None => keys.push(MechanismKey { name, constant, transports: vec![info.name] }),
            }
        }
    }
    keys
}

/// Returns the names of the keys of a mechanism.
pub(super) fn keys_of(mechanism: &AnyMechanismConfig) -> Vec<String> {
    mechanism.info().keys().map(|(name, _)| name).collect()
}

/// The mechanism at the ports of switches, and the keys of it that the scenario sets, in TOML.
#[derive(Default)]
pub(super) struct Mechanism {
    /// The constants, as the transport asks for them and the scenario changes them; `None` without a mechanism.
    pub config: Option<AnyMechanismConfig>,
    /// The keys that the scenario sets, with their values.
    pub written: Vec<(String, String)>,
}

/// Returns the mechanism that transports ask for, changed by the keys of the scenario. `needs` holds each transport's
/// name with the mechanism that it brings.
pub(super) fn resolve_mechanism(
    document: &Document,
    needs: &[(&'static str, AnyMechanismConfig)],
) -> Result<Mechanism, ScenarioError> {
    let at = Path::default().key("switch");
    let own = needs.first().map_or(Vec::new(), |(_, mechanism)| keys_of(mechanism));
    let idle = keys().into_iter().filter(|key| !own.contains(&key.name));
    if let Some(key) = idle.map(|key| at.key(&key.name)).find(|key| document.get(key).is_some()) {
        let problem = "means nothing, since no transport of the scenario asks its ports for this; remove it";
        return Err(document.error(&key, problem));
    }
    let Some((name, first)) = needs.first() else { return Ok(Mechanism::default()) };
    let first = told(document, &at, first)?;
    for (other, mechanism) in needs {
        let mechanism = told(document, &at, mechanism)?;
        if mechanism == first {
            continue;
        }
        let (ours, theirs) = (first.info().name, mechanism.info().name);
        let problem = if ours == theirs {
            format!(
                "{name} and {other} need the same of the ports of switches, {ours}, but with different parameters; give \
                 both the same"
            )
        } else {
            format!(
                "{name} and {other} need different things of the ports of switches, {ours} and {theirs}; a port does \
                 one, so write traffic of one of the two transports only"
            )
        };
        return Err(document.error(&Path::default().key("traffic"), problem));
    }
    let values = first.write();
    let mut written = Vec::new();
    for (key, constant) in first.info().keys().filter(|(key, _)| document.get(&at.key(key)).is_some()) {
        let value = values.iter().find(|(name, _)| *name == constant.name);
        written.extend(value.map(|(_, value)| (key, value.clone())));
    }
    Ok(Mechanism { config: Some(first), written })
}

/// Returns a mechanism with the constants that the scenario sets.
fn told(
    document: &Document,
    at: &Path,
    mechanism: &AnyMechanismConfig,
) -> Result<AnyMechanismConfig, ScenarioError> {
    let mut mechanism = mechanism.clone();
    for (key, constant) in mechanism.info().keys() {
        let key = at.key(&key);
        if let Some(node) = document.get(&key) {
            let set = mechanism.set(constant.name, &node.value);
            set.map_err(|error| document.error(&key, error.problem()))?;
        }
    }
    Ok(mechanism)
}

#[cfg(test)]
mod tests {
    use super::super::schema::Switch;
    use super::*;
    use clearway_schema::Declared;

    #[test]
    fn no_key_of_a_mechanism_is_one_of_the_tables_own() {
        for key in keys() {
            assert!(Switch::SPECS.iter().all(|own| own.name != key.name), "{}", key.name);
        }
    }

    #[test]
    fn mechanisms_have_the_keys_that_scenario_files_use() {
        let names: Vec<String> = keys().into_iter().map(|key| key.name).collect();
        let expected = ["phantom_drain", "phantom_threshold", "rcp_alpha", "rcp_beta", "rcp_gamma"];
        assert!(expected.iter().all(|key| names.iter().any(|name| name == key)), "{names:?}");
    }
}
