//! Bytes of memory and seconds of processor time for each thing of a run, measured on x86-64.

use crate::hosts::{Receiving, Sending};
use crate::metrics::Record;
use crate::model::{self, Model, Pattern, Traffic};
use crate::net::RoutedPacket;
use clearway_proto::Stats;
use std::mem::size_of;

/// The bytes that an output port takes with its queues, its place in the network and its row in the table of ports.
const PORT_BYTES: f64 = 500.0;
/// The bytes that a class of packets adds to a port.
const CLASS_BYTES: f64 = 100.0;
/// The bytes that a host takes besides its port.
const HOST_BYTES: f64 = 300.0;
/// The bytes that a link takes while a scenario is read, its share of nodes and their names included.
const NETWORK_LINK_BYTES: f64 = 300.0;
/// The bytes of a live flow besides its entry in the table of live flows: windows, timers, messages, its paths, and the
/// packets that it has in the network. Measured of 20,000 flows to one host: 660 under DCTCP, 1,020 under DCQCN, 1,260
/// under ExpressPass; less before packets come back.
const LIVE_BYTES: f64 = 900.0;
/// The bytes of a packet that waits in the queue of its host: the packet, and its sender's record, in lists whose room doubles.
const QUEUED_BYTES: f64 = (size_of::<RoutedPacket>() + 24) as f64 * GROWTH;
/// The bytes of a message in a list besides its flow: the number of its connection.
const MESSAGE_BYTES: f64 = 4.0;
/// The bytes of a connection of such a list: the number of its messages, of those that have yet to begin, and its flow.
const CONNECTION_BYTES: f64 = 16.0;
/// The bytes of a trigger of such a list besides itself and those that wait for it or pull it: how often it was pulled.
const TRIGGER_BYTES: f64 = 4.0;
/// The share by which a growing list exceeds its content, since its room doubles.
const GROWTH: f64 = 1.5;
/// The bytes of a sample: its row, and its row in the data frame.
const SAMPLE_BYTES: f64 = 28.0 * GROWTH + 72.0;
/// The bytes of a flow's row in the data frame that are not in place of its record: measured were 160 to 180 of 200,000
/// flows of 1 KB.
const FLOW_ROW_BYTES: f64 = 160.0;
/// The bytes of a flow's row in the data frame.
const FLOW_FRAME_BYTES: f64 = 180.0;
/// The rows of a table that are in memory at once where the others are in a file.
const STREAMED_ROWS: f64 = 3e5;
/// The bytes of a flow's row on disk: in the file of the run, and in its Parquet file.
const FLOW_DISK_BYTES: f64 = 200.0;
/// The bytes of a sample on disk.
const SAMPLE_DISK_BYTES: f64 = 45.0;

/// The packets that a core puts on links in a second. It was 9 to 18 million in runs of 3 to 280 million packets (web
/// search, permutation and incast under DCTCP, ExpressPass, HPCC and DCQCN), on a busy machine, where few flows are alive.
const TRANSMISSIONS_PER_S: f64 = 12e6;
/// The number of live flows whose state, of some 2 KB each, fills the cache that a core has for itself.
const CACHED_FLOWS: f64 = 500.0;
/// The seconds that a packet takes longer each time that the live flows double beyond that, since the ends of flows and
/// what waits at ports come from farther. In shuffles under DCTCP a packet took 65 ns with 240 live flows, 200 with 4,032,
/// 260 with 16,256 and 350 to 650, on an idle and on a busy machine, with 65,280.
const MISS_S: f64 = 4e-8;
/// The seconds that a core takes to start and end a flow. It was 0.9 millionths in runs of 100,000 flows of one packet
/// under DCTCP and DCQCN, 1.4 where 90,000 live at once, and 5 under ExpressPass.
const FLOW_S: f64 = 1.5e-6;
/// The seconds that a core takes for a sample.
const SAMPLE_S: f64 = 1e-7;
/// The seconds that a core takes to set up an output port and to report on it.
const PORT_S: f64 = 1.5e-6;

/// Returns the bytes of the network of a model, with the routes of so many flows.
pub fn model_bytes(model: &Model, flows: f64) -> f64 {
    let topology = &model.topology;
    let switches = topology.switches() as f64;
    // Two bytes for each switch and each destination's switch.
    let routes = 2.0 * switches * flows.min(switches);
    let classes = (model.switch.classes.len() + model.switch.credit_classes.len()) as f64;
    let network = network_bytes(topology.hosts() as u64, topology.links() as u64);
    network + routes + topology.ports().len() as f64 * classes * CLASS_BYTES
}

