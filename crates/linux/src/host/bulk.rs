//! Bulk data of a flow, which leaves in the kernel while many credits come.
//!
//! A flow begins as all do: its packets are held here, and credits release them one by one. After [`WARM`] credits of a session the
//! driver is asked to hand the flow over to the kernel. TCP then keeps its data in the socket, and the kernel turns each credit into
//! room for one segment. Packets that are held meanwhile are released as before, and so is what no credit pays for in the kernel, such
//! as a packet that TCP repeats: as long as a packet of the flow is held, its credits come here. Credits come here as well while the
//! kernel keeps as many as it may, because TCP has no data; so they end as they do for any flow.
//!
//! The flow is taken back when its session ends, whatever ends that.

use super::sender::SendFlow;
use super::surroundings::{SendCx, SendSettings};
use crate::datapath::{Bulk, Order, Released};
use clearway_units::{Span, Time};

/// The credits of a session after which a flow is one of bulk data.
const WARM: u32 = 16;
/// The time whose credits, at the rate of the NIC, the kernel keeps beside what may be left over: a program that hands data to TCP
/// keeps TCP from sending for so long.
const KEPT_FOR: Span = Span::from_us(100);

/// What a flow knows of its bulk data.
#[derive(Clone, Copy, Debug)]
pub(super) struct BulkState {
    /// The session that the driver was asked to hand over, if it was.
    asked: Option<u32>,
    /// True once the kernel has taken credits of that session.
    is_on: bool,
    /// The credits of a session that released packets, and the session.
    warm: (u32, u32),
    /// The credits that the kernel keeps, and may keep.
    kept: u32,
    keep: u32,
    /// The time of the last packet that is known to have left in the kernel.
    left: Time,
}

impl BulkState {
    /// What a flow without packets knows.
    pub const NONE: BulkState =
        BulkState { asked: None, is_on: false, warm: (0, 0), kept: 0, keep: 0, left: Time::ZERO };

    /// Returns true if TCP may have data for which no credit has come.
    pub fn may_wait(&self) -> bool {
        self.is_on && self.kept == 0
    }

    /// Records that a credit of a session has released a packet. Returns true if the flow is one of bulk data from now on.
    pub fn on_used(&mut self, session: u32) -> bool {
        if self.warm.0 != session {
            self.warm = (session, 0);
        }
        self.warm.1 += 1;
        self.warm.1 >= WARM && self.asked.is_none()
    }

    /// Returns the session that was handed over, if one was.
    pub fn session(&self) -> Option<u32> {
        self.asked
    }

    /// Records that the driver is asked to hand a session over, where `keep` credits may be kept.
    pub fn begin(&mut self, session: u32, keep: u32) {
        *self = BulkState { asked: Some(session), keep, ..*self };
    }

    /// Records that the flow is taken back.
    pub fn end(&mut self) {
        *self = BulkState { asked: None, is_on: false, warm: (0, 0), kept: 0, ..*self };
    }

    /// Returns true if credits without a packet are no reason to stop them: packets leave in the kernel, or would if TCP had any.
    pub fn goes_on(&self, idle: Span, now: Time) -> bool {
        self.is_on && (self.kept < self.keep || now < self.left.saturating_add(idle))
    }
}

/// Returns the number of credits that the kernel may keep for a flow.
pub(super) fn keep(settings: &SendSettings) -> u32 {
    let frame = f64::from(settings.frame);
    let more = settings.rate.as_bps() as f64 / 8.0 * KEPT_FOR.as_secs_f64() / frame;
    settings.leftover / settings.frame.max(1) + more.ceil() as u32
}

impl SendFlow {
    /// Asks the driver to hand the flow over to the kernel.
    pub(super) fn begin_bulk(&mut self, cx: &mut SendCx<'_>) {
        let (session, keep) = (self.session(), keep(cx.settings));
        let (highest, seen) = self.arrived();
        let bulk = Bulk {
            flow: self.key(),
            session,
            cookie: self.cookie,
            peer: self.mac,
            ecn: self.wants_ecn(),
            keep,
            highest,
            seen,
        };
        self.bulk.begin(session, keep);
        cx.actions.orders.push(Order::Begin(bulk));
    }

    /// Takes the flow back if `goes_on` is false.
    pub(super) fn check_bulk(&mut self, goes_on: bool, cx: &mut SendCx<'_>) {
        if self.bulk.asked.is_some() && !goes_on {
            self.bulk.end();
            cx.actions.orders.push(Order::End(self.key()));
        }
    }

    /// Handles what the flow did in the kernel.
    pub(super) fn on_released(&mut self, released: &Released, cx: &mut SendCx<'_>) {
        let Released { credits, packets, payload, wire, replayed, kept, last, highest, used, .. } = *released;
        cx.counters.released(credits, packets, payload, replayed);
        self.learn_arrivals(highest, used);
        let frames = u64::from(cx.settings.frame).saturating_mul(packets);
        let rest = frames.saturating_sub(wire).min(cx.settings.leftover.into());
        cx.leftover.add(rest as u32, cx.settings.leftover);
        if self.bulk.asked.is_none() {
            // The last word on a flow that was taken back: what is kept is lost to it.
            let worth = cx.settings.frame.saturating_mul(kept).min(cx.settings.leftover);
            cx.leftover.add(worth, cx.settings.leftover);
            cx.counters.credits_wasted += u64::from(kept);
            return;
        }
        self.used = cx.now;
        self.bulk.kept = kept;
        if credits > 0 {
            self.bulk.is_on = true;
            self.on_kernel_credits(credits, last.min(cx.now));
        }
        if packets > 0 {
            self.bulk.left = cx.now;
        }
        self.settle(cx);
    }
}
