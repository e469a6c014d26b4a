//! Forged packets: each field of a header holds a value of its type, but not the one that the peer would send.

use crate::{CreditAnswer, CreditRequest, Extra, Flags, Header, Packet, Rng, SackBlock};
use clearway_units::{Rate, Span, Time};

/// A packet like this one, in which every field of the header and every mark may have changed, with selective
/// acknowledgements beside it if the original had room for some. The kind stays, and with it the end that it is for.
pub fn forge(packet: &Packet, rng: &mut Rng) -> (Packet, Extra) {
    let mut forged = *packet;
    forged.header = header(packet.header, packet.sent, rng);
    let marks = [Flags::ECN_CE, Flags::ECN_ECHO, Flags::CWR, Flags::LAST, Flags::EMPTY, Flags::RETRANSMIT];
    for mark in marks {
        if rng.below(4) == 0 {
            forged.flags.set(mark);
        }
    }
    let mut extra = Extra::default();
    forged.flags.clear(Flags::EXTRA);
    if packet.header.ack().is_some() && rng.below(2) == 0 {
        let block = |rng: &mut Rng| {
            let start = number(packet.header.ack().unwrap_or(0), rng);
            SackBlock { start, end: number(start, rng) }
        };
        extra = Extra::Sack([block(rng), block(rng), block(rng)]);
        forged.flags.set(Flags::EXTRA);
    }
    (forged, extra)
}

/// A number that is the given one, one near it, or any that a counter of a long flow may reach.
fn number(true_one: u64, rng: &mut Rng) -> u64 {
    match rng.below(6) {
        0 | 1 => true_one,
        2 => true_one + 1,
        3 => true_one.saturating_sub(1 + rng.below(3_000)),
        4 => true_one + rng.below(3_000),
        _ => rng.below(1 << 40),
    }
}

fn word(true_one: u32, rng: &mut Rng) -> u32 {
    match rng.below(3) {
        0 => true_one,
        1 => true_one.wrapping_add(rng.below(3) as u32),
        _ => rng.bits() as u32,
    }
}

/// A time between zero and now: no clock of a peer is ahead of ours, since both are one in virtual time.
fn time(now: Time, rng: &mut Rng) -> Time {
    Time::from_ps(rng.below(now.as_ps() + 1))
}

fn answer(true_one: CreditAnswer, now: Time, rng: &mut Rng) -> CreditAnswer {
    let CreditAnswer { session, ack, .. } = true_one;
    CreditAnswer { session: word(session, rng), ack: number(ack, rng), echo: time(now, rng) }
}

fn request(true_one: CreditRequest, rng: &mut Rng) -> CreditRequest {
    let CreditRequest { session, wanted, written } = true_one;
    CreditRequest { session: word(session, rng), wanted: number(wanted, rng), written: number(written, rng) }
}

fn header(true_one: Header, now: Time, rng: &mut Rng) -> Header {
    let rate = |rng: &mut Rng| Rate::bps(rng.below(1 << 37));
    match true_one {
        Header::Data { offset, .. } => Header::Data { offset: number(offset, rng), echo: time(now, rng) },
        Header::RcpData { offset, .. } => Header::RcpData {
            offset: number(offset, rng),
            rate: rate(rng),
            srtt: Span::from_us(rng.below(1_000_000)),
        },
        Header::CreditData { offset, session, credit, .. } => Header::CreditData {
            offset: number(offset, rng),
            session: word(session, rng),
            credit: number(credit, rng),
            echo: time(now, rng),
        },
        Header::UnscheduledData { offset, session } => {
            Header::UnscheduledData { offset: number(offset, rng), session: word(session, rng) }
        }
        Header::RcpSyn { .. } => Header::RcpSyn { rate: rate(rng) },
        Header::CreditSyn(it) => Header::CreditSyn(request(it, rng)),
        Header::CreditRequest(it) => Header::CreditRequest(request(it, rng)),
        Header::CreditStop { session, end } => {
            Header::CreditStop { session: word(session, rng), end: number(end, rng) }
        }
        Header::SynAck { window, .. } => {
            Header::SynAck { window: word(window, rng), rate: rate(rng), echo: time(now, rng) }
        }
        Header::CreditSynAck(it) => Header::CreditSynAck(answer(it, now, rng)),
        Header::Ack { ack, window, .. } => Header::Ack {
            ack: number(ack, rng),
            window: word(window, rng),
            rate: rate(rng),
            echo: time(now, rng),
        },
        Header::RdmaAck { ack, offset, len, .. } => Header::RdmaAck {
            ack: number(ack, rng),
            offset: number(offset, rng),
            len: len.min(rng.below(2_000) as u32),
            echo: time(now, rng),
        },
        Header::RdmaNack { ack, offset, len, .. } => Header::RdmaNack {
            ack: number(ack, rng),
            offset: number(offset, rng),
            len: len.min(rng.below(2_000) as u32),
            echo: time(now, rng),
        },
        Header::CreditAck(it) => Header::CreditAck(answer(it, now, rng)),
        Header::CreditNack(it) => Header::CreditNack(answer(it, now, rng)),
        Header::Credit { number: credit, session, ack, .. } => Header::Credit {
            number: number(credit, rng),
            session: word(session, rng),
            ack: number(ack, rng),
            echo: time(now, rng),
        },
        Header::PulledData { offset, psn, pull, target } => Header::PulledData {
            offset: number(offset, rng),
            psn: word(psn, rng),
            pull: word(pull, rng),
            target: word(target, rng),
        },
        Header::PullRequest { psn, pull, target } => {
            Header::PullRequest { psn: word(psn, rng), pull: word(pull, rng), target: word(target, rng) }
        }
        Header::Probe { psn, with_data } => Header::Probe { psn: word(psn, rng), with_data },
        Header::PulledAck { next, psn, pull, received, from, map, held, penalty } => Header::PulledAck {
            next: word(next, rng),
            psn: word(psn, rng),
            pull: word(pull, rng),
            received: word(received, rng),
            from: word(from, rng),
            map: if rng.below(2) == 0 { map } else { rng.bits() },
            held: if rng.below(2) == 0 { held } else { rng.bits() as u16 },
            penalty: if rng.below(2) == 0 { penalty } else { rng.bits() as u8 },
        },
        Header::PulledNack { next, psn, pull, received } => Header::PulledNack {
            next: word(next, rng),
            psn: word(psn, rng),
            pull: word(pull, rng),
            received: word(received, rng),
        },
        Header::Pull { pull, leads } => {
            Header::Pull { pull: word(pull, rng), leads: leads != (rng.below(4) == 0) }
        }
        same @ (Header::Syn | Header::Cnp) => same,
    }
}
