//! The flow control and the buffers of switches, from the needs of transports and the keys of the scenario.

use super::needs::AllNeeds;
use super::trimming::{Trimming, Users};
use crate::model::{Pfc, SharedBuffer};
use crate::scenario::document::{Document, Path};
use crate::scenario::error::Result;
use crate::scenario::field::BufferWord;
use crate::scenario::schema::{ClassTable, Switch};
use crate::scenario::shapes::has;
use crate::scenario::sizes::thousandths;
use clearway_proto::port::pfc::{PfcConfig, headroom};
use clearway_proto::{BufferNeeds, Framing};
use clearway_schema::{Auto, quoted};
use clearway_topology::{NodeId, Topology};
use clearway_units::{Bytes, Rate, Span};

/// The keys that mean something only with flow control.
const PFC_KEYS: [&str; 6] =
    ["pfc_headroom", "pfc_alpha", "pfc_reserve", "pfc_resume_offset", "pfc_response", "pfc_storm"];
/// The default buffer of a port in bytes, for each 10 Gbps of the fastest link: 250 full frames.
const BUFFER_PER_10_GBPS: u64 = 384_500;
/// Memory of a switch with flow control, unless its headrooms and reserves take more than half of it (HPCC's authors).
const MEMORY: Bytes = Bytes::new(32_000_000);
/// A port that is paused for longer is reported: the time that SONiC's watchdog takes for a storm.
pub(in crate::scenario) const STORM: Span = Span::from_ms(200);

/// Returns the tables of switches and classes with every key of flow control filled in, and the flow control, if any.
pub(super) fn with_pfc(
    document: &Document,
    needs: &AllNeeds,
    switch: Switch,
    classes: Vec<ClassTable>,
    topology: &Topology,
    framing: Framing,
) -> Result<(Switch, Vec<ClassTable>, Option<Pfc>)> {
    let has_limit = switch.buffer.set().is_some() || classes.iter().any(|class| class.buffer.is_some());
    // Limits of ports that the scenario gives are meant: packets that exceed them are lost, as without flow control.
    let on = switch.pfc.or(needs.lossless && !has_limit);
    if !on {
        check_without(document, needs, &switch, &classes)?;
        return Ok((Switch { pfc: Auto::Set(false), ..switch }, classes, None));
    }
    let filled = |class: ClassTable| {
        let lossless = class.lossless.unwrap_or(class.at_switches.is_none());
        ClassTable { lossless: Some(lossless), ..class }
    };
    let classes: Vec<ClassTable> = classes.into_iter().map(filled).collect();
    check_with(document, &switch, &classes)?;
    let lossless: Vec<bool> = classes.iter().map(|class| class.lossless == Some(true)).collect();
    let protected = lossless.iter().filter(|&&on| on).count() as u64;
    let default = PfcConfig::DEFAULT;
    let config = PfcConfig {
        alpha: switch.pfc_alpha.unwrap_or(default.alpha),
        reserve: switch.pfc_reserve.unwrap_or(default.reserve),
        resume_offset: switch.pfc_resume_offset.unwrap_or(default.resume_offset),
        response: switch.pfc_response.unwrap_or(default.response),
    };
    let room = switch.pfc_headroom.unwrap_or(Auto::Auto);
    let own = room.set();
    let (node, apart) = memory_apart(topology, framing, needs.stamp, &config, own, protected);
    let size = switch.shared_buffer.unwrap_or(memory(apart));
    if size <= apart {
        let name = node.map_or("", |node| topology.name(node));
        let problem = format!(
            "is too small for flow control: the headrooms and reserves of {name} alone take {apart}; write more, or a \
             smaller pfc_headroom",
        );
        return Err(document.error(&Path::default().key("switch").key("shared_buffer"), problem));
    }
    let storm = switch.pfc_storm.unwrap_or(STORM);
    let switch = Switch {
        pfc: Auto::Set(true),
        pfc_alpha: Some(config.alpha),
        pfc_reserve: Some(config.reserve),
        pfc_resume_offset: Some(config.resume_offset),
        pfc_response: Some(config.response),
        pfc_headroom: Some(room),
        pfc_storm: Some(storm),
        shared_buffer: Some(size),
        ..switch
    };
    Ok((switch, classes, Some(Pfc { config, headroom: own, lossless, storm })))
}

