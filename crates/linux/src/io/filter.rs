//! Programs of the classic BPF machine that choose packets inside the kernel: for packet sockets, and for the `bpf`
//! match of iptables.

use std::fmt::Write as _;

/// An instruction, as `struct sock_filter` of `linux/filter.h` has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub(super) struct Instruction {
    /// The operation.
    pub code: u16,
    /// The number of instructions that are skipped if the condition holds.
    pub if_true: u8,
    /// The number of instructions that are skipped if the condition does not hold.
    pub if_false: u8,
    /// The operand.
    pub k: u32,
}

/// The packets that the kernel holds for a datapath.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Holds {
    /// Data, and the ends of connections that must not overtake it: segments with payload or FIN, without SYN and RST.
    Data,
    /// Pure acknowledgements: segments with ACK and without payload, SYN, FIN and RST.
    Acks {
        /// If true, answers to a SYN are held too.
        syn_acks: bool,
        /// If true, segments with payload are held too, which may be requests.
        requests: bool,
    },
}

/// The greatest number of bytes of a packet that a filter hands to a packet socket: the headers of Ethernet, IPv4 and
/// TCP at their longest.
pub(super) const SNAP_LEN: u32 = 14 + 60 + 60;

// The operations, by their names in `linux/bpf_common.h`.
const LD_B_ABS: u16 = 0x30;
const LD_H_ABS: u16 = 0x28;
const LD_B_IND: u16 = 0x50;
const LDX_B_MSH: u16 = 0xb1;
const ALU_ADD_X: u16 = 0x0c;
const ALU_AND: u16 = 0x54;
const ALU_RSH: u16 = 0x74;
const MISC_TAX: u16 = 0x07;
const JEQ: u16 = 0x15;
const JGT_X: u16 = 0x2d;
const JSET: u16 = 0x45;
const RET: u16 = 0x06;
const LD_W_ABS: u16 = 0x20;
/// The offset at which a program reads the direction of a packet (`SKF_AD_OFF + SKF_AD_PKTTYPE`).
const PACKET_TYPE: u32 = (-0x1000i32 + 4) as u32;
/// The offset at which a program reads a random number (`SKF_AD_OFF + SKF_AD_RANDOM`).
const RANDOM: u32 = (-0x1000i32 + 56) as u32;

/// The place at which a program goes on after a condition.
#[derive(Clone, Copy)]
enum To {
    Next,
    Accept,
    Reject,
}

/// A program without the addresses of its two ends.
struct Program {
    steps: Vec<(u16, To, To, u32)>,
}

impl Program {
    fn new() -> Program {
        Program { steps: Vec::new() }
    }

    fn load(&mut self, code: u16, k: u32) {
        self.steps.push((code, To::Next, To::Next, k));
    }

    fn jump(&mut self, code: u16, k: u32, if_true: To, if_false: To) {
        self.steps.push((code, if_true, if_false, k));
    }

    /// Skips what is no TCP header over IPv4, and leaves the length of the IPv4 header in X. `base` is the offset of
    /// that header.
    fn tcp_only(&mut self, base: u32) {
        self.load(LD_B_ABS, base + 9);
        self.jump(JEQ, 6, To::Next, To::Reject);
        self.load(LD_H_ABS, base + 6);
        self.jump(JSET, 0x1fff, To::Reject, To::Next);
        self.load(LDX_B_MSH, base);
    }

    /// Compares the length of the packet with that of its headers, of which X holds that of the IPv4 header.
    fn payload(&mut self, base: u32, some: To, none: To) {
        self.load(LD_B_IND, base + 12);
        self.load(ALU_RSH, 2);
        self.load(ALU_AND, 0x3c);
        self.load(ALU_ADD_X, 0);
        self.load(MISC_TAX, 0);
        self.load(LD_H_ABS, base + 2);
        self.jump(JGT_X, 0, some, none);
    }

    /// Returns the program, which ends with accepting `accepted` bytes, or none.
    fn finish(self, accepted: u32) -> Vec<Instruction> {
        let end = self.steps.len();
        let mut program: Vec<Instruction> = Vec::with_capacity(end + 2);
        for (at, (code, if_true, if_false, k)) in self.steps.into_iter().enumerate() {
            let skip = |to: To| match to {
                To::Next => 0,
                To::Accept => (end - at - 1) as u8,
                To::Reject => (end - at) as u8,
            };
            program.push(Instruction { code, if_true: skip(if_true), if_false: skip(if_false), k });
        }
        program.push(Instruction { code: RET, if_true: 0, if_false: 0, k: accepted });
        program.push(Instruction { code: RET, if_true: 0, if_false: 0, k: 0 });
        program
    }
}

const FIN: u32 = 1;
const SYN: u32 = 2;
const RST: u32 = 4;
const ACK: u32 = 16;

