//! The flows whose data this host receives, all together: requests, stops, data, and the credits on their way out.

use super::counters::Refusal;
use super::credits::Waiting;
use super::leftover::wire;
use super::receiver::{Answer, IPV6_MORE, ReceiveFlow};
use super::table::Slot;
use super::{Host, PROMPT};
use crate::datapath::Actions;
use crate::wire::{Carrier, Control, FlowKey, Kind, MacAddr, Segment};
use clearway_proto::{Entity, Rng};
use clearway_units::{Rate, Time};
use std::net::IpAddr;

impl Host {
    pub(super) fn remove_receiver(&mut self, key: &FlowKey) {
        if self.receivers.remove(key).is_some()
            && let Some(peer) = self.peers.get_mut(key.source)
        {
            peer.receives -= 1;
        }
    }

    /// Handles a request, and starts credits.
    pub(super) fn on_request(
        &mut self,
        control: &Control,
        from: MacAddr,
        now: Time,
        actions: &mut Actions,
    ) -> Result<(), Refusal> {
        let (key, is_pinned) = (control.flow, self.config.carrier == Carrier::Ethernet);
        self.counters.requests_received += 1;
        self.prompt_until = now.saturating_add(PROMPT);
        if let Some(slot) = self.receivers.find(&key) {
            let flow = self.receivers.get(slot).ok_or(Refusal::UnknownFlow)?;
            if is_pinned && !flow.may_come_from(from, now) {
                return Err(Refusal::Address);
            }
            if flow.cookie() != control.cookie {
                if !flow.may_be_taken_over(now) {
                    return Err(Refusal::Cookie);
                }
                self.remove_receiver(&key);
                self.counters.takeovers += 1;
            }
        }
        let slot = match self.receivers.find(&key) {
            Some(slot) => slot,
            // What would get no credits shall take no memory either.
            None if !has_allowance(self, key.source, now) => return Err(Refusal::Flood),
            None => self.add_receiver(control, from, now)?,
        };
        let Some(flow) = self.receivers.get_mut(slot) else { return Err(Refusal::UnknownFlow) };
        if flow.is_new_session(control.session) && !flow.is_proven {
            let peer = self.peers.get_mut(key.source).ok_or(Refusal::Flows)?;
            if !self.unproven.is_left(now) || !peer.unproven.take(now) {
                return Err(Refusal::Flood);
            }
            self.unproven.take(now);
        }
        flow.on_request(control, from, now);
        self.hear(key.source, control, now);
        self.drain(slot, now, actions);
        Ok(())
    }

    /// Makes the receiving side of the flow that a request asks for.
    pub(super) fn add_receiver(
        &mut self,
        control: &Control,
        from: MacAddr,
        now: Time,
    ) -> Result<Slot, Refusal> {
        let key = control.flow;
        let peer = self.peers.learn(key.source, from, false, now).ok_or(Refusal::Flows)?;
        if peer.is_sure && peer.mac != from {
            return Err(Refusal::Address);
        }
        if peer.receives >= self.config.params.flows_per_peer {
            return Err(Refusal::PeerFlows);
        }
        let rate = Rate::bps(control.value.max(1_000_000));
        let mut env = self.config.env(rate);
        if key.is_ipv6() {
            env.framing.payload_max = env.framing.payload_max.saturating_sub(IPV6_MORE).max(1);
            env.framing.overhead += IPV6_MORE;
        }
        let end = self.config.transport.receiver(&env);
        let rng = Rng::stream(self.seed, Entity::Receiver, self.serial);
        let flow = ReceiveFlow::new(control, from, self.serial, end, rng, self.send.base_rtt, now);
        let slot = self.receivers.insert(key, flow).ok_or(Refusal::Flows)?;
        self.serial += 1;
        peer.receives += 1;
        self.start_sweeps(now);
        Ok(slot)
    }

    /// Handles a stop.
    pub(super) fn on_stop(
        &mut self,
        control: &Control,
        from: MacAddr,
        now: Time,
        actions: &mut Actions,
    ) -> Result<(), Refusal> {
        self.counters.stops_received += 1;
        let Some(slot) = self.receivers.find(&control.flow) else {
            // Nobody sends credits for the flow, which is all that the sender wants to hear.
            self.counters.stops_answered += 1;
            let stopped = Control { kind: Kind::Stopped, number: 0, value: 0, mtu: 0, ..*control };
            self.signals.push_to_stranger(&stopped, from);
            self.signals.send(now, actions);
            return Ok(());
        };
        let Some(flow) = self.receivers.get_mut(slot) else { return Err(Refusal::UnknownFlow) };
        if flow.cookie() != control.cookie {
            return Err(Refusal::Cookie);
        }
        if self.config.carrier == Carrier::Ethernet && !flow.may_come_from(from, now) {
            return Err(Refusal::Address);
        }
        flow.on_stop(control.session, now);
        self.drain(slot, now, actions);
        Ok(())
    }

    /// Handles incoming data that names a credit, or small data that names none: such packets leave for what credits have left over, so
    /// a flow whose sender has proven that it has credits spends one for so many bytes as a full frame has.
    pub(super) fn on_data(&mut self, segment: &Segment, now: Time, actions: &mut Actions) {
        let (wire, frame) = (wire(segment.ip_len), self.send.frame);
        if !segment.is_scheduled() {
            if wire <= frame / 2 {
                self.on_small_data(&segment.flow, wire.into(), segment.payload.into(), now, actions);
            }
            return;
        }
        let Some(slot) = self.receivers.find(&segment.flow) else {
            return self.counters.refuse(Refusal::UnknownFlow);
        };
        let Some(flow) = self.receivers.get_mut(slot) else { return };
        if !flow.on_data(segment, &self.receive, now) {
            return self.counters.refuse(Refusal::Number);
        }
        self.counters.data_received += 1;
        if wire > frame / 2 || self.send.leftover == 0 {
            self.prompt_until = now.saturating_add(PROMPT);
        }
        if let Some(peer) = self.peers.get_mut(segment.flow.source) {
            peer.trickle.on_data(wire.into());
        }
        self.counters.data_marked += u64::from(segment.ecn == crate::wire::Ecn::Marked);
        if !flow.is_proven {
            flow.is_proven = true;
            self.unproven.give_back();
            if let Some(peer) = self.peers.get_mut(segment.flow.source) {
                peer.unproven.give_back();
            }
        }
        self.drain(slot, now, actions);
    }

