//! The threads of a run: each drives regions up to a barrier.

use super::region::Region;
use crate::net::Networks;
use clearway_units::{Span, Time};

/// The threads that drive the regions of a run.
pub struct Threads {
    /// The shortest delay of a link between parts: no part hears of what another one does within this time.
    lookahead: Span,
    #[cfg(not(target_family = "wasm"))]
    pool: Option<rayon::ThreadPool>,
}

impl Threads {
    /// Threads for so many regions, between which no link has a shorter delay than `lookahead`. Where the platform has no
    /// threads, one drives all regions in turn, with the same result.
    pub fn new(regions: usize, lookahead: Span) -> Threads {
        #[cfg(not(target_family = "wasm"))]
        let pool = (regions > 1)
            .then(|| rayon::ThreadPoolBuilder::new().num_threads(regions).build().ok())
            .flatten();
        #[cfg(target_family = "wasm")]
        let _ = regions;
        Threads {
            lookahead,
            #[cfg(not(target_family = "wasm"))]
            pool,
        }
    }

    /// Lets all regions handle their events before `until`. Answers the time before which all are handled, which is
    /// earlier if the whole run must hear something before; `None` if a single region has more than `most` of them, and
    /// shall be called again.
    pub fn advance(
        &self,
        nets: &mut Networks,
        regions: &mut [Region],
        until: Time,
        most: u64,
    ) -> Option<Time> {
        if let [region] = regions {
            return region.run(nets.part_mut(0), until, most);
        }
        // Times without any event are passed over.
        while let Some(next) = nets.next_at().filter(|&next| next < until) {
            self.each(nets, regions, until.min(next + self.lookahead));
            nets.exchange();
        }
        Some(until)
    }

    #[cfg(not(target_family = "wasm"))]
    fn each(&self, nets: &mut Networks, regions: &mut [Region], until: Time) {
        use rayon::prelude::*;
        let Some(pool) = &self.pool else { return in_turn(nets, regions, until) };
        pool.install(|| {
            nets.parts_mut().par_iter_mut().zip(regions.par_iter_mut()).for_each(|(net, region)| {
                net.open_inboxes();
                region.run(net, until, u64::MAX);
            });
        });
    }

    #[cfg(target_family = "wasm")]
    fn each(&self, nets: &mut Networks, regions: &mut [Region], until: Time) {
        in_turn(nets, regions, until);
    }
}

/// Lets one region after the other go on.
fn in_turn(nets: &mut Networks, regions: &mut [Region], until: Time) {
    for (net, region) in nets.parts_mut().iter_mut().zip(regions) {
        net.open_inboxes();
        region.run(net, until, u64::MAX);
    }
}
