//! A frame: the state of the network at one instant as bytes, in columns that a page reads without another copy.
//!
//! All numbers are little-endian, and every column starts at a multiple of eight bytes.

use clearway_sim::{
    DropReason, FlowView, FrameKind, InFlight, Marks, Packets, PortView, Progress, SeenPorts, Simulation,
};
use clearway_topology::PortId;
use clearway_units::Time;

/// The first four bytes: "CWF3".
const MAGIC: u32 = 0x3346_5743;
/// The length of the header in bytes.
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
/// The number that stands for the entropy of a packet whose end gave it none.
const NO_ENTROPY: u32 = u32::MAX;

/// The parts of a frame that a caller may leave out.
#[derive(Clone, Copy, Debug)]
pub struct Parts {
    /// The packets on links.
    pub packets: bool,
    /// The packets in queues.
    pub queued: bool,
}

/// What frames of one simulation are made in. It is kept from frame to frame, so that a frame needs no memory of its own
/// and writes only the ports that changed.
#[derive(Default)]
pub struct Camera {
    /// The last frame.
    frame: Bytes,
    ports: SeenPorts,
    packets: Packets,
    /// The ports at which packets wait.
    waiting: Vec<PortId>,
    flows: Vec<Flow>,
    /// The rows of the flows with their places in the list, in the order of the rows.
    order: Vec<(u32, u32)>,
}

/// A flow as a frame shows it.
struct Flow {
    row: u32,
    size: f64,
    delivered: f64,
    window: f64,
    rate: f64,
    srtt: f64,
}

impl Camera {
    /// Takes a frame.
    pub fn take(&mut self, run: u32, simulation: &mut Simulation, parts: Parts) -> &[u8] {
        self.flows.clear();
        simulation.flows().each(|view| self.flows.extend(Flow::new(&view)));
        // Rows with places are sorted in place of flows, which are larger.
        self.order.clear();
        self.order.extend(self.flows.iter().zip(0u32..).map(|(flow, place)| (flow.row, place)));
        self.order.sort_unstable();
        self.packets.clear();
        if parts.packets {
            simulation.view().look_at_links(&mut self.packets);
        }

        let out = &mut self.frame;
        out.begin();
        let mut queued = out.ports(simulation, &mut self.ports, &mut self.waiting);
        if !parts.queued {
            queued = 0;
        }
        let is_too_much = queued + self.packets.in_flight.len() > PACKETS;
        if is_too_much {
            self.packets.clear();
            queued = 0;
        }
        out.in_flight(&self.packets.in_flight);
        out.queued(simulation, if queued > 0 { &self.waiting } else { &[] }, queued);
        out.flows(&self.flows, &self.order);

        let ended = if simulation.ended().is_some() { ENDED } else { 0 };
        let left_out = if is_too_much { LEFT_OUT } else { 0 };
        let ports = simulation.view().ports().len();
        let counts = [ports, self.packets.in_flight.len(), queued, self.flows.len()];
        out.header(run, counts.map(|count| count as u32), ended | left_out, &simulation.progress());
        &out.room[..out.length]
    }
}

impl Flow {
    /// Returns a flow that carries a message or carried one; `None` for another.
    fn new(view: &FlowView) -> Option<Flow> {
        let size = view.size.map_or(f64::NAN, |size| size as f64);
        let &FlowView { row, delivered, window, rate, srtt, .. } = view;
        Some(Flow { row: row?, size, delivered: delivered as f64, window, rate, srtt: srtt * 1e12 })
    }
}

/// The bytes of a frame, in the room of the frame before.
#[derive(Default)]
struct Bytes {
    room: Vec<u8>,
    /// The bytes that the frame takes so far.
    length: usize,
}

/// The room of columns of so many rows. It is taken column by column.
struct Table<'a> {
    rows: usize,
    room: &'a mut [u8],
}

impl<'a> Table<'a> {
    /// Takes the room of the next column, in which stand values of an earlier frame.
    fn column<const SIZE: usize>(&mut self) -> &'a mut [[u8; SIZE]] {
        let (column, room) = std::mem::take(&mut self.room).split_at_mut(padded(self.rows * SIZE));
        self.room = room;
        let (values, padding) = column.split_at_mut(self.rows * SIZE);
        padding.fill(0);
        values.as_chunks_mut().0
    }
}

/// Returns the bytes that a column takes: the next one starts at a multiple of eight.
fn padded(bytes: usize) -> usize {
    bytes.next_multiple_of(8)
}

impl Bytes {
    /// Begins a frame, with room for its header.
    fn begin(&mut self) {
        self.length = HEADER;
        self.room.resize(self.room.len().max(HEADER), 0);
    }

    /// Fills the room at the start.
    fn header(&mut self, run: u32, counts: [u32; 4], flags: u32, progress: &Progress) {
        let mut header = Vec::with_capacity(HEADER);
        let mut words = |words: &[u32]| header.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        let halves = |number: f64| [number.to_bits() as u32, (number.to_bits() >> 32) as u32];
        words(&[MAGIC, run]);
        words(&halves(progress.now.as_ps() as f64));
        words(&counts);
        words(&[flags, 0]);
        words(&halves(progress.events as f64));
        words(&halves(progress.link_transmissions as f64));
        words(&[0, 0]);
        self.room[..HEADER].copy_from_slice(&header);
    }

