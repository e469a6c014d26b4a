//! Bulk data of a flow, which leaves in the kernel while many credits come.
//!
//! A flow begins as all do: its packets are held here, and credits release them one by one. After [`WARM`] credits of a session the
//! driver is asked to hand the flow over to the kernel. TCP then keeps its data in the socket, and the kernel turns each credit into
//! room for one segment. Packets that are held meanwhile are released as before, and so is what no credit pays for in the kernel, such
//! as a packet that TCP repeats: as long as a packet of the flow is held, its credits come here. Credits come here as well while the
//! kernel keeps as many as it may, because TCP has no data; so they end as they do for any flow.
//!
//! Before that stops them, TCP is asked for its socket: while its window keeps bytes back there, because it has not heard of the credits
//! that the kernel keeps, it is told of them, and the session goes on.
//!
//! The flow is taken back when its session ends, whatever ends that.
//!
//! **Small packets** leave for what credits leave over, so credits find none of them, and only add to that. Once a credit did so, the
//! driver is asked to have the kernel do it: the daemon then need not wake for each. It is told of them later, and gets those credits
//! itself that come while a packet waits here.

use super::surroundings::{SendCx, SendSettings};
use crate::datapath::{Bulk, Order, Released};
use crate::wire::FlowKey;
use clearway_units::{Span, Time};

/// The credits of a session after which a flow is one of bulk data.
const WARM: u32 = 16;
/// The time whose credits, at the rate of the NIC, the kernel keeps beside what may be left over: a program that hands data to TCP
/// keeps TCP from sending for so long.
const KEPT_FOR: Span = Span::from_us(100);
/// The most frames of what may be left over that count for this: credits that are kept leave as a burst.
const KEPT_MOST: u32 = 4;

/// The time since the last packet after which a session ends even if the window of TCP keeps bytes back: half of the time after which a
/// receiver stops the credits by itself.
const BACK_FOR: Span = Span::from_ms(10);

/// What is known of the bytes that the window of TCP keeps in the socket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Socket {
    /// Nothing, because nobody asked, or packets have left since.
    Unknown,
    /// TCP was asked.
    Asked,
    /// There are some.
    Waits,
    /// There are none.
    Empty,
}

/// What a flow knows of its bulk data.
#[derive(Clone, Copy, Debug)]
pub(super) struct BulkState {
    /// The session that the driver was asked to hand over, if it was.
    asked: Option<u32>,
    /// True if the kernel was asked to take its credits for small packets.
    is_small: bool,
    /// True once the kernel has taken credits of that session.
    is_on: bool,
    /// The credits of a session that released packets, and the session.
    warm: (u32, u32),
    /// The credits that the kernel keeps, and may keep.
    kept: u32,
    keep: u32,
    /// The time of the last packet that is known to have left in the kernel.
    left: Time,
    socket: Socket,
}

impl BulkState {
    /// What a flow without packets knows.
    pub const NONE: BulkState = BulkState {
        asked: None,
        is_small: false,
        is_on: false,
        warm: (0, 0),
        kept: 0,
        keep: 0,
        left: Time::ZERO,
        socket: Socket::Unknown,
    };

    /// Returns true if TCP may have data for which no credit has come.
    pub fn may_wait(&self) -> bool {
        self.is_on && self.kept == 0
    }

    /// Returns true if the driver was asked to hand the flow over.
    pub fn is_asked(&self) -> bool {
        self.asked.is_some()
    }

    /// Records that a credit of a session has released a packet. Returns true if the flow is one of bulk data from now on.
    pub fn on_used(&mut self, session: u32) -> bool {
        if self.warm.0 != session {
            self.warm = (session, 0);
        }
        self.warm.1 += 1;
        self.warm.1 >= WARM && (self.asked.is_none() || self.is_small)
    }

    /// Returns true if the kernel may be asked to take credits for small packets.
    pub fn is_free(&self) -> bool {
        self.asked.is_none()
    }

    /// Returns true if the kernel was asked to take credits for small packets.
    pub fn is_small(&self) -> bool {
        self.is_small
    }

    /// Asks the driver to hand a flow over to the kernel.
    pub fn begin(&mut self, bulk: Bulk, cx: &mut SendCx<'_>) {
        let keep = keep(cx.settings);
        if self.asked.is_some() {
            cx.actions.orders.push(Order::End(bulk.flow));
        }
        (self.asked, self.is_small, self.keep) = (Some(bulk.session), bulk.is_small, keep);
        cx.actions.orders.push(Order::Begin(Bulk { keep, ..bulk }));
    }

    /// Takes a flow back that was handed over, unless it still receives the credits of that session.
    pub fn check(&mut self, flow: FlowKey, receives: Option<u32>, cx: &mut SendCx<'_>) {
        if self.asked.is_some() && self.asked != receives {
            *self = BulkState { keep: self.keep, left: self.left, ..BulkState::NONE };
            cx.actions.orders.push(Order::End(flow));
        }
    }

    /// Records what the flow did in the kernel. Returns false if it was taken back meanwhile: that was the last word on it, and what
    /// was kept is left over.
    pub fn on_released(&mut self, released: &Released, cx: &mut SendCx<'_>) -> bool {
        let Released { credits, packets, wire, kept, .. } = *released;
        let (frame, most) = (cx.settings.frame, cx.settings.leftover);
        let rest = u64::from(frame).saturating_mul(packets).saturating_sub(wire).min(most.into());
        cx.leftover.add(rest as u32, most);
        if self.asked.is_none() {
            cx.leftover.add(frame.saturating_mul(kept).min(most), most);
            cx.counters.credits_wasted += u64::from(kept);
            return false;
        }
        self.kept = kept;
        self.is_on |= credits > 0 && !self.is_small;
        match released.unsent.filter(|_| self.socket == Socket::Asked) {
            Some(0) => self.socket = Socket::Empty,
            Some(_) => self.socket = Socket::Waits,
            None => {}
        }
        if packets > 0 {
            (self.left, self.socket) = (cx.now, Socket::Unknown);
        }
        true
    }

    /// Returns true if TCP has answered that its window keeps nothing in the socket, and no packet has left since.
    pub fn is_empty(&self) -> bool {
        self.socket == Socket::Empty
    }

    /// Asks TCP for bytes that its window keeps in the socket, before a session ends because no packet leaves. Returns false if the
    /// session ends now.
    pub fn asks(&mut self, flow: FlowKey, cx: &mut SendCx<'_>) -> bool {
        let may_ask = matches!(self.socket, Socket::Unknown | Socket::Waits);
        if !self.is_on || !may_ask || cx.now >= self.left.saturating_add(BACK_FOR) {
            self.socket = Socket::Unknown;
            return false;
        }
        self.socket = Socket::Asked;
        cx.actions.orders.push(Order::Ask(flow));
        true
    }

    /// Returns true if credits without a packet are no reason to stop them: packets leave in the kernel, or would if TCP had any.
    pub fn goes_on(&self, idle: Span, now: Time) -> bool {
        self.is_on && (self.kept < self.keep || now < self.left.saturating_add(idle))
    }
}

/// Returns the number of credits that the kernel may keep for a flow: what may be left over, but of no more than so many frames, and
/// those of a time.
pub(super) fn keep(settings: &SendSettings) -> u32 {
    let frame = f64::from(settings.frame);
    let more = settings.rate.as_bps() as f64 / 8.0 * KEPT_FOR.as_secs_f64() / frame;
    (settings.leftover / settings.frame.max(1)).min(KEPT_MOST) + more.ceil() as u32
}
