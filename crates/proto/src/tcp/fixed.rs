//! TCP with a constant window and no congestion control, which is the baseline of PAC Fig. 2.

use super::config::TcpParams;
use super::controller::{AckEvent, CongestionEvent, Controller, Limits, RestartEvent};
use super::{Ecn, Receiver, Sender};
use crate::agent::NoAgent;
use crate::endpoint::Env;
use crate::mechanism::NoMechanism;
use crate::needs::Needs;
use crate::transport::{Checked, Transport};
use clearway_schema::{Profile, declare};
use serde::{Deserialize, Serialize};

declare! {
    /// The parameters of `fixed-window`.
    pub struct FixedWindowParams {
        /// The window, in segments, which may be in flight from the first packet to the last, loss or not.
        /// `initial_window` and `min_cwnd` mean nothing here.
        window: u32 = "1" in "1" to "1000000" from "PAC sec. II-B, Fig. 2";
        ..tcp: TcpParams;
    }
}

/// The transport `fixed-window`.
pub struct FixedWindow;

impl Transport for FixedWindow {
    type Params = FixedWindowParams;
    type Sender = Sender<FixedWindowController>;
    type Receiver = Receiver;
    type Agent = NoAgent;
    type Mechanism = NoMechanism;
    const NAME: &'static str = "fixed-window";
    const SUMMARY: &'static str =
        "TCP with a window of fixed size, one segment by default: no congestion control";
    const SOURCE: &'static str = "PAC sec. II-B";
    const CHECKED: Checked = Checked::Paper("PAC, sec. II-B, says all that there is to it.");
    const PROFILES: &'static [Profile] = super::config::PROFILES;

    fn needs(params: &FixedWindowParams) -> Needs {
        Needs { first_window: Some(params.window), ..params.tcp.needs() }
    }

    fn sender(params: &FixedWindowParams, env: &Env) -> Sender<FixedWindowController> {
        let cwnd = params.window as u64 * env.framing.payload_max as u64;
        Sender::new(&params.tcp.config(Ecn::Off), env, FixedWindowController { cwnd })
    }

    fn receiver(params: &FixedWindowParams, env: &Env) -> Receiver {
        Receiver::new(&params.tcp.config(Ecn::Off), env)
    }
}

/// The controller whose window is constant.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct FixedWindowController {
    /// The window, in bytes.
    cwnd: u64,
}

impl Controller for FixedWindowController {
    #[inline]
    fn limits(&self) -> Limits {
        Limits { cwnd: self.cwnd, pacing: None }
    }

    fn on_ack(&mut self, _: &AckEvent) {}

    fn on_loss(&mut self, _: &CongestionEvent) {}

    fn on_ecn(&mut self, _: &CongestionEvent) {}

    fn on_timeout(&mut self, _: &CongestionEvent) {}

    fn on_restart(&mut self, _: &RestartEvent) {}
}

#[cfg(test)]
mod tests {
    use super::super::controller::tests::{ack, congestion};
    use super::*;

    #[test]
    fn nothing_moves_the_window_pac_section_ii_b() {
        let mut fixed = FixedWindowController { cwnd: 1460 };
        fixed.on_ack(&ack(1460));
        fixed.on_loss(&congestion(1460));
        fixed.on_ecn(&congestion(1460));
        fixed.on_timeout(&congestion(1460));
        fixed.on_recovered(0);
        assert_eq!(fixed.limits(), Limits { cwnd: 1460, pacing: None });
    }
}
