//! The entries of a recording.

use super::bytes::{RecordError, Source, put_number};
use super::text::Has;
use crate::datapath::{
    Actions, Bulk, Direction, FRAME_LEN, Frame, HeldId, Link, Order, Passed, Released, Small, Stamp, Verdict,
};
use crate::wire::{Dscp, Ecn, FlowKey, MacAddr, Segment, TcpFlags, Timestamps, frame_len};
use clearway_units::{Span, Time};
use std::io::Read;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The largest frame, and the largest number of actions, that a recording may have.
const LENGTH_MAX: usize = 1 << 16;

/// Something that happened to a datapath.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Input {
    /// A frame with our EtherType arrived.
    Frame(Vec<u8>),
    /// A segment was seen.
    Segment(Direction, Segment, Link),
    /// The kernel holds a packet.
    Held(HeldId, Segment),
    /// Packets left in the kernel.
    Passed(Passed),
    /// Small packets that came were counted in the kernel.
    Small(Small),
    /// Bulk data of a flow left in the kernel.
    Released(Released),
    /// The timer fired.
    Timeout,
    /// All packets shall be released.
    ReleaseAll,
}

/// An input with its time, and what the datapath did.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The time of the input.
    pub at: Time,
    /// The input.
    pub input: Input,
    /// The actions.
    pub actions: Actions,
}

const FRAME: u8 = 0;
const INCOMING: u8 = 1;
const OUTGOING: u8 = 2;
const HELD: u8 = 3;
const TIMEOUT: u8 = 4;
const RELEASE_ALL: u8 = 5;
const PASSED: u8 = 6;
const RELEASED: u8 = 7;
const RELEASED_ASKED: u8 = 8;
/// As [`PASSED`], with what credits added.
const PASSED_ADDED: u8 = 9;
const SMALL: u8 = 10;

const ACCEPT: u8 = 0;
const STAMPED: u8 = 1;
const STAMPED_ECN: u8 = 2;
const DROP: u8 = 3;

const END: u8 = 0;
const BEGIN: u8 = 1;
const BEGIN_ECN: u8 = 2;
const ASK: u8 = 3;
const BEGIN_SMALL: u8 = 4;
const TAKE: u8 = 5;
const LEAVE: u8 = 6;

/// The bits of a segment that stand before its other fields.
const HAS_PLACE: u8 = 1;
const TIMESTAMPS: u8 = 2;
const IPV6: u8 = 4;

/// The numbers of actions of earlier inputs, which stand before those of the next one.
#[derive(Clone, Copy, Default)]
pub(super) struct Counts {
    verdicts: usize,
    frames: usize,
    allowances: usize,
    orders: usize,
}

impl Counts {
    pub fn of(actions: &Actions) -> Counts {
        let Actions { verdicts, frames, allowances, orders } = actions;
        Counts {
            verdicts: verdicts.len(),
            frames: frames.len(),
            allowances: allowances.len(),
            orders: orders.len(),
        }
    }
}

/// Writes entries one after the other.
#[derive(Default)]
pub(super) struct EntryWriter {
    /// The bytes of entries that are not yet taken.
    pub bytes: Vec<u8>,
    last: Time,
}

impl EntryWriter {
    /// Makes a writer that appends entries to the header of a recording.
    pub fn new(header: Vec<u8>) -> EntryWriter {
        EntryWriter { bytes: header, last: Time::ZERO }
    }

    fn begin(&mut self, kind: u8, at: Time) {
        self.bytes.push(kind);
        put_number(&mut self.bytes, at.saturating_since(self.last).as_ps());
        self.last = self.last.max(at);
    }

    pub fn frame(&mut self, frame: &[u8], at: Time) {
        self.begin(FRAME, at);
        let frame = &frame[..frame.len().min(LENGTH_MAX)];
        put_number(&mut self.bytes, frame.len() as u64);
        self.bytes.extend_from_slice(frame);
    }

    pub fn segment(&mut self, direction: Direction, segment: &Segment, link: Link, at: Time) {
        self.begin(if direction == Direction::Incoming { INCOMING } else { OUTGOING }, at);
        self.bytes.extend_from_slice(&link.local.0);
        self.bytes.extend_from_slice(&link.peer.0);
        self.put_segment(segment);
    }

