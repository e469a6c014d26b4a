//! Messages of NFQUEUE (`linux/netfilter/nfnetlink_queue.h`) as bytes: nothing here knows a socket.
//!
//! Numbers of netlink's own headers are in the byte order of the machine, those inside of attributes in that of the
//! network.

use crate::datapath::HeldId;

const NETLINK_HEADER: usize = 16;
const FAMILY_HEADER: usize = 4;
const ATTRIBUTE_HEADER: usize = 4;

/// The kind of a message about errors, and of acknowledgements (`NLMSG_ERROR`).
const ERROR: u16 = 2;
const SUBSYSTEM_QUEUE: u16 = 3 << 8;
const PACKET: u16 = SUBSYSTEM_QUEUE;
const VERDICT: u16 = SUBSYSTEM_QUEUE | 1;
const CONFIG: u16 = SUBSYSTEM_QUEUE | 2;

const FLAG_REQUEST: u16 = 1;
const FLAG_ACK: u16 = 4;

const CONFIG_COMMAND: u16 = 1;
const CONFIG_PARAMS: u16 = 2;
const CONFIG_MAX_LEN: u16 = 3;
const CONFIG_MASK: u16 = 4;
const CONFIG_FLAGS: u16 = 5;
const COMMAND_BIND: u8 = 1;
const COPY_PACKET: u8 = 2;
/// Packets for which the queue has no room pass (`NFQA_CFG_F_FAIL_OPEN`).
const FAIL_OPEN: u32 = 1;

const PACKET_HEADER: u16 = 1;
const VERDICT_HEADER: u16 = 2;
const PAYLOAD: u16 = 10;
/// The bits of an attribute's kind that are its kind, without the two flags above them.
const KIND_MASK: u16 = 0x3fff;

/// The verdict of the kernel that drops a packet.
pub(super) const NF_DROP: u32 = 0;
/// The verdict of the kernel that lets a packet go on.
pub(super) const NF_ACCEPT: u32 = 1;

/// Messages to be sent in one piece.
#[derive(Default)]
pub(super) struct Outbox {
    bytes: Vec<u8>,
}

impl Outbox {
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    /// Adds a message and returns the place of its length.
    fn begin(&mut self, kind: u16, flags: u16, sequence: u32, queue: u16) -> usize {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&[0; 4]);
        self.bytes.extend_from_slice(&kind.to_ne_bytes());
        self.bytes.extend_from_slice(&(FLAG_REQUEST | flags).to_ne_bytes());
        self.bytes.extend_from_slice(&sequence.to_ne_bytes());
        self.bytes.extend_from_slice(&[0; 6]);
        self.bytes.extend_from_slice(&queue.to_be_bytes());
        start
    }

    fn attribute(&mut self, kind: u16, value: &[u8]) {
        let len = (ATTRIBUTE_HEADER + value.len()) as u16;
        self.bytes.extend_from_slice(&len.to_ne_bytes());
        self.bytes.extend_from_slice(&kind.to_ne_bytes());
        self.bytes.extend_from_slice(value);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    fn end(&mut self, start: usize) {
        let len = (self.bytes.len() - start) as u32;
        self.bytes[start..start + 4].copy_from_slice(&len.to_ne_bytes());
    }

    /// Adds the command that binds the socket to a queue.
    pub fn bind(&mut self, queue: u16, sequence: u32) {
        let start = self.begin(CONFIG, FLAG_ACK, sequence, queue);
        self.attribute(CONFIG_COMMAND, &[COMMAND_BIND, 0, 0, 0]);
        self.end(start);
    }

    /// Adds the settings of a queue: how many bytes of a packet are copied to us, how many packets it holds, and that
    /// packets for which it has no room pass.
    pub fn configure(&mut self, queue: u16, sequence: u32, copied: u32, max_len: u32) {
        let start = self.begin(CONFIG, FLAG_ACK, sequence, queue);
        let [a, b, c, d] = copied.to_be_bytes();
        self.attribute(CONFIG_PARAMS, &[a, b, c, d, COPY_PACKET]);
        self.attribute(CONFIG_MAX_LEN, &max_len.to_be_bytes());
        self.attribute(CONFIG_MASK, &FAIL_OPEN.to_be_bytes());
        self.attribute(CONFIG_FLAGS, &FAIL_OPEN.to_be_bytes());
        self.end(start);
    }

    /// Adds a verdict. With `payload`, the packet's bytes from the IPv4 header on are replaced by these.
    pub fn verdict(&mut self, queue: u16, id: HeldId, verdict: u32, payload: Option<&[u8]>) {
        let start = self.begin(VERDICT, 0, 0, queue);
        let mut value = [0; 8];
        value[..4].copy_from_slice(&verdict.to_be_bytes());
        value[4..].copy_from_slice(&id.0.to_be_bytes());
        self.attribute(VERDICT_HEADER, &value);
        if let Some(payload) = payload {
            self.attribute(PAYLOAD, payload);
        }
        self.end(start);
    }
}

