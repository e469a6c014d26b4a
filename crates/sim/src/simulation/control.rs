//! What the network does by itself: flow control between neighbours, and notifications that switches send.

use super::Simulation;
use crate::engine::What;
use crate::metrics::Ended;

impl Simulation {
    /// A pause frame arrived.
    pub(super) fn pause(&mut self, index: u32) {
        let (goes, watch) = self.net.pause(index);
        if watch {
            self.watch();
        }
        if let Some(port) = goes {
            self.use_port(port);
        }
    }

    /// Looks whether ports are stopped for too long; ends the run if they are for ever.
    pub(super) fn watch(&mut self) {
        let Some(again) = self.net.watch() else { return };
        if self.net.is_deadlocked() {
            self.ended = Some(Ended::Deadlocked);
            return;
        }
        self.schedule_outside(self.net.now + again, What::Watch(0));
    }

    /// A mechanism of a port asked to be woken.
    pub(super) fn port_timer(&mut self, number: u32) {
        self.net.wake_mechanism(number);
        while let Some((place, port)) = self.net.poll_notice(number) {
            let Some(flow) = self.flows.get_mut(place) else { continue };
            self.net.send_notice(port, place, flow.way_back, flow.classes.notice);
        }
    }
}
