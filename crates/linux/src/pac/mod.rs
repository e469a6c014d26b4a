//! PAC at a host: pure acknowledgements wait in the kernel until PAC's controller releases them.
//!
//! The controller is that of the simulator, [`PacController`]. This module tells it what arrives, by the headers of
//! incoming data, and holds what the kernel hands over: pure acknowledgements, SYN-ACKs, and requests if
//! [`PacParams`] says so. The senders' TCP is any, and knows nothing of it.
//!
//! * An acknowledgement is held only if its flow has brought data, so handshakes and uploads pass.
//! * The acknowledgement that covers the peer's FIN passes, since it triggers nothing, and those held before it are
//!   dropped, since it covers them. A reset releases all that its flow has held.
//! * Data is matched with the acknowledgement that it answers by TCP's timestamps. Without that option data counts
//!   against the oldest release.
//! * A packet is held for a bounded time ([`PacParams`]: `hold_limit`), in bounded numbers, for bounded numbers of
//!   flows. Beyond a bound packets pass.

mod flow;
mod params;
mod table;
#[cfg(test)]
mod tests;

pub use params::{PacEnv, PacParams};

use crate::datapath::{Actions, Datapath, Direction, HeldId, Link, Metric, Passed, Released, Small, Verdict};
use crate::wire::{Ecn, FlowKey, Segment};
use clearway_proto::pac::{Ack, Arrival, PacController};
use clearway_units::{Span, Time};
use flow::Flow;
use table::Table;

/// The idle time after which a flow is forgotten that may be forged: its handshake is not completed, or our kernel has
/// acknowledged nothing of it.
const CONFIRM_TIMEOUT: Span = Span::from_secs(10);
/// The most bytes that this host has sent when the first data comes. Who forges the end of a handshake must guess its
/// sequence number to within so many.
const FIRST_ANSWER: u32 = 65_536;
/// The time between two searches for idle flows.
const AGING_INTERVAL: Span = Span::from_secs(2);
/// A time that no clock reaches: flows are aged here, not by the controller.
const NEVER: Span = Span::from_secs(10_000_000);

/// A packet that the kernel holds.
#[derive(Clone, Copy, Debug)]
struct Held {
    id: HeldId,
    /// The timestamp (`TSval`) that answers will echo.
    timestamp: Option<u32>,
    /// True if the packet is more than an acknowledgement, and so must not be dropped.
    precious: bool,
    since: Time,
}

/// The counters of [`Datapath::metrics`].
#[derive(Clone, Copy, Default, Debug)]
struct Counters {
    segments: u64,
    bytes: u64,
    marked: u64,
    /// The payload of segments whose flow has no state, since there are too many flows.
    untracked: u64,
    held: u64,
    released: u64,
    superseded: u64,
    opened: u64,
    passed: u64,
    full: u64,
    flood: u64,
    hold_time: Span,
    hold_max: Span,
    overdue: u64,
}

/// PAC at one NIC. The documentation of the module says what it does.
#[derive(Debug)]
pub struct Pac {
    controller: PacController<Held>,
    flows: Table<Flow>,
    hold_syn_ack: bool,
    hold_requests: bool,
    hold_limit: Span,
    max_unanswered: u32,
    max_held: usize,
    idle_timeout: Span,
    /// The number of flows whose handshake is not completed.
    opening: u32,
    /// The number of them whose SYN-ACK has left.
    unanswered: u32,
    /// The time of the next search for idle flows.
    aging: Time,
    counters: Counters,
}

impl Pac {
    /// Makes PAC for a NIC, with nothing held.
    pub fn new(params: &PacParams, env: PacEnv) -> Pac {
        let protocol = params.bounded();
        let mut config = protocol.pac(&env.agent());
        let idle_timeout = std::mem::replace(&mut config.idle_timeout, NEVER);
        Pac {
            hold_limit: config.hold_limit.unwrap_or(NEVER),
            controller: PacController::new(config),
            flows: Table::new(params.max_flows, params.max_flows_per_peer),
            hold_syn_ack: protocol.hold_syn_ack,
            hold_requests: params.hold_requests,
            max_unanswered: params.max_unanswered,
            max_held: params.max_held as usize,
            idle_timeout,
            opening: 0,
            unanswered: 0,
            aging: Time::ZERO,
            counters: Counters::default(),
        }
    }

    /// Returns the controller's estimate of the traffic in flight to this host, in bytes.
    pub fn in_flight(&self) -> u64 {
        self.controller.in_flight()
    }

    /// Returns the number of packets held.
    pub fn held(&self) -> usize {
        self.controller.held()
    }

    /// Returns the number of flows that have state.
    pub fn flows(&self) -> usize {
        self.flows.len()
    }