    pub fn held(&mut self, id: HeldId, segment: &Segment, at: Time) {
        self.begin(HELD, at);
        self.bytes.extend_from_slice(&id.0.to_be_bytes());
        self.put_segment(segment);
    }

    pub fn passed(&mut self, passed: &Passed, at: Time) {
        let Passed { to, packets, payload, wire, added } = *passed;
        self.begin(if added > 0 { PASSED_ADDED } else { PASSED }, at);
        self.put_address(to);
        for number in [packets, payload, wire] {
            put_number(&mut self.bytes, number);
        }
        if added > 0 {
            put_number(&mut self.bytes, added);
        }
    }

    pub fn small(&mut self, small: &Small, at: Time) {
        let Small { flow, packets, payload, wire } = *small;
        self.begin(SMALL, at);
        self.put_flow(&flow);
        for number in [packets, payload, wire] {
            put_number(&mut self.bytes, number);
        }
    }

    pub fn released(&mut self, released: &Released, at: Time) {
        let Released { flow, credits, packets, payload, wire, replayed, kept, last, highest, used, unsent } =
            *released;
        self.begin(if unsent.is_some() { RELEASED_ASKED } else { RELEASED }, at);
        self.put_flow(&flow);
        for number in
            [credits, packets, payload, wire, replayed, u64::from(kept), last.as_ps(), highest, used]
        {
            put_number(&mut self.bytes, number);
        }
        if let Some(unsent) = unsent {
            put_number(&mut self.bytes, unsent.into());
        }
    }

    fn put_flow(&mut self, flow: &FlowKey) {
        self.put_address(flow.source);
        self.put_address(flow.destination);
        for port in [flow.source_port, flow.destination_port] {
            self.bytes.extend_from_slice(&port.to_be_bytes());
        }
    }

    fn put_order(&mut self, order: &Order) {
        match order {
            Order::End(flow) | Order::Ask(flow) => {
                self.bytes.push(if matches!(order, Order::End(_)) { END } else { ASK });
                self.put_flow(flow);
            }
            Order::Take(to) | Order::Leave(to) => {
                self.bytes.push(if matches!(order, Order::Take(_)) { TAKE } else { LEAVE });
                self.put_address(*to);
            }
            Order::Begin(Bulk { flow, is_small, session, cookie, peer, ecn, keep, highest, seen }) => {
                // Small packets stay as they are, so that none of their flows takes part in ECN here.
                self.bytes.push(match (is_small, ecn) {
                    (true, _) => BEGIN_SMALL,
                    (false, true) => BEGIN_ECN,
                    (false, false) => BEGIN,
                });
                self.put_flow(flow);
                self.bytes.extend_from_slice(&peer.0);
                for number in [u64::from(*session), *cookie, u64::from(*keep), *highest, *seen] {
                    put_number(&mut self.bytes, number);
                }
            }
        }
    }

    /// Writes the version of an address, and its bytes.
    fn put_address(&mut self, address: IpAddr) {
        match address {
            IpAddr::V4(address) => {
                self.bytes.push(0);
                self.bytes.extend_from_slice(&address.octets());
            }
            IpAddr::V6(address) => {
                self.bytes.push(IPV6);
                self.bytes.extend_from_slice(&address.octets());
            }
        }
    }

    pub fn timeout(&mut self, at: Time) {
        self.begin(TIMEOUT, at);
    }

    pub fn release_all(&mut self, at: Time) {
        self.begin(RELEASE_ALL, at);
    }

