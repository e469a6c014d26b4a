//! Single transports against closed forms, their papers and their authors' programs.

#[path = "../common/mod.rs"]
mod common;

mod beside_htsim;
mod collapse;
mod expresspass;
mod hpcc_ns3;
mod htsim;
mod pacc;
mod pulled_golden;
mod rdma;
mod uec_golden;
mod uec_messages;
mod uec_triggers;
