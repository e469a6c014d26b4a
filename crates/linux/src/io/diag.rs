//! What TCP of this host says of a connection (`sock_diag`), such as the scale of the other end's windows.

use super::error::IoError;
use crate::wire::FlowKey;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, send, setsockopt,
    socket, sockopt,
};
use nix::sys::time::TimeVal;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, OwnedFd};

/// The message by which sockets are asked for (`SOCK_DIAG_BY_FAMILY`), and the flag of a question.
const BY_FAMILY: u16 = 20;
const REQUEST: u16 = 1;
/// The lengths of netlink's header, of the request behind it, and of the answer before its attributes.
const HEADER: usize = 16;
const ASKED: usize = 56;
const ANSWER: usize = 72;
/// The attributes of an answer: `struct tcp_info`, the keys by which segments are signed (RFC 2385), and the protocol on top of TCP with
/// its name.
const INFO: u16 = 2;
const SIGNED: u16 = 18;
const UPPER: u16 = 19;
const NAME: u16 = 1;
/// The state of a connection that is open, and of one whose other end has closed its side.
const ESTABLISHED: u8 = 1;
const CLOSE_WAIT: u8 = 8;

/// What TCP says of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Connection {
    /// The scale of the windows that the other end offers.
    pub scale: u8,
    /// The payload of a full segment.
    pub payload: u32,
    /// The bytes in the socket that TCP has not sent yet, and the window beyond what is acknowledged, as TCP knows it.
    pub unsent: u32,
    pub window: u32,
}

/// The socket by which TCP is asked.
pub(super) struct Diagnosis {
    socket: OwnedFd,
}

impl Diagnosis {
    pub fn open() -> Result<Diagnosis, IoError> {
        let failed = IoError::socket("cannot open a socket to ask TCP for connections");
        let flags = SockFlag::SOCK_CLOEXEC;
        let socket = socket(AddressFamily::Netlink, SockType::Raw, flags, SockProtocol::NetlinkSockDiag)
            .map_err(&failed)?;
        // The kernel answers within the call that asks, if it does.
        setsockopt(&socket, sockopt::ReceiveTimeout, &TimeVal::new(0, 1_000)).map_err(&failed)?;
        bind(socket.as_raw_fd(), &NetlinkAddr::new(0, 0)).map_err(&failed)?;
        Ok(Diagnosis { socket })
    }

    /// Returns what TCP says of the connection of which this is the outgoing direction. `None` if the connection is not one of this
    /// network namespace, is not open, has signed segments, which nobody else can make or change, or is one of MPTCP, whose own window
    /// stands in options of the segments.
    pub fn ask(&self, flow: &FlowKey) -> Option<Connection> {
        send(self.socket.as_raw_fd(), &question(flow), MsgFlags::empty()).ok()?;
        let mut answer = [0; 8192];
        let len = recv(self.socket.as_raw_fd(), &mut answer, MsgFlags::empty()).ok()?;
        read(answer.get(..len)?, flow.source_port)
    }
}

fn question(flow: &FlowKey) -> [u8; HEADER + ASKED] {
    let mut bytes = [0; HEADER + ASKED];
    let mut put = |at: usize, part: &[u8]| bytes[at..at + part.len()].copy_from_slice(part);
    put(0, &((HEADER + ASKED) as u32).to_ne_bytes());
    put(4, &BY_FAMILY.to_ne_bytes());
    put(6, &REQUEST.to_ne_bytes());
    let family = if flow.is_ipv6() { libc::AF_INET6 } else { libc::AF_INET };
    put(HEADER, &[family as u8, libc::IPPROTO_TCP as u8, 1 << (INFO - 1), 0]);
    put(HEADER + 4, &u32::MAX.to_ne_bytes());
    put(HEADER + 8, &flow.source_port.to_be_bytes());
    put(HEADER + 10, &flow.destination_port.to_be_bytes());
    for (at, address) in [(HEADER + 12, flow.source), (HEADER + 28, flow.destination)] {
        match address {
            IpAddr::V4(address) => put(at, &address.octets()),
            IpAddr::V6(address) => put(at, &address.octets()),
        }
    }
    // No cookie of the kernel's is known.
    put(HEADER + 48, &[0xff; 8]);
    bytes
}

