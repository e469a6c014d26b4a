//! Fair shares for senders that are told them: computed once for all that starts and ends at one instant.

use super::Simulation;
use crate::engine::What;
use crate::flows::Input;

impl Simulation {
    /// A flow has something to send from now on, or its paths changed.
    pub(super) fn start_share(&mut self, place: u32) {
        let Some(oracle) = &mut self.oracle else { return };
        let Some(flow) = self.flows.get_mut(place).filter(|flow| self.told[flow.traffic as usize]) else {
            return;
        };
        let had_changed = oracle.has_changed();
        let route = flow.sending.route;
        oracle.start(place, self.net.ports_of(route).iter().map(|port| port.0), route.count);
        if !had_changed {
            self.schedule_outside(self.net.now, What::Shares(0));
        }
    }

    /// All that a flow had to send is delivered.
    pub(super) fn stop_share(&mut self, place: u32) {
        let Some(oracle) = &mut self.oracle else { return };
        let had_changed = oracle.has_changed();
        oracle.stop(place);
        if !had_changed && oracle.has_changed() {
            self.schedule_outside(self.net.now, What::Shares(0));
        }
    }

    /// Tells all senders whose share changed.
    pub(super) fn tell_shares(&mut self) {
        let Some(mut oracle) = self.oracle.take() else { return };
        oracle.shares(|place, rate| {
            self.drive_sender(place, Input::Share(rate));
        });
        self.oracle = Some(oracle);
    }
}
