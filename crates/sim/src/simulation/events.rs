//! The event loop of a region: events are taken in their order and handed to ports, ends of flows, and applications.

use super::apps::{round_progress, start_round};
use super::notes::{News, Rtt, size_of_message};
use super::region::Region;
use super::standstill::Standstill;
use super::times::{Clock, Spent};
use crate::engine::{Event, EventKind, TICK};
use crate::hosts::Input;
use crate::ids::{FlowSlot, PacketId};
use crate::net::{Network, fetch, pause, pipeline};
use clearway_proto::{Header, Packet};
use clearway_units::Time;

impl Region {
    /// Takes in what came from other parts and handles all events before `until`. Returns what that took, by the clock
    /// if there is one.
    pub fn go_on(&mut self, net: &mut Network, until: Time, clock: Option<Clock>) -> Spent {
        let read = || clock.map_or(0, |clock| clock());
        let (start, before) = (read(), self.events);
        net.open_inboxes();
        let opened = read();
        self.run(net, until, u64::MAX);
        Spent { intake: opened - start, work: read() - opened, events: self.events - before }
    }

    /// Handles the events before `until`, or up to the instant in which the whole run must read a note, but at most
    /// `most` of them. Returns the time before which all are handled; `None` if there were too many, or if time stands
    /// still.
    pub fn run(&mut self, net: &mut Network, until: Time, most: u64) -> Option<Time> {
        if net.blocks.is_some() {
            return self.run_in_blocks(net, until, most);
        }
        self.until = match self.notes.last() {
            Some(note) if self.is_prompt => until.min(note.at + TICK),
            _ => until,
        };
        self.run_alone(net, most)
    }

    /// As [`Region::run`], for all that has one agenda, and before the time that is set.
    pub(super) fn run_alone(&mut self, net: &mut Network, most: u64) -> Option<Time> {
        let mut left = most;
        while left > 0 && !self.stands_still() {
            let next = left.min(Standstill::until_look(self.events));
            if let Some(until) = self.run_to_look(net, next) {
                pipeline::settle_exits(net, until);
                return Some(until);
            }
            left -= next;
            self.standstill.look(self.events, net.now());
        }
        None
    }

    /// As [`Region::run`], without a look at whether time stands still.
    fn run_to_look(&mut self, net: &mut Network, most: u64) -> Option<Time> {
        // Fetching ahead ports and ends pays where they exceed the cache, and costs where they do not.
        let (is_large, fetches_ends) = (fetch::is_large(net), self.hosts.is_large());
        let fetches_heads = fetch::wants_heads(net, is_large);
        let fetches_more = fetches_heads || fetches_ends;
        let mut left = most;
        while left > 0 {
            let Some(event) = net.agenda.pop_here(self.until) else {
                if net.agenda.turn(self.until) {
                    fetch::look_ahead(net, is_large);
                    continue;
                }
                self.rest(net, most - left);
                return Some(self.until);
            };
            left -= 1;
            debug_assert!(event.at() >= net.now(), "time runs backwards");
            net.agenda.now = event.at();
            if fetches_more {
                self.fetch_more(net, fetches_heads, fetches_ends);
            }
            self.handle(event, net);
        }
        self.rest(net, most);
        None
    }

    /// Fetches what only large networks fetch at each event: first packets of queues, and ends.
    #[cold]
    #[inline(never)]
    fn fetch_more(&self, net: &Network, heads: bool, ends: bool) {
        if heads {
            fetch::look_at_heads(net);
        }
        if ends {
            self.hosts.look_ahead(net);
        }
    }

    fn rest(&mut self, net: &Network, handled: u64) {
        if handled > 0 {
            // Another block may have come further.
            self.last = self.last.max(net.now());
            self.events += handled;
        }
    }

    /// Handles an event.
    #[inline(always)]
    fn handle(&mut self, event: Event, net: &mut Network) {
        match event.arriving() {
            Some(id) => {
                if pipeline::arrive(net, id, event.port()) && self.hosts.reach(id, net) {
                    self.hand_over(id, net);
                }
            }
            None => self.handle_no_arrival(event, net),
        }
    }

    /// Handles an event other than the arrival of a packet.
    #[inline(never)]
    fn handle_no_arrival(&mut self, event: Event, net: &mut Network) {
        match event.kind() {
            EventKind::Wake(port) => {
                if pipeline::wake(net, port) {
                    self.hosts.use_any_port(port, net);
                }
            }
            other => self.handle_timer(other, net),
        }
    }

