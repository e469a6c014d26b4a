//! What must be known of a scenario before its run is looked at.

use clearway_sim::scenario::Scenario;

/// Returns the warnings on a scenario, a sentence each that begins with the transport's name.
pub fn warnings_of(scenario: &Scenario) -> Vec<String> {
    let sentence = |warning: clearway_sim::Warning| format!("{}: {}.", warning.transport, warning.text);
    clearway_sim::warnings(&scenario.model).into_iter().map(sentence).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clearway_sim::scenario::Overrides;
    use std::path::Path;

    #[test]
    fn a_scenario_whose_signal_can_not_occur_has_a_warning_and_one_whose_signal_can_has_none() {
        let warned = |marking: &str| {
            let text = format!(
                "[topology]\nkind = \"star\"\nhosts = 3\n[switch]\nbuffer = \"100 KB\"\nmarking = \"{marking}\"\n\
                 [transport]\nname = \"dctcp\"\n[[traffic]]\nkind = \"permutation\"\nsize = \"1 MB\"\n"
            );
            warnings_of(&Scenario::parse(&text, "x.toml", Path::new("."), &Overrides::default()).unwrap())
        };
        assert_eq!(warned("20 packets"), [""; 0]);
        let found = warned("65 packets");
        assert!(
            found[0].starts_with("dctcp: reacts to marks of congestion, and none is ever given"),
            "{found:?}"
        );
        assert!(found[0].ends_with('.') && found.len() == 1, "{found:?}");
    }
}
