//! Recordings of a flow between two hosts.

mod pac;

use super::entry::{Counts, EntryWriter};
use super::*;
use crate::datapath::{
    Actions, Bulk, Datapath, Direction, Frame, HeldId, Link, Order, Passed, Released, Small, Stamp, Verdict,
};
use crate::host::{Host, HostConfig, HostParams};
use crate::wire::{Carrier, Dscp, Ecn, FlowKey, MacAddr, SCHEDULED, Segment, TcpFlags, Timestamps};
use clearway_schema::Declared;
use clearway_units::{Rate, Span, Time};
use proptest::prelude::*;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const MACS: [MacAddr; 2] = [MacAddr([2, 0, 0, 0, 0, 1]), MacAddr([2, 0, 0, 0, 0, 2])];
const FLOW: FlowKey = FlowKey {
    source: IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)),
    destination: IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)),
    source_port: 40_000,
    destination_port: 5201,
};
/// The time that a packet takes from host to host.
const DELAY: Span = Span::from_us(150);

/// The same flow over IPv6.
fn flow6() -> FlowKey {
    let [source, destination] = [1, 2].map(|last| Ipv6Addr::new(0xfd00, 0, 0, 0, 0xa, 0xb, 0xc, last).into());
    FlowKey { source, destination, ..FLOW }
}

fn header(node: usize, transport: &str) -> Header {
    let transport = HostConfig::transport(transport).unwrap();
    let params = HostParams::default();
    let config = HostConfig {
        kernel_path: false,
        bulk_path: false,
        credit_path: false,
        address: MACS[node],
        rate: Rate::mbps(100),
        mtu: 1500,
        carrier: Carrier::Ethernet,
        transport,
        params,
    };
    Header { config, seed: 0xfedc_ba98_7654_3210 + node as u64 }
}

fn segment(flow: FlowKey, flags: u8, payload: u16) -> Segment {
    Segment {
        flow,
        payload,
        ip_len: payload + 40,
        id: 0,
        has_place: true,
        dscp: Dscp(0),
        ecn: Ecn::NotCapable,
        flags: TcpFlags(flags),
        ecn_echo: false,
        seq: 1,
        ack: 1,
        window: 500,
        timestamps: None,
    }
}

/// Something that reaches a host.
enum Arrival {
    Frame(Frame),
    Segment(Segment),
}

/// Two hosts that record, and a flow of so many packets between them.
struct Exchange {
    hosts: [Recorder<Host, Vec<u8>>; 2],
    now: Time,
    /// Arrivals in order of time: the time, a number, the host.
    pending: BinaryHeap<Reverse<(Time, usize, usize)>>,
    arrivals: Vec<Option<Arrival>>,
    flow: FlowKey,
    packets: u32,
    held: u32,
    delivered: u32,
}

impl Exchange {
    fn run(transport: &str, packets: u32) -> Exchange {
        Exchange::of(FLOW, transport, packets)
    }

    fn of(flow: FlowKey, transport: &str, packets: u32) -> Exchange {
        let hosts = [0, 1].map(|node| {
            let header = header(node, transport);
            Recorder::new(header.host().unwrap(), &header.into(), Vec::new())
        });
        let (pending, arrivals) = (BinaryHeap::new(), Vec::new());
        let mut exchange =
            Exchange { hosts, now: Time::ZERO, pending, arrivals, flow, packets, held: 0, delivered: 0 };
        exchange.see(0, Direction::Outgoing, segment(flow, 2, 0));
        exchange.send(0, Arrival::Segment(segment(flow, 2, 0)), DELAY);
        while exchange.now < Time::ZERO + Span::from_ms(500) {
            exchange.step();
        }
        exchange.hosts.iter_mut().for_each(Recorder::flush);
        exchange
    }

    /// The kernel of the sender hands over what it has, four packets at a time.
    fn offer(&mut self) {
        while self.held < self.packets.min(self.delivered + 4) {
            let id = HeldId(self.held);
            self.held += 1;
            let mut actions = Actions::default();
            self.hosts[0].handle_held(id, &segment(self.flow, 16, 1448), self.now, &mut actions);
            self.carry_out(0, actions);
        }
    }

