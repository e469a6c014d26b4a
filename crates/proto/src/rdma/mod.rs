//! RDMA over converged Ethernet, version 2: messages sent at a rate, acknowledged packet by packet.

pub mod dcqcn;
pub mod dctcp;
pub mod hpcc;
pub mod law;
pub mod pacc;
pub mod scale;
pub mod timely;