    /// Adds a table of so many rows, whose columns hold numbers of these sizes in bytes.
    fn table<const COLUMNS: usize>(&mut self, rows: usize, sizes: [usize; COLUMNS]) -> Table<'_> {
        let start = self.length;
        self.length += sizes.iter().map(|size| padded(size * rows)).sum::<usize>();
        self.room.resize(self.room.len().max(self.length), 0);
        Table { rows, room: &mut self.room[start..self.length] }
    }

    /// Adds the ports, of which those that did not change stand there still, and lists those at which packets wait. Returns
    /// how many of these packets a frame holds.
    fn ports(&mut self, simulation: &Simulation, seen: &mut SeenPorts, waiting: &mut Vec<PortId>) -> usize {
        let ports = simulation.view().ports().len();
        let mut table = self.table(ports, [4, 4, 8, 8, 8, 4, 4, 4, 4, 4, 4, 1]);
        let [queues, credit_queues] = [(); 2].map(|()| table.column::<4>());
        let [sent_bytes, sent_data_bytes, sent_credits] = [(); 3].map(|()| table.column::<8>());
        let [ecn_marks, drops, credit_drops, pauses, cnps, trims] = [(); 6].map(|()| table.column::<4>());
        let states = table.column::<1>();
        // Counts stay at the largest number of 32 bits once they reach it.
        let count = |number: u64| (number.min(u64::from(u32::MAX)) as u32).to_le_bytes();
        let real = |number: u64| (number as f64).to_le_bytes();
        let mut queued = 0;
        waiting.clear();
        simulation.view().changed_ports(seen, |view: PortView| {
            let row = view.port.0 as usize;
            queues[row] = count(view.queue_bytes);
            credit_queues[row] = count(view.credit_queue_bytes);
            sent_bytes[row] = real(view.sent_bytes);
            sent_data_bytes[row] = real(view.sent_data_bytes);
            sent_credits[row] = real(view.sent_credits);
            ecn_marks[row] = count(view.marks);
            drops[row] = count(view.drops.losses());
            credit_drops[row] = count(view.drops[DropReason::Credit]);
            pauses[row] = count(view.pauses_sent);
            cnps[row] = count(view.cnps);
            trims[row] = count(view.trims);
            states[row] = [bits([view.is_paused, !view.is_up, view.is_transmitting])];
            let packets = (view.queue_packets + view.credit_queue_packets) as usize;
            if packets > 0 {
                waiting.push(view.port);
                queued += packets.min(QUEUED);
            }
        });
        queued
    }

    /// Adds the packets on links.
    fn in_flight(&mut self, frames: &[InFlight]) {
        let mut table = self.table(frames.len(), [4, 4, 4, 4, 1, 1, 8, 8]);
        let [ports, flows, wires, entropies] = [(); 4].map(|()| table.column::<4>());
        let [kinds, flags] = [(); 2].map(|()| table.column::<1>());
        let [starts, arrivals] = [(); 2].map(|()| table.column::<8>());
        let real = |time: Time| (time.as_ps() as f64).to_le_bytes();
        for (row, &InFlight { packet, start, arrives }) in frames.iter().enumerate() {
            ports[row] = packet.port.0.to_le_bytes();
            flows[row] = packet.flow.unwrap_or(NO_FLOW).to_le_bytes();
            wires[row] = packet.wire.to_le_bytes();
            entropies[row] = packet.entropy.map_or(NO_ENTROPY, u32::from).to_le_bytes();
            kinds[row] = [packet.kind.index()];
            flags[row] = [marks(packet.marks)];
            starts[row] = real(start);
            arrivals[row] = real(arrives);
        }
    }

    /// Adds the packets that wait at ports, of which there are so many.
    fn queued(&mut self, simulation: &Simulation, waiting: &[PortId], queued: usize) {
        let mut table = self.table(queued, [4, 4, 1, 1]);
        let [ports, wires] = [(); 2].map(|()| table.column::<4>());
        let [kinds, flags] = [(); 2].map(|()| table.column::<1>());
        let mut rows = ports.iter_mut().zip(wires).zip(kinds).zip(flags);
        for &port in waiting {
            simulation.view().each_queued(port, QUEUED, |packet| {
                if let Some((((of, wire), kind), flags)) = rows.next() {
                    *of = port.0.to_le_bytes();
                    *wire = packet.wire.to_le_bytes();
                    *kind = [FrameKind::Packet(packet.kind).index()];
                    *flags = [marks(packet.marks)];
                }
            });
        }
    }

    /// Adds the flows in an order.
    fn flows(&mut self, flows: &[Flow], order: &[(u32, u32)]) {
        let mut table = self.table(flows.len(), [4, 8, 8, 8, 8, 8]);
        let rows = table.column::<4>();
        let [sizes, delivered, windows, rates, srtts] = [(); 5].map(|()| table.column::<8>());
        for (row, &(_, place)) in order.iter().enumerate() {
            let flow = &flows[place as usize];
            rows[row] = flow.row.to_le_bytes();
            sizes[row] = flow.size.to_le_bytes();
            delivered[row] = flow.delivered.to_le_bytes();
            windows[row] = flow.window.to_le_bytes();
            rates[row] = flow.rate.to_le_bytes();
            srtts[row] = flow.srtt.to_le_bytes();
        }
    }
}

/// Returns the marks of a packet as bits.
fn marks(marks: Marks) -> u8 {
    bits([marks.is_marked(), marks.is_retransmission(), marks.is_trimmed()])
}

/// Bits, the first of which counts 1.
fn bits([one, two, four]: [bool; 3]) -> u8 {
    u8::from(one) | u8::from(two) << 1 | u8::from(four) << 2
}
