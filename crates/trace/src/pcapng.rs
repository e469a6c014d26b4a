//! The writer of pcapng files (draft-ietf-opsawg-pcapng): a section header, an interface for each port, the names of
//! hosts, and the packets.
//!
//! Times are whole nanoseconds, which is the finest that Wireshark keeps: the fraction of a nanosecond is dropped, and
//! packets stand in the order of their exact times.

use super::frame::Frame;
use clearway_units::{Rate, Time};

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const NAMES: u32 = 4;
const PACKET: u32 = 6;
/// The number by which a reader tells the order of bytes.
const BYTE_ORDER: u32 = 0x1a2b_3c4d;
const LINKTYPE_ETHERNET: u16 = 1;

/// The options of blocks that are written here, by their codes.
mod option {
    pub const END: u16 = 0;
    pub const COMMENT: u16 = 1;
    pub const SECTION_APPLICATION: u16 = 4;
    pub const INTERFACE_NAME: u16 = 2;
    pub const INTERFACE_DESCRIPTION: u16 = 3;
    pub const INTERFACE_SPEED: u16 = 8;
    pub const INTERFACE_RESOLUTION: u16 = 9;
    pub const INTERFACE_FCS_LEN: u16 = 13;
    pub const PACKET_FLAGS: u16 = 2;
    pub const PACKET_ID: u16 = 5;
    pub const PACKET_QUEUE: u16 = 6;
}

/// The flag of packets that leave by their interface.
const OUTBOUND: u32 = 2;

/// A packet at an interface.
pub struct Record<'a> {
    /// The interface, as [`Writer::interface`] numbered it.
    pub interface: u32,
    /// The time.
    pub at: Time,
    /// The frame.
    pub frame: &'a Frame,
    /// The number of the packet, the same at all interfaces; 0 for none.
    pub number: u64,
    /// The class of the packet at the port.
    pub class: u32,
    /// Remarks on what happens to the packet.
    pub comments: &'a [String],
}

/// A pcapng file that is being written.
pub struct Writer {
    out: Vec<u8>,
    interfaces: u32,
}

/// A block that is being written.
struct Block {
    body: Vec<u8>,
}

impl Block {
    fn option(&mut self, code: u16, value: &[u8]) {
        debug_assert!(value.len() <= usize::from(u16::MAX), "names and remarks are short");
        self.body.extend(code.to_le_bytes());
        self.body.extend((value.len() as u16).to_le_bytes());
        self.body.extend(value);
        self.pad();
    }

    fn pad(&mut self) {
        self.body.resize(self.body.len().next_multiple_of(4), 0);
    }
}

impl Writer {
    /// Starts a file.
    pub fn new(application: &str, comment: &str) -> Writer {
        let mut writer = Writer { out: Vec::new(), interfaces: 0 };
        writer.block(SECTION, |block| {
            block.body.extend(BYTE_ORDER.to_le_bytes());
            block.body.extend(1u16.to_le_bytes());
            block.body.extend(0u16.to_le_bytes());
            // The length of the section is not told.
            block.body.extend(u64::MAX.to_le_bytes());
            block.option(option::COMMENT, comment.as_bytes());
            block.option(option::SECTION_APPLICATION, application.as_bytes());
            block.option(option::END, &[]);
        });
        writer
    }

    /// Adds an interface, and returns its number.
    pub fn interface(&mut self, name: &str, description: &str, speed: Rate) -> u32 {
        self.block(INTERFACE, |block| {
            block.body.extend(LINKTYPE_ETHERNET.to_le_bytes());
            block.body.extend(0u16.to_le_bytes());
            // Packets are cut behind their headers, at no fixed length.
            block.body.extend(0u32.to_le_bytes());
            block.option(option::INTERFACE_NAME, name.as_bytes());
            block.option(option::INTERFACE_DESCRIPTION, description.as_bytes());
            block.option(option::INTERFACE_SPEED, &speed.as_bps().to_le_bytes());
            block.option(option::INTERFACE_RESOLUTION, &[9]);
            block.option(option::INTERFACE_FCS_LEN, &[0]);
            block.option(option::END, &[]);
        });
        self.interfaces += 1;
        self.interfaces - 1
    }

