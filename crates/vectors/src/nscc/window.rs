//! The window that is driven: its inputs and outputs.

use crate::case::{Recording, Subject, json};
use clearway_proto::Env;
use clearway_proto::uec::NsccParams;
use clearway_proto::uec::window::{Heard, Nscc, NsccConfig, NsccState, Sample};
use clearway_units::{Span, Time};
use serde::Serialize;

/// What a window is told. Sizes are bytes on the wire.
#[derive(Clone, Copy, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Input {
    /// An acknowledgement arrived.
    Ack {
        /// The bytes of which it is the first to tell that they arrived.
        new_bytes: u64,
        /// The bytes in flight without them.
        in_flight_bytes: i64,
        /// The round-trip time, if the sample is a valid one.
        rtt_ps: Option<u64>,
        /// True if the sample may lower the base round-trip time.
        may_lower: bool,
        /// True if the packet that it answers was marked.
        marked: bool,
        /// The penalty that the receiver asks for, if any.
        penalty: Option<u8>,
    },
    /// A packet was cut to its header.
    Nack {
        /// The size of the packet before it was cut.
        size_bytes: u64,
        /// The time since the packet left, unless it had been sent before.
        rtt_ps: Option<u64>,
        /// True if it was cut at its last hop.
        last_hop: bool,
        /// The bytes in flight with it.
        in_flight_bytes: i64,
    },
    /// Nothing was heard of a packet for too long.
    Timeout {
        /// The size of the packet.
        size_bytes: u64,
    },
    /// A probe was answered.
    Probe {
        /// The round-trip time.
        rtt_ps: u64,
    },
    /// May a packet leave?
    Room {
        /// The bytes in flight without it.
        in_flight_bytes: i64,
        /// The size of the packet.
        packet_bytes: u32,
    },
}

/// What can be seen of a window.
#[derive(Serialize)]
struct Output {
    cwnd_bytes: u64,
    max_cwnd_bytes: u64,
    base_rtt_ps: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    may_send: Option<bool>,
}

/// What a window remembers.
#[derive(Serialize)]
struct State {
    cwnd_bytes: f64,
    average_delay_ps: f64,
    achieved_bytes: u64,
    received_bytes: f64,
    increase_bytes_squared: f64,
    ignored_bytes: i64,
    to_ignore_bytes: i64,
    fast_bytes: f64,
    qa_end_ps: u64,
    adjusted_ps: u64,
    cut_ps: u64,
    saved_cwnd_bytes: Option<f64>,
    lost: bool,
    is_fast: bool,
}

impl From<NsccState> for State {
    fn from(state: NsccState) -> State {
        State {
            cwnd_bytes: state.cwnd_bytes,
            average_delay_ps: state.average_delay_ps,
            achieved_bytes: state.achieved_bytes,
            received_bytes: state.received_bytes,
            increase_bytes_squared: state.increase_bytes_squared,
            ignored_bytes: state.ignored_bytes,
            to_ignore_bytes: state.to_ignore_bytes,
            fast_bytes: state.fast_bytes,
            qa_end_ps: state.qa_end.as_ps(),
            adjusted_ps: state.adjusted.as_ps(),
            cut_ps: state.cut.as_ps(),
            saved_cwnd_bytes: state.saved_cwnd_bytes,
            lost: state.lost,
            is_fast: state.is_fast,
        }
    }
}

/// All that an implementation must know to begin, flat.
#[derive(Serialize)]
struct Initial {
    kind: &'static str,
    part: &'static str,
    #[serde(flatten)]
    facts: WindowFacts,
}

/// What a window is made with.
#[derive(Serialize)]
pub struct WindowFacts {
    mtu_bytes: u32,
    mss_bytes: u32,
    sender_rate_bps: u64,
    path_rate_bps: u64,
    network_rtt_ps: u64,
    base_rtt_ps: u64,
    trimming: bool,
    receiver_paces: bool,
    maxwnd_bdp: f64,
    first_cwnd_bytes: Option<u64>,
    target_qdelay_ps: u64,
    alpha: f64,
    fi: f64,
    fi_scale: f64,
    eta: f64,
    gains: String,
    scale_rtt_ps: u64,
    scale_rate_bps: u64,
    gamma: f64,
    max_md_jump: f64,
    average: String,
    delay_alpha: f64,
    fast_delay_ps: u64,
    qa_gate: u32,
    qa_threshold_ps: Option<u64>,
    qa_at_end: bool,
    adjust_bytes: f64,
    adjust_period_ps: u64,
    adjust_late: bool,
    acts_without_sample: bool,
    penalty: String,
    nack_leaves_first: bool,
    last_hop_adapts: bool,
    timeout_is_ignored: bool,
    room_for_mtu: bool,
    derived_alpha_bytes_per_ps: f64,
    derived_fi_bytes: f64,
    derived_fi_scale: f64,
    derived_eta_bytes: f64,
}

