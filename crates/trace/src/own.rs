//! Our own headers: that of credits and of the data that they schedule, straight over Ethernet, and that of HPCC's
//! telemetry. `docs/how-to/traces.md` lists their fields, and the Wireshark dissector reads them.

use clearway_proto::{Flags, Header, Hop, Packet};

/// The version of both headers.
pub const VERSION: u8 = 1;
/// The length of the header of credits and data in bytes: as long as those of IPv4 and TCP together.
#[cfg(test)]
const HEADER_LEN: usize = 40;
/// The first two bytes of telemetry, and the experiment identifier of our TCP option (RFC 6994): "CW".
pub const MAGIC: [u8; 2] = *b"CW";
/// The length of a hop's entry of telemetry in bytes.
const HOP_LEN: usize = 24;

/// The flow that a header names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlowId {
    /// The index of the traffic entry.
    pub traffic: u16,
    /// The number of the flow there.
    pub number: u32,
}

/// Returns the number of a kind of packet in our own header, its session, and its three fields.
fn fields(header: &Header) -> (u8, u32, [u64; 3]) {
    match *header {
        Header::Data { offset, echo } => (0, 0, [offset, 0, echo.as_ps()]),
        Header::UnscheduledData { offset, session } => (1, session, [offset, 0, 0]),
        Header::CreditData { offset, session, credit, echo } => (2, session, [offset, credit, echo.as_ps()]),
        Header::CreditSyn(request) => (3, request.session, [request.wanted, request.written, 0]),
        Header::CreditRequest(request) => (4, request.session, [request.wanted, request.written, 0]),
        Header::CreditStop { session, end } => (5, session, [end, 0, 0]),
        Header::CreditSynAck(answer) => (6, answer.session, [answer.ack, 0, answer.echo.as_ps()]),
        Header::CreditAck(answer) => (7, answer.session, [answer.ack, 0, answer.echo.as_ps()]),
        Header::CreditNack(answer) => (8, answer.session, [answer.ack, 0, answer.echo.as_ps()]),
        Header::Credit { number, session, ack, echo } => (9, session, [number, ack, echo.as_ps()]),
        Header::PulledData { offset, psn, pull, target } => (10, psn, [offset, pull.into(), target.into()]),
        Header::PullRequest { psn, pull, target } => (11, psn, [0, pull.into(), target.into()]),
        Header::Probe { psn, .. } => (12, psn, [0; 3]),
        Header::PulledAck { next, psn, pull, received, from, map, .. } => {
            (13, psn, [pair(next, pull), pair(received, from), map])
        }
        Header::PulledNack { next, psn, pull, received } => {
            (14, psn, [next.into(), pull.into(), received.into()])
        }
        Header::Pull { pull, leads } => (15, 0, [pull.into(), leads.into(), 0]),
        Header::Syn
        | Header::RcpSyn { .. }
        | Header::RcpData { .. }
        | Header::SynAck { .. }
        | Header::Ack { .. }
        | Header::RdmaAck { .. }
        | Header::RdmaNack { .. }
        | Header::Cnp => unreachable!("TCP and RoCEv2 have headers of their own"),
    }
}

/// Returns two numbers as one field.
fn pair(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

/// Writes our own header.
pub fn header(out: &mut Vec<u8>, packet: &Packet, flow: FlowId) {
    let (kind, session, values) = fields(&packet.header);
    out.extend([VERSION, kind]);
    out.extend(packet.flags.bits().to_be_bytes());
    out.extend(flow.traffic.to_be_bytes());
    out.extend((packet.payload() as u16).to_be_bytes());
    out.extend(flow.number.to_be_bytes());
    out.extend(session.to_be_bytes());
    values.iter().for_each(|value| out.extend(value.to_be_bytes()));
}

/// Writes HPCC's telemetry: what the ports on the way wrote into a packet.
pub fn telemetry(out: &mut Vec<u8>, hops: &[Hop]) {
    out.extend(MAGIC);
    out.extend([VERSION, hops.len() as u8]);
    for hop in hops {
        out.extend(hop.left.as_ps().to_be_bytes());
        out.extend(hop.sent.to_be_bytes());
        out.extend((hop.queued.min(u64::from(u32::MAX)) as u32).to_be_bytes());
        out.extend(((hop.rate.as_bps() / 1_000_000).min(u64::from(u32::MAX)) as u32).to_be_bytes());
    }
}

/// Returns the length of telemetry in bytes: zero for a packet that no port writes into.
pub fn telemetry_len(packet: &Packet, hops: &[Hop]) -> usize {
    if packet.flags.has(Flags::TELEMETRY) || !hops.is_empty() { 4 + hops.len() * HOP_LEN } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clearway_units::{Rate, Time};

    #[test]
    fn a_credit_has_its_number_session_and_both_echoes_in_forty_bytes() {
        let header_of = Header::Credit { number: 5, session: 2, ack: 1460, echo: Time::from_ps(7) };
        let mut out = Vec::new();
        header(&mut out, &Packet::control(header_of, 84, Time::ZERO), FlowId { traffic: 1, number: 9 });
        assert_eq!(out.len(), HEADER_LEN);
        assert_eq!(out[..16], [1, 9, 0, 0, 0, 1, 0, 0, 0, 0, 0, 9, 0, 0, 0, 2]);
        assert_eq!((out[23], out[30], out[31], out[39]), (5, 5, 0xb4, 7));
    }

    #[test]
    fn telemetry_is_as_long_as_it_says() {
        let hop = Hop { left: Time::from_ps(1), sent: 2, queued: 3, rate: Rate::gbps(100) };
        let packet = Packet::data(Header::data(0), 1000, 1100, Time::ZERO);
        assert_eq!(telemetry_len(&packet, &[]), 0);
        assert_eq!(telemetry_len(&packet.with_flags(Flags::TELEMETRY), &[]), 4);
        let mut out = Vec::new();
        telemetry(&mut out, &[hop, hop]);
        assert_eq!(out.len(), telemetry_len(&packet, &[hop, hop]));
        assert_eq!(out[24..28], 100_000u32.to_be_bytes());
    }
}
