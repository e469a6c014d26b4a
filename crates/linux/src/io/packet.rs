//! Packet sockets: one for control frames, and one that sees the headers of TCP segments that pass, unless programs at the NIC tell of
//! these.

use super::error::IoError;
use super::filter;
use super::nic::Nic;
use super::pass::heard::Heard;
use super::ring::{PACKET_MAX, Ring};
use super::sys;
use super::sys::Batch;
use crate::datapath::{Direction, FRAME_MAX, Frame, Link};
use crate::wire::{Carrier, ETHERTYPE, MacAddr, Segment};
use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockType, SockaddrIn, SockaddrIn6, SockaddrLike, bind, getsockopt,
    recv, setsockopt, socket, sockopt,
};
use std::cell::Cell;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

const SOCKET_BUFFER: usize = 8 << 20;
const BATCH: usize = 64;
/// The packets that wait in a ring at most: of frames, and of segments that were seen. They take 4 and 8 MB.
const FRAMES_MAX: usize = 16_384;
const SEEN_MAX: usize = 32_768;
const _: () = assert!(PACKET_MAX >= FRAME_MAX + 4 && PACKET_MAX >= filter::SNAP_LEN as usize);
/// The number by which a packet socket names every EtherType (`ETH_P_ALL`).
const EVERY_TYPE: u16 = 3;
const ETHERNET_LEN: usize = 14;

pub(super) fn open(
    index: u32,
    ethertype: u16,
    prepare: impl Fn(BorrowedFd<'_>) -> Result<(), Errno>,
) -> Result<OwnedFd, IoError> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let failed = IoError::socket("cannot open a packet socket");
    // The socket hears nothing before it is bound, so its filter is there from the first packet on.
    let socket = socket(AddressFamily::Packet, SockType::Raw, flags, None).map_err(&failed)?;
    let _ = setsockopt(&socket, sockopt::RcvBufForce, &SOCKET_BUFFER);
    let _ = setsockopt(&socket, sockopt::SndBufForce, &SOCKET_BUFFER);
    prepare(socket.as_fd()).map_err(&failed)?;
    sys::bind_packet(socket.as_fd(), index, ethertype).map_err(&failed)?;
    Ok(socket)
}

/// Opens a packet socket whose packets come by a ring of so many slots.
fn open_with_ring(
    index: u32,
    ethertype: u16,
    slots: usize,
    prepare: impl Fn(BorrowedFd<'_>) -> Result<(), Errno>,
) -> Result<(OwnedFd, Ring), IoError> {
    let ring = Cell::new(None);
    let socket = open(index, ethertype, |socket| {
        prepare(socket)?;
        ring.set(Some(Ring::new(socket, slots)?));
        Ok(())
    })?;
    let ring = ring.into_inner().ok_or(Errno::EINVAL);
    Ok((socket, ring.map_err(IoError::socket("cannot map the ring of a packet socket"))?))
}

/// Reads all that a socket has, which only wakes the loop: a ring has the same packets, in their order among all others.
fn empty(socket: &OwnedFd) {
    while recv(socket.as_raw_fd(), &mut [0; 1], MsgFlags::MSG_DONTWAIT).is_ok() {}
}

/// What a receiving call tells besides its packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Received {
    /// Nothing more waits.
    All,
    /// More may wait.
    More,
    /// The NIC went down.
    Down,
}

pub(super) fn receive(batch: &mut Batch, socket: BorrowedFd<'_>) -> Result<Received, Errno> {
    match batch.receive(socket) {
        Ok(BATCH) => Ok(Received::More),
        Ok(_) | Err(Errno::EAGAIN) => Ok(Received::All),
        Err(Errno::EINTR | Errno::ENOBUFS) => Ok(Received::More),
        Err(Errno::ENETDOWN) => Ok(Received::Down),
        Err(errno) => Err(errno),
    }
}

/// Binds a UDP port of a NIC for both versions of IP, or for IPv4 where the machine has no IPv6. Nothing is read from it.
fn keep_port(nic: &Nic, port: u16) -> Result<OwnedFd, IoError> {
    let failed = |errno| IoError::Port { port, errno };
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let made = |family, address: &dyn SockaddrLike| {
        let socket = socket(family, SockType::Datagram, flags, None)?;
        sys::attach_filter(socket.as_fd(), &filter::nothing())?;
        setsockopt(&socket, sockopt::BindToDevice, &nic.name().into())?;
        bind(socket.as_raw_fd(), address)?;
        Ok(socket)
    };
    let six = SockaddrIn6::from(SocketAddrV6::new(Ipv6Addr::UNSPECIFIED, port, 0, 0));
    match made(AddressFamily::Inet6, &six) {
        Err(Errno::EAFNOSUPPORT | Errno::EADDRNOTAVAIL) => {
            let four = SockaddrIn::from(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, port));
            made(AddressFamily::Inet, &four).map_err(failed)
        }
        made => made.map_err(failed),
    }
}

