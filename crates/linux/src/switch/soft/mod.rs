//! The switch in user space, without socket and clock: frames go in, and come out with the times at which they left.
//!
//! It does what traffic control cannot: an exact token bucket for credits, and the port mechanisms of the simulator that
//! notify senders (PACC). Its limits, markers and mechanisms are those of `proto`.
//!
//! A driver hands each frame that arrives to [`SoftSwitch::handle_frame`], and calls [`SoftSwitch::run`] at
//! [`SoftSwitch::next_timeout`]. A call that comes late changes no departure: a port continues from the time at which its
//! link became free, so its rate is exact over any time in which it had packets to send.

mod forwarding;
mod frame;
mod names;
mod port;

pub use forwarding::Forwarding;
pub use frame::{Class, mark};
pub use port::{PortBooks, PortConfig};

use crate::wire::{Carrier, Control, Kind, MacAddr, Segment};
use clearway_proto::AnyMechanismConfig;
use clearway_units::{Rate, Time};
use frame::ETHERNET_LEN;
use names::Names;
use port::SoftPort;

/// The configuration of a switch in user space.
#[derive(Clone, Debug)]
pub struct SoftConfig {
    /// The rates of the ports' links, and the Ethernet addresses of the switch at them.
    pub ports: Vec<(Rate, MacAddr)>,
    /// The queues of every port.
    pub port: PortConfig,
    /// The mechanism of every port, which sees packets arrive and may notify senders.
    pub mechanism: Option<AnyMechanismConfig>,
}

/// What became of all frames. The books balance: `received + copies + notifications = sent + dropped + queued`, where
/// `dropped` is the sum of all drops of the switch and its ports.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Books {
    /// The frames that arrived.
    pub received: u64,
    /// The additional copies of frames that went to several ports.
    pub copies: u64,
    /// The frames whose length is not that of a frame of Ethernet.
    pub malformed: u64,
    /// The frames that belong to no other port than the one by which they came.
    pub nowhere: u64,
}

/// A switch in user space. The documentation of the module says how it is driven.
#[derive(Debug)]
pub struct SoftSwitch {
    ports: Vec<SoftPort>,
    addresses: Vec<MacAddr>,
    carrier: Carrier,
    forwarding: Forwarding,
    names: Names,
    books: Books,
    /// Buffers of frames that have left, for those that come.
    free: Vec<Vec<u8>>,
    now: Time,
}

/// The longest frame that a switch takes, without check sequence: a full one with a tag of a VLAN.
pub const FRAME_MAX: usize = 1518;

impl SoftSwitch {
    /// Makes a switch without any frame.
    pub fn new(config: &SoftConfig) -> SoftSwitch {
        let ports = config.ports.iter().map(|(rate, _)| {
            SoftPort::new(
                *rate,
                &config.port,
                config.mechanism.as_ref().map(|mechanism| mechanism.build(*rate)),
            )
        });
        SoftSwitch {
            ports: ports.collect(),
            addresses: config.ports.iter().map(|(_, address)| *address).collect(),
            carrier: config.port.carrier,
            forwarding: Forwarding::default(),
            names: Names::default(),
            books: Books::default(),
            free: Vec::new(),
            now: Time::ZERO,
        }
    }

