//! Tables of next hops, by which switches forward packets that may take any of the shortest paths.
//!
//! A flow whose packets are spread over all shortest paths would need the memory of hundreds of paths. Here it needs none:
//! a packet carries sixteen bits of entropy, and every switch on its way picks one of the next hops of equal cost by a hash
//! of the flow's key, the entropy, and a salt of its own ([`hash`](super::hash)), as switches do that spread packets by their headers;
//! or by a digit of the entropy, which then is the number of a path ([`NextHops::digit`]).
//! The tables depend on the topology and on the links that are up, and not on flows.
//!
//! | table | entries |
//! |---|---|
//! | row | for each switch, its next hops towards the hosts of one switch, or of all switches that are linked to the same ones (*twins*, `distance.rs`) |
//! | members | at a switch beside twins, its next hops towards each of them |
//!
//! Rows are made when a packet to one of their hosts is first announced ([`NextHops::lead_to`]). At 8,192 hosts of a fat
//! tree all of them take 0.3 MB, since the ToRs of a pod share one.

use super::distance::{Distances, UNREACHED};
use super::spray::Stages;
use crate::graph::{NodeId, PortId, Topology};
use std::collections::BTreeMap;

#[cfg(test)]
mod tests;

/// The next port of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NextHop {
    /// The port.
    pub port: PortId,
    /// True if the port leads to the packet's host.
    pub is_last: bool,
}

/// The tables of next hops of one topology, to the hosts to which packets were announced so far.
#[derive(Clone, Debug)]
pub struct NextHops {
    /// The distances over links that are up, and as if all were.
    up: Distances,
    intact: Distances,
    /// What is known of each host; empty before the first announcement.
    hosts: Vec<Host>,
    /// The number of hosts of the topology, whose switches have the numbers behind them.
    count: usize,
    /// All tables and lists, one after the other.
    cells: Vec<Cell>,
    /// The row of the hosts of twins, by the first of these.
    rows: BTreeMap<usize, u32>,
    /// The row of the hosts of a switch, and its number among its twins.
    members: BTreeMap<usize, (u32, u32)>,
    /// The node to which each port leads; empty before the first announcement.
    ends: Vec<NodeId>,
    /// What [`NextHops::digit`] divides by at each switch; empty before the first announcement.
    strides: Vec<u32>,
    /// The lists of ports, each of which stands in `cells` once.
    lists: BTreeMap<Vec<PortId>, Cell>,
    /// The ports that were found last, kept to reuse their memory.
    found: Vec<PortId>,
}

/// What is known of a host.
#[derive(Clone, Copy, Debug)]
struct Host {
    /// The place of its row in `cells`, or [`NONE`] before the host is announced.
    row: u32,
    /// Its switch, by its number among the switches; [`NONE`] if its link leads to another host.
    switch: u32,
    /// The number of its switch among twins.
    member: u32,
    /// The port that leads to it.
    last: PortId,
}

/// The next hops of equal cost among which a switch chooses, at least one.
#[derive(Clone, Copy, Debug)]
pub struct Choices<'a> {
    /// The first of them.
    pub first: NextHop,
    /// The others.
    others: &'a [Cell],
}

impl Choices<'_> {
    /// Returns the others than the first.
    pub fn others(&self) -> impl Iterator<Item = PortId> + '_ {
        self.others.iter().map(|port| PortId(port.0))
    }
}

/// The hops to a host from a switch that is beside the host's own.
const BESIDE: u16 = 2;

/// The mark of nothing.
const NONE: u32 = u32::MAX;

/// A host of which nothing is known.
const UNKNOWN: Host = Host { row: NONE, switch: NONE, member: 0, last: PortId(NONE) };

/// An entry of a table, or a number in a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Cell(u32);

impl Cell {
    /// The kind of an entry whose next hop is one port, this one.
    const PORT: u32 = 0;
    /// The kind of an entry whose next hops are a list, which stands at this place: their number, and behind it the ports.
    const LIST: u32 = 1;
    /// The kind of an entry behind whose place that of each twin stands.
    const MEMBERS: u32 = 2;
    /// The number of the lowest bit of the kind.
    const KIND: u32 = 30;
    const VALUE: u32 = (1 << Cell::KIND) - 1;
    /// The entry of a switch whose packets never go this way.
    const NONE: Cell = Cell(NONE);

