//! TCP's header (RFC 9293) with the options that say what the simulated packet says.

use super::ethernet::{Ipv4, fold, sum_words};
use super::own::MAGIC;
use clearway_proto::{Extra, Flags, Header, Packet};

/// The protocol number of TCP in IPv4.
pub const PROTOCOL: u8 = 6;
/// The length of the header without options, in bytes.
const HEADER_LEN: usize = 20;
/// The room for options, in bytes.
const OPTIONS_MAX: usize = 40;
/// The shift of window scaling (RFC 7323) that both ends announce.
const WINDOW_SHIFT: u8 = 10;

const FIN: u8 = 0x01;
const SYN: u8 = 0x02;
const PSH: u8 = 0x08;
const ACK: u8 = 0x10;
const ECE: u8 = 0x40;
const CWR: u8 = 0x80;

/// The part of the header that depends on the kind of packet. The first byte of a flow has the sequence number 1, since
/// a SYN takes 0, also where the connection stood before.
struct Segment {
    seq: u32,
    ack: u32,
    flags: u8,
    window: u32,
    /// RCP's rate in bit/s and round-trip time in picoseconds, if the packet has them.
    rcp: Option<[u64; 2]>,
}

fn segment(packet: &Packet) -> Segment {
    let is_last = packet.flags.has(Flags::LAST);
    let data = |offset: u64, rcp| Segment {
        seq: (offset as u32).wrapping_add(1),
        ack: 1,
        flags: ACK | if is_last { FIN | PSH } else { 0 },
        window: u32::MAX,
        rcp,
    };
    let rate = |bps: u64| (bps > 0).then_some([bps, 0]);
    let syn = |flags, rcp| Segment { seq: 0, ack: u32::from(flags & ACK != 0), flags, window: u32::MAX, rcp };
    match packet.header {
        Header::Data { offset, .. } => data(offset, None),
        Header::RcpData { offset, rate, srtt } => data(offset, Some([rate.as_bps(), srtt.as_ps()])),
        Header::Syn => syn(SYN, None),
        Header::RcpSyn { rate } => syn(SYN, Some([rate.as_bps(), 0])),
        Header::SynAck { window, rate: granted, .. } => {
            Segment { window, ..syn(SYN | ACK, rate(granted.as_bps())) }
        }
        Header::Ack { ack, window, rate: granted, .. } => Segment {
            seq: 1,
            // The whole flow has arrived, so its FIN has too.
            ack: (ack as u32).wrapping_add(1 + u32::from(is_last)),
            flags: ACK,
            window,
            rcp: rate(granted.as_bps()),
        },
        _ => unreachable!("only packets of TCP have its header"),
    }
}

/// Returns the options of a segment: maximum segment size, window scale and permitted SACK with a SYN; RCP's fields as
/// an experimental option (RFC 6994); selective acknowledgements, as many as there is room for.
fn options(segment: &Segment, extra: &Extra, payload_max: u32) -> Vec<u8> {
    let mut out = Vec::new();
    if segment.flags & SYN != 0 {
        out.extend([2, 4]);
        out.extend((payload_max.min(u32::from(u16::MAX)) as u16).to_be_bytes());
        out.extend([1, 3, 3, WINDOW_SHIFT, 1, 1, 4, 2]);
    }
    if let Some(values) = segment.rcp {
        out.extend([253, 20]);
        out.extend(MAGIC);
        values.iter().for_each(|value| out.extend(value.to_be_bytes()));
    }
    let room = (OPTIONS_MAX - out.len()).saturating_sub(4) / 8;
    let used: Vec<_> = extra.sack().iter().filter(|block| block.start < block.end).take(room).collect();
    if !used.is_empty() {
        out.extend([1, 1, 5, 2 + 8 * used.len() as u8]);
        for block in used {
            out.extend((block.start as u32).wrapping_add(1).to_be_bytes());
            out.extend((block.end as u32).wrapping_add(1).to_be_bytes());
        }
    }
    out
}