/// A message of the kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Message<'a> {
    /// A packet is held.
    Packet {
        /// The number of the packet.
        id: HeldId,
        /// The first bytes of the packet, from its IPv4 header on.
        payload: &'a [u8],
    },
    /// The answer to the request with this sequence number: zero, or the number of an error.
    Answer {
        /// The sequence number of the request.
        sequence: u32,
        /// Zero, or a positive error number.
        error: i32,
    },
    /// A message of another kind, or one that we cannot read.
    Other,
}

/// Reads the messages that came in one piece, and stops at the first one whose length is wrong.
pub(super) fn messages(mut bytes: &[u8]) -> impl Iterator<Item = Message<'_>> {
    std::iter::from_fn(move || {
        let len = u32::from_ne_bytes(*bytes.first_chunk()?) as usize;
        if len < NETLINK_HEADER || len > bytes.len() {
            return None;
        }
        let message = &bytes[..len];
        bytes = bytes.get(len.next_multiple_of(4)..).unwrap_or_default();
        Some(read(message).unwrap_or(Message::Other))
    })
}

/// Reads a message, whose header is complete.
fn read(message: &[u8]) -> Option<Message<'_>> {
    let kind = u16::from_ne_bytes(*message[4..].first_chunk()?);
    let body = &message[NETLINK_HEADER..];
    match kind {
        ERROR => {
            let error = i32::from_ne_bytes(*body.first_chunk()?).checked_neg()?;
            // The header of the request follows the number of the error.
            let sequence = u32::from_ne_bytes(*body.get(4 + 8..)?.first_chunk()?);
            Some(Message::Answer { sequence, error })
        }
        PACKET => {
            let (mut id, mut payload) = (None, None);
            for (kind, value) in attributes(body.get(FAMILY_HEADER..)?) {
                match kind {
                    PACKET_HEADER => id = Some(HeldId(u32::from_be_bytes(*value.first_chunk()?))),
                    PAYLOAD => payload = Some(value),
                    _ => {}
                }
            }
            Some(Message::Packet { id: id?, payload: payload.unwrap_or_default() })
        }
        _ => None,
    }
}

/// Reads attributes, and stops at the first one whose length is wrong.
fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let len = usize::from(u16::from_ne_bytes(*bytes.first_chunk()?));
        let kind = u16::from_ne_bytes(*bytes.get(2..)?.first_chunk()?) & KIND_MASK;
        let value = bytes.get(ATTRIBUTE_HEADER..len)?;
        bytes = bytes.get(len.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    })
}

