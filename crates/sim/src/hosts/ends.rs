//! The ends of flows that are alive. The two ends of a flow know nothing of each other, so they may be driven by
//! different threads: each belongs to its host.

use super::messages::Messages;
use crate::classes::Classes;
use crate::ids::{AgentId, EndId, FlowSlot, HostId, IdVec, TrafficId};
use crate::net::Route;
use crate::timer::Timer;
use clearway_proto::{Place, Receivers, Rng, Senders, Stats};
use serde::{Deserialize, Serialize};

/// One end of a flow, its protocol left out.
#[derive(Serialize, Deserialize)]
pub struct End {
    /// The randomness of the end.
    pub rng: Rng,
    /// The counts of what the end did.
    pub stats: Stats,
    /// The wake-ups that the protocol asked for.
    pub timer: Timer,
    /// The classes of the flow's packets.
    pub classes: Classes,
    /// Set while the flow waits in its port's round robin for data: of a sending end.
    pub in_turn: bool,
    /// Set while the flow waits in its port's round robin for unscheduled data: of a sending end.
    pub unscheduled_in_turn: bool,
    /// Set once the end needs nothing more.
    pub finished: bool,
    /// The host of the end.
    pub host: HostId,
    /// The paths of the packets that the end sends.
    pub route: Route,
    /// The number of packets that the end put into the network, less those that it got from there: together with the
    /// other end's, and with those of which no end hears, the packets of the flow that are in the network.
    pub in_network: i32,
}

impl End {
    /// Returns an end before its first input.
    pub fn new(rng: Rng, host: HostId, route: Route, classes: Classes) -> End {
        End {
            rng,
            stats: Stats::default(),
            timer: Timer::IDLE,
            classes,
            in_turn: false,
            unscheduled_in_turn: false,
            finished: false,
            host,
            route,
            in_network: 0,
        }
    }
}

/// The name of a flow: its traffic entry, and its number there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct FlowName {
    /// The traffic entry.
    pub traffic: TrafficId,
    /// The number of the flow there.
    pub number: u64,
}

/// The sending end of a flow.
#[derive(Serialize, Deserialize)]
pub struct Sending {
    /// The place of the protocol.
    pub sender: Place,
    /// The rest of the end.
    pub end: End,
    /// The number of bytes that the application handed over.
    pub written: u64,
    /// The messages of which the end does not know yet that all has arrived.
    pub messages: Messages,
}

/// The receiving end of a flow.
#[derive(Serialize, Deserialize)]
pub struct Receiving {
    /// The place of the protocol.
    pub receiver: Place,
    /// The rest of the end.
    pub end: End,
    /// The traffic entry of the flow.
    traffic: TrafficId,
    /// The number of the flow there.
    number: u64,
    /// The agent between the end and its host's NIC, if there is one. [`Agents`](super::agents::Agents) knows those of
    /// sending ends, which few flows have.
    pub agent: Option<AgentId>,
    /// The messages that are not yet delivered in full.
    pub messages: Messages,
}

impl Sending {
    /// Returns a sending end to which nothing has been written yet.
    pub fn new(sender: Place, end: End) -> Sending {
        Sending { sender, end, written: 0, messages: Messages::default() }
    }

    /// Adds a message of `bytes` to what the end must send. Returns the offset after its last byte.
    pub fn add_message(&mut self, bytes: u64) -> u64 {
        self.written += bytes;
        self.messages.push(self.written);
        self.written
    }
}

impl Receiving {
    /// Returns a receiving end that waits for no message yet.
    pub fn new(receiver: Place, end: End, name: FlowName, agent: Option<AgentId>) -> Receiving {
        let FlowName { traffic, number } = name;
        Receiving { receiver, end, traffic, number, agent, messages: Messages::default() }
    }

    /// Returns the name of the flow.
    pub fn name(&self) -> FlowName {
        FlowName { traffic: self.traffic, number: self.number }
    }
}

/// One end of a flow, whose protocol stands elsewhere.
pub trait OneEnd {
    /// The protocols of ends of this kind.
    type Protocols: Default;

    /// Removes the end's protocol.
    fn close(&self, protocols: &mut Self::Protocols);
}

impl OneEnd for Sending {
    type Protocols = Senders;

    fn close(&self, protocols: &mut Senders) {
        protocols.remove(self.sender);
    }
}

impl OneEnd for Receiving {
    type Protocols = Receivers;

