//! Questions to the kernel by rtnetlink: links, qdiscs, classes and filters.
//!
//! `tc` prints rates rounded and some kinds without JSON, so what it sets is read back from the kernel itself. Asking
//! needs no privilege.

use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, recv, sendto, socket,
};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

const HEADER: usize = 16;
const ATTRIBUTE_HEADER: usize = 4;
const ATTRIBUTE_KIND: u16 = 0x3fff;
const FLAGS_DUMP: u16 = 0x301;
const ERROR: u16 = 2;
const DONE: u16 = 3;
/// The bytes that a read from the socket takes; the kernel never sends more of a dump at once.
const READ: usize = 64 * 1024;

/// The kinds of questions, and of answers, by which the kernel calls what they are about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u16)]
pub(super) enum About {
    Links = 16,
    Qdiscs = 36,
    Classes = 40,
    Filters = 44,
}

/// An object of traffic control as the kernel describes it: the header of all its answers, and the attributes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Object<'a> {
    pub handle: u32,
    pub parent: u32,
    pub info: u32,
    pub attributes: Attributes<'a>,
}

/// A link as the kernel describes it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link<'a> {
    pub index: i32,
    pub flags: u32,
    pub attributes: Attributes<'a>,
}

/// The answer to a question: messages, one after another.
pub(super) struct Answer {
    messages: Vec<Vec<u8>>,
}

impl Answer {
    pub fn objects(&self) -> impl Iterator<Item = Object<'_>> {
        self.messages.iter().filter_map(|body| {
            Some(Object {
                handle: word(body, 8)?,
                parent: word(body, 12)?,
                info: word(body, 16)?,
                attributes: Attributes(body.get(20..)?),
            })
        })
    }

    pub fn links(&self) -> impl Iterator<Item = Link<'_>> {
        self.messages.iter().filter_map(|body| {
            Some(Link {
                index: word(body, 4)? as i32,
                flags: word(body, 8)?,
                attributes: Attributes(body.get(16..)?),
            })
        })
    }
}

/// Attributes, one after another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attributes<'a>(pub &'a [u8]);

impl<'a> Attributes<'a> {
    /// Returns the attributes with their kinds; it stops at the first one whose length is wrong.
    pub fn iter(self) -> impl Iterator<Item = (u16, &'a [u8])> {
        let mut bytes = self.0;
        std::iter::from_fn(move || {
            let len = usize::from(short(bytes, 0)?);
            let kind = short(bytes, 2)? & ATTRIBUTE_KIND;
            let value = bytes.get(ATTRIBUTE_HEADER..len)?;
            bytes = bytes.get(len.next_multiple_of(4)..).unwrap_or_default();
            Some((kind, value))
        })
    }

    pub fn get(self, kind: u16) -> Option<&'a [u8]> {
        self.iter().find(|&(each, _)| each == kind).map(|(_, value)| value)
    }

    pub fn nested(self, kind: u16) -> Attributes<'a> {
        Attributes(self.get(kind).unwrap_or_default())
    }

    pub fn word(self, kind: u16) -> Option<u32> {
        word(self.get(kind)?, 0)
    }

    pub fn long(self, kind: u16) -> Option<u64> {
        Some(u64::from_ne_bytes(*self.get(kind)?.first_chunk()?))
    }

    pub fn text(self, kind: u16) -> Option<String> {
        let bytes = self.get(kind)?;
        let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
        Some(String::from_utf8_lossy(&bytes[..end]).into_owned())
    }
}

