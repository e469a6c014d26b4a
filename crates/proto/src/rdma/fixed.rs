//! RoCEv2 without congestion control: data leaves at a fixed rate, and flow control alone keeps it from being lost.

use super::config::rdma_params;
use super::law::{Ack, RateLaw, UNLIMITED};
use super::{Receiver, Sender};
use crate::endpoint::Env;
use crate::params::Auto;
use crate::registry::{Needs, Transport};
use clearway_units::{Bytes, Rate, Time};

rdma_params! {
    /// Parameters of `rocev2`.
    {
        /// Pace of a flow's packets. `auto`: line rate.
        rate: Auto<Rate> = "auto", "1 bps" to "1.6 Tbps", "our choice";
        /// Most bytes in flight. `auto`: no limit.
        window: Auto<Bytes> = "auto", "1 B" to "1 TB", "our choice";
    }
}

/// The transport.
pub struct Rocev2;

impl Transport for Rocev2 {
    type Params = Params;
    type Sender = Sender<FixedRate>;
    type Receiver = Receiver;
    const NAME: &'static str = "rocev2";
    const SUMMARY: &'static str =
        "RoCEv2 at a fixed rate, without congestion control: flow control does it all";
    const SOURCE: &'static str = "InfiniBand Architecture, annex A17";

    fn needs(params: &Params) -> Needs {
        Needs { lossless: params.lossless, ..Needs::NOTHING }
    }

    fn sender(params: &Params, env: &Env) -> Sender<FixedRate> {
        let window = params.window.or(Bytes::new(UNLIMITED)).get();
        let law = FixedRate { rate: params.rate.or(env.line_rate).min(env.line_rate), window };
        Sender::new(&params.config(env), env, law)
    }

    fn receiver(params: &Params, env: &Env) -> Receiver {
        Receiver::new(&params.config(env), env)
    }
}

/// A rate and a window that never change.
#[derive(Clone, Copy, Debug)]
pub struct FixedRate {
    rate: Rate,
    window: u64,
}

impl RateLaw for FixedRate {
    fn rate(&self) -> Rate {
        self.rate
    }

    fn window(&self) -> u64 {
        self.window
    }

    fn on_ack(&mut self, _: &Ack<'_>, _: Time) {}
}
