//! Formats of traces: packets as frames on a wire, and the files of Wireshark and Perfetto. Everything here turns values
//! into bytes in memory: nothing reads a clock, opens a file, or knows a simulator.
//!
//! | module | what it holds |
//! |---|---|
//! | [`frame`] | a packet as an Ethernet frame, with the headers that its family of transports has |
//! | `own`, `tcp`, `roce`, `ethernet` | those headers |
//! | [`pcapng`] | the writer of pcapng files |
//! | [`perfetto`] | the writer of Perfetto traces, on the few parts of Protocol Buffers in `protobuf` |
#![forbid(unsafe_code)]

mod ethernet;
pub mod frame;
mod own;
pub mod pcapng;
pub mod perfetto;
mod protobuf;
mod roce;
mod tcp;
