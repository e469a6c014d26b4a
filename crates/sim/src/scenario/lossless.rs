//! Marks and flow control at switches: from what the transports ask for and what the scenario says.

use super::document::{Document, Path};
use super::error::ScenarioError;
use super::field::MarkingWord;
use super::schema::{ClassTable, Switch};
use super::shapes::has;
use super::transport::AllNeeds;
use crate::model::Pfc;
use clearway_proto::port::pfc::{PfcConfig, headroom};
use clearway_proto::port::{MarkAt, RedConfig};
use clearway_proto::{Framing, MarkingNeeds};
use clearway_schema::Auto;
use clearway_topology::{NodeId, Topology};
use clearway_units::{Bytes, Span};

type Result<T> = std::result::Result<T, ScenarioError>;

/// Keys that mean something only with flow control.
const PFC_KEYS: [&str; 6] =
    ["pfc_headroom", "pfc_alpha", "pfc_reserve", "pfc_resume_offset", "pfc_response", "pfc_storm"];
/// Keys that mean something only with marks at random.
const RED_KEYS: [&str; 4] = ["red_kmin", "red_kmax", "red_pmax", "red_rate"];
/// Memory of a switch with flow control, unless its headrooms take more (the HPCC authors').
const MEMORY: Bytes = Bytes::new(32_000_000);
/// A port that is stopped for longer is reported: what SONiC's watchdog takes for a storm.
const STORM: Span = Span::from_ms(200);

/// Fills in how switches mark.
pub(super) fn resolve_marking(
    document: &Document,
    needs: &AllNeeds,
    switch: &mut Switch,
    classes: &mut [ClassTable],
) -> Result<()> {
    let at = Path::default().key("switch");
    let asks_auto = |class: &ClassTable| class.marking.unwrap_or(switch.marking) == MarkingWord::Auto;
    let first = needs.markings.first();
    if let (Some((name, own)), true) = (first, classes.iter().any(asks_auto))
        && let Some((other, _)) = needs.markings.iter().find(|(_, marking)| marking != own)
    {
        let problem = format!(
            "the transports {name} and {other} ask for marks of different kinds; write \"by-rate\", \"red\", a size or \
             \"off\" here or for each class"
        );
        return Err(document.error(&at.key("marking"), problem));
    }
    let settled = |marking| match (marking, first.map(|(_, marking)| marking)) {
        (MarkingWord::Auto, None) => MarkingWord::Off,
        (MarkingWord::Auto, Some(MarkingNeeds::Step)) => MarkingWord::ByRate,
        (MarkingWord::Auto, Some(MarkingNeeds::Red(_))) => MarkingWord::Red,
        (other, _) => other,
    };
    switch.marking = settled(switch.marking);
    for class in &mut *classes {
        class.marking = Some(settled(class.marking.unwrap_or(switch.marking)));
        let default = if class.marking == Some(MarkingWord::Red) { MarkAt::Dequeue } else { MarkAt::Enqueue };
        class.marking_at.get_or_insert(switch.marking_at.unwrap_or(default));
    }
    let is_red = |class: &ClassTable| class.marking == Some(MarkingWord::Red);
    if !classes.iter().any(is_red) {
        let given = RED_KEYS.into_iter().find(|key| has(document, &at, key));
        return given.map_or(Ok(()), |key| {
            let problem =
                "means nothing, since no class marks by \"red\"; remove it, or set marking = \"red\"";
            Err(document.error(&at.key(key), problem))
        });
    }
    let asked = needs.markings.iter().find_map(|(_, marking)| match marking {
        MarkingNeeds::Red(config) => Some(*config),
        MarkingNeeds::Step => None,
    });
    let default = asked.unwrap_or(RedConfig::DEFAULT);
    let (k_min, k_max) =
        (*switch.red_kmin.get_or_insert(default.k_min), *switch.red_kmax.get_or_insert(default.k_max));
    switch.red_pmax.get_or_insert(default.p_max);
    switch.red_rate.get_or_insert(default.at_rate);
    if k_min > k_max {
        let key = if has(document, &at, "red_kmin") { "red_kmin" } else { "red_kmax" };
        let problem = match (has(document, &at, "red_kmin"), has(document, &at, "red_kmax")) {
            (true, false) => {
                format!("is above red_kmax, which is {k_max} unless set; write less, or set red_kmax too")
            }
            (false, true) => {
                format!("is below red_kmin, which is {k_min} unless set; write more, or set red_kmin too")
            }
            _ => format!(
                "is above red_kmax, {k_max}; marks begin at red_kmin, so write less here or more there"
            ),
        };
        return Err(document.error(&at.key(key), problem));
    }
    Ok(())
}

