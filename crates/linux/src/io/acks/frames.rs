//! The frames that are held in the daemon's memory, and the socket that sends them.

use crate::datapath::{HeldId, Verdict};
use crate::io::error::IoError;
use crate::io::nic::Nic;
use crate::io::{packet, sys};
use crate::wire::complete_tcp;
use nix::errno::Errno;
use nix::sys::socket::{setsockopt, sockopt};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// The length of the Ethernet header, and of the longest frame that is held: with headers of IPv4 and TCP at their longest.
pub(super) const ETHERNET_LEN: usize = 14;
pub(super) const FRAME_MAX: usize = ETHERNET_LEN + 60 + 60;

/// A frame that is held.
#[derive(Clone, Copy)]
struct Slot {
    bytes: [u8; FRAME_MAX],
    len: u8,
}

/// What is held, by its number, and what leaves next.
#[derive(Default)]
pub(super) struct Frames {
    slots: Vec<Slot>,
    /// The slots that hold nothing.
    free: Vec<u32>,
    /// The slots whose frames leave, in their order.
    leaving: Vec<u32>,
    pub counters: Counters,
}

/// What happened to frames.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Counters {
    /// Frames that were taken.
    pub held: u64,
    /// Frames that were sent.
    pub sent: u64,
    /// Frames that the kernel did not take.
    pub unsent: u64,
    /// Frames that could not be read, and left at once.
    pub unreadable: u64,
}

impl Frames {
    /// Keeps a frame until [`Frames::verdict`]. The kernel may have left its checksum to the NIC, so it gets one.
    pub fn hold(&mut self, frame: &[u8]) -> HeldId {
        self.counters.held += 1;
        let at = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot { bytes: [0; FRAME_MAX], len: 0 });
            (self.slots.len() - 1) as u32
        });
        let slot = &mut self.slots[at as usize];
        let len = frame.len().min(FRAME_MAX);
        slot.bytes[..len].copy_from_slice(&frame[..len]);
        slot.len = len as u8;
        let _ = slot.bytes[..len].get_mut(ETHERNET_LEN..).and_then(complete_tcp);
        HeldId(at)
    }

    /// Lets a frame leave that the datapath can't read.
    pub fn pass(&mut self, frame: &[u8]) {
        self.counters.unreadable += 1;
        let id = self.hold(frame);
        self.verdict(id, Verdict::Accept);
    }

    /// Carries out the verdict on a frame that is held. Frames leave with [`Frames::send`].
    pub fn verdict(&mut self, id: HeldId, verdict: Verdict) {
        match verdict {
            Verdict::Drop => self.free.push(id.0),
            // An acknowledgement has no field that a credit could stamp.
            Verdict::Accept | Verdict::Stamped(_) => self.leaving.push(id.0),
        }
    }

    /// Sends what leaves by a socket. A frame that the kernel doesn't take is lost, as on a link.
    pub fn send(&mut self, socket: BorrowedFd<'_>) {
        let mut left = &self.leaving[..];
        while !left.is_empty() {
            let bytes =
                |at: &u32| self.slots.get(*at as usize).map(|slot| &slot.bytes[..usize::from(slot.len)]);
            let done = match sys::send_frames(socket, left.iter().filter_map(bytes)) {
                Ok(sent) => {
                    self.counters.sent += sent as u64;
                    sent.max(1)
                }
                Err(Errno::EINTR) => 0,
                Err(_) => {
                    self.counters.unsent += 1;
                    1
                }
            };
            left = &left[done..];
        }
        self.free.append(&mut self.leaving);
    }

    /// Returns the number of frames that are held or leave.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Returns a frame that is held.
    #[cfg(test)]
    pub fn frame(&self, id: HeldId) -> &[u8] {
        let slot = &self.slots[id.0 as usize];
        &slot.bytes[..usize::from(slot.len)]
    }
}

/// Opens the socket that sends frames to a NIC, with a mark that the programs let pass. It receives nothing.
pub(super) fn open(nic: &Nic, mark: u32) -> Result<OwnedFd, IoError> {
    let socket = packet::open(nic.index(), 0, |_| Ok(()))?;
    setsockopt(&socket.as_fd(), sockopt::Mark, &mark)
        .map_err(IoError::socket("cannot mark the packets of a socket"))?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::samples::{Packet, key};

    fn frame(number: u32) -> Vec<u8> {
        Packet::answer(key(false), number, 500).frame()
    }

    #[test]
    fn a_number_names_its_frame_until_the_verdict_and_another_one_after_it() {
        let mut frames = Frames::default();
        let ids: Vec<HeldId> = (0..3).map(|number| frames.hold(&frame(number))).collect();
        assert_eq!(ids, [HeldId(0), HeldId(1), HeldId(2)]);
        frames.verdict(ids[1], Verdict::Drop);
        assert_eq!(frames.hold(&frame(9)), HeldId(1), "room is used again");
        assert_eq!((frames.frame(HeldId(1)), frames.frame(HeldId(2))), (&frame(9)[..], &frame(2)[..]));
        frames.verdict(ids[0], Verdict::Accept);
        assert_eq!(frames.hold(&frame(10)), HeldId(3), "what leaves has its room until it has left");
        assert_eq!((frames.len(), frames.counters.held), (4, 5));
    }

    #[test]
    fn frames_leave_in_the_order_of_their_verdicts_with_their_mark_and_make_room() {
        let Ok(nic) = Nic::open("lo") else { return };
        let Ok(socket) = open(&nic, 0x77) else {
            return eprintln!("not tried: packet sockets need CAP_NET_RAW");
        };
        let heard = packet::open(nic.index(), 0x0800, sys::ignore_outgoing).expect("a socket that hears");
        let mut frames = Frames::default();
        let ids: Vec<HeldId> = (0..150).map(|number| frames.hold(&frame(number))).collect();
        for id in ids.iter().rev() {
            let verdict = if id.0 % 3 == 0 { Verdict::Drop } else { Verdict::Accept };
            frames.verdict(*id, verdict);
        }
        frames.send(socket.as_fd());
        std::thread::sleep(std::time::Duration::from_millis(20));
        let mut buffer = [0; 200];
        let mut came = Vec::new();
        while let Ok(len) = nix::sys::socket::recv(
            std::os::fd::AsRawFd::as_raw_fd(&heard),
            &mut buffer,
            nix::sys::socket::MsgFlags::MSG_DONTWAIT,
        ) {
            // Other tests use the loopback too.
            came.extend((0..150).find(|number| frame(*number) == buffer[..len]));
        }
        let sent: Vec<u32> = (0..150).rev().filter(|number| number % 3 != 0).collect();
        assert_eq!(came, sent);
        assert_eq!((frames.counters.sent, frames.counters.unsent, frames.len()), (100, 0, 0));
        assert_eq!(nix::sys::socket::getsockopt(&socket, sockopt::Mark).expect("the mark"), 0x77);
    }
}
