//! The NIC of a daemon: what the settings say of it, and what it is found to be.

use crate::io::{LinkState, NicReport, Setup, check, ip6tables, rules};
use crate::rules::Plan;
use crate::service::settings::Offloads;
use clearway_schema::Auto;
use clearway_units::Rate;

/// A NIC with the values that a protocol needs.
pub struct Found {
    /// What the NIC is found to be.
    pub report: NicReport,
    /// The rate of the NIC.
    pub rate: Rate,
    /// The largest IP packet in bytes.
    pub mtu: u16,
}

/// Looks at a NIC. Values that are not set are those of the NIC.
pub fn find(dev: &str, rate: Auto<Rate>, mtu: Auto<u32>) -> Result<Found, String> {
    let report = check(dev).map_err(|error| error.to_string())?;
    let rate = match (rate, report.rate) {
        (Auto::Set(rate), _) => rate,
        (Auto::Auto, Some(rate)) => rate,
        (Auto::Auto, None) => {
            return Err(format!("{dev}: the NIC does not tell its rate; give it, as in --rate 10Gbps"));
        }
    };
    let mtu = match mtu {
        Auto::Set(mtu) if mtu > report.mtu.into() => {
            return Err(format!("--mtu {mtu}: the NIC {dev} has an MTU of {} bytes", report.mtu));
        }
        Auto::Set(mtu) => mtu as u16,
        Auto::Auto => report.mtu,
    };
    Ok(Found { report, rate, mtu })
}

/// Returns the congestion control of TCP in this network namespace, which goes on beneath the daemon.
fn underneath() -> String {
    let name = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control");
    name.map_or_else(|_| "unknown".to_owned(), |name| name.trim().to_owned())
}

impl Found {
    /// Returns the rules of a daemon that holds packets of this NIC, and says in the logs what the NIC is. Completes `setup` with
    /// the program that sets the rule for IPv6.
    pub fn plan(&self, setup: &mut Setup, offloads: Offloads) -> Result<Plan, String> {
        let mut plan = self.offloads(offloads);
        plan.steps.extend(self.rules(setup)?.steps);
        Ok(plan)
    }

    /// Returns the steps for the offloads of this NIC, and says in the logs what the NIC is.
    pub fn offloads(&self, offloads: Offloads) -> Plan {
        let NicReport { interface, address, .. } = &self.report;
        let tcp = underneath();
        tracing::info!(dev = interface, %address, rate = %self.rate, mtu = self.mtu, tcp, "NIC");
        if self.report.state == LinkState::Down {
            tracing::warn!(dev = interface, "the link is down; packets pass until it is up");
        }
        let mut plan = Plan::default();
        match offloads {
            Offloads::Off => plan.steps.extend(self.report.switch_offloads_off()),
            Offloads::Keep if self.report.offloads.is_empty() => {}
            Offloads::Keep => {
                let offloads = &self.report.offloads;
                let names: Vec<&str> = offloads.iter().map(|offload| offload.name()).collect();
                let mut harms: Vec<&str> = offloads.iter().map(|offload| offload.harm()).collect();
                harms.dedup();
                tracing::warn!(
                    dev = interface,
                    offloads = names.join(","),
                    "offloads stay on: {}",
                    harms.join("; ")
                );
            }
        }
        plan
    }

    /// Returns the rules that hold packets of this NIC. Completes `setup` with the program that sets the rule for IPv6.
    pub fn rules(&self, setup: &mut Setup) -> Result<Plan, String> {
        let interface = &self.report.interface;
        match ip6tables(setup) {
            Ok(program) => setup.ipv6 = Some(program),
            Err(reason) => {
                tracing::warn!(dev = interface, reason, "IPv6 passes as plain TCP: no rule can hold it")
            }
        }
        rules(setup).map_err(|error| error.to_string())
    }
}