    fn step(&mut self) {
        let timers = [0, 1].map(|node| self.hosts[node].next_timeout());
        let arrival = self.pending.peek().map_or(Time::MAX, |Reverse((at, ..))| *at);
        let timer = timers[0].min(timers[1]);
        if timer < arrival {
            // A timer of a real host is late.
            self.now = self.now.max(timer) + Span::from_us(7);
            let node = usize::from(timers[1] < timers[0]);
            let mut actions = Actions::default();
            self.hosts[node].handle_timeout(self.now, &mut actions);
            self.carry_out(node, actions);
            return;
        }
        let Some(Reverse((at, number, node))) = self.pending.pop() else {
            self.now = Time::MAX;
            return;
        };
        self.now = self.now.max(at);
        match self.arrivals[number].take().unwrap() {
            Arrival::Frame(frame) => {
                let mut actions = Actions::default();
                self.hosts[node].handle_frame(&frame, self.now, &mut actions);
                self.carry_out(node, actions);
            }
            Arrival::Segment(segment) => {
                self.see(node, Direction::Incoming, segment);
                if segment.flags.syn() && node == 1 {
                    let answer = self::segment(self.flow.reversed(), 18, 0);
                    self.see(1, Direction::Outgoing, answer);
                    self.send(1, Arrival::Segment(answer), DELAY);
                } else if segment.flags.syn() {
                    self.offer();
                } else {
                    self.delivered += 1;
                    self.offer();
                }
            }
        }
    }

    fn see(&mut self, node: usize, direction: Direction, segment: Segment) {
        let link = Link { local: MACS[node], peer: MACS[1 - node] };
        let mut actions = Actions::default();
        self.hosts[node].handle_segment(direction, &segment, link, self.now, &mut actions);
        self.carry_out(node, actions);
    }

    fn send(&mut self, from: usize, arrival: Arrival, delay: Span) {
        self.pending.push(Reverse((self.now + delay, self.arrivals.len(), 1 - from)));
        self.arrivals.push(Some(arrival));
    }

    fn carry_out(&mut self, node: usize, actions: Actions) {
        for frame in actions.frames {
            self.send(node, Arrival::Frame(frame), DELAY);
        }
        for (_, verdict) in actions.verdicts {
            let plain = segment(self.flow, 16, 1448);
            let sent = match verdict {
                Verdict::Stamped(Stamp { id, .. }) => Segment { id, dscp: SCHEDULED, ..plain },
                _ => plain,
            };
            // A full frame takes 123 us at 100 Mbit/s.
            self.send(node, Arrival::Segment(sent), DELAY + Span::from_us(123));
        }
    }

    fn recording(&self, node: usize) -> Vec<u8> {
        self.hosts[node].file().unwrap().clone()
    }
}

#[test]
fn a_recorded_flow_replayed_in_a_new_host_gives_the_same_actions() {
    let flows = |transport| [FLOW, flow6()].map(|flow| (transport, flow));
    for (transport, flow) in crate::host::TRANSPORTS.into_iter().flat_map(flows) {
        let exchange = Exchange::of(flow, transport, 300);
        assert_eq!(exchange.delivered, 300, "{transport} {flow}");
        for node in 0..2 {
            let bytes = exchange.recording(node);
            let summary = replay(Recording::open(bytes.as_slice()).unwrap()).unwrap().unwrap();
            assert!(!summary.is_cut_off);
            assert_eq!(summary.verdicts, if node == 0 { 300 } else { 0 });
            assert!(summary.frames >= if node == 0 { 2 } else { 300 }, "{transport}: {summary:?}");
        }
    }
}

#[test]
fn a_recording_in_which_something_was_changed_is_no_longer_what_the_host_does() {
    let bytes = Exchange::run("expresspass", 50).recording(1);
    let mut changed = 0;
    for at in (0..bytes.len()).step_by(97) {
        let mut copy = bytes.clone();
        copy[at] ^= 0x40;
        let result = Recording::open(copy.as_slice()).and_then(replay);
        changed += u32::from(!matches!(result, Ok(Ok(_))));
    }
    // Some fields, such as the TCP window, mean nothing to a host.
    assert!(changed as usize > bytes.len() / 97 / 2, "{changed} of {}", bytes.len() / 97);
}

