//! A run that goes on step by step, at which Python looks in between.

use crate::errors::{Error, Failure, guard};
use crate::results::{Results, Table};
use crate::scenario::{LOOK_EVERY, Progress, Scenario, now};
use clearway_schema::suggestion;
use clearway_sim as sim;
use clearway_sim::model::Model;
use clearway_sim::{
    Described, DropReason, Finished, FlowView, FrameKind, PacketView, Packets, Simulation, Values,
};
use clearway_topology::PortId;
use clearway_units::{Span, Time, UnitError};
use pyo3::prelude::*;
use std::str::FromStr;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The number of events between two looks at the clock, which says whether Python must be visited.
const SLICE: u64 = Simulation::SLICE;

/// A run that goes on step by step. Looks change nothing, so that the results do not depend on the steps.
#[pyclass(frozen, module = "clearway._clearway")]
pub struct Stepped(Mutex<State>);

struct State {
    /// The run, until its results were taken.
    simulation: Option<Simulation>,
    finished: Finished,
    packets: Packets,
}

impl Stepped {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `of` with the run. Other Python threads go on meanwhile.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        of: impl FnOnce(&mut Simulation, &mut Finished, &mut Packets) -> Result<T, Failure> + Send,
    ) -> Result<T, Failure> {
        py.detach(|| {
            let mut state = self.lock();
            let State { simulation, finished, packets } = &mut *state;
            let Some(simulation) = simulation else { return Err(over()) };
            let seed = simulation.model().seed;
            guard(seed, || of(simulation, finished, packets))
        })
    }
}

/// The failure of a call after the results were taken.
fn over() -> Failure {
    Failure::Python(Error::new_err("the run is finished; open the scenario again to step through it"))
}

#[pymethods]
impl Stepped {
    /// Prepares a run of a scenario, on one thread.
    #[new]
    fn new(py: Python<'_>, scenario: &Scenario) -> Result<Stepped, Failure> {
        let model = scenario.model();
        let simulation = py.detach(|| guard(model.seed, || Ok(Simulation::new(model)?)))?;
        let (finished, packets) = (Finished::default(), Packets::default());
        Ok(Stepped(Mutex::new(State { simulation: Some(simulation), finished, packets })))
    }

    /// Handles all events up to and at the time `until`, such as `"10 us"`, or for the time `by` from now on, but only
    /// about so many of them. Returns true while the run goes on. Ctrl-C ends the step, not the run.
    #[pyo3(signature = (until = None, by = None, events = None))]
    fn step(
        &self,
        py: Python<'_>,
        until: Option<&str>,
        by: Option<&str>,
        events: Option<u64>,
    ) -> Result<bool, Failure> {
        let (until, by): (Option<Time>, Option<Span>) = (time("until", until)?, time("by", by)?);
        self.with(py, |simulation, _, _| {
            let further = by.map(|by| simulation.progress().now.saturating_add(by));
            let until = until.into_iter().chain(further).min().unwrap_or(Time::MAX);
            let enough = simulation.progress().events.saturating_add(events.unwrap_or(u64::MAX));
            let mut last = now();
            loop {
                let before = simulation.progress();
                let most = enough.saturating_sub(before.events).min(SLICE);
                let goes_on = simulation.run_until(until, most);
                let after = simulation.progress().events;
                // Fewer events than allowed were left up to the time.
                if !goes_on || after >= enough || after < before.events.saturating_add(most) {
                    return Ok(goes_on);
                }
                if last.elapsed() >= LOOK_EVERY {
                    last = now();
                    Python::attach(|py| py.check_signals()).map_err(Failure::Python)?;
                }
            }
        })
    }

    /// The progress so far.
    #[getter]
    fn progress(&self, py: Python<'_>) -> Result<Progress, Failure> {
        self.with(py, |simulation, _, _| Ok(Progress::from(&simulation.progress())))
    }

