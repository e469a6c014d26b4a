//! Priority flow control (PFC, IEEE 802.1Qbb): the accounting of a switch's memory by incoming link, and the decision
//! to pause and resume those links.
//!
//! Bytes that wait in the switch count against the class of the link by which they came. Each class of a link has a
//! small reserve of its own, and beyond it uses the shared memory up to a dynamic threshold. Above the threshold the
//! switch asks the other end of the link to pause, and the bytes that arrive until that takes effect go to the
//! headroom. No packet is lost as long as the headroom covers the bytes that can be under way ([`headroom`]).

use crate::endpoint::Framing;
use clearway_units::{Bytes, Rate, Span};
use serde::{Deserialize, Serialize};

/// The size of a pause frame on the wire, in bytes: 64 bytes, preamble and gap.
pub const PAUSE_WIRE: u32 = 84;

/// Returns the bytes that can arrive by a link after its switch has decided to pause it. They are the sum of the bytes
/// of two propagation delays, a frame that delays the pause frame at the switch, the pause frame, a frame that the
/// other end has just begun, the frame that crossed the threshold, and the bytes that the other end sends during
/// `response`, the time from the arrival of the pause frame until it is obeyed.
///
/// `stamp` is the number of bytes that data packets carry besides payload and the network's headers.
pub fn headroom(rate: Rate, delay: Span, framing: Framing, stamp: u32, response: Span) -> Bytes {
    let frames = 3 * (framing.wire_max() + stamp) as u64 + PAUSE_WIRE as u64;
    Bytes::new(rate.bytes_in(delay * 2 + response).get() + 1 + frames)
}

/// The settings of a switch's flow control.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PfcConfig {
    /// The share of the free memory that a class of a link may hold before it is paused, at the slowest port. At faster
    /// ports the share is larger in proportion to their rate.
    pub alpha: f64,
    /// The memory reserved for each class of each link.
    pub reserve: Bytes,
    /// The amount below the threshold at which the other end may resume.
    pub resume_offset: Bytes,
    /// The time from the arrival of a pause frame at a port until the port obeys it.
    pub response: Span,
}

impl PfcConfig {
    /// The settings of HPCC's authors: an eighth of the free memory, a reserve of 4 KiB, resumption 3 KiB below the
    /// threshold, and pause frames obeyed at once.
    pub const DEFAULT: PfcConfig = PfcConfig {
        alpha: 0.125,
        reserve: Bytes::new(4096),
        resume_offset: Bytes::new(3072),
        response: Span::ZERO,
    };
}

/// The memory that the packets of one class of one incoming link hold.
#[derive(Clone, Copy, Default, Debug, Serialize, Deserialize)]
pub struct Ingress {
    /// The bytes held in the reserve and in the shared memory.
    held: u64,
    /// The bytes held in the headroom.
    over: u64,
    /// The size of the headroom, in bytes.
    headroom: u64,
    /// The share of the free memory that this class may hold.
    alpha: f64,
}

impl Ingress {
    /// Makes the account of a class that has this headroom and may hold `alpha` times the free memory.
    pub fn new(headroom: Bytes, alpha: f64) -> Ingress {
        Ingress { held: 0, over: 0, headroom: headroom.get(), alpha }
    }

    /// Returns the bytes held.
    pub fn bytes(&self) -> u64 {
        self.held + self.over
    }
}

/// The shared memory of a switch.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct PfcMemory {
    /// The size of the shared memory, in bytes: all memory but headrooms and reserves.
    size: u64,
    /// The bytes held of it.
    used: u64,
    reserve: u64,
    resume_offset: u64,
}

impl PfcMemory {
    /// Makes an empty memory of `size` bytes, of which `apart` belong to headrooms and reserves.
    pub fn new(config: &PfcConfig, size: Bytes, apart: Bytes) -> PfcMemory {
        PfcMemory {
            size: size.get().saturating_sub(apart.get()),
            used: 0,
            reserve: config.reserve.get(),
            resume_offset: config.resume_offset.get(),
        }
    }

    /// Returns the free bytes of the shared memory.
    pub fn free(&self) -> u64 {
        self.size.saturating_sub(self.used)
    }

    /// Returns the held bytes of the shared memory.
    pub fn used(&self) -> u64 {
        self.used
    }

    /// Returns the bytes of the shared memory that `ingress` may hold.
    fn threshold(&self, ingress: &Ingress) -> u64 {
        // Through signed numbers, which take one instruction each way; those of the whole range of 64 bits take several.
        (self.free() as i64 as f64 * ingress.alpha) as i64 as u64
    }

    /// Returns the bytes of the shared memory that `ingress` holds.
    fn shared(&self, ingress: &Ingress) -> u64 {
        ingress.held.saturating_sub(self.reserve)
    }

    /// Admits a packet of `wire` bytes. Returns false if there is no room, not even in the headroom.
    #[must_use]
    pub fn admit(&mut self, ingress: &mut Ingress, wire: u64) -> bool {
        let shared = (ingress.held + wire).saturating_sub(self.reserve);
        // Within the reserve, where most packets find room, no threshold counts.
        if ingress.over == 0 && (shared == 0 || shared <= self.threshold(ingress)) {
            self.used += shared - self.shared(ingress);
            ingress.held += wire;
            return true;
        }
        let fits = ingress.over + wire <= ingress.headroom;
        ingress.over += if fits { wire } else { 0 };
        fits
    }

    /// Releases the memory of a packet of `wire` bytes that leaves, the headroom first.
    pub fn release(&mut self, ingress: &mut Ingress, wire: u64) {
        let over = ingress.over.min(wire);
        ingress.over -= over;
        let before = self.shared(ingress);
        ingress.held -= wire - over;
        self.used -= before - self.shared(ingress);
    }

