//! A frame: the state of the network at one instant as bytes, in columns that a page reads without another copy.
//!
//! All numbers are little-endian, and every column starts at a multiple of eight bytes.

use clearway_sim::{FlowView, Packets, PortView, Simulation};

/// The first four bytes: "CWF1".
const MAGIC: u32 = 0x3146_5743;
/// Set in the flags of a frame if the run has ended.
const ENDED: u32 = 1;
/// Set in the flags of a frame whose packets were left out, since there are too many.
const LEFT_OUT: u32 = 2;
/// The most packets in a frame.
const PACKETS: usize = 20_000;
/// The most packets of a port's queues.
pub const QUEUED: usize = 256;
/// The number that stands for the flow of a packet that belongs to none.
const NO_FLOW: u32 = u32::MAX;

/// The parts of a frame that a caller may leave out.
#[derive(Clone, Copy, Debug)]
pub struct Parts {
    /// The packets on links.
    pub packets: bool,
    /// The packets in queues.
    pub queued: bool,
}

/// What is read of a simulation for a frame, kept so that the next frame needs no memory of its own.
#[derive(Default)]
pub struct Camera {
    ports: Vec<PortView>,
    packets: Packets,
    flows: Vec<FlowView>,
}

impl Camera {
    /// Takes a frame.
    pub fn take(&mut self, run: u32, simulation: &mut Simulation, parts: Parts) -> Vec<u8> {
        let Camera { ports, packets, flows } = self;
        ports.clear();
        ports.extend(simulation.ports());
        packets.in_flight.clear();
        packets.queued.clear();
        if parts.packets || parts.queued {
            simulation.look_at_packets(packets, if parts.queued { QUEUED } else { 0 });
        }
        if !parts.packets {
            packets.in_flight.clear();
        }
        let is_too_much = packets.in_flight.len() + packets.queued.len() > PACKETS;
        if is_too_much {
            packets.in_flight.clear();
            packets.queued.clear();
        }
        flows.clear();
        simulation.flows(|flow| flows.push(flow));
        flows.retain(|flow| flow.row.is_some());
        flows.sort_unstable_by_key(|flow| flow.row);

        let progress = simulation.progress();
        let ended = if simulation.ended().is_some() { ENDED } else { 0 };
        let left_out = if is_too_much { LEFT_OUT } else { 0 };
        let mut out = Columns::new(
            ports.len() * 64 + (packets.in_flight.len() + packets.queued.len()) * 32 + flows.len() * 48,
        );
        for word in [MAGIC, run] {
            out.u32(word);
        }
        out.f64(progress.now.as_ps() as f64);
        let counts = [ports.len(), packets.in_flight.len(), packets.queued.len(), flows.len()];
        for word in counts.map(|count| count as u32).into_iter().chain([ended | left_out, 0]) {
            out.u32(word);
        }
        for number in [progress.events as f64, progress.link_transmissions as f64, 0.0] {
            out.f64(number);
        }
        out.ports(ports);
        out.packets(packets);
        out.flows(flows);
        out.0
    }
}

/// The bytes of a frame as they grow, column by column.
struct Columns(Vec<u8>);

impl Columns {
    fn new(bytes: usize) -> Columns {
        Columns(Vec::with_capacity(bytes + 1024))
    }

    fn u32(&mut self, number: u32) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    fn f64(&mut self, number: f64) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    /// Adds a column, of which each row gives so many bytes.
    fn column<T, const N: usize>(&mut self, rows: &[T], value: impl Fn(&T) -> [u8; N]) {
        let start = self.0.len();
        self.0.resize((start + rows.len() * N).next_multiple_of(8), 0);
        for (place, row) in self.0[start..].chunks_exact_mut(N).zip(rows) {
            place.copy_from_slice(&value(row));
        }
    }

    fn u8s<T>(&mut self, rows: &[T], value: impl Fn(&T) -> u8) {
        self.column(rows, |row| [value(row)]);
    }

    fn u32s<T>(&mut self, rows: &[T], value: impl Fn(&T) -> u32) {
        self.column(rows, |row| value(row).to_le_bytes());
    }

    /// Adds a column of counts, which stay at the largest number of 32 bits once they reach it.
    fn counts<T>(&mut self, rows: &[T], value: impl Fn(&T) -> u64) {
        self.u32s(rows, |row| u32::try_from(value(row)).unwrap_or(u32::MAX));
    }

    fn f64s<T>(&mut self, rows: &[T], value: impl Fn(&T) -> f64) {
        self.column(rows, |row| value(row).to_le_bytes());
    }

    fn ports(&mut self, ports: &[PortView]) {
        self.counts(ports, |port| port.queue_bytes);
        self.counts(ports, |port| port.credit_queue_bytes);
        self.f64s(ports, |port| port.sent_bytes as f64);
        self.f64s(ports, |port| port.sent_data_bytes as f64);
        self.f64s(ports, |port| port.sent_credits as f64);
        self.counts(ports, |port| port.marks);
        self.counts(ports, PortView::losses);
        self.counts(ports, PortView::credit_drops);
        self.counts(ports, |port| port.pauses_sent);
        self.counts(ports, |port| port.cnps);
        self.u8s(ports, |port| bits([port.is_paused, !port.is_up, port.is_transmitting]));
    }

    fn packets(&mut self, packets: &Packets) {
        let moving = &packets.in_flight;
        self.u32s(moving, |packet| packet.port.0);
        self.u32s(moving, |packet| packet.flow.unwrap_or(NO_FLOW));
        self.u32s(moving, |packet| packet.wire);
        self.u8s(moving, |packet| packet.kind.index());
        self.u8s(moving, |packet| bits([packet.is_marked, packet.is_retransmission, false]));
        self.f64s(moving, |packet| packet.start.as_ps() as f64);
        self.f64s(moving, |packet| packet.arrives.as_ps() as f64);
        let queued = &packets.queued;
        self.u32s(queued, |packet| packet.port.0);
        self.u32s(queued, |packet| packet.flow.unwrap_or(NO_FLOW));
        self.u32s(queued, |packet| packet.wire);
        self.u8s(queued, |packet| packet.kind.index());
        self.u8s(queued, |packet| bits([packet.is_marked, packet.is_retransmission, false]));
    }

    fn flows(&mut self, flows: &[FlowView]) {
        self.u32s(flows, |flow| flow.row.unwrap_or(NO_FLOW));
        self.f64s(flows, |flow| flow.size.map_or(f64::NAN, |size| size as f64));
        self.f64s(flows, |flow| flow.delivered as f64);
        self.f64s(flows, |flow| flow.window);
        self.f64s(flows, |flow| flow.rate);
        self.f64s(flows, |flow| flow.srtt * 1e12);
    }
}

/// Bits, the first of which counts 1.
fn bits(set: [bool; 3]) -> u8 {
    set.iter().rev().fold(0, |bits, &bit| bits << 1 | u8::from(bit))
}
