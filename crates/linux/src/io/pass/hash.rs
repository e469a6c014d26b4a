//! Where hosts and flows stand in the tables, as `bpf/pass.h` has it.

use crate::wire::FlowKey;
use std::net::IpAddr;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

/// The places, one after the other, of which a host or a flow takes a free one. The programs look at as many.
pub(super) const PROBES: usize = 4;

/// Returns an address as four words of the header, with zeroes behind one of IPv4.
pub(super) fn words(address: IpAddr) -> [u32; 4] {
    let mut bytes = [0; 16];
    match address {
        IpAddr::V4(address) => bytes[..4].copy_from_slice(&address.octets()),
        IpAddr::V6(address) => bytes = address.octets(),
    }
    let word = |at: usize| u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    [word(0), word(4), word(8), word(12)]
}

/// Writes an address into a table that a program reads.
pub(super) fn write(to: &[AtomicU32; 4], address: IpAddr) {
    to.iter().zip(words(address)).for_each(|(to, word)| to.store(word, Relaxed));
}

/// The hash of the program.
pub(super) fn mixed(hash: u32, word: u32) -> u32 {
    (hash ^ word).wrapping_mul(0x9e37_79b1)
}

pub(super) fn of_address(address: IpAddr) -> u32 {
    words(address).into_iter().fold(0, mixed)
}

/// The hash of a flow, by whose first bits its place is found.
pub(in crate::io) fn of_flow(flow: &FlowKey) -> u32 {
    let hosts = mixed(of_address(flow.destination), of_address(flow.source));
    mixed(hosts, ports(flow))
}

/// Returns the ports of a flow as one word of the TCP header.
pub(super) fn ports(flow: &FlowKey) -> u32 {
    let ([a, b], [c, d]) = (flow.source_port.to_be_bytes(), flow.destination_port.to_be_bytes());
    u32::from_ne_bytes([a, b, c, d])
}
