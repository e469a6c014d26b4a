//! `clearwayd pac`.

use super::nic::{Found, find};
use crate::io::{Driver, Holds, Setup, Supervisor};
use crate::pac::{Pac, PacEnv, PacParams};
use crate::rules::Plan;
use crate::service::config::{ConfigError, Given};
use crate::service::daemon::Job;
use crate::service::settings::{PacSettings, Settings};
use crate::service::stats::Identity;
use crate::wire::Carrier;
use clearway_schema::Declared;

/// A daemon that runs PAC.
pub struct PacJob {
    settings: PacSettings,
    params: PacParams,
    setup: Setup,
    found: Option<Found>,
    driver: Option<Driver>,
}

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
        Ok(PacJob { settings, params, setup, found: None, driver: None })
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

    fn plan(&mut self) -> Result<Plan, String> {
        let found = find(&self.setup.interface, self.settings.rate, self.settings.mtu)?;
        let plan = found.plan(&mut self.setup, self.settings.offloads);
        self.found = Some(found);
        plan
    }

    fn open(&mut self) -> Result<(), String> {
        self.driver = Some(Driver::open(&self.setup, None).map_err(|error| error.to_string())?);
        Ok(())
    }

    fn drive(&mut self, supervisor: &mut dyn Supervisor) -> Result<(), String> {
        let (Some(found), Some(driver)) = (&self.found, &mut self.driver) else {
            return Err("the daemon was not opened".into());
        };
        let env = PacEnv { line_rate: found.rate, mtu: found.mtu };
        driver.drive(&mut Pac::new(&self.params, env), supervisor).map_err(|error| error.to_string())
    }
}