    fn new(kind: u32, value: usize) -> Cell {
        let value = u32::try_from(value).ok().filter(|&value| value <= Cell::VALUE);
        Cell(
            kind << Cell::KIND
                | value.expect("a topology has fewer than 2^30 ports, and tables of fewer entries"),
        )
    }

    /// Returns whether the entry is of a kind.
    #[inline(always)]
    fn is_of(self, kind: u32) -> bool {
        self.0 >> Cell::KIND == kind
    }

    /// Returns the place that the entry names.
    #[inline(always)]
    fn value(self) -> usize {
        (self.0 & Cell::VALUE) as usize
    }

    /// Returns the place of the list of an entry of several next hops.
    #[inline(always)]
    fn list(self) -> usize {
        debug_assert!(self.is_of(Cell::LIST), "the tables lead to all hosts that were announced");
        self.value()
    }
}

impl Default for NextHops {
    fn default() -> NextHops {
        NextHops {
            up: Distances::new(false),
            intact: Distances::new(false),
            hosts: Vec::new(),
            count: 0,
            cells: Vec::new(),
            rows: BTreeMap::new(),
            members: BTreeMap::new(),
            ends: Vec::new(),
            strides: Vec::new(),
            lists: BTreeMap::new(),
            found: Vec::new(),
        }
    }
}

impl NextHops {
    /// Marks one direction of a link as up or down. A change clears the tables, and all hosts must be announced again.
    ///
    /// # Panics
    /// Panics if the port is not one of the topology, or if an earlier call had a topology of another size.
    pub fn set_up(&mut self, topology: &Topology, port: PortId, up: bool) {
        self.up.set_up(topology, port, up);
        self.hosts.clear();
        self.cells.clear();
        self.rows.clear();
        self.members.clear();
        self.lists.clear();
    }

    /// Returns whether a host was announced.
    #[inline]
    pub fn leads_to(&self, host: NodeId) -> bool {
        self.hosts.get(host.index()).is_some_and(|host| host.row != NONE)
    }

    /// Returns the memory of the tables, in bytes.
    pub fn bytes(&self) -> usize {
        let ends = self.ends.capacity() * size_of::<NodeId>();
        self.hosts.capacity() * size_of::<Host>() + self.cells.capacity() * size_of::<Cell>() + ends
    }

    /// Returns the node to which a port leads: where a packet is that came over it. A host was announced before.
    #[inline]
    pub fn end(&self, port: PortId) -> NodeId {
        self.ends[port.index()]
    }

    /// Returns the next hop of a packet from a switch to a host that was announced. `pick` says which of so many next hops of equal
    /// cost it takes: [`pick`](super::pick) by a hash, or [`NextHops::digit`].
    #[inline(always)]
    pub fn next(&self, at: NodeId, to: NodeId, pick: impl FnOnce(usize) -> usize) -> NextHop {
        let cell = match self.cell(at, to) {
            Ok(cell) => cell,
            Err(last) => return last,
        };
        // A branch for each kind, since a jump over all of them is often guessed wrong.
        let port = if cell.is_of(Cell::PORT) {
            cell
        } else {
            let list = cell.list();
            self.cells[list + 1 + pick(self.cells[list].0 as usize)]
        };
        NextHop { port: PortId(port.0), is_last: false }
    }

    /// Returns which of `count` next hops of a switch is on path `number`. In a Clos network all of whose links are up, the numbers
    /// below that of the shortest paths between two hosts lead over one of them each; in other networks, over some of them.
    #[inline]
    pub fn digit(&self, at: NodeId, number: u16, count: usize) -> usize {
        (u32::from(number) / self.strides[at.index() - self.count]) as usize % count
    }