/// Reads up to [`BATCH`] packets of a ring. `asked` says that its socket has something to read, or an error.
fn read(
    ring: &mut Ring,
    socket: BorrowedFd<'_>,
    asked: bool,
    packet: impl FnMut(&[u8], u8),
) -> Result<Received, Errno> {
    match ring.read(BATCH, packet) {
        BATCH => Ok(Received::More),
        0 if asked => match getsockopt(&socket, sockopt::SocketError)? {
            0 | libc::ENOBUFS => Ok(Received::All),
            libc::ENETDOWN => Ok(Received::Down),
            error => Err(Errno::from_raw(error)),
        },
        _ => Ok(Received::All),
    }
}

/// The socket of control frames.
pub(super) struct FrameSocket {
    ring: Ring,
    socket: OwnedFd,
    /// A second socket, which has something to read when a frame comes that is no credit.
    signals: OwnedFd,
    /// The socket that keeps the UDP port, so that the kernel doesn't answer that nobody listens there. What comes there is
    /// dropped, since the packet socket hears it.
    _port: Option<OwnedFd>,
    /// Frames that were received.
    pub received: u64,
    /// Frames that were sent, and those among them that went to another host than the one before.
    pub sent: u64,
    pub turns: u64,
    /// The Ethernet address to which the last frame went.
    last_to: [u8; 6],
    /// Frames that the kernel did not take.
    pub unsent: u64,
}

impl FrameSocket {
    pub fn open(nic: &Nic, carrier: Carrier) -> Result<FrameSocket, IoError> {
        let ((socket, ring), port) = match carrier {
            Carrier::Ethernet => {
                (open_with_ring(nic.index(), ETHERTYPE, FRAMES_MAX, sys::bypass_qdisc)?, None)
            }
            Carrier::Udp(port) => {
                let program = filter::datagrams(port.get());
                let socket = open_with_ring(nic.index(), EVERY_TYPE, FRAMES_MAX, |socket| {
                    sys::bypass_qdisc(socket)?;
                    sys::ignore_outgoing(socket)?;
                    sys::attach_filter(socket, &program)
                })?;
                (socket, Some(keep_port(nic, port.get())?))
            }
        };
        let (ethertype, udp) = match carrier {
            Carrier::Ethernet => (ETHERTYPE, None),
            Carrier::Udp(port) => (EVERY_TYPE, Some(port.get())),
        };
        let program = filter::signals(udp);
        let signals = open(nic.index(), ethertype, |socket| {
            sys::ignore_outgoing(socket)?;
            sys::attach_filter(socket, &program)
        })?;
        // It only wakes the loop, for which the first ones are enough.
        let _ = setsockopt(&signals, sockopt::RcvBuf, &0);
        // A frame that is longer than the room for it is cut off, and harmless so.
        Ok(FrameSocket {
            ring,
            socket,
            signals,
            _port: port,
            received: 0,
            sent: 0,
            turns: 0,
            last_to: [0; 6],
            unsent: 0,
        })
    }

    pub fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Returns the socket that has something to read as soon as a frame came that must not wait: any but credits.
    pub fn urgent(&self) -> BorrowedFd<'_> {
        self.signals.as_fd()
    }

    /// Receives frames and hands each to `frame`. `ready` says that a socket is ready, and `only_urgent` that it is the one for frames that
    /// must not wait.
    pub fn receive(
        &mut self,
        ready: bool,
        only_urgent: bool,
        mut frame: impl FnMut(&[u8]),
    ) -> Result<Received, Errno> {
        if ready && only_urgent {
            empty(&self.signals);
        }
        let FrameSocket { ring, socket, received, .. } = self;
        read(ring, socket.as_fd(), ready, |bytes, kind| {
            if kind != libc::PACKET_OTHERHOST && kind != libc::PACKET_OUTGOING {
                *received += 1;
                frame(bytes);
            }
        })
    }

    /// Sends frames in order. One that the kernel does not take is lost, as on a link.
    pub fn send(&mut self, mut frames: &[Frame]) {
        while !frames.is_empty() {
            let done = match sys::send_frames(self.socket.as_fd(), frames.iter().map(|frame| &**frame)) {
                Ok(sent) => {
                    self.sent += sent as u64;
                    for to in frames[..sent].iter().filter_map(|frame| frame.first_chunk()) {
                        self.turns += u64::from(*to != self.last_to);
                        self.last_to = *to;
                    }
                    sent
                }
                Err(Errno::EINTR) => 0,
                Err(_) => {
                    self.unsent += 1;
                    1
                }
            };
            frames = &frames[done..];
        }
    }
}