    /// The reason for which the run ended; `None` while it goes on.
    #[getter]
    fn ended(&self, py: Python<'_>) -> Result<Option<&'static str>, Failure> {
        self.with(py, |simulation, _, _| Ok(simulation.ended().map(sim::Ended::name)))
    }

    /// The table of ports as they are now: queues, and counters since the start of the run.
    fn ports(&self, py: Python<'_>) -> Result<Table, Failure> {
        self.with(py, |simulation, _, _| Ok(Table::of(ports(simulation))))
    }

    /// The table of the packets that wait at a port, the first one first; with no port, at all ports.
    #[pyo3(signature = (port = None))]
    fn queued(&self, py: Python<'_>, port: Option<&str>) -> Result<Table, Failure> {
        self.with(py, |simulation, _, packets| {
            let port = port.map(|name| find(simulation.model(), name)).transpose()?;
            simulation.view().look_at_packets(packets);
            if let Some(port) = port {
                packets.queued.retain(|packet| packet.port == port);
            }
            Ok(Table::of(queued(simulation.model(), packets)))
        })
    }

    /// The table of the frames on links.
    fn in_flight(&self, py: Python<'_>) -> Result<Table, Failure> {
        self.with(py, |simulation, _, packets| {
            simulation.view().look_at_links(packets);
            packets.in_flight.sort_by_key(|frame| (frame.packet.port, frame.arrives));
            Ok(Table::of(in_flight(simulation.model(), packets)))
        })
    }

    /// The table of flows that are alive.
    fn flows(&self, py: Python<'_>) -> Result<Table, Failure> {
        self.with(py, |simulation, _, _| {
            let mut views = Vec::new();
            simulation.flows().each(|view| views.push(view));
            views.sort_by_key(|view| (view.row.unwrap_or(u32::MAX), view.traffic, view.number));
            Ok(Table::of(flows(simulation.model(), &views)))
        })
    }

    /// The table of flows that finished since the last call.
    fn finished(&self, py: Python<'_>) -> Result<Table, Failure> {
        self.with(py, |simulation, finished, _| {
            let rows = simulation.view().finished(finished);
            let views = rows.iter().filter_map(|row| simulation.flows().get(row.row)).collect::<Vec<_>>();
            Ok(Table::of(flows(simulation.model(), &views)))
        })
    }

    /// The names of the ports that the data of the flow of a row crosses.
    fn path(&self, py: Python<'_>, flow: u32) -> Result<Vec<String>, Failure> {
        self.with(py, |simulation, _, _| {
            let ports = simulation.flows().path(flow);
            Ok(ports.into_iter().map(|port| simulation.model().topology.port_name(port)).collect())
        })
    }

    /// Closes the books and returns the results, up to now if the run goes on.
    fn finish(&self, py: Python<'_>) -> Result<Results, Failure> {
        py.detach(|| {
            let Some(simulation) = self.lock().simulation.take() else { return Err(over()) };
            let seed = simulation.model().seed;
            guard(seed, || Ok(Results::new(simulation.finish_spooled()?)?))
        })
    }
}

/// Reads a time.
fn time<T: FromStr<Err = UnitError>>(name: &str, text: Option<&str>) -> Result<Option<T>, Failure> {
    let read = |text: &str| {
        text.parse().map_err(|error| Failure::Python(Error::new_err(format!("{name} = {text:?}: {error}"))))
    };
    text.map(read).transpose()
}

/// The port of a name.
fn find(model: &Model, name: &str) -> Result<PortId, Failure> {
    let names =
        || (0..model.topology.ports().len() as u32).map(|port| model.topology.port_name(PortId(port)));
    names().position(|other| other == name).map(|port| PortId(port as u32)).ok_or_else(|| {
        let known: Vec<String> = names().collect();
        let hint = suggestion(name, known.iter().map(String::as_str));
        Failure::Python(Error::new_err(format!(
            "{name:?} is no port{hint}; write one such as {:?}",
            known.first().map_or("", String::as_str)
        )))
    })
}

/// The column of the names of ports.
fn port_column(model: &Model, ports: impl Iterator<Item = PortId>, doc: &'static str) -> Described {
    let all = 0..model.topology.ports().len() as u32;
    let names = all.map(|port| model.topology.port_name(PortId(port))).collect();
    ("port", "", doc, Values::Text(ports.map(|port| port.0).collect(), names))
}

fn ports(simulation: &Simulation) -> sim::Table {
    let views: Vec<sim::PortView> = simulation.view().ports().collect();
    let ints = |of: fn(&sim::PortView) -> u64| Values::U64(views.iter().map(of).collect());
    let mut columns = vec![
        port_column(simulation.model(), views.iter().map(|view| view.port), "the port, as node->next node"),
        ("queue_bytes", "B", "bytes that wait in the queues of data", ints(|view| view.queue_bytes)),
        ("queue_packets", "packets", "packets that wait there", ints(|view| view.queue_packets)),
        ("credit_queue", "credits", "credits that wait", ints(|view| view.credit_queue_packets)),
        ("tx_packets", "packets", "packets sent, data and control", ints(|view| view.sent_packets)),
        ("tx_bytes", "B", "bytes sent, as on the wire", ints(|view| view.sent_bytes)),
        ("tx_data_bytes", "B", "bytes of flows in the packets sent", ints(|view| view.sent_data_bytes)),
        ("tx_credits", "credits", "credits sent", ints(|view| view.sent_credits)),
        ("marks", "packets", "packets that got an ECN mark here", ints(|view| view.marks)),
    ];
    columns.extend(DropReason::ALL.map(|why| {
        let values = Values::U64(views.iter().map(|view| view.drops[why]).collect());
        (why.column(), why.unit(), why.meaning(), values)
    }));
    columns.extend([
        ("pauses", "", "times that flow control stopped a class of the port", ints(|view| view.pauses)),
        (
            "paused_s",
            "s",
            "time for which flow control had a class of the port stopped",
            Values::F64(views.iter().map(|view| view.paused_for.as_secs_f64()).collect()),
        ),
        ("is_paused", "", "1 while flow control has a class stopped", ints(|view| view.is_paused.into())),
        ("is_up", "", "1 while the link works", ints(|view| view.is_up.into())),
        ("is_sending", "", "1 while a frame is leaving", ints(|view| view.is_transmitting.into())),
    ]);
    sim::Table::new("ports", columns)
}

/// The columns that the tables of packets share: the port, kind, flow, size and marks.
fn packet_columns<'a>(
    model: &Model,
    port: &'static str,
    packets: impl Iterator<Item = &'a PacketView> + Clone,
) -> [Described; 6] {
    let kinds = FrameKind::NAMES.map(String::from).to_vec();
    let ints = |of: fn(&PacketView) -> u64| Values::U64(packets.clone().map(of).collect());
    let flow = |packet: &PacketView| packet.flow.map_or(f64::NAN, f64::from);
    let kind = |packet: &PacketView| u32::from(packet.kind.index());
    [
        port_column(model, packets.clone().map(|packet| packet.port), port),
        ("kind", "", "the kind of packet", Values::Text(packets.clone().map(kind).collect(), kinds)),
        (
            "flow",
            "",
            "number of the flow's row, in order of start; NaN if it has none",
            Values::F64(packets.clone().map(flow).collect()),
        ),
        ("wire_bytes", "B", "bytes on the wire", ints(|packet| packet.wire.into())),
        ("is_marked", "", "1 if it has an ECN mark", ints(|packet| packet.marks.is_marked().into())),
        (
            "is_retransmission",
            "",
            "1 if it is data that was sent before",
            ints(|packet| packet.marks.is_retransmission().into()),
        ),
    ]
}

