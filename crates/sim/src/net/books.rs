//! Double-entry books of packets, payload and credits: nothing appears or vanishes.

use super::slab::{Slab, Slot};
use clearway_proto::{Header, Packet};

/// Why a packet was dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(usize)]
pub enum Drop {
    /// The queue was full.
    Buffer = 0,
    /// A credit found the credit queue full: the normal fate of excess credits.
    Credit = 1,
    /// The link lost it.
    Loss = 2,
    /// The link was down.
    Down = 3,
}

/// Names of the reasons, in order.
pub const DROP_NAMES: [&str; 4] =
    ["dropped, buffer", "dropped, credit limit", "dropped, random loss", "dropped, link down"];

/// Something counted three ways.
#[derive(Clone, Copy, Default, Debug)]
pub struct Count {
    /// All packets.
    pub packets: u64,
    /// Bytes of flows in them.
    pub payload: u64,
    /// Credits among them.
    pub credits: u64,
}

impl Count {
    /// Adds a packet.
    #[inline]
    pub fn add(&mut self, packet: &Packet) {
        self.packets += 1;
        self.payload += packet.payload() as u64;
        self.credits += packet.is_credit() as u64;
    }
}

/// What the ends put into the network and what became of it.
#[derive(Clone, Copy, Default, Debug)]
pub struct Books {
    /// Put in by an end.
    pub sent: Count,
    /// Handed to an end.
    pub delivered: Count,
    /// Dropped, by reason.
    pub dropped: [Count; 4],
    /// Pause frames sent and arrived: neighbours' affair, of which no end knows.
    pub frames: [u64; 2],
}

/// One of the three ways of counting, with its lines: sent first, then what became of it.
pub type Lines = Vec<(&'static str, u64)>;

impl Books {
    /// The books closed with what is in the network now. The error says which do not balance.
    pub fn close(&self, slab: &Slab) -> Result<[Lines; 3], String> {
        let (mut in_flight, mut frames) = (Count::default(), 0);
        for Slot { packet, .. } in slab.iter_live() {
            match packet.header {
                Header::Pause { .. } => frames += 1,
                _ => in_flight.add(packet),
            }
        }
        let [sent, arrived] = self.frames;
        if sent != arrived + frames {
            return Err(format!(
                "pause frames do not balance: {sent} sent, {arrived} arrived, {frames} in flight"
            ));
        }
        let lines = |what: &str, of: fn(&Count) -> u64| {
            let mut lines = vec![("sent", of(&self.sent)), ("delivered", of(&self.delivered))];
            lines.extend(DROP_NAMES.iter().zip(&self.dropped).map(|(name, count)| (*name, of(count))));
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
