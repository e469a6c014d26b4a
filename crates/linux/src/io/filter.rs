//! Programs of the classic BPF machine that choose packets inside the kernel: for packet sockets, and for the `bpf`
//! match of iptables.

use crate::datapath::FRAME_MAX;
use crate::wire::{ETHERTYPE, Kind};
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

/// The versions of IP, of which each has rules of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Family {
    /// IPv4.
    Ipv4,
    /// IPv6, of which the fixed header of 40 bytes must be followed by that of TCP: packets with extension headers pass.
    Ipv6,
}

/// The greatest number of bytes of a packet that a filter hands to a packet socket: the headers of Ethernet, IPv4 and
/// TCP at their longest.
pub(super) const SNAP_LEN: u32 = 14 + 60 + 60;

/// The length of the Ethernet header, which stands before the IP header, or before the version and the kind of a control frame.
const ETHERNET: u32 = 14;

// The operations, by their names in `linux/bpf_common.h`.
const LD_B_ABS: u16 = 0x30;
const LD_H_ABS: u16 = 0x28;
const LD_B_IND: u16 = 0x50;
const LD_H_IND: u16 = 0x48;
const LDX_B_MSH: u16 = 0xb1;
const LDX_IMM: u16 = 0x01;
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
    /// The step of this number.
    Step(usize),
}

/// A program without the addresses of its two ends.
struct Program {
    steps: Vec<(u16, To, To, u32)>,
    /// The place of the IP header in what the program sees, and its version.
    base: u32,
    family: Family,
}

impl Program {
    fn new(base: u32, family: Family) -> Program {
        Program { steps: Vec::new(), base, family }
    }

    fn load(&mut self, code: u16, k: u32) {
        self.steps.push((code, To::Next, To::Next, k));
    }

    fn jump(&mut self, code: u16, k: u32, if_true: To, if_false: To) {
        self.steps.push((code, if_true, if_false, k));
    }

    /// Skips what is no TCP header, and leaves the length of the IP header in X.
    fn tcp_only(&mut self) {
        match self.family {
            Family::Ipv4 => {
                self.load(LD_B_ABS, self.base + 9);
                self.jump(JEQ, 6, To::Next, To::Reject);
                self.load(LD_H_ABS, self.base + 6);
                self.jump(JSET, 0x1fff, To::Reject, To::Next);
                self.load(LDX_B_MSH, self.base);
            }
            Family::Ipv6 => {
                self.load(LD_B_ABS, self.base + 6);
                self.jump(JEQ, 6, To::Next, To::Reject);
                self.load(LDX_IMM, 40);
            }
        }
    }

    /// Loads the flags of the TCP header, where X holds the length of the IP header.
    fn flags(&mut self) {
        self.load(LD_B_IND, self.base + 13);
    }

    /// Compares the length of the packet with that of its headers, of which X holds that of the IP header.
    fn payload(&mut self, some: To, none: To) {
        self.load(LD_B_IND, self.base + 12);
        self.load(ALU_RSH, 2);
        self.load(ALU_AND, 0x3c);
        match self.family {
            Family::Ipv4 => {
                self.load(ALU_ADD_X, 0);
                self.load(MISC_TAX, 0);
                self.load(LD_H_ABS, self.base + 2);
            }
            Family::Ipv6 => {
                // This length leaves out the header of IPv6.
                self.load(MISC_TAX, 0);
                self.load(LD_H_ABS, self.base + 4);
            }
        }
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
                To::Step(step) => (step - at - 1) as u8,
            };
            program.push(Instruction { code, if_true: skip(if_true), if_false: skip(if_false), k });
        }
        program.push(Instruction { code: RET, if_true: 0, if_false: 0, k: accepted });
        program.push(Instruction { code: RET, if_true: 0, if_false: 0, k: 0 });
        program
    }
}

/// The number of UDP among the protocols over IP.
const UDP: u32 = 17;
const FIN: u32 = 1;
const SYN: u32 = 2;
const RST: u32 = 4;
const ACK: u32 = 16;

