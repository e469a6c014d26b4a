//! Priority flow control (IEEE 802.1Qbb): the memory of a switch, counted by where packets came from, and when to
//! stop who sent them.
//!
//! Bytes that wait count against the link (and class) by which they came. Each has a small reserve of its own, then
//! takes from what all share, up to a dynamic threshold. Above it the switch asks the other end of the link to
//! pause; what arrives until that takes effect goes to the link's headroom. So nothing is lost as long as the
//! headroom covers what can be under way: [`headroom`].

use crate::endpoint::Framing;
use clearway_units::{Bytes, Rate, Span};

/// Size on the wire of a pause frame: 64 bytes, preamble and gap.
pub const PAUSE_WIRE: u32 = 84;

/// What can arrive by a link after its switch decided to stop it: twice the delay's worth of bytes, the frame that
/// is just leaving towards the other end and delays the pause frame, the pause frame, the frame that the other end
/// has just begun, the one that crossed the threshold, and what the other end sends between the arrival of the pause
/// frame and its obeying it, which takes `response`.
///
/// `stamp`: bytes that data packets carry besides payload and the network's headers.
pub fn headroom(rate: Rate, delay: Span, framing: Framing, stamp: u32, response: Span) -> Bytes {
    let frames = 3 * (framing.wire_max() + stamp) as u64 + PAUSE_WIRE as u64;
    Bytes::new(rate.bytes_in(delay * 2 + response).get() + 1 + frames)
}

/// Settings of the flow control of a switch.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PfcConfig {
    /// A class of a link may hold this share of the free memory before it is stopped, at the slowest port; more at
    /// faster ones in proportion to their rate.
    pub alpha: f64,
    /// Memory of its own for each class of each link.
    pub reserve: Bytes,
    /// The other end may go on once so much less than the threshold is held.
    pub resume_offset: Bytes,
    /// Time from the arrival of a pause frame at a port until the port obeys it.
    pub response: Span,
}

impl PfcConfig {
    /// The HPCC authors': an eighth of what is free, 4 KiB of reserve, on again 3 KiB below, and obeyed at once.
    pub const DEFAULT: PfcConfig = PfcConfig {
        alpha: 0.125,
        reserve: Bytes::new(4096),
        resume_offset: Bytes::new(3072),
        response: Span::ZERO,
    };
}

/// What one class of one link holds.
#[derive(Clone, Copy, Default, Debug)]
pub struct Ingress {
    /// Held in the reserve and in what is shared.
    held: u64,
    /// Held in the headroom.
    over: u64,
    /// The headroom.
    headroom: u64,
    /// The share of the free memory that it may take.
    alpha: f64,
}

impl Ingress {
    /// One with this headroom that may take `alpha` times what is free.
    pub fn new(headroom: Bytes, alpha: f64) -> Ingress {
        Ingress { held: 0, over: 0, headroom: headroom.get(), alpha }
    }

    /// Bytes held.
    pub fn bytes(&self) -> u64 {
        self.held + self.over
    }
}

/// The memory of a switch.
#[derive(Clone, Copy, Debug)]
pub struct PfcMemory {
    /// Memory without all headrooms and reserves.
    size: u64,
    /// Held of that.
    used: u64,
    reserve: u64,
    resume_offset: u64,
}

impl PfcMemory {
    /// An empty memory of `size` bytes, of which `apart` belong to headrooms and reserves.
    pub fn new(config: &PfcConfig, size: Bytes, apart: Bytes) -> PfcMemory {
        PfcMemory {
            size: size.get().saturating_sub(apart.get()),
            used: 0,
            reserve: config.reserve.get(),
            resume_offset: config.resume_offset.get(),
        }
    }

    /// Bytes of the shared part that are free.
    pub fn free(&self) -> u64 {
        self.size.saturating_sub(self.used)
    }

    /// Bytes of the shared part that are held.
    pub fn used(&self) -> u64 {
        self.used
    }

    /// Bytes that `ingress` may take of what is shared.
    fn threshold(&self, ingress: &Ingress) -> u64 {
        (self.free() as f64 * ingress.alpha) as u64
    }

    fn shared(&self, ingress: &Ingress) -> u64 {
        ingress.held.saturating_sub(self.reserve)
    }

    /// Takes a packet of `wire` bytes in. False: there is no room, not even in the headroom.
    #[must_use]
    pub fn admit(&mut self, ingress: &mut Ingress, wire: u64) -> bool {
        let shared = (ingress.held + wire).saturating_sub(self.reserve);
        if ingress.over == 0 && shared <= self.threshold(ingress) {
            self.used += shared - self.shared(ingress);
            ingress.held += wire;
            return true;
        }
        let fits = ingress.over + wire <= ingress.headroom;
        ingress.over += if fits { wire } else { 0 };
        fits
    }

    /// A packet of `wire` bytes leaves: first what is in the headroom counts as gone.
    pub fn release(&mut self, ingress: &mut Ingress, wire: u64) {
        let over = ingress.over.min(wire);
        ingress.over -= over;
        let before = self.shared(ingress);
        ingress.held -= wire - over;
        self.used -= before - self.shared(ingress);
    }

    /// Takes in bytes that no flow control protects. False: there is no room.
    #[must_use]
    pub fn admit_lossy(&mut self, wire: u64) -> bool {
        let fits = wire <= self.free();
        self.used += if fits { wire } else { 0 };
        fits
    }

    /// Such bytes leave.
    pub fn release_lossy(&mut self, wire: u64) {
        self.used -= wire;
    }

    /// Whether the other end must stop.
    pub fn must_pause(&self, ingress: &Ingress) -> bool {
        ingress.over > 0 || self.shared(ingress) > 0 && self.shared(ingress) >= self.threshold(ingress)
    }

    /// Whether an end that was stopped may go on.
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
        // 100 Gbps and 1 us: 25,000 bytes under way, three frames of 1538.
        let (rate, delay) = (Rate::gbps(100), Span::from_us(1));
        let room = |stamp, ns| headroom(rate, delay, Framing::ETHERNET, stamp, Span::from_ns(ns)).get();
        assert_eq!(room(0, 0), 25_000 + 1 + 3 * 1538 + 84);
        assert_eq!(room(42, 0), room(0, 0) + 3 * 42);
        // 802.3's bound at 100 Gbps: 394 quanta of 512 bits, 2.0173 us (docs/flow-control.md).
        assert_eq!(room(0, 2018), room(0, 0) + 25_225);
    }

    #[test]
    fn a_link_is_stopped_at_an_eighth_of_what_is_free_and_goes_on_three_kilobytes_below() {
        let mut memory = memory(900_000);
        let mut link = Ingress::new(Bytes::new(10_000), 0.125);
        let mut taken = 0;
        while !memory.must_pause(&link) {
            assert!(memory.admit(&mut link, 1000));
            taken += 1000;
        }
        // Beside the reserve x of the shared part with x >= (900,000 - x) / 8: 100,000; so 104,096 rounded up to a
        // packet, of which the last no longer fits below the threshold.
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
    fn a_full_headroom_refuses_and_changes_nothing() {
        let mut memory = memory(0);
        let mut link = Ingress::new(Bytes::new(2500), 0.125);
        assert!(memory.admit(&mut link, 4000), "the reserve");
        assert!(memory.admit(&mut link, 2000) && !memory.admit(&mut link, 1000));
        assert_eq!(link.bytes(), 6000);
    }

    proptest! {
        #[test]
        fn what_comes_in_goes_out_and_the_memory_is_empty_again(
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
