//! The configuration of a switch made of the kernel's traffic control.

use crate::wire::Carrier;
use clearway_planner::htb::{Htb, htb};
use clearway_proto::port::CreditShaping;
use clearway_units::Rate;
use thiserror::Error;

/// The credits that may wait at a port: those of the ExpressPass paper.
pub const CREDIT_QUEUE: u32 = 8;
/// The signals that may wait at a port: those that eight hosts send at once.
pub const SIGNAL_QUEUE: u32 = 256;
/// The data packets that may wait at a port: the 384.5 KB of the ExpressPass paper, in full frames.
pub const DATA_QUEUE: u32 = 250;
/// The largest marking threshold that the marking program can be told.
pub const ECN_MAX: u16 = 0xfffe;

/// A bridge that joins the ports.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bridge {
    /// The name of the bridge.
    pub name: String,
    /// If true, the bridge does not exist yet; it is made, gets the ports, and is removed at the end.
    pub create: bool,
}

/// A port: a NIC, with the rate of its link.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Port {
    /// The name of the NIC.
    pub device: String,
    /// The rate of the link, of which credits get their share.
    pub rate: Rate,
}

impl Config {
    /// Returns the figures of a port's HTB classes.
    pub fn htb(&self, port: &Port) -> Htb {
        htb(port.rate, self.shaping())
    }

    /// Returns the share of credits: 84 of 1622 bytes, or what the carrier asks for.
    pub fn shaping(&self) -> CreditShaping {
        let credit = self.carrier.credit_wire();
        CreditShaping { credit, bucket: 2 * credit, ..CreditShaping::PAPER }
    }
}

/// The configuration of a switch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// The bridge; without one the ports stay in the bridge, or with the addresses, that they have.
    pub bridge: Option<Bridge>,
    /// The ports.
    pub ports: Vec<Port>,
    /// The number of credits that may wait at a port.
    pub credit_queue: u32,
    /// The number of signals that may wait at a port: requests for credits, stops, and the answers to both.
    pub signal_queue: u32,
    /// The number of data packets that may wait at a port.
    pub data_queue: u32,
    /// The marking threshold `K`: a packet that meets more than so many waiting data packets is marked with CE.
    pub ecn: Option<u16>,
    /// The way in which the control frames of hosts travel.
    pub carrier: Carrier,
    /// The DSCP of credits that are IP packets, for switches between networks; frames of EtherType 0x88B5 tell
    /// by themselves whether they are credits.
    pub credit_dscp: Option<u8>,
}

/// The reason why a switch can't be set up.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[allow(missing_docs)] // The messages say it.
pub enum SwitchError {
    #[error("ports: a switch has at least one port; name the NICs, such as `eth1,eth2`")]
    NoPorts,
    #[error("ports: {0} stands there twice; name each NIC once")]
    Twice(String),
    #[error(
        "ports: {0:?} is no name of a NIC, which has 1 to 15 letters, digits and `_.:@-`, and begins with none of `-.`"
    )]
    BadName(String),
    #[error(
        "{device}: a rate of {rate} leaves nothing for credits, or is more than traffic control can count; write one from 1 Mbps to 400 Gbps"
    )]
    Rate { device: String, rate: Rate },
    #[error("{key} = {value}: write a number from {least} to {most}")]
    Range { key: &'static str, value: u64, least: u64, most: u64 },
    #[error("{0}: there is no such NIC")]
    NoDevice(String),
    #[error(
        "{0}: there is a NIC of that name already; choose another name for the bridge, or use it without making it"
    )]
    BridgeExists(String),
    #[error("{0}: it is no bridge")]
    NoBridge(String),
    #[error(
        "{device}: it belongs to {master}; take it out with `ip link set {device} nomaster`, or name {master} as the bridge"
    )]
    HasMaster { device: String, master: String },
    #[error(
        "{device}: it belongs to {master}, which would forward each frame a second time; take it out with `ip link set {device} nomaster`"
    )]
    ForwardsTwice { device: String, master: String },
    #[error(
        "{device}: it has the qdisc `{qdisc}` at its root, which could not be restored; remove it with `tc qdisc del dev {device} root`, or, if a killed clearwayd left it, with `clearwayd cleanup`"
    )]
    HasQdisc { device: String, qdisc: String },
    #[error(
        "{0}: a filter of clearwayd is on its egress already; if a killed clearwayd left it, run `clearwayd cleanup`"
    )]
    HasFilter(String),
    #[error("the kernel could not be asked about {what}: {error}")]
    Kernel { what: String, error: String },
}

