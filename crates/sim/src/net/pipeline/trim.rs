//! Trimming: a queue of data that finds no room for a packet cuts one to its header, which joins the class of headers.

use super::admit::{admit, admit_if};
use super::deferred::wake_for_queues;
use super::rules::{AdmissionRule, Admitted, leave_memory};
use super::vote::turn_back;
use crate::fast_paths::tests_forbid;
use crate::ids::{ClassId, Id, PacketId};
use crate::net::admission::Length;
use crate::net::data_queue::DataQueue;
use crate::net::drop_reason::DropReason;
use crate::net::drops::drop_packet;
use crate::net::memory::Memory;
use crate::net::network::Network;
use crate::net::pause;
use crate::net::tap;
use clearway_proto::Flags;
use clearway_proto::port::Trimmer;
use clearway_topology::PortId;

/// What became of a packet that had no room at a port that trims.
#[derive(Default)]
pub struct Trimmed {
    /// Set if nothing is left to do: it joined its queue after all, or it, or another one in its place, was cut or goes back.
    pub is_settled: bool,
    /// The packets that go back to their senders, each with the port by which it goes.
    pub back: [Option<(PortId, PacketId)>; 2],
}

impl Trimmed {
    fn settled(back: [Option<(PortId, PacketId)>; 2]) -> Trimmed {
        Trimmed { is_settled: true, back }
    }
}

/// A packet came to a port that trims, and found no room by a first count.
#[inline(never)]
pub fn make_room<M: AdmissionRule>(net: &mut Network, port: PortId, id: PacketId) -> Trimmed {
    let (now, class) = (net.agenda.now, net.slab[id].class);
    if net.trims.at(port).headers_of(class).is_none() {
        let back = send_back(net, port, id);
        return Trimmed { is_settled: back.is_some(), back: [back, None] };
    }
    let out = &net.ports[port];
    let DataQueue { queue, admission } = net.queues.nth(out.queues, class.index());
    let (waiting, newest) = (Length { packets: queue.packets(), bytes: queue.bytes() }, queue.last());
    let wire = net.slab[id].packet.wire.into();
    // The queues of NDP's simulator hold the packet that is being sent, too.
    let being_sent = admission.last_sent(out.counted.packets).filter(|_| out.busy_until > now);
    if net.trims.at(port).fits(class, waiting, wire, being_sent) && join_by_force::<M>(net, port, id) {
        return Trimmed::settled([None; 2]);
    }
    if !Trimmer::cuts(&net.slab[id].packet) {
        return Trimmed::default();
    }
    let newest = newest.filter(|&newest| Trimmer::cuts(&net.slab[newest].packet));
    let mut back = None;
    if net.trims.at(port).trimmer.newest_makes_room()
        && let Some(newest) = newest
    {
        if exchange_newest(net, port, newest, id) {
            return Trimmed::settled([cut::<M>(net, port, id), None]);
        }
        take_newest(net, port, class, newest);
        // It takes the other's place, also if it is larger: the queue may exceed its limit by the difference.
        let has_joined = join_by_force::<M>(net, port, id);
        back = cut::<M>(net, port, newest);
        if has_joined {
            return Trimmed::settled([back, None]);
        }
    }
    Trimmed::settled([back, cut::<M>(net, port, id)])
}

/// Puts a packet into its queue, whatever the first count of that says. Returns false if the memory has no room for it.
fn join_by_force<M: AdmissionRule>(net: &mut Network, port: PortId, id: PacketId) -> bool {
    let admitted = admit_if::<M>(net, port, id, |_, _| true);
    tell(net, admitted)
}

/// Tells the port that must be told by flow control. Returns whether the packet had room.
fn tell(net: &mut Network, admitted: Admitted) -> bool {
    if let Some(from) = admitted.stops {
        pause::tell(net, from);
    }
    admitted.has_room
}

