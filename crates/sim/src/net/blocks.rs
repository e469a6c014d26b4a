//! Blocks: groups of the nodes of one part of the network, through which a thread goes in turn, window by window, so that what
//! the events of a window need fits into the caches of a core.
//!
//! Each block has an agenda of its own, and all else is shared: ports, packets, hosts. While no block has its turn, whatever is
//! scheduled goes to the agenda of the part, from which it is spread over the blocks before the next window. An event that a
//! block schedules for another one lies behind the window, since no link between two blocks is shorter than that, so the order in
//! which blocks take their turns changes nothing.

use crate::engine::{Agenda, Event, exceeds_cache};
use clearway_topology::{NodeId, PortId};
use clearway_units::{Span, Time};

/// The events of a block and a window from which going through blocks in turn costs less than it gains.
const BUSY: f64 = 500.0;

/// The blocks of a part of the network.
pub struct Blocks {
    /// The block of each node.
    of_node: Vec<u16>,
    /// What each block has for itself. While it has its turn, what belongs to the part lies here instead.
    own: Vec<Own>,
    /// The shortest delay of a link between two blocks.
    window: Span,
    /// Set while blocks take turns; else all events lie in the agenda of the part.
    is_open: bool,
    /// The stretches of time so far, and of how many blocks rest in two, if tests decide that; zero for none.
    forced: Option<(u64, u64)>,
    /// The events of a window, as of the last stretch of time that was as long.
    pace: f64,
    /// The end of that stretch, and the number of events until then.
    since: (Time, u64),
}

/// What a block has for itself.
pub struct Own {
    /// The pending events at its nodes.
    pub agenda: Agenda,
    /// Its ports that lead elsewhere and may be served late.
    pub exits: Vec<PortId>,
    /// The time at which the first of these sends what waits there.
    pub next_exit: Option<Time>,
}

impl Blocks {
    /// Returns blocks that do not take turns yet.
    pub fn new(of_node: Vec<u16>, own: Vec<Own>, window: Span) -> Blocks {
        Blocks { of_node, own, window, is_open: false, forced: None, pace: 0.0, since: (Time::ZERO, 0) }
    }

    /// Returns what a block has for itself.
    pub fn own(&mut self, block: u16) -> &mut Own {
        &mut self.own[usize::from(block)]
    }

    /// Sets whether blocks take turns. Returns whether they did.
    pub fn set_open(&mut self, is_open: bool) -> bool {
        std::mem::replace(&mut self.is_open, is_open)
    }

    /// Returns the block of a node.
    #[inline]
    pub fn of(&self, node: NodeId) -> u16 {
        self.of_node[node.index()]
    }

    /// Returns all blocks.
    pub fn numbers(&self) -> std::ops::Range<u16> {
        0..self.own.len() as u16
    }

    /// Returns how far blocks may go on without hearing of each other.
    pub fn window(&self) -> Span {
        self.window
    }

    /// Schedules an event at a block that does not have its turn.
    #[inline]
    pub fn schedule(&mut self, block: u16, event: Event) {
        self.own[usize::from(block)].agenda.take_over(event);
    }

    /// Returns whether blocks take turns.
    #[inline]
    pub fn are_open(&self) -> bool {
        self.is_open
    }

    /// Lets blocks take turns in any case but in two of so many stretches of time, one after the other; zero for all of them.
    pub fn open_but(&mut self, every: u64) {
        self.forced = Some((0, every));
    }

    /// Heeds how many events there were until now.
    pub fn heed(&mut self, now: Time, events: u64) {
        let (since, before) = self.since;
        let span = now.saturating_since(since);
        if span >= self.window {
            self.pace = (events - before) as f64 * (self.window.as_ps() as f64 / span.as_ps() as f64);
            self.since = (now, events);
        }
    }

    /// Returns whether blocks should take turns, with so many bytes that events of the whole part may need: if that is more than
    /// a core's own cache holds, and there is enough to do. Blocks that do go on with it until there is far less to do.
    pub fn should_be_open(&mut self, bytes: usize) -> bool {
        if let Some((stretches, every)) = &mut self.forced {
            *stretches += 1;
            return *every == 0 || *stretches % *every > 1;
        }
        let least = BUSY * self.own.len() as f64 * if self.is_open { 0.25 } else { 1.0 };
        exceeds_cache(bytes) && self.pace >= least
    }

    /// Returns the time at which a block has its first event, or sends something that waits at a port that is served late.
    pub fn next_at(&self, block: u16) -> Option<Time> {
        let Own { agenda, next_exit, .. } = &self.own[usize::from(block)];
        agenda.next_at().into_iter().chain(*next_exit).min()
    }

    /// Returns the agendas of all blocks.
    pub fn agendas(&self) -> impl Iterator<Item = &Agenda> {
        self.own.iter().map(|own| &own.agenda)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::CAN_FETCH;

    #[test]
    fn blocks_take_turns_where_there_is_much_to_do_in_more_than_a_cache_and_rest_where_there_is_far_less() {
        let own = || Own { agenda: Agenda::new(1, 1, Span::from_us(1)), exits: Vec::new(), next_exit: None };
        let mut blocks = Blocks::new(vec![0, 1], vec![own(), own()], Span::from_us(1));
        let (large, small) = (2 << 20, 1 << 20);
        assert!(!blocks.should_be_open(large), "nothing has happened yet");
        let (mut now, mut events) = (Time::ZERO, 0);
        let mut heed = |blocks: &mut Blocks, us: u64, more: u64| {
            (now, events) = (now + Span::from_us(us), events + more);
            blocks.heed(now, events);
        };
        heed(&mut blocks, 4, 3_999);
        assert!(!blocks.should_be_open(large), "each has fewer than 500 events in a window");
        heed(&mut blocks, 4, 4_000);
        assert_eq!([large, small].map(|bytes| blocks.should_be_open(bytes)), [CAN_FETCH, false]);
        blocks.set_open(true);
        heed(&mut blocks, 2, 500);
        assert_eq!(blocks.should_be_open(large), CAN_FETCH, "a quarter is enough to go on");
        heed(&mut blocks, 2, 499);
        assert!(!blocks.should_be_open(large));
    }
}
