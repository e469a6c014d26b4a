//! The settings of a switch's output port: the credit class, the marking threshold and the headroom for flow control.

use clearway_proto::Framing;
use clearway_proto::port::pfc::headroom;
use clearway_proto::port::{CreditShaping, frames_by_rate};
use clearway_topology::Port;
use clearway_units::{Bytes, Rate, Span};

/// The settings of one output port.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PortSettings {
    /// The link's rate.
    pub rate: Rate,
    /// The rate of the credit class, on the wire, rounded down to a whole bit per second.
    pub credit_rate: Rate,
    /// The size of the credit class's token bucket.
    pub credit_burst: Bytes,
    /// The marking threshold `K`, in full frames.
    pub marking_frames: u64,
    /// The marking threshold `K`, in bytes on the wire.
    pub marking: Bytes,
    /// The memory for data that still arrives over the link's reverse direction after that was paused.
    pub headroom: Bytes,
}

/// Returns the rate of the credit class of a port, on the wire, rounded down to a whole bit per second.
pub fn credit_rate(rate: Rate, shaping: CreditShaping) -> Rate {
    let CreditShaping { credit, data, .. } = shaping;
    let exact = u128::from(rate.as_bps()) * u128::from(credit) / u128::from(credit + data);
    Rate::bps(u64::try_from(exact).expect("a share of a rate is no larger than the rate"))
}

/// Returns the settings of a port.
pub fn settings(port: &Port, shaping: CreditShaping, framing: Framing) -> PortSettings {
    let marking_frames = frames_by_rate(port.rate);
    PortSettings {
        rate: port.rate,
        credit_rate: credit_rate(port.rate, shaping),
        credit_burst: Bytes::new(u64::from(shaping.bucket)),
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
