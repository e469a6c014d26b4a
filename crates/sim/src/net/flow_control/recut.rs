//! The flow control of a run that goes on in other parts.

use super::{Ask, FlowControl};
use crate::ids::ClassSet;
use clearway_topology::{NodeId, Topology};

impl Ask {
    /// Returns what the port that feeds the switch knows, and what the switch knows.
    fn sides(&self) -> [Ask; 2] {
        let Ask { told, frames, since, stopped, longest, pauses, storm } = self.clone();
        let at_switch = Ask { told, pauses, ..Ask::default() };
        [Ask { told: ClassSet::EMPTY, frames, since, stopped, longest, pauses: 0, storm }, at_switch]
    }
}

impl FlowControl {
    /// Takes over what the flow control of a part of a network that is cut otherwise keeps of the nodes that are in this
    /// part. `was_there` tells which nodes were in that part.
    pub fn take_over(
        &mut self,
        old: &FlowControl,
        topology: &Topology,
        was_there: impl Fn(NodeId) -> bool,
        is_here: impl Fn(NodeId) -> bool,
    ) {
        let FlowControl {
            lossless: _,
            alpha: _,
            classes,
            ingress,
            memory,
            wanted,
            asks,
            response: _,
            storm: _,
            watching,
        } = old;
        // Of a port that feeds a switch, each end of the link knows its own side.
        for ((id, ask), port) in asks.enumerate().zip(topology.ports()) {
            let [at_port, at_switch] = ask.sides();
            if is_here(port.from) {
                self.asks[id].join(&at_port);
            }
            if is_here(port.to) {
                self.asks[id].join(&at_switch);
                self.wanted[id] = self.wanted[id].or(wanted[id]);
            }
            if is_here(port.to) && was_there(port.to) {
                let classes = id.0 as usize * classes..(id.0 as usize + 1) * classes;
                self.ingress[classes.clone()].clone_from_slice(&ingress[classes]);
            }
        }
        let moved = memory.enumerate().filter(|&(node, _)| is_here(node) && was_there(node));
        moved.for_each(|(node, memory)| self.memory[node] = *memory);
        // A port that is stopped while a look is scheduled, by whichever part, asks for no other one.
        self.watching |= watching;
    }
}

#[cfg(test)]
mod tests {
    use super::super::Frame;
    use super::*;
    use crate::ids::ClassId;
    use clearway_units::{Span, Time};

    #[test]
    fn the_two_sides_of_a_link_make_up_what_is_known_of_it_and_share_nothing() {
        let told: ClassSet = [ClassId::FIRST].into_iter().collect();
        let ask = Ask {
            told,
            frames: [Frame { stop: told, go: ClassSet::EMPTY }].into(),
            since: Some(Time::from_ps(7)),
            stopped: Span::from_us(3),
            longest: Span::from_us(2),
            pauses: 5,
            storm: true,
        };
        let [mut at_port, at_switch] = ask.sides();
        assert_eq!((at_port.pauses, at_port.frames.len()), (0, 1));
        assert_eq!((at_switch.pauses, at_switch.frames.len(), at_switch.storm), (5, 0, false));
        at_port.join(&at_switch);
        assert_eq!(format!("{at_port:?}"), format!("{ask:?}"));
    }
}
