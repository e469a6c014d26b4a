//! A packet as an Ethernet frame: the headers that the packet's fields say, with a payload of zeros that is counted and
//! not stored.
//!
//! A frame is as long as the simulator counts it, without preamble, gap and frame check sequence, unless its headers
//! need more room than the simulator counts for them. Control packets are stored whole, data as headers alone.

use super::ethernet::{ETHERNET_LEN, FRAME_MIN, IPV4, IPV4_LEN, Ipv4, OWN};
pub use super::ethernet::{host_ip, pause};
pub use super::own::FlowId;
use super::{ethernet, own, roce, tcp};
use clearway_proto::{Extra, Family, Flags, Header, Packet};

/// The bytes of a frame on the wire that a capture does not show: preamble, gap and frame check sequence.
const UNSEEN: u32 = 24;
/// The first of the ports that stand for senders, which are the dynamic ones.
const SOURCE_PORTS: u16 = 49_152;
/// The first of the ports that stand for traffic entries.
const TRAFFIC_PORTS: u16 = 40_000;
/// The time to live on the last link; each link before has one more.
const TTL: u8 = 48;

/// The flow of a packet.
#[derive(Clone, Copy, Debug)]
pub struct Flow {
    /// The headers that its packets carry.
    pub family: Family,
    /// The flow's name in headers.
    pub id: FlowId,
    /// The number of the host that sends its data.
    pub src: u32,
    /// The number of the host that receives its data.
    pub dst: u32,
}

/// What a frame says of a packet besides the packet's own fields.
#[derive(Clone, Copy, Debug)]
pub struct Passage {
    /// The number of the packet.
    pub number: u64,
    /// The number of ports that the packet has yet to cross.
    pub hops_left: u8,
    /// The largest payload of a data packet, in bytes.
    pub payload_max: u32,
}

/// A frame.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frame {
    /// The bytes that are stored.
    pub bytes: Vec<u8>,
    /// The length of the whole frame in bytes.
    pub length: usize,
}

/// Returns a packet as a frame.
pub fn frame(packet: &Packet, extra: &Extra, flow: &Flow, passage: &Passage) -> Frame {
    let mut bytes = Vec::with_capacity(128);
    let is_forward = packet.kind().is_for_receiver();
    let (src, dst) = if is_forward { (flow.src, flow.dst) } else { (flow.dst, flow.src) };
    let sender = SOURCE_PORTS + (flow.id.number % u32::from(u16::MAX - SOURCE_PORTS + 1)) as u16;
    let service = TRAFFIC_PORTS + flow.id.traffic % (SOURCE_PORTS - TRAFFIC_PORTS);
    let ports = if is_forward { [sender, service] } else { [service, sender] };
    let payload = packet.payload() as usize;
    let ecn = match (packet.flags.has(Flags::ECN_CAPABLE), packet.flags.has(Flags::ECN_CE)) {
        (_, true) => 3,
        (true, false) => 2,
        (false, false) => 0,
    };
    let ttl = TTL.saturating_add(passage.hops_left);
    let ip = |protocol, length| Ipv4 { src, dst, protocol, ecn, id: passage.number as u16, ttl, length };
    let needed = match family(packet, flow.family) {
        Family::Credit => {
            ethernet::header(&mut bytes, src, dst, OWN);
            own::header(&mut bytes, packet, flow.id);
            bytes.len() + payload
        }
        Family::Tcp => {
            ethernet::header(&mut bytes, src, dst, IPV4);
            let ip = ip(tcp::PROTOCOL, tcp::length(packet, extra) + payload);
            ip.write(&mut bytes);
            tcp::header(&mut bytes, &ip, packet, extra, ports, passage.payload_max);
            bytes.len() + payload
        }
        Family::Rdma => {
            ethernet::header(&mut bytes, src, dst, IPV4);
            let telemetry = own::telemetry_len(packet, extra.hops());
            let behind = roce::extended_len(packet) + telemetry + payload + roce::padding(packet);
            let length = roce::HEADERS_LEN + behind + roce::ICRC_LEN;
            ip(roce::PROTOCOL, length).write(&mut bytes);
            roce::headers(&mut bytes, packet, flow.id.number, sender, passage.payload_max, length);
            if telemetry > 0 {
                own::telemetry(&mut bytes, extra.hops());
            }
            if payload == 0 {
                let crc = roce::icrc(&bytes);
                bytes.extend(crc);
            }
            ETHERNET_LEN + IPV4_LEN + length
        }
    };
    let length = needed.max(u32::from(packet.wire).saturating_sub(UNSEEN) as usize).max(FRAME_MIN);
    if payload == 0 {
        bytes.resize(length, 0);
    }
    Frame { bytes, length }
}