/// The bytes of the rows of a table.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RowBytes {
    /// The memory in bytes if all rows stay in memory.
    pub kept: f64,
    /// The memory in bytes if the rows leave it during the run.
    pub streamed: f64,
    /// The bytes on the disk that the rows then take.
    pub disk: f64,
}

/// Returns the bytes of the rows of so many flows. Where they leave memory, the tables that sum them up still read all.
pub fn flow_rows(flows: f64) -> RowBytes {
    // The counts of a flow lie beside its row once it has ended.
    let record = (size_of::<Record>() + size_of::<Stats>()) as f64 * GROWTH;
    RowBytes {
        kept: flows * (record + FLOW_ROW_BYTES),
        streamed: flows.min(STREAMED_ROWS) * record + flows * FLOW_FRAME_BYTES,
        disk: flows * FLOW_DISK_BYTES,
    }
}

/// Returns the bytes of the rows of so many samples.
pub fn sample_rows(rows: f64) -> RowBytes {
    RowBytes {
        kept: rows * SAMPLE_BYTES,
        streamed: rows.min(STREAMED_ROWS) * SAMPLE_BYTES,
        disk: rows * SAMPLE_DISK_BYTES,
    }
}

/// Returns the bytes of the flows of a traffic entry without their rows, where `live` flows are alive at once.
pub fn flow_bytes(model: &Model, entry: &Traffic, live: f64) -> f64 {
    let flow = size_of::<model::Flow>() as f64;
    let listed = match &entry.pattern {
        Pattern::Flows(flows) => flows.len() as f64 * flow,
        Pattern::Messages(messages) => {
            let (list, connections) = (messages.list().len() as f64, messages.connections().len() as f64);
            let triggers = messages.triggers();
            list * (flow + MESSAGE_BYTES)
                + connections * CONNECTION_BYTES
                + triggers.len() as f64 * TRIGGER_BYTES
                + triggers.bytes() as f64
        }
        _ => 0.0,
    };
    let ends = (size_of::<Sending>() + size_of::<Receiving>()) as f64;
    let needs = entry.transport.needs();
    let paths = f64::from(needs.path_bytes);
    // A host that queues data has all of a window there at once.
    let window = needs.window.filter(|_| model.host.queues_data).map_or(0.0, |window| {
        let bytes = largest(&entry.pattern).min(window as f64);
        bytes / f64::from(model.framing.payload_max) * QUEUED_BYTES
    });
    listed + live * (ends + LIVE_BYTES + paths + window)
}

/// Returns the size of the largest flow of a pattern in bytes, or of its mean one where sizes are drawn.
fn largest(pattern: &Pattern) -> f64 {
    let of_list = |flows: &[model::Flow]| {
        let size = |flow: &model::Flow| flow.size.map_or(f64::INFINITY, |size| size.get() as f64);
        flows.iter().map(size).fold(0.0, f64::max)
    };
    match pattern {
        Pattern::Flows(flows) => of_list(flows),
        Pattern::Messages(messages) => of_list(messages.list()),
        Pattern::Poisson(poisson) => poisson.sizes.mean(),
        Pattern::Rounds(rounds) => rounds.response.max(rounds.request).get() as f64,
    }
}

/// Returns the bytes that a network of so many hosts and links takes in a run.
pub fn network_bytes(hosts: u64, links: u64) -> f64 {
    hosts as f64 * HOST_BYTES + links as f64 * (2.0 * PORT_BYTES + NETWORK_LINK_BYTES)
}

/// The counts from which processor time follows.
pub struct Cost {
    /// Packets put on links, and credits that ports drop.
    pub packets: f64,
    /// Flows alive at once.
    pub live: f64,
    /// Rows of the table of flows.
    pub flows: f64,
    /// Rows of the table of samples.
    pub samples: f64,
    /// Output ports.
    pub ports: f64,
}

impl Cost {
    /// Returns the processor time in seconds.
    pub fn seconds(&self) -> f64 {
        let packet_s = 1.0 / TRANSMISSIONS_PER_S + MISS_S * (1.0 + self.live / CACHED_FLOWS).log2();
        self.packets * packet_s + self.flows * FLOW_S + self.samples * SAMPLE_S + self.ports * PORT_S
    }
}
