//! The state of a machine's NICs before a switch is set up, as far as the plan depends on it.

use super::config::{Config, SwitchError};
use super::layout::{EGRESS, FILTER_PREFERENCE};
use super::netlink::{About, Netlink};
use std::collections::BTreeMap;
use std::process::Command;

const CLSACT: u32 = 0xffff_fff1;
const ROOT: u32 = 0xffff_ffff;

const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
const IFLA_MASTER: u16 = 10;
const IFLA_LINKINFO: u16 = 18;
const IFLA_INFO_KIND: u16 = 1;
const TCA_KIND: u16 = 1;
const UP: u32 = 1;

/// The offloads that join frames to larger ones, by their names for `ethtool -k` and for `ethtool -K`.
const OFFLOADS: [(&str, &str); 4] = [
    ("generic-receive-offload", "gro"),
    ("large-receive-offload", "lro"),
    ("tcp-segmentation-offload", "tso"),
    ("generic-segmentation-offload", "gso"),
];

/// A NIC as it is.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct PresentPort {
    /// The kernel's number for the NIC.
    pub index: i32,
    /// True if the NIC is a bridge.
    pub is_bridge: bool,
    /// True if the NIC is switched on.
    pub is_up: bool,
    /// The MTU in bytes.
    pub mtu: u32,
    /// The name of the bridge that the NIC belongs to.
    pub master: Option<String>,
    /// The qdisc that somebody set at the root, such as `htb 1:`; `None` for that which the kernel chose.
    pub root: Option<String>,
    /// True if the qdisc clsact is there.
    pub has_clsact: bool,
    /// True if a filter is at our place at the egress.
    pub has_filter: bool,
    /// The offloads that are on and can be switched off, by their names for `ethtool -K`.
    pub offloads: Vec<&'static str>,
}

/// The NICs of a machine.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Present {
    /// The NICs by name. Only those of the switch are known in all respects.
    pub links: BTreeMap<String, PresentPort>,
}

impl Present {
    /// Asks the kernel, in the network namespace of this process.
    pub fn read(config: &Config) -> Result<Present, SwitchError> {
        let failed = |what: &str, error: std::io::Error| SwitchError::Kernel {
            what: what.into(),
            error: error.to_string(),
        };
        let mut netlink = Netlink::open().map_err(|error| failed("its NICs", error))?;
        let answer = netlink.links().map_err(|error| failed("its NICs", error))?;
        let name_of = |index: u32| {
            let link = answer.links().find(|link| link.index == index as i32)?;
            link.attributes.text(IFLA_IFNAME)
        };
        let mut links = BTreeMap::new();
        for link in answer.links() {
            let Some(name) = link.attributes.text(IFLA_IFNAME) else { continue };
            let kind = link.attributes.nested(IFLA_LINKINFO).text(IFLA_INFO_KIND);
            let found = PresentPort {
                index: link.index,
                is_bridge: kind.as_deref() == Some("bridge"),
                is_up: link.flags & UP != 0,
                mtu: link.attributes.word(IFLA_MTU).unwrap_or(0),
                master: link.attributes.word(IFLA_MASTER).and_then(name_of),
                ..PresentPort::default()
            };
            links.insert(name, found);
        }
        for port in &config.ports {
            let Some(found) = links.get_mut(&port.device) else { continue };
            read_queues(&mut netlink, found).map_err(|error| failed(&port.device, error))?;
            found.offloads = offloads(&port.device)?;
        }
        Ok(Present { links })
    }
}

fn read_queues(netlink: &mut Netlink, found: &mut PresentPort) -> std::io::Result<()> {
    for qdisc in netlink.objects(About::Qdiscs, found.index, 0)?.objects() {
        let kind = qdisc.attributes.text(TCA_KIND).unwrap_or_default();
        match qdisc.parent {
            CLSACT if kind == "clsact" => found.has_clsact = true,
            // The kernel gives no handle to a qdisc that it chose itself.
            ROOT if qdisc.handle != 0 => found.root = Some(format!("{kind} {:x}:", qdisc.handle >> 16)),
            _ => {}
        }
    }
    if found.has_clsact {
        let filters = netlink.objects(About::Filters, found.index, EGRESS)?;
        found.has_filter = filters.objects().any(|filter| filter.info >> 16 == u32::from(FILTER_PREFERENCE));
    }
    Ok(())
}

/// Asks for the offloads of a NIC that are on and can be switched off.
fn offloads(device: &str) -> Result<Vec<&'static str>, SwitchError> {
    let failed = |error| SwitchError::Kernel { what: format!("the offloads of {device}"), error };
    let output = Command::new("ethtool").args(["-k", device]).env("LC_ALL", "C").output();
    let output = output.map_err(|error| failed(format!("ethtool could not be started: {error}")))?;
    if !output.status.success() {
        return Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
    }
    Ok(switched_on(&String::from_utf8_lossy(&output.stdout)))
}

fn switched_on(text: &str) -> Vec<&'static str> {
    let is_on = |name: &str| {
        text.lines()
            .any(|line| line.split_once(": ").is_some_and(|(key, value)| key == name && value == "on"))
    };
    OFFLOADS.into_iter().filter(|(name, _)| is_on(name)).map(|(_, short)| short).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offloads_that_are_fixed_are_left_alone() {
        let text = "Features for p1:\n\
                    tcp-segmentation-offload: on\n\
                    \ttx-tcp-segmentation: on\n\
                    generic-segmentation-offload: on [fixed]\n\
                    generic-receive-offload: off\n\
                    large-receive-offload: off [fixed]\n";
        assert_eq!(switched_on(text), ["tso"]);
    }
}
