//! The planner's bindings: bounds of queues and settings of ports.

use crate::errors::guard;
use crate::scenario::Scenario;
use clearway_planner::buffers::{self, Bound, Parameters, Reading};
use clearway_planner::feeds::Feeds;
use clearway_planner::switches;
use clearway_proto::port::CreditShaping;
use clearway_sim::model::Model;
use clearway_topology::{PortId, Topology};
use clearway_units::Span;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The readings of eq. (1) with their names in Python.
const READINGS: [(&str, Reading); 3] =
    [("min", Reading::Least), ("paper", Reading::Greatest), ("safe", Reading::Safe)];

/// A dict that is returned to Python.
type Answer<'py> = pyo3::Bound<'py, PyDict>;

/// Returns the bounds of the data queues of a scenario's network. An input that is not given is taken from the
/// scenario, or from the paper where the scenario has no credits. With `udp` all control frames, credits among them, are
/// datagrams.
///
/// The dict that is returned holds `inputs`, with all inputs used, `ports`, and for each reading the bounds of those
/// ports in the same order.
#[pyfunction]
#[pyo3(signature = (scenario, *, credit_queue = None, credit_sizes = None, host_delay_s = None, switch_delay_s = 0.0,
    flows = 16, busy_s = 0.001, turns = true, udp = false, leftover = 0, pairs = 0))]
#[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
pub fn plan_buffers<'py>(
    py: Python<'py>,
    scenario: &Scenario,
    credit_queue: Option<u32>,
    credit_sizes: Option<(u32, u32)>,
    host_delay_s: Option<(f64, f64)>,
    switch_delay_s: f64,
    flows: u32,
    busy_s: f64,
    turns: bool,
    udp: bool,
    leftover: u32,
    pairs: u32,
) -> PyResult<Answer<'py>> {
    let model = scenario.model();
    let credit = model.switch.credit;
    let paper = Parameters::PAPER;
    let mut parameters = Parameters {
        credit_queue: credit_queue.or(credit.map(|credit| credit.queue)).unwrap_or(paper.credit_queue),
        shaping: shaping(model),
        credit_sizes: credit_sizes.unwrap_or(paper.credit_sizes),
        wire_min: model.framing.wire_min,
        control_frame: model.framing.wire_min,
        host_delay: match host_delay_s {
            Some((least, most)) => (Span::from_secs_f64(least), Span::from_secs_f64(most)),
            None => model.host.processing_delay.ends(),
        },
        switch_delay: Span::from_secs_f64(switch_delay_s),
        flows,
        leftover,
        pairs,
        busy: Span::from_secs_f64(busy_s),
        turns,
    };
    if udp {
        let datagrams = parameters.in_datagrams();
        parameters = Parameters { credit_sizes: credit_sizes.unwrap_or(datagrams.credit_sizes), ..datagrams };
    }
    buffers::check(&parameters).map_err(PyValueError::new_err)?;
    let topology = &model.topology;
    let feeds = Feeds::new(topology).map_err(|cycle| PyValueError::new_err(cycle.to_string()))?;
    let answer = PyDict::new(py);
    answer.set_item("inputs", inputs(py, &parameters)?)?;
    let carrying = |bounds: &[Option<Bound>]| -> Vec<usize> {
        let ports = 0..bounds.len();
        ports
            .filter(|&port| bounds[port].is_some() && !topology.is_host(topology.ports()[port].from))
            .collect()
    };
    for (name, reading) in READINGS {
        let work = || Ok(buffers::bounds_of(topology, &feeds, &parameters, reading));
        let bounds = py.detach(|| guard(0, work))?;
        let ports = carrying(&bounds);
        if !answer.contains("ports")? {
            let ports: PyResult<Vec<_>> = ports.iter().map(|&port| describe(py, topology, port)).collect();
            answer.set_item("ports", ports?)?;
        }
        let rows: PyResult<Vec<_>> =
            ports.iter().filter_map(|&port| bounds[port]).map(|bound| row(py, &bound)).collect();
        answer.set_item(name, rows?)?;
    }
    Ok(answer)
}

