//! One end of a flow by itself, fed with a recorded or scripted exchange.

use super::end::End;
use super::stream::Operation;
use crate::{AnyTransport, Endpoint, Env, Extra, Packet, Receiver, Sender};
use clearway_units::Time;
use std::collections::VecDeque;

/// One end of a flow by itself. Inputs with their times go in, in order; the packets that the end sends come out with
/// theirs. Timers fire in between by themselves, and data leaves as soon as the end wants to send it.
///
/// ```
/// use clearway_proto::testing::{Operation, Replay};
/// use clearway_proto::{AnyTransport, Env, Framing};
/// use clearway_units::{Rate, Span, Time};
///
/// let env = Env {
///     line_rate: Rate::gbps(10),
///     path_rate: Rate::gbps(10),
///     base_rtt: Span::from_us(100),
///     framing: Framing::ETHERNET,
///     established: true,
///     network_rtt: Span::from_us(10),
///     host_flows: 0,
/// };
/// let newreno = AnyTransport::by_name("newreno").expect("a transport");
/// let mut replay = Replay::sender(&newreno, &env, 1);
/// replay.operate(Time::ZERO, Operation::Write(100_000));
/// replay.run_until(Time::ZERO + Span::from_ms(5));
/// assert_eq!(replay.by_ref().count(), 10, "an initial window of ten segments, and no timeout yet");
/// ```
pub struct Replay<E: ?Sized> {
    /// The end.
    pub end: End<E>,
    left: VecDeque<(Time, Packet, Extra)>,
}

impl Replay<dyn Sender> {
    /// The sending end of a transport.
    pub fn sender(transport: &AnyTransport, env: &Env, seed: u64) -> Replay<dyn Sender> {
        Replay { end: End::sender(transport, env, seed), left: VecDeque::new() }
    }

    /// Feeds an operation of the application, after the timers that are due before its time have fired.
    pub fn operate(&mut self, at: Time, operation: Operation) {
        self.fire_while(|due| due < at);
        self.end.operate(operation, at);
        self.collect(at);
    }
}

impl Replay<dyn Receiver> {
    /// The receiving end of a transport.
    pub fn receiver(transport: &AnyTransport, env: &Env, seed: u64) -> Replay<dyn Receiver> {
        Replay { end: End::receiver(transport, env, seed), left: VecDeque::new() }
    }
}

/// The kinds of ends that a replay feeds.
pub trait Replayed: Endpoint {
    /// The next data packet that the end sends now.
    fn poll_data(end: &mut End<Self>, now: Time) -> Option<Packet>;
}

impl Replayed for dyn Sender {
    fn poll_data(end: &mut End<dyn Sender>, now: Time) -> Option<Packet> {
        end.poll_data(now)
    }
}

impl Replayed for dyn Receiver {
    fn poll_data(_: &mut End<dyn Receiver>, _: Time) -> Option<Packet> {
        None
    }
}

impl<E: Replayed + ?Sized> Replay<E> {
    /// Feeds a packet that arrives, after the timers that are due before its time have fired. A timer that is due at
    /// its time comes after it, as in a [`Pair`](super::Pair).
    pub fn arrive(&mut self, at: Time, packet: &Packet, extra: &Extra) {
        self.fire_while(|due| due < at);
        self.end.handle_packet(packet, extra, at);
        self.collect(at);
    }

    /// Fires the timers that are due up to a time.
    pub fn run_until(&mut self, until: Time) {
        self.fire_while(|due| due <= until);
    }

    fn fire_while(&mut self, is_due: impl Fn(Time) -> bool) {
        while self.end.next_timeout() < Time::MAX && is_due(self.end.next_timeout().max(self.end.now())) {
            let due = self.end.next_timeout().max(self.end.now());
            self.end.handle_timeout(due);
            self.collect(due);
        }
    }

    /// The packet that left first of those that were not yet taken by [`Iterator::next`], with its time.
    pub fn peek(&self) -> Option<&(Time, Packet, Extra)> {
        self.left.front()
    }

    fn collect(&mut self, now: Time) {
        while let Some((packet, extra)) = self.end.poll_control(now) {
            self.left.push_back((now, packet, extra));
        }
        while let Some(packet) = E::poll_data(&mut self.end, now) {
            self.left.push_back((now, packet, Extra::default()));
        }
        self.end.check();
    }
}

/// The packets that left, in order of time.
impl<E: ?Sized> Iterator for Replay<E> {
    type Item = (Time, Packet, Extra);

    fn next(&mut self) -> Option<(Time, Packet, Extra)> {
        self.left.pop_front()
    }
}
