//! The ECN marking of switches, from the needs of transports and the keys of the scenario.

use super::needs::{AllNeeds, agreed};
use crate::model::{Marking, Threshold};
use crate::scenario::document::{Document, Path};
use crate::scenario::error::Result;
use crate::scenario::field::MarkingWord;
use crate::scenario::schema::{ClassTable, Switch};
use crate::scenario::shapes::has;
use crate::scenario::sizes::{Sizes, thousandths};
use clearway_proto::port::{MarkAt, RedConfig};
use clearway_proto::{BdpMarking, MarkingNeeds};

/// The keys that mean something only with marks at random.
const RED_KEYS: [&str; 4] = ["red_kmin", "red_kmax", "red_pmax", "red_rate"];
/// The keys that mean something only with marks at random between shares of the bandwidth-delay product.
const BDP_KEYS: [&str; 2] = ["bdp_min", "bdp_max"];

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
            "the transports {} and {} ask for marks of different kinds; write \"by-rate\", \"red\", \"bdp\", a size or \
             \"off\" here or for each class",
            conflict.one, conflict.other
        );
        return Err(document.error(&at.key("marking"), problem));
    }
    let settled = |marking| match (marking, needs.markings.first()) {
        (MarkingWord::Auto, None) => MarkingWord::Off,
        (MarkingWord::Auto, Some((_, MarkingNeeds::Step))) => MarkingWord::ByRate,
        (MarkingWord::Auto, Some((_, MarkingNeeds::Red(_)))) => MarkingWord::Red,
        (MarkingWord::Auto, Some((_, MarkingNeeds::Bdp(_)))) => MarkingWord::Bdp,
        (other, _) => other,
    };
    let switch = Switch { marking: settled(switch.marking), ..switch };
    let all: Vec<MarkingWord> =
        classes.iter().map(|class| settled(class.marking.unwrap_or(switch.marking))).collect();
    let switch = with_red(document, needs, switch, all.contains(&MarkingWord::Red))?;
    let switch = with_bdp(document, needs, switch, all.contains(&MarkingWord::Bdp))?;
    if switch.marking_last_hop.is_some() && all.iter().all(|marking| *marking == MarkingWord::Off) {
        let problem = "means nothing, since no class marks; remove it, or set marking";
        return Err(document.error(&at.key("marking_last_hop"), problem));
    }
    let filled = |class: ClassTable| {
        let marking = settled(class.marking.unwrap_or(switch.marking));
        let at = class.marking_at.or(switch.marking_at).unwrap_or(marks_at(marking));
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
        MarkingNeeds::Step | MarkingNeeds::Bdp(_) => None,
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

/// Returns the table of switches with the keys of marks between shares of the bandwidth-delay product filled in, if a class
/// marks so.
fn with_bdp(document: &Document, needs: &AllNeeds, switch: Switch, is_bdp: bool) -> Result<Switch> {
    let at = Path::default().key("switch");
    if !is_bdp {
        let Some(key) = BDP_KEYS.into_iter().find(|key| has(document, &at, key)) else { return Ok(switch) };
        let problem = "means nothing, since no class marks by \"bdp\"; remove it, or set marking = \"bdp\"";
        return Err(document.error(&at.key(key), problem));
    }
    let asked = needs.markings.iter().find_map(|(_, marking)| match marking {
        MarkingNeeds::Bdp(marking) => Some(*marking),
        MarkingNeeds::Step | MarkingNeeds::Red(_) => None,
    });
    let default = asked.unwrap_or(BdpMarking::DEFAULT);
    let [min, max] = [switch.bdp_min.unwrap_or(default.min), switch.bdp_max.unwrap_or(default.max)];
    if min > max {
        let is_given = |key: &str| has(document, &at, key);
        let (key, problem) = if is_given("bdp_max") && !is_given("bdp_min") {
            (
                "bdp_max",
                format!("is below bdp_min, which is {min} unless set; write more, or set bdp_min too"),
            )
        } else {
            (
                "bdp_min",
                format!("is above bdp_max, {max}; marks begin at bdp_min, so write less here or more there"),
            )
        };
        return Err(document.error(&at.key(key), problem));
    }
    let marking_last_hop = switch.marking_last_hop.or((!default.last_hop).then_some(false));
    Ok(Switch { bdp_min: Some(min), bdp_max: Some(max), marking_last_hop, ..switch })
}

/// Returns the threshold of a class whose marking is settled, at switches whose keys of marks at random are filled in.
fn threshold(marking: MarkingWord, switch: &Switch, sizes: &Sizes<'_>) -> Option<Threshold> {
    let default = RedConfig::DEFAULT;
    let bdp = BdpMarking::DEFAULT;
    let share = |own: Option<f64>, default: f64| sizes.bytes(thousandths(own.unwrap_or(default)));
    match marking {
        MarkingWord::Off | MarkingWord::Auto => None,
        MarkingWord::ByRate => Some(Threshold::ByRate),
        MarkingWord::Red => Some(Threshold::Red(RedConfig {
            k_min: switch.red_kmin.unwrap_or(default.k_min),
            k_max: switch.red_kmax.unwrap_or(default.k_max),
            p_max: switch.red_pmax.unwrap_or(default.p_max),
            at_rate: switch.red_rate.unwrap_or(default.at_rate),
        })),
        MarkingWord::Bdp => {
            Some(Threshold::Between(share(switch.bdp_min, bdp.min), share(switch.bdp_max, bdp.max)))
        }
        MarkingWord::Above(amount) => Some(Threshold::Fixed(amount)),
    }
}

/// Returns the moment at which a packet meets a threshold: as it leaves for marks at random, else as it joins the
/// queue.
fn marks_at(marking: MarkingWord) -> MarkAt {
    if matches!(marking, MarkingWord::Red | MarkingWord::Bdp) { MarkAt::Dequeue } else { MarkAt::Enqueue }
}

/// Returns the marking of a class whose keys are filled in.
pub(super) fn marking(class: &ClassTable, switch: &Switch, sizes: &Sizes<'_>) -> Option<Marking> {
    let threshold = threshold(class.marking?, switch, sizes)?;
    Some(Marking { threshold, at: class.marking_at? })
}