    /// Handles a frame that arrives at a port. `out` is handed each frame that has left by then: the port, the time of
    /// its last bit, and its bytes.
    pub fn handle_frame(
        &mut self,
        from: usize,
        bytes: &[u8],
        now: Time,
        out: &mut impl FnMut(usize, Time, &[u8]),
    ) {
        self.run(now, out);
        let now = self.now;
        self.books.received += 1;
        if !(ETHERNET_LEN..=FRAME_MAX).contains(&bytes.len()) || from >= self.ports.len() {
            self.books.malformed += 1;
            return;
        }
        let mac = |at: usize| bytes[at..].first_chunk().map_or(MacAddr::default(), |mac| MacAddr(*mac));
        let (to, source) = (mac(0), mac(6));
        self.forwarding.learn(source, from, now);
        let class = Class::of(bytes, self.carrier);
        let segment = frame::is_ip(bytes).then(|| Segment::parse(&bytes[ETHERNET_LEN..]).ok()).flatten();
        let name = match &segment {
            Some(segment) if self.ports.iter().any(SoftPort::notifies) && segment.payload > 0 => {
                Some(self.names.name(segment.flow, source))
            }
            _ => None,
        };
        let mut copies = 0;
        match self.forwarding.find(to, now) {
            Some(port) if port == from => {}
            Some(port) => {
                copies = 1;
                self.enqueue(port, bytes, class, segment.as_ref(), name);
            }
            None => {
                for port in (0..self.ports.len()).filter(|&port| port != from) {
                    copies += 1;
                    self.enqueue(port, bytes, class, segment.as_ref(), name);
                }
            }
        }
        match copies {
            0 => self.books.nowhere += 1,
            copies => self.books.copies += copies - 1,
        }
        self.run(now, out);
    }

    fn enqueue(
        &mut self,
        port: usize,
        bytes: &[u8],
        class: Class,
        segment: Option<&Segment>,
        name: Option<u64>,
    ) {
        let mut frame = self.free.pop().unwrap_or_default();
        frame.clear();
        frame.extend_from_slice(bytes);
        if let Some(frame) = self.ports[port].arrive(frame, class, segment, name, self.now) {
            self.free.push(frame);
        }
    }

    /// Carries out everything that is due up to `now`: departures, which go to `out`, and timers of mechanisms.
    pub fn run(&mut self, now: Time, out: &mut impl FnMut(usize, Time, &[u8])) {
        // The clock of a driver never goes back; a caller that errs changes nothing.
        self.now = self.now.max(now);
        let now = self.now;
        loop {
            // The timers of mechanisms come in their order with departures, since they see queues.
            let due = self.ports.iter().map(SoftPort::next_wake).min().unwrap_or(Time::MAX);
            for (number, port) in self.ports.iter_mut().enumerate() {
                let free = &mut self.free;
                port.run(due.min(now), &mut |time, frame| {
                    out(number, time, &frame);
                    free.push(frame);
                });
            }
            if due > now {
                return;
            }
            for number in 0..self.ports.len() {
                self.ports[number].wake(due);
                while let Some(name) = self.ports[number].poll_notification(due) {
                    self.notify(name);
                }
            }
        }
    }

    /// Sends a notification to the sender of a flow.
    fn notify(&mut self, name: u64) {
        let Some((flow, sender)) = self.names.flow(name) else { return };
        let Some(port) = self.forwarding.find(sender, self.now) else { return };
        let control = Control {
            kind: Kind::Cnp,
            flow,
            session: 0,
            cookie: 0,
            number: 0,
            value: 0,
            mtu: 0,
            wants_ecn: false,
        };
        let bytes = control.encode(self.carrier, self.addresses[port], sender);
        self.ports[port].books.notifications += 1;
        self.enqueue(port, &bytes, Class::Notification, None, None);
    }

    /// Returns the time at which [`SoftSwitch::run`] must be called, or [`Time::MAX`] for never.
    pub fn next_timeout(&self) -> Time {
        let each = self.ports.iter().map(|port| port.next_departure().min(port.next_wake()));
        each.min().unwrap_or(Time::MAX)
    }

    /// Returns the books of the whole switch.
    pub fn books(&self) -> Books {
        self.books
    }

    /// Returns the books of each port.
    pub fn port_books(&self) -> impl Iterator<Item = &PortBooks> {
        self.ports.iter().map(|port| &port.books)
    }

    /// Returns true if the books balance.
    pub fn balances(&self) -> bool {
        let sum = |of: fn(&PortBooks) -> u64| self.port_books().map(of).sum::<u64>();
        let (books, sent) = (&self.books, sum(|port| port.sent));
        books.received + books.copies + sum(|port| port.notifications)
            == sent
                + books.malformed
                + books.nowhere
                + sum(|port| port.credits_dropped + port.signals_dropped + port.data_dropped)
                + self.ports.iter().map(SoftPort::queued).sum::<u64>()
    }
}

#[cfg(test)]
mod tests;