pub(super) fn short(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

pub(super) fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// A socket for questions to the kernel, in the network namespace in which it was opened.
#[derive(Debug)]
pub struct Netlink {
    socket: OwnedFd,
    sequence: u32,
    buffer: Vec<u8>,
}

impl Netlink {
    /// Opens a socket.
    pub fn open() -> io::Result<Netlink> {
        let socket = socket(
            AddressFamily::Netlink,
            SockType::Raw,
            SockFlag::SOCK_CLOEXEC,
            SockProtocol::NetlinkRoute,
        )?;
        Ok(Netlink { socket, sequence: 0, buffer: vec![0; READ] })
    }

    /// Asks for all links.
    pub(super) fn links(&mut self) -> io::Result<Answer> {
        self.ask(About::Links, &[0; 16])
    }

    /// Asks for all qdiscs, classes or filters of a link; filters are those below the qdisc `parent`.
    pub(super) fn objects(&mut self, about: About, index: i32, parent: u32) -> io::Result<Answer> {
        let mut body = [0; 20];
        body[4..8].copy_from_slice(&index.to_ne_bytes());
        body[12..16].copy_from_slice(&parent.to_ne_bytes());
        let mut answer = self.ask(about, &body)?;
        // The kernel answers a question about the qdiscs of one link with those of all.
        answer.messages.retain(|body| word(body, 4) == Some(index as u32));
        Ok(answer)
    }

    fn ask(&mut self, about: About, body: &[u8]) -> io::Result<Answer> {
        self.sequence = self.sequence.wrapping_add(1);
        let mut message = Vec::with_capacity(HEADER + body.len());
        message.extend_from_slice(&((HEADER + body.len()) as u32).to_ne_bytes());
        message.extend_from_slice(&(about as u16 + 2).to_ne_bytes());
        message.extend_from_slice(&FLAGS_DUMP.to_ne_bytes());
        message.extend_from_slice(&self.sequence.to_ne_bytes());
        message.extend_from_slice(&[0; 4]);
        message.extend_from_slice(body);
        let socket = self.socket.as_raw_fd();
        sendto(socket, &message, &NetlinkAddr::new(0, 0), MsgFlags::empty())?;
        let mut answer = Answer { messages: Vec::new() };
        loop {
            let len = recv(socket, &mut self.buffer, MsgFlags::empty())?;
            if take(&self.buffer[..len], about as u16, self.sequence, &mut answer.messages)? {
                return Ok(answer);
            }
        }
    }
}

/// Takes the bodies of the messages that came in one piece. Returns true if the answer is complete.
fn take(mut bytes: &[u8], kind: u16, sequence: u32, bodies: &mut Vec<Vec<u8>>) -> io::Result<bool> {
    while bytes.len() >= HEADER {
        let len = word(bytes, 0).unwrap_or(0) as usize;
        if len < HEADER || len > bytes.len() {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "an answer of the kernel is cut off"));
        }
        let body = &bytes[HEADER..len];
        if word(bytes, 8) == Some(sequence) {
            match short(bytes, 4).unwrap_or(0) {
                DONE => return Ok(true),
                ERROR => {
                    let code = word(body, 0).unwrap_or(0) as i32;
                    return match code {
                        0 => Ok(true),
                        _ => Err(io::Error::from_raw_os_error(code.wrapping_neg())),
                    };
                }
                other if other == kind => bodies.push(body.to_vec()),
                _ => {}
            }
        }
        bytes = bytes.get(len.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn message(kind: u16, sequence: u32, body: &[u8]) -> Vec<u8> {
        let mut bytes = ((HEADER + body.len()) as u32).to_ne_bytes().to_vec();
        bytes.extend_from_slice(&kind.to_ne_bytes());
        bytes.extend_from_slice(&[0; 2]);
        bytes.extend_from_slice(&sequence.to_ne_bytes());
        bytes.extend_from_slice(&[0; 4]);
        bytes.extend_from_slice(body);
        bytes
    }

    #[test]
    fn an_answer_ends_with_its_last_message_and_an_error_is_the_systems() {
        let mut bodies = Vec::new();
        let mut bytes = message(36, 7, &[1; 20]);
        bytes.extend(message(36, 6, &[2; 20]));
        bytes.extend(message(DONE, 7, &[0; 4]));
        assert!(take(&bytes, 36, 7, &mut bodies).unwrap());
        assert_eq!(bodies, [vec![1; 20]], "the answer to another question is left out");
        let refused = message(ERROR, 7, &(-1i32).to_ne_bytes());
        let error = take(&refused, 36, 7, &mut bodies).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
    }

    #[test]
    fn links_are_read_without_privilege() {
        let answer = Netlink::open().and_then(|mut netlink| netlink.links()).unwrap();
        let names: Vec<_> = answer.links().filter_map(|link| link.attributes.text(3)).collect();
        assert!(names.contains(&"lo".to_owned()), "{names:?}");
    }

    proptest! {
        #[test]
        fn no_bytes_from_the_kernel_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut messages = Vec::new();
            let _ = take(&bytes, 36, 0, &mut messages);
            messages.push(bytes);
            let answer = Answer { messages };
            for object in answer.objects() {
                for kind in 0..12 {
                    let inner = object.attributes.nested(kind);
                    let _ = (inner.text(1), inner.word(2), inner.iter().count());
                }
            }
            answer.links().for_each(|link| drop(link.attributes.text(3)));
        }
    }
}
