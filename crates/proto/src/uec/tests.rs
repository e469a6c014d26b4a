//! What the tests of this folder share, and flows as a whole.

use super::*;
use crate::endpoint::{Cx, Endpoint, Framing};
use crate::needs::{BdpMarking, BufferNeeds, MarkingNeeds, TrimmingNeeds};
use crate::packet::{Extra, Header, Kind, Packet};
use crate::rng::{Entity, Rng};
use crate::testing::{Fate, Network, Operation, Pair, Way, Wire};
use crate::transport::Transport;
use crate::{AnyTransport, Env, Stats};
use clearway_schema::Profile;
use clearway_units::{Bytes, Rate, Span, Time};

/// The sizes of packets in the consortium's simulator.
pub(super) const FRAMING: Framing = Framing { payload_max: 4086, overhead: 64, wire_min: 64 };
/// Its base round-trip time across pods at 100 Gbps.
pub(super) const RTT: Span = Span::from_ps(14_022_720);

/// The parameters of the profile `htsim`.
pub(super) fn htsim<M: Mode>() -> M {
    let mut params = M::default();
    let Profile { values, .. } = M::PROFILES[0];
    values.iter().for_each(|(name, value)| params.set(name, *value).unwrap());
    params
}

pub(super) fn env() -> Env {
    Env::for_test(Rate::gbps(100), RTT, FRAMING)
}

pub(super) fn at(us: f64) -> Time {
    Time::ZERO + Span::from_secs_f64(us * 1e-6)
}

/// An end of a flow, with all that it is given.
pub(super) struct Alone<E> {
    pub end: E,
    pub rng: Rng,
    pub stats: Stats,
    pub now: Time,
}

impl<E: Endpoint> Alone<E> {
    pub fn new(end: E) -> Alone<E> {
        let rng = Rng::stream(1, Entity::Sender, 0);
        Alone { end, rng, stats: Stats::default(), now: Time::ZERO }
    }

