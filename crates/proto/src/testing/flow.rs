//! A flow of a pair: both ends, the log of its packets, and the checks that hold between the ends.

use super::end::End;
use super::network::Way;
use super::stream::{Operation, Stream};
use crate::{Env, Extra, Kind, Packet, Receiver, Sender};
use clearway_units::Time;
use std::collections::VecDeque;

/// A packet as it left its end, or as it arrived.
#[derive(Clone, Copy, Debug)]
pub struct Logged {
    /// The time.
    pub at: Time,
    /// The direction of the packet.
    pub way: Way,
    /// True at its arrival, false at its departure.
    pub arrived: bool,
    /// The packet.
    pub packet: Packet,
    /// The data beside it, if it is flagged [`Flags::EXTRA`](crate::Flags::EXTRA).
    pub extra: Extra,
}

/// A flow with everything that a bystander saw of it.
pub struct Flow {
    /// The sending end.
    pub sender: End<dyn Sender>,
    /// The receiving end.
    pub receiver: End<dyn Receiver>,
    /// The times at which the sending and the receiving end were first finished.
    pub finished_at: [Option<Time>; 2],
    /// The time at which the newest byte was delivered.
    pub delivered_at: Time,
    /// Every packet at its departure and at its arrival, in order of time, if [`Pair::log`](super::Pair::log) is set.
    pub log: Vec<Logged>,
    /// Credits that arrived at the sending end.
    pub credits_arrived: u64,
    /// The bytes that arrived at the receiving host.
    stream: Stream,
    /// The operations of the application that are still to come.
    pub(super) operations: VecDeque<(Time, Operation)>,
    /// True if a packet was forged, so that the ends need not agree any more.
    pub(super) forged: bool,
    /// True if the agent was told that the flow is over.
    pub(super) forgotten: bool,
}

impl Flow {
    /// Makes a flow of two ends, with the operations of its application in order of time.
    pub(super) fn new(
        sender: Box<dyn Sender>,
        receiver: Box<dyn Receiver>,
        operations: VecDeque<(Time, Operation)>,
        env: &Env,
        seed: u64,
    ) -> Flow {
        assert!(operations.iter().is_sorted_by_key(|(at, _)| *at), "operations stand in order of time");
        Flow {
            sender: End::of_sender(sender, env, seed),
            receiver: End::of_receiver(receiver, env, seed),
            finished_at: [None; 2],
            delivered_at: Time::ZERO,
            log: Vec::new(),
            credits_arrived: 0,
            stream: Stream::default(),
            operations,
            forged: false,
            forgotten: false,
        }
    }

    /// The data packets of the log at their departure.
    pub fn data_sent(&self) -> impl Iterator<Item = &Logged> {
        self.left(Way::ToReceiver).filter(|logged| logged.packet.kind() == Kind::Data)
    }

    /// The packets of the log that left in a direction.
    pub fn left(&self, way: Way) -> impl Iterator<Item = &Logged> {
        self.log.iter().filter(move |logged| logged.way == way && !logged.arrived)
    }

    /// The packets of the log that arrived in a direction.
    pub fn arrived(&self, way: Way) -> impl Iterator<Item = &Logged> {
        self.log.iter().filter(move |logged| logged.way == way && logged.arrived)
    }

    /// Takes the next operation of the application whose time has come.
    pub(super) fn take_due(&mut self, now: Time) -> Option<Operation> {
        self.operations.front().filter(|(at, _)| *at <= now)?;
        self.operations.pop_front().map(|(_, operation)| operation)
    }

    /// Hands a packet to the receiving end, and checks that it delivers bytes that arrived, once and in order, and
    /// every byte before which none is missing if the check is strict.
    pub(super) fn receive(&mut self, packet: &Packet, extra: &Extra, now: Time, strict: bool) {
        if packet.payload() > 0 {
            self.stream.add(packet.range());
        }
        let before = self.receiver.delivered();
        self.receiver.handle_packet(packet, extra, now);
        let (delivered, prefix) = (self.receiver.delivered(), self.stream.prefix());
        assert!(before <= delivered, "what is delivered can't be taken back");
        assert!(delivered <= prefix, "{delivered} bytes are delivered, but {prefix} arrived in order");
        assert!(!strict || delivered == prefix, "{delivered} of {prefix} bytes are delivered");
        if delivered > before {
            self.delivered_at = now;
        }
    }

    /// Checks the rules that hold whenever the sending end has been polled for all that it sends.
    pub(super) fn check_sender(&mut self) {
        self.sender.check();
        assert!(
            self.forged || self.sender.acknowledged() <= self.receiver.delivered(),
            "the sender knows of no byte that was not delivered"
        );
    }

    /// Notes which ends are finished, and returns true if both are. An end that is finished stays so if the check is
    /// strict.
    pub(super) fn note_finished(&mut self, now: Time, strict: bool) -> bool {
        let finished = [self.sender.is_finished(), self.receiver.is_finished()];
        for (at, finished) in self.finished_at.iter_mut().zip(finished) {
            assert!(finished || at.is_none() || !strict, "an end that is finished stays so");
            if finished {
                at.get_or_insert(now);
            }
        }
        finished == [true; 2]
    }

    /// Checks at the end of a run that the flow came to its end, unless a packet of it was forged. Its number is for
    /// the message.
    pub(super) fn check_finished(&self, number: usize) {
        if self.forged {
            return;
        }
        assert_eq!(
            self.receiver.delivered(),
            self.sender.written(),
            "flow {number}: all bytes are delivered"
        );
        self.sender.check_finished();
        self.receiver.check_finished();
        let sender = self.sender.stats();
        assert_eq!(
            sender.credits_used + sender.rare().credits_wasted,
            self.credits_arrived,
            "flow {number}: each credit that arrived is used or wasted"
        );
    }
}