/// Reads an answer about a connection from this port.
fn read(answer: &[u8], port: u16) -> Option<Connection> {
    let short = |at: usize| Some(u16::from_ne_bytes(*answer.get(at..)?.first_chunk()?));
    let is_open = [ESTABLISHED, CLOSE_WAIT].contains(answer.get(HEADER + 1)?);
    let is_of_port = answer.get(HEADER + 4..)?.first_chunk()? == &port.to_be_bytes();
    if short(4)? != BY_FAMILY || !is_open || !is_of_port {
        return None;
    }
    let (mut at, mut found) = (HEADER + ANSWER, None);
    while let (Some(len), Some(kind)) = (short(at), short(at + 2)) {
        // The highest bits are flags.
        match kind & 0x3fff {
            INFO => {
                let info = answer.get(at + 4..at + usize::from(len))?;
                let word = |at: usize| Some(u32::from_ne_bytes(*info.get(at..)?.first_chunk()?));
                let scale = info.get(6)? & 15;
                // Kernels before 5.4 do not tell of the window. They have no use for it either.
                let (unsent, window) = (word(144).unwrap_or(0), word(228).unwrap_or(u32::MAX));
                found = Some(Connection { scale, payload: word(16)?, unsent, window });
            }
            SIGNED => return None,
            UPPER if is_mptcp(answer.get(at + 4..at + usize::from(len))?) => return None,
            _ => {}
        }
        at += usize::from(len).max(4).next_multiple_of(4);
    }
    found.filter(|found| found.payload > 0)
}

/// Returns true if the attributes of a protocol on top of TCP name MPTCP.
fn is_mptcp(attributes: &[u8]) -> bool {
    let name = attributes.first_chunk::<4>().map(|[_, _, low, high]| u16::from_ne_bytes([*low, *high]));
    name == Some(NAME) && attributes[4..].starts_with(b"mptcp\0")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};
    use std::time::Duration;

    #[test]
    fn a_connection_of_this_host_has_a_scale_and_a_full_segment_and_another_is_unknown() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let _other = listener.accept().unwrap();
        let (from, to) = (stream.local_addr().unwrap(), stream.peer_addr().unwrap());
        let flow = FlowKey {
            source: from.ip(),
            destination: to.ip(),
            source_port: from.port(),
            destination_port: to.port(),
        };
        let Ok(diagnosis) = Diagnosis::open() else { return };
        let found = diagnosis.ask(&flow).expect("the connection is there");
        assert!(found.scale <= 14 && found.payload > 1_000, "{found:?}");
        let other = FlowKey { source_port: 1, ..flow };
        assert_eq!(diagnosis.ask(&other), None);
    }

    #[test]
    fn the_bytes_that_a_closed_window_keeps_in_the_socket_are_known_and_those_of_an_idle_socket_are_none() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (_other, _) = listener.accept().unwrap();
        let (from, to) = (stream.local_addr().unwrap(), stream.peer_addr().unwrap());
        let (source, destination) = (from.ip(), to.ip());
        let flow = FlowKey { source, destination, source_port: from.port(), destination_port: to.port() };
        let Ok(diagnosis) = Diagnosis::open() else { return };
        let idle = diagnosis.ask(&flow).expect("the connection is there");
        assert_eq!(idle.unsent, 0);
        assert!(idle.window > idle.payload, "{idle:?}");
        // Nobody reads at the other end, so that its window closes.
        stream.set_nonblocking(true).unwrap();
        while (&stream).write(&[7; 65_536]).is_ok() {}
        // Data that was sent before stands in the other end's window until that has said so.
        let is_closed = |_| {
            std::thread::sleep(Duration::from_millis(5));
            let full = diagnosis.ask(&flow).expect("the connection is there");
            full.unsent > 0 && full.window < full.payload
        };
        assert!((0..1_000).any(is_closed));
    }

    #[test]
    fn a_connection_of_mptcp_is_known_by_the_name_of_the_protocol_and_other_protocols_on_top_of_tcp_are_not_taken_for_it()
     {
        let attribute = |name: &[u8]| [&[4 + name.len() as u8, 0, 1, 0], name].concat();
        assert!(is_mptcp(&attribute(b"mptcp\0")));
        for other in [attribute(b"tls\0"), attribute(b"mptcpx\0"), attribute(b""), vec![10, 0, 2, 0], vec![1]]
        {
            assert!(!is_mptcp(&other), "{other:?}");
        }
    }

    #[test]
    fn an_answer_that_is_cut_off_tells_nothing() {
        for len in 0..HEADER + ANSWER {
            assert_eq!(read(&vec![0; len], 0), None, "{len} bytes");
        }
    }
}
