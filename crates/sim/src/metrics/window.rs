//! The window of time over which a run is measured: what ports and flows did in it.
//!
//! Counters of ports only grow, so that their state at the start of the window is enough. The longest queues are found
//! by starting all of them anew when the window opens, and by restoring those of the time before when it closes. So a
//! packet costs nothing more.

use crate::model::{Measure, Model, Pattern};
use crate::net::{ByReason, DropReason, Networks, Used, totals};
use clearway_proto::Stats;
use clearway_topology::PortId;
use clearway_units::Time;
use serde::{Deserialize, Serialize};

/// The event that ended a window.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum WindowEnd {
    /// The time that the scenario sets came.
    Set,
    /// The last flow of all Poisson traffic started.
    LastArrival,
    /// The run ended.
    RunEnd,
}

/// The counts of what the flows of a traffic entry did.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct FlowCounts {
    /// The number of bytes delivered in order.
    pub delivered: u64,
    /// The counts of both ends of the flows.
    pub stats: Stats,
}

impl FlowCounts {
    /// Adds the counts of other flows.
    pub fn add(&mut self, delivered: u64, stats: &Stats) {
        self.delivered += delivered;
        self.stats = self.stats.plus(stats);
    }

    fn minus(&self, earlier: &FlowCounts) -> FlowCounts {
        FlowCounts { delivered: self.delivered - earlier.delivered, stats: self.stats.minus(&earlier.stats) }
    }
}

/// The counters of a port that only grow.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
struct Counts {
    used: Used,
    /// The bytes of flows in the packets sent.
    data_bytes: u64,
    marks: u64,
    drops: ByReason<u64>,
    /// The integral over time of the bytes that wait, in byte picoseconds.
    bytes_area: u128,
    /// The integral over time of the credits that wait, in credit picoseconds.
    credits_area: u128,
}

impl Counts {
    fn of(nets: &Networks, port: PortId) -> Counts {
        let net = nets.of(port);
        let now = net.now();
        Counts {
            used: net.look(port).used(),
            data_bytes: net.look(port).sent().payload,
            marks: net.look(port).marks(),
            drops: net.look(port).drops(),
            bytes_area: net.look(port).queue_bytes_area(),
            credits_area: net.look(port).credit_queues().map(|queue| queue.packets_area(now)).sum(),
        }
    }
}

/// A window that has opened.
#[derive(Serialize, Deserialize)]
struct Opening {
    at: Time,
    /// The counters of each port; empty if nothing has happened before.
    ports: Vec<Counts>,
    /// The greatest length of each queue before, port by port; empty if nothing has happened before.
    maxima: Vec<u64>,
    /// The counts of the flows of each traffic entry.
    flows: Vec<FlowCounts>,
}

/// The window of a run while the run goes on.
#[derive(Serialize, Deserialize)]
pub struct Window {
    measure: Measure,
    /// The start of the first flow.
    first_start: Time,
    /// The number of Poisson traffic entries that have not started all their flows.
    arrivals_left: usize,
    opening: Option<Opening>,
    closed: Option<Measured>,
}

impl Window {
    /// Returns the window of a model whose first flow starts at `first_start`.
    pub fn new(model: &Model, first_start: Time) -> Window {
        let is_open = |pattern: &Pattern| matches!(pattern, Pattern::Poisson(_));
        let arrivals_left = model.traffic.iter().filter(|entry| is_open(&entry.pattern)).count();
        let mut window =
            Window { measure: model.measure, first_start, arrivals_left, opening: None, closed: None };
        // Nothing happens before the first flow.
        if window.opens_at() <= first_start {
            let at = window.opens_at();
            let flows = vec![FlowCounts::default(); model.traffic.len()];
            window.opening = Some(Opening { at, ports: Vec::new(), maxima: Vec::new(), flows });
        }
        window
    }

    /// Returns the times at which [`Window::turn`] must be called.
    pub fn turns(&self) -> impl Iterator<Item = Time> + use<> {
        let opening = self.opening.is_none().then(|| self.opens_at());
        opening.into_iter().chain(self.measure.until)
    }

    fn opens_at(&self) -> Time {
        self.measure.from.unwrap_or(self.first_start)
    }

    /// The window opens, or closes if it is open.
    pub fn turn(&mut self, nets: &mut Networks, flows: Vec<FlowCounts>) {
        if self.opening.is_some() {
            return self.close(nets, flows, WindowEnd::Set);
        }
        let ports = nets.ports().map(|port| Counts::of(nets, port)).collect();
        let maxima = totals::restart_maxima(nets);
        self.opening = Some(Opening { at: nets.now(), ports, maxima, flows });
    }

