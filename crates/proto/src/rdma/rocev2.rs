//! RoCEv2 without congestion control: data leaves at a fixed rate, and flow control alone keeps it from being lost.

use super::config::CommonParams;
use super::law::{AckEvent, BuildLaw, RateLaw, UNLIMITED};
use super::{Config, Rdma, RdmaParams};
use crate::endpoint::Env;
use crate::mechanism::NoMechanism;
use crate::needs::Needs;
use crate::transport::Checked;
use clearway_schema::{Auto, declare};
use clearway_units::{Bytes, Rate, Time};
use serde::{Deserialize, Serialize};

declare! {
    /// The parameters of `rocev2`.
    pub struct Rocev2Params {
        /// The rate at which a flow's packets are paced. `auto`: line rate.
        rate: Auto<Rate> = "auto" in "1 bps" to "1.6 Tbps" from "our choice";
        /// The largest number of bytes in flight. `auto`: no limit.
        window: Auto<Bytes> = "auto" in "1 B" to "1 TB" from "our choice";
        ..rdma: CommonParams;
    }
}

/// The transport `rocev2`.
pub type Rocev2 = Rdma<Rocev2Params>;

impl RdmaParams for Rocev2Params {
    type Law = Rocev2Params;
    type Mechanism = NoMechanism;
    const NAME: &'static str = "rocev2";
    const SUMMARY: &'static str =
        "RoCEv2 at a fixed rate, without congestion control: flow control does it all";
    const SOURCE: &'static str = "InfiniBand Architecture, annex A17";
    const CHECKED: Checked = Checked::Code(
        "Loss recovery was held against HPCC's ns-3 code; the InfiniBand text was not at hand.",
    );

    fn needs(&self) -> Needs {
        Needs { lossless: self.rdma.lossless, acks: self.rdma.acks, ..Needs::NOTHING }
    }

    fn settings(&self, env: &Env) -> Config {
        self.rdma.config(env)
    }

    fn law(&self) -> Rocev2Params {
        self.clone()
    }
}

impl BuildLaw for Rocev2Params {
    type Law = Rocev2Law;

    fn build(&self, env: &Env) -> Rocev2Law {
        let window = self.window.or(Bytes::new(UNLIMITED)).get();
        Rocev2Law { rate: self.rate.or(env.line_rate).min(env.line_rate), window }
    }
}

/// The law of a constant rate and a constant window.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Rocev2Law {
    rate: Rate,
    window: u64,
}

impl RateLaw for Rocev2Law {
    fn rate(&self) -> Rate {
        self.rate
    }

    fn window(&self) -> u64 {
        self.window
    }

    fn on_ack(&mut self, _: &AckEvent<'_>, _: Time) {}
}
