//! The names of flows and of NICs.

use std::fmt;
use std::net::Ipv4Addr;

/// An Ethernet address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct MacAddr(pub [u8; 6]);

impl fmt::Display for MacAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

/// One direction of a TCP connection: the flow of data from a source to a destination.
///
/// Control frames name a flow in the direction of its data, whichever way they travel themselves.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FlowKey {
    /// The address of the host that sends data.
    pub source: Ipv4Addr,
    /// The address of the host that receives data.
    pub destination: Ipv4Addr,
    /// The TCP port at the source.
    pub source_port: u16,
    /// The TCP port at the destination.
    pub destination_port: u16,
}

impl FlowKey {
    /// Returns the other direction of the connection.
    pub const fn reversed(self) -> FlowKey {
        FlowKey {
            source: self.destination,
            destination: self.source,
            source_port: self.destination_port,
            destination_port: self.source_port,
        }
    }
}

impl fmt::Display for FlowKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FlowKey { source, destination, source_port, destination_port } = self;
        write!(f, "{source}:{source_port} > {destination}:{destination_port}")
    }
}
