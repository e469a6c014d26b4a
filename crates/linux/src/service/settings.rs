//! The settings of the daemon. Each is a flag (`--log-level debug`) and a key of the configuration file
//! (`log_level = "debug"`), declared once.

use crate::io::Priority;
use crate::wire::Carrier;
use clearway_schema::{Auto, Declared, Field, Form, Value, choice, declare, quoted};
use clearway_units::{Rate, UnitError};
use std::fmt;
use std::net::SocketAddr;
use std::num::NonZeroU16;
use std::path::PathBuf;

choice! {
    /// The form of log lines.
    pub enum LogFormat {
        /// Lines for people.
        Text = "text",
        /// A JSON object on each line, for programs.
        Json = "json",
    }
}

choice! {
    /// The least important log lines that are written.
    pub enum LogLevel {
        /// Faults.
        Error = "error",
        /// Faults, and what may become one.
        Warn = "warn",
        /// The life of the daemon: start, peers, fallbacks, stop.
        Info = "info",
        /// Each flow.
        Debug = "debug",
        /// Each packet.
        Trace = "trace",
    }
}

choice! {
    /// The transports whose credits schedule data.
    pub enum CreditTransport {
        /// ExpressPass (SIGCOMM 2017).
        ExpressPass = "expresspass",
        /// EC4.
        Ec4 = "ec4",
    }
}

choice! {
    /// The way in which control frames travel.
    pub enum ControlCarrier {
        /// Straight over Ethernet.
        Ethernet = "ethernet",
        /// In UDP datagrams.
        Udp = "udp",
    }
}

impl ControlCarrier {
    /// Returns the carrier with its port, which the settings bound from below.
    pub fn at(self, port: u32) -> Carrier {
        match (self, u16::try_from(port).ok().and_then(NonZeroU16::new)) {
            (ControlCarrier::Udp, Some(port)) => Carrier::Udp(port),
            _ => Carrier::Ethernet,
        }
    }
}

choice! {
    /// What becomes of offloads that are on.
    pub enum Offloads {
        /// They are switched off, and on again at the end.
        Off = "off",
        /// They stay as they are.
        Keep = "keep",
    }
}

choice! {
    /// The packets that leave in the kernel.
    pub enum KernelPath {
        /// Small ones, if the kernel can, else none.
        Auto = "auto",
        /// Small ones and bulk data, if the kernel can.
        Bulk = "bulk",
        /// None.
        Off = "off",
    }
}

choice! {
    /// The acknowledgements that are held without NFQUEUE.
    pub enum AckPath {
        /// All, if the kernel can.
        Acks = "acks",
        /// None.
        Off = "off",
    }
}

declare! {
    /// Settings of every daemon.
    pub struct ServiceSettings {
        /// The folder of journals and sockets for statistics, in which nobody but the user of clearwayd may write. `auto`: that of systemd (`$RUNTIME_DIRECTORY`), else /run/clearwayd.
        run_dir: Auto<Folder> = "auto" from "our choice";
        /// The address of the Prometheus endpoint: "127.0.0.1:9464", another port of the loopback, or "unix:/path". Without it there is no endpoint.
        metrics: Option<Endpoint> = none;
        /// The form of log lines.
        log_format: LogFormat = "text" from "our choice";
        /// The least important log lines that are written.
        log_level: LogLevel = "info" from "our choice";
    }
}

