//! What ports, hosts' queues, memory and flow control do with packets of every kind.

#[path = "../common/mod.rs"]
mod common;

mod classes;
mod credit_classes;
mod flow_control;
mod host_queue;
mod livelock;
mod lockout;
mod memory;
mod plain_ports;
mod ports;
mod queues;
mod slower_links;
mod trimming;
