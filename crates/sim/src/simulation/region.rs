//! A region: the hosts of a part of the network, their ends of flows and their applications. A run has one region, or
//! several on as many threads, which meet at barriers.

use super::notes::{News, Note, Rtt};
use super::rounds::RoundsState;
use super::standstill::Standstill;
use crate::engine::TICK;
use crate::hosts::{Hosts, Input};
use crate::ids::{FlowSlot, IdVec, TrafficId};
use crate::model::Model;
use crate::net::Network;
use clearway_units::Time;
use std::sync::Arc;

/// A region of a run, which shares no cache line with another one. Its network, which it shares with nobody while it runs, is handed to each call.
#[repr(align(128))]
pub struct Region {
    /// The hosts with the ends of flows.
    pub hosts: Hosts,
    /// The rounds of traffic entries whose hosts are here.
    pub(super) rounds: IdVec<TrafficId, Option<Box<RoundsState>>>,
    pub(super) model: Arc<Model>,
    /// The notes that the whole run has yet to read.
    pub(super) notes: Vec<Note>,
    /// The round-trip times that samples have yet to take.
    pub(super) rtts: Vec<Rtt>,
    /// Set if round-trip times are sampled.
    pub(super) watches_rtt: bool,
    /// Set if the whole run must read each note before any later event.
    pub(super) is_prompt: bool,
    /// The time before which events are handled.
    pub(super) until: Time,
    /// The time of the last event.
    pub(super) last: Time,
    /// The number of events handled.
    pub(super) events: u64,
    /// The watch over the clock of these events.
    pub(super) standstill: Standstill,
}

/// The regions of a run, which move to threads and back: a pointer each instead of all fields.
#[allow(clippy::vec_box, reason = "moving them must cost little")]
pub type Regions = Vec<Box<Region>>;

impl Region {
    /// Returns a region of a model, yet without ends of flows and without rounds.
    pub fn new(model: &Arc<Model>, watches_rtt: bool, is_prompt: bool) -> Region {
        Region {
            hosts: Hosts::new(model),
            rounds: model.traffic.iter().map(|_| None).collect(),
            model: Arc::clone(model),
            notes: Vec::new(),
            rtts: Vec::new(),
            watches_rtt,
            is_prompt,
            until: Time::ZERO,
            last: Time::ZERO,
            events: 0,
            standstill: Standstill::new(model),
        }
    }

    /// Returns whether time stands still.
    pub(super) fn stands_still(&self) -> bool {
        self.standstill.is_reached()
    }

    /// Notes something for the whole run.
    pub(super) fn note(&mut self, net: &Network, news: News) {
        self.notes.push(Note { at: net.now(), news });
        if self.is_prompt {
            self.until = self.until.min(net.now() + TICK);
        }
    }

    /// Returns whether the whole run must read a note before any later event.
    pub(super) fn has_urgent_notes(&self) -> bool {
        self.is_prompt && !self.notes.is_empty()
    }

    /// Drives a sending end, and notes what it then knows to have arrived. Returns the bytes of the flow in all, if it
    /// was truncated.
    #[inline]
    pub(super) fn drive_sender(&mut self, slot: FlowSlot, input: Input<'_>, net: &mut Network) -> u64 {
        let Some(standing) = self.hosts.drive_sender(slot, input, net) else { return 0 };
        if standing.has_message {
            self.note_acknowledged(slot, standing.bytes, net);
        }
        standing.total
    }

    /// Notes that a sender knows that messages have arrived in full.
    #[inline(never)]
    pub(super) fn note_acknowledged(&mut self, slot: FlowSlot, acknowledged: u64, net: &Network) {
        while self.hosts.senders.get_mut(slot).is_some_and(|end| end.messages.pop(acknowledged)) {
            self.note(net, News::Acknowledged { slot });
        }
    }
}
