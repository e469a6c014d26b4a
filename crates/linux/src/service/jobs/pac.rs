//! `clearwayd pac`.

use super::nic::{Found, find};
use super::recording;
use crate::datapath::Datapath;
use crate::io::{Acks, AcksDriver, AcksSetup, Driver, Holds, Setup, Supervisor, Takes};
use crate::pac::{Pac, PacEnv, PacParams};
use crate::record::{Recorder, Start};
use crate::rules::Plan;
use crate::service::config::{ConfigError, Given};
use crate::service::daemon::Job;
use crate::service::settings::{AckPath, PacSettings, Settings};
use crate::service::stats::Identity;
use crate::wire::Carrier;
use clearway_schema::Declared;
use clearway_units::Span;
use std::fs::File;

/// A daemon that runs PAC.
pub struct PacJob {
    settings: PacSettings,
    params: PacParams,
    setup: Setup,
    found: Option<Found>,
    /// The programs that take acknowledgements, until the driver has them.
    acks: Option<Acks>,
    driver: Option<AnyDriver>,
    /// The file of the recording, opened while the daemon may still open files of others.
    recording: Option<File>,
}

/// The driver, by the way in which acknowledgements are held.
enum AnyDriver {
    Queue(Box<Driver>),
    Acks(Box<AcksDriver>),
}

impl AnyDriver {
    fn drive(&mut self, datapath: &mut dyn Datapath, supervisor: &mut dyn Supervisor) -> Result<(), String> {
        let result = match self {
            AnyDriver::Queue(driver) => driver.drive(datapath, supervisor),
            AnyDriver::Acks(driver) => driver.drive(datapath, supervisor),
        };
        result.map_err(|error| error.to_string())
    }
}

/// The share of the time in which the threshold drains for which packets gather in the ring, and the bounds of that time.
const GATHERS: u64 = 8;
const GATHER_MIN: Span = Span::from_us(50);
const GATHER_MAX: Span = Span::from_ms(1);

impl PacJob {
    /// Reads the parameters of PAC.
    pub fn new(settings: PacSettings, given: &Given) -> Result<PacJob, ConfigError> {
        let mut params = PacParams::default();
        let known: Vec<&str> = PacParams::SPECS.iter().map(|spec| spec.name).collect();
        given.parameters::<PacSettings>("pac", &known, &mut |key, value| params.set(key, value))?;
        let setup = Setup {
            interface: settings.dev.to_string(),
            queue: settings.queue as u16,
            holds: Holds::Acks { syn_acks: params.protocol.hold_syn_ack, requests: params.hold_requests },
            ipv6: None,
            carrier: Carrier::Ethernet,
            priority: settings.priority,
            pass: None,
            bulk: false,
        };
        Ok(PacJob { settings, params, setup, found: None, acks: None, driver: None, recording: None })
    }
}

impl Job for PacJob {
    fn identity(&self) -> Identity {
        let dev = self.setup.interface.clone();
        Identity { mode: PacSettings::COMMAND, dev, transport: "pac".into() }
    }

    fn devices(&self) -> Vec<String> {
        vec![self.setup.interface.clone()]
    }

    fn prepare(&mut self) -> Result<(), String> {
        let dev = &self.setup.interface;
        let loaded = match (self.settings.kernel_path, self.params.hold_requests) {
            (AckPath::Off, _) => Err("kernel_path is off".to_owned()),
            (AckPath::Acks, true) => Err("hold_requests is set, and requests have data".to_owned()),
            (AckPath::Acks, false) => {
                let takes = Takes {
                    syn_acks: self.params.protocol.hold_syn_ack,
                    idle: self.params.protocol.idle_timeout,
                };
                Acks::load(dev, takes)
            }
        };
        match loaded {
            Ok(acks) => {
                tracing::info!(
                    dev,
                    "programs at the NIC take acknowledgements, which wait in the daemon's memory"
                );
                self.acks = Some(acks);
            }
            Err(why) if self.settings.kernel_path == AckPath::Off => {
                tracing::info!(dev, why, "acknowledgements wait in NFQUEUE");
            }
            Err(why) => tracing::warn!(dev, why, "acknowledgements wait in NFQUEUE"),
        }
        Ok(())
    }

    fn plan(&mut self) -> Result<Plan, String> {
        let found = find(&self.setup.interface, self.settings.rate, self.settings.mtu)?;
        let mut plan = found.offloads(self.settings.offloads);
        if self.acks.is_none() {
            plan.steps.extend(found.rules(&mut self.setup)?.steps);
        }
        self.found = Some(found);
        Ok(plan)
    }

    fn unplanned(&self) -> Vec<String> {
        let line = "A daemon with kernel_path = \"acks\" sets two programs at the NIC instead of the rules that hold packets, if the kernel can.";
        let is_on = self.settings.kernel_path == AckPath::Acks && !self.params.hold_requests;
        if is_on { vec![line.to_owned()] } else { Vec::new() }
    }

    fn open(&mut self) -> Result<(), String> {
        let driver = match self.acks.take() {
            Some(acks) => {
                let (interface, priority) = (self.setup.interface.clone(), self.setup.priority);
                let setup = AcksSetup { interface, priority, gather: self.gather() };
                AcksDriver::open(&setup, acks).map(|driver| AnyDriver::Acks(Box::new(driver)))
            }
            None => Driver::open(&self.setup, None).map(|driver| AnyDriver::Queue(Box::new(driver))),
        };
        self.driver = Some(driver.map_err(|error| error.to_string())?);
        self.recording = recording::create(self.settings.record.as_deref())?;
        Ok(())
    }

    fn drive(&mut self, supervisor: &mut dyn Supervisor) -> Result<(), String> {
        let Some(driver) = &mut self.driver else { return Err("the daemon was not opened".into()) };
        let env = self.found.as_ref().map(env).ok_or("the daemon has no plan")?;
        let mut pac = Pac::new(&self.params, env);
        match self.recording.take() {
            Some(file) => {
                let start = Start::Pac { params: Box::new(self.params.clone()), env };
                driver.drive(&mut Recorder::new(pac, &start, file), supervisor)
            }
            None => driver.drive(&mut pac, supervisor),
        }
    }
}

impl PacJob {
    /// Returns the time for which packets gather in the ring: a small part of the time in which the threshold drains, so that the
    /// estimate of the traffic in flight is off by no more than that part.
    fn gather(&self) -> Span {
        let Some(env) = self.found.as_ref().map(env) else { return GATHER_MIN };
        let buffer = self.params.protocol.pac(&env.agent()).buffer;
        (env.line_rate.time_to_send(buffer) / GATHERS).clamp(GATHER_MIN, GATHER_MAX)
    }
}

/// Returns the NIC in PAC's terms.
fn env(found: &Found) -> PacEnv {
    PacEnv { line_rate: found.rate, mtu: found.mtu }
}
