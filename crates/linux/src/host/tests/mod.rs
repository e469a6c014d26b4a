//! Whole hosts in a small network in memory, with a kernel that holds packets as NFQUEUE does.

mod anything;
mod attacks;
mod bounds;
mod bulk;
mod bytes;
mod flows;
mod ipv6;
mod kernel;
mod network;
mod plain;
mod repeated;
mod small;
mod udp;