#[test]
fn a_recording_that_ends_within_an_entry_is_replayed_up_to_there() {
    let bytes = Exchange::run("expresspass", 20).recording(1);
    let whole = replay(Recording::open(bytes.as_slice()).unwrap()).unwrap().unwrap();
    let cut = replay(Recording::open(&bytes[..bytes.len() - 1]).unwrap()).unwrap().unwrap();
    assert!(cut.is_cut_off);
    assert_eq!(cut.inputs, whole.inputs - 1);
}

#[test]
fn a_file_that_is_no_recording_is_refused_with_what_is_wrong() {
    let message = |bytes: &[u8]| Recording::open(bytes).map(|_| ()).unwrap_err().to_string();
    assert!(message(b"pcap").contains("it does not begin with the line \"clearwayd recording 6\""));
    let mut bytes = Start::from(header(0, "ec4")).to_bytes();
    let at = bytes.windows(5).position(|window| window == b"\"ec4\"").unwrap();
    bytes[at..at + 5].copy_from_slice(b"\"ec5\"");
    assert!(message(&bytes).contains("\"ec5\" is no transport of hosts"), "{}", message(&bytes));
}

#[test]
fn the_header_keeps_every_setting() {
    let mut header = header(0, "ec4");
    header.config.transport.set("target_loss", "0.123456789").unwrap();
    header.config.params.hold_max = Span::from_ps(1_234_567_890);
    let start = Start::from(header.clone());
    let Start::Host(read) = Recording::open(start.to_bytes().as_slice()).unwrap().start().clone() else {
        panic!("a host was recorded");
    };
    assert_eq!(read.seed, header.seed);
    assert_eq!((read.config.address, read.config.rate, read.config.mtu), (MACS[0], Rate::mbps(100), 1500));
    assert_eq!(read.config.transport.write(), header.config.transport.write());
    assert_eq!(read.config.params.write(), header.config.params.write());
}

prop_compose! {
    fn any_segment()(
        [source, destination] in any::<[u128; 2]>(), is_ipv6 in any::<bool>(),
        [seq, ack, value, echo] in any::<[u32; 4]>(),
        [source_port, destination_port, payload, ip_len, id, window] in any::<[u16; 6]>(),
        [traffic_class, flags] in any::<[u8; 2]>(),
        [has_place, has_timestamps] in any::<[bool; 2]>(),
    ) -> Segment {
        let [source, destination] = [source, destination].map(|address| match is_ipv6 {
            false => IpAddr::V4(Ipv4Addr::from(address as u32)),
            true => IpAddr::V6(Ipv6Addr::from(address)),
        });
        Segment {
            flow: FlowKey { source, destination, source_port, destination_port },
            payload, ip_len, id, has_place,
            dscp: Dscp(traffic_class >> 2),
            ecn: Ecn::of(traffic_class),
            flags: TcpFlags(flags),
            ecn_echo: TcpFlags(flags).ecn_echo(),
            seq, ack, window,
            timestamps: has_timestamps.then_some(Timestamps { value, echo }),
        }
    }
}

