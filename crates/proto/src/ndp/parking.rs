//! The control of a receiving host in a network whose core is oversubscribed: pulls that packets have earned are parked, and come
//! back one a round trip. Source: htsim's NDP, option `-oversubscribed_cc` (uet-htsim 40ccb05).

use crate::packet::{Flags, Packet};
use crate::rng::Rng;
use serde::{Deserialize, Serialize};

/// On an answer: its packet earned no pull, since that was parked.
pub const PARKED: Flags = Flags::EMPTY;
/// The weight of a round trip in the average share of marked bytes.
const G: f64 = 1.0 / 16.0;

/// The parked pulls of the flows of a host.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Parking {
    /// The packets of a first window: fewer by two are parked at most.
    window: u32,
    rng: Rng,
    /// What is known of each flow, by its place.
    flows: Vec<Parked>,
}

/// The parked pulls of a flow. A round trip is over when a packet comes that a later pull let go.
#[derive(Clone, Copy, Default, Debug, Serialize, Deserialize)]
struct Parked {
    /// The number of parked pulls.
    pulls: u32,
    /// The last pull given when one was parked first, or came back last.
    returned_at: u32,
    /// The last pull given when the share of marked bytes was taken last.
    counted_at: u32,
    marked: u64,
    arrived: u64,
    /// The average share of marked bytes.
    alpha: f64,
}

/// Returns true if a packet left after a pull, or because of it. Numbers of pulls go on from 0 beyond 32 bits.
fn left_after(packet: u32, pull: u32) -> bool {
    packet.wrapping_sub(pull) <= u32::MAX / 2
}

impl Parking {
    /// Returns the control of a host whose flows begin with windows of so many packets.
    pub fn new(window: u32, rng: Rng) -> Parking {
        Parking { window, rng, flows: Vec::new() }
    }

    /// A flow begins at this place.
    pub fn begin(&mut self, place: u32) {
        let place = place as usize;
        if self.flows.len() <= place {
            self.flows.resize(place + 1, Parked::default());
        }
        self.flows[place] = Parked::default();
    }

    /// Returns the number of pulls that a packet of data earns the flow at a place: none if its pull is parked, and one more if
    /// another comes back. `pull` is the last one that its sender had heard of, and `had` the last one given.
    pub fn earned(&mut self, place: u32, packet: &Packet, pull: u32, had: u32) -> u32 {
        let flow = &mut self.flows[place as usize];
        let has_room = flow.pulls + 2 < self.window;
        let is_parked = if packet.flags.has(Flags::TRIMMED) {
            // The pace of pulls itself sees to the last hop.
            let is_parked = !packet.flags.has(Flags::LAST_HOP) && has_room;
            if is_parked && flow.pulls == 0 {
                flow.returned_at = had;
            }
            is_parked
        } else {
            flow.account(packet, pull, had);
            flow.alpha > 0.0 && has_room && self.rng.unit() < flow.alpha / 2.0
        };
        flow.pulls += u32::from(is_parked);
        let is_whole_or_parked = is_parked || !packet.flags.has(Flags::TRIMMED);
        u32::from(!is_parked) + u32::from(is_whole_or_parked && flow.returns(pull, had))
    }
}

impl Parked {
    /// Counts a whole packet, and takes the share of marked bytes once a round trip.
    fn account(&mut self, packet: &Packet, pull: u32, had: u32) {
        let wire = u64::from(packet.wire);
        self.arrived += wire;
        self.marked += if packet.flags.has(Flags::ECN_CE) { wire } else { 0 };
        if left_after(pull, self.counted_at) {
            self.alpha += G * (self.marked as f64 / self.arrived as f64 - self.alpha);
            (self.marked, self.arrived, self.counted_at) = (0, 0, had);
        }
    }