#[cfg(all(test, target_endian = "little"))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn binding_has_the_bytes_that_the_kernel_wants() {
        let mut outbox = Outbox::default();
        outbox.bind(0x0102, 9);
        #[rustfmt::skip]
        assert_eq!(outbox.bytes(), [
            28, 0, 0, 0, 2, 3, 5, 0, 9, 0, 0, 0, 0, 0, 0, 0, // netlink: length, kind, flags, sequence, port
            0, 0, 1, 2, // family, version, queue
            8, 0, 1, 0, 1, 0, 0, 0, // command
        ]);
    }

    #[test]
    fn settings_have_the_bytes_that_the_kernel_wants() {
        let mut outbox = Outbox::default();
        outbox.configure(7, 10, 1500, 16_384);
        #[rustfmt::skip]
        assert_eq!(outbox.bytes(), [
            56, 0, 0, 0, 2, 3, 5, 0, 10, 0, 0, 0, 0, 0, 0, 0,
            0, 0, 0, 7,
            9, 0, 2, 0, 0, 0, 5, 220, 2, 0, 0, 0, // copied bytes and mode, padded
            8, 0, 3, 0, 0, 0, 64, 0, // packets that it holds
            8, 0, 4, 0, 0, 0, 0, 1, // mask of flags
            8, 0, 5, 0, 0, 0, 0, 1, // flags
        ]);
    }

    #[test]
    fn verdicts_follow_each_other_each_at_a_multiple_of_four_bytes() {
        let mut outbox = Outbox::default();
        outbox.verdict(7, HeldId(0x0102_0304), NF_ACCEPT, Some(&[0xaa, 0xbb, 0xcc]));
        outbox.verdict(7, HeldId(5), NF_DROP, None);
        #[rustfmt::skip]
        assert_eq!(outbox.bytes(), [
            40, 0, 0, 0, 1, 3, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0,
            0, 0, 0, 7,
            12, 0, 2, 0, 0, 0, 0, 1, 1, 2, 3, 4, // verdict and number
            7, 0, 10, 0, 0xaa, 0xbb, 0xcc, 0, // changed packet, padded
            32, 0, 0, 0, 1, 3, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0,
            0, 0, 0, 7,
            12, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 5,
        ]);
    }

    /// Returns a message about a held packet with another attribute between those that are read.
    fn held(id: u32, payload: &[u8]) -> Vec<u8> {
        let mut outbox = Outbox::default();
        let start = outbox.begin(PACKET, 0, 0, 7);
        let mut header = [0; 7];
        header[..4].copy_from_slice(&id.to_be_bytes());
        outbox.attribute(PACKET_HEADER, &header);
        outbox.attribute(6, &[0, 0, 0, 3]);
        outbox.attribute(PAYLOAD, payload);
        outbox.end(start);
        outbox.bytes
    }

    #[test]
    fn held_packets_and_answers_are_read_in_order() {
        let mut bytes = held(77, &[1, 2, 3, 4, 5]);
        bytes.extend_from_slice(&[36, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        bytes.extend_from_slice(&(-16i32).to_le_bytes());
        bytes.extend_from_slice(&[28, 0, 0, 0, 2, 3, 5, 0, 9, 0, 0, 0, 0, 0, 0, 0]);
        let read: Vec<Message<'_>> = messages(&bytes).collect();
        assert_eq!(read.len(), 2);
        assert_eq!(read[0], Message::Packet { id: HeldId(77), payload: &[1, 2, 3, 4, 5] });
        assert_eq!(read[1], Message::Answer { sequence: 9, error: 16 });
    }

    #[test]
    fn a_message_cut_off_anywhere_is_no_packet() {
        let bytes = held(77, &[1, 2, 3, 4]);
        for len in 0..bytes.len() {
            assert_eq!(messages(&bytes[..len]).count(), 0, "{len} bytes");
        }
        let mut shorter = bytes.clone();
        shorter[0] -= 4;
        assert_eq!(
            messages(&shorter[..bytes.len() - 4]).next(),
            Some(Message::Packet { id: HeldId(77), payload: &[] }),
            "an attribute that is longer than its message is left out"
        );
    }

    proptest! {
        #[test]
        fn no_bytes_of_netlink_make_the_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(messages(&bytes).count() <= bytes.len() / NETLINK_HEADER);
        }

        #[test]
        fn a_changed_byte_makes_no_payload_longer(at in 0usize..60, value: u8) {
            let mut bytes = held(1, &[7; 16]);
            let at = at % bytes.len();
            bytes[at] = value;
            for message in messages(&bytes) {
                if let Message::Packet { payload, .. } = message {
                    prop_assert!(payload.len() <= bytes.len());
                }
            }
        }
    }
}