declare! {
    /// Settings of `clearwayd host`.
    pub table HostSettings {
        /// The NIC whose TCP data waits for credits.
        dev: Device = required;
        /// The transport that gives and spends credits.
        transport: CreditTransport = "expresspass" from "our choice";
        /// The rate of the NIC. `auto` asks the NIC; a virtual one does not know it.
        rate: Auto<Rate> = "auto" in "1 Mbps" to "400 Gbps" from "our choice";
        /// The largest IP packet of the NIC. `auto` asks the NIC.
        mtu: Auto<u32> = "auto" in "576" to "9216" unit "bytes" from "our choice";
        /// The number of the netfilter queue in which data waits. Two daemons of a network namespace need two numbers.
        queue: u32 = "7" in "0" to "65535" from "our choice";
        /// What becomes of the offloads TSO, GSO, GRO and LRO that are on: "off" switches them off and on again at the end, since they join packets that credits count one by one; "keep" leaves them.
        offloads: Offloads = "off" from "our choice: one credit releases one packet";
        /// The packets that leave in the kernel, which needs CAP_BPF, CAP_PERFMON and a file system of BPF: with "auto" small ones for which credits have left enough over, whose credits the kernel takes too (Linux 6.6, and control frames over Ethernet), or the log tells why they can't; with "bulk" bulk data too, which waits in its sockets (Linux 6.6, and control frames over Ethernet); with "off" none.
        kernel_path: KernelPath = "auto" from "our choice: a packet that is held costs 30 us on each host";
        /// The way in which requests, credits and their answers travel: "ethernet" straight over Ethernet, within one segment; "udp" in UDP datagrams, which routers forward. All hosts and switches of a network need the same.
        control: ControlCarrier = "ethernet" from "ExpressPass sec. 3.1: credits of 84 bytes";
        /// The UDP port of control frames at all hosts, with `control = "udp"`.
        control_port: u32 = "61021" in "1" to "65535" from "RFC 6335: for private use, and above the ports that Linux chooses";
        /// The priority of the daemon: "realtime", before all ordinary programs, up to the share of a processor that the kernel allows (95 %), and the highest of ordinary ones while nothing waits for it; "high", the highest of ordinary programs. A daemon that may not have the first takes the second.
        priority: Priority = "realtime" from "our choice: a credit that leaves late cannot be made up for";
        /// The file, not there yet, to which everything that happens to the protocol is recorded, for `clearwayd replay`. It holds the secret of the cookies.
        record: Option<String> = none;
        ..service: ServiceSettings;
    }
}

declare! {
    /// Settings of `clearwayd pac`.
    pub table PacSettings {
        /// The NIC whose pure acknowledgements wait.
        dev: Device = required;
        /// The rate of the NIC. `auto` asks the NIC; a virtual one does not know it.
        rate: Auto<Rate> = "auto" in "1 Mbps" to "400 Gbps" from "our choice";
        /// The largest IP packet of the NIC. `auto` asks the NIC.
        mtu: Auto<u32> = "auto" in "576" to "9216" unit "bytes" from "our choice";
        /// The number of the netfilter queue in which acknowledgements wait. Two daemons of a network namespace need two numbers.
        queue: u32 = "5" in "0" to "65535" from "our choice";
        /// What becomes of the offloads TSO, GSO, GRO and LRO that are on: "off" switches them off and on again at the end; "keep" leaves them.
        offloads: Offloads = "keep" from "our choice: PAC counts bytes, which offloads do not change";
        /// The way in which acknowledgements are held: with "acks" programs at the NIC take them and tell of data, so that a wake-up of the daemon serves many packets, which needs Linux 6.6, CAP_BPF and CAP_PERFMON, or the log tells why it can't be; with "off" each one goes through NFQUEUE.
        kernel_path: AckPath = "off" from "our choice: the other way needs Linux 6.6, and may keep an acknowledgement that could leave at once for 0.8 ms at 100 Mbit/s";
        /// The priority of the daemon: "realtime", before all ordinary programs, up to the share of a processor that the kernel allows (95 %); "high", the highest of ordinary programs. A daemon that may not have the first takes the second.
        priority: Priority = "realtime" from "our choice: a credit that leaves late cannot be made up for";
        /// The file, not there yet, to which everything that happens to PAC is recorded, for `clearwayd replay`: the headers of packets, and what became of them.
        record: Option<String> = none;
        ..service: ServiceSettings;
    }
}