/// A window, and what it was made with.
pub struct Window {
    params: NsccParams,
    env: Env,
    pub nscc: Nscc,
}

impl Window {
    /// Returns the window of a new flow whose receiver paces its senders or does not.
    pub fn new(params: &NsccParams, env: Env, receiver_paces: bool) -> Window {
        let config = NsccConfig::new(&params.common, &params.window, &env, receiver_paces);
        Window { params: params.clone(), env, nscc: Nscc::new(config, env.network_rtt) }
    }

    /// Returns what the window was made with.
    pub fn facts(&self) -> WindowFacts {
        let (params, config) = (&self.params.window, self.nscc.config());
        WindowFacts {
            mtu_bytes: self.env.framing.wire_max(),
            mss_bytes: self.env.framing.payload_max,
            sender_rate_bps: self.env.line_rate.as_bps(),
            path_rate_bps: self.env.path_rate.as_bps(),
            network_rtt_ps: self.env.network_rtt.as_ps(),
            base_rtt_ps: self.nscc.base_rtt().as_ps(),
            trimming: self.params.common.trimming,
            receiver_paces: config.is_paced,
            maxwnd_bdp: config.maxwnd,
            first_cwnd_bytes: config.cwnd.map(|bytes| bytes as u64),
            target_qdelay_ps: config.target_qdelay.as_ps(),
            alpha: params.alpha,
            fi: params.fi,
            fi_scale: params.fi_scale,
            eta: params.eta,
            gains: params.gains.to_string(),
            scale_rtt_ps: params.scale_rtt.as_ps(),
            scale_rate_bps: params.scale_rate.as_bps(),
            gamma: config.gamma,
            max_md_jump: config.max_md_jump,
            average: config.average.to_string(),
            delay_alpha: config.delay_alpha,
            fast_delay_ps: config.fast_delay.as_ps(),
            qa_gate: params.qa_gate,
            qa_threshold_ps: config.qa_threshold.map(Span::as_ps),
            qa_at_end: config.qa_at_end,
            adjust_bytes: config.adjust_bytes,
            adjust_period_ps: config.adjust_period.as_ps(),
            adjust_late: config.adjust_late,
            acts_without_sample: config.acts_without_sample,
            penalty: config.penalty.to_string(),
            nack_leaves_first: config.nack_leaves_first,
            last_hop_adapts: config.last_hop_adapts,
            timeout_is_ignored: config.timeout_is_ignored,
            room_for_mtu: params.room_for_mtu,
            derived_alpha_bytes_per_ps: config.alpha,
            derived_fi_bytes: config.fi,
            derived_fi_scale: config.fi_scale,
            derived_eta_bytes: config.eta,
        }
    }

    fn output(&self, may_send: Option<bool>) -> String {
        let whole = |bytes: f64| bytes.round() as u64;
        json(&Output {
            cwnd_bytes: whole(self.nscc.cwnd()),
            max_cwnd_bytes: whole(self.nscc.maxwnd()),
            base_rtt_ps: self.nscc.base_rtt().as_ps(),
            may_send,
        })
    }
}

impl Subject for Window {
    type Input = Input;

    fn initial(&self) -> String {
        json(&Initial { kind: "initial", part: "window", facts: self.facts() })
    }

    fn first_output(&self) -> String {
        self.output(None)
    }

    fn step(&mut self, at: Time, input: &Input) -> (String, Option<String>) {
        let mut may_send = None;
        match *input {
            Input::Ack { new_bytes, in_flight_bytes, rtt_ps, may_lower, marked, penalty } => {
                let sample = rtt_ps.map(|ps| Sample { rtt: Span::from_ps(ps), lowers: may_lower });
                let (new, in_flight) = (new_bytes, in_flight_bytes);
                self.nscc.on_ack(&Heard { now: at, new, in_flight, sample, marked, penalty });
            }
            Input::Nack { size_bytes, rtt_ps, last_hop, in_flight_bytes } => {
                let rtt = rtt_ps.map_or(Span::MAX, Span::from_ps);
                self.nscc.on_nack(size_bytes, rtt, last_hop, in_flight_bytes, at);
            }
            Input::Timeout { size_bytes } => self.nscc.on_timeout(size_bytes),
            Input::Probe { rtt_ps } => self.nscc.lower(Span::from_ps(rtt_ps)),
            Input::Room { in_flight_bytes, packet_bytes } => {
                let full = self.env.framing.wire_max();
                let needed = if self.params.window.room_for_mtu { full } else { packet_bytes };
                may_send = Some(self.nscc.has_room(in_flight_bytes, needed));
            }
        }
        (self.output(may_send), Some(json(&State::from(self.nscc.state()))))
    }
}

/// A recording of a window.
pub type Windows = Recording<Window>;