    /// Calls the end with its context.
    pub fn call<T>(&mut self, call: impl FnOnce(&mut E, &mut Cx<'_>) -> T) -> T {
        let Alone { end, rng, stats, now } = self;
        call(end, &mut Cx { now: *now, rng, stats })
    }

    /// Lets a packet arrive. Returns the answers.
    pub fn hear(&mut self, packet: Packet) -> Vec<Packet> {
        self.call(|end, cx| end.handle_packet(&packet, &Extra::None, cx));
        self.control()
    }

    /// Returns the control packets that the end sends now.
    pub fn control(&mut self) -> Vec<Packet> {
        std::iter::from_fn(|| self.call(|end, cx| end.poll_control(&mut Extra::None, cx))).collect()
    }

    /// Lets the timer fire when it is due. Returns the control packets that the end sends then.
    pub fn fire(&mut self) -> Vec<Packet> {
        self.now = self.end.next_timeout();
        self.call(|end, cx| end.handle_timeout(cx));
        self.control()
    }
}

/// Runs a flow of a megabyte over this network with the parameters of a profile or none.
fn megabyte(name: &str, profile: Option<&str>, network: Network) -> Pair {
    let mut transport = AnyTransport::by_name(name).unwrap();
    if let Some(profile) = profile {
        transport.set("profile", profile).unwrap();
    }
    let mut pair = Pair::new(network);
    pair.add(&transport, [(Time::ZERO, Operation::Write(1_000_000)), (Time::ZERO, Operation::Close)]);
    pair
}

const NAMES: [&str; 3] = [UecNscc::NAME, UecRccc::NAME, Uec::NAME];

#[test]
fn ports_trim_by_the_rule_of_the_profile_and_do_not_mark_the_last_hop_of_paced_flows() {
    let needs = UecNscc::needs(&NsccParams::default());
    assert_eq!(needs.trimming, Some(TrimmingNeeds::ARRIVING));
    assert_eq!(needs.marking, Some(MarkingNeeds::Bdp(BdpMarking::DEFAULT)));
    assert!(needs.entropy && needs.buffer == Some(BufferNeeds::DEFAULT));
    assert_eq!(UecNscc::needs(&htsim()).trimming, Some(TrimmingNeeds::COIN));
    for needs in [UecRccc::needs(&RcccParams::default()), Uec::needs(&BothParams::default())] {
        assert_eq!(
            needs.marking,
            Some(MarkingNeeds::Bdp(BdpMarking { last_hop: false, ..BdpMarking::DEFAULT }))
        );
    }
    let mut untrimmed = NsccParams::default();
    untrimmed.common.trimming = false;
    assert_eq!(UecNscc::needs(&untrimmed).trimming, None);
}

#[test]
fn a_flow_ends_whichever_kind_of_packet_loses_its_first_ones() {
    let kinds = [Kind::Data, Kind::Ack, Kind::Pull, Kind::PullRequest];
    for (name, kind, profile) in NAMES.into_iter().flat_map(|name| {
        kinds.into_iter().flat_map(move |kind| [None, Some("htsim")].map(|set| (name, kind, set)))
    }) {
        for losses in [1, 70, 400] {
            // The specification doubles a timeout up to 8 s.
            let limit = Time::ZERO + Span::from_secs(24 * 3600);
            let mut pair = megabyte(name, profile, Network { limit, ..Network::default() });
            let mut left = losses;
            pair.transit.decide(move |departure| {
                let loses = departure.packet.kind() == kind && left > 0;
                left -= u32::from(loses);
                if loses { Fate::Lose } else { Fate::Pass }
            });
            pair.finish();
        }
    }
}

#[test]
fn a_flow_ends_though_a_third_of_all_packets_is_lost_in_both_directions() {
    for name in NAMES {
        for seed in 1..20 {
            let wire = Wire { loss: 0.33, jitter: Span::from_us(10), duplicate: 0.1, ..Wire::default() };
            let limit = Time::ZERO + Span::from_secs(24 * 3600);
            let network = Network { seed, limit, ..Network::of(wire) };
            megabyte(name, None, network).finish();
        }
    }
}

#[test]
fn writes_one_after_another_are_numbered_on_and_end_in_short_packets() {
    for name in NAMES {
        let mut pair = Pair::new(Network::default());
        pair.log = true;
        let writes = (0..5).map(|k| (Time::ZERO + Span::from_ms(k), Operation::Write(10_000)));
        let close = (Time::ZERO + Span::from_ms(10), Operation::Close);
        pair.add(&AnyTransport::by_name(name).unwrap(), writes.chain([close]));
        pair.finish();
        let data: Vec<_> = pair.flows[0]
            .log
            .iter()
            .filter(|logged| logged.way == Way::ToReceiver && logged.arrived)
            .filter_map(|logged| match logged.packet.header {
                Header::PulledData { psn, offset, .. } => Some((psn, offset, logged.packet.payload())),
                _ => None,
            })
            .collect();
        let messages = (0..5u64)
            .flat_map(|k| (0..7).map(move |n| (k * 10_000 + n * 1460, if n < 6 { 1460 } else { 1240 })));
        let bytes: Vec<_> = data.iter().map(|&(_, offset, payload)| (offset, payload)).collect();
        assert_eq!(bytes[..35], messages.collect::<Vec<_>>(), "{name}");
        assert!(data.is_sorted() && data.len() == 36, "the last one tells the end: {data:?}");
        let rare = pair.flows[0].sender.stats().rare();
        assert_eq!((rare.retransmits, rare.timeouts), (0, 0), "{name}");
    }
}

#[test]
fn an_idle_flow_is_as_fast_as_its_window_or_its_pulls_allow() {
    for (name, slower) in [(UecNscc::NAME, 1.0), (UecRccc::NAME, 1.02), (Uec::NAME, 1.02)] {
        let network = Network { line_rate: Rate::gbps(100), framing: FRAMING, ..Network::default() };
        let mut pair = megabyte(name, Some("htsim"), network);
        pair.finish();
        // 1,015,680 bytes on the wire at 100 Gbps, 5 us of way.
        let alone = 1_015_680.0 * 8.0 / 100e9 + 5e-6;
        let took = (pair.flows[0].delivered_at - Time::ZERO).as_secs_f64();
        assert!((0.9999..slower + 1e-4).contains(&(took / alone)), "{name}: {took} s for {alone} s");
    }
}

#[test]
fn an_idle_flow_is_pulled_as_often_as_in_the_consortium_simulator() {
    // Six links of 1 us in each direction, as one wire. Only after the flow's last byte do pulls ahead of demand come to an end.
    for (gbps, bytes, pulls) in [(100, 1_000_000, 144), (400, 10_000_000, 850)] {
        let rate = Rate::gbps(gbps);
        let wire = |bytes: u64| {
            let delay = Span::from_us(6) + rate.time_to_send(Bytes::new(bytes)) * 5;
            Wire { delay, ..Wire::default() }
        };
        let (to_receiver, to_sender) = (wire(4150), wire(64));
        let network =
            Network { line_rate: rate, framing: FRAMING, to_receiver, to_sender, ..Network::default() };
        let mut pair = Pair::new(network);
        let mut transport = AnyTransport::by_name("uec-rccc").unwrap();
        transport.set("profile", "htsim").unwrap();
        let close = Time::ZERO + Span::from_ms(1);
        pair.add(&transport, [(Time::ZERO, Operation::Write(bytes)), (close, Operation::Close)]);
        pair.run_until(close - Span::from_ps(1));
        assert_eq!(pair.agent_stats(crate::Side::Receiver).unwrap().released, pulls, "{gbps} Gbps");
        pair.finish();
    }
}

#[test]
fn the_ends_of_an_idle_flow_are_small() {
    assert!(
        size_of::<Sender>() <= 512 && size_of::<Receiver>() <= 256,
        "{} {}",
        size_of::<Sender>(),
        size_of::<Receiver>()
    );
}
