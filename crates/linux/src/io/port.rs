//! The packet socket of a switch's port, which receives and sends whole frames of all kinds.

use super::error::IoError;
use super::nic::{LinkState, Nic};
use super::packet::{Received, open, receive};
use super::sys::{self, Batch};
use crate::wire::MacAddr;
use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, send};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// The frames that are received in one call.
const BATCH: usize = 64;
/// The number by which a packet socket names every EtherType (`ETH_P_ALL`).
const EVERY_TYPE: u16 = 3;

/// A port of a switch in user space.
pub struct PortSocket {
    nic: Nic,
    socket: OwnedFd,
    batch: Batch,
    /// Frames that the kernel did not take.
    pub unsent: u64,
}

impl PortSocket {
    /// Opens the socket of a NIC, for frames of up to `frame_max` bytes; longer ones are cut off one byte later.
    pub fn open(name: &str, frame_max: usize) -> Result<PortSocket, IoError> {
        let nic = Nic::open(name)?;
        let socket = open(nic.index(), EVERY_TYPE, |socket| {
            sys::bypass_qdisc(socket)?;
            sys::promiscuous(socket, nic.index())?;
            sys::ignore_outgoing(socket)
        })?;
        Ok(PortSocket { nic, socket, batch: Batch::new(BATCH, frame_max + 1), unsent: 0 })
    }

    /// Returns the file descriptor, to wait for frames.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Returns the Ethernet address of the NIC.
    pub fn address(&self) -> Result<MacAddr, IoError> {
        self.nic.address()
    }

    /// Returns true if frames can pass.
    pub fn is_up(&self) -> bool {
        matches!(self.nic.state(), Ok(LinkState::Up))
    }

    /// Receives some of the frames that have arrived, and hands each to `frame`. Returns true if more may wait.
    pub fn receive(&mut self, mut frame: impl FnMut(&[u8])) -> Result<bool, IoError> {
        let failed = IoError::socket("cannot receive from a port");
        let received = receive(&mut self.batch, self.socket.as_fd()).map_err(failed)?;
        for (bytes, kind) in self.batch.packets() {
            if kind != libc::PACKET_OUTGOING {
                frame(bytes);
            }
        }
        Ok(received == Received::More)
    }

    /// Sends a frame. One that the kernel does not take is lost, as on a link.
    pub fn send(&mut self, frame: &[u8]) {
        loop {
            match send(self.socket.as_raw_fd(), frame, MsgFlags::MSG_DONTWAIT) {
                Err(Errno::EINTR) => {}
                result => {
                    self.unsent += u64::from(result.is_err());
                    return;
                }
            }
        }
    }
}
