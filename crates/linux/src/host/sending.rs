//! The flows whose data this host sends, all together: their places in the table, their peers, and the frames for them.

use super::Host;
use super::counters::{Plain, Refusal};
use super::leftover::Leftover;
use super::peers::Runs;
use super::sender::{Mode, SendFlow, first_small, take_turn};
use super::surroundings::SendCx;
use super::table::Slot;
use crate::datapath::{Actions, Order};
use crate::wire::{Carrier, Control, FlowKey, Kind, MacAddr, Segment};
use clearway_units::Time;
use std::net::IpAddr;

impl Host {
    /// Returns the sending side of a flow, which is made if need be.
    pub(super) fn send_slot(&mut self, key: FlowKey, now: Time) -> Result<Slot, Plain> {
        if let Some(slot) = self.senders.find(&key) {
            return Ok(slot);
        }
        let peer = self.peers.get(key.destination).ok_or(Plain::NoAddress)?;
        let mode = match peer.runs {
            Runs::Unknown => Mode::Probing(Time::MAX),
            Runs::Clearway => Mode::Controlled,
            Runs::Plain { ask_at } if now < ask_at => return Err(Plain::Unanswered),
            Runs::Plain { .. } => Mode::Plain(now),
        };
        if peer.sends >= self.config.params.flows_per_peer {
            return Err(Plain::FlowLimit);
        }
        let (mac, cookie) = (peer.mac, self.cookie(self.serial));
        let flow = SendFlow::new(key, cookie, mac, mode, &self.send, now);
        let slot = self.senders.insert(key, flow).ok_or(Plain::FlowLimit)?;
        if key.is_ipv6() {
            self.cookies.insert(cookie, slot);
        }
        self.serial += 1;
        if let Some(peer) = self.peers.get_mut(key.destination) {
            peer.sends += 1;
        }
        self.start_sweeps(now);
        Ok(slot)
    }

