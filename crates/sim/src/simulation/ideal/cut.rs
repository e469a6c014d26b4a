//! What the ports that all paths of a flow cross at one distance from its source can carry together.

use clearway_topology::{PortId, SendingTime, Topology};
use clearway_units::Span;

/// The ports of several paths at one distance from the source, of which every path crosses one.
pub struct Cut {
    /// The ports by kinds, since those of a regular network are all equal.
    kinds: Vec<Kind>,
}

/// Ports over which full frames arrive after the same times.
struct Kind {
    /// The number of the ports.
    ports: u64,
    /// The time that a full frame takes at each of them.
    frame: Span,
    /// The time that a full frame takes before and behind the port, on the fastest ways that lead there and on.
    around: Span,
}

/// A path while its ports are visited.
struct Visit<'a> {
    path: &'a [PortId],
    /// The time that a full frame takes to the port, and from there to the end.
    before: Span,
    behind: Span,
}

impl Cut {
    /// Returns the cuts between the first and the last ports of several paths. Paths of different lengths have as many
    /// cuts as the shortest.
    pub fn between<'a>(
        topology: &'a Topology,
        mut frame: SendingTime,
        paths: &'a [&'a [PortId]],
    ) -> impl Iterator<Item = Cut> + 'a {
        let mut time = move |port: PortId| (frame.at(topology.port(port).rate), topology.port(port).delay);
        let mut visits: Vec<Visit<'_>> = paths
            .iter()
            .map(|path| {
                let behind = path.iter().map(|&port| time(port)).map(|(time, delay)| time + delay).sum();
                Visit { path, before: Span::ZERO, behind }
            })
            .collect();
        let shortest = paths.iter().map(|path| path.len()).min().unwrap_or(0);
        (0..shortest.saturating_sub(1)).filter_map(move |hop| {
            let ways = visits.iter_mut().map(|visit| {
                let (port, before) = (visit.path[hop], visit.before);
                let (time, delay) = time(port);
                visit.before += time + delay;
                visit.behind -= time + delay;
                Way { port, time, before, behind: visit.behind + delay }
            });
            let ways: Vec<Way> = ways.collect();
            (hop > 0).then(|| Cut::of(ways))
        })
    }

    /// Returns the cut of so many ports that are alike, at each of which a full frame takes this time, and that time around it.
    pub fn of_alike(ports: u64, frame: Span, around: Span) -> Cut {
        Cut { kinds: vec![Kind { ports, frame: frame.max(Span::from_ps(1)), around }] }
    }

    fn of(mut ways: Vec<Way>) -> Cut {
        ways.sort_by_key(|way| way.port);
        let ports = ways.chunk_by(|a, b| a.port == b.port).map(|ways| {
            let before = ways.iter().map(|way| way.before).min().unwrap_or_default();
            let behind = ways.iter().map(|way| way.behind).min().unwrap_or_default();
            (ways[0].time.max(Span::from_ps(1)), before + behind)
        });
        let mut ports: Vec<(Span, Span)> = ports.collect();
        ports.sort();
        let kind = |ports: &[(Span, Span)]| Kind {
            ports: ports.len() as u64,
            frame: ports[0].0,
            around: ports[0].1,
        };
        Cut { kinds: ports.chunk_by(|a, b| a == b).map(kind).collect() }
    }

    /// Returns the number of full frames that can have arrived over these ports at `at`.
    fn carried(&self, at: Span) -> u64 {
        let of = |kind: &Kind| {
            let each = at.saturating_sub(kind.around).as_ps() / kind.frame.as_ps();
            each.saturating_mul(kind.ports)
        };
        self.kinds.iter().map(of).fold(0, u64::saturating_add)
    }

    /// Returns the first time, not before `least`, at which so many full frames can have arrived over these ports.
    pub fn done(&self, frames: u64, least: Span) -> Span {
        if self.carried(least) >= frames {
            return least;
        }
        let alone = |kind: &Kind| {
            kind.frame.saturating_mul(frames.div_ceil(kind.ports)).saturating_add(kind.around).as_ps()
        };
        // Too early, and late enough.
        let mut early = least.as_ps();
        let mut late = self.kinds.iter().map(alone).min().unwrap_or(early);
        while late.saturating_sub(early) > 1 {
            let middle = early + (late - early) / 2;
            if self.carried(Span::from_ps(middle)) >= frames {
                late = middle;
            } else {
                early = middle;
            }
        }
        Span::from_ps(late)
    }
}

/// A port on one path.
struct Way {
    port: PortId,
    time: Span,
    before: Span,
    behind: Span,
}
