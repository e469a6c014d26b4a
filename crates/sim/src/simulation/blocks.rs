//! One thread goes through the blocks of a region in turn, window by window.

use super::region::Region;
use super::rounds::rounds_of;
use crate::engine::{Agenda, Event};
use crate::ids::{FlowSlot, TrafficId};
use crate::net::place::node_of;
use crate::net::{Network, divide, fetch};
use clearway_topology::NodeId;
use clearway_units::Time;

impl Region {
    /// As [`Region::run`], where there are blocks: through all of them as one, or in turn if that is expected to be faster.
    pub(super) fn run_in_blocks(&mut self, net: &mut Network, until: Time, most: u64) -> Option<Time> {
        let bytes = fetch::bytes(net);
        let blocks = net.blocks.as_mut()?;
        blocks.heed(self.last, self.events);
        if blocks.should_be_open(bytes) {
            divide::spread(net, |agenda, event| self.place(agenda, event));
            return self.run_in_turn(net, until, most);
        }
        divide::gather_part(net);
        self.until = until;
        self.run_alone(net, most)
    }

    /// As [`Region::run`], window by window, in each of which all blocks go on. It ends between two windows, the first time that
    /// `most` events have been handled.
    fn run_in_turn(&mut self, net: &mut Network, until: Time, most: u64) -> Option<Time> {
        let before = self.events;
        let (numbers, window) = net.blocks.as_ref().map(|blocks| (blocks.numbers(), blocks.window()))?;
        while let Some(next) = net.next_at().filter(|&next| next < until) {
            if self.events - before >= most {
                return None;
            }
            self.until = until.min(next.saturating_add(window));
            let is_watched = divide::set_watching(net, false);
            let mut starts_watch = is_watched;
            for block in numbers.clone() {
                // Each block notes the first time that it stops a port, and the whole run heeds the earliest.
                divide::set_watching(net, is_watched);
                self.take_turn(block, net);
                starts_watch |= divide::set_watching(net, false);
                if self.stands_still() {
                    return None;
                }
            }
            divide::set_watching(net, starts_watch);
            net.agenda.now = self.last;
        }
        Some(until)
    }

    /// Lets a block handle its events of the window.
    fn take_turn(&mut self, block: u16, net: &mut Network) {
        let next = net.blocks.as_ref().and_then(|blocks| blocks.next_at(block));
        if next.is_none_or(|next| next >= self.until) {
            return;
        }
        let left_at = net.left_at;
        divide::turn(net, block);
        self.run_alone(net, u64::MAX);
        if self.stands_still() {
            self.last = net.now();
        }
        divide::turn(net, block);
        net.left_at = net.left_at.max(left_at);
    }

    /// Returns the node at which an event is handled.
    fn place(&self, agenda: &Agenda, event: &Event) -> NodeId {
        let sender_of = |flow: FlowSlot| {
            let sending = self.hosts.senders.get(flow);
            sending.expect("a flow that has yet to start does not end").end.host.node()
        };
        let client_of = |traffic: TrafficId| rounds_of(&self.model, traffic).client;
        node_of(event, agenda, &self.model.topology, sender_of, client_of)
    }
}
