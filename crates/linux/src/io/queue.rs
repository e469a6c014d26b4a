//! NFQUEUE: the packets that the kernel holds for us.

use super::error::IoError;
use super::netlink::{Message, NF_ACCEPT, NF_DROP, Outbox, messages};
use super::sys::Batch;
use crate::datapath::{HeldId, Verdict};
use crate::wire::Segment;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, send, setsockopt, socket,
    sockopt,
};
use std::collections::HashMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// The number of packets that the kernel holds at most.
const MAX_HELD: u32 = 16_384;
/// The size of the buffers of the socket in bytes. The kernel counts about 2.5 KiB for a packet on its way to us.
const SOCKET_BUFFER: usize = 32 << 20;
/// The number of packets that are received in one call.
const BATCH: usize = 64;
/// The room for the headers of netlink around a packet in bytes.
const MESSAGE_OVERHEAD: usize = 512;
/// The number of bytes at which verdicts are sent although more follow.
const SEND_AT: usize = 48 << 10;
/// The number of buffers for packets that are kept for later ones.
const SPARE_MAX: usize = 1_024;
/// The time within which the kernel answers a configuration, in milliseconds.
const ANSWER_WITHIN_MS: u16 = 2_000;

/// What a queue counts.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct QueueCounters {
    /// Packets that the kernel held for us.
    pub held: u64,
    /// Packets that left with a changed header.
    pub stamped: u64,
    /// Packets that should have left with a changed header, and left as they were.
    pub unstamped: u64,
    /// Packets that are no TCP segments, and left at once.
    pub unreadable: u64,
    /// Times that the kernel had no room for messages to us.
    pub overruns: u64,
    /// Verdicts that the kernel refused, or that could not be sent.
    pub refused: u64,
}

/// A queue of NFQUEUE, bound by a socket.
pub(super) struct Queue {
    socket: OwnedFd,
    number: u16,
    batch: Batch,
    outbox: Outbox,
    /// The whole packets that are held, if their headers may have to change. Empty if only headers are copied to us.
    copies: HashMap<u32, Vec<u8>>,
    /// Buffers for `copies` that are not in use.
    spare: Vec<Vec<u8>>,
    /// True if whole packets are kept in `copies`.
    copying: bool,
    /// What was counted so far.
    pub counters: QueueCounters,
}

impl Queue {
    /// Binds a queue. `copied` is the number of bytes of a packet that the kernel copies to us, and `copying` tells
    /// that these are whole packets, of which some will be stamped.
    pub fn open(number: u16, copied: usize, copying: bool) -> Result<Queue, IoError> {
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        let opened = IoError::socket("cannot open a netlink socket");
        let socket = socket(AddressFamily::Netlink, SockType::Raw, flags, SockProtocol::NetlinkNetFilter)
            .map_err(&opened)?;
        let _ = setsockopt(&socket, sockopt::RcvBufForce, &SOCKET_BUFFER);
        let _ = setsockopt(&socket, sockopt::SndBufForce, &SOCKET_BUFFER);
        bind(std::os::fd::AsRawFd::as_raw_fd(&socket), &NetlinkAddr::new(0, 0)).map_err(&opened)?;
        let mut queue = Queue {
            socket,
            number,
            batch: Batch::new(BATCH, copied + MESSAGE_OVERHEAD),
            outbox: Outbox::default(),
            copies: HashMap::new(),
            spare: Vec::new(),
            copying,
            counters: QueueCounters::default(),
        };
        let failed = |errno| IoError::Queue { queue: number, errno };
        queue.outbox.bind(number, 1);
        queue.request(1).map_err(failed)?;
        queue.outbox.configure(number, 2, copied as u32, MAX_HELD);
        queue.request(2).map_err(failed)?;
        Ok(queue)
    }