/// Returns the program by which iptables chooses the packets that are held. It sees a packet from its IPv4 header on.
pub(super) fn held(holds: Holds) -> Vec<Instruction> {
    let mut program = Program::new();
    program.tcp_only(0);
    program.load(LD_B_IND, 13);
    match holds {
        Holds::Data => {
            program.jump(JSET, SYN | RST, To::Reject, To::Next);
            program.jump(JSET, FIN, To::Accept, To::Next);
            program.payload(0, To::Accept, To::Reject);
        }
        Holds::Acks { syn_acks, requests } => {
            program.jump(JSET, ACK, To::Next, To::Reject);
            program.jump(JSET, FIN | RST, To::Reject, To::Next);
            program.jump(JSET, SYN, if syn_acks { To::Accept } else { To::Reject }, To::Next);
            program.payload(0, if requests { To::Accept } else { To::Reject }, To::Accept);
        }
    }
    program.finish(1)
}

/// Returns the program by which a packet socket chooses what a datapath must see of packets that it does not hold:
/// segments that open or end a connection, in both directions, incoming data, and some of the incoming
/// acknowledgements. It sees a packet from its Ethernet
/// header on, and lets [`SNAP_LEN`] bytes pass.
///
/// Where data is held, one in 128 of all other segments passes too, in both directions: those whose identification,
/// which TCP counts up, has seven zeros at its end. They tell the Ethernet address behind a connection that was there
/// before the daemon.
pub(super) fn sniffed(holds: Holds) -> Vec<Instruction> {
    const BETWEEN_SAMPLES: u32 = 0x7f;
    const OUTGOING: u32 = 4;
    const OTHER_HOST: u32 = 3;
    /// One of 256 incoming acknowledgements passes.
    const SAMPLED: u32 = 255;
    const ETHERNET: u32 = 14;
    let mut program = Program::new();
    program.load(LD_H_ABS, 12);
    program.jump(JEQ, 0x0800, To::Next, To::Reject);
    program.tcp_only(ETHERNET);
    program.load(LD_W_ABS, PACKET_TYPE);
    program.jump(JEQ, OTHER_HOST, To::Reject, To::Next);
    program.load(LD_B_IND, ETHERNET + 13);
    program.jump(JSET, SYN | FIN | RST, To::Accept, To::Next);
    if holds == Holds::Data {
        program.load(LD_H_ABS, ETHERNET + 4);
        program.jump(JSET, BETWEEN_SAMPLES, To::Next, To::Accept);
    }
    program.load(LD_W_ABS, PACKET_TYPE);
    program.jump(JEQ, OUTGOING, To::Reject, To::Next);
    // A daemon that is started while a connection only sends learns the address of the other host from these.
    program.load(LD_W_ABS, RANDOM);
    program.jump(JSET, SAMPLED, To::Next, To::Accept);
    // `payload` compares with the length of the headers without that of Ethernet, since X counts from IPv4 on.
    program.payload(ETHERNET, To::Accept, To::Reject);
    program.finish(SNAP_LEN)
}

/// Returns the program by which a packet socket chooses the segments that open a connection from this host, or answer that.
pub(super) fn opens() -> Vec<Instruction> {
    const OUTGOING: u32 = 4;
    const ETHERNET: u32 = 14;
    let mut program = Program::new();
    program.load(LD_H_ABS, 12);
    program.jump(JEQ, 0x0800, To::Next, To::Reject);
    program.tcp_only(ETHERNET);
    program.load(LD_W_ABS, PACKET_TYPE);
    program.jump(JEQ, OUTGOING, To::Next, To::Reject);
    program.load(LD_B_IND, ETHERNET + 13);
    program.jump(JSET, SYN, To::Accept, To::Reject);
    program.finish(1)
}