/// Returns the switch whose headrooms and reserves take the most memory, and how much, where flow control protects
/// `classes` classes. `own` is the headroom of each link, if it does not follow from rate and delay.
fn memory_apart(
    topology: &Topology,
    framing: Framing,
    stamp: u32,
    config: &PfcConfig,
    own: Option<Bytes>,
    classes: u64,
) -> (Option<NodeId>, Bytes) {
    let mut apart = vec![0u64; topology.nodes().len()];
    for port in topology.ports() {
        let room = own.unwrap_or(headroom(port.rate, port.delay, framing, stamp, config.response));
        let of_port = room.get().saturating_add(config.reserve.get()).saturating_mul(classes);
        let sum = &mut apart[port.to.index()];
        *sum = sum.saturating_add(of_port);
    }
    let switches = topology.hosts()..apart.len();
    match switches.max_by_key(|&node| apart[node]) {
        Some(node) => (Some(NodeId::from_index(node)), Bytes::new(apart[node])),
        None => (None, Bytes::ZERO),
    }
}

/// Returns the memory of a switch with flow control, where headrooms and reserves take `apart`.
fn memory(apart: Bytes) -> Bytes {
    MEMORY.max(Bytes::new(apart.get().saturating_mul(2)))
}

/// Refuses keys that mean something only with flow control.
fn check_without(
    document: &Document,
    needs: &AllNeeds,
    switch: &Switch,
    classes: &[ClassTable],
) -> Result<()> {
    let at = Path::default().key("switch");
    if let Some(key) = PFC_KEYS.into_iter().find(|key| has(document, &at, key)) {
        let problem = if switch.pfc == Auto::Auto && needs.lossless {
            "means nothing, since a buffer of ports is given and so there is no flow control; remove that \
             buffer, or this key"
        } else {
            "means nothing without flow control; set pfc = true, or remove it"
        };
        return Err(document.error(&at.key(key), problem));
    }
    if let Some(index) = classes.iter().position(|class| class.lossless == Some(true)) {
        let problem = "means nothing without flow control; set switch.pfc = true, or remove it";
        return Err(document.error(&at.key("class").index(index).key("lossless"), problem));
    }
    Ok(())
}

/// Refuses keys that contradict flow control.
fn check_with(document: &Document, switch: &Switch, classes: &[ClassTable]) -> Result<()> {
    let at = Path::default().key("switch");
    if classes.iter().all(|class| class.lossless == Some(false)) {
        return Err(document.error(&at.key("pfc"), "protects nothing, since no class is lossless"));
    }
    let is_limited = |class: &ClassTable| class.buffer.is_some() && class.lossless == Some(true);
    if let Some(index) = classes.iter().position(is_limited) {
        let problem = "contradicts flow control, under which a class of a port has no limit; set lossless = false, \
                       or remove it and set switch.shared_buffer";
        return Err(document.error(&at.key("class").index(index).key("buffer"), problem));
    }
    if switch.buffer.set().is_some() {
        let problem = "contradicts flow control, under which a class of a port has no limit; set shared_buffer, or \
                       pfc = false";
        return Err(document.error(&at.key("buffer"), problem));
    }
    Ok(())
}