    /// Handles an event at an end of a flow that is no arrival of a packet from a link.
    #[inline(never)]
    fn handle_timer(&mut self, kind: EventKind, net: &mut Network) {
        match kind {
            EventKind::Handle(id) => self.hand_over(id, net),
            EventKind::SenderTimer(flow) => {
                if self.hosts.sender_wakes(flow, net) {
                    self.drive_sender(flow, Input::Timer, net);
                }
            }
            EventKind::ReceiverTimer(flow) => self.drive_receiver(flow, Input::Timer, net),
            other => self.handle_other(other, net),
        }
    }

    /// Handles an event that is rarer than packets.
    #[inline(never)]
    fn handle_other(&mut self, kind: EventKind, net: &mut Network) {
        match kind {
            EventKind::AgentTimer(agent) => self.hosts.wake_agent(agent, net),
            EventKind::Traffic(traffic) => start_round(self, traffic, net),
            EventKind::Pause(port) => {
                self.hosts.unpark(port, net);
                let (goes_on, starts_watch) = pause::obey_frame(net, port);
                if starts_watch {
                    self.note(net, News::Stopped);
                }
                if goes_on {
                    self.hosts.use_port(port, net);
                }
            }
            EventKind::MechanismTimer(mechanism) => pipeline::wake_mechanism(net, mechanism),
            EventKind::Start(flow) => self.start_flow(flow, net),
            _ => unreachable!("handled where packets are"),
        }
    }

    /// Starts a flow that was prepared: its application writes its one message.
    fn start_flow(&mut self, slot: FlowSlot, net: &mut Network) {
        let sending = self.hosts.senders.get(slot).expect("a flow that has yet to start does not end");
        let bytes = sending.written;
        self.note(net, News::Wrote { slot, bytes });
        let close = size_of_message(bytes).is_some();
        self.drive_sender(slot, Input::Write { bytes, close }, net);
    }

    /// Hands a packet to the end of the flow that it is for.
    #[inline]
    fn hand_over(&mut self, id: PacketId, net: &mut Network) {
        let routed = &net.slab[id];
        let (packet, slot) = (routed.packet, routed.flow);
        net.deliver(id);
        if packet.is_for_receiver() {
            self.drive_receiver(slot, Input::Packet(&packet, id), net);
        } else {
            if self.watches_rtt {
                self.watch_rtt(slot, &packet, net);
            }
            self.drive_sender(slot, Input::Packet(&packet, id), net);
        }
    }

    /// Samples the round-trip time that an acknowledgement tells: it returns the time at which the data left that it
    /// answers.
    #[inline(never)]
    fn watch_rtt(&mut self, slot: FlowSlot, packet: &Packet, net: &Network) {
        let echo = match packet.header {
            Header::Ack { echo, .. } | Header::RdmaAck { echo, .. } => echo,
            Header::CreditAck(answer) => answer.echo,
            _ => return,
        };
        if self.hosts.senders.get(slot).is_some() {
            self.rtts.push(Rtt { at: net.now(), slot, rtt: net.now().saturating_since(echo) });
        }
    }

    /// Drives a receiving end, and tells the application what is complete.
    #[inline]
    fn drive_receiver(&mut self, slot: FlowSlot, input: Input<'_>, net: &mut Network) {
        let Some(standing) = self.hosts.drive_receiver(slot, input, net) else { return };
        if standing.has_message {
            self.note_delivered(slot, standing.bytes, net);
        }
    }

    /// Bytes of a flow were delivered: its messages that lie within them are complete.
    #[inline(never)]
    pub(super) fn note_delivered(&mut self, slot: FlowSlot, bytes: u64, net: &mut Network) {
        while let Some(end) = self.hosts.receivers.get_mut(slot).filter(|end| end.messages.has_done(bytes)) {
            if !end.messages.pop(bytes) {
                return;
            }
            let name = end.name();
            // Both ends of flows with several messages are here.
            let has_rounds = self.rounds[name.traffic].is_some();
            let ends = (self.hosts.senders.get(slot), self.hosts.receivers.get(slot));
            let stats = match ends {
                (Some(sending), Some(receiving)) if has_rounds => {
                    Some(Box::new(sending.end.stats.plus(&receiving.end.stats)))
                }
                _ => None,
            };
            self.note(net, News::Delivered { slot, stats });
            if has_rounds {
                round_progress(self, name, net);
            }
        }
    }
}
