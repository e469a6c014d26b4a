//! Snapshots of flows, as samples and viewers take them: values of both ends of a flow.

use super::ends::{End, Ends, FlowName, Receiving, Sending};
use crate::ids::FlowSlot;
use clearway_proto::{Gauges, Rare};

/// The values of a flow at one instant. Taking a snapshot allocates nothing, since a viewer takes one of every flow in
/// each frame.
pub struct FlowSnapshot {
    /// The place of the flow.
    pub slot: FlowSlot,
    /// The flow.
    pub name: FlowName,
    /// The number of bytes handed to the application.
    pub delivered: u64,
    /// The values of both ends together.
    pub ends: Shown,
    /// The offset after the last byte of the message under way, if there is one.
    pub message_end: Option<u64>,
}

/// The values that an end of a flow shows, or both together.
pub struct Shown {
    /// The number of credits sent.
    pub credits_sent: u64,
    /// The counts that stay zero in most flows.
    pub rare: Rare,
    /// The window, rate and round-trip time; of both ends those of the sending end, or of the receiving end where that
    /// is in control.
    pub gauges: Gauges,
}

impl Shown {
    /// Returns the values of the sending end of a flow, if it is here.
    pub fn of_sender(slot: FlowSlot, senders: &mut Ends<Sending>) -> Option<Shown> {
        let (sending, protocols) = senders.with_protocols(slot)?;
        Some(Shown::new(&sending.end, sending.gauges(protocols)))
    }

    fn new(end: &End, gauges: Gauges) -> Shown {
        Shown { credits_sent: end.stats.credits_sent, rare: end.stats.rare(), gauges }
    }

    /// Returns the values of a sending end together with those of the receiving end.
    fn with(self, receiver: Shown) -> Shown {
        let either = |a: f64, b: f64| if a.is_nan() { b } else { a };
        let (gauges, other) = (self.gauges, receiver.gauges);
        Shown {
            credits_sent: self.credits_sent + receiver.credits_sent,
            rare: self.rare.plus(receiver.rare),
            gauges: Gauges {
                cwnd: either(gauges.cwnd, other.cwnd),
                rate: either(gauges.rate, other.rate),
                srtt: either(gauges.srtt, other.srtt),
            },
        }
    }
}

impl FlowSnapshot {
    /// Returns the values of a flow, from those of its sending end and from its receiving end, if that is there.
    pub fn new(slot: FlowSlot, sender: Shown, receivers: &mut Ends<Receiving>) -> Option<FlowSnapshot> {
        let (receiving, protocols) = receivers.with_protocols(slot)?;
        Some(FlowSnapshot {
            slot,
            name: receiving.name(),
            delivered: receiving.delivered(protocols),
            ends: sender.with(Shown::new(&receiving.end, receiving.gauges(protocols))),
            message_end: receiving.messages.first(),
        })
    }
}