    fn close(&self, protocols: &mut Receivers) {
        protocols.remove(self.receiver);
    }
}

/// The ends of one kind at the hosts of a part of the network, by the places of their flows. They stand in an array of
/// the part, and their protocols in one for each transport, so that threads share no cache line and an end takes no more
/// than its size.
#[derive(Serialize, Deserialize)]
#[serde(bound(
    serialize = "T: Serialize, T::Protocols: Serialize",
    deserialize = "T: Deserialize<'de>, T::Protocols: Deserialize<'de>"
))]
pub struct Ends<T: OneEnd> {
    /// Where the end of each flow stands, if it is here.
    places: IdVec<FlowSlot, Option<EndId>>,
    ends: IdVec<EndId, Option<T>>,
    free: Vec<EndId>,
    /// The protocols of the ends.
    pub protocols: T::Protocols,
}

impl<T: OneEnd> Default for Ends<T> {
    fn default() -> Ends<T> {
        Ends {
            places: IdVec::new(),
            ends: IdVec::new(),
            free: Vec::new(),
            protocols: T::Protocols::default(),
        }
    }
}

impl<T: OneEnd> Ends<T> {
    /// Adds the end of the flow of a place.
    pub fn insert(&mut self, slot: FlowSlot, end: T) {
        self.places.cover(slot, None);
        let id = match self.free.pop() {
            Some(id) => {
                self.ends[id] = Some(end);
                id
            }
            None => self.ends.push(Some(end)),
        };
        self.places[slot] = Some(id);
    }

    /// Removes the end of a flow with its protocol.
    pub fn remove(&mut self, slot: FlowSlot) -> Option<T> {
        let id = self.places.get_mut(slot)?.take()?;
        self.free.push(id);
        let end = self.ends[id].take()?;
        end.close(&mut self.protocols);
        Some(end)
    }

    /// Returns the ends with the places of their flows, and the protocols of all.
    pub fn into_parts(self) -> (impl Iterator<Item = (FlowSlot, T)>, T::Protocols) {
        let Ends { places, mut ends, free: _, protocols } = self;
        let placed = places.ids().zip(places).filter_map(move |(slot, id)| Some((slot, ends[id?].take()?)));
        (placed, protocols)
    }

    /// Returns the end of a flow and the protocols of all, to be changed, if the end is here and alive.
    #[inline(always)]
    pub fn with_protocols(&mut self, slot: FlowSlot) -> Option<(&mut T, &mut T::Protocols)> {
        let end = self.ends.get_mut((*self.places.get(slot)?)?)?.as_mut()?;
        Some((end, &mut self.protocols))
    }

    /// Returns the memory of the ends, their protocols left out, in bytes.
    pub fn size(&self) -> usize {
        self.ends.size()
    }

    /// Returns the address of the end of a flow, to be fetched ahead.
    #[inline]
    pub fn address(&self, slot: FlowSlot) -> *const u8 {
        self.get(slot).map_or(std::ptr::null(), |end| std::ptr::from_ref(end).cast())
    }

    /// Returns the end of a flow, if it is here and alive.
    #[inline(always)]
    pub fn get(&self, slot: FlowSlot) -> Option<&T> {
        self.ends.get((*self.places.get(slot)?)?)?.as_ref()
    }

    /// Returns the end of a flow, to be changed, if it is here and alive.
    #[inline]
    pub fn get_mut(&mut self, slot: FlowSlot) -> Option<&mut T> {
        self.ends.get_mut((*self.places.get(slot)?)?)?.as_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Id;

    impl OneEnd for &'static str {
        type Protocols = Vec<&'static str>;

        fn close(&self, closed: &mut Vec<&'static str>) {
            closed.push(self);
        }
    }

    #[test]
    fn an_end_is_found_by_the_place_of_its_flow_until_it_is_removed() {
        let mut ends = Ends::default();
        let [first, second] = [0, 5].map(FlowSlot::from_index);
        ends.insert(second, "second");
        assert_eq!((ends.get(first), ends.get(second)), (None, Some(&"second")));
        ends.insert(first, "first");
        assert_eq!(ends.remove(second), Some("second"));
        assert_eq!(ends.get_mut(first), Some(&mut "first"));
        assert!(ends.remove(second).is_none() && ends.get(second).is_none());
        assert_eq!(ends.protocols, ["second"], "it goes with its end");
        ends.insert(second, "third");
        assert_eq!((ends.get(first), ends.get(second)), (Some(&"first"), Some(&"third")));
    }
}