    /// Lets a parked pull come back once a round trip, while more than one is parked.
    fn returns(&mut self, pull: u32, had: u32) -> bool {
        let returns = self.pulls > 1 && left_after(pull, self.returned_at);
        if returns {
            (self.pulls, self.returned_at) = (self.pulls - 1, had);
        }
        returns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Header;
    use crate::rng::Entity;
    use clearway_units::Time;

    fn packet(flags: Flags) -> Packet {
        let header = Header::PulledData { offset: 0, psn: 0, pull: 0, target: 0 };
        Packet::data(header, 1460, 1538, Time::ZERO).with_flags(flags)
    }

    /// The control of a host with one flow.
    fn parking(window: u32) -> Parking {
        let mut parking = Parking::new(window, Rng::stream(1, Entity::Agent, 0));
        parking.begin(0);
        parking
    }

    const CUT: Flags = Flags::TRIMMED;

    #[test]
    fn a_packet_that_the_core_cut_earns_no_pull_and_one_that_the_last_hop_cut_earns_one() {
        let mut parking = parking(10);
        assert_eq!(parking.earned(0, &packet(CUT), 0, 5), 0);
        assert_eq!(parking.earned(0, &packet(CUT.with(Flags::LAST_HOP)), 0, 5), 1);
        assert_eq!(parking.earned(0, &packet(Flags::NONE), 0, 5), 1);
        assert_eq!(parking.flows[0].pulls, 1);
    }

    #[test]
    fn all_but_two_packets_of_a_window_can_be_parked() {
        let mut parking = parking(5);
        let earned: Vec<_> = (0..5).map(|_| parking.earned(0, &packet(CUT), 0, 1)).collect();
        assert_eq!(earned, [0, 0, 0, 1, 1]);
    }

    #[test]
    fn a_parked_pull_comes_back_with_the_first_packet_that_left_after_the_last_came_back() {
        let mut parking = parking(10);
        (0..3).for_each(|_| assert_eq!(parking.earned(0, &packet(CUT), 0, 5), 0));
        let mut come = |pull, had| parking.earned(0, &packet(Flags::NONE), pull, had);
        assert_eq!([come(4, 7), come(5, 8), come(7, 9), come(8, 10)], [1, 2, 1, 2]);
        assert_eq!(come(20, 20), 1, "one stays parked");
    }

    #[test]
    fn marked_packets_park_pulls_at_half_the_average_share_of_marks() {
        let mut parking = parking(1_000_000);
        let mut earned = 0;
        for pull in 0..20_000 {
            // Each packet ends a round trip, so that alpha comes close to 1.
            earned += parking.earned(0, &packet(Flags::ECN_CE), pull, pull);
            // None comes back.
            parking.flows[0].pulls = 0;
        }
        let share = f64::from(earned) / 20_000.0;
        assert!((share - 0.5).abs() < 0.02, "{share}");
        assert!((parking.flows[0].alpha - 1.0).abs() < 1e-6);
    }

    #[test]
    fn the_share_of_marks_is_an_average_over_round_trips() {
        let mut parking = parking(10);
        for flags in [Flags::ECN_CE, Flags::NONE, Flags::NONE] {
            parking.earned(0, &packet(flags), 0, 3);
        }
        // The first packet ended a round trip; the others left before pull 3.
        assert_eq!((parking.flows[0].alpha, parking.flows[0].arrived), (G, 2 * 1538));
        parking.earned(0, &packet(Flags::ECN_CE), 3, 4);
        let expected = G + G * (1.0 / 3.0 - G);
        assert!((parking.flows[0].alpha - expected).abs() < 1e-12);
    }

    #[test]
    fn a_flow_that_takes_the_place_of_another_has_nothing_parked() {
        let mut parking = parking(10);
        parking.earned(0, &packet(CUT), 0, 5);
        parking.begin(0);
        parking.begin(2);
        assert!(parking.flows.len() == 3 && parking.flows.iter().all(|flow| flow.pulls == 0));
    }
}
