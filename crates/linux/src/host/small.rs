//! The small packets of a flow, which may leave for what credits of the same host have left over (`leftover`).

use super::held::HeldPackets;
use super::leftover::{PATIENCE, SMALL_IDLE};
use super::surroundings::{SendCx, SendSettings};
use crate::datapath::{Stamp, Verdict};
use crate::wire::FlowKey;
use clearway_proto::expresspass::{SenderGate, State};
use clearway_units::Time;

/// What a flow knows of its small packets.
#[derive(Debug)]
pub(super) struct Small {
    /// True while the flow waits for what credits leave over.
    pub in_line: bool,
    /// The time at which a packet asks for a credit that has relied on those of other flows so far; [`Time::MAX`] if none does.
    pub ask_at: Time,
    /// The session and the number of the last credit that found no packet, for the next small one to name.
    pub kept: Option<(u32, u64)>,
    /// The time until which credits without a packet are no reason to stop them, because a small packet left not long ago.
    pub stays_until: Time,
    /// True if the last packet that was held is small, so that the flow's next ones may leave in the kernel.
    pub is_last: bool,
    /// True while credits go on for small packets, and have found none lately: the receiver may send few of them, or none any more, so
    /// that a packet that needs one asks anew.
    pub is_seldom: bool,
}

/// The parts of a flow that its small packets have to do with.
pub(super) struct Flow<'a> {
    pub key: FlowKey,
    pub held: &'a mut HeldPackets,
    pub gate: &'a mut SenderGate,
    /// True if scheduled data shall be ECN-capable.
    pub ecn: bool,
    /// True if the receiver is known to answer, so that data waits for credits.
    pub is_controlled: bool,
}

/// Returns the bytes on the wire of the small packet that stands first among those that are held, if one does.
pub(super) fn small_of(held: &HeldPackets, is_controlled: bool, settings: &SendSettings) -> Option<u32> {
    let wire = held.first_wire().filter(|_| is_controlled)?;
    (wire <= settings.frame / 2).then_some(wire)
}

impl Small {
    /// What a flow without packets knows.
    pub const NONE: Small = Small {
        in_line: false,
        ask_at: Time::MAX,
        kept: None,
        stays_until: Time::ZERO,
        is_last: false,
        is_seldom: false,
    };

    /// Lets the first packet leave for what credits have left over, if it is small and nobody waits for that; else the flow waits in
    /// line.
    pub fn ask(&mut self, flow: &mut Flow<'_>, cx: &mut SendCx<'_>) {
        let Some(wire) = first(flow, cx).filter(|_| !self.in_line) else { return };
        if cx.leftover.first().is_none() && cx.leftover.take(wire) {
            self.release(flow, cx);
        } else {
            self.stand_in_line(flow, cx);
        }
    }

    /// Asks for credits for what is held, or relies for a while on those that other flows in line have asked for.
    pub fn ask_for_credits(&mut self, flow: &mut Flow<'_>, cx: &mut SendCx<'_>) {
        let relies = self.in_line && cx.leftover.is_crowded();
        match flow.gate.state() {
            State::Closed | State::StopSent if relies => {
                self.ask_at = self.ask_at.min(cx.now.saturating_add(PATIENCE));
            }
            _ => flow.gate.on_data(cx.now),
        }
    }

    /// Lets the first packet leave for what credits have left over, since it is the flow's turn. The flow waits in line again if its
    /// next packet is small too.
    pub fn take_turn(&mut self, flow: &mut Flow<'_>, cx: &mut SendCx<'_>) {
        self.in_line = false;
        if first(flow, cx).is_some_and(|wire| cx.leftover.take(wire)) {
            self.release(flow, cx);
        }
        if first(flow, cx).is_some() {
            self.stand_in_line(flow, cx);
        }
    }

    /// Lets the first packet leave. It names the last credit that found no packet, as long as credits come: an old number would tell
    /// the receiver of a long round trip.
    fn release(&mut self, flow: &mut Flow<'_>, cx: &mut SendCx<'_>) {
        let receives = flow.gate.state() == State::Receiving;
        let kept = self.kept.take().filter(|(session, _)| receives && *session == flow.gate.session());
        let verdict = match kept {
            Some((_, number)) => Verdict::Stamped(Stamp { id: number as u16, ecn: flow.ecn }),
            None => Verdict::Accept,
        };
        let payload = flow.held.release_first(verdict, cx.now, cx.counters, cx.actions);
        cx.counters.leftover_packet(payload);
        if receives {
            flow.gate.on_data(cx.now);
            self.stays_until = cx.now.saturating_add(SMALL_IDLE);
        }
        if flow.held.backlog() == 0 {
            self.ask_at = Time::MAX;
        }
    }

    fn stand_in_line(&mut self, flow: &Flow<'_>, cx: &mut SendCx<'_>) {
        if cx.settings.leftover > 0 {
            self.in_line = true;
            cx.leftover.wait(flow.key);
        }
    }
}

fn first(flow: &Flow<'_>, cx: &SendCx<'_>) -> Option<u32> {
    small_of(flow.held, flow.is_controlled, cx.settings)
}
