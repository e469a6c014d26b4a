//! The summary of a partition: shares of the expected load, and what crosses between parts.

use super::assignment::Partition;
use super::load::Load;
use crate::model::Model;
use clearway_units::Span;

/// The expected shares of the parts of a partition, and what is handed over between them.
#[derive(Clone, PartialEq, Debug)]
pub struct PartitionSummary {
    /// The share of the expected load of each part, in the order of parts. All together are 1.
    pub loads: Vec<f64>,
    /// The number of hosts of each part.
    pub hosts: Vec<usize>,
    /// The number of switches of each part.
    pub switches: Vec<usize>,
    /// The number of links between parts.
    pub cut_links: usize,
    /// The share of the expected transmissions that go over these links.
    pub cut_traffic: f64,
    /// The width of the windows between which packets are handed over. `None` if there is a single part.
    pub width: Option<Span>,
}

impl PartitionSummary {
    /// Summarises a partition of a model.
    pub fn new(partition: &Partition, model: &Model) -> PartitionSummary {
        let (topology, load, parts) = (&model.topology, Load::new(model), partition.parts());
        let (mut loads, mut hosts, mut switches) = (vec![0.0; parts], vec![0; parts], vec![0; parts]);
        let total: f64 = load.nodes.iter().sum();
        for (index, of_node) in load.nodes.iter().enumerate() {
            let node = clearway_topology::NodeId::from_index(index);
            let part = partition.part_of(node) as usize;
            loads[part] += of_node / total;
            let count = if topology.is_host(node) { &mut hosts } else { &mut switches };
            count[part] += 1;
        }
        let links = topology.ports().iter().step_by(2).zip(&load.links);
        let cut = links.filter(|(port, _)| partition.part_of(port.from) != partition.part_of(port.to));
        let (cut_links, crossing) =
            cut.fold((0, 0.0), |(count, sum), (_, packets)| (count + 1, sum + packets));
        let cut_traffic = crossing / load.links.iter().sum::<f64>();
        PartitionSummary { loads, hosts, switches, cut_links, cut_traffic, width: partition.lookahead(model) }
    }

    /// Returns the load of the heaviest part as a multiple of the mean: 1 if all parts have the same.
    pub fn imbalance(&self) -> f64 {
        self.loads.iter().copied().fold(0.0, f64::max) * self.loads.len() as f64
    }
}