/// Lets a packet take the place of the newest one of its class, which is found under the number of the other from then on: with no
/// look at the packets before it. Returns false, and does nothing, where memory might have no room for the packet, where the
/// entries of the two are not of one kind, or where a trace tells packets by their numbers.
fn exchange_newest(net: &mut Network, port: PortId, newest: PacketId, id: PacketId) -> bool {
    let has_extra = |id: PacketId| net.slab[id].packet.flags.has(Flags::EXTRA);
    let out = &net.ports[port];
    if !matches!(net.memory, Memory::Apart)
        || out.special.is_traced
        || has_extra(newest)
        || has_extra(id)
        || tests_forbid()
    {
        return false;
    }
    let (now, class) = (net.agenda.now, net.slab[id].class);
    let free = out.busy_until.max(now);
    net.queues.nth_mut(out.queues, class.index()).exchange_last(&mut net.slab, id, now);
    wake_for_queues(net, port, free);
    // One comes to the queues of the port once more.
    net.came_besides.cover(port, 0);
    net.came_besides[port] += 1;
    true
}

/// Takes the newest packet out of a queue of data, and out of the memory of the switch.
fn take_newest(net: &mut Network, port: PortId, class: ClassId, newest: PacketId) {
    let now = net.agenda.now;
    let out = &mut net.ports[port];
    let queue = net.queues.nth_mut(out.queues, class.index());
    let taken = queue.queue.pop_last(&mut net.slab, now);
    debug_assert_eq!(taken, Some(newest));
    out.waiting -= 1;
    leave_memory(net, port, newest);
    // It comes to the queues of the port once more.
    net.came_besides.cover(port, 0);
    net.came_besides[port] += 1;
}

/// Cuts a packet that waits nowhere to its header, which joins the class of headers. Where that has no room, it is dropped, or
/// goes back: then the port by which it goes is returned. Where nothing is left of packets, it is dropped itself.
fn cut<M: AdmissionRule>(net: &mut Network, port: PortId, id: PacketId) -> Option<(PortId, PacketId)> {
    if net.trims.at(port).trimmer.drops() {
        let class = net.slab[id].class;
        net.queues.nth_mut(net.ports[port].queues, class.index()).queue.turn_away();
        drop_packet(net, port, id, DropReason::Buffer);
        return None;
    }
    net.books.trimmed.add(&net.slab[id].packet);
    let trims = net.trims.at(port);
    let routed = &mut net.slab[id];
    let headers = trims.headers_of(routed.class).expect("the class trims");
    trims.trimmer.cut(&mut routed.packet);
    routed.class = headers;
    if net.ports[port].special.is_traced {
        tap::trimmed(net, port, id);
    }
    let admitted = admit::<M>(net, port, id);
    if tell(net, admitted) {
        return None;
    }
    let back = send_back(net, port, id);
    if back.is_none() {
        net.queues.nth_mut(net.ports[port].queues, headers.index()).queue.turn_away();
        drop_packet(net, port, id, DropReason::Buffer);
    }
    back
}

/// A packet has no room in a queue that does not trim. Returns the port by which it goes back to its sender, if it is a header that
/// does.
fn send_back(net: &mut Network, port: PortId, id: PacketId) -> Option<(PortId, PacketId)> {
    let packet = net.slab[id].packet;
    if !net.trims.at(port).trimmer.sends_back(&packet) {
        return None;
    }
    let by = turn_back(net, port, id)?;
    net.came_besides.cover(port, 0);
    net.came_besides[port] += 1;
    Some((by, id))
}

#[cfg(test)]
mod tests {
    use super::super::arrival::hand_aside;
    use super::*;
    use crate::model::{Amount, Class, LastHop, Marking, Model, SharedBuffer, Threshold, Trim};
    use crate::net::slab::RoutedPacket;
    use clearway_proto::port::{MarkAt, TrimConfig, TrimVictim};
    use clearway_proto::{AnyTransport, Header, Sees};
    use clearway_topology::{LeafSpine, NodeId, Star};
    use clearway_units::{Bytes, Span, Time};

    /// The limit of the queue of data.
    const LIMIT: Amount = Amount { bytes: Bytes::new(4_000), packets: u32::MAX };

