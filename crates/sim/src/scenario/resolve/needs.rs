//! The needs of all transports of a network at its ports, and the classes of packets that follow from them.

use crate::scenario::field::Routing;
use clearway_proto::{
    Acks, AnyMechanismConfig, AnyTransport, CreditNeeds, MarkingNeeds, Needs, TrimmingNeeds,
};
use std::fmt;
use thiserror::Error;

/// The name of the class of data.
pub const DATA: &str = "data";
/// The name of the class of *unscheduled* data (sent without a credit), which yields to all others.
pub const UNSCHEDULED: &str = "low-priority";
/// Returns the name of the class of data of a lane, of one from 1 on; lane 0 has the class of data itself.
pub fn lane_class(lane: u8) -> String {
    format!("lane-{lane}")
}

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
    /// The most lanes that the data of a transport uses.
    pub lanes: u8,
    /// The most bytes that a data packet carries besides payload and the network's headers.
    pub stamp: u32,
    /// Sizes of the queue of unscheduled data, in frames.
    pub unscheduled_queues: Vec<(&'static str, u32)>,
    /// The trimming that transports need.
    pub trimmings: Vec<(&'static str, TrimmingNeeds)>,
    /// True if a transport chooses the paths of its packets by their entropy.
    pub entropy: bool,
    /// All needs of every transport.
    pub transports: Vec<(&'static str, Needs)>,
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
    fn holds_cnps_of(&self, needs: &Needs) -> bool {
        self.acks.is_none() && needs.cnps
    }

    /// Returns true if a transport with these needs sends acknowledgements in this class.
    fn holds_acks_of(&self, needs: &Needs) -> bool {
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
            all.trimmings.extend(needs.trimming.map(|trimming| (name, trimming)));
            all.entropy |= needs.entropy;
            all.transports.push((name, needs));
            all.lossless |= needs.lossless;
            all.cnps |= needs.cnps;
            if needs.acks != Acks::WithData {
                all.acks.push((name, needs.acks));
            }
            all.lanes = all.lanes.max(needs.lanes);
            all.stamp = all.stamp.max(needs.stamp);
            all.unscheduled_queues.extend(needs.unscheduled_queue.map(|queue| (name, queue)));
            all.mechanisms.extend(transport.mechanism().map(|mechanism| (name, mechanism)));
        }
        all
    }

    /// Returns the rule that chooses paths where the scenario names none.
    pub fn routing(&self) -> Routing {
        if self.entropy && self.credits.is_empty() { Routing::Entropy } else { Routing::SymmetricEcmp }
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

/// Returns the classes of a transport's CNPs and of its acknowledgements, as indices; `None` for those that travel in the
/// class of its data. `ahead` are the classes ahead of data, of which `index` says where ports have them.
pub fn classes_of(
    needs: &Needs,
    ahead: &[Ahead],
    index: impl Fn(&Ahead) -> Option<usize>,
) -> (Option<usize>, Option<usize>) {
    let find = |holds: &dyn Fn(&Ahead) -> bool| ahead.iter().find(|class| holds(class)).and_then(&index);
    (find(&|class| class.holds_cnps_of(needs)), find(&|class| class.holds_acks_of(needs)))
}