/// Writes the header with its checksum, which counts the payload as zeros. `ip` names the two hosts; its length is that
/// of the header and the payload, which [`length`] tells.
pub fn header(
    out: &mut Vec<u8>,
    ip: &Ipv4,
    packet: &Packet,
    extra: &Extra,
    ports: [u16; 2],
    payload_max: u32,
) {
    let segment = segment(packet);
    let options = options(&segment, extra, payload_max);
    let marks = [(Flags::ECN_ECHO, ECE), (Flags::CWR, CWR)];
    let marks = marks.into_iter().filter(|(flag, _)| packet.flags.has(*flag)).map(|(_, bit)| bit);
    let flags = marks.fold(segment.flags, |flags, bit| flags | bit);
    // The window of a SYN is not scaled.
    let shift = if segment.flags & SYN != 0 { 0 } else { WINDOW_SHIFT };
    let window = (segment.window >> shift).min(u32::from(u16::MAX)) as u16;
    let start = out.len();
    ports.iter().for_each(|port| out.extend(port.to_be_bytes()));
    out.extend(segment.seq.to_be_bytes());
    out.extend(segment.ack.to_be_bytes());
    out.extend([(((HEADER_LEN + options.len()) / 4) as u8) << 4, flags]);
    out.extend(window.to_be_bytes());
    out.extend([0; 4]);
    out.extend(options);
    let sum = fold(sum_words(&out[start..], ip.pseudo_sum()));
    out[start + 16..start + 18].copy_from_slice(&sum.to_be_bytes());
}

/// Returns the length of the header of a packet, in bytes.
pub fn length(packet: &Packet, extra: &Extra) -> usize {
    HEADER_LEN + options(&segment(packet), extra, 0).len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clearway_proto::SackBlock;
    use clearway_units::{Rate, Span, Time};

    const IP: Ipv4 = Ipv4 { src: 0, dst: 1, protocol: PROTOCOL, ecn: 0, id: 0, ttl: 64, length: 0 };

    fn written(packet: &Packet, extra: &Extra) -> Vec<u8> {
        let mut out = Vec::new();
        let ip = Ipv4 { length: length(packet, extra) + packet.payload() as usize, ..IP };
        header(&mut out, &ip, packet, extra, [50_000, 40_000], 1460);
        assert_eq!(out.len(), length(packet, extra));
        assert_eq!(out.len() % 4, 0);
        assert_eq!(fold(sum_words(&out, ip.pseudo_sum())), 0, "the checksum is right");
        out
    }

    #[test]
    fn the_first_byte_of_a_flow_has_the_sequence_number_one_and_the_last_has_a_fin() {
        let packet = Packet::data(Header::data(2920), 100, 178, Time::ZERO);
        let out = written(&packet, &Extra::None);
        assert_eq!((out.len(), &out[4..8], out[13]), (20, &2921u32.to_be_bytes()[..], ACK));
        assert_eq!(written(&packet.with_flags(Flags::LAST), &Extra::None)[13], ACK | FIN | PSH);
    }

    #[test]
    fn an_acknowledgement_has_its_blocks_and_echoes_a_mark() {
        let header = Header::Ack { ack: 10, window: 1 << 20, rate: Rate::ZERO, echo: Time::ZERO };
        let packet = Packet::control(header, 84, Time::ZERO).with_flags(Flags::ECN_ECHO);
        let blocks =
            Extra::Sack([SackBlock { start: 20, end: 30 }, SackBlock::default(), SackBlock::default()]);
        let out = written(&packet, &blocks);
        assert_eq!(out[13], ACK | ECE);
        assert_eq!(out[14..16], 1024u16.to_be_bytes());
        assert_eq!(out[20..32], [1, 1, 5, 10, 0, 0, 0, 21, 0, 0, 0, 31]);
    }

    #[test]
    fn rates_of_rcp_are_an_experimental_option() {
        let header = Header::RcpData { offset: 0, rate: Rate::bps(3), srtt: Span::from_ps(4) };
        let out = written(&Packet::data(header, 100, 178, Time::ZERO), &Extra::None);
        assert_eq!(out[20..24], [253, 20, b'C', b'W']);
        assert_eq!((out[31], out[39]), (3, 4));
        let many = Extra::Sack([SackBlock { start: 1, end: 2 }; 3]);
        let ack = Header::Ack { ack: 0, window: 0, rate: Rate::bps(1), echo: Time::ZERO };
        assert_eq!(written(&Packet::control(ack, 84, Time::ZERO), &many).len(), 60, "two blocks have room");
    }
}
