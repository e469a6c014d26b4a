//! `clearwayd host`.

use super::nic::{Found, find};
use super::recording;
use crate::host::{Host, HostConfig, HostParams};
use crate::io::{Driver, Holds, Leaves, Pass, Setup, Supervisor};
use crate::record::{Header, Recorder};
use crate::rules::Plan;
use crate::service::config::{ConfigError, Given};
use crate::service::daemon::Job;
use crate::service::settings::{Folder, HostSettings, KernelPath, Settings};
use crate::service::stats::Identity;
use crate::wire::Carrier;
use clearway_proto::AnyTransport;
use clearway_schema::{Declared, Error};
use std::fs::File;
use std::path::Path;

/// A daemon that runs ExpressPass or EC4.
pub struct HostJob {
    settings: HostSettings,
    transport: AnyTransport,
    params: HostParams,
    setup: Setup,
    found: Option<Found>,
    /// True if the kernel takes credits for small packets.
    takes_credits: bool,
    /// The program for small packets, until the driver has it.
    pass: Option<Pass>,
    driver: Option<Driver>,
    /// The file of the recording, opened while the daemon may still open files of others.
    recording: Option<File>,
}

impl HostJob {
    /// Reads the parameters of the transport and of the host, which share one list.
    pub fn new(settings: HostSettings, given: &Given) -> Result<HostJob, ConfigError> {
        let name = settings.transport.to_string();
        let mut transport = HostConfig::transport(&name).map_err(|error| ConfigError(error.to_string()))?;
        let mut params = HostParams::default();
        let known: Vec<&str> =
            transport.info().params.iter().chain(HostParams::SPECS).map(|spec| spec.name).collect();
        given.parameters::<HostSettings>(&name, &known, &mut |key, value| match params.set(key, value) {
            Err(Error::Unknown { .. }) => transport.set(key, value),
            result => result,
        })?;
        let setup = Setup {
            interface: settings.dev.to_string(),
            queue: settings.queue as u16,
            holds: Holds::Data,
            ipv6: None,
            carrier: settings.control.at(settings.control_port),
            priority: settings.priority,
            pass: None,
            bulk: false,
        };
        Ok(HostJob {
            settings,
            transport,
            params,
            setup,
            found: None,
            pass: None,
            takes_credits: false,
            driver: None,
            recording: None,
        })
    }

    fn config(&self, found: &Found) -> HostConfig {
        HostConfig {
            address: found.report.address,
            rate: found.rate,
            mtu: found.mtu,
            carrier: self.setup.carrier,
            kernel_path: self.setup.pass.is_some(),
            bulk_path: self.setup.bulk,
            credit_path: self.takes_credits,
            transport: self.transport.clone(),
            params: self.params.clone(),
        }
    }
}

impl HostJob {
    /// Looks at the NIC, and says why it can't be used with these settings, if it can't.
    fn look(&self) -> Result<Found, String> {
        let found = find(&self.setup.interface, self.settings.rate, self.settings.mtu)?;
        self.config(&found).check().map_err(|error| error.to_string())?;
        Ok(found)
    }
}

impl Job for HostJob {
    fn identity(&self) -> Identity {
        let dev = self.setup.interface.clone();
        Identity { mode: HostSettings::COMMAND, dev, transport: self.settings.transport.to_string() }
    }

    fn devices(&self) -> Vec<String> {
        vec![self.setup.interface.clone()]
    }

    fn prepare(&mut self) -> Result<(), String> {
        let found = self.look()?;
        let dev = &self.setup.interface;
        let loaded = match (self.settings.kernel_path, self.params.leftover) {
            (KernelPath::Off, _) => Err("kernel_path is off".to_owned()),
            (_, 0) => Err("leftover is 0, so that each packet needs a credit".to_owned()),
            (path, _) => {
                let folder = Folder::of(&self.settings.service.run_dir);
                let name = format!("clearway-{}-{dev}", std::process::id());
                let frame = self.config(&found).framing().wire_max();
                let leaves = Leaves {
                    small: frame / 2,
                    frame,
                    most: self.params.leftover,
                    nic: (self.setup.carrier == Carrier::Ethernet).then_some(dev.as_str()),
                    bulk: path == KernelPath::Bulk,
                };
                Pass::load(&folder, &name, leaves)
            }
        };
        match loaded {
            Ok(pass) => {
                tracing::info!(
                    dev,
                    "small packets leave in the kernel for what credits left over; others wait in user space"
                );
                self.takes_credits = matches!(pass.takes_credits(), Some(Ok(())));
                self.setup.bulk = self.takes_credits && self.settings.kernel_path == KernelPath::Bulk;
                match (self.settings.kernel_path, pass.takes_credits()) {
                    (KernelPath::Bulk, Some(Ok(()))) => {
                        tracing::info!(
                            dev,
                            "bulk data leaves in the kernel, and waits for its credits in its sockets"
                        );
                    }
                    (KernelPath::Bulk, why) => {
                        let why = why.and_then(Result::err).unwrap_or("control frames travel over UDP");
                        tracing::warn!(dev, why, "bulk data waits in user space");
                    }
                    (_, Some(Err(why))) => {
                        tracing::info!(dev, why, "credits for small packets go through user space");
                    }
                    _ => {}
                }
                self.setup.pass = pass.path().map(Path::to_path_buf);
                self.pass = Some(pass);
            }
            Err(why) => tracing::info!(dev, why, "all packets wait in user space"),
        }
        Ok(())
    }

    fn plan(&mut self) -> Result<Plan, String> {
        let found = self.look()?;
        let plan = found.plan(&mut self.setup, self.settings.offloads);
        self.found = Some(found);
        plan
    }

    fn unplanned(&self) -> Vec<String> {
        let line = "A daemon with kernel_path = \"auto\" also loads programs: one lets small packets leave before they reach the queue, one counts those that come, and from Linux 6.6 on two at the NIC count them, take their credits, and tell of connections.";
        let is_on = self.settings.kernel_path != KernelPath::Off && self.params.leftover > 0;
        if is_on { vec![line.to_owned()] } else { Vec::new() }
    }

    fn open(&mut self) -> Result<(), String> {
        self.driver = Some(Driver::open(&self.setup, self.pass.take()).map_err(|error| error.to_string())?);
        self.recording = recording::create(self.settings.record.as_deref())?;
        Ok(())
    }

    fn look_back(&mut self) -> Result<(), String> {
        self.driver.iter_mut().for_each(Driver::look_back);
        Ok(())
    }

    fn drive(&mut self, supervisor: &mut dyn Supervisor) -> Result<(), String> {
        let mut seed = [0; 8];
        rustix::rand::getrandom(&mut seed, rustix::rand::GetRandomFlags::empty())
            .map_err(|error| format!("the kernel gives no random number: {error}"))?;
        let config = self.found.as_ref().map(|found| self.config(found)).ok_or("the daemon has no plan")?;
        let header = Header { config, seed: u64::from_ne_bytes(seed) };
        let mut host = Host::new(header.config.clone(), header.seed).map_err(|error| error.to_string())?;
        let driver = self.driver.as_mut().ok_or("the daemon was not opened")?;
        let result = match self.recording.take() {
            Some(file) => driver.drive(&mut Recorder::new(host, &header.into(), file), supervisor),
            None => driver.drive(&mut host, supervisor),
        };
        result.map_err(|error| error.to_string())
    }
}