/// Returns the headers that a packet carries: its fields decide, and for plain data the family of its flow.
fn family(packet: &Packet, of_flow: Family) -> Family {
    match packet.header {
        Header::Data { .. } => of_flow,
        Header::Syn
        | Header::RcpSyn { .. }
        | Header::RcpData { .. }
        | Header::SynAck { .. }
        | Header::Ack { .. } => Family::Tcp,
        Header::RdmaAck { .. } | Header::RdmaNack { .. } | Header::Cnp => Family::Rdma,
        Header::UnscheduledData { .. }
        | Header::CreditData { .. }
        | Header::CreditSyn(_)
        | Header::CreditRequest(_)
        | Header::CreditStop { .. }
        | Header::CreditSynAck(_)
        | Header::CreditAck(_)
        | Header::CreditNack(_)
        | Header::Credit { .. }
        | Header::PulledData { .. }
        | Header::PullRequest { .. }
        | Header::Probe { .. }
        | Header::PulledAck { .. }
        | Header::PulledNack { .. }
        | Header::Pull { .. } => Family::Credit,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clearway_proto::Framing;
    use clearway_units::Time;

    const ETHERNET: Framing = Framing::ETHERNET;

    fn made(packet: Packet, family: Family) -> Frame {
        let flow = Flow { family, id: FlowId { traffic: 0, number: 1 }, src: 0, dst: 4 };
        frame(&packet, &Extra::None, &flow, &Passage { number: 7, hops_left: 1, payload_max: 1460 })
    }

    #[test]
    fn a_full_frame_of_tcp_or_credits_is_as_long_as_the_simulator_counts() {
        let data = Packet::data(Header::data(0), 1460, ETHERNET.wire(1460), Time::ZERO);
        let credit_data = Header::CreditData { offset: 0, session: 1, credit: 1, echo: Time::ZERO };
        let scheduled = Packet::data(credit_data, 1460, ETHERNET.wire(1460), Time::ZERO);
        for (packet, family) in [(data, Family::Tcp), (scheduled, Family::Credit)] {
            let frame = made(packet, family);
            assert_eq!((frame.bytes.len(), frame.length), (54, 1514));
        }
        let middle = Packet::data(Header::data(1460), 1460, ETHERNET.wire(1460), Time::ZERO);
        for (packet, stored, more) in [(data, 70, 20), (middle, 54, 4)] {
            let frame = made(packet, Family::Rdma);
            assert_eq!(
                (frame.bytes.len(), frame.length),
                (stored, 1514 + more),
                "InfiniBand's headers need more room"
            );
        }
    }

    #[test]
    fn a_control_packet_is_stored_whole() {
        let header = Header::Credit { number: 1, session: 1, ack: 0, echo: Time::ZERO };
        for (wire, length) in [(84, 60), (92, 68)] {
            let frame = made(Packet::control(header, wire, Time::ZERO), Family::Credit);
            assert_eq!((frame.bytes.len(), frame.length), (length, length));
        }
    }

    #[test]
    fn answers_go_the_other_way() {
        let data = made(Packet::data(Header::data(0), 100, 178, Time::ZERO), Family::Tcp).bytes;
        let header = Header::Ack { ack: 100, window: 0, rate: clearway_units::Rate::ZERO, echo: Time::ZERO };
        let ack = made(Packet::control(header, 84, Time::ZERO), Family::Tcp).bytes;
        assert_eq!((&data[..6], &data[26..30]), (&ack[6..12], &ack[30..34]));
        assert_eq!((&data[34..36], &data[36..38]), (&ack[36..38], &ack[34..36]));
    }

    #[test]
    fn marks_are_in_the_bits_of_ecn() {
        let data = Packet::data(Header::data(0), 100, 178, Time::ZERO);
        let bits = |flags| made(data.with_flags(flags), Family::Tcp).bytes[15];
        assert_eq!([bits(Flags::NONE), bits(Flags::ECN_CAPABLE)], [0, 2]);
        assert_eq!(bits(Flags::ECN_CAPABLE.with(Flags::ECN_CE)), 3);
    }
}
