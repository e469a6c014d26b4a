//! From the needs of transports to ports that meet them: one place for scenario files, tests and benchmarks.
//!
//! A scenario file may say otherwise, key by key; then its key counts, and what is here is the default.

use crate::model::{
    Amount, Class, CreditClass, Delay, HostModel, Marking, Measure, Model, Pattern, Pfc, PortModel,
    SharedBuffer, Threshold, Traffic,
};
use clearway_proto::port::MarkAt;
use clearway_proto::port::pfc::{PfcConfig, headroom};
use clearway_proto::{Acks, AnyMechanismConfig, AnyTransport, CreditNeeds, Framing, MarkingNeeds, Needs};
use clearway_topology::{NodeId, Topology, routing::Policy};
use clearway_units::{Bytes, Span};
use std::fmt;
use std::sync::Arc;
use thiserror::Error;

/// The name of the class of data.
pub const DATA: &str = "data";
/// The name of the class of *unscheduled* data (sent without a credit), which yields to all others.
pub const UNSCHEDULED: &str = "low-priority";
/// Memory of a switch with flow control, unless its headrooms and reserves take more than half of it (HPCC's authors).
pub const MEMORY: Bytes = Bytes::new(32_000_000);
/// A port that is paused for longer is reported: the time that SONiC's watchdog takes for a storm.
pub const STORM: Span = Span::from_ms(200);