/// Returns the settings of every output port of the switches of a scenario's network.
#[pyfunction]
pub fn plan_switches<'py>(py: Python<'py>, scenario: &Scenario) -> PyResult<Vec<Answer<'py>>> {
    let model = scenario.model();
    let topology = &model.topology;
    let ports = (0..topology.ports().len()).filter(|&port| !topology.is_host(topology.ports()[port].from));
    ports
        .map(|port| {
            let dict = describe(py, topology, port)?;
            let settings = switches::settings(&topology.ports()[port], shaping(model), model.framing);
            dict.set_item("credit_bytes", shaping(model).credit)?;
            dict.set_item("credit_bps", settings.credit_rate.as_bps())?;
            dict.set_item("credit_burst_bytes", settings.credit_burst.get())?;
            dict.set_item("credit_queue", model.switch.credit.map_or(8, |credit| credit.queue))?;
            dict.set_item("marking_frames", settings.marking_frames)?;
            dict.set_item("marking_bytes", settings.marking.get())?;
            dict.set_item("headroom_bytes", settings.headroom.get())?;
            Ok(dict)
        })
        .collect()
}

/// Returns the rate limit of credits of a model, or the paper's if the model has no credits.
fn shaping(model: &Model) -> CreditShaping {
    model.switch.credit.map_or(CreditShaping::PAPER, |credit| credit.shaping)
}

/// Returns the names, tiers, rate and delay of a port and its place among those of its switch.
fn describe<'py>(py: Python<'py>, topology: &Topology, port: usize) -> PyResult<Answer<'py>> {
    let link = &topology.ports()[port];
    let dict = PyDict::new(py);
    dict.set_item("port", topology.port_name(PortId::from_index(port)))?;
    dict.set_item("switch", topology.name(link.from))?;
    dict.set_item("to", topology.name(link.to))?;
    dict.set_item("tier", topology.nodes()[link.from.index()].tier)?;
    dict.set_item("to_tier", topology.nodes()[link.to.index()].tier)?;
    dict.set_item("rate_bps", link.rate.as_bps())?;
    dict.set_item("delay_s", link.delay.as_secs_f64())?;
    let place = topology.ports_of(link.from).iter().position(|of| of.index() == port);
    dict.set_item("place", place)?;
    Ok(dict)
}

/// Returns the inputs of the bounds.
fn inputs<'py>(py: Python<'py>, parameters: &Parameters) -> PyResult<Answer<'py>> {
    let dict = PyDict::new(py);
    dict.set_item("credit_queue", parameters.credit_queue)?;
    dict.set_item("credit_bytes", parameters.shaping.credit)?;
    dict.set_item("frame_bytes", parameters.shaping.data)?;
    dict.set_item("bucket_bytes", parameters.shaping.bucket)?;
    dict.set_item("credit_sizes_bytes", parameters.credit_sizes)?;
    let (least, most) = parameters.host_delay;
    dict.set_item("host_delay_s", (least.as_secs_f64(), most.as_secs_f64()))?;
    dict.set_item("switch_delay_s", parameters.switch_delay.as_secs_f64())?;
    dict.set_item("flows", parameters.flows)?;
    dict.set_item("leftover_bytes", parameters.leftover)?;
    dict.set_item("pairs", parameters.pairs)?;
    dict.set_item("control_frame_bytes", parameters.control_frame)?;
    dict.set_item("busy_s", parameters.busy.as_secs_f64())?;
    dict.set_item("turns", parameters.turns)?;
    Ok(dict)
}

/// Returns a port's bound in bytes, with the bytes that each cause contributes.
fn row<'py>(py: Python<'py>, bound: &Bound) -> PyResult<Answer<'py>> {
    let dict = PyDict::new(py);
    dict.set_item("bytes", bound.bytes().ceil())?;
    dict.set_item("spread_s", bound.spread.total())?;
    let part = |seconds: f64| seconds * bound.rate;
    dict.set_item("credit_queue", part(bound.spread.credit_queue))?;
    dict.set_item("path", part(bound.spread.path))?;
    dict.set_item("host", part(bound.spread.host))?;
    dict.set_item("data_queue", part(bound.spread.data_queue))?;
    dict.set_item("frames", part(bound.spread.frames))?;
    dict.set_item("buckets", bound.buckets)?;
    dict.set_item("control", bound.control)?;
    dict.set_item("leftover", bound.leftover)?;
    dict.set_item("sizes", bound.sizes)?;
    Ok(dict)
}
