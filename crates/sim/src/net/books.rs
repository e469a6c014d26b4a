//! Double-entry books of packets, payload and credits: nothing appears or vanishes.

use super::drop_reason::{ByReason, DropReason};
use super::slab::{RoutedPacket, Slab};
use clearway_proto::{Header, Packet};
use serde::{Deserialize, Serialize};

/// A count of packets, of their payload bytes and of the credits among them.
#[derive(Clone, Copy, Default, Debug, Serialize, Deserialize)]
pub struct Count {
    /// The number of packets.
    pub packets: u64,
    /// The bytes of flows in them.
    pub payload: u64,
    /// The number of credits among them.
    pub credits: u64,
}

impl Count {
    fn plus(&self, other: &Count) -> Count {
        Count {
            packets: self.packets + other.packets,
            payload: self.payload + other.payload,
            credits: self.credits + other.credits,
        }
    }

    /// Adds a packet.
    #[inline]
    pub fn add(&mut self, packet: &Packet) {
        self.packets += 1;
        self.payload += packet.payload() as u64;
        self.credits += packet.is_credit() as u64;
    }
}

/// The packets that the ends put into the network, and what became of them.
#[derive(Clone, Copy, Default, Debug, Serialize, Deserialize)]
pub struct Books {
    /// Packets that an end, or a port for a flow, put in.
    pub sent: Count,
    /// The packets that were delivered to an end.
    pub delivered: Count,
    /// The packets that were dropped.
    pub dropped: ByReason<Count>,
    /// The packets that ports cut to their headers, with the payload that they lost there.
    pub trimmed: Count,
    /// Congestion notification packets among those sent.
    pub cnps: u64,
    /// Pause frames, which are an affair of neighbours and of which no end knows: sent, and obeyed.
    pub frames: (u64, u64),
}

/// One of the three ways of counting, line by line: sent first, then what became of it.
pub type Lines = Vec<(&'static str, u64)>;

impl Books {
    /// Notes a packet that is put in.
    #[inline]
    pub fn enter(&mut self, packet: &Packet) {
        self.sent.add(packet);
        self.cnps += matches!(packet.header, Header::Cnp) as u64;
    }

    /// Returns the books of two parts of a network together.
    pub fn plus(&self, other: &Books) -> Books {
        let mut dropped = self.dropped;
        DropReason::ALL.into_iter().for_each(|why| dropped[why] = dropped[why].plus(&other.dropped[why]));
        Books {
            sent: self.sent.plus(&other.sent),
            delivered: self.delivered.plus(&other.delivered),
            dropped,
            trimmed: self.trimmed.plus(&other.trimmed),
            cnps: self.cnps + other.cnps,
            frames: (self.frames.0 + other.frames.0, self.frames.1 + other.frames.1),
        }
    }

    /// Returns the books closed with the packets and the pause frames that are in the network now. The error says which
    /// do not balance.
    pub fn close(&self, slabs: &[&Slab], frames: u64) -> Result<[Lines; 3], String> {
        let mut in_flight = Count::default();
        let live = slabs.iter().flat_map(|slab| slab.iter_live());
        live.for_each(|RoutedPacket { packet, .. }| in_flight.add(packet));
        let (sent, obeyed) = self.frames;
        if sent != obeyed + frames {
            return Err(format!(
                "pause frames do not balance: {sent} sent, {obeyed} arrived, {frames} in flight"
            ));
        }
        let lines = |what: &str, of: fn(&Count) -> u64| {
            let mut lines = vec![("sent", of(&self.sent)), ("delivered", of(&self.delivered))];
            lines.extend(DropReason::ALL.map(|why| (why.line(), of(&self.dropped[why]))));
            // A packet that is trimmed goes on without its payload, and may be trimmed again.
            let trimmed = of(&Count { packets: 0, ..self.trimmed });
            lines.extend((trimmed > 0).then_some(("trimmed", trimmed)));
            lines.push(("in flight", of(&in_flight)));
            let accounted: u64 = lines[1..].iter().map(|(_, count)| count).sum();
            if accounted == lines[0].1 {
                Ok(lines)
            } else {
                Err(format!(
                    "{what} do not balance: {} sent, {accounted} accounted for ({lines:?})",
                    lines[0].1
                ))
            }
        };
        Ok([
            lines("packets", |count| count.packets)?,
            lines("payload bytes", |count| count.payload)?,
            lines("credits", |count| count.credits)?,
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clearway_units::Time;

    #[test]
    fn a_packet_that_vanishes_is_found_out() {
        let mut books = Books::default();
        let header = Header::Credit { number: 1, session: 1, ack: 0, echo: Time::ZERO };
        let credit = Packet::control(header, 84, Time::ZERO);
        books.enter(&credit);
        let error = books.close(&[&Slab::default()], 0).unwrap_err();
        assert!(error.starts_with("packets do not balance: 1 sent, 0 accounted for"), "{error}");
        books.dropped[DropReason::Loss].add(&credit);
        let [packets, _, credits] = books.close(&[&Slab::default()], 0).unwrap();
        assert_eq!(packets[4], ("dropped, random loss", 1));
        assert_eq!(credits[0], ("sent", 1));
    }

    #[test]
    fn payload_that_was_trimmed_is_accounted_for_and_the_packet_goes_on() {
        let mut books = Books::default();
        let mut packet = Packet::data(Header::data(0), 1460, 1538, Time::ZERO);
        books.enter(&packet);
        books.trimmed.add(&packet);
        packet.trim(84);
        books.delivered.add(&packet);
        let [packets, bytes, _] = books.close(&[&Slab::default()], 0).unwrap();
        assert!(packets.iter().all(|(line, _)| *line != "trimmed"));
        assert!(bytes.contains(&("trimmed", 1460)) && bytes[1] == ("delivered", 0));
    }

    #[test]
    fn a_pause_frame_that_vanishes_is_found_out() {
        let books = Books { frames: (2, 1), ..Books::default() };
        assert!(books.close(&[&Slab::default()], 0).is_err());
        assert!(books.close(&[&Slab::default()], 1).is_ok());
    }
}
