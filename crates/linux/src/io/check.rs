//! What a NIC is found to be, before a datapath is driven on it.

use super::error::IoError;
use super::nic::{LinkState, Nic};
use super::offload::Offload;
use crate::rules::Step;
use crate::wire::MacAddr;
use clearway_units::Rate;

/// What a NIC is found to be.
#[derive(Clone, PartialEq, Debug)]
pub struct NicReport {
    /// The name of the NIC.
    pub interface: String,
    /// The state of the link.
    pub state: LinkState,
    /// The Ethernet address.
    pub address: MacAddr,
    /// The MTU in bytes.
    pub mtu: u16,
    /// The rate that the driver tells. A virtual NIC says 10 Gbit/s whatever really limits it; `None` if the driver
    /// tells nothing, as with the link down.
    pub rate: Option<Rate>,
    /// The offloads that are on.
    pub offloads: Vec<Offload>,
}

/// Looks at a NIC. This needs no privilege.
pub fn check(interface: &str) -> Result<NicReport, IoError> {
    let nic = Nic::open(interface)?;
    let mut offloads = Offload::ALL.to_vec();
    offloads.retain(|offload| nic.has_offload(*offload));
    Ok(NicReport {
        interface: interface.to_string(),
        state: nic.state()?,
        address: nic.address()?,
        mtu: nic.mtu()?,
        rate: nic.rate(),
        offloads,
    })
}

impl NicReport {
    /// Returns the step that switches off all offloads that are on, and its undoing. `None` if all are off.
    pub fn switch_offloads_off(&self) -> Option<Step> {
        if self.offloads.is_empty() {
            return None;
        }
        let command = |value: &str| {
            let switches = self.offloads.iter().flat_map(|offload| [offload.name(), value]);
            ["ethtool", "-K", &self.interface].into_iter().chain(switches).map(str::to_string).collect()
        };
        let names: Vec<&str> = self.offloads.iter().map(|offload| offload.name()).collect();
        Some(Step {
            purpose: format!(
                "{} sends and receives packets one by one, without {}.",
                self.interface,
                names.join(", ")
            ),
            command: command("off"),
            undo: Some(command("on")),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(offloads: &[Offload]) -> NicReport {
        NicReport {
            interface: "eth0".to_string(),
            state: LinkState::Up,
            address: MacAddr([2, 0, 0, 0, 0, 1]),
            mtu: 1500,
            rate: None,
            offloads: offloads.to_vec(),
        }
    }

    #[test]
    fn offloads_that_were_on_are_switched_off_and_on_again() {
        let step = report(&[Offload::Tso, Offload::Gro]).switch_offloads_off().unwrap();
        assert_eq!(step.command.join(" "), "ethtool -K eth0 tso off gro off");
        assert_eq!(step.undo.unwrap().join(" "), "ethtool -K eth0 tso on gro on");
        assert_eq!(report(&[]).switch_offloads_off(), None);
    }

    #[test]
    fn the_loopback_is_no_nic_of_ours_and_a_missing_nic_is_named() {
        assert_eq!(check("lo"), Err(IoError::NotEthernet("lo".to_string())));
        let missing = check("cw-no-such").unwrap_err();
        assert_eq!(missing, IoError::NoInterface("cw-no-such".to_string()));
        assert!(missing.to_string().contains("cw-no-such"), "{missing}");
    }
}