    /// Handles small packets of a flow that name no credit, of so many bytes on the wire and of payload.
    pub(super) fn on_small_data(
        &mut self,
        key: &FlowKey,
        wire: u64,
        payload: u64,
        now: Time,
        actions: &mut Actions,
    ) {
        if self.send.leftover == 0 {
            return;
        }
        if let Some(peer) = self.peers.get_mut(key.source) {
            peer.trickle.on_data(wire);
        }
        let Some(slot) = self.receivers.find(key) else { return };
        let Some(flow) = self.receivers.get_mut(slot) else { return };
        if flow.is_proven && flow.is_sending() {
            flow.on_small_data(wire, self.send.frame, payload, now);
            // The timer may wait for the trickle, and the credits that were due since then leave as far as there is room now.
            if flow.next_timer(&self.receive) <= now {
                self.counters.cut_off += u64::from(flow.on_timer(&self.receive, now));
            }
            self.drain(slot, now, actions);
        }
    }

    /// Sends the answers of a receiving side, and puts its credits into the queue of the NIC.
    pub(super) fn drain(&mut self, slot: Slot, now: Time, actions: &mut Actions) {
        let Some(flow) = self.receivers.get_mut(slot) else { return };
        let (key, mac) = (flow.key(), flow.mac());
        let blank = Control {
            kind: Kind::Stopped,
            flow: key,
            session: 0,
            cookie: flow.cookie(),
            number: 0,
            value: 0,
            mtu: 0,
            wants_ecn: false,
        };
        let (mut at, gap) = flow.late_since(&self.receive, now);
        loop {
            while let Some(answer) = flow.poll(&self.receive, at) {
                let control = match answer {
                    Answer::Accept { session } => {
                        self.counters.accepts_sent += 1;
                        let (value, mtu) = (self.config.rate.as_bps(), self.config.mtu);
                        let wants_ecn = self.wants_ecn;
                        Control { kind: Kind::Accept, session, value, mtu, wants_ecn, ..blank }
                    }
                    Answer::Stopped { session } => {
                        self.counters.stops_answered += 1;
                        Control { session, ..blank }
                    }
                    Answer::Credit { session, number } => {
                        let (serial, is_proven) = (flow.serial, flow.is_proven);
                        if flow.is_small(now)
                            && let Some(peer) = self.peers.get_mut(key.source)
                            && let others = self.credits.len_for(key.source)
                            && !peer.trickle.may_leave(self.send.frame, self.send.leftover, others, now)
                        {
                            self.counters.credits_spared += 1;
                            continue;
                        }
                        self.credits.push(Waiting {
                            slot,
                            serial,
                            peer: key.source,
                            is_proven,
                            session,
                            number,
                        });
                        continue;
                    }
                };
                self.signals.push(&control, mac);
            }
            if at >= now {
                break;
            }
            at = at.saturating_add(gap).min(now);
        }
        self.signals.send(now, actions);
        self.send_credits(now, actions);
        let Some(flow) = self.receivers.get(slot) else { return };
        let mut at = flow.next_timer(&self.receive);
        // While the other host has enough for its small packets, a credit leaves when data comes, of which the flow hears without a timer,
        // or as a part of the trickle.
        if flow.is_small(now)
            && let Some(peer) = self.peers.get_mut(key.source)
            && !peer.trickle.has_room(self.send.frame, self.send.leftover, 0)
        {
            at = at.max(peer.trickle.next_at());
        }
        self.receivers.set_timer(slot, at);
    }

    /// Sends the credits that may leave now.
    pub(super) fn send_credits(&mut self, now: Time, actions: &mut Actions) {
        loop {
            let receivers = &self.receivers;
            let is_wanted = |waiting: &Waiting| {
                let flow = receivers.get(waiting.slot);
                flow.is_some_and(|flow| flow.serial == waiting.serial && flow.wants(waiting.session))
            };
            let Some(Waiting { slot, session, number, .. }) = self.credits.pop(now, is_wanted) else {
                return;
            };
            let Some(flow) = self.receivers.get_mut(slot) else { return };
            flow.on_departure(number, now);
            let source = flow.key().source;
            if let Some(peer) = self.peers.get_mut(source) {
                peer.trickle.on_credit(self.send.frame, self.send.leftover);
            }
            self.counters.credits_sent += 1;
            let control = Control {
                kind: Kind::Credit,
                flow: flow.key(),
                session,
                cookie: flow.cookie(),
                number,
                value: now.as_ps() / 1000,
                mtu: 0,
                wants_ecn: false,
            };
            actions.frames.push(control.encode(self.config.carrier, self.config.address, flow.mac()));
        }
    }
}

/// Returns true if one more flow without data of this host may get credits.
fn has_allowance(host: &mut Host, source: IpAddr, now: Time) -> bool {
    let peer = host.peers.get_mut(source);
    host.unproven.is_left(now) && peer.is_none_or(|peer| peer.unproven.is_left(now))
}