/// Writes a program as the `bpf` match of iptables wants it.
pub(super) fn to_bytecode(program: &[Instruction]) -> String {
    let mut text = program.len().to_string();
    for Instruction { code, if_true, if_false, k } in program {
        let _ = write!(text, ",{code} {if_true} {if_false} {k}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Segment;
    use proptest::prelude::*;

    /// Runs a program on a packet as the kernel does, and returns its result. A load outside of the packet ends the
    /// program with zero.
    fn run(program: &[Instruction], packet: &[u8], packet_type: u32) -> u32 {
        let (mut a, mut x, mut pc) = (0u32, 0u32, 0);
        let bytes = |at: u32, len: usize| -> Option<u32> {
            let at = at as usize;
            Some(
                packet.get(at..at.checked_add(len)?)?.iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte)),
            )
        };
        loop {
            let Instruction { code, if_true, if_false, k } = program[pc];
            pc += 1;
            let mut branch = |holds: bool| pc += usize::from(if holds { if_true } else { if_false });
            let loaded = match code {
                LD_W_ABS if k == PACKET_TYPE => Some(packet_type),
                LD_W_ABS if k == RANDOM => Some(1),
                LD_B_ABS => bytes(k, 1),
                LD_H_ABS => bytes(k, 2),
                LD_B_IND => bytes(x + k, 1),
                LDX_B_MSH => {
                    let Some(byte) = bytes(k, 1) else { return 0 };
                    x = (byte & 15) * 4;
                    Some(a)
                }
                ALU_ADD_X => Some(a.wrapping_add(x)),
                ALU_AND => Some(a & k),
                ALU_RSH => Some(a >> k),
                MISC_TAX => {
                    x = a;
                    Some(a)
                }
                JEQ => {
                    branch(a == k);
                    Some(a)
                }
                JGT_X => {
                    branch(a > x);
                    Some(a)
                }
                JSET => {
                    branch(a & k != 0);
                    Some(a)
                }
                RET => return k,
                _ => panic!("the operation {code:#x} is unknown"),
            };
            let Some(loaded) = loaded else { return 0 };
            a = loaded;
        }
    }

    /// Makes a TCP packet over IPv4 with options of the given lengths in words.
    fn packet(flags: u32, ip_options: u8, tcp_options: u8, payload: u16) -> Vec<u8> {
        let headers = 40 + 4 * usize::from(ip_options + tcp_options);
        let mut packet = vec![0; headers + usize::from(payload)];
        let len = (packet.len() as u16).to_be_bytes();
        packet[0] = 0x45 + ip_options;
        packet[2..4].copy_from_slice(&len);
        packet[6] = 0x40;
        packet[9] = 6;
        let tcp = 20 + 4 * usize::from(ip_options);
        packet[tcp + 12] = (5 + tcp_options) << 4;
        packet[tcp + 13] = flags as u8;
        packet
    }

    fn framed(packet: &[u8]) -> Vec<u8> {
        let mut frame = vec![0; 14];
        frame[12] = 8;
        frame.extend_from_slice(packet);
        frame
    }

    proptest! {
        #[test]
        fn the_programs_agree_with_the_parser_on_every_kind_of_segment(
            flags in 0u32..64, ip_options in 0u8..=10, tcp_options in 0u8..=10,
            payload in prop_oneof![Just(0u16), 0u16..1460], packet_type in prop_oneof![Just(0u32), Just(3), Just(4)],
            id in prop_oneof![Just(0x1280u16), any::<u16>()],
        ) {
            let mut packet = packet(flags, ip_options, tcp_options, payload);
            packet[4..6].copy_from_slice(&id.to_be_bytes());
            let segment = Segment::parse(&packet).unwrap();
            prop_assert_eq!(segment.payload, payload);
            let special = segment.flags.syn() || segment.flags.fin() || segment.flags.rst();
            let data = (payload > 0 || segment.flags.fin()) && !segment.flags.syn() && !segment.flags.rst();
            prop_assert_eq!(run(&held(Holds::Data), &packet, 0) != 0, data);
            prop_assert_eq!(run(&held(Holds::Acks { syn_acks: false, requests: false }), &packet, 0) != 0, segment.is_pure_ack());
            let syn_ack = segment.flags.syn() && segment.flags.ack() && !segment.flags.fin() && !segment.flags.rst();
            prop_assert_eq!(
                run(&held(Holds::Acks { syn_acks: true, requests: false }), &packet, 0) != 0,
                segment.is_pure_ack() || syn_ack
            );
            let asks = Holds::Acks { syn_acks: false, requests: true };
            prop_assert_eq!(run(&held(asks), &packet, 0) != 0, segment.flags.ack() && !special);
            let seen = packet_type != 3 && (special || payload > 0 && packet_type == 0);
            let acks = Holds::Acks { syn_acks: false, requests: false };
            prop_assert_eq!(run(&sniffed(acks), &framed(&packet), packet_type) != 0, seen);
            prop_assert_eq!(run(&opens(), &framed(&packet), packet_type) != 0, packet_type == 4 && segment.flags.syn());
            let seen = seen || packet_type != 3 && id % 128 == 0;
            prop_assert_eq!(run(&sniffed(Holds::Data), &framed(&packet), packet_type) != 0, seen);
        }

        #[test]
        fn no_bytes_lead_a_program_astray(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            for program in [held(Holds::Data), held(Holds::Acks { syn_acks: true, requests: false }), sniffed(Holds::Data)] {
                prop_assert!(run(&program, &bytes, 0) <= SNAP_LEN);
            }
        }
    }

    #[test]
    fn fragments_and_other_protocols_are_not_held() {
        let mut fragment = packet(ACK, 0, 0, 100);
        fragment[7] = 1;
        assert_eq!(run(&held(Holds::Data), &fragment, 0), 0);
        let mut udp = packet(ACK, 0, 0, 100);
        udp[9] = 17;
        assert_eq!(run(&held(Holds::Data), &udp, 0), 0);
        assert_eq!(run(&held(Holds::Data), &packet(ACK, 0, 0, 100), 0), 1);
    }

    #[test]
    fn bytecode_begins_with_the_number_of_its_instructions() {
        let program = held(Holds::Data);
        let text = to_bytecode(&program);
        assert_eq!(text.split(',').count(), program.len() + 1);
        assert!(text.starts_with(&format!("{},48 0 0 9,21 0 ", program.len())), "{text}");
        assert!(text.ends_with(",6 0 0 1,6 0 0 0"), "{text}");
    }
}
