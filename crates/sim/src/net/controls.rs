//! Flow control in all parts of a network: which ports it has stopped, and whether they wait for each other in a circle.

use super::flow_control::{FlowControl, FlowControlSummary, Wait, stuck};
use super::networks::Networks;
use super::pause;
use super::port::Port;
use clearway_topology::{PortId, Topology};
use clearway_units::Span;

/// The flow control of all parts, where there is any.
#[derive(Clone, Copy)]
pub struct Controls<'a> {
    nets: &'a Networks,
}

impl Networks {
    /// Returns the flow control of all parts.
    #[inline]
    pub fn controls(&self) -> Controls<'_> {
        Controls { nets: self }
    }
}

impl<'a> Controls<'a> {
    fn of_parts(self) -> impl Iterator<Item = &'a FlowControl> {
        self.nets.parts.iter().filter_map(|net| net.memory.control())
    }

    /// Returns the flow control of all parts as one, where there is any.
    fn joined(self) -> Option<FlowControl> {
        let first = self.of_parts().next()?.clone();
        Some(self.of_parts().skip(1).fold(first, |sum, part| sum.joined(part)))
    }

    /// Returns the number of times that flow control stopped a class of a port, and the time for which any was stopped;
    /// `None` where there is no flow control.
    #[inline]
    pub fn stopped(self, port: PortId) -> Option<(u64, Span)> {
        // All parts have flow control, or none has.
        self.nets.parts[0].memory.control()?;
        let of_part = |control: &FlowControl| control.stopped(port, self.nets.now());
        self.of_parts().map(of_part).reduce(|a, b| (a.0 + b.0, a.1 + b.1))
    }

    /// Returns the work of flow control so far, where there is any.
    pub fn summary(self, topology: &Topology) -> Option<FlowControlSummary> {
        let control = self.joined()?;
        Some(control.summary(&self.deadlocked(&control), topology, self.nets.now()))
    }

    /// Returns whether ports wait for each other in a circle. That is a look at all of them, so it is taken only where
    /// one has waited for long.
    pub fn is_deadlocked(self) -> bool {
        self.of_parts().any(|control| control.has_waited_long(self.nets.now()))
            && self.joined().is_some_and(|control| !self.deadlocked(&control).is_empty())
    }

    /// Returns the classes of ports that are stopped for ever, in order of ports.
    fn deadlocked(self, control: &FlowControl) -> Vec<Wait> {
        let mut waits = Vec::new();
        for port in self.nets.ports().filter(|&port| !self.port(port).paused.is_empty()) {
            let switch = self.port(port.reverse()).owner;
            // Where nothing is asked any more, the frame that lets the port go on is under way.
            let stopped = self.port(port).paused.and(control.wanted(port));
            for class in stopped.iter() {
                let holds = |other: &PortId| {
                    self.port(*other).owner == switch
                        && pause::holds_from(self.nets.of(*other), *other, class, port)
                };
                waits.push(Wait { port, class, at: self.nets.ports().filter(holds).collect() });
            }
        }
        stuck(waits)
    }

    fn port(self, port: PortId) -> &'a Port {
        &self.nets.of(port).ports[port]
    }
}

/// Looks for ports that are stopped for too long. Returns whether any port is stopped.
pub fn watch(nets: &mut Networks) -> bool {
    let now = nets.now();
    let controls = nets.parts.iter_mut().filter_map(|net| net.memory.control_mut());
    controls.map(|control| control.watch(now)).fold(false, |any, stopped| any | stopped)
}
