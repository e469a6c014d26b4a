//! HPCC's telemetry at an output port: packets that ask for it carry the state of each link on their way.

use crate::mechanism::{NoConstants, PortMechanism, PortState, Sees};
use crate::packet::{Extra, Flags, Hop, Hops, Packet};
use clearway_units::Rate;
use serde::{Deserialize, Serialize};

/// The telemetry of a port: an entry in each packet that leaves and asks for entries.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct TelemetryPort {
    rate: Rate,
}

impl PortMechanism for TelemetryPort {
    type Config = NoConstants;
    const NAME: &'static str = "telemetry";
    const SEES_DEPARTURES: Sees = Sees::Telemetry;

    fn new(_: &NoConstants, rate: Rate) -> TelemetryPort {
        TelemetryPort { rate }
    }

    #[inline]
    fn on_departure(&mut self, packet: &mut Packet, extra: Option<&mut Extra>, port: PortState) {
        let Some(extra) = extra.filter(|_| packet.flags.has(Flags::TELEMETRY)) else { return };
        let hop = Hop { left: port.now, sent: port.sent, queued: port.queued, rate: self.rate };
        if !matches!(extra, Extra::Hops(_)) {
            *extra = Extra::Hops(Hops::default());
        }
        if let Extra::Hops(hops) = extra {
            hops.push(hop);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Header;
    use clearway_units::Time;

    #[test]
    fn a_packet_that_asks_collects_one_entry_a_port_and_another_packet_none() {
        let state = PortState { now: Time::from_ps(7), queued: 3, sent: 5 };
        let mut packet = Packet::data(Header::data(0), 1460, 1538, Time::ZERO);
        let mut extra = Extra::default();
        TelemetryPort::new(&NoConstants {}, Rate::gbps(25)).on_departure(
            &mut packet,
            Some(&mut extra),
            state,
        );
        assert!(!matches!(extra, Extra::Hops(_)), "it did not ask");
        packet.flags = Flags::TELEMETRY;
        for rate in [Rate::gbps(25), Rate::gbps(100)] {
            TelemetryPort::new(&NoConstants {}, rate).on_departure(&mut packet, Some(&mut extra), state);
        }
        let Extra::Hops(hops) = extra else { panic!("entries") };
        let rates: Vec<_> = hops.as_slice().iter().map(|hop| (hop.rate, hop.queued, hop.sent)).collect();
        assert_eq!(rates, [(Rate::gbps(25), 3, 5), (Rate::gbps(100), 3, 5)]);
    }
}