/// Returns the tables of switches and classes with every buffer filled in, and the buffer that ports share, if any.
pub(super) fn with_buffers(
    document: &Document,
    switch: Switch,
    classes: Vec<ClassTable>,
    topology: &Topology,
    (users, trimming): (&Users, &Trimming),
) -> Result<(Switch, Vec<ClassTable>, Option<SharedBuffer>)> {
    let at = Path::default().key("switch");
    let shared = match (switch.shared_buffer, switch.alpha) {
        (None, Some(_)) => {
            let problem = "means nothing without shared_buffer; set both or none";
            return Err(document.error(&at.key("alpha"), problem));
        }
        (None, None) => None,
        (Some(size), alpha) => Some(SharedBuffer { size, alpha: alpha.unwrap_or(1.0) }),
    };
    let switch = Switch { alpha: shared.map(|shared| shared.alpha), ..switch };
    // Under flow control a class of a port has no limit, and saying so would contradict it.
    if switch.pfc == Auto::Set(true) {
        return Ok((switch, classes, shared));
    }
    let buffer = switch.buffer.or(match shared {
        Some(_) => BufferWord::Unlimited,
        None => default_buffer(topology),
    });
    let is_auto = switch.buffer == Auto::Auto && shared.is_none();
    let mut limits = Vec::new();
    for (index, class) in classes.iter().enumerate() {
        let own = class.buffer.map_or_else(
            || if is_auto { asked_for(document, users, trimming, &classes, index) } else { Ok(None) },
            |own| Ok(Some(own)),
        )?;
        limits.push(own.unwrap_or(buffer));
    }
    let of_headers = |index: usize| trimming.data_of(index).map(|data| limits[data].times(trimming.headers));
    let switch = with_multiple(document, switch, &classes, of_headers)?;
    let is_shared = shared.is_some();
    let filled = |(index, class): (usize, ClassTable)| {
        let limit = class.buffer.or(of_headers(index)).unwrap_or(limits[index]);
        ClassTable { buffer: Some(limit), ..class }
    };
    let classes: Vec<ClassTable> = classes.into_iter().enumerate().map(filled).collect();
    // A class that says so itself may: resolved scenarios say for each class whether transports asked for trimming.
    let endless = |index: &usize| {
        let is_endless = classes[*index].buffer == Some(BufferWord::Unlimited) && !is_shared;
        is_endless && trimming.of[*index].is_some() && !has(document, &at.key("class").index(*index), "trim")
    };
    if let Some(index) = (0..classes.len()).find(endless).filter(|_| has(document, &at, "trim")) {
        let name = quoted(&classes[index].name.0);
        let problem =
            format!("never trims in the class {name}, whose queue has no limit; write a buffer for it");
        return Err(document.error(&at.key("trim"), problem));
    }
    Ok((Switch { buffer: Auto::Set(buffer), ..switch }, classes, shared))
}

/// Returns the limit of a class that its traffic asks for, if any does.
fn asked_for(
    document: &Document,
    users: &Users,
    trimming: &Trimming,
    classes: &[ClassTable],
    class: usize,
) -> Result<Option<BufferWord>> {
    let asked = users.buffer(classes, class).map_err(|conflict| {
        let at = Path::default().key("switch").key("buffer");
        document.error(&at, format!("{conflict} in the class {}; write one", quoted(&classes[class].name.0)))
    })?;
    let limit = |needs: BufferNeeds| {
        let bdps = if trimming.of[class].is_some() { needs.trimming } else { needs.dropping };
        BufferWord::Bdps(thousandths(bdps) as u32)
    };
    Ok(asked.map(limit))
}

/// Returns the table of switches without the multiple for the limit of headers, if a class of headers has another limit of its
/// own. `of_headers` tells the limit of a class that holds headers, by the multiple. Refuses both.
fn with_multiple(
    document: &Document,
    switch: Switch,
    classes: &[ClassTable],
    of_headers: impl Fn(usize) -> Option<BufferWord>,
) -> Result<Switch> {
    let is_other = |index: usize| {
        let own = classes[index].buffer;
        own.is_some() && of_headers(index).is_some_and(|limit| own != Some(limit))
    };
    let Some(index) = (0..classes.len()).find(|index| is_other(*index)) else { return Ok(switch) };
    let at = Path::default().key("switch");
    if has(document, &at, "trim_headers") {
        let name = quoted(&classes[index].name.0);
        let problem =
            format!("contradicts the buffer of the class of headers, {name}; remove one of the two");
        return Err(document.error(&at.key("trim_headers"), problem));
    }
    Ok(Switch { trim_headers: None, ..switch })
}

/// Returns the default buffer of a port, by the fastest link of the network.
fn default_buffer(topology: &Topology) -> BufferWord {
    let fastest = topology.ports().iter().map(|port| port.rate).max().unwrap_or(Rate::ZERO);
    let scaled =
        u128::from(BUFFER_PER_10_GBPS) * u128::from(fastest.as_bps()) / u128::from(Rate::gbps(10).as_bps());
    BufferWord::Bytes(Bytes::new((scaled as u64).max(BUFFER_PER_10_GBPS)))
}
