//! What a sender has to send: the bytes that the application writes, as numbered packets, and the paths that these take.

use super::flight::{Flight, Segment};
use crate::endpoint::{Cx, Framing};
use crate::entropy::{Entropies, EntropyPolicy, Feedback};
use crate::packet::{Flags, Header, Packet};
use crate::tag::Tag;
use clearway_units::{Span, Time};
use serde::{Deserialize, Serialize};

/// The packets of a flow, sent and unsent.
#[derive(Debug, Serialize, Deserialize)]
pub struct Outgoing {
    framing: Framing,
    policy: EntropyPolicy,
    path_values: u16,
    /// The paths, from the first packet on.
    paths: Option<Entropies>,
    /// The packets that are not known to have arrived.
    pub flight: Flight,
    /// The bytes that the application has written.
    written: u64,
    /// True once the application writes no more.
    closed: bool,
    /// The number of the packet that ends the flow, once it was sent.
    last: Option<u32>,
}

impl Outgoing {
    /// Returns the packets of a flow of which nothing is written yet. Each takes a path by the policy, among so many values.
    pub fn new(framing: Framing, policy: EntropyPolicy, path_values: u16) -> Outgoing {
        Outgoing {
            framing,
            policy,
            path_values,
            paths: None,
            flight: Flight::default(),
            written: 0,
            closed: false,
            last: None,
        }
    }

    /// Returns the sizes of packets.
    pub fn framing(&self) -> &Framing {
        &self.framing
    }

    /// The application has written more bytes.
    pub fn write(&mut self, bytes: u64) {
        self.written += bytes;
    }

    /// The application writes no more.
    pub fn close(&mut self) {
        self.closed = true;
    }

    /// Drops the bytes that were never sent, and returns the bytes of the flow then.
    pub fn truncate(&mut self) -> u64 {
        self.written = self.flight.end();
        self.written
    }

    /// Returns the bytes that are not known to have arrived without a gap before them.
    pub fn remaining(&self) -> u64 {
        self.written - self.flight.acknowledged()
    }

    /// Returns the bytes that were never sent.
    pub fn unsent(&self) -> u64 {
        self.written - self.flight.end()
    }

    /// Returns true once all is known to have arrived, and the application writes no more.
    pub fn is_finished(&self) -> bool {
        self.last.is_some() && self.flight.is_empty()
    }

    /// Returns true if there is a packet that was never sent and for which there is room.
    pub fn has_new(&self) -> bool {
        self.flight.has_room() && (self.unsent() > 0 || self.closed && self.last.is_none())
    }

    /// Returns true if there is something to send, whether it may leave or not.
    pub fn has_data(&self) -> bool {
        self.flight.lost() > 0 || self.has_new()
    }

    /// Returns true if anything is to be sent or to be heard of.
    pub fn is_pending(&self) -> bool {
        self.flight.waiting() > 0 || self.has_data()
    }

    /// Tells the choice of paths what became of a packet.
    pub fn feedback(&mut self, entropy: Option<u16>, feedback: Feedback, now: Time) {
        if let (Some(paths), Some(entropy)) = (&mut self.paths, entropy) {
            paths.feedback(entropy, feedback, now);
        }
    }

    /// Takes the packets of which nothing was heard for so long as lost, and returns their number.
    pub fn expire(&mut self, timeout: Span, now: Time) -> u32 {
        let paths = &mut self.paths;
        self.flight.expire(timeout, now, |entropy| {
            paths.iter_mut().for_each(|paths| paths.feedback(entropy, Feedback::Timeout, now));
        })
    }

    /// Returns the time of the next timeout, if one takes so long: after the oldest packet of which nothing was heard or, if
    /// there is something to send only, from now on.
    pub fn expires_at(&self, timeout: Span, now: Time) -> Time {
        match self.flight.oldest() {
            Some(oldest) => oldest.saturating_add(timeout),
            None if self.has_data() => now.saturating_add(timeout),
            None => Time::MAX,
        }
    }

    /// Sends a packet: one that was lost, if any was and that is permitted, or the next new one. Returns it with its entropy.
    /// `begin` makes the choice of paths ready when the first packet leaves.
    #[inline]
    pub fn send(
        &mut self,
        permits_lost: bool,
        begin: impl FnOnce(Entropies) -> Entropies,
        cx: &mut Cx<'_>,
    ) -> (Segment, u16) {
        let Outgoing { framing, policy, path_values, paths, flight, written, .. } = self;
        let paths = paths.get_or_insert_with(|| begin(Entropies::new(*policy, *path_values, cx.rng)));
        let entropy = paths.next(cx.rng, cx.now);
        let lost = if permits_lost { flight.send_lost(entropy, cx.now) } else { None };
        let segment = lost.unwrap_or_else(|| {
            let left = *written - flight.end();
            flight.send(left.min(framing.payload_max.into()) as u32, entropy, cx.now)
        });
        if !segment.again && self.closed && self.flight.end() == self.written {
            self.last = Some(segment.psn);
        }
        cx.stats.data_packets += 1;
        if repeats_data(&segment) {
            cx.stats.rare_mut().retransmits += 1;
        }
        (segment, entropy)
    }

    /// Returns the flags of a packet that say whether it ends the flow, and whether it repeats data.
    pub fn flags(&self, segment: &Segment) -> Flags {
        let ends = self.last == Some(segment.psn);
        Flags::NONE.with_if(ends, Flags::LAST).with_if(repeats_data(segment), Flags::RETRANSMIT)
    }

    /// Returns a request for pulls up to `target`, of a sender whose last one was `pull`.
    pub fn request(&mut self, pull: u32, target: u32, cx: &mut Cx<'_>) -> Packet {
        cx.stats.rare_mut().repeated_signals += 1;
        // The number of a packet that has arrived: the request has none of its own.
        let psn = self.flight.base().wrapping_sub(1);
        let header = Header::PullRequest { psn, pull, target };
        let entropy = self.paths.as_mut().map(|paths| paths.next(cx.rng, cx.now));
        Packet::control(header, self.framing.wire(0), cx.now).with_tag(Tag { lane: 0, entropy })
    }
}

/// Returns true if a packet has data and was sent before.
fn repeats_data(segment: &Segment) -> bool {
    segment.again && segment.len > 0
}
