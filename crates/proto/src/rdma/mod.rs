//! RDMA over converged Ethernet, version 2: messages sent at a rate, acknowledged packet by packet.

pub mod law;
