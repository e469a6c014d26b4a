//! What every output port of a network is set to: the credit class, the marking threshold, and flow control's
//! headroom.

use clearway_proto::Framing;
use clearway_proto::port::pfc::headroom;
use clearway_proto::port::{CreditShaping, frames_by_rate};
use clearway_topology::Port;
use clearway_units::{Bytes, Rate, Span};

/// Settings of one output port.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PortSettings {
    /// Rate of the link.
    pub rate: Rate,
    /// Rate of the credit class, in bits per second on the wire, rounded down.
    pub credit_rate: Rate,
    /// The most that the bucket of credits holds.
    pub credit_burst: Bytes,
    /// Marking threshold `K`, in full frames and in bytes on the wire.
    pub marking_frames: u64,
    /// The same in bytes on the wire.
    pub marking: Bytes,
    /// Memory for what still comes by this link's other direction after it was paused.
    pub headroom: Bytes,
}

/// The settings of a port.
pub fn settings(port: &Port, shaping: CreditShaping, framing: Framing) -> PortSettings {
    let CreditShaping { credit, data, bucket, .. } = shaping;
    let exact = u128::from(port.rate.as_bps()) * u128::from(credit) / u128::from(credit + data);
    let marking_frames = frames_by_rate(port.rate);
    PortSettings {
        rate: port.rate,
        credit_rate: Rate::bps(exact as u64),
        credit_burst: Bytes::new(u64::from(bucket)),
        marking_frames,
        marking: Bytes::new(marking_frames * u64::from(framing.wire_max())),
        headroom: headroom(port.rate, port.delay, framing, 0, Span::ZERO),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clearway_topology::NodeId;
    use clearway_units::Span;

    #[test]
    fn a_port_has_the_rates_of_the_linux_datapath_and_the_threshold_of_the_papers() {
        let port =
            |mbps| Port { from: NodeId(1), to: NodeId(0), rate: Rate::mbps(mbps), delay: Span::from_us(1) };
        let of = |mbps| settings(&port(mbps), CreditShaping::PAPER, Framing::ETHERNET);
        assert_eq!(of(100).credit_rate, Rate::bps(5_178_791), "rounded down");
        assert_eq!(of(10_000).credit_rate, Rate::bps(517_879_161));
        assert_eq!((of(10_000).marking_frames, of(10_000).marking), (65, Bytes::new(99_970)));
        assert_eq!(of(100_000).headroom, Bytes::new(25_000 + 1 + 3 * 1538 + 84));
    }
}