/// The headers of TCP segments that pass.
pub(super) struct Sniffer {
    way: Way,
    /// Segments that were seen, and those among them that brought data.
    pub seen: u64,
    pub data: u64,
}

/// The way in which headers come.
enum Way {
    Socket {
        ring: Ring,
        socket: OwnedFd,
        /// A second socket, which has something to read when a connection is opened from here.
        opening: Option<OwnedFd>,
    },
    /// The programs at the NIC tell of them, which costs each packet less than a socket.
    Programs(Box<Heard>),
}

impl Sniffer {
    /// Reads what the programs at the NIC tell of.
    pub fn over(heard: Heard) -> Sniffer {
        Sniffer { way: Way::Programs(Box::new(heard)), seen: 0, data: 0 }
    }

    /// Opens packet sockets. `counting` is a program that chooses what the first one gets, and counts the rest.
    pub fn open(
        index: u32,
        holds: filter::Holds,
        ipv6: bool,
        counting: Option<BorrowedFd<'_>>,
    ) -> Result<Sniffer, IoError> {
        let program = filter::sniffed(holds, ipv6);
        let (socket, ring) = open_with_ring(index, EVERY_TYPE, SEEN_MAX, |socket| match counting {
            Some(counting) => sys::attach_program(socket, counting),
            None => sys::attach_filter(socket, &program),
        })?;
        // What PAC does hangs on the data that arrives, so it is told of each segment at once.
        let opening = match holds {
            filter::Holds::Acks { .. } => None,
            filter::Holds::Data => {
                let program = filter::opens(ipv6);
                Some(open(index, EVERY_TYPE, |socket| sys::attach_filter(socket, &program))?)
            }
        };
        Ok(Sniffer { way: Way::Socket { ring, socket, opening }, seen: 0, data: 0 })
    }

    /// Returns what has something to read as soon as a segment was seen.
    pub fn fd(&self) -> BorrowedFd<'_> {
        match &self.way {
            Way::Socket { socket, .. } => socket.as_fd(),
            Way::Programs(heard) => heard.fd(),
        }
    }

    /// Returns what has something to read as soon as a segment was seen that must not wait; `None` if no segment may.
    pub fn urgent(&self) -> Option<BorrowedFd<'_>> {
        match &self.way {
            Way::Socket { opening, .. } => opening.as_ref().map(AsFd::as_fd),
            Way::Programs(heard) => Some(heard.opened()),
        }
    }

    /// Says whether any segment that is seen shall wake whoever waits for [`Sniffer::fd`]. A packet socket always does.
    pub fn wake(&self, wakes: bool) {
        if let Way::Programs(heard) = &self.way {
            heard.wake(wakes);
        }
    }

    /// Receives headers and hands each to `segment`. What is no TCP segment is left out. `ready` says that [`Sniffer::fd`] or
    /// [`Sniffer::urgent`] has something to read.
    pub fn receive(
        &mut self,
        ready: bool,
        mut segment: impl FnMut(Direction, &Segment, Link),
    ) -> Result<Received, Errno> {
        let Sniffer { way, seen, data } = self;
        let mut header = |bytes: &[u8], is_outgoing: bool| {
            let Some((ethernet, packet)) = bytes.split_at_checked(ETHERNET_LEN) else { return };
            let Ok(header) = Segment::parse(packet) else { return };
            let mac =
                |at: usize| ethernet[at..].first_chunk().map_or(MacAddr::default(), |mac| MacAddr(*mac));
            *seen += 1;
            let (to, from) = (mac(0), mac(6));
            if is_outgoing {
                segment(Direction::Outgoing, &header, Link { local: from, peer: to });
            } else {
                *data += u64::from(header.payload > 0);
                segment(Direction::Incoming, &header, Link { local: to, peer: from });
            }
        };
        match way {
            Way::Socket { ring, socket, opening } => {
                if ready && let Some(opening) = opening {
                    empty(opening);
                }
                read(ring, socket.as_fd(), ready, |bytes, kind| header(bytes, kind == libc::PACKET_OUTGOING))
            }
            Way::Programs(heard) => {
                if ready {
                    heard.forget_opened();
                }
                let is_full = heard.read(BATCH, header) == BATCH;
                Ok(if is_full { Received::More } else { Received::All })
            }
        }
    }
}
