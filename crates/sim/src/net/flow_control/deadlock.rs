//! Deadlock: ports that flow control has stopped and that wait for each other in a circle, so that none will ever go
//! on.

use crate::ids::ClassId;
use clearway_topology::PortId;

/// A class of a stopped port, and what it waits for: its own packets, where they went.
pub struct Wait {
    /// The port that is stopped.
    pub port: PortId,
    /// The class that is stopped.
    pub class: ClassId,
    /// The ports at the far end of the link at which packets that came by it wait.
    pub at: Vec<PortId>,
}

/// Of all that is stopped, what is stopped for ever: all that it waits for is stopped for ever itself.
pub fn stuck(mut waits: Vec<Wait>) -> Vec<Wait> {
    loop {
        let is_stuck = |port: PortId, class: ClassId| {
            waits.iter().any(|other| other.port == port && other.class == class)
        };
        let keeps =
            |wait: &Wait| !wait.at.is_empty() && wait.at.iter().all(|&port| is_stuck(port, wait.class));
        let kept: Vec<bool> = waits.iter().map(keeps).collect();
        if kept.iter().all(|&kept| kept) {
            return waits;
        }
        let mut kept = kept.into_iter();
        waits.retain(|_| kept.next().unwrap_or(false));
    }
}

/// Returns a circle among ports that are [`stuck`]: each waits for the next, the last for the first. From any of them
/// on, whatever it waits for leads into one.
pub fn circle(stuck: &[Wait]) -> Vec<PortId> {
    let Some(first) = stuck.first() else { return Vec::new() };
    let mut path = vec![first.port];
    loop {
        let last = stuck.iter().find(|wait| Some(&wait.port) == path.last() && wait.class == first.class);
        let Some(&next) = last.and_then(|wait| wait.at.first()) else { return Vec::new() };
        if let Some(begin) = path.iter().position(|&port| port == next) {
            return path.split_off(begin);
        }
        path.push(next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(port: u32, at: &[u32]) -> Wait {
        let at = at.iter().map(|&port| PortId(port)).collect();
        Wait { port: PortId(port), class: ClassId::FIRST, at }
    }

    fn ports(waits: &[Wait]) -> Vec<u32> {
        waits.iter().map(|wait| wait.port.0).collect()
    }

    #[test]
    fn a_circle_and_those_that_wait_for_it_are_stuck_and_a_chain_is_not() {
        // 1 -> 2 -> 3 -> 1; 5 waits for 2; 6 waits for 7, which may send.
        let waits = stuck(vec![wait(5, &[2]), wait(1, &[2]), wait(2, &[3]), wait(3, &[1]), wait(6, &[7])]);
        assert_eq!(ports(&waits), [5, 1, 2, 3]);
        assert_eq!(circle(&waits), [2, 3, 1].map(PortId), "entered from 5 at 2");
    }

    #[test]
    fn a_port_one_of_whose_packets_may_go_on_is_not_stuck() {
        assert!(stuck(vec![wait(1, &[2, 9]), wait(2, &[1])]).is_empty());
        assert!(stuck(vec![wait(1, &[])]).is_empty(), "all of its packets have left");
    }
}
