//! The latency of an idle path, in closed form.

use crate::graph::{PortId, Topology};
use clearway_units::{Bytes, Rate, Span};

/// Returns the time from the first bit leaving the source to the last bit arriving at the destination of an idle
/// path: propagation plus serialisation at every hop, since switches store and forward.
///
/// # Panics
/// Panics if a port is not one of the topology, or if the sum is past the range of [`Span`].
pub fn one_way(topology: &Topology, path: &[PortId], size: Bytes) -> Span {
    let mut sending = SendingTime::of(size);
    path.iter()
        .map(|&port| {
            let port = topology.port(port);
            port.delay + sending.at(port.rate)
        })
        .sum()
}

/// The time that a size takes at one rate after another. Most links of a path have one rate, so that one division serves
/// them all.
#[derive(Clone, Copy, Debug)]
pub struct SendingTime {
    size: Bytes,
    /// What times are truncated to, if they are.
    grain: Option<Span>,
    last: (Rate, Span),
}

impl SendingTime {
    /// Makes the times of a size.
    pub fn of(size: Bytes) -> SendingTime {
        SendingTime { size, grain: None, last: (Rate::ZERO, Span::ZERO) }
    }

    /// Makes the times of a size as [`Rate::time_to_send_below`] truncates them.
    pub fn below(size: Bytes, grain: Span) -> SendingTime {
        SendingTime { grain: Some(grain), ..SendingTime::of(size) }
    }

    /// Returns the size.
    pub fn size(&self) -> Bytes {
        self.size
    }

    /// Returns the time at a rate.
    ///
    /// # Panics
    /// Panics as [`Rate::time_to_send`] does, but at rate zero.
    #[inline]
    pub fn at(&mut self, rate: Rate) -> Span {
        if self.last.0 != rate {
            let time = match self.grain {
                None => rate.time_to_send(self.size),
                Some(grain) => rate.time_to_send_below(self.size, grain),
            };
            self.last = (rate, time);
        }
        self.last.1
    }
}

/// Returns the base RTT: the time of a data frame along `path` and a control frame (an ACK, or the credit that the
/// data answers) along `reverse`, in an idle network whose hosts answer at once.
///
/// # Panics
/// Panics as [`one_way`] does.
pub fn base_rtt(
    topology: &Topology,
    path: &[PortId],
    reverse: &[PortId],
    data: Bytes,
    control: Bytes,
) -> Span {
    one_way(topology, path, data) + one_way(topology, reverse, control)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dumbbell, NodeId, Policy, Routes};
    use clearway_units::Rate;

    #[test]
    fn latency_sums_each_hops_own_serialisation_and_delay() {
        let network = Dumbbell {
            pairs: 1,
            rate: Rate::gbps(40),
            delay: Span::from_us(1),
            bottleneck_rate: Rate::gbps(10),
            bottleneck_delay: Span::from_us(5),
        }
        .build()
        .unwrap();
        let mut routes = Routes::new(Policy::SymmetricEcmp);
        let (mut there, mut back) = (Vec::new(), Vec::new());
        routes.paths(&network, NodeId(0), NodeId(1), 0, &mut there).unwrap();
        routes.paths(&network, NodeId(1), NodeId(0), 0, &mut back).unwrap();
        let data = Span::from_us(7) + Span::from_ps(2 * 307_600 + 1_230_400);
        let credit = Span::from_us(7) + Span::from_ps(2 * 16_800 + 67_200);
        assert_eq!(one_way(&network, &there, Bytes::new(1538)), data);
        assert_eq!(base_rtt(&network, &there, &back, Bytes::new(1538), Bytes::new(84)), data + credit);
    }

    #[test]
    fn the_320_host_tree_has_the_base_rtt_from_which_hpcc_computes_its_window() {
        // HPCC's code counts a 1000 B packet on the way there and propagation alone on the way back: 12 us and 240 ns.
        let network = crate::Pacc320::default().build().unwrap();
        let mut routes = Routes::new(Policy::SymmetricEcmp);
        let (mut there, mut back) = (Vec::new(), Vec::new());
        routes.paths(&network, NodeId(0), NodeId(319), 1, &mut there).unwrap();
        routes.paths(&network, NodeId(319), NodeId(0), 1, &mut back).unwrap();
        let rtt = base_rtt(&network, &there, &back, Bytes::new(1000), Bytes::ZERO);
        assert_eq!(rtt, Span::from_ns(12_240));
        assert_eq!(Rate::gbps(100).bytes_in(rtt), Bytes::new(153_000));
    }
}