    pub fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Sends what is in the outbox and waits for the answer. Packets that are held meanwhile leave as they are.
    fn request(&mut self, sequence: u32) -> Result<(), Errno> {
        send(std::os::fd::AsRawFd::as_raw_fd(&self.socket), self.outbox.bytes(), MsgFlags::empty())?;
        self.outbox.clear();
        let mut answer = None;
        while answer.is_none() {
            let ready = poll(
                &mut [PollFd::new(self.socket.as_fd(), PollFlags::POLLIN)],
                PollTimeout::from(ANSWER_WITHIN_MS),
            );
            match ready {
                Ok(0) => return Err(Errno::ETIMEDOUT),
                Ok(_) => {}
                Err(Errno::EINTR) => continue,
                Err(errno) => return Err(errno),
            }
            match self.batch.receive(self.socket.as_fd()) {
                Ok(_) => {}
                Err(Errno::EINTR | Errno::EAGAIN | Errno::ENOBUFS) => continue,
                Err(errno) => return Err(errno),
            }
            for (bytes, _) in self.batch.packets() {
                for message in messages(bytes) {
                    match message {
                        Message::Answer { sequence: of, error } if of == sequence => answer = Some(error),
                        Message::Packet { id, .. } => self.outbox.verdict(self.number, id, NF_ACCEPT, None),
                        _ => {}
                    }
                }
            }
            self.flush();
        }
        match answer {
            Some(0) | None => Ok(()),
            Some(error) => Err(Errno::from_raw(error)),
        }
    }

    /// Receives packets that the kernel holds, and hands each to `held`. Returns true if more may be waiting. Packets
    /// that hold no TCP header leave as they are.
    pub fn receive(&mut self, mut held: impl FnMut(HeldId, &Segment)) -> Result<bool, Errno> {
        let received = match self.batch.receive(self.socket.as_fd()) {
            Ok(received) => received,
            Err(Errno::EAGAIN) => return Ok(false),
            Err(Errno::EINTR) => return Ok(true),
            Err(Errno::ENOBUFS) => {
                self.counters.overruns += 1;
                return Ok(true);
            }
            Err(errno) => return Err(errno),
        };
        for (bytes, _) in self.batch.packets() {
            for message in messages(bytes) {
                match message {
                    Message::Packet { id, payload } => match Segment::parse(payload) {
                        Ok(segment) => {
                            self.counters.held += 1;
                            if self.copying && payload.len() == usize::from(segment.ip_len) {
                                let mut copy = self.spare.pop().unwrap_or_default();
                                copy.extend_from_slice(payload);
                                self.copies.insert(id.0, copy);
                            }
                            held(id, &segment);
                        }
                        Err(_) => {
                            self.counters.unreadable += 1;
                            self.outbox.verdict(self.number, id, NF_ACCEPT, None);
                        }
                    },
                    Message::Answer { error, .. } if error != 0 => self.counters.refused += 1,
                    Message::Answer { .. } | Message::Other => {}
                }
            }
        }
        Ok(received == BATCH)
    }

    /// Writes a verdict, which [`Queue::flush`] sends.
    pub fn verdict(&mut self, id: HeldId, verdict: Verdict) {
        let mut copy = if self.copying { self.copies.remove(&id.0) } else { None };
        match verdict {
            Verdict::Accept => self.outbox.verdict(self.number, id, NF_ACCEPT, None),
            Verdict::Drop => self.outbox.verdict(self.number, id, NF_DROP, None),
            Verdict::Stamped(stamp) => {
                match copy.as_mut().and_then(|copy| stamp.apply(copy).then_some(copy)) {
                    Some(copy) => {
                        self.counters.stamped += 1;
                        self.outbox.verdict(self.number, id, NF_ACCEPT, Some(copy));
                    }
                    None => {
                        self.counters.unstamped += 1;
                        self.outbox.verdict(self.number, id, NF_ACCEPT, None);
                    }
                }
            }
        }
        if let Some(mut copy) = copy
            && self.spare.len() < SPARE_MAX
        {
            copy.clear();
            self.spare.push(copy);
        }
        if self.outbox.bytes().len() >= SEND_AT {
            self.flush();
        }
    }

    /// Sends the verdicts that were written.
    pub fn flush(&mut self) {
        while !self.outbox.bytes().is_empty() {
            match send(std::os::fd::AsRawFd::as_raw_fd(&self.socket), self.outbox.bytes(), MsgFlags::empty())
            {
                Err(Errno::EINTR) => continue,
                Ok(_) => {}
                Err(_) => self.counters.refused += 1,
            }
            self.outbox.clear();
        }
    }
}

/// The kernel drops the packets of a queue that ends; so those that came after the last look leave before.
impl Drop for Queue {
    fn drop(&mut self) {
        let mut held = Vec::new();
        while matches!(self.receive(|id, _| held.push(id)), Ok(true)) {}
        for id in held {
            self.verdict(id, Verdict::Accept);
        }
        self.flush();
    }
}
