//! A datapath as its supervisor sees it.

use crate::datapath::{Actions, Datapath, Direction, HeldId, Link, Metric, Passed, Released, Small};
use crate::wire::Segment;
use clearway_units::Time;

/// A driver that counts what crosses its sockets.
pub(super) trait Counts {
    /// Hands every counter to `each`.
    fn counts(&self, each: &mut dyn FnMut(Metric));
}

/// A datapath with its driver, whose counters are reported with those of the datapath.
pub(super) struct Watched<'a> {
    pub datapath: &'a mut dyn Datapath,
    pub driver: &'a dyn Counts,
}

impl Datapath for Watched<'_> {
    fn handle_frame(&mut self, frame: &[u8], now: Time, actions: &mut Actions) {
        self.datapath.handle_frame(frame, now, actions);
    }

    fn handle_segment(
        &mut self,
        direction: Direction,
        segment: &Segment,
        link: Link,
        now: Time,
        actions: &mut Actions,
    ) {
        self.datapath.handle_segment(direction, segment, link, now, actions);
    }

    fn handle_held(&mut self, id: HeldId, segment: &Segment, now: Time, actions: &mut Actions) {
        self.datapath.handle_held(id, segment, now, actions);
    }

    fn handle_passed(&mut self, passed: &Passed, now: Time, actions: &mut Actions) {
        self.datapath.handle_passed(passed, now, actions);
    }

    fn handle_small(&mut self, small: &Small, now: Time, actions: &mut Actions) {
        self.datapath.handle_small(small, now, actions);
    }

    fn handle_released(&mut self, released: &Released, now: Time, actions: &mut Actions) {
        self.datapath.handle_released(released, now, actions);
    }

    fn count_unwatched(&mut self, packets: u64, payload: u64) {
        self.datapath.count_unwatched(packets, payload);
    }

    fn release_all(&mut self, now: Time, actions: &mut Actions) {
        self.datapath.release_all(now, actions);
    }

    fn is_patient(&self, now: Time) -> bool {
        self.datapath.is_patient(now)
    }

    fn next_timeout(&self) -> Time {
        self.datapath.next_timeout()
    }

    fn handle_timeout(&mut self, now: Time, actions: &mut Actions) {
        self.datapath.handle_timeout(now, actions);
    }

    fn metrics(&self, each: &mut dyn FnMut(Metric)) {
        self.datapath.metrics(each);
        self.driver.counts(each);
    }
}
