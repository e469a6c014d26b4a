//! Sequences that are drawn: calm and congestion take turns, with losses, penalties and samples that are not valid among them.

use super::window::{Input, Window, Windows};
use crate::case::Case;
use crate::setting::env;
use clearway_proto::uec::NsccParams;
use clearway_proto::{Entity, Rng};
use clearway_units::Time;

/// The steps of a sequence, and of each of its calm or congested parts.
const STEPS: u64 = 300;
const PART: u64 = 50;
/// A full packet.
const MTU: u64 = 4_150;

/// The dice of a sequence.
struct Dice(Rng);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0.below(bound)
    }

    fn percent(&mut self, share: u64) -> bool {
        self.below(100) < share
    }
}

/// Returns the drawn sequences.
pub fn cases(params: &NsccParams, seed: u64) -> Vec<Case> {
    let kinds = [
        ("drawn-100g", "A drawn sequence at 100 Gbps.", 100, true, false),
        ("drawn-400g", "A drawn sequence at 400 Gbps.", 400, true, false),
        ("drawn-without-trimming", "A drawn sequence at 100 Gbps without trimming.", 100, false, false),
        (
            "drawn-where-receivers-pace",
            "A drawn sequence at 400 Gbps where receivers pace too.",
            400,
            true,
            true,
        ),
    ];
    let record = |(number, (name, about, gbps, trimming, paces))| {
        let mut params: NsccParams = params.clone();
        params.common.trimming = trimming;
        let mut windows = Windows::new(name, about, Window::new(&params, env(gbps), paces));
        let mut dice = Dice(Rng::stream(seed, Entity::Traffic, number));
        let mut now = 10_000_000;
        for step in 0..STEPS {
            now += dice.below(if step % 37 == 0 { 60_000_000 } else { 2_000_000 });
            let input = draw(&mut dice, &windows.subject, step / PART % 2 == 1);
            windows.step(Time::from_ps(now), input);
        }
        windows.done()
    };
    (0..).zip(kinds).map(record).collect()
}

/// Draws an input for a window in a calm or congested network.
fn draw(dice: &mut Dice, window: &Window, is_congested: bool) -> Input {
    let nscc = &window.nscc;
    let (base, most) = (nscc.base_rtt().as_ps(), nscc.maxwnd() as u64);
    let in_flight_bytes = dice.below(most) as i64 - 3 * MTU as i64;
    if is_congested && dice.percent(15) {
        let rtt_ps = (!dice.percent(10)).then(|| base + dice.below(4_000_000));
        return Input::Nack { size_bytes: MTU, rtt_ps, last_hop: dice.percent(30), in_flight_bytes };
    }
    if dice.percent(2) {
        return Input::Timeout { size_bytes: 64 + dice.below(MTU) };
    }
    if dice.percent(5) {
        let around = nscc.cwnd() as i64 + dice.below(10_000) as i64;
        let packet_bytes = 64 + dice.below(MTU - 63) as u32;
        return Input::Room { in_flight_bytes: around - 9_000, packet_bytes };
    }
    if dice.percent(1) {
        return Input::Probe { rtt_ps: base + dice.below(500_000) - 50_000 };
    }
    let target = nscc.config().target_qdelay.as_ps();
    let delay = match (is_congested, dice.below(10)) {
        (false, 0..=5) => dice.below(1_000_000),
        (false, _) => dice.below(target),
        (true, 0..=2) => dice.below(target),
        (true, 3..=8) => target + dice.below(2 * target),
        (true, _) => 3 * target + dice.below(3 * target),
    };
    let is_marked = dice.percent(if delay >= target { 60 } else { 10 });
    let rtt_ps = match dice.below(20) {
        0 => None,
        1 => Some(base - dice.below(5_000)),
        _ => Some(base + delay),
    };
    Input::Ack {
        new_bytes: [0, MTU, 16_384, 16_640][dice.below(4) as usize],
        in_flight_bytes,
        rtt_ps,
        may_lower: !dice.percent(10),
        marked: is_marked,
        penalty: dice.percent(3).then(|| 1 + dice.below(127) as u8),
    }
}