    /// Writes the actions that follow those `before`, which are of earlier inputs.
    pub fn actions(&mut self, actions: &Actions, before: Counts) {
        let verdicts = actions.verdicts.get(before.verdicts..).unwrap_or_default();
        put_number(&mut self.bytes, verdicts.len() as u64);
        for (id, verdict) in verdicts {
            self.bytes.extend_from_slice(&id.0.to_be_bytes());
            match verdict {
                Verdict::Accept => self.bytes.push(ACCEPT),
                Verdict::Drop => self.bytes.push(DROP),
                Verdict::Stamped(Stamp { id, ecn }) => {
                    self.bytes.push(if *ecn { STAMPED_ECN } else { STAMPED });
                    self.bytes.extend_from_slice(&id.to_be_bytes());
                }
            }
        }
        let frames = actions.frames.get(before.frames..).unwrap_or_default();
        put_number(&mut self.bytes, frames.len() as u64);
        frames.iter().for_each(|frame| self.bytes.extend_from_slice(frame));
        let allowances = actions.allowances.get(before.allowances..).unwrap_or_default();
        put_number(&mut self.bytes, allowances.len() as u64);
        for (to, bytes) in allowances {
            self.put_address(*to);
            self.bytes.extend_from_slice(&bytes.to_be_bytes());
        }
        let orders = actions.orders.get(before.orders..).unwrap_or_default();
        put_number(&mut self.bytes, orders.len() as u64);
        orders.iter().for_each(|order| self.put_order(order));
    }

    fn put_segment(&mut self, segment: &Segment) {
        // All fields are named, so that a new one is not forgotten here.
        let Segment {
            flow: FlowKey { source, destination, source_port, destination_port },
            payload,
            ip_len,
            id,
            has_place,
            dscp,
            ecn,
            flags,
            ecn_echo: _, // One of the flags.
            seq,
            ack,
            window,
            timestamps,
        } = *segment;
        let to = &mut self.bytes;
        let bit = |is_set: bool, bit: u8| if is_set { bit } else { 0 };
        to.push(
            bit(has_place, HAS_PLACE) | bit(timestamps.is_some(), TIMESTAMPS) | bit(source.is_ipv6(), IPV6),
        );
        to.extend_from_slice(&[dscp.0 << 2 | ecn as u8, flags.0]);
        for address in [source, destination] {
            match address {
                IpAddr::V4(address) => to.extend_from_slice(&address.octets()),
                IpAddr::V6(address) => to.extend_from_slice(&address.octets()),
            }
        }
        for short in [source_port, destination_port, payload, ip_len, id, window] {
            to.extend_from_slice(&short.to_be_bytes());
        }
        for word in [seq, ack] {
            to.extend_from_slice(&word.to_be_bytes());
        }
        if let Some(Timestamps { value, echo }) = timestamps {
            to.extend_from_slice(&value.to_be_bytes());
            to.extend_from_slice(&echo.to_be_bytes());
        }
    }
}

/// Reads the next entry, or returns `None` at the end of the file. Recordings of some versions lack some of the actions.
pub(super) fn read<R: Read>(
    from: &mut Source<R>,
    last: Time,
    has: Has,
) -> Result<Option<Entry>, RecordError> {
    let Some(kind) = from.next()? else { return Ok(None) };
    let at = last.saturating_add(Span::from_ps(from.number()?));
    let input = match kind {
        FRAME => Input::Frame(from.bytes(LENGTH_MAX)?),
        INCOMING | OUTGOING => {
            let direction = if kind == INCOMING { Direction::Incoming } else { Direction::Outgoing };
            let link = Link { local: MacAddr(from.array()?), peer: MacAddr(from.array()?) };
            Input::Segment(direction, read_segment(from)?, link)
        }
        HELD => Input::Held(HeldId(from.word()?), read_segment(from)?),
        TIMEOUT => Input::Timeout,
        PASSED | PASSED_ADDED => Input::Passed(Passed {
            to: read_address(from)?,
            packets: from.number()?,
            payload: from.number()?,
            wire: from.number()?,
            added: if kind == PASSED_ADDED { from.number()? } else { 0 },
        }),
        SMALL => Input::Small(Small {
            flow: read_flow(from)?,
            packets: from.number()?,
            payload: from.number()?,
            wire: from.number()?,
        }),
        RELEASED | RELEASED_ASKED => Input::Released(Released {
            flow: read_flow(from)?,
            credits: from.number()?,
            packets: from.number()?,
            payload: from.number()?,
            wire: from.number()?,
            replayed: from.number()?,
            kept: from.number()? as u32,
            last: Time::from_ps(from.number()?),
            highest: from.number()?,
            used: from.number()?,
            unsent: if kind == RELEASED_ASKED { Some(from.number()? as u32) } else { None },
        }),
        RELEASE_ALL => Input::ReleaseAll,
        _ => return Err(RecordError::Damaged("an entry is of an unknown kind")),
    };
    let mut actions = Actions::default();
    for _ in 0..from.number()? {
        let id = HeldId(from.word()?);
        let verdict = match from.byte()? {
            ACCEPT => Verdict::Accept,
            DROP => Verdict::Drop,
            kind @ (STAMPED | STAMPED_ECN) => {
                Verdict::Stamped(Stamp { id: from.short()?, ecn: kind == STAMPED_ECN })
            }
            _ => return Err(RecordError::Damaged("a verdict is of an unknown kind")),
        };
        actions.verdicts.push((id, verdict));
    }
    for _ in 0..from.number()? {
        let head: [u8; FRAME_LEN] = from.array()?;
        let mut frame = Frame::zeroes(frame_len(&head));
        let (start, rest) = frame.split_at_mut(FRAME_LEN);
        start.copy_from_slice(&head);
        from.fill(rest)?;
        actions.frames.push(frame);
    }
    for _ in 0..if has.allowances { from.number()? } else { 0 } {
        actions.allowances.push((read_address(from)?, i64::from_be_bytes(from.array()?)));
    }
    for _ in 0..if has.orders { from.number()? } else { 0 } {
        actions.orders.push(read_order(from)?);
    }
    Ok(Some(Entry { at, input, actions }))
}