impl Config {
    /// Returns the configuration of a switch with these ports and the sizes of the ExpressPass paper, without a bridge
    /// of its own.
    pub fn new(ports: Vec<Port>) -> Config {
        Config {
            bridge: None,
            ports,
            credit_queue: CREDIT_QUEUE,
            signal_queue: SIGNAL_QUEUE,
            data_queue: DATA_QUEUE,
            ecn: None,
            carrier: Carrier::Ethernet,
            credit_dscp: None,
        }
    }

    /// Checks everything that needs no look at the machine.
    pub fn check(&self) -> Result<(), SwitchError> {
        if self.ports.is_empty() {
            return Err(SwitchError::NoPorts);
        }
        for (at, port) in self.ports.iter().enumerate() {
            check_name(&port.device)?;
            if self.ports[..at].iter().any(|other| other.device == port.device) {
                return Err(SwitchError::Twice(port.device.clone()));
            }
            if port.rate < Rate::mbps(1) || port.rate > Rate::gbps(400) {
                return Err(SwitchError::Rate { device: port.device.clone(), rate: port.rate });
            }
        }
        if let Some(bridge) = &self.bridge {
            check_name(&bridge.name)?;
        }
        let range = |key, value: u64, least, most| match value < least || value > most {
            true => Err(SwitchError::Range { key, value, least, most }),
            false => Ok(()),
        };
        range("credit_queue", self.credit_queue.into(), 1, 10_000)?;
        range("signal_queue", self.signal_queue.into(), 1, 10_000)?;
        range("data_queue", self.data_queue.into(), 1, 1_000_000)?;
        range("ecn", self.ecn.unwrap_or(0).into(), 0, ECN_MAX.into())?;
        range("credit_dscp", self.credit_dscp.unwrap_or(0).into(), 0, 63)
    }
}

fn check_name(name: &str) -> Result<(), SwitchError> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "_.:@-".contains(c);
    match (1..=15).contains(&name.len()) && name.chars().all(allowed) && !name.starts_with(['-', '.']) {
        true => Ok(()),
        false => Err(SwitchError::BadName(name.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn port(device: &str, mbps: u64) -> Port {
        Port { device: device.into(), rate: Rate::mbps(mbps) }
    }

    #[test]
    fn names_that_a_command_would_take_for_an_option_are_refused() {
        for name in ["", "-j", ".", "..", "a b", "a;b", "sixteen_letters_", "eth0\n"] {
            let config = Config::new(vec![port(name, 100)]);
            assert_eq!(config.check(), Err(SwitchError::BadName(name.into())));
        }
        assert_eq!(Config::new(vec![port("p1.100", 100), port("eth0", 1000)]).check(), Ok(()));
    }

    #[test]
    fn a_port_named_twice_and_a_rate_without_room_for_credits_are_refused() {
        let twice = Config::new(vec![port("p1", 100), port("p1", 100)]);
        assert_eq!(twice.check(), Err(SwitchError::Twice("p1".into())));
        let slow = Config::new(vec![Port { device: "p1".into(), rate: Rate::bps(999_999) }]);
        assert!(matches!(slow.check(), Err(SwitchError::Rate { .. })));
        assert_eq!(Config::new(vec![]).check(), Err(SwitchError::NoPorts));
    }

    #[test]
    fn an_error_about_a_number_names_the_key_and_the_range() {
        let config = Config { credit_queue: 0, ..Config::new(vec![port("p1", 100)]) };
        let said = config.check().unwrap_err().to_string();
        assert_eq!(said, "credit_queue = 0: write a number from 1 to 10000");
    }
}