    /// Adds a flow, if there is room for it.
    fn add(&mut self, key: FlowKey, flow: Flow) -> Option<u32> {
        if self.flows.len() == 0 {
            self.aging = flow.seen.saturating_add(AGING_INTERVAL);
        }
        self.flows.insert(key, flow)
    }

    /// Records data that arrived.
    fn arrive(&mut self, segment: &Segment, now: Time) {
        let payload = u64::from(segment.payload);
        let marked = segment.ecn == Ecn::Marked;
        self.counters.segments += 1;
        self.counters.bytes += payload;
        self.counters.marked += u64::from(marked);
        let known = self.flows.find(&segment.flow);
        let Some(number) = known.or_else(|| self.add(segment.flow, Flow::new(segment.seq, now))) else {
            self.counters.untracked += payload;
            return;
        };
        let Some(flow) = self.flows.get_mut(number) else { return };
        flow.seen = now;
        flow.asked = false;
        let end = flow.offset(segment.seq.wrapping_add(u32::from(segment.payload)));
        let answers = flow.answers(segment.timestamps);
        self.controller.handle_data(number, &Arrival { payload, end, marked, answers }, now);
    }

    /// Ends the handshake of a flow, if `segment` completes it.
    fn open(&mut self, number: u32, segment: &Segment) {
        let Some(flow) = self.flows.get_mut(number) else { return };
        let Some(expected) = flow.opening else { return };
        if segment.flags.ack() && !segment.flags.syn() && segment.ack.wrapping_sub(expected) <= FIRST_ANSWER {
            flow.opening = None;
            self.opening -= 1;
            self.unanswered -= u32::from(std::mem::take(&mut flow.unanswered));
        }
    }

    /// Removes the state of a flow. What it has held leaves, in order; if `superseded`, pure
    /// acknowledgements are dropped.
    fn forget(&mut self, number: u32, superseded: bool, now: Time, actions: &mut Actions) {
        for held in self.controller.finish(number) {
            let drop = superseded && !held.precious;
            let verdict = if drop { Verdict::Drop } else { Verdict::Accept };
            self.counters.count(&held, drop, now);
            actions.verdicts.push((held.id, verdict));
        }
        if let Some(flow) = self.flows.remove(number) {
            self.opening -= u32::from(flow.opening.is_some());
            self.unanswered -= u32::from(flow.unanswered);
        }
    }

    /// Releases what may leave now.
    fn pump(&mut self, now: Time, actions: &mut Actions) {
        while let Some((number, held)) = self.controller.poll_release(now) {
            if let Some(flow) = self.flows.get_mut(number) {
                flow.held -= 1;
                flow.release(held.timestamp, now);
                if flow.opening.is_some() && !flow.unanswered {
                    flow.unanswered = true;
                    self.unanswered += 1;
                }
            }
            let overdue = now.saturating_since(held.since) >= self.hold_limit;
            self.counters.overdue += u64::from(overdue);
            self.counters.count(&held, false, now);
            actions.verdicts.push((held.id, Verdict::Accept));
        }
        if self.unanswered >= self.max_unanswered && self.opening > self.unanswered {
            self.let_openings_pass(now, actions);
        }
    }

    /// Releases all SYN-ACKs, since those that have left are not answered: this is a flood of SYNs.
    fn let_openings_pass(&mut self, now: Time, actions: &mut Actions) {
        for number in 0..self.flows.slots() {
            let waits = |flow: &mut Flow| flow.opening.is_some() && !flow.unanswered;
            if self.flows.get_mut(number).is_some_and(waits) {
                self.counters.flood += 1;
                self.forget(number, false, now, actions);
            }
        }
    }

    /// Holds a packet, and releases what may leave then.
    fn hold(&mut self, number: u32, ack: Ack, held: Held, now: Time, actions: &mut Actions) {
        if self.controller.held() >= self.max_held {
            self.forget(number, false, now, actions);
            self.counters.full += 1;
            actions.verdicts.push((held.id, Verdict::Accept));
            return;
        }
        if let Some(flow) = self.flows.get_mut(number) {
            flow.seen = now;
            flow.held += 1;
        }
        self.counters.held += 1;
        self.controller.hold(number, ack, held, now);
        while let Some(old) = self.controller.poll_dropped() {
            // Only acknowledgements of this flow can be superseded by this one.
            if let Some(flow) = self.flows.get_mut(number) {
                flow.held -= 1;
            }
            self.counters.count(&old, !old.precious, now);
            actions.verdicts.push((old.id, if old.precious { Verdict::Accept } else { Verdict::Drop }));
        }
        self.pump(now, actions);
    }

