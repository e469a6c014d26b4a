//! A frame: the state of the network at one instant as bytes, in columns that a page reads without another copy.
//!
//! All numbers are little-endian, and every column starts at a multiple of eight bytes.

use clearway_sim::{FlowView, PacketView, Packets, PortView, Simulation};

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

/// What is read of a simulation for a frame, kept so that the next frame needs little memory of its own.
#[derive(Default)]
pub struct Camera {
    packets: Packets,
    ports: Vec<Port>,
    flows: Vec<FlowView>,
    /// The length of the last frame.
    length: usize,
}

/// A port as a frame shows it: less than a cache line. Counts stay at the largest number of 32 bits once they reach it.
struct Port {
    sent_bytes: f64,
    sent_data_bytes: f64,
    sent_credits: f64,
    queue_bytes: u32,
    credit_queue_bytes: u32,
    marks: u32,
    drops: u32,
    credit_drops: u32,
    pauses: u32,
    cnps: u32,
    state: u8,
}

impl Camera {
    /// Takes a frame.
    pub fn take(&mut self, run: u32, simulation: &mut Simulation, parts: Parts) -> Vec<u8> {
        let mut waiting = 0;
        self.ports.clear();
        self.ports.extend(simulation.ports().map(|view| {
            waiting += QUEUED.min((view.queue_packets + view.credit_queue_packets) as usize);
            Port::new(&view)
        }));
        // Packets that are too many are not read at all: that would take longer than the rest of the frame.
        let is_crowded = parts.queued && waiting > PACKETS;
        let is_too_much = is_crowded || !self.look_at_packets(simulation, parts);
        if is_too_much {
            self.packets.clear();
        }
        self.flows.clear();
        simulation.flows(|flow| self.flows.extend(flow.row.is_some().then_some(flow)));
        self.flows.sort_unstable_by_key(|flow| flow.row);

        let Camera { packets, ports, flows, length } = self;
        let progress = simulation.progress();
        let ended = if simulation.ended().is_some() { ENDED } else { 0 };
        let left_out = if is_too_much { LEFT_OUT } else { 0 };
        let mut out = Bytes(Vec::with_capacity(*length * 5 / 4));
        out.words([MAGIC, run]);
        out.real(progress.now.as_ps() as f64);
        let counts = [ports.len(), packets.in_flight.len(), packets.queued.len(), flows.len()];
        out.words(counts.map(|count| count as u32));
        out.words([ended | left_out, 0]);
        out.real(progress.events as f64);
        out.real(progress.link_transmissions as f64);
        out.words([0, 0]);
        out.ports(ports);
        out.packets(packets);
        out.flows(flows);
        *length = out.0.len();
        out.0
    }

    /// Reads the packets that a frame shall hold. Answers false if there are too many.
    fn look_at_packets(&mut self, simulation: &Simulation, parts: Parts) -> bool {
        let packets = &mut self.packets;
        packets.clear();
        if parts.packets || parts.queued {
            simulation.look_at_packets(packets, if parts.queued { QUEUED } else { 0 });
        }
        if !parts.packets {
            packets.in_flight.clear();
        }
        packets.in_flight.len() + packets.queued.len() <= PACKETS
    }
}

impl Port {
    fn new(view: &PortView) -> Port {
        let count = |number: u64| number.min(u64::from(u32::MAX)) as u32;
        Port {
            sent_bytes: view.sent_bytes as f64,
            sent_data_bytes: view.sent_data_bytes as f64,
            sent_credits: view.sent_credits as f64,
            queue_bytes: count(view.queue_bytes),
            credit_queue_bytes: count(view.credit_queue_bytes),
            marks: count(view.marks),
            drops: count(view.losses()),
            credit_drops: count(view.credit_drops()),
            pauses: count(view.pauses_sent),
            cnps: count(view.cnps),
            state: bits([view.is_paused, !view.is_up, view.is_transmitting]),
        }
    }
}

/// The bytes of a frame.
struct Bytes(Vec<u8>);

impl Bytes {
    /// Adds numbers of the header.
    fn words<const N: usize>(&mut self, numbers: [u32; N]) {
        numbers.iter().for_each(|number| self.0.extend(number.to_le_bytes()));
    }

    /// Adds a number of the header.
    fn real(&mut self, number: f64) {
        self.0.extend(number.to_le_bytes());
    }

    /// Adds a column, which has a number for each row.
    fn column<T, const SIZE: usize>(&mut self, rows: &[T], number: impl Fn(&T) -> [u8; SIZE]) {
        let start = self.0.len();
        self.0.resize((start + SIZE * rows.len()).next_multiple_of(8), 0);
        let (places, _) = self.0[start..].as_chunks_mut();
        for (place, row) in places.iter_mut().zip(rows) {
            *place = number(row);
        }
    }

    fn ports(&mut self, ports: &[Port]) {
        self.column(ports, |port| port.queue_bytes.to_le_bytes());
        self.column(ports, |port| port.credit_queue_bytes.to_le_bytes());
        self.column(ports, |port| port.sent_bytes.to_le_bytes());
        self.column(ports, |port| port.sent_data_bytes.to_le_bytes());
        self.column(ports, |port| port.sent_credits.to_le_bytes());
        self.column(ports, |port| port.marks.to_le_bytes());
        self.column(ports, |port| port.drops.to_le_bytes());
        self.column(ports, |port| port.credit_drops.to_le_bytes());
        self.column(ports, |port| port.pauses.to_le_bytes());
        self.column(ports, |port| port.cnps.to_le_bytes());
        self.column(ports, |port| [port.state]);
    }

    fn packets(&mut self, packets: &Packets) {
        let frames = &packets.in_flight;
        self.views(frames, |frame| &frame.packet);
        self.column(frames, |frame| (frame.start.as_ps() as f64).to_le_bytes());
        self.column(frames, |frame| (frame.arrives.as_ps() as f64).to_le_bytes());
        self.views(&packets.queued, |packet| packet);
    }

    /// Adds the columns that packets on links and in queues have.
    fn views<T>(&mut self, rows: &[T], packet: impl Fn(&T) -> &PacketView) {
        self.column(rows, |row| packet(row).port.0.to_le_bytes());
        self.column(rows, |row| packet(row).flow.unwrap_or(NO_FLOW).to_le_bytes());
        self.column(rows, |row| packet(row).wire.to_le_bytes());
        self.column(rows, |row| [packet(row).kind.index()]);
        self.column(rows, |row| [bits([packet(row).is_marked, packet(row).is_retransmission, false])]);
    }

    fn flows(&mut self, flows: &[FlowView]) {
        self.column(flows, |flow| flow.row.unwrap_or(NO_FLOW).to_le_bytes());
        self.column(flows, |flow| flow.size.map_or(f64::NAN, |size| size as f64).to_le_bytes());
        self.column(flows, |flow| (flow.delivered as f64).to_le_bytes());
        self.column(flows, |flow| flow.window.to_le_bytes());
        self.column(flows, |flow| flow.rate.to_le_bytes());
        self.column(flows, |flow| (flow.srtt * 1e12).to_le_bytes());
    }
}

/// Bits, the first of which counts 1.
fn bits([one, two, four]: [bool; 3]) -> u8 {
    u8::from(one) | u8::from(two) << 1 | u8::from(four) << 2
}