fn queued(model: &Model, packets: &Packets) -> sim::Table {
    let columns = packet_columns(model, "the port at which it waits", packets.queued.iter());
    sim::Table::new("queued", columns)
}

fn in_flight(model: &Model, packets: &Packets) -> sim::Table {
    let all = &packets.in_flight;
    let columns = packet_columns(model, "the port that sent it", all.iter().map(|frame| &frame.packet));
    let times =
        |of: fn(&sim::InFlight) -> Time| Values::F64(all.iter().map(|f| of(f).as_secs_f64()).collect());
    let times = [
        ("start_s", "s", "when its first bit left the port", times(|frame| frame.start)),
        ("arrive_s", "s", "when its last bit reaches the next node", times(|frame| frame.arrives)),
    ];
    sim::Table::new("in_flight", columns.into_iter().chain(times))
}

fn flows(model: &Model, views: &[FlowView]) -> sim::Table {
    let ints = |of: fn(&FlowView) -> u64| Values::U64(views.iter().map(of).collect());
    let reals = |of: fn(&FlowView) -> f64| Values::F64(views.iter().map(of).collect());
    let traffic = model.traffic.iter().map(|entry| entry.name.clone()).collect();
    let hosts = || {
        let ids = 0..model.topology.hosts() as u32;
        ids.map(|host| model.topology.name(clearway_topology::NodeId(host)).to_string()).collect()
    };
    let states: Vec<String> = STATES.map(|state| state.name().to_string()).to_vec();
    let state = |view: &FlowView| STATES.iter().position(|state| *state == view.state).unwrap_or(0) as u32;
    let fct = |view: &FlowView| view.end.map_or(f64::NAN, |end| (end - view.start).as_secs_f64());
    let texts = |of: fn(&FlowView) -> u32| views.iter().map(of).collect::<Vec<u32>>();
    let columns: Vec<Described> = vec![
        (
            "row",
            "",
            "number of the flow's row, in order of start; NaN before its first message",
            reals(|view| view.row.map_or(f64::NAN, f64::from)),
        ),
        ("flow", "", "number of the flow among those of its traffic entry", ints(|view| view.number)),
        ("traffic", "", "the traffic entry", Values::Text(texts(|view| view.traffic as u32), traffic)),
        ("src", "", "host that sends", Values::Text(texts(|view| view.source.0), hosts())),
        ("dst", "", "host that receives", Values::Text(texts(|view| view.destination.0), hosts())),
        (
            "size_bytes",
            "B",
            "bytes that the application sends; 0 while that is open",
            ints(|view| view.size.unwrap_or(0)),
        ),
        ("delivered_bytes", "B", "bytes delivered in order so far", ints(|view| view.delivered)),
        ("start_s", "s", "when the application handed it over", reals(|view| view.start.as_secs_f64())),
        ("fct_s", "s", "flow completion time; NaN until the last byte is delivered", reals(fct)),
        ("slowdown", "1", "fct_s over the time that it would take alone", reals(FlowView::slowdown)),
        ("cwnd_bytes", "B", "congestion window; NaN if the transport has none", reals(|view| view.window)),
        ("rate_bps", "bit/s", "sending rate; NaN if the transport has none", reals(|view| view.rate)),
        ("srtt_s", "s", "smoothed round-trip time; NaN if the transport has none", reals(|view| view.srtt)),
        ("retransmits", "packets", "data packets sent again", ints(|view| view.retransmits)),
        ("timeouts", "1", "expiries of the retransmission timer", ints(|view| view.timeouts)),
        ("notices", "", "notifications of congestion heard of", ints(|view| view.notifications)),
        (
            "state",
            "",
            "idle, sending, delivered or ended",
            Values::Text(views.iter().map(state).collect(), states),
        ),
    ];
    sim::Table::new("flows", columns)
}

const STATES: [sim::FlowState; 4] =
    [sim::FlowState::Idle, sim::FlowState::Sending, sim::FlowState::Delivered, sim::FlowState::Ended];
