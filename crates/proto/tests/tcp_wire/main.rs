//! Both ends of TCP flows over wires that delay, drop, reorder, queue and mark.

mod anything;
mod loss_free;
mod marks;
mod recovery;

use clearway_proto::tcp::{cubic::Cubic, dctcp::Dctcp, newreno::NewReno};
use clearway_proto::testing::{Fate, Flow, Network, Operation, Pair, PortConfig, Replay, Way, Wire};
use clearway_proto::{AnyTransport, Extra, Flags, Header, Kind, Packet, Transport};
use clearway_schema::Declared;
use clearway_units::{Bytes, Rate, Span, Time};

const MSS: u64 = 1460;

/// Half a round trip of 100 us. NICs take no time, so that rounds can be counted.
fn ideal_wire() -> Wire {
    Wire { delay: Span::from_us(50), ..Wire::default() }
}

/// Makes a network with equal wires in both directions.
fn both(wire: Wire) -> Network {
    Network { instant: true, limit: Time::ZERO + Span::from_secs(24 * 3600), ..Network::of(wire) }
}

fn ideal() -> Network {
    both(ideal_wire())
}

fn params<T: Transport>(values: &[(&str, &str)]) -> T::Params {
    let mut params = T::Params::default();
    values.iter().for_each(|(name, value)| params.set(name, value).unwrap_or_else(|e| panic!("{e}")));
    params
}

fn at_us(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

/// Two hosts with a flow for each list of operations.
fn world<T: Transport>(
    values: &[(&str, &str)],
    network: Network,
    seed: u64,
    flows: &[Vec<(Time, Operation)>],
) -> Pair
where
    T::Sender: 'static,
    T::Receiver: 'static,
    T::Agent: 'static,
{
    let params = params::<T>(values);
    let mut pair = Pair::new(Network { seed, ..network });
    (pair.log, pair.strict) = (true, true);
    for operations in flows {
        pair.add_typed::<T>(&params, operations.clone());
    }
    pair
}

fn one_write(bytes: u64) -> Vec<(Time, Operation)> {
    vec![(Time::ZERO, Operation::Write(bytes)), (Time::ZERO, Operation::Close)]
}

/// Two hosts with one flow of `bytes`, whose data packets number `drops` (from 0, in order of sending) are lost.
fn with_drops(values: &[(&str, &str)], bytes: u64, drops: &'static [usize]) -> Pair {
    let mut pair = world::<NewReno>(values, ideal(), 1, &[one_write(bytes)]);
    let mut count = 0;
    lose_if(&mut pair, move |packet| {
        count += (packet.kind() == Kind::Data) as usize;
        packet.kind() == Kind::Data && drops.contains(&(count - 1))
    });
    pair
}

/// Loses the packets to the receiver that the condition names.
fn lose_if(pair: &mut Pair, mut condition: impl FnMut(&Packet) -> bool + 'static) {
    pair.transit.decide(move |departure| match departure.way {
        Way::ToReceiver if condition(departure.packet) => Fate::Lose,
        _ => Fate::Pass,
    });
}

/// Every data packet that was sent: when, first byte, payload, flags.
fn sent(flow: &Flow) -> Vec<(Time, u64, u32, Flags)> {
    let row = |packet: &Packet| (packet.range().start, packet.payload(), packet.flags);
    flow.data_sent()
        .map(|it| (it.at, row(&it.packet)))
        .map(|(at, (seq, len, flags))| (at, seq, len, flags))
        .collect()
}