    /// Runs `input` on the sending side of a flow, and does what follows from it.
    pub(super) fn with_sender<R>(
        &mut self,
        slot: Slot,
        now: Time,
        actions: &mut Actions,
        input: impl FnOnce(&mut SendFlow, &mut SendCx<'_>) -> R,
    ) -> Option<R> {
        let flow = self.senders.get_mut(slot)?;
        let (key, counters, signals) = (flow.key(), &mut self.counters, &mut self.signals);
        let peer = self.peers.get_mut(key.destination);
        // A host to which there is a flow is in the table; without it nothing would be left over.
        let mut nothing = Leftover::default();
        let leftover = peer.map_or(&mut nothing, |peer| &mut peer.leftover);
        let mut cx = SendCx { settings: &self.send, counters, actions, signals, leftover, now };
        let result = input(flow, &mut cx);
        if flow.small.in_line && first_small(flow, &self.send).is_none() {
            flow.small.in_line = false;
            cx.leftover.leave(&key);
        }
        if flow.take_unanswered()
            && let Some(peer) = self.peers.get_mut(key.destination)
            && peer.heard.is_none_or(|heard| now.saturating_since(heard) >= self.config.params.silence)
        {
            if !matches!(peer.runs, Runs::Plain { .. }) {
                tracing::info!(peer = %key.destination, "the host does not answer requests: plain TCP to it");
            }
            peer.is_silent(self.config.params.ask_again, now);
        }
        if flow.is_over() {
            self.remove_sender(&key, actions);
        } else {
            let at = flow.next_timer(&self.send);
            self.senders.set_timer(slot, at);
        }
        self.signals.send(now, actions);
        if self.config.kernel_path {
            self.peers.allow(key.destination, actions);
        }
        if self.config.credit_path {
            self.peers.take(key.destination, actions);
        }
        Some(result)
    }

    /// Lets small packets to a host leave for what its credits have left over, flow by flow.
    pub(super) fn spend_leftover(&mut self, to: IpAddr, now: Time, actions: &mut Actions) {
        while let Some(key) = self.peers.get(to).and_then(|peer| peer.leftover.first()) {
            let Some(slot) = self.senders.find(&key) else { return };
            let small = self.senders.get(slot).and_then(|flow| first_small(flow, &self.send));
            let Some(peer) = self.peers.get_mut(to) else { return };
            if small.is_some_and(|wire| i64::from(wire) > peer.leftover.bytes()) {
                return;
            }
            peer.leftover.pop();
            self.with_sender(slot, now, actions, take_turn);
        }
    }

    pub(super) fn remove_sender(&mut self, key: &FlowKey, actions: &mut Actions) {
        let Some(flow) = self.senders.remove(key) else { return };
        if flow.bulk.is_asked() {
            // Nobody else would give its window back.
            actions.orders.push(Order::End(*key));
        }
        if key.is_ipv6() {
            self.cookies.remove(&flow.cookie);
        }
        if let Some(peer) = self.peers.get_mut(key.destination) {
            peer.sends -= 1;
        }
    }

    /// Returns true if a plain flow may ask for credits now.
    pub(super) fn may_ask(&mut self, key: &FlowKey, ask_at: Time, now: Time) -> bool {
        if now < ask_at {
            return false;
        }
        let ask_again = self.config.params.ask_again;
        match self.peers.get_mut(key.destination) {
            Some(peer) => match peer.runs {
                Runs::Plain { ask_at } if now < ask_at => false,
                Runs::Plain { .. } => {
                    peer.is_silent(ask_again, now);
                    true
                }
                Runs::Unknown | Runs::Clearway => true,
            },
            None => false,
        }
    }

    /// Handles a SYN or a SYN-ACK that leaves.
    pub(super) fn on_syn(&mut self, segment: &Segment, now: Time, actions: &mut Actions) {
        let is_answer = segment.flags.ack();
        let key = segment.flow;
        let runs = self.peers.get(key.destination).map(|peer| peer.runs);
        // A host whose request came beside its SYN is known. Most flows back to it are short, or stay empty.
        if !self.asks_on_syn || is_answer && runs != Some(Runs::Unknown) {
            return;
        }
        let Ok(slot) = self.send_slot(key, now) else { return };
        let Some(Mode::Plain(ask_at)) = self.senders.get(slot).map(SendFlow::mode) else {
            self.with_sender(slot, now, actions, |flow, cx| {
                flow.on_syn(now);
                flow.ask(cx);
                if is_answer {
                    flow.on_open(cx);
                }
            });
            return;
        };
        if self.may_ask(&key, ask_at, now) {
            self.with_sender(slot, now, actions, |flow, cx| flow.ask(cx));
        }
    }

    /// Handles a frame of the receiver of a flow.
    pub(super) fn on_answer(
        &mut self,
        control: &Control,
        from: MacAddr,
        now: Time,
        actions: &mut Actions,
    ) -> Result<(), Refusal> {
        let is_ethernet = self.config.carrier == Carrier::Ethernet;
        let is_short = is_ethernet && control.kind == Kind::Credit && control.flow.is_ipv6();
        let slot = match is_short {
            false => self.senders.find(&control.flow),
            true => self.cookies.get(&control.cookie).copied(),
        };
        let slot = slot.ok_or(Refusal::UnknownFlow)?;
        let flow = self.senders.get(slot).ok_or(Refusal::UnknownFlow)?;
        let key = flow.key();
        if is_short && key.in_credits() != control.flow {
            return Err(Refusal::UnknownFlow);
        }
        if let Some(reason) = flow.refuses(control, from) {
            return Err(reason);
        }
        let was_controlled = flow.mode() == Mode::Controlled;
        let handled = self.with_sender(slot, now, actions, |flow, cx| match control.kind {
            Kind::Accept => flow.on_accept(control, cx),
            Kind::Stopped => flow.on_stopped(control, cx),
            Kind::Credit => flow.on_credit(control, cx),
            _ => Err(Refusal::Kind),
        });
        handled.unwrap_or(Err(Refusal::UnknownFlow))?;
        if control.kind == Kind::Credit {
            self.spend_leftover(key.destination, now, actions);
        }
        if !was_controlled || control.kind != Kind::Credit {
            self.hear(key.destination, control, now);
        }
        Ok(())
    }
}