    /// Handles a SYN or SYN-ACK that the kernel holds, of which the latter triggers a first window. Returns false if the
    /// packet passes.
    fn hold_opening(&mut self, held: Held, segment: &Segment, now: Time, actions: &mut Actions) -> bool {
        let key = segment.flow.reversed();
        let answers = segment.flags.ack();
        let mut known = self.flows.find(&key);
        if let Some(number) = known
            && self.flows.get_mut(number).is_some_and(|flow| !answers || !flow.begins_at(segment.ack))
        {
            // The connection before had the same ports.
            self.forget(number, false, now, actions);
            known = None;
        }
        if !answers || !self.hold_syn_ack {
            return false;
        }
        let number = match known {
            Some(number) => number,
            None if self.unanswered >= self.max_unanswered => {
                self.counters.flood += 1;
                return false;
            }
            None => {
                let mut flow = Flow::new(segment.ack, now);
                flow.opening = Some(segment.seq.wrapping_add(1));
                let Some(number) = self.add(key, flow) else { return false };
                self.opening += 1;
                self.counters.opened += 1;
                number
            }
        };
        let ack = Ack { number: 0, ecn_echo: false, opens: true };
        self.hold(number, ack, held, now, actions);
        true
    }

    /// Handles a packet of a known flow that the kernel holds. `asks` is true if it may be a request. Returns false if
    /// the packet passes.
    fn hold_known(
        &mut self,
        number: u32,
        asks: bool,
        held: Held,
        segment: &Segment,
        now: Time,
        actions: &mut Actions,
    ) -> bool {
        let Some(flow) = self.flows.get_mut(number) else { return false };
        let offset = flow.acknowledge(segment.ack);
        let opens = asks && !std::mem::replace(&mut flow.asked, true);
        let is_ack = segment.is_pure_ack();
        let waits = flow.held > 0;
        if segment.flags.rst() || (is_ack && flow.is_over(offset)) {
            self.forget(number, is_ack, now, actions);
            return false;
        }
        // What is no acknowledgement waits only behind others of its flow.
        let holds = is_ack || opens || waits;
        if holds {
            self.hold(number, Ack { number: offset, ecn_echo: segment.ecn_echo, opens }, held, now, actions);
        }
        holds
    }

    /// Removes the flows that have been idle for too long. What they hold leaves.
    fn age(&mut self, now: Time, actions: &mut Actions) {
        self.aging = now.saturating_add(AGING_INTERVAL);
        for number in 0..self.flows.slots() {
            let Some(flow) = self.flows.get_mut(number) else { continue };
            let limit = if flow.is_confirmed() { self.idle_timeout } else { CONFIRM_TIMEOUT };
            if now.saturating_since(flow.seen) >= limit {
                self.forget(number, false, now, actions);
            }
        }
    }
}

impl Counters {
    /// Counts the verdict on a packet that was held.
    fn count(&mut self, held: &Held, dropped: bool, now: Time) {
        let time = now.saturating_since(held.since);
        self.hold_time = self.hold_time.saturating_add(time);
        self.hold_max = self.hold_max.max(time);
        if dropped {
            self.superseded += 1;
        } else {
            self.released += 1;
        }
    }
}

impl Datapath for Pac {
    /// PAC has no frames of its own.
    fn handle_frame(&mut self, _: &[u8], _: Time, _: &mut Actions) {}

    fn handle_segment(
        &mut self,
        direction: Direction,
        segment: &Segment,
        _: Link,
        now: Time,
        actions: &mut Actions,
    ) {
        if direction == Direction::Outgoing {
            let Some(number) = self.flows.find(&segment.flow.reversed()) else { return };
            if segment.flags.rst() {
                self.forget(number, false, now, actions);
            } else if segment.flags.ack()
                && let Some(flow) = self.flows.get_mut(number)
            {
                flow.acknowledge(segment.ack);
            }
            return;
        }
        if segment.payload > 0 && !segment.flags.syn() {
            self.arrive(segment, now);
        }
        let Some(number) = self.flows.find(&segment.flow) else { return };
        self.open(number, segment);
        let Some(flow) = self.flows.get_mut(number) else { return };
        if segment.flags.rst() || (segment.flags.syn() && !flow.begins_at(segment.seq.wrapping_add(1))) {
            // The connection ends, or a new one has the same ports.
            self.forget(number, false, now, actions);
        } else if segment.flags.fin() {
            flow.finish_at(segment.seq.wrapping_add(u32::from(segment.payload)));
        }
        self.pump(now, actions);
    }