declare! {
    /// Settings of `clearwayd switch`.
    pub table SwitchSettings {
        /// The ports: NICs, separated by commas.
        ports: Ports = required;
        /// The rate of the links of all ports, of which credits get their share. Another rate of one port stands behind its name: "eth1=1Gbps,eth2".
        rate: Option<Rate> = none in "1 Mbps" to "400 Gbps";
        /// If true, the daemon itself is the switch, and every packet passes through it; else the kernel's traffic control is set up.
        user_space: bool = "false" from "our choice";
        /// The transport of the simulator whose mechanism every port of a switch in user space has, such as "pacc"; `--set` sets its parameters.
        mechanism: Option<String> = none;
        /// The bridge that joins the ports. Without one the ports stay in the bridge, or with the addresses, that they have.
        bridge: Option<Device> = none;
        /// If true, the bridge is made at the start and removed at the end; else it must be there.
        make_bridge: bool = "false" from "our choice";
        /// The number of credits that may wait at a port.
        credit_queue: u32 = "8" in "1" to "10000" unit "packets" from "ExpressPass sec. 3.1";
        /// The number of signals that may wait at a port: requests for credits, stops, and the answers to both.
        signal_queue: u32 = "256" in "1" to "10000" unit "packets" from "our choice: what eight hosts send at once";
        /// The number of data packets that may wait at a port.
        data_queue: u32 = "250" in "1" to "1000000" unit "packets" from "ExpressPass: 384.5 KB in full frames";
        /// The marking threshold `K`: a packet that meets more than so many waiting data packets is marked with CE. Without it none is marked.
        ecn: Option<u32> = none in "0" to "65534" unit "packets";
        /// The way in which the control frames of hosts travel: "ethernet" or "udp", as at the hosts. Over UDP a credit takes 132 bytes of a link, and credits get 132 of 1670.
        control: ControlCarrier = "ethernet" from "ExpressPass sec. 3.1: credits of 84 bytes";
        /// The UDP port of control frames, with `control = "udp"`.
        control_port: u32 = "61021" in "1" to "65535" from "RFC 6335: for private use, and above the ports that Linux chooses";
        /// The DSCP of credits that are IP packets of other hosts; our own tell by EtherType 0x88B5 or their UDP port whether they are credits.
        credit_dscp: Option<u32> = none in "0" to "63";
        ..service: ServiceSettings;
    }
}

/// The settings of one kind of daemon.
pub trait Settings: Declared {
    /// The subcommand, which is the table of the configuration file too.
    const COMMAND: &'static str;
    /// A sentence for the list of subcommands.
    const ABOUT: &'static str;
    /// Returns the settings of every daemon.
    fn service(&self) -> &ServiceSettings;
}

impl Settings for HostSettings {
    const COMMAND: &'static str = "host";
    const ABOUT: &'static str =
        "Runs ExpressPass or EC4 under the TCP connections of a NIC: one packet of data leaves per credit.";
    fn service(&self) -> &ServiceSettings {
        &self.service
    }
}

impl Settings for PacSettings {
    const COMMAND: &'static str = "pac";
    const ABOUT: &'static str = "Runs PAC under the TCP connections of a NIC: acknowledgements leave when their data fits into the network.";
    fn service(&self) -> &ServiceSettings {
        &self.service
    }
}

impl Settings for SwitchSettings {
    const COMMAND: &'static str = "switch";
    const ABOUT: &'static str =
        "Makes ports of a Linux bridge or router ports of an ExpressPass switch, as long as it runs.";
    fn service(&self) -> &ServiceSettings {
        &self.service
    }
}

/// The name of a NIC.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Device(pub String);

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Field for Device {
    fn kind() -> String {
        "name of a NIC".into()
    }

    fn forms() -> Vec<Form> {
        vec![Form::Text]
    }

    fn blank() -> Device {
        Device(String::new())
    }

    fn read(value: &Value) -> Result<Device, String> {
        let name = String::read(value)?;
        // The kernel's own rule, which also keeps names from leading to other files.
        let is_name = name.len() <= 15 && name != "." && name != "..";
        match is_name && !name.contains(|c: char| c == '/' || c == ':' || c.is_whitespace()) {
            true => Ok(Device(name)),
            false => Err("is no name of a NIC; write one that `ip link` shows, such as \"eth0\"".into()),
        }
    }

    fn write(&self) -> Option<String> {
        Some(quoted(&self.0))
    }
}

/// Ports of a switch: NICs, each with the rate of its link if that is not the rate of all.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ports(pub Vec<(Device, Option<Rate>)>);

impl Field for Ports {
    fn kind() -> String {
        "names of NICs, separated by commas".into()
    }

    fn forms() -> Vec<Form> {
        vec![Form::Text]
    }

    fn blank() -> Ports {
        Ports(Vec::new())
    }

    fn read(value: &Value) -> Result<Ports, String> {
        let text = String::read(value)?;
        let port = |text: &str| {
            let (name, rate) = text.split_once('=').map_or((text, None), |(name, rate)| (name, Some(rate)));
            let name = Device::read(&name.trim().into()).map_err(|problem| format!("{name:?} {problem}"))?;
            let rate = rate.map(|rate| rate.parse().map_err(|error: UnitError| format!("{name}: {error}")));
            Ok((name, rate.transpose()?))
        };
        text.split(',').map(port).collect::<Result<_, _>>().map(Ports)
    }