    /// Returns all next hops of a packet from a switch to a host that was announced.
    pub fn choices(&self, at: NodeId, to: NodeId) -> Choices<'_> {
        let alone = |first| Choices { first, others: &[] };
        let cell = match self.cell(at, to) {
            Ok(cell) => cell,
            Err(last) => return alone(last),
        };
        let next = |cell: Cell| NextHop { port: PortId(cell.0), is_last: false };
        if cell.is_of(Cell::PORT) {
            return alone(next(cell));
        }
        let list = cell.list();
        let ports = &self.cells[list + 1..list + 1 + self.cells[list].0 as usize];
        Choices { first: next(ports[0]), others: &ports[1..] }
    }

    /// Finds the ports of [`Routes::stages`](super::Routes::stages) by the tables, in a small part of its time, and writes them to
    /// `stages`, which is cleared first. Returns false, with nothing to be read there, unless each host has one link, to a switch,
    /// and `dst` was announced.
    pub fn stages(&self, topology: &Topology, src: NodeId, dst: NodeId, stages: &mut Stages) -> bool {
        stages.begin(topology.nodes().len());
        let ([first], [_]) = (topology.ports_of(src), topology.ports_of(dst)) else { return false };
        if src == dst || topology.is_host(topology.port(*first).to) || !self.leads_to(dst) {
            return false;
        }
        stages.ports.push(*first);
        let mut start = 0;
        while start < stages.ports.len() {
            let end = stages.ports.len();
            stages.ends.push(end);
            for at in start..end {
                let node = topology.port(stages.ports[at]).to;
                if node == dst {
                    return true;
                }
                if stages.is_new(node) {
                    let choices = self.choices(node, dst);
                    stages.ports.push(choices.first.port);
                    stages.ports.extend(choices.others());
                }
            }
            start = end;
        }
        false
    }

    /// Returns the entry of a switch for a host that was announced; or the port to the host, at the switch that has it.
    #[inline(always)]
    fn cell(&self, at: NodeId, to: NodeId) -> Result<Cell, NextHop> {
        let (switch, host) = (at.index() - self.count, self.hosts[to.index()]);
        if switch == host.switch as usize {
            return Err(NextHop { port: host.last, is_last: true });
        }
        let cell = self.cells[host.row as usize + switch];
        if cell.is_of(Cell::MEMBERS) {
            return Ok(self.cells[cell.value() + host.member as usize]);
        }
        Ok(cell)
    }

    /// Announces packets to a host: makes the tables that lead there, where they are missing. Where no path over links that
    /// are up leads there, packets go as if all were up, and are lost where they meet the link that is down.
    ///
    /// # Panics
    /// Panics if an earlier call had a topology of another size.
    pub fn lead_to(&mut self, topology: &Topology, to: NodeId) {
        if self.leads_to(to) {
            return;
        }
        self.count = topology.hosts();
        if self.strides.is_empty() {
            self.strides = strides(topology);
            self.ends = topology.ports().iter().map(|port| port.to).collect();
        }
        self.hosts.resize(self.count, UNKNOWN);
        let last = topology.ports_of(to)[0].reverse();
        let own = topology.port(last).from;
        self.hosts[to.index()] = if topology.is_host(own) {
            // Packets come from the host at the other end of its link alone.
            Host { row: 0, switch: NONE, member: 0, last }
        } else {
            let switch = own.index() - self.count;
            // The tables lead to the switch, whether or not the host's own link works.
            self.up.prepare_switch(topology, switch);
            let (row, member) = self.member(topology, to, switch);
            Host { row, switch: switch as u32, member, last }
        };
    }

    /// Returns the row of the hosts of a switch, of which `to` is one, and the number of the switch among its twins.
    fn member(&mut self, topology: &Topology, to: NodeId, switch: usize) -> (u32, u32) {
        if let Some(&known) = self.members.get(&switch) {
            return known;
        }
        let twins = self.up.twins_of(switch);
        let row = self.row(topology, to, &twins);
        let member = twins.iter().take_while(|&&twin| twin != switch).count() as u32;
        self.members.insert(switch, (row, member));
        (row, member)
    }

    /// Returns the node of a switch.
    fn node(&self, switch: usize) -> NodeId {
        NodeId::from_index(self.count + switch)
    }

    /// Returns the place of the row of the hosts of twins, which is made if it is missing.
    fn row(&mut self, topology: &Topology, to: NodeId, twins: &[usize]) -> u32 {
        if let Some(&row) = self.rows.get(&twins[0]) {
            return row;
        }
        let mut cells = Vec::with_capacity(topology.switches());
        for at in 0..topology.switches() {
            let near = self.near_twins(topology, at, twins);
            cells.push(near.unwrap_or_else(|| self.by_distance(topology, at, to, twins[0])));
        }
        let row = self.add(&cells);
        self.rows.insert(twins[0], row);
        row
    }

    /// Returns the entry of a switch that is one of the twins to which packets go, or that is beside several. All links of
    /// a switch that has twins are up.
    fn near_twins(&mut self, topology: &Topology, at: usize, twins: &[usize]) -> Option<Cell> {
        if let [only] = twins {
            return (at == *only).then_some(Cell::NONE);
        }
        let node = self.node(at);
        if twins.contains(&at) {
            // From one twin to another it is over any neighbour.
            return Some(self.entry_of(topology.ports_to_switches(node)));
        }
        if self.up.hops_from_switch(at) != BESIDE {
            return None;
        }
        let mut cells = Vec::new();
        for &twin in twins {
            cells.push(self.entry_of(topology.ports_between(node, self.node(twin))));
        }
        Some(Cell::new(Cell::MEMBERS, self.add(&cells) as usize))
    }

    /// Returns the entry of a switch whose next hops are those that are one hop closer to the switch of a host.
    fn by_distance(&mut self, topology: &Topology, at: usize, to: NodeId, switch: usize) -> Cell {
        let node = self.node(at);
        let mut found = std::mem::take(&mut self.found);
        found.clear();
        let mut distances = &self.up;
        if distances.hops_from_switch(at) == UNREACHED {
            self.intact.prepare_switch(topology, switch);
            distances = &self.intact;
        }
        found.extend(distances.next_hops(topology, node, to, distances.hops_from_switch(at)));
        let entry = self.entry_of(&found);
        self.found = found;
        entry
    }

    /// Returns the entry that says that the next hops are these ports.
    fn entry_of(&mut self, ports: &[PortId]) -> Cell {
        match *ports {
            [] => Cell::NONE,
            [port] => Cell::new(Cell::PORT, port.index()),
            _ => {
                if let Some(&known) = self.lists.get(ports) {
                    return known;
                }
                let list = Cell::new(Cell::LIST, self.cells.len());
                self.cells.push(Cell(ports.len() as u32));
                self.cells.extend(ports.iter().map(|port| Cell(port.0)));
                self.lists.insert(ports.into(), list);
                list
            }
        }
    }

    /// Adds entries. Returns their place.
    fn add(&mut self, cells: &[Cell]) -> u32 {
        let place = self.cells.len() as u32;
        self.cells.extend(cells);
        place
    }
}

