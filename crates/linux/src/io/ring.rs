//! A ring of packets in memory that a packet socket and we share (`PACKET_RX_RING` of packet(7)): reading it takes no system call.

use nix::errno::Errno;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

/// The bytes of a slot: its header, the address of the packet, and the first bytes of the packet.
const SLOT: usize = 256;
/// The bytes that the kernel allocates in one piece.
const BLOCK: usize = 64 << 10;
/// The places in a slot of the number of bytes that were captured (`tp_snaplen` of `struct tpacket2_hdr`), and of the place of their
/// first one (`tp_mac`).
const CAPTURED: usize = 8;
const ETHERNET: usize = 12;
/// The place of the packet's address in a slot (`TPACKET_ALIGN(sizeof(struct tpacket2_hdr))`), and of its type in that.
const ADDRESS: usize = 32;
const PACKET_TYPE: usize = 10;
/// The room for a packet: the kernel leaves 66 bytes before its Ethernet header.
#[allow(dead_code)] // Rust 1.88 does not count its use in a constant assertion.
pub(super) const PACKET_MAX: usize = SLOT - 66;

/// The numbers that libc lacks, as `linux/if_packet.h` has them.
const PACKET_RX_RING: libc::c_int = 5;
const PACKET_VERSION: libc::c_int = 10;
const TPACKET_V2: libc::c_int = 1;
const STATUS_KERNEL: u32 = 0;
const STATUS_USER: u32 = 1;

/// `struct tpacket_req`: the shape of a ring.
#[derive(Clone, Copy)]
#[repr(C)]
struct Shape {
    block_size: u32,
    blocks: u32,
    slot_size: u32,
    slots: u32,
}

/// The packets that a socket has received, from the oldest on. If the ring is full, the kernel drops what comes.
pub(super) struct Ring {
    memory: NonNull<u8>,
    slots: usize,
    next: usize,
}

impl Ring {
    /// Gives a packet socket a ring of at least `slots` packets. The socket must not be bound yet.
    pub fn new(socket: BorrowedFd<'_>, slots: usize) -> Result<Ring, Errno> {
        let blocks = (slots * SLOT).div_ceil(BLOCK);
        let len = blocks * BLOCK;
        let slots = len / SLOT;
        super::sys::set_option(socket, libc::SOL_PACKET, PACKET_VERSION, &TPACKET_V2)?;
        let shape = Shape {
            block_size: BLOCK as u32,
            blocks: blocks as u32,
            slot_size: SLOT as u32,
            slots: slots as u32,
        };
        super::sys::set_option(socket, libc::SOL_PACKET, PACKET_RX_RING, &shape)?;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: the kernel chooses the place, so no memory of ours is touched; it has `len` bytes for this socket.
        #[allow(unsafe_code)] // The standard library maps no memory.
        let memory =
            unsafe { libc::mmap(std::ptr::null_mut(), len, access, libc::MAP_SHARED, socket.as_raw_fd(), 0) };
        if memory == libc::MAP_FAILED {
            return Err(Errno::last());
        }
        let memory = NonNull::new(memory.cast()).ok_or(Errno::ENOMEM)?;
        Ok(Ring { memory, slots, next: 0 })
    }

