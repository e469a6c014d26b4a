//! The tag of a packet: what its end asks of the network for this packet.

/// What the end of a flow asks of the network for one packet: a lane of ports, and a path. An end that asks for nothing
/// sends packets with the default tag.
///
/// A receiver reads the tag of a packet that arrived ([`Packet::tag`](crate::Packet::tag)), and may answer with the same
/// entropy, so that a sender learns what became of the packets that took a path.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Tag {
    /// The priority lane of data at ports, below [`Tag::LANES`]: lane 0 goes first. Ports tell as many lanes apart as the
    /// transports of a network ask for ([`Needs::lanes`](crate::Needs::lanes)); data of a higher lane is in the last of them.
    pub lane: u8,
    /// The entropy by which switches choose among next hops of equal cost, where packets of a flow may take several paths
    /// (`network.routing = "spray"`): the packets of one flow and direction that have the same entropy take the same path,
    /// as long as routing does not change. `None`: the network draws one for the packet.
    pub entropy: Option<u16>,
}

impl Tag {
    /// The number of lanes.
    pub const LANES: u8 = 8;
}