    /// Notes that a Poisson traffic entry has started all its flows. Returns whether the window closes now, because it
    /// was the last one, and the scenario sets no other time.
    pub fn ends_with_arrivals(&mut self) -> bool {
        self.arrivals_left -= 1;
        self.arrivals_left == 0 && self.measure.until.is_none() && self.opening.is_some()
    }

    /// Closes the window, if it is open.
    pub fn close(&mut self, nets: &mut Networks, flows: Vec<FlowCounts>, end: WindowEnd) {
        let Some(opening) = self.opening.take().filter(|_| self.closed.is_none()) else { return };
        // The run may have ended before its first flow.
        let until = nets.now().max(opening.at);
        let seconds = (until - opening.at).as_secs_f64();
        let port = |port: PortId| {
            let before = opening.ports.get(port.0 as usize).copied().unwrap_or_default();
            PortWindow::between(nets, port, &before, seconds)
        };
        let ports = nets.ports().map(port).collect();
        totals::raise_maxima(nets, &opening.maxima);
        let flows = flows.iter().zip(&opening.flows).map(|(now, before)| now.minus(before)).collect();
        let is_set = self.measure != Measure::default();
        self.closed = Some(Measured { is_set, from: opening.at, until, end, flows, ports });
    }

    /// Closes the window at the end of the run, if it is open, and hands over what was measured; a copy of it, if the
    /// window shall still have it afterwards.
    pub fn finish(&mut self, nets: &mut Networks, flows: Vec<FlowCounts>, stays: bool) -> Measured {
        let traffic = flows.len();
        self.close(nets, flows, WindowEnd::RunEnd);
        let from = self.opens_at();
        let measured = if stays { self.closed.clone() } else { self.closed.take() };
        measured.unwrap_or_else(|| Measured {
            is_set: true,
            from,
            until: from,
            end: WindowEnd::RunEnd,
            flows: vec![FlowCounts::default(); traffic],
            ports: vec![PortWindow::EMPTY; nets.ports().len()],
        })
    }
}

/// What was measured in the window of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Measured {
    /// True if the scenario sets the start or the end of the window.
    pub is_set: bool,
    /// The start of the window.
    pub from: Time,
    /// The end of the window; equal to the start if the run ended before.
    pub until: Time,
    /// The event that ended the window.
    pub end: WindowEnd,
    /// What the flows of each traffic entry did in the window, by its index.
    pub flows: Vec<FlowCounts>,
    /// What each port did in the window, by its id.
    pub ports: Vec<PortWindow>,
}

/// What a port did in the window.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct PortWindow {
    /// The share of the window in which the link was busy; NaN for a window without length.
    pub utilisation: f64,
    /// The bytes of flows in the packets sent, retransmissions included.
    pub data_bytes: u64,
    pub queue_max_bytes: u64,
    pub queue_mean_bytes: f64,
    pub credit_queue_max: u64,
    pub credit_queue_mean: f64,
    pub marks: u64,
    /// The packets dropped other than credits at their limit.
    pub drops: u64,
    pub drops_credit: u64,
}

impl PortWindow {
    /// A window in which nothing could happen.
    const EMPTY: PortWindow = PortWindow {
        utilisation: f64::NAN,
        data_bytes: 0,
        queue_max_bytes: 0,
        queue_mean_bytes: f64::NAN,
        credit_queue_max: 0,
        credit_queue_mean: f64::NAN,
        marks: 0,
        drops: 0,
        drops_credit: 0,
    };

    fn between(nets: &Networks, port: PortId, before: &Counts, seconds: f64) -> PortWindow {
        let (net, now) = (nets.of(port), Counts::of(nets, port));
        let ps = seconds * 1e12;
        let dropped = ByReason::of(|why| now.drops[why] - before.drops[why]);
        let longest = |queues: &mut dyn Iterator<Item = u64>| queues.max().unwrap_or(0);
        PortWindow {
            utilisation: now.used.since(before.used).share(net.ports[port].rate, seconds),
            data_bytes: now.data_bytes - before.data_bytes,
            queue_max_bytes: net.look(port).queue_max_bytes(),
            queue_mean_bytes: (now.bytes_area - before.bytes_area) as f64 / ps,
            credit_queue_max: longest(
                &mut net.look(port).credit_queues().map(|queue| u64::from(queue.packets_max())),
            ),
            credit_queue_mean: (now.credits_area - before.credits_area) as f64 / ps,
            marks: now.marks - before.marks,
            drops: dropped.losses(),
            drops_credit: dropped[DropReason::Credit],
        }
    }
}