    fn handle_held(&mut self, id: HeldId, segment: &Segment, now: Time, actions: &mut Actions) {
        let timestamp = segment.timestamps.map(|timestamps| timestamps.value);
        let asks = self.hold_requests && segment.payload > 0 && !segment.flags.rst();
        let precious = segment.payload > 0 || segment.flags.fin();
        let held = Held { id, timestamp, precious, since: now };
        let is_held = if segment.flags.syn() {
            self.hold_opening(held, segment, now, actions)
        } else {
            let key = segment.flow.reversed();
            let known = self
                .flows
                .find(&key)
                .or_else(|| if asks { self.add(key, Flow::new(segment.ack, now)) } else { None });
            known.is_some_and(|number| self.hold_known(number, asks, held, segment, now, actions))
        };
        if !is_held {
            self.counters.passed += 1;
            actions.verdicts.push((id, Verdict::Accept));
            self.pump(now, actions);
        }
    }

    fn handle_passed(&mut self, _: &Passed, _: Time, _: &mut Actions) {}

    fn count_unwatched(&mut self, _: u64, _: u64) {}

    fn handle_small(&mut self, _: &Small, _: Time, _: &mut Actions) {}

    fn handle_released(&mut self, _: &Released, _: Time, _: &mut Actions) {}

    fn release_all(&mut self, now: Time, actions: &mut Actions) {
        (0..self.flows.slots()).for_each(|number| self.forget(number, false, now, actions));
    }

    /// The next acknowledgement hangs on the data that comes.
    fn is_patient(&self, _: Time) -> bool {
        false
    }

    fn next_timeout(&self) -> Time {
        let aging = if self.flows.len() == 0 { Time::MAX } else { self.aging };
        self.controller.next_timeout().min(aging)
    }

    fn handle_timeout(&mut self, now: Time, actions: &mut Actions) {
        if now >= self.aging {
            self.age(now, actions);
        }
        self.controller.handle_timeout(now);
        self.pump(now, actions);
    }

    fn metrics(&self, each: &mut dyn FnMut(Metric)) {
        let mut put = |name, help, label, value| each(Metric { name, help, label, value });
        let Counters { segments, bytes, marked, held, released, superseded, opened, .. } = self.counters;
        put("pac_flows", "The flows to this host that have state.", None, self.flows.len() as f64);
        put(
            "pac_flows_opening",
            "The flows whose handshake is not completed.",
            None,
            f64::from(self.opening),
        );
        put("pac_flows_opened_total", "The connections whose SYN-ACK was held.", None, opened as f64);
        let in_flight = self.controller.in_flight() as f64;
        put("pac_in_flight_bytes", "The estimate of the traffic in flight to this host.", None, in_flight);
        let threshold = self.controller.threshold() as f64;
        put("pac_threshold_bytes", "The limit of the traffic in flight, by eq. (2).", None, threshold);
        let rtt = self.controller.rtt().as_secs_f64();
        put("pac_rtt_seconds", "The average round-trip time of the flows to this host.", None, rtt);
        put("pac_held", "The packets that are held now.", None, self.controller.held() as f64);
        put("pac_held_max", "The most packets held at a time.", None, self.controller.held_max() as f64);
        put("pac_held_total", "The packets that were held.", None, held as f64);
        put("pac_released_total", "The packets held that were released.", None, released as f64);
        let superseded = superseded as f64;
        put(
            "pac_superseded_total",
            "The acknowledgements dropped since later ones cover them.",
            None,
            superseded,
        );
        let (passed, full) = (self.counters.passed as f64, self.counters.full as f64);
        put("pac_passed_total", "The packets that passed at once, by the rules.", None, passed);
        let flood = self.counters.flood as f64;
        put("pac_flood_total", "The SYN-ACKs that passed since too many were not answered.", None, flood);
        put("pac_full_total", "The packets that passed since too many were held.", None, full);
        let overdue = self.counters.overdue as f64;
        put("pac_overdue_total", "The packets released at the limit to holding.", None, overdue);
        let hold_time = self.counters.hold_time.as_secs_f64();
        put("pac_hold_seconds_total", "The sum of the times for which packets were held.", None, hold_time);
        let hold_max = self.counters.hold_max.as_secs_f64();
        put("pac_hold_seconds_max", "The longest time for which a packet was held.", None, hold_max);
        put("pac_data_segments_total", "The incoming segments with data.", None, segments as f64);
        put("pac_data_bytes_total", "The payload of incoming segments.", None, bytes as f64);
        let untracked = self.counters.untracked as f64;
        let help =
            "The payload of incoming segments whose flow has no state, so that PAC did not control it.";
        put("pac_untracked_bytes_total", help, None, untracked);
        put("pac_data_marked_total", "The incoming segments with a mark of ECN (CE).", None, marked as f64);
    }
}