/// The thresholds of a switch that marks at random.
pub(super) fn red_config(switch: &Switch) -> RedConfig {
    let default = RedConfig::DEFAULT;
    RedConfig {
        k_min: switch.red_kmin.unwrap_or(default.k_min),
        k_max: switch.red_kmax.unwrap_or(default.k_max),
        p_max: switch.red_pmax.unwrap_or(default.p_max),
        at_rate: switch.red_rate.unwrap_or(default.at_rate),
    }
}

/// Flow control, if the scenario wants it, with every key of it filled in.
pub(super) fn resolve_pfc(
    document: &Document,
    needs: &AllNeeds,
    switch: &mut Switch,
    classes: &mut [ClassTable],
    topology: &Topology,
    framing: Framing,
) -> Result<Option<Pfc>> {
    let at = Path::default().key("switch");
    let class_limit = classes.iter().position(|class| class.buffer.is_some());
    let has_limit = !matches!(switch.buffer, Auto::Auto) || class_limit.is_some();
    // Limits of ports that the scenario gives are meant: packets that exceed them are lost, as without flow control.
    let asked = switch.pfc;
    let on = asked.or(needs.lossless && !has_limit);
    switch.pfc = Auto::Set(on);
    if !on {
        let given = PFC_KEYS.into_iter().find(|key| has(document, &at, key));
        if let Some(key) = given {
            let problem = if matches!(asked, Auto::Auto) && needs.lossless {
                "means nothing, since a buffer of ports is given and so there is no flow control; remove that \
                 buffer, or this key"
            } else {
                "means nothing without flow control; set pfc = true, or remove it"
            };
            return Err(document.error(&at.key(key), problem));
        }
        for (index, class) in classes.iter_mut().enumerate() {
            if class.lossless == Some(true) {
                let problem = "means nothing without flow control; set switch.pfc = true, or remove it";
                return Err(document.error(&at.key("class").index(index).key("lossless"), problem));
            }
        }
        return Ok(None);
    }
    let lossless: Vec<bool> =
        classes.iter_mut().map(|class| *class.lossless.get_or_insert(class.at_switches.is_none())).collect();
    if !lossless.contains(&true) {
        return Err(document.error(&at.key("pfc"), "protects nothing, since no class is lossless"));
    }
    if let Some(index) =
        classes.iter().position(|class| class.buffer.is_some() && class.lossless == Some(true))
    {
        let problem = "contradicts flow control, under which a class of a port has no limit; set lossless = false, \
                       or remove it and set switch.shared_buffer";
        return Err(document.error(&at.key("class").index(index).key("buffer"), problem));
    }
    if !matches!(switch.buffer, Auto::Auto) {
        let problem = "contradicts flow control, under which a class of a port has no limit; set shared_buffer, or \
                       pfc = false";
        return Err(document.error(&at.key("buffer"), problem));
    }
    let default = PfcConfig::DEFAULT;
    let config = PfcConfig {
        alpha: *switch.pfc_alpha.get_or_insert(default.alpha),
        reserve: *switch.pfc_reserve.get_or_insert(default.reserve),
        resume_offset: *switch.pfc_resume_offset.get_or_insert(default.resume_offset),
        response: *switch.pfc_response.get_or_insert(default.response),
    };
    let own = match *switch.pfc_headroom.get_or_insert(Auto::Auto) {
        Auto::Auto => None,
        Auto::Set(size) => Some(size),
    };
    let protected = lossless.iter().filter(|&&on| on).count() as u64;
    let mut apart = vec![0u64; topology.nodes().len()];
    for port in topology.ports() {
        let room = own.unwrap_or(headroom(port.rate, port.delay, framing, needs.stamp, config.response));
        apart[port.to.index()] += protected * (room.get() + config.reserve.get());
    }
    let switches = (topology.hosts()..apart.len()).max_by_key(|&node| apart[node]);
    let most = switches.map_or(0, |node| apart[node]);
    let size = *switch.shared_buffer.get_or_insert(MEMORY.max(Bytes::new(most.saturating_mul(2))));
    if size.get() <= most {
        let name = switches.map_or("", |node| topology.name(NodeId(node as u32)));
        let problem = format!(
            "is too small for flow control: the headrooms and reserves of {name} alone take {}; write more, or a \
             smaller pfc_headroom",
            Bytes::new(most)
        );
        return Err(document.error(&at.key("shared_buffer"), problem));
    }
    let storm = *switch.pfc_storm.get_or_insert(STORM);
    Ok(Some(Pfc { config, headroom: own, lossless, storm }))
}
