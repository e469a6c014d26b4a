//! What the kernel does in the place of a flow: bulk data that leaves there, and credits that it takes for small packets.

use super::{SendFlow, is_kept};
use crate::datapath::{Bulk, Released};
use crate::host::surroundings::SendCx;
use clearway_proto::expresspass::State;

impl SendFlow {
    /// Asks the driver to hand the flow over to the kernel, which shall take its credits for small packets or for bulk data.
    pub(super) fn hand_over(&mut self, is_small: bool, cx: &mut SendCx<'_>) {
        let (highest, seen) = self.arrivals.newest();
        let session = self.gate.session();
        let SendFlow { key: flow, cookie, mac: peer, ecn, .. } = *self;
        let ecn = ecn && !is_small;
        self.bulk.begin(Bulk { flow, is_small, session, cookie, peer, ecn, keep: 0, highest, seen }, cx);
    }
}

/// Handles what the kernel did for a flow.
pub(in crate::host) fn on_released(flow: &mut SendFlow, released: &Released, cx: &mut SendCx<'_>) {
    flow.arrivals.learn(released.highest, released.used);
    if !flow.bulk.on_released(released, cx) {
        return;
    }
    flow.used = cx.now;
    if released.credits > 0 {
        let last = released.last.min(cx.now);
        flow.on_sign(last.max(flow.sign));
        flow.gap = last.saturating_since(flow.last_credit) / released.credits;
        flow.last_credit = last.max(flow.last_credit);
        flow.pace.skip(last);
    }
    if flow.bulk.is_small() && released.credits > 0 {
        cx.counters.credits_wasted += released.credits;
        flow.small.kept = Some((flow.gate.session(), released.highest));
        // The timer of the gate lets the session go on.
        flow.small.is_seldom |= is_kept(flow, cx);
    }
    // The idle time was over when TCP was asked.
    if released.unsent.is_some()
        && flow.bulk.is_empty()
        && flow.gate.state() == State::Receiving
        && !is_kept(flow, cx)
        && flow.held.backlog() == 0
    {
        flow.gate.stop(cx.now);
    }
    flow.settle(cx);
}