    /// Adds the names of IPv4 addresses.
    pub fn names<'a>(&mut self, names: impl IntoIterator<Item = ([u8; 4], &'a str)>) {
        self.block(NAMES, |block| {
            for (address, name) in names {
                block.body.extend(1u16.to_le_bytes());
                block.body.extend((4 + name.len() as u16 + 1).to_le_bytes());
                block.body.extend(address);
                block.body.extend(name.as_bytes());
                block.body.push(0);
                block.pad();
            }
            block.body.extend([0; 4]);
        });
    }

    /// Adds a packet.
    pub fn packet(&mut self, record: &Record<'_>) {
        let Record { interface, at, frame, number, class, comments } = *record;
        let ns = at.as_ps() / 1000;
        self.block(PACKET, |block| {
            block.body.extend(interface.to_le_bytes());
            block.body.extend(((ns >> 32) as u32).to_le_bytes());
            block.body.extend((ns as u32).to_le_bytes());
            block.body.extend((frame.bytes.len() as u32).to_le_bytes());
            block.body.extend((frame.length as u32).to_le_bytes());
            block.body.extend(&frame.bytes);
            block.pad();
            comments.iter().for_each(|comment| block.option(option::COMMENT, comment.as_bytes()));
            block.option(option::PACKET_FLAGS, &OUTBOUND.to_le_bytes());
            if number > 0 {
                block.option(option::PACKET_ID, &number.to_le_bytes());
            }
            block.option(option::PACKET_QUEUE, &class.to_le_bytes());
            block.option(option::END, &[]);
        });
    }

    /// Returns the file.
    pub fn finish(self) -> Vec<u8> {
        self.out
    }

    fn block(&mut self, kind: u32, fill: impl FnOnce(&mut Block)) {
        let mut block = Block { body: Vec::new() };
        fill(&mut block);
        let length = (block.body.len() as u32 + 12).to_le_bytes();
        self.out.extend(kind.to_le_bytes());
        self.out.extend(length);
        self.out.extend(block.body);
        self.out.extend(length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tiny_file_has_the_bytes_that_the_draft_asks_for() {
        let mut writer = Writer::new("A", "c");
        assert_eq!(writer.interface("a->b", "d", Rate::bps(258)), 0);
        let frame = Frame { bytes: vec![1, 2, 3], length: 60 };
        let comments = ["lost".to_owned()];
        writer.packet(&Record {
            interface: 0,
            at: Time::from_ps(5_000_000_000_999),
            frame: &frame,
            number: 9,
            class: 1,
            comments: &comments,
        });
        let expected: &[&[u8]] = &[
            // The section: its order of bytes, version 1.0, no length; comment, application.
            &[0x0a, 0x0d, 0x0d, 0x0a, 48, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0],
            &[0xff; 8],
            &[1, 0, 1, 0, b'c', 0, 0, 0, 4, 0, 1, 0, b'A', 0, 0, 0, 0, 0, 0, 0, 48, 0, 0, 0],
            // The interface: Ethernet; name, description, speed, nanoseconds, no frame check sequence.
            &[1, 0, 0, 0, 68, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0],
            &[2, 0, 4, 0, b'a', b'-', b'>', b'b', 3, 0, 1, 0, b'd', 0, 0, 0],
            &[8, 0, 8, 0, 2, 1, 0, 0, 0, 0, 0, 0, 9, 0, 1, 0, 9, 0, 0, 0, 13, 0, 1, 0, 0, 0, 0, 0],
            &[0, 0, 0, 0, 68, 0, 0, 0],
            // The packet at 5 s: 5e9 ns is 1 * 2^32 + 0x2a05f200; 3 of 60 bytes; comment, outbound, number, queue.
            &[
                6, 0, 0, 0, 76, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0x00, 0xf2, 0x05, 0x2a, 3, 0, 0, 0, 60, 0,
                0, 0,
            ],
            &[1, 2, 3, 0, 1, 0, 4, 0, b'l', b'o', b's', b't', 2, 0, 4, 0, 2, 0, 0, 0],
            &[5, 0, 8, 0, 9, 0, 0, 0, 0, 0, 0, 0, 6, 0, 4, 0, 1, 0, 0, 0, 0, 0, 0, 0, 76, 0, 0, 0],
        ];
        assert_eq!(writer.finish(), expected.concat());
    }

    #[test]
    fn names_end_with_a_zero_and_the_list_with_a_record_of_zeros() {
        let mut writer = Writer::new("A", "c");
        let before = writer.out.len();
        writer.names([([10, 0, 0, 1], "h0")]);
        let expected =
            [4, 0, 0, 0, 28, 0, 0, 0, 1, 0, 7, 0, 10, 0, 0, 1, b'h', b'0', 0, 0, 0, 0, 0, 0, 28, 0, 0, 0];
        assert_eq!(writer.out[before..], expected);
    }
}