/// Returns the program by which iptables or ip6tables chooses the packets that are held. It sees a packet from its IP header on.
pub(super) fn held(holds: Holds, family: Family) -> Vec<Instruction> {
    let mut program = Program::new(0, family);
    program.tcp_only();
    program.flags();
    match holds {
        Holds::Data => {
            program.jump(JSET, SYN | RST, To::Reject, To::Next);
            program.jump(JSET, FIN, To::Accept, To::Next);
            program.payload(To::Accept, To::Reject);
        }
        Holds::Acks { syn_acks, requests } => {
            program.jump(JSET, ACK, To::Next, To::Reject);
            program.jump(JSET, FIN | RST, To::Reject, To::Next);
            program.jump(JSET, SYN, if syn_acks { To::Accept } else { To::Reject }, To::Next);
            program.payload(if requests { To::Accept } else { To::Reject }, To::Accept);
        }
    }
    program.finish(1)
}

/// Returns the program by which a packet socket chooses what a datapath must see of packets that it does not hold:
/// segments that open or end a connection, in both directions, incoming data, and some of the incoming
/// acknowledgements. It sees a packet from its Ethernet header on, and lets [`SNAP_LEN`] bytes pass. Without `ipv6` it
/// chooses none of IPv6.
///
/// Where data is held, one in 128 of all other segments passes too, in both directions: over IPv4 those whose
/// identification, which TCP counts up, has seven zeros at its end, over IPv6 any. They tell the Ethernet address behind a
/// connection that was there before the daemon.
pub(super) fn sniffed(holds: Holds, ipv6: bool) -> Vec<Instruction> {
    by_family(ipv6, SNAP_LEN, |program| program.sniff(holds))
}

/// Returns a program that sees a packet from its Ethernet header on, and does `choose` with those of IPv4, and with those of
/// IPv6 if `ipv6` says so. It lets `accepted` bytes pass.
fn by_family(ipv6: bool, accepted: u32, choose: impl Fn(&mut Program)) -> Vec<Instruction> {
    let mut program = Program::new(ETHERNET, Family::Ipv4);
    program.load(LD_H_ABS, 12);
    let branch = program.steps.len();
    program.jump(JEQ, 0x0800, To::Next, To::Reject);
    choose(&mut program);
    if ipv6 {
        let other = program.steps.len();
        program.steps[branch].2 = To::Step(other);
        program.family = Family::Ipv6;
        program.jump(JEQ, 0x86dd, To::Next, To::Reject);
        choose(&mut program);
    }
    program.finish(accepted)
}

impl Program {
    /// Chooses among the packets of one version of IP, as [`sniffed`] says.
    fn sniff(&mut self, holds: Holds) {
        const BETWEEN_SAMPLES: u32 = 0x7f;
        const OUTGOING: u32 = 4;
        const OTHER_HOST: u32 = 3;
        /// One of 256 incoming acknowledgements passes.
        const SAMPLED: u32 = 255;
        self.tcp_only();
        self.load(LD_W_ABS, PACKET_TYPE);
        self.jump(JEQ, OTHER_HOST, To::Reject, To::Next);
        self.flags();
        self.jump(JSET, SYN | FIN | RST, To::Accept, To::Next);
        if holds == Holds::Data {
            match self.family {
                Family::Ipv4 => self.load(LD_H_ABS, self.base + 4),
                Family::Ipv6 => self.load(LD_W_ABS, RANDOM),
            }
            self.jump(JSET, BETWEEN_SAMPLES, To::Next, To::Accept);
        }
        self.load(LD_W_ABS, PACKET_TYPE);
        self.jump(JEQ, OUTGOING, To::Reject, To::Next);
        // A daemon that is started while a connection only sends learns the address of the other host from these.
        self.load(LD_W_ABS, RANDOM);
        self.jump(JSET, SAMPLED, To::Next, To::Accept);
        self.payload(To::Accept, To::Reject);
    }