/// Returns for each switch the number of ways up to it from a switch with hosts, at most: the product of the links up of the tiers
/// below. A switch's tier is its distance from the next switch with hosts.
fn strides(topology: &Topology) -> Vec<u32> {
    let node = |switch| NodeId::from_index(topology.hosts() + switch);
    let has_hosts = |switch: &usize| {
        topology.ports_of(node(*switch)).iter().any(|port| topology.is_host(topology.port(*port).to))
    };
    let mut strides = vec![0; topology.switches()];
    let mut tier: Vec<usize> = (0..topology.switches()).filter(has_hosts).collect();
    let mut stride = 1u32;
    tier.iter().for_each(|&switch| strides[switch] = stride);
    while !tier.is_empty() {
        let (mut above, mut most) = (Vec::new(), 1);
        for &switch in &tier {
            let ports = topology.ports_to_switches(node(switch));
            let ups = ports.iter().map(|port| topology.port(*port).to.index() - topology.hosts());
            let ups: Vec<usize> = ups.filter(|&up| strides[up] == 0).collect();
            most = most.max(ups.len() as u32);
            above.extend(ups);
        }
        stride = stride.saturating_mul(most);
        above.sort_unstable();
        above.dedup();
        above.iter().for_each(|&switch| strides[switch] = stride);
        tier = above;
    }
    // Of a switch that no host reaches, no packet asks.
    strides.iter_mut().filter(|stride| **stride == 0).for_each(|stride| *stride = 1);
    strides
}
