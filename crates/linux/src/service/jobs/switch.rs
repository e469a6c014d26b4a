//! `clearwayd switch`.

use crate::datapath::{Actions, Datapath, Direction, HeldId, Link, Metric, Passed, Released, Small};
use crate::io::{Next, Supervisor};
use crate::rules::{Namespace, Plan};
use crate::service::config::ConfigError;
use crate::service::daemon::Job;
use crate::service::settings::{Device, Settings, SwitchSettings};
use crate::service::stats::Identity;
use crate::switch::{Bridge, Config, Port, Present, Statistics, plan, verify};
use crate::wire::Segment;
use clearway_units::{Span, Time};
use nix::time::{ClockId, clock_gettime};
use std::path::PathBuf;
use std::time::Duration;

/// The time between two looks of the supervisor.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// The looks of the supervisor from one reading of the ports' counters to the next.
const READ_EVERY: u64 = 4;

/// A daemon that keeps a switch set up.
pub struct SwitchJob {
    config: Config,
    folder: PathBuf,
    statistics: Option<Statistics>,
}

impl SwitchJob {
    /// Makes the job of a switch.
    pub fn new(config: Config, folder: PathBuf) -> SwitchJob {
        SwitchJob { config, folder, statistics: None }
    }
}

/// Makes the configuration of the switch.
pub fn config(settings: &SwitchSettings) -> Result<Config, ConfigError> {
    let port = |(device, rate): &(Device, Option<_>)| {
        let device = device.to_string();
        match rate.or(settings.rate) {
            Some(rate) => Ok(Port { device, rate }),
            None => Err(ConfigError(format!(
                "--rate: is missing, and so is a rate of {device}; write --rate 1Gbps, or {device}=1Gbps among the \
                 ports"
            ))),
        }
    };
    let ports = settings.ports.0.iter().map(port).collect::<Result<_, _>>()?;
    let bridge =
        settings.bridge.as_ref().map(|name| Bridge { name: name.to_string(), create: settings.make_bridge });
    if settings.make_bridge && bridge.is_none() {
        return Err(ConfigError("--make-bridge true: name the bridge, as in --bridge br0".into()));
    }
    let config = Config {
        bridge,
        ports,
        credit_queue: settings.credit_queue,
        signal_queue: settings.signal_queue,
        data_queue: settings.data_queue,
        ecn: settings.ecn.map(|threshold| threshold as u16),
        carrier: settings.control.at(settings.control_port),
        credit_dscp: settings.credit_dscp.map(|dscp| dscp as u8),
    };
    config.check().map_err(|error| ConfigError(error.to_string()))?;
    Ok(config)
}

impl Job for SwitchJob {
    fn identity(&self) -> Identity {
        let dev = self.devices().join(",");
        Identity { mode: SwitchSettings::COMMAND, dev, transport: "expresspass".into() }
    }

    fn devices(&self) -> Vec<String> {
        self.config.ports.iter().map(|port| port.device.clone()).collect()
    }

    fn plan(&mut self) -> Result<Plan, String> {
        let present = Present::read(&self.config).map_err(|error| error.to_string())?;
        let program = std::env::current_exe().map_err(|error| format!("the program's own file: {error}"))?;
        let namespace = Namespace::own().map_err(|error| format!("the network namespace: {error}"))?;
        let object = self.folder.join(format!("{}-{}.bpf.o", namespace.cookie, self.config.ports[0].device));
        plan(&self.config, &present, &program, &object).map_err(|error| error.to_string())
    }

    fn open(&mut self) -> Result<(), String> {
        Ok(())
    }

    fn look_back(&mut self) -> Result<(), String> {
        for deviation in verify(&self.config).map_err(|error| error.to_string())? {
            match deviation.is_rounding {
                true => tracing::info!(%deviation, "the kernel rounds"),
                false => tracing::warn!(%deviation, "the kernel does not do what was asked"),
            }
        }
        self.statistics = Some(Statistics::open(&self.config).map_err(|error| error.to_string())?);
        Ok(())
    }

    fn drive(&mut self, supervisor: &mut dyn Supervisor) -> Result<(), String> {
        let now = || clock_gettime(ClockId::CLOCK_MONOTONIC).map_err(|error| format!("the clock: {error}"));
        let start = now()?;
        let mut statistics = self.statistics.take();
        let mut failed = false;
        for round in 0u64.. {
            if let Some(statistics) = &mut statistics
                && round.is_multiple_of(READ_EVERY)
            {
                match statistics.read() {
                    Err(error) if !failed => {
                        tracing::warn!(%error, "the counters of the ports cannot be read");
                        failed = true;
                    }
                    result => failed = result.is_err(),
                }
            }
            let since = Duration::from(now()? - start);
            let since = Time::ZERO.saturating_add(Span::from_us(since.as_micros() as u64));
            let report = |each: &mut dyn FnMut(Metric)| {
                if let Some(statistics) = &statistics {
                    statistics.metrics(each);
                }
            };
            if supervisor.look(&Reported(&report), since) == Next::Stop {
                break;
            }
            std::thread::sleep(LOOK_EVERY);
        }
        Ok(())
    }
}

/// A switch without a datapath, of which the supervisor sees the counters.
pub struct Reported<'a>(pub Report<'a>);

/// A function that hands all counters to another one.
type Report<'a> = &'a dyn Fn(&mut dyn FnMut(Metric));

impl Datapath for Reported<'_> {
    fn handle_frame(&mut self, _: &[u8], _: Time, _: &mut Actions) {}

    fn handle_segment(&mut self, _: Direction, _: &Segment, _: Link, _: Time, _: &mut Actions) {}

    fn handle_held(&mut self, _: HeldId, _: &Segment, _: Time, _: &mut Actions) {}

    fn handle_passed(&mut self, _: &Passed, _: Time, _: &mut Actions) {}

    fn count_unwatched(&mut self, _: u64, _: u64) {}

    fn handle_small(&mut self, _: &Small, _: Time, _: &mut Actions) {}

    fn handle_released(&mut self, _: &Released, _: Time, _: &mut Actions) {}

    fn release_all(&mut self, _: Time, _: &mut Actions) {}

    fn is_patient(&self, _: Time) -> bool {
        true
    }

    fn next_timeout(&self) -> Time {
        Time::MAX
    }

    fn handle_timeout(&mut self, _: Time, _: &mut Actions) {}

    fn metrics(&self, each: &mut dyn FnMut(Metric)) {
        (self.0)(each);
    }
}
