//! What the sending sides of all flows of a host share: their settings, and where they put what they ask for.

use super::counters::Counters;
use super::leftover::Leftover;
use super::signals::SignalQueue;
use crate::datapath::Actions;
use clearway_proto::expresspass::GateConfig;
use clearway_units::{Rate, Span, Time};

/// The settings of all sending sides of a host.
#[derive(Clone, Copy, Debug)]
pub(super) struct SendSettings {
    pub gate: GateConfig,
    pub base_rtt: Span,
    pub unanswered: u32,
    pub silence: Span,
    /// The longest time for which a new packet may have to wait at the pace of its flow's credits; zero for any.
    pub wait_max: Span,
    pub hold_max: Span,
    pub held_max: u64,
    /// The most bytes that credits leave over, and the bytes on the wire for which a credit pays.
    pub leftover: u32,
    pub frame: u32,
    /// True if bulk data may leave in the kernel.
    pub bulk: bool,
    /// True if the kernel may take credits for small packets.
    pub takes: bool,
    pub ask_again: Span,
    pub unknown_wait: Span,
    pub unknown_rtts: f64,
    pub rate: Rate,
    pub mtu: u16,
}

/// The surroundings in which a flow handles an input.
pub(super) struct SendCx<'a> {
    pub settings: &'a SendSettings,
    pub counters: &'a mut Counters,
    pub actions: &'a mut Actions,
    pub signals: &'a mut SignalQueue,
    /// What credits of the flow's receiver have left over.
    pub leftover: &'a mut Leftover,
    pub now: Time,
}
