//! An entry of a trace: a packet, or a pause frame, at a port at an instant.

use crate::ids::{ClassId, ClassSet};
use crate::net::DropReason;
use clearway_proto::{Extra, Packet};
use clearway_topology::{NodeId, PortId};
use clearway_units::Time;
use serde::{Deserialize, Serialize};

/// An entry of a trace.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Entry {
    /// The time.
    pub at: Time,
    /// The output port.
    pub port: PortId,
    /// The event.
    pub step: Step,
    /// The bytes of data on the wire that wait at the port afterwards.
    pub queued: u64,
    /// The number of credits that wait at the port afterwards.
    pub credits: u32,
    /// The packet or the pause frame.
    pub what: What,
}

/// An event in the life of a packet or a pause frame at a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Step {
    /// The packet joins a queue, since the port can't send it at once.
    Waits,
    /// The first bit leaves for the link; the last one leaves at `done`.
    Leaves {
        /// The time at which the last bit leaves.
        done: Time,
    },
    /// The port marks the packet (ECN CE).
    Marked,
    /// The port cuts the packet to its header.
    Trimmed,
    /// The port, or the link behind it, drops the packet.
    Dropped(DropReason),
    /// The port obeys a pause frame that came over its link.
    Obeys,
}

/// The subject of an entry.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum What {
    /// A packet of a flow.
    Packet(Traced),
    /// A frame of priority flow control.
    Frame {
        /// The classes to stop.
        stop: ClassSet,
        /// The classes that may go on.
        go: ClassSet,
    },
}

/// A packet of a flow, as it was at the instant of an entry.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Traced {
    /// The packet's number: the same at all ports that it crosses, and no other packet of the run has it.
    pub number: u64,
    /// The flow of the packet.
    pub flow: Whose,
    /// The packet.
    pub packet: Packet,
    /// The additions that few packets carry.
    pub extra: Option<Box<Extra>>,
    /// The number of ports that the packet has yet to cross, the present one not counted.
    pub hops_left: u8,
    /// The packet's class at the port; of a credit, the class among credits.
    pub class: ClassId,
}

/// The flow of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Whose {
    /// The index of the traffic entry in the model.
    pub traffic: u32,
    /// The number of the flow there.
    pub number: u64,
    /// The host that sends the flow's data.
    pub src: NodeId,
    /// The host that receives the flow's data.
    pub dst: NodeId,
}

/// The time that a flow, or a message, took.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FlowSpan {
    /// The flow.
    pub flow: Whose,
    /// The start.
    pub start: Time,
    /// The delivery of the last byte; `None` if the run ended before.
    pub end: Option<Time>,
    /// The size in bytes; `None` for a flow without an end.
    pub size: Option<u64>,
}

impl What {
    /// Returns the packet of a flow; `None` for a pause frame.
    pub fn packet(&self) -> Option<&Traced> {
        match self {
            What::Packet(traced) => Some(traced),
            What::Frame { .. } => None,
        }
    }
}