    /// Admits a packet of a class without flow control. Returns false if there is no room.
    #[must_use]
    pub fn admit_lossy(&mut self, wire: u64) -> bool {
        let fits = wire <= self.free();
        self.used += if fits { wire } else { 0 };
        fits
    }

    /// Releases the memory of a packet of a class without flow control.
    pub fn release_lossy(&mut self, wire: u64) {
        self.used -= wire;
    }

    /// Returns true if the other end of the link must pause.
    pub fn must_pause(&self, ingress: &Ingress) -> bool {
        ingress.over > 0 || self.shared(ingress) > 0 && self.shared(ingress) >= self.threshold(ingress)
    }

    /// Returns true if an end that was paused may resume.
    pub fn may_resume(&self, ingress: &Ingress) -> bool {
        let shared = self.shared(ingress);
        ingress.over == 0 && (shared == 0 || shared + self.resume_offset <= self.threshold(ingress))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn memory(size: u64) -> PfcMemory {
        PfcMemory::new(&PfcConfig::DEFAULT, Bytes::new(size), Bytes::ZERO)
    }

    #[test]
    fn the_headroom_covers_two_delays_three_frames_and_the_pause_frame() {
        // At 100 Gbps and 1 us there are 25,000 bytes under way, and three frames of 1538.
        let (rate, delay) = (Rate::gbps(100), Span::from_us(1));
        let room = |stamp, ns| headroom(rate, delay, Framing::ETHERNET, stamp, Span::from_ns(ns)).get();
        assert_eq!(room(0, 0), 25_000 + 1 + 3 * 1538 + 84);
        assert_eq!(room(42, 0), room(0, 0) + 3 * 42);
        // 802.3's bound at 100 Gbps: 394 quanta of 512 bits, 2.0173 us (docs/explanation/pfc.md).
        assert_eq!(room(0, 2018), room(0, 0) + 25_225);
    }

    #[test]
    fn a_link_is_paused_at_an_eighth_of_the_free_memory_and_resumes_three_kilobytes_below() {
        let mut memory = memory(900_000);
        let mut link = Ingress::new(Bytes::new(10_000), 0.125);
        let mut taken = 0;
        while !memory.must_pause(&link) {
            assert!(memory.admit(&mut link, 1000));
            taken += 1000;
        }
        // The threshold is reached at x = (900,000 - x) / 8 = 100,000 shared bytes, so at 104,096 with the reserve,
        // rounded up to a packet. The last packet does not fit below the threshold and goes to the headroom.
        assert_eq!((taken, link.over), (105_000, 1000));
        memory.release(&mut link, 1000);
        assert!(!memory.may_resume(&link), "at the threshold");
        for _ in 0..2 {
            memory.release(&mut link, 1000);
            assert!(!memory.may_resume(&link));
        }
        memory.release(&mut link, 1000);
        assert!(memory.may_resume(&link), "98,904 + 3,072 are below 100,137");
    }

    #[test]
    fn at_exactly_the_threshold_a_packet_is_admitted_and_the_link_is_paused() {
        // The threshold is half of 2,000 free bytes; the reserve of 4,096 is not shared.
        for (wire, over) in [(4096 + 1000, 0), (4096 + 1001, 4096 + 1001)] {
            let (mut memory, mut link) = (memory(2000), Ingress::new(Bytes::new(10_000), 0.5));
            assert!(memory.admit(&mut link, wire));
            assert_eq!(link.over, over, "{wire}");
        }
        // With 1,000 bytes held, 1,000 of 2,000 are free, and 1,001 of 2,001.
        for (size, pauses) in [(2000, true), (2001, false)] {
            let (mut memory, mut link) = (memory(size), Ingress::new(Bytes::new(10_000), 1.0));
            assert!(memory.admit(&mut link, 4096 + 1000));
            assert_eq!(memory.must_pause(&link), pauses, "{size}");
        }
        // 3,464 + 3,072 are the 6,536 bytes that are free.
        for (held, resumes) in [(3464, true), (3465, false)] {
            let (mut memory, mut link) = (memory(10_000), Ingress::new(Bytes::new(10_000), 1.0));
            assert!(memory.admit(&mut link, 4096 + held));
            assert_eq!(memory.may_resume(&link), resumes, "{held}");
        }
    }

    #[test]
    fn a_packet_that_a_full_headroom_refuses_changes_no_account() {
        let mut memory = memory(0);
        let mut link = Ingress::new(Bytes::new(2500), 0.125);
        assert!(memory.admit(&mut link, 4000), "the reserve");
        assert!(memory.admit(&mut link, 2000) && !memory.admit(&mut link, 1000));
        assert_eq!(link.bytes(), 6000);
    }

    proptest! {
        #[test]
        fn admitted_packets_release_all_their_memory(
            steps in prop::collection::vec((0usize..3, 64u64..1600, any::<bool>()), 1..400)
        ) {
            let mut memory = memory(200_000);
            let mut links = [Ingress::new(Bytes::new(30_000), 0.125); 3];
            let mut inside: [Vec<u64>; 3] = Default::default();
            for (link, wire, comes) in steps {
                if comes {
                    if memory.admit(&mut links[link], wire) { inside[link].push(wire) }
                } else if let Some(wire) = inside[link].pop() {
                    memory.release(&mut links[link], wire);
                }
                prop_assert_eq!(links[link].bytes(), inside[link].iter().sum::<u64>());
                let shared: u64 = links.iter().map(|link| link.held.saturating_sub(4096)).sum();
                prop_assert_eq!(memory.used, shared);
                prop_assert!(memory.used <= 200_000);
            }
            for link in 0..3 {
                inside[link].drain(..).for_each(|wire| memory.release(&mut links[link], wire));
            }
            prop_assert_eq!(memory.used, 0);
        }
    }
}
