//! The port of a switch, which cuts packets.

use crate::mechanism::{Change, PortMechanism, PortState, Reason, Verdict};
use crate::packet::{Flags, Kind, Packet};
use clearway_schema::declare;
use clearway_units::{Bytes, Rate};
use serde::{Deserialize, Serialize};

declare! {
    /// The constants of the port.
    #[derive(PartialEq)]
    pub struct NdpPortConfig {
        /// The size on the wire of a packet that was cut.
        header: Bytes = "84 B" in "1 B" to "1 KB" from "our choice: the smallest frame";
    }
}

/// The port of a switch: a packet of data for which there is no room is cut to its header and goes ahead of data, with
/// acknowledgements and pulls. A header for which there is no room there goes back to its sender.
#[derive(Debug, Serialize, Deserialize)]
pub struct NdpPort {
    header: u32,
}

impl PortMechanism for NdpPort {
    type Config = NdpPortConfig;
    const NAME: &'static str = "NDP trial port";
    const RETURNS: bool = true;

    fn new(config: &NdpPortConfig, _: Rate) -> NdpPort {
        NdpPort { header: config.header.get() as u32 }
    }

    fn on_full(&mut self, packet: &Packet, _: PortState) -> Verdict {
        if packet.kind() != Kind::Data || packet.flags.has(Flags::RETURNED) {
            return Verdict::Drop(Reason::Full);
        }
        if packet.flags.has(Flags::TRIMMED) {
            return Verdict::Return(Change::default());
        }
        Verdict::Change(Change { trim_to: Some(self.header), class_of: Some(Kind::Ack), ..Change::default() })
    }
}
