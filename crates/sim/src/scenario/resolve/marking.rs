//! The ECN marking of switches, from the needs of transports and the keys of the scenario.

use super::needs::{AllNeeds, agreed};
use crate::model::{Marking, Threshold};
use crate::scenario::document::{Document, Path};
use crate::scenario::error::Result;
use crate::scenario::field::MarkingWord;
use crate::scenario::schema::{ClassTable, Switch};
use crate::scenario::shapes::has;
use clearway_proto::MarkingNeeds;
use clearway_proto::port::{MarkAt, RedConfig};

/// The keys that mean something only with marks at random.
const RED_KEYS: [&str; 4] = ["red_kmin", "red_kmax", "red_pmax", "red_rate"];

/// Returns the tables of switches and classes with every key of marking filled in.
pub(super) fn with_marking(
    document: &Document,
    needs: &AllNeeds,
    switch: Switch,
    classes: Vec<ClassTable>,
) -> Result<(Switch, Vec<ClassTable>)> {
    let at = Path::default().key("switch");
    let asks_auto = |class: &ClassTable| class.marking.unwrap_or(switch.marking) == MarkingWord::Auto;
    let wanted = agreed(&needs.markings, |marking| *marking);
    if let (Err(conflict), true) = (&wanted, classes.iter().any(asks_auto)) {
        let problem = format!(
            "the transports {} and {} ask for marks of different kinds; write \"by-rate\", \"red\", a size or \"off\" \
             here or for each class",
            conflict.one, conflict.other
        );
        return Err(document.error(&at.key("marking"), problem));
    }
    let settled = |marking| match (marking, needs.markings.first()) {
        (MarkingWord::Auto, None) => MarkingWord::Off,
        (MarkingWord::Auto, Some((_, MarkingNeeds::Step))) => MarkingWord::ByRate,
        (MarkingWord::Auto, Some((_, MarkingNeeds::Red(_)))) => MarkingWord::Red,
        (other, _) => other,
    };
    let switch = Switch { marking: settled(switch.marking), ..switch };
    let marking_of = |class: &ClassTable| settled(class.marking.unwrap_or(switch.marking));
    let is_red = classes.iter().any(|class| marking_of(class) == MarkingWord::Red);
    let switch = with_red(document, needs, switch, is_red)?;
    let filled = |class: ClassTable| {
        let marking = settled(class.marking.unwrap_or(switch.marking));
        let own = threshold(marking, &switch);
        let at = class.marking_at.or(switch.marking_at).unwrap_or(marks_at(own.as_ref()));
        ClassTable { marking: Some(marking), marking_at: Some(at), ..class }
    };
    let classes = classes.into_iter().map(filled).collect();
    Ok((switch, classes))
}

/// Returns the table of switches with the keys of marks at random filled in, if a class marks at random.
fn with_red(document: &Document, needs: &AllNeeds, switch: Switch, is_red: bool) -> Result<Switch> {
    let at = Path::default().key("switch");
    if !is_red {
        let Some(key) = RED_KEYS.into_iter().find(|key| has(document, &at, key)) else { return Ok(switch) };
        let problem = "means nothing, since no class marks by \"red\"; remove it, or set marking = \"red\"";
        return Err(document.error(&at.key(key), problem));
    }
    let asked = needs.markings.iter().find_map(|(_, marking)| match marking {
        MarkingNeeds::Red(config) => Some(*config),
        MarkingNeeds::Step => None,
    });
    let default = asked.unwrap_or(RedConfig::DEFAULT);
    let k_min = switch.red_kmin.unwrap_or(default.k_min);
    let k_max = switch.red_kmax.unwrap_or(default.k_max);
    if k_min > k_max {
        let given = (has(document, &at, "red_kmin"), has(document, &at, "red_kmax"));
        let (key, problem) = match given {
            (true, false) => (
                "red_kmin",
                format!("is above red_kmax, which is {k_max} unless set; write less, or set red_kmax too"),
            ),
            (false, true) => (
                "red_kmax",
                format!("is below red_kmin, which is {k_min} unless set; write more, or set red_kmin too"),
            ),
            _ => (
                "red_kmin",
                format!(
                    "is above red_kmax, {k_max}; marks begin at red_kmin, so write less here or more there"
                ),
            ),
        };
        return Err(document.error(&at.key(key), problem));
    }
    Ok(Switch {
        red_kmin: Some(k_min),
        red_kmax: Some(k_max),
        red_pmax: switch.red_pmax.or(Some(default.p_max)),
        red_rate: switch.red_rate.or(Some(default.at_rate)),
        ..switch
    })
}

/// Returns the threshold of a class whose marking is settled, at switches whose keys of marks at random are filled in.
fn threshold(marking: MarkingWord, switch: &Switch) -> Option<Threshold> {
    let default = RedConfig::DEFAULT;
    match marking {
        MarkingWord::Off | MarkingWord::Auto => None,
        MarkingWord::ByRate => Some(Threshold::ByRate),
        MarkingWord::Red => Some(Threshold::Red(RedConfig {
            k_min: switch.red_kmin.unwrap_or(default.k_min),
            k_max: switch.red_kmax.unwrap_or(default.k_max),
            p_max: switch.red_pmax.unwrap_or(default.p_max),
            at_rate: switch.red_rate.unwrap_or(default.at_rate),
        })),
        MarkingWord::Above(amount) => Some(Threshold::Fixed(amount)),
    }
}

/// Returns the moment at which a packet meets a threshold: as it leaves for marks at random, else as it joins the
/// queue.
fn marks_at(threshold: Option<&Threshold>) -> MarkAt {
    if matches!(threshold, Some(Threshold::Red(_))) { MarkAt::Dequeue } else { MarkAt::Enqueue }
}

/// Returns the marking of a class whose keys are filled in.
pub(super) fn marking(class: &ClassTable, switch: &Switch) -> Option<Marking> {
    let threshold = threshold(class.marking?, switch)?;
    Some(Marking { threshold, at: class.marking_at? })
}
