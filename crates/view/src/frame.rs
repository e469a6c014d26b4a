//! A frame: the state of the network at one instant as bytes, in columns that a page reads without another copy.
//!
//! All numbers are little-endian, and every column starts at a multiple of eight bytes.

use clearway_sim::{FlowView, Packets, Simulation};

/// The first four bytes: "CWF1".
const MAGIC: u32 = 0x3146_5743;
/// The length of the header.
const HEADER: usize = 64;
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

/// What is read of a simulation for a frame, kept so that the next frame needs little memory of its own.
#[derive(Default)]
pub struct Camera {
    packets: Packets,
    flows: Vec<FlowView>,
}

impl Camera {
    /// Takes a frame.
    pub fn take(&mut self, run: u32, simulation: &mut Simulation, parts: Parts) -> Vec<u8> {
        let Camera { packets, flows } = self;
        let mut out = Bytes(Vec::with_capacity(1 << 16));
        let header = out.table(1, [4, 4, 8, 4, 4, 4, 4, 4, 4, 8, 8, 8]);
        let waiting = out.ports(simulation);
        packets.in_flight.clear();
        packets.queued.clear();
        // Packets that are too many are not read at all: that would take longer than the rest of the frame.
        let is_crowded = parts.queued && waiting > PACKETS;
        if (parts.packets || parts.queued) && !is_crowded {
            simulation.look_at_packets(packets, if parts.queued { QUEUED } else { 0 });
        }
        if !parts.packets {
            packets.in_flight.clear();
        }
        let is_too_much = is_crowded || packets.in_flight.len() + packets.queued.len() > PACKETS;
        if is_too_much {
            packets.in_flight.clear();
            packets.queued.clear();
        }
        flows.clear();
        simulation.flows(|flow| flows.extend(flow.row.is_some().then_some(flow)));
        flows.sort_unstable_by_key(|flow| flow.row);

        let progress = simulation.progress();
        let ended = if simulation.ended().is_some() { ENDED } else { 0 };
        let left_out = if is_too_much { LEFT_OUT } else { 0 };
        let counts = [simulation.ports().len(), packets.in_flight.len(), packets.queued.len(), flows.len()];
        let words = [(0, MAGIC), (1, run), (7, ended | left_out)];
        let counts = (3..).zip(counts.map(|count| count as u32));
        words.into_iter().chain(counts).for_each(|(column, word)| out.u32(header[column], 0, word));
        out.f64(header[2], 0, progress.now.as_ps() as f64);
        out.f64(header[9], 0, progress.events as f64);
        out.f64(header[10], 0, progress.link_transmissions as f64);
        out.packets(packets);
        out.flows(flows);
        out.0
    }
}

/// The bytes of a frame.
struct Bytes(Vec<u8>);

impl Bytes {
    /// Adds a table of so many rows, whose columns have values of these sizes, and answers where the columns start. The
    /// header is a table of one row without gaps.
    fn table<const N: usize>(&mut self, rows: usize, sizes: [usize; N]) -> [usize; N] {
        let mut end = self.0.len();
        let starts = sizes.map(|size| {
            let start = end;
            end += size * rows;
            end = if start < HEADER { end } else { end.next_multiple_of(8) };
            start
        });
        self.0.resize(end, 0);
        starts
    }

    fn u8(&mut self, column: usize, row: usize, number: u8) {
        self.0[column + row] = number;
    }

    fn u32(&mut self, column: usize, row: usize, number: u32) {
        self.0[column + 4 * row..][..4].copy_from_slice(&number.to_le_bytes());
    }

    /// Writes a count, which stays at the largest number of 32 bits once it reaches it.
    fn count(&mut self, column: usize, row: usize, number: u64) {
        self.u32(column, row, u32::try_from(number).unwrap_or(u32::MAX));
    }

    fn f64(&mut self, column: usize, row: usize, number: f64) {
        self.0[column + 8 * row..][..8].copy_from_slice(&number.to_le_bytes());
    }

    /// Adds the ports, and answers how many packets of their queues a frame would show.
    fn ports(&mut self, simulation: &Simulation) -> usize {
        let mut waiting = 0;
        let ports = simulation.ports();
        let at = self.table(ports.len(), [4, 4, 8, 8, 8, 4, 4, 4, 4, 4, 1]);
        for (row, port) in ports.enumerate() {
            self.count(at[0], row, port.queue_bytes);
            self.count(at[1], row, port.credit_queue_bytes);
            self.f64(at[2], row, port.sent_bytes as f64);
            self.f64(at[3], row, port.sent_data_bytes as f64);
            self.f64(at[4], row, port.sent_credits as f64);
            self.count(at[5], row, port.marks);
            self.count(at[6], row, port.losses());
            self.count(at[7], row, port.credit_drops());
            self.count(at[8], row, port.pauses_sent);
            self.count(at[9], row, port.cnps);
            self.u8(at[10], row, bits([port.is_paused, !port.is_up, port.is_transmitting]));
            waiting += QUEUED.min((port.queue_packets + port.credit_queue_packets) as usize);
        }
        waiting
    }

    fn packets(&mut self, packets: &Packets) {
        let at = self.table(packets.in_flight.len(), [4, 4, 4, 1, 1, 8, 8]);
        for (row, packet) in packets.in_flight.iter().enumerate() {
            self.u32(at[0], row, packet.port.0);
            self.u32(at[1], row, packet.flow.unwrap_or(NO_FLOW));
            self.u32(at[2], row, packet.wire);
            self.u8(at[3], row, packet.kind.index());
            self.u8(at[4], row, bits([packet.is_marked, packet.is_retransmission, false]));
            self.f64(at[5], row, packet.start.as_ps() as f64);
            self.f64(at[6], row, packet.arrives.as_ps() as f64);
        }
        let at = self.table(packets.queued.len(), [4, 4, 4, 1, 1]);
        for (row, packet) in packets.queued.iter().enumerate() {
            self.u32(at[0], row, packet.port.0);
            self.u32(at[1], row, packet.flow.unwrap_or(NO_FLOW));
            self.u32(at[2], row, packet.wire);
            self.u8(at[3], row, packet.kind.index());
            self.u8(at[4], row, bits([packet.is_marked, packet.is_retransmission, false]));
        }
    }

    fn flows(&mut self, flows: &[FlowView]) {
        let at = self.table(flows.len(), [4, 8, 8, 8, 8, 8]);
        for (row, flow) in flows.iter().enumerate() {
            self.u32(at[0], row, flow.row.unwrap_or(NO_FLOW));
            self.f64(at[1], row, flow.size.map_or(f64::NAN, |size| size as f64));
            self.f64(at[2], row, flow.delivered as f64);
            self.f64(at[3], row, flow.window);
            self.f64(at[4], row, flow.rate);
            self.f64(at[5], row, flow.srtt * 1e12);
        }
    }
}

/// Bits, the first of which counts 1.
fn bits(set: [bool; 3]) -> u8 {
    set.iter().rev().fold(0, |bits, &bit| bits << 1 | u8::from(bit))
}