    /// A model of two leaves whose queues of data trim, and hold so much; and of two classes, the second one for headers.
    fn model(victim: TrimVictim, headers: u32) -> Model {
        let topology = LeafSpine { leaves: 2, hosts_per_leaf: 2, ..LeafSpine::default() }.build().unwrap();
        let mut model = crate::ports::network_for(topology, []).unwrap();
        let trim = Trim { config: TrimConfig { to: 84, victim, returns: false, drops: false }, headers: 1 };
        let data = Class { limit: LIMIT, trim: Some(trim), ..Class::new("data", 1) };
        let limit = Amount { packets: headers, ..Amount::UNLIMITED };
        model.switch.classes = vec![data, Class { limit, ..Class::new("acks", 0) }];
        model.host.port.classes = vec![Class::new("data", 1), Class::new("acks", 0)];
        model
    }

    /// The port of a leaf to its first host, or to a spine.
    fn port(model: &Model, is_last_hop: bool) -> PortId {
        let leaf = model.topology.node("leaf0").unwrap();
        let ports = model.topology.ports_of(leaf);
        let leads = |port: &&PortId| model.topology.is_host(model.topology.port(**port).to) == is_last_hop;
        *ports.iter().find(leads).unwrap()
    }

    /// Hands a packet of data of 1,000 bytes to a port.
    fn hand(net: &mut Network, port: PortId) -> PacketId {
        let id = net.slab.insert(RoutedPacket::for_test(1_000));
        hand_aside(net, port, id);
        id
    }

    /// The lengths of both queues of a port, in packets.
    fn lengths(net: &Network, port: PortId) -> [u32; 2] {
        [0, 1].map(|class| net.queues.nth(net.ports[port].queues, class).queue.packets())
    }

    #[test]
    fn a_queue_holds_its_limit_with_the_packet_that_is_being_sent_and_cuts_the_next() {
        let model = model(TrimVictim::Arriving, 100);
        let (mut net, port) = (Network::new(&model), port(&model, false));
        let ids = [(); 5].map(|()| hand(&mut net, port));
        assert_eq!(lengths(&net, port), [3, 1], "one is on the wire, three wait, and the fifth was cut");
        let cut = &net.slab[ids[4]];
        assert!(cut.packet.flags.has(Flags::TRIMMED) && !cut.packet.flags.has(Flags::LAST_HOP));
        assert_eq!((cut.packet.wire, cut.packet.payload(), cut.class.index()), (84, 0, 1));
        assert_eq!((net.look(port).trims(), net.books.trimmed.packets), (1, 1));
        // Once the last bit of the first has left, there is room for one more, though none has begun since.
        net.agenda.now = net.ports[port].busy_until;
        hand(&mut net, port);
        assert_eq!(lengths(&net, port), [4, 1]);
    }

    #[test]
    fn a_port_with_a_mechanism_that_sees_no_packet_depart_counts_what_is_being_sent_too() {
        let pacc = AnyTransport::by_name("pacc").unwrap();
        let mechanism = crate::ports::network_for(Star::default().build().unwrap(), [&pacc]).unwrap();
        let mut model = model(TrimVictim::Arriving, 100);
        model.switch.mechanism = mechanism.switch.mechanism;
        let (mut net, port) = (Network::new(&model), port(&model, false));
        let special = &net.ports[port].special;
        assert!(special.mechanism.is_some() && special.sees_departures == Sees::Nothing);
        for _ in 0..5 {
            hand(&mut net, port);
        }
        assert_eq!(lengths(&net, port), [3, 1], "one is on the wire, three wait, and the fifth was cut");
    }

