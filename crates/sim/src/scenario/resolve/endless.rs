//! The refusal of runs that would never end: without a stop, and with a flow whose only way is lost for good.

use super::links::{fault_of, loss_of};
use crate::ids::Id;
use crate::model::Model;
use crate::scenario::document::{Document, Path};
use crate::scenario::error::Result;
use crate::scenario::schema::{FaultTable, LossTable};
use crate::simulation::Endless;

/// Refuses a run without a stop in which a flow can never end.
pub(super) fn check_end(
    document: &Document,
    model: &Model,
    faults: &[FaultTable],
    loss: &[LossTable],
) -> Result<()> {
    let Some(found) = Endless::find(model) else { return Ok(()) };
    let (topology, top) = (&model.topology, Path::default());
    let [src, dst] = [found.src, found.dst].map(|host| topology.name(host).to_string());
    let entry = &model.traffic[found.traffic.index()].name;
    let (flow, link) = (
        format!("flow {} of traffic.{entry}, from {src} to {dst},", found.number),
        topology.port_name(found.port),
    );
    let end = "so the run never ends";
    let or = "or a stop for the run (stop = \"10 ms\")";
    let (at, problem) = if found.fails {
        let at = top.key("fault");
        let at = fault_of(topology, faults, found.port).map_or(at.clone(), |index| at.index(index).key("up"));
        (at, format!("is missing: {flow} has no way left once {link} is down, {end}; write an up, {or}"))
    } else {
        let at = loss_of(topology, loss, found.port);
        let at = at.map_or(top.key("topology"), |index| top.key("loss").index(index).key("probability"));
        (
            at,
            format!("{flow} has no way but {link}, which loses every packet, {end}; write less than 1, {or}"),
        )
    };
    Err(document.error(&at, problem))
}