fn read_flow<R: Read>(from: &mut Source<R>) -> Result<FlowKey, RecordError> {
    Ok(FlowKey {
        source: read_address(from)?,
        destination: read_address(from)?,
        source_port: from.short()?,
        destination_port: from.short()?,
    })
}

fn read_order<R: Read>(from: &mut Source<R>) -> Result<Order, RecordError> {
    let kind = from.byte()?;
    match kind {
        TAKE => return Ok(Order::Take(read_address(from)?)),
        LEAVE => return Ok(Order::Leave(read_address(from)?)),
        _ => {}
    }
    let flow = read_flow(from)?;
    Ok(match kind {
        END => Order::End(flow),
        ASK => Order::Ask(flow),
        BEGIN | BEGIN_ECN | BEGIN_SMALL => Order::Begin(Bulk {
            flow,
            is_small: kind == BEGIN_SMALL,
            ecn: kind == BEGIN_ECN,
            peer: MacAddr(from.array()?),
            session: from.number()? as u32,
            cookie: from.number()?,
            keep: from.number()? as u32,
            highest: from.number()?,
            seen: from.number()?,
        }),
        _ => return Err(RecordError::Damaged("an order is of an unknown kind")),
    })
}

fn read_address<R: Read>(from: &mut Source<R>) -> Result<IpAddr, RecordError> {
    Ok(match from.byte()? {
        0 => Ipv4Addr::from(from.array::<4>()?).into(),
        IPV6 => Ipv6Addr::from(from.array::<16>()?).into(),
        _ => return Err(RecordError::Damaged("an address is of an unknown kind")),
    })
}

fn read_segment<R: Read>(from: &mut Source<R>) -> Result<Segment, RecordError> {
    let [bits, traffic_class, flags] = from.array()?;
    let mut address = || -> Result<IpAddr, RecordError> {
        Ok(match bits & IPV6 {
            0 => Ipv4Addr::from(from.array::<4>()?).into(),
            _ => Ipv6Addr::from(from.array::<16>()?).into(),
        })
    };
    let (source, destination) = (address()?, address()?);
    let (source_port, destination_port) = (from.short()?, from.short()?);
    let (payload, ip_len, id, window) = (from.short()?, from.short()?, from.short()?, from.short()?);
    let (seq, ack) = (from.word()?, from.word()?);
    let timestamps = if bits & TIMESTAMPS != 0 {
        Some(Timestamps { value: from.word()?, echo: from.word()? })
    } else {
        None
    };
    Ok(Segment {
        flow: FlowKey { source, destination, source_port, destination_port },
        payload,
        ip_len,
        id,
        has_place: bits & HAS_PLACE != 0,
        dscp: Dscp(traffic_class >> 2),
        ecn: Ecn::of(traffic_class),
        flags: TcpFlags(flags),
        ecn_echo: TcpFlags(flags).ecn_echo(),
        seq,
        ack,
        window,
        timestamps,
    })
}