    #[test]
    fn the_coin_cuts_the_packet_that_arrives_or_the_newest_that_waits_whose_place_it_takes() {
        let model = model(TrimVictim::Coin, 10_000);
        let (mut net, port) = (Network::new(&model), port(&model, false));
        for _ in 0..4 {
            hand(&mut net, port);
        }
        // Packets are told by their offsets, since one that takes the place of another goes on under its number.
        let newest = |net: &Network, class| {
            let queue = &net.queues.nth(net.ports[port].queues, class).queue;
            net.slab[queue.last().unwrap()].packet.header.offset().unwrap()
        };
        let mut newest_lost = 0;
        for number in 1..=200 {
            let before = newest(&net, 0);
            let mut routed = RoutedPacket::for_test(1_000);
            routed.packet.header = Header::data(number);
            let id = net.slab.insert(routed);
            hand_aside(&mut net, port, id);
            let (waits, was_cut) = (newest(&net, 0), newest(&net, 1));
            assert!(
                [(number, before), (before, number)].contains(&(waits, was_cut)),
                "one of the two is cut"
            );
            newest_lost += u32::from(was_cut == before);
            assert_eq!(lengths(&net, port)[0], 3);
        }
        assert!((75..125).contains(&newest_lost), "{newest_lost} of 200");
        assert_eq!(
            (lengths(&net, port)[1], net.look(port).trims(), net.ports[port].waiting),
            (200, 200, 203)
        );
    }

    #[test]
    fn a_header_without_room_is_dropped_and_counts_as_one_that_was_cut() {
        let model = model(TrimVictim::Arriving, 2);
        let (mut net, port) = (Network::new(&model), port(&model, false));
        for _ in 0..9 {
            hand(&mut net, port);
        }
        assert_eq!((lengths(&net, port), net.look(port).trims()), ([3, 2], 5));
        assert_eq!(net.look(port).drops()[DropReason::Buffer], 3);
        assert_eq!((net.books.trimmed.packets, net.books.dropped[DropReason::Buffer].packets), (5, 3));
    }

    #[test]
    fn a_packet_that_is_cut_by_the_switch_of_its_host_says_so_and_there_queues_may_be_longer() {
        let mut model = model(TrimVictim::Coin, 100);
        let limit = LIMIT.times(1.5);
        model.switch.classes[0].last_hop = Some(LastHop { limit, marks: false });
        let mut net = Network::new(&model);
        for (is_last_hop, waiting) in [(false, 3), (true, 5)] {
            let port = port(&model, is_last_hop);
            let ids = [(); 8].map(|()| hand(&mut net, port));
            let cut =
                || ids.iter().map(|&id| net.slab[id].packet.flags).filter(|flags| flags.has(Flags::TRIMMED));
            assert_eq!((lengths(&net, port)[0], cut().count()), (waiting, 7 - waiting as usize));
            assert!(cut().all(|flags| flags.has(Flags::LAST_HOP) == is_last_hop));
        }
    }

    #[test]
    fn packets_are_marked_as_they_leave_by_the_data_that_they_leave_behind_but_not_at_the_last_hop() {
        let mut model = model(TrimVictim::Arriving, 100);
        let threshold = Threshold::Between(Bytes::new(1_000), Bytes::new(1_000));
        model.switch.classes[0].marking = Some(Marking { threshold, at: MarkAt::Dequeue });
        model.switch.classes[0].last_hop = Some(LastHop { limit: LIMIT, marks: false });
        for (is_last_hop, marked) in [(false, [false, true, false, false]), (true, [false; 4])] {
            let (mut net, port) = (Network::new(&model), port(&model, is_last_hop));
            let ids = [(); 4].map(|()| {
                let mut routed = RoutedPacket::for_test(1_000);
                routed.packet.flags.set(Flags::ECN_CAPABLE);
                let id = net.slab.insert(routed);
                hand_aside(&mut net, port, id);
                id
            });
            for _ in 0..3 {
                net.agenda.now = net.ports[port].busy_until;
                super::super::use_switch_port(&mut net, port);
            }
            assert_eq!(lengths(&net, port), [0, 0]);
            // The first found the port idle, the second leaves two behind, the third one, and that is the threshold.
            assert_eq!(ids.map(|id| net.slab[id].packet.flags.has(Flags::ECN_CE)), marked);
        }
    }