    /// Hands up to `most` packets, each with its type (`PACKET_OUTGOING`, ...), to `packet`. Returns their number.
    pub fn read(&mut self, most: usize, mut packet: impl FnMut(&[u8], u8)) -> usize {
        for count in 0..most {
            // SAFETY: `next` is below the number of slots, so the slot lies in the mapped memory, which lives as long as
            // `self`. It begins with the status, which the kernel and we change by whole words only.
            #[allow(unsafe_code)] // The memory is the kernel's.
            let (slot, status) = unsafe {
                let slot = self.memory.add(self.next * SLOT);
                (slot, AtomicU32::from_ptr(slot.cast::<u32>().as_ptr()))
            };
            if status.load(Ordering::Acquire) & STATUS_USER == 0 {
                return count;
            }
            // SAFETY: the status says that the slot is ours, so the kernel does not write to it until the status is changed
            // below. The header is within the slot and aligned as the slot is.
            #[allow(unsafe_code)] // As above.
            let bytes = unsafe { std::slice::from_raw_parts(slot.as_ptr(), SLOT) };
            let captured = bytes[CAPTURED..].first_chunk().map_or(0, |bytes| u32::from_ne_bytes(*bytes));
            let from =
                bytes[ETHERNET..].first_chunk().map_or(SLOT, |bytes| u16::from_ne_bytes(*bytes).into());
            let to = from.saturating_add(captured as usize).min(SLOT);
            packet(bytes.get(from..to).unwrap_or_default(), bytes[ADDRESS + PACKET_TYPE]);
            status.store(STATUS_KERNEL, Ordering::Release);
            self.next = (self.next + 1) % self.slots;
        }
        most
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: this is the memory of `new`, whole, and nobody has a reference to it any more.
        #[allow(unsafe_code)] // The standard library unmaps no memory.
        unsafe {
            libc::munmap(self.memory.as_ptr().cast(), self.slots * SLOT);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::packet;
    use super::super::sys;
    use super::*;
    use nix::sys::socket::{MsgFlags, send};
    use std::cell::Cell;
    use std::os::fd::{AsFd, OwnedFd};

    const LOOPBACK: u32 = 1;
    /// EtherTypes that nobody else uses, one for each test, since all see the same loopback.
    const ORDER: u16 = 0x88b6;
    const CUT: u16 = 0xfffe;

    /// Opens a socket with a ring on the loopback; `None` where this process may not.
    fn open(ethertype: u16, slots: usize) -> Option<(OwnedFd, Ring)> {
        let ring = Cell::new(None);
        let socket = packet::open(LOOPBACK, ethertype, |socket| {
            sys::ignore_outgoing(socket)?;
            ring.set(Some(Ring::new(socket, slots)?));
            Ok(())
        });
        socket.ok().zip(ring.into_inner())
    }

    fn frame(ethertype: u16, number: u32, len: usize) -> Vec<u8> {
        let mut frame = vec![0; len];
        frame[12..14].copy_from_slice(&ethertype.to_be_bytes());
        frame[14..18].copy_from_slice(&number.to_be_bytes());
        frame
    }

    /// Sends frames with these numbers, and waits until they have come or been dropped.
    fn post(socket: &OwnedFd, ethertype: u16, numbers: std::ops::Range<u32>, len: usize) {
        for number in numbers {
            send(socket.as_fd().as_raw_fd(), &frame(ethertype, number, len), MsgFlags::empty()).unwrap();
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }

    fn read(ring: &mut Ring, most: usize) -> Vec<Vec<u8>> {
        let mut packets = Vec::new();
        let count = ring.read(most, |bytes, _| packets.push(bytes.to_vec()));
        assert_eq!(count, packets.len());
        packets
    }

    #[test]
    fn a_ring_has_packets_in_their_order_round_and_round_and_drops_what_finds_it_full() {
        let Some((socket, mut ring)) = open(ORDER, 256) else {
            return eprintln!("not tried: packet sockets need CAP_NET_RAW");
        };
        assert!(read(&mut ring, 10).is_empty());
        for round in 0..5 {
            let numbers = 100 * round..100 * round + 100;
            post(&socket, ORDER, numbers.clone(), 60);
            let mut packets = read(&mut ring, 30);
            assert_eq!(packets.len(), 30);
            packets.extend(read(&mut ring, 1_000));
            assert_eq!(packets, numbers.map(|number| frame(ORDER, number, 60)).collect::<Vec<_>>());
        }
        post(&socket, ORDER, 0..300, 60);
        let packets = read(&mut ring, 1_000);
        assert_eq!(packets, (0..256).map(|number| frame(ORDER, number, 60)).collect::<Vec<_>>());
        post(&socket, ORDER, 7..8, 60);
        assert_eq!(read(&mut ring, 1_000), [frame(ORDER, 7, 60)], "there is room again");
    }

    #[test]
    fn a_packet_is_cut_off_at_the_end_of_its_slot() {
        let Some((socket, mut ring)) = open(CUT, 256) else {
            return eprintln!("not tried: packet sockets need CAP_NET_RAW");
        };
        for len in [PACKET_MAX - 1, PACKET_MAX, PACKET_MAX + 1, 1500] {
            post(&socket, CUT, 3..4, len);
            assert_eq!(read(&mut ring, 1_000), [frame(CUT, 3, len.min(PACKET_MAX))], "{len} bytes");
        }
    }
}