    /// Accepts a datagram whose port has been loaded, if it goes to `port` and, if `leaves_credits` says so, is no credit: the instruction
    /// `code` loads its kind from `at`.
    fn choose_port(&mut self, port: u16, leaves_credits: bool, code: u16, at: u32) {
        if !leaves_credits {
            return self.jump(JEQ, port.into(), To::Accept, To::Reject);
        }
        self.jump(JEQ, port.into(), To::Next, To::Reject);
        self.load(code, at);
        self.jump(JEQ, Kind::Credit as u32, To::Reject, To::Accept);
    }

    /// Chooses among the packets of one version of IP, as [`opens`] says.
    fn opening(&mut self) {
        const OUTGOING: u32 = 4;
        self.tcp_only();
        self.load(LD_W_ABS, PACKET_TYPE);
        self.jump(JEQ, OUTGOING, To::Next, To::Reject);
        self.flags();
        self.jump(JSET, SYN, To::Accept, To::Reject);
    }
}

/// Returns the program by which a packet socket chooses control frames in UDP datagrams to a port, over both versions of IP,
/// and those straight over Ethernet, so that the log can say that a host uses these.
pub(super) fn datagrams(port: u16) -> Vec<Instruction> {
    chosen_datagrams(port, false)
}

/// Returns the program by which a packet socket chooses the control frames that are no credits: straight over Ethernet, or in UDP
/// datagrams to a port.
pub(super) fn signals(port: Option<u16>) -> Vec<Instruction> {
    let Some(port) = port else {
        let mut program = Program::new(0, Family::Ipv4);
        program.load(LD_B_ABS, ETHERNET + 1);
        program.jump(JEQ, Kind::Credit as u32, To::Reject, To::Accept);
        return program.finish(1);
    };
    chosen_datagrams(port, true)
}

/// As [`datagrams`], without credits if `leaves_credits` says so.
fn chosen_datagrams(port: u16, leaves_credits: bool) -> Vec<Instruction> {
    const UDP_HEADER: u32 = 8;
    let mut program = Program::new(ETHERNET, Family::Ipv4);
    program.load(LD_H_ABS, 12);
    program.jump(JEQ, ETHERTYPE.into(), To::Accept, To::Next);
    let branch = program.steps.len();
    program.jump(JEQ, 0x0800, To::Next, To::Reject);
    program.load(LD_B_ABS, ETHERNET + 9);
    program.jump(JEQ, UDP, To::Next, To::Reject);
    program.load(LD_H_ABS, ETHERNET + 6);
    program.jump(JSET, 0x3fff, To::Reject, To::Next);
    program.load(LDX_B_MSH, ETHERNET);
    program.load(LD_H_IND, ETHERNET + 2);
    program.choose_port(port, leaves_credits, LD_B_IND, ETHERNET + UDP_HEADER + 1);
    program.steps[branch].2 = To::Step(program.steps.len());
    program.jump(JEQ, 0x86dd, To::Next, To::Reject);
    program.load(LD_B_ABS, ETHERNET + 6);
    program.jump(JEQ, UDP, To::Next, To::Reject);
    program.load(LD_H_ABS, ETHERNET + 40 + 2);
    program.choose_port(port, leaves_credits, LD_B_ABS, ETHERNET + 40 + UDP_HEADER + 1);
    program.finish(if leaves_credits { 1 } else { FRAME_MAX as u32 + 4 })
}

/// Returns the program by which a socket takes nothing.
pub(super) fn nothing() -> Vec<Instruction> {
    vec![Instruction { code: RET, if_true: 0, if_false: 0, k: 0 }]
}

/// Returns the program by which a packet socket chooses the segments that open a connection from this host, or answer that.
/// Without `ipv6` it chooses none of IPv6.
pub(super) fn opens(ipv6: bool) -> Vec<Instruction> {
    by_family(ipv6, 1, Program::opening)
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
pub(super) mod tests;
