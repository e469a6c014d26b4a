//! The names of flows and of NICs.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

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
    pub source: IpAddr,
    /// The address of the host that receives data, of the same version of IP.
    pub destination: IpAddr,
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

    /// Returns true if the connection is one over IPv6.
    pub const fn is_ipv6(self) -> bool {
        self.source.is_ipv6()
    }

    /// Returns what a credit says of the flow: of an address of IPv6 it has the lower 32 bits alone, since no more fit, and
    /// the others are zero here. A flow over IPv4 stays as it is.
    pub fn in_credits(self) -> FlowKey {
        let lower = |address| match address {
            IpAddr::V4(_) => address,
            IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from(u128::from(address) & u128::from(u32::MAX))),
        };
        FlowKey { source: lower(self.source), destination: lower(self.destination), ..self }
    }
}

impl fmt::Display for FlowKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let source = SocketAddr::new(self.source, self.source_port);
        let destination = SocketAddr::new(self.destination, self.destination_port);
        write!(f, "{source} > {destination}")
    }
}