proptest! {
    #[test]
    fn every_entry_is_read_as_it_was_written(
        segment in any_segment(),
        frame in prop::collection::vec(any::<u8>(), 0..300),
        gaps: [u64; 6],
        passed: ([u64; 3], bool),
        [session, keep, kept] in any::<[u32; 3]>(),
        [cookie, highest, bits, credits, replayed] in any::<[u64; 5]>(),
        small in (any::<[u64; 3]>(), any::<bool>()),
        orders in prop::collection::vec((any::<bool>(), any::<Option<bool>>()), 0..3),
        allowances in prop::collection::vec((any::<bool>(), any::<i64>()), 0..3),
        verdicts in prop::collection::vec((any::<u32>(), any::<Option<(u16, bool)>>()), 0..4),
    ) {
        let times: Vec<Time> = gaps.iter().scan(Time::ZERO, |at, gap| {
            *at = at.saturating_add(Span::from_ps(gap / 8));
            Some(*at)
        }).collect();
        let mut actions = Actions::default();
        for (id, stamp) in verdicts {
            let verdict = stamp.map_or(Verdict::Drop, |(id, ecn)| Verdict::Stamped(Stamp { id, ecn }));
            actions.verdicts.push((HeldId(id), verdict));
        }
        let [source, destination] = [FLOW.source, flow6().destination];
        let host = |six: bool| if six { destination } else { source };
        actions.allowances = allowances.into_iter().map(|(six, bytes)| (host(six), bytes)).collect();
        let flow = |six: bool| if six { flow6() } else { FLOW };
        actions.orders = orders
            .into_iter()
            .map(|(six, begins)| match begins {
                None if six && bits & 1 == 1 => Order::Ask(flow(six)),
                None if bits & 4 == 4 => Order::Take(host(six)),
                None if bits & 8 == 8 => Order::Leave(host(six)),
                None => Order::End(flow(six)),
                Some(ecn) => {
                    let (flow, peer, seen) = (flow(six), MACS[1], bits);
                    let is_small = !ecn && bits & 16 == 16;
                    Order::Begin(Bulk { flow, is_small, session, cookie, peer, ecn, keep, highest, seen })
                }
            })
            .collect();
        let ([packets, payload, wire], six) = passed;
        let (used, last) = (bits, Time::from_ps(cookie));
        let unsent = (bits & 2 != 0).then_some(bits as u32);
        let released = Released {
            flow: flow(six), credits, packets, payload, wire, replayed, kept, last, highest, used, unsent,
        };
        // Nothing is added as a rule.
        let added = if bits & 32 == 32 { highest } else { 0 };
        let passed = Passed { to: host(six), packets, payload, wire, added };
        let ([packets, payload, wire], six) = small;
        let small = Small { flow: flow(six), packets, payload, wire };
        let mut writer = EntryWriter::default();
        let link = Link { local: MACS[0], peer: MACS[1] };
        writer.frame(&frame, times[0]);
        writer.actions(&actions, Counts::default());
        writer.segment(Direction::Outgoing, &segment, link, times[1]);
        let before = Actions {
            verdicts: actions.verdicts.iter().take(1).copied().collect(),
            allowances: actions.allowances.iter().take(1).copied().collect(),
            orders: actions.orders.iter().take(1).copied().collect(),
            ..Actions::default()
        };
        writer.actions(&actions, Counts::of(&before));
        writer.held(HeldId(7), &segment, times[2]);
        writer.actions(&Actions::default(), Counts::default());
        writer.passed(&passed, times[3]);
        writer.actions(&actions, Counts::default());
        writer.timeout(times[4]);
        writer.actions(&Actions::default(), Counts::default());
        writer.released(&released, times[5]);
        writer.actions(&actions, Counts::default());
        writer.small(&small, times[5]);
        writer.actions(&actions, Counts::default());
        let bytes = [Start::from(header(0, "ec4")).to_bytes(), writer.bytes].concat();
        let read: Vec<Entry> = Recording::open(bytes.as_slice()).unwrap().map(Result::unwrap).collect();
        prop_assert_eq!(read[..6].iter().map(|entry| entry.at).collect::<Vec<_>>(), times);
        prop_assert_eq!((&read[6].input, &read[6].actions), (&Input::Small(small), &actions));
        prop_assert_eq!(&read[0].input, &Input::Frame(frame));
        prop_assert_eq!(&read[0].actions, &actions);
        prop_assert_eq!(&read[1].input, &Input::Segment(Direction::Outgoing, segment, link));
        prop_assert_eq!(&read[1].actions.verdicts[..], actions.verdicts.get(1..).unwrap_or_default());
        prop_assert_eq!(&read[2].input, &Input::Held(HeldId(7), segment));
        let allowances = actions.allowances.get(1..).unwrap_or_default();
        prop_assert_eq!(&read[1].actions.allowances[..], allowances);
        prop_assert_eq!(&read[1].actions.orders[..], actions.orders.get(1..).unwrap_or_default());
        prop_assert_eq!(&read[3].input, &Input::Passed(passed));
        prop_assert_eq!(&read[3].actions, &actions);
        prop_assert_eq!(&read[4].input, &Input::Timeout);
        prop_assert_eq!(&read[5].input, &Input::Released(released));
        prop_assert_eq!(&read[5].actions, &actions);
    }

    #[test]
    fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let bytes = [Start::from(header(0, "ec4")).to_bytes(), bytes].concat();
        // Whatever it says.
        let _ = Recording::open(bytes.as_slice()).and_then(replay);
    }
}