    #[test]
    fn each_packet_that_comes_counts_once_and_the_newest_that_is_cut_once_more() {
        let with_way_back = |net: &mut Network, model: &Model, port: PortId| {
            // The way back of the data of the flow leads over the reverse of the port, and on to its sender.
            let host = model.topology.ports_of(NodeId(0))[0].reverse();
            let back = net.paths.add(&[port.reverse(), host]);
            net.notified.open(Id::from_index(0), Some((back, ClassId::FIRST)));
            host
        };
        for (victim, returns, memory) in [
            (TrimVictim::Arriving, false, None),
            (TrimVictim::Arriving, true, None),
            (TrimVictim::Coin, false, None),
            (TrimVictim::Coin, true, None),
            (TrimVictim::Coin, false, Some(100_000)),
            (TrimVictim::Coin, true, Some(100_000)),
        ] {
            let mut model = model(victim, 4);
            model.switch.classes[0].trim.as_mut().unwrap().config.returns = returns;
            model.switch.shared = memory.map(|size| SharedBuffer { size: Bytes::new(size), alpha: 1.0 });
            let (mut net, port) = (Network::new(&model), port(&model, false));
            let by = with_way_back(&mut net, &model, port);
            let mut newest_cut = 0;
            for number in 1..=40 {
                let mut routed = RoutedPacket::for_test(1_000);
                routed.packet.header = Header::data(number);
                let id = net.slab.insert(routed);
                hand_aside(&mut net, port, id);
                let newest = net.queues.nth(net.ports[port].queues, 0).queue.last();
                let waits = newest.and_then(|newest| net.slab[newest].packet.header.offset());
                newest_cut += u64::from(number > 4 && waits == Some(number));
            }
            let case = format!("{victim:?} {returns} {memory:?}: {newest_cut} of those that waited were cut");
            assert_eq!(newest_cut > 0, victim == TrimVictim::Coin, "{case}");
            assert_eq!(net.look(port).came(), 40 + newest_cut, "{case}");
            // Of 36 headers the queue holds four, and the others go back or are lost.
            let lost = net.look(port).drops()[DropReason::Buffer];
            assert_eq!((lost, net.look(by).came()), if returns { (0, 32) } else { (32, 0) }, "{case}");
        }
    }

    #[test]
    fn headers_go_ahead_of_data_and_only_what_is_data_counts_against_its_limit() {
        let model = model(TrimVictim::Arriving, 100);
        let (mut net, port) = (Network::new(&model), port(&model, false));
        let ids = [(); 6].map(|()| hand(&mut net, port));
        let out = &net.ports[port];
        net.agenda.now = out.busy_until;
        super::super::use_switch_port(&mut net, port);
        assert_eq!(lengths(&net, port), [3, 1], "a header left first");
        hand(&mut net, port);
        assert_eq!(lengths(&net, port), [4, 1], "it is being sent, and is no data");
        hand(&mut net, port);
        assert_eq!(lengths(&net, port), [4, 2]);
        let headers = ids.iter().filter(|&&id| net.slab[id].packet.flags.has(Flags::TRIMMED)).count();
        assert_eq!(headers, 2);
    }

    #[test]
    fn a_packet_that_is_cut_gives_the_memory_of_its_switch_back_but_for_its_header() {
        let mut model = model(TrimVictim::Coin, 100);
        model.switch.shared = Some(SharedBuffer { size: Bytes::new(100_000), alpha: 1.0 });
        let (mut net, port) = (Network::new(&model), port(&model, false));
        let ids = [(); 40].map(|()| hand(&mut net, port));
        let cut = ids.iter().filter(|&&id| net.slab[id].packet.flags.has(Flags::TRIMMED)).count();
        assert_eq!((cut, lengths(&net, port)), (36, [3, 36]));
        // What waits is all that the switch holds: when it has left, the memory is as it was.
        let mut now = Time::ZERO;
        while net.ports[port].waiting > 0 {
            now = net.ports[port].busy_until + Span::from_ns(1);
            net.agenda.now = now;
            super::super::use_switch_port(&mut net, port);
        }
        assert!(now > Time::ZERO);
        let Memory::Shared(memory) = &mut net.memory else { panic!("it is shared") };
        let owner = net.ports[port].owner;
        assert!(memory.admit(owner, 0, 100_000), "all of it is free again");
    }
}