    fn write(&self) -> Option<String> {
        let port = |(name, rate): &(Device, Option<Rate>)| match rate {
            Some(rate) => format!("{name}={rate}"),
            None => name.to_string(),
        };
        Some(quoted(&self.0.iter().map(port).collect::<Vec<_>>().join(",")))
    }
}

/// An absolute path of a folder.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Folder(pub PathBuf);

impl Folder {
    /// Returns the folder of journals and sockets.
    #[allow(clippy::disallowed_methods, reason = "systemd tells a service its folder by the environment")]
    pub fn of(setting: &Auto<Folder>) -> PathBuf {
        match setting {
            Auto::Set(folder) => folder.0.clone(),
            Auto::Auto => match std::env::var("RUNTIME_DIRECTORY") {
                // Several folders are separated by colons.
                Ok(folders) if folders.starts_with('/') => {
                    folders.split(':').next().unwrap_or_default().into()
                }
                _ => "/run/clearwayd".into(),
            },
        }
    }
}

impl Field for Folder {
    fn kind() -> String {
        "folder".into()
    }

    fn forms() -> Vec<Form> {
        vec![Form::Text]
    }

    fn blank() -> Folder {
        Folder(PathBuf::new())
    }

    fn read(value: &Value) -> Result<Folder, String> {
        let path = String::read(value)?;
        match path.starts_with('/') {
            true => Ok(Folder(path.into())),
            false => Err("is no absolute path; write one such as \"/run/clearwayd\"".into()),
        }
    }

    fn write(&self) -> Option<String> {
        Some(quoted(&self.0.display().to_string()))
    }
}

/// The address at which Prometheus fetches statistics: it can be reached from this machine only.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Endpoint {
    /// A TCP port of the loopback.
    Tcp(SocketAddr),
    /// A Unix socket.
    Unix(PathBuf),
}

impl Field for Endpoint {
    fn kind() -> String {
        "loopback address with port, or \"unix:\" with a path".into()
    }

    fn forms() -> Vec<Form> {
        vec![Form::Text]
    }

    fn blank() -> Endpoint {
        Endpoint::Unix(PathBuf::new())
    }

    fn read(value: &Value) -> Result<Endpoint, String> {
        const RIGHT: &str =
            "write \"127.0.0.1:9464\", \"[::1]:9464\" or \"unix:/run/clearwayd/metrics.sock\"";
        let text = String::read(value).map_err(|_| RIGHT.to_owned())?;
        if let Some(path) = text.strip_prefix("unix:") {
            return match path.starts_with('/') && path.len() <= 100 {
                true => Ok(Endpoint::Unix(path.into())),
                false => Err(format!("is no absolute path of at most 100 bytes; {RIGHT}")),
            };
        }
        let address: SocketAddr = text.parse().map_err(|_| format!("is no address with a port; {RIGHT}"))?;
        match address.ip().is_loopback() {
            true => Ok(Endpoint::Tcp(address)),
            false => Err(format!(
                "is not of this machine's loopback, and the endpoint asks for no password; {RIGHT}"
            )),
        }
    }

    fn write(&self) -> Option<String> {
        Some(quoted(&match self {
            Endpoint::Tcp(address) => address.to_string(),
            Endpoint::Unix(path) => format!("unix:{}", path.display()),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_that_others_could_reach_is_refused() {
        let read = |text: &str| Endpoint::read(&text.into());
        assert_eq!(read("127.0.0.1:9464"), Ok(Endpoint::Tcp("127.0.0.1:9464".parse().expect("an address"))));
        assert_eq!(read("unix:/run/x"), Ok(Endpoint::Unix("/run/x".into())));
        for refused in ["0.0.0.0:9464", "[::]:9464", "10.0.0.1:9464"] {
            assert!(read(refused).is_err_and(|problem| problem.contains("loopback")), "{refused}");
        }
        for wrong in ["127.0.0.1", "9464", "unix:x", "localhost:9464"] {
            assert!(
                read(wrong).is_err_and(|problem| problem.contains("write \"127.0.0.1:9464\"")),
                "{wrong}"
            );
        }
    }

    #[test]
    fn a_name_of_a_nic_cannot_lead_to_another_file() {
        for wrong in ["../x", "a b", ".", "sixteen-letters-", "a:b", ""] {
            assert!(Device::read(&wrong.into()).is_err(), "{wrong:?}");
        }
        assert_eq!(Device::read(&"eth0.7".into()), Ok(Device("eth0.7".into())));
    }
}