/// The needs of all transports of a network, each with the name of the transport that has it.
#[derive(Default)]
pub struct AllNeeds {
    /// The credit classes that transports need.
    pub credits: Vec<(&'static str, CreditNeeds)>,
    /// The ECN marking that transports need.
    pub markings: Vec<(&'static str, MarkingNeeds)>,
    /// True if a transport needs a network that loses nothing for want of buffer.
    pub lossless: bool,
    /// True if a transport needs a class for congestion notification packets (CNPs).
    pub cnps: bool,
    /// Ways of acknowledgements that differ from the way of data.
    pub acks: Vec<(&'static str, Acks)>,
    /// The most bytes that a data packet carries besides payload and the network's headers.
    pub stamp: u32,
    /// Sizes of the queue of unscheduled data, in frames.
    pub unscheduled_queues: Vec<(&'static str, u32)>,
    /// Mechanisms at the ports of switches.
    pub mechanisms: Vec<(&'static str, AnyMechanismConfig)>,
}

/// Two transports that need different things of the same ports.
#[derive(Clone, PartialEq, Debug, Error)]
#[error("the transports {one} and {other} ask for {asked:?} and {instead:?}")]
pub struct Conflict<T: fmt::Debug> {
    /// The first transport that asks.
    pub one: &'static str,
    /// A transport that asks for something else.
    pub other: &'static str,
    /// The wish of the first.
    pub asked: T,
    /// The wish of the other.
    pub instead: T,
}

/// Returns the value that all transports ask for, or `None` if no transport asks. `value` picks it from a need.
pub fn agreed<N, T: PartialEq + fmt::Debug>(
    needs: &[(&'static str, N)],
    value: impl Fn(&N) -> T,
) -> Result<Option<T>, Conflict<T>> {
    let Some((one, first)) = needs.first() else { return Ok(None) };
    let asked = value(first);
    match needs.iter().map(|(other, need)| (*other, value(need))).find(|(_, other)| *other != asked) {
        None => Ok(Some(asked)),
        Some((other, instead)) => Err(Conflict { one, other, asked, instead }),
    }
}

/// A class of packets ahead of data that transports ask for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ahead {
    /// The name of the class.
    pub name: &'static str,
    /// The priority of the class; lower numbers go first.
    pub priority: u8,
    /// The way of acknowledgements that travel in the class; `None` for the class of CNPs.
    pub acks: Option<Acks>,
}

impl Ahead {
    /// Returns true if the class is one of hosts alone: at switches its packets join the class of data.
    pub fn joins_data(&self) -> bool {
        self.acks == Some(Acks::FirstAtHosts)
    }

    /// Returns true if flow control protects the class where it protects data.
    pub fn is_lossless(&self) -> bool {
        self.acks == Some(Acks::OwnClass)
    }

    /// Returns true if a transport with these needs sends CNPs in this class.
    pub fn holds_cnps_of(&self, needs: &Needs) -> bool {
        self.acks.is_none() && needs.cnps
    }

    /// Returns true if a transport with these needs sends acknowledgements in this class.
    pub fn holds_acks_of(&self, needs: &Needs) -> bool {
        self.acks == Some(needs.acks)
    }
}

impl AllNeeds {
    /// Collects the needs of transports.
    pub fn of<'a>(transports: impl IntoIterator<Item = &'a AnyTransport>) -> AllNeeds {
        let mut all = AllNeeds::default();
        for transport in transports {
            let (name, needs) = (transport.info().name, transport.needs());
            all.credits.extend(needs.credits.map(|credits| (name, credits)));
            all.markings.extend(needs.marking.map(|marking| (name, marking)));
            all.lossless |= needs.lossless;
            all.cnps |= needs.cnps;
            if needs.acks != Acks::WithData {
                all.acks.push((name, needs.acks));
            }
            all.stamp = all.stamp.max(needs.stamp);
            all.unscheduled_queues.extend(needs.unscheduled_queue.map(|queue| (name, queue)));
            all.mechanisms.extend(transport.mechanism().map(|mechanism| (name, mechanism)));
        }
        all
    }

    /// Returns the classes ahead of data: one for CNPs, and one for each way of acknowledgements that asks for it.
    pub fn ahead(&self) -> Vec<Ahead> {
        let of_acks = u8::from(self.cnps);
        let cnps = self.cnps.then_some(Ahead { name: "notices", priority: 0, acks: None });
        let acks = [("acks", Acks::OwnClass), ("acks-of-hosts", Acks::FirstAtHosts)].map(|(name, acks)| {
            let is_wanted = self.acks.iter().any(|(_, wanted)| *wanted == acks);
            is_wanted.then_some(Ahead { name, priority: of_acks, acks: Some(acks) })
        });
        cnps.into_iter().chain(acks.into_iter().flatten()).collect()
    }

    /// Returns the priority of data behind those classes.
    pub fn data_priority(&self) -> u8 {
        u8::from(self.cnps) + u8::from(!self.acks.is_empty())
    }
}

/// Returns the threshold by which a port marks for a transport with this need.
pub fn threshold(needs: MarkingNeeds) -> Threshold {
    match needs {
        MarkingNeeds::Step => Threshold::ByRate,
        MarkingNeeds::Red(red) => Threshold::Red(red),
    }
}

/// Returns the moment at which a packet meets a threshold: as it leaves for marks at random, else as it joins the
/// queue.
pub fn marks_at(threshold: Option<&Threshold>) -> MarkAt {
    if matches!(threshold, Some(Threshold::Red(_))) { MarkAt::Dequeue } else { MarkAt::Enqueue }
}

/// Returns the switch whose headrooms and reserves take the most memory, and how much, where flow control protects
/// `classes` classes. `own` is the headroom of each link, if it does not follow from rate and delay.
pub fn memory_apart(
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
pub fn memory(apart: Bytes) -> Bytes {
    MEMORY.max(Bytes::new(apart.get().saturating_mul(2)))
}

/// Returns a network without traffic whose ports have what the transports need. Queues of data are unlimited.
///
/// # Errors
/// Two transports need different things of the same ports. The message names both.
pub fn network_for<'a>(
    topology: Topology,
    transports: impl IntoIterator<Item = &'a AnyTransport>,
) -> Result<Model, String> {
    let needs = AllNeeds::of(transports);
    let credit = agreed(&needs.credits, |credits| *credits).map_err(|conflict| conflict.to_string())?;
    let credit = credit.map(|credits| CreditClass::new(credits.queue, credits.shaping));
    let mechanism =
        agreed(&needs.mechanisms, AnyMechanismConfig::clone).map_err(|conflict| conflict.to_string())?;
    let classes = classes_for(&needs)?;
    let of_host = |class: &Class| Class { limit: Amount::UNLIMITED, marking: None, ..class.clone() };
    let host_classes = classes.iter().map(of_host).collect();
    let framing = Framing::ETHERNET;
    let (pfc, shared) = pfc_for(&needs, &topology, framing, classes.len()).unzip();
    let port = |classes, shared, mechanism| PortModel {
        credit,
        credit_classes: Vec::new(),
        classes,
        shared,
        mechanism,
    };
    Ok(Model {
        seed: 1,
        stop: None,
        topology: Arc::new(topology),
        routing: Policy::SymmetricEcmp,
        framing,
        pfc,
        whole_ns: false,
        switch: port(classes, shared, mechanism),
        host: HostModel {
            port: port(host_classes, None, None),
            queues_data: false,
            processing_delay: Delay::Fixed(Span::ZERO),
        },
        traffic: Vec::new(),
        faults: Vec::new(),
        loss: Vec::new(),
        measure: Measure::default(),
        samples: Vec::new(),
        traces: Vec::new(),
    })
}

/// Returns the classes at the ports of switches: that of data, those ahead of data, and that of unscheduled data.
fn classes_for(needs: &AllNeeds) -> Result<Vec<Class>, String> {
    let marking = agreed(&needs.markings, |marking| *marking).map_err(|conflict| conflict.to_string())?;
    let marking =
        marking.map(threshold).map(|threshold| Marking { threshold, at: marks_at(Some(&threshold)) });
    let queue = agreed(&needs.unscheduled_queues, |queue| *queue).map_err(|conflict| conflict.to_string())?;
    let data = Class { marking, ..Class::new(DATA, needs.data_priority()) };
    let ahead = needs.ahead().into_iter().map(|ahead| Class {
        at_switches: ahead.joins_data().then_some(0),
        ..Class::new(ahead.name, ahead.priority)
    });
    let unscheduled = queue.map(|packets| Class {
        limit: Amount { packets, ..Amount::UNLIMITED },
        ..Class::new(UNSCHEDULED, needs.data_priority() + 1)
    });
    Ok(std::iter::once(data).chain(ahead).chain(unscheduled).collect())
}

/// Returns the flow control of switches that have so many classes, and their memory, if a transport needs it.
fn pfc_for(
    needs: &AllNeeds,
    topology: &Topology,
    framing: Framing,
    classes: usize,
) -> Option<(Pfc, SharedBuffer)> {
    if !needs.lossless {
        return None;
    }
    let ahead = needs.ahead();
    let is_lossless = |index: usize| index == 0 || ahead.get(index - 1).is_some_and(Ahead::is_lossless);
    let lossless: Vec<bool> = (0..classes).map(is_lossless).collect();
    let protected = lossless.iter().filter(|&&on| on).count() as u64;
    let config = PfcConfig::DEFAULT;
    let (_, apart) = memory_apart(topology, framing, needs.stamp, &config, None, protected);
    let shared = SharedBuffer { size: memory(apart), alpha: 1.0 };
    Some((Pfc { config, headroom: None, lossless, storm: STORM }, shared))
}

impl Model {
    /// Adds traffic of a transport, in the classes that [`network_for`] made for it; without such classes, in the
    /// first.
    pub fn add_traffic(&mut self, name: impl Into<String>, transport: &AnyTransport, pattern: Pattern) {
        let needs = transport.needs();
        let made = AllNeeds::of([transport]).ahead();
        let find = |holds: &dyn Fn(&Ahead) -> bool| {
            let ahead = made.iter().find(|ahead| holds(ahead))?;
            self.switch.classes.iter().position(|class| class.name == ahead.name)
        };
        let notice_class = find(&|ahead| ahead.holds_cnps_of(&needs)).unwrap_or(0);
        let ack_class = find(&|ahead| ahead.holds_acks_of(&needs)).unwrap_or(0);
        let (name, transport) = (name.into(), transport.clone());
        self.traffic.push(Traffic {
            name,
            transport,
            class: 0,
            credit_class: 0,
            notice_class,
            ack_class,
            pattern,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clearway_topology::Star;

    fn transport(name: &str, set: &[(&str, &str)]) -> AnyTransport {
        let mut transport = AnyTransport::by_name(name).unwrap();
        set.iter().for_each(|(key, value)| transport.set(key, value).unwrap());
        transport
    }

    fn network(transports: &[AnyTransport]) -> Result<Model, String> {
        network_for(Star::default().build().unwrap(), transports)
    }

    fn names(classes: &[Class]) -> Vec<(&str, u8)> {
        classes.iter().map(|class| (class.name.as_str(), class.priority)).collect()
    }

    #[test]
    fn a_transport_with_credits_gets_a_class_of_credits_at_hosts_and_switches() {
        let model = network(&[transport("expresspass", &[("low_priority", "1")])]).unwrap();
        assert_eq!(model.switch.credit.unwrap().queue, 8);
        assert_eq!(model.host.port.credit.unwrap().queue, 8);
        assert_eq!(names(&model.switch.classes), [(DATA, 0), (UNSCHEDULED, 1)]);
        assert_eq!(model.switch.classes[1].limit.packets, 32);
        assert_eq!(model.host.port.classes[1].limit, Amount::UNLIMITED);
        assert_eq!(model.unscheduled_class(), 1);
    }

    #[test]
    fn cnps_and_acknowledgements_go_ahead_of_data_where_a_transport_asks_for_it() {
        let dcqcn = transport("dcqcn", &[("acks", "first-at-hosts")]);
        let mut model = network(std::slice::from_ref(&dcqcn)).unwrap();
        assert_eq!(names(&model.switch.classes), [(DATA, 2), ("notices", 0), ("acks-of-hosts", 1)]);
        assert_eq!(model.switch.classes[2].at_switches, Some(0));
        assert_eq!(model.pfc.as_ref().unwrap().lossless, [true, false, false]);
        model.add_traffic("flows", &dcqcn, Pattern::Flows(Arc::default()));
        let Traffic { class, notice_class, ack_class, .. } = model.traffic[0];
        assert_eq!((class, notice_class, ack_class), (0, 1, 2));
        let own = network(&[transport("hpcc", &[("acks", "own-class")])]).unwrap();
        assert_eq!(names(&own.switch.classes), [(DATA, 1), ("acks", 0)]);
        assert_eq!(own.pfc.unwrap().lossless, [true, true]);
    }

    #[test]
    fn transports_that_need_different_ports_are_refused_by_name() {
        let [few, many] = ["4", "16"].map(|queue| transport("expresspass", &[("credit_queue", queue)]));
        let error = network(&[few, many]).unwrap_err();
        assert!(error.starts_with("the transports expresspass and expresspass ask for"), "{error}");
        let error = network(&[transport("hull", &[]), transport("rcp", &[])]).unwrap_err();
        assert!(error.starts_with("the transports hull and rcp ask for"), "{error}");
    }

    #[test]
    fn marks_follow_the_need_of_the_transport() {
        let marking = |name| network(&[transport(name, &[])]).unwrap().switch.classes[0].marking;
        let step = marking("dctcp").unwrap();
        assert!(matches!(step.threshold, Threshold::ByRate) && step.at == MarkAt::Enqueue);
        let red = marking("dcqcn").unwrap();
        assert!(matches!(red.threshold, Threshold::Red(_)) && red.at == MarkAt::Dequeue);
        assert!(marking("newreno").is_none());
    }
}
