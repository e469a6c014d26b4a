//! A flow as a sample sees it: values of both of its ends.

use super::ends::{Ends, FlowName, Receiving};
use crate::ids::FlowSlot;
use clearway_proto::{Gauges, Stats};

/// The values that a flow shows at a look.
pub struct Glance {
    /// The place of the flow.
    pub slot: FlowSlot,
    /// The flow.
    pub name: FlowName,
    /// The number of bytes handed to the application.
    pub delivered: u64,
    /// The counts of both ends.
    pub stats: Stats,
    /// The values of the sending end, or of the receiving end where that is in control.
    pub gauges: Gauges,
    /// The offset after the last byte of the message under way, if there is one.
    pub message_end: Option<u64>,
}

impl Glance {
    /// The values of a flow, from those of its sending end and from its receiving end, if that is there.
    pub fn new(
        slot: FlowSlot,
        (stats, gauges): (Stats, Gauges),
        receivers: &mut Ends<Receiving>,
    ) -> Option<Glance> {
        let (receiving, protocols) = receivers.with_protocols(slot)?;
        let either = |a: f64, b: f64| if a.is_nan() { b } else { a };
        let other = receiving.gauges(protocols);
        Some(Glance {
            slot,
            name: receiving.name(),
            delivered: receiving.delivered(protocols),
            stats: stats.plus(&receiving.end.stats),
            gauges: Gauges {
                cwnd: either(gauges.cwnd, other.cwnd),
                rate: either(gauges.rate, other.rate),
                srtt: either(gauges.srtt, other.srtt),
            },
            message_end: receiving.messages.first(),
        })
    }
}
